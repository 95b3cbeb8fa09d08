"""Helpers that belong to no subject: sentences, memory, files, figures."""
