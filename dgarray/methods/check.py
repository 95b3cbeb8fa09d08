"""Whether a state is as it must be, and how fast its waves are."""
from typing import NamedTuple

import numpy as np


class Check(NamedTuple):
    """What is known of a state: whether all of it is finite, whether admissible, and its largest rate with this exponent.

    rate: largest norm over the faces of an element of wave speed times J_face / J, 1 / time; None where nobody has asked"""

    finite: bool
    admissible: bool = True
    rate: float | None = None
    exponent: float | None = None

    @classmethod
    def of_parts(cls, exponent, parts):
        """The check of a state from those of its parts, rows (rate, finite, admissible)."""
        return cls(bool(parts[:, 1].all()), bool(parts[:, 2].all()), float(np.max(parts[:, 0])), exponent)

    @property
    def sound(self):
        """Whether the state is finite and admissible."""
        return self.finite and self.admissible
