"""Kill runs at random moments and go on with them: `python tests/support/killed.py 100`, or fewer as a test.

Every store must read up to its last snapshot, with all checksums right, equal bit for bit to the run that nobody killed, and so
must the run that goes on.  The package is imported and compiled once; each run is a forked process."""
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import xarray as xr

import dgarray as dg
from dgarray.output import verify

UNTIL, EVERY = 0.15, 0.01


def simulation():
    def pulse(x):
        return np.exp(-30 * ((x[0] - 0.4) ** 2 + (x[1] - 0.6) ** 2)), 0.0, 0.0

    record = {"receivers": dg.Points([(0.2, 0.3), (0.7, 0.7)], every=2), "spectrum": dg.Fourier([1.0, 2.0], boundary="left"),
              "totals": dg.VolumeIntegral(every=5)}
    return dg.Simulation(dg.rectangle(cells=4), dg.Acoustics(2), dg.NodalDG(3), dg.wall, pulse, threads=1, record=record)


def forked(path, restart):
    """A process that runs to the end, going on with the store where it can; its number."""
    process = os.fork()
    if process:
        return process
    try:
        restart = restart and (path / "zarr.json").is_file()
        simulation().run(UNTIL, EVERY, path, restart=restart, checkpoint_every=0.03)
        status = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        status = 1
    os._exit(status)


def wait(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def check(path, expected, whole):
    """How many snapshots the store holds; they and the records must be those of the undisturbed run."""
    assert not verify(path).damaged
    ds = xr.open_zarr(path).load()
    count = ds.sizes["time"]
    for name in expected.variables:
        if whole or any(str(dim) in ("time", "receivers_time", "totals_time") for dim in expected[name].dims):
            held = ds[name].values
            wanted = expected[name].values
            assert np.array_equal(held, wanted if whole else wanted[:len(held)], equal_nan=False), (path, name)
    return count


def main(count, seed=None):
    """Kill `count` runs, some when they go on after a kill; returns the snapshots that each store held, None without one."""
    warnings.simplefilter("ignore")          # of forking with (idle) threads; of runs that are over
    rng = random.Random(seed)
    expected = simulation().run(UNTIL, EVERY).load()
    found, number = [], 0
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        assert wait(forked(Path(folder) / "whole.zarr", False)) == 0
        duration = time.perf_counter() - began
        check(Path(folder) / "whole.zarr", expected, True)
        while len(found) < count:
            path, number = Path(folder) / f"{number}.zarr", number + 1
            for restart in (False, True)[:1 + number % 2]:
                process = forked(path, restart)
                time.sleep(rng.uniform(0.05, 0.4 if restart else 0.95) * duration)
                os.kill(process, signal.SIGKILL)
                status = wait(process)
                if status == -signal.SIGKILL:
                    found.append(check(path, expected, False) if (path / "zarr.json").is_file() else None)
                else:          # it was over: the machine is faster now
                    assert status == 0
                    duration *= 0.9
            assert wait(forked(path, True)) == 0
            assert check(path, expected, True) == expected.sizes["time"]
    return found


if __name__ == "__main__":
    counts = main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    print(f"{len(counts)} kills, with so many snapshots on disk: {counts}; every store read, every restart bitwise equal")
