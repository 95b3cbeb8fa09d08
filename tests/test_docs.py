"""Every Python block of the README and the documentation runs; every command line in them is one that the package has."""
import re
import shlex
from pathlib import Path

import pytest

from dgarray.cli import build_parser

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "docs"}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), scope)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_parse(page):
    for block in blocks(page, "bash"):
        for line in block.splitlines():
            for part in line.split("#")[0].split("&&"):
                words = shlex.split(part)
                if words and Path(words[0]).name == "dgarray":
                    build_parser().parse_args(words[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"
