"""What a program costs: floating-point operations, bytes to and from memory, and bytes of the arrays that stay."""
from math import prod
from typing import NamedTuple

from . import recursion
from .interpreter import groups_of
from .operations import Pointwise, Product, Put, Recursion, Reduction

INDEX = 8          # bytes of a number in an index list


class Cost(NamedTuple):
    """Of some operations that follow each other: their names, floating-point operations, bytes read and written."""

    name: str
    flops: int
    bytes: int


def costs(program, real, in_cache=True):
    """The `Cost` of each group of operations of a program, in the order in which they run.

    real       bytes of a number
    in_cache   whether results that no other group reads stay in cache, as on a CPU; else all of them are written and read"""
    found = []
    for group in groups_of(program):
        flops = sum(flops_of(program, operation) for operation in group.operations)
        size = bytes_of(program, group, real, group.local if in_cache else ())
        if not in_cache:
            size += real * sum(recursion.moved(operation) * operation.read.shape[-1] for operation in group.operations
                               if type(operation) is Recursion)
        found.append(Cost(title(group.operations), flops, size))
    return found


def title(operations):
    """A name for operations that follow each other: their terms, or the first and the last of many; writes have no name."""
    terms = list(dict.fromkeys(operation.term for operation in operations if type(operation) is not Put))
    return ", ".join(terms) if len(terms) < 3 else f"{terms[0]} to {terms[-1]}"


def bytes_of(program, group, real, local):
    """Bytes that the operations of a group read and write, each array once, without those of `local` results."""
    seen, written, outputs = {}, {}, {program.outputs[name].value for name in group.outputs}
    for operation in group.operations:
        for read in operation.reads:
            if read.value not in local:
                whole = program.values[read.value].size
                seen.setdefault(read.value, {})[repr(read)] = prod(read.shape) if read.shape else whole
            if read.index is not None:
                seen.setdefault(read.index, {})[None] = program.values[read.index].size
        if type(operation) is Put:
            written[operation.result] = written.get(operation.result, 0) + prod(operation.read.shape)
        elif operation.result not in local and operation.result not in outputs:
            written[operation.result] = program.values[operation.result].size
    size = sum(min(sum(reads.values()), program.values[number].size) * (
        INDEX if program.values[number].kind == "integer" else real) for number, reads in seen.items())
    return size + real * (sum(written.values()) + sum(prod(program.outputs[name].shape) for name in group.outputs))


def flops_of(program, operation):
    """Floating-point operations of an operation; a multiply-add is 2."""
    size = program.values[operation.result].size
    if type(operation) is Product:
        return 2 * size * sum(program.values[matrix].shape[1] for matrix, _ in operation.pairs)
    if type(operation) is Pointwise:
        return operation.function.graph.flops * prod(program.values[operation.result].shape[1:])
    if type(operation) is Recursion:
        return recursion.flops(operation) * operation.read.shape[-1]
    if type(operation) is Reduction:
        return prod(operation.read.shape)
    return prod(operation.read.shape) if type(operation) is Put and operation.how == "add" else 0
