"""The first hour on a machine with a GPU, from a checkout that need not be installed: python dgarray/first_contact.py OUT

It runs the steps of `dgarray bench --first-contact OUT`, see docs/gpu.md; --budget SECONDS limits them.  Packages that are
missing are named before anything imports them, with the commands that bring them; the exit status is then 2."""
import runpy
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def run(arguments):
    """Run the steps; returns the exit status."""
    wheels = runpy.run_path(str(PACKAGE / "bench" / "gpu_wheels.py"))
    missing = wheels["missing_dependencies"]()
    try:
        if not missing:
            from dgarray.cli import main
            return main(["bench", "--first-contact", *arguments])
    except ModuleNotFoundError as error:          # what a dependency of ours needs in turn
        missing = [error.name]
    print(wheels["no_imports"](missing), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.path[0] = str(PACKAGE.parent)          # instead of the package's own folder
    sys.exit(run(sys.argv[1:]))
