"""Every error that a person can meet: one line, the right status, no traceback, nothing lost; and docs/errors/ says it."""
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import xarray
from errors import FOLDER, GROUPS, INDEX, entry, index, pages
from mistakes.kinds import SCRIPT
from mistakes.provoking import FAST, call, folder, provoke
from mistakes.stores import stored

ALL = [(name, wrong) for name, module in pages().items() for rows in module.GROUPS.values() for wrong in rows]


@pytest.fixture
def here():
    with folder():
        yield Path.cwd()


@pytest.mark.usually(lambda wrong: len(wrong.title) % 3 == 0)
@pytest.mark.parametrize("page, wrong", ALL, ids=lambda value: getattr(value, "title", value))
def test_one_line_and_its_status(page, wrong, here):
    if wrong.status > 128 and threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread only")
    lines, status = provoke(wrong)
    assert len(lines) == 1, lines
    command = re.match(r"\w*", wrong.command)[0]
    commands = ("run", "eoc", "bench", "tune", "info", "partition", "plot", "export", "list")
    start = f"dgarray {command}: " if command in commands else "dgarray: "
    assert lines[0].startswith(start) and re.search(wrong.words, lines[0]) and status == wrong.status, (status, lines)
    assert "Traceback" not in lines[0] and "run again" not in lines[0] and str(here) not in lines[0]
    text = (FOLDER / f"{page}.md").read_text()
    assert entry(wrong, lines[0], status) in text, f"docs/errors/{page}.md is stale: run python tests/support/errors.py {page}"


def test_the_pages_have_these_errors_and_no_others():
    assert INDEX.read_text() == index() and sorted(path.stem for path in FOLDER.iterdir()) == sorted(pages())
    for name, module in pages().items():
        text = (FOLDER / f"{name}.md").read_text()
        assert re.findall(r"^# (.*)$", text, re.M) == [module.TITLE]
        assert re.findall(r"^## (.*)$", text, re.M) == (list(module.GROUPS) if len(module.GROUPS) > 1 else [])
        titles = [wrong.title for rows in module.GROUPS.values() for wrong in rows]
        assert re.findall(r"^\*\*(.*?)\*\* \(", text, re.M) == titles


def test_names_in_one_group_tell_the_errors_apart():
    for group, rows in GROUPS.items():
        titles = [wrong.title for wrong in rows]
        assert len(set(titles)) == len(titles), (group, sorted(t for t in titles if titles.count(t) > 1))


def contents(store):
    return {path: path.read_bytes() for path in sorted(Path(store).rglob("*")) if path.is_file()}


@pytest.mark.parametrize("command", [
    ["tm_cavity", "--out", "flat.zarr"],
    ["tm_cavity", "--restart", "flat.zarr"],
    ["tm_cavity", "--out", "flat.zarr", "--overwrite", "--probe", "5,5"],
    ["tm_cavity", "--out", "flat.zarr", "--overwrite", "--mesh", "gone.msh"],
])
def test_what_is_refused_leaves_the_output_alone(command, here):
    shutil.copytree(stored() / "flat.zarr", "flat.zarr")
    before = contents("flat.zarr")
    assert call(["run", *command, *FAST])[1] == 2
    assert contents("flat.zarr") == before


@pytest.mark.parametrize("before, changes, times", [
    ("", "results=lambda ds: [][1], every=0.005", [0, 0.005, 0.01]),
    ("def window(t):\n    return [1.0][t > 0.006]", "record={'a': dg.Fourier(0.01, window=window, points=[(0.5, 0.5)])}, "
     "every=0.005, dt=0.0001", [0, 0.005]),
])
def test_a_script_that_raises_on_the_way_loses_nothing(before, changes, times, here):
    Path("case.py").write_text(SCRIPT.format(before=before, changes=f"dict({changes})"))
    said, status = call(["run", "case.py", "--out", "out.zarr", "--quiet", *FAST])
    assert status == 2 and said.count("\n") == 1 and "IndexError" in said and "case.py" in said, said
    ds = xarray.open_zarr("out.zarr")
    assert ds.time.values.tolist() == pytest.approx(times) and ds.p.notnull().all()


def process(*arguments, **keywords):
    return subprocess.run([sys.executable, "-m", "dgarray", *arguments], capture_output=True, text=True, **keywords)


def test_a_process_says_no_more_than_its_line(here):
    Path("case.py").write_text("import threading\n\ndef case():\n    raise LookupError('none')\n")
    done = process("run", "case.py")
    assert done.stderr.replace(f"{here}{os.sep}", "") == "dgarray run: LookupError: none (case.py:4)\n" and done.returncode == 2


def test_debug_shows_the_traceback(here):
    done = process("run", "nothing.py", "--debug")
    assert "Traceback" in done.stderr and done.returncode == 1


def test_a_reader_that_leaves_is_no_error(here):
    command = f"{sys.executable} -m dgarray list | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == "" and done.returncode in (0, 141)


def test_a_folder_that_is_really_read_only(here):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    here.chmod(0o500)
    try:
        said, status = call(["run", "tm_cavity", "--out", "out.zarr", *FAST])
    finally:
        here.chmod(0o700)
    assert status == 2 and "cannot be written to" in said and said.count("\n") == 1
