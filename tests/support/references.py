"""Reference values and meshes, made without this package: tests/data/README.md says by what."""
from pathlib import Path

import pytest

import dgarray as dg

DATA = Path(__file__).parents[1] / "data"
# Meshes of other projects, which are not part of this one; tests that need them are marked `external`.
EXTERNAL = Path(__file__).parents[3] / "shared" / "reference"


def table_path(name):
    return DATA / "tables" / name


def table(name):
    """Lines of a reference table, cut at commas, without those that start with #."""
    return [line.split(",") for line in table_path(name).read_text().splitlines() if not line.startswith("#")]


def table_row(name, **keys):
    """The row of a reference table with a header that has these values, as a dictionary."""
    header, *rows = table(name)
    [row] = [row for row in (dict(zip(header, row)) for row in rows) if keys.items() <= row.items()]
    return row


def mesh_path(name):
    """A mesh file by its name: that of this project, or an external one."""
    return DATA / name if (DATA / name).exists() else EXTERNAL / "meshes" / name


def nasty_path(name):
    """A broken or odd mesh file by its name without ending."""
    own = DATA / "nasty" / f"{name}.msh"
    return own if own.exists() else EXTERNAL / "nasty_meshes" / own.name


def parameters(names, path):
    """The names of meshes as parameters of a test, the external ones marked; path: `mesh_path` or `nasty_path`."""
    return [pytest.param(name, marks=[] if path(name).is_relative_to(DATA) else pytest.mark.external) for name in names]


def reference_mesh(name):
    return dg.read_mesh(mesh_path(f"ndg_{name}.msh"))


# Toro 2009, tables 4.1 (data) and 4.2 (p*, u*, rho*L, rho*R), gamma = 1.4.
TORO = {
    1: (((1.0, 0.0, 1.0), (0.125, 0.0, 0.1)), (0.30313, 0.92745, 0.42632, 0.26557)),
    2: (((1.0, -2.0, 0.4), (1.0, 2.0, 0.4)), (0.00189, 0.0, 0.02185, 0.02185)),
    3: (((1.0, 0.0, 1000.0), (1.0, 0.0, 0.01)), (460.894, 19.5975, 0.57506, 5.99924)),
    4: (((1.0, 0.0, 0.01), (1.0, 0.0, 100.0)), (46.0950, -6.19633, 5.99242, 0.57511)),
    5: (((5.99924, 19.5975, 460.894), (5.99242, -6.19633, 46.0950)), (1691.64, 8.68975, 14.2823, 31.0426)),
}
