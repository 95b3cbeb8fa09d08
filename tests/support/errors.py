"""The pages of error messages in the documentation, from what the command says to the mistakes in error_pages/.

    python tests/support/errors.py FOLDER        writes the pages into this folder

docs/conf.py does so when the documentation is built. A new message is a new row Wrong(title, command, words, ...) in the file
of its page.
"""
import re
import sys
from importlib import import_module
from pathlib import Path

import error_pages
from mistakes.provoking import folder, provoke

# Metadata that keep a page out of the search: its messages are those that the search would find for every name of the package.
UNSEARCHED = "---\nnosearch: true\n---\n"


def pages():
    """Name of each page and the module with its rows, in the order of the index."""
    return {name.replace("_", "-"): import_module(f"error_pages.{name}") for name in error_pages.ORDER}


def entry(wrong, line, status):
    """One mistake as Markdown."""
    where, code = f" with `{wrong.script}`" if wrong.script else "", wrong.before or wrong.text
    block = f"```py\n{code.strip()}\n```\n\n" if code else ""
    return f"**{wrong.title}** ({status}): `{f'dgarray {wrong.command}'.strip()}`{where}\n\n{block}> `{line}`\n"


def page(module):
    """The text of one page, and (mistake, lines, status) of those that it leaves out: their answer is not one line with the
    right words and status."""
    text, odd = [UNSEARCHED, f"# {module.TITLE}\n"], []
    for group, rows in module.GROUPS.items():
        text += [f"## {group}\n"] if len(module.GROUPS) > 1 else []
        for wrong in rows:
            with folder():
                lines, status = provoke(wrong)
            if len(lines) == 1 and status == wrong.status and re.search(wrong.words, lines[0]):
                text.append(entry(wrong, lines[0], status))
            else:
                odd.append((wrong, lines, status))
    return "\n".join(text), odd


def index():
    """The table of the pages, for docs/errors.md to include."""
    rows = [f"| [{module.TITLE}](errors/{name}.md) | {module.ABOUT} |" for name, module in pages().items()]
    names = "\n".join(f"errors/{name}" for name in pages())
    return "\n".join(["| page | messages about |", "|---|---|", *rows, "", "```{toctree}\n:hidden:\n", names, "```\n"])


def write(path, text):
    """Write a file unless it has this text, so that a page that stays is not built again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(target):
    """Write all pages; say on stdout, a line each, which mistakes are left out."""
    target.mkdir(exist_ok=True)
    write(target / "pages.md", index())
    for name, module in pages().items():
        text, odd = page(module)
        write(target / f"{name}.md", text)
        for wrong, lines, status in odd:
            print(f"errors/{name}.md lacks '{wrong.title}': '{wrong.words}' ({wrong.status}) was expected, not", *lines[-1:],
                  f"({status})")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
