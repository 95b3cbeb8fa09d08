"""The backend "jax": programs compiled by XLA, on the CPU, from the same recipes and expression graphs.

States are NumPy's arrays, so all that looks at them between stages works as with the backend "numpy"."""
from math import prod

import jax
import jax.numpy as jnp
import numpy as np

from ...physics.trace import is_boolean, operands
from ...program import recursion
from ...program.interpreter import KINDS, Interpreter
from ...program.operations import Pointwise
from ..arrays import ArrayBackend

__all__ = ["JaxBackend"]

# XLA computes a condition again in each loop that it makes of neighbouring operations, with other roundings. Values about which
# one condition decides, such as those of one side of a contact that stands still, would not belong together.
APART = {"xla_disable_hlo_passes": "fusion"}


class JaxBackend(ArrayBackend):
    """Arrays of NumPy between stages, programs by jax.numpy and jax.jit.

    Float64 is switched on in jax for the whole process: its own default is to round to float32."""

    def __init__(self, dtype):
        jax.config.update("jax_enable_x64", True)
        super().__init__(np, dtype, "jax", None)          # XLA takes all processors, too
        self.within = WithinJax(dtype)

    def interpreter(self, program, constants):
        return JaxProgram(self, program, constants)


class WithinJax:
    """The interpreter's primitives inside of a compiled program, as in `ArrayBackend`."""

    xp = jnp

    def __init__(self, dtype):
        self.dtype = np.dtype(dtype)

    def product(self, matrix, values):
        return jnp.matmul(matrix, values)

    def evaluated(self, function, arguments, order, shape):
        """The outputs of a `Pointwise` function, by its graph: NumPy's own functions cannot be traced by jax."""
        inputs = {name: arguments[argument] if which is None else arguments[argument][which]
                  for name, (argument, which) in function.used.items()}
        graph, values = function.graph, []
        for node in graph.nodes:
            if operands(node):
                values.append(getattr(jnp, node[0])(*(values[i] for i in node[1:])))
            else:
                values.append(inputs[node[1]] if node[0] == "input" else node[1])
        found = [values[i] for i in graph.outputs]
        return found if order is None else [found[i] for i in order]

    def gathered(self, array, places):
        return array[..., places]

    taken = gathered

    def add_derivative(self, out, factor, w, axis):
        if axis is not None:
            count, lead = w.shape[axis], (slice(None),) * axis
            factors = np.arange(1, count, dtype=self.dtype).reshape(-1, *[1] * (w.ndim - 1 - axis))
            ends = [(0, int(k == axis)) for k in range(w.ndim)]
            w = jnp.pad(factors * w[(*lead, slice(1, None))], ends)
        return out + factor * w

    def series_product(self, a, b):
        *counts, last = a.shape[:-1]
        padded = jnp.pad(b, [*((n - 1, 0) for n in counts), (0, 0), (0, 0)])

        def add(number, c):          # in x all terms in one loop over the numbers, else XLA would compile for long
            i = jnp.unravel_index(number, counts) if counts else ()
            moved = jax.lax.dynamic_slice(padded, [*(n - 1 - k for n, k in zip(counts, i)), 0, 0], b.shape)
            for k in range(last):
                c = c + a[(*i, k)] * jnp.pad(moved[..., :b.shape[-2] - k, :], [*[(0, 0)] * len(counts), (k, 0), (0, 0)])
            return c
        return jax.lax.fori_loop(0, prod(counts), add, jnp.zeros_like(b))

    def stacked(self, components, shape):
        return jnp.stack([jnp.broadcast_to(jnp.asarray(component, self.dtype), shape) for component in components])

    def reduced(self, how, values, axis):
        return getattr(jnp, how)(values, axis=axis)


class JaxProgram(Interpreter):
    """The interpreter on jax.numpy: new values in place of writes, all operations in one compiled function."""

    def __init__(self, backend, program, constants):
        self.backend, self.program, self.joined = backend.within, program.let_go(), {}
        for name, value in program.inputs("constant").items():
            if name not in constants:
                held = value.held()
                constants[name] = jnp.asarray(held if value.kind == "integer" else np.asarray(held, backend.dtype))
        self.constants = {value.number: constants[name] for name, value in program.inputs("constant").items()}
        conditions = any(is_boolean(node) for each in program.operations if type(each) is Pointwise
                         for node in each.function.graph.nodes)
        self.compiled = jax.jit(self.compute, compiler_options=APART if conditions else None)

    def compute(self, arrays):
        """{name: array} of the outputs, from {number of a value: array} of constants, inputs and numbers."""
        arrays = dict(arrays)
        for operation in self.program.operations:
            kind = KINDS[type(operation)]
            getattr(self, kind.__name__)(operation, arrays, {}, None)
        return {name: self.seen(read, arrays, None) for name, read in self.program.outputs.items()}

    def run(self, given, targets=None):
        arrays = dict(self.constants)
        for name, value in (self.program.inputs() | self.program.inputs("number")).items():
            arrays[value.number] = jnp.asarray(given[name], self.backend.dtype)
        targets, found = self.targets(targets), self.compiled(arrays)
        for name, array in found.items():
            targets[name][..., :array.shape[-1]] = array          # without copies of other parts' elements
        return targets

    def targets(self, given=None):
        given = given or {}
        return {name: given[name] if name in given else np.empty(read.shape, self.backend.dtype)
                for name, read in self.program.outputs.items()}

    def tasks(self, given, targets, numbers):
        reads = tuple(self.program.inputs())
        writes = {name: targets[name].nbytes for name in self.program.outputs}
        return [(self.program.operations, lambda: self.run(given | numbers(), targets), reads, writes)]

    def places(self, numbers):
        return np.array(numbers, int)

    def keep(self, number, found, arrays, own, columns):
        arrays[number] = found

    def evolved(self, operation, R, tau, series):
        def stage(number, w):
            k = operation.stages - number
            return recursion.stage(self.backend, operation, R, w, tau / k, series, R.shape[1])
        return recursion.first(operation, jax.lax.fori_loop(0, operation.stages, stage, list(R)))

    def put(self, operation, arrays, own, columns):
        shape = self.program.values[operation.result].shape
        target = arrays.get(operation.result, jnp.zeros(shape, self.backend.dtype)).reshape(*shape[:-2], -1)
        places, values = arrays[operation.index], self.seen(operation.read, arrays, None)
        change = getattr(target.at[..., places], operation.how)
        arrays[operation.result] = change(values, unique_indices=True, mode="promise_in_bounds").reshape(shape)
