"""One mistake as data, and short forms of the usual kinds."""
from dataclasses import dataclass, field

SCRIPT = """import numpy as np
import dgarray as dg

{before}

def case():
    given = {{"mesh": dg.rectangle(cells=(2, 2)), "law": dg.Acoustics(dim=2), "method": dg.NodalDG(order=1),
             "boundary": dg.wall, "until": 0.01}}
    return dg.Simulation(**given | {changes})
"""

INITIAL = "def initial(x):\n    return {}"


@dataclass(frozen=True)
class Wrong:
    """One mistake: what is typed, and words (a regular expression) that the answer must have.

    script    what differs in case.py from a problem without mistakes: arguments of dg.Simulation, or with `text` all of it
    before    text of case.py before the case
    prepare   function that makes what the command needs in the current folder; it may return a context manager
    hide      (regular expression, text): what depends on the machine is shown as this"""

    title: str
    command: str
    words: str
    status: int = 2
    script: str = ""
    before: str = ""
    text: str = ""
    prepare: object = None
    hide: tuple = field(default=("$^", ""))


def case(title, script, words, before="", **more):
    """A mistake in a script."""
    return Wrong(title, "run case.py", words, script=script, before=before, **more)


def results(title, expression, words, **more):
    """A mistake in what a script does with its dataset, reached by the case's `results`."""
    return case(title, f"results=lambda ds: {{'x': {expression}}}", words, **more)


def on_grid(title, changes, words, **more):
    """A mistake in a script with Hermite's method on a grid."""
    return case(title, f"{{'mesh': dg.Grid((0, 0), (1, 1), (4, 4)), 'method': dg.Hermite(1)}}, {changes}", words, **more)
