"""Units of tiles that threads take in turns, over all stages of a step, without Python between.

A kernel takes the next unit that nobody has taken, waits until the units that it reads are where they must be, works, and says
that it has.  Who is done with a stage goes on with the next one, so nobody waits for the slowest at the end of each stage.
"""
from textwrap import indent
from time import sleep

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic

from .vector import INDEX, data

SPINS = 10_000           # looks at a unit that is not ready, before Python gets the processor: some microseconds
ALONE = 12_000           # unknowns below which one thread is done before others have woken up
NAPS, NAP = 100, 5e-5    # after so many of these its thread sleeps, s: the other one may be waiting for the processor
ARGUMENTS = "number, once, todo, stage, ended, needs_start, needs, size, tiles"


def place(context, builder, signature, args):
    """Pointer to item args[1] of the array args[0] of 64-bit integers."""
    return builder.gep(data(context, builder, signature, args, 0), [args[1]])


@intrinsic
def claim(typingctx, todo, i):
    """claim(todo, i): todo[i], which is one more for all others from now on."""
    def take(context, builder, signature, args):
        return builder.atomic_rmw("add", place(context, builder, signature, args), ir.Constant(INDEX, 1), "monotonic")
    return types.int64(todo, types.int64), take


@intrinsic
def arrive(typingctx, count, i):
    """arrive(count, i): count[i], which is one more from now on; who comes last sees what all have written who came before."""
    def add(context, builder, signature, args):
        return builder.atomic_rmw("add", place(context, builder, signature, args), ir.Constant(INDEX, 1), "acq_rel")
    return types.int64(count, types.int64), add


@intrinsic
def reached(typingctx, ended, i):
    """reached(ended, i): ended[i]; and what was written before it was set is seen."""
    def look(context, builder, signature, args):
        return builder.load_atomic(place(context, builder, signature, args), "acquire", 8)
    return types.int64(ended, types.int64), look


@intrinsic
def end(typingctx, ended, i, value):
    """end(ended, i, value): ended[i] = value, and who sees it sees all that was written before."""
    def tell(context, builder, signature, args):
        builder.store_atomic(args[2], place(context, builder, signature, args), "release", 8)
        return context.get_dummy_value()
    return types.void(ended, types.int64, types.int64), tell


def calling(result):
    """Compiled call(address, a, b, c, d) of a compiled function that returns this type; its arguments are those of the tuples,
    one after the other, and must have the types for which `address` has compiled it."""
    def emit(context, builder, signature, args):
        kinds = [kind for some in signature.args[1:] for kind in some]
        values = [builder.extract_value(some, i) for kind, some in zip(signature.args[1:], args[1:]) for i in range(len(kind))]
        convention = context.call_conv
        function = builder.inttoptr(args[0], convention.get_function_type(result, kinds).as_pointer())
        status, value = convention.call_function(builder, function, result, kinds, values)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return value

    @intrinsic
    def call(typingctx, address, a, b, c, d):
        return result(types.int64, a, b, c, d), emit

    return call


def address(kernel, arguments):
    """Where the machine code of a kernel for these arguments begins."""
    kinds = tuple(typeof(value) for value in arguments)
    kernel.compile(kinds)
    found = kernel.overloads[kinds]
    return found.library.get_pointer_to_function(found.fndesc.llvm_func_name)


def text(arguments, work, end=True):
    """Text of a kernel that does this work, lines for the tiles from `first` to `last`, unit by unit.

    number     the unit to begin with, or -1 for the next one that nobody has taken;  once: end after one unit
    todo       of each stage, the next unit that nobody has taken;  stage: the number of this one
    ended      of each unit, how many stages it has behind it
    needs      the units whose stages before must have ended, those of unit i from needs_start[i] to needs_start[i + 1]
    size       tiles of a unit;  tiles: of all of them
    end: a unit has ended its stage when the work is done; else the work says when which unit has.
    Returns (number, done): a unit that has been done if once, one that has to wait still, or -1 where none is left."""
    return f"""
def kernel({ARGUMENTS}, {arguments}):
    while True:
        if number < 0:
            number = turns.claim(todo, stage)
            if number >= len(ended):
                return -1, True
        spins = 0
        for i in range(needs_start[number], needs_start[number + 1]):
            while turns.reached(ended, needs[i]) < stage:
                spins += 1
                if spins > {SPINS}:
                    return number, False
        first, last = number*size, min((number + 1)*size, tiles)
{indent(chr(10).join(work), " " * 8)}
{"        turns.end(ended, number, stage + 1)" if end else ""}
        if once:
            return number, True
        number = -1
"""


class Asked(list):
    """An operator that keeps what its stages are asked for."""

    def stage(self, *arguments):
        self.append(arguments)


class Turns:
    """The units of a mesh: `size` tiles each, `count` of them, and those which each of them reads: itself and all around it.

    A unit may also be written to when these have ended: they are the ones that read it."""

    def __init__(self, workers, mesh, lanes, tiles, size, unknowns=ALONE, also=()):
        """unknowns: of all tiles;  also: pairs (waiting units, units), arrays, of those that read each other in other ways."""
        self.workers, self.tiles, self.size, self.count = workers, tiles, size, -(-tiles // size)
        self.most = 1 if unknowns < ALONE else self.count
        unit = np.arange(len(mesh.neighbour_cell)) // (size * lanes)
        pairs = [(np.arange(self.count),) * 2, *also]
        for cells in mesh.neighbour_cell.T:
            other = cells // (size * lanes)
            away = other != unit
            pairs.append((unit[away], other[away]))
        self.start, self.needs = grouped(*(np.concatenate(numbers) for numbers in zip(*pairs)), self.count)
        self._nobody, self._ended = np.zeros(self.count + 1, int), np.zeros(self.count, int)

    def run(self, calls, scratch, look=None):
        """All units of the stages `calls`, (kernel, arguments) of each; scratch: arrays of each worker; look(unit, worker):
        called for each unit when the last stage has made it."""
        todo, ended = np.zeros(len(calls), int), np.zeros(self.count, int)

        def work(worker):
            for stage, (kernel, arguments) in enumerate(calls):
                once, number, naps = look is not None and stage == len(calls) - 1, -1, 0
                while True:
                    number, done = kernel(number, once, todo, stage, ended, self.start, self.needs, self.size, self.tiles,
                                          *scratch[worker], *arguments)
                    if number < 0:
                        break
                    if not done:
                        naps += 1
                        sleep(NAP if naps > NAPS else 0)
                        continue
                    look(number, worker)
                    number = -1

        def to_the_end(worker):
            try:
                work(worker)
            except BaseException:
                ended[:] = len(calls)          # so that nobody waits for what does not come
                raise
        self.workers.each(to_the_end, self.most)

    def all(self, kernel, arguments, scratch):
        """All units of a stage one after the other."""
        todo, ended = np.zeros(1, int), np.zeros(self.count, int)
        kernel(-1, False, todo, 0, ended, self.start, self.needs, self.size, self.tiles, *scratch, *arguments)

    def one(self, number, kernel, arguments, scratch, size=None):
        """One unit of a stage, or of a larger size, whatever the others do; scratch: the arrays of a worker."""
        kernel(number, *self.alone, size or self.size, self.tiles, *scratch, *arguments)

    @property
    def alone(self):
        """What a kernel is called with, between number and sizes, for one unit that waits for nobody."""
        return True, self._nobody, 0, self._ended, self._nobody, self._nobody


def grouped(keys, values, count):
    """The different values of each key below `count`: (start, values), those of key i from start[i] to start[i + 1]."""
    most = int(values.max()) + 1
    keys, values = np.divmod(np.unique(keys * most + values), most)
    return np.searchsorted(keys, np.arange(count + 1)), values
