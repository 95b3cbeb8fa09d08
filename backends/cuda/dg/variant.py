"""Variants of the nodal DG kernels: the choices that they leave open, and which of them a device can run.

Which variant is fastest depends on device, law, order and dtype, and is measured: see `tuning`.  The default variant follows
from counts of registers, shared memory and bytes moved.
"""
from dataclasses import asdict, dataclass, fields, replace
from itertools import product

from ....support.wording import choose
from .layout import WARP

FACES, PRODUCTS, PLACES, FIELDS = ("once", "both", "block"), ("kernel", "cublas"), ("global", "shared"), ("shared", "registers")
THREADS = 1024            # most threads of a block in CUDA
SUMS = {4: 48, 8: 36}     # {bytes of a number: sums that a thread keeps by default}, enough for few loads per multiply-add
BLOCK = {4: 512, 8: 384}  # most threads of a block by default: compiled for sm_90, each then has registers for SUMS
REGISTERS = 640           # bytes of a thread's sums beyond which every kernel spills; it has 255 registers of 4 bytes
OTHER_REGISTERS = 10      # registers per byte of a number besides the sums and a column of the matrix; seen on sm_90
REGISTER_FILE = 65536     # registers of a multiprocessor, and of a block
RESIDENT = 2048           # threads that a multiprocessor holds at a time


@dataclass(frozen=True)
class Variant:
    """How the right-hand side and its Runge-Kutta stage are computed, as the product of [-D_1 .. -D_d L] with its operands.

    The operands are the fluxes F(q) . grad r_k at the nodes and s (F.n - F*) at the face nodes.
    faces     which kernel computes the face fluxes.  "once": a numba.cuda kernel, each face once, into memory (Kloeckner et al.
              2009, section 5.3, without its blocks); "both": the stage kernel, each face from both sides; "block": the stage
              kernel, each face between two elements of its block once (Kloeckner et al. 2009, algorithms 2 and 3)
    product   "kernel": the stage kernel multiplies; "cublas": one batched product between two elementwise kernels
    lanes     elements of a block of threads, side by side: threadIdx.x
    rows      nodes of an element whose sums one thread keeps; threadIdx.y counts such groups of nodes.  If `rows` is the number
              of nodes, one thread computes an element (Fuhry et al. 2014)
    chunk     nodes, or face nodes, whose operands are in shared memory at a time
    field     where the operands are.  "shared": each is computed once; "registers": every thread computes those it needs
    matrix    where the matrix is.  "global": read through the cache; "shared": copied there by resident blocks, each of which
              works on many groups of elements (Kloeckner et al. 2009, section 5.4)
    width     elements of a microblock of the layout, see `Layout`; 0: storage coefficient by coefficient
    per_face  the kernel of faces="once" has one thread a face, not one a face node
    Raises ValueError for values that do not exist, and for combinations that no kernel has.
    """

    faces: str = "both"
    product: str = "kernel"
    lanes: int = WARP
    rows: int = 4
    chunk: int = 8
    field: str = "shared"
    matrix: str = "global"
    width: int = WARP
    per_face: bool = False

    def __post_init__(self):
        for name, allowed in (("faces", FACES), ("product", PRODUCTS), ("field", FIELDS), ("matrix", PLACES)):
            choose(name, getattr(self, name), allowed)
        for name, least in (("lanes", 1), ("rows", 1), ("chunk", 1), ("width", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name}={value!r} is not allowed; it must be a whole number from {least}")
        if self.faces == "block" and self.field == "registers":
            raise ValueError("faces='block' keeps face fluxes in shared memory: field='registers' is not allowed with it")
        if self.product == "cublas" and (self.faces != "both" or self.width):
            raise ValueError("product='cublas' takes faces='both' and width=0 only")

    def __str__(self):
        return ", ".join(f"{name}={value}" for name, value in asdict(self).items())


@dataclass(frozen=True)
class Shape:
    """The numbers from which the sizes of a kernel follow.

    dim, variables; nodes and faces of an element; face_nodes: nodes of a face; itemsize: bytes of a number"""

    dim: int
    variables: int
    nodes: int
    faces: int
    face_nodes: int
    itemsize: int

    @classmethod
    def of(cls, tables, dtype):
        return cls(tables.dim, tables.variables, len(tables.basis.cell.nodes), *tables.basis.face_nodes.shape, dtype.itemsize)

    @property
    def slots(self):
        """Face nodes of an element."""
        return self.faces * self.face_nodes

    @property
    def columns(self):
        """Columns of [-D_1 .. -D_d L]: operands of the product for one variable."""
        return self.dim * self.nodes + self.slots

    def groups(self, variant):
        """Groups of `rows` nodes of an element, counted by threadIdx.y."""
        return -(-self.nodes // variant.rows)

    def padded_rows(self, variant):
        """Rows of a group in the stored matrix, padded to a multiple of 16 bytes for vector loads."""
        per_load = 16 // self.itemsize
        return -(-variant.rows // per_load) * per_load

    def threads(self, variant):
        """Threads of a block."""
        return variant.lanes * self.groups(variant)

    def matrix_size(self, variant):
        """Numbers in the stored matrix."""
        return self.columns * self.groups(variant) * self.padded_rows(variant)

    def field_size(self, variant):
        """Numbers of shared memory that hold operands."""
        if variant.field == "registers":
            return 0
        per_load = 16 // self.itemsize          # the matrix lies behind the operands and is read by loads of 16 bytes
        volume = self.dim * min(variant.chunk, self.nodes)
        at_faces = self.slots if variant.faces == "block" else min(self.dim * variant.chunk, self.slots)
        return -(-max(volume, at_faces) * self.variables * variant.lanes // per_load) * per_load

    def most_rows(self, variant):
        """Rows of the largest array over elements besides the geometry; from its size follow the bits of an offset."""
        return self.variables * max(self.nodes, self.slots, self.columns if variant.product == "cublas" else 0)

    def shared_bytes(self, variant):
        """Bytes of dynamic shared memory of a block of the stage kernel."""
        return (self.field_size(variant) + (variant.matrix == "shared") * self.matrix_size(variant)) * self.itemsize

    def fits(self, variant, shared_per_block):
        """Whether a device with so many bytes of shared memory a block can run the variant, with its sums in registers."""
        if variant.product == "cublas":
            return True
        sums = self.variables * variant.rows * self.itemsize
        return (self.threads(variant) <= THREADS and self.shared_bytes(variant) <= shared_per_block
                and sums <= REGISTERS)


def default(shape, shared_per_block):
    """The variant to use where none has been timed.

    By counting: operands are computed once and shared; faces are computed from both sides, which moves the fewest bytes; a
    thread keeps as many sums as its registers hold, in blocks of at most BLOCK threads.
    Raises ValueError if no variant fits `shared_per_block` bytes of shared memory."""
    most = max(1, SUMS[shape.itemsize] // shape.variables)
    groups = -(-shape.nodes // most)
    rows = -(-shape.nodes // groups)
    variant = Variant(rows=rows, chunk=min(8, shape.nodes))
    while shape.threads(variant) > BLOCK[shape.itemsize] and variant.lanes > 8:
        variant = replace(variant, lanes=variant.lanes // 2)
    while not shape.fits(variant, shared_per_block) and variant.chunk > 1:
        variant = replace(variant, chunk=variant.chunk // 2)
    if not shape.fits(variant, shared_per_block):
        raise ValueError(f"no kernel for {shape} fits {shared_per_block} bytes of shared memory; use kernels='array'")
    return variant


def registers(shape, variant):
    """Estimate of the registers (4 bytes) of a thread of the stage kernel: its sums, a column of the matrix, others."""
    sums_and_column = shape.variables * variant.rows + shape.padded_rows(variant)
    return sums_and_column * shape.itemsize // 4 + OTHER_REGISTERS * shape.itemsize


def resident(shape, variant, shared_per_block):
    """Estimate of the warps that a multiprocessor holds at a time, from its threads, registers and shared memory."""
    threads, shared = shape.threads(variant), shape.shared_bytes(variant)
    blocks = min(RESIDENT // threads, REGISTER_FILE // (registers(shape, variant) * threads),
                 shared_per_block // shared if shared else RESIDENT)
    return blocks * threads / WARP


def bases(shape):
    """Variants from which tuning starts, see `around`.  They differ in the sums that a thread keeps: half as many as by
    default, as many, two and three times as many, and those of all nodes.

    Rows: for a column of the product a thread loads V operands and `rows` numbers of the matrix, and does V rows multiply-adds.
    A multiprocessor loads 128 bytes a clock from shared memory or cache: on recent devices, in float32, one number for every
    four multiply-adds. With 6 variables, 4 rows are bound by loads (2.4 multiply-adds a load) and 12 rows are balanced (4.0).
    But more rows take more registers, so fewer warps are there to hide the latency of memory; timing decides.
    Lanes: a multiple of a warp where possible, so that a warp reads one column of the matrix, and 96 to 512 threads a block.
    Then several blocks fit a multiprocessor, and one computes while another waits at a barrier.
    Chunk: a multiple of the groups, so that no thread is idle while operands are computed."""
    most, found = SUMS[shape.itemsize] // shape.variables, []
    for wanted in (most, most // 2, 2 * most, 3 * most, shape.nodes):
        groups = -(-shape.nodes // min(shape.nodes, max(1, wanted)))
        variant = Variant(rows=-(-shape.nodes // groups))
        groups = shape.groups(variant)
        while shape.threads(variant) < 96:
            variant = replace(variant, lanes=2 * variant.lanes)
        while variant.lanes > 8 and shape.threads(variant) * max(registers(shape, variant), 128) > REGISTER_FILE:
            variant = replace(variant, lanes=variant.lanes // 2)
        found.append(replace(variant, chunk=min(shape.nodes, -(-4 // groups) * groups)))
    return list(dict.fromkeys(found))


def around(shape, base):
    """A base and the variants that differ from it in one choice or two.

    Faces vary together with the place of the matrix and with the layout, which compete for the same memory; lanes and chunk
    vary alone."""
    found = [replace(base, faces=faces, matrix=matrix) for faces, matrix in product(("both", "once", "block"), PLACES)]
    found += [replace(base, width=0), replace(base, faces="once", width=0), replace(base, faces="once", per_face=True)]
    found += [replace(base, chunk=min(shape.nodes, chunk)) for chunk in (2 * base.chunk, shape.nodes)]
    found += [replace(base, lanes=lanes) for lanes in (base.lanes // 2, 2 * base.lanes)]
    if shape.groups(base) <= 2:             # operands are computed once for every group: more than twice never pays
        found += [replace(base, field="registers", matrix=matrix) for matrix in PLACES]
    return found


def sensible(shape, variants, shared_per_block):
    """The variants, each once, that fit, do not spill registers, and keep all four schedulers of a multiprocessor busy."""
    return [v for v in dict.fromkeys(variants) if shape.fits(v, shared_per_block) and (
        v.product == "cublas" or registers(shape, v) < 256 and resident(shape, v, shared_per_block) >= 4)]


def candidates(shape, shared_per_block):
    """Every variant worth timing on a device with so much shared memory a block, about 60 at most, the default first."""
    found = [v for base in bases(shape) for v in around(shape, base)]
    first = default(shape, shared_per_block)
    return list(dict.fromkeys([first, *sensible(shape, [*found, Variant(product="cublas", width=0)], shared_per_block)]))


def shortlist(shape, shared_per_block):
    """At most a dozen variants, for tuning in a first run: the default, the bases, and single changes of the first base."""
    first, others = default(shape, shared_per_block), bases(shape)
    base = others[0]
    found = [*others, replace(base, matrix="shared"), replace(base, faces="once"), replace(base, faces="block"),
             Variant(product="cublas", width=0), replace(base, chunk=min(shape.nodes, 2 * base.chunk)), replace(base, width=0),
             replace(base, lanes=max(8, base.lanes // 2))]
    return list(dict.fromkeys([first, *sensible(shape, found, shared_per_block)]))[:12]


def from_dict(values):
    """The variant of a dict {choice: value} of the tuning table; ValueError for choices and values that do not exist."""
    names = [field.name for field in fields(Variant)]
    for name in values:
        choose("choice", name, names)
    return Variant(**values)
