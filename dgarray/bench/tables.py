"""The results of `dgarray bench` as text for a person."""
from rich.table import Table

from ..output.report import rendered
from .compare import one


def table(results):
    """The text: ceilings, then every row and its operations, then what was measured once.

    results: of `dgarray.bench.cpu.bench`; if it has an entry "comparison", of `dgarray.bench.compare.compare`, each row has
    columns with the changes in per cent"""
    m, compared = results["machine"], results.get("comparison")
    parts = [f"{m['processor']}, {m['cores']} cores, Python {m['python']}, NumPy {m['numpy']}, numba {m['numba']}", "",
             "Ceilings of this machine", rendered(ceiling_table(results, compared)), "",
             "A Runge-Kutta stage: time, bound and share of the bound; operations and bytes per element; million DOF/s",
             rendered(row_table(results, compared)), *failures(results)]
    for lines in (list(single(results, compared or {})), list(notes(compared)) if compared else [], results.get("remarks", [])):
        parts += ["", *lines] if lines else []
    return "\n".join(parts)


def columns(names, left=(), narrow=False):
    """An empty table. Columns are right-aligned but for '' and those in `left`; if narrow, one space is between them."""
    found = Table(box=None, pad_edge=False, collapse_padding=bool(narrow))
    for name in names:
        found.add_column(name, justify="left" if name in ("", *left) else "right", no_wrap=True)
    return found


def change(value):
    """Text of a change in per cent, with its sign; empty for None."""
    return "" if value is None else f"{value:+.1f} %"


def ceiling_table(results, compared):
    """The ceilings, with their changes in a comparison (`compared`: None or the comparison)."""
    found = columns(["", "copy GB/s", *["change"] * bool(compared), "product GFLOP/s",
                     *["change"] * bool(compared)])
    for name, c in results["ceilings"].items():
        before = compared["ceilings"].get(name, {}) if compared else {}
        texts = []
        for key in ("bandwidth", "multiply_add"):
            texts += [f"{c[key] / 1e9:.1f}", *[change(before.get(key))] * bool(compared)]
        found.add_row(one(name), *texts)
    return found


def row_table(results, compared):
    """The rows and, indented below each, its operations; with changes in a comparison."""
    rates = ["best", "change", "median", "change"] if compared else ["best", "median", "target"]
    found = columns(["", "ms", "bound", "share", *["then"] * bool(compared), "by", "flop", "bytes", "GFLOP/s", *rates],
                    ["by"], narrow=compared)
    for r in results["rows"]:
        seconds = r["dofs"] / r["best"]
        before = compared["rows"].get(r["name"], {}) if compared else {}
        then = [f"{before['share_of_bound']:.0%}" if before else ""] * bool(compared)
        best, middle = (f"{r[name] / 1e6:.1f}" for name in ("best", "median"))
        rates = ([best, change(before.get("best")), middle, change(before.get("median"))] if compared
                 else [best, middle, f"{r['target'] / 1e6:.0f}" if r["target"] else ""])
        found.add_row(r["name"], *cells(seconds, r["dofs"] / r["bound"], then, r["bound_by"], r["flops_per_element_stage"],
                                        r["bytes_per_element_stage"], r["elements"]), *rates)
        for o in r["operations"] if len(r["operations"]) > 1 else []:
            found.add_row(f"  {o['name']}, {o['threads']} thread{'s' * (o['threads'] > 1)}",
                          *cells(o["seconds"], o["bound_seconds"], [""] * bool(compared), o["bound_by"], o["flops"],
                                 o["bytes"], r["elements"]),
                          *(["", change(before.get("operations", {}).get(o["name"]))] if compared else []))
    return found


def cells(seconds, least, then, by, flops, size, elements):
    """Texts of the columns from "ms" to "GFLOP/s"; least: seconds of the bound;  then: texts of the column after "share"."""
    return [f"{seconds * 1e3:.3g}", f"{least * 1e3:.3g}", f"{least / seconds:.0%}", *then, by, f"{flops:.0f}", f"{size:.0f}",
            f"{flops * elements / seconds / 1e9:.1f}"]


def single(results, compared):
    """Lines on the paper's algorithm for Hermite's method, ratios, set-up and memory."""
    def beside(name):
        return f" ({change(compared[name])})" if name in compared else ""
    for r in results["rows"]:
        if "paper" in r:
            paper = r["paper"]
            yield (f"{r['name']}: {r['share_of_bound']:.0%} of the bound by the operations done, {paper['share_of_bound']:.0%} "
                   f"by those of the paper's algorithm ({r['flops_per_element_stage']:.0f} and "
                   f"{paper['flops_per_element_stage']:.0f} per cell)")
    for name, r in results.get("ratios", {}).items():
        target = f" (target {r['target']})" if r["target"] else ""
        yield (f"{name}: {r['best']:.2f} of the best, {r['median']:.2f} median, {r['least']:.2f} least of {r['pairs']} "
               f"pairs{target}")
    if "setup" in results:
        s = results["setup"]
        yield (f"set-up of {s['elements']} tetrahedra at order 3: {s['total']:.2f} s{beside('setup')} (mesh {s['mesh']:.2f}, "
               f"discretisation {s['discretise']:.2f}, projection {s['project']:.2f})")
    if "memory" in results:
        s = results["memory"]
        largest = ", ".join(f"{name} {size:.2f}" for name, size in list(s["largest"].items())[:6])
        yield f"memory of a fused run at order 3: {s['ratio']:.2f} times the state{beside('memory')}; {largest}"


def failures(results):
    """Lines on the parts that raised an error instead of giving numbers."""
    for part in results.get("failed", []):          # files of earlier versions have none
        yield f"failed: {part['name']}: {part['error']}"
    if "stopped" in results:
        yield results["stopped"]


def notes(compared):
    """Lines with the notes of a comparison and the rows that only one result has."""
    yield f"compared with {compared['with']}: a change of a rate above 0 % is faster"
    for key, where in (("only_now", "only in this result"), ("only_then", f"only in {compared['with']}")):
        if compared[key]:
            yield f"{where}: {'; '.join(compared[key])}"
    yield from compared["notes"]
