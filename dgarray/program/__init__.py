"""Programs: what a method computes, as data. A recipe is written in array expressions; called once with stand-ins for arrays it
gives the list of its operations, which one interpreter performs on NumPy, CuPy or jax.numpy."""
