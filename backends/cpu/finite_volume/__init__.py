"""Kernels of finite volumes on the CPU."""
