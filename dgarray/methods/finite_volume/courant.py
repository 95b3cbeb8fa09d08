"""The largest stable Courant number of a scheme with a time stepper, from the amplification of waves."""
from functools import cache

import numpy as np

from ...stepping import amplification

STEPS = 4000             # Courant numbers that are tried up to LARGEST
LARGEST = 4.0
ROUNDING = 1e-9          # growth of an amplitude in a step that counts as none


@cache
def courant_limit(scheme, stepper):
    """Largest Courant number at which no wave on a line grows, for one axis and with the scheme's weights of smooth values.

    Above the number at which a step is an average of forward Euler steps of that scheme's kind, shocks may ring; for steppers
    that preserve strong stability the limit is not taken above it."""
    theta = np.linspace(0, 2 * np.pi, 721)
    symbol = scheme.symbol(theta)
    numbers = LARGEST * np.arange(1, STEPS + 1) / STEPS
    stable = [np.abs(amplification(stepper, c * symbol)).max() <= 1 + ROUNDING for c in numbers]
    count = STEPS if all(stable) else stable.index(False)
    return float(numbers[count - 1]) if count else 0.0
