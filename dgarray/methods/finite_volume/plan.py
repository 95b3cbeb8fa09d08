"""The memory plan of finite volumes: the bytes that states and coefficients hold, and that each phase of a run takes."""
from ...spaces.grid import PIECE
from ...stepping import registers
from ..memory import added, plan
from .sweeps import Sweeps


def plan_of(method, tables, backend, stepper):
    """The memory `Plan` of a run with these tables."""
    operations, device = backend.kind(Sweeps, tables), backend.name == "cupy"
    states = sum(registers(stepper)) + 1          # one more is kept to find the cause of a failure
    own = {"state and registers": states * operations.state_size(backend, tables)}
    own = added(own, operations.holds(backend, tables))
    host = added(tables.holds(), operations.holds_on_host(backend, tables) if device else own)
    output = tables.variables * tables.elements * backend.dtype.itemsize
    steps = operations.takes(backend, tables)["steps"]
    row = tables.elements // tables.grid.cells[-1]
    piece = min(tables.elements, max(PIECE, row)) * 8 * (5 * tables.variables + 2 * tables.dim)          # of a function of x
    # All states exist, and a first step has been tried, while the initial state is still there.
    transient = {"set-up": (0, 0), "initial state": (output + max(steps[0], piece), steps[1]), "time step": steps,
                 "steps": steps, "snapshots": (output + piece, 0), "report": (output + piece, 0)}
    return plan(backend, host, own if device else {}, transient, output, tables.variables, 8 * sum(tables.grid.cells))
