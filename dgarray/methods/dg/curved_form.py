"""The recipe of DG in curved triangles and tetrahedra, prisms and pyramids: see `dgarray.methods.dg.curved_geometry`."""
from ...physics.pointwise import Pointwise
from ...program.arrays import apply, product
from .set_constants import given
from .weak_form import WeakForm


class CurvedForm(WeakForm):
    """The weak form with metrics at each point, of curved elements."""

    def finish(self, r, q, t):
        """The projection of (r / J + s) / C."""
        tables, finish = self.tables, self.functions.finish
        weighted = tables.basis.weighted_modes is not None
        if weighted:
            r = self.solved(r)
            if tables.geometry.kappa_is_one and not tables.physics.finishes:
                return r
        values = scaled(self.at_points(r), self.inverse, "r / J")
        if tables.physics.finishes:
            values = apply(finish, "(r / J + s) / C", at=values, **given(
                r=values, q=self.at_points(q) if finish.depends_on("q") else None, t=t, m=self.parameters(), x=self.x))
        if not weighted:
            return product(self.matrix("projection of r", tables.basis.projection), values, term="projection")
        values = scaled(values, self.metric("weight"), "J_0 r")
        b = product(self.matrix("modes of r", tables.basis.weighted_projection), values, term="projection")
        return self.solved(b)

    def solved(self, b):
        """M_(J_0)^-1 b."""
        matrix = self.matrix("weighted modes", self.basis.weighted_modes[1])
        return product(matrix, scaled(b, self.metric("mode_inverse"), "b / J_0"), term="M^-1 b")


def scaled(values, factor, name):
    """All variables times a factor at each place."""
    times = Pointwise(lambda r, s: tuple(each * s[0] for each in r), {"r": len(values), "s": 1}, name)
    return apply(times, r=values, s=[factor])
