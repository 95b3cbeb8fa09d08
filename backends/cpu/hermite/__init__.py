"""Fused kernels of Hermite's method on the CPU."""
