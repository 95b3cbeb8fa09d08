"""Memory of all arrays that an object refers to."""
import numpy as np

OURS = "dgarray", "types"          # modules of the objects whose attributes are followed


def held(root, kind=np.ndarray, seen=None):
    """{name: bytes} of every array that can be reached from an object through attributes, dicts and sequences.

    kind: class of the arrays, NumPy's or CuPy's
    seen: {id: object} of what has been counted before and does not count; what is found joins it
    A view counts as the array that owns its memory. Each owner counts once, under the first name that leads to it."""
    found, todo, seen = {}, [("", root)], {} if seen is None else seen
    while todo:
        name, value = todo.pop(0)
        is_array = isinstance(value, kind)
        if is_array:
            value = owner(value, kind)
        if id(value) in seen:
            continue
        seen[id(value)] = value          # it stays alive, so that no other object gets its number
        if is_array:
            found[name] = value.nbytes
        elif isinstance(value, dict):
            todo += [(f"{name}.{key}", v) for key, v in value.items()]
        elif isinstance(value, (list, tuple)):
            todo += [(f"{name}[{i}]", v) for i, v in enumerate(value) if not isinstance(v, (int, float, str))]
        elif hasattr(value, "__dict__") and (value is root or type(value).__module__.split(".")[0] in OURS):
            todo += [(f"{name}.{key}".lstrip("."), v) for key, v in vars(value).items()]
    return found


def owner(array, kind):
    """The array that owns the memory of an array. `as_strided` puts an object between a view and the array that it views."""
    base = getattr(array, "base", None)
    base = base if isinstance(base, kind) else getattr(base, "base", None)
    return owner(base, kind) if isinstance(base, kind) else array
