"""Variants of nodal DG's kernel on the GPU, by what they are for."""


# What differs from the default; the sizes of blocks follow from the order.
FAMILIES = {
    "default": {}, "rows": {"width": 0}, "few lanes": {"lanes": 8, "chunk": 3}, "many lanes": {"lanes": 64},
    "registers": {"field": "registers"}, "matrix in shared memory": {"matrix": "shared", "chunk": 2},
    "registers and matrix in shared memory": {"field": "registers", "matrix": "shared"},
    "pairs in blocks": {"faces": "block", "lanes": 16},
    "pairs in blocks of rows": {"faces": "block", "width": 0, "lanes": 8, "matrix": "shared"},
    "library": {"product": "cublas", "width": 0},
    "each face once": {"faces": "once"}, "each face once, one thread a face": {"faces": "once", "per_face": True, "width": 0},
}
