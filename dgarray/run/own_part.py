"""The part of the mesh on which a rank computes."""
import numpy as np

from ..mesh.partition import balanced, partition
from .ranks import INSTALL

COSTS = 8          # a whole number for the cheapest cell, of which others are rounded multiples


def check_ranks(ranks, method, mesh, backend):
    """Raise ValueError for what runs in one process alone."""
    if method.needs is None:
        raise ValueError(f"{method!r} runs in one process, not on {ranks.parts} ranks; NodalDG, ModalDG and TensorDG do")
    if backend == "cupy":
        raise ValueError(f"backend 'cupy' is for one process, not for {ranks.parts} ranks; give 'numpy'")
    if mesh.cell_count < ranks.parts:
        raise ValueError(f"{mesh!r} has {mesh.cell_count} cells, too few for {ranks.parts} ranks")


def own_part(ranks, problem, method):
    """The part of a problem's mesh of this rank: all parts cost about the same, by METIS."""
    def cut():
        costs = method.costs(problem)
        return balanced(problem.mesh, ranks.parts, np.maximum(1, np.round(COSTS * costs / costs.min())).astype(int))
    try:
        owner = ranks.once(cut)
    except ImportError:
        raise ImportError(f"cutting a mesh into parts needs pymetis: {INSTALL}") from None
    return partition(problem.mesh, owner, method.needs, ranks.part)
