"""`dgarray bench --backend cupy`: ceilings, counts of every variant, the benchmark on a tiny mesh, its page of tables."""
import copy
import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from compiled import ARCHITECTURES, compiled, float64_instructions
from nodal_problems import of_element

from dgarray import Acoustics, Maxwell, NodalDG, backends, box, pec, rectangle
from dgarray.backends.arrays import ArrayBackend
from dgarray.backends.cuda import CudaBackend, ceilings
from dgarray.backends.cuda.dg.nodal import NodalCuda
from dgarray.backends.cuda.dg.variant import Shape, Variant, default
from dgarray.bench import gpu as bench_gpu
from dgarray.bench.compare import compare, read
from dgarray.bench.device_problem import repeatable
from dgarray.bench.gpu_tables import table
from dgarray.bench.roofline import bound, cost, roofline_line
from dgarray.cli import main, run_commands
from dgarray.stepping import LSRK54, RK4

ROOT = Path(__file__).parents[1]
FEW = dict(seconds=0.0, size=1 << 14, turns=2, launches=3)
VARIANTS = {"both": Variant(), "block": Variant(faces="block", lanes=16), "once": Variant(faces="once"),
            "library": Variant(product="cublas", width=0)}
LIMITS = {"bandwidth": 4e12, "multiply_add": 60e12}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ceilings_are_rates(device, dtype):
    found = ceilings.ceilings(device, dtype, **FEW)
    assert list(found) == ["bandwidth", "multiply_add", "launch", "graph"]
    assert all(np.isfinite(value) and value > 0 for value in found.values())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_of_the_ceilings(device, dtype):
    kernel = device.compile(ceilings.SOURCE, dtype)
    values = np.random.default_rng(0).standard_normal(1000).astype(dtype)
    a, b = device.xp.asarray(values), device.xp.zeros(1000, dtype=dtype)
    kernel("copy")((2,), (ceilings.THREADS,), (a, b, np.int64(values.nbytes // 16)))
    assert np.array_equal(b.get(), values)
    out = device.xp.zeros(2 * ceilings.THREADS, dtype=dtype)
    kernel("multiply_add")((2,), (ceilings.THREADS,), (out, dtype(1), dtype(3), np.int32(5)))
    chains, threads = np.arange(ceilings.CHAINS), np.arange(out.size)
    expected = (threads[:, None] + chains + 3 * 5 * ceilings.IN_TURN).sum(axis=1)          # r = r + 3, so many times
    assert np.array_equal(out.get(), expected)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ceilings_compile(dtype, arch):
    found = compiled(ceilings.SOURCE, dtype, arch)
    assert set(found.kernels) == {"copy", "multiply_add", "nothing"}
    assert all(usage.spill_stores == usage.stack == 0 for usage in found.kernels.values())
    assert bool(float64_instructions(found.ptx)) == (dtype == "float64")
    fused = found.ptx.count(f"fma.rn.f{dtype[-2:]}") + found.ptx.count(f"fma.rn.ftz.f{dtype[-2:]}")
    assert fused == ceilings.CHAINS * ceilings.IN_TURN


def tables_of(mesh, law, boundary, order):
    return NodalDG(order).discretise(mesh, law, boundary, backends.get("numpy", "array")).tables


def operations(tables, variant=None, dtype="float64", stepper=LSRK54):
    return {o.name: o for o in cost(tables, "fused", dtype, stepper, "cupy", variant)}


def test_cost_of_acoustics_counted_by_hand():
    """2D acoustics of order 2 without parameters that vary: 6 nodes, 3 faces of 3 nodes, no boundary."""
    t = tables_of(rectangle(cells=(4, 4), periodic=True), Acoustics(2), None, 2)
    f, V, N, slots, d, low = t.physics.functions, 3, 6, 9, 2, 3
    product, update = V * 2 * (low * (N + d * N) + N * slots) + V * N, V * N * (5 * 5 - 2) / 5
    volume, pair = f.volume.graph.flops * N, f.pair.graph.flops * slots / 2
    # Arrays of the state's size: q, k (not in the first stage), both written, k not in the last.
    state, geometry, at_faces = 8 * V * N, 8 * d * d, 8 * 1.5 * (d + 2)
    both = operations(t)["stage"]
    assert both.flops == pytest.approx(volume + pair + product + update)
    assert both.bytes == pytest.approx(3.6 * state + geometry + at_faces + 4 * slots)
    once = operations(t, VARIANTS["once"])
    assert list(once) == ["face_flux", "stage"]
    assert once["face_flux"].flops == pytest.approx(pair)
    assert once["face_flux"].bytes == pytest.approx(6 * V * 8 + slots * V * 8 + at_faces + 4 * slots)      # of all nodes
    assert once["stage"].flops == pytest.approx(volume + product + update)
    assert once["stage"].bytes == pytest.approx(3.6 * state + geometry + slots * V * 8)
    library = operations(t, VARIANTS["library"])
    assert list(library) == ["operands", "product", "finish_stage"]
    assert sum(o.flops for o in library.values()) == pytest.approx(both.flops)
    assert library["product"].bytes == 8 * V * (d * N + slots + N)
    assert library["finish_stage"].bytes == pytest.approx(state * 4.6)              # sums, q, k read; k and q written
    assert operations(t, VARIANTS["block"])["stage"] == both


@pytest.mark.parametrize("name", VARIANTS)
def test_counted_bytes_are_those_of_the_arrays(device, name):
    """The least that a kernel reads is near to what its arrays hold, on a mesh without room beyond the last element: kernels
    have normals and scales from both sides of a face, and write the register in the last stage too."""
    t = tables_of(box(cells=(2, 2, 4)), Maxwell(3, eps=of_element(lambda x: 1 + x[0])), pec, 2)
    assert t.elements == 96
    found = NodalCuda(CudaBackend("float32", device), t, VARIANTS[name])
    counted = operations(t, VARIANTS[name], "float32")
    state = found.zeros().nbytes / t.elements
    held = (found.geometry.nbytes + found.exterior.nbytes) / t.elements
    if name == "both":
        assert 0.9 < counted["stage"].bytes / (3.8 * state + held) <= 1
    elif name == "library":
        operands = found.operands.nbytes / t.elements
        assert counted["operands"].bytes == pytest.approx(state + held + operands, rel=0.05)
        assert counted["product"].bytes == pytest.approx((found.operands.nbytes + found.sums.nbytes) / t.elements)
    elif name == "once":
        flux = found.flux.nbytes / t.elements
        patterns = sum(part.arrays[-1].nbytes for part in found.faces.parts)
        faces = state + flux + (found.faces.nbytes - patterns) / t.elements          # at order 2 every node lies on a face
        assert 1 <= counted["face_flux"].bytes / faces < 1.1          # the kernel has a number of a pattern in place of lists
        assert counted["stage"].bytes == pytest.approx(3.6 * state + 4 * (9 + 1) + flux)
    else:
        jobs = found.jobs[1].size // 3
        pairs = 4 * t.elements - jobs                                         # every other face is a job of its own
        lists = 12 * jobs + 4 * 6 * (jobs - pairs)                            # three numbers each; six nodes read a place each
        assert 0.9 < counted["stage"].bytes / (3.8 * state + (found.geometry.nbytes + lists) / t.elements) < 1.1


def test_steppers_that_do_not_need_the_old_state():
    t = tables_of(box(cells=(2, 2, 2)), Maxwell(3), pec, 1)
    state, library = 8 * 6 * 4, VARIANTS["library"]
    finish = operations(t, library, stepper=RK4)["finish_stage"]
    # RK4 reads k twice, q0 three times (once it is the state) and q in two stages, and writes k once and q four times.
    assert finish.bytes == pytest.approx(state * (1 + (2 + 3 + 2 + 5) / 4))


def test_array_expressions_move_every_array_on_a_gpu():
    t = tables_of(box(cells=(2, 2, 2)), Maxwell(3), pec, 2)
    host, device = ({o.name: o for o in cost(t, "array", backend=name)} for name in ("numpy", "cupy"))
    assert {name: o.flops for name, o in host.items()} == {name: o.flops for name, o in device.items()}
    inside = next(name for name in host if "update" in name)
    # F is written and read, the two products and their sum too.
    state, fluxes = 8 * 6 * 10, 8 * 6 * 30
    assert device[inside].bytes == pytest.approx(host[inside].bytes + 2 * fluxes + 2 * 3 * state)


def test_the_bound_does_not_depend_on_the_variant():
    t = tables_of(box(cells=(2, 2, 2)), Maxwell(3), pec, 3)
    single = cost(t, "fused", "float32", backend="cupy")
    least = 120 / bound(single, LIMITS)
    report = {"elements": t.elements, "dofs": 120 * t.elements, "dof_updates_per_s": least / 4}
    for kernels, variant in (("fused", Variant()), ("fused", VARIANTS["library"]), ("array", None)):
        line = roofline_line(report, cost(t, kernels, "float32", LSRK54, "cupy", variant), t.unit, LIMITS, single)
        assert line.endswith("; 25% of it reached") and f"at {least / 1e6:.4g} M DOF/s" in line


def test_line_of_a_run(device, monkeypatch):
    backend = CudaBackend("float32", device)
    operator = NodalDG(1).discretise(box(cells=(1, 1, 1)), Maxwell(3), pec, backend)
    report = {"backend": "cupy", "kernels": "fused", "dtype": "float32", "elements": 6, "dofs": 144, "dof_updates_per_s": 1e3}
    sim = SimpleNamespace(operator=operator, backend=backend, report=report, stepper=LSRK54)
    monkeypatch.setattr(ceilings, "ceilings", lambda device, dtype: LIMITS)
    found = (cost(operator.tables, "fused", "float32", LSRK54, "cupy", variant)
             for variant in (operator.operations.variant, None))
    assert run_commands.roofline(sim) == roofline_line(report, next(found), operator.tables.unit, LIMITS, next(found))


@pytest.mark.parametrize("order, itemsize, missing", [
    (1, 4, []), (3, 4, []), (4, 4, ["one thread an element"]), (4, 8, ["one thread an element"]),
    (9, 8, ["matrix in shared memory", "one thread an element"])])
def test_families_of_variants(order, itemsize, missing):
    """Every technique has a variant but where its matrix or its sums are too many; the nearest come first."""
    shape = Shape(3, 6, (order + 1) * (order + 2) * (order + 3) // 6, 4, (order + 1) * (order + 2) // 2, itemsize)
    for base in (default(shape, 232448), VARIANTS["library"]):
        found = bench_gpu.like(base, shape, 232448)
        assert found[0] == base and all(shape.fits(v, 232448) for v in found)
        assert [f.name for f in bench_gpu.FAMILIES if not any(f.has(v, shape) for v in found)] == missing
    if order == 4:
        base = default(shape, 232448)
        nearest = next(v for v in bench_gpu.like(base, shape, 232448) if v.width == 0 and v.product == "kernel")
        assert nearest == replace(base, width=0)


FAMILIES = ["coefficient by coefficient in memory", "matrix through the cache", "batched product by cuBLAS"]


def small(patch):
    """Make the benchmark's own list a matter of seconds on the emulated device."""
    patch.setattr(bench_gpu, "FAMILIES", [family for family in bench_gpu.FAMILIES if family.name in FAMILIES])
    patch.setattr(bench_gpu, "CPU_ORDERS", (2,))
    patch.setattr(bench_gpu, "QUICK", 1)
    patch.setattr(bench_gpu, "SCALING", (1,))


@pytest.fixture(scope="module")
def tiny():
    from emulated import EmulatedDevice, compiler
    if compiler() is None:
        pytest.skip("there is no C++ compiler to run CUDA C on the CPU")
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        patch.setenv("DGARRAY_TUNE", "0")
        return bench_gpu.bench(quick=True, orders=(2,), device=EmulatedDevice())


@pytest.mark.thorough
def test_structure(tiny):
    assert json.loads(json.dumps(tiny)) == tiny
    assert set(tiny) == {"machine", "ceilings", "rows", "failed", "cpu", "ratios", "families", "variants", "setup", "memory",
                         "scaling"}
    assert tiny["machine"]["device"] == "emulated GPU" and tiny["machine"]["capability"] == "9.0" and not tiny["failed"]
    assert {"driver", "cuda", "nvrtc", "cupy", "numba_cuda", "revision"} <= set(tiny["machine"])
    names = [f"Maxwell 3D N=2, {dtype}{end}" for dtype in ("float32", "float64") for end in ("", ", array kernels")]
    assert [r["name"] for r in tiny["rows"]] == names
    assert [(r["elements"], r["dofs"]) for r in tiny["rows"]] == 4 * [(6, 6 * 60)]
    for r in tiny["rows"]:
        assert r["best"] >= r["median"] > 0 and r["threads"] is None
        parts = ["stage"] if r["kernels"] == "fused" else ["F.n - F* at default", "F.n - F*", "F(q).grad r to update"]
        assert [o["name"] for o in r["operations"]] == parts and (r["variant"] is None) == (r["kernels"] == "array")
    assert {r["threads"] for r in tiny["cpu"]} >= {1} and len(tiny["ratios"]) == len(tiny["cpu"])
    assert tiny["ratios"]["GPU / Maxwell 3D N=2, float32, CPU with 1 thread"]["target"] is None
    assert tiny["setup"]["elements"] == 6 and tiny["memory"]["ratio"] > 3 and len(tiny["scaling"]) == 1


@pytest.mark.thorough
def test_shares_follow_from_counts_and_ceilings(tiny):
    near = {"rel": 1e-4}
    for r in tiny["rows"]:
        t = tables_of(box(cells=(1, 1, 1)), Maxwell(3), pec, 2)
        most = tiny["ceilings"][f"{r['dtype']}, GPU"]
        variant = Variant(**r["variant"]) if r["variant"] else None
        counts = {o.name: o for o in cost(t, r["kernels"], r["dtype"], backend="cupy", variant=variant)}
        least = r["dofs"] / r["elements"] / bound(cost(t, "fused", r["dtype"], backend="cupy"), most)
        assert r["bound"] == pytest.approx(least, **near) and r["share_of_bound"] == pytest.approx(r["best"] / least, **near)
        intensity = r["bytes_per_element_stage"] / r["flops_per_element_stage"]
        assert r["byte_rate"] / r["flop_rate"] == pytest.approx(intensity, **near)
        for o in r["operations"]:
            each = r["elements"] / o["seconds"]
            assert (o["flops"], o["bytes"]) == pytest.approx((counts[o["name"]].flops, counts[o["name"]].bytes), **near)
            assert o["share_of_bandwidth"] == pytest.approx(o["bytes"] * each / most["bandwidth"], **near)
            assert o["share_of_multiply_add"] == pytest.approx(o["flops"] * each / most["multiply_add"], **near)
            assert o["share_of_bound"] == pytest.approx(max(o["share_of_bandwidth"], o["share_of_multiply_add"]), **near)


@pytest.mark.thorough
def test_techniques_are_compared_with_the_variant_in_use(tiny):
    for r in (r for r in tiny["rows"] if r["variant"]):
        here = {"order": r["order"], "dtype": r["dtype"]}
        families = {f["name"]: f for f in tiny["families"] if here.items() <= f.items()}
        times = {tuple(v["variant"].items()): v["seconds"] for v in tiny["variants"] if here.items() <= v.items()}
        assert list(families) == FAMILIES and list(times.values()) == sorted(times.values())
        own = times[tuple(r["variant"].items())]
        for f in families.values():
            assert f["seconds"] == times[tuple(f["variant"].items())]
            assert f["ratio"] == pytest.approx(f["seconds"] / own, rel=1e-4)
        assert [families[name]["kept"] for name in FAMILIES] == [False, True, False]


def test_parts_of_every_variant_are_timed(device):
    tables = tables_of(box(cells=(1, 1, 1)), Maxwell(3), pec, 1)
    for variant in (VARIANTS["library"], VARIANTS["once"]):
        backend = CudaBackend("float32", device)
        found = NodalCuda(backend, tables, variant)
        operator = SimpleNamespace(method=NodalDG(1), backend=backend, tables=tables, shape=(6, 4, 6), operations=found,
                                   state=found.state, zeros=found.zeros, stage=found.stage, kernels="fused", program=None,
                                   dofs=144, unknowns={"q": (6, 4, 6)}, from_list=lambda arrays: arrays[0])
        problem = bench_gpu.DeviceProblem(operator, device)
        names = [o.name for o in problem.counts()]
        assert names == list(problem.parts(0))
        threads, seconds = problem.seconds(names, 1.0, True)
        assert threads is None and list(seconds) == names and all(value > 0 for value in seconds.values())


def test_array_parts_make_a_stage(device):
    """The parts that are timed are those of a stage: together they give the same result."""
    backend = ArrayBackend(device.xp, "float64", "cupy")
    operator = NodalDG(1).discretise(box(cells=(1, 1, 1)), Maxwell(3, sigma=0.5), pec, backend)
    problem = bench_gpu.DeviceProblem(operator, device)
    (q, out), s = problem.states, repeatable(LSRK54.stages[2])
    k = problem.k.get()
    operator.stage(q, out, problem.k, q, 0.0, 1e-9, s)
    expected = out.get(), problem.k.get()
    out[...], problem.k[...] = 0.0, device.xp.asarray(k)
    parts = problem.array_parts(2)
    assert list(parts) == [o.name for o in problem.counts()]
    for part in parts.values():
        part()
    assert np.array_equal(out.get(), expected[0]) and np.array_equal(problem.k.get(), expected[1])


def test_table_has_every_part(tiny):
    text = table(tiny)
    parts = ["emulated GPU", "Ceilings", "a launch takes", "A Runge-Kutta", "F.n - F*", "Variants", "Techniques", "GPU / ",
             "with a CUDA graph", "set-up", "memory of the device"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places) and "…" not in text
    line, r = next(line for line in text.splitlines() if line.startswith("Maxwell 3D N=2, float32 ")), tiny["rows"][0]
    assert f"{r['flops_per_element_stage']:.0f}" in line and f"{r['share_of_bound']:.0%}" in line


def test_comparison(tiny, tmp_path):
    (tmp_path / "then.json").write_text(json.dumps(tiny))
    now = copy.deepcopy(tiny)
    now["rows"][0]["best"] *= 1.25
    now["machine"]["device"] = "another GPU"
    found = compare(now, read(tmp_path / "then.json"))
    assert found["rows"]["Maxwell 3D N=2, float32"]["best"] == pytest.approx(25) and found["setup"] == found["memory"] == 0
    text = table(now | {"comparison": {"with": "then.json"} | found})
    assert "+25.0 %" in text and "device another GPU, then emulated GPU" in text and "…" not in text


def test_command(tmp_path, monkeypatch, capsys):
    """The whole command on the emulated device."""
    from emulated import EmulatedDevice, compiler
    if compiler() is None:
        pytest.skip("there is no C++ compiler to run CUDA C on the CPU")
    monkeypatch.chdir(tmp_path)
    small(monkeypatch)
    whole = backends.get
    monkeypatch.setattr(backends, "get", lambda name="numpy", kernels=None, dtype="float64", threads=None: (
        CudaBackend(dtype, EmulatedDevice()) if name == "cupy" else whole(name, kernels, dtype, threads)))
    assert main(["bench", "--backend", "cupy", "--quick", "--orders", "1", "--dtype", "float32", "--json", "now.json"]) == 0
    results = json.loads(Path("now.json").read_text())
    assert [r["name"] for r in results["rows"]] == ["Maxwell 3D N=1, float32", "Maxwell 3D N=1, float32, array kernels"]
    assert "emulated GPU" in capsys.readouterr().out
    assert main(["bench", "tm_cavity", "--backend", "cupy", "--quick", "--dtype", "float64", "--compare", "now.json"]) == 0
    text = capsys.readouterr().out
    assert "tm_cavity, float64, array kernels" in text and "only in now.json: Maxwell 3D N=1, float32" in text


@pytest.mark.gpu
def test_on_a_gpu(monkeypatch):
    small(monkeypatch)
    found = bench_gpu.bench(quick=True, orders=(2,))
    assert len(found["rows"]) == 4 and all(r["best"] > 0 for r in found["rows"])


@pytest.mark.parametrize("words, text", [
    ("--orders 2", "--orders is for --backend cupy"), ("--dtype float32", "--dtype is for --backend cupy"),
    ("--backend gpu", "backend 'gpu' does not exist"), ("--backend cupy --dtype single", "dtype 'single' does not exist"),
    ("--backend cupy --orders 9-12", "order=11"),
    ("tm_cavity --backend cupy --orders 2", "--orders is for the package's own list")])
def test_options_that_do_not_fit(words, text, capsys):
    assert main(["bench", *words.split()]) == 2
    error = capsys.readouterr().err
    assert text in error and len(error.splitlines()) == 1


@pytest.mark.skipif(backends.gpu_problem() is None, reason="there is a GPU")
def test_without_a_gpu(capsys):
    assert main(["bench", "--backend", "cupy"]) == 2
    shown = capsys.readouterr()
    assert not shown.out and len(shown.err.splitlines()) == 1 and backends.gpu_problem() in shown.err


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("make_gpu_benchmarks", ROOT / "docs" / "make_gpu_benchmarks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_its_script_makes(page):
    text = (ROOT / "docs" / "gpu.md").read_text()
    assert page.made(text, ROOT / "docs" / "benchmarks") == text
    if not page.measured(ROOT / "docs" / "benchmarks"):
        assert "claims no speed" in text and "M DOF/s" not in text


def test_numbers_of_the_paper(page):
    """What can be checked of table 3: microblocks follow from the rule of section 4, but at order 8; a block of the gather has
    N_fp w_p threads, at most 512; the text names the best parameters of differentiation at order 4."""
    def rule(nodes):
        return next(K for K in range(1, 99) if -nodes * K % 16 < nodes * K / 20)
    for order, (K_M, _, differentiation, (_, w_p), _, _) in page.TABLE_3.items():
        nodes, face_nodes = (order + 1) * (order + 2) * (order + 3) // 6, (order + 1) * (order + 2) // 2
        assert (order == 8 or rule(nodes) == K_M) and face_nodes * w_p <= 512
        assert order != 4 or differentiation == (19, 2, 3)
    assert rule(165) == 2 and page.TABLE_3[8][0] == 1


def test_page_without_a_file(page, tmp_path):
    text = page.made(f"head\n{page.BEGIN}old\n{page.END}\ntail\n", tmp_path)
    assert text.startswith("head\n") and text.endswith("\ntail\n") and "old" not in text
    assert "claims no speed" in text and "M DOF/s" not in text and "|  |" not in text
    assert "| 4 | 4 | matrix | (19, 2, 3) | 2, 18 | field | (2, 4, 1) |\n" in text


def test_page_with_a_file(page, tiny, tmp_path):
    made_up = copy.deepcopy(tiny)
    made_up["machine"]["device"] = "Imaginary 1"
    made_up["rows"][0] |= {"best": 12345e6, "median": 12000e6, "flop_rate": 9876e9, "byte_rate": 3210e9, "share_of_bound": 0.61}
    made_up["rows"][2]["best"] = 6172.5e6
    (tmp_path / "imaginary.json").write_text(json.dumps(made_up))
    more = {"rows": [made_up["rows"][0] | {"order": 7, "best": 7e9}], "families": [made_up["families"][0] | {"order": 7}]}
    (tmp_path / "imaginary-7.json").write_text(json.dumps(made_up | more | {"ratios": {}, "scaling": []}))
    (tmp_path / "processor.json").write_text((ROOT / "docs" / "benchmarks" / "cpu-two-cores.json").read_text())
    text = page.made(f"{page.BEGIN}{page.END}", tmp_path)
    assert "## Imaginary 1" in text and "claims" not in text
    assert f"| 2 | 12,345 | 12,000 | 9,876 | 3,210 | 61% | {made_up['rows'][0]['bound_by']} |" in text and "| 2.00 |" in text
    assert "| 7 | 7,000 |" in text and "time, order 7" in text          # measured in parts
    assert text.count("## Imaginary 1") == 1 and text.count("| 2 | 12,345") == 1
    for part in ("Parts in float32", "Techniques in float64", FAMILIES[0], "Spread", "CPU with 1 thread",
                 "times the state"):
        assert part in text
    assert page.made(text, tmp_path) == text
