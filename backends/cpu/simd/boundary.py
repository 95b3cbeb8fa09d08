"""Calls of a boundary condition by its address, so that the kernels that call it do not depend on which it is."""
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .vector import INDEX, data, scalar_type

# Types of the arguments of `condition`, with the type of real numbers.
ARGUMENTS = "types.void(*[types.CPointer({real}), types.int64]*2, types.CPointer(types.int64), *[types.CPointer({real})]*2, " \
            "types.int64, {real})"


def condition(dtype):
    """Compiled condition(table, i, q, q_at, q_stride, flux, flux_at, flux_stride, nodes, node_at, numbers, number_at, points,
    t): the fluxes at the points of one face.

    table: (address of the condition, address of its constants) of number i
    Variable v at point j is q[q_at + v q_stride + nodes[node_at + j] L], and its flux goes to
    flux[flux_at + v flux_stride + j L]. The numbers of the points begin at numbers[number_at]."""
    real = scalar_type(dtype)
    reals, integers = real.as_pointer(), INDEX.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [reals, INDEX, reals, INDEX, integers, reals, reals, INDEX, real])

    def call_it(context, builder, signature, args):
        def pointer(number, at):
            return builder.gep(data(context, builder, signature, args, number), [at])
        _, i, _, q_at, q_stride, _, flux_at, flux_stride, _, node_at, _, number_at, points, t = args
        entry = pointer(0, builder.mul(i, ir.Constant(INDEX, 2)))
        address, constants = (builder.load(builder.gep(entry, [ir.Constant(INDEX, k)])) for k in (0, 1))
        builder.call(builder.inttoptr(address, kind.as_pointer()), [
            pointer(2, q_at), q_stride, pointer(5, flux_at), flux_stride, pointer(8, node_at), pointer(10, number_at),
            builder.inttoptr(constants, reals), points, t])
        return context.get_dummy_value()

    @intrinsic
    def call(typingctx, table, i, q, q_at, q_stride, flux, flux_at, flux_stride, nodes, node_at, numbers, number_at, points, t):
        index = types.int64
        return types.void(table, index, q, index, index, flux, index, index, nodes, index, numbers, index, index, t), call_it

    return call
