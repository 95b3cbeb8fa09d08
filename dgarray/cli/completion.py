"""Completion of commands, options, cases and files in a shell, by the library shtab."""
from ..support.wording import choose
from .case_texts import files

SHELLS = "bash", "zsh"
INSTALL = "the completion of a shell needs shtab; install it with: pip install 'dgarray[completion]'"
# The functions of the scripts that complete a case: a name, or a Python file.
PREAMBLE = {"bash": """
_dgarray_case() {{
  compgen -W "{cases}" -- "$1"
  compgen -f -X '!*.py' -- "$1"
  compgen -d -S / -- "$1"
}}
""", "zsh": """
_dgarray_case() {{
  _alternative 'cases:case:({cases})' 'files:file:_files -g "*.py"'
}}
"""}


def script(parser, shell):
    """The script that tells a shell how to complete the commands of an argparse parser.

    Raises ValueError for another shell, ImportError without shtab."""
    choose("shell", shell, SHELLS)
    try:
        import shtab
    except ImportError as error:
        raise ImportError(INSTALL) from error
    for sub in next(action for action in parser._actions if action.dest == "command").choices.values():
        for action in sub._actions:
            name = str(action.metavar)
            if action.dest in ("case", "cases"):
                action.complete = dict.fromkeys(SHELLS, "_dgarray_case")
            elif "FILE" in name or "MESH" in name or ".zarr" in name:
                action.complete = shtab.FILE
    return shtab.complete(parser, shell, preamble={name: text.format(cases=" ".join(files()))
                                                   for name, text in PREAMBLE.items()})
