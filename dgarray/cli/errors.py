"""Errors as a person at the command line sees them: one line, and an exit status."""
import builtins
import errno
import os
import re
import sys
from pathlib import Path

from .. import backends, cases
from ..output import OutputError
from ..run.failure import SolutionError
from ..run.run import IN_ERROR
from ..support.keywords import alias, keywords_of
from ..support.wording import nearest

FAILED, BAD_INPUT, BAD_SOLUTION = 1, 2, 3
# Errors of the operating system: disk full, no permission.
MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE}
# Errors whose message is a sentence of ours, or one that is clear without the name of its type.
PLAIN = (ValueError, RuntimeError, OSError, TypeError)
KEYWORD = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")


def status(error):
    """The exit status of an error: 3 for a solution that went bad, 1 where the machine failed, else 2."""
    if isinstance(error, SolutionError):
        return BAD_SOLUTION
    causes = [cause for cause in (error, error.__cause__) if isinstance(cause, OSError)]
    machine = isinstance(error, (OutputError, MemoryError)) or any(cause.errno in MACHINE for cause in causes)
    return FAILED if machine else BAD_INPUT


def one_line(error):
    """The error as one line; errors that were not meant for people keep their type's name and place."""
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({error.filename}:{error.lineno})"
    text, place, name = " ".join(str(error).split()), script_line(error), f"{type(error).__name__}: "
    text = text.replace(f", {IN_ERROR}", "; dgarray run --out keeps it")
    if isinstance(error, OSError) and error.strerror:
        name, text = "", f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, PLAIN) or type(error) is ImportError:
        name = "" if text else name
    elif isinstance(error, MemoryError):
        name, text = "", f"there is not enough memory{': ' * bool(text)}{text}"
    elif not place:
        place = "run again with --debug for the traceback"
    text = "; ".join([f"{name}{text}{suggestion(error)}".removesuffix(": "), *getattr(error, "__notes__", [])])
    return f"{text} ({place})" if place and place not in text else text


def suggestion(error):
    """The nearest name, for an attribute, a name or a keyword argument that Python does not find."""
    keyword = KEYWORD.match(str(error)) if isinstance(error, TypeError) else None
    if keyword:          # of functions; constructors say it themselves
        function = named_function(keyword[1])
        allowed = function and keywords_of(function)
        return f"; it has: {', '.join(allowed)}{alias(keyword[2], allowed)}" if allowed else ""
    if type(error) is AttributeError and error.name and error.obj is not None and "did you mean" not in str(error):
        return nearest(error.name, [name for name in dir(error.obj) if not name.startswith("_")])
    if isinstance(error, NameError) and error.name and error.__traceback__:
        frame = innermost(error).tb_frame
        return nearest(error.name, [*frame.f_locals, *frame.f_globals, *vars(builtins)])
    return ""


def named_function(title):
    """The function of the package that Python calls by this qualified name, or None."""
    found = sys.modules[__package__.partition(".")[0]]
    for part in title.split("."):
        found = vars(found).get(part)
        if found is None:
            return None
    return found


def innermost(error):
    """The last entry of the error's traceback."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def script_line(error):
    """'file:line' of the innermost frame in a user's script, if the error passed through one."""
    ours = [str(Path(folder).resolve()) for module in (backends, cases) for folder in module.__path__]
    found, package = None, (str(Path(__file__).resolve().parents[1]), *ours, sys.prefix, sys.base_prefix)
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        library = f"-packages{os.sep}" in name or str(Path(name).resolve()).startswith(package)
        if name.endswith(".py") and not library and Path(name).is_file():
            found = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
