"""The pages of the gallery: one of each case in gallery/, and gallery.md with their thumbnails by subject."""
from pathlib import Path

DOCS = Path(__file__).parent
FOLDER = DOCS / "gallery"
# Numbers below this are rounding errors, which differ from machine to machine.
ROUNDING = 1e-11

SUBJECTS = {
    "Electromagnetic waves": [
        "tm_obstacles", "dielectric_slab", "slab_spectrum", "bend", "graded_medium", "maxwell_sphere", "mie_sphere",
        "scattering_cylinder", "aircraft", "dipole", "beam_lens", "maxwell_cavity", "tm_cavity", "hex_cavity", "hex_pml",
        "hex_zones", "disc_cavity", "ball_cavity", "hermite_cavity"],
    "Sound": ["acoustic_pulse", "room", "lens_design", "inversion", "hermite_acoustics", "hermite_lens"],
    "Shocks in gases": ["sod", "sod_grid", "shu_osher", "double_mach", "forward_step", "shock_bubble", "helium_bubble"],
    "Smooth flows of gases": [
        "supersonic_vortex", "isentropic_vortex", "vortex_curved", "cylinder_flow", "kelvin_helmholtz", "taylor_green"],
    "Magnetohydrodynamics": [
        "orszag_tang", "mhd_rotor", "mhd_blast", "mhd_kelvin_helmholtz", "field_loop", "current_sheet", "alfven_wave",
        "linear_waves", "brio_wu", "ryu_jones", "mhd_quads"],
    "Advection": ["advection_wave", "hermite_advection"],
}

HEAD = """# Gallery

Every case of the package, run with small settings. Each picture leads to a page with the equations, their source, the
commands that draw the picture, the program, the numbers of the run, and comparisons with published results.
`dgarray run CASE --set name=value` sets any keyword of a case. [Movies](movies.md) shows three of them in motion.

L2 errors are over all variables. Unless said otherwise, runs use the upwind flux, float64, LSRK(5,4), `cfl=0.9`, and start from
the L2 projection.

`python docs/make_gallery.py` makes these pages and their pictures; most of the time goes into double_mach and
forward_step.
"""
THUMBNAIL = '[<img src="gallery/{name}.png" alt="" width="180">{name}](gallery/{name}.md)'


def index():
    """The text of gallery.md."""
    text = [HEAD]
    for subject, names in SUBJECTS.items():
        text += [f"## {subject}", "", '<div class="thumbnails">', "", *(THUMBNAIL.format(name=name) for name in names), "",
                 "</div>", ""]
    names = [f"gallery/{name}" for names in SUBJECTS.values() for name in names]
    return "\n".join([*text, "```{toctree}", ":hidden:", "", *names, "```", ""])


def page(name, description, note, more, commands, python, rows):
    """The page of one case: description, picture, a note, more pictures [(file, caption)], equations and source, commands, a
    text in Python that draws the picture, the program, numbers {name: text}, and comparisons with published numbers.

    Equations and comparisons are written by hand, in the page itself, and stay."""
    lines = [f"# {name}", "", description, "", f"![{name}]({name}.png)", "", *([note, ""] if note else []),
             *(line for file, caption in more for line in (f"![{caption}](../{file})", "", f"{caption}.", "")),
             *by_hand(name, "equations"), "", "```bash", *commands, "```", "",
             *(["The picture, from the store of the run:", "", "```python", python, "```", ""] if python else []),
             f"```{{program}} {name}", "```", "",
             "| run of the picture | |", "|---|---|", *(f"| {key} | {value} |" for key, value in rows.items()), "",
             *by_hand(name, "numbers"), ""]
    return "\n".join(lines)


def by_hand(name, part):
    """The lines of a page between `<!--part-->` and `<!--end-->`, these included; none where there is no page yet."""
    path, begin, end = FOLDER / f"{name}.md", f"<!--{part}-->", "<!--end-->"
    text = path.read_text().partition(begin)[2].partition(end)[0] if path.exists() else "\n\n"
    return [begin + text + end]


def commands(name, keywords, every, plot):
    """The command lines that make a run and, where plot has the options of `dgarray plot`, its picture, or that of a record."""
    words = [f"dgarray run {name}"]
    for key, value in keywords.items():
        text = f"{key}={value}".replace(" ", "")
        words.append(f"--order {value}" if key == "order" else f"--set '{text}'" if "(" in text else f"--set {text}")
    yield " ".join([*words, *([f"--every {every}"] if every else []), f"--out {name}.zarr"])
    if not callable(plot):
        options = dict(plot)
        words = [f"dgarray plot {name}.zarr {options.pop('variable')}"]
        words += [f"--{key}" if value is True else f"--{key} {','.join(map(str, value))}" if isinstance(value, tuple)
                  else f"--{key} {value}" for key, value in options.items()]
        yield " ".join([*words, f"-o {plot.get('record', name)}.png"])


def numbers(report, observed):
    """The numbers of a run, {name: text}; observed: {order: observed order of convergence}."""
    rows = {"run": f"{report['elements']} {report['place']}s, {report['dofs']} degrees of freedom, {report['steps']} steps to "
                   f"t = {number(report['time'])}"}
    if report["l2_error"]:
        rows["L2 errors"] = ", ".join(f"{'all' if key == 'total' else key} {number(value)}"
                                      for key, value in report["l2_error"].items())
    rows |= {key.replace("_", " "): number(value) for key, value in report["results"].items()}
    if observed:
        rows["observed order at order"] = ", ".join(f"{order}: {value:.2f}" for order, value in observed.items())
    return rows


def number(value):
    """Four digits; several numbers side by side; rounding errors as 0."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(number, value))
    return "0" if abs(value) < ROUNDING else f"{value:.4g}"
