"""Absorbing layers around a mesh, and the cells that they add."""
