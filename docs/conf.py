"""Sphinx: the pages of this folder, and the API reference from the docstrings.

    sphinx-build -W -b html docs docs/_build
"""
import inspect
import re
import subprocess
import sys
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes
from docutils.statemachine import StringList
from docutils.utils.math import latex2mathml
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import dgarray
from dgarray import cases

sys.path.insert(0, str(Path(__file__).parent))
from case_programs import program  # noqa: E402

project, author, copyright = "dgarray", "the dgarray authors", "the dgarray authors, MIT licence"
version = release = dgarray.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "errors/pages.md"]          # errors.md contains this table
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_math_renderer = "mathml"
html_scaled_image_link = False
html_title = f"dgarray {version}"
html_show_sourcelink = False
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath", "html_image"]
default_role = "code"
add_module_names = False
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
suppress_warnings = ["config.cache"]

# A table whose columns need more characters than this, with their longest words, does not fit on a narrow screen.
NARROW = 48
# And a table beyond this needs smaller letters on any screen.
BROAD = 100

# `name   text` or `name, name   text` in aligned columns; the text goes on in lines indented to its column.
COLUMNS = re.compile(r"(?P<name>\S.*?)(?P<gap>\s{2,})(?P<text>\S.*)$")
NAMES = re.compile(r"[A-Za-z_]\w*( \([\w, ]+\))?(, [A-Za-z_]\w*( \([\w, ]+\))?)*$")
# `name: text` at the start of a line; `Raises ...`, `Returns ...` are sentences of their own.
COLON = re.compile(r"(?P<name>[a-z_]\w*(, [a-z_]\w*)*): +(?P<text>.*)$")
SENTENCE = re.compile(r"(Raises?|Returns?|ValueError|Everywhere) ")


def escaped(text):
    """Plain text as reStructuredText: `code` stays code, all other markup characters lose their meaning."""
    parts, out = text.split("`"), []
    if len(parts) % 2 == 0:
        parts = [text]
    for number, part in enumerate(parts):
        if number % 2:
            out.append(f"``{part}``")
        else:
            part = part.replace("\\", "\\\\").replace("*", r"\*").replace("|", r"\|")
            out.append(re.sub(r"_(?=\W|$)", r"\\_", part))
    # A text that begins like an item of a list, "(m)", "1." or "-", is none.
    return re.sub(r"^(?=\(?\w{1,3}[.)]|[-+] )", r"\\", "".join(out))


def readable(lines):
    """The lines of a plain-text docstring as reStructuredText.

    Aligned columns and `name: text` become definition lists, indented lines literal blocks, lines of formulas keep their
    breaks, all else is paragraphs. The first line is a sentence."""
    out, paragraph, number = [], [], 0

    def flush():
        if paragraph:
            formulas = len(paragraph) > 1 and any("   " in line for line in paragraph)
            out.extend([f"| {escaped(line)}" for line in paragraph] if formulas else [escaped(" ".join(paragraph))])
            out.append("")
            paragraph.clear()

    def indented():
        nonlocal number
        block = []
        while number < len(lines) and (lines[number][:1] == " " or (not lines[number] and lines[number + 1:number + 2]
                                                                    and lines[number + 1][:1] == " ")):
            block.append(lines[number].rstrip())
            number += 1
        return block

    while number < len(lines):
        line = lines[number].rstrip()
        item = number > 0 and entry(line, not paragraph or paragraph[-1].endswith("."))
        if not line:
            flush()
            number += 1
        elif line[0] == " ":
            flush()
            out.extend(["::", "", *(f"  {row}" for row in indented()), ""])
        elif item:
            flush()
            number += 1
            more = [text.strip() for text in indented()]
            while item.re is COLON and number < len(lines) and lines[number] and not begins_new(lines[number], more):
                more.append(lines[number].strip())
                number += 1
            out.extend([escaped(item["name"]), f"    {escaped(' '.join([item['text'], *more]))}", ""])
        else:
            if SENTENCE.match(line):
                flush()
            paragraph.append(line)
            number += 1
    flush()
    return out


def entry(line, begins):
    """The match of `name   text`, or of `name: text` where a sentence begins; None for any other line."""
    columns = COLUMNS.match(line)
    if columns and NAMES.match(columns["name"]):
        return columns
    return COLON.match(line) if begins else None


def begins_new(line, before):
    """Whether a line is the next entry or sentence, not the continuation of the one before."""
    return bool(SENTENCE.match(line) or entry(line, True) or line[0].isupper() and before and before[-1].endswith("."))


# `dg.Maxwell`, `Maxwell(dim=3)`, `Simulation.run`, `dgarray.output.open_store`, `ds.dg.norm("Ez")`, `sim.run`: a name, perhaps
# called, of the reference; what these objects are called in the pages, and their class.
CODE = re.compile(r"([A-Za-z_][\w.]*)(\(.*\))?$", re.S)
OBJECTS = {"ds.dg": "output.Accessor", "tree.dg": "output.Accessor", "sim": "Simulation", "mesh": "Mesh"}
CASES = set(cases.__all__)


def target(text):
    """(domain, type, target) of what code in a text names: an entry of the API or a case; None for other code."""
    code = CODE.match(text)
    if not code:
        return None
    thing, _, member = code[1].rpartition(".")
    if text in CASES:
        return "std", "doc", f"/gallery/{code[1]}"
    if thing in OBJECTS:
        return "py", "obj", f"dgarray.{OBJECTS[thing]}.{member}"
    name = re.sub(r"^(dg|dgarray)\.", "", code[1])
    return ("py", "obj", f"dgarray.{name}") if name.split(".")[0] in dgarray.__all__ or name != code[1] else None


def link_names(app, doctree):
    """Make references of the names of the API and of the cases that a page writes as code."""
    for literal in list(doctree.findall(nodes.literal)):
        found = target(literal.astext())
        parents = nodes.reference, nodes.title, addnodes.pending_xref, addnodes.desc_signature
        parent = literal.parent
        while parent and not isinstance(parent, parents):
            parent = parent.parent
        if found and not parent:
            domain, kind, name = found
            reference = addnodes.pending_xref(refdomain=domain, reftype=kind, reftarget=name, refexplicit=True,
                                              refdoc=app.env.docname)
            literal.replace_self(reference)
            reference += literal


def math(translator, node):
    """Write a formula as MathML, which browsers show without a script.  Parts of a line may go to the next line."""
    if node.tagname == "math_block":
        parts = [latex2mathml.tex2mathml(part, as_block=False) for part in split_at_spaces(node.astext())]
        parts = " ".join(part.replace("<math ", '<math displaystyle="true" ', 1) for part in parts)
        translator.body.append(f'<div class="math">{parts}</div>')
    else:
        translator.body.append(latex2mathml.tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def split_at_spaces(formula):
    """The parts of a formula between \\quad or \\qquad that stand outside of braces and environments."""
    parts, depth = [""], 0
    for token in re.findall(r"\\(?:begin|end|left|right)\b|\\[A-Za-z]+|\\.|[^\\]", formula, re.S):
        depth += token in ("{", r"\begin", r"\left")
        depth -= token in ("}", r"\end", r"\right")
        if token in (r"\quad", r"\qquad") and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts if part.strip()]


def fit_tables(app, pagename, templatename, context, doctree):
    """Give each cell of a wide table the heading of its column: on a narrow screen a row becomes a list of name and value.

    An empty head is left out."""
    if "<table" not in context.get("body", ""):
        return
    soup = BeautifulSoup(context["body"], "html.parser")
    for table in soup.find_all("table"):
        rows = [row.find_all(["td", "th"]) for row in table.find_all("tr")]
        names = [cell.get_text() for cell in rows[0]]
        if table.thead and not any(names):
            table.thead.decompose()
        width = sum(max(map(longest_word, column)) + 2 for column in zip(*rows))
        if width > NARROW:
            table["class"] = [*table.get("class", []), "wide", *(["broad"] if width > BROAD else [])]
            for row in table.select("tbody tr"):
                for name, cell in zip(names, row.find_all("td")):
                    cell["data-name"] = name
    context["body"] = str(soup)


def longest_word(cell):
    """Characters of the longest word in a cell; those of code are broader."""
    return max(map(len, cell.get_text().split()), default=0) * (1.3 if cell.find("code") else 1)


def process(app, what, name, obj, options, lines):
    """Hand a docstring to Sphinx; those of tuples and other classes of Python's own are left out."""
    lines[:] = readable(lines)


class Program(SphinxDirective):
    """`{program} CASE`: the case with its default keywords as a program, with a link to its source."""

    required_arguments = 1

    def run(self):
        name = self.arguments[0]
        file, text, container = Path(inspect.getsourcefile(getattr(cases, name))).name, program(name), nodes.container()
        what = "The case with its defaults, as a program" if "\nsim = " in text else "The function that makes the case"
        lines = [f"{what}, from [cases/{file}](../../cases/{file}):", "", "```python", *text.splitlines(), "```"]
        self.state.nested_parse(StringList(lines, name), self.content_offset, container)
        return container.children


def write_error_pages(app):
    """Write errors/, the messages of the mistakes in tests/support/error_pages. A warning names each that this environment does
    not give, for example because a library is missing."""
    script = Path(__file__).parents[1] / "tests" / "support" / "errors.py"
    done = subprocess.run([sys.executable, script, app.srcdir / "errors"], capture_output=True, text=True)
    if done.returncode:
        raise ExtensionError(f"{script} has failed:\n{done.stderr}")
    for line in done.stdout.splitlines():
        logging.getLogger(__name__).warning(line)


def setup(app):
    app.connect("builder-inited", write_error_pages)
    app.add_directive("program", Program)
    app.add_html_math_renderer("mathml", (math, None), (math, None))
    app.connect("doctree-read", link_names)
    app.connect("html-page-context", fit_tables)
    app.connect("autodoc-process-docstring", process)
