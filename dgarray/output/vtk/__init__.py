"""VTK files, and objects of PyVista."""
