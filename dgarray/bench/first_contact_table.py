"""The records of `dgarray bench --first-contact` as text for a person."""
from textwrap import shorten

from ..output.report import rendered
from . import gpu_wheels
from .tables import columns

WIDTH = 74               # characters of the column `found`; the JSON has the whole text


def table(records, left):
    """A line for each step; if packages are missing, the commands that fetch and install them; the steps that are left.

    records, left: what `dgarray.bench.first_contact.first_contact` returns"""
    found = columns(["step", "status", "s", "found"], ["step", "status", "found"])
    for record in records:
        found.add_row(record["step"], record["status"], f"{record['seconds']:.1f}", short(record["found"]))
    lines = [rendered(found)]
    missing = gpu_wheels.missing()
    if missing:
        fetch, install = gpu_wheels.commands(gpu_wheels.requirements(cuda(records)))
        lines += ["", f"missing: {', '.join(missing)}; fetch the wheels where there is a network, carry and install them:",
                  fetch, install]
    if left:
        lines += ["", f"left for another call with the same folder: {', '.join(left)}"]
    return "\n".join(lines)


def short(found):
    """`found` of a record in one line: names and values of a dict, or the first and the last line of a text."""
    if isinstance(found, dict):
        text = ", ".join(f"{name} {value}" for name, value in found.items() if value and not isinstance(value, (dict, list)))
    else:
        lines = str(found).splitlines() or [""]
        text = ": ".join(dict.fromkeys([lines[0], lines[-1]]))
    return shorten(text, WIDTH, placeholder=" ...")


def cuda(records):
    """12 if the driver is for CUDA 12, else None."""
    said = next((r["found"] for r in records if r["step"] == "versions" and isinstance(r["found"], dict)), {})
    return 12 if (said.get("cuda") or "").startswith("12.") else None
