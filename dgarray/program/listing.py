"""A program as text: one line for each operation, as a formula, in the order in which they are done."""
from math import prod

import numpy as np

from .interpreter import groups_of, viewed
from .operations import Copy, Join, Pointwise, Product, Put, Recursion, TransposedRecursion


def listing(program):
    """Lines of text: for which columns, and then what each operation makes from what; arrays are called by their terms."""
    groups, lines = groups_of(program), []
    width = max(len(operation.term) for group in groups for operation in group.operations)
    for group in groups:
        lines.append(f"{group.domain.name} ({group.domain.count})" if group.domain else "everywhere")
        for operation in group.operations:
            first, *others = formula(program, operation).split("\n")
            lines += [f"  {operation.term.ljust(width)} = {first}", *(f"  {' ' * width}   {line}" for line in others)]
    return [*lines, *(f"{name} = {seen(program, read)}" for name, read in program.outputs.items())]


def formula(program, operation):
    """The formula of an operation as text, with the names of its operands."""
    if type(operation) is Product:
        along = "" if operation.axis == -2 else ", along lines"
        return " + ".join(f"{program.values[matrix].name} @ {seen(program, read)}" for matrix, read in operation.pairs) + along
    if type(operation) is Pointwise:
        return f"{operation.function.name}({', '.join(given(program, *each) for each in used(operation))})"
    if type(operation) is Put:
        how = "" if operation.how == "set" else f", {operation.how}"
        return f"{seen(program, operation.read)} at [{program.values[operation.index].name}]{how}"
    if type(operation) is Copy:
        return seen(program, operation.read)
    if type(operation) is Join:
        return f"join({', '.join(seen(program, *reads) for reads in in_one(program, operation.parts))})"
    if type(operation) is Recursion:
        return "\n".join([f"{seen(program, operation.read)} + {program.values[operation.tau].name} / k L {operation.term} "
                          f"for k = {operation.stages}, ..., 1, lengths in cells", *rates_of(program, operation)])
    if type(operation) is TransposedRecursion:
        what = "its series" if operation.slopes else "R"
        return f"the transpose of {operation.recursion.term}, by {what}, of {seen(program, operation.adjoint)}"
    return f"{operation.how} of rows of {seen(program, operation.read)}"


def rates_of(program, operation):
    """Lines with the rates of change L of a recursion, as formulas; x, y, z in units of the cell."""
    names, lines, d = operation.names, [], len(operation.read.shape) - 2
    series = [seen(program, read) for read in operation.series]
    for i, name in enumerate(names):
        terms = []
        for rate in operation.rates:
            if rate.to == i:
                of = names[rate.of] if rate.series is None else f"({series[rate.series]}) {names[rate.of]}"
                of = of if rate.axis is None else f"d{of}/d{'xyz'[d - 1 - rate.axis]}"
                terms.append(f"{rate.factor:+.6g} {of}")
        found = " ".join(terms) or "0"
        lines.append(f"L {name} = " + (f"({series[operation.over[i]]}) ({found})" if i in operation.over else found))
    return lines


def used(operation):
    """(argument, what is given for it) of the arguments that a pointwise function depends on."""
    wanted = {argument for argument, _ in operation.function.used.values()}
    return [(name, what) for name, what in operation.arguments.items() if name in wanted]


def given(program, argument, what):
    """An argument of a pointwise function: the arrays that it is given, each once."""
    reads = what.values() if isinstance(what, dict) else what if isinstance(what, list) else [what]
    return f"{argument}={seen(program, *reads)}"


def seen(program, *reads):
    """Reads of arrays: the name of each, and which part of its rows is read, or through which index list."""
    arrays = {}
    for read in reads:
        arrays.setdefault((read.value, read.index), []).append(read)
    texts = []
    for (value, index), found in arrays.items():
        name = program.values[value].name
        where = part(program.values[value], found) if index is None else f"[{program.values[index].name}]"
        texts.append((f"({name})" if where and "," in name else name) + where)
    return " ".join(texts)


def in_one(program, reads):
    """Reads in lists, each of reads that see one piece of an array after the other."""
    lists, end = [], None
    for read in reads:
        found = places(program.values[read.value], read)
        if read.index is None and end == (read.value, found[0]):
            lists[-1].append(read)
        else:
            lists.append([read])
        end = read.value, found[-1] + 1
    return lists


def places(value, read):
    """The numbers of the rows of an array that a read sees, its columns aside."""
    lead = value.shape[:-1] if value.domain else value.shape
    return viewed(np.arange(prod(lead)).reshape(lead), read.views, None, False, np.array).ravel()


def part(value, reads):
    """Which part of an array some reads see, its columns aside, as an index; "" where it is all."""
    lead = value.shape[:-1] if value.domain else value.shape
    found = [places(value, read) for read in reads]
    axes = [f"{min(along)}:{max(along) + 1}" if len(set(along)) < size else ":"
            for along, size in zip(np.unravel_index(np.concatenate(found), lead), lead)] if lead else []
    while axes and axes[-1] == ":":
        axes.pop()
    return f"[{', '.join(axes)}]" if axes else ""
