"""Copies of neighbours' rows at both ends of a part of a grid, renewed by messages."""
from math import prod
from time import perf_counter

import numpy as np

from .operation import Operation


class Halo:
    """Renews the rows of neighbours that a part of a grid holds copies of.

    backend    of the arrays, with the `dgarray.methods.exchange.Messages` of this part
    share      its `dgarray.mesh.grid_part.RowShare`
    packing, waiting   seconds spent on putting messages together and apart, and on waiting for those of others
    sent       bytes that a renewal has sent at most"""

    packing = waiting = 0.0
    sent = 0

    def __init__(self, backend, share):
        self.backend, self.messages, self.share = backend, backend.messages, share

    def renew(self, arrays, axis, layers=None):
        """Renew copies in arrays (..., row, ...) whose axis `axis` is that of the rows, all in one message to each neighbour.

        axis     counted from the end, -1 the last one
        layers   rows next to the own ones that are renewed; None: all. Arrays with one value between two rows, and so one row
                 less here, have one less above"""
        self.send(arrays, axis, layers)
        self.receive()

    def send(self, arrays, axis, layers=None):
        """Send the own rows of which neighbours have copies; what they send may come from now on."""
        begin, share, sent = perf_counter(), self.share, 0
        first, end = share.own.start, share.own.stop
        # With two parts on a periodic axis both neighbours are the same one, and these orders fit one another.
        self.expected = []
        for other, there, rows in ((share.above, share.high, lambda n, less: slice(end, end + n - less)),
                                   (share.below, share.low, lambda n, less: slice(first - n, first))):
            if there:
                places = self._rows(arrays, axis, layers or there, rows)
                message = self.backend.new_message(sum(prod(place.shape) for place in places), places[0].dtype)
                self.expected.append((places, message, self.messages.expect(other, message)))
        for other, there, rows in ((share.below, share.low, lambda n, less: slice(first, first + n - less)),
                                   (share.above, share.high, lambda n, less: slice(end - n, end))):
            if there:
                xp, rows_there = self.backend.xp, self._rows(arrays, axis, layers or there, rows)
                message = self.backend.message(xp.concatenate([values.ravel() for values in rows_there]))
                self.messages.send(other, message)
                sent += message.nbytes
        self.sent = max(self.sent, sent)
        self.packing += perf_counter() - begin

    def receive(self):
        """Put the rows of neighbours into their places in the arrays that `send` got."""
        begin, waited = perf_counter(), self.waiting
        for places, message, wait in self.expected:
            asked = perf_counter()
            wait()
            self.waiting += perf_counter() - asked
            sizes = [prod(place.shape) for place in places]
            values = self.backend.received(message)
            for place, end, size in zip(places, np.cumsum(sizes).tolist(), sizes):
                place[...] = values[end - size:end].reshape(place.shape)
        self.packing += perf_counter() - begin - (self.waiting - waited)

    def _rows(self, arrays, axis, count, rows):
        """Views of rows of arrays, with axes in the order in which numbers lie in memory. rows: function of their number, and
        of 1 for an array with one row less than the part has, else 0, that gives their slice"""
        found = []
        for array in arrays:
            some = rows(count, len(self.share.rows) - array.shape[axis])
            order = sorted(range(array.ndim), key=lambda k, strides=array.strides: -strides[k])
            found.append(array[(slice(None),) * (array.ndim + axis) + (some,)].transpose(order))
        return found

    def operations(self, arrays, axis, layers=None):
        """The operations that do what `renew` does."""
        row = sum(array.nbytes // array.shape[axis] for array in arrays)
        size = sum((layers or there) * row for there in (self.share.low, self.share.high) if there)
        return [Operation("send rows to neighbours", lambda: self.send(arrays, axis, layers), reads=("state",),
                          writes={"messages": size}),
                Operation("receive rows", self.receive, reads=("messages",), writes={"state": size})]
