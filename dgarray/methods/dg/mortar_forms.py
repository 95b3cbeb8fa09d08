"""Which form of `dgarray.methods.dg.mortars` elements take at mortars, and the states there."""
import numpy as np

from ...physics.boundary import is_linear
from ...physics.pointwise import Pointwise
from ...physics.trace import call


def mortar_form(physics, nodes, volume_flux):
    """The form, "projected", "linear" or "split", for a `Physics` on such nodes, in weak form (volume_flux None) or split form;
    nodes: "gauss", "lobatto", or None where the mass matrix is not diagonal.

    At Gauss-Lobatto nodes "linear" and "split" keep energy or entropy, and cost up to one order.  In weak form a numerical flux
    with dissipation does without; the split form, which is there to keep them, does not."""
    law = physics.law
    if nodes != "lobatto":
        return "projected"
    if law.products is None and is_linear(law) and not varies(law):
        return "projected" if volume_flux is None and takes_energy(physics) else "linear"
    return "projected" if volume_flux is None else "split"


def takes_energy(physics):
    """Whether the numerical flux of a linear law has dissipation: whether it tells its two states apart."""
    law, random = physics.law, np.random.default_rng(0)
    v, d, m = physics.moving, law.dim, physics.parameters
    star = Pointwise(lambda l, r, n, x, t, ml, mr: physics.of_law(physics.star(physics.numerical, l, r, n, x, t, ml, mr)),
                     {"l": v, "r": v, "n": d, "x": d, "t": None, "ml": m, "mr": m}, "numerical flux")
    l, r, n, x = (tuple(random.uniform(1, 2, count)) for count in (v, v, d, d))
    given = {side: {name: 1.5 for name, number in m.items() if number is None} for side in ("ml", "mr")}
    one, other = (np.array(star(l=a, r=b, n=n, x=x, **given)) for a, b in ((l, r), (r, l)))
    return bool(np.abs(one - other).max() > 1e-12 * np.abs(one).max())


def varies(law):
    """Whether the flux of a linear law depends on the position: itself, or by a parameter that is a function of it."""
    flux = Pointwise(law.flux, {"q": len(law.variables), "n": law.dim, "x": law.dim, "t": None,
                                "m": dict.fromkeys(law.parameters)}, "flux")
    return flux.depends_on("x") or any(owner == "m" and callable(law.parameters[name]) for owner, name in flux.used.values())


def entropy_functions(law):
    """The pointwise functions of a law (w of q: its entropy variables; q of w, q, near: the state at a mortar point, from
    interpolated w and q and the mean q over the face); (None, None) of a law without them. Of a law whose variables stay
    together w = q, and the state is the interpolated one, or where that is not admissible `near`.

    The state is that with the entropy variables w.  At strong shocks, where its density or internal energy is not within a
    factor of 2 of that of q, it is q; and `near` where that is not admissible."""
    v = len(law.variables)
    if law.together:
        def sound(q, near):
            good = call(law.admissible, dict(q=q))
            return tuple(np.where(good, a, b) for a, b in zip(q, near))
        return Pointwise(lambda q: q, {"q": v}, "state"), Pointwise(sound, {"w": v, "q": v, "near": v}, "state")
    if law.from_entropy_variables is None:
        return None, None

    def state(w, q, near):
        s = call(law.from_entropy_variables, dict(w=w, q=q))
        pairs = ((s[0], q[0]), (call(law.internal_energy, dict(q=s)), call(law.internal_energy, dict(q=q))))
        close, sound = True, True
        for a, b in pairs:
            close, sound = close & (a < 2 * b) & (b < 2 * a), sound & (b > 0)
        return tuple(np.where(close, a, np.where(sound, b, c)) for a, b, c in zip(s, q, near))
    return (Pointwise(law.entropy_variables, {"q": v}, "entropy variables"),
            Pointwise(state, {"w": v, "q": v, "near": v}, "state"))
