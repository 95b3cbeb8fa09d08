"""Loops over the tiles of a mesh that threads share, one after the other: a Runge-Kutta stage, a limiter's kernels, a check.

A thread takes the next piece of tiles that nobody has taken, by an atomic counter, so one that another program slows down takes
fewer.  When none is left it waits until all pieces are done, then begins with the next loop.  All of this is compiled: each
thread is called from Python once for a list of loops.  Pieces are counted, not threads, so nobody waits for a thread that has
not woken up yet, or that an interrupt has ended before it began.
"""
from textwrap import indent
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from .loop_arguments import sort_of, types_of, words_of
from .simd.vector import INDEX, data

ONE_THREAD = 12_000      # unknowns below which one thread is done before others have woken up
SPINS = 10_000           # looks at a counter before the processor is offered to others: some microseconds
YIELDS = 200             # offers before the thread sleeps a while each time: the one that it waits for needs the processor
NAP = 50                 # microseconds
# A loop in the list that threads walk through: addresses of its code, of the words of all threads' own arrays and of all else;
# words of a thread's own arrays; tiles of a piece and in all.
CODE, OWN, OTHERS, LENGTH, SIZE, TILES = range(6)


class Loop(NamedTuple):
    """One loop: the compiled function `run` of a text made by `loop_text`, and what it works on."""

    run: object
    size: int            # tiles of a piece
    tiles: int
    scratch: list        # of each thread, a tuple of arrays
    arguments: tuple     # arrays and numbers, or tuples of these
    most: int            # threads that make it faster
    first: int = 0       # the piece with which it begins


class LoopList:
    """Some loops that run one after the other, any number of times, on as many threads as one of them is faster with."""

    def __init__(self, loops, workers):
        self.loops, self.workers, self.most = loops, workers, max(loop.most for loop in loops)
        self.start = np.repeat([loop.first for loop in loops], 2)
        self.counts = self.start.copy()
        words, rows = [], []
        for loop in loops:
            own, others = [words_of(scratch) for scratch in loop.scratch], words_of(loop.arguments)
            rows.append([code_of(loop), len(words), len(words) + len(own) * len(own[0]), len(own[0]), loop.size, loop.tiles])
            words += [word for each in (*own, others) for word in each]
        self.words, self.rows = np.array(words), np.array(rows)
        self.rows[:, [OWN, OTHERS]] = self.words.ctypes.data + self.words.itemsize * self.rows[:, [OWN, OTHERS]]

    def __call__(self):
        self.counts[:] = self.start
        self.workers.each(self.work, self.most)

    def work(self, worker):
        walk(self.rows, self.counts, worker)


def code_of(loop):
    """The address of the loop's code, compiled for the types that it works on."""
    key = loop.run, sort_of((loop.scratch[0], loop.arguments))
    if key not in _codes:
        signature = types_of(loop.scratch[0], loop.arguments), *(types.int64,) * 6
        loop.run.compile(signature)
        compiled = loop.run.overloads[signature]
        _codes[key] = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
    return _codes[key]


_codes = {}          # {(compiled function, sorts of what it works on): address}; modules of kernels live as long as the process


def run_loops(loops, workers):
    """Run some loops once."""
    LoopList(loops, workers)()


def loop_text(arguments, work, name="run"):
    """Text of a loop of that name: this work, lines for the tiles `first` to `last` - 1 of a piece with its number `piece`.

    size: tiles of a piece;  arguments: names of a thread's own arrays and of the arrays and numbers that the work uses"""
    return f"""
def {name}(kinds, own, others, size, piece, first, last):
    ({arguments},) = unpacked(kinds, own, others)
{indent(chr(10).join(work), " " * 4)}
"""


@njit(nogil=True, cache=True, error_model="numpy")
def walk(loops, counts, worker):
    """Do a thread's share of some loops, rows of numbers as of `LoopList`.

    counts[2 i] pieces of loop i have been taken, counts[2 i + 1] are done."""
    for i in range(len(loops)):
        size, tiles, own = loops[i, SIZE], loops[i, TILES], loops[i, OWN] + 8 * worker * loops[i, LENGTH]
        pieces = (tiles + size - 1) // size
        while True:
            piece = add_one(counts, 2 * i)
            if piece >= pieces:
                break
            call(loops[i, CODE], own, loops[i, OTHERS], size, piece, piece * size, min((piece + 1) * size, tiles))
            add_one(counts, 2 * i + 1)
        wait_for(counts, 2 * i + 1, pieces)


@intrinsic
def call(typingctx, code, own, others, size, piece, first, last):
    """call(code, own, others, size, piece, first, last): call the loop's code at that address."""
    def emit(context, builder, signature, args):
        nothing = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(nothing, [nothing, *[INDEX] * 6])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [ir.Constant(nothing, None), *args[1:]])
        return context.get_dummy_value()
    return types.void(*(types.int64,) * 7), emit


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
