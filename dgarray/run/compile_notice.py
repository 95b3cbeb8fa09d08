"""One line while the kernels of a run are compiled, if that takes a while."""
from threading import Lock, Timer

from numba.core import event

PATIENCE = 1.0          # seconds; what takes less is not worth a line
KINDS = "numba:compile", "dgarray:compile"          # numba's own, not where it finds compiled code; and CUDA C


class CompileNotice(event.Listener):
    """Calls say() once, if kernels are still compiled PATIENCE seconds after the first began; from `start` to `stop`."""

    def __init__(self, say):
        self.say, self.running, self.timer, self.patient, self.lock = say, 0, None, True, Lock()

    def start(self):
        for kind in KINDS:
            event.register(kind, self)

    def stop(self):
        for kind in KINDS:
            event.unregister(kind, self)
        if self.timer is not None:
            self.timer.cancel()

    def on_start(self, event):
        """Compiling begins, perhaps of one kernel within another, and in any thread."""
        with self.lock:
            self.running += 1
            if self.timer is None:
                self.timer = Timer(PATIENCE, self._wait_is_over)
                self.timer.daemon = True
                self.timer.start()
        self._say_if_due()

    def on_end(self, event):
        with self.lock:
            self.running -= 1

    def _wait_is_over(self):
        self.patient = False
        self._say_if_due()

    def _say_if_due(self):
        with self.lock:
            due = self.running and not self.patient and self.say is not None
            say, self.say = (self.say, None) if due else (None, self.say)
        if say is not None:
            say()
