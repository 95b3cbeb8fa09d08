"""Pictures of the gallery that are more than one field: curves beside references, surfaces in 3D, movies.

Each function draws a run's dataset to a file: (ds, path)."""
from importlib import import_module
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dgarray as dg
from dgarray import cases
from dgarray.output.derived_fields import with_field
from dgarray.output.pictures.picture import figure_size, label, seen, title, words

TABLES = Path(__file__).parents[1] / "tests" / "data" / "tables"
MESHES = Path(cases.__file__).parent / "meshes"
WIDTH, DPI = 1600, 250          # pixels of a picture, which pages show at half that width, and pixels per inch: at most so many
RUN, REFERENCE = "C0", "black"


def field(ds, path, variable, dpi=None, **options):
    """One field, or one that follows from those of the run."""
    if dpi is None:
        width, _ = figure_size(seen(with_field(whole(ds), variable), variable, options.get("slice")), options.get("zoom"))
        dpi = min(DPI, WIDTH / width)
    ds.dg.plot(variable, path=path, dpi=dpi, **options)


def whole(ds):
    """The dataset, or that of all zones of a tree."""
    return ds.dg.whole() if hasattr(ds, "children") else ds


def save(figure, path):
    """Write a figure, WIDTH pixels wide unless it is narrow."""
    figure.savefig(path, dpi=min(DPI, WIDTH / figure.get_figwidth()))


def axes(width=6.4, height=4.0):
    """New axes of this size in inches."""
    return Figure(figsize=(width, height), layout="compressed").subplots()


# Shock tubes


def profile(ds, path, variable, x, reference, name, zoom=None):
    """A field at the end over a reference curve; zoom: (x low, x high, y low, y high, place of the inset) of a part shown
    larger, the place as (left, bottom, width, height) in shares of the axes."""
    ax = axes()
    on_grid = ds.attrs["cell_type"] == "grid"
    count = f"{ds.sizes['x']} cells" if on_grid else f"{ds.sizes['element']} elements of order {ds.attrs['order']}"
    style = {"linestyle": "none", "marker": "o", "markersize": 3, "markerfacecolor": "none"} if on_grid else {"linewidth": 1.5}
    panels = [ax] if zoom is None else [ax, ax.inset_axes(zoom[4])]
    for panel in panels:
        ds.dg.plot(variable, ax=panel, color=RUN, label=count, **style)
        panel.plot(x, reference, color=REFERENCE, linewidth=0.8, label=name)
        panel.set_ylim(auto=True)
        panel.autoscale(axis="y")
        panel.grid(color="0.92", linewidth=0.6)
        panel.set_axisbelow(True)
    if zoom is not None:
        panels[1].set(xlim=zoom[:2], ylim=zoom[2:4], xlabel="", ylabel="", title="")
        panels[1].tick_params(labelsize="x-small")
        panels[1].locator_params(nbins=4)
        ax.indicate_inset_zoom(panels[1], edgecolor="0.4")
    ax.legend(fontsize="small", frameon=False)
    save(ax.figure, path)


def table(name, *columns):
    """Columns of one of the reference tables."""
    lines = (TABLES / name).read_text().splitlines()
    names = next(line.lstrip("# ") for line in lines if "rho," in line and ";" not in line).split(",")
    rows = np.array([line.split(",") for line in lines if line[0] in "0123456789-"], float)
    return [rows[:, names.index(column)] for column in columns]


def shock_tube(ds, path):
    """The density of Sod's problem over the exact one."""
    x, (t,) = np.linspace(0, 1, 4001), ds.time.values[-1:]
    profile(ds, path, "rho", x, cases.sod().options["exact"]((x,), t)[0], "exact")


def waves(ds, path):
    """The density of Shu and Osher's problem over that of a fine run."""
    fine = cases.shu_osher(cells=3200).run()
    x = np.linspace(-5, 5, 4001)
    profile(ds, path, "rho", x, fine.dg.sample(x[:, None], time=-1).rho, f"{fine.sizes['element']} elements",
            (0.4, 2.5, 2.9, 4.8, (0.06, 0.12, 0.45, 0.52)))


def compound_wave(ds, path):
    """The density of Brio and Wu's problem over that of 16,000 cells of another scheme."""
    x, rho = table("mhd_briowu_reference.csv", "x", "rho")
    profile(ds, path, "rho", x, rho, "16000 cells, HLL and minmod", (0.44, 0.58, 0.62, 0.84, (0.68, 0.36, 0.3, 0.4)))


def seven_waves(ds, path):
    """By of Ryu and Jones' problem over the exact solution: constant states between waves of known speeds."""
    (By,) = table("mhd_rj2a_exact.csv", "By")
    head = (TABLES / "mhd_rj2a_exact.csv").read_text().split("\n")[0]
    speeds = [float(part.split()[-1]) for part in head.partition("waves: ")[2].split(",")]
    x = 0.5 + np.repeat(speeds, 2) * float(ds.time[-1])
    profile(ds, path, "By", [0, *x, 1], np.repeat(By, 2), "exact")


# 2D


def cross_sections(ds, path):
    """Bistatic cross-sections in both planes beside Mie's series."""
    from dgarray.cases.maxwell_sphere import bistatic

    sigma = bistatic(ds)
    in_planes({plane: (sigma[f"sigma_{plane}"], sigma[f"exact_{plane}"]) for plane in "EH"}, path)


def of_sphere(ds, path):
    """The same of a dielectric sphere."""
    from dgarray.cases.round_bodies import round_body

    sigma = import_module("dgarray.cases.mie_sphere").bistatic(ds, round_body("dielectric"))
    in_planes({plane: (sigma["sigma"].sel(plane=plane), sigma["exact"].sel(plane=plane)) for plane in "EH"}, path)


def in_planes(sigma, path):
    """Bistatic cross-sections {plane: (of the run, exact)}, each (ka, angle), beside each other."""
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    kas = sigma["E"][0]["ka"].values
    for ax, ka in zip(figure.subplots(1, len(kas), sharey=True), kas):
        for (plane, both), colour in zip(sigma.items(), ("C0", "C3")):
            found, exact = (each.sel(ka=ka) for each in both)
            ax.semilogy(exact["angle"], exact, color=colour, linewidth=1, label=f"plane of {plane}, Mie")
            ax.semilogy(found["angle"][::6], found[::6], ".", color=colour, label=f"plane of {plane}, run")
        ax.set(title=f"ka = {ka:.3g}", xlabel="angle from forward (degrees)", xlim=(0, 180), xticks=range(0, 181, 45))
        ax.grid(color="0.92", linewidth=0.6)
    figure.axes[0].set_ylabel("bistatic cross-section / a²")
    figure.axes[0].legend(fontsize="small")
    save(figure, path)


def extinction(ds, path):
    """Widths of extinction, scattering and absorption of the metal cylinder over ka, beside the exact ones."""
    from dgarray.cases.round_bodies import round_body

    sections = import_module("dgarray.cases.scattering_cylinder").sections(ds, round_body("drude"))
    ka, ax = 2 * np.pi * sections["frequency"].values, axes()
    for name, colour in (("extinction", "C0"), ("scattering", "C2"), ("absorption", "C3")):
        ax.plot(ka, sections[f"exact_{name}"], color=colour, linewidth=1, label=name)
        ax.plot(ka, sections[name], ".", color=colour)
    ax.set(xlabel="ka", ylabel="width / a", xlim=(ka[0], ka[-1]))
    ax.grid(color="0.92", linewidth=0.6)
    ax.legend(fontsize="small", frameon=False)
    save(ax.figure, path)


def spectrum(ds, path):
    """Reflectance and transmittance of the slab with Lorentz's medium beside Fresnel's coefficients."""
    from dgarray.analysis.layered_slabs import fresnel_coefficients
    from dgarray.cases.slab_spectrum import MEDIA, THICKNESS, spectrum

    found = spectrum(ds)
    f = np.linspace(float(found.frequency[0]), float(found.frequency[-1]), 400)
    exact, ax = fresnel_coefficients(f, THICKNESS, MEDIA["lorentz"]), axes()
    for name, colour in (("transmittance", "C0"), ("reflectance", "C3"), ("absorptance", "0.5")):
        values = found[name] if name in found else 1 - found.reflectance - found.transmittance
        ax.plot(f, exact[name], color=colour, linewidth=1, label=name)
        ax.plot(found.frequency, values, "o", color=colour, markersize=4, markerfacecolor="none")
    ax.set(xlabel="frequency", ylabel="share of the incident power", xlim=(f[0], f[-1]), ylim=(0, 1),
           title="slab with a resonance at the frequency 0.8")
    ax.grid(color="0.92", linewidth=0.6)
    ax.legend(fontsize="small")
    save(ax.figure, path)


def scattering(ds, path):
    """The pulse in the bend with the post, and its scattering parameters over frequency."""
    from dgarray.cases.bend import CUTOFF, parameters

    simulation = cases.bend()
    S = abs(parameters({"one": ds}, simulation)).sel(into="one")
    left, right = Figure(figsize=(9.6, 4.4), layout="compressed").subplots(1, 2)
    ds.dg.plot("Ez", 13.0, left, mesh=True)
    for name in ("one", "two"):
        corners = simulation.mesh.points[simulation.mesh.face_points(simulation.mesh.interfaces[name])].reshape(-1, 2)
        ends = corners[[np.argmin(corners.sum(axis=1)), np.argmax(corners.sum(axis=1))]]
        left.plot(*ends.T, "k--", linewidth=1)
    for name, text, colour in (("one", "reflection, |S11|", "C3"), ("two", "transmission, |S21|", "C0")):
        right.plot(S.frequency / CUTOFF, S.sel(out=name), color=colour, label=text)
    right.plot(S.frequency / CUTOFF, np.sqrt((S**2).sum("out")), color="0.5", linewidth=0.8, label="root of the sum of squares")
    right.set(xlabel="frequency over cutoff", ylabel="amplitude", ylim=(0, 1.05), title="one pulse gives the band")
    right.grid(color="0.92", linewidth=0.6)
    right.legend(fontsize="small")
    save(left.figure, path)


def beam(ds, path, time=8.0):
    """Ez of the beam behind its lens, above its strength on the axis."""
    from dgarray.cases.beam_lens import BEHIND, LENGTH, diffracted

    figure = Figure(figsize=(6.4, 7.2), layout="compressed")
    above, below = figure.subplots(2, 1, height_ratios=(2.2, 1))
    ds.dg.plot("Ez", time, above)
    record = ds.dg.record("axis")
    x, power = record.x.values, np.abs(record["Ez"].values[0]) ** 2 / (LENGTH * np.sqrt(np.pi) / 2) ** 2
    below.plot(x, diffracted(x - x[0] + BEHIND), color=REFERENCE, linewidth=0.8, label="rays, then Rayleigh's integral")
    below.plot(x, power, color=RUN, linewidth=1.5, label="run")
    below.set(xlabel="x", ylabel="|Ez|² over that of the beam", xlim=(x[0], x[-1]), ylim=(0, None))
    below.grid(color="0.92", linewidth=0.6)
    below.legend(fontsize="small", frameon=False)
    save(figure, path)


def around_the_cylinder(ds, path):
    """The Mach number near the cylinder, with its isolines."""
    field(ds, path, "mach", mesh=True, isolines=(0.05, 0.95, 19), zoom=(-2, 2, -1.6, 1.6))


def vortex(ds, path):
    """The density near the vortex, with the mesh."""
    ax = axes(6.4, 5.3)
    ds.dg.plot("rho", 1.0, ax, mesh=True)          # far from the vortex the density is 1
    ax.set(xlim=(-4, 6), ylim=(-4, 6))
    save(ax.figure, path)


def shocks(ds, path, limits, lines, right=None):
    """Density with its isolines `lines` (low, high, count), as in the literature, above schlieren.

    limits: of the colours; right: where the picture ends"""
    figure = Figure(figsize=(7.4, 5.2), layout="compressed")
    above, below = figure.subplots(2, 1, sharex=True)
    ds.dg.plot("rho", ax=above, limits=limits, colorbar=False, isolines=lines)
    ds.dg.plot("schlieren", ax=below, colorbar=False)
    drawn = f"{lines[2]} isolines from {lines[0]:g} to {lines[1]:g}"
    above.set(xlabel="", title=f"{title(ds, 'rho', t=float(ds.time[-1]))}, {drawn}")
    below.set(title=f"{words(with_field(ds, 'schlieren').schlieren)}: strength of the density's gradient")
    if right:
        above.set_xlim(right=right)
    figure.colorbar(above.collections[0], ax=above, label=label(ds, "rho"), aspect=14, pad=0.02)
    save(figure, path)


# Centres and radii of the round obstacles in obstacles.msh.
ROUND = (-0.7, 0.8, 0.22), (-0.75, -0.72, 0.16), (0.05, 1.1, 0.12), (0.95, 0.85, 0.18), (0.45, -1.15, 0.12)


def round_obstacles():
    """The mesh of `tm_obstacles` with cells that follow the circles."""
    def onto(x):
        x, y = x
        for a, b, r in ROUND:
            d = np.hypot(x - a, y - b)
            scale = np.where(np.abs(d - r) < 0.1 * r, r / d, 1.0)
            x, y = a + scale * (x - a), b + scale * (y - b)
        return x, y
    return dg.read_mesh(MESHES / "obstacles.msh").curved(4, onto, "obstacles")


def obstacles(ds, path, time=2.0, dpi=WIDTH / 7.2, high=0.1):
    """Ez among bodies in dark grey, with the lens outlined."""
    ax = axes(7.2, 5.0)
    ds.dg.plot("Ez", time, ax, limits=(-high, high), colorbar=False)
    ax.set_facecolor("0.5")
    ax.figure.colorbar(ax.collections[0], ax=ax, label=label(ds, "Ez"), aspect=25, pad=0.02, extend="both")
    ax.figure.savefig(path, dpi=dpi)


# Movies


def movie(ds, path, variable, fps=15, dpi=80, **options):
    """All snapshots of a field."""
    with_field(ds, variable).dg.animate(variable, path, fps, dpi=dpi, **options)
