"""The numbers in a part of a file, one after the other, from text or from binary data."""
import warnings

import numpy as np

from ..errors import MeshError


class Numbers:
    """Numbers of a section of a file.

    content   its bytes
    binary    whether they are binary: ints (i) of 4 bytes, sizes (u) of `size` bytes, doubles (d); `order` "<" or ">"
    name      of the section, for messages
    Whatever takes more than there is raises MeshError."""

    def __init__(self, content, binary, size, order, name):
        self.name, self.place, self.binary = name, 0, binary
        self.types = {"i": np.dtype(f"{order}i4"), "u": np.dtype(f"{order}u{size}"), "d": np.dtype(f"{order}f8")}
        self.values = content if binary else floats(content, name)

    def take(self, count, kind):
        """The next numbers, (count,), int64 or float64."""
        result = np.float64 if kind == "d" else np.int64
        step = int(count) * (self.types[kind].itemsize if self.binary else 1)
        found = self.values[self.place:self.place + step]
        if step < 0 or len(found) < step:
            raise MeshError(f"the file is cut off or damaged in {self.name}: numbers are missing; write it again")
        self.place += step
        return (np.frombuffer(found, self.types[kind]) if self.binary else found).astype(result)

    def one(self, kind):
        """The next number."""
        return self.take(1, kind)[0]

    def line(self):
        """The next whole number, which is text on a line of its own in binary data too."""
        if not self.binary:
            return self.one("i")
        text, end, rest = self.values.partition(b"\n")
        if not end or not text.strip().isdigit():
            self.take(len(self.values) + 1, "i")
        self.values = rest
        return int(text)

    def ahead(self, count):
        """The next whole numbers of a text, which are not taken yet."""
        found = self.take(count, "i")
        self.place -= count
        return found

    def rows(self, count, kind, whole, real):
        """Rows of `whole` whole numbers and then `real` real ones: (count, whole) and (count, real)."""
        if not self.binary:
            found = self.take(count * (whole + real), "d").reshape(count, whole + real)
            return found[:, :whole].astype(np.int64), found[:, whole:]
        size = whole * self.types[kind].itemsize + real * 8
        found = self.values[self.place:self.place + count * size]
        if len(found) < count * size:
            self.take(len(self.values), kind)
        self.place += count * size
        table = np.frombuffer(found, np.dtype([("whole", self.types[kind], whole), ("real", self.types["d"], real)]))
        return table["whole"].reshape(count, whole).astype(np.int64), table["real"].reshape(count, real).astype(np.float64)

    def run(self, width, most, same):
        """The next rows of a text that agree with the first of them in the columns `same`, at most `most`: (row, width)."""
        first, count = self.ahead(width)[same], 0
        chunk = 16
        while count < most:
            start = self.place + count * width
            rows = self.values[start:start + min(chunk, most - count) * width]
            rows = rows[:len(rows) // width * width].reshape(-1, width)
            agree = (rows[:, same] == first).all(axis=1)
            good = len(rows) if agree.all() else int(agree.argmin())
            count += good
            if good < len(rows) or not len(rows):
                break
            chunk *= 2
        return self.take(count * width, "i").reshape(count, width)


def floats(content, name):
    """All numbers of a text, float64. Raises MeshError for words in between."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(content, dtype=np.float64, sep=" ") if content.strip() else np.empty(0)
        except (DeprecationWarning, ValueError):
            raise MeshError(f"the file is damaged in {name}: there is something else than numbers; write it again") from None
