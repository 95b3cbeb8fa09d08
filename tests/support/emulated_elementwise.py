"""`cupy.ElementwiseKernel` on the CPU: strict arrays, the body compiled by the C++ compiler, and refusals as of CuPy 14.

As CuPy's source (cupy/_core/_kernel.pyx) has it: parameters, types, broadcasting, axes merged where all arrays allow it, names
that are CuPy's own.
"""
import re
from functools import cache
from math import prod
from numbers import Real
from pathlib import Path
from typing import NamedTuple

import numpy as np
from emulated import ONE, Guarded, compiled, runner
from strict import StrictArray, count, enqueue, refuse_in_graph, wrap

HEADER = Path(__file__).with_name("elementwise.hpp")
TYPES = {"float64": "double", "float32": "float", "int64": "long long", "int32": "int", "bool": "bool"}
MOST = 4096          # bytes of parameters


class Parameter(NamedTuple):
    """One of "raw float64 x, T y": its type is fixed or, of one letter, that of the first array that comes."""

    name: str
    kind: str
    raw: bool

    @classmethod
    def read(cls, text):
        *raw, kind, name = text.split()
        if raw not in ([], ["raw"]):
            raise ValueError(f"Unknown keyword {raw}")
        if name in ("i", "n") or name.startswith("_"):
            raise ValueError(f"Can not use {name!r} as a parameter name")
        if len(kind) > 1 and kind not in TYPES:
            raise TypeError(f"data type {kind!r} not understood")
        return cls(name, kind, bool(raw))


class ElementwiseKernel:
    def __init__(self, in_params, out_params, operation, name="kernel", reduce_dims=True, preamble="", no_return=False):
        self.ins, self.outs = ([Parameter.read(text) for text in params.split(",") if text.strip()]
                               for params in (in_params, out_params))
        if not re.fullmatch(r"[a-zA-Z_]\w*", name, re.ASCII):
            raise ValueError(f"Invalid kernel name: {name!r}")
        self.operation, self.name, self.reduce_dims, self.preamble = operation, name, reduce_dims, preamble
        self.no_return = no_return

    def __call__(self, *arguments, size=None):
        inputs, parameters = len(self.ins), [*self.ins, *self.outs]
        if len(arguments) not in (inputs, len(parameters)):
            raise TypeError(f"Wrong number of arguments for {self.name!r}. It must be either {inputs} or {len(parameters)} "
                            f"(with outputs), but given {len(arguments)}.")
        for value in arguments:
            if not isinstance(value, StrictArray | Real):          # NumPy's arrays are none of the device
                raise TypeError(f"Unsupported type {type(value)}")
        given = [value.values if isinstance(value, StrictArray) else value for value in arguments]
        outs, (given, shape) = given[inputs:], broadcast(given, parameters, size)
        types = types_of(parameters, given)
        outs = outs or self.new(shape, types, size)
        for parameter, out in zip(self.outs, outs):
            if not isinstance(out, np.ndarray):
                raise TypeError("Output arguments type must be cupy.ndarray")
            if not parameter.raw and out.shape != shape:
                raise ValueError("Out shape is mismatched")
        if 0 not in shape:
            self.launch([*given[:inputs], *outs], parameters, types, shape)
        if self.no_return:
            return None
        return wrap(outs[0]) if len(outs) == 1 else tuple(map(wrap, outs))

    def new(self, shape, types, size):
        if any(parameter.raw for parameter in self.outs) and size is None:
            raise ValueError("Output array size is Undecided")
        refuse_in_graph(f"a new array of {self.name}")
        return [np.full(shape, -1).astype(types[parameter.name]) for parameter in self.outs]

    def launch(self, given, parameters, types, shape):
        if self.reduce_dims:
            given, shape = reduced(given, parameters, shape)
        text, declared = [], []
        for parameter, value in zip(parameters, given):
            kind, const = TYPES[types[parameter.name]], "const " * (parameter in self.ins)
            if not isinstance(value, np.ndarray):
                declared.append(f"{const}{kind} {parameter.name}")
                continue
            contiguous = int(value.flags.c_contiguous)
            name = parameter.name if parameter.raw else f"_raw_{parameter.name}"
            declared.append(f"{const}CArray<{kind}, {value.ndim}, {contiguous}, {int(value.nbytes < 2 ** 31)}> {name}")
            if not parameter.raw:
                text.append(f"{const}{kind} &{parameter.name} = {name}[_ind.get()];")
        declared.append(f"CIndexer<{len(shape)}, 1> _ind")
        letters = {p.kind: types[p.name] for p in parameters if len(p.kind) == 1}
        typedefs = [f"typedef {TYPES[kind]} {letter};" for letter, kind in letters.items()]
        source = source_of(self.name, "\n".join([*typedefs, self.preamble]), ", ".join(declared),
                           "\n".join([*text, self.operation]))
        count(self.name)
        values = [(value, True) if isinstance(value, np.ndarray) else (np.array(value, types[parameter.name]), False)
                  for parameter, value in zip(parameters, given)]
        enqueue(lambda: run(source, self.name, values, shape))


def broadcast(given, parameters, size):
    """(Arguments, with those that are not raw broadcast to the points; shape of the points)."""
    whole = [k for k, (p, value) in enumerate(zip(parameters, given)) if isinstance(value, np.ndarray) and not p.raw]
    if size is not None and whole:
        raise ValueError("Specified 'size' can be used only if all of the ndarray are 'raw'.")
    if size is None and not whole:
        raise ValueError("Loop size is undecided.")
    shape = np.broadcast_shapes(*(given[k].shape for k in whole)) if size is None else (size,)
    return [np.broadcast_to(value, shape) if k in whole and value.shape != shape else value
            for k, value in enumerate(given)], shape


def types_of(parameters, given):
    """{name: NumPy's name of the type} of the parameters: those of arrays must be the ones that are declared."""
    letters, found = {}, {}
    for parameter, value in zip(parameters, given):
        if isinstance(value, np.ndarray):
            declared = parameter.kind if len(parameter.kind) > 1 else letters.setdefault(parameter.kind, value.dtype.name)
            if declared != value.dtype.name:
                raise TypeError(f"Type is mismatched. {parameter.name} {value.dtype} {declared}")
    for parameter in parameters:
        found[parameter.name] = parameter.kind if len(parameter.kind) > 1 else letters[parameter.kind]
    return found


def reduced(given, parameters, shape):
    """Arguments and points with neighbouring axes merged where all arrays that are not raw allow it."""
    whole = {k for k, (p, value) in enumerate(zip(parameters, given)) if isinstance(value, np.ndarray) and not p.raw}
    axes = []          # [length, step of each of these arrays]
    for axis, length in enumerate(shape):
        steps = [given[k].strides[axis] for k in sorted(whole)]
        if length == 1:
            continue
        if axes and axes[-1][1] == [step * length for step in steps]:
            axes[-1] = axes[-1][0] * length, steps
        else:
            axes.append((length, steps))
    if not whole or len(axes) == len(shape):
        return given, shape
    shape, given = tuple(length for length, _ in axes), list(given)
    for number, k in enumerate(sorted(whole)):
        given[k] = np.lib.stride_tricks.as_strided(given[k], shape, [steps[number] for _, steps in axes])
    return given, shape


@cache
def source_of(name, before, declared, body):
    """The CUDA C of a kernel, as CuPy writes it."""
    return (f'{HEADER.read_text()}\n{before}\nextern "C" __global__ void {name}({declared}) {{\n'
            f"CUPY_FOR(i, _ind.size()) {{ _ind.set(i);\n{body};\n}} }}\n")


@cache
def kernel(source, name):
    return runner(compiled(source, "float64")[1], name)


sources = {}          # of all kernels that have run, {CUDA C: name}


def run(source, name, values, shape):
    """A launch of two blocks of three threads, each of which takes every sixth point; values: pairs (array or number as an
    array, whether it is an array)."""
    sources[source] = name
    with ONE, Guarded([value for value, is_array in values if is_array]) as guarded:
        arguments = [np.array([guarded.address(value), value.size, *value.shape, *value.strides], np.int64)
                     if is_array else value for value, is_array in values]
        arguments.append(np.array([prod(shape), *shape, *shape], np.int64))
        total = sum(value.nbytes for value in arguments)
        if total > MOST:
            raise RuntimeError(f"{name}: {total} bytes of parameters are more than {MOST}")
        fault = kernel(source, name)((2, 1, 1), (3, 1, 1), 0, [value.ctypes.data for value in arguments])
    if fault := fault or guarded.fault:
        raise RuntimeError(f"{name}: {fault}")
