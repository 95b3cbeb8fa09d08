"""Read every file of a store and compare it with its checksum."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property, wraps
from itertools import product
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from dgarray.output.store import checkpoint
from dgarray.output.store.checksums import DamagedError, is_sealed, matches, others
from dgarray.output.store.codecs import names
from dgarray.output.store.files import chunk_key, groups, read_metadata
from dgarray.support.wording import plural

if TYPE_CHECKING:
    from os import PathLike


@dataclass
class Verified:
    """The result of `verify`.

    files, bytes    that were read
    unchecked       how many of the files have no checksum: earlier versions wrote none
    damaged         a DamagedError for each damaged file"""

    files: int = 0
    bytes: int = 0
    unchecked: int = 0
    damaged: list = field(default_factory=list)

    def __str__(self):
        without = f", {self.unchecked} without a checksum, which earlier versions did not write" if self.unchecked else ""
        return f"{plural(self.files, 'file')}, {self.bytes / 1e6:.3g} MB, {len(self.damaged)} damaged{without}"


def verify(path: str | PathLike) -> Verified:
    """Read every file of the store at `path`, metadata, chunks and checkpoints, and compare the checksums: a `Verified`."""
    found = Verified()
    for size, state in examined(Path(path)):
        found.files, found.bytes = found.files + 1, found.bytes + size
        if isinstance(state, DamagedError):
            found.damaged.append(state)
        else:
            found.unchecked += state is None
    return found


def examined(path):
    """(size, state) of each file: True for one as it was written, None for one without a checksum, else its DamagedError."""
    file = path / "zarr.json"
    size = file.stat().st_size
    try:
        arrays, inner = read_metadata(path)[1], [folder for folder in groups(path) if folder != path]
    except DamagedError as error:
        arrays, inner = {}, []
        yield size, error
    else:
        yield size, is_sealed(file.read_bytes()) or None
    for folder in inner:
        yield from examined(folder)
    for name, metadata in arrays.items() if not inner else ():
        if metadata["node_type"] == "array":
            yield from of_array(path, name, metadata)
    for file in checkpoint.files_of(path):
        for each in (file, *sorted(file.parent.glob(f"{file.stem}.rank*"))):
            try:
                size = each.stat().st_size
                damage = checkpoint.damage(each)
            except FileNotFoundError:          # a run that goes on has removed it
                continue
            yield size, damage or True


def of_array(path, name, metadata):
    """(size, state) as of `examined` of each file of one array."""
    file = path / name / "zarr.json"
    content = read(file)
    yield len(content or b""), same_metadata(file, content, metadata)
    steps = metadata["chunk_grid"]["configuration"]["chunk_shape"]
    has_checksum = "crc32c" in names(metadata)
    for index in product(*(range(ceil(size / step)) for size, step in zip(metadata["shape"], steps))):
        file = path / chunk_key(name, index)
        content = read(file)
        if content is None and has_checksum:
            yield 0, DamagedError(file, "it is missing")
        elif content is not None:          # zarr leaves out chunks of zeros where nobody tells it not to
            yield len(content), (matches(content) or DamagedError(file)) if has_checksum else None


def same_metadata(file, content, metadata):
    """True if an array's own zarr.json says what the group's says of it, but for the length, which an interrupted run may
    have changed already; else a DamagedError."""
    if content is None:
        return DamagedError(file, "it is missing")
    try:
        own = json.loads(content)
        same = own | {"shape": own["shape"][1:]} == metadata | {"shape": metadata["shape"][1:]}
    except (ValueError, TypeError, KeyError) as error:
        return DamagedError(file, f"it is no metadata of an array ({error})")
    return same or DamagedError(file, f"it differs from what the {file.parents[1] / 'zarr.json'} says of the array")


def read(file):
    """The content of a file, None without it."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def naming_damage(accessor):
    """A class decorator for `ds.dg`: where zarr finds in a method that a checksum does not match, the error names the file.

    Zarr's own error, which a dataset gives that was opened by `xarray.open_zarr`, does not; so the file is looked for."""
    for name, member in list(vars(accessor).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, cached_property):
            member.func = named(member.func)
        elif isinstance(member, property):
            setattr(accessor, name, property(named(member.fget), doc=member.__doc__))
        elif callable(member):
            setattr(accessor, name, named(member))
    return accessor


def named(method):
    """The method with that error."""
    @wraps(method)
    def call(self, *arguments, **keywords):
        try:
            return method(self, *arguments, **keywords)
        except ValueError as error:
            source = Path(self._data.encoding.get("source", ""))
            if isinstance(error, DamagedError) or "checksum" not in str(error) or not (source / "zarr.json").is_file():
                raise
            damaged = next((state for _, state in examined(source) if isinstance(state, DamagedError)), None)
            if damaged is None:
                raise
            raise DamagedError(damaged.file, damaged.why, others(source)) from error
    return call
