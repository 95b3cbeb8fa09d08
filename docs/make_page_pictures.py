"""The pictures that explain something on a page: `python docs/make_page_pictures.py [NAME ...]`, all in a minute."""
import re
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dgarray as dg
from dgarray.stepping import STEPPERS, amplification

DOCS = Path(__file__).parent
DPI = 110


def axes(width=6.4, height=2.8, columns=1):
    return Figure(figsize=(width, height), layout="compressed").subplots(1, columns)


def elements():
    """Polynomials of two orders on six intervals: they jump at faces, and the jump falls with the order."""
    panels = axes(columns=2)

    def bump(x):
        return (np.exp(-60 * (x[0] - 0.45) ** 2),)

    for ax, order in zip(panels, (1, 3)):
        mesh = dg.interval(0, 1, 6, periodic=True)
        ds = dg.Simulation(mesh, dg.Advection((1.0,)), dg.NodalDG(order), initial=bump, until=0.01, kernels="array").run()
        fine = np.linspace(0, 1, 400)
        ax.plot(fine, bump((fine,))[0], color="0.7", linewidth=4, label="initial state")
        for x, u in zip(ds.x.values, ds.u.values[0]):
            inside = np.linspace(x.min(), x.max(), 40)
            ax.plot(inside, np.polynomial.Polynomial.fit(x, u, order)(inside), color="C0")
            ax.plot(x, u, "o", color="C0", markersize=4)
        for face in np.linspace(0, 1, 7):
            ax.axvline(face, color="0.85", linewidth=0.8, zorder=0)
        ax.set(title=f"NodalDG(order={order})", xlabel="x", ylim=(-0.25, 1.15))
    return panels[0].figure


def stability():
    """Where |R(z)| <= 1 for the steppers, and dt times the eigenvalues of upwind advection at order 3 with the largest step."""
    ax = axes(4.8, 3.6)
    re_, im = np.meshgrid(np.linspace(-6, 1, 300), np.linspace(-5, 5, 300))
    for number, name in enumerate(("lsrk54", "rk4", "ssp33", "rk2")):
        size = abs(amplification(STEPPERS[name], re_ + 1j * im))
        ax.contour(re_, im, size, levels=[1.0], colors=f"C{number}")
        ax.plot([], [], color=f"C{number}", label=name)
    mesh, method = dg.interval(0, 1, 12, periodic=True), dg.NodalDG(3)
    sim = dg.Simulation(mesh, dg.Advection((1.0,)), method, initial=lambda x: (np.sin(2 * np.pi * x[0]),), until=1e-9, cfl=1.0,
                        kernels="array")
    q = sim.project()
    columns = np.eye(q.size)
    A = np.column_stack([sim.rhs(column.reshape(q.shape), 0.0).ravel() for column in columns])
    values = np.linalg.eigvals(A)
    scales = np.linspace(0.001, 1, 4000)
    stable = [s for s in scales if np.all(abs(amplification(STEPPERS["lsrk54"], s * values)) <= 1 + 1e-9)]
    z = max(stable) * values
    ax.plot(z.real, z.imag, ".", color="black", markersize=3, label="dt times eigenvalues")
    ax.set(xlabel="Re", ylabel="Im", aspect="equal")
    ax.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return ax.figure


def methods():
    """Error over evaluations, from the table of which-method.md."""
    ax, families = axes(5.6, 3.4), ["FiniteVolume", "NodalDG", "TensorDG", "Hermite"]
    row = re.compile(r"^\| (`.*`) \| .* \| [\d,]+ \| \d+ \| (\d+) \| ([\d.e-]+) \|$", re.M)
    for name, evaluations, error in row.findall((DOCS / "which-method.md").read_text()):
        color = f"C{families.index(name.strip('`').partition('(')[0])}"
        ax.loglog(int(evaluations), float(error), "o", color=color)
        place = {"textcoords": "offset points", "xytext": (-5, -11) if "weno" in name else (5, 3)}
        ax.annotate(name.split("`")[1], (int(evaluations), float(error)), fontsize="x-small", **place,
                    ha="right" if "weno" in name else "left")
    ax.set(xlabel="evaluations of the right-hand side", ylabel="L2 error", xlim=(20, 4000))
    ax.grid(color="0.92")
    return ax.figure


def layers():
    """What comes back of a pulse into a square over time: energy of the difference from a run whose boundary is far away."""
    ax, inside = axes(5.6, 3.2), dg.rectangle((-1, -1), (1, 1), cells=8, shape="quadrilateral")
    places = np.array([(x, y) for x in np.linspace(-0.93, 0.93, 20) for y in np.linspace(-0.93, 0.93, 20)])

    def spot(x):
        return 0.0, 0.0, np.exp(-20 * (x[0] ** 2 + x[1] ** 2))

    def fields(mesh, condition):
        ds = dg.Simulation(mesh, dg.Maxwell(2), dg.TensorDG(3), condition, spot, until=5.0, dt=0.01,
                           record={"inside": dg.Points(places, 5)}).run()
        return ds.dg.record("inside")

    def energy(record):
        return sum((record[name] ** 2).mean("point") for name in ("Hx", "Hy", "Ez"))

    far = fields(dg.rectangle((-4, -4), (4, 4), cells=32, shape="quadrilateral"), dg.pec)
    for label, mesh, condition in (("dg.pec", inside, dg.pec), ("dg.absorbing", inside, dg.absorbing),
                                   ("3 cells of layer", dg.pml(inside, 0.75, 3), dg.pec),
                                   ("10 cells of layer", dg.pml(inside, 2.5, 10), dg.pec)):
        ax.semilogy(far.time, energy(fields(mesh, condition) - far) / energy(far)[0], label=label)
    ax.set(xlabel="t", ylabel="energy that came back", ylim=(1e-12, 3))
    ax.legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.grid(color="0.92")
    return ax.figure


def half_steps():
    """Nodes and centres of cells that Hermite's method computes in turn."""
    ax = axes(5.0, 2.4)
    for level, (x, color, label) in enumerate(((np.arange(5), "C0", "nodes"), (np.arange(4) + 0.5, "C1", "centres"),
                                               (np.arange(5), "C0", None))):
        ax.plot(x, np.full(len(x), level / 2), "o", color=color, label=label)
        if level:
            for point in x:
                for side in (-0.5, 0.5):
                    if 0 <= point + side <= 4:
                        ax.annotate("", (point, level / 2 - 0.04), (point + side, level / 2 - 0.46),
                                    arrowprops={"arrowstyle": "->", "color": "0.6"})
    ax.set(xlabel="x / h", ylabel="t / dt", xticks=range(5), yticks=(0, 0.5, 1), xlim=(-0.5, 6))
    ax.legend(loc="center right", fontsize="small", frameon=False)
    return ax.figure


PICTURES = {"elements": elements, "stability": stability, "methods": methods, "layers": layers, "half_steps": half_steps}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]().savefig(DOCS / "pictures" / f"{name}.png", dpi=DPI)
