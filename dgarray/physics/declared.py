"""What a boundary condition declares beside the state outside: its attributes, all of them optional."""
from typing import Any, NamedTuple


class Declared(NamedTuple):
    """The attributes of a condition, each None where it has none. A user's condition may be a plain function.

    flux         (law) -> the numerical flux at its faces, whatever the inside has
    check        (mesh, faces, law), of an interface (mesh, left, right, law): raises ValueError where the condition does not
                 fit, before anything is computed
    of_faces     (mesh, faces) -> {name: (face,)}, numbers of each face, which the condition may ask for as `face`; their names
                 are of_faces.names
    in_problem   (mesh, name, boundary) -> the condition in a problem, where it depends on other conditions
    between      of an interface: (l, r, n, x, t, ml, mr, law) -> what each side sees beyond it
    profiles     of an interface: (x) -> {name: values}, numbers of its points, which `between` may ask for as `p`
    closed       of an interface: whether its faces must enclose a region
    unknown      "total" or "scattered", where a field enters: what the unknown of the run is beside these faces
    field        (x, t) -> this field
    pulse        of what excites waves, the function of time"""

    flux: Any = None
    check: Any = None
    of_faces: Any = None
    in_problem: Any = None
    between: Any = None
    profiles: Any = None
    closed: Any = None
    unknown: Any = None
    field: Any = None
    pulse: Any = None


def declared(condition: Any) -> Declared:
    """The `Declared` of a condition."""
    return Declared(*(getattr(condition, name, None) for name in Declared._fields))
