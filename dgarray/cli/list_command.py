"""The command list: one line for each case, or all that a case says of itself. Nothing is imported for it."""
import ast
import shlex
import sys
from pathlib import Path

from .case_texts import case_text, files, text_of
from .find_case import check_case, functions_of, no_function


def list_cases(options):
    if options.case is None:
        width = max(map(len, files()))
        for name in files():
            print(f"{name:{width}}  {case_text(name).title}")
        if sys.stdout.isatty():
            print("\ndgarray list CASE shows the equations, the keywords and the source of one.")
        return
    check_case(options.case)
    if not options.case.endswith(".py"):
        print(described(case_text(options.case), options.case))
        return
    path = Path(options.case)
    case = text_of(path, *functions_of(path))
    if case is None:
        raise no_function(path)
    print(described(case, options.case))


def described(case, given):
    """All that a `CaseText` has: docstring, options with their defaults as one types them, and an example.

    given: how the case is called at the command line, its name or a file"""
    options = [option(*keyword) for keyword in case.keywords.items()]
    parts = [f"{given}: {case.title or 'a case without a docstring'}"]
    if case.text:
        parts.append(case.text)
    if options:
        parts.append("Keywords and their defaults, as options of dgarray run:\n" + "\n".join(f"  {line}" for line in options))
    example = " ".join(["dgarray run", shlex.quote(given), *options_of_example(case), "--out", f"{case.name}.zarr"])
    return "\n\n".join([*parts, f"For example (dgarray run --help shows the other options):\n  {example}"])


def option(name, default):
    """A keyword as an option of the command line, with its default."""
    if name == "mesh":
        return "--mesh FILE" + " (default: the case's own mesh)" * (default == "None")
    typed, note = typed_default(default)
    return f"--order {typed}{note}" if name == "order" else f"--set {name}={typed}{note}"


def typed_default(default):
    """The default as one types it, and what is to be said of it."""
    if default is None:
        return "VALUE", " (needed)"
    try:
        value = ast.literal_eval(default)
    except ValueError:
        return "VALUE", f" (default: {default})"
    return shlex.quote(value if isinstance(value, str) else default), ""


def options_of_example(case):
    """The order, and the first other keyword, with their defaults."""
    names = [name for name, default in case.keywords.items() if name != "mesh" and typed_default(default)[0] != "VALUE"]
    others = [name for name in names if name != "order"]
    return [option(name, case.keywords[name]) for name in [*(["order"] if "order" in names else []), *others[:1]]]
