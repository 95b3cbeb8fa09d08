"""`python -m dgarray` is the command `dgarray`."""
import sys

from .cli import main

sys.exit(main())
