"""What combines: laws, methods, numerical fluxes, boundary conditions, limiters, steppers and kernels, each combination tried.

    python tests/support/combinations.py      writes docs/combinations.md anew

A combination is one stage on a tiny mesh by the array kernels, or the line that says why there is none.
"""
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from burgers import Burgers
from emulated import IdleDevice
from matrix import LAWS as MATRIX_LAWS, runs

import dgarray as dg
from dgarray import backends
from dgarray.backends.cpu import CpuBackend
from dgarray.backends.cuda import CudaBackend
from dgarray.methods.dg.limiters.tables import INDICATORS, LIMITERS, VARIABLES
from dgarray.methods.finite_volume.reconstruction import LIMITERS as SLOPES
from dgarray.methods.finite_volume.schemes import SCHEMES as FV_SCHEMES
from dgarray.methods.hermite.method import VARIANTS
from dgarray.stepping import STEPPERS, Taylor, step

PAGE = Path(__file__).parents[2] / "docs" / "combinations.md"
RUNS = [run for law in MATRIX_LAWS for run in runs(law)]
YES = ""          # the message where nothing is refused

LAWS = {"Advection": [dg.Advection((1.0, 0.5, 0.2)[:dim], dim=dim) for dim in (1, 2, 3)],
        "Acoustics": [dg.Acoustics(dim) for dim in (1, 2, 3)],
        "Maxwell": [dg.Maxwell(1), dg.Maxwell(2, "TM"), dg.Maxwell(2, "TE"), dg.Maxwell(3)],
        "Euler": [dg.Euler(dim) for dim in (1, 2, 3)],
        "MHD": [dg.MHD(dim, cleaning_speed=1.0) for dim in (1, 2, 3)],
        "a law of your own": [Burgers(dim) for dim in (1, 2, 3)]}
METHODS = {"NodalDG": dg.NodalDG(2), "NodalDG with quadrature": dg.NodalDG(2, quadrature=6),
           "NodalDG with filter": dg.NodalDG(2, filter=dg.ExponentialFilter(1, 4)), "ModalDG": dg.ModalDG(2)}
TENSOR = {"gauss": dg.TensorDG(2), "lobatto": dg.TensorDG(2, "lobatto"),
          "split form of ranocha": dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha),
          "split form of kennedy_gruber": dg.TensorDG(2, "lobatto", volume_flux=dg.kennedy_gruber),
          "split form of central": dg.TensorDG(2, "lobatto", volume_flux=dg.central),
          "positivity=True": dg.TensorDG(2, positivity=True),
          "shock_capturing=0.5": dg.TensorDG(2, "lobatto", volume_flux=dg.central, shock_capturing=0.5)}
FLUXES = {flux.__name__: flux for flux in (dg.upwind, dg.central, dg.rusanov, dg.hll, dg.hllc, dg.roe, dg.hlld)}


def state_of(law):
    """A state that makes sense to the law, as a function of x."""
    if isinstance(law, dg.TwoFluid):
        return lambda x, t=0.0: law.state((1 + 0.1 * np.sin(x[0]), *(0.1,) * law.dim, 1.0), 0.5 + 0.1 * np.sin(x[0]))
    if isinstance(law, dg.Euler):
        return lambda x, t=0.0: law.conservative((1 + 0.1 * np.sin(x[0]), *(0.1,) * law.dim, 1.0 + 0.0 * x[0]))
    if isinstance(law, dg.MHD):
        return lambda x, t=0.0: law.conservative((1 + 0.1 * np.sin(x[0]), 0.1, 0.1, 0.1, 1.0 + 0.0 * x[0], 0.5, 0.3, 0.2))
    return lambda x, t=0.0: tuple(np.sin(x[0] + i) for i in range(len(law.variables)))


def own(q, n, x, t, m):
    """A condition of one's own."""
    return tuple(0.5 * c + 0.1 * x[0] * n[0] for c in q)


CONDITIONS = {
    "pec": lambda g: dg.pec, "pmc": lambda g: dg.pmc, "wall": lambda g: dg.wall,
    "curved_wall(function)": lambda g: dg.curved_wall(lambda x: x), "curved_wall('spline')": lambda g: dg.curved_wall("spline"),
    "pressure_release": lambda g: dg.pressure_release, "impedance": lambda g: dg.impedance(0.5),
    "absorbing": lambda g: dg.absorbing, "outflow": lambda g: dg.outflow,
    "prescribed": dg.prescribed, "incident": dg.incident, "scattered": lambda g: dg.scattered(dg.outflow, g),
    "far_field": dg.far_field, "inflow": dg.inflow, "pressure_outflow": lambda g: dg.pressure_outflow(1.0),
    "a function of your own": lambda g: own}


SPONGE = {"Sponge": lambda g: dg.Sponge(0.5)}


@cache
def mesh_of(dim):
    """A few elements, away from the origin."""
    if dim == 1:
        return dg.interval(1, 2, 3)
    return dg.rectangle((1, 1), (2, 2), cells=(2, 1)) if dim == 2 else dg.box((1, 1, 1), (2, 2, 2), cells=(1, 1, 1))


@cache
def tensor_mesh_of(dim):
    """The same in quadrilaterals or hexahedra."""
    return dg.rectangle((1, 1), (2, 2), cells=(2, 1), shape="quadrilateral") if dim == 2 else dg.box(
        (1, 1, 1), (2, 2, 2), cells=(1, 1, 2), shape="hexahedron")


def outcome(law, method, boundary=None, flux=None, mesh_of=mesh_of):
    """YES where a stage gives a finite state, or the message of the refusal; `boundary` and `method` may be functions."""
    mesh, g = mesh_of(law.dim), state_of(law)
    try:
        boundary = boundary(g) if boundary else dg.outflow
        method = method() if callable(method) else method
        operator = method.discretise(mesh, law, boundary, backends.get("numpy", "array", "float64", 1), flux)
    except (TypeError, ValueError) as error:
        return str(error)
    states = [operator.state(operator.project(g)), operator.zeros()]
    operator.stage(states[0], states[1], operator.zeros(), states[0], 0.0, 1e-3, STEPPERS["lsrk54"].stages[0])
    if operator.tables.filter is not None:
        operator.operations.filter(states[1])
    assert operator.check(states[1], 0.0).sound and np.any(operator.host(states[1])), (law, method, boundary, flux)
    return YES


def cell(found):
    """What a table says of the outcomes {number of dimensions: [messages]} of one combination."""
    dims = [dim for dim, messages in found.items() if not any(messages)]
    return "yes" if len(dims) == len(found) else ", ".join(f"{dim}D" for dim in dims) or "no"


def by_dim(laws, *messages):
    """Outcomes by number of dimensions; messages: lists of them in the order of the laws."""
    found = {}
    for law, *rest in zip(laws, *messages, strict=True):
        found.setdefault(law.dim, []).extend(rest)
    return found


@cache
def tensor():
    """{(law, kind or condition of TensorDG): {dim: messages}} in 2D and 3D."""
    found = {}
    for name, laws in LAWS.items():
        laws = [law for law in laws if law.dim > 1]
        for kind, method in TENSOR.items():
            found[name, kind] = by_dim(laws, [outcome(law, method, mesh_of=tensor_mesh_of) for law in laws])
        for condition, make in CONDITIONS.items():
            found[name, condition] = by_dim(laws, [outcome(law, TENSOR["gauss"], make, mesh_of=tensor_mesh_of) for law in laws])
    return found


@cache
def fluxes():
    """{(law, flux): {dim: messages}} by all methods."""
    return {(name, flux): by_dim(laws, *([outcome(law, method, None, FLUXES[flux]) for law in laws]
                                         for method in METHODS.values()))
            for (name, laws), flux in product(LAWS.items(), FLUXES)}


@cache
def conditions():
    """{(law, condition): {dim: messages}}; the methods take turns, because a condition does not know them."""
    return {(name, condition): by_dim(laws, [outcome(law, turn(law.dim + number), make) for law in laws])
            for (name, laws), (number, (condition, make)) in product(LAWS.items(), enumerate(CONDITIONS.items()))}


def turn(number):
    return list(METHODS.values())[number % len(METHODS)]


@cache
def limiters():
    """{((limiter, variables), law): {dim: messages}} at order 1, with and without indicator and positivity in Euler."""
    result = {}
    for kind, (name, laws) in product(product(LIMITERS, VARIABLES), LAWS.items()):
        both = (False, True) if name == "Euler" else (False,)
        result[kind, name] = by_dim(laws, *(
            [outcome(law, dg.ModalDG(1, None, *kind, indicator, positivity)) for law in laws]
            for indicator, positivity in product((None, *INDICATORS), both)))
    return result


@cache
def positivity():
    """{law: {dim: messages}} of positivity alone."""
    return {name: by_dim(laws, [outcome(law, dg.ModalDG(2, positivity=True)) for law in laws]) for name, laws in LAWS.items()}


CELLS = ("straight", "curved", "of several shapes", "of two orders", "of two sizes")
VERTEX = {method.__name__: method for method in (dg.NodalDG, dg.ModalDG, dg.TensorDG)}


def cells_of(kind, dim, tensor):
    """A few cells of a kind, with regions "a" and "b"."""
    make, shape = (dg.rectangle, "quadrilateral") if dim == 2 else (dg.box, "hexahedron")
    shape = "mixed" if kind == "of several shapes" else shape if tensor or kind == "of two sizes" else None
    mesh = make(cells=2, **({} if shape is None else {"shape": shape}))
    if kind == "curved":
        mesh = mesh.mapped(lambda x: (x[0], x[1] + 0.1 * x[0] * (1 - x[0]), *x[2:]), order=2)
    if kind == "of two sizes":
        mesh = mesh.refined([0])
    return mesh.with_regions({"a": lambda x: x[0] < 0.5, "b": lambda x: x[0] > 0.5}) if kind == "of two orders" else mesh


@cache
def vertex():
    """{(method, kind of cells): {dim: messages}} of limiter="vertex" for Euler, with and without indicator and positivity."""
    result = {}
    for (name, method), kind, dim in product(VERTEX.items(), CELLS, (2, 3)):
        law, found = dg.Euler(dim), result.setdefault((name, kind), {}).setdefault(dim, [])
        for indicator, positive in product((None, *INDICATORS), (False, True)):
            try:
                limited = method({"a": 1, "b": 2} if kind == "of two orders" else 2, limiter="vertex", indicator=indicator,
                                 positivity=positive)
                operator = limited.discretise(cells_of(kind, dim, method is dg.TensorDG), law, dg.outflow,
                                              backends.get("numpy", "array", "float64", 1))
            except (TypeError, ValueError) as error:
                found.append(str(error))
                continue
            operator.stepper = STEPPERS["ssp33"]
            state = operator.advance(operator.state(operator.project(state_of(law))), 0.0, 1e-3)
            assert operator.check(state, 0.0).sound
            found.append(YES)
    return result


INSIDE = METHODS | {f"TensorDG {kind}": TENSOR[kind] for kind in ("gauss", "lobatto", "split form of central")}
WITHIN = ("a layer of new cells", "a layer of named cells", "a round layer", "a dispersive medium", "one in a region")


def rounded(x):
    """From a square or cube to a polygon in a circle, or a polyhedron in a sphere."""
    size, radius = np.max(np.abs(x), axis=0), np.sqrt(sum(c * c for c in x))
    return tuple(c * size / np.maximum(radius, 1e-9) for c in x)


def within(what, law, method):
    """As `outcome`, of a step on a few cells in a layer or a dispersive medium."""
    dim, tensor = law.dim, isinstance(method, dg.TensorDG)
    shape = {1: "line", 2: "quadrilateral" if tensor else "triangle", 3: "hexahedron" if tensor else "tetra"}[dim]
    mesh = dg.interval(cells=2) if dim == 1 else (dg.rectangle if dim == 2 else dg.box)(cells=2, shape=shape)
    half = mesh.with_regions({"half": lambda x: x[0] > 0.5, "rest": lambda x: x[0] < 0.5})
    medium = 2.0 + dg.Lorentz(0.5, 3.0, 1.5)
    try:
        if what == "a layer of new cells":
            mesh = dg.pml(mesh, 0.5, 1)
        elif what == "a layer of named cells":
            mesh = dg.pml(half, region="half")
        elif what == "a round layer":
            square = (dg.rectangle if dim == 2 else dg.box)((-1,) * dim, (1,) * dim, 4, shape=shape)
            mesh = dg.pml(square.mapped(rounded, 1), 0.5, 1, shape="sphere")
        else:
            mesh, everywhere = half, what == "a dispersive medium"
            law = dg.Maxwell(dim, law.polarisation, eps=medium if everywhere else {"half": medium, "rest": 1.0})
        wall = dg.pec if isinstance(law, dg.Maxwell) else dg.wall
        sim = dg.Simulation(mesh, law, method, wall, state_of(law), backend="numpy", kernels="array", threads=1)
        operator = sim.operator
    except (TypeError, ValueError) as error:
        return str(error)
    state = operator.advance(operator.state(sim.project()), 0.0, 1e-3)
    assert operator.check(state, 0.0).sound
    return YES


@cache
def internal():
    """{(law, method, where): {dim: messages}} of laws that layers and media are for, and one that they are not for."""
    laws = {"Maxwell": [dg.Maxwell(1), dg.Maxwell(2, "TM"), dg.Maxwell(2, "TE"), dg.Maxwell(3)],
            "Acoustics": LAWS["Acoustics"], "Euler": LAWS["Euler"][1:2]}
    found = {}
    for (name, of), (method, made), what in product(laws.items(), INSIDE.items(), WITHIN):
        if name != "Maxwell" and "medium" in what + "medium" * (what == "one in a region"):
            continue
        fit = [law for law in of if (law.dim > 1 or not isinstance(made, dg.TensorDG) and what != "a round layer")]
        if name == "Euler" and method != "NodalDG":
            continue
        found[name, method, what] = by_dim(fit, [within(what, law, made) for law in fit])
    return found


BESIDE = ("pec", "pmc", "impedance", "absorbing", "prescribed", "incident", "scattered", "a function of your own",
          "total_field", "resistive_sheet", "source")


@cache
def beside_layers():
    """{(condition, layer): {dim: messages}} of what goes on in a layer, by a wave along it, for Maxwell's equations in 2D."""
    found = {}
    for what, where in product(BESIDE, WITHIN[:2]):
        messages = []
        for law in LAWS["Maxwell"][1:3]:
            def along(x, t=0.0, law=law):
                return tuple(np.sin(x[1] - t + i) for i in range(3))

            def own(q):
                return tuple(0.5 * c for c in q)
            mesh = dg.rectangle((-1, -1), (1, 1), 4, shape="quadrilateral")
            mesh = mesh.with_regions({"half": lambda x: x[0] > 0, "rest": lambda x: x[0] < 0, "low": lambda x: x[1] < 0,
                                      "high": lambda x: x[1] > 0})
            make = {"scattered": lambda g: dg.scattered(dg.pec, g), "a function of your own": lambda g: own}  # noqa: B023
            if what in CONDITIONS:
                boundary = {"top": make.get(what, CONDITIONS[what])(along), "default": dg.pec}
            else:
                at = {"total_field": dg.total_field(along), "resistive_sheet": dg.resistive_sheet(2.0)}
                boundary = {"default": dg.pec} | ({"inside": at[what]} if what in at else {})
            try:
                mesh = (dg.pml(mesh, region="half") if where == WITHIN[1] else
                        dg.pml(mesh, 0.5, 1, boundary=("left", "right"))).with_interfaces({"inside": ("low", "high")})
                sim = dg.Simulation(mesh, law, dg.TensorDG(2), boundary, along, source=own if what == "source" else None,
                                    backend="numpy", kernels="array", threads=1)
            except (TypeError, ValueError) as error:
                messages.append(str(error))
                continue
            state = sim.operator.advance(sim.operator.state(sim.project()), 0.0, 1e-3)
            assert sim.operator.check(state, 0.0).sound
            messages.append(YES)
        found[what, where] = {2: messages}
    return found


AT_FACES = {"total_field": lambda g, mesh, law: dg.total_field(g), "resistive_sheet": lambda *_: dg.resistive_sheet(2.0),
            "launch of a Port": lambda g, mesh, law: dg.Port(mesh, law, "inside").launch(np.sin),
            "pec or wall, cut": lambda *_: None}


def with_faces(mesh, kind):
    """The mesh with the interface "inside" around its cells of small x; of two sizes a mesh that has them away from it."""
    if kind == "of two sizes":
        mesh = (dg.rectangle if mesh.dim == 2 else dg.box)(cells=3, shape=mesh.cell_type)
        mesh = mesh.refined([int(mesh.centroids.sum(axis=1).argmin())])
    middle = 0.6 if kind == "of two sizes" else float(mesh.centroids[:, 0].mean())
    return mesh.with_regions({"some": lambda x: x[0] < middle}).with_interfaces({"inside": "some"})


def at_faces(law, method, make, kind):
    """As `outcome`, of a step with a condition at faces inside of a few cells of a kind."""
    tensor = isinstance(method, dg.TensorDG)
    mesh = dg.interval(cells=4) if law.dim == 1 else cells_of(kind, law.dim, tensor)
    try:
        mesh = with_faces(mesh, kind)
        condition = make(state_of(law), mesh, law)
        if condition is None:
            mesh, condition = mesh.cut("inside"), dg.pec if isinstance(law, dg.Maxwell) else dg.wall
        walls = dg.pec if isinstance(law, dg.Maxwell) else dg.outflow          # a port asks for walls of a guide
        boundary = {"inside": condition, "default": walls}
        operator = method.discretise(mesh, law, boundary, backends.get("numpy", "array", "float64", 1))
    except (TypeError, ValueError) as error:
        return str(error)
    state = operator.advance(operator.state(operator.project(state_of(law))), 0.0, 1e-3)
    assert operator.check(state, 0.0).sound
    return YES


@cache
def faces_inside():
    """({(law, condition): {dim: messages}} by the methods, {(cells, condition): {dim: messages}} by those for these cells)."""
    by_law = {(name, condition): by_dim(laws, *([at_faces(law, method, make, "straight") for law in laws]
                                                for method in (METHODS["NodalDG"], METHODS["ModalDG"])))
              for (name, laws), (condition, make) in product(LAWS.items(), AT_FACES.items())}
    by_cells = {(kind, condition): {dim: [at_faces(dg.Maxwell(dim), method, make, kind) for method in by_kind(kind)]
                                    for dim in (2, 3)}
                for kind, (condition, make) in product(CELLS, AT_FACES.items())}
    return by_law, by_cells


def by_kind(kind):
    """Methods for a kind of cells."""
    order = {"a": 2, "b": 3} if kind == "of two orders" else 2
    if kind == "of two sizes":
        return [dg.TensorDG(order), dg.TensorDG(order, "lobatto")]
    return [dg.NodalDG(order), *([] if kind == "of several shapes" else [dg.ModalDG(order), dg.TensorDG(order)])]


@cache
def orders():
    """{(what, order): messages} of methods and limiters by order, for Euler in 1D."""
    rows = {"NodalDG": lambda order: dg.NodalDG(order),
            "NodalDG with quadrature": lambda order: dg.NodalDG(order, quadrature=3 * order),
            "NodalDG with filter": lambda order: dg.NodalDG(order, filter=dg.ExponentialFilter(1, 4)),
            "ModalDG": lambda order: dg.ModalDG(order)}
    for kind in product(LIMITERS, VARIABLES):
        rows[" of ".join(kind)] = lambda order, kind=kind: dg.ModalDG(order, None, *kind)
    tried = {(name, order): outcome(dg.Euler(1), lambda make=make, order=order: make(order))
             for (name, make), order in product(rows.items(), range(12))}
    return tried | {("Hermite", order): on_grid(dg.Acoustics(1), lambda order=order: dg.Hermite(order)) for order in range(12)}


@cache
def steppers():
    """{(stepper, order): message}: whether there is a stable step; by modal DG up to its highest order, then by nodal DG."""
    result, law = {}, Burgers(1)
    for order in range(11):
        method = dg.ModalDG(order) if order < 7 else dg.NodalDG(order)
        operator = method.discretise(mesh_of(1), law, dg.outflow, backends.get("numpy", "array", "float64", 1))
        state = operator.state(operator.project(state_of(law)))
        for name, stepper in STEPPERS.items():
            try:
                assert 0 < operator.max_dt(state, 0.0, stepper) < np.inf
                result[name, order] = YES
            except ValueError as error:
                result[name, order] = str(error)
    return result


TURNED = ((2.0, 0.5, 0.0), (0.5, 1.5, 0.0), (0.0, 0.0, 1.2))          # in the plane; all in 3D
TILTED = ((2.0, 0.5, 0.3), (0.5, 1.5, -0.2), (0.3, -0.2, 1.2))
TENSORS = {"along the axes": [dg.Maxwell(1, eps=(2.0, 1.5, 1.2)), dg.Maxwell(2, "TM", mu=(2.0, 1.5, 1.2)),
                              dg.Maxwell(2, "TE", eps=(2.0, 1.5, 1.2)), dg.Maxwell(3, eps=(2.0, 1.5, 1.5))],
           "off the axes": [dg.Maxwell(2, "TM", mu=TURNED), dg.Maxwell(2, "TE", eps=TURNED), dg.Maxwell(3, eps=TILTED)],
           "functions of x": [dg.Maxwell(1, eps=(1.0, 1.0, lambda x: 1 + 0.1 * x[0])),
                              dg.Maxwell(2, "TM", mu=(lambda x: 1 + 0.1 * x[0], 1.5, 1.2)),
                              dg.Maxwell(2, "TE", eps=(lambda x: 1 + 0.1 * x[0], 1.5, 1.2)),
                              dg.Maxwell(3, eps=(lambda x: 1 + 0.1 * x[0], 1.5, 1.5))]}
TENSOR_FLUXES = "upwind", "central", "rusanov", "hll"


@cache
def tensors():
    """{(kind of tensor, what): {dim: messages}}: methods, numerical fluxes, conditions and layers in anisotropic media."""
    found = {}
    for kind, laws in TENSORS.items():
        for method, made in INSIDE.items():
            fit = [law for law in laws if law.dim > 1 or not isinstance(made, dg.TensorDG)]
            mesh = tensor_mesh_of if isinstance(made, dg.TensorDG) else mesh_of
            found[kind, method] = by_dim(fit, [outcome(law, made, mesh_of=mesh) for law in fit])
        for flux in TENSOR_FLUXES:
            found[kind, flux] = by_dim(laws, [outcome(law, METHODS["NodalDG"], None, FLUXES[flux]) for law in laws])
        for condition in ("pec", "pmc", "absorbing", "prescribed", "incident", "scattered"):
            found[kind, condition] = by_dim(laws, [outcome(law, METHODS["NodalDG"], CONDITIONS[condition]) for law in laws])
        for layer in WITHIN[:3]:
            fit = [law for law in laws if law.dim > 1]
            found[kind, layer] = by_dim(fit, [within(layer, law, METHODS["NodalDG"]) for law in fit])
        for scheme in FV_SCHEMES:
            found[kind, f"FiniteVolume, {scheme}"] = by_dim(laws, [by_cells(law, scheme) for law in laws])
        found[kind, "Hermite"] = by_dim(laws, [on_grid(law, lambda: dg.Hermite(1)) for law in laws])
    return found


GRID_LAWS = LAWS | {"Acoustics with c(x)": [dg.Acoustics(dim, sound_speed=lambda x: 1 + 0.1 * np.cos(np.pi * x[0]))
                                            for dim in (1, 2, 3)],
                    "Maxwell with conductivity": [dg.Maxwell(1, sigma=0.5), dg.Maxwell(2, "TM", sigma=0.5),
                                                  dg.Maxwell(2, "TE", sigma=0.5), dg.Maxwell(3, sigma=0.5)]}
WALLS = dg.pec, dg.pmc, dg.wall, dg.pressure_release
SIDES = {"periodic axes": None, **{condition.__name__: condition for condition in WALLS},
         "Sponge": dg.Sponge(0.5), "absorbing": dg.absorbing, "outflow": dg.outflow, "a function of your own": own}


def on_grid(law, method, boundary=None):
    """As `outcome`, of a step of Hermite's method on a tiny grid."""
    grid, g = dg.Grid((1,) * law.dim, (2,) * law.dim, 2, periodic=boundary is None), state_of(law)
    try:
        operator = method().discretise(grid, law, boundary, backends.get("numpy", "array", "float64", 1))
    except (TypeError, ValueError) as error:
        return str(error)
    states = [operator.state(operator.project(g)), operator.zeros()]
    states = step(operator, Taylor, states, None, 0.0, 0.5 * operator.max_dt(None, 0.0, Taylor))
    assert operator.check(states[0], 0.0).sound and np.any(operator.host(states[0])), (law, method, boundary)
    return YES


@cache
def sides():
    """{(law, condition): {dim: messages}} of Hermite's method."""
    return {(name, side): by_dim(laws, [on_grid(law, lambda: dg.Hermite(1), SIDES[side]) for law in laws])
            for (name, laws), side in product(GRID_LAWS.items(), SIDES)}


@cache
def variants():
    """{(law, variant): {dim: messages}} of Hermite's method."""
    return {(name, variant): by_dim(laws, [on_grid(law, lambda: dg.Hermite(1, variant=variant)) for law in laws])  # noqa: B023
            for (name, laws), variant in product(GRID_LAWS.items(), VARIANTS)}


SCHEMES = {"first-order": [("conserved", "minmod")], **{
    f"{scheme} of {variables}": [(variables, limiter) for limiter in limiters]
    for scheme, limiters in (("muscl", SLOPES), ("weno", ["minmod"])) for variables in VARIABLES}}


def by_cells(law, scheme, boundary=None, flux=None, splitting="auto", variables="auto", limiter="minmod"):
    """As `outcome`, of a step of finite volumes on a tiny grid; `boundary` is a function of the state."""
    grid, g = dg.Grid((1,) * law.dim, (2,) * law.dim, 3, periodic=boundary is None), state_of(law)
    try:
        method = dg.FiniteVolume(scheme, splitting, limiter, variables)
        operator = method.discretise(grid, law, boundary and boundary(g), backends.get("numpy", "array", "float64", 1), flux)
    except (TypeError, ValueError) as error:
        return str(error)
    state = operator.state(operator.project(g))
    new, check = operator.advance_checked(state, 0.0, 1e-3)
    assert operator.check(new, 1e-3).sound and np.any(operator.host(new)), (law, scheme, boundary, flux)
    return YES


@cache
def schemes():
    """{(law, scheme and its variables): {dim: messages}} of finite volumes, split and not, with every limiter."""
    return {(name, row): by_dim(laws, *([by_cells(law, row.partition(" of ")[0], None, None, splitting, *given) for law in laws]
                                        for given in SCHEMES[row]
                                        for splitting in (("strang", None) if "weno" not in row else (None,))))
            for (name, laws), row in product(LAWS.items(), SCHEMES)}


@cache
def cell_sides():
    """{(law, condition): {dim: messages}} of finite volumes; the schemes take turns."""
    def turn(condition, number):
        schemes = [name for name in FV_SCHEMES if (name, condition) != ("weno", "absorbing")]
        return schemes[number % len(schemes)]
    return {(name, condition): by_dim(laws, [by_cells(law, turn(condition, law.dim + number), make) for law in laws])
            for (name, laws), (number, (condition, make)) in product(LAWS.items(), enumerate((CONDITIONS | SPONGE).items()))}


TWO_FLUIDS = [dg.TwoFluid(dim, fluids={"air": (1.4, 0.0), "water": (4.4, 2.0)}) for dim in (1, 2, 3)]


@cache
def two_fluids():
    """{what: {dim: messages}} of `TwoFluid`: methods, and by muscl and a split form numerical fluxes and conditions."""
    laws, flat, split = TWO_FLUIDS, TWO_FLUIDS[1:], replace(TENSOR["shock_capturing=0.5"], volume_flux=dg.kennedy_gruber)
    found = {name: by_dim(laws, [outcome(law, method) for law in laws]) for name, method in METHODS.items()}
    found |= {f"TensorDG, {kind}": by_dim(flat, [outcome(law, method, mesh_of=tensor_mesh_of) for law in flat])
              for kind, method in TENSOR.items()}
    found |= {f"FiniteVolume, {row}": by_dim(laws, *(
        [by_cells(law, row.partition(" of ")[0], None, None, splitting, *SCHEMES[row][0]) for law in laws]
        for splitting in (("strang", None) if "weno" not in row else (None,)))) for row in SCHEMES}
    found["Hermite"] = by_dim(laws, [on_grid(law, lambda: dg.Hermite(1)) for law in laws])
    for options in [dict(flux=flux) for flux in FLUXES.values()] + [dict(boundary=make) for make in CONDITIONS.values()]:
        what = next(name for name, one in (FLUXES | CONDITIONS).items() if one in options.values())
        found[what] = by_dim([*laws, *flat], [
            *(by_cells(law, "muscl", **options) for law in laws),
            *(outcome(law, split, mesh_of=tensor_mesh_of, **options) for law in flat)])
    return found


def problems():
    """{what: (method, mesh, law, boundary)} whose parts of a step may be kernels or array expressions."""
    line, acoustics, gas = mesh_of(1), dg.Acoustics(1), dg.Euler(1)
    on_line = {f"{name}, {type(law).__name__}": (method, line, law, dg.outflow)
               for (name, method), law in product(METHODS.items(), (acoustics, gas))}
    options = {f"limiter {' of '.join(kind)}": (1, None, *kind) for kind in product(LIMITERS, VARIABLES)}
    options |= {"limiter and indicator": (1, None, LIMITERS[0], VARIABLES[0], INDICATORS[0]),
                "positivity": (1, None, None, VARIABLES[0], None, True)}
    limited = {f"ModalDG, Euler, {name}": (dg.ModalDG(*given), line, gas, dg.outflow) for name, given in options.items()}
    limited |= {f"TensorDG, Euler, {name}": (TENSOR[name], tensor_mesh_of(2), dg.Euler(2), dg.outflow)
                for name in ("gauss", "split form of ranocha", "positivity=True", "shock_capturing=0.5")}
    vertex = {"limiter": "vertex", "indicator": "kxrcf", "positivity": True}
    nodal, mixed = dg.NodalDG(1, **vertex), dg.rectangle(cells=2, shape="mixed")
    limited |= {"NodalDG, Euler, limiter and indicator": (nodal, line, gas, dg.outflow),
                "NodalDG, Euler, limiter, cells of several shapes": (nodal, mixed, dg.Euler(2), dg.outflow),
                "TensorDG, Euler, limiter and indicator": (
                    dg.TensorDG(1, **vertex), tensor_mesh_of(2), dg.Euler(2), dg.outflow)}
    grid, varying = dg.Grid((1,), (2,), 2, periodic=False), GRID_LAWS["Acoustics with c(x)"][0]
    smooth = dg.Acoustics(1, sound_speed=lambda x: 1 + 0.1 * np.cos(np.pi * x[0]))
    inside = {f"{name} where coefficients vary inside of elements": (METHODS[name], line, smooth, dg.outflow)
              for name in ("NodalDG", "ModalDG")}
    curved = dg.rectangle(cells=1).curved(2, lambda x: (x[0], x[1] + 0.1 * x[0] * (1 - x[0])), "top")
    bent = {f"{name} on curved cells": (METHODS[name], curved, dg.Acoustics(2), dg.wall) for name in ("NodalDG", "ModalDG")}
    layered, media = dg.pml(dg.interval(cells=2), 0.5, 1), dg.Maxwell(1, eps=1 + dg.Debye(1.0, 0.5))
    inside |= {"NodalDG in an absorbing layer": (METHODS["NodalDG"], layered, dg.Maxwell(1), dg.pec),
               "NodalDG in a dispersive medium": (METHODS["NodalDG"], line, media, dg.pec)}
    inside |= {"NodalDG with a condition at faces inside": (
        METHODS["NodalDG"], with_faces(line, "straight"), acoustics, {"inside": dg.resistive_sheet(1.0), "default": dg.wall})}
    on_grid = {"Hermite": (acoustics, dg.wall), "Hermite where coefficients vary": (varying, dg.wall),
               "Hermite with a Sponge": (acoustics, dg.Sponge(0.5))}
    of_cells = {"FiniteVolume, first-order, Euler": (dg.FiniteVolume("first-order"), gas),
                "FiniteVolume, muscl, Euler": (dg.FiniteVolume("muscl"), gas),
                "FiniteVolume, weno, Euler": (dg.FiniteVolume("weno"), gas),
                "FiniteVolume, muscl, where coefficients vary": (dg.FiniteVolume("muscl"), varying)}
    fine = dg.Grid((1,), (2,), 8, periodic=False)
    return on_line | inside | bent | limited | {name: (dg.Hermite(2), grid, *given) for name, given in on_grid.items()} | {
        name: (method, fine, law, dg.wall) for name, (method, law) in of_cells.items()}


@cache
def kernels():
    """{(what, backend): operator} where the backend's fused kernels are asked for."""
    found = {"numpy": CpuBackend("float64", 1), "cupy": CudaBackend("float64", IdleDevice())}
    return {(name, backend): method.discretise(*given, found[backend])
            for (name, (method, *given)), backend in product(problems().items(), found)}


def computes(operator):
    """What computes a step: kernels, and for which parts array expressions."""
    arrays = operator.array_expressions
    if len(arrays) == len(operator.work):
        return "array expressions"
    return "kernels" + (f"; array expressions: {', '.join(arrays)}" if arrays else "")


def table(head, rows, columns, cells):
    """A table in Markdown; cells: function of row and column. Rows with the same cells are one."""
    same = {}
    for row in rows:
        same.setdefault(" | ".join(cells(row, column) for column in columns), []).append(row)
    lines = [f"| {head} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    return "\n".join([*lines, *(f"| {'; '.join(names)} | {text} |" for text, names in same.items())])


def ranges(numbers):
    """"1 to 3, 5" of 1, 2, 3, 5."""
    parts = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join(" to ".join(map(str, part)) for part in parts)


def refused(found):
    """All messages of refusals in {combination: {dim: messages}}."""
    return [message for outcomes in found.values() for messages in outcomes.values() for message in messages if message]


def but_for(found, conditions_tried):
    """The end of a sentence: the boundary conditions whose answers differ from those of `conditions`, as a table."""
    odd = [row for row in conditions_tried if any(
        (law, row) not in conditions() or cell(found[law, row]) != cell(conditions()[law, row]) for law in LAWS)]
    return ", but for:\n\n" + table("", odd, list(LAWS), lambda row, law: cell(found[law, row])) if odd else "."


def page():
    """The text of docs/combinations.md."""
    names, columns = list(LAWS), list(CONDITIONS)
    by_order = {name: ranges([n for (row, n), message in orders().items() if row == name and not message])
                for name in dict.fromkeys(row for row, _ in orders())}
    by_stepper = {name: ranges([n for (row, n), message in steppers().items() if row == name and not message])
                  for name in STEPPERS}
    of = list(dict.fromkeys(row for row, _ in kernels()))
    partly = [what for what in of if any(computes(kernels()[what, backend]) != "kernels" for backend in ("numpy", "cupy"))]
    kinds = list(product(LIMITERS, VARIABLES))
    of_cells, of_tensor = but_for(cell_sides(), [*columns, *SPONGE]), but_for(tensor(), columns)
    return f"""# What combines

Every entry of these tables has been tried, with the array kernels: one stage on a tiny mesh in 1D, 2D and 3D. "2D" alone means
that the combination exists in two dimensions only. What has "no" is refused before the run, in one line that says what is
allowed. `python tests/support/combinations.py` writes this page, and the tests compare it.

## What "yes" guarantees

{len(RUNS)} runs against manufactured solutions (`tests/test_matrix.py`) cover, for each law, every pair of: dimension, method,
limited or not, cells (straight, curved, of several shapes, of two orders that meet), numerical flux, boundary condition, a wave
along absorbing layers, a resistive sheet, medium (constant, a jump at faces, smooth), parts of the mesh or grid (one, or three
with the same bits), and mirror images of a record. From a mesh to one whose cells are half as large, in 1D two thirds, the
error falls at the order stated here; at order 2, on these coarse meshes, with at most 0.7 less, of `weno` 1.1:

| | order |
|---|---|
| discontinuous Galerkin, order p | p + 1 |
| the same, nonlinear laws by `NodalDG` without quadrature, `TensorDG` on Gauss-Lobatto nodes, split forms | p to p + 1 |
| the same with `central` (linear laws) | p |
| `limiter="vertex", indicator="kxrcf"` on smooth states | that of the method |
| `TensorDG` on Gauss-Lobatto nodes where elements of two orders or sizes meet | p to p + 1; with `central` p - 1/2 to p |
| finite volumes: first order, `muscl`, `weno`; periodic, walls that mirror the flow, smooth media | 1, 2, 5 (time: 4) |
| the same at other walls: where shear or density changes towards the wall, gravity | 1, 1.5, 1.5 |
| `muscl` split, next to sides whose states change in time | 1, in 1D without sources 2; `splitting=None` keeps 2 |
| `weno`, next to sides whose states change in time | 2.5, because each stage takes them at its own time |
| finite volumes next to `far_field`, `inflow`, `outflow`, `absorbing`, `scattered` | 1/2 to 1 |
| Hermite of order N | 2 N + 1 (`tests/test_hermite.py`) |

On unstructured meshes that are made anew at each size, theory guarantees h^(p + 1/2) with `upwind` or another flux that
damps, so count on no more. Mostly it is better: on triangles around corners moved at random, a cavity mode with `upwind` had
the orders 1.98, 2.97 and 3.99 at p = 1, 2, 3.

The indicator compares jumps with averages around, and those of variables that may vanish with what they can be: a component
of a vector with the vector, B with sqrt(2 E), psi with the cleaning speed times that.

For linear laws and discontinuous Galerkin methods a step is a matrix. On small meshes no power of it grows, up to the 4096th.
For nonlinear laws and finite volumes, noise around a state at rest stays bounded for 500 default steps. Limiters without an
indicator are tested at shocks, not here.

These symmetries hold to rounding (`tests/test_symmetries.py`): mirrors, quarter turns, the exchange of axes, the duality of TE
and TM, the extrusion to 3D, the sign of the magnetic field, and motion along a direction on which a gas does not depend. There
are two exceptions. Strang's sweeps begin and end with x, so turns and exchanges change the splitting error. And where faces are
oblique to the motion, as on triangles, the gas crosses them with different errors.

## Orders

Methods, and limiters of `ModalDG`, for Euler in 1D (Hermite: acoustics):

{table("", by_order, ["orders"], lambda row, _: by_order[row])}

Steppers, for Burgers' equation in 1D (methods of second order have no stable step above order 1):

{table("", by_stepper, ["orders"], lambda row, _: by_stepper[row])}

## Laws and numerical fluxes

The same by {", ".join(METHODS)}:

{table("", names, list(FLUXES), lambda law, flux: cell(fluxes()[law, flux]))}

## Laws and boundary conditions

Periodic boundaries belong to the mesh and work with everything. Conditions do not depend on the method; the methods are
tried in turn.

{table("", columns, names, lambda condition, law: cell(conditions()[law, condition]))}

## Laws and limiters

At order 1, each with and without `indicator="kxrcf"`, of Euler also with and without `positivity=True`:

{table("", [" of ".join(kind) for kind in kinds], names, lambda row, law: cell(limiters()[tuple(row.split(" of ")), law]))}
{table("", ["positivity=True"], names, lambda row, law: cell(positivity()[law])).splitlines()[-1]}

`limiter="vertex"` of conserved variables, for Euler at order 2, with and without indicator and positivity. `ModalDG` limits
degree by degree where all cells are straight and of one order and law; else, and in the other methods, an element that is not
smooth becomes linear:

{table("cells", list(CELLS), list(VERTEX), lambda kind, method: cell(vertex()[method, kind]))}

## Hermite's method

On grids, of orders {by_order["Hermite"]}; sides with a condition, or periodic:

{table("", list(SIDES), list(GRID_LAWS), lambda side, law: cell(sides()[law, side]))}

Variants:

{table("", VARIANTS, list(GRID_LAWS), lambda variant, law: cell(variants()[law, variant]))}

## Finite volumes

On grids; schemes by the variables that they reconstruct, `muscl` with each limiter, split and not:

{table("", list(SCHEMES), names, lambda row, law: cell(schemes()[law, row]))}

`weno` does not take `absorbing`. Sides with a condition are as [above](#laws-and-boundary-conditions){of_cells}

## Tensor-product DG

On quadrilaterals and hexahedra; nodes, and split forms by their flux between nodes:

{table("", list(TENSOR), names, lambda kind, law: cell(tensor()[law, kind]))}

Boundary conditions, with nodes "gauss", are those of [the other methods](#laws-and-boundary-conditions){of_tensor}

## Two fluids

`TwoFluid`: methods; numerical fluxes and boundary conditions by `FiniteVolume("muscl")` and `TensorDG` in split form with shock
capturing. Both keep pressure and velocity at interfaces (`tests/test_two_fluid.py`).

{table("", list(two_fluids()), ["TwoFluid"], lambda what, _: cell(two_fluids()[what]))}

## Absorbing layers and dispersive media

By Maxwell's equations; layers hold for acoustics, too. A layer of new cells comes from `pml(mesh, thickness, cells)`, one of
named cells from `pml(mesh, region=...)`. Tests hold the order p + 1 (with `central` p) of waves in layers and in media, on
straight, curved and mixed cells, and that no state grows (`tests/test_absorbing_layers.py`, `tests/test_dispersive_media.py`).

{table("", list(INSIDE), list(WITHIN), lambda method, what: cell(internal()["Maxwell", method, what]))}

What goes on in a layer beside it: conditions of walls, at faces inside, and sources that do not change along its depth, by
Maxwell's equations in 2D (`tests/test_layer_walls.py`):

{table("", list(BESIDE), list(WITHIN[:2]), lambda what, where: cell(beside_layers()[what, where]))}

## Conditions at faces inside

`boundary` takes the name of an interface, too: `total_field`, `resistive_sheet`, and what `launch` of a `Port` makes.
`mesh.cut(name)` makes both sides boundaries. By NodalDG and ModalDG:

{table("", list(AT_FACES), names, lambda condition, law: cell(faces_inside()[0][law, condition]))}

Maxwell's equations by all methods for such cells; tests hold the order p + 1 and that no energy grows
(`tests/test_interface_conditions.py`, `tests/test_ports.py`):

{table("cells", list(CELLS), list(AT_FACES), lambda kind, condition: cell(faces_inside()[1][kind, condition]))}

## Tensors

Maxwell's equations with `eps` or `mu` as tensors: methods, numerical fluxes, conditions, layers and schemes on grids. Tests
hold the order p + 1 of plane waves, the energy and the eigenvalues (`tests/test_tensor_media.py`).

{table("", list(dict.fromkeys(what for _, what in tensors())), list(TENSORS), lambda what, kind: cell(tensors()[kind, what]))}

## Methods and kernels

What computes a step when fused kernels are requested, in float64 and float32. A run also says so, in one line and as
`array_expressions` in its report. Kernels compute {len(of) - len(partly)} of the {len(of)} problems that were tried on both
backends; on these they leave something to array expressions:

{table("", partly, ["numpy", "cupy"], lambda what, backend: computes(kernels()[what, backend]))}
"""


if __name__ == "__main__":
    PAGE.write_text(page())
