"""The recipe of DG in curved triangles and tetrahedra, prisms and pyramids: see `dgarray.methods.dg.curved_tables`."""
from ...physics.pointwise import Pointwise
from ...program.arrays import apply, product
from .set_constants import given
from .weak_form import WeakForm


class CurvedForm(WeakForm):
    """As `WeakForm`, with metrics at each point."""

    def finish(self, r, q, t):
        """The projection of (r / J + s) / C."""
        count, finish = len(r), self.functions.finish
        over_J = Pointwise(lambda r, s: tuple(each * s[0] for each in r), {"r": count, "s": 1}, "r / J")
        values = apply(over_J, r=self.at_points(r), s=[self.inverse])
        if self.tables.finishes:
            values = apply(finish, "(r / J + s) / C", at=values, **given(
                r=values, q=self.at_points(q) if finish.depends_on("q") else None, t=t, m=self.parameters(), x=self.x))
        return product(self.matrix("projection of r", self.tables.projection), values, term="projection")
