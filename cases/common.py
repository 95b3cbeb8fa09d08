"""What several cases share: their mesh files, the choice of a method, the energy left at the end of a run."""
from pathlib import Path

from dgarray import ModalDG, NodalDG
from dgarray.mesh import Mesh, read_mesh
from dgarray.names import choose

MESHES = Path(__file__).parent / "meshes"


def case_mesh(mesh, built_in, dim=None):
    """The mesh that a user gave, a path or a Mesh, or the case's own: a function or the name of a file in `meshes`.

    Raises ValueError for a mesh of another dimension than the case has (None: any)."""
    if mesh is None:
        return built_in() if callable(built_in) else read_mesh(MESHES / built_in)
    mesh = mesh if isinstance(mesh, Mesh) else read_mesh(mesh)
    if dim is not None and mesh.dim != dim:
        raise ValueError(f"{mesh.source} is {mesh.dim}D ({mesh.cell_type} cells); this case is {dim}D")
    return mesh


def dg_method(method, order, start):
    """ModalDG or NodalDG of that order, by the names "modal" and "nodal"; modal DG always starts from the projection."""
    if choose("method", method, ("modal", "nodal")) == "nodal":
        return NodalDG(order, start)
    choose("start", start, ("projection",), " for modal DG; allowed")
    return ModalDG(order)


def energy_ratio(dataset):
    """Energy of the last snapshot over that of the first, for laws whose energy is half the sum of squares."""
    first, last = (sum(dataset.dg.norm(name, time) ** 2 for name in dataset.dg.variables) for time in (0, -1))
    return last / first
