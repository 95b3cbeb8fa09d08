"""The results of `dgarray bench --backend cupy` as text for a person."""
from ..output.report import rendered
from .tables import ceiling_table, change, columns, failures, notes


def table(results):
    """The text: ceilings, every row and its operations, the variants used, the families of variants, what was measured once.

    results: of `dgarray.bench.gpu.bench`; an entry "comparison" is as for `dgarray.bench.tables.table`"""
    m, compared = results["machine"], results.get("comparison")
    titles = {"driver": "driver", "cuda": "CUDA", "nvrtc": "NVRTC", "cupy": "CuPy", "numba_cuda": "numba-cuda"}
    versions = [f"{title} {m[name]}" for name, title in titles.items() if m.get(name)]
    parts = [", ".join([m["device"], f"compute capability {m['capability']}", f"{m['multiprocessors']} multiprocessors"]),
             ", ".join([*versions, m["processor"], f"{m['cores']} cores", f"Python {m['python']}", f"NumPy {m['numpy']}"]), "",
             "Ceilings", rendered(ceiling_table(results, compared)), *launches(results), "",
             "A Runge-Kutta stage: time; share of the bound of one kernel, of operations that of their own; operations and",
             "bytes per element; shares of the copy bandwidth and of the arithmetic rate; million DOF/s",
             rendered(row_table(results, compared)), *failures(results)]
    if any(r["variant"] for r in results["rows"]):
        parts += ["", "Variants of the fused kernels", rendered(variant_table(results["rows"]))]
    for dtype in dict.fromkeys(f["dtype"] for f in results.get("families", [])):
        parts += ["", f"Techniques at orders in {dtype}: time of the best variant of a family over that of the variant used,",
                  "* where this is one of the family, - where none works",
                  rendered(family_table([f for f in results["families"] if f["dtype"] == dtype]))]
    for lines in (list(single(results, compared or {})), list(notes(compared)) if compared else []):
        parts += ["", *lines] if lines else []
    return "\n".join(parts)


def launches(results):
    """Lines on the time of a launch."""
    for name, c in results["ceilings"].items():
        if "launch" in c:
            yield f"{name}: a launch takes {c['launch'] * 1e6:.2f} us, one in a CUDA graph {c['graph'] * 1e6:.2f} us"


def row_table(results, compared):
    """Rows and their operations; in a comparison the columns of changes replace those of operations and bytes."""
    counts = ["change", "median", "change", "then"] if compared else ["flop", "bytes"]
    found = columns(["", "ms", "share", "by", *([] if compared else counts), "GFLOP/s", "GB/s", "copy", "arith.", "best",
                     *(counts if compared else [])], ["by"], narrow=True)
    for r in results["rows"]:
        most = results["ceilings"][f"{r['dtype']}, GPU"]
        before = compared["rows"].get(r["name"], {}) if compared else {}
        counted = [f"{r['flops_per_element_stage']:.0f}", f"{r['bytes_per_element_stage']:.0f}"]
        then = [change(before.get("best")), f"{r['median'] / 1e6:.0f}", change(before.get("median")),
                f"{before['share_of_bound']:.0%}" if before else ""]
        found.add_row(r["name"], f"{r['dofs'] / r['best'] * 1e3:.3g}", f"{r['share_of_bound']:.0%}", r["bound_by"],
                      *([] if compared else counted), f"{r['flop_rate'] / 1e9:.0f}", f"{r['byte_rate'] / 1e9:.0f}",
                      f"{r['byte_rate'] / most['bandwidth']:.0%}", f"{r['flop_rate'] / most['multiply_add']:.0%}",
                      f"{r['best'] / 1e6:.0f}", *(then if compared else []))
        for o in r["operations"] if len(r["operations"]) > 1 else []:
            each = r["elements"] / o["seconds"]
            changed = ["", "", "", change(before.get("operations", {}).get(o["name"])), ""]
            found.add_row(f"  {o['name']}", f"{o['seconds'] * 1e3:.3g}", f"{o['share_of_bound']:.0%}", o["bound_by"],
                          *([] if compared else [f"{o['flops']:.0f}", f"{o['bytes']:.0f}"]), f"{o['flops'] * each / 1e9:.0f}",
                          f"{o['bytes'] * each / 1e9:.0f}", f"{o['share_of_bandwidth']:.0%}",
                          f"{o['share_of_multiply_add']:.0%}", *(changed if compared else []))
    return found


def variant_table(rows):
    """The variant of each row that has one; columns are the choices of all methods."""
    chosen = {r["name"]: r["variant"] for r in rows if r["variant"]}
    names = list(dict.fromkeys(choice for variant in chosen.values() for choice in variant))
    found = columns(["", *names], [name for name in names for variant in chosen.values() if isinstance(variant.get(name), str)])
    for name, variant in chosen.items():
        found.add_row(name, *(str(variant.get(choice, "")) for choice in names))
    return found


def family_table(families):
    """The families of one dtype: a row for each family, a column for each order."""
    orders = list(dict.fromkeys(f["order"] for f in families))
    of = {(f["name"], f["order"]): ratio(f) for f in families}
    found = columns(["", *map(str, orders)])
    for name in dict.fromkeys(f["name"] for f in families):
        found.add_row(name, *(of.get((name, order), "") for order in orders))
    return found


def ratio(family):
    """Text of the ratio of a family's best time to that of the variant used; * if that variant is in the family."""
    return "-" if family["ratio"] is None else f"{family['ratio']:.2f}{'*' if family['kept'] else ''}"


def single(results, compared):
    """Lines on the CPU, small meshes, set-up and memory."""
    def beside(name):
        return f" ({change(compared[name])})" if name in compared else ""
    for name, r in results.get("ratios", {}).items():
        target = f" (target {r['target']:.0f})" if r["target"] else ""
        yield f"{name}: {r['best']:.1f} times as fast at best, {r['median']:.1f} median{target}"
    for s in results.get("scaling", []):
        yield (f"{s['elements']} elements at order {s['order']} in {s['dtype']}: {s['graph'] / 1e6:.4g} million DOF/s "
               f"with a CUDA graph, {s['launches'] / 1e6:.4g} launch by launch")
    if "setup" in results:
        s = results["setup"]
        yield (f"set-up of {s['elements']} tetrahedra at order {s['order']} in {s['dtype']}: {s['total']:.2f} s"
               f"{beside('setup')} (mesh {s['mesh']:.2f}, discretisation {s['discretise']:.2f}, kernels and arrays on the "
               f"device {s['device']:.2f}, first step {s['first_step']:.2f})")
    if "memory" in results:
        s = results["memory"]
        largest = ", ".join(f"{name} {size:.2f}" for name, size in list(s["largest"].items())[:6])
        yield (f"memory of the device at order {s['order']} in {s['dtype']}: {s['ratio']:.2f} times the state"
               f"{beside('memory')}; {largest}")
