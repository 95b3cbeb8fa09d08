"""Every error that a person can meet: one line, the right status, no traceback, nothing lost; and pages have them all."""
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import error_pages
import pytest
import xarray
from errors import index, page, pages
from mistakes.kinds import SCRIPT, Wrong
from mistakes.provoking import FAST, call, folder, provoke
from mistakes.stores import stored
from mistakes.surroundings import without

ALL = [wrong for module in pages().values() for rows in module.GROUPS.values() for wrong in rows]


@pytest.fixture
def here():
    with folder():
        yield Path.cwd()


@pytest.mark.parametrize("wrong", ALL, ids=lambda wrong: wrong.title)
def test_one_line_and_its_status(wrong, here):
    if wrong.status > 128 and threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread only")
    lines, status = provoke(wrong)
    assert len(lines) == 1, lines
    command = re.match(r"\w*", wrong.command)[0]
    commands = ("run", "eoc", "bench", "tune", "info", "partition", "plot", "export", "list")
    start = f"dgarray {command}: " if command in commands else "dgarray: "
    assert lines[0].startswith(start) and re.search(wrong.words, lines[0]) and status == wrong.status, (status, lines)
    assert "Traceback" not in lines[0] and "run again" not in lines[0] and str(here) not in lines[0]


def test_a_page_has_its_errors_and_leaves_out_others():
    missing, threads, never = (Wrong(title, f"run tm_cavity {options}", words) for title, options, words in (
        ("No library", "--backend cupy", "CuPy is not installed"), ("No thread", "--threads 0", "whole number from 1"),
        ("Never", "--threads 0", "words that nobody says")))
    missing = replace(missing, prepare=without("cupy"))
    text, odd = page(SimpleNamespace(TITLE="Page", GROUPS={"A": [missing], "B": [threads, never]}))
    said = [call(["run", "tm_cavity", "--threads", "0"])[0].strip()]
    assert re.findall(r"^(#+ .*)$", text, re.M) == ["# Page", "## A", "## B"]
    assert re.findall(r"^\*\*(.*)\*\* \(2\): `dgarray run tm_cavity (.*)`$", text, re.M) == [
        ("No library", "--backend cupy"), ("No thread", "--threads 0")]
    assert "CuPy is not installed" in text and re.findall(r"^> `(.*)`$", text, re.M)[1:] == said
    assert odd == [(never, said, 2)]


def test_every_page_is_in_the_index_and_names_in_one_group_tell_its_errors_apart():
    folder = Path(error_pages.__file__).parent
    assert sorted(error_pages.ORDER) == sorted(path.stem for path in folder.glob("[a-z]*.py"))
    assert [name for name in pages() if f"](errors/{name}.md)" in index()] == list(pages())
    for module in pages().values():
        for group, rows in module.GROUPS.items():
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


def test_a_process_says_no_more_than_its_line(here):
    Path("case.py").write_text("import threading\n\ndef case():\n    raise LookupError('none')\n")
    done = subprocess.run([sys.executable, "-m", "dgarray", "run", "case.py"], capture_output=True, text=True)
    assert done.stderr.replace(f"{here}{os.sep}", "") == "dgarray run: LookupError: none (case.py:4)\n" and done.returncode == 2


def test_debug_lets_the_error_through(here):
    """So Python shows its traceback."""
    with pytest.raises(ValueError, match="nothing.py: there is no such file"):
        call(["run", "nothing.py", "--debug"])


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
