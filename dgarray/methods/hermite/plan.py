"""The memory plan of Hermite's method: the bytes that tables, operations and stepper hold, and that each phase takes."""
from ...stepping import registers
from ..memory import added, plan
from .half_steps import HalfSteps


def plan_of(method, tables, backend, stepper):
    """The memory `Plan` of a run with these tables, whose arrays need not exist yet."""
    operations, device = backend.kind(HalfSteps, tables), backend.name == "cupy"
    states = sum(registers(stepper)) + 1          # one more is kept to find the cause of a failure
    own = {"state and registers": states * operations.state_size(backend, tables)}
    own = added(own, operations.holds(backend, tables))
    host = added(tables.holds(), operations.holds_on_host(backend, tables), {} if device else own)
    steps = operations.takes(backend, tables)["steps"]
    projected = HalfSteps.state_size(backend, tables) * (2 if device else 1)          # 2: the copy to a device needs a second
    output = tables.variables * (tables.rows if method.derivatives else 1) * tables.elements * backend.dtype.itemsize
    transient = {"set-up": (tables.holds()["coefficients"], 0), "initial state": (projected + steps[0], steps[1]),
                 "time step": (0, 0), "steps": steps, "report": (output, 0)}
    return plan(backend, host, own if device else {}, transient, output, tables.variables, 8 * sum(tables.grid.nodes))
