"""The gallery: run every case with small settings, draw a picture of each, and write its page.

    python docs/make_gallery.py [CASE ...]
    python docs/make_gallery.py --front          # pictures of the front page, with finer meshes

Given names, it runs only these cases. gallery_pages.py has the text of the pages; equations and sources come from
formulas.md. The pages have no times, because they depend on the machine.
"""
import inspect
import sys
from dataclasses import dataclass

import matplotlib
import numpy as np
from gallery_pages import FOLDER, commands, index, numbers, page
from matplotlib.figure import Figure
from PIL import Image

import dgarray as dg
from dgarray import cases

DPI, COLOURS = 100, 256


@dataclass(frozen=True)
class Entry:
    """What the gallery shows of a case.

    keywords   of the case
    every      interval between snapshots
    plot       arguments of `ds.dg.plot`, which are also options of `dgarray plot`; or a function (ds, path)
    eoc        (orders, levels) of a convergence study, for cases with an exact solution
    text       a note below the picture"""

    keywords: dict
    every: float
    plot: object
    eoc: tuple = None
    text: str = ""


def cross_sections(ds, path):
    """Bistatic cross-sections in both planes beside Mie's series."""
    from dgarray.cases.maxwell_sphere import bistatic

    sigma = bistatic(ds)
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    for ax, ka in zip(figure.subplots(1, sigma.sizes["ka"], sharey=True), sigma["ka"].values):
        for plane, colour in (("E", "C0"), ("H", "C3")):
            part = sigma.sel(ka=ka)
            ax.semilogy(part["angle"], part[f"exact_{plane}"], color=colour, linewidth=1, label=f"plane of {plane}, Mie")
            ax.semilogy(part["angle"][::6], part[f"sigma_{plane}"][::6], ".", color=colour, label=f"plane of {plane}, run")
        ax.set(title=f"ka = {ka:.3g}", xlabel="angle from forward (degrees)", xlim=(0, 180), xticks=range(0, 181, 45))
    figure.axes[0].set_ylabel("bistatic cross-section / a² (normalised)")
    figure.axes[0].legend(fontsize="small")
    figure.savefig(path, dpi=DPI)


def profile(ds, path, **more):
    """The density at the end over reference curves, each given as (x, rho, name)."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    ax = figure.subplots()
    for x, rho, name in more.values():
        ax.plot(x, rho, color="C3", linewidth=1, label=name)
    ds.dg.plot("rho", ax=ax, color="C0", linewidth=1.2, label=f"{ds.sizes['element']} elements")
    ax.set_ylim(auto=True)
    ax.autoscale(axis="y")
    ax.legend(fontsize="small")
    figure.savefig(path, dpi=DPI)


def shock_tube(ds, path):
    """The density of Sod's problem over the exact one."""
    x, (t,) = np.linspace(0, 1, 2001), ds.time.values[-1:]
    profile(ds, path, exact=(x, cases.sod().options["exact"]((x,), t)[0], "exact"))


def waves(ds, path):
    """The density of Shu and Osher's problem over that of a fine run."""
    fine = cases.shu_osher(cells=3200).run()
    x = np.linspace(-5, 5, 2001)
    profile(ds, path, fine=(x, fine.dg.sample(x[:, None], time=-1).rho, f"{fine.sizes['element']} elements"))


def around_the_cylinder(ds, path):
    """The Mach number near the cylinder, with its isolines."""
    law = dg.Euler(2)
    fields = ds.assign(mach=law.mach([ds[name] for name in law.variables]))
    fields.mach.attrs["long_name"] = "Mach number"
    figure = Figure(figsize=(6.4, 5.0), layout="compressed")
    ax = figure.subplots()
    fields.dg.plot("mach", ax=ax, mesh=True, isolines=(0.05, 0.95, 19))
    ax.set(xlim=(-2, 2), ylim=(-1.6, 1.6))
    figure.savefig(path, dpi=DPI)


ENTRIES = {
    "tm_obstacles": Entry({"order": 3}, 0.4, {"variable": "Ez", "time": 2.0}),
    "dielectric_slab": Entry({"order": 4}, 0.5, {"variable": "Ez", "time": 1.0, "mesh": True}, ((2, 3, 4), 2)),
    "graded_medium": Entry({"order": 4, "contrast": 0.8, "waves": 2}, 0.25, {"variable": "Ez", "time": 1.0, "mesh": True},
                           ((1, 2, 3, 4), 3)),
    "maxwell_sphere": Entry({"order": 2, "ka": (1.0, 2.0)}, None, cross_sections, text=(
        "One run gives both frequencies. The recorder `Fourier` transforms the fields on the sphere during the run, and "
        "`near_to_far` computes the far fields from them. Lines are Mie's series, dots the run.")),
    "acoustic_pulse": Entry({"order": 4, "cells": 20}, 0.5, {"variable": "p", "time": 1.5}, ((2, 3), 2)),
    "maxwell_cavity": Entry({"order": 4, "m": 2, "n": 1, "p": 1}, 0.2, {"variable": "Ez", "time": 0.4, "slice": "z=0.3"},
                            ((2, 3), 2)),
    "tm_cavity": Entry({"order": 5, "m": 2, "n": 1}, 0.1, {"variable": "Ez", "time": 0.9, "mesh": True}, ((2, 3, 4), 3)),
    "supersonic_vortex": Entry({"order": 2}, 1.0, {"variable": "rho", "time": 3.0, "mesh": True}, ((1, 2, 3), 2)),
    "isentropic_vortex": Entry({"order": 3}, 0.5, {"variable": "rho", "time": 1.0, "mesh": True}, ((1, 2, 3), 2)),
    "cylinder_flow": Entry({"until": 10}, None, around_the_cylinder, text=(
        "The Mach number near the cylinder with isolines 0.05 apart. The elements have straight sides, the wall condition is "
        "that of a curved wall. At this time the flow is not yet steady.")),
    "sod": Entry({}, None, shock_tube),
    "shu_osher": Entry({}, None, waves),
    "double_mach": Entry({"elements": 2000}, None, {"variable": "rho", "isolines": (1.5, 22, 30)}, text=(
        "[Cases and their numbers](../cases.md) shows it on a mesh like the smallest of the paper.")),
    "forward_step": Entry({"elements": 1500}, None, {"variable": "rho", "isolines": (0.5, 6.5, 30)}),
    "kelvin_helmholtz": Entry({"cells": 16}, None, {"variable": "rho", "time": 1.5}),
    "advection_wave": Entry({"order": 4, "dim": 1, "cells": 5}, 0.25, {"variable": "u", "time": 1.0, "mesh": True},
                            ((1, 2, 3, 4), 3)),
    "hex_cavity": Entry({"order": 4, "cells": 3, "kind": "skewed"}, 0.2, {"variable": "Ez", "time": 0.4, "slice": "z=0.3",
                        "mesh": True}, ((2, 3), 2)),
    "hex_zones": Entry({"order": 2, "cells": 4, "kind": "warped"}, 0.2, {"variable": "Ez", "time": 0.4, "slice": "z=0.4",
                       "mesh": True}, ((1, 2), 2)),
    "disc_cavity": Entry({"order": 4, "level": 1, "m": 2}, 0.25, {"variable": "Ez", "time": 1.0, "mesh": True},
                         ((1, 2, 3, 4), 2)),
    "ball_cavity": Entry({"order": 3, "level": 1}, 0.25, {"variable": "Ez", "time": 0.5, "slice": "y=0.1", "mesh": True},
                         ((1, 2), 2)),
    "vortex_curved": Entry({"order": 3, "cells": 16}, 0.5, {"variable": "rho", "time": 1.0, "mesh": True}, ((1, 2, 3), 2)),
    "mhd_quads": Entry({"order": 3, "cells": 6}, 0.25, {"variable": "Bz", "time": 1.0, "mesh": True}, ((1, 2, 3), 2)),
    "taylor_green": Entry({"order": 3, "cells": 8, "until": 6.0}, 1.0, {"variable": "rho_u", "time": 6.0, "slice": "z=1"}),
    "hermite_advection": Entry({"order": 2, "dim": 2, "cells": 16, "steps": 20, "waves": 2, "derivatives": True}, None,
                               {"variable": "u"}, ((1, 2), 2)),
    "hermite_acoustics": Entry({"order": 3, "cells": 6, "waves": 2, "derivatives": True}, 0.25, {"variable": "p", "time": 0.75},
                               ((1, 2, 3), 2)),
    "hermite_cavity": Entry({"order": 3, "cells": 6, "m": 2, "derivatives": True}, 0.25, {"variable": "Ez", "time": 1.0},
                            ((1, 2, 3), 2)),
    "hermite_lens": Entry({"order": 2, "cells": 12, "derivatives": True}, None, {"variable": "p"}),
    "orszag_tang": Entry({"cells": 128}, None, {"variable": "rho"}),
    "mhd_rotor": Entry({"cells": 128}, None, {"variable": "rho"}),
    "mhd_blast": Entry({"cells": 100}, None, {"variable": "rho"}),
    "mhd_kelvin_helmholtz": Entry({"cells": 64}, None, {"variable": "rho"}),
    "field_loop": Entry({"cells": 64, "scheme": "weno"}, None, {"variable": "Bx"}),
    "current_sheet": Entry({"cells": 100}, None, {"variable": "By"}),
    "shock_bubble": Entry({"cells": 128}, None, {"variable": "rho"}),
    "alfven_wave": Entry({"dim": 2, "cells": 16, "scheme": "weno"}, None, {"variable": "Bz"}, (None, 2)),
    "linear_waves": Entry({"dim": 2, "cells": 32}, None, {"variable": "rho"}, (None, 2)),
    "brio_wu": Entry({"cells": 400}, None, {"variable": "rho"}),
    "ryu_jones": Entry({"cells": 400}, None, {"variable": "By"}),
    "sod_grid": Entry({"cells": 200}, None, {"variable": "rho"}),
}

FRONT = {
    "kelvin_helmholtz": Entry({"order": 4, "cells": 40, "until": 2.0}, None, {"variable": "rho"}),
    "maxwell_cavity": Entry({"order": 4, "cells": 5, "m": 3, "n": 2, "p": 2}, 0.5,
                            {"variable": "Ez", "time": 0.5, "slice": ["x=0.5", "y=0.25", "z=0.5"], "colorbar": False}),
}


def make(names, folder=FOLDER):
    """Run the cases, draw them into the folder, and return {name: text of its page}."""
    return {name: case_page(name, ENTRIES[name], folder) for name in names}


def case_page(name, entry, folder):
    """Run one case, draw its picture, and return the text of its page."""
    case = getattr(cases, name)
    sim = case(**entry.keywords)
    ds = sim.run(every=entry.every)
    draw(ds, entry.plot, folder / f"{name}.png")
    description = " ".join(inspect.getdoc(case).split("\n\n")[0].split())
    observed = {}
    if entry.eoc:
        orders, levels = entry.eoc
        keywords = {key: value for key, value in entry.keywords.items() if key != "order"}
        observed = {row["order"]: row["eoc"] for row in dg.eoc(case, orders, levels, **keywords)}
    return page(name, description, entry.text, commands(name, entry.keywords, entry.every, entry.plot),
                numbers(sim.report, observed))


def draw(ds, plot, path):
    """Draw to a PNG file with few colours: a quarter of the size."""
    if callable(plot):
        plot(ds, path)
    else:
        ds.dg.plot(path=path, dpi=DPI, **plot)
    with Image.open(path) as image:
        few = image.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def main(names):
    matplotlib.use("agg")
    if names == ["--front"]:
        for name, entry in FRONT.items():
            ds = getattr(cases, name)(**entry.keywords).run(every=entry.every)
            draw(ds, entry.plot, FOLDER.parent / "pictures" / f"{name}.png")
        return
    unknown = [name for name in names if name not in ENTRIES]
    if unknown:
        sys.exit(f"make_gallery: {unknown[0]!r} is not in the gallery; it has: {', '.join(ENTRIES)}")
    for name, text in make(names or ENTRIES).items():
        (FOLDER / f"{name}.md").write_text(text)
    (FOLDER.parent / "gallery.md").write_text(index())


if __name__ == "__main__":
    main(sys.argv[1:])
