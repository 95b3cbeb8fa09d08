"""Benchmarks: what a machine can do (ceilings), how near the kernels come to it, which variants of kernels are fastest."""
