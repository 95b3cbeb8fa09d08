"""Ctrl-C and SIGTERM during a run: the step is finished and the state saved before the run stops."""
import signal
import threading
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
WORDS = {2: "Ctrl-C", 15: "SIGTERM"}


class Interrupted(KeyboardInterrupt):
    """A run was asked to stop; `signal` is what asked, `status` the exit status that shells expect, 128 + signal.

    dataset   that of the run as far as it came, where it is known"""

    def __init__(self, number: int, message: str, dataset: Any = None):
        super().__init__(message)
        self.dataset = dataset
        self.signal, self.status = signal.Signals(number), 128 + number


class Signals:
    """While this context is entered, the first of these signals is only noted; the second one interrupts at once.

    Python hands signals to the main thread: elsewhere this does nothing."""

    def __init__(self):
        self.received, self._before = None, {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
            _entered.append(self)
        return self

    def __exit__(self, *error):
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self in _entered:
            _entered.remove(self)

    def _note(self, number, frame):
        if self.received is not None:
            raise Interrupted(number, "interrupted twice: the last step is not saved")
        self.received = number


_entered: list = []          # the `Signals` of runs


def end_waiting():
    """For a rank that has waited for others for long: raise Interrupted if a signal has come."""
    for signals in _entered:
        if signals.received is not None:
            raise Interrupted(signals.received, "stopped while other ranks did not answer: the last step is not saved")
