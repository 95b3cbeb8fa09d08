"""The GPU backend: CuPy arrays, CUDA C and numba.cuda kernels generated for the law, order and dtype of the run."""
from ...methods.dg.limiters.linear import LinearLimiterTables
from ...methods.dg.set_operations import SetOperations, TensorOperations
from ...methods.finite_volume.sweeps import Sweeps
from ...methods.hermite.half_steps import HalfSteps
from ...support.system_memory import host_free
from ..arrays import ArrayBackend
from .dg.modal import ModalCuda
from .dg.nodal import NodalCuda
from .dg.tensor import TensorCuda
from .finite_volume.fused import SweepsCuda
from .hermite.fused import HermiteCuda

__all__ = ["CudaBackend"]


class CudaBackend(ArrayBackend):
    """Fused kernels for the right-hand side and the Runge-Kutta stage; all else is array expressions on the device.

    dtype: of the arrays, "float64" or "float32"
    device: `dgarray.backends.cuda.device.Device`"""

    kernels = "fused"

    def __init__(self, dtype, device):
        super().__init__(device.xp, dtype, "cupy")
        self.device = device

    def wait(self):
        self.device.synchronize()

    def free_memory(self):
        return host_free(), self.device.free_memory()

    def pooled_memory(self):
        return self.device.pooled_memory()

    def hermite_variant(self, varies):
        return "two-kernel" if varies else "monolithic"          # there are no kernels for coefficients that vary

    def kind(self, recipe, tables):
        if recipe in (SetOperations, TensorOperations) and (tables.media.names or tables.variables > tables.physics.moving):
            return recipe          # kernels take one value of a parameter per element, and variables that have fluxes
        if recipe in (SetOperations, TensorOperations) and (
                tables.faces.at_joins or isinstance(tables.limits, LinearLimiterTables)):
            return recipe          # none of the flux that mortars give, and none for the limiter of elements of any shape
        if recipe is TensorOperations:
            return recipe if tables.limits is not None or tables.physics.volume_flux is not None else TensorCuda
        if recipe is Sweeps and tables.share is not None:
            return recipe          # none of rows of other parts of a grid
        if recipe is SetOperations:
            return ModalCuda if tables.physics.weak else NodalCuda
        return {HalfSteps: HermiteCuda, Sweeps: SweepsCuda}.get(recipe, recipe)

    def operations(self, recipe, tables, variant=None):
        """The object that computes a method on these tables; variant: of the kernels, by default the fastest known."""
        kind = self.kind(recipe, tables)
        return kind(self, tables, variant) if kind in (NodalCuda, HermiteCuda, SweepsCuda) else kind(self, tables)
