"""A bit that has flipped in a file of a store is an error that names it; stores without checksums are read as before."""
import json
import random
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

import dgarray as dg
from dgarray import cli
from dgarray.output import DamagedError, open_store, verify
from dgarray.output.store import checkpoint
from dgarray.output.store.damage import CheckedStore
from dgarray.output.store.files import read_metadata

OLD = Path(__file__).parent / "data" / "store-without-checksums.zip"


def waves(**changes):
    """A run with records in chunks of many rows and one that is known at its end."""
    record = {"receivers": dg.Points([(0.2, 0.3)]), "spectrum": dg.Fourier([0.2, 0.4], boundary="left")}
    given = dict(boundary=dg.wall, initial=lambda x: (np.exp(-30 * x[0] ** 2), 0.0, 0.0), record=record, backend="numpy",
                 kernels="array", threads=1)
    return dg.Simulation(dg.rectangle(cells=3), dg.Acoustics(2), dg.NodalDG(2), **given | changes)


@pytest.fixture(scope="module", params=[None, "zstd"])
def store(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "run.zarr"
    waves().run(0.08, 0.02, path, compress=request.param)
    assert verify(path).damaged == [] and verify(path).unchecked == 0
    return path


@contextmanager
def flipped(file, rng, place=None):
    """One bit of the file is flipped, a random one or one of the byte at this place."""
    before = file.read_bytes()
    changed = bytearray(before)
    changed[rng.randrange(len(before)) if place is None else place] ^= 1 << rng.randrange(8)
    file.write_bytes(changed)
    try:
        yield file
    finally:
        file.write_bytes(before)


def test_every_flipped_bit_is_named(store):
    """100 bits, one after the other, in chunks and checkpoints, of stores with and without compression."""
    rng = random.Random(1)
    files = sorted(file for file in store.rglob("*") if file.is_file() and file.name != "zarr.json")
    checkpoints = [file for file in files if file.suffix == ".npz"]
    assert len(checkpoints) == checkpoint.KEPT
    for chosen in [*checkpoints * 5, *rng.choices(files, k=40)]:
        with flipped(chosen, rng) as file:
            assert [error.file for error in verify(store).damaged] == [file]
            if file in checkpoints:
                assert str(checkpoint.damage(file)).startswith(f"{file} is damaged: ")
                continue
            name = file.relative_to(store).parts[0]
            with pytest.raises(DamagedError, match=f"^{file} is damaged: its checksum .*; dgarray info {store} --check"):
                zarr.open_group(CheckedStore(store), mode="r")[name][...]
            with pytest.raises(ValueError, match="checksum"):          # zarr itself finds it, too
                zarr.open_group(store, mode="r")[name][...]
    assert not verify(store).damaged


def test_a_flipped_bit_in_the_metadata_is_named_or_changes_nothing(store):
    """Where nothing is said it is the name of the checksum that has changed, and the file is like one without it."""
    rng, file, good = random.Random(2), store / "zarr.json", read_metadata(store)
    size = file.stat().st_size
    name = range(size - len(b'crc32c": "01234567"}}'), size - len(b'": "01234567"}}'))
    silent = []
    for place in [*rng.sample(range(size), 150), *range(size - 40, size)]:
        with flipped(file, rng, place):
            try:
                assert read_metadata(store) == good
                silent.append(place)
            except DamagedError as error:
                assert str(error).startswith(f"{file} is damaged: ")
                assert verify(store).damaged[0].file == file
    assert set(silent) <= set(name)


def test_metadata_of_an_array_that_differ_from_those_of_the_group_are_named(store):
    """Only xarray.open_zarr(..., consolidated=False) reads them."""
    array = store / "p" / "zarr.json"
    before = array.read_bytes()
    for after in (before.replace(b'"units": "', b'"units": "m'), before[:-1], b"[]"):
        array.write_bytes(after)
        assert [error.file for error in verify(store).damaged] == [array]
    array.write_bytes(before)


def test_what_reads_a_store_names_the_file(store, capsys, tmp_path, monkeypatch):
    """The dataset of a run, `ds.dg` of any dataset, and the command line, with status 2 and one line."""
    monkeypatch.chdir(tmp_path)
    rng, times = random.Random(3), store / "time" / "c" / "0"
    with flipped(store / "p" / "c" / "3" / "0" / "0", rng) as file:
        damage = f"{file} is damaged: its checksum does not match"
        with pytest.raises(DamagedError, match=damage):
            open_store(store).p.load()
        plain = xr.open_zarr(store)
        assert np.isfinite(plain.dg.norm("p", time=2))
        for call in (lambda dg: dg.norm("p", time=3), lambda dg: dg.values("p", time=3),
                     lambda dg: dg.plot("p", time=3, path="p.png"), lambda dg: dg.to_vtk("p.vtkhdf")):
            with pytest.raises(DamagedError, match=damage):
                call(plain.isel(element=slice(None)).dg)
        with pytest.raises(ValueError, match="variable 'q' does not exist"):
            plain.dg.norm("q")
        assert cli.main(["plot", str(store), "p", "--time", "0.06"]) == 2
        assert capsys.readouterr().err == f"dgarray plot: {damage}; dgarray info {store} --check names all damaged files\n"
        with flipped(times, rng):          # which are read when the store is opened
            for command in ("info", "export"):
                assert cli.main([command, str(store)]) == 2
                error = capsys.readouterr().err
                assert error.startswith(f"dgarray {command}: {times} is damaged: ") and error.count("\n") == 1
            assert cli.main(["info", str(store), "--check"]) == 2
            out, error = capsys.readouterr()
            assert sorted([times, file]) == sorted(Path(line.split(" is damaged")[0]) for line in
                                                   (out + error.removeprefix("dgarray info: ")).splitlines())
            assert error.endswith("; 2 files are damaged\n")
    assert cli.main(["info", str(store), "--check"]) == 0
    assert ", 0 damaged\n" in capsys.readouterr().out


def test_a_chunk_that_is_gone_is_named(store):
    for file in (store / "p" / "c" / "3" / "0" / "0", store / "x" / "c" / "0" / "0", store / "mesh" / "c"):
        before = file.read_bytes()
        file.unlink()
        name = file.relative_to(store).parts[0]
        with pytest.raises(DamagedError, match=f"{file} is damaged: it is missing"):
            open_store(store)[name].load()
        assert [error.file for error in verify(store).damaged] == [file]
        file.write_bytes(before)


@pytest.mark.parametrize("name", ["time/c/0", "receivers_p/c/0/0", "zarr.json"])
def test_a_restart_refuses_to_go_on_with_damaged_rows(name, tmp_path):
    path = tmp_path / "run.zarr"
    waves().run(0.1, 0.05, path)
    with flipped(path / name, random.Random(1)):
        before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
        with pytest.raises(DamagedError, match=f"{path / name} is damaged"):
            waves().run(0.2, 0.05, path, restart=True)
        assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def codecs(path):
    return {tuple(codec["name"] for codec in array["codecs"]) for array in read_metadata(path)[1].values()}


def size(path, name):
    return sum(file.stat().st_size for file in (path / name / "c").rglob("*") if file.is_file())


@pytest.mark.thorough
def test_a_compressed_store_is_smaller_and_the_same(tmp_path):
    """A run that goes on leaves it as it is."""
    plain, small = tmp_path / "plain.zarr", tmp_path / "small.zarr"
    whole = waves().run(0.1, 0.02, plain)
    waves().run(0.04, 0.02, small, compress="zstd")
    for until, compress in ((0.06, None), (0.1, "zstd")):
        ds = waves().run(until, 0.02, small, restart=True, compress=compress)
    assert codecs(plain) == {("bytes", "crc32c")} and codecs(small) == {("bytes", "zstd", "crc32c")}
    xr.testing.assert_identical(ds.load().drop_attrs(deep=False), whole.load().drop_attrs(deep=False))
    for name in ("p", "mesh_node_x"):
        assert size(small, name) < size(plain, name)
    with pytest.raises(ValueError, match="plain.zarr is not compressed, and stays so; leave out --compress zstd"):
        waves().run(0.3, 0.02, plain, restart=True, compress="zstd")
    with pytest.raises(ValueError, match="compress 'gzip' does not exist; allowed: zstd"):
        waves().run(0.3, 0.02, small, restart=True, compress="gzip")
    open_store(small).to_zarr(tmp_path / "again.zarr", zarr_format=3, consolidated=False)
    assert codecs(tmp_path / "again.zarr") == codecs(small)          # xarray goes on with them


def test_what_had_not_begun_is_begun_anew_with_the_codecs_that_it_had(tmp_path):
    class Kill(Exception):
        pass

    def save(*arguments):
        raise Kill
    path = tmp_path / "run.zarr"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Kill):
        patch.setattr(checkpoint, "save", save)
        waves().run(0.1, 0.05, path, compress="zstd")
    waves().run(0.1, 0.05, path, restart=True)
    assert codecs(path) == {("bytes", "zstd", "crc32c")}


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A store that the package wrote before it knew checksums, of this run until 0.1:

    dg.Simulation(dg.interval(cells=3, periodic=True), dg.Advection((1.0,)), dg.NodalDG(1), ..., as in `advected`)"""
    monkeypatch.chdir(tmp_path)
    zipfile.ZipFile(OLD).extractall()
    return Path("old.zarr")


def advected():
    return dg.Simulation(dg.interval(cells=3, periodic=True), dg.Advection((1.0,)), dg.NodalDG(1), backend="numpy",
                         kernels="array", threads=1, initial=lambda x: np.sin(2 * np.pi * x[0]),
                         record={"r": dg.Extrema(), "f": dg.Fourier([1.0], points=[(0.3,)])})


LATER = ["f_largest", "f_areas", "element_number"]          # what a store of that time does not have


def test_a_store_without_checksums_is_read(old, capsys):
    expected = advected().run(0.1, 0.05).drop_vars(LATER)
    for ds in (xr.open_zarr(old), open_store(old)):
        assert set(ds.dg.record("f").data_vars) == {"u"} and "largest" not in ds.dg.record("f").u.attrs
        for name in expected.variables:
            np.testing.assert_allclose(ds[name].values, expected[name].values, atol=1e-13)
        assert ds.dg.norm("u") == pytest.approx(expected.dg.norm("u"))
    assert cli.main(["info", str(old), "--check"]) == 0
    assert "0 damaged, " in capsys.readouterr().out
    assert cli.main(["plot", str(old), "u", "-o", "u.png"]) == 0
    assert cli.main(["export", str(old)]) == 0
    assert Path("u.png").is_file() and Path("old.vtkhdf").is_file()
    found = verify(old)
    assert found.unchecked > 15 and not found.damaged


def test_a_store_without_checksums_is_gone_on_with(old):
    """It keeps its codecs; its metadata and checkpoints get checksums."""
    whole = advected().run(0.2, 0.05).drop_vars(LATER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")          # the first digits of the initial state may differ on this machine
        ds = advected().run(0.2, 0.05, old, restart=True)
    for name in whole.variables:
        np.testing.assert_allclose(ds[name].values, whole[name].values, atol=1e-12)
    assert codecs(old) == {("bytes",)}
    assert verify(old).damaged == []
    with flipped(old / "zarr.json", random.Random(1)), pytest.raises(DamagedError):
        open_store(old)


def test_a_damaged_checkpoint_without_a_checksum_is_found(old):
    """By the checksums of its members; what is in none of them may pass."""
    rng, found = random.Random(1), 0
    for _ in range(20):
        with flipped(next(old.glob("checkpoints/*.npz")), rng) as file:
            found += checkpoint.damage(file) is not None
    assert checkpoint.damage(file) is None
    assert found > 15


def test_metadata_that_others_have_written_are_taken(store):
    """With a user's attribute, set by zarr, which leaves out our checksum; but not what was changed by hand under it."""
    file = store / "zarr.json"
    before = file.read_bytes()
    try:
        zarr.open_group(store, mode="r+").attrs["note"] = "mine"
        assert open_store(store).attrs["note"] == "mine"
        assert verify(store).damaged == [] and verify(store).unchecked == 1
        file.write_bytes(json.dumps(json.loads(before), indent=1).encode())
        with pytest.raises(DamagedError, match="zarr.json is damaged"):
            open_store(store)
    finally:
        file.write_bytes(before)
