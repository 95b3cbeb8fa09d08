"""Make a mistake in the current folder, and give what the command says and its exit status."""
import contextlib
import io
import os
import re
import shlex
import tempfile
import warnings
from pathlib import Path

import numpy as np

from dgarray.cli import main

from .kinds import SCRIPT

FAST = ("--backend", "numpy", "--kernels", "array", "--threads", "1")


def call(arguments):
    """What the command says on stderr, and its status."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said), warnings.catch_warnings(), \
            np.errstate(all="ignore"):
        try:
            status = main(arguments)
        except SystemExit as stop:
            status = stop.code
    return said.getvalue(), status


def provoke(wrong):
    """Lines on stderr, warnings apart, and the status of a mistake; made in the current folder, which no line names."""
    here = Path.cwd()
    made = wrong.prepare() if wrong.prepare else None
    arguments = shlex.split(wrong.command)
    if wrong.text or wrong.script:
        Path("case.py").write_text(wrong.text or SCRIPT.format(before=wrong.before, changes=f"dict({wrong.script})"))
    if arguments[:1] in (["run"], ["eoc"]):
        given = {name for name in arguments if name.startswith("--")}
        arguments += [] if {"--backend", "--kernels", "--dtype", "--threads"} & given else FAST
    with made if hasattr(made, "__enter__") else contextlib.nullcontext():
        said, status = call(arguments)
    said = said.replace(f"{here}{os.sep}", "").replace(str(here), "/runs")
    said = re.sub(*wrong.hide, said)
    return [line for line in said.splitlines() if not line.startswith("dgarray: warning: ")], status


@contextlib.contextmanager
def folder():
    """A new folder as the current one."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        stack.callback(os.chdir, before)
        os.chdir(Path(name).resolve())
        yield
