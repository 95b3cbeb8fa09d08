"""The steps of a linear run backwards by its own kernels, where A^T W = W P A P: see `dgarray.methods.dg.weights`.

With the adjoint b of a state, mu = P W^-1 b goes back by the steps of the problem without sources and given boundary values.
"""
from dataclasses import replace

import numpy as np

from ...methods.array_operator import SteppedOperator
from ...methods.dg.weights import AdjustedWeights, signs, weights_of
from ...methods.operation import KeptLists
from ...physics.derivative import derivative
from ...physics.pointwise import Pointwise
from ...physics.trace import trace
from ...stepping import Stage
from .program_adjoints import arrays_like, host, sets_of
from .set_derivatives import serves
from .stage_derivatives import StageDerivatives
from .state_views import ViewsOfSets

STATES = "q", "l", "r"          # arguments of pointwise functions
LOOKED_AT = "wave_speed", "rate", "admissible"          # functions that are no part of dq/dt
SAME = 1e-13          # of the norms of both sides, by which rounding may tell x . A^T W y from x . W P A P y


class ReciprocalSteps:
    """The adjoint of the steps of a linear run, by the kernels of the run; it offers what `ReverseSteps` does.

    weights      {name: the `Weights` or `AdjustedWeights` of each element set};  signs: P, of each variable
    stages       the `StageDerivatives`;  found: {parameter: (element,)} derivatives by what recorders read
    still        the operator of the problem without sources;  affine: whether its steps move a state of zeros
    state        mu, a state of that operator;  nothing: a state of zeros"""

    reads_stages = True

    def __init__(self, operator, still, parameters, weights, P, elements=None):
        self.operator, self.still, self.weights, self.signs = operator, still, weights, P[:, None, None]
        self.sets, self.needs_states, self.views = sets_of(operator), bool(parameters), ViewsOfSets(operator)
        self.found = {name: np.zeros(operator.mesh.cell_count) for name in parameters}
        self.stages = StageDerivatives(operator, parameters, P, elements) if parameters else None
        self.affine, self.state = is_affine(still), still.zeros()
        self.arrays = [still.zeros() for _ in range(5)] if parameters else []          # that come again in each step
        self.nothing = still.by_set(still.zeros()) if parameters else None
        self.lists = KeptLists()

    def add(self, prefix, numbers, values):
        """Add to the derivatives by the state: values (variable, row, element) of the elements with these numbers in their
        set."""
        name, _, _ = self.sets[prefix]
        operations, state = self.still.operators[name].operations, self.still.by_set(self.state)[name]
        places = operations.places_of(numbers)
        more = self.signs * self.weights[name].over(values, numbers)
        operations.scatter(state, places, operations.gather(state, places) + more.astype(state.dtype))

    @property
    def adjoint(self):
        """{prefix: derivatives by the state (variable, row, element)}."""
        return {prefix: self.weights[self.sets[prefix][0]].times(self.signs * q)
                for prefix, q in host(self.operator, self.sets, self.state).items()}

    @property
    def by_parameters(self):
        """{parameter: (element,)} the derivatives."""
        return {name: each + self.stages.by_element(name) for name, each in self.found.items()}

    def step(self, states, t, dt):
        """Go back over the step of the length dt from t; states: between its stages, for derivatives by parameters.

        With P W^-1 of what `ReverseSteps.step` says, where (dr/dq)^T is A for P W^-1 r'."""
        b = self.still.filtered(self.state)
        if not self.needs_states:
            self.state = self.linear(lambda q: SteppedOperator.advance(self.still, q, t, dt), b)          # without the filter
            return
        rows = self.operator.stepper.stages
        back = self.by_two_registers if all(map(is_of_two_registers, rows)) else self.by_stages
        stages = back(b, t, dt)
        for row, q, new in zip(reversed(rows), states[-2::-1], states[:0:-1]):
            factor, s, b, p = next(stages)
            self.stages.add(factor, s, q, t + row.c * dt, (-1.0, b, ((1.0, new), (-row.alpha, states[0]), (-row.beta, q))),
                            (1.0, p, ((row.v, q), (row.u, states[0]))))
        self.state, = stages

    def by_stages(self, b, t, dt):
        """Yield (1, s = P W^-1 r', P W^-1 b, P W^-1 p') of each stage, the last one first, and then the state before the step;
        any stepper's."""
        s, b_before, p, out, at_start = (self.still.by_set(each) for each in self.arrays)
        for name, values in self.still.by_set(b).items():
            b_before[name][...], p[name][...], at_start[name][...] = values, 0.0, 0.0
        b = b_before
        for row in reversed(self.operator.stepper.stages):
            for name in s:
                p[name] += row.B * b[name]
                np.multiply(p[name], dt * row.w, out=s[name])
                if row.C:
                    s[name] += dt * row.C * b[name]
            yield 1.0, *map(self.still.of_sets, (s, b, p))
            for name in s:
                for factor, given in ((row.alpha, b), (row.u, p)):
                    if factor:
                        at_start[name] += factor * given[name]
            self.perform(t + row.c * dt, 1.0, s, out, p, b, Stage(A=1.0, alpha=row.beta, B=row.v, C=1.0))
            b, out = out, b
            if self.affine:
                self.perform(t + row.c * dt, 1.0, self.nothing, out, None, b, Stage(alpha=1.0, C=-1.0))
                b, out = out, b
            for name in s if row.changes else ():
                p[name] *= row.A
        for name in s:
            b[name] += at_start[name]
        yield self.still.of_sets({name: values.copy() for name, values in b.items()})

    def by_two_registers(self, b, t, dt):
        """The same of steppers with two registers, with dt w, p', b, p' instead: b' = beta b + dt w A p, p' = A p + B b' are a
        stage that reads p, with b as its register."""
        rows, (p, out, *_) = self.operator.stepper.stages, (self.still.by_set(each) for each in self.arrays)
        b = self.still.by_set(b)
        for name in b:
            np.multiply(b[name], rows[-1].B, out=p[name])
        for row, before in zip(reversed(rows), (*reversed(rows[:-1]), Stage(B=1.0))):
            yield dt * row.w, *map(self.still.of_sets, (p, b, p))
            time, A = t + row.c * dt, row.A or 1.0          # of the first stage: nobody asks what follows
            self.perform(time, dt, p, out, b, None, Stage(A=row.beta, w=row.w, beta=A, B=before.B))
            if self.affine:
                self.perform(time, dt, self.nothing, out, b, p, Stage(A=1.0, w=-row.w, alpha=A, B=before.B))
            p, out = out, p
        yield self.still.of_sets(b)

    def perform(self, t, dt, q, out, k, q0, row):
        """A stage of the problem without sources, {name of a set: array} of each; what is done with arrays that come again is
        prepared once."""
        given = [None if each is None else self.still.of_sets(each) for each in (q, out, k, q0)]
        operations = self.still.operations
        perform = self.lists.held(row, [array for each in (q, out, k, q0) if each for array in each.values()], lambda: (
            self.still.backend.prepared(operations.stage_operations(*given, row))))
        operations.set_clock(dt, [t])
        perform()

    def linear(self, function, state):
        """The linear part of a function of a state."""
        found = function(state)
        if self.affine:
            for part, constant in zip(*(self.still.by_set(each).values() for each in (found, function(self.still.zeros())))):
                part -= constant
        return found


def reciprocal_steps(operator, parameters, elements=None):
    """The `ReciprocalSteps` of an operator, with parameters of these elements, None: of all.

    None where dq/dt is not linear in q, its coefficients depend on time, or A^T W = W P A P does not hold."""
    weights = {name: weights_of(each.tables) for name, each in operator.operators.items()}
    P = signs(next(iter(operator.operators.values())).tables.physics.functions.along)
    # With parameters, to solve with W in each stage takes longer than programs do, and what joins give goes to one part alone.
    never = any(each is None or parameters and isinstance(each, AdjustedWeights) for each in weights.values()) or (
        parameters and operator.messages is not None and (operator.several or len(operator.mesh.whole.hanging)))
    never = never or parameters and not all(serves(each.tables, parameters) for each in operator.operators.values())
    if not operator.everywhere(not never and P is not None and all(map(is_linear, functions_of(operator)))):
        return None
    still = without_source(operator)
    arrays = still.on(arrays_like(operator))
    return ReciprocalSteps(operator, still, parameters, weights, P, elements) if is_reciprocal(arrays, weights, P) else None


def functions_of(operator):
    """The pointwise functions of dq/dt, those of joins included."""
    every = [each.tables for each in operator.operators.values()]
    found = [each for tables in every for name, each in vars(tables.physics.functions).items() if name not in LOOKED_AT]
    found += [mortars.function for mortars in operator.operations.all_stages.lists]
    return found + [group.jump for tables in every for group in tables.faces.groups if group.jump is not None]


def is_linear(function):
    """Whether the derivatives of a pointwise function by states, q, l, r, depend neither on states nor on time."""
    names = list(function.used)
    states = [name for name in names if function.used[name][0] in STATES]

    def change(u, d):
        return derivative(function.graph, dict(zip(names, u)), dict(zip(states, d)))
    reads = trace(change, {"u": len(names), "d": len(states)}).inputs
    return not any(function.used[name][0] in (*STATES, "t") for i, name in enumerate(names) if f"u{i}" in reads)


def is_reciprocal(operator, weights, P):
    """Whether A^T W = W P A P, as random states tell: all over the mesh, and near each boundary.

    Each variable in each element has the same energy x . W x, whatever its units are: what couples any two of them is seen.
    operator   by array expressions in float64"""
    random, start = np.random.default_rng(0), operator.by_set(operator.rhs(operator.zeros(), 0.0))
    groups = {name: each.tables.faces.groups for name, each in operator.operators.items()}
    places = [{name: each[i].faces[:, 0] if i < len(each) else () for name, each in groups.items()}
              for i in range(operator.most(max(map(len, groups.values()))))]

    def slope(q):
        found = operator.by_set(operator.rhs(operator.of_sets(q), 0.0))
        return {name: found[name] - start[name] for name in q}

    def dot(a, b):
        return operator.summed_up(sum(float((a[name] * b[name]).sum()) for name in a))

    def of_same_energy(q, W):
        """States (variable, row, element) scaled so."""
        for v in range(len(q)):
            alone = np.zeros_like(q)
            alone[v] = q[v]
            energy = (alone * W.times(alone))[v].sum(axis=0)
            q[v] /= np.sqrt(np.where(energy > 0, energy, 1.0))
        return q

    def signed(q):
        return {name: P[:, None, None] * values for name, values in q.items()}
    for where in (dict.fromkeys(groups, slice(None)), *places):
        x, y = ({name: np.zeros(each.shape) for name, each in operator.operators.items()} for _ in range(2))
        for name, cells in where.items():
            for q in (x, y):
                q[name][:, :, cells] = random.uniform(-1, 1, q[name][:, :, cells].shape)
                q[name] = of_same_energy(q[name], weights[name])
        Wx, Wy = ({name: weights[name].times(values) for name, values in q.items()} for q in (x, y))
        Ax, Ay = slope(x), signed(slope(signed(y)))
        WAx, WAy = ({name: weights[name].times(values) for name, values in q.items()} for q in (Ax, Ay))
        size = np.sqrt(dot(Ax, WAx) * dot(y, Wy)) + np.sqrt(dot(x, Wx) * dot(Ay, WAy))
        if not abs(dot(Ax, Wy) - dot(Wx, Ay)) <= SAME * size:
            return False
    return True


def without_source(operator):
    """The operator of the problem without the user's source, if that does not depend on the state."""
    problem = operator.problem
    if problem.source is None or Pointwise(problem.source, problem.inputs, "source").depends_on("q"):
        return operator
    return operator.method.discretised(replace(problem, source=None), operator.backend, operator.stepper)


def is_affine(operator):
    """Whether anything depends on time, or moves a state of zeros."""
    moved = any(np.any(each) for each in operator.by_set(operator.rhs(operator.zeros(), 0.0)).values())
    return not operator.everywhere(not moved and not any(each.depends_on("t") for each in functions_of(operator)))


def is_of_two_registers(row):
    """Whether a stage updates the register, and from it the state."""
    return bool(row.changes and row.w and row.B) and not (row.alpha or row.u or row.v or row.C)
