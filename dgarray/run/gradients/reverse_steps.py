"""The steps of a run backwards: from the derivatives of a number by the state after a step those by the state before it, and by
the parameters of the law.

A stage is a program, and so is its adjoint, see `dgarray.program.transpose`. Steps keep the lengths that they had.
"""
import numpy as np

from ...methods.exchange import AdjointsOfCopies
from ...methods.stage_update import factors_of, kind_of
from ...program.transpose import NotDifferentiable
from .program_adjoints import ProgramAdjoints, host
from .state_views import ViewsOfSets


class ReverseSteps:
    """The adjoint of the steps of an operator of discontinuous Galerkin, by transposed programs.

    operator, parameters, points, by_node   as of `ProgramAdjoints`
    found      {parameter: (element,)} their derivatives so far, by the number that each element of the mesh has, or
               (element, node)
    views      how records and datasets see its states, see `dgarray.run.gradients.state_views`
    needs_states   whether `step` needs the states of the run;  reads_stages: whether those between the stages of a step, too
    adjoint    {prefix: derivatives by the state (variable, row, element)}, with the prefix of each element set's names in
               programs, "" where there is one set
    copies     the `AdjointsOfCopies`, on a part of a mesh"""

    needs_states, reads_stages = True, True

    def __init__(self, operator, parameters, points=None, by_node=None):
        self.operator, self.programs = operator, ProgramAdjoints(operator, parameters, points, by_node)
        self.sets, self.found, self.views = self.programs.sets, self.programs.found, ViewsOfSets(operator)
        self.adjoint = {prefix: np.zeros(each.shape) for prefix, (_, each, _) in self.sets.items()}
        self.copies = None if operator.messages is None else AdjointsOfCopies(self.programs.backend, {
            prefix: each.mesh.share for prefix, (_, each, _) in self.sets.items()})

    @property
    def by_parameters(self):
        """{parameter: (element,)} the derivatives, by the number that each element of the mesh has."""
        return self.found

    def add(self, prefix, numbers, values):
        """Add to the derivatives by the state: values (variable, row, element) of the elements with these numbers in their
        set."""
        self.adjoint[prefix][:len(values), :, numbers] += values

    def step(self, states, t, dt):
        """Go back from the derivatives by the state after a step of the length dt from t to those by the one before it.

        states   before the step and after each of its stages, not filtered

        With the adjoints b of the state and p of the register after a stage, see `dgarray.stepping`, those before it are

            p' = p + B b,  r' = dt (w p' + C b),  q' = beta b + v p' + (dr/dq)^T r',  k' = A p',  q0' = alpha b + u p'

        and of a parameter m (dr/dm)^T r' is added; the transposed program of the stage computes all of them."""
        inputs, b = [host(self.operator, self.sets, each) for each in states[:-1]], self.adjoint          # copies are renewed
        if any(each.tables.filter is not None for _, each, _ in self.sets.values()):
            b = self.pulled("q", inputs[-1], b, {}, "filtered")["q"]
        self.adjoint = self.through_stages(inputs, b, t, dt)

    def through_stages(self, inputs, b, t, dt):
        """The derivatives by the state before a step from those after it, b; inputs: {prefix: array} of each stage."""
        rows, at_start, k = self.operator.stepper.stages, dict.fromkeys(b, 0.0), {}
        for row, q in zip(reversed(rows), reversed(inputs)):
            numbers = factors_of(row, dt) | {"t": t + row.c * dt}
            result = self.pulled("out", q, b, numbers, "stage", kind_of(row), k=k)
            b, more = result["q"], result.get("k", {})
            if self.copies is not None:
                self.copies.add(b)
            # A stage that leaves the register alone hands on what later ones ask of it.
            k = more if row.changes else {prefix: more.get(prefix, 0.0) + k.get(prefix, 0.0) for prefix in q}
            for prefix, more in result.get("q0", {}).items():
                at_start[prefix] = at_start[prefix] + more
        return {prefix: each + at_start[prefix] for prefix, each in b.items()}

    def pulled(self, output, q, adjoints, numbers, name, *options, k=None):
        """{input of a program: adjoints}, of those of its output, and of its register k where it has one."""
        given, result, k = dict(numbers), {}, k or {}
        for prefix, values in q.items():
            own = self.sets[prefix][1].operations.own          # what programs give
            given |= {f"{prefix}q": values, f"adjoint of {prefix}{output}": own(adjoints[prefix]),
                      f"adjoint of {prefix}k": own(np.broadcast_to(k.get(prefix, 0.0), values.shape))}
            given |= dict.fromkeys((f"{prefix}k", f"{prefix}q0"), values)          # in which a stage is linear
        found = self.programs.run(given, name, *options)
        for prefix in q:
            for what in ("q", "k", "q0"):
                if f"adjoint of {prefix}{what}" in found:
                    result.setdefault(what, {})[prefix] = found[f"adjoint of {prefix}{what}"]
        return result


def check_method(operator):
    """Raise NotDifferentiable for what a step does that has no derivative."""
    options = [name for name in ("limiter", "positivity", "shock_capturing") if getattr(operator.method, name, None)]
    if options or any(each.tables.limits is not None for each in operator.operators.values()):
        raise NotDifferentiable(f"{options[0] if options else 'a limiter'} decides by the state what it changes, and has "
                                f"no derivative: {operator.method!r}; leave it out, on a mesh that resolves the solution")
