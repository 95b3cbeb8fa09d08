"""The source of the functions that a user gives, and what they read, as text."""
import ast
import inspect
import linecache
import textwrap
import tokenize
from types import CodeType, FunctionType

from ..physics.laws.law import Law, argument

LENGTH, COUNT = 4000, 50          # characters of a function's source, and functions, that are kept
VALUES = bool, int, float, complex, str
PACKAGE = __package__.partition(".")[0]


def sources(given):
    """{where: source} of the user's functions and classes among these values, the functions of the same module that they call,
    and, as comments, the numbers and texts that they read. Functions of the package, whose version is known, are left out.

    A function without a source, such as one of an interactive session, is there by its name."""
    found, seen = {}, set()
    for where, value in given.items():
        walk(where, value, found, seen)
    return dict(list(found.items())[:COUNT])


def walk(where, value, found, seen):
    """Add to `found` what a value holds."""
    if id(value) in seen or isinstance(value, (*VALUES, type(None))):
        return
    seen.add(id(value))
    if isinstance(value, dict):
        for name, item in value.items():
            walk(f"{where}.{name}", item, found, seen)
    elif isinstance(value, FunctionType):
        reads = names_read(value)
        if not ours(value):
            values = [f"# {name} = {item!r}" for name, item in reads.items() if isinstance(item, VALUES)]
            found[where] = source_of(value) + "".join(f"\n{line}" for line in values)
        for name, item in reads.items():
            if isinstance(item, FunctionType) and (ours(value) or item.__module__ == value.__module__):
                walk(f"{where}.{name}", item, found, seen)
    elif isinstance(value, Law):
        class_of(where, value, found)
        for name, item in value.parameters.items():
            walk(f"{where}.{argument(value, name)}", item, found, seen)
        walk(where, value.laws, found, seen)
        walk(f"{where}.internal", value.internal, found, seen)
    elif callable(value) or hasattr(value, "__dict__"):
        class_of(where, value, found)
        for name, item in getattr(value, "__dict__", {}).items():
            if callable(item):
                walk(f"{where}.{name}", item, found, seen)


def class_of(where, value, found):
    """Add the class of an object, if it is not one of ours or of a library's compiled ones."""
    if not ours(type(value)):
        found[where] = source_of(type(value))


def ours(value):
    """Whether a function or class is part of this package."""
    return (value.__module__ or "").partition(".")[0] == PACKAGE


def names_read(function):
    """{name: value} of what a function reads from around it: free variables, and names of its module."""
    free = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            free[name] = cell.cell_contents
        except ValueError:          # it has no value yet
            continue
    around = {} if ours(function) else function.__globals__
    return free | {name: around[name] for name in sorted(names_in(function.__code__)) if name in around}


def names_in(code):
    """Names that a function, and the functions within it, look up in the module."""
    inner = [names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


def source_of(value):
    """The source of a function or class, cut off if it is long; its name if there is none."""
    try:
        text = class_source(value) if isinstance(value, type) else textwrap.dedent(inspect.getsource(value)).strip()
    except (OSError, TypeError, SyntaxError, StopIteration, tokenize.TokenError):
        return f"{value.__module__}.{value.__qualname__}"
    return text if len(text) <= LENGTH else f"{text[:LENGTH]}\n... ({len(text) - LENGTH} more characters)"


def class_source(value):
    """The source of a class, found by one of its functions, also in a notebook and in a script that is no module.

    Raises StopIteration without one."""
    code = next(each.__code__ for each in vars(value).values() if isinstance(each, FunctionType))
    text = "".join(linecache.getlines(code.co_filename))
    classes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef) and node.name == value.__name__)
    node = next(node for node in classes if node.lineno <= code.co_firstlineno <= node.end_lineno)
    return textwrap.dedent(ast.get_source_segment(text, node, padded=True))
