"""High-order solvers for wave and conservation-law problems, from array-style Python."""
from .analysis.convergence import eoc
from .boundary import absorbing, incident, outflow, pec, plane_wave, pmc, prescribed, scattered, wall
from .boundary import open as open
from .explain import explain
from .fluxes import central, rusanov, upwind
from .laws import Acoustics, Advection, Law, Maxwell
from .mesh import Mesh, box, interval, read_mesh, rectangle
from .methods import NodalDG
from .names import choose
from .simulation import Simulation, SolutionError

__version__ = "0.1.0"

# `open` is public too, but not exported by a star, because it is the name of a function of Python's own.
__all__ = [
    "Acoustics", "Advection", "Law", "Maxwell", "Mesh", "NodalDG", "Simulation", "SolutionError", "absorbing", "box",
    "central", "eoc", "explain", "incident", "interval", "outflow", "pec", "plane_wave", "pmc", "prescribed",
    "read_mesh", "rectangle", "rusanov", "scattered", "upwind", "wall",
]


def __getattr__(name):
    """A public name that does not exist: the nearest one."""
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        choose("dgarray." + name + ": the name", name, __all__)
    except ValueError as error:
        raise AttributeError(str(error)) from None
