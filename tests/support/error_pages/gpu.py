"""Messages of docs/errors/gpu.md."""
from mistakes.kinds import Wrong
from mistakes.surroundings import gpu_in_simulator, gpu_libraries, without

TITLE = "GPUs"
ABOUT = "missing GPUs, drivers and libraries"
GROUPS = {}

GROUPS["GPUs"] = [
    Wrong("CuPy is missing", "run tm_cavity --backend cupy", "CuPy is not installed", prepare=without("cupy")),
    Wrong("numba-cuda is missing", "run tm_cavity --backend cupy", "numba-cuda is not installed",
          prepare=gpu_libraries("cupy")),
    Wrong("The driver is missing", "run tm_cavity --backend cupy", "no NVIDIA driver .*looked for .*install driver",
          prepare=gpu_libraries("cupy", "numba_cuda")),
    Wrong("Kernels in numba's simulator", "run tm_cavity --backend cupy", "NUMBA_ENABLE_CUDASIM is set.*unset it",
          prepare=gpu_in_simulator),
    Wrong("Threads on a GPU", "run tm_cavity --backend cupy --threads 2", "for the CPU"),
    Wrong("bench without a GPU", "bench --backend cupy", "CuPy is not installed", prepare=without("cupy")),
    Wrong("tune without a GPU", "tune", "CuPy is not installed", prepare=without("cupy")),
]
