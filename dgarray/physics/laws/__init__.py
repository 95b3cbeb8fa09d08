"""Conservation laws: plain-NumPy functions over tuples of components, one law a file, any dimension in one text."""
from .acoustics import Acoustics
from .advection import Advection
from .euler import Euler
from .law import Law
from .maxwell import Maxwell

__all__ = ["Acoustics", "Advection", "Euler", "Law", "Maxwell"]
