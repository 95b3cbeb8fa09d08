"""Variants of the sweeps of finite volumes: the choices that they leave open, and which of them a device can run."""
from dataclasses import asdict, dataclass, fields, replace

from ....support.wording import choose
from ..dg.variant import THREADS

WAYS = ("strided", "transposed")
SIZES = "length", "rows", "depth", "lanes"


@dataclass(frozen=True)
class SweepVariant:
    """How the sweeps of a step go through memory, and the cells of a block of threads, a thread for each.

    way      "strided": along y and z in the order that memory has, which leaves neighbours along x side by side;  "transposed":
             the grid is transposed between sweeps, so that each goes along the axis whose cells lie side by side (Helluy et
             al. 2015, section 2.3.2)
    length, rows    cells along such an axis, and rows of a block
    depth, lanes    cells along y or z, and columns side by side of a block, in strided sweeps
    Raises ValueError for values that are not allowed: sizes are powers of two, with at most 1024 threads a block."""

    way: str = "strided"
    length: int = 128
    rows: int = 2
    depth: int = 32
    lanes: int = 8

    def __post_init__(self):
        choose("way", self.way, WAYS)
        for name in SIZES:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1 or value & (value - 1):
                raise ValueError(f"{name}={value!r} is not allowed; it must be a power of two")
        for first, second in (SIZES[:2], SIZES[2:]):
            threads = getattr(self, first) * getattr(self, second)
            if threads > THREADS:
                raise ValueError(f"{first} x {second} = {threads} is not allowed; a block has at most {THREADS} threads")

    def __str__(self):
        return ", ".join(f"{name}={value}" for name, value in asdict(self).items())

    def block(self, contiguous):
        """(cells along the axis, pencils) of a block."""
        return (self.length, self.rows) if contiguous else (self.depth, self.lanes)


def suited(variant, tables):
    """The variant with blocks that are not longer than the grid, and not shorter than the ghost layers ask for."""
    cells = tables.grid.cells

    def power(n):
        return 1 << max(0, n - 1).bit_length()
    room = [power(n + 2 * tables.ghosts) for n in cells]
    least = power(2 * tables.ghosts + 1)
    across = power(cells[1]) if tables.dim > 1 else 1
    along, deep = (room[0], max(room[1:], default=1)) if variant.way == "strided" else (max(room), 1)
    return replace(variant, length=max(least, min(variant.length, along)), rows=min(variant.rows, across),
                   depth=max(least, min(variant.depth, deep)), lanes=min(variant.lanes, power(cells[0])))


def default(tables):
    """The variant to use where none has been timed."""
    return suited(SweepVariant(), tables)


def candidates(tables):
    """Every variant worth timing, the default first."""
    base = SweepVariant()
    found = [base, *(replace(base, length=length, rows=rows) for length, rows in ((64, 4), (256, 1), (64, 2), (128, 1)))]
    found += [replace(base, depth=depth, lanes=lanes) for depth, lanes in ((16, 8), (16, 16), (32, 4), (64, 4), (8, 32))
              if depth > 2 * tables.ghosts] if tables.dim > 1 else []
    found += [replace(each, way="transposed") for each in found[:5]] if tables.dim > 1 and tables.split else []
    return list(dict.fromkeys(suited(each, tables) for each in found))


def shortlist(tables):
    """A few variants, for tuning in a first run: the default and both ways."""
    return [each for number, each in enumerate(candidates(tables)) if number % 3 == 0 or each.way == "transposed"][:6]


def from_dict(values):
    """The variant of a dict {choice: value} of the tuning table; ValueError for choices and values that do not exist."""
    names = [field.name for field in fields(SweepVariant)]
    for name in values:
        choose("choice", name, names)
    return SweepVariant(**values)
