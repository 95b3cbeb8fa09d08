"""Pictures of the gallery that show errors, or how cells and fields of waves and cavities lie: (ds, path) as in
gallery_pictures.py. Some run further, small cases."""
import numpy as np
from gallery_pictures import REFERENCE, axes, save, whole
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from dgarray import cases


def errors(ax, cells, found, order, text):
    """Errors {name: those on so many cells} over the number of cells, beside the slope of an order; text: of the axis."""
    for name, values in found.items():
        ax.loglog(cells, values, "o-", linewidth=1.2, markersize=4, label=name)
    ends = np.array([cells[0], cells[-1]])
    ax.loglog(ends, 0.4 * min(values[0] for values in found.values()) * (ends / ends[0]) ** -float(order), "k--", linewidth=0.8,
              label=f"order {order}")
    ax.set(xlabel="cells along y", ylabel=text, xticks=cells, xticklabels=cells)
    ax.minorticks_off()
    ax.grid(color="0.92", linewidth=0.6)
    ax.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def disturbance(ds, path, cells=(8, 16, 32, 64)):
    """The difference of the density from its mean, a millionth of it, and the errors of all waves over the number of cells."""
    from dgarray.cases.linear_waves import WAVES

    rho = ds.rho - 1
    rho.attrs = ds.rho.attrs | {"long_name": "density, difference from 1"}
    figure = Figure(figsize=(8.0, 5.4), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=(1, 1.2))
    ds.assign(rho=rho).dg.plot("rho", ax=above)
    above.set_title("fast wave of amplitude 1e-6 after one period")
    found = {}
    for wave in WAVES["mhd"]:
        runs = [cases.linear_waves(wave=wave, dim=2, cells=count) for count in cells]
        for run in runs:
            run.run()
        found[f"{wave} wave"] = [run.report["results"]["error_per_amplitude"] for run in runs]
    errors(below, cells, found, 2, "error over amplitude")
    below.set_title("mean error after one period, second-order scheme")
    save(figure, path)


def across(ds, path, cells=(8, 16, 32), until=5.0):
    """The part of B across the wave over the place along it, after several periods on several grids."""
    from dgarray.cases.grids import oblique_frame

    direction, frame = oblique_frame(2)
    ax, s = axes(), np.linspace(0, 1, 400)
    for number, count in enumerate(cells):
        found = cases.alfven_wave(dim=2, cells=count, until=until).run()
        B = [found.dg.values(f"B{axis}") for axis in "xyz"]
        place = (direction[0] * found.x.values + direction[1] * found.y.values[:, None]) % 1
        one, first = np.unique(np.round(place, 9), return_index=True)
        order = np.argsort(one)
        ax.plot(one[order], sum(a * b for a, b in zip(frame[1], B)).ravel()[first][order], "o-", color=f"C{number}",
                markersize=3, linewidth=0.8, label=f"{2 * count} x {count} cells")
    ax.plot(s, 0.1 * np.sin(2 * np.pi * (s + until)), color=REFERENCE, linewidth=1, label="exact")
    ax.set(xlabel="place along the wave", ylabel="magnetic field across", xlim=(0, 1),
           title=f"circularly polarised Alfvén wave after {until:g} periods")
    ax.grid(color="0.92", linewidth=0.6)
    ax.legend(fontsize="small", frameon=False, ncols=2)
    save(ax.figure, path)


def moved_corners(ds, path, orders=(1, 2, 3, 4), cells=(3, 6, 12)):
    """Bz of the wave on cells whose corners move, and its errors at several orders over the number of cells."""
    figure = Figure(figsize=(8.0, 6.4), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=(1.2, 1))
    ds.dg.plot("Bz", 1.0, above, mesh=True)
    found = {}
    for order in orders:
        runs = [cases.mhd_quads(order=order, cells=count) for count in cells]
        for run in runs:
            run.run()
        found[f"polynomials of degree {order}"] = [run.report["l2_error"]["total"] for run in runs]
    errors(below, cells, found, orders[-1] + 1, "L2 error, all variables")
    below.set_title("error after one period")
    save(figure, path)


def error_in_time(ds, path, kinds=("affine", "skewed", "warped"), orders=(2, 3, 4)):
    """Ez on the skewed hexahedra, and the error over time for three kinds of cells and three orders."""
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    ds.dg.plot("Ez", 0.4, left, slice="z=0.3", mesh=True)
    for order in orders:
        for kind, style in zip(kinds, ("-", "--", ":")):
            run = cases.hex_cavity(order=order, cells=3, kind=kind)
            found = run.run(every=0.1)
            t = found.time.values
            error = [found.dg.error(run.options["exact"], time=number)["total"] for number in range(len(t))]
            right.semilogy(t, error, style, color=f"C{order}", label=f"{kind}, order {order}")
    right.set(xlabel="time", ylabel="L2 error, all variables", title="error on three kinds of hexahedra")
    right.grid(color="0.92", linewidth=0.6)
    right.legend(fontsize="x-small", frameon=False, ncols=3, columnspacing=0.8, loc="center", bbox_to_anchor=(0.5, 0.34))
    save(figure, path)


def zones(tree, path, time=0.4, plane="z=0.4"):
    """The sizes and orders of the zones in a plane, beside the field there."""
    from matplotlib.patches import Patch

    figure = Figure(figsize=(9.6, 4.4), layout="compressed")
    left, right = figure.subplots(1, 2)
    tree.dg.plot("Ez", time, right, slice=plane, mesh=True)
    right.set_title(f"electric field Ez at t = {time:g}")
    shown = whole(tree)
    number = shown.region.attrs["flag_meanings"].split().index("core") == shown.region
    kind = shown.Ez * 0 + number          # 1 in the core
    kind.attrs = {"long_name": "zones"}
    shades = ListedColormap(["#c6dbef", "#fdd0a2"])
    shown.assign(kind=kind).dg.plot("kind", time, left, slice=plane, mesh=True, cmap=shades, limits=(0, 1), colorbar=False)
    orders = {name: zone.attrs["order"] for name, zone in tree.dg.zones.items()}
    left.legend(handles=[Patch(color=shades(share), label=f"{name}: order {orders[name]}")
                         for share, name in ((0.0, "around"), (1.0, "core"))], loc="upper right", fontsize="small")
    left.set_title(f"cells in the plane {plane.replace('=', ' = ')}")
    save(figure, path)


def islands(ds, path, lines=24):
    """The current of the sheets, and field lines: isolines of A, with Bx = dA/dy and By = -dA/dx."""
    ax, (hx, hy) = axes(6.4, 5.4), (float(np.diff(ds[axis].values[:2])[0]) for axis in "xy")
    ds.dg.plot("current", ax=ax)
    Bx, By = (ds.dg.values(name) for name in ("Bx", "By"))
    along = np.cumsum(Bx[:, 0]) * hy
    A = along[:, None] - (np.cumsum(By, axis=1) - By[:, :1]) * hx
    ax.contour(ds.x, ds.y, A, lines, colors="white", linewidths=0.6, linestyles="solid")
    ax.set_title(f"{ax.get_title()},\nfield lines")
    save(ax.figure, path)


def field_lines(ds, path, time=0.25):
    """The magnetic field of the mode in the plane y = 0, and lines of its electric field."""
    ax = axes(6.4, 5.4)
    ds.dg.plot("Hy", time, ax, slice="y=0", mesh=True)
    x = np.linspace(-1, 1, 61)
    points = np.stack(np.meshgrid(x, 0.0, x, indexing="ij"), axis=-1).reshape(-1, 3)
    E = ds.dg.sample(points, time=time)
    Ex, Ez = (E[name].values.reshape(len(x), len(x)).T for name in ("Ex", "Ez"))
    ax.streamplot(x, x, np.ma.masked_invalid(Ex), np.ma.masked_invalid(Ez), color="black", density=1.1, linewidth=0.8,
                  arrowsize=0.8)
    ax.set(title=f"{ax.get_title()},\nlines of the electric field", xlim=(-1.02, 1.02), ylim=(-1.02, 1.02))
    save(ax.figure, path)
