"""The command line: dgarray list, run, eoc, bench, tune, info, plot, export, help."""
import argparse
import os
import re
import shlex
import signal
import sys
import threading
import warnings
from contextlib import contextmanager, redirect_stdout
from functools import cache

from ..support.mpi_processes import processes
from ..support.wording import nearest
from . import bench_commands, list_command, mesh_commands, output_commands, run_commands
from .json_files import json_alone
from .log import log_file, tell

BAD_INPUT = 2
CASE_HELP = "a name from 'dgarray list', or a Python file with a function case()"


class Parser(argparse.ArgumentParser):
    """Errors of the command line itself: one line and status 2, with the nearest name."""

    def error(self, message):
        message = message.removeprefix("argument ").replace(": expected one argument", " needs a value")
        sys.exit(failed(f"{self.prog}: {message}; see {self.prog} --help", BAD_INPUT))

    def parse_known_args(self, args=None, namespace=None):
        """Refuse what does not exist by the parser whose it is: argparse would let the first one report it."""
        args = sys.argv[1:] if args is None else list(args)
        self.check_names(args)
        options, more = super().parse_known_args(args, namespace)
        if more:
            self.error(f"unexpected argument: {' '.join(map(repr, more))}")
        return options, more

    def check_names(self, args):
        """Report the first option or command that does not exist, with the nearest one."""
        options = [name for action in self._actions for name in action.option_strings]
        commands = [name for action in self._actions if action.dest == "command" for name in action.choices]
        with_value = [name for action in self._actions if action.nargs is None for name in action.option_strings]
        for before, text in zip(["", *args], args):
            name = text.partition("=")[0]
            if before in with_value:
                continue
            if text == "--" or commands and name in commands:
                return
            if name.startswith("--") and name not in options:
                self.error(f"the option {name} does not exist{nearest(name, options)}; allowed: {', '.join(options)}")
            if commands and not name.startswith("-"):
                self.error(f"the command {name!r} does not exist{nearest(name, commands)}; allowed: {', '.join(commands)}")


def whole(text):
    """A whole number of the command line."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def number(text):
    """A number of the command line."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


class PrintCompletion(argparse.Action):
    """Print the script that completes the commands in a shell, and end."""

    def __call__(self, parser, options, shell, name=None):
        from .completion import script
        try:
            print(script(parser, shell))
        except (ImportError, ValueError) as error:
            parser.error(f"{name}: {error}")
        parser.exit()


@cache
def build_parser():
    """The parser of all commands, made once in a process."""
    from .. import __version__
    parser = Parser(prog="dgarray", allow_abbrev=False,
                    description="High-order solvers for wave and conservation-law problems.")
    parser.add_argument("--version", action="version", version=f"dgarray {__version__}")
    parser.add_argument("--print-completion", action=PrintCompletion, metavar="SHELL",
                        help="print the script that completes commands, options and cases in bash or zsh; for example\n"
                             "eval \"$(dgarray --print-completion bash)\" in ~/.bashrc")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, function, text):
        sub = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        sub.add_argument("--debug", action="store_true", help="show the full traceback of an error")
        sub.set_defaults(function=function)
        return sub

    listed = command("list", list_command.list_cases, "List the cases that come with the package, or describe one of them.")
    listed.add_argument("case", nargs="?", metavar="CASE|FILE.py",
                        help="describe this one: equations, source, keywords and their defaults, an example")

    run = command("run", run_commands.run_case, "Run a case, or a script that defines one, and print a summary.")
    run.add_argument("case", metavar="CASE|FILE.py", help=CASE_HELP)
    add_run_options(run)
    run.add_argument("--ranks", type=whole, metavar="N",
                     help="start as so many processes by MPI, each with a part of the mesh (as mpiexec -n N dgarray run does)")
    run.add_argument("--order", type=whole, metavar="N", help="polynomial order")
    run.add_argument("--decayed", nargs=3, metavar=("RATIO", "VARIABLE", "PLACE"),
                     help="end earlier, when VARIABLE at PLACE (a point X,Y,Z, or the name of a record, boundary or interface) "
                          "is at most RATIO of its largest value; --until is then the limit")
    run.add_argument("--every", type=number, metavar="DT", help="interval between snapshots")
    run.add_argument("--out", metavar="OUT.zarr", help="stream snapshots to this zarr store")
    run.add_argument("--overwrite", action="store_true", help="replace an existing output")
    run.add_argument("--compress", metavar="CODEC", help="compress the output: zstd (default: not compressed, which is faster)")
    run.add_argument("--restart", metavar="OUT.zarr", help="continue the run in this store from its last good checkpoint")
    run.add_argument("--checkpoint", type=number, metavar="SECONDS", default=600.0,
                     help="wall-clock time between checkpoints (default 600), which are kept in the store")
    run.add_argument("--checkpoint-every", type=number, metavar="T", help="model time between checkpoints")
    run.add_argument("--probe", action="append", default=[], metavar="X,Y,Z",
                     help="record the fields at this point at every step; may be repeated (the record is called probes)")
    run.add_argument("--live", nargs="?", const="", metavar="FILE.png",
                     help="show the field during the run: in a window, or in a picture that is updated")
    run.add_argument("--live-variable", metavar="NAME", help="variable of --live (default: the law's last)")
    run.add_argument("--dump-on-error", metavar="FILE.vtu|.vti|.png",
                     help="if the solution goes bad, write the state around the bad place to this file")
    run.add_argument("--json", metavar="FILE",
                     help="write the summary as JSON; - is standard output, and all else goes to standard error")

    eoc = command("eoc", run_commands.run_eoc, "Observed orders of convergence of a case with an exact solution.")
    eoc.add_argument("case", metavar="CASE|FILE.py", help=CASE_HELP)
    eoc.add_argument("--orders", metavar="1-5", help="polynomial orders, e.g. 1-5 or 2,4 (default 1-4)")
    eoc.add_argument("--levels", type=whole, default=3, metavar="N",
                     help="number of meshes, each a uniform refinement of the one before (default 3)")
    add_run_options(eoc)
    eoc.add_argument("--json", metavar="FILE", help="write the rows as JSON, - to standard output")

    bench = command("bench", bench_commands.run_bench, "Measure this machine's ceilings and the kernels against them.")
    bench.add_argument("cases", nargs="*", metavar="CASE", help="cases to measure (default: the package's own list)")
    bench.add_argument("--backend", default="numpy", metavar="NAME", help="numpy (default) or cupy: the GPU instead of the CPU")
    bench.add_argument("--orders", metavar="1-9", help="with --backend cupy: polynomial orders (default 1-9)")
    bench.add_argument("--dtype", action="append", metavar="TYPE", help="with --backend cupy: float64, float32 (default: both)")
    bench.add_argument("--json", metavar="FILE", help="write the results as JSON, - to standard output")
    bench.add_argument("--compare", metavar="FILE", help="JSON of an earlier bench, to show the change in per cent")
    bench.add_argument("--paper", metavar="NAME",
                       help="instead of the own list what a paper measures besides: kloeckner-2013, vargas-2016, helluy-2015")
    add_log(bench)
    bench.add_argument("--quick", action="store_true", help="small meshes and few steps, only to check that everything runs")
    bench.add_argument("--first-contact", metavar="OUT",
                       help="instead: test a new GPU step by step and write a record of each step to this "
                            "folder; the same folder again continues")
    bench.add_argument("--budget", type=number, metavar="SECONDS",
                       help="with --first-contact: seconds for this call (default 570)")

    tune = command("tune", bench_commands.run_tune,
                   "Time the variants of the GPU kernels on this machine's device and keep the fastest.")
    tune.add_argument("cases", nargs="*", metavar="CASE|FILE.py", help="cases to tune for (default: the package's own list)")
    tune.add_argument("--orders", metavar="1-9",
                      help="polynomial orders (default: those of the cases; 1-5 for the package's own list)")
    tune.add_argument("--dtype", action="append", metavar="TYPE", help="float64 or float32 (default: both)")
    tune.add_argument("--law", action="append", metavar="NAME",
                      help="a problem of the package's own list: maxwell-3d, maxwell-2d, acoustics-3d, acoustics-2d; only "
                           "if named: hermite-maxwell-3d, hermite-acoustics-3d, hermite-advection-3d; may be repeated")
    tune.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="set any keyword of the cases")
    tune.add_argument("--quick", action="store_true", help="only the few variants that a first run tries")

    info = command("info", output_commands.show_info, "Describe a mesh file or the output of a run.")
    info.add_argument("path", metavar="MESH|OUT.zarr")
    info.add_argument("--split", action="store_true", help="cut the cells of a mesh into triangles or tetrahedra")
    info.add_argument("--check", action="store_true",
                      help="read every file of the output, compare its checksum, and name those that are damaged")

    cut = command("partition", mesh_commands.cut_mesh,
                  "Cut a mesh into parts, one for each rank of a run, and write it to a store that the ranks read at once.")
    cut.add_argument("mesh", metavar="MESH", help="mesh file, or a store that this command has written")
    cut.add_argument("-n", "--parts", type=whole, required=True, metavar="N", help="number of parts")
    cut.add_argument("-o", "--output", metavar="OUT.zarr", help="store to write (default: MESH.zarr, with the file's own name)")
    cut.add_argument("--split", action="store_true", help="cut the cells into triangles or tetrahedra first")
    cut.add_argument("--overwrite", action="store_true", help="replace a mesh that is there")

    plot = command("plot", output_commands.plot_output, "Draw a variable of a run at its true polynomial order.")
    plot.add_argument("path", metavar="OUT.zarr")
    plot.add_argument("variable", metavar="VARIABLE", help="a variable of the run; for a gas also pressure, mach, u, v, ...")
    plot.add_argument("--time", type=number, metavar="T", help="draw the snapshot nearest to this time (default: the last)")
    plot.add_argument("-o", "--output", metavar="FILE.png", help="picture to write (default: VARIABLE.png)")
    plot.add_argument("--limits", metavar="LOW,HIGH",
                      help="range of colours (default: the field's without outliers, symmetric if signed)")
    plot.add_argument("--log", action="store_true", default=None, help="logarithmic colours, in 1D a logarithmic axis")
    plot.add_argument("--cmap", metavar="NAME", help="colour map of matplotlib, or schlieren")
    plot.add_argument("--zoom", metavar="XLOW,XHIGH,YLOW,YHIGH", help="draw this box only (in 1D XLOW,XHIGH)")
    plot.add_argument("--isolines", metavar="N|LOW,HIGH,N",
                      help="draw N lines of equal value, between the limits or from LOW to HIGH")
    plot.add_argument("--levels", metavar="V,V,...", help="draw lines of these values")
    plot.add_argument("--mesh", action="store_true", default=None, help="draw the outlines of the elements")
    plot.add_argument("--slice", action="append", metavar="z=0.5",
                      help="draw on this plane; several planes make one 3D view (default in 3D: three through the middle)")
    plot.add_argument("--dpi", type=number, metavar="N", help="dots per inch of the picture (default 150, of movies 100)")
    plot.add_argument("--surface", action="append", metavar="NAME", help="draw on this boundary of a 3D run; may be repeated")
    plot.add_argument("--movie", metavar="FILE.mp4|FILE.webp|FILE.gif", help="all snapshots as a movie instead of a picture")
    plot.add_argument("--fps", type=number, metavar="N", help="snapshots per second of a movie (default 10)")
    plot.add_argument("--record", metavar="NAME", help="draw VARIABLE of this record over time instead of the field")
    plot.add_argument("--spectrum", action="store_true", default=None, help="draw the record over frequency")
    # Limits and coordinates may begin with a minus sign, which argparse would take for an option.
    plot._negative_number_matcher = run._negative_number_matcher = re.compile(r"-[\d.][\d.eE+-]*(,.*)?$")

    export = command("export", output_commands.export_output,
                     "Write the output of a run for ParaView, at its true polynomial order.")
    export.add_argument("path", metavar="OUT.zarr")
    export.add_argument("-o", "--output", metavar="OUT.vtkhdf",
                        help="file: .vtkhdf with all snapshots or .vtu with one (default: OUT.vtkhdf next to the store)")
    export.add_argument("--time", type=number, metavar="T",
                        help="only the snapshot nearest to this time (default: all; in .vtu the last)")
    export.add_argument("--overwrite", action="store_true", help="replace an existing file")

    def show_help(options):
        parser.parse_args([*([] if options.topic is None else [options.topic]), "--help"])
    shown = command("help", show_help, "Show all commands, or the options of one of them.")
    shown.add_argument("topic", nargs="?", metavar="COMMAND")
    return parser


def add_run_options(parser):
    parser.add_argument("--backend", metavar="NAME", help="numpy, cupy, jax or auto (default auto: a GPU if one is usable)")
    parser.add_argument("--kernels", metavar="KIND", help="fused (default) or array")
    parser.add_argument("--dtype", metavar="TYPE", help="float64 (default) or float32")
    parser.add_argument("--threads", type=whole, metavar="N", help="CPU threads (default: all)")
    parser.add_argument("--mesh", metavar="FILE", help="mesh file instead of the case's own")
    parser.add_argument("--split", action="store_true", help="cut the cells of --mesh into triangles or tetrahedra")
    parser.add_argument("--stepper", metavar="NAME",
                        help="lsrk54 (default), rk4, ssp33 or ssp54; at orders 0 and 1 also rk2 or ssp22")
    parser.add_argument("--cfl", type=number, metavar="C",
                        help="fraction of the largest stable time step (default 0.9; from order 5 on, a smaller one may be "
                             "needed to keep the error in time below that in space)")
    parser.add_argument("--until", type=number, metavar="T", help="end of the run (default: the case's own)")
    parser.add_argument("--steady", type=number, metavar="TOL",
                        help="end earlier if a step changes every variable by at most this fraction of its largest value")
    parser.add_argument("--dt", type=number, metavar="DT", help="time step fixed by hand")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="set any keyword of the case")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no summary")
    add_log(parser)


def add_log(parser):
    parser.add_argument("--log", dest="log_file", metavar="FILE",
                        help="append progress and messages, with their times, to this file")


class Stopped:
    """While entered, SIGTERM raises Interrupted: before and after the time steps there is nothing to save."""

    def __enter__(self):
        main_thread = threading.current_thread() is threading.main_thread()
        self.before = signal.signal(signal.SIGTERM, self.stop) if main_thread else None

    def __exit__(self, *error):
        if self.before is not None:
            signal.signal(signal.SIGTERM, self.before)

    @staticmethod
    def stop(number, frame):
        from ..run.signals import Interrupted
        raise Interrupted(number, "stopped by SIGTERM before or after the time steps; there was nothing to save")


def main(arguments=None):
    """Run a command and return its exit status.

    0; 1 where the machine failed (no space, no memory) or a part of a benchmark did, 2 for bad input, 3 for a solution that
    went bad; 130 and 143 after Ctrl-C and SIGTERM, 141 where nobody reads the output any more."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments:
        build_parser().print_help()
        return 0
    options = build_parser().parse_args(arguments)
    options.call, options.arguments = shlex.join(["dgarray", *arguments]), arguments
    warnings.showwarning = lambda message, *_: tell(f"dgarray: warning: {' '.join(str(message).split())}", file=sys.stderr)
    try:
        with Stopped(), spoken_once(options), json_alone(options), log_file(options):
            status_of_command = options.function(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who read the output has left, as in `dgarray list | head -1`; Python would complain again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13
    except KeyboardInterrupt as stop:
        return failed(f"dgarray {options.command}: {stop if str(stop) else 'interrupted'}", getattr(stop, "status", 130))
    except Exception as error:
        if options.debug:
            raise
        from .errors import one_line, status
        return failed(f"dgarray {options.command}: {one_line(error)}", status(error))
    return status_of_command or 0


@contextmanager
def spoken_once(options):
    """While entered, rank 0 of several speaks and writes for all."""
    if processes() > 1 and rank_of_several() > 0:
        vars(options).update({name: None for name in ("json", "live", "log_file") if hasattr(options, name)})
        warnings.simplefilter("ignore")
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            yield
    else:
        yield


def rank_of_several():
    from ..run.ranks import ranks
    found = ranks()
    return 0 if found is None else found.part


def failed(line, status):
    """Show why a command ends; of several ranks all end. Returns the exit status."""
    from ..run.ranks import end_together, ranks
    try:
        several = ranks()
    except ImportError:
        several = None
    if several is None:
        print(line, file=sys.stderr)
    else:
        end_together(several, status, line)
    return status


if __name__ == "__main__":
    sys.exit(main())
