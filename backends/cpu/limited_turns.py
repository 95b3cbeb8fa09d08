"""Stages and what limits them, unit by unit: who has made the last of what a unit's limiting looks at limits it at once, while
it is in the cache, and no pass over the mesh waits for the one before."""
from functools import cache, cached_property

import numpy as np

from ...codegen import write_module
from .nodal_source import KERNELS
from .turns import Turns, address, grouped, text

WORK = """
if make[0] != 0:
    of_unit(make[0], (number,), alone, room, make[1])
if keep[0] != 0:
    of_tiles(keep[0], (first, last), (w, q), keep[1], ())
for i in range(nearer[0][number], nearer[0][number + 1]):
    middle = nearer[1][i]
    if (turns.arrive(nearer[3], middle) + 1) % nearer[2][middle] == 0:
        if extremes[0] != 0:
            begin = middle*between[0]
            of_tiles(extremes[0], (begin, min(begin + between[0], between[1])), (w, q), extremes[1], ())
        for j in range(farther[0][middle], farther[0][middle + 1]):
            other = farther[1][j]
            if (turns.arrive(farther[3], other) + 1) % farther[2][other] == 0:
                begin = other*size
                of_tiles(limit[0], (begin, min(begin + size, tiles)), (w, q), limit[1], ())
                if look[0] != 0:
                    of_unit(look[0], (other,), alone, room, look[1])
                turns.end(ended, other, stage + 1)
"""


class LimitedTurns:
    """The units of a mesh and those between them, of a `LimiterFused`.

    A unit is made, and what others look at of it kept.  Then those are told that look at it, each of which counts: units of
    the extremes around vertices, which are found when all has been told; without these the elements' own units, which are
    then the only ones to look at themselves.  They tell the units of elements, which are limited when all has been told."""

    def __init__(self, limiter):
        self.limiter, self.stages = limiter, limiter.operations.turns
        self.extremes = "extremes" in limiter.kernels
        self._addresses = {}

    def run(self, calls, states, looking, wanted):
        """Stages, (kernel, arguments) of each, and the states that they make, limited.

        looking: (kernel, arguments) of a look at a unit;  wanted: whether to take it at the last state."""
        stages, limiter, rooms = self.stages, self.limiter, self.limiter.operations.scratch
        if stages.most == 1:
            for call, q in zip(calls, states):
                stages.all(*call, rooms[0])
                limiter.whole(q)
            if wanted:
                stages.all(*looking, rooms[0])
            return
        alone = *stages.alone, stages.size, stages.tiles

        def unit(kernel, arguments, wanted=True):
            return self.address(kernel, 0, *alone, *rooms[0], *arguments) if wanted else 0, arguments

        def tiles(name, q):
            kernel, arrays = limiter.kernels.get(name, (None, ()))
            return self.address(kernel, 0, 0, limiter.scratch[0], q, *arrays) if kernel else 0, tuple(arrays)
        nearer, farther, between = self.readers
        told = [(*readers, np.zeros(len(readers[2]), int)) for readers in (nearer, farther)]
        jobs = []
        for number, (call, q) in enumerate(zip(calls, states)):
            look = unit(*looking, wanted and number + 1 == len(calls))
            passes = (tiles(name, q) for name in ("prepare", "extremes", "limit"))
            jobs.append((driver(), (q, alone, unit(*call), *passes, look, *told, between)))
        self.turns.run(jobs, list(zip(limiter.scratch, rooms)))

    def address(self, kernel, *arguments):
        """Where the machine code of a kernel begins, which is always called with arguments of the same types."""
        if kernel not in self._addresses:
            self._addresses[kernel] = address(kernel, arguments)
        return self._addresses[kernel]

    @cached_property
    def turns(self):
        """The units of the stages, each of which waits also until all have been limited that look at it."""
        (start, readers, _), _, _ = self.readers
        also = [] if self.extremes else [(np.repeat(np.arange(self.stages.count), np.diff(start)), readers)]
        return Turns(self.stages.workers, self.limiter.operations.tables.mesh, self.limiter.lanes, self.stages.tiles,
                     self.stages.size, also=also)

    @cached_property
    def readers(self):
        """(nearer, farther, between): who is told by the units of elements, and by those between, (start, numbers, how many
        tell each); and the size of the units between and their tiles."""
        stages, limiter = self.stages, self.limiter
        elements = np.arange(limiter.operations.tables.elements)
        length = limiter.lanes * stages.size
        if not self.extremes:
            same = np.arange(stages.count)
            pairs = [(elements // length, other // length) for other in self.looked_at(elements)]
            return readers(pairs, stages.count), readers([(same, same)], stages.count), (stages.size, stages.tiles)
        size = -(-stages.size * limiter.vertex_tiles // stages.tiles)
        count, vertices = -(-limiter.vertex_tiles // size), np.arange(limiter.around_vertices.shape[1])
        around = [(vertices // (limiter.lanes * size), other // length) for other in limiter.around_vertices]
        own = [(elements // length, vertex // (limiter.lanes * size)) for vertex in limiter.limits.vertices]
        return readers(around, stages.count), readers(own, count), (size, limiter.vertex_tiles)

    def looked_at(self, elements):
        """Elements that the limiting of elements looks at, one array after the other."""
        limits, source = self.limiter.limits, self.limiter.source
        yield elements
        if limits.options.limiter and (source.sensed or not source.vertex):
            yield from limits.neighbours
        if limits.options.limiter and source.vertex:
            yield from (around[vertex] for around in self.limiter.around_vertices for vertex in limits.vertices)


def readers(pairs, count):
    """Who looks at each of `count` units, of pairs of arrays (who looks, at what): (start, numbers, how many each looks at)."""
    looking, seen = (np.concatenate(numbers) for numbers in zip(*map(different, pairs)))
    start, numbers = grouped(seen, looking, count)
    return start, numbers, np.bincount(numbers)


def different(pair):
    """The different ones of some pairs."""
    looking, seen = pair
    most = int(seen.max()) + 1
    return np.divmod(np.unique(looking * most + seen), most)


@cache
def driver():
    """The kernel that makes and limits units, for stages and limiters of any kind: `WORK`."""
    names = "w, room, q, alone, make, keep, extremes, limit, look, nearer, farther, between"
    return write_module(f'''"""Generated by dgarray {KERNELS}: stages and what limits them."""
from numba import njit, types

from dgarray.backends.cpu import turns

of_unit = turns.calling(types.Tuple([types.int64, types.boolean]))
of_tiles = turns.calling(types.none)


@njit(nogil=True, cache=True){text(names, WORK.strip().splitlines(), end=False)}''', "limited").kernel
