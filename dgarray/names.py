"""One sentence for a name that does not exist: what came, what is allowed, which is nearest."""
from difflib import get_close_matches


def choose(what, value, allowed, where="; allowed"):
    """Return `value` if it is among the allowed names, else raise ValueError naming them and the nearest one."""
    allowed = [str(name) for name in allowed]
    if value in allowed:
        return value
    near = get_close_matches(str(value), allowed, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(f"{what} {value!r} does not exist{where}: {', '.join(allowed) or 'none'}{hint}")
