"""The runs that prove the yeses of docs/combinations.md: law, dimension, method (limited or not), cells, numerical flux,
boundary (absorbing layers and a sheet at faces inside among them), medium, parts of the mesh and images of records.

A run has one value of each. For each law every two values that go together occur together in a run; `runs` picks few and cheap
ones. The exact solutions are manufactured from the law itself.
"""
from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from burgers import Burgers
from matrix_states import beam, mirrored, waves
from pairs import cover

import dgarray as dg
from dgarray.analysis import manufactured

METHODS = {"NodalDG": dg.NodalDG(2), "NodalDG with quadrature": dg.NodalDG(2, quadrature=6), "ModalDG": dg.ModalDG(2),
           "TensorDG gauss": dg.TensorDG(2), "TensorDG lobatto": dg.TensorDG(2, "lobatto"),
           "split form of central": dg.TensorDG(2, "lobatto", volume_flux=dg.central),
           "split form of ranocha": dg.TensorDG(2, "lobatto", volume_flux=dg.ranocha),
           "split form of kennedy_gruber": dg.TensorDG(2, "lobatto", volume_flux=dg.kennedy_gruber),
           "limited": dg.ModalDG(2, limiter="vertex", indicator="kxrcf"),          # of another kind in 2D and 3D
           "first-order": dg.FiniteVolume("first-order"), "muscl": dg.FiniteVolume("muscl"),
           "muscl unsplit": dg.FiniteVolume("muscl", splitting=None, limiter="mc"), "weno": dg.FiniteVolume("weno")}
FLUXES = {flux.__name__: flux for flux in (dg.upwind, dg.central, dg.rusanov, dg.hll, dg.hllc, dg.roe, dg.hlld)}
LAWS = {"Advection": ("1D", "2D", "3D"), "Acoustics": ("1D", "2D", "3D"), "Maxwell": ("1D", "2D TM", "2D TE", "3D"),
        "Euler": ("1D", "2D", "3D"), "MHD": ("1D", "2D", "3D"), "a law of your own": ("1D", "2D", "3D")}
ONLY = {"hllc": {"Euler"}, "roe": {"Euler"}, "hlld": {"MHD"}, "split form of ranocha": {"Euler", "MHD"},
        "split form of kennedy_gruber": {"Euler"},
        "wall": {"Acoustics", "Euler", "MHD"}, "curved_wall": {"Acoustics", "Euler", "MHD"}, "pec": {"Maxwell"},
        "pmc": {"Maxwell"}, "pressure_release": {"Acoustics"}, "absorbing": {"Advection", "Acoustics", "Maxwell"},
        "limited": {"Euler", "MHD", "a law of your own"},
        "incident": {"Advection", "Acoustics", "Maxwell", "a law of your own"}, "scattered": {"Acoustics", "Maxwell"},
        "outflow": {"Advection", "Euler", "MHD", "a law of your own"}, "far_field": {"Euler", "MHD"}, "inflow": {"Euler"},
        "layers": {"Acoustics", "Maxwell"}, "resistive_sheet": {"Acoustics", "Maxwell"},
        "jump": {"Acoustics", "Maxwell"}, "smooth": {"Acoustics", "Maxwell"},
        "images at wall": {"Acoustics"}, "images at pressure_release": {"Acoustics"}, "images at pec": {"Maxwell"},
        "images at pmc": {"Maxwell"}}
BOUNDARIES = ("periodic", "prescribed", "a function of your own", "wall", "curved_wall", "pec", "pmc", "pressure_release",
              "absorbing", "incident", "scattered", "outflow", "far_field", "inflow", "layers", "resistive_sheet")
MEDIA = ("constant", "jump", "smooth")
PARTS = ("one part", "three parts")
RECORDS = ("no images", "images at wall", "images at pressure_release", "images at pec", "images at pmc")
SEVERAL = "mixed", "curved mixed", "orders"          # shapes with several element sets
CURVED = "curved", "curved mixed"
IN_TIME = "prescribed", "a function of your own", "incident"          # the exact state beyond the side, which changes in time
CONTINUED = "absorbing", "outflow", "far_field", "inflow", "scattered"          # made of the state inside


class Run(NamedTuple):
    """A run of the matrix; `shape`: "straight" or "curved" cells, cells of several shapes ("mixed", "curved mixed", in 3D
    curved pyramids), two orders that meet ("orders"), "grid"; `parts`: whether it is also cut in three; `records`: whether the
    images of a record of its half are also compared with a record of the whole."""

    law: str
    dim: str
    method: str
    shape: str
    flux: str
    boundary: str
    medium: str
    parts: str = PARTS[0]
    records: str = RECORDS[0]

    def __str__(self):
        return ", ".join(value for value in self if value not in (PARTS[0], RECORDS[0]))


def kind_of(run):
    """The method of a run, with one order everywhere."""
    if run.method != "limited":
        return METHODS[run.method]
    kind = {"1D": dg.ModalDG, "2D": dg.NodalDG if "mixed" in run.shape else dg.TensorDG, "3D": dg.NodalDG}[run.dim[:2]]
    return kind(2, limiter="vertex", indicator="kxrcf", positivity=run.law == "Euler")


def possible(run):
    """Whether the values of a run go together."""
    fv, d = isinstance(METHODS[run.method], dg.FiniteVolume), run.dim[0]
    tensor = isinstance(kind_of(run), dg.TensorDG)
    if any(run.law not in ONLY.get(value, LAWS) for value in run):
        return False
    if run.parts == "three parts" and (run.shape, d) == ("grid", "1"):
        return False          # grids in 1D are for one process
    if run.records != "no images" and (d == "1" or fv or run.boundary == "periodic" or run.parts == "three parts"):
        return False          # records have faces of meshes; the side that is the mirror takes no part in a period
    if fv != (run.shape == "grid") or d == "1" and (tensor or run.shape in CURVED or run.shape == "mixed"):
        return False
    if "mixed" in run.shape and run.method not in ("NodalDG", "limited") or run.shape in SEVERAL and run.boundary == "periodic":
        return False
    if run.method == "limited" and d == "3" and (run.law == "MHD" or run.shape != "straight"):
        return False          # slow, and nothing of it is new in 3D
    if run.boundary == "layers" and (d == "1" or run.flux == "central" or run.method not in (
            "NodalDG", "TensorDG gauss", "TensorDG lobatto")):
        return False          # on split cells what enters does not go on in a layer, and other methods have no others
    if run.boundary == "resistive_sheet" and (fv or run.shape in CURVED or "split" in run.method
                                              or run.medium == "smooth" and run.law == "Maxwell"):
        return False
    if run.method == "weno" and run.flux != "upwind" or fv and run.flux == "central":
        return False          # weno splits fluxes; finite volumes with a flux without dissipation are unstable
    if run.law in ("Euler", "MHD", "a law of your own") and run.flux == "central":
        return False          # no dissipation, see docs/conventions.md
    if run.method == "TensorDG lobatto" and run.shape == "curved" and (
            run.flux == "central" or (run.law, run.dim) == ("Maxwell", "3D")):
        return False          # refused: the energy would grow
    if run.boundary == "absorbing" and (run.medium != "constant" or run.method == "weno"):
        return False          # the exact solution is a plane wave; weno refuses
    return not (run.shape in CURVED and (run.boundary == "periodic" or run.medium == "jump"))


@cache
def candidates(law):
    """All runs of a law that are possible."""
    kinds = LAWS[law], METHODS, ("straight", "curved", *SEVERAL, "grid"), FLUXES, BOUNDARIES, MEDIA
    kinds = [[value for value in values if law in ONLY.get(value, LAWS)] for values in kinds]
    alone = [run for run in (Run(law, *values) for values in product(*kinds)) if possible(run)]
    more = [run._replace(parts=PARTS[1]) for run in alone]
    more += [run._replace(records=name) for name in RECORDS[1:] if law in ONLY[name] for run in alone]
    return alone + [run for run in more if possible(run)]


def cost(run):
    """About how long a run takes, in units of one in 1D."""
    several = 2 if run.shape in (*SEVERAL, "curved") else 1
    tetra = 2 if run.dim == "3D" and run.shape != "grid" and not isinstance(kind_of(run), dg.TensorDG) else 1
    periodic = 2 if run.boundary == "periodic" and run.dim == "3D" else 1
    slow = 3 if run.method == "weno" else 2 if run.boundary == "layers" or "quadrature" in run.method and run.dim == "3D" else 1
    more = 0.3 * (run.parts != PARTS[0]) + 0.6 * (run.records != RECORDS[0])
    return {"1": 1, "2": 2, "3": 5}[run.dim[0]] * (several * tetra * periodic * slow + more)


@cache
def runs(law):
    """Few and cheap runs of a law in which every two values occur together that can."""
    return cover(candidates(law), cost)


def law_of(run):
    dim, on_grid = int(run.dim[0]), run.shape == "grid"

    def parameter(low, high):
        if run.medium == "constant":
            return low
        if run.medium == "smooth":
            return lambda x: low + (high - low) * (1 + np.cos(np.pi * x[0]) / 2)
        return (lambda x: np.where(x[0] < 0.5, low, high)) if on_grid else {"a": low, "b": high}
    if run.law == "Maxwell":
        return dg.Maxwell(dim, run.dim[3:] or None, eps=parameter(1.0, 2.0), mu=parameter(1.0, 1.5))
    if run.law == "Acoustics":
        return dg.Acoustics(dim, density=parameter(1.0, 2.0), sound_speed=parameter(1.0, 1.3))
    return {"Advection": lambda: dg.Advection((1.0, 0.5, 0.2)[:dim]), "Euler": lambda: dg.Euler(dim),
            "MHD": lambda: dg.MHD(dim, cleaning_speed=1.0), "a law of your own": lambda: Burgers(dim)}[run.law]()


def state_of(run, law):
    walls = {name: getattr(dg, name) for name in ("wall", "pec", "pmc", "pressure_release")}
    if run.boundary in walls or run.boundary == "curved_wall":
        return mirrored(law, walls.get(run.boundary, dg.wall))
    if run.boundary == "scattered":
        total, field = mirrored(law, base_wall(law)), waves(law)
        return lambda x, t: tuple(a - b for a, b in zip(total(x, t), field(x, t)))
    if run.boundary == "outflow":
        return waves(law, speed=4.0)          # faster than the fastest wave
    if run.boundary == "resistive_sheet":          # nothing crosses the sheet in the middle, nor the walls
        half = mirrored(law, base_wall(law))
        return lambda x, t: half((2 * x[0], *x[1:]), t)
    if run.boundary in ("absorbing", "layers") and run.law in ("Acoustics", "Maxwell"):
        return beam(law)
    return waves(law, run.boundary == "periodic")


def base_wall(law):
    return dg.pec if law.fields else dg.wall


SIDES = {1: [("left", "right")], 2: [("left", "right"), ("bottom", "top")],
         3: [("left", "right"), ("front", "back"), ("bottom", "top")]}


def boundary_of(run, law, q, field=None):
    """The conditions of a run, one or {side: condition}.

    q: the exact state;  field: of "scattered", the incident one"""
    sides = SIDES[law.dim]
    if run.boundary == "periodic":
        return None
    if run.boundary == "resistive_sheet":
        return {"inside": dg.resistive_sheet(0.5), "default": base_wall(law)}
    if run.boundary in ("absorbing", "layers") and run.law in ("Acoustics", "Maxwell"):
        across = {"y": dg.wall, "z": dg.wall}
        if run.law == "Maxwell":
            across = {"y": dg.pmc if "TM" in run.dim else dg.pec, "z": dg.pmc}
        chosen = {side: across[axis] for axis, pair in zip("yz", sides[1:]) for side in pair}
        return chosen | {"left": dg.incident(q), "right": dg.absorbing if run.boundary == "absorbing" else dg.prescribed(q)}
    if run.boundary in ("outflow", "absorbing", "inflow"):
        enters, leaves = {"outflow": (dg.prescribed(q), dg.outflow), "absorbing": (dg.incident(q), dg.absorbing)}.get(
            run.boundary) or (dg.inflow(q), dg.pressure_outflow(lambda x, t: law.pressure(q(x, t))))
        return {side: condition for pair in sides for side, condition in zip(pair, (enters, leaves))}
    if run.boundary == "curved_wall":
        return {side: dg.curved_wall(lambda x, axis=axis: tuple(1.0 if k == axis else 0.0 for k in range(law.dim)))
                for axis, pair in enumerate(sides) for side in pair}

    def own(x, t):
        return q(x, t)
    return {"prescribed": lambda: dg.prescribed(q), "incident": lambda: dg.incident(q), "far_field": lambda: dg.far_field(q),
            "a function of your own": lambda: own, "scattered": lambda: dg.scattered(base_wall(law), field or waves(law))}.get(
                run.boundary, lambda: getattr(dg, run.boundary))()


def mesh_of(run, cells, doubled=lambda mesh: mesh):
    """The mesh of a run; doubled: what is done to the cells of the box before they get names and are bent, which is symmetric
    about x = 0."""
    dim, glue = int(run.dim[0]), run.boundary == "periodic"
    if run.shape == "grid":
        return dg.Grid((0,) * dim, (1,) * dim, cells, periodic=glue)
    if dim == 1:
        mesh = dg.interval(0, 1, cells, periodic=glue)
    else:
        tensor = isinstance(kind_of(run), dg.TensorDG)
        shapes = {(2, False): "triangle", (3, False): "tetra", (2, True): "quadrilateral", (3, True): "hexahedron"}
        several = {"mixed": "mixed", "curved mixed": "mixed"} if dim == 2 else {"mixed": "hybrid", "curved mixed": "pyramid"}
        shape = several.get(run.shape, shapes[dim, tensor])
        mesh = doubled((dg.rectangle if dim == 2 else dg.box)(cells=cells, periodic=glue, shape=shape))
    if run.medium == "jump" or run.shape == "orders" or run.boundary == "resistive_sheet":
        mesh = mesh.with_regions({"a": lambda x: abs(x[0]) < 0.5, "b": lambda x: abs(x[0]) > 0.5})
    if run.shape in CURVED:
        def bent(x):
            push = np.prod([np.sin(np.pi * abs(c)) for c in x], axis=0)
            return tuple(c + (0.05 * np.sign(c), -0.04, 0.03)[k] * push for k, c in enumerate(x))
        mesh = mesh.mapped(bent, 2)
    if run.boundary == "resistive_sheet":
        mesh = mesh.with_interfaces({"inside": ("a", "b")})
    if run.boundary == "layers":          # a wave along the layers
        mesh = dg.pml(mesh, 0.25, max(1, cells // 4), boundary=[side for pair in SIDES[dim][1:] for side in pair],
                      split=False)
    return mesh


def method_of(run):
    method = kind_of(run)
    return replace(method, order={"a": method.order, "b": method.order + 1}) if run.shape == "orders" else method


LEVELS = {"DG": ((12, 18), (4, 8), (2, 4)), "DG, finer": ((16, 24), (8, 12), (4, 6)),
          "first-order": ((64, 128), (32, 64), (16, 32)), "muscl": ((64, 128), (32, 64), (16, 24)),
          "muscl unsplit": ((64, 128), (32, 64), (16, 24)), "weno": ((24, 48), (16, 32), (12, 18))}
STATED = {"first-order": 1, "muscl": 2, "muscl unsplit": 2, "weno": 5}
# Limiters clip extremes; the steppers are of fourth order at most.
MARGINS = {"first-order": 0.25, "muscl": 0.6, "muscl unsplit": 0.6, "weno": 1.1}


def flux_of(run):
    return None if run.method == "weno" else FLUXES[run.flux]


def least_order(run):
    """The order that docs/combinations.md states for a run, less a margin."""
    if run.method in STATED:
        if run.boundary in CONTINUED or run.method == "muscl" and run.boundary in IN_TIME:
            return 0.35
        return 2.2 if run.method == "weno" and run.boundary in IN_TIME else STATED[run.method] - MARGINS[run.method]
    nonlinear, collocated = run.law in ("Euler", "MHD", "a law of your own"), run.method in COLLOCATED
    at_mortars = run.shape == "orders" and collocated and run.method != "NodalDG"          # of degree p - 1
    if run.flux == "central":
        return 1.2 if at_mortars else 1.7
    return 2.1 if at_mortars or nonlinear and collocated else 2.3          # of 2.7 on finer meshes, where these are coarse


COLLOCATED = "NodalDG", "TensorDG lobatto", "split form of central", "split form of ranocha", "split form of kennedy_gruber"


def simulation(run, cells, **options):
    """A run on a mesh or grid with so many cells along each axis; options: of the simulation, in place of those of the run."""
    law = law_of(run)
    q = state_of(run, law)
    problem = manufactured(law, q)
    given = problem.options | {"boundary": boundary_of(run, law, q)} | options
    return dg.Simulation(mesh_of(run, cells), law, method_of(run), **given, flux=flux_of(run), backend="numpy",
                         kernels="array", threads=1)


def levels_of(run):
    """Two numbers of cells along each axis, the second larger."""
    bent_gas = run.law in ("Euler", "MHD") and run.dim == "2D" and run.shape in CURVED
    kind = "DG, finer" if run.boundary == "periodic" or bent_gas else "DG"          # periodic waves are half as long
    return LEVELS.get(run.method, LEVELS[kind])[int(run.dim[0]) - 1]


def observed(run):
    """The order that the errors on two meshes have, and these errors."""
    gas = run.law in ("Euler", "MHD") and (run.dim, run.shape) != ("1D", "grid")
    fast = gas or run.dim == "3D" and run.shape != "grid"
    errors, levels, until = [], levels_of(run), 0.05 if fast else 0.1
    for cells in levels:
        # So that the error of time is small.
        share = {"weno": 0.5 * levels[0] / cells, "muscl": 1 / 3}.get(run.method, 1)
        sim = simulation(run, cells, until=until, cfl=0.9 * share)
        sim.run()
        errors.append(sim.report["l2_error"]["total"])
    return np.log(errors[0] / errors[1]) / np.log(levels[1] / levels[0]), errors
