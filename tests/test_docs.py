"""Every code block of the README and the documentation runs, and prints what the page says; the documentation builds.

The blocks of a page run in order, in a folder of their own:
python   in one namespace, with no figure open; a block that begins with `# name.py` is written to that file as well
bash     the lines that begin with `dgarray`; benchmarks do not run, thousands of triangles become 400, and runs of the gallery
         have few cells, order 1, array kernels, and end early: their cases run to the end in tests/test_cases.py
text     right after one of these: what that block prints, or a part of it
"""
import importlib
import inspect
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import dgarray as dg
from dgarray import cases, output
from dgarray.cli import build_parser, main
from dgarray.stepping import STEPPERS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE = DOCS / "_build", DOCS / "errors"          # by a build of the documentation
PAGES = [ROOT / "README.md", ROOT / "CHANGES.md",
         *sorted(path for path in DOCS.rglob("*.md") if not any(path.is_relative_to(folder) for folder in MADE))]
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.S | re.M)
# Files that pages speak of as the reader's own.
GIVEN = {"yours.msh": ROOT / "cases" / "meshes" / "slab.msh",
         **{name: DOCS / "meshes" / name for name in ("room.msh", "rod.msh")}}
EARLY = 20               # by how much the times of the gallery's commands are divided
MYCASE = "from dgarray.cases import tm_cavity as case\n"


def blocks(page):
    """(language, text, right after the block before) of the code blocks of a page."""
    end, text = 0, page.read_text()
    for match in BLOCK.finditer(text):
        yield match["language"], match["text"], not text[end:match.start()].strip()
        end = match.end()


def commands(block):
    """The arguments of each dgarray command in a block."""
    for line in block.splitlines():
        for part in line.split(" #")[0].split("&&"):
            words = shlex.split(part)
            if words and Path(words[0]).name == "dgarray":
                yield words[1:]


def has_order(name):
    """Whether a ready case has an order."""
    return "order" in inspect.signature(getattr(cases, name)).parameters


def shortened(run, factor):
    """`Simulation.run` with times that are shorter by this factor."""
    def shorter(self, until=None, every=None, *arguments, **named):
        until, every = (self.options[name] if value is None else value for name, value in (("until", until), ("every", every)))
        until = until if factor == 1 else until / factor
        return run(self, until, every and every / factor, *arguments, **named)
    return shorter


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page, tmp_path, monkeypatch, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    pyplot.close("all")
    early = EARLY if page.parent.name == "gallery" else 1
    monkeypatch.setattr(dg.Simulation, "run", shortened(dg.Simulation.run, early))
    for name, source in GIVEN.items():
        shutil.copy(source, name)
    Path("mycase.py").write_text(MYCASE)
    scope, printed = {"__name__": "docs"}, ""
    for language, text, follows in blocks(page):
        if language == "text":
            assert not (follows and printed) or text in printed, f"{page.name} says\n{text}\nbut the block prints\n{printed}"
            continue
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", text)
            if name:
                Path(name[1]).write_text(text)
            exec(compile(text, str(page), "exec"), scope)
        elif language == "bash":
            for words in commands(text):
                words = [re.sub(r"^elements=\d{4,}$", "elements=400", word) for word in words]
                if early > 1:
                    words = [re.sub(r"^(cells|until)=\d{2,}$", r"\1=16", word) for word in words]
                    if words[0] == "run" and has_order(words[1]):
                        words += ["--order", "1", "--kernels", "array"]
                words = [f"{float(word) / early:g}" if before == "--time" else word
                         for before, word in zip(["", *words], words)]
                build_parser().parse_args(words)
                if words[0] != "bench":
                    assert main(words) == 0, f"{page.name}: dgarray {shlex.join(words)}\n{capsys.readouterr().err}"
        printed = capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text()
    for target in [*re.findall(r"\]\(([^)#]+)[^)]*\)", text), *re.findall(r'<img src="([^"]+)"', text)]:
        assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_reference_has_every_public_name():
    """docs/api/ has the names of dgarray, each once and with a docstring, and nothing that is not public; api.md lists them."""
    text = "".join(path.read_text() for path in (DOCS / "api").glob("*.md"))
    listed = re.findall(r"^\.\. auto(?:function|class):: (\w+)$", text, re.M)
    assert sorted(listed) == sorted(dg.__all__)
    every = re.findall(r"^\.\. auto(?:function|class):: ([\w.]+)", text, re.M)
    assert sorted(re.findall(r"`([\w.]+)`", (DOCS / "api.md").read_text().split("\n- ", 1)[1])) == sorted(every)
    assert all(inspect.getdoc(getattr(dg, name)) for name in listed)
    assert "autoclass:: dgarray.output.Accessor()\n   :members:\n" in text


@pytest.mark.thorough
def test_documentation_builds_without_warnings(tmp_path):
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module)
    done = subprocess.run([sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "-d", tmp_path / "doctrees", DOCS,
                           tmp_path / "html"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = "".join(path.read_text() for path in (tmp_path / "html" / "api").glob("*.html"))
    names = [*(f"dgarray.{name}" for name in dg.__all__),
             *(f"dgarray.output.Accessor.{name}" for name in vars(output.Accessor) if not name.startswith("_"))]
    missing = [name for name in names if f'id="{name}"' not in page]
    assert not missing, f"the built reference lacks {', '.join(missing)}"
    concepts = (tmp_path / "html" / "concepts.html").read_text()
    assert 'href="api/methods.html#dgarray.ModalDG"' in concepts, "names of the API are not links"
    searched = (tmp_path / "html" / "searchindex.js").read_text()
    assert "gallery/tm_cavity" in searched and "The driver is missing" not in searched
    assert 'href="errors/gpu.html"' in (tmp_path / "html" / "errors.html").read_text()
    assert "<strong>The driver is missing</strong>" in (tmp_path / "html" / "errors" / "gpu.html").read_text()


def test_every_paper_to_cite_is_listed():
    """Keys of the table and of the list are the same, so are the software's versions, and the sources that the methods and
    steppers name are there."""
    page, software = (DOCS / "citing.md").read_text(), (ROOT / "CITATION.cff").read_text()
    table, listed = page.split("## The papers")[0], (DOCS / "papers.bib").read_text()
    keys = re.findall(r"^@\w+\{(\w+),$", listed, re.M)
    assert sorted(keys) == sorted(set(re.findall(r"`([a-z]+(?:19|20)\d\d[a-z]*)`", table)))
    version = re.search(r"^version: (\S+)$", software, re.M)[1]
    assert f"version = {{{version}}}" in page and f'fallback_version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    for method in (dg.NodalDG, dg.ModalDG, dg.TensorDG, dg.Hermite, dg.FiniteVolume, dg.MHD, *STEPPERS.values()):
        text = inspect.getdoc(method)
        near = text.lower().replace(" ", "")
        for year in re.findall(r"\b(?:19|20)\d\d\b", text):
            assert any(key[-4:] == year and key[:-4] in near for key in keys), f"{method}: a source of {year} is not listed"


def test_gmsh_makes_the_mesh_of_its_page(tmp_path):
    """Where Gmsh is installed: the page's drawing and its Python script give the mesh that the documentation has."""
    gmsh = pytest.importorskip("gmsh", exc_type=ImportError)
    page, kept = (DOCS / "gmsh.md").read_text(), dg.read_mesh(DOCS / "meshes" / "room.msh")
    drawing, script = (re.search(rf"^```{language}\n(.*?)^```$", page, re.S | re.M)[1] for language in ("c", "py"))
    (tmp_path / "room.geo").write_text(drawing)
    gmsh.initialize()
    gmsh.open(str(tmp_path / "room.geo"))
    gmsh.model.mesh.generate(2)
    gmsh.write(str(tmp_path / "drawn.msh"))
    gmsh.finalize()
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True)
    for name in ("drawn.msh", "room.msh"):
        made = dg.read_mesh(tmp_path / name)
        assert {*made.boundaries} == {*kept.boundaries} and {*made.regions} == {*kept.regions} and made.order == kept.order == 2
        assert made.measures.sum() == pytest.approx(kept.measures.sum(), abs=1e-4)


def test_gmsh_makes_the_rod_of_its_page(tmp_path):
    gmsh = pytest.importorskip("gmsh", exc_type=ImportError)
    page, kept = (DOCS / "open-space-and-media.md").read_text(), dg.read_mesh(DOCS / "meshes" / "rod.msh")
    (tmp_path / "rod.geo").write_text(re.search(r"^```c\n(// rod.geo\n.*?)^```$", page, re.S | re.M)[1])
    gmsh.initialize()
    gmsh.open(str(tmp_path / "rod.geo"))
    gmsh.model.mesh.generate(2)
    gmsh.model.mesh.setOrder(3)
    gmsh.write(str(tmp_path / "rod.msh"))
    gmsh.finalize()
    made = dg.read_mesh(tmp_path / "rod.msh")
    assert made.order == kept.order and {*made.regions} == {*kept.regions}
    for name in kept.regions:
        assert made.measures[made.regions[name]].sum() == pytest.approx(kept.measures[kept.regions[name]].sum(), abs=1e-4)


@pytest.fixture(scope="module")
def gallery():
    pytest.importorskip("matplotlib")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)
        yield importlib.import_module("make_gallery")


def test_gallery_shows_every_case(gallery):
    pages = importlib.import_module("gallery_pages")
    shown = [name for names in pages.SUBJECTS.values() for name in names]
    assert sorted(shown) == sorted(cases.__all__) == sorted(gallery.ENTRIES)
    assert (DOCS / "gallery.md").read_text() == pages.index()
    for name in shown:
        text, (equations,) = (DOCS / "gallery" / f"{name}.md").read_text(), pages.by_hand(name, "equations")
        assert "$$" in equations and "Source: " in equations and equations in text and text.startswith(f"# {name}\n"), name
    files = {path.name: path for path in (DOCS / "gallery").iterdir()}
    assert sorted(files) == sorted(f"{name}.{suffix}" for name in cases.__all__ for suffix in ("md", "png"))
    for path in files.values():
        assert path.stat().st_size <= gallery.LARGEST, path.name


@pytest.mark.parametrize("name", cases.__all__)
def test_programs_in_the_gallery_make_their_cases(gallery, name, monkeypatch):
    text, scope = importlib.import_module("case_programs").program(name), {"__name__": "program"}
    if text.startswith("def "):
        return                                  # a long one: the function itself
    monkeypatch.setattr(dg.Simulation, "run", lambda self: self)
    exec(compile(text, name, "exec"), scope)
    made, case = scope["sim"], getattr(cases, name)()
    assert str(made).split("\n")[1:] == str(case).replace(f"{name}.<locals>.", "").split("\n")[1:]
    assert all(made.options[key] == case.options[key] for key in ("until", "every"))


def test_further_pictures_and_movies_are_small_and_have_all_colours(gallery):
    from PIL import Image

    sizes = {file: (DOCS / file).stat().st_size for file in gallery.MORE}
    assert all(size < (1_500_000 if file.endswith(".webp") else 400_000) for file, size in sizes.items()), sizes
    shown = [file for entry in gallery.ENTRIES.values() for file, _ in entry.more]
    assert sorted(shown) == sorted(file for file in gallery.MORE if file in shown) and len(shown) == 5
    for file in gallery.MORE:
        with Image.open(DOCS / file) as image:
            assert image.mode != "P" and (not file.endswith(".webp") or image.n_frames > 20), file
    pictures = list((DOCS / "gallery").glob("*.png"))
    assert sum(path.stat().st_size for path in pictures) < 14_000_000
    for path in pictures:
        with Image.open(path) as image:
            assert image.mode == "RGB" and max(image.size) <= gallery.pictures.WIDTH, path.name


@pytest.mark.parametrize("name", ["advection_wave", "tm_cavity"])
def test_gallery_is_what_its_script_makes(gallery, name, tmp_path):
    """Two cheap cases made anew give the page's own text and numbers, and a picture of the same size."""
    assert gallery.make([name], tmp_path)[name] == (DOCS / "gallery" / f"{name}.md").read_text()
    from PIL import Image
    with Image.open(tmp_path / f"{name}.png") as new, Image.open(DOCS / "gallery" / f"{name}.png") as kept:
        assert new.size == kept.size
        assert len(new.convert("RGB").getcolors(new.width * new.height)) > 20


def test_operation_counts_in_the_performance_page():
    """The table's numbers for Maxwell at order 3 on tetrahedra are those of the traced graphs and of the cost model."""
    from dgarray import backends
    from dgarray.bench.roofline import cost
    mesh = dg.box(cells=(4, 4, 4), periodic=True)
    tables = dg.NodalDG(3).discretise(mesh, dg.Maxwell(3), None, backends.get("numpy", "fused")).tables
    nodes, points = len(tables.basis.cell.nodes), tables.basis.face_nodes.size // 2
    low = tables.basis.cell.reduced_differentiation[0].shape[1]
    volume, jump = tables.physics.functions.volume.graph.flops, tables.physics.functions.pair.graph.flops
    products = 2 * low * (nodes + 3 * nodes) * 6, 2 * nodes * 2 * points * 6
    (stage,) = cost(tables)
    update = stage.flops - nodes * volume - points * jump - sum(products)
    assert update == pytest.approx(5.6 * nodes * 6)
    page = (ROOT / "docs" / "performance.md").read_text()
    memory = f"{stage.bytes / 1000:.1f} kB"
    for text in (f"{nodes} x {volume}", f"{points} x {jump}", *map(str, products), f"{update:.0f}", memory):
        assert f"| {text} |" in page, text
