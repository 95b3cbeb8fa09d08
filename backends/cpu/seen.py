"""What a look at a state has found, see `state_source`."""
from typing import NamedTuple

import numpy as np


class Seen(NamedTuple):
    """What a look at a state has found: its largest rate with this exponent, whether it is finite, whether admissible."""

    exponent: float
    rate: float
    finite: bool
    admissible: bool

    @property
    def sound(self):
        return self.finite and self.admissible


def seen(exponent, parts):
    """The same of what has been found in parts of a state, rows (rate, finite, admissible)."""
    return Seen(exponent, float(np.max(parts[:, 0])), bool(parts[:, 1].all()), bool(parts[:, 2].all()))
