"""High-order solvers for wave and conservation-law problems, from array-style Python."""
from . import checkout as checkout  # first, because the others import from `dgarray.backends`
from .analysis.convergence import eoc
from .analysis.fourier import Fourier
from .analysis.integrals import BoundaryIntegral, VolumeIntegral
from .analysis.probes import Extrema, Points, SurfaceFields
from .analysis.riemann import riemann
from .mesh import Grid, Mesh, box, interval, read_mesh, rectangle
from .methods import ExponentialFilter, FiniteVolume, GridOperator, Hermite, Method, ModalDG, NodalDG, Operator, TensorDG
from .output import OutputError
from .physics.boundary import (
    Sponge,
    absorbing,
    curved_wall,
    far_field,
    incident,
    inflow,
    outflow,
    pec,
    plane_wave,
    pmc,
    prescribed,
    pressure_outflow,
    scattered,
    wall,
)
from .physics.boundary import open as open
from .physics.explain import explain
from .physics.fluxes import central, hll, hllc, hlld, kennedy_gruber, ranocha, roe, rusanov, upwind
from .physics.laws import MHD, Acoustics, Advection, Euler, Law, Maxwell
from .run.failure import SolutionError
from .run.signals import Interrupted
from .run.simulation import Simulation
from .wording import choose

__version__ = "0.1.0"

# `open` is public too, but not exported by a star, because it is the name of a function of Python's own.
__all__ = [
    "Acoustics", "Advection", "BoundaryIntegral", "Euler", "ExponentialFilter", "Extrema", "FiniteVolume", "Fourier", "Grid",
    "GridOperator", "Hermite", "Interrupted", "Law", "MHD", "Maxwell", "Mesh", "Method", "ModalDG", "NodalDG", "Operator",
    "OutputError", "Points", "Simulation", "SolutionError", "Sponge", "SurfaceFields", "TensorDG", "VolumeIntegral",
    "absorbing", "box", "central", "curved_wall", "eoc", "explain", "far_field", "hll", "hllc", "hlld", "incident", "inflow",
    "interval", "kennedy_gruber", "outflow", "pec", "plane_wave", "pmc", "prescribed", "pressure_outflow", "ranocha",
    "read_mesh", "rectangle", "riemann", "roe", "rusanov", "scattered", "upwind", "wall",
]


def __getattr__(name):
    """A public name that does not exist: the nearest one."""
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        choose("dgarray: the name", name, __all__)
    except ValueError as error:
        raise AttributeError(str(error)) from None
