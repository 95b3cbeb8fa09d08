"""The error for a mesh that cannot be used, the warning for a questionable one, and a remedy that several messages name."""

TO_SPLIT = "or cut the cells into triangles or tetrahedra: read_mesh(file, split=True), on the command line --split"


class MeshError(ValueError):
    """A mesh, or a mesh file, cannot be used. The message is one line with place, reason and remedy."""


class MeshWarning(UserWarning):
    """A mesh can be used, but something in it looks wrong."""
