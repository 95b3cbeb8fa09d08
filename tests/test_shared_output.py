"""Stores and checkpoints that several processes write together: the same as by one, and nothing is lost where one fails."""
import errno
import os
import shutil

import numpy as np
import pytest
import xarray as xr
from parts import Together

import dgarray as dg
from dgarray.output import GridLayout, Layout, OutputError, open_output, store_of, verify
from dgarray.output.store import checkpoint, snapshots as store

PARTS = 3


class Writers(Together):
    """So many processes that write output together."""

    def __init__(self, count=PARTS):
        super().__init__(count)
        self.each = self.messages


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """So that small snapshots are cut, too."""
    monkeypatch.setattr(store, "LEAST_CHUNK", 16)


def triangles():
    mesh = dg.rectangle(cells=(5, 4))
    return Layout(2, 2, mesh.points, mesh.cells, mesh.numbers, ("a", "b"), boundaries=mesh.boundaries)


def derivatives(dim=2):
    return GridLayout(dg.Grid((0,) * dim, (1,) * dim, (5, 6, 7)[:dim]), 1, True, ("a", "b"))


LAYOUTS = {"triangles": triangles, "derivatives": derivatives, "line": lambda: derivatives(1), "space": lambda: derivatives(3)}


def states(plan, times):
    return [np.random.default_rng(number).standard_normal(plan.shape) for number in range(len(times))]


def write(ranks, plan, path, times, **options):
    """A process' share of the snapshots at these times."""
    found = store_of(plan, path, ranks=ranks, **options)
    width = plan.shape[2] // found.shares[-1]
    first, end = found.shares[ranks.part:ranks.part + 2] * width
    for t, q in zip(times, states(plan, times)):
        if t > found.last:
            found.append(t, q[:, :, first:end])
    found.sync()
    return end - first


@pytest.mark.parametrize("name", LAYOUTS)
def test_several_write_what_one_writes(name, tmp_path):
    plan, times = LAYOUTS[name](), (0.0, 0.5, 1.0)
    sizes = Writers().together(lambda ranks: write(ranks, plan, tmp_path / "several.zarr", times[:2]))
    assert sum(sizes) == plan.shape[2] and min(sizes) > 0
    # So many others go on with it.
    Writers(2).together(lambda ranks: write(ranks, plan, tmp_path / "several.zarr", times, resume={"time": 2}))
    with store_of(plan, tmp_path / "one.zarr") as one:
        for t, q in zip(times, states(plan, times)):
            one.append(t, q)
    xr.testing.assert_identical(open_output(tmp_path / "several.zarr").load(), open_output(tmp_path / "one.zarr").load())
    assert not verify(tmp_path / "several.zarr").damaged


def test_a_store_whose_derivatives_are_cut_otherwise_is_written_by_the_first(tmp_path):
    """As earlier versions wrote them."""
    plan = derivatives()
    with store_of(plan, tmp_path / "a.zarr") as one:
        one.append(0.0, states(plan, [0.0])[0])
    for name in ("a_derivatives", "b_derivatives"):
        chunks = one._files.arrays[name]["chunk_grid"]["configuration"]
        chunks["chunk_shape"] = [1, 2, *plan.grid.shape]
    one._files.commit()
    sizes = Writers().together(lambda ranks: write(ranks, plan, tmp_path / "a.zarr", (0.0, 1.0), resume={"time": 1}))
    assert sizes == [plan.shape[2], 0, 0]
    assert np.array_equal(open_output(tmp_path / "a.zarr").a_derivatives[1].values.reshape(4, -1), states(plan, (0, 1))[1][0])


def test_where_one_cannot_write_all_end_and_nothing_is_lost(tmp_path, monkeypatch):
    plan, times = triangles(), (0.0, 0.5)
    path, replace = tmp_path / "a.zarr", os.replace

    def full(source, target):
        if f"{os.sep}c{os.sep}1{os.sep}1" in str(target):          # the second snapshot's share of the second process
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)
    monkeypatch.setattr(os, "replace", full)

    def failing(ranks):
        with pytest.raises(OutputError, match=r"the snapshot of t = 0.5 cannot be written: No space left.* t = 0, is intact"):
            write(ranks, plan, path, times)
        return True
    assert all(Writers().together(failing))
    assert np.array_equal(open_output(path).a.values[0].T, states(plan, times)[0][0]) and not list(path.glob("*/c/1"))


STATE = {"q": (2, (3, 5, 40)), "state/west": (1, (2, 13, 4))}          # {name: (axis of the elements, shape)}


def save(ranks, out, step, seed=0):
    """A process' part of a checkpoint, and the whole state."""
    whole = {name: np.random.default_rng(seed).standard_normal(shape) for name, (_, shape) in STATE.items()}
    begins, shares = {}, {}
    for name, (axis, shape) in STATE.items():
        first, end = (shape[axis] * number // ranks.parts for number in (ranks.part, ranks.part + 1))
        begins[name], shares[name] = (axis, first), np.take(whole[name], range(first, end), axis)
    checkpoint.save(out, step, shares | {"record/a/sum": np.array(3.0)}, {"t": float(step)}, begins, ranks)
    return whole


def test_checkpoints_of_several_processes(tmp_path):
    whole = Writers().together(lambda ranks: save(ranks, tmp_path, 1))[0]
    file = checkpoint.latest(tmp_path)
    found = checkpoint.arrays_of(file)
    assert found.pop("record/a/sum") == 3.0 and found["q"].ndim == 3
    assert found.keys() == whole.keys() and all(np.array_equal(found[name], whole[name]) for name in whole)
    wanted = {"q": (2, np.array([39, 0, 7, 26, 7])), "state/west": (1, np.array([12, 5]))}
    for blocks in (checkpoint.BLOCK, 64):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoint, "BLOCK", blocks)
            found = checkpoint.arrays_of(file, wanted)
        for name, (axis, entries) in wanted.items():
            assert np.array_equal(found[name], np.take(whole[name], entries, axis))
    assert len(list(file.parent.iterdir())) == PARTS
    for step in (2, 3):          # fewer go on with it; the oldest goes with all its files
        Writers(2).together(lambda ranks, step=step: save(ranks, tmp_path, step))
    assert len(list(file.parent.iterdir())) == 4 and not file.exists()


def test_one_process_checkpoint_is_read_in_parts(tmp_path):
    """Also one of an array that lies by columns, as earlier versions wrote it."""
    q, wanted = np.random.default_rng(0).standard_normal((3, 5, 40)), {"q": (2, np.array([4, 38, 0]))}
    checkpoint.save(tmp_path, 1, {"q": q}, {"t": 1.0})
    file = checkpoint.latest(tmp_path)
    assert np.array_equal(checkpoint.arrays_of(file, wanted)["q"], q[:, :, wanted["q"][1]])
    np.savez(file, facts=np.frombuffer(b'{"t": 1.0}', np.uint8), q=np.asfortranarray(q))
    assert np.array_equal(checkpoint.arrays_of(file, wanted)["q"], q[:, :, wanted["q"][1]])


@pytest.mark.parametrize("how, word", [("removed", "it is missing"), ("another", "it is not of this checkpoint"),
                                       ("changed", "its checksum does not match")])
def test_a_checkpoint_with_a_damaged_share_is_passed_over(how, word, tmp_path):
    whole = [Writers().together(lambda ranks, step=step: save(ranks, tmp_path, step, step))[0] for step in (1, 2)]
    file = checkpoint.folder_of(tmp_path) / "000000000002.rank1"
    if how == "removed":
        file.unlink()
    elif how == "another":
        shutil.copy(file.with_suffix(".rank2"), file)
    else:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    with pytest.warns(UserWarning, match=f"{file.name} is damaged: {word}.*continuing from the checkpoint before it, at t = 1"):
        found = checkpoint.latest(tmp_path)
    assert np.array_equal(checkpoint.arrays_of(found)["q"], whole[0]["q"])
    assert not list(file.parent.glob("000000000002*"))


def test_where_one_cannot_save_its_share_the_checkpoint_before_is_kept(tmp_path, monkeypatch):
    whole, replace = Writers().together(lambda ranks: save(ranks, tmp_path, 1))[0], os.replace

    def full(source, target):
        if str(target).endswith("2.rank2"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)
    monkeypatch.setattr(os, "replace", full)

    def failing(ranks):
        with pytest.raises(OutputError, match=r"2.rank2: the checkpoint cannot be written: No space left"):
            save(ranks, tmp_path, 2, 1)
        return True
    assert all(Writers().together(failing))
    assert np.array_equal(checkpoint.arrays_of(checkpoint.latest(tmp_path))["q"], whole["q"])
