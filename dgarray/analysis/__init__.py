"""What a run is judged by: norms and errors, convergence, manufactured solutions."""
from .manufactured_solutions import manufactured as manufactured
