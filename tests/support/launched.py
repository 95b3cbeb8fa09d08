"""Processes that an MPI launcher starts together, for tests that skip where there is none."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py", reason="pip install 'dgarray[mpi]' brings mpi4py, an MPI library and pymetis")
MPIEXEC = Path(sys.executable).with_name("mpiexec")
LAUNCHED = pytest.mark.skipif(not MPIEXEC.is_file(), reason="the environment has no mpiexec: pip install 'dgarray[mpi]'")
ROOT, PATIENCE = Path(__file__).parents[2], 240


@pytest.fixture(scope="module", autouse=True)
def launcher():
    """Skip where MPI itself cannot start two processes that find each other, as in some containers."""
    test = "from mpi4py import MPI; assert MPI.COMM_WORLD.allreduce(1) == 2"
    try:
        found = subprocess.run([MPIEXEC, "-n", "2", sys.executable, "-c", test], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("mpiexec hangs here")
    if found.returncode:
        pytest.skip(f"mpiexec cannot start processes here: {found.stderr[-200:]}")


def started(*arguments, folder, ranks=None):
    """A process, or so many by mpiexec, in a folder."""
    command = [str(MPIEXEC), "-n", str(ranks)] if ranks else []
    paths = str(ROOT), str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.Popen([*command, sys.executable, *map(str, arguments)], cwd=folder, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process):
    """(exit status, stdout, lines of stderr)."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err.splitlines()


def finished(*arguments, folder, ranks=None):
    return ended(started(*arguments, folder=folder, ranks=ranks))
