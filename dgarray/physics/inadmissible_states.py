"""The quantities of a state that a law does not admit, named for messages."""
import numpy as np

from .trace import call


def wrong_quantity(law, q):
    """(name, value) of the first of the law's `positive_quantities` that is not positive in a state q (variable,) of numbers;
    None where the law does not say, or all are."""
    if law.positive_quantities is None:
        return None
    with np.errstate(all="ignore"):          # for numbers of NumPy: of Python's, 1 / 0.0 raises in a vacuum
        found = call(law.positive_quantities, dict(q=tuple(map(np.float64, q))), "positive_quantities")
    return next(((name, float(value)) for name, value in found.items() if not value > 0), None)


def wrong_state(law, q):
    """The quantity that is wrong in a state q (variable,), as text; all variables where the law does not say which."""
    found = wrong_quantity(law, q)
    return ", ".join(f"{name} = {value:.4g}" for name, value in ([found] if found else zip(law.variables, map(float, q))))


def place_text(x):
    """A position, as text."""
    return f"({', '.join(f'{float(c):.6g}' for c in x)})"


def not_admitted(law, admissible, q, x):
    """Where a law does not admit a finite state that somebody gives, as text; "" where it admits all.

    admissible: truth values, of the shape of the positions x (dim arrays);  q: components, arrays of that shape or numbers"""
    q = [np.broadcast_to(np.asarray(a, float), x[0].shape) for a in q]
    bad = np.argwhere(~np.broadcast_to(admissible, x[0].shape) & np.isfinite(q).all(axis=0))
    if not len(bad):
        return ""
    at = tuple(bad[0])
    return f"at {place_text([c[at] for c in x])}: {wrong_state(law, [a[at] for a in q])}"
