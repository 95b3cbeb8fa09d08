"""Kernels of Hermite's method on the GPU."""
