"""The ranks of a run: the processes that an MPI launcher has started, each with a part of the mesh.

All ranks execute the same script. What they compute together they call together; one of them, rank 0, writes files.
"""
import atexit
import os
import shutil
import sys
import time
import traceback
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from zlib import crc32

import numpy as np

from ..backends.workers import Workers
from ..methods.exchange import Messages
from ..support.mpi_processes import processes
from .deadlock import Standstill, calls
from .signals import end_waiting

INSTALL = "pip install 'dgarray[mpi]'"
PATIENCE = 2.0          # seconds in which all ranks fail, where they fail for the same reason
LONG = 10.0             # seconds that a step does not wait for another rank
PASSED_ON = 1.0         # seconds from the last word of a rank to the end of all
FIRST = 16          # numbers of the first message of ranks that meet
NAP = 0.002             # seconds between two tests for what may take long
SPINS = 100             # tests for a message, of about a microsecond each, before the processor is offered to others


class Ranks(Messages):
    """The messages of one rank with the others, by MPI."""

    def __init__(self, comm):
        self.comm, self.endings, self.waiting = comm, comm.Dup(), comm.Dup()
        self.standstill, self.stuck = Standstill(comm.Dup()), False
        self.part, self.parts, self.read_devices = comm.rank, comm.size, os.environ.get("DGARRAY_GPU_AWARE_MPI") == "1"
        self._sent = []
        atexit.register(self.leave)

    def send(self, other, values):
        self.unsent()
        self._sent.append((self.comm.Isend(values, other), values))          # who sends keeps the values until they are gone

    def unsent(self):
        """The messages that are still on their way, (request, values)."""
        self._sent = [pair for pair in self._sent if not pair[0].Test()]
        return self._sent

    def expect(self, other, values):
        request = self.comm.Irecv(values, other)
        return lambda: self.finish(request)

    def everyones(self, thing):
        self.meet()
        return self.comm.allgather(thing)

    def exchanged(self, things):
        self.meet()
        return self.comm.alltoall(things)

    def largest(self, values):
        given = np.array(values, float)
        unknown = np.isnan(given)          # MPI does not say what the maximum with nan is
        found = self.meet(np.stack([np.where(unknown, -np.inf, given), unknown]))
        return np.where(found[1] > 0, np.nan, found[0])

    def from_first(self, thing):
        """The thing that the first rank gives, on all; a rank that waits for long leaves its processor to others meanwhile."""
        self.meet(seconds=NAP)
        return self.comm.bcast(thing)

    def meet(self, values=(), seconds=0.0):
        """Wait until all ranks are here; returns the largest of each of these numbers over all ranks.

        The first message has one size and a digest of who calls, so that calls which do not belong together are found out
        before anything else is sent.
        seconds: as for `finish`
        Raises RuntimeError where ranks have called different functions, whose values would be mixed."""
        values = np.asarray(values, float)
        (names, place), numbers = calls(), values.ravel()
        digest, sent = crc32(repr((names, values.shape)).encode()), np.full(FIRST, -np.inf)
        sent[:2], sent[2:2 + numbers.size] = (digest, -digest), numbers[:FIRST - 2]
        found = self._largest(sent, seconds)
        if found[0] != -found[1]:
            callers = ", ".join(f"{who} on rank {rank}" for rank, who in
                                enumerate(self.comm.allgather(f"{names[-1]} ({place})")))
            raise RuntimeError(f"the ranks have called different functions together: {callers}; all ranks must call what looks "
                               "at the whole problem in the same order")
        found = found[2:2 + numbers.size]
        if numbers.size > found.size:
            found = np.concatenate([found, self._largest(numbers[FIRST - 2:], seconds)])
        return found.reshape(values.shape)

    def _largest(self, numbers, seconds):
        found = np.empty_like(numbers)
        self.finish(self.waiting.Iallreduce(numbers, found, self.maximum), seconds)
        return found

    @cached_property
    def maximum(self):
        from mpi4py import MPI
        return MPI.MAX

    def finish(self, request, seconds=0.0):
        """Wait for a message; after a while others get the processor in between, where there are more ranks than cores.

        seconds: between two tests of what may take long
        Raises RuntimeError where all ranks wait for each other, Interrupted where the others do not answer after a signal."""
        for _ in range(SPINS):
            if request.Test():
                return

        def nap():
            if time.monotonic() > late:
                end_waiting()
            if seconds:
                time.sleep(seconds)
            else:
                os.sched_yield()
        late = time.monotonic() + LONG
        try:
            self.standstill.wait(request, nap)
        except RuntimeError:
            self.stuck = True
            raise

    @cached_property
    def beside(self):
        """(The number of this rank among those on this machine, how many these are)."""
        from mpi4py import MPI
        here = self.comm.Split_type(MPI.COMM_TYPE_SHARED)
        found = here.rank, here.size
        here.Free()
        return found

    def leave(self):
        """Tell the others that this rank ends, and wait until all do; called once, at the end of the process.

        What has been sent and nobody has received by then never will be: this rank says so and ends all, since MPI would wait
        for it for ever."""
        atexit.unregister(self.leave)
        self.standstill.end()
        until = time.monotonic() + PATIENCE
        while self.unsent():
            if time.monotonic() > until:
                print(f"rank {self.part} of {self.parts}: another rank has ended without what was sent to it", file=sys.stderr,
                      flush=True)
                self.end(1)
            time.sleep(NAP)
        gone = self.endings.Ibarrier()          # who has nothing to send stays for those who find that they have
        while not gone.Test():
            time.sleep(NAP)
        self.endings.Free()
        self.waiting.Free()

    def all_have_failed(self):
        """Whether all ranks call this function within some seconds."""
        asked, until = self.endings.Ibarrier(), time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if asked.Test():
                return True
            time.sleep(NAP)
        return False

    def end(self, status):
        """End all ranks at once, after the launcher has had the time to pass on what was printed: it drops the rest."""
        time.sleep(PASSED_ON)
        self.comm.Abort(status)


_found: list = []          # the ranks, once they have been asked for


def ranks():
    """The `Ranks` of this run; None where it is one process.

    Raises ImportError where an MPI launcher has started several and mpi4py is missing."""
    if not _found:
        _found.append(None)
        if processes() > 1:
            try:
                from mpi4py import MPI
            except ImportError:
                raise ImportError(f"{processes()} processes have been started together, which needs mpi4py: "
                                  f"{INSTALL}") from None
            if MPI.COMM_WORLD.size > 1:
                _found[0] = Ranks(MPI.COMM_WORLD)
                sys.excepthook = end_all
    return _found[0]


def handle_errors():
    """Let errors that nobody handles end all ranks, and be said once where all have the same."""
    with suppress(ImportError):
        ranks()


def end_all(kind, error, trace):
    """Show an error that nobody has handled, once where all ranks have it, and end all ranks."""
    status = getattr(error, "status", 1)          # of an interrupted run it says the signal
    end_together(_found[0], status, "".join(traceback.format_exception(kind, error, trace)).rstrip())
    sys.exit(status)


def end_together(found, status, text):
    """Show why this rank ends: once where all ranks end, which is the caller's; else end all of them with an exit status."""
    if found.all_have_failed():
        if found.part == 0:
            print(text, file=sys.stderr, flush=True)
            if found.stuck:          # messages that will never come are asked for
                found.end(status)
        return
    if found.stuck and found.part != found.standstill.first:          # that one says it and ends all meanwhile
        time.sleep(PASSED_ON + PATIENCE)
    print(f"rank {found.part} of {found.parts}: {text}", file=sys.stderr, flush=True)
    found.end(status)


def launch(count, arguments):
    """Start `dgarray` with these arguments as so many ranks, in place of this process.

    Raises ValueError for a number below 1, and where MPI is missing."""
    found, available = ranks(), Workers().threads
    if count < 1 or found is None and count > available:
        raise ValueError(f"--ranks {count} is not allowed; it must be a whole number from 1 to {available}, the processors "
                         "here; mpiexec starts more, and on several machines")
    if found is not None and found.parts != count:
        raise ValueError(f"--ranks {count}: {found.parts} ranks run already; leave out --ranks, or start one process")
    if found is not None or count == 1:
        return
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        raise ValueError(f"--ranks {count} needs mpi4py and an MPI library: {INSTALL}") from None
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.is_file() else shutil.which("mpiexec")
    if mpiexec is None:
        raise ValueError(f"--ranks {count} needs the program mpiexec, which is not there: {INSTALL}")
    sys.stdout.flush()
    os.execv(mpiexec, [mpiexec, "-n", str(count), sys.executable, "-m", "dgarray", *arguments])
