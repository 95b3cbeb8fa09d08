"""Fused limiters of modal DG on the CPU."""
