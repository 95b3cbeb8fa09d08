"""Costs of a program: floating-point operations, and bytes to and from memory, of operations that are done in one pass."""
from math import prod
from typing import NamedTuple

import numpy as np

from . import recursion
from .interpreter import groups_of
from .operations import Pointwise, Product, Put, Recursion, Reduction, TransposedRecursion

INDEX = 8          # bytes of a number in an index list


class Cost(NamedTuple):
    """Of a pass: its name, floating-point operations, bytes read and written."""

    name: str
    flops: float
    bytes: float


class Pass(NamedTuple):
    """Operations that are done together, and the numbers of their results that never go to memory.

    knows   whether it knows without a list where results go that are written through one, as kernels do"""

    name: str
    operations: list
    local: frozenset
    knows: bool = False


def passes_of(program, in_cache=True):
    """The `Pass`es of the interpreter: groups of neighbouring operations.

    in_cache   whether results that no other group reads stay in cache, as on a CPU; else all of them are written and read"""
    return [Pass(title(group.operations), group.operations, group.local if in_cache else frozenset())
            for group in groups_of(program)]


def divided(program, division):
    """The `Pass`es of kernels: results that no other pass reads stay on the chip.

    division   [(name, how the terms of the pass begin)]: an operation belongs to the first one that fits"""
    parts = {name: [] for name, _ in division}
    for operation in program.operations:
        parts[next(name for name, terms in division if operation.term.startswith(terms))].append(operation)
    found = []
    for name, operations in parts.items():
        elsewhere = {read.value for other, theirs in parts.items() if other != name for each in theirs for read in each.reads}
        found.append(Pass(name, operations, frozenset(each.result for each in operations) - elsewhere, True))
    return found


def costs(program, passes, real, index=INDEX, columns=None):
    """The `Cost` of each `Pass` of a program that has operations.

    real, index   bytes of a number, and of a number in an index list
    columns       {name of a constant: numbers of a column} that are read in place of all that the program has"""
    return [Cost(each.name, sum(flops_of(program, operation) for operation in each.operations),
                 bytes_of(program, each, real, index, columns or {})) for each in passes if each.operations]


def means(programs, costs_of):
    """A list of `Cost` added up by name; programs: [(a `Program`, its share)], costs_of: a function that returns its costs."""
    total = {}
    for program, share in programs:
        for name, *found in costs_of(program):
            total[name] = total.get(name, 0) + share * np.array(found)
    return [Cost(name, *map(float, found)) for name, found in total.items()]


def title(operations):
    """A name for operations that follow each other: their terms, or the first and the last of many; writes have no name."""
    terms = list(dict.fromkeys(operation.term for operation in operations if type(operation) is not Put))
    return ", ".join(terms) if len(terms) < 3 else f"{terms[0]} to {terms[-1]}"


def bytes_of(program, part, real, index, columns):
    """Bytes that a pass reads and writes: each array once, without what is local to it. What has no columns, such as a matrix,
    stays in cache."""
    values, made = program.values, {operation.result for operation in part.operations}
    outputs = [read for read in program.outputs.values() if read.value in made]
    seen, written = {}, {}
    for operation in part.operations:
        put = type(operation) is Put
        if put and operation.result not in part.local:
            written[operation.result] = written.get(operation.result, 0) + prod(operation.read.shape)
        elif not put and operation.result not in {*part.local, *(read.value for read in outputs)}:
            written[operation.result] = values[operation.result].size
        for read in [operation.read] if put and part.knows else operation.reads:
            if read.value not in part.local:
                seen.setdefault(read.value, {})[repr(read)] = prod(read.shape) if read.shape else values[read.value].size
            if read.index is not None:
                seen.setdefault(read.index, {})[None] = values[read.index].size
    size = real * (sum(written.values()) + sum(prod(read.shape) for read in outputs) + sum(
        recursion.moved(each) * each.read.shape[-1] for each in part.operations
        if type(each) is Recursion and each.result not in part.local))
    for number, reads in seen.items():
        value = values[number]
        if value.domain:
            whole = columns[value.name] * value.domain.count if value.name in columns else value.size
            size += min(sum(reads.values()), whole) * (index if value.kind == "integer" else real)
    return size


def flops_of(program, operation):
    """Floating-point operations of an operation; a multiply-add is 2."""
    size = program.values[operation.result].size
    if type(operation) is Product:
        matrices = [program.values[matrix] for matrix, _ in operation.pairs]
        return 2 * size * sum(map(entries, matrices)) / matrices[0].shape[0]
    if type(operation) is Pointwise:
        return operation.function.graph.flops * prod(program.values[operation.result].shape[1:])
    if type(operation) is Recursion:
        return recursion.flops(operation) * operation.read.shape[-1]
    if type(operation) is TransposedRecursion:          # about one recursion; for series also what it reads, and products
        return (1 + 2 * bool(operation.slopes)) * recursion.flops(operation.recursion) * operation.adjoint.shape[-1]
    if type(operation) is Reduction:
        return prod(operation.read.shape)
    return prod(operation.read.shape) if type(operation) is Put and operation.how == "add" else 0


def entries(value):
    """Multiply-adds of a matrix for a column: its entries that are not 0, or those of the two factors that its rank allows."""
    if value.held is None:
        return prod(value.shape)
    matrix = value.held()
    return int(min(np.count_nonzero(matrix), np.linalg.matrix_rank(matrix) * sum(matrix.shape)))
