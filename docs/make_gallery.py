"""The gallery: run every case with small settings, draw a picture of each, and write gallery.md.

    python docs/make_gallery.py [CASE ...]
    python docs/make_gallery.py --front          # pictures of the front page, with finer meshes

Given names, it runs only these cases and keeps the other sections of the page. Equations and sources come from
formulas.md. The page has no times, because they depend on the machine.
"""
import inspect
import sys
from dataclasses import dataclass
from pathlib import Path

import gallery_pictures as pictures
import matplotlib
from PIL import Image

import dgarray as dg
from dgarray import cases

FOLDER = Path(__file__).parent / "gallery"
# Numbers below this are rounding errors, which differ from machine to machine.
ROUNDING = 1e-12

HEAD = """# Gallery

Every case of the package, with small settings. Pick a picture to see its equations, its source, the commands that
draw it, and its numbers. [Cases and their numbers](cases.md) has convergence tables and comparisons with published results.

<div class="thumbnails">

{thumbnails}

</div>

One command makes this page and its pictures, in a few minutes:

```text
python docs/make_gallery.py
```
"""
THUMBNAIL = '[<img src="gallery/{name}.png" alt="{name}" width="180">](#{name})'


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


ENTRIES = {
    "tm_obstacles": Entry({"order": 3}, 0.4, {"variable": "Ez", "time": 2.0}),
    "dielectric_slab": Entry({"order": 4}, 0.5, {"variable": "Ez", "time": 1.0, "mesh": True}, ((2, 3, 4), 2)),
    "graded_medium": Entry({"order": 4, "contrast": 0.8, "waves": 2}, 0.25, {"variable": "Ez", "time": 1.0, "mesh": True},
                           ((1, 2, 3, 4), 3)),
    "maxwell_sphere": Entry({"order": 2, "ka": (1.0, 2.0)}, None, pictures.cross_sections, text=(
        "One run gives both frequencies. The recorder `Fourier` transforms the fields on the sphere during the run, and "
        "`near_to_far` computes the far fields from them. Lines are Mie's series, dots the run.")),
    "acoustic_pulse": Entry({"order": 4, "cells": 20}, 0.5, {"variable": "p", "time": 1.5}, ((2, 3), 2)),
    "maxwell_cavity": Entry({"order": 4, "m": 2, "n": 1, "p": 1}, 0.2, {"variable": "Ez", "time": 0.4, "slice": "z=0.3"},
                            ((2, 3), 2)),
    "tm_cavity": Entry({"order": 5, "m": 2, "n": 1}, 0.1, {"variable": "Ez", "time": 0.9, "mesh": True}, ((2, 3, 4), 3)),
    "supersonic_vortex": Entry({"order": 2}, 1.0, {"variable": "rho", "time": 3.0, "mesh": True}, ((1, 2, 3), 2)),
    "isentropic_vortex": Entry({"order": 3}, 0.5, pictures.vortex, ((1, 2, 3), 2)),
    "cylinder_flow": Entry({"until": 10}, None, pictures.around_the_cylinder, text=(
        "The Mach number near the cylinder with isolines 0.05 apart. The elements have straight sides, the wall condition is "
        "that of a curved wall. At this time the flow is not yet steady.")),
    "sod": Entry({}, None, pictures.shock_tube),
    "shu_osher": Entry({}, None, pictures.waves),
    "double_mach": Entry({"elements": 2000}, None, {"variable": "rho", "isolines": (1.5, 22, 30)}, text=(
        "[Cases and their numbers](cases.md) shows it on a mesh like the smallest of the paper.")),
    "forward_step": Entry({"elements": 1500}, None, {"variable": "rho", "isolines": (0.5, 6.5, 30)}),
    "kelvin_helmholtz": Entry({"cells": 16}, None, {"variable": "rho", "time": 1.5}),
    "advection_wave": Entry({"order": 4, "dim": 1, "cells": 5}, 0.25, {"variable": "u", "time": 1.0, "mesh": True},
                            ((1, 2, 3, 4), 3)),
    "hex_cavity": Entry({"order": 4, "cells": 3, "kind": "skewed"}, 0.2, {"variable": "Ez", "time": 0.4, "slice": "z=0.3",
                        "mesh": True, "limits": (-0.4, 0.4)}, ((2, 3), 2)),
    "hex_zones": Entry({"order": 2, "cells": 4, "kind": "warped"}, 0.2, {"variable": "Ez", "time": 0.4, "slice": "z=0.4",
                       "mesh": True, "limits": (-0.2, 0.2)}, ((1, 2), 2)),
    "disc_cavity": Entry({"order": 4, "level": 1, "m": 2}, 0.25, {"variable": "Ez", "time": 1.0, "mesh": True},
                         ((1, 2, 3, 4), 2)),
    "ball_cavity": Entry({"order": 3, "level": 1}, 0.25, {"variable": "Ez", "time": 0.5, "slice": "y=0.1", "mesh": True,
                         "limits": (-0.15, 0.15)},
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
    "linear_waves": Entry({"dim": 2, "cells": 32}, None, pictures.disturbance, (None, 2)),
    "brio_wu": Entry({"cells": 400}, None, pictures.compound_wave),
    "ryu_jones": Entry({"cells": 400}, None, pictures.seven_waves),
    "sod_grid": Entry({"cells": 200}, None, pictures.shock_tube),
}

FRONT = {
    "kelvin_helmholtz": Entry({"order": 4, "cells": 40, "until": 2.0}, None, {"variable": "rho"}),
    "maxwell_cavity": Entry({"order": 4, "cells": 5, "m": 3, "n": 2, "p": 2}, 0.5,
                            {"variable": "Ez", "time": 0.5, "slice": ["x=0.5", "y=0.25", "z=0.5"], "colorbar": False}),
}


def make(names, folder=FOLDER):
    """Run the cases, draw them into the folder, and return {name: section of the page}."""
    folder.mkdir(exist_ok=True)
    return {name: section(name, ENTRIES[name], folder) for name in names}


def section(name, entry, folder):
    """The section of one case: description, picture, equations and source, commands, numbers."""
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
    lines = [f"## {name}", "", description, "", f"![{name}](gallery/{name}.png)", "", *([entry.text, ""] if entry.text else []),
             formulas()[name], "", "```bash", *commands(name, entry), "```", "",
             *table(sim.report, observed), ""]
    return "\n".join(lines)


def formulas():
    """{case: its equations and source, in Markdown}."""
    return sections((FOLDER.parent / "formulas.md").read_text())


def sections(text):
    """{heading: text} of the sections of a Markdown page."""
    return {name: body.strip() for name, body in (part.split("\n", 1) for part in text.split("\n## ")[1:])}


def draw(ds, plot, path):
    """Draw to a PNG file, in full colour and as small as that can be."""
    if callable(plot):
        plot(ds, path)
    else:
        pictures.field(ds, path, **plot)
    with Image.open(path) as image:
        image.convert("RGB").save(path, optimize=True)


def commands(name, entry):
    """The command lines that make the same run and picture."""
    words = [f"dgarray run {name}"]
    for key, value in entry.keywords.items():
        text = f"{key}={value}".replace(" ", "")
        words.append(f"--order {value}" if key == "order" else f"--set '{text}'" if "(" in text else f"--set {text}")
    yield " ".join([*words, *([f"--every {entry.every}"] if entry.every else []), f"--out {name}.zarr"])
    if not callable(entry.plot):
        options = dict(entry.plot)
        words = [f"dgarray plot {name}.zarr {options.pop('variable')}"]
        words += [f"--{key}" if value is True else f"--{key} {','.join(map(str, value))}" if isinstance(value, tuple)
                  else f"--{key} {value}" for key, value in options.items()]
        yield " ".join([*words, f"-o {name}.png"])


def table(report, observed):
    """The numbers of a run as a table in Markdown."""
    rows = {f"{report['place']}s": report["elements"], "degrees of freedom": report["dofs"], "steps": report["steps"],
            "time": number(report["time"])}
    if report["l2_error"]:
        rows |= {f"L2 error of {key}" if key != "total" else "L2 error, all": number(value)
                 for key, value in report["l2_error"].items()}
    rows |= {key.replace("_", " "): number(value) for key, value in report["results"].items()}
    rows |= {f"observed order at order {order}": f"{value:.2f}" for order, value in observed.items()}
    return ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in rows.items())]


def number(value):
    """Four digits; several numbers side by side; rounding errors as 0."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(number, value))
    return "0" if abs(value) < ROUNDING else f"{value:.4g}"


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
    page = FOLDER.parent / "gallery.md"
    old = sections(page.read_text()) if page.exists() else {}
    made = {name: f"## {name}\n\n{text}" for name, text in old.items()} | make(names or ENTRIES)
    shown = [name for name in ENTRIES if name in made]
    head = HEAD.format(thumbnails="\n".join(THUMBNAIL.format(name=name) for name in shown))
    page.write_text("\n".join([head, *(made[name].rstrip() + "\n" for name in shown)]))


if __name__ == "__main__":
    main(sys.argv[1:])
