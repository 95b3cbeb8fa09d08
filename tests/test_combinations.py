"""What combines and what is refused: every combination of `combinations`, and that docs/combinations.md says so."""
import re

import combinations
import numpy as np
import pytest
from combinations import (
    LAWS,
    METHODS,
    PAGE,
    beside_layers,
    cell_sides,
    conditions,
    faces_inside,
    fluxes,
    internal,
    limiters,
    orders,
    page,
    positivity,
    refused,
    schemes,
    sides,
    state_of,
    steppers,
    tensor,
    tensors,
    variants,
    vertex,
)
from meshes import disc
from modal_problems import agree, stage

import dgarray as dg
from dgarray import backends


@pytest.mark.thorough
def test_the_page_says_what_combines():
    """Every combination gives a finite state by the array kernels, or is refused in one line that names what came and what
    there is instead."""
    assert PAGE.read_text() == page(), "docs/combinations.md is stale: run python tests/support/combinations.py"
    by_order = [message for message in (*orders().values(), *steppers().values()) if message]
    tables = (fluxes, conditions, limiters, positivity, vertex, sides, variants, schemes, cell_sides, tensor, internal,
              beside_layers, tensors)
    tried = [*(table() for table in tables), *faces_inside()]
    messages = [*by_order, *(message for found in tried for message in refused(found))]
    assert len(set(messages)) > 50
    for message in messages:
        allowed = re.search("needs|is for|are for|allowed|must|take|give|it has|lies in|end it", message)
        assert allowed and "\n" not in message, message


def test_operators_say_what_computes():
    """Kernels, where they compute the largest part of a step."""
    answers = set()
    for what, operator in combinations.kernels().items():
        arrays = {"right-hand side", "half-steps"}.intersection(operator.array_expressions)
        answers.add(operator.kernels)
        assert operator.kernels == ("array" if arrays else "fused"), what
    assert answers == {"array", "fused"}


@pytest.mark.parametrize("name", LAWS)
def test_single_precision_stays_single(name):
    for law in LAWS[name]:
        mesh = dg.interval(1, 2, 3) if law.dim == 1 else (dg.rectangle if law.dim == 2 else dg.box)(
            (1,) * law.dim, (2,) * law.dim, cells=(1,) * law.dim)
        for method in METHODS.values():
            operator = method.discretise(mesh, law, dg.outflow, backends.get("numpy", "array", "float32", 1))
            q = operator.project(state_of(law))
            assert operator.host(operator.rhs(operator.state(q), 0.3)).dtype == np.float32


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_all_options_at_once_in_fused_kernels(dtype):
    """Quadrature, filter, a wall through splines and a law's own flux, against the array kernels."""
    mesh, law = disc(23), dg.Euler(2)
    method, found = dg.NodalDG(2, quadrature=5, filter=dg.ExponentialFilter(1, 2)), []
    for kernels in ("array", "fused"):
        operator = method.discretise(mesh, law, dg.curved_wall("spline"), backends.get("numpy", kernels, dtype), dg.roe)
        q = operator.project(state_of(law))
        out, k = stage(operator, q, 0 * q)
        state = operator.state(out)
        operator.operations.filter(state)
        found.append((out, k, operator.host(state)))
    for reference, fused in zip(*found):
        agree(fused, reference, 2, dtype, 100)
