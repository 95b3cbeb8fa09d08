"""High-order solvers for wave and conservation-law problems, from array-style Python."""
from .analysis.convergence import eoc
from .boundary import absorbing, incident, open, outflow, pec, plane_wave, pmc, prescribed, scattered, wall
from .explain import explain
from .fluxes import central, rusanov, upwind
from .laws import Acoustics, Advection, Law, Maxwell
from .mesh import Mesh, box, interval, read_mesh, rectangle
from .methods import NodalDG
from .simulation import Simulation, SolutionError

__all__ = [
    "Acoustics", "Advection", "Law", "Maxwell", "Mesh", "NodalDG", "Simulation", "SolutionError", "absorbing", "box",
    "central", "eoc", "explain", "incident", "interval", "open", "outflow", "pec", "plane_wave", "pmc", "prescribed",
    "read_mesh", "rectangle", "rusanov", "scattered", "upwind", "wall",
]
