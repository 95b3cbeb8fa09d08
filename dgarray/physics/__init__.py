"""Physics as plain NumPy: laws, numerical fluxes, boundary conditions, and how their text is traced and compiled."""
