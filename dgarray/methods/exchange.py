"""Values between the parts of a mesh: what each part sends, and the copies that it renews with what it receives."""
from functools import partial
from math import prod
from time import perf_counter
from typing import NamedTuple

import numpy as np

from .operation import Operation


class Messages:
    """The base class of ways between the parts of a mesh; it connects one part with the others.

    part, parts              the number of this part, and how many there are
    read_devices             whether `send` and `expect` take arrays of a GPU, too
    send(other, values)      hand over values, an array of the host, for the part of that number; returns at once
    expect(other, values)    begin to receive the next ones from there into this array; returns a function that waits for them
    everyones(thing)         the list of what each part gives, in the order of the parts; all parts call it
    exchanged(things)        the list of what each part gives for this one, from the lists of what each gives for every part;
                             all parts call it"""

    part, parts, read_devices = 0, 1, False

    def send(self, other, values):
        raise TypeError(f"{type(self).__name__} has no function send(other, values)")

    def expect(self, other, values):
        raise TypeError(f"{type(self).__name__} has no function expect(other, values)")

    def everyones(self, thing):
        raise TypeError(f"{type(self).__name__} has no function everyones(thing)")

    def once(self, function, *arguments):
        """Call a function on the first part alone, and return its result, or raise its error, on all. All parts call it."""
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

    def exchanged(self, things):
        raise TypeError(f"{type(self).__name__} has no function exchanged(things)")

    def from_first(self, thing):
        """The thing that the first part gives, on all parts; all call it."""
        return self.everyones(thing)[0]

    def largest(self, values):
        """The largest of each of these numbers over all parts, nan where one is; all parts call it."""
        return np.max(self.everyones(np.asarray(values)), axis=0)


class Exchange:
    """One message to each other part and one from it.

    packing, waiting   seconds spent on putting messages together and apart, and on waiting for those of others"""

    packing = waiting = 0.0

    def __init__(self, backend, messages):
        self.backend, self.messages = backend, messages

    def begin(self, incoming, outgoing):
        """Send, and begin to receive; returns the bytes sent. What is sent may come from now on.

        incoming   (part, numbers that come, their dtype, the function that takes them) of each message
        outgoing   (part, a new flat array) of each"""
        start, self.expected, sent = perf_counter(), [], 0
        for other, count, dtype, take in incoming:
            values = self.backend.new_message(count, dtype)
            self.expected.append((values, self.messages.expect(other, values), take))
        for other, values in outgoing:
            message = self.backend.message(values)
            self.messages.send(other, message)
            sent += message.nbytes
        self.packing += perf_counter() - start
        return sent

    def receive(self):
        """Wait for the messages of others, and hand them over."""
        start, waited = perf_counter(), self.waiting
        for values, wait, take in self.expected:
            asked = perf_counter()
            wait()
            self.waiting += perf_counter() - asked
            take(self.backend.received(values))
        self.packing += perf_counter() - start - (self.waiting - waited)


class Section(NamedTuple):
    """The share of one element set in a message.

    name      of the set;  elements: where their values are, as `places_of` of its operations says
    place     slice of the message;  shape: of these values, (variable, row, element)"""

    name: str
    elements: object
    place: slice
    shape: tuple


class Copies(Exchange):
    """The copies of other parts' elements, renewed by one message from each part.

    messages   the `Messages` of this part
    pieces     {name of an element set: (its operations, its `Share`)}; the values of all sets go in one message"""

    def __init__(self, messages, pieces):
        self.sets = {name: operations for name, (operations, _) in pieces.items()}
        super().__init__(next(iter(self.sets.values())).backend, messages)
        self.sent = self._sections({name: share.send for name, (_, share) in pieces.items()})
        self.received = self._sections({name: share.receive for name, (_, share) in pieces.items()})

    def _sections(self, elements):
        """{other part: `Section`s of a message} from {name: {other part: elements of that set}}."""
        found = {}
        for name, given in elements.items():
            operations = self.sets[name]
            tables = operations.tables
            for other, numbers in given.items():
                sections, shape = found.setdefault(other, []), (tables.variables, tables.rows, len(numbers))
                first = sections[-1].place.stop if sections else 0
                sections.append(Section(name, operations.places_of(numbers), slice(first, first + prod(shape)), shape))
        return dict(sorted(found.items()))

    @property
    def bytes(self):
        """Bytes that are sent and received each time."""
        return tuple(sum(sections[-1].place.stop for sections in found.values()) * self.backend.dtype.itemsize
                     for found in (self.sent, self.received))

    def operations(self, states):
        """Operations that renew the copies of other parts' elements in states, {name of an element set: q}."""
        sent, received = self.bytes
        return [Operation("send to other parts", lambda: self.send(states), reads=("state",), writes={"messages": sent}),
                Operation("receive copies", self.receive, reads=("messages",), writes={"state": received})]

    def send(self, states):
        """Send what others have copies of."""
        self.begin(((other, sections[-1].place.stop, None, partial(self.take, states, sections))
                    for other, sections in self.received.items()),
                   ((other, self.gathered(states, sections)) for other, sections in self.sent.items()))

    def gathered(self, states, sections):
        """The values of a message."""
        values = [self.sets[name].gather(states[name], elements).ravel() for name, elements, _, _ in sections]
        return self.backend.xp.concatenate(values) if values[1:] else values[0]

    def take(self, states, sections, values):
        """Put a message into the states."""
        for name, elements, place, shape in sections:
            self.sets[name].scatter(states[name], elements, values[place].reshape(shape))


class AdjointsOfCopies(Exchange):
    """The transpose of `Copies`: the adjoints of copies of other parts' elements are added to those of the elements there.

    backend   of plain arrays, with the messages of this part;  shares: {name of an element set: its `Share`}"""

    def __init__(self, backend, shares):
        super().__init__(backend, backend.messages)
        self.sent, self.received = ({other: {name: getattr(share, way)[other] for name, share in shares.items()
                                             if other in getattr(share, way)}
                                     for other in sorted({each for share in shares.values() for each in getattr(share, way)})}
                                    for way in ("receive", "send"))

    def add(self, arrays):
        """Do so with arrays (variable, row, element) {name of a set: adjoints}, in place; those of copies are 0 then."""
        self.begin(((other, sum(arrays[name][:, :, 0].size * len(numbers) for name, numbers in found.items()), None,
                     partial(self.take, arrays, found)) for other, found in self.received.items()),
                   ((other, np.concatenate([arrays[name][:, :, numbers].ravel() for name, numbers in found.items()]))
                    for other, found in self.sent.items()))
        for found in self.sent.values():
            for name, numbers in found.items():
                arrays[name][:, :, numbers] = 0
        self.receive()

    @staticmethod
    def take(arrays, found, values):
        """Add a message to arrays."""
        for name, numbers in found.items():
            shape = (*arrays[name].shape[:2], len(numbers))
            arrays[name][:, :, numbers] += values[:prod(shape)].reshape(shape)
            values = values[prod(shape):]
