"""Stores of runs: snapshots, checkpoints, checksums."""
