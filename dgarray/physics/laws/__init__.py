"""Conservation laws: plain-NumPy functions over tuples of components, one law a file, any dimension in one text."""
from .acoustics import Acoustics
from .advection import Advection
from .by_region import law_of
from .euler import Euler
from .law import Law
from .maxwell import Maxwell
from .mhd import MHD
from .two_fluid import TwoFluid

__all__ = ["MHD", "Acoustics", "Advection", "Euler", "Law", "Maxwell", "TwoFluid", "law_of"]
