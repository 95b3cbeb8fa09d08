"""Python threads that share the pieces of a loop. They run in parallel, since NumPy and compiled kernels release the GIL."""
import os
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import count


class Workers:
    """`threads` workers, the calling thread among them; by default one for every processor that this process may use.

    Raises ValueError for more threads than such processors."""

    def __init__(self, threads=None):
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.threads = available if threads is None else int(threads)
        if self.threads > available:
            raise ValueError(f"threads={threads} is not allowed; this process may use {available}")
        self._pool = ThreadPoolExecutor(self.threads - 1, "dgarray") if self.threads > 1 else None

    def run(self, task, pieces):
        """Call task(piece, worker) for every piece from 0 to pieces - 1; worker: from 0 to threads - 1.

        A worker that is free takes the next piece, so a core that another program slows down takes fewer pieces."""
        counter = count()

        def work(worker):
            while (piece := next(counter)) < pieces:
                task(piece, worker)

        self.each(work, pieces)

    def each(self, work, most):
        """Call work(worker) once on each worker, on at most `most` of them, and wait for all; what NumPy warns of is the same
        on all."""
        others = [self._pool.submit(copy_context().run, work, worker) for worker in range(1, min(self.threads, most))]
        try:
            work(0)
        finally:
            for other in others:
                other.result()
