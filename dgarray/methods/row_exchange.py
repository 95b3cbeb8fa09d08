"""Copies of neighbours' rows at both ends of a part of a grid, renewed by messages."""
from functools import partial

from .exchange import Exchange
from .operation import Operation


class Halo(Exchange):
    """Renews the rows of neighbours that a part of a grid holds copies of.

    backend    of the arrays, with the `dgarray.methods.exchange.Messages` of this part
    share      its `dgarray.mesh.grid_part.RowShare`
    sent       bytes that a renewal has sent at most"""

    sent = 0

    def __init__(self, backend, share):
        super().__init__(backend, backend.messages)
        self.share = share

    def renew(self, arrays, axis, layers=None):
        """Renew copies in arrays (..., row, ...) whose axis `axis` is that of the rows, all in one message to each neighbour.

        axis     counted from the end, -1 the last one
        layers   rows next to the own ones that are renewed; None: all. Arrays with one value between two rows, and so one row
                 less here, have one less above"""
        self.send(arrays, axis, layers)
        self.receive()

    def send(self, arrays, axis, layers=None):
        """Send the own rows of which neighbours have copies."""
        share, first, end = self.share, self.share.own.start, self.share.own.stop
        # With two parts on a periodic axis both neighbours are the same one, and these orders fit one another.
        incoming = ((other, self._rows(arrays, axis, layers or there, rows)) for other, there, rows in (
            (share.above, share.high, lambda n, less: slice(end, end + n - less)),
            (share.below, share.low, lambda n, less: slice(first - n, first))) if there)
        outgoing = ((other, self._rows(arrays, axis, layers or there, rows)) for other, there, rows in (
            (share.below, share.low, lambda n, less: slice(first, first + n - less)),
            (share.above, share.high, lambda n, less: slice(end - n, end))) if there)
        self.sent = max(self.sent, self.begin(
            ((other, sum(place.size for place in places), places[0].dtype, partial(self.take, places))
             for other, places in incoming),
            ((other, self.backend.xp.concatenate([place.ravel() for place in places])) for other, places in outgoing)))

    @staticmethod
    def take(places, values):
        """Put a message into these places."""
        for place in places:
            place[...], values = values[:place.size].reshape(place.shape), values[place.size:]

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
