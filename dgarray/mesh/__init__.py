"""Meshes of lines, triangles and tetrahedra: read, generate, refine, make periodic, add layers, describe; and uniform grids."""
from .absorbing.pml import pml
from .describe import describe
from .errors import MeshError, MeshWarning
from .files.read import read_mesh
from .files.store import write_mesh
from .generate import box, interval, rectangle
from .grid import Grid
from .mesh import Mesh, build as from_arrays
from .unstructured import polygon

__all__ = ["Grid", "Mesh", "MeshError", "MeshWarning", "box", "describe", "from_arrays", "interval", "pml",
           "polygon", "read_mesh", "rectangle", "write_mesh"]
