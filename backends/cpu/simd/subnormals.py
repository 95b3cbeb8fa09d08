"""Subnormal numbers are zero while kernels run: processors compute with them a hundred times slower.

Values that decay towards zero, such as the tails of a pulse in float32, end as subnormal numbers, below 1.2e-38 in float32 and
2.2e-308 in float64. The mode belongs to a thread, so it is set before a worker's kernels and restored behind them."""
import platform

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from ...workers import Workers

ZEROS = 0x8040           # bits of the register MXCSR of x86: subnormal results, and operands, are zero
WORD = ir.IntType(32)


def register(builder, name, pointer):
    """Call the instruction `name`, which moves the register from or to memory."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.sse.{name}")
    builder.call(function, [builder.bitcast(pointer, ir.IntType(8).as_pointer())])


@intrinsic
def mode(typingctx):
    """The register MXCSR."""
    def read(context, builder, signature, args):
        place = cgutils.alloca_once(builder, WORD)
        register(builder, "stmxcsr", place)
        return builder.load(place)
    return types.int32(), read


@intrinsic
def set_mode(typingctx, value):
    """Set the register MXCSR."""
    def write(context, builder, signature, args):
        place = cgutils.alloca_once(builder, WORD)
        builder.store(args[0], place)
        register(builder, "ldmxcsr", place)
        return context.get_dummy_value()
    return types.void(types.int32), write


@njit(nogil=True, cache=True)
def flush():
    """Subnormal numbers become zero from now on, in this thread; returns the mode that was."""
    before = mode()
    set_mode(before | ZEROS)
    return before


@njit(nogil=True, cache=True)
def restore(before):
    """Go back to the mode that `flush` has returned."""
    set_mode(before)


class FlushingWorkers(Workers):
    """`Workers` to which subnormal numbers are zero."""

    def each(self, work, most):
        def flushed(worker):
            before = flush()
            try:
                work(worker)
            finally:
                restore(before)
        super().each(flushed, most)


def workers(threads):
    """The workers of the CPU's kernels: on x86 `FlushingWorkers`."""
    return (FlushingWorkers if platform.machine().lower() in ("x86_64", "amd64") else Workers)(threads)
