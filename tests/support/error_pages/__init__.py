"""The error messages of docs/errors: one module a page, with its TITLE, what it is ABOUT, and GROUPS of mistakes by heading."""

ORDER = ("command_line", "cases", "meshes", "problem", "functions", "methods", "records", "output", "results", "datasets",
         "solutions", "gpu")
