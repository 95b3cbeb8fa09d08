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
    """The same of what has been found in parts of a state."""
    rates, finite, admissible = zip(*parts)
    return Seen(exponent, float(np.max(rates)), all(finite), all(admissible))
