"""Messages of docs/errors/gpu.md."""
from mistakes.kinds import Wrong
from mistakes.surroundings import gpu_in_simulator, gpu_libraries, without

TITLE = "GPUs"
ABOUT = "missing GPUs, drivers and libraries"
GROUPS = {}

GROUPS["GPUs"] = [
    Wrong("A GPU where there is none", "run tm_cavity --backend cupy", "CuPy is not installed", prepare=without("cupy")),
    Wrong("A GPU without the compiler of its kernels", "run tm_cavity --backend cupy", "numba-cuda is not installed",
          prepare=gpu_libraries("cupy")),
    Wrong("A GPU without a driver", "run tm_cavity --backend cupy", "no NVIDIA driver .*was looked for.*install driver",
          prepare=gpu_libraries("cupy", "numba_cuda")),
    Wrong("A GPU with kernels that do not run", "run tm_cavity --backend cupy", "NUMBA_ENABLE_CUDASIM is set.*unset it",
          prepare=gpu_in_simulator),
    Wrong("Threads on a GPU", "run tm_cavity --backend cupy --threads 2", "for the CPU"),
    Wrong("A GPU to measure where there is none", "bench --backend cupy", "CuPy is not installed", prepare=without("cupy")),
    Wrong("A GPU to tune for where there is none", "tune", "CuPy is not installed", prepare=without("cupy")),
]
