"""What a law is: the base class that names the functions a method may ask for."""


class Law:
    """A hyperbolic system  C(m) dq/dt + div F(q, x, m) = s(q, x, t, m).

    A law states its physics as functions over tuples of components, in plain NumPy.  Each function asks for its arguments
    by name: `q` the state, `n` a direction (not necessarily a unit vector), `x` the position, `t` the time, `m` the law's
    parameters at this element (a named tuple).  A subclass gives

    dim          1, 2 or 3
    variables    names of the components of q
    flux         (q, n) -> F(q) . n, linear in n
    wave_speed   (q, n) -> largest absolute eigenvalue of C^-1 dF/dq . n

    and may give

    parameters   {name: value}; value: a number, {region name: number}, or a function of x taken at element centres
    capacity     (m) -> C, one factor per variable
    source       (q, x, t, m) -> s
    upwind       (l, r, n, ml, mr, alpha) -> numerical flux with dissipation alpha (0 central, 1 upwind)
    energy       (q, m) -> energy density
    long_names, units   {variable: text}
    family       which measured time step applies: "scalar", "system" or "curl"; by default by the number of variables
    """

    dim = None
    variables = ()
    parameters = {}
    long_names = {}
    units = {}
    capacity = None
    source = None
    upwind = None
    energy = None
    family = None

    def __repr__(self):
        given = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}(dim={self.dim}{given})"


def dot(a, b):
    """Sum of a_i b_i over components."""
    return sum(x * y for x, y in zip(a, b))


def check_dim(dim):
    """Return dim if it is 1, 2 or 3, else raise ValueError."""
    if dim not in (1, 2, 3):
        raise ValueError(f"dim={dim!r} is not allowed; it must be 1, 2 or 3")
    return int(dim)


def check_parameter(name, value, positive=True):
    """Return a law's parameter as given after checking the numbers in it; functions of x are checked on the mesh."""
    numbers = value.values() if isinstance(value, dict) else () if callable(value) else (value,)
    for number in numbers:
        if not isinstance(number, (int, float)) and not hasattr(number, "__float__"):
            raise ValueError(f"{name}={value!r} is not allowed; give a number, {{region: number}} or a function of x")
        if not (float(number) > 0 or not positive and float(number) == 0) or float(number) == float("inf"):
            raise ValueError(f"{name}={value!r} is not allowed; it must be {'positive' if positive else 'zero or more'}")
    return value
