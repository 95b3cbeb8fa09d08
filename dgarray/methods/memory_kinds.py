"""What each kind of kernels allocates, from `Counts`: (kept on the host, kept on the device, taken for a while in each phase).

Every function takes the counts, how many arrays of the state's size there are, what the tables keep, and the bytes of the
projection, of the search for the time step, and of wave speeds and what is admissible.
"""
from math import ceil
from types import SimpleNamespace

from ..backends.cpu import matmul
from ..reference import simplex
from .spectrum import SEARCHES, UNKNOWNS
from .stability import family

IN_VECTORS = 1.06          # edges in lists, some in those of two pieces or to fill a vector, over edges


def of_spectrum(c, law, physics, threads):
    """Host bytes of the search for the operator's eigenvalues; 0 where the time step comes from the table."""
    speed, search = physics.functions.wave_speed, SEARCHES[family(law) if c.d > 1 else "scalar"]
    whole = UNKNOWNS // (search.products * c.V * c.N)
    if speed.depends_on("q") or speed.depends_on("t") or whole < c.E and not search.share_of_part:
        return 0
    part = c.part(min(c.E, whole))
    mesh = 0 if part.E == c.E else part.metrics + 8 * part.E * (c.F * (2 * c.d + 3) + c.d * (c.d + 3))
    vectors = search.products + 5          # the Krylov space and those that are worked on
    return vectors * part.in_float64 + mesh + sum(part.array_text(0).values()) + part.temporaries(threads)


def fused(c, states, tables, projection, spectrum, pointwise, backend):
    """Tiles on the CPU, see `dgarray.backends.cpu.nodal`."""
    lanes = matmul.lanes(backend.dtype)
    tiles = ceil(c.E / lanes)
    padded, state = tiles * lanes, tiles * lanes * c.V * c.N * c.b
    copies = c.b if c.b < 8 else 0
    faces, index = c.F * c.M, 4 if tiles * lanes * c.V * c.N < 2 ** 31 else 8
    numbers = c.geometry + (c.d + c.d * c.d) * c.uses_x
    scratch = c.V * ((3 + c.d) * c.N + faces) * lanes * c.b * backend.threads
    used = bool(pointwise)
    inherited = {"parameters": copies * c.E * c.P, "positions": c.positions * used}
    tiled = {"metrics": numbers * padded * c.b, "parameters": max(1, c.P) * (c.E + padded) * c.b,
             "scratch": scratch + c.face_values(backend.threads)}
    by_edges = c.by_edges(backend.dtype)
    lists = {"connectivity": padded * (faces * index + 4 * c.F) + 12 * c.outer} if not by_edges else edges(c, index)
    kept = added({"state and registers": states * state}, tables, inherited, tiled, lists)
    total, own = sum(kept.values()), sum(added(tables, inherited).values())
    # The set-up does one thing after the other, and what comes later, the states at least, is not there yet.
    making = faces * c.E * (16 + 2 * index) if not by_edges else IN_VECTORS * (c.inner + c.outer) * (80 * c.M + 96)
    peaks = [c.set_up(tables), own + sum(lists.values()) + making,
             total - states * state + numbers * c.E * max(8, 2 * c.b)]
    first = c.in_float64
    checked = state + pointwise + c.d * c.N * c.E * (8 if c.b == 8 else 12) * c.uses_x if used else 0
    return kept, {}, {"set-up": (max(peaks) - total, 0),
                      "initial state": (max(projection, first + max(c.totals, state, checked)), 0),
                      "time step": (first + spectrum, 0),
                      "snapshots": (max((2 if padded > c.E else 1) * state, c.fetched), 0)}


def edges(c, index):
    """What the kernels of a CPU keep of every edge: see `dgarray.backends.cpu.edges`."""
    count = IN_VECTORS * (c.inner + c.outer)
    return {"connectivity": 2 * count * c.M * index,
            "metrics": count * (c.d + 2 + c.d * c.M * c.uses_x) * c.b, "parameters": 2 * count * c.P * c.b}


def on_arrays(c, states, tables, projection, spectrum, pointwise, backend):
    """The array text on the CPU: in float64 the tables are the arrays."""
    state = c.V * c.N * c.E * c.b
    kept = added({"state and registers": states * state}, tables, c.array_text(c.b if c.b < 8 else 0, bool(pointwise)))
    total = sum(kept.values())
    later = sum(c.array_text(0)[what] for what in ("connectivity", "face fluxes"))
    stages, first = c.temporaries(backend.threads), c.in_float64
    begin = max(c.totals, first + (state if c.b < 8 else 0), c.making_lists, stages)
    return kept, {}, {"set-up": (max(c.set_up(tables), total - later - states * state + 2 * c.positions) - total, 0),
                      "initial state": (max(projection - later, first + begin), 0),
                      "time step": (first + max(spectrum, pointwise), 0),
                      "stages": (max(stages, pointwise), 0),
                      "snapshots": (c.fetched, 0)}


def on_device(c, states, tables, projection, spectrum, pointwise, backend):
    """The array text on a GPU, in one block; set-up and snapshots on the host."""
    state, on_host = c.V * c.N * c.E * c.b, sum(tables.values())
    kept = added({"state and registers": states * state}, c.array_text(c.b, bool(pointwise)),
                 {"connectivity": c.outer * 16 * c.M})
    stages = max(c.volume_temporaries(c.E), c.face_temporaries(c.inner))
    first = c.in_float64
    begin = max(c.totals, first + (state if c.b < 8 else 0), 2 * c.making_lists)
    return tables, kept, {"set-up": (max(c.set_up(tables) - on_host, 16 * c.d * c.N * c.E * c.uses_x), 0),
                          "initial state": (max(projection, first + begin), max(state, stages)),
                          "time step": (first + spectrum, pointwise),
                          "stages": (0, max(stages, pointwise)),
                          "snapshots": (c.fetched, 0)}


def fused_on_device(law, physics, jumps, c, states, tables, projection, spectrum, pointwise, backend):
    """The fused kernels on a GPU, see `dgarray.backends.cuda.nodal`; of the variants that may be chosen, the largest."""
    kept, variant = max(((of_variant(variant, physics, jumps, c, states), variant) for variant in variants(law, c, backend)),
                        key=lambda plan: sum(plan[0].values()))
    if pointwise:          # wave speeds and what is admissible are computed by the array text
        kept = added(kept, {"metrics": c.b * c.E * c.F * (c.d + 1), "parameters": c.b * c.E * c.P, "positions": c.positions})
    padded = kept["state and registers"] // states          # what a state takes on the device
    state, on_host = c.V * c.N * c.E * c.b, sum(tables.values())
    rows, slots, first = c.geometry + (c.d + c.d * c.d) * c.uses_x + c.P, c.F * c.M, c.in_float64
    packed = padded // (c.V * c.N)          # a row on the device
    lists = max(24 * slots * c.E * (variant.faces != "once"), c.inner * (64 * c.M + 112) * (variant.faces != "both"))
    # The rows of a state that is kept in blocks are a copy; wave speeds and what is admissible are found from it.
    blocks, found = bool(variant.width), bool(pointwise)
    checked, pointwise = padded // c.b, found * (pointwise + blocks * padded)
    return (tables | {"snapshot on its way": padded}, kept | {"snapshot on its way": padded}, {
        "set-up": (max(c.set_up(tables) - on_host, 8 * rows * c.E + 2 * rows * packed, lists) - padded, 0),
        "initial state": (max(projection, first + max(c.totals, 2 * padded)), padded),
        "time step": (first + max(spectrum, 16 * c.d * c.N * c.E * c.uses_x * found), pointwise),
        "stages": (0, max(checked, pointwise)),
        "snapshots": ((1 + blocks) * padded + state, 0)})


def modal_on_device(physics, jumps, c, states, tables, projection, spectrum, pointwise, backend):
    """The kernels of DG by quadrature on a GPU, see `dgarray.backends.cuda.modal`; pointwise: of the first state, by the array
    text."""
    from ..backends.cuda.layout import Layout
    row, slots = c.b * Layout(c.E).size(1), c.F * c.M
    padded, on_host, found = row * c.V * c.N, sum(tables.values()), bool(pointwise)
    inner, outer = read(physics.functions.pair, c.M), max((read(jump, c.M) for jump in jumps), default=0)
    rows = c.geometry + (c.d + c.d * c.d) * c.uses_x + c.P
    kept = {"state and registers": states * padded,
            "metrics": row * (rows - c.P) + c.b * (c.inner * inner + c.outer * outer),
            "parameters": row * c.P + found * c.b * c.E * c.P, "positions": found * c.positions,
            "connectivity": 4 * (5 * c.inner + 3 * c.outer), "face fluxes": row * c.V * slots, "rates": c.b * c.E}
    lists, first = c.inner * (64 * c.M + 112), c.in_float64
    return (tables | {"snapshot on its way": padded}, kept | {"snapshot on its way": padded}, {
        "set-up": (max(c.set_up(tables) - on_host, 8 * rows * c.E + 2 * row * rows, lists) - padded, 0),
        "initial state": (max(projection, first + max(c.totals, 2 * padded)), padded + pointwise),
        "time step": (first + spectrum, 0),
        "stages": (0, padded // c.b),
        "snapshots": (padded + c.fetched, 0)})


def variants(law, c, backend):
    """The variants of the GPU's kernels that a run may come to use."""
    from ..backends.cuda import tuning
    cell = simplex(c.d, c.order)
    problem = SimpleNamespace(law=law, order=c.order, dim=c.d, variables=c.V, parameters=range(c.P), needs_x=c.uses_x,
                              nodes=cell.nodes, face_nodes=cell.face_nodes)
    shape, device = tuning.Shape.of(problem, backend.dtype), backend.device
    found = tuning.lookup(device, problem, backend.dtype)
    if found is not None:
        return [found]
    tunes = tuning.first_run() and getattr(device, "tunes", False)
    return tuning.shortlist(shape, device.shared_per_block) if tunes else [tuning.default(shape, device.shared_per_block)]


def of_variant(variant, physics, jumps, c, states):
    """What the fused kernels keep on the device in one variant: {what: bytes}."""
    from ..backends.cuda.layout import Layout
    padded, slots = Layout(c.E, variant.width).size(1), c.F * c.M
    most = max(c.V * max(c.N, slots, (c.d * c.N + slots) * (variant.product == "cublas")), c.geometry + c.P)
    index = 4 if padded * most < 2 ** 31 else 8
    of_faces = c.F * max((len(jump.inputs.get("face", ())) for jump in jumps), default=0)
    own = {"metrics": c.b * padded * (c.geometry + of_faces + (c.d + c.d * c.d) * c.uses_x), "parameters": c.b * padded * c.P}
    if variant.faces == "once":
        inner, outer = read(physics.functions.pair, c.M), max((read(jump, c.M) for jump in jumps), default=0)
        at_faces = {"metrics": c.b * (c.inner * inner + c.outer * outer), "connectivity": 4 * (5 * c.inner + 3 * c.outer),
                    "face fluxes": c.b * padded * c.V * slots}
    else:          # jobs of blocks: a face that two elements of a block share is there once, others twice
        at_faces = {"connectivity": index * padded * slots + 12 * c.F * c.E * (variant.faces == "block")}
    operands = c.b * padded * c.V * ((c.d + 1) * c.N + slots) * (variant.product == "cublas")
    return added({"state and registers": states * c.b * padded * c.V * c.N}, own, at_faces, {"operands": operands})


def read(function, nodes):
    """Numbers that a kernel over faces of so many nodes keeps of each for this function: positions for every node."""
    counts = {"x": nodes, "n": 1, "s": 1, "m": 1, "ml": 1, "mr": 1, "face": 1}
    return sum(counts.get(argument, 0) for argument, _ in function.used.values())


def added(*parts):
    """The sums of dictionaries {what: bytes}."""
    return {what: sum(part.get(what, 0) for part in parts) for what in dict.fromkeys(what for part in parts for what in part)}
