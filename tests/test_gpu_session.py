"""The GPU tests as a session: a CUDA error ends the process that has met it, the test is named, all others run; and what is
needed to collect them."""
import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from emulated import compiler

TESTS = Path(__file__).parent
OPTIONAL = {"vtk", "vtkmodules", "pyvista", "imageio", "imageio_ffmpeg", "matplotlib", "xugrid", "dask", "array_api_compat"}

# A context like CUDA's: after the first illegal address every call fails, and errors show when somebody waits.
CONTEXT = """
import sys
from types import SimpleNamespace

class CUDARuntimeError(RuntimeError):
    pass

broken = False

def synchronize():
    if broken:
        raise CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")

def launch(bad=False):
    global broken
    broken = broken or bad

sys.modules["cupy"] = SimpleNamespace(
    cuda=SimpleNamespace(runtime=SimpleNamespace(deviceSynchronize=synchronize)),
    get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None))
"""
SESSION = """
import time
import pytest
from context import launch, synchronize

@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["good", "waiting", "fine", "bad", "sound", "hanging", "well", "nice"])
def test_kernel(kind):
    launch(bad=kind in ("bad", "waiting"))
    if kind == "waiting":
        synchronize()
    if kind == "hanging":
        time.sleep(60)
"""


def session(folder, *options, environment=None):
    """(exit status, output) of pytest in a process of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    path = os.pathsep.join([str(folder), str(TESTS / "support")])
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, options)], text=True,
                          env=clean | {"PYTHONPATH": path, "COLUMNS": "200"} | (environment or {}), capture_output=True,
                          cwd=TESTS.parent)
    return done.returncode, done.stdout + done.stderr


def made_up(folder, *options):
    """A session of eight tests on a made-up GPU, of which two break it and one does not end."""
    (folder / "context.py").write_text(CONTEXT)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = gpu\n")
    (folder / "test_made_up.py").write_text(SESSION)
    return session(folder, "-p", "gpu_session", "-m", "gpu", "--gpu-seconds", 1, *options, folder / "test_made_up.py")


@pytest.mark.thorough
def test_a_worker_ends_after_a_cuda_error(tmp_path):
    """Whether the test meets the error or leaves it to whoever waits for the device; and where a kernel does not end."""
    pytest.importorskip("xdist")
    status, output = made_up(tmp_path, "-n", "1")
    assert status == 1 and "3 failed, 5 passed" in output, output
    for kind in ("waiting", "bad"):
        assert f"test_kernel[{kind}] - context.CUDARuntimeError: cudaErrorIllegalAddress" in output, output
    assert output.count("nothing runs on the GPU in this process, which ends here") == 2
    assert set(re.findall(r"crashed while running '.*\[(\w+)\]'", output)) == {"hanging"}
    assert "Timeout (0:00:01" in output and "in test_kernel" in output


def test_without_workers_the_session_stops(tmp_path):
    status, output = made_up(tmp_path, "-p", "no:xdist")
    assert status == 2 and "1 failed, 1 passed" in output, output
    assert "test_kernel[waiting] has made the GPU unusable for this process: context.CUDARuntimeError: cudaErrorIll" in output


INJECTED = """
import emulated

class CUDARuntimeError(RuntimeError):
    pass

broken, launch = False, emulated.Kernel.__call__

def injected(self, *arguments, **options):
    global broken
    broken = broken or self.name == "fill"
    if broken:
        raise CUDARuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")
    return launch(self, *arguments, **options)

emulated.Kernel.__call__ = injected
"""


@pytest.mark.thorough
@pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler to run CUDA C on the CPU")
def test_a_failure_in_one_kernel_of_the_package_s_tests(tmp_path):
    """Of all tests of the device only the one that launches this kernel fails."""
    pytest.importorskip("xdist")
    (tmp_path / "injected.py").write_text(INJECTED)
    status, output = session(tmp_path, "-p", "injected", "-n", "1", "-m", "", "-k",
                             "emulated and (shared or graph or launches)", TESTS / "test_device.py")
    count = int(re.search(r"1 worker \[(\d+) items\]", output)[1])
    assert status == 1 and count > 10 and f"1 failed, {count - 1} passed" in output, output
    assert "test_more_shared_memory_than_a_block_has_unasked[emulated] - injected.CUDARuntimeError: cudaErrorIll" in output


BLOCKED = """
import os
import sys
sys.modules.update(dict.fromkeys(os.environ["BLOCKED"].split()))          # an import raises, as where it is not installed
"""


def imported(tree):
    """Names of the packages that a module imports when it is imported itself."""
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            yield from (name.split(".")[0] for name in names)


@pytest.mark.thorough
def test_gpu_tests_are_collected_on_a_bare_machine(tmp_path):
    """With CUDA, dgarray[gpu] and pytest alone: no module of tests is an error, and those that need more are skipped."""
    for path in TESTS.rglob("*.py"):
        assert not OPTIONAL.intersection(imported(ast.parse(path.read_text()))), path
    (tmp_path / "blocked.py").write_text(BLOCKED)
    modules = [TESTS / f"test_{name}.py" for name in ("vtk", "grid_output", "pictures", "device")]
    status, output = session(tmp_path, "-p", "blocked", "-m", "gpu", "--collect-only", "-q", *modules,
                             environment={"BLOCKED": " ".join(OPTIONAL)})
    assert status == 0 and "test_device.py::" in output and "test_vtk.py::" not in output, output
