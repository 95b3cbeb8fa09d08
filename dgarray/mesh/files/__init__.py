"""Mesh files: readers, what a file is, and cells of any shape cut into simplices."""
