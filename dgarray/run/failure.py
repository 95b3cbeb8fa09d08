"""A solution that goes bad: which step, stage, variable and element, and what it looked like around there."""
from pathlib import Path

import numpy as np

from ..mesh import Grid
from ..output import GridLayout, Layout, dataset
from ..stepping import stages, step

LAYERS = 3          # layers of elements around the first bad one in a dump
DUMPS, GRID_DUMPS = (".vtu", ".png"), (".vti", ".png")


class SolutionError(RuntimeError):
    """The solution went bad: a value is not finite or not admissible, or the time step has collapsed.

    time, step, stage      of the first bad value: the step's number from 1 and its stage from 1
    variable               its name
    element, centre        the element's number in the mesh file, and its centre
    boundaries             names of the boundaries that the element or a neighbour of it touches
    dataset                the run's dataset up to the last good state
    dump                   the file that shows the elements around it
    What is not known is None."""

    def __init__(self, message, time=None, step=None, stage=None, variable=None, element=None, centre=None, boundaries=None):
        super().__init__(message)
        self.time, self.step, self.stage, self.variable = time, step, stage, variable
        self.element, self.centre, self.boundaries, self.dataset, self.dump = element, centre, boundaries, None, None


class Failure:
    """What was found when the steps that nobody had looked at were taken once more.

    step    number of the first step after which the state is not as it must be; dt its length
    good    state before that step, as `operator.host` gives it; t its time
    bad     the first state that is not as it must be, after that stage (None if the second time all went well)
    where   (value, 3) rows (element, variable, row) of its bad values"""

    def __init__(self, loop):
        """Go back to the loop's last copy of its state and take its steps again, the bad one stage by stage."""
        self.operator, operator, stepper = loop.operator, loop.operator, loop.stepper
        failed = operator.host(loop.states[0])
        states, k = loop.from_copy()
        for t, dt in loop.since[:-loop.unchecked]:
            states = step(operator, stepper, states, k, t, dt)
        for self.step, (self.t, self.dt) in enumerate(loop.since[-loop.unchecked:], loop.steps - loop.unchecked + 1):
            loop.copy[...] = states[0]
            states = step(operator, stepper, states, k, self.t, self.dt)
            if not operator.sound(states[0], self.t + self.dt):
                break
        (states, k), dt = loop.from_copy(), self.dt
        self.good = operator.host(states[0])
        self.bad, self.stage, self.time = failed, None, self.t + dt
        for number, (row, q) in enumerate(zip(stepper.stages, stages(operator, stepper, states, k, self.t, dt)), 1):
            if not operator.sound(q, self.t + row.c * dt):
                self.bad, self.stage, self.time = operator.host(q), number, self.t + row.c * dt
                break
        self.where = np.argwhere(~np.isfinite(self.bad.transpose(2, 0, 1)))
        self.word = "finite"
        if not len(self.where):
            self.word, self.where = "admissible", operator.inadmissible(self.bad, self.time)

    def error(self, stepper, mesh, law):
        """The SolutionError that says so."""
        if not len(self.where):          # kernels may round to the other side of it
            return SolutionError(f"the state is not {self.word} at t = {self.time:.6g} (step {self.step}), by so little that "
                                 f"no element can be named; the last good state is of t = {self.t:.6g}", self.time, self.step,
                                 self.stage)
        element, variable, _ = self.where[0]
        names = mesh.near(element)
        many = len(np.unique(self.where[:, 0]))
        stage = "" if self.stage is None else f", stage {self.stage} of {len(stepper.stages)}"
        what = law.variables[variable] if self.word == "finite" else "the state"
        where = mesh.named_place(element)
        message = (f"{what} is not {self.word} at t = {self.time:.6g} (step {self.step}{stage}) in {where}, {near(names)}; "
                   f"{many} {where.split()[0]}{'s are' if many > 1 else ' is'} affected; the last good state is of "
                   f"t = {self.t:.6g}")
        return SolutionError(message, self.time, self.step, self.stage,
                             law.variables[variable] if self.word == "finite" else None, int(mesh.numbers[element]),
                             mesh.centre(element), names)

    def dump(self, path, mesh, law, method):
        """Write the last good state, and which elements are bad, of the elements around the first bad one: .vtu or .png.

        On a grid it is the whole state, .vti or .png. The field drawn in a picture is the first bad variable."""
        first, variable = self.where[0, :2] if len(self.where) else (0, 0)
        if isinstance(mesh, Grid):
            self._dump_grid(path, mesh, law, law.variables[variable])
            return
        path, order, around = Path(path), method.nodal_order, neighbourhood(mesh, first, LAYERS)
        part, good = mesh.part(around), self.operator.nodal(self.good[:, :, around])
        if path.suffix == ".vtu":
            from ..output.vtk import write_vtu
            fields = {name: values.T for name, values in zip(law.variables, good)}
            bad = np.isin(around, self.where[:, 0])
            write_vtu(path, part.points, part.cells, order, fields,
                      {"bad": bad.astype("int32"), "cell_number": part.numbers}, overwrite=True)
        else:
            from ..output.plot import plot
            layout = Layout(mesh.dim, order, part.points, part.cells, part.numbers, law.variables, dict(law.long_names),
                            dict(law.units))
            values = {name: field.T[None] for name, field in zip(law.variables, good)}
            plot(dataset(layout, [self.t], values), law.variables[variable], -1, path, mesh=True)

    def _dump_grid(self, path, grid, law, variable):
        layout = GridLayout(grid, 0, False, law.variables, dict(law.long_names), dict(law.units))
        ds = layout.dataset([self.t], {name: values[None] for name, values in layout.fields(self.good[:, :1]).items()})
        if Path(path).suffix == ".vti":
            bad = np.isin(grid.numbers, self.where[:, 0]).reshape(grid.shape)
            name = "bad" if "bad" not in law.variables else "bad_nodes"
            ds.assign({name: (ds.dg.axes[::-1], bad.astype("int32"))}).dg.to_vtk(path, overwrite=True)
        else:
            from ..output.plot import plot
            plot(ds, variable, -1, path)


def near(names):
    """Where an element is, for messages."""
    plural = "boundaries" if len(names) > 1 else "boundary"
    return f"near the {plural} {', '.join(names)}" if names else "away from boundaries"


def check_dump(path, mesh):
    """Raise ValueError if there can be no dump of that name for a run on this mesh or grid."""
    path, allowed = Path(path), GRID_DUMPS if isinstance(mesh, Grid) else DUMPS
    if path.suffix not in allowed:
        raise ValueError(f"the dump {path} has the suffix {path.suffix!r}; allowed: {', '.join(allowed)}")
    if not path.resolve().parent.is_dir():
        raise ValueError(f"the dump {path}: the folder {path.resolve().parent} does not exist")


def neighbourhood(mesh, element, layers):
    """Numbers of the elements that are at most so many faces away from one."""
    found = np.array([element])
    for _ in range(layers):
        found = np.unique(np.concatenate([found, mesh.neighbour_cell[found].ravel()]))
    return found
