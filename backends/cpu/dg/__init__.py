"""Fused kernels of discontinuous Galerkin methods on the CPU."""
