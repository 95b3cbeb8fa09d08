"""Matrices of interpolation to the points of quadrature rules, which integrals ask for again and again."""
from functools import cached_property


class KeptInterpolation:
    """For a reference cell with the function `interpolation(r)`, and `differentiation`."""

    def interpolation_at(self, rule):
        """`interpolation` at the points of a quadrature rule (point, dim): it is kept, and not to be changed."""
        key = rule.shape, rule.tobytes()
        if key not in self._kept:
            self._kept[key] = self.interpolation(rule)
        return self._kept[key]

    def gradients(self, r):
        """dl_j/dr_k of the nodal functions at reference points r (point, dim), (dim, point, node)."""
        return self.interpolation(r) @ self.differentiation

    @cached_property
    def _kept(self):
        return {}
