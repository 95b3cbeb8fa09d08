"""What tests share: the simulator where there is no GPU, devices that kernels are tested on, and what is done once for all."""
import gc
import os
from functools import cache
from itertools import groupby

import gpu_session
import pytest
from choose import usual
from gpu_session import gpu, pytest_configure  # noqa: F401  a hook

# Where a device is there but kernels of one kind do not run, their tests shall say so.
NO_GPU = gpu.gpu_problem("array")
if NO_GPU:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
# The default variants, whatever a machine measures; tests of the tuner turn it on.
os.environ["DGARRAY_TUNE"] = "0"


def pytest_addoption(parser):
    gpu_session.pytest_addoption(parser)
    parser.addoption("--all-combinations", action="store_true", help="run tests for all combinations of their parameters, and "
                                                                     "not only until every value occurs")


def pytest_report_header():
    return f"GPU: {gpu.gpu_problem() or 'there is one'}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs):
    """Workers share the processors, where threads of BLAS would wait for each other at full speed."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, os.cpu_count() // len(specs))))


def needed(items):
    """Those of the items of one test in which every value of its parameters occurs: first those of the README's command, then,
    one after the other, the one in which the most values are new.  Products are what tests/test_matrix.py is for."""
    sets = {item: frozenset(values(item)) for item in items}
    chosen = [item for item in items if not item.get_closest_marker("thorough")]
    missing = frozenset().union(*sets.values()).difference(*map(sets.get, chosen))
    if not any(sets.values()):
        return items
    while missing:
        chosen.append(max(items, key=lambda item: len(sets[item] & missing)))
        missing -= sets[chosen[-1]]
    return chosen


def values(item):
    """The pairs (name, value) of the parameters of a test."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return [(name, value if isinstance(value, (int, float, str)) else id(value)) for name, value in given.items()]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        chosen = usual(item.nodeid)
        if chosen:
            item.own_markers = [mark for mark in item.own_markers if mark.name != "thorough"]
        elif chosen is False:
            item.add_marker("thorough")
    from references import EXTERNAL
    leave_out(config, items, [item.get_closest_marker("external") and not EXTERNAL.exists() for item in items])
    if not config.option.all_combinations:
        chosen = {id(item) for _, same in groupby(items, lambda item: (item.parent.nodeid, item.originalname))
                  for item in needed(list(same))}
        leave_out(config, items, [id(item) not in chosen for item in items])
    for item in items:
        if NO_GPU and item.get_closest_marker("gpu"):          # keywords hold the names of folders too
            item.add_marker(pytest.mark.skip(reason=f"no GPU: {NO_GPU}"))


def leave_out(config, items, marked):
    """Deselect the items that are marked; marked: a truth value for each."""
    config.hook.pytest_deselected(items=[item for item, out in zip(items, marked) if out])
    items[:] = [item for item, out in zip(items, marked) if not out]


USUAL = gc.get_threshold()


def pytest_collection_finish():
    keep()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    result = yield
    keep()
    return result


def keep():
    """What is there stays, so no collection of garbage looks at it again: numba leaves millions of objects for its kernels, and
    each of the collections that runs and tests ask for would take a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def usual_garbage():
    """Garbage is collected as in a user's process, for tests of memory: until then arrays in cycles of objects count."""
    ours = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*ours)


@pytest.fixture(scope="session", autouse=True)
def ceilings_of_commands():
    """The machine's ceilings are measured for one command of the session and not for each that prints a share of them."""
    from dgarray.bench import roofline
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roofline, "ceilings", cache(roofline.ceilings))
        yield


@pytest.fixture(params=["emulated", pytest.param("cupy", marks=pytest.mark.gpu)])
def device(request):
    """A device for CUDA C and numba.cuda kernels: the CPU's emulation, and the GPU where there is one."""
    if request.param == "cupy":
        from dgarray.backends.cuda.device import Device
        return Device()
    from emulated import EmulatedDevice, compiler
    if compiler() is None:
        pytest.skip("there is no C++ compiler to run CUDA C on the CPU")
    return EmulatedDevice()


@pytest.fixture
def cupy(device, monkeypatch):
    """The backend "cupy" on the device under test."""
    monkeypatch.setattr("dgarray.backends.gpu_problem", lambda kernels=None: None)
    monkeypatch.setattr("dgarray.backends.cuda.device.Device", lambda: device)
    return device
