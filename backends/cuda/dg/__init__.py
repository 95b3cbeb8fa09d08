"""Kernels of discontinuous Galerkin methods on the GPU."""
