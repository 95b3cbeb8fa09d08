"""The arguments of a compiled loop in memory: arrays and numbers as words of eight bytes, from which it makes them again.

So all loops are called in the same way, with two addresses: that of the words of a thread's own arrays, and that of the words
of all else. Their types, `types_of`, are part of what is compiled.

    array       address, shape, strides
    number      an integer, or the bits of a float64 or float32
    tuple       one after the other
"""
import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

WORD, REAL = ir.IntType(64), ir.DoubleType()


def words_of(value):
    """The words of an array, a number or a tuple of these, as integers."""
    if isinstance(value, np.ndarray):
        return [value.__array_interface__["data"][0], *value.shape, *value.strides]
    if isinstance(value, tuple):
        return [word for part in value for word in words_of(part)]
    if isinstance(value, np.float32):
        return [int(value.view(np.int32))]
    return [int(np.float64(value).view(np.int64) if isinstance(value, (float, np.floating)) else value)]


def sort_of(value):
    """A key that is equal for values of one type, found faster than the type."""
    if isinstance(value, np.ndarray):
        return value.dtype.num, value.ndim, value.flags.num
    return tuple(map(sort_of, value)) if isinstance(value, tuple) else type(value)


def types_of(own, others):
    """The type that a loop is compiled for: of a thread's own arrays and of all else."""
    return types.TypeRef(types.Tuple([typeof(own), typeof(others)]))


@intrinsic
def unpacked(typingctx, kinds, own, others):
    """unpacked(kinds, own, others): a thread's own arrays and all else as one tuple, from the addresses of their words."""
    groups = list(kinds.instance_type)
    result = types.Tuple.from_types([kind for group in groups for kind in group])

    def emit(context, builder, signature, args):
        found = []
        for group, address in zip(groups, args[1:]):
            words = Words(context, builder, address)
            found += [words.value(kind) for kind in group]
        return context.make_tuple(builder, result, found)
    return result(kinds, own, others), emit


class Words:
    """Reads words one after the other, in code that is being generated."""

    def __init__(self, context, builder, address):
        self.context, self.builder, self.count = context, builder, 0
        self.pointer = builder.inttoptr(address, WORD.as_pointer())

    def word(self):
        place = self.builder.gep(self.pointer, [WORD(self.count)])
        self.count += 1
        return self.builder.load(place)

    def value(self, kind):
        """The value of this type that comes next."""
        builder, context = self.builder, self.context
        if isinstance(kind, types.Array):
            return self.array(kind)
        if isinstance(kind, types.BaseTuple):
            return context.make_tuple(builder, kind, [self.value(part) for part in kind])
        if isinstance(kind, types.Float):
            word = self.word()
            if kind == types.float32:
                return builder.bitcast(builder.trunc(word, ir.IntType(32)), ir.FloatType())
            return builder.bitcast(word, REAL)
        number, width = self.word(), context.get_value_type(kind)
        return number if width == WORD else builder.trunc(number, width)

    def array(self, kind):
        array = self.context.make_array(kind)(self.context, self.builder)
        data = self.builder.inttoptr(self.word(), array.data.type)
        shape, strides = ([self.word() for _ in range(kind.ndim)] for _ in range(2))
        size = self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype))
        populate_array(array, data, shape, strides, WORD(size), None)
        return array._getvalue()
