"""Threads that share the pieces of a loop: compiled kernels release the interpreter lock, so Python's threads are enough."""
from concurrent.futures import ThreadPoolExecutor
from itertools import count


class Workers:
    """`threads` workers, the calling thread among them."""

    def __init__(self, threads):
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads - 1, "dgarray") if threads > 1 else None

    def run(self, task, pieces):
        """Call task(piece, worker) for every piece from 0 to pieces - 1; a worker that is free takes the next one.

        So a core that is slowed down by another program takes fewer pieces.  `worker` counts from 0 to threads - 1."""
        counter = count()

        def work(worker):
            while (piece := next(counter)) < pieces:
                task(piece, worker)

        helpers = [self._pool.submit(work, worker) for worker in range(1, min(self.threads, pieces))]
        work(0)
        for helper in helpers:
            helper.result()
