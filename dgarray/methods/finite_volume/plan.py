"""The memory plan of finite volumes: the bytes that states and coefficients hold, and that each phase of a run takes."""
from ...stepping import registers
from ..memory import added, plan
from .sweeps import Sweeps


def plan_of(method, tables, backend, stepper):
    """The memory `Plan` of a run with these tables."""
    operations, device = backend.kind(Sweeps, tables), backend.name == "cupy"
    states = sum(registers(stepper)) + 1          # one more is kept to find the cause of a failure
    own = {"state and registers": states * operations.state_size(backend, tables)}
    own = added(own, operations.holds(backend, tables))
    host = {} if device else own
    output = tables.variables * tables.elements * backend.dtype.itemsize
    steps = operations.takes(backend, tables)["steps"]
    transient = {"set-up": (0, 0), "initial state": (2 * output, 0), "time step": steps, "steps": steps,
                 "snapshots": (0 if device else output, 0), "report": (output, 0)}
    return plan(backend, host, own if device else {}, transient, output, tables.variables, 8 * sum(tables.grid.cells))
