"""One run of a problem: set up, the loop over time steps, what is kept, failures, restart."""
