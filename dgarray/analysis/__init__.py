"""What a run is judged by: norms and errors, convergence, roofline."""
