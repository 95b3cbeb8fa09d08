"""The machine of a measurement: processor, device, versions of drivers and libraries, revision of the package."""
import ctypes
import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distributions, version

import numba
import numpy as np

from ..backends import gpu
from .gpu_wheels import ROOT

ARCHIVED = ".git_archival.txt"             # into which `git archive` writes "node: COMMIT" and more
NVML = "nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1"
WHEELS = "cuda", "cupy", "nvidia", "numba", "pytest"         # beginnings of the names of packages for GPU runs and tests


def machine(threads):
    """A dict for JSON: processor, cores, threads of the run, system, versions, revision."""
    return {"processor": processor(), "cores": os.cpu_count(), "threads": threads, "system": platform.platform(),
            "python": platform.python_version(), "numpy": np.__version__, "numba": numba.__version__, "revision": revision()}


def machine_with(device, threads):
    """`machine` with a device, its driver and the versions of what compiles its kernels.

    device: `dgarray.backends.cuda.device.Device` or one like it.  What is unknown is None, such as the version of CuPy on an
    emulated device."""
    cupy = getattr(device.xp, "__version__", None)
    real = isinstance(cupy, str)
    cuda = gpu.driver()[0] if real else 0
    return machine(threads) | {
        "device": device.name, "capability": ".".join(map(str, device.capability)), "multiprocessors": device.multiprocessors,
        "driver": driver_release(), "cuda": gpu.shown(cuda) if cuda else None,
        "nvrtc": ".".join(map(str, device.xp.cuda.nvrtc.getVersion())) if real else None,
        "cupy": cupy if real else None, "numba_cuda": installed("numba-cuda")}


def processor():
    """The processor's name as the system gives it."""
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def revision():
    """`git describe` of a source checkout, such as "6c1f8f7" or "6c1f8f7-dirty"; the commit of one made by `git archive`;
    elsewhere the package's version."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        said = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
        if said.returncode == 0:
            return said.stdout.strip()
    archived = ROOT / ARCHIVED
    commit = archived.read_text().partition("\n")[0].removeprefix("node: ") if archived.is_file() else "$"
    return installed("dgarray") if commit.startswith("$") else commit


def installed(name):
    """The version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def wheels():
    """{name: version} of the installed distributions that GPU runs and their tests need."""
    found = {d.metadata["Name"]: d.version for d in distributions()}
    return {name: found[name] for name in sorted(found) if name and name.lower().startswith(WHEELS)}


def driver_release():
    """The release of the NVIDIA driver, such as "580.65.06", from its management library; None without one."""
    try:
        nvml = ctypes.CDLL(NVML)
    except OSError:
        return None
    text = ctypes.create_string_buffer(80)           # NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
    if nvml.nvmlInit_v2() or nvml.nvmlSystemGetDriverVersion(text, ctypes.c_uint(len(text))):
        return None
    return text.value.decode()
