"""Meshes in zarr stores: what is read is what was written; cut meshes give ranks their parts; what is damaged is said."""
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import dgarray as dg
from dgarray.cases.meshes.concentric import concentric_mesh
from dgarray.cli import main
from dgarray.mesh import MeshError, describe
from dgarray.mesh.files import store
from dgarray.mesh.partition import partition

SQUARES = dg.rectangle(cells=6, shape="quadrilateral")
MESHES = {
    "intervals": dg.interval(cells=9, periodic=True), "tetrahedra": dg.box(cells=3),
    "names": dg.rectangle(cells=6).with_regions({"west, /..": lambda x: x[0] < 0.5}).with_interfaces({"skin": "west, /.."}),
    "periodic": dg.rectangle(cells=5, periodic=True), "hanging": SQUARES.refined([7, 8, 13]),
    "curved": SQUARES.mapped(lambda x: (x[0], x[1] + 0.1 * np.sin(3 * x[0])), order=3),
    "mixed": dg.box(cells=(3, 2, 2), shape="mixed"), "layers": dg.pml(dg.rectangle(cells=6), 0.2, 2),
    "round layer": dg.pml(concentric_mesh((("inside", 0.5, 1), ("outer", 1.0, 2)), dim=2), region="outer"),
}


def same(found, expected):
    """Whether two meshes, or parts of them, hold the same."""
    for field in fields(expected):
        if field.name == "owner":
            continue
        values = [getattr(each, field.name) for each in (found, expected)]
        if isinstance(values[1], dict):
            assert list(values[0]) == list(values[1])
            pairs = zip(values[0].values(), values[1].values())
        elif field.name in ("neighbours", "hanging"):
            pairs = ([getattr(each, own.name) for each in values] for own in fields(values[1]))
        else:
            pairs = [values]
        for own, other in pairs:
            if isinstance(other, np.ndarray):
                assert own.dtype == other.dtype and np.array_equal(own, other, equal_nan=own.dtype.kind == "f"), field.name
            else:
                assert own == other, field.name


@pytest.mark.parametrize("name", MESHES)
def test_what_is_read_is_what_was_written(name, tmp_path):
    mesh, path = MESHES[name], tmp_path / "mesh.zarr"
    dg.write_mesh(mesh, path)
    found = dg.read_mesh(path)
    assert type(found) is type(mesh) and found.owner is None
    same(found, mesh)
    assert describe(found) == describe(mesh)
    assert not found.cells.flags.writeable


def test_nothing_is_loaded(tmp_path):
    """Memory holds pages of the file that are looked at."""
    dg.write_mesh(dg.box(cells=4), tmp_path / "mesh.zarr")
    mesh = dg.read_mesh(tmp_path / "mesh.zarr")
    for array in (mesh.points, mesh.cells, mesh.neighbours.orientation):
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert isinstance(base, np.memmap)


def test_results_are_the_same(tmp_path):
    """Of a mesh that has been written and changed after that."""
    def run(mesh):
        mesh = mesh.refined().with_regions({"west": lambda x: x[0] < 0.5})
        return dg.Simulation(mesh, dg.Acoustics(2), dg.NodalDG({"west": 1, "default": 2}), dg.wall,
                             lambda x: (np.sin(3 * x[0] + x[1]), 0 * x[0], 0 * x[0]), until=0.02, kernels="array").run()
    dg.write_mesh(MESHES["names"], tmp_path / "mesh.zarr")
    found, expected = (run(mesh) for mesh in (dg.read_mesh(tmp_path / "mesh.zarr"), MESHES["names"]))
    assert all(each.to_dataset().equals(expected[zone].to_dataset()) for zone, each in found.children.items())


class TestParts:
    """A mesh that is cut."""

    pytestmark = pytest.mark.usefixtures("pymetis")

    @pytest.fixture
    def pymetis(self):
        pytest.importorskip("pymetis", reason="pip install 'dgarray[mpi]' brings pymetis")

    @pytest.mark.parametrize("name", ["hanging", "mixed", "layers"])
    def test_parts_are_those_of_the_mesh(self, name, tmp_path):
        mesh, path = MESHES[name], tmp_path / "mesh.zarr"
        dg.write_mesh(mesh, path, parts=3)
        found = dg.read_mesh(path)
        assert np.array_equal(np.unique(found.owner), np.arange(3)) and "for 3 ranks of a run, " in describe(found)
        for around in ("faces", "vertices"):
            for part, expected in zip(partition(found, found.owner, around), partition(mesh, found.owner, around)):
                for each in ("cells", "own", "rim"):
                    assert np.array_equal(getattr(part.share, each), getattr(expected.share, each))
                assert part.share.send.keys() == expected.share.send.keys()

    def test_costs(self, tmp_path):
        """Parts cost the same: cells that cost more are in smaller parts."""
        mesh = dg.rectangle(cells=20)
        dg.write_mesh(mesh, tmp_path / "mesh.zarr", 2, np.where(mesh.centroids[:, 0] < 0.25, 9.0, 1.0))
        costs = np.bincount(dg.read_mesh(tmp_path / "mesh.zarr").owner, np.where(mesh.centroids[:, 0] < 0.25, 9.0, 1.0))
        assert abs(costs[0] / costs[1] - 1) < 0.1

    def test_a_changed_mesh_is_cut_anew(self, tmp_path):
        dg.write_mesh(dg.rectangle(cells=4), tmp_path / "mesh.zarr", parts=2)
        mesh = dg.read_mesh(tmp_path / "mesh.zarr")
        assert mesh.refined().owner is None and mesh.part([1, 2]).owner is None
        assert mesh.with_regions({"west": lambda x: x[0] < 0.5}).owner is mesh.owner

    @pytest.mark.parametrize("given, words", [
        ({"parts": 0}, "cannot be cut into 0 parts; allowed: 1 to 32, its number of cells"), ({"parts": 33}, "into 33 parts"),
        ({"parts": True}, "into True parts"), ({"parts": 2.5}, "into 2.5 parts"),
        ({"parts": 2, "costs": [1, 2]}, "costs must be 32 positive numbers"),
        ({"parts": 2, "costs": ["a"] * 32}, "costs must be 32 positive numbers"),
        ({"parts": 2, "costs": [1j] * 32}, "costs must be 32 positive numbers"), ({"costs": [1.0] * 32}, "without parts"),
        ({"parts": 2, "costs": np.zeros(32)}, "costs must be 32 positive numbers")])
    def test_what_is_refused(self, given, words, tmp_path):
        with pytest.raises(MeshError, match=words):
            dg.write_mesh(dg.rectangle(cells=4), tmp_path / "mesh.zarr", **given)
        assert not list(tmp_path.iterdir())

    def test_command(self, tmp_path, monkeypatch, capsys):
        """By the command line, from a file of another program."""
        monkeypatch.chdir(tmp_path)
        file = str(Path(__file__).parents[1] / "docs" / "meshes" / "room.msh")
        assert main(["partition", file, "-n", "3", "-o", "room.zarr"]) == 0
        assert capsys.readouterr().out.startswith("room.zarr: 278 triangle cells in 3 parts of ")
        assert main(["info", "room.zarr"]) == 0 and "cut         for 3 ranks of a run, " in capsys.readouterr().out
        for arguments, words in (((file, "-n", "3", "-o", "room.zarr"), "room.zarr exists; overwrite it, or take another name"),
                                 ((file, "-n", "3", "-o", "room.h5"), "the store of a mesh has the suffix .zarr"),
                                 (("rooom.msh", "-n", "3"), "rooom.msh: no such file")):
            assert main(["partition", *arguments]) == 2
            err = capsys.readouterr().err
            assert len(err.splitlines()) == 1 and words in err
        assert main(["plot", "room.zarr", "p"]) == 2
        assert capsys.readouterr().err == "dgarray plot: room.zarr is a mesh, not the output of a run\n"


def test_what_is_there_is_not_replaced(tmp_path):
    mesh, path = dg.rectangle(cells=3), tmp_path / "mesh.zarr"
    dg.write_mesh(mesh, path)
    with pytest.raises(MeshError, match="mesh.zarr exists; overwrite it, or take another name"):
        dg.write_mesh(mesh, path)
    dg.write_mesh(dg.rectangle(cells=4), path, overwrite=True)
    assert dg.read_mesh(path).cell_count == 32
    (tmp_path / "other.zarr").mkdir()
    with pytest.raises(MeshError, match="other.zarr exists; it is no store of a mesh; take another name"):
        dg.write_mesh(mesh, tmp_path / "other.zarr", overwrite=True)
    with pytest.raises(MeshError, match="cannot be written: there is no folder"):
        dg.write_mesh(mesh, tmp_path / "none" / "mesh.zarr")
    with pytest.raises(MeshError, match="is a part of a mesh; write the whole mesh"):
        dg.write_mesh(partition(mesh, np.arange(18) % 2)[0], tmp_path / "part.zarr")
    for bad in (None, 5, b"mesh.zarr", "a\0.zarr"):
        with pytest.raises(MeshError, match="give the name of a store, such as 'mesh.zarr'"):
            dg.write_mesh(mesh, bad)
    with pytest.raises(MeshError, match="cannot be written: File name too long"):
        dg.write_mesh(mesh, tmp_path / f"{'long' * 80}.zarr")
    (tmp_path / "link.zarr").symlink_to(path)
    dg.write_mesh(mesh, tmp_path / "link.zarr", overwrite=True)
    assert dg.read_mesh(path).cell_count == 18 and (tmp_path / "link.zarr").is_symlink()
    with pytest.raises(MeshError, match="give a mesh of cells"):
        dg.write_mesh(dg.Grid((0,), (1,), (4,)), tmp_path / "grid.zarr")


def test_a_store_that_is_damaged(tmp_path, monkeypatch):
    path = tmp_path / "mesh.zarr"
    dg.write_mesh(dg.rectangle(cells=3), path)
    with pytest.raises(MeshError, match="split and zone are for the files of other programs"):
        dg.read_mesh(path, split=True)
    cells = path / "cells" / "c" / "0" / "0"
    cells.write_bytes(cells.read_bytes()[:-8])
    with pytest.raises(MeshError, match="cells/c/0/0 has 424 bytes, not 432; the mesh is damaged, write it again"):
        dg.read_mesh(path)
    cells.unlink()
    with pytest.raises(MeshError, match="cells/c/0/0 has 0 bytes"):
        dg.read_mesh(path)
    (path / "cells" / "zarr.json").write_text("{}")
    with pytest.raises(MeshError, match="mesh.zarr is damaged .*; write it again"):
        dg.read_mesh(path)
    monkeypatch.setattr(store, "VERSION", 2)
    dg.write_mesh(dg.rectangle(cells=3), path, overwrite=True)
    monkeypatch.undo()
    with pytest.raises(MeshError, match="has version 2 of the format, this dgarray reads 1"):
        dg.read_mesh(path)
