"""The gallery: run every case with small settings, draw a picture of each, and write its page.

    python docs/make_gallery.py [CASE ...]          # minutes, double_mach and forward_step some more
    python docs/make_gallery.py --more [FILE ...]          # pictures of the front page, in 3D, and movies

Given names, it runs only these cases. gallery_pages.py has the text of the pages; equations, sources and comparisons stay as
they are in the pages. The pages have no times, because they depend on the machine.
"""
import inspect
import sys
from dataclasses import dataclass
from functools import partial

import gallery_3d as in_3d
import gallery_design as designs
import gallery_errors as errors
import gallery_pictures as pictures
import matplotlib
import numpy as np
from gallery_pages import FOLDER, commands, index, numbers, page
from PIL import Image

import dgarray as dg
from dgarray import cases

# Bytes of a picture of the gallery, and of one of the others.
LARGEST, LARGEST_OF_MORE = 380_000, 300_000

@dataclass(frozen=True)
class Entry:
    """What the gallery shows of a case.

    keywords   of the case
    every      interval between snapshots
    plot       arguments of `ds.dg.plot`, which are also options of `dgarray plot`; or a function (ds, path)
    eoc        (orders, levels) of a convergence study, for cases with an exact solution
    command    of a function `plot`: arguments of `dgarray plot` that draw much the same, or one of the records
    python     of a function `plot`: a text in Python that draws the same curves from the store NAME.zarr
    text       a note below the picture
    more       further pictures and movies, one of MORE each, with a caption: ((file, caption), ...)"""

    keywords: dict
    every: float
    plot: object
    eoc: tuple = None
    command: dict = None
    python: str = ""
    text: str = ""
    more: tuple = ()


SLAB = """import xarray as xr
from dgarray.cases.slab_spectrum import spectrum

found = spectrum(xr.open_zarr("slab_spectrum.zarr"))              # reflectance and transmittance over frequency
found.to_array("share").plot.line("o", x="frequency")"""
SPHERE = """import xarray as xr
from dgarray.cases.mie_sphere import bistatic
from dgarray.cases.round_bodies import round_body

found = bistatic(xr.open_zarr("mie_sphere.zarr"), round_body("dielectric"))          # sigma and exact (ka, plane, angle)
found.to_array("which").sel(plane="E").isel(ka=0).plot.line(x="angle", yscale="log")"""
AIRCRAFT = """import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from dgarray.cases.aircraft import surface_current

J = surface_current(xr.open_zarr("aircraft.zarr"))          # n x H of the total field, (component, time, face, face_node)
largest = np.sqrt((J**2).sum("component")).max("time")
axes = plt.figure().add_subplot(projection="3d")
axes.scatter(largest.x, largest.y, largest.z, c=largest, s=2)
axes.set_aspect("equal")"""
INVERSION = """import xarray as xr
from dgarray.cases.inversion import invert

speed, misfits = invert(xr.open_zarr("inversion.zarr"))          # the sound speed in every element, minutes
speed.to_dataset(name="speed").plot.scatter(x="x", y="y", hue="speed", marker="s")"""
CYLINDER = """import xarray as xr
from dgarray.cases.round_bodies import round_body
from dgarray.cases.scattering_cylinder import sections

found = sections(xr.open_zarr("scattering_cylinder.zarr"), round_body("drude"))      # widths over a, and the exact ones
found.to_array("width").plot.line(x="frequency")"""

ENTRIES = {
    "tm_obstacles": Entry({"order": 3}, 0.4, pictures.obstacles, command={"variable": "Ez", "time": 2.0}, more=(
        ("movies/tm_obstacles.webp", "The same at order 5, with cells that follow the circles, to t = 2.4"),)),
    "dielectric_slab": Entry({"order": 4}, 0.5, {"variable": "Ez", "time": 1.0, "mesh": True}, ((2, 3, 4), 2)),
    "slab_spectrum": Entry({"medium": "lorentz"}, None, pictures.spectrum, command={
        "variable": "Ez", "record": "sides", "spectrum": True}, python=SLAB, text=(
        "Lines are Fresnel's coefficients, dots the run: one pulse gives the whole band.")),
    "bend": Entry({}, 1.0, pictures.scattering, command={"variable": "Ez", "time": 13.0, "mesh": True}, text=(
        "On the left the pulse in the bend; the ports are dashed, behind them are the layers. On the right the scattering "
        "parameters over the band from 1.2 to 1.9 of the cutoff. The mesh is made by NumPy alone: `bent_guide` of "
        "`dgarray.cases.meshes.bent_guide`.")),
    "graded_medium": Entry({"order": 4, "contrast": 0.8, "waves": 2}, 0.25, {"variable": "Ez", "time": 1.0, "mesh": True},
                           ((1, 2, 3, 4), 3)),
    "maxwell_sphere": Entry({"order": 2, "ka": (1.0, 2.0)}, None, pictures.cross_sections, text=(
        "One run gives both frequencies. The recorder `Fourier` transforms the fields on the sphere during the run, and "
        "`near_to_far` computes the far fields from them. Lines are Mie's series, dots the run."), more=(
        ("pictures/surface_currents.png", "The current on the sphere at ka = 3: strength, and direction at one moment"),)),
    "mie_sphere": Entry({"body": "dielectric", "ka": (1.0, 2.0)}, None, pictures.of_sphere, python=SPHERE, text=(
        "Lines are Mie's series, dots the run, on 184 curved hexahedra: a quarter of the sphere and of the space around it. "
        "`with_mirror_images` of `dgarray.analysis.mirror_images` gives the rest of the fields on the surface where they are "
        "recorded.")),
    "scattering_cylinder": Entry({"body": "drude", "polarisation": "TE"}, None, pictures.extinction, command={
        "variable": "Hz", "record": "surface", "spectrum": True}, python=CYLINDER, text=(
        "Lines are the exact series, dots the run: one pulse gives the resonance of the metal.")),
    "aircraft": Entry({"size": 0.6, "until": 18.0}, None, in_3d.aircraft_currents,
                      command={"variable": "Ey", "slice": "z=0"}, python=AIRCRAFT, text=(
        "The mesh is made by NumPy and SciPy alone: `aircraft_mesh` of `dgarray.cases.meshes.aircraft`. "
        "At this time the wings still ring.")),
    "dipole": Entry({"layers": 3}, 0.25, {"variable": "Ez", "time": 3.25, "slice": "y=0.1", "zoom": (-1, 1, -1, 1)}, text=(
        "Around the cube that is drawn is the absorbing layer. What is radiated agrees with the formula to 5e-5.")),
    "beam_lens": Entry({}, 0.5, pictures.beam, command={"variable": "Ez", "time": 8.0}, text=(
        "Above the field of the pulse behind the lens; around the box is the scattered field alone. Below the transform on the "
        "axis beside Rayleigh's integral, which lacks what the faces reflect to and fro.")),
    "room": Entry({}, 0.002, {"variable": "p", "time": 0.014}, text=(
        "The ceiling returns a weaker wave than the floor. On the right the layer in the open window.")),
    "inversion": Entry({}, None, designs.inversion, command={"variable": "p"}, python=INVERSION, text=(
        "Stars are the sources, dots the microphones; sound speeds are searched within the dotted circle. The data come from "
        "1152 triangles of order 4, the sound speed that is found is that of 576 squares of order 2.")),
    "lens_design": Entry({}, 0.125, designs.lens, command={"variable": "p", "time": 4.625}, text=(
        "The lens is grey, the focus a cross; the lower half is the mirror image.")),
    "acoustic_pulse": Entry({"order": 4, "cells": 20}, 0.5, {"variable": "p", "time": 1.5}, ((2, 3), 2)),
    "maxwell_cavity": Entry({"order": 4, "cells": 2, "m": 2, "n": 1, "p": 1, "until": 1.0, "start": "projection"}, 0.2,
                            {"variable": "Ez", "time": 0.4, "slice": "z=0.3"}, ((2, 3), 2)),
    "tm_cavity": Entry({"order": 5, "m": 2, "n": 1}, 0.1, {"variable": "Ez", "time": 0.9, "mesh": True}, ((2, 3, 4), 3)),
    "supersonic_vortex": Entry({"order": 2}, 1.0, {"variable": "rho", "time": 3.0, "mesh": True}, ((1, 2, 3), 2)),
    "isentropic_vortex": Entry({"order": 3}, 0.5, pictures.vortex, ((1, 2, 3), 2),
                               {"variable": "rho", "time": 1.0, "mesh": True}),
    "cylinder_flow": Entry({"until": 120}, None, pictures.around_the_cylinder, command={
        "variable": "mach", "isolines": (0.05, 0.95, 19), "zoom": (-2, 2, -1.6, 1.6), "mesh": True}, text=(
        "The Mach number of the steady flow near the cylinder with isolines 0.05 apart. The elements have straight sides, the "
        "wall condition is that of a curved wall.")),
    "sod": Entry({}, None, pictures.shock_tube, command={"variable": "rho"}),
    "shu_osher": Entry({}, None, pictures.waves, command={"variable": "rho"}),
    "double_mach": Entry({"elements": 236964, "limiter": "barth-jespersen-vertices", "limiter_variables": "primitive"}, None,
                         partial(pictures.shocks, limits=(1, 22), lines=(1.3, 23, 30), right=3),
                         command={"variable": "schlieren"}, text=(
        "As many triangles as in the second mesh of the paper; the smallest runs in half a minute."), more=(
        ("movies/double_mach.webp", "Schlieren by tensor-product DG of order 3 on squares of 1/60"),)),
    "forward_step": Entry({"elements": 37000, "flux": "hll"}, None,
                          partial(pictures.shocks, limits=(0.2, 6.2), lines=(0.26, 6.07, 30)),
                          command={"variable": "schlieren"}, text=(
        "Triangles with sides of 1/80. With hllc, which keeps contacts sharp, the bow shock bulges at the lower wall on this "
        "mesh, a carbuncle.")),
    "kelvin_helmholtz": Entry({"order": 4, "cells": 40, "until": 2.0}, None, {"variable": "rho", "time": 2.0}),
    "advection_wave": Entry({"order": 4, "dim": 1, "cells": 5}, 0.25, {"variable": "u", "time": 1.0, "mesh": True},
                            ((1, 2, 3, 4), 3)),
    "hex_cavity": Entry({"order": 4, "cells": 3, "kind": "skewed"}, 0.2, errors.error_in_time, ((2, 3), 2),
                        {"variable": "Ez", "time": 0.4, "slice": "z=0.3", "mesh": True}),
    "hex_pml": Entry({"cells": 4}, 0.25, {"variable": "Ey", "time": 1.5, "slice": "z=0.1", "mesh": True}, text=(
        "The layer is the three outer cells. What it reflects is 1e-7 of the energy of the pulse.")),
    "hex_zones": Entry({"order": 2, "cells": 4, "kind": "warped"}, 0.2, errors.zones, ((1, 2), 2),
                       {"variable": "Ez", "time": 0.4, "slice": "z=0.4", "mesh": True}),
    "disc_cavity": Entry({"order": 4, "level": 1, "m": 2}, 0.25, {"variable": "Ez", "time": 1.0, "mesh": True},
                         ((1, 2, 3, 4), 2)),
    "ball_cavity": Entry({"order": 3, "level": 1}, 0.25, errors.field_lines, ((1, 2), 2),
                         {"variable": "Hy", "time": 0.25, "slice": "y=0", "mesh": True}),
    "vortex_curved": Entry({"order": 3, "cells": 16}, 0.5, {"variable": "rho", "time": 1.0, "mesh": True}, ((1, 2, 3), 2)),
    "mhd_quads": Entry({"order": 3, "cells": 6}, 0.25, errors.moved_corners, ((1, 2, 3), 2),
                       {"variable": "Bz", "time": 1.0, "mesh": True}),
    "taylor_green": Entry({"order": 3, "cells": 8, "until": 6.0}, 1.0, {"variable": "u", "time": 4.0, "slice": "z=1"}, more=(
        ("pictures/vortices.png", "Where the vorticity has the strength 1.5 at t = 3, in an eighth of the box; on three sides "
         "its strength in grey"),)),
    "hermite_advection": Entry({"order": 2, "dim": 2, "cells": 16, "steps": 20, "waves": 2, "derivatives": True}, None,
                               {"variable": "u"}, ((1, 2), 2)),
    "hermite_acoustics": Entry({"order": 3, "cells": 6, "waves": 2, "derivatives": True}, 0.25, {"variable": "p", "time": 0.75},
                               ((1, 2, 3), 2)),
    "hermite_cavity": Entry({"order": 3, "cells": 6, "m": 2, "derivatives": True}, 0.25, {"variable": "Ez", "time": 1.0},
                            ((1, 2, 3), 2)),
    "hermite_lens": Entry({"order": 3, "cells": 24, "derivatives": True}, None, {"variable": "p"}),
    "orszag_tang": Entry({"cells": 128}, None, {"variable": "rho"}, more=(
        ("movies/orszag_tang.webp", "The density on 192 x 192 cells to t = 1"),)),
    "mhd_rotor": Entry({"cells": 128}, None, {"variable": "rho"}),
    "mhd_blast": Entry({"cells": 100}, None, {"variable": "rho"}),
    "mhd_kelvin_helmholtz": Entry({"cells": 64}, None, {"variable": "rho"}),
    "field_loop": Entry({"cells": 64, "scheme": "weno"}, None, {"variable": "Bx"}),
    "current_sheet": Entry({"cells": 192, "until": 3.0}, None, errors.islands, command={"variable": "current"}),
    "shock_bubble": Entry({"cells": 128}, None, {"variable": "rho"}),
    "helium_bubble": Entry({}, 2.5e-4, {"variable": "schlieren", "time": 5e-4}),
    "alfven_wave": Entry({"dim": 2, "cells": 16, "scheme": "weno"}, None, errors.across, (None, 2), {"variable": "Bz"}, text=(
        "The second-order scheme after five periods; the command draws the third-order one after one.")),
    "linear_waves": Entry({"dim": 2, "cells": 32}, None, errors.disturbance, (None, 2), {"variable": "rho"}),
    "brio_wu": Entry({"cells": 400}, None, pictures.compound_wave, command={"variable": "rho"}),
    "ryu_jones": Entry({"cells": 400}, None, pictures.seven_waves, command={"variable": "By"}),
    "sod_grid": Entry({"cells": 200}, None, pictures.shock_tube, command={"variable": "rho"}),
}

# Pictures and movies beside those of the cases, {file: (run, interval between snapshots, drawing)}.
MORE = {
    "pictures/tm_obstacles.png": (lambda: cases.tm_obstacles(order=5, mesh=pictures.round_obstacles()), 0.4,
                                  partial(pictures.obstacles, dpi=130)),
    "pictures/kelvin_helmholtz.png": (lambda: cases.kelvin_helmholtz(order=4, cells=40, until=2.0), None,
                                      partial(pictures.field, variable="rho", dpi=100)),
    "pictures/maxwell_cavity.png": (lambda: cases.maxwell_cavity(order=4, cells=5, m=3, n=2, p=2, until=1.0), 0.5,
                                    partial(pictures.field, variable="Ez", time=0.5, slice=["x=0.5", "y=0.25", "z=0.5"],
                                            colorbar=False)),
    "pictures/surface_currents.png": (
        lambda: cases.maxwell_sphere(order=3, ka=3.0, geometry=2, mesh=pictures.MESHES / "sphere_coarse.msh"), None,
        in_3d.currents),
    "pictures/vortices.png": (lambda: cases.taylor_green(order=3, cells=8, until=3.0), 1.0, in_3d.vortices),
    "movies/double_mach.webp": (lambda: cases.double_mach(order=3, elements=14400, method="tensor"), 0.005,
                                partial(pictures.movie, variable="schlieren", limits=(0, 800), triangles=120_000)),
    "movies/tm_obstacles.webp": (lambda: cases.tm_obstacles(order=5, mesh=pictures.round_obstacles()), 0.04,
                                 partial(pictures.movie, variable="Ez", limits=(-0.15, 0.15), triangles=100_000)),
    "movies/orszag_tang.webp": (lambda: cases.orszag_tang(cells=192, until=1.0), 0.02,
                                partial(pictures.movie, variable="rho")),
}


def make(names, folder=FOLDER):
    """Run the cases, draw them into the folder, and return {name: text of its page}."""
    folder.mkdir(exist_ok=True)
    return {name: case_page(name, ENTRIES[name], folder) for name in names}


def case_page(name, entry, folder):
    """Run one case, draw its picture, and return the text of its page."""
    case = getattr(cases, name)
    sim = case(**entry.keywords)
    ds = sim.run(every=entry.every)
    draw(ds, entry.plot, folder / f"{name}.png")
    small(folder / f"{name}.png", LARGEST)
    description = " ".join(inspect.getdoc(case).split("\n\n")[0].split())
    observed = {}
    if entry.eoc:
        orders, levels = entry.eoc
        keywords = {key: value for key, value in entry.keywords.items() if key != "order"}
        observed = {row["order"]: row["eoc"] for row in dg.eoc(case, orders, levels, **keywords)}
    lines = commands(name, entry.keywords, entry.every, entry.command or entry.plot)
    return page(name, description, entry.text, entry.more, lines, entry.python, numbers(sim.report, observed))


def draw(ds, plot, path):
    """Draw to a file."""
    if callable(plot):
        plot(ds, path)
    else:
        pictures.field(ds, path, **plot)


def small(path, most):
    """Write the picture with its colours rounded to multiples of 2, 4, ... 10 of 255 until it has at most `most` bytes."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
    for step in (2, 4, 6, 8, 10):
        rounded = np.minimum((pixels + step // 2) // step * step, 255)
        Image.fromarray(rounded.astype("uint8")).save(path, optimize=True)
        if path.stat().st_size <= most:
            return


def main(names):
    matplotlib.use("agg")
    known = MORE if names[:1] == ["--more"] else ENTRIES
    names = names[1:] if known is MORE else names
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"make_gallery: {unknown[0]!r} is not in the gallery; it has: {', '.join(known)}")
    if known is MORE:
        for name in names or MORE:
            run, every, plot = MORE[name]
            draw(run().run(every=every), plot, FOLDER.parent / name)
            if name.endswith(".png"):
                small(FOLDER.parent / name, LARGEST_OF_MORE)
        return
    for name, text in make(names or ENTRIES).items():
        (FOLDER / f"{name}.md").write_text(text)
    (FOLDER.parent / "gallery.md").write_text(index())


if __name__ == "__main__":
    main(sys.argv[1:])
