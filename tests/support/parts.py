"""A problem on parts of a mesh or grid, side by side in one process: threads in place of processes, queues for messages."""
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, Queue
from threading import Event

import numpy as np
from emulated import EmulatedDevice
from strict import StrictNamespace

from dgarray import backends
from dgarray.backends.arrays import ArrayBackend
from dgarray.backends.cuda import CudaBackend
from dgarray.mesh.grid_part import GridPart, row_share
from dgarray.mesh.partition import partition
from dgarray.methods.distributed_grid import OnGridParts
from dgarray.methods.exchange import Messages

PATIENCE = 600          # seconds after which a message is not waited for any longer


class Stopped(RuntimeError):
    """Another part has failed."""


class Queued(Messages):
    """The messages of one of several threads.

    queues: {(from, to): Queue};  failed: the event that one of them has failed"""

    def __init__(self, part, parts, queues, failed):
        self.part, self.parts, self.queues, self.failed = part, parts, queues, failed

    def send(self, other, values):
        self.queues[self.part, other].put(values.copy())

    def _next(self, other):
        for _ in range(10 * PATIENCE):
            try:
                return self.queues[other, self.part].get(timeout=0.1)
            except Empty:
                if self.failed.is_set():
                    raise Stopped from None
        raise TimeoutError(f"part {self.part} waits for {other}")

    def expect(self, other, values):
        def wait():
            values[...] = self._next(other)
        return wait

    def everyones(self, thing):
        for other in range(self.parts):
            if other != self.part:
                self.queues[self.part, other].put(thing)
        return [thing if other == self.part else self._next(other) for other in range(self.parts)]

    def exchanged(self, things):
        for other in range(self.parts):
            if other != self.part:
                self.queues[self.part, other].put(things[other])
        return [things[other] if other == self.part else self._next(other) for other in range(self.parts)]


def discretising(method, law, boundary, kernels="array", dtype="float64", threads=None, **options):
    """A function (mesh, messages) that discretises a problem on a mesh or a part of one.

    kernels: also "strict", array expressions on arrays that, like a device's, never turn into NumPy's by themselves; and
    "emulated", the kernels of a GPU"""
    def discretise(mesh, messages=None):
        if kernels == "strict":
            backend = ArrayBackend(StrictNamespace(), dtype, "strict")
        elif kernels == "emulated":
            backend = CudaBackend(dtype, EmulatedDevice())
        else:
            backend = backends.get("numpy", kernels, dtype, threads)
        backend.messages = messages
        return method.discretise(mesh, law, boundary, backend, **options)
    return discretise


class Together:
    """So many threads with `messages` for each, which work side by side."""

    def __init__(self, count):
        queues = {(a, b): Queue() for a in range(count) for b in range(count) if a != b}
        self.failed, self.pool = Event(), ThreadPoolExecutor(count)
        self.messages = [Queued(number, count, queues, self.failed) for number in range(count)]

    def together(self, work, *arguments):
        """work(what each part has, an argument of each) of all parts at once; what they return."""
        def of_part(*of_each):
            try:
                return work(*of_each)
            except BaseException:
                self.failed.set()
                raise
        found = [self.pool.submit(of_part, *of_each) for of_each in zip(self.each, *arguments)]
        errors = [error for each in found if (error := each.exception()) is not None]
        for error in sorted(errors, key=lambda error: isinstance(error, Stopped)):
            raise error
        return [each.result() for each in found]


class Parts(Together):
    """Operators on the parts of a mesh that advance together.

    discretise(mesh, messages): the operator of the problem on a mesh, on a backend of its own
    owner: (cell,) the part of each cell of the mesh;  around: as of `partition`"""

    def __init__(self, mesh, owner, discretise, around="faces"):
        self.meshes = partition(mesh, owner, around)
        super().__init__(len(self.meshes))
        self.each = self.operators = [discretise(part, messages) for part, messages in zip(self.meshes, self.messages)]

    def project(self, initial):
        return [operator.state(operator.project(initial)) for operator in self.operators]

    def gather(self, whole, states):
        """The plain arrays {name: values} on the whole mesh, of the own elements of all parts."""
        result = {name: np.full(values.shape, np.nan, whole.dtype) for name, values in named(whole.host(whole.zeros())).items()}
        for part, operator, state in zip(self.meshes, self.operators, states):
            for name, values in named(operator.host(state)).items():
                here = operator.cells_of_arrays[name]
                own = part.share.own[here]
                places = np.searchsorted(whole.cells_of_arrays[name], part.share.cells[here[own]])
                result[name][:, :, places] = values[:, :, own]
        return result

    def largest_step(self, states, t):
        """The step of the whole mesh, on which all parts agree."""
        steps = set(self.together(lambda operator, state: operator.largest_step(state, t), states))
        assert len(steps) == 1
        return steps.pop()

    def advance(self, states, dts):
        """The states after steps of these lengths."""
        return self.together(lambda operator, state: advanced(operator, state, dts), states)


def named(arrays):
    """Plain arrays as a dict."""
    return arrays if isinstance(arrays, dict) else {"q": arrays}


def advanced(operator, state, dts):
    t = 0.0
    for dt in dts:
        state, t = operator.advance(state, t, dt), t + dt
    return state


def advance(operator, q, dts):
    """The plain arrays after steps of these lengths, of the whole mesh, as a run takes them."""
    return operator.host(advanced(operator, operator.state(q), dts))


def same(found, expected):
    """Whether plain arrays are the same, bit for bit."""
    found, expected = named(found), named(expected)
    return set(found) == set(expected) and all(np.array_equal(found[name], values) for name, values in expected.items())


class GridParts(Together):
    """Operators on parts of a grid, each a view of the whole problem; they are made and advance together.

    discretise: as of `Parts`;  problem, method: what it discretises"""

    def __init__(self, problem, method, discretise, count):
        super().__init__(count)
        grid, self.each = method.space(problem).grid, self.messages

        def make(messages):
            part = GridPart(grid, row_share(grid, messages.part, count, method.halo(problem)))
            return OnGridParts(problem, method, discretise(part, messages), messages)
        self.each = self.operators = self.together(make)
