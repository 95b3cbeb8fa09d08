"""Values between the parts of a mesh: what each part sends, and the copies that it renews with what it receives."""
from time import perf_counter

import numpy as np

from .operation import Operation


class Messages:
    """The base class of ways between the parts of a mesh; it connects one part with the others.

    part, parts              the number of this part, and how many there are
    send(other, values)      hand over values, an array of the host, for the part of that number; returns at once
    receive(other, values)   wait for the next ones from there, and put them into this array
    everyones(thing)         the list of what each part gives, in the order of the parts; all parts call it"""

    part, parts = 0, 1

    def send(self, other, values):
        raise TypeError(f"{type(self).__name__} has no function send(other, values)")

    def receive(self, other, values):
        raise TypeError(f"{type(self).__name__} has no function receive(other, values)")

    def everyones(self, thing):
        raise TypeError(f"{type(self).__name__} has no function everyones(thing)")

    def once(self, function, *arguments):
        """What a function returns, called by the first part alone; what it raises all raise. All parts call it."""
        result = None
        if self.part == 0:
            try:
                result = function(*arguments), None
            except Exception as error:
                result = None, error
        value, error = self.from_first(result)
        if error is not None:
            raise error
        return value

    def from_first(self, thing):
        """What the first part gives; all parts call it."""
        return self.everyones(thing)[0]

    def largest(self, values):
        """The largest of each of these numbers over all parts, nan where one is; all parts call it."""
        return np.max(self.everyones(np.asarray(values)), axis=0)


class Copies:
    """The copies of other parts' elements, renewed by one message from each part.

    messages   the `Messages` of this part
    pieces     {name of an element set: (its operations, its `Share`)}; the values of all sets go in one message
    packing, waiting   seconds spent on putting messages together and apart, and on waiting for those of others"""

    packing = waiting = 0.0

    def __init__(self, messages, pieces):
        self.messages, self.pieces = messages, pieces
        self.sent, self.received = ({other: [] for other in sorted({other for _, share in pieces.values()
                                                                    for other in getattr(share, way)})}
                                    for way in ("send", "receive"))
        for way, found in (("send", self.sent), ("receive", self.received)):
            for name, (operations, share) in pieces.items():
                for other, elements in getattr(share, way).items():
                    if len(elements):
                        found[other].append((name, elements, self._size(operations, elements)))
        self.dtype = next(iter(pieces.values()))[0].backend.dtype

    @staticmethod
    def _size(operations, elements):
        """Shape of the values of some elements."""
        return operations.tables.variables, operations.tables.rows, len(elements)

    def _buffer(self, pieces):
        return np.empty(sum(int(np.prod(shape)) for _, _, shape in pieces), self.dtype)

    def operations(self, states):
        """The operations that renew the copies in these states, {name of a set: q}."""
        sent, received = self.bytes
        return [Operation("send to other parts", lambda: self.send(states), reads=("state",), writes={"messages": sent}),
                Operation("receive copies", lambda: self.receive(states), reads=("messages",), writes={"state": received})]

    @property
    def bytes(self):
        """Bytes that are sent and received each time."""
        return tuple(sum(int(np.prod(shape)) for pieces in found.values() for _, _, shape in pieces) * self.dtype.itemsize
                     for found in (self.sent, self.received))

    def send(self, states):
        begin = perf_counter()
        for other, pieces in self.sent.items():
            values, first = self._buffer(pieces), 0
            for name, elements, shape in pieces:
                last = first + int(np.prod(shape))
                values[first:last] = self.pieces[name][0].take(states[name], elements).ravel()
                first = last
            self.messages.send(other, values)
        self.packing += perf_counter() - begin

    def receive(self, states):
        begin, waited = perf_counter(), self.waiting
        for other, pieces in self.received.items():
            values, first, asked = self._buffer(pieces), 0, perf_counter()
            self.messages.receive(other, values)
            self.waiting += perf_counter() - asked
            for name, elements, shape in pieces:
                last = first + int(np.prod(shape))
                self.pieces[name][0].put(states[name], elements, values[first:last].reshape(shape))
                first = last
        self.packing += perf_counter() - begin - (self.waiting - waited)
