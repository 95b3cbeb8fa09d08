"""Make `dgarray.backends` and `dgarray.cases` importable from a checkout that is not installed, where they lie beside this
package: on a machine without a network, say, whose pip cannot fetch what building takes."""
import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGE = __name__.rpartition(".")[0]

if find_spec(f"{PACKAGE}.backends") is None:
    sys.modules[PACKAGE].__path__.append(str(Path(__file__).parents[1]))
