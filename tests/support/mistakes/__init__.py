"""Mistakes that a person makes: how one is written down, what it needs, and what the command answers."""
