"""The part of the mesh or grid on which a rank computes, and the backend on which it does."""
from .. import backends
from ..backends.workers import Workers
from ..mesh.grid_part import GridPart, row_share
from ..mesh.partition import balanced, partition
from .ranks import INSTALL


def check_ranks(ranks, method, mesh):
    """Raise ValueError for what runs in one process alone."""
    if (method.halo if mesh.structured else method.needs) is None:
        lacks = ("function halo(problem), the number of rows beside its own that a part of the grid needs" if mesh.structured
                 else "attribute needs, which says what an element needs of a part of a mesh")
        raise ValueError(f"{method!r} runs in one process, not on {ranks.parts} ranks: {type(method).__name__} has no {lacks}")
    if mesh.structured and mesh.dim == 1:
        raise ValueError(f"{mesh!r} is in 1D, which runs in one process, not on {ranks.parts} ranks")
    if not mesh.structured and mesh.cell_count < ranks.parts:
        raise ValueError(f"{mesh!r} has {mesh.cell_count} cells, too few for {ranks.parts} ranks")


def backend_of_rank(ranks, name, kernels, dtype, threads):
    """The backend of a rank, with its messages: of the CPU with its share of the machine's threads; with name "cupy" of the GPU
    of its number on this machine. "auto" is the CPU.

    Raises ValueError for jax, which would take all threads on each rank."""
    number, count = ranks.beside
    if name == "jax":
        raise ValueError(f"backend='jax' runs in one process, not on {ranks.parts} ranks; give backend='numpy'")
    if name == "cupy":
        backend = backends.get(name, kernels, dtype, threads, number)
    else:
        backend = backends.get("numpy", kernels, dtype, threads or max(1, Workers().threads // count))
    backend.messages = ranks
    return backend


def own_part(ranks, problem, method):
    """The part of a problem's mesh of this rank: of a mesh all parts cost about the same, by METIS, unless `write_mesh` has
    cut it for so many ranks; of a grid they have about the same number of rows along its last axis.

    Raises ValueError for a grid with too few rows."""
    if problem.mesh.structured:
        grid = method.space(problem).grid
        return GridPart(grid, row_share(grid, ranks.part, ranks.parts, method.halo(problem)))

    def cut():
        return balanced(problem.mesh, ranks.parts, method.costs(problem))
    owner = problem.mesh.owner
    if owner is None or owner.max() + 1 != ranks.parts:
        try:
            owner = ranks.once(cut)
        except ImportError:
            raise ImportError(f"cutting a mesh into parts needs pymetis: {INSTALL}") from None
    return partition(problem.mesh, owner, method.needs, ranks.part)[0]
