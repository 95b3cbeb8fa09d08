"""The protocol of boundary conditions, incident fields and sources, and the base of those of the package."""
from collections import namedtuple
from copy import copy
from dataclasses import MISSING, dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from ..support.keywords import Keywords
from .laws.law import shown
from .trace import parameters


class Declared(namedtuple("Declared", "flux check of_faces in_problem between profiles closed unknown field course variables "
                                      "numbers plane profile")):
    """The attributes of a condition, field or source, each None where it has none. A user's one may be a plain function.

    flux         (law) -> the numerical flux at its faces, whatever the inside has
    check        (mesh, faces, law), of an interface (mesh, left, right, law): raises ValueError where the condition does not
                 fit, before anything is computed; of a grid `faces` is one side, (axis, end)
    of_faces     (mesh, faces) -> {name: (face,)}, numbers of each face, which the condition may ask for as `face`; their names
                 are of_faces.names
    in_problem   (mesh, name, boundary) -> the condition in a problem with these others; asked first
    between      of an interface: (l, r, n, x, t, ml, mr, p, law) -> (state that the left side sees, that of the right side)
    profiles     of an interface: (x) -> {name: values}, evaluated once at its points; `between` has them as p.name
    closed       of an interface: whether faces that end inside of the mesh, or lie in an absorbing layer, are refused
    unknown      "total" or "scattered", where a field enters: what the unknown of the run is beside these faces
    field        (x, t) -> this field
    course       of a port or source: the function of time that it excites waves with
    variables    of a field or source: those of the law that it is made for
    numbers      of a field: {argument of the law: number} of its uniform medium
    plane        of a plane wave: its direction and amplitude as text
    profile      of a small current: (x) -> its share at the points x"""


def declared(condition: Any) -> Declared:
    """The `Declared` of a condition, field or source; a class is none yet."""
    one = None if isinstance(condition, type) else condition
    return Declared(*(getattr(one, name, None) for name in Declared._fields))


@dataclass(frozen=True, eq=False, repr=False)
class Formula(Keywords):
    """Base of the conditions, fields, sources and pulses of the package: frozen dataclasses whose fields are the parameters and
    whose `__call__` is the formula, in plain NumPy on tuples of components. `repr` is the call that makes one."""

    def __repr__(self):
        given = [(f, getattr(self, f.name)) for f in fields(self)]
        texts = [shown(value) if f.default is MISSING else f"{f.name}={shown(value)}"
                 for f, value in given if f.default is MISSING or value != f.default]
        return f"{type(self).__name__}({', '.join(texts)})"

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...          # what `keep` sets beside the fields

    def with_number(self, name: str, value: Any) -> Any:
        """This with another value of the field `name`, which may be traced, where the formula can be evaluated with one.

        By default what the constructor makes of it; it raises ValueError where that looks at values."""
        return replace(self, **{name: value})

    def changed(self, **values: Any) -> Any:
        """A copy with other values of fields and attributes, as of `keep`, and without the constructor's checks."""
        found = copy(self)
        found.keep(**values)
        return found

    def keep(self, **values: Any) -> None:
        """Set fields to the values that stand for those given, and attributes that follow from them; for `__post_init__`."""
        self.__dict__.update(values)


class Named(Formula):
    """Base of the conditions without parameters. There is one of each class, which users give by its `__name__`."""

    __name__ = property(lambda self: type(self).__name__)

    def __init_subclass__(cls, name):
        cls.__name__, formula = name, cls.__call__

        @wraps(formula)
        def given_state(self, *args, **kwargs):
            if not args and not kwargs:
                name = self.__name__
                raise TypeError(f"{name} is a condition itself; give it without parentheses, boundary=dgarray.{name}")
            return formula(self, *args, **kwargs)
        cls.__call__ = given_state
        dataclass(frozen=True, eq=False, repr=False)(cls)

    def __repr__(self):
        return self.__name__

    def __reduce__(self):
        return self.__name__          # pickle and copy find the one that there is


def refuse_class(name: str, condition: Any) -> None:
    """Raise ValueError for a class that makes a condition or field, given as the condition of the boundary `name`."""
    if not isinstance(condition, type):
        return
    if issubclass(condition, Named):
        raise ValueError(f"boundary {name!r}: the class {condition.__name__} is not a condition; give the condition itself, "
                         f"dgarray.{condition.__name__}")
    if issubclass(condition, Formula):
        needed = [argument for argument, p in parameters(condition).items() if p.default is p.empty]
        raise ValueError(f"boundary {name!r}: {condition.__name__} is not a condition but makes one; call it: "
                         f"dgarray.{condition.__name__}({', '.join(needed)})")
