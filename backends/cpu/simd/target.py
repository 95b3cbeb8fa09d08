"""The processor that numba compiles for: this one, or the one that NUMBA_CPU_NAME and NUMBA_CPU_FEATURES name."""
from functools import cache

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import config


@cache
def vector_bytes():
    """Width of the widest vector register that the compiler uses for this processor, in bytes: 64, 32 or 16.

    A product of 64-byte vectors is compiled, and the registers in its assembly tell: LLVM offers no other way to ask for
    the features of a processor by its name. `NUMBA_CPU_NAME=haswell` has 32 bytes, `NUMBA_CPU_NAME=x86-64` 16."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    host = llvm.get_host_cpu_features().flatten() if config.CPU_NAME is None else ""
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=config.CPU_NAME or llvm.get_host_cpu_name(), features=host if config.CPU_FEATURES is None else config.CPU_FEATURES)
    assembly = machine.emit_assembly(llvm.parse_assembly(str(product())))
    return next((size for register, size in (("zmm", 64), ("ymm", 32)) if register in assembly), 16)


def lanes(dtype):
    """Elements in a tile: two vector registers."""
    return 2 * vector_bytes() // np.dtype(dtype).itemsize


def product():
    """Module of one function: the product of two vectors of eight float64."""
    module, vector = ir.Module(), ir.VectorType(ir.DoubleType(), 8)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [vector.as_pointer()] * 2), "product")
    builder, (a, b) = ir.IRBuilder(function.append_basic_block()), function.args
    builder.store(builder.fmul(builder.load(a), builder.load(b)), a)
    builder.ret_void()
    return module
