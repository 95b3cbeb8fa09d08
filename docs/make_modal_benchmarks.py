"""The tables of modal-dg.md: where the time of modal DG goes on a CPU, beside what the paper says.

    python docs/make_modal_benchmarks.py measure
    python docs/make_modal_benchmarks.py

The first measures and keeps the numbers in modal-dg.json (with --quick on tiny meshes, to see that it runs), then
both replace what stands between the page's two comments.
"""
import json
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "modal-dg.json"
BEGIN, END = "<!-- made by make_modal_benchmarks.py: begin -->\n", "<!-- made by make_modal_benchmarks.py: end -->"
PARTS = "volume", "edges", "right-hand side", "limiter", "look"
NOTHING = "Nothing has been measured yet.\n"
FLAT = 0.25          # how much the cost of a DOF update may vary from the smallest to the largest mesh


def table(head, rows):
    """A table of Markdown; cells are texts, numbers or None for an empty one."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |" for line in lines) + "\n"


def shares(results):
    """Figure 11: the share of each kernel in a step."""
    rows = []
    for row in results["shares"]:
        whole = sum(row["seconds"].values())
        parts = (row["seconds"].get(part) for part in PARTS)
        updates = f"{1e9 * whole / row['updates']:.2f}"
        rows.append([f"{row['order']}{', limited' if row['limiter'] else ''}",
                     *(None if part is None else f"{part / whole:.0%}" for part in parts), updates])
    return table(["order", *PARTS, "ns a DOF update"], rows)


def limiter(results):
    """Section 7.2: a step with and without the limiter."""
    rows = [[f"{row['elements']:,}", *(f"{1e3 * row[name]:.3g}" for name in ("off", "on")),
             *(f"{row[name] - 1:+.0%}" for name in ("best", "median"))] for row in results["limiter"]]
    return table(["triangles", "a step, ms", "limited, ms", "slower, of the best", "median"], rows)


def sizes(results):
    """Cost of a DOF update over the size of the mesh."""
    squares = results["sizes"][0]["rows"]
    rows = []
    for row in results["sizes"]:
        best = [r["best"] for r in row["rows"]]
        rows.append([row["order"], *(f"{1e9 * value:.2f}" for value in best), f"{max(best) / min(best) - 1:.0%}"])
    return table(["order", *(f"{r['elements']:,}" for r in squares), "largest over least"], rows)


def surfaces(results):
    """Both ways over the faces."""
    kinds = {2: "triangles", 3: "tetrahedra"}
    rows = [[f"{row['elements']:,} {kinds[row['dim']]}, {row['dtype']}", row["order"],
             *(f"{row[name] / 1e6:.0f}" for name in ("by elements", "by edges")), f"{row['best']:.2f}", f"{row['median']:.2f}"]
            for row in results["surfaces"]]
    return table(["mesh", "order", "by elements, M DOF/s", "by edges", "edges over elements, best", "median"], rows)


def section(results):
    """All tables of one file."""
    machine, mesh = results["machine"], results["shares"][0]["elements"]
    costs = [[r["best"] for r in row["rows"]] for row in results["sizes"]]
    flat = all(max(cost) <= (1 + FLAT) * min(cost) for cost in costs)
    return "\n".join([
        f"Measured on {machine['processor']}, {machine['threads']} threads; times are the least of several steps of RK4.\n",
        "### Share of each kernel (figure 11)\n",
        f"Supersonic vortex on {mesh:,} triangles (mesh E has 46,080), one thread; the limiter is Barth's and Jespersen's.\n",
        shares(results),
        "### Cost of the limiter (section 7.2)\n",
        "Supersonic vortex at order 1, steps with and without the limiter, timed alternately.\n", limiter(results),
        "### Cost of a DOF update over the size of the mesh\n",
        "Euler on periodic triangles, nanoseconds of a DOF update; "
        + (f"all within {FLAT:.0%}.\n" if flat else f"not all are within {FLAT:.0%}.\n"), sizes(results),
        "### By edges and by elements\n", "Euler, Rusanov's flux, periodic, timed alternately.\n", surfaces(results)])


def made(page, results):
    """The text of the page with tables made from results, or without any where there are none."""
    return between(page, BEGIN, END, section(results) if results else NOTHING)


def between(page, begin, end, text):
    """The page with the text between two comments."""
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return before + begin + "\n" + text + "\n" + end + after


if __name__ == "__main__":
    if "measure" in sys.argv:
        from dgarray.bench.modal import measure
        RESULTS.write_text(json.dumps(measure("--quick" in sys.argv, lambda line: print(line, flush=True)), indent=1) + "\n")
    PAGE = FOLDER / "modal-dg.md"
    PAGE.write_text(made(PAGE.read_text(), json.loads(RESULTS.read_text()) if RESULTS.exists() else None))
