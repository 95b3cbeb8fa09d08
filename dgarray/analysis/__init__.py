"""What a run is judged by: norms and errors, convergence, manufactured solutions."""
from .manufactured import manufactured as manufactured
