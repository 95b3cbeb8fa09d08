"""Run the parts of a benchmark one after the other; an error in one is recorded, and the others go on."""
import traceback

DIGITS = 6


class DeviceLost(RuntimeError):
    """Raised after an error that has made the device unusable for this process."""


class Attempts:
    """Runs parts: attempt(name, part, *arguments) returns part(*arguments), or None if that raises an error.

    result    a dict for JSON, to which the parts add what they measure; "failed" is a list of {"name", "error", "traceback"}
    progress  function called with a line of text before each part and after each error
    keep      function called with the result so far after each part, e.g. to write it to a file
    alive     function called after an error, such as a device's `synchronize`; if it raises, too, `DeviceLost` is raised

    What ends the process, such as Ctrl-C, passes through, after `keep` was called."""

    def __init__(self, result, progress=None, keep=None, alive=None):
        self.result, self.say, self.keep, self.alive = result, progress or nothing, keep or nothing, alive or nothing
        result["failed"] = []

    def __call__(self, name, part, *arguments):
        self.say(name)
        try:
            return part(*arguments)
        except DeviceLost:
            raise
        except Exception as error:          # of compilers and drivers, too, which have exceptions of their own
            text = " ".join(str(error).split()) or type(error).__name__
            self.result["failed"].append({"name": name, "error": text, "traceback": traceback.format_exc()})
            self.say(f"{name} failed: {text}")
        finally:
            self.keep(rounded(self.result))
        self.check(name)
        return None

    def check(self, name):
        """Raise DeviceLost if the device is unusable for this process.

        After an illegal address, for example, every later CUDA call of the process fails with the same error, even one that
        only waits.  To go on would report that error for each of the other parts."""
        try:
            self.alive()
        except Exception as error:
            text = " ".join(str(error).split()) or type(error).__name__
            self.result["stopped"] = (f"after the error in {name} nothing runs on the device in this process ({text}); what "
                                      "follows was not measured")
            raise DeviceLost(self.result["stopped"]) from error


def nothing(*_):
    """The default of `progress`, `keep` and `alive`."""


def rounded(value):
    """A copy of nested dicts and lists with floats rounded to DIGITS digits."""
    if isinstance(value, dict):
        return {name: rounded(v) for name, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
