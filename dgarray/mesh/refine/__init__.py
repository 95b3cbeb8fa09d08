"""Refinement of cells of each shape, and the hanging nodes that it leaves."""
