"""Analysis of runs: norms and errors, convergence, manufactured solutions, records and what follows from them."""
from .manufactured_solutions import manufactured as manufactured
