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


def test_operation_counts_in_the_performance_page():
    """The table's numbers for Maxwell at order 3 on tetrahedra are those of the traced graphs and of the cost model."""
    import dgarray as dg
    from dgarray import backends
    from dgarray.analysis.roofline import cost
    mesh = dg.box(cells=(4, 4, 4), periodic=True)
    tables = dg.NodalDG(3).discretise(mesh, dg.Maxwell(3), None, backends.get("numpy", "fused")).tables
    nodes, faces = len(tables.nodes), tables.face_nodes.size
    low = tables.cell.reduced_differentiation[0].shape[1]
    volume, jump = tables.functions.volume.graph.flops, tables.functions.left.graph.flops
    products = 2 * low * 3 * nodes * 6, 2 * nodes * (low + faces) * 6
    (stage,) = cost(tables)
    update = stage.flops - nodes * volume - faces * jump - sum(products)
    assert update == pytest.approx(4.6 * nodes * 6)
    page = (ROOT / "docs" / "performance.md").read_text()
    memory = f"{stage.bytes / 1000:.1f} kB"
    for text in (f"{nodes} x {volume}", f"{faces} x {jump}", *map(str, products), f"{update:.0f}", memory):
        assert f"| {text} |" in page, text
