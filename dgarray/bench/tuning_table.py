"""The results of `dgarray tune` as text for a person."""
from dataclasses import asdict

from ..output.report import rendered
from .tables import columns

SHOWN = 5


def table(result):
    """The SHOWN fastest variants of one problem, and the default: milliseconds of a stage, share of the bound, choices.

    result: of `dgarray.bench.tune.tune`"""
    ranking = result["ranking"]
    names = list(asdict(result["default"]))
    found = columns(["", "ms", "of bound", *names], names)
    for number, (variant, seconds, share) in enumerate(ranking):
        if number < SHOWN or variant == result["default"]:
            note = "default" if variant == result["default"] else ""
            choices = ("yes" if value is True else "" if value is False else str(value) for value in asdict(variant).values())
            found.add_row(note, f"{seconds * 1e3:.4g}", f"{share:.0%}", *choices)
    return (f"{result['problem']}, {result['setting']}: {len(ranking)} variants on {result['elements']} elements, "
            f"{result['device']}\n{rendered(found)}\n")
