"""Families of variants of the nodal DG kernels on a GPU: a family uses one technique of the papers."""
from dataclasses import replace
from typing import NamedTuple

from ..backends.cuda.dg.layout import WARP
from ..backends.cuda.dg.variant import FACES, PLACES, candidates, default


class Family(NamedTuple):
    """The variants that use one technique; source: where the technique is described, empty if in none of the papers."""

    name: str
    source: str
    has: callable                        # (variant, shape) -> bool


K, F = "Kloeckner et al. 2009, section ", "Fuhry et al. 2014"
FAMILIES = [
    Family("microblocks of elements in memory", K + "4", lambda v, s: kernel(v) and v.width > 0),
    Family("coefficient by coefficient in memory", F, lambda v, s: kernel(v) and v.width == 0),
    Family("matrix in shared memory", K + "5.4", lambda v, s: kernel(v) and v.matrix == "shared"),
    Family("matrix through the cache", K + "5.2", lambda v, s: kernel(v) and v.matrix == "global"),
    Family("field in shared memory", K + "5.2", lambda v, s: kernel(v) and v.field == "shared"),
    Family("field in registers", "", lambda v, s: kernel(v) and v.field == "registers"),
    Family("one thread an element", F, lambda v, s: kernel(v) and v.rows >= s.nodes),
    Family("faces from both sides", "", lambda v, s: kernel(v) and v.faces == "both"),
    Family("pairs of faces once in a block of elements", K + "5.3", lambda v, s: v.faces == "block"),
    Family("each face once, one thread a face node", "", lambda v, s: v.faces == "once" and not v.per_face),
    Family("each face once, one thread a face", F, lambda v, s: v.faces == "once" and v.per_face),
    Family("batched product by cuBLAS", K + "5.2", lambda v, s: not kernel(v)),
]


def kernel(variant):
    """Whether the stage kernel multiplies, not cuBLAS."""
    return variant.product == "kernel"


def like(base, shape, shared_per_block):
    """Variants that a device can run, sorted by the number of choices in which they differ from `base`.

    They are `base`; `base` changed to each technique, also with fewer elements of a block and fewer nodes at a time, so that
    some fit; and the candidates for tuning."""
    kernel = base if base.product == "kernel" else default(shape, shared_per_block)
    one = {"faces": "both" if kernel.faces == "block" else kernel.faces, "field": "registers"}
    changes = [{"width": 0}, {"width": WARP}, *({"matrix": place} for place in PLACES), {"field": "shared"}, one,
               *({"faces": faces, "per_face": False, "field": "shared"} for faces in FACES),
               {"faces": "once", "per_face": True}, {"rows": shape.nodes}, {"rows": shape.nodes} | one]
    found = [base, *(replace(kernel, **change, lanes=max(1, kernel.lanes // lanes), chunk=max(1, kernel.chunk // chunk))
                     for change in changes for lanes in (1, 2, 4, 8) for chunk in (1, 4, 16))]
    found += candidates(shape, shared_per_block)

    def distance(variant):
        return sum(getattr(variant, name) != value for name, value in vars(base).items())
    return sorted((v for v in dict.fromkeys(found) if shape.fits(v, shared_per_block)), key=distance)
