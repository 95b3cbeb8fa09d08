"""From the values of a chunk to the bytes of its file, by the codecs of zarr that our stores use.

`bytes` (little endian), then `zstd` where the run was told to compress, then `crc32c`, a checksum; stores of earlier versions
have `bytes` alone. What these codecs write is what zarr reads, with the libraries that zarr itself takes.
"""
import numpy as np

from dgarray.output.store.checksums import DamagedError, checksum, matches
from dgarray.support.wording import choose

COMPRESSORS = ("zstd",)
WRITTEN = (["bytes"], ["bytes", "crc32c"], ["bytes", "zstd", "crc32c"])
# Level 6 takes twice the time, in most cases for a few per cent.
LEVEL = 3


def check_compress(compress):
    """Raise ValueError unless this is a way to compress, or None."""
    if compress is not None:
        choose("compress", compress, COMPRESSORS, also=("None (not compressed)",))


def compressors(compress):
    """The codecs after `bytes` of a new store, as zarr's objects."""
    from zarr.codecs import Crc32cCodec, ZstdCodec

    return [*([ZstdCodec(level=LEVEL)] if compress else []), Crc32cCodec()]


def compression(arrays):
    """How the arrays of a store are compressed, as `compress` says it, from their metadata."""
    return next((name for name in COMPRESSORS if any(name in names(metadata) for metadata in arrays.values())), None)


def names(metadata):
    """The names of an array's codecs, from its metadata; none of what is no array."""
    return [codec["name"] for codec in metadata.get("codecs", ())]


class Codecs:
    """The codecs of one array. Raises ValueError for others than those above."""

    def __init__(self, metadata, what):
        self.names = names(metadata)
        if self.names not in WRITTEN:
            raise ValueError(f"{what} has the codecs {', '.join(self.names)}; chunks are written with "
                             f"{' or '.join(', '.join(each) for each in WRITTEN)}")
        self.dtype = np.dtype(metadata["data_type"]).newbyteorder("<")
        self.zstd = None
        if "zstd" in self.names:
            from numcodecs.zstd import Zstd
            self.zstd = Zstd.from_config(metadata["codecs"][1]["configuration"])

    def encode(self, chunk):
        """The content of the file in pieces, which need not be copied into one."""
        body = chunk.reshape(-1).view(np.uint8)
        if self.zstd:
            body = self.zstd.encode(body)
        return [body, checksum(body)] if "crc32c" in self.names else [body]

    def decode(self, content, file, advice=""):
        """The values of a chunk, flat, from its file's content. Raises DamagedError if the checksum does not match."""
        if "crc32c" in self.names:
            if not matches(content):
                raise DamagedError(file, advice=advice)
            content = memoryview(content)[:-4]
        return np.frombuffer(self.zstd.decode(content) if self.zstd else content, self.dtype)
