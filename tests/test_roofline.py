"""Operations, bytes and the bound; the benchmark runs and counts memory once."""
import json

import numpy as np
import pytest
from nodal_problems import of_element
from numpy.lib.stride_tricks import as_strided

from dgarray import Acoustics, Maxwell, ModalDG, NodalDG, Simulation, backends, box, pec, rectangle, wall
from dgarray.bench.cpu import bench, held, table
from dgarray.bench.roofline import bound, ceilings, cost, limit, quantity, roofline_line
from dgarray.cli import run_commands
from dgarray.methods.dg.stage_program import kind_of
from dgarray.program.costs import Cost, flops_of
from dgarray.stepping import LSRK54, RK4, SSP33

CEILINGS = {"bandwidth": 50e9, "multiply_add": 100e9}


def tables(mesh, law, boundary, order):
    return NodalDG(order).discretise(mesh, law, boundary, backends.get("numpy", "array")).tables


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_ceilings_are_rates(dtype):
    found = ceilings(dtype, 1, seconds=0.02)
    assert set(found) == {"bandwidth", "multiply_add"}
    assert all(np.isfinite(rate) and rate > 1e6 for rate in found.values())


def test_fused_cost_of_acoustics_counted_by_hand():
    """2D acoustics of order 2 without parameters that vary: 6 nodes, 3 faces of 3 nodes, 3 modes of lower degree."""
    t = tables(rectangle(cells=(2, 2), periodic=True), Acoustics(2), None, 2)
    operation, = cost(t, "fused", "float64")
    V, N, faces, low, d = 3, 6, 9, 3, 2
    f = t.physics.functions
    products = V * 2 * (low * (N + d * N) + N * faces)              # [D_1 .. D_d] in two factors, and the lift
    # LSRK: k = A k + w r takes 3 operations (1 in the first stage), q + B k takes 2; the sum of volume and lift 1.
    update = V * N * (5 * 6 - 2) / 5
    assert operation.flops == pytest.approx(
        f.volume.graph.flops * N + f.pair.graph.flops * faces / 2 + products + update)
    # q read and written, k read (not in the first stage) and written (not in the last); geometry: normal and both scales of
    # every edge; one index per face node.
    assert operation.bytes == pytest.approx(8 * V * N * (2 + 8 / 5) + 8 * (d * d + 1.5 * (d + 2)) + 4 * faces)


def test_modal_cost_counted_by_hand():
    """Order 1 on triangles: 3 modes, 3 points of the volume, 3 edges of 2 points. Kernels by edges and by elements cost alike:
    the least."""
    by_edges, t = (ModalDG(1, surface=surface).discretise(
        rectangle(cells=(2, 2), periodic=True), Acoustics(2), None, backends.get("numpy", "array")).tables
        for surface in ("edges", "elements"))
    V, N, points, faces, f = 3, 3, 3, 6, t.physics.functions
    entries = [np.count_nonzero(each) for each in (t.basis.interpolate, t.basis.trace, t.basis.lift, *t.basis.differentiation)]
    assert entries[3:] == [0, 0] or sum(entries[3:]) < 2 * N * points          # the first mode is constant
    products, update = V * 2 * sum(entries), V * N * (5 * 6 - 2) / 5
    operation, = cost(t, "fused", "float64")
    assert operation.flops == pytest.approx(
        f.volume.graph.flops * points + f.pair.graph.flops * faces / 2 + products + update)
    assert sum(o.flops for o in cost(t, "array", "float64")) == pytest.approx(operation.flops)
    assert cost(by_edges) == [operation]
    # A normal and two scales of each edge, indices of both sides of its two points.
    assert operation.bytes == pytest.approx(8 * (V * N * (2 + 8 / 5) + 4 + 1.5 * 4) + 4 * faces)


def test_bytes_halve_in_float32_but_for_the_indices():
    t = tables(box(cells=(2, 2, 2)), Maxwell(3), pec, 3)
    double, single = (cost(t, "fused", dtype)[0] for dtype in ("float64", "float32"))
    indices = 4 * 4 * 10
    assert double.flops == single.flops
    assert (double.bytes - indices) == pytest.approx(2 * (single.bytes - indices))


def test_array_kernels_cost_more_bytes_and_visit_each_face_once():
    t = tables(box(cells=(2, 2, 2)), Maxwell(3), pec, 3)
    parts = {o.name: o for o in cost(t, "array")}
    assert list(parts) == ["F.n - F* at default", "F.n - F*", "F(q).grad r to update"]
    assert sum(o.bytes for o in parts.values()) > cost(t, "fused")[0].bytes
    interior = (t.mesh.neighbour_face >= 0).sum() / 2
    boundary = sum(len(g.faces) * g.jump.graph.flops for g in t.faces.groups)
    assert parts["F.n - F*"].flops == pytest.approx(10 * interior * t.physics.functions.pair.graph.flops / t.elements)
    assert parts["F.n - F* at default"].flops == pytest.approx(10 * boundary / t.elements)


def test_parameters_sources_and_steppers_are_counted():
    mesh = box(cells=(2, 2, 2))
    plain = cost(tables(mesh, Maxwell(3), pec, 2))[0]
    lossy = cost(tables(mesh, Maxwell(3, eps=of_element(lambda x: 1 + x[0]), sigma=0.1), pec, 2))[0]
    assert lossy.flops > plain.flops
    assert lossy.bytes == pytest.approx(plain.bytes + 8 * (1 + 4))          # inside, and on every side of a face
    t = tables(mesh, Acoustics(3), wall, 2)
    state = 8 * t.variables * len(t.basis.cell.nodes)
    # Arrays of the state's size moved in a step beside the state read in every stage: see the tables in stepping.py.
    assert [round(len(s.stages) * (cost(t, "fused", "float64", s)[0].bytes - cost(t, "fused", "float64", LSRK54)[0].bytes
                                   + state * 13 / 5) / state, 9) for s in (LSRK54, RK4, SSP33)] == [13, 9, 5]


def test_bound_sums_the_slower_side_of_each_operation():
    operations = [Cost("a", 100.0, 10.0), Cost("b", 10.0, 100.0)]
    assert bound(operations, CEILINGS) == pytest.approx(100 / 100e9 + 100 / 50e9)


@pytest.mark.parametrize("kernels", ["fused", "array"])
def test_roofline_line_states_the_share(kernels):
    t = tables(box(cells=(2, 2, 2)), Maxwell(3), pec, 3)
    best = 120 / bound(cost(t, kernels), CEILINGS)
    report = {"kernels": kernels, "dtype": "float64", "elements": t.elements, "dofs": 120 * t.elements,
              "dof_updates_per_s": best / 2}
    line = roofline_line(report, cost(t, kernels), t.unit, CEILINGS)
    assert line.startswith("roofline: ") and line.endswith("; 50% of it reached")
    assert "per element and stage" in line and "bound by arithmetic" in line


def test_costs_of_several_sets_are_means_over_their_elements():
    """Orders by region: the line of a run counts each region's elements with the costs of its order, and joins."""
    mesh = rectangle(cells=4).with_regions({"fine": lambda x: x[0] < 0.25, "coarse": lambda x: x[0] > 0.25})
    sim = Simulation(mesh, Maxwell(2), NodalDG({"fine": 3, "coarse": 1}), pec, backend="numpy", kernels="array", until=0.01)
    sim.run()
    alone = [sum(o.flops for o in cost(tables(mesh, Maxwell(2), pec, order), "array")) for order in (3, 1)]
    sets, tables_of_all = sim.operator.operators.values(), sim.operator.tables
    (stage,) = cost(tables_of_all, "array", program=sim.operator.program)
    assert min(alone) < stage.flops < max(alone)
    parts = [sum(o.flops for o in cost(each.tables, "array")) * each.tables.elements for each in sets]
    program = sim.operator.program("stage", kind_of(LSRK54.stages[1]))
    joins = [each for each in program.operations if program.values[each.result].domain.name.startswith("join")]
    assert 32 * stage.flops == pytest.approx(sum(parts) + sum(flops_of(program, each) for each in joins))
    line = run_commands.roofline(sim)
    assert f"{quantity(stage.flops, 'flop')} and {quantity(stage.bytes, 'B')} per element and stage" in line


def test_quantities():
    assert [quantity(v, "B") for v in (12.0, 5900.0, 2.5e6)] == ["12 B", "5.9 kB", "2.5 MB"]


def test_held_counts_the_owner_of_views_once():
    a = np.zeros(100)
    assert held({"first": a[10:20], "second": [a, a.reshape(10, 10)]}) == {".first": a.nbytes}
    assert held([as_strided(a[5:], (3, 4), (8, 8)), a]) == {"[0]": a.nbytes}


def test_bench_measures_a_case_by_name():
    results = bench(["tm_cavity"], quick=True)
    row, = results["rows"]
    assert row["name"] == "tm_cavity" and row["best"] >= row["median"] > 0 and row["share_of_bound"] > 0
    assert "tm_cavity" in table(results)
    json.dumps(results)


def test_limit_names_the_side():
    assert limit(Cost("a", 1e3, 1.0), CEILINGS) == "arithmetic"
    assert limit(Cost("a", 1.0, 1e3), CEILINGS) == "memory"
