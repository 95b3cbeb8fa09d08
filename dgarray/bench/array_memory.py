"""Memory of all arrays that an object refers to."""
import numpy as np


def held(root, kind=np.ndarray):
    """{name: bytes} of every array that can be reached from an object through attributes, dicts and sequences.

    kind: class of the arrays, NumPy's or CuPy's
    A view counts as the array that owns its memory. Each owner counts once, under the first name that leads to it."""
    found, seen, todo = {}, set(), [("", root)]
    while todo:
        name, value = todo.pop(0)
        if isinstance(value, kind):
            while isinstance(value.base, kind):
                value = value.base
            if id(value) not in seen:
                found[name] = value.nbytes
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            todo += [(f"{name}.{key}", v) for key, v in value.items()]
        elif isinstance(value, (list, tuple)):
            todo += [(f"{name}[{i}]", v) for i, v in enumerate(value) if not isinstance(v, (int, float, str))]
        elif type(value).__module__.split(".")[0] in ("dgarray", "types") and hasattr(value, "__dict__"):
            todo += [(f"{name}.{key}".lstrip("."), v) for key, v in vars(value).items()]
    return found
