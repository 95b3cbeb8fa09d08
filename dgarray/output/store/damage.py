"""A zarr store that is read with errors that name the file that is damaged."""
from pathlib import Path

from zarr.storage import LocalStore

from dgarray.output.store.checksums import DamagedError, matches, others, unsealed
from dgarray.output.store.codecs import names
from dgarray.output.store.files import read_metadata


class CheckedStore(LocalStore):
    """zarr's store in a folder, read only: a chunk or a zarr.json whose checksum does not match raises DamagedError.

    Zarr finds most of that itself, in the chunks, but does not say in which file."""

    def __init__(self, root, *, read_only=True):
        super().__init__(Path(root).absolute(), read_only=read_only)
        self.named = Path(root)
        arrays = read_metadata(self.named)[1]
        self.sealed = {name for name, metadata in arrays.items() if "crc32c" in names(metadata)}

    async def get(self, key, prototype=None, byte_range=None):
        return self._checked(key, await super().get(key, prototype, byte_range), byte_range)

    def get_sync(self, key, *, prototype=None, byte_range=None):
        return self._checked(key, super().get_sync(key, prototype=prototype, byte_range=byte_range), byte_range)

    def _checked(self, key, content, byte_range):
        name, _, place = key.partition("/")
        if key == "zarr.json" and content is not None and byte_range is None:
            unsealed(content.to_bytes(), self.named / key, others(self.named))
        elif name in self.sealed and place.split("/")[0] == "c" and byte_range is None:
            if content is None:
                raise DamagedError(self.named / key, "it is missing", others(self.named))
            if not matches(content.as_numpy_array()):
                raise DamagedError(self.named / key, advice=others(self.named))
        return content

    def __dask_tokenize__(self):
        return type(self).__name__, str(self.root), (self.root / "zarr.json").stat().st_mtime_ns
