"""One sentence for a name that does not exist: what came, what is allowed, which is nearest."""
from difflib import get_close_matches

LONG = 40          # names that nobody reads to their end


def choose(what, value, allowed, where="; allowed", also=()):
    """Return `value` if it is among the allowed names, else raise ValueError naming them and the nearest one; of more than
    `LONG` the nearest three alone, if any is near.

    also: what is allowed beside these names, for the message"""
    allowed = [str(name) for name in allowed]
    if value in allowed:
        return value
    some = near(value, allowed, 3) if len(allowed) > LONG else []
    if some:
        raise ValueError(f"{what} {value!r} does not exist; did you mean {' or '.join(map(repr, some))}?")
    listed = ", ".join([*allowed, *also]) or "none"
    raise ValueError(f"{what} {value!r} does not exist{where}: {listed}{nearest(value, allowed)}")


def plural(count, noun):
    """The count with its noun: 1 cell, 2 cells."""
    return f"{count} {noun}{'s' * bool(count != 1)}"


def nearest(value, allowed):
    """The hint " (did you mean 'name'?)" with the nearest of the allowed names, "" where none is near; case does not count."""
    found = near(value, allowed, 1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def near(value, allowed, count):
    """At most so many of the allowed names, the nearest first; case does not count."""
    folded = {str(name).casefold(): str(name) for name in reversed(list(allowed))}
    return [folded[name] for name in get_close_matches(str(value).casefold(), folded, count)]
