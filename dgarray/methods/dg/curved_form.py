"""The operations of DG in curved triangles and tetrahedra: see `dgarray.methods.dg.curved_tables`."""
from functools import cached_property

from ...physics.pointwise import Rows
from .arrays import ALL
from .weak_form import WeakForm


class CurvedForm(WeakForm):
    """As `WeakForm`, with metrics at each point, by array expressions."""

    work = ("curved elements",)

    @cached_property
    def inverse(self):
        return self.backend.array(self.tables.inverse)

    @cached_property
    def projection(self):
        return self.backend.array(self.tables.projection)

    def finish(self, r, q, t, columns=ALL):
        """The projection of (r / J + s) / C."""
        values = self.at_points(r) * self.inverse[:, columns]
        if self.tables.finishes:
            self.backend.evaluate(self.tables.functions.finish, [Rows(values)], r=Rows(values), t=t, m=self.at(columns),
                                  q=Rows(self.at_points(q[:, :, columns])), **self.position(columns))
        return self.backend.product(self.projection, values)
