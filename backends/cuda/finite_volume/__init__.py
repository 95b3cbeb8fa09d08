"""Kernels of finite volumes on the GPU."""
