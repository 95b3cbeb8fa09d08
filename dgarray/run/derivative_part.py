"""The part of a mesh on which derivatives by the parameters of some elements are computed: these and their neighbours."""
from dataclasses import replace

import numpy as np

from ..backends.arrays import ArrayBackend
from ..methods.dg.sets import cut_out

SHARE = 0.7          # of the elements, from which on all are computed


def derivative_part(operator, elements):
    """(The operator of the part, by array expressions; numbers of its elements in the operator's mesh; which are asked for);
    (operator, None, None) where the part is all.

    elements   numbers, in the whole mesh, of those whose parameters are asked for; None: all
    Where the mesh is a part of another one, each part of that computes the derivatives of its own elements, also by what its
    neighbours there compute: from states with copies of these. Without such elements the operator is None."""
    whole, share = operator.mesh.whole, operator.mesh.share
    if share is None and (elements is None or len(whole.hanging)):
        return operator, None, None
    if share is not None:
        own = np.sort(share.cells[share.own])
        elements = own if elements is None else np.intersect1d(elements, own)
    cells = np.union1d(elements, whole.neighbour_cell[elements])
    if share is None and len(cells) >= SHARE * whole.cell_count:
        return operator, None, None
    part, number = None, np.arange(whole.cell_count)
    if share is not None:
        number[share.cells] = np.arange(len(share.cells))
    if len(cells):
        backend = ArrayBackend(np, "float64", "numpy", operator.backend.threads)
        part = operator.method.discretised(cut_out(replace(operator.problem, mesh=whole), cells), backend)
    return part, number[cells], np.isin(cells, elements)
