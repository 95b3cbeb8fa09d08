"""Stores that a mistake needs in the current folder: of sound runs, of other problems, damaged ones.

Each is written once. A command that only reads it gets a link, because to remove its hundred folders takes longer than the
command; a store to be damaged is copied."""
import atexit
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

import dgarray as dg
from dgarray.output.store.checksums import sealed, unsealed

from .files import NASTY
from .kinds import SCRIPT
from .provoking import FAST, call


def kept_folder():
    """A new folder that is there until Python ends."""
    name = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, name, ignore_errors=True)
    return Path(name).resolve()


@cache
def stored():
    """Folder with runs to look at: flat.zarr (2D), thick.zarr (3D), line.zarr (1D), nodes.zarr (on a 2D grid)."""
    folder = kept_folder()
    meshes = {"flat": dg.rectangle(cells=(2, 2)), "thick": dg.box(cells=(1, 1, 1)), "line": dg.interval(cells=4)}
    for name, mesh in meshes.items():
        record = {"ears": dg.Points([mesh.points.mean(axis=0)]), "walls": dg.SurfaceFields("left")}
        dg.Simulation(mesh, dg.Acoustics(mesh.dim), dg.NodalDG(1), dg.wall, until=0.1, backend="numpy", kernels="array",
                      threads=1, dt=0.05, record=record).run(out=folder / f"{name}.zarr")
    dg.Simulation(dg.Grid((0, 0), (1, 1), (4, 4)), dg.Acoustics(2), dg.Hermite(1), dg.wall, until=0.1, backend="numpy",
                  kernels="array", threads=1).run(out=folder / "nodes.zarr")
    return folder


@cache
def written(changes="", before=""):
    """The store of case.py, or of another problem than it defines."""
    folder = kept_folder()
    (folder / "other.py").write_text(SCRIPT.format(before=before, changes=f"dict({changes})"))
    run(folder / "other.py", "--out", folder / "out.zarr")
    return folder / "out.zarr"


def run(*arguments):
    said, status = call(["run", *map(str, arguments), "--quiet", *FAST])
    assert status == 0, said


def link(store):
    Path(store.name).symlink_to(store)


def copy(store):
    shutil.copytree(store, store.name)


def stores(*names):
    def prepare():
        for name in names:
            link(stored() / f"{name}.zarr")
    return prepare


def going_on(changes, before=""):
    """A store of another problem than case.py defines."""
    return lambda: link(written(changes, before))


def gone():
    """A run on a mesh file that is not there any more."""
    shutil.copy(NASTY / "good_tri_4x4.msh", "mine.msh")
    run("advection_wave", "--mesh", "mine.msh", "--order", "1", "--until", "0.1", "--out", "out.zarr")
    Path("mine.msh").unlink()


def changed(change):
    """A store of case.py whose metadata have been changed."""
    copy(written())
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
    copy(stored() / "flat.zarr")
    for checkpoint in Path("flat.zarr/checkpoints").glob("*.npz"):
        checkpoint.write_bytes(b"damaged")


def no_chunk():
    copy(stored() / "flat.zarr")
    Path("flat.zarr/vx/c/1/0/0").unlink()


def flipped(name, store=lambda: stored() / "flat.zarr", byte=-9):
    """A store, such as the run flat.zarr, with one bit flipped in this file."""
    def prepare():
        copy(store())
        file = Path(store().name) / name
        content = bytearray(file.read_bytes())
        content[byte] ^= 1 << 3
        file.write_bytes(content)
    return prepare


def no_root():
    copy(stored() / "flat.zarr")
    Path("flat.zarr/zarr.json").write_text("{")


def foreign():
    import xarray
    with warnings.catch_warnings(action="ignore"):
        xarray.Dataset({"a": ("x", [1.0])}).to_zarr("flat.zarr", zarr_format=3)
