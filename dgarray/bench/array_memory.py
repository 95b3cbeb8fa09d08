"""Memory that an object holds on to."""
import numpy as np


def held(root, kind=np.ndarray):
    """{name: bytes} of every array of a kind that can be reached from an object through attributes, dicts and sequences.

    Views count as the array that owns their memory, and each of those once, under the first name that leads to it."""
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
