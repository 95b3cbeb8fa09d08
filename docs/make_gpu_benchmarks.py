"""The tables of gpu.md: numbers of the paper, and ours from the files in benchmarks/ that were measured on a GPU.

    python docs/make_gpu_benchmarks.py

Replaces what stands between the page's two comments.
"""
import json
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).parent
BEGIN, END = "<!-- made by make_gpu_benchmarks.py: begin -->\n", "<!-- made by make_gpu_benchmarks.py: end -->"
ORDERS = range(1, 10)

# Kloeckner et al. 2009, table 3.  order: (K_M, differentiation: shared, (w_p, w_i, w_s), gather: (M_B, w_p), lifting: as
# differentiation)
TABLE_3 = {
    1: (4, "matrix", (6, 2, 3), (4, 28), "field", (4, 2, 1)),
    2: (8, "matrix", (19, 1, 3), (2, 26), "field", (3, 3, 1)),
    3: (4, "matrix", (14, 2, 3), (3, 19), "field", (2, 3, 1)),
    4: (4, "matrix", (19, 2, 3), (2, 18), "field", (2, 4, 1)),
    5: (2, "field", (1, 4, 1), (3, 15), "field", (2, 3, 1)),
    6: (2, "field", (1, 4, 1), (1, 4), "field", (2, 4, 1)),
    7: (2, "field", (2, 4, 1), (2, 8), "field", (2, 3, 1)),
    8: (1, "field", (2, 4, 1), (1, 1), "field", (2, 4, 1)),
    9: (1, "field", (2, 4, 1), (1, 2), "field", (2, 4, 1)),
}
# Speed-up over one core of a 3 GHz Core2 Duo E8400 with ATLAS, section 6; of the other orders it says 24 to 57.
SPEED_UPS = {3: 48, 4: 57}
NOTHING = """None of our kernels has run on GPU hardware yet, so this page claims no speed. The tables appear here once a file
made by the command above is in `docs/benchmarks/`.
"""


def table(head, rows):
    """A table of Markdown; cells are texts, numbers or None for an empty one."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |" for line in lines) + "\n"


def per(value, unit=1e6):
    """A rate in millions, or in other units."""
    return None if value is None else f"{value / unit:,.0f}" if value >= 100 * unit else f"{value / unit:.3g}"


def percent(value):
    return None if value is None else f"{value:.0%}"


def times(value):
    return None if value is None else f"{value:.2f}"


def row_of(results, order, dtype, kernels="fused"):
    """The row of an order, a dict; an empty one where there is none."""
    rows = results["rows"] if results else []
    return next((r for r in rows if (r["order"], r["dtype"], r["kernels"]) == (order, dtype, kernels)), {})


def speed(results, dtype):
    """Figure 8: rates over the order, beside the paper's speed-up and, in float64, what float32 gains."""
    single = dtype == "float32"
    head = ["order", "M DOF/s", "median", "GFLOP/s", "GB/s", "of the bound", "bound by", "array kernels, M DOF/s",
            "paper: GPU over one core" if single else "float32 over float64"]
    units, rows = {"best": 1e6, "median": 1e6, "flop_rate": 1e9, "byte_rate": 1e9}, []
    for order in ORDERS:
        r, a = row_of(results, order, dtype), row_of(results, order, dtype, "array")
        if not r and not a:
            continue
        other = row_of(results, order, "float32").get("best")
        last = SPEED_UPS.get(order) if single else times(other / r["best"]) if other and r else None
        rates = (per(r.get(name), unit) for name, unit in units.items())
        rows.append([order, *rates, percent(r.get("share_of_bound")), r.get("bound_by"), per(a.get("best")), last])
    return table(head, rows)


def choices(results):
    """Table 3: the paper's parameters and, with results, our variants in float32."""
    head = ["order", "K_M", "differentiation: shared", "(w_p, w_i, w_s)", "gather: M_B, w_p", "lifting: shared",
            "(w_p, w_i, w_s)"]
    names = ("faces", "product", "lanes", "rows", "chunk", "field", "matrix", "width") if results else ()
    if results:
        head += ["ours, float32: faces", "product", "elements a block", "nodes a thread", "nodes at a time", "field", "matrix",
                 "microblock"]
    rows = []
    for order, (K_M, d_shared, d, gather, l_shared, lift) in TABLE_3.items():
        variant = row_of(results, order, "float32").get("variant") or {}
        rows.append([order, K_M, d_shared, d, "{}, {}".format(*gather), l_shared, lift, *(variant.get(name) for name in names)])
    return table(head, rows)


def parts(results, dtype):
    """Figures 9 and 10 (a): the array kernels, whose parts are the paper's, and fused kernels where there are several."""
    rows = []
    for r in results["rows"]:
        if r["dtype"] == dtype and len(r["operations"]) > 1:
            whole = sum(o["seconds"] for o in r["operations"])
            rows += [[r["order"], r["kernels"], o["name"], percent(o["seconds"] / whole),
                      per(o["flops"] * r["elements"] / o["seconds"], 1e9), per(o["bytes"] * r["elements"] / o["seconds"], 1e9),
                      percent(o["share_of_multiply_add"]), percent(o["share_of_bandwidth"])] for o in r["operations"]]
    return table(["order", "kernels", "part", "of the time", "GFLOP/s", "GB/s", "of the arithmetic rate",
                  "of the copy bandwidth"], rows)


def techniques(results, dtype):
    """Figure 11 (a) and more: what each technique does to the time, and whether it is used."""
    families = [f for f in results.get("families", []) if f["dtype"] == dtype]
    orders = sorted({f["order"] for f in families})
    rows = []
    for name in dict.fromkeys(f["name"] for f in families):
        own = {f["order"]: f for f in families if f["name"] == name}
        kept = [order for order in orders if order in own and own[order]["kept"]]
        source = next(iter(own.values()))["source"]
        rows.append([name, source, *(times(own[order]["ratio"]) if order in own else None for order in orders),
                     "at all orders" if kept == orders else "no" if not kept else f"at {', '.join(map(str, kept))}"])
    return table(["technique", "source", *(f"time, order {order}" for order in orders), "kept"], rows)


def spread(results, dtype):
    """Figure 10 (b): how much the choice matters."""
    rows = []
    for order in ORDERS:
        seconds = [v["seconds"] for v in results.get("variants", []) if (v["order"], v["dtype"]) == (order, dtype)]
        if seconds:
            rows.append([order, len(seconds), times(median(seconds) / min(seconds)), times(max(seconds) / min(seconds))])
    return table(["order", "variants", "median over best", "worst over best"], rows)


def once(results):
    """CPU, small meshes, set-up, memory: texts."""
    if results.get("ratios"):
        yield table(["the same problem on the CPU", "GPU over CPU, best", "median"],
                    [[name.removeprefix("GPU / "), f"{r['best']:.1f}", f"{r['median']:.1f}"]
                     for name, r in results["ratios"].items()])
    if results.get("scaling"):
        s = results["scaling"][0]
        yield table([f"elements, order {s['order']} in {s['dtype']}", "M DOF/s, a step as one CUDA graph", "launch by launch"],
                    [[s["elements"], f"{s['graph'] / 1e6:,.4g}", f"{s['launches'] / 1e6:,.4g}"] for s in results["scaling"]])
    if {"setup", "memory"} <= set(results):
        s, m = results["setup"], results["memory"]
        yield (f"Set-up of {s['elements']} tetrahedra at order {s['order']} in {s['dtype']}: {s['total']:.2f} s. Memory on the "
               f"device: {m['ratio']:.2f} times the state.\n")


def section(results):
    """All tables of one file, or with None the paper's choices alone."""
    if results is None:
        return "\n".join(["## Our numbers\n", NOTHING, "## Choices of the paper (table 3)\n", choices(None)])
    m = results["machine"]
    c = [f"{dtype}: copy {limits['bandwidth'] / 1e9:,.0f} GB/s, multiply-add {limits['multiply_add'] / 1e9:,.0f} GFLOP/s"
         for dtype, limits in results["ceilings"].items() if "launch" in limits]
    lines = [f"## {m['device']}\n", f"In a machine with {m['processor']}, {m['cores']} cores. Ceilings, {'; '.join(c)}.\n"]
    dtypes = [dtype for dtype in ("float32", "float64") if any(r["dtype"] == dtype for r in results["rows"])]
    for dtype in dtypes:
        lines += [f"### Speed in {dtype}{' (figure 8)' if dtype == 'float32' else ''}\n", speed(results, dtype)]
    lines += ["### Choices (table 3)\n", choices(results)]
    for dtype in dtypes:
        lines += [f"### Parts in {dtype} (figures 9 and 10 a)\n", parts(results, dtype),
                  f"### Techniques in {dtype} (figure 11 a)\n",
                  "Time of the best variant of a family over that of the variant used.\n", techniques(results, dtype),
                  f"### Spread of the variants in {dtype} (figure 10 b)\n", spread(results, dtype)]
    if {"ratios", "scaling", "setup"} & set(results):
        lines += ["### CPU, small meshes (figure 11 b), set-up and memory\n", *once(results)]
    return "\n".join(lines)


def measured(folder):
    """The results of that folder which were measured on a GPU, one for each device: files of parts are put together."""
    found = {}
    for path in sorted(Path(folder).glob("*.json")):
        results = json.loads(path.read_text())
        if "device" in results["machine"]:
            name = results["machine"]["device"]
            found[name] = together(found[name], results) if name in found else results
    return list(found.values())


def together(first, second):
    """Two results as one: lists one after the other, dicts of both; where both have a number, that of the first."""
    if isinstance(first, dict):
        return second | {key: together(value, second[key]) if key in second else value for key, value in first.items()}
    return first + [entry for entry in second if entry not in first] if isinstance(first, list) else first


def made(page, folder):
    """The text of the page with tables made from the files of a folder."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + "\n".join(section(results) for results in measured(folder) or [None]) + "\n" + END + after


if __name__ == "__main__":
    page = FOLDER / "gpu.md"
    page.write_text(made(page.read_text(), FOLDER / "benchmarks"))
