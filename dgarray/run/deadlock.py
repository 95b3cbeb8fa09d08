"""Ranks that wait for each other for ever: one has called what all must call together, or has ended, and the others wait."""
import sys
import time

ROUND = 1.0          # seconds between two posts of a rank that waits
ROUNDS = 3          # posts from one and the same wait, after which nothing is on its way any more
NAP = 0.01          # seconds between two looks for posts at the end
PACKAGE = __package__.partition(".")[0]
GOES_ON, ENDED = "goes on", "has ended"


class Standstill:
    """Detects that all ranks wait for each other, by posts over a communicator of their own.

    A rank that waits posts to all others where it waits, every ROUND seconds, and that it goes on when it does. Where a rank
    has heard, in one wait, ROUNDS posts from one wait of each other rank, or that it has ended, all wait for each other.

    heard   {other rank: (number of its wait, where it waits, posts of this wait)};  ended: the ranks that have ended"""

    def __init__(self, comm):
        self.comm, self.number, self.heard, self.ended, self.posts = comm, 0, {}, set(), []
        self.others = [rank for rank in range(comm.size) if rank != comm.rank]

    def wait(self, request, nap):
        """Wait for a message, with a nap() between two tests. Raises RuntimeError where all ranks wait for each other."""
        self.number += 1
        due, rounds = time.monotonic() + ROUND, 0
        while not request.Test():
            nap()
            if time.monotonic() < due:
                continue
            if rounds == 0:          # posts from before say nothing of this wait
                self.listen()
                self.heard = {}
            due, rounds = due + ROUND, rounds + 1
            self.post((self.number, whence()))
            self.listen()
            if rounds > ROUNDS and all(rank in self.ended or self.heard.get(rank, (0, "", 0))[2] >= ROUNDS
                                       for rank in self.others):
                raise RuntimeError(self.text())
        if rounds:
            self.post(GOES_ON)

    def post(self, thing):
        self.posts = [request for request in self.posts if not request.Test()]
        self.posts += [self.comm.isend(thing, other) for other in self.others]

    def listen(self):
        for other in self.others:
            while self.comm.iprobe(other):
                thing = self.comm.recv(source=other)
                if thing == ENDED:
                    self.ended.add(other)
                elif thing == GOES_ON:
                    self.heard.pop(other, None)
                else:
                    number, where = thing
                    before, _, posts = self.heard.get(other, (0, "", 0))
                    self.heard[other] = number, where, posts + 1 if number == before else 1

    @property
    def first(self):
        """The first of the ranks that have not ended."""
        return min({*self.others, self.comm.rank} - self.ended)

    def text(self):
        """Where each rank waits, and what to do."""
        places = {rank: f"waits in {self.heard[rank][1]}" for rank in self.others if rank not in self.ended}
        places |= dict.fromkeys(self.ended, ENDED) | {self.comm.rank: f"waits in {whence()}"}
        return ("the ranks wait for each other and none can go on: "
                + ", ".join(f"rank {rank} {places[rank]}" for rank in sorted(places))
                + "; all ranks must call what looks at the whole problem, such as state.q, and end together")

    def end(self):
        """Tell the others that this rank ends, and wait until all do, as MPI does, but without taking a processor."""
        self.post(ENDED)
        while len(self.ended) < len(self.others):
            time.sleep(NAP)
            self.listen()


def calls():
    """Names of the functions of the package that are being called, the innermost first, up to the first one of the user's; and
    where in the user's text, as "file:line"."""
    frame, names = sys._getframe(1), []
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return tuple(names), "" if frame is None else f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


def whence():
    """The function of the package that the user has called, and where."""
    names, place = calls()
    return f"{names[-1]}{f' ({place})' * bool(place)}"
