"""What a set of elements computes on a backend: its recipe's programs by the interpreter, its limiter, its checks.

Kernels derive a class from one of these and override what they compute; a state then has their layout."""
from functools import cached_property

import numpy as np

from ..step_operations import Recipe
from . import stage_program
from .array_stages import ArrayStages
from .arrays import DGArrays
from .curved_form import CurvedForm
from .tensor_form import TensorForm
from .weak_form import WeakForm


class SetOperations(DGArrays, Recipe):
    """The operations of a set of elements that are alike.

    stages   the class that makes the stages of several sets, or of one, from their operations
    captures_shocks   whether elements have a share of finite volumes
    alone    the stages of this set alone, with the joins between its own elements"""

    stages, captures_shocks = ArrayStages, False

    def recipe(self, trace, name=""):
        """The recipe of this set, whose name is given, for a `Trace`."""
        return form_of(self.tables)(trace, self.tables, name)

    @cached_property
    def alone(self):
        return self.stages({None: self})

    @cached_property
    def constants(self):
        """{name: array} of the constants of all programs of this set."""
        return {}

    @cached_property
    def _interpreters(self):
        return {}

    def interpreted(self, name, *options):
        """The `Interpreter` of a program of this set alone, a function of `stage_program`."""
        if (name, *options) not in self._interpreters:
            program = getattr(stage_program, name)({"": self.recipe}, *options)
            self._interpreters[name, *options] = self.backend.interpreter(program, self.constants)
        return self._interpreters[name, *options]

    @property
    def copies(self):
        """The `Copies` of other parts' elements, on a part of a mesh."""
        return self.alone.copies

    def copies_operations(self, q):
        """The operations that renew the copies of other parts' elements in a state."""
        return self.alone.copies_operations({None: q})

    def rhs(self, q, t):
        """dq/dt = (-div F + L (F.n - F*) + s) / C; 0 at copies of other parts' elements."""
        return self.alone.rhs({None: q}, t)[None]

    def stage(self, q, out, k, q0, t, dt, row):
        self.set_clock(dt, [t])
        self.backend.perform(self.stage_operations(q, out, k, q0, row))

    def stage_operations(self, q, out, k, q0, row, number=0):
        """The operations of one Runge-Kutta stage: `update_operations`, then `out` is limited.  `out` may not be `q`."""
        return [*self.update_operations(q, out, k, q0, row, number), *self.limit_operations(out)]

    def update_operations(self, q, out, k, q0, row, number=0):
        """The operations that compute r = dq/dt at (q, t), then k = A k + v q + u q0 + w dt r and
        out = alpha q0 + beta q + B k + C dt r, see `dgarray.stepping.Stage`."""
        return self.alone.update_operations({None: (q, out, k, q0)}, row, number)

    def limit_operations(self, out):
        """The operations that limit a new state; where the limiter looks at neighbours, copies of some are renewed before."""
        return [] if self.tables.limits is None else self.alone.limit_operations({None: out})

    def limit(self, q):
        """Limit the state q (variable, row, element) in place, if the method has a limiter."""
        self.backend.perform(self.limit_operations(q))

    def troubled(self, q):
        """Where the state is not smooth to the limiter's indicator, truth values (own element,)."""
        return self.interpreted("troubled", self.backend.dtype).run({"q": self.as_array(q)})["rough"] > 0

    def filter(self, q):
        """Filter the state q (variable, node, element) in place; only for a method that has a filter."""
        self.interpreted("filtered").run({"q": q}, {"q": q})

    def rate(self, q, t, exponent=1.0):
        """The largest wave rate, 1 / time, see `WeakForm.rate`; nan if a rate is not finite."""
        with np.errstate(invalid="ignore", over="ignore"):
            rate = self.backend.largest(self.interpreted("rate", exponent).run({"q": self.as_array(q), "t": t})["rate"])
        return rate if 0 <= rate < np.inf else np.nan

    def finite(self, q):
        """Whether every value of the state is finite."""
        return self.backend.finite(self.own(q))

    def sound(self, q, t):
        """Whether every value of the state is finite and, if the law has `admissible`, admissible."""
        return self.finite(q) and (self.tables.law.admissible is None or self.all_admissible(q, t))

    def admissible(self, q, t):
        """Where the law admits the state: truth values (node, own element), for modal DG at the points of volume and faces."""
        found = self.interpreted("admissible").run({"q": self.as_array(q), "t": t})
        values = [found[name] for name in ("inside", "faces") if name in found]
        return self.xp.concatenate(values) > 0

    def all_admissible(self, q, t):
        """Whether the state is admissible everywhere."""
        return bool(self.admissible(q, t).all())

    def change(self, q, p):
        """Largest |q - p| and largest |q| of every variable, (2, variable), on the host."""
        return self._largest((q[:, :, part], p[:, :, part]) for part in self.blocks(self.tables.owned, q.shape[1]))

    def _largest(self, parts, axes=(1, 2)):
        """Largest |q - p| and largest |q| over `axes`, from pairs (q, p) of parts of two states; see `change`."""
        found = [[self.backend.host(self.xp.max(self.xp.abs(a), axis=axes)) for a in (q - p, q)] for q, p in parts]
        return np.max([np.zeros((2, self.tables.variables)), *found], axis=0)

    @property
    def work(self):
        tables, speed = self.tables, self.tables.functions.wave_speed
        there = {"right-hand side": True, "limiter": tables.limits is not None, "filter": tables.filter is not None,
                 "wave speeds": speed.depends_on("q") or speed.depends_on("t"),
                 "admissible states": tables.law.admissible is not None}
        return [part for part in there if there[part]]


def form_of(tables):
    """The class of the recipe for these tables."""
    return TensorForm if tables.diagonal else CurvedForm if tables.curved else WeakForm


class CurvedOperations(SetOperations):
    """As `SetOperations`, in curved triangles and tetrahedra, and prisms and pyramids that are not affine."""

    work = ("curved elements",)


class TensorOperations(SetOperations):
    """As `SetOperations`, on quadrilaterals and hexahedra."""

    @property
    def captures_shocks(self):
        return self.tables.sensor is not None

    def shares(self, q):
        """The share of finite volumes in each element, (element,), at a state, by array expressions."""
        return self.alone.arrays.interpreter("shares").run({"q": self.as_array(q), "t": 0.0})["share"]
