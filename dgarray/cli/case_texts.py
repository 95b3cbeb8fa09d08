"""Names, docstrings, keywords and defaults of cases, read from their files without importing them."""
import ast
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = __package__.partition(".")[0]


@dataclass(frozen=True)
class CaseText:
    """A case as its file shows it: title, the docstring's first line; the rest is text; keywords
    {name: default as text, None without one}."""

    name: str
    title: str
    text: str
    keywords: dict


def folder():
    """Where the cases of the package are."""
    return Path(find_spec(f"{PACKAGE}.cases").origin).parent


@cache
def files():
    """{case of the package: the file that defines it}, sorted by name."""
    imports = (node for node in ast.parse((folder() / "__init__.py").read_text()).body if isinstance(node, ast.ImportFrom))
    return dict(sorted((alias.name, folder() / f"{node.module}.py") for node in imports for alias in node.names))


def case_text(name):
    """The `CaseText` of a case of the package."""
    return text_of(files()[name], name)


def text_of(path, *names):
    """The `CaseText` of the first of these functions that a file defines, None without one. Raises SyntaxError."""
    functions = {node.name: node for node in ast.parse(path.read_text(), str(path)).body if isinstance(node, ast.FunctionDef)}
    name = next((name for name in names if name in functions), None)
    if name is None:
        return None
    node = functions[name]
    title, _, text = (ast.get_docstring(node) or "").partition("\n")
    taken = [*node.args.posonlyargs, *node.args.args]
    defaults = [None] * (len(taken) - len(node.args.defaults)) + node.args.defaults + node.args.kw_defaults
    taken += node.args.kwonlyargs
    keywords = {argument.arg: default and ast.unparse(default) for argument, default in zip(taken, defaults)}
    return CaseText(name, title, text.strip("\n"), keywords)

