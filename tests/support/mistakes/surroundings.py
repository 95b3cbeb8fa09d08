"""What surrounds a command: missing libraries and GPUs, full disks, read-only folders, signals, little memory."""
import contextlib
import errno
import os
import resource
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numba
import numpy as np

from dgarray.backends import gpu

FREE = r"only [\d.]+", "only 12.3"

DIGEST = r"\b[0-9a-f]{8}\b", "89abcdef"


def both(*prepares):
    def prepare():
        stack = contextlib.ExitStack()
        for each in prepares:
            made = each()
            if hasattr(made, "__enter__"):
                stack.enter_context(made)
        return stack
    return prepare


def without(*modules):
    """Without these libraries."""
    return lambda: mock.patch.dict(sys.modules, dict.fromkeys(modules))


def gpu_libraries(*installed):
    """With these libraries for a GPU, others not, and without an NVIDIA driver."""
    def no_driver(name):
        raise OSError(name)
    return lambda: mock.patch.multiple(
        "dgarray.backends.gpu", DRIVER="libcuda.so.1", find_spec=lambda name: name in installed or None,
        ctypes=SimpleNamespace(CDLL=no_driver))


def gpu_in_simulator():
    """With a GPU, and numba's variable for its simulator set."""
    array = SimpleNamespace(get=lambda: np.arange(gpu.THREADS))
    cupy = SimpleNamespace(__version__="14.2.0", zeros=lambda count: array)
    simulator = SimpleNamespace(config=SimpleNamespace(ENABLE_CUDASIM=1))
    stack = contextlib.ExitStack()
    for patch in (mock.patch.dict(sys.modules, cupy=cupy), mock.patch.object(numba, "cuda", simulator, create=True),
                  mock.patch.multiple(gpu, find_spec=lambda name: name, driver=lambda: (13000, None), _working=set(),
                                      _unusable=lambda *given: None, by_cupy=lambda *given: None,
                                      installed=lambda name: "0.30.4")):
        stack.enter_context(patch)
    return stack


class Uncached:
    """The check of OpenGL is made anew, now and at the end."""

    def __init__(self):
        self.close()

    def close(self):
        from dgarray.output.pictures.volume import check_rendering
        check_rendering.cache_clear()


def read_only(folder="."):
    """A folder that cannot be written to, also for root, whom permissions do not stop."""
    place, real = Path(folder).resolve(), os.access

    def access(path, mode, **more):
        return False if mode == os.W_OK and Path(path).resolve() == place else real(path, mode, **more)
    return mock.patch("os.access", access)


@contextlib.contextmanager
def no_space(limit=20_000):
    """Files may not grow beyond so many bytes, as under a quota."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def full_at(part):
    """The disk is full when a file of the store is written whose path has this part."""
    from dgarray.output.store.files import Files
    real = Files._replace

    def replace(self, path, content):
        if part in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(self, path, content)
    return mock.patch.object(Files, "_replace", replace)


def stopped_by(number):
    """The signal comes when the first checkpoint has been written."""
    def send():
        while not list(Path("out.zarr").glob("checkpoints/*.npz")):
            time.sleep(0.01)
        os.kill(os.getpid(), number)
    return lambda: threading.Thread(target=send, daemon=True).start()


def broken_table(text="x"):
    """A tuning table that somebody has spoiled, in the cache folder."""
    Path("tuning.json").write_text(text)
    return mock.patch.dict(os.environ, DGARRAY_CACHE=os.getcwd())


def little_memory():
    return mock.patch("dgarray.backends.arrays.host_free", lambda: 2**20)
