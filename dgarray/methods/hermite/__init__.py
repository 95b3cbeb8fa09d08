"""Hermite's method on grids."""
