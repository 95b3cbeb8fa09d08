"""The check of a state: is it finite and admissible, and what is its largest wave rate, which limits the next time step."""
from functools import reduce
from numbers import Real
from typing import NamedTuple

import numpy as np


def norm_over_faces(rates, exponent):
    """(sum over faces of rate^exponent)^(1 / exponent), of numbers, arrays or traced values of each face.

    It is no finite number where a rate is none. The largest rate is taken out first: powers of large numbers overflow."""
    if isinstance(exponent, Real) and exponent == 1:
        return sum(rates)
    largest = reduce(np.maximum, rates)
    scale = np.where(largest > 0, largest, 1)
    return largest * sum((rate / scale) ** exponent for rate in rates) ** (1 / exponent)


class Check(NamedTuple):
    """Validity of a state and, if it has been computed, its largest wave rate.

    finite       whether every value is finite
    admissible   whether the law admits every value, for example positive density and pressure
    rate         max over elements of `norm_over_faces` of s J_face / J, 1 / time, with the wave speed s normal to the face, or
                 those of several sets; of a step of a `DGOperator` one over the next step; None if not computed
    exponent     that of `rate`; None if not computed"""

    finite: bool
    admissible: bool = True
    rate: float | None = None
    exponent: float | None = None

    @classmethod
    def of_parts(cls, exponent, parts):
        """Combine the checks of several parts of a state; parts: (part, 3) rows (rate, finite, admissible); with exponent 0 the
        rate is no result."""
        rate = (float(np.max(parts[:, 0], initial=0.0)), exponent) if exponent else ()
        return cls(bool(parts[:, 1].all()), bool(parts[:, 2].all()), *rate)

    @property
    def sound(self):
        """Whether the state is finite and admissible."""
        return self.finite and self.admissible
