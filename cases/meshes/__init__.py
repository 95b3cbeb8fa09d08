"""Mesh files of the cases, and what makes meshes for them."""
