"""Tune the GPU kernels for a list of problems: `dgarray tune`."""
from dataclasses import dataclass, replace
from math import comb, prod

from ..backends.cuda.ceilings import ceilings
from ..backends.cuda.dg import tuning, variant_table
from ..backends.cuda.dg.variant import Shape, default, shortlist
from ..backends.cuda.finite_volume import tuning as grid_tuning, variant as grid_variant
from ..backends.cuda.hermite import tuning as hermite_tuning, variant as hermite_variant
from ..mesh import Grid, box, rectangle
from ..methods import FiniteVolume, Hermite, NodalDG
from ..methods.hermite.linear import LinearLaw
from ..methods.hermite.tables import HermiteTables
from ..methods.problem import Problem
from ..physics.boundary import pec, wall
from ..physics.laws import Acoustics, Advection, Maxwell
from ..stepping import SSP22
from ..support.wording import choose
from .roofline import bound, cost

PROBLEMS = {"maxwell-3d": (Maxwell(3), pec), "maxwell-2d": (Maxwell(2), pec),
            "acoustics-3d": (Acoustics(3), wall), "acoustics-2d": (Acoustics(2), wall)}
HERMITE = {"hermite-maxwell-3d": Maxwell(3), "hermite-acoustics-3d": Acoustics(3),
           "hermite-advection-3d": Advection((1.0, 0.7, 0.4))}
ORDERS = range(1, 6)
ENOUGH = 15_000                # least elements, to which a case's mesh is refined so that it fills the device
__all__ = ["ORDERS", "PROBLEMS", "Own", "ceilings", "check", "tables_of", "tune"]


@dataclass(frozen=True)
class Own:
    """A problem of the package's own list, on a box, rectangle or grid.

    name: a key of PROBLEMS or HERMITE;  order: of the method.  ValueError for a name or order that does not exist."""

    name: str
    order: int

    def __post_init__(self):
        choose("law", self.name, [*PROBLEMS, *HERMITE])
        (Hermite if self.name in HERMITE else NodalDG)(self.order)

    def tables(self, elements=None):
        """The tables of the problem with about so many elements; by default as many as tuning needs."""
        if self.name in HERMITE:
            cells = round((elements or hermite_tuning.ENOUGH) ** (1 / 3))
            return HermiteTables(Hermite(self.order), Grid((0, 0, 0), (1, 1, 1), cells, True), HERMITE[self.name], None)
        law, boundary = PROBLEMS[self.name]
        elements = elements or tuning.enough(len(law.variables) * comb(self.order + law.dim, law.dim))
        mesh = box(cells=round((elements / 6) ** (1 / 3))) if law.dim == 3 else rectangle(cells=round((elements / 2) ** 0.5))
        return NodalDG(self.order).tables(Problem(mesh, law, boundary))


def tables_of(problem):
    """The tables of an `Own` problem or of a simulation, whose mesh is refined until it has ENOUGH elements, the grid of finite
    volumes until it has that of its tuner."""
    if isinstance(problem, Own):
        return problem.tables()
    if isinstance(problem.method, Hermite):
        return HermiteTables(problem.method, problem.mesh, problem.law, problem.options["boundary"])
    if isinstance(problem.method, FiniteVolume):
        grid = problem.mesh
        while prod(grid.cells) < grid_tuning.ENOUGH:
            grid = replace(grid, cells=tuple(2 * n for n in grid.cells))
        return problem.method.tables(problem.replace(mesh=grid).problem)
    mesh = problem.mesh
    while len(mesh.cells) < ENOUGH:
        mesh = mesh.refined()
    return NodalDG(problem.method.order).tables(replace(problem.problem, mesh=mesh))


def check(problems):
    """Raise ValueError if the method of a simulation has no kernels to tune, or if this machine's tuning table is broken.

    problems: list of `Own` or simulations"""
    for problem in problems:
        if isinstance(problem, Own):
            continue
        if not isinstance(problem.method, (NodalDG, Hermite, FiniteVolume)):
            raise ValueError(f"case '{problem.options['case']}' is by {type(problem.method).__name__}; only NodalDG, "
                             "FiniteVolume and Hermite are tuned")
        if isinstance(problem.method, Hermite) and LinearLaw(problem.law).varies:
            raise ValueError(f"case '{problem.options['case']}' has coefficients that vary, which Hermite has no kernels for "
                             "on the GPU; nothing can be tuned")
        if isinstance(problem.method, NodalDG) and problem.method.tables(problem.problem).media.names:
            raise ValueError(f"case '{problem.options['case']}' has coefficients that vary inside of elements, which NodalDG "
                             "has no kernels for on the GPU; nothing can be tuned")
    variant_table.read(variant_table.table_file())


def tune(backend, tables, quick=False, progress=None, limits=None, each=None):
    """Tune the kernels for one problem and keep the fastest variant in this machine's table; returns a dict.

    backend   `CudaBackend`
    tables    of the problem, see `tables_of`
    quick     time only the short list of variants of a first run
    progress  function called with a line of text now and then
    limits    of `dgarray.backends.cuda.ceilings.ceilings`, measured by default
    each      of nodal DG: function called with (variant, seconds of a stage) after each variant; see `tuning.tune`
    Result: device, problem, setting, elements, file, default (variant), ranking [(variant, seconds, share of the bound)].
    Seconds are those of a stage, of Hermite's method of a half-step, of finite volumes of a step. The bound is that of a single
    kernel; of the other methods see `tune_hermite` and `tune_grid`.
    Raises RuntimeError if no variant works or fits the device, MemoryError if memory is too short to time variants."""
    device, limits = backend.device, limits or ceilings(backend.device, backend.dtype)
    if isinstance(tables, HermiteTables):
        return tune_hermite(backend, tables, quick, progress, limits)
    if tables.unit.startswith("cell"):
        return tune_grid(backend, tables, quick, progress, limits)
    shape = Shape.of(tables, backend.dtype)
    variants = shortlist(shape, device.shared_per_block) if quick else None
    _, ranking = tuning.tune(backend, tables, variants, tuning.FIRST_RUN if quick else tuning.SECONDS, progress, each)
    file, found = variant_table.entry(device, tables, backend.dtype)
    least = found["elements"] * bound(cost(tables, "fused", backend.dtype, backend="cupy"), limits)
    return {"device": device.name, "problem": variant_table.problem(tables),
            "setting": variant_table.setting(tables, backend.dtype),
            "elements": found["elements"], "file": str(file), "default": default(shape, device.shared_per_block),
            "ranking": [(variant, seconds, least / seconds) for variant, seconds in ranking]}


def tune_grid(backend, tables, quick, progress, limits):
    """`tune` for the kernels of finite volumes. The bound has the operations and bytes of sweeps without transpositions."""
    device, dtype = backend.device, backend.dtype
    variants = grid_tuning.fitting(grid_variant.shortlist(tables), tables, dtype, device) if quick else None
    _, ranking = grid_tuning.tune(backend, tables, variants, tuning.FIRST_RUN if quick else tuning.SECONDS, progress)
    names = grid_tuning.problem(tables), grid_tuning.setting(tables, dtype)
    file, found = variant_table.entry_of(device, *names)
    least = found["elements"] * bound(cost(tables, "fused", dtype, SSP22, "cupy"), limits)
    return {"device": device.name, "problem": names[0], "setting": names[1], "elements": found["elements"], "file": str(file),
            "default": grid_variant.default(tables), "ranking": [(v, seconds, least / seconds) for v, seconds in ranking]}


def tune_hermite(backend, tables, quick, progress, limits):
    """`tune` for Hermite's kernels. The bound has the variant's own operations and bytes, with each face interpolated once."""
    device, asked = backend.device, tables.method.variant
    shape = hermite_variant.HermiteShape.of(tables, backend.dtype)
    standard = hermite_variant.default(shape, device.shared_per_block, asked)
    if standard is None:
        raise RuntimeError(f"no kernel of {hermite_tuning.problem(tables)}, {hermite_tuning.setting(tables, backend.dtype)} "
                           f"fits the {device.shared_per_block} bytes of shared memory of a block of {device.name}")
    variants = hermite_variant.shortlist(shape, device.shared_per_block, asked) if quick else None
    _, ranking = hermite_tuning.tune(backend, tables, variants, tuning.FIRST_RUN if quick else tuning.SECONDS, progress)
    names = hermite_tuning.problem(tables), hermite_tuning.setting(tables, backend.dtype)
    file, found = variant_table.entry_of(device, *names)

    def least(kernel):
        return found["elements"] * bound(cost(tables, "fused", backend.dtype, backend="cupy", variant=kernel), limits)
    return {"device": device.name, "problem": names[0], "setting": names[1], "elements": found["elements"], "file": str(file),
            "default": standard, "ranking": [(v, seconds, least(v.kernel) / seconds) for v, seconds in ranking]}
