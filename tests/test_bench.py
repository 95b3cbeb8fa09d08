"""`dgarray bench`: what its result holds, that shares come from counts and ceilings, and the comparison of two results."""
import copy
import json
from pathlib import Path

import numpy as np
import pytest

from dgarray import Acoustics, Advection, Grid, Hermite, Maxwell, NodalDG, backends, pec, rectangle
from dgarray.bench.compare import compare, read
from dgarray.bench.cpu import PAPERS, Problem, bench, rounded, row, table
from dgarray.bench.flops_hermite import of_the_paper
from dgarray.bench.machine_load import remarks
from dgarray.bench.roofline import cost
from dgarray.cli import main
from dgarray.stepping import Taylor

ROWS = ["Maxwell 3D N=3, array kernels", "Maxwell 2D TM N=3"]
SIZES = {"tetrahedra": (3, 3, 2), "triangles": (6, 5), "setup": (2, 2, 2)}
SIX_DIGITS = 5e-6


@pytest.fixture(scope="module")
def tiny():
    return bench(quick=True, rows=ROWS, sizes=SIZES)


def near(value):
    return pytest.approx(value, rel=10 * SIX_DIGITS)


def test_structure(tiny):
    assert json.loads(json.dumps(tiny)) == tiny
    assert list(tiny)[:4] == ["machine", "reference", "ceilings", "rows"] and "setup" in tiny
    assert {"float64, 1 threads", "float32, 1 threads"} <= set(tiny["ceilings"])
    array, fused = tiny["rows"]
    assert [r["name"] for r in tiny["rows"]] == ROWS
    assert (array["elements"], fused["elements"], tiny["setup"]["elements"]) == (6 * 18, 2 * 30, 6 * 8)
    assert (array["dofs"], fused["dofs"]) == (108 * 20 * 6, 60 * 10 * 3)
    assert [o["name"] for o in array["operations"]] == ["F.n - F* at default", "F.n - F*", "F(q).grad r to update"]
    assert [o["name"] for o in fused["operations"]] == ["stage"]
    assert all(r["best"] >= r["median"] > 0 for r in tiny["rows"])
    assert all(o["seconds"] > 0 for r in tiny["rows"] for o in r["operations"])


def test_counts_are_those_of_the_cost_model(tiny):
    mesh = rectangle(cells=SIZES["triangles"])
    tables = NodalDG(3).discretise(mesh, Maxwell(2), pec, backends.get("numpy", "fused")).tables
    (expected,), (stage,) = cost(tables), tiny["rows"][1]["operations"]
    assert stage["flops"] == near(expected.flops) and stage["bytes"] == near(expected.bytes)


def test_shares_follow_from_counts_and_ceilings(tiny):
    for r in tiny["rows"]:
        least = {}
        for o in r["operations"]:
            most = tiny["ceilings"][f"{r['dtype']}, {o['threads']} threads"]
            sides = {"arithmetic": o["flops"] / most["multiply_add"], "memory": o["bytes"] / most["bandwidth"]}
            assert o["bound_by"] == max(sides, key=sides.get)
            assert o["bound_seconds"] == near(r["elements"] * max(sides.values()))
            assert o["share_of_bound"] == near(o["bound_seconds"] / o["seconds"])
            most = tiny["ceilings"][f"{r['dtype']}, {r['threads']} threads"]
            least[o["name"]] = max(o["flops"] / most["multiply_add"], o["bytes"] / most["bandwidth"])
        assert r["bound"] == near(r["dofs"] / r["elements"] / sum(least.values()))
        assert r["share_of_bound"] == near(r["best"] / r["bound"])
        assert r["flops_per_element_stage"] == near(sum(o["flops"] for o in r["operations"]))
        assert r["bytes_per_element_stage"] == near(sum(o["bytes"] for o in r["operations"]))
        assert r["flop_rate"] == near(r["flops_per_element_stage"] * r["best"] * r["elements"] / r["dofs"])
    fused, = tiny["rows"][1]["operations"]
    assert fused["share_of_bound"] == near(tiny["rows"][1]["share_of_bound"])


def test_table_has_every_part(tiny):
    text = table(tiny)
    assert text.index("Ceilings") < text.index(ROWS[0]) < text.index("F.n - F*") < text.index(ROWS[1]) < text.index("set-up")
    line = next(line for line in text.splitlines() if line.startswith(ROWS[1]))
    r = tiny["rows"][1]
    assert f"{r['flops_per_element_stage']:.0f}" in line and f"{r['bytes_per_element_stage']:.0f}" in line
    assert f"{r['share_of_bound']:.0%}" in line and f"{r['best'] / 1e6:.1f}" in line


def test_a_result_compared_with_itself(tiny, tmp_path):
    (tmp_path / "tiny.json").write_text(json.dumps(tiny))
    found = compare(tiny, read(tmp_path / "tiny.json"))
    assert list(found["rows"]) == ROWS and not (found["only_now"] or found["only_then"] or found["notes"])
    changes = [found["setup"], *(c for name in found["ceilings"] for c in found["ceilings"][name].values())]
    for r in found["rows"].values():
        changes += [r["best"], r["median"], *r["operations"].values()]
    assert changes == [0.0] * len(changes) and len(changes) == 1 + 2 * len(tiny["ceilings"]) + 2 * 2 + 3 + 1


def test_changes_in_per_cent(tiny):
    now = copy.deepcopy(tiny)
    now["rows"][0] |= {"best": 1.25 * now["rows"][0]["best"], "median": 0.5 * now["rows"][0]["median"]}
    now["rows"][0]["operations"][1]["seconds"] *= 2
    now["rows"][1] |= {"name": "new", "best": 1.0}
    now["setup"]["total"] *= 1.1
    now["ceilings"]["float64, 1 threads"]["bandwidth"] *= 0.9
    now["machine"]["processor"] = "another"
    found = compare(now, tiny)
    (name, changed), = found["rows"].items()
    assert name == ROWS[0] and found["only_now"] == ["new"] and found["only_then"] == [ROWS[1]]
    assert (changed["best"], changed["median"], found["setup"]) == pytest.approx((25.0, -50.0, 10.0))
    assert list(changed["operations"].values()) == pytest.approx([0, -50, 0], abs=1e-9)
    assert changed["share_of_bound"] == tiny["rows"][0]["share_of_bound"]
    assert found["ceilings"]["float64, 1 threads"] == pytest.approx({"bandwidth": -10, "multiply_add": 0}, abs=1e-9)
    machine, ceilings = found["notes"]
    assert f"processor another, then {tiny['machine']['processor']}" in machine and "float64, 1 thread: copy -10 %" in ceilings
    assert compare(tiny, now)["rows"][ROWS[0]]["best"] == pytest.approx(-20.0)
    text = table(now | {"comparison": {"with": "then.json"} | found})
    row, part, new = (next(line for line in text.splitlines() if line.startswith(start))
                      for start in (ROWS[0], "  F.n - F*, ", "new "))
    assert row.index("+25.0 %") < row.index("-50.0 %") and "-50.0 %" in part and " %" not in new
    assert "only in this result: new" in text and f"only in then.json: {ROWS[1]}" in text and "(+10.0 %)" in text
    assert machine in text and ceilings in text and "…" not in text


def test_small_differences_of_the_ceilings_get_no_note(tiny):
    now = copy.deepcopy(tiny)
    now["ceilings"]["float64, 1 threads"]["bandwidth"] *= 1.04
    assert compare(now, tiny)["notes"] == []


def test_a_row_on_another_problem_gets_a_note(tiny):
    then = copy.deepcopy(tiny)
    then["rows"][1]["elements"] *= 2
    note, = compare(tiny, then)["notes"]
    assert note.startswith(ROWS[1]) and "elements 60, then 120" in note


def test_results_of_the_repository_can_be_compared(tiny):
    files = {path: read(path) for path in (Path(__file__).parents[1] / "docs" / "benchmarks").glob("*.json")}
    assert files
    for results in files.values():
        assert set(compare(tiny, results)["rows"]) == (set() if "device" in results["machine"] else set(ROWS))


def spoiled(tiny, spoil):
    result = copy.deepcopy(tiny)
    spoil(result)
    return json.dumps(result)


@pytest.mark.parametrize("spoil", [
    lambda r: r.pop("rows"), lambda r: r.pop("machine"), lambda r: r["rows"][0].pop("name"),
    lambda r: r["rows"][0].update(best=0.0), lambda r: r["rows"][0].update(operations=3), lambda r: r.update(setup=[]),
    lambda r: r["ceilings"]["float64, 1 threads"].update(bandwidth="fast"), lambda r: r["rows"].append(None)])
def test_a_file_that_holds_no_benchmark(tiny, spoil, tmp_path):
    path = tmp_path / "spoiled.json"
    path.write_text(spoiled(tiny, spoil))
    with pytest.raises(ValueError, match=r"spoiled\.json holds no benchmark; give a file written by dgarray bench --json"):
        read(path)


@pytest.mark.parametrize("text, words", [("[1, 2]", "holds no benchmark"), ("{", "is not JSON"), ("\x00", "is not JSON"),
                                         (None, "cannot be read")])
def test_a_file_that_is_no_result(text, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("other.json").write_text(text)
    assert main(["bench", "--compare", "other.json"]) == 2
    error = capsys.readouterr().err
    assert f"other.json {words}" in error and len(error.splitlines()) == 1      # said before anything was measured


def test_command(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("then.json").write_text(json.dumps(tiny))
    assert main(["bench", "tm_cavity", "--quick", "--json", "now.json", "--compare", "then.json"]) == 0
    text, now = capsys.readouterr().out, json.loads(Path("now.json").read_text())
    assert "only in this result: tm_cavity" in text and "compared with then.json" in text
    assert now["comparison"]["only_then"] == ROWS and now["comparison"]["with"] == "then.json"
    assert compare(read("now.json"), now)["rows"]["tm_cavity"]["best"] == 0


def test_a_busy_machine_is_said(tiny):
    calm = copy.deepcopy(tiny)
    calm["machine"] |= {"load": 0.1, "cores": 2}
    for each in calm["rows"]:
        each["share_of_bound"] = 0.9
    assert remarks(calm) == []
    busy = copy.deepcopy(calm)
    busy["machine"]["load"], busy["rows"][1]["share_of_bound"] = 7.3, 1.4
    first, second = remarks(busy)
    assert "7.3 programs wanted its 2 processors" in first and f"{ROWS[1]} 140%" in second and ROWS[0] not in second
    assert remarks(busy, quick=True)[0] == first and first in table(busy | {"remarks": [first]})
    assert tiny["remarks"][-1].startswith("quick: ") and tiny["machine"]["load"] >= 0


def test_names_that_do_not_exist():
    with pytest.raises(ValueError, match="row 'Maxwell 4D' does not exist"):
        bench(rows=["Maxwell 4D"])
    with pytest.raises(ValueError, match="did you mean 'triangles'"):
        bench(sizes={"triangle": (2, 2)})


def test_rounded():
    assert rounded({"a": [1.23456789e9, 7, None], "b": "x", "c": np.pi}) == {"a": [1.23457e9, 7, None], "b": "x", "c": 3.14159}


@pytest.mark.thorough
def test_rows_of_hermite_count_the_papers_operations_too(tiny):
    """In two kernels, in one, and of coefficients that vary, of which the paper's algorithm has none."""
    def problem(law, **options):
        grid = Grid((0.0,), (1.0,), 8, periodic=True)
        return Problem(Hermite(1, **options).discretise(grid, law, None, backends.get("numpy", "fused")), stepper=Taylor)
    made = {"two": problem(Advection(1.0), variant="two-kernel"), "one": problem(Acoustics(1)),
            "lens": problem(Acoustics(1, density=lambda x: 1 + 0.1 * np.sin(2 * np.pi * x[0])))}
    rows = {name: row(name, each, tiny["ceilings"], True) for name, each in made.items()}
    found = rounded(tiny | {"rows": list(rows.values())})
    for name in ("two", "one"):
        r, flops = rows[name], of_the_paper(made[name].operator.tables)
        most = tiny["ceilings"][f"{r['dtype']}, {r['threads']} threads"]
        flops = flops if name == "two" else (sum(flops),)
        least = sum(max(f / most["multiply_add"], o["bytes"] / most["bandwidth"]) for f, o in zip(flops, r["operations"]))
        assert r["paper"]["flops_per_element_stage"] == sum(flops) > r["flops_per_element_stage"]
        assert r["paper"]["share_of_bound"] == near(least / (r["dofs"] / r["elements"] / r["best"]))
        shares = f"{r['share_of_bound']:.0%} of the bound by the operations done, {r['paper']['share_of_bound']:.0%} by those"
        assert f"{name}: {shares}" in table(found)
    assert "paper" not in rows["lens"] and [o["name"] for o in rows["lens"]["operations"]] == ["monolithic"]
    before = copy.deepcopy(found)
    for r in before["rows"]:
        r.pop("paper", None)             # as files of earlier versions are
    assert compare(found, before)["rows"]["two"]["best"] == 0 and "paper" not in table(before)
    assert table(found | {"comparison": {"with": "then.json"} | compare(found, before)})


def test_what_papers_measure_besides_has_rows(capsys):
    """A mesh with layers beside the same elements without."""
    names = [f"Maxwell 3D D=0, hexahedra, {kind} 5" for kind in ("plain", "layers of")]
    found = bench(quick=True, rows=names, sizes={"inner hexahedra": (1, 1, 1)})
    assert not found["failed"] and [r["elements"] for r in found["rows"]] == [1331, 1331]
    assert list(found["ratios"]) == ["with layers of 5 / without, D=0"]
    assert found["rows"][0]["dofs"] < found["rows"][1]["dofs"]          # a layer has unknowns of its own
    assert main(["bench", "--paper", "vargas"]) == 2
    error = capsys.readouterr().err
    assert all(paper in error for paper in PAPERS) and all(any(n in rows for rows in PAPERS.values()) for n in names)
