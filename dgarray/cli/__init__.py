"""The command line: dgarray list, run, eoc, bench, tune, info, plot, export, help."""
from .parser import build_parser, main

__all__ = ["build_parser", "main"]
