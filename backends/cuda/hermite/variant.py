"""Variants of Hermite's kernels: the choices that they leave open, and which of them a device can run; see `tuning`."""
from dataclasses import asdict, dataclass, fields, replace

from ....support.wording import choose
from ..dg.variant import OTHER_REGISTERS, REGISTER_FILE, THREADS

KERNELS = {"two-kernel": ("interpolate", "evolve"), "monolithic": ("monolithic",), "collapsed": ("collapsed",)}
PLACES = ("registers", "shared")
MOST = 512                            # most threads of a block by default
LANES = {1: 128, 2: 32, 3: 32}        # {dimension: most targets of a block by default}
DEPTHS = 4, 8, 32, 64                 # values of `depth` to time besides the default
OWN = {"registers": 320, "shared": 2 ** 20}     # {keep: most bytes of a thread's numbers by default}


@dataclass(frozen=True)
class HermiteVariant:
    """How a half-step is computed.  A target is a node of the grid to which the half-step leads.

    kernel   "two-kernel", "monolithic" or "collapsed", as `dgarray.Hermite` names them
    lanes    targets of a block of threads along x, side by side (cells a block, Vargas et al. 2016, section 3.1)
    depth    targets of a block along the last axis, one after the other; the face between two of them is interpolated once and
             kept for the second
    keep     where that face is kept: in the "registers" of the threads, or in "shared" memory
    Raises ValueError for values that do not exist."""

    kernel: str = "monolithic"
    lanes: int = 8
    depth: int = 16
    keep: str = "registers"

    def __post_init__(self):
        choose("kernel", self.kernel, KERNELS)
        choose("keep", self.keep, PLACES)
        for name in ("lanes", "depth"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}={value!r} is not allowed; it must be a whole number from 1")

    def __str__(self):
        return ", ".join(f"{name}={value}" for name, value in asdict(self).items())


@dataclass(frozen=True)
class HermiteShape:
    """The numbers from which the sizes of the kernels follow.

    dim, order N, variables; itemsize: bytes of a number;  collapsible: whether the kernel "collapsed" exists for the law"""

    dim: int
    order: int
    variables: int
    itemsize: int
    collapsible: bool = False

    @classmethod
    def of(cls, tables, dtype):
        return cls(tables.dim, tables.order, tables.variables, dtype.itemsize, tables.collapsible)

    @property
    def ends(self):
        """Numbers at both ends that determine a polynomial along one axis, 2 (N + 1)."""
        return 2 * self.order + 2

    def out(self, kernel):
        """Numbers along one axis that result: the whole polynomial, or for "collapsed" the N + 1 of the new state."""
        return self.order + 1 if kernel == "collapsed" else self.ends

    def of_block(self, kernel):
        """Variables that a block works on: one, where variables are independent, else all."""
        return 1 if kernel in ("interpolate", "collapsed") else self.variables

    def parts(self, kernel):
        """Threads that share the work of a target, counted by threadIdx.y."""
        return self.out(kernel) ** (self.dim - 1)

    def steps(self, kernel):
        """(stride along y, stride along z) in shared memory, in numbers; odd against bank conflicts."""
        pitch = self.out(kernel) | 1
        return pitch, (1, pitch, self.ends * pitch)[self.dim - 1]

    def maps(self, kernel):
        """Numbers of the 1D maps along all axes in the shared memory of a block; only "collapsed" has them."""
        return self.dim * (self.order + 1) * self.ends if kernel == "collapsed" else 0

    def work_size(self, kernel):
        """Numbers of shared memory for one target, besides the face that is kept."""
        _, plane = self.steps(kernel)
        return self.of_block(kernel) * plane * (self.ends if kernel in ("evolve", "monolithic") else self.order + 1)

    def kept_size(self, kernel):
        """Numbers of the face that is kept, for one target."""
        return 0 if kernel == "evolve" else self.of_block(kernel) * self.steps(kernel)[1] * (self.order + 1)

    def threads(self, variant, kernel):
        """Threads of a block."""
        return variant.lanes * self.parts(kernel)

    def shared_bytes(self, variant, kernel):
        """Bytes of dynamic shared memory of a block."""
        kept = self.kept_size(kernel) if variant.keep == "shared" else 0
        return (self.maps(kernel) + variant.lanes * (self.work_size(kernel) + kept)) * self.itemsize

    def own_bytes(self, variant, kernel):
        """Bytes of a thread's own numbers: coefficients along one axis (pencils), their sums, the face kept in registers."""
        kept = self.of_block(kernel) * (self.order + 1) if variant.keep == "registers" else 0
        pencils = self.variables * 3 * (self.order + 1) if kernel in ("evolve", "monolithic") else 2 * self.ends
        return (pencils + (kernel != "evolve") * kept) * self.itemsize

    def light(self, variant, kernel):
        """Whether a block has at most MOST threads, and registers for two blocks, by estimate, are on a multiprocessor."""
        registers = self.own_bytes(variant, kernel) // 4 + OTHER_REGISTERS * self.itemsize
        return self.threads(variant, kernel) <= min(MOST, REGISTER_FILE // 2 // registers)

    def fits(self, variant, shared_per_block):
        """Whether a device with so many bytes of shared memory a block can run the variant."""
        if variant.kernel == "collapsed" and not self.collapsible:
            return False
        return all(self.threads(variant, kernel) <= THREADS and self.shared_bytes(variant, kernel) <= shared_per_block
                   for kernel in KERNELS[variant.kernel])


def sized(shape, kernel, shared_per_block):
    """The default variant with this kernel; None if the shared memory is too small for a single target.

    A block has as many targets as leave registers and shared memory of a multiprocessor for a second block, which works while
    the first waits. If not even one target leaves as much, a block may take all the shared memory."""
    kernels, half = KERNELS[kernel], shared_per_block // 2
    most = [1 << i for i in reversed(range(LANES[shape.dim].bit_length()))]
    keeps = [keep for keep in PLACES if all(shape.own_bytes(HermiteVariant(kernel, keep=keep), each) <= OWN[keep]
                                            for each in kernels)]
    for keep, limit in ((keeps[0], half), (keeps[0], shared_per_block), ("registers", shared_per_block)):
        for lanes in most:
            found = HermiteVariant(kernel, lanes, keep=keep)
            if shape.fits(found, limit) and (lanes == 1 or all(shape.light(found, each) for each in kernels)):
                return found
    return None


def default(shape, shared_per_block, kernel=None):
    """The variant to use where none has been timed, with the kernel asked for if that fits; None if no kernel fits.

    Else the first that fits of: "collapsed", which does a small part of the work; "monolithic", which moves no polynomials
    through memory; "two-kernel", which needs the least shared memory."""
    for each in dict.fromkeys([*([kernel] if kernel else []), "collapsed", "monolithic", "two-kernel"]):
        found = sized(shape, each, shared_per_block)
        if found is not None:
            return found
    return None


def candidates(shape, shared_per_block, kernel=None):
    """Every variant worth timing, the default first: of each kernel, or of the one that is asked for.

    Targets of a block: a quarter to four times the default's, each with both places of the face that is kept; and all depths
    in DEPTHS."""
    found = [default(shape, shared_per_block, kernel)]
    for each in [found[0].kernel] if kernel else KERNELS:
        base = sized(shape, each, shared_per_block)
        if base is not None:
            wide = [replace(base, lanes=lanes) for lanes in (base.lanes // 4, base.lanes // 2, base.lanes, 2 * base.lanes,
                                                             4 * base.lanes) if lanes]
            found += [replace(v, keep=keep) for v in wide for keep in PLACES]
            found += [replace(base, depth=depth) for depth in DEPTHS]
    return [v for v in dict.fromkeys(found) if shape.fits(v, shared_per_block)]


def shortlist(shape, shared_per_block, kernel=None):
    """A few variants, for tuning in a first run: the default of each kernel, and single changes of the default."""
    first = default(shape, shared_per_block, kernel)
    others = (each for each in KERNELS if each != first.kernel and not kernel and first.kernel != "collapsed")
    found = [first, *(sized(shape, each, shared_per_block) for each in others),
             *(replace(first, lanes=lanes) for lanes in (first.lanes // 2, 2 * first.lanes) if lanes),
             *(replace(first, keep=keep) for keep in PLACES), *(replace(first, depth=depth) for depth in DEPTHS[::2])]
    return [v for v in dict.fromkeys(found) if v is not None and shape.fits(v, shared_per_block)]


def from_dict(values):
    """The variant of a dict {choice: value} of the tuning table; ValueError for choices and values that do not exist."""
    names = [field.name for field in fields(HermiteVariant)]
    for name in values:
        choose("choice", name, names)
    return HermiteVariant(**values)
