"""Names in annotations for what laws, boundary conditions and users' functions take and return."""
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# The components of a state or a vector: numbers, or arrays of values at many points.
Components = Sequence[Any] | np.ndarray
# A parameter of a law: a number, {region: number}, or a function of x.
Parameter = float | dict[str, Any] | Callable[..., Any]
