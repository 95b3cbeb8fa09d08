"""A CUDA error ends the process in which a test has met it, and the test is named; all others find a device that works.

A kernel that reads where it may not makes every later call of CUDA in its process fail.  So a worker of pytest-xdist ends after
such a test, and another one takes its place; without workers the session stops.  Errors of CUDA show when somebody waits for
the device, so a test on the GPU waits for it at its end.

A kernel that does not end cannot be interrupted: a test on the GPU has --gpu-seconds, then its process ends in the same way.
"""
import faulthandler
import importlib.util
import os
import sys
from pathlib import Path

import pytest

# By its path, because numba reads NUMBA_ENABLE_CUDASIM when it is imported, which dgarray does.
spec = importlib.util.spec_from_file_location("gpu", Path(__file__).parents[2] / "backends" / "gpu.py")
gpu = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gpu)


def pytest_addoption(parser):
    parser.addoption("--gpu-seconds", type=float, default=60.0,
                     help="seconds after which a test on the GPU ends its process (default 60; 0: none, for slow tools)")


def pytest_configure(config):
    config.pluginmanager.register(GpuSession(config), "gpu_session_of_this_process")


def on_gpu(item):
    """Not by the item's keywords, which hold the names of folders too."""
    return item.get_closest_marker("gpu") is not None


class GpuSession:
    def __init__(self, config):
        self.worker = hasattr(config, "workerinput")
        self.limit = 0 if config.option.usepdb else config.option.gpu_seconds
        self.stderr = os.fdopen(os.dup(2), "w")          # that of the terminal; tests have another
        self.error, self.ended = None, set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        if self.limit and on_gpu(item):
            faulthandler.dump_traceback_later(self.limit, exit=True, file=self.stderr)
        try:
            result = yield
        finally:
            faulthandler.cancel_dump_traceback_later()
        if self.error and self.worker:
            os._exit(1)          # its reports have been sent
        if self.error:
            item.session.shouldstop = f"{item.nodeid} has made the GPU unusable for this process: {self.error}"
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        try:
            return (yield)
        finally:
            if on_gpu(item):
                settle()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.excinfo is not None and gpu.poisons_context(call.excinfo.value):
            self.error = report.ends_process = " ".join(call.excinfo.exconly().split())
            report.sections.append(("GPU", "After this error nothing runs on the GPU in this process, which ends here."))
        return report

    # Of the process that has workers.

    def pytest_runtest_logreport(self, report):
        if getattr(report, "ends_process", None):
            self.ended.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem, report):
        """A worker that has ended: the test has been reported already, unless its time was over."""
        if crashitem in self.ended:
            report.when, report.outcome = "teardown", "passed"


def settle():
    """Wait for the GPU, and give back the memory that the test has had: other processes share the device."""
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        cupy.cuda.runtime.deviceSynchronize()
        cupy.get_default_memory_pool().free_all_blocks()
