"""The parts of a benchmark, one after the other: an error in one is its result, and the others go on."""
import traceback

DIGITS = 6


class DeviceLost(RuntimeError):
    """After an error on a device nothing runs on it any more in this process."""


class Attempts:
    """attempt(name, part, *arguments): what part(*arguments) gives, None where it raises an error.

    result    a dict for JSON, to which the parts add what they measure; "failed" is a list of {"name", "error", "traceback"}
    progress  function called with a line of text before each part and after each error
    keep      function called with the result so far after each part
    alive     function called after an error; it raises one where nothing more can be measured in this process

    What ends the process, such as Ctrl-C, passes through; what was measured before is kept."""

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
        """Raise DeviceLost where the device is of no more use to this process.

        An illegal address and the like spoil the context of a process: every later call gives the same error, also one that
        only waits.  Going on would report it for each of the other parts."""
        try:
            self.alive()
        except Exception as error:
            text = " ".join(str(error).split()) or type(error).__name__
            self.result["stopped"] = (f"after the error in {name} nothing runs on the device in this process ({text}); what "
                                      "follows was not measured")
            raise DeviceLost(self.result["stopped"]) from error


def nothing(*_):
    """Where nobody asks."""


def rounded(value):
    """The same dicts and lists with floats of so many digits as a person can use."""
    if isinstance(value, dict):
        return {name: rounded(v) for name, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
