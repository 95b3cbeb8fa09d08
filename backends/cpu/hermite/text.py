"""Lines of generated source, put together."""


def indented(lines, depth=1):
    """Lines further to the right; a line may be a text of several."""
    return ["    " * depth + line for some in lines for line in some.split("\n")]


def nested(heads, lines):
    """Lines inside loops and conditions, each inside the one before."""
    for head in heads[::-1]:
        lines = [head, *indented(lines)]
    return lines


def branches(choices):
    """Lines of `if`, `elif` ... for {condition: lines}."""
    return [line for number, (condition, lines) in enumerate(choices.items())
            for line in nested([f"{'el' if number else ''}if {condition}:"], lines)]


def tuple_of(values):
    """A tuple of numbers or names, of one of them, too."""
    return "(" + "".join(f"{value}, " for value in values).rstrip() + ")"
