"""A program as text: one line for each operation, as a formula, in the order in which they are done."""
from .interpreter import groups_of
from .operations import Join, Pointwise, Product, Put


def listing(program):
    """Lines of text: for which columns, and then what each operation makes from what; arrays are called by their terms."""
    groups, lines = groups_of(program), []
    width = max(len(operation.term) for group in groups for operation in group.operations)
    for group in groups:
        lines.append(f"{group.domain.name} ({group.domain.count})" if group.domain else "everywhere")
        lines += [f"  {operation.term.ljust(width)} = {formula(program, operation)}" for operation in group.operations]
    return [*lines, *(f"{name} = {seen(program, read)}" for name, read in program.outputs.items())]


def formula(program, operation):
    """What an operation computes, in words of its operands."""
    if type(operation) is Product:
        along = "" if operation.axis == -2 else ", along lines"
        return f"{program.values[operation.matrix].name} @ {seen(program, operation.read)}{along}"
    if type(operation) is Pointwise:
        return f"{operation.function.name}({', '.join(given(program, *each) for each in used(operation))})"
    if type(operation) is Put:
        how = "" if operation.how == "set" else f", {operation.how}"
        return f"{seen(program, operation.read)} at [{program.values[operation.index].name}]{how}"
    if type(operation) is Join:
        return f"join({', '.join(dict.fromkeys(seen(program, part) for part in operation.parts))})"
    return f"{operation.how} of rows of {seen(program, operation.read)}"


def used(operation):
    """(argument, what is given for it) of the arguments that a pointwise function depends on."""
    wanted = {argument for argument, _ in operation.function.used.values()}
    return [(name, what) for name, what in operation.arguments.items() if name in wanted]


def given(program, argument, what):
    """An argument of a pointwise function: the arrays that it is given, each once."""
    reads = what.values() if isinstance(what, dict) else what if isinstance(what, list) else [what]
    return f"{argument}={' '.join(dict.fromkeys(seen(program, read) for read in reads))}"


def seen(program, read):
    """A read of an array: its name, and through which index list."""
    name = program.values[read.value].name
    return name if read.index is None else f"{name}[{program.values[read.index].name}]"
