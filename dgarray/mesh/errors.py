"""What a mesh that cannot be used raises, and what a questionable one warns of."""


class MeshError(ValueError):
    """A mesh, or a file that should hold one, cannot be used; the message is one line with place, reason and remedy."""


class MeshWarning(UserWarning):
    """A mesh can be used, but something in it deserves a look."""
