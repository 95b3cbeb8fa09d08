"""Files that a mistake needs in the current folder: meshes and texts."""
import contextlib
import io
import shutil
from pathlib import Path

import meshio
import numpy as np

NASTY = Path(__file__).parents[2] / "data" / "nasty"


def nasty(name, to=None):
    return lambda: shutil.copy(NASTY / f"{name}.msh", to or f"{name}.msh")


def file(name, text=""):
    def prepare():
        Path(name).write_text(text)
    return prepare


def triangle_file(name, points=((0, 0, 0), (1, 0, 0), (0, 1, 0)), cells=(("triangle", [[0, 1, 2]]),)):
    def prepare():
        with contextlib.redirect_stdout(io.StringIO()):
            meshio.write_points_cells(name, np.array(points, float), [(kind, np.array(c)) for kind, c in cells])
    return prepare


def solid(name, moved=None, **cells):
    """A mesh file with one cell for each type, of corners of the unit cube; moved: (corner, its place)."""
    points = [(x, y, z) for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
    if moved:
        points[moved[0]] = moved[1]
    return triangle_file(name, points, [(kind, [corners]) for kind, corners in cells.items()])
