"""Derivatives of what a run gives by what it was given."""
