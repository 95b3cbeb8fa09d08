"""The adjoint of a program beside that of jax."""
import numpy as np

from dgarray.backends.arrays import ArrayBackend
from dgarray.backends.jax import JaxBackend
from dgarray.program.transpose import adjoint


def differences_from_jax(program, given, wanted, random):
    """{name: largest difference of the adjoint of an input or constant from that of jax, over its size} for random adjoints of
    the outputs; given: {name of an input or number: value}."""
    import jax

    forwards = JaxBackend("float64").interpreter(program, {})
    names = {value.name: value.number for value in program.values}
    arrays = dict(forwards.constants) | {names[each]: array for each, array in given.items()}
    by = {each: arrays.pop(names[each]) for each in wanted}
    results, back = jax.vjp(lambda by: forwards.compute(arrays | {names[each]: array for each, array in by.items()}), by)
    bars = {each: random.normal(size=array.shape) for each, array in results.items()}
    expected, = back(bars)
    backend = ArrayBackend(np, "float64", "numpy")
    transposed = adjoint(program, wanted)
    found = backend.interpreter(transposed, {}).run(given | {f"adjoint of {each}": bar for each, bar in bars.items()})
    return {each: np.abs(expected[each] - found[f"adjoint of {each}"]).max() / np.abs(expected[each]).max() for each in wanted}
