"""Tune the GPU kernels for a list of problems: `dgarray tune`."""
from dataclasses import dataclass
from math import comb

from ..backends.cuda import tuning
from ..backends.cuda.ceilings import ceilings
from ..backends.cuda.variant import Shape, default, shortlist
from ..boundary import pec, wall
from ..fluxes import upwind
from ..laws import Acoustics, Maxwell
from ..mesh import box, rectangle
from ..methods import NodalDG
from ..methods.nodal_dg import NodalTables
from ..names import choose
from .roofline import bound, cost

PROBLEMS = {"maxwell-3d": (Maxwell(3), pec), "maxwell-2d": (Maxwell(2), pec),
            "acoustics-3d": (Acoustics(3), wall), "acoustics-2d": (Acoustics(2), wall)}
ORDERS = range(1, 6)
ENOUGH = 15_000                # elements that a case's mesh is refined to, so that the device has something to do
__all__ = ["ORDERS", "PROBLEMS", "Own", "ceilings", "check", "tables_of", "tune"]


@dataclass(frozen=True)
class Own:
    """A problem of the package's own list, on a box or rectangle; ValueError for a name or order that does not exist."""

    name: str
    order: int

    def __post_init__(self):
        choose("law", self.name, PROBLEMS)
        NodalDG(self.order)

    def tables(self, elements=None):
        """Its tables with about so many elements, as many as `tuning` likes by default."""
        law, boundary = PROBLEMS[self.name]
        elements = elements or tuning.enough(len(law.variables) * comb(self.order + law.dim, law.dim))
        mesh = box(cells=round((elements / 6) ** (1 / 3))) if law.dim == 3 else rectangle(cells=round((elements / 2) ** 0.5))
        return NodalTables(mesh, self.order, law, boundary, upwind, None)


def tables_of(problem):
    """The tables of one of our `Own` or of a simulation, whose mesh is refined until it has enough elements."""
    if isinstance(problem, Own):
        return problem.tables()
    mesh, options = problem.mesh, problem.options
    while len(mesh.cells) < ENOUGH:
        mesh = mesh.refined()
    return NodalTables(mesh, problem.method.order, problem.law, options["boundary"], options["flux"] or upwind,
                       options["source"])


def check(problems):
    """Raise ValueError where a simulation is by a method that is not tuned, or where the table of this machine is broken."""
    for problem in problems:
        if not isinstance(problem, Own) and not isinstance(problem.method, NodalDG):
            raise ValueError(f"case '{problem.options['case']}' is by {type(problem.method).__name__}; only NodalDG is tuned")
    tuning.read(tuning.table_file())


def tune(backend, tables, quick=False, progress=None, limits=None):
    """Tune for one problem and keep the result: a dict of what was found, seconds those of a stage.

    quick     the short list of variants of a first run
    progress  function called with a line of text now and then
    limits    of `dgarray.backends.cuda.ceilings.ceilings`, measured by default; the bound that follows from them is that of one
              kernel which visits each face from both sides
    Result: device, problem, setting, elements, file, default (variant), ranking [(variant, seconds, share of the bound)]."""
    device, shape = backend.device, Shape.of(tables, backend.dtype)
    variants = shortlist(shape, device.shared_per_block) if quick else None
    _, ranking = tuning.tune(backend, tables, variants, tuning.FIRST_RUN if quick else tuning.SECONDS, progress)
    file, found = tuning.entry(device, tables, backend.dtype)
    limits = limits or ceilings(device, backend.dtype)
    least = found["elements"] * bound(cost(tables, "fused", backend.dtype, backend="cupy"), limits)
    return {"device": device.name, "problem": tuning.problem(tables), "setting": tuning.setting(tables, backend.dtype),
            "elements": found["elements"], "file": str(file), "default": default(shape, device.shared_per_block),
            "ranking": [(variant, seconds, least / seconds) for variant, seconds in ranking]}
