"""Finite volumes on grids: first order, MUSCL-Hancock and WENO-Z."""
