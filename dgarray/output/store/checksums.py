"""Checksums of the files of a store: a bit that flips on the disk raises an error instead of giving a wrong number.

All are CRC-32C, which finds every flipped bit and every burst of up to 32. A chunk ends with its own, as zarr's codec `crc32c`
writes it; zarr.json holds one of the whole file, which other readers pass over; a checkpoint has its own as the comment of the
archive that it is.
"""
import json
from pathlib import Path

import google_crc32c
import numpy as np

BLOCK = 2**20
# The end of a zarr.json of ours: the checksum of the file with zeros in place of the digits.
SEAL, BLANK, END = b'"crc32c": "', b"0" * 8, b'"}}'


class DamagedError(ValueError):
    """A file of a store is damaged: it differs from what was written. The message names it.

    file    its path, as the store was named
    why     what is wrong with it"""

    def __init__(self, file, why="its checksum does not match", advice=""):
        super().__init__(f"{file} is damaged: {why}{advice}")
        self.file, self.why, self.advice = Path(file), why, advice

    def __reduce__(self):
        return type(self), (self.file, self.why, self.advice)


def others(path):
    """The end of the message of a damaged file of the store: how to find all others."""
    return f"; dgarray info {path} --check names all damaged files"


def checksum(content):
    """The CRC-32C of bytes, as the four bytes that zarr puts at the end of a chunk."""
    return google_crc32c.value(np.frombuffer(content, np.uint8)).to_bytes(4, "little")


def matches(content):
    """Whether the last four bytes are the checksum of those before."""
    content = memoryview(content)
    return len(content) > 4 and checksum(content[:-4]) == content[-4:]


def digits(stream, size):
    """The CRC-32C of the first `size` bytes of a file, as eight digits; the file may be larger than the memory."""
    found = 0
    stream.seek(0)
    while size and (block := stream.read(min(size, BLOCK))):
        found, size = google_crc32c.extend(found, block), size - len(block)
    return b"%08x" % found


def sealed(group, arrays):
    """The content of a group's zarr.json: its own metadata, that of all its arrays (consolidated), and the checksum."""
    consolidated = {"kind": "inline", "must_understand": False, "metadata": arrays, "crc32c": BLANK.decode()}
    # As one line: with line breaks Python writes JSON by slower code, at every commit again.
    return _signed(json.dumps({**group, "consolidated_metadata": consolidated}).encode())


def unsealed(content, file, advice=""):
    """Read the content that `sealed` made: (group, arrays), arrays None where the file does not have them.

    A file of an earlier version or of another program has no checksum, and is taken as it is.
    Raises DamagedError where the checksum does not match, or where the file is not JSON."""
    seal = is_sealed(content)
    if seal and _signed(content) != content:
        raise DamagedError(file, advice=advice)
    try:
        group = json.loads(content)
    except ValueError as error:
        raise DamagedError(file, f"it is not JSON ({error})", advice) from error
    consolidated = group.pop("consolidated_metadata", None) or {}
    if "crc32c" in consolidated and not seal:          # the end of the file is what has changed
        raise DamagedError(file, advice=advice)
    return group, consolidated.get("metadata")


def is_sealed(content):
    """Whether a zarr.json has a checksum."""
    return content[:-len(BLANK + END)].endswith(SEAL)


def _signed(content):
    head, end = content[:-len(BLANK + END)], content[-len(END):]
    return head + b"%08x" % google_crc32c.value(head + BLANK + end) + end
