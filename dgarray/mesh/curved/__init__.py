"""Curved cells: their maps, boundaries through curves, checks and measures."""
