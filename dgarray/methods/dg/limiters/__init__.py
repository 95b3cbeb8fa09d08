"""Limiters, positivity and indicators of discontinuous Galerkin."""
