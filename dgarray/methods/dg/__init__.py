"""Discontinuous Galerkin methods on simplices: nodal, modal."""
