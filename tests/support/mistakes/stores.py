"""Stores that a mistake needs in the current folder: of sound runs, of other problems, damaged ones."""
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

import dgarray as dg
from dgarray.output.checksums import sealed, unsealed

from .files import NASTY
from .kinds import SCRIPT
from .provoking import FAST, call


@cache
def stored():
    """Folder with runs to look at: flat.zarr (2D), thick.zarr (3D), line.zarr (1D), nodes.zarr (on a 2D grid)."""
    folder = Path(tempfile.mkdtemp())
    meshes = {"flat": dg.rectangle(cells=(2, 2)), "thick": dg.box(cells=(1, 1, 1)), "line": dg.interval(cells=4)}
    for name, mesh in meshes.items():
        record = {"ears": dg.Points([mesh.points.mean(axis=0)]), "walls": dg.SurfaceFields("left")}
        dg.Simulation(mesh, dg.Acoustics(mesh.dim), dg.NodalDG(1), dg.wall, until=0.1, backend="numpy", kernels="array",
                      threads=1, dt=0.05, record=record).run(out=folder / f"{name}.zarr")
    dg.Simulation(dg.Grid((0, 0), (1, 1), (4, 4)), dg.Acoustics(2), dg.Hermite(1), dg.wall, until=0.1, backend="numpy",
                  kernels="array", threads=1).run(out=folder / "nodes.zarr")
    return folder


def stores(*names):
    def prepare():
        for name in names:
            shutil.copytree(stored() / f"{name}.zarr", f"{name}.zarr")
    return prepare


def run(*arguments):
    """Write out.zarr by this run."""
    said, status = call(["run", *arguments, "--quiet", "--out", "out.zarr", *FAST])
    assert status == 0, said


def going_on(changes, before=""):
    """A store of another problem than case.py defines."""
    def prepare():
        Path("other.py").write_text(SCRIPT.format(before=before, changes=f"dict({changes})"))
        run("other.py")
    return prepare


def gone():
    """A run on a mesh file that is not there any more."""
    shutil.copy(NASTY / "good_tri_4x4.msh", "mine.msh")
    run("advection_wave", "--mesh", "mine.msh", "--order", "1", "--until", "0.1")
    Path("mine.msh").unlink()


def changed(change):
    """A store of case.py whose metadata have been changed."""
    going_on("")()
    metadata = Path("out.zarr/zarr.json")
    group, arrays = unsealed(metadata.read_bytes(), metadata)
    change(arrays)
    metadata.write_bytes(sealed(group, arrays))


def cut_short():
    def change(arrays):
        arrays["time"]["shape"][0] = 1
    changed(change)


def robbed():
    changed(lambda arrays: arrays.pop("p"))


def damaged():
    stores("flat")()
    for checkpoint in Path("flat.zarr/checkpoints").glob("*.npz"):
        checkpoint.write_bytes(b"damaged")


def flipped(*names):
    """The run flat.zarr, with one bit flipped in each of these files."""
    def prepare():
        stores("flat")()
        for name in names:
            flip(Path("flat.zarr") / name)
    return prepare


def flip(file, byte=-9, bit=3):
    content = bytearray(file.read_bytes())
    content[byte] ^= 1 << bit
    file.write_bytes(content)


def no_root():
    stores("flat")()
    Path("flat.zarr/zarr.json").write_text("{")


def foreign():
    import xarray
    with warnings.catch_warnings(action="ignore"):
        xarray.Dataset({"a": ("x", [1.0])}).to_zarr("flat.zarr", zarr_format=3)
