"""Physics functions bound to the inputs that a method offers: what a backend receives.

Called with arrays a `Pointwise` is the reference; its `graph` is what the generated kernels are made from.
"""
from collections.abc import Iterator
from functools import cached_property, wraps

from .trace import call, record, trace


def components(result, count=None, role="function", names=(), meaning=""):
    """The result of a physics function as a tuple of components; one component needs no tuple around it.

    Raises ValueError unless there are `count` of them, naming the role of the function and the law's variables, or what they
    mean."""
    result = tuple(result) if isinstance(result, (tuple, list, Iterator)) else (result,)
    if any(value is None for value in result):
        raise ValueError(f"{role} returns None; it must return {'a number' if count == 1 else 'a tuple of components'}")
    words = [value for value in result if isinstance(value, str | dict)]
    if words:
        raise ValueError(f"{role} returns {words[0]!r}; it must return numbers")
    if count is not None and len(result) != count:
        array = ", as a tuple, not as an array" * (count > 1 and len(result) == 1 and getattr(result[0], "ndim", 0) > 0)
        raise ValueError(f"{role} returns {len(result)} component{'s' * (len(result) != 1)}; it must return {count}"
                         + (f": {', '.join(names)}" if names else meaning) + array)
    return result


def at_points(function, x, t, count, role, names=()):
    """The components of a user's function(x, t) at many points: `count` numbers, or arrays of the shape of the x (dim arrays).

    Raises ValueError, which names the role, for another number of components, other shapes, and an `if` on arrays, TypeError
    for functions of single numbers."""
    try:
        result = call(function, dict(x=x, t=t), role)
    except TypeError as error:
        say_numbers_alone(error, role)
        raise
    except ValueError as error:
        if "truth value of an array" not in str(error):
            raise
        raise ValueError(f"{role} branches on an array, as x holds many points; use np.where instead of if, & and | "
                         "instead of and and or") from error
    result, shape = components(result, count, role, names, ", one for each variable"), x[0].shape
    for number, value in enumerate(result):
        ours = getattr(value, "shape", ())
        if len(ours) > len(shape) or any(a not in (1, b) for a, b in zip(ours[::-1], shape[::-1])):
            raise ValueError(f"{role}: component {names[number] if names else number} has the shape {ours}; it must be a "
                             f"number or have that of the x, here {shape}")
    return result


def say_numbers_alone(error, role):
    """Raise TypeError with advice where an error came of an array given to a function of single numbers."""
    if "converted to Python scalars" in str(error):
        raise TypeError(f"{role} gives arrays, as x holds many points, to a function of single numbers such as those of the "
                        "math module; use NumPy's, np.exp instead of math.exp") from error


class Rows:
    """Rows of an array as components of an argument or a result: all of each row, or its entries in a list.

    values: (component, ...), or a list of arrays;  index: an array of places in a row, then values are (component, place);
    None: all;  factor: this times a component is added to what is there; None: the component takes its place"""

    def __init__(self, values, index=None, factor=None):
        self.values, self.index, self.factor = values, index, factor

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values) if self.index is None else (row[self.index] for row in self.values)

    def put(self, components):
        """Set these entries to the components, or add them."""
        index = ... if self.index is None else self.index
        for row, component in zip(self.values, components):
            if self.factor is None:
                row[index] = component
                continue
            more = component if self.factor == 1 else self.factor * component
            if self.index is None:
                row += more
            else:
                row[index] += more


class Pointwise:
    """A function of component tuples, e.g. flux(q, n, m), with the inputs it may ask for.

    inputs: {argument: spec} as `dgarray.physics.trace.trace` takes them: a count of components, None for a scalar, or a dict of
    fields whose value is None (an array at run time) or a number (a literal in generated code).
    """

    def __init__(self, function, inputs, name):
        self.function, self.inputs, self.name = function, inputs, name

    @cached_property
    def graph(self):
        return trace(self.function, self.inputs, self.name)

    @cached_property
    def used(self):
        """{name of an input that the graph reads: (argument, component number or field)}."""
        names = {}
        for argument, spec in self.inputs.items():
            if spec is None:
                names[argument] = argument, None
            elif isinstance(spec, dict):
                names |= {f"{argument}_{field}": (argument, field) for field in spec}
            else:
                names |= {f"{argument}{i}": (argument, i) for i in range(spec)}
        return {name: names[name] for name in self.graph.inputs}

    def depends_on(self, argument):
        """Whether the result needs any component of `argument`."""
        return any(owner == argument for owner, _ in self.used.values())

    def __call__(self, **arrays):
        """Components of the result; each dict of fields is passed as a named tuple with its numbers filled in, `Rows` as a
        tuple.

        Inputs that the graph does not need may be left out: they are zeros."""
        for argument, spec in self.inputs.items():
            if isinstance(spec, dict):
                given = arrays.get(argument, {})
                values = {field: given.get(field) if number is None else number for field, number in spec.items()}
                arrays[argument] = record(argument, *values)(**values)
            elif argument not in arrays:
                arrays[argument] = 0.0 if spec is None else (0.0,) * spec
            elif isinstance(arrays[argument], Rows):
                arrays[argument] = tuple(arrays[argument])
        return components(call(self.function, arrays, self.name))


def picked(function, numbers):
    """A `Pointwise` function with these components of the result of another one alone; that one, where they are all."""
    if list(numbers) == list(range(len(function.graph.outputs))):
        return function

    @wraps(function.function)
    def some(*arguments, **named):
        result = components(function.function(*arguments, **named))
        return tuple(result[number] for number in numbers)
    return Pointwise(some, function.inputs, function.name)


def written_at(function):
    """Where a user's function is written, for messages: " (name, file:line)"."""
    code = getattr(function, "__code__", None)
    return f" ({function.__name__}, {code.co_filename}:{code.co_firstlineno})" if code else ""
