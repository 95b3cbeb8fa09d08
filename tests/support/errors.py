"""The error messages in docs/errors.md and docs/errors/, written from what the command says to the mistakes in error_pages/.

    python tests/support/errors.py [PAGE ...]        writes the pages anew, or those named here, such as `meshes`

A new message is a new row Wrong(title, command, words, ...) in the file of its page.
"""
import re
import sys
from importlib import import_module
from pathlib import Path

import error_pages
from mistakes.provoking import folder, provoke

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "errors.md"
FOLDER = ROOT / "docs" / "errors"

HEAD = """# Error messages

An error of `dgarray` is one line on stderr. It says what was given and what is allowed. `--debug` shows the traceback. From
Python the same sentences come as `ValueError`, `TypeError`, `dgarray.OutputError` and `dgarray.SolutionError`.

| exit status | meaning |
|---|---|
| 0 | success |
| 1 | the machine failed (no disk space, no memory), or part of a benchmark did |
| 2 | bad input |
| 3 | the solution went bad |
| 130, 143 | stopped by Ctrl-C, by SIGTERM |

The pages below list the messages by subject. Each entry gives the exit status in parentheses, the command, and the message.
Where the mistake is in a script, the entry shows what differs from a correct one: arguments of `dg.Simulation`, or text of
`case.py`. To find a message, search these pages for a few of its words.
"""


def pages():
    """Name of each page of docs/errors and the module with its rows, in the order of the index."""
    return {name.replace("_", "-"): import_module(f"error_pages.{name}") for name in error_pages.ORDER}


GROUPS = {group: rows for module in pages().values() for group, rows in module.GROUPS.items()}


def entry(wrong, line, status):
    """One mistake as Markdown."""
    where, code = f" with `{wrong.script}`" if wrong.script else "", wrong.before or wrong.text
    block = f"```py\n{code.strip()}\n```\n\n" if code else ""
    return f"**{wrong.title}** ({status}): `{f'dgarray {wrong.command}'.strip()}`{where}\n\n{block}> `{line}`\n"


def page(module):
    """The text of one page, and the mistakes that did not give one line with the right words and status."""
    text, odd = [f"# {module.TITLE}\n"], []
    for group, rows in module.GROUPS.items():
        text += [f"## {group}\n"] if len(module.GROUPS) > 1 else []
        for wrong in rows:
            with folder():
                lines, status = provoke(wrong)
            if len(lines) != 1 or status != wrong.status or not re.search(wrong.words, lines[0]):
                odd.append((wrong, lines, status))
            text.append(entry(wrong, " ".join(lines), status))
    return "\n".join(text), odd


def index():
    """The text of docs/errors.md."""
    rows = [f"| [{module.TITLE}](errors/{name}.md) | {module.ABOUT} |" for name, module in pages().items()]
    names = "\n".join(f"errors/{name}" for name in pages())
    return "\n".join([HEAD, "| page | messages about |", "|---|---|", *rows, "", "```{toctree}\n:hidden:\n", names, "```\n"])


if __name__ == "__main__":
    INDEX.write_text(index())
    for name, module in pages().items():
        if name in sys.argv[1:] or len(sys.argv) == 1:
            text, odd = page(module)
            (FOLDER / f"{name}.md").write_text(text)
            for wrong, lines, status in odd:
                print(f"--- {wrong.title}: {wrong.command} {wrong.script}\n    {status}", *lines[-4:], sep="\n    ")
