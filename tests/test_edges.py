"""Edge-wise kernels of modal DG: each face once in a piece, conserved, the same bits for any number of threads, the plan.

That they agree with the reference, for every law, order and dtype in turns, is in test_modal_kernels."""
import importlib.util
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from modal_problems import agree, gas, stage
from nodal_problems import box_of

import dgarray as dg
from dgarray import backends, stepping
from dgarray.analysis.totals import totals
from dgarray.backends.cpu.dg.edges import EdgesFused, surface_of
from dgarray.backends.cpu.dg.kernel_source import indented
from dgarray.bench import modal as bench_modal
from dgarray.cases import supersonic_vortex

PERIODIC = dg.rectangle(cells=(40, 40), periodic=True)


def by_edges(order):
    return dg.ModalDG(order, surface="edges")


def fused(mesh, order=2, dtype="float64", threads=None, law=None, boundary=None, flux=dg.hllc):
    law = law or dg.Euler(mesh.dim)
    backend = backends.get("numpy", "fused", dtype, threads)
    return by_edges(order).discretise(mesh, law, boundary, backend, flux)


@pytest.mark.parametrize("dim, order, dtype, flux", [(1, 0, "float64", dg.rusanov), (2, 6, "float32", dg.roe)])
def test_gas_agrees_with_the_reference(dim, order, dtype, flux):
    results = []
    for operator, q in gas(dim, order, dtype, flux, method=by_edges):
        results.append(stage(operator, q, 0 * q))
    o = operator.operations
    assert isinstance(o, EdgesFused)
    states, filled = [operator.state(q), operator.zeros()], o.tables.elements % o.lanes
    operator.stage(states[0], states[1], operator.zeros(), states[0], 0.3, 0.01, stepping.LSRK54.stages[2])
    last = states[1].reshape(o.tiles, -1, o.lanes)[-1, :, filled - 1:]          # the lanes beyond do as the last element
    assert filled and np.array_equal(last, np.broadcast_to(last[:, :1], last.shape))
    for reference, ours in zip(*results):
        agree(ours, reference, order, dtype, 100)


@pytest.mark.parametrize("mesh", [PERIODIC, box_of(2), dg.interval(0, 1, 1500), dg.box(cells=8)], ids=repr)
def test_each_face_once_in_a_piece(mesh):
    """Every face value of a piece's own elements belongs to one edge; the boundary's first, a vector of one kind."""
    names = list(mesh.boundaries)
    boundary = {name: (dg.wall, dg.outflow)[i % 2] for i, name in enumerate(names)} or None
    o = fused(mesh, 1, boundary=boundary).operations
    t, lanes, row = o.tables, o.lanes, o.source.height * o.lanes * o.tables.variables
    left, right = (np.moveaxis(side.reshape(-1, o.source.M, lanes), 1, 2) for side in (o.left, o.right))
    boundary_faces = 0
    for piece, (first, last) in enumerate(zip(o.edge_start, o.edge_start[1:])):
        kinds = o.kinds[first:last]
        assert (np.diff((kinds == 0).astype(int)) >= 0).all() and ((kinds >= 0) & (kinds <= lanes)).all()
        edges = np.concatenate([left[first:last], right[first:last]], axis=2).reshape(-1, 2 * o.source.M)
        outer = np.repeat(kinds > 0, lanes)
        assert np.array_equal(edges[outer, :o.source.M], edges[outer, o.source.M:])
        boundary_faces += len(np.unique(edges[outer], axis=0))
        places = np.concatenate([np.unique(edges[outer, :o.source.M], axis=0).ravel(),
                                 np.unique(edges[~outer], axis=0).ravel()])
        assert len(np.unique(places)) == len(places)
        elements = min(t.elements - piece * o.piece * lanes, o.piece * lanes)
        own = (places // row * lanes + places % lanes) < elements
        assert own.sum() == elements * o.source.F * o.source.M
    assert boundary_faces == len(mesh.boundary_faces)


@pytest.mark.parametrize("mesh, order, dtype", [(PERIODIC, 1, "float64"), (PERIODIC, 4, "float32"),
                                                (dg.box(cells=8), 2, "float64"), (dg.interval(0, 1, 1500), 0, "float64")],
                         ids=repr)
def test_all_that_a_stage_goes_through_is_asked_for(mesh, order, dtype):
    """Every cache line of a piece's new state at its edges and at its faces, and every value of the elements around it."""
    o = fused(mesh, order, dtype, boundary=dg.wall if mesh.boundaries else None).operations
    s, lines = o.source, set()

    def prefetch(array, first, count):
        first, beside = divmod(first * o.backend.dtype.itemsize, 64)
        assert beside == 0 or count == 1
        lines.update(range(first, first + count))

    def run(lines, **names):
        exec("\n".join(lines), names | {"prefetch": prefetch, "out": None, "state": None})

    of_tile = s.V * s.N * s.L * o.backend.dtype.itemsize / 64          # less than one where vectors are short
    edges = ["for edge in range(first, last):", f"    for j in range({s.M}):", *indented(s.prefetch_at_edges(["out"]), 2)]
    faces = [f"for f in range({s.F}):", f"    for j in range({s.M}):", *indented(s.prefetch_at_faces(["out"]), 2)]
    around = [*s.around(), "for tile in range(first, last):", f"    for v in range({s.V}):", *indented(s.prefetch_around())]
    for piece, (first, last) in enumerate(zip(o.edge_start, o.edge_start[1:])):
        tiles = range(piece * o.piece, min((piece + 1) * o.piece, o.tiles))
        wanted = set(range(int(tiles[0] * of_tile), ceil((tiles[-1] + 1) * of_tile)))
        run(edges, first=int(first), last=int(last), begin=tiles[0])
        assert wanted <= lines and len(lines) < 3 * len(wanted)
        lines.clear()
        for tile in tiles:
            run(faces, tile=tile)
        assert wanted <= lines and len(lines) < 3 * len(wanted)
        lines.clear()
        start, halo = o.halo
        run(around, piece=piece, first=tiles[0], last=tiles[-1] + 1, halo_start=start, halo=halo)
        places = halo[start[piece] * o.lanes:start[piece + 1] * o.lanes, None] + np.arange(s.V * s.N) * o.lanes
        assert lines == set((places.ravel() * o.backend.dtype.itemsize // 64).tolist())
        lines.clear()


def disturbed(operator):
    q = operator.project(lambda x: operator.tables.law.conservative((1.0, 0.3, 0.1, 1.0)))
    return q + 0.01 * np.random.default_rng(0).standard_normal(q.shape)


def test_totals_are_conserved():
    operator = fused(PERIODIC)
    o = operator.operations
    assert len(o.edge_start) > 3                             # edges between pieces are evaluated in both
    r = operator.host(operator.rhs(operator.state(disturbed(operator)), 0.0))
    changes = totals(operator, operator.nodal(r))
    assert np.abs(r).max() > 1 and max(abs(value) for value in changes.values()) < 1e-13 * np.abs(r).max()


def test_the_same_bits_for_any_number_of_threads():
    results = []
    for threads in (1, None):
        operator = fused(PERIODIC, threads=threads)
        q = disturbed(operator)
        results.append(stage(operator, q, q))
    assert all(np.array_equal(one, other) for one, other in zip(*results))


@pytest.mark.thorough
def test_limited_runs_agree_with_the_reference():
    """The limiter's kernels on a state that was made by edges, with walls and an inflow."""
    def run(**options):
        sim = supersonic_vortex(level=0).replace(backend="numpy", stepper="rk4", **options)
        return sim.run(until=0.05).isel(time=-1)
    method = dg.ModalDG(1, limiter="barth-jespersen", surface="edges")
    ours, reference = run(method=method, kernels="fused"), run(method=method, kernels="array")
    for name in ("rho", "E"):
        assert np.abs(ours[name] - reference[name]).max() < 1e-11


def test_which_surface():
    assert [surface_of(None, 2, order, "float64") for order in (0, 4, 5)] == ["edges", "edges", "elements"]
    assert {surface_of(None, *rest) for rest in ((3, 2, "float64"), (2, 2, "float32"), (1, 1, "float64"))} == {"elements"}
    assert surface_of("edges", 3, 6, "float32") == "edges" and surface_of("elements", 2, 1, "float64") == "elements"
    operators = [dg.ModalDG(1, surface=name).discretise(PERIODIC, dg.Euler(2), None, backends.get("numpy", "array"))
                 for name in ("edges", "elements")]          # the array text is the same for both
    assert np.array_equal(*(o.host(o.rhs(o.state(disturbed(o)), 0.0)) for o in operators))
    with pytest.raises(ValueError, match="surface 'edge' does not exist; allowed: edges, elements, None .did you mean 'edges'"):
        dg.ModalDG(1, surface="edge")


@pytest.mark.parametrize("measured", [False, True])
def test_shares_of_the_kernels_and_their_table(measured):
    spec = importlib.util.spec_from_file_location("make", Path(__file__).parents[1] / "docs" / "make_modal_benchmarks.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    shares = {"order": 1, "limiter": "barth-jespersen", "elements": 180, "updates": 1e6,
              "seconds": dict(zip(make.PARTS, (2.0, 3.0, 1.0, 1.0, 3.0)))}
    if measured:
        found = bench_modal.shares(1, 0, "barth-jespersen")
        assert set(found["seconds"]) == set(make.PARTS) and all(found["seconds"][part] > 0 for part in ("volume", "look"))
        shares = found | {"seconds": shares["seconds"]}
    rows = [{"elements": count, "best": cost, "median": cost} for count, cost in ((10000, 4e-9), (300000, 5.1e-9))]
    results = {"machine": {"processor": "a processor", "threads": 2}, "shares": [shares], "sizes": [{"order": 3, "rows": rows}],
               "limiter": [{"elements": 180, "off": 1e-3, "on": 1.2e-3, "best": 1.2, "median": 1.3}],
               "surfaces": [{"dim": 2, "order": 3, "dtype": "float64", "elements": 20000, "by elements": 2e8, "by edges": 3e8,
                             "best": 1.5, "median": 1.4}]}
    page = make.made(f"before\n{make.BEGIN}old\n{make.END}\nafter", results)
    assert page.startswith("before") and page.endswith("after") and "old" not in page
    assert "| 1, limited | 20% | 30% | 10% | 10% | 30% |" in page and "| 180 | 1 | 1.2 | +20% | +30% |" in page
    assert "not all are within 25%" in page and "| 3 | 4.00 | 5.10 | 27% |" in page
    assert "| 20,000 triangles, float64 | 3 | 200 | 300 | 1.50 | 1.40 |" in page
