"""Loops over the tiles of a mesh that threads share, one after the other: a Runge-Kutta stage, a limiter's kernels, a check.

A thread takes the next piece of tiles that nobody has taken, by an atomic counter, so one that another program slows down takes
fewer.  When none is left it waits until all pieces are done, then begins with the next loop.  All of this is compiled: each
thread is called from Python once for each loop.  Pieces are counted, not threads, so nobody waits for a thread that has not
woken up yet, or that an interrupt has ended between two loops.
"""
from textwrap import indent
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .simd.vector import INDEX, data

ONE_THREAD = 12_000      # unknowns below which one thread is done before others have woken up
SPINS = 10_000           # looks at a counter before the processor is offered to others: some microseconds
YIELDS = 200             # offers before the thread sleeps a while each time: the one that it waits for needs the processor
NAP = 50                 # microseconds


class Loop(NamedTuple):
    """One loop: run(counts, number, size, tiles, *scratch of the thread, *arguments), a text made by `loop_text`."""

    run: object
    size: int            # tiles of a piece
    tiles: int
    scratch: list        # of each thread, a tuple of arrays
    arguments: tuple
    most: int            # threads that make it faster
    first: int = 0       # the piece with which it begins


def run_loops(loops, workers):
    """Run some loops one after the other, on as many threads as one of them is faster with."""
    counts = np.repeat([loop.first for loop in loops], 2)

    def work(worker):
        for number, loop in enumerate(loops):
            loop.run(counts, number, loop.size, loop.tiles, *loop.scratch[worker], *loop.arguments)
    workers.each(work, max(loop.most for loop in loops))


def loop_text(arguments, work):
    """Text of `run`: this work, lines for the tiles `first` to `last` - 1, for one piece after the other.

    arguments: names of the arrays and numbers that the work uses
    counts[2 number] pieces of loop `number` have been taken, counts[2 number + 1] are done."""
    return f"""
def run(counts, number, size, tiles, {arguments}):
    pieces = (tiles + size - 1) // size
    while True:
        piece = add_one(counts, 2*number)
        if piece >= pieces:
            break
        first, last = piece*size, min((piece + 1)*size, tiles)
{indent(chr(10).join(work), " " * 8)}
        add_one(counts, 2*number + 1)
    wait_for(counts, 2*number + 1, pieces)
"""


def place(context, builder, signature, args):
    """Pointer to item args[1] of the array args[0] of 64-bit integers."""
    return builder.gep(data(context, builder, signature, args, 0), [args[1]])


@intrinsic
def add_one(typingctx, counts, i):
    """add_one(counts, i): the old counts[i], atomically; who sees the new one sees all that was written before."""
    def emit(context, builder, signature, args):
        return builder.atomic_rmw("add", place(context, builder, signature, args), ir.Constant(INDEX, 1), "acq_rel")
    return types.int64(counts, types.int64), emit


@intrinsic
def wait_for(typingctx, counts, i, value):
    """wait_for(counts, i, value): wait until counts[i] is `value`; then all is seen that was written before it was."""
    def emit(context, builder, signature, args):
        pointer = place(context, builder, signature, args)
        integer = ir.IntType(32)
        offer, sleep = (cgutils.get_or_insert_function(builder.module, ir.FunctionType(integer, kinds), name)
                        for name, kinds in (("sched_yield", []), ("usleep", [integer])))
        looks = cgutils.alloca_once_value(builder, ir.Constant(INDEX, 0))
        look, again, end = (builder.append_basic_block(name) for name in ("look", "again", "end"))
        builder.branch(look)
        builder.position_at_end(look)
        builder.cbranch(builder.icmp_signed("<", builder.load_atomic(pointer, "acquire", 8), args[2]), again, end)
        builder.position_at_end(again)
        count = builder.add(builder.load(looks), ir.Constant(INDEX, 1))
        builder.store(count, looks)
        for call, arguments, most in ((offer, [], SPINS), (sleep, [integer(NAP)], SPINS + YIELDS)):
            with builder.if_then(builder.icmp_signed(">", count, ir.Constant(INDEX, most))):
                builder.call(call, arguments)
        builder.branch(look)
        builder.position_at_end(end)
        return context.get_dummy_value()
    return types.void(counts, types.int64, types.int64), emit
