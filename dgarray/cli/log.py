"""The file of --log: what a command says, each line with its time, also under --quiet."""
import logging
import os
import sys
from contextlib import contextmanager
from pathlib import Path

from ..support.mpi_processes import processes

LOGGER = logging.getLogger("dgarray")          # of the whole package; progress goes there as well


@contextmanager
def log_file(options):
    """While entered, the messages of the package are appended to the file of --log, if one is given.

    Raises ValueError where it cannot be written. Before --ranks starts the processes nothing is written: the first of them
    writes."""
    path = getattr(options, "log_file", None)
    if path is None or (getattr(options, "ranks", None) or 1) > 1 and processes() == 1:
        yield
        return
    check_log(path)
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    before = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        LOGGER.info(options.call)
        yield
    except BaseException as error:
        from .errors import one_line
        LOGGER.error("dgarray %s: %s", options.command, one_line(error))
        raise
    finally:
        LOGGER.setLevel(before)
        LOGGER.removeHandler(handler)
        handler.close()


def check_log(path):
    """Raise ValueError for a file that cannot be written."""
    folder = Path(path).resolve().parent
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"--log {path}: " + ("this is a folder" if Path(path).is_dir() else
                                              f"the folder {folder} cannot be written to"))


def tell(text, quiet=False, file=None):
    """Print a text, unless quiet, and write its lines to the log."""
    if not quiet:
        print(text, file=file or sys.stdout, flush=True)
    for line in str(text).splitlines():
        if line.strip():
            LOGGER.info(line.rstrip())
