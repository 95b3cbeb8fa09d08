"""A graph at points of arrays; a read may go through an index list, and so may a write.

`Elementwise` does it by one launch of a `cupy.ElementwiseKernel`: gathers, the graph's CUDA C, puts.
"""
import re
from functools import cache
from math import prod
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..physics.codegen import Cuda, scalar_source
from ..physics.trace import is_boolean

PARAMETERS = 4096          # bytes of parameters that a kernel may have


class At(NamedTuple):
    """One value for each point: the entries of an array, or of one of its rows.

    array   (place ...) or, with `row`, (row, place ...);  row: number of the row, or None
    index   places, flattened, one for each point; None: each place is a point
    factor  of what is written: this times the value is added to what is there; None: the value takes its place
    What has fewer axes than there are points is broadcast."""

    array: Any
    row: int | None = None
    index: Any = None
    factor: float | None = None

    @property
    def entries(self):
        return self.array if self.row is None else self.array[self.row]

    @property
    def shape(self):
        """Of the points."""
        return self.index.shape if self.index is not None else self.array.shape[self.row is not None:]


@cache
def _kind(dtype):
    """NumPy's name of a dtype, which NumPy takes long to tell."""
    return dtype.name


class Elementwise:
    """Evaluates graphs on arrays of CuPy, in the dtype of a run.

    xp: the library;  dtype: of the arrays that are read, and of results that are numbers; others are booleans"""

    def __init__(self, xp, dtype):
        self.xp, self.dtype, self.texts, self.kernels = xp, np.dtype(dtype), {}, {}

    def __call__(self, graph, reads, writes=()):
        """The outputs of a graph, new arrays of the points' shape; an output that is a constant, or an input that is not read
        through a list, is given as it is.

        reads: {input: number, array or `At`};  writes: an `At` for each output, and the result is None
        What is written may be read at the same point alone, and is written at one point alone."""
        reads = {name: value if isinstance(value, (Real, At)) else At(value) for name, value in reads.items()}
        given = [reads[name] for name in graph.inputs if isinstance(reads[name], At)]
        shape = np.broadcast_shapes(*(each.shape for each in (*given, *writes)))
        if wrong := [each.shape for each in writes if each.index is None and each.shape != shape]:
            raise ValueError(f"{graph.name} is evaluated at points {shape} and cannot be put into an array of shape {wrong[0]}")
        found = {} if writes else {k: self._as_it_is(graph.nodes[i], reads) for k, i in enumerate(graph.outputs)}
        targets = dict(enumerate(writes))
        for boolean, kind in ((False, self.dtype), (True, bool)):
            new = [k for k, value in found.items() if value is None and is_boolean(graph.nodes[graph.outputs[k]]) is boolean]
            array = self.xp.empty((len(new), *shape), kind) if new else None
            targets |= {k: At(array, row) for row, k in enumerate(new)}
        if targets:
            self._launch(graph, reads, targets, shape)
        return None if writes else [targets[k].entries if value is None else value for k, value in found.items()]

    def _as_it_is(self, node, reads):
        """The value of a constant, or of an input that is not read through a list; None for others."""
        if node[0] == "const":
            return node[1]
        value = reads[node[1]] if node[0] == "input" else None
        if isinstance(value, At):
            return value.entries if value.index is None else None
        return value

    def _launch(self, graph, reads, targets, shape):
        """Put outputs of a graph into {number of the output: `At`}."""
        take, put = _Parameters(self.xp, shape, "r"), _Parameters(self.xp, shape, "w")
        kind = _kind(self.dtype)
        sources = {name: take.text(name, reads[name], kind) for name in graph.inputs}
        places = {k: f"{put.text(k, target, _kind(target.array.dtype))} {put.assignment(target, kind)}"
                  for k, target in targets.items()}
        if take.bytes + put.bytes + 8 + 16 * len(shape) > PARAMETERS:
            self._stack(graph, reads, targets, shape)
            return
        inputs, outputs = take.arrays | take.others | put.others, put.arrays
        key = id(graph), *sources.values(), *places.items(), *inputs, *outputs
        if key not in self.texts:          # the graph is kept, so that no other one gets its id
            self.texts[key] = graph, self._kernel(graph, sources, places, ", ".join(inputs), ", ".join(outputs))
        size = {} if take.whole or put.whole else {"size": prod(shape)}
        self.texts[key][1](*inputs.values(), *outputs.values(), **size)

    def _kernel(self, graph, sources, places, inputs, outputs):
        dialect = Cuda(self.dtype.name)
        lines, results = scalar_source(graph, {name: f"of_{name}" for name in sources}, dialect)
        body = "\n".join([*(f"const {dialect.real} of_{name} = {text};" for name, text in sources.items()), *lines,
                          *(f"{place} {results[k]};" for k, place in places.items())])
        if (inputs, outputs, body) not in self.kernels:
            name = re.sub(r"\W+", "_", f"pointwise {graph.name}", flags=re.ASCII).strip("_")
            self.kernels[inputs, outputs, body] = self.xp.ElementwiseKernel(inputs, outputs, body, name, no_return=True)
        return self.kernels[inputs, outputs, body]

    def _stack(self, graph, reads, targets, shape):
        """`_launch` with more arrays than a kernel has room for in its parameters: by copies in rows of a few arrays."""
        some = [name for name in graph.inputs if isinstance(reads[name], At) and reads[name].index is None]
        whole = [*(reads[name] for name in some), *(target for target in targets.values() if target.index is None)]
        if len({id(each.array) for each in whole}) <= 3:          # as many as there are afterwards
            raise ValueError(f"{graph.name} reads and writes more arrays through lists than a kernel takes; they must be rows "
                             "of fewer arrays")
        stacked, aside = self.xp.empty((len(some), *shape), self.dtype), {}
        if some:
            self.xp.stack([self.xp.broadcast_to(reads[name].entries, shape) for name in some], out=stacked)
        for kind in {target.array.dtype for target in targets.values() if target.index is None}:
            numbers = [k for k, target in targets.items() if target.index is None and target.array.dtype == kind]
            array = self.xp.empty((len(numbers), *shape), kind)
            aside |= {k: At(array, row) for row, k in enumerate(numbers)}
        self._launch(graph, reads | {name: At(stacked, row) for row, name in enumerate(some)}, targets | aside, shape)
        for k, copy in aside.items():
            entries, factor = targets[k].entries, targets[k].factor
            entries[...] = copy.entries if factor is None else entries + factor * copy.entries


class _Parameters:
    """The parameters of a kernel that reads or writes arrays at points of this shape.

    arrays, others   {declaration: value} of arrays of numbers, and of lists, counts and single numbers
    bytes            of all of them;  whole: whether one is not `raw`, but an array of all points"""

    def __init__(self, xp, shape, prefix):
        self.xp, self.shape, self.prefix = xp, shape, prefix
        self.arrays, self.others, self.names, self.bytes, self.whole = {}, {}, {}, 0, False

    def text(self, which, value, kind):
        """The kernel's text of an input or output: of a number, or of an `At` of an array of this kind."""
        if not isinstance(value, At):
            return self.name(("number", which), self.others, kind, float(value), 8)
        array, row, index, _ = value
        if index is not None:
            count = array.size // (1 if row is None else len(array))
            count = self.name(("count", id(array)), self.others, "int64", count, 8)
            place = self.point(id(index), self.others, _kind(index.dtype), index)
            return f"{self.raw(array, kind)}[{row or 0} * {count} + {place}]"
        if array.flags.c_contiguous and value.shape == self.shape:
            return f"{self.raw(array, kind)}[{row or 0} * _ind.size() + i]"
        return self.point((id(array), row), self.arrays, kind, value.entries)

    def assignment(self, target, kind):
        """The text between a place that is written and the value: "=", or "+=" with the factor."""
        if target.factor is None:
            return "="
        return f"+= {self.name(('factor', float(target.factor)), self.others, kind, float(target.factor), 8)} *"

    def raw(self, array, kind):
        """The name of an array whose entries the kernel finds by their number."""
        flat = array.reshape(-1) if array.flags.c_contiguous else array
        return self.name(id(array), self.arrays, f"raw {kind}", flat, 16 + 16 * flat.ndim)

    def point(self, key, where, kind, array):
        """The name of an array's entry at a point."""
        self.whole = True
        array = array if array.shape == self.shape else self.xp.broadcast_to(array, self.shape)
        return self.name(("point", key), where, kind, array, 16 + 16 * len(self.shape))

    def name(self, key, where, kind, value, size):
        """The name of a parameter; each is declared once, with this key."""
        if key not in self.names:
            self.names[key] = f"{self.prefix}{len(self.names)}"
            where[f"{kind} {self.names[key]}"] = value
            self.bytes += size
        return self.names[key]
