"""What each test costs and covers, a plugin of pytest; `choose` reads what it writes.

    PYTHONPATH=tests/support python -m pytest -p measure --measured FOLDER [-m ""] [-n 2] [FILES]

One line of JSON for each test in FOLDER/measured-*.jsonl: its name, the processor's seconds (of the process and of those that
it started, without compiling), the seconds in numba's compiler, the modules of generated kernels that it used, lines of the
package that ran, as {file: lines}, and whether its text says that it is thorough.  Lines that run at import
are nobody's.
"""
import json
import os
import pkgutil
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from time import process_time

import coverage
import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = [str(ROOT / name) for name in ("dgarray", "backends", "cases")]


def pytest_addoption(parser):
    parser.addoption("--measured", metavar="FOLDER", help="where to write what each test costs and covers")


def pytest_configure(config):
    folder = config.option.measured
    if folder and (hasattr(config, "workerinput") or not config.option.numprocesses):
        config.pluginmanager.register(Measure(Path(folder)))


class Measure:
    """Measures each test of one process."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"measured-{os.getpid()}.jsonl"
        self.lines = coverage.Coverage(data_file=None, source=PACKAGE, messages=False)
        self.compiling, self.kernels = 0.0, set()
        import dgarray
        from dgarray.support import cached_modules
        for module in pkgutil.walk_packages(dgarray.__path__, "dgarray."):
            if "__main__" not in module.name:
                with suppress(ImportError):
                    import_module(module.name)
        write, alone = cached_modules.write_module, cached_modules.compiled_alone

        def write_module(source, stem):
            module = write(source, stem)
            self.kernels.add(module.__name__)
            return module

        def compiled_alone(*args):
            inside, start = bool(cached_modules._alone), process_time()
            try:
                return alone(*args)
            finally:
                self.compiling += 0 if inside else process_time() - start
        cached_modules.compiled_alone = compiled_alone
        for module in list(sys.modules.values()):
            if getattr(module, "write_module", None) is write:
                module.write_module = write_module

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        self.compiling, self.kernels = 0.0, set()
        before = sum(os.times()[:4])
        self.lines.erase()
        self.lines.start()
        try:
            return (yield)
        finally:
            self.lines.stop()
            data = self.lines.get_data()
            lines = {str(Path(name).relative_to(ROOT)): sorted(data.lines(name)) for name in data.measured_files()}
            row = {"test": item.nodeid, "seconds": round(sum(os.times()[:4]) - before - self.compiling, 3),
                   "compiling": round(self.compiling, 3), "kernels": sorted(self.kernels), "lines": lines,
                   "thorough": any(mark.name == "thorough" for mark in getattr(item.function, "pytestmark", ()))}
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")
