"""The GPU backend: CuPy arrays, CUDA C and numba.cuda kernels generated for the law, order and dtype of the run."""
from ...system_memory import host_free
from ..arrays import ArrayBackend
from .hermite import HermiteCuda
from .modal import ModalCuda
from .nodal import NodalCuda

__all__ = ["CudaBackend"]


class CudaBackend(ArrayBackend):
    """Fused kernels for the right-hand side and the Runge-Kutta stage; everything else is the reference's, on the device.

    device: `dgarray.backends.cuda.device.Device`"""

    kernels, hermite_variant = "fused", "monolithic"

    def __init__(self, dtype, device):
        super().__init__(device.xp, dtype, "cupy")
        self.device = device

    def free_memory(self):
        return host_free(), self.device.free_memory()

    def nodal(self, tables, variant=None):
        """The operations of nodal DG on these tables, in the variant that is given or else the fastest known."""
        return NodalCuda(self, tables, variant)

    def modal(self, tables):
        """The operations of DG by quadrature on these tables."""
        return ModalCuda(self, tables)

    def hermite(self, tables, variant=None):
        """The operations of Hermite's method on these tables, in the variant that is given or else the fastest known."""
        return HermiteCuda(self, tables, variant)
