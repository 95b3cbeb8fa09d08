"""The tables of hermite.md: speed of Hermite's method on a CPU, beside what the paper says.

    python docs/make_hermite_benchmarks.py measure
    python docs/make_hermite_benchmarks.py

The first measures and keeps the numbers in hermite.json (with --quick on tiny grids, to see that it runs), then both
replace what stands between the page's two comments.
"""
import json
import sys
from pathlib import Path

from make_modal_benchmarks import NOTHING, between, table

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "hermite.json"
BEGIN, END = "<!-- made by make_hermite_benchmarks.py: begin -->\n", "<!-- made by make_hermite_benchmarks.py: end -->"
PAPER = {"monolithic": (2.09, 13.77, 36.17), "two-kernel": (2.42, 13.77, 37.23)}          # s, table 1, N = 1, 2, 3


def times(results):
    """Table 1."""
    rows = []
    for variant in dict.fromkeys(row["variant"] for row in results["table1"]):
        ours = [f"{row['best']:.3g} ({row['median']:.3g})" for row in results["table1"] if row["variant"] == variant]
        rows.append([variant, *ours, *PAPER.get(variant, (None,) * 3)])
    return table(["variant", *(f"N = {N}, s" for N in (1, 2, 3)), *(f"paper, N = {N}, s" for N in (1, 2, 3))], rows)


def stages(results):
    """Figure 4, a line for each N."""
    rows = []
    for order in dict.fromkeys(row["order"] for row in results["figure4"]):
        of = [row for row in results["figure4"] if row["order"] == order]
        rows.append([order, ", ".join(f"{row['stages']}: {row['updates'] / 1e6:.0f}" for row in of),
                     ", ".join(f"{row['flops'] / 1e9:.0f}" for row in of)])
    return table(["N", "stages: M DOF/s", "GFLOP/s"], rows)


def roofline(results):
    """Figure 5."""
    rows = [[row["order"], row.get("law", "Advection").lower(), row["kernel"],
             f"{row['flops'] / row['bytes']:.1f}", f"{row['flops'] / row['seconds'] / 1e9:.0f}",
             f"{row['flops'] / row['bound'] / 1e9:.0f}", f"{row['bound'] / row['seconds']:.0%}",
             f"{row['paper flops'] / row['flops']:.1f}" if "paper flops" in row else "",
             f"{row['paper bound'] / row['seconds']:.0%}" if "paper bound" in row else ""]
            for row in results["figure5"] if row.get("pruned", True)]
    return table(["N", "law in 3D", "kernel", "operations a byte", "GFLOP/s", "bound, GFLOP/s", "share",
                  "paper's operations over these", "share by the paper's"], rows)


def pruning(results):
    """What pruning saves."""
    kernels = {"two-kernel": "evolution", "monolithic": "monolithic"}
    rows = [[row["order"], kernels[row.get("variant", "two-kernel")], f"{1e3 * row['not pruned']:.3g}",
             f"{1e3 * row['pruned']:.3g}", f"{row['saved']:.0%}", f"{row['median']:.0%}"] for row in results["pruning"]]
    return table(["N", "kernel", "all coefficients, ms", "pruned, ms", "saved, of the best", "median"], rows)


def section(results):
    """All tables."""
    machine, most = results["machine"], results["ceilings"]
    return "\n".join([
        f"Measured on {machine['processor']}, {machine['threads']} threads, float32, 3D advection in a periodic box; of the "
        "best step (of the median in brackets). In the same run matrix products reached "
        f"{most['multiply_add'] / 1e9:.0f} GFLOP/s and copies {most['bandwidth'] / 1e9:.0f} GB/s.\n",
        "### Time to solution (table 1)\n",
        f"{results['steps']} steps on {results['points']} points a side, by at least three steps taken; the paper's times are "
        "those of an NVIDIA GTX 980.\n", times(results),
        "### Rate against the number of stages (figure 4)\n",
        f"The monolithic variant, pruned, {results['cells']} cells a side; the last of each N are all.\n",
        stages(results),
        "### Roofline (figure 5)\n",
        "Operations over bytes that must be moved, the bound by matrix products and copies, and the share of it: of the "
        "operations done, and of all those of the paper's algorithm, which leaves nothing out (see above). All kernels are "
        "pruned.\n",
        roofline(results),
        "### Pruning\n",
        "3D acoustics, the kernels with the recursion, a half-step with and without pruning alternately, both with two stages "
        "at once.\nThe evolution of two kernels reads interpolants from memory, pruned or not, which is most of its time: what "
        "pruning saves there\nis hidden behind it.\n", pruning(results)])


def made(page, results):
    """The text of the page with tables made from results, or without any where there are none."""
    return between(page, BEGIN, END, section(results) if results else NOTHING)


if __name__ == "__main__":
    if "measure" in sys.argv:
        from dgarray.bench.hermite import measure
        RESULTS.write_text(json.dumps(measure("--quick" in sys.argv, lambda line: print(line, flush=True)), indent=1) + "\n")
    PAGE = FOLDER / "hermite.md"
    PAGE.write_text(made(PAGE.read_text(), json.loads(RESULTS.read_text()) if RESULTS.exists() else None))
