"""The error for a mesh that cannot be used, and the warning for a questionable one."""


class MeshError(ValueError):
    """A mesh, or a mesh file, cannot be used. The message is one line with place, reason and remedy."""


class MeshWarning(UserWarning):
    """A mesh can be used, but something in it looks wrong."""
