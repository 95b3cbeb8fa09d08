"""The command line: dgarray list, run, eoc, bench, info, plot, export."""
import argparse
import ast
import importlib.util
import inspect
import json
import os
import re
import sys
import warnings
from pathlib import Path

from .names import choose, nearest

BAD_INPUT = 2
CASE_HELP = "a name from 'dgarray list', or a Python file with a function case()"


class Parser(argparse.ArgumentParser):
    """Errors of the command line itself: one line and status 2, with the nearest name."""

    def error(self, message):
        self.exit(BAD_INPUT, f"{self.prog}: {message.removeprefix('argument ')}; see {self.prog} --help\n")

    def parse_known_args(self, args=None, namespace=None):
        """Refuse what does not exist by the parser whose it is: argparse would let the first one report it."""
        args = sys.argv[1:] if args is None else list(args)
        self.check_names(args)
        options, more = super().parse_known_args(args, namespace)
        if more:
            self.error(f"there is no place for {' '.join(more)}")
        return options, more

    def check_names(self, args):
        """Report the first option or command that does not exist, with the nearest one."""
        options = [name for action in self._actions for name in action.option_strings]
        commands = [name for action in self._actions if isinstance(action, argparse._SubParsersAction) for name in action.choices]
        for text in args:
            name = text.partition("=")[0]
            if text == "--" or commands and name in commands:
                return
            if name.startswith("--") and name not in options:
                self.error(f"the option {name} does not exist; allowed: {', '.join(options)}{nearest(name, options)}")
            if commands and not name.startswith("-"):
                self.error(f"the command {name!r} does not exist; allowed: {', '.join(commands)}{nearest(name, commands)}")


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


def build_parser():
    from . import __version__
    parser = Parser(prog="dgarray", allow_abbrev=False,
                    description="High-order solvers for wave and conservation-law problems.")
    parser.add_argument("--version", action="version", version=f"dgarray {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, function, text):
        sub = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        sub.add_argument("--debug", action="store_true", help="show the full traceback of an error")
        sub.set_defaults(function=function)
        return sub

    command("list", list_cases, "List the cases that come with the package.")

    run = command("run", run_case, "Run a case, or a script that defines one, and print a summary.")
    run.add_argument("case", metavar="CASE|FILE.py", help=CASE_HELP)
    add_run_options(run)
    run.add_argument("--order", type=whole, metavar="N", help="polynomial order")
    run.add_argument("--every", type=number, metavar="DT", help="interval between snapshots")
    run.add_argument("--out", metavar="OUT.zarr", help="stream snapshots to this zarr store")
    run.add_argument("--overwrite", action="store_true", help="replace an existing output")
    run.add_argument("--restart", metavar="OUT.zarr", help="go on with this store from its last good checkpoint")
    run.add_argument("--checkpoint", type=number, metavar="SECONDS", default=600.0,
                     help="wall clock between checkpoints (default 600); they lie in the store")
    run.add_argument("--checkpoint-every", type=number, metavar="T", help="time of the model between checkpoints")
    run.add_argument("--probe", action="append", default=[], metavar="X,Y,Z",
                     help="record the fields at this point at every step; may be repeated (the record is called probes)")
    run.add_argument("--live", nargs="?", const="", metavar="FILE.png",
                     help="show the field while it computes: in a window, or in a picture that is renewed")
    run.add_argument("--live-variable", metavar="NAME", help="variable of --live (default: the law's last)")
    run.add_argument("--dump-on-error", metavar="FILE.vtu|FILE.png", help="where a value goes bad, write what lies around it")
    run.add_argument("--json", metavar="FILE", help="write the summary as JSON")

    eoc = command("eoc", run_eoc, "Observed orders of convergence of a case with an exact solution.")
    eoc.add_argument("case", metavar="CASE|FILE.py", help=CASE_HELP)
    eoc.add_argument("--orders", default="1-4", metavar="1-5", help="polynomial orders, e.g. 1-5 or 2,4 (default 1-4)")
    eoc.add_argument("--levels", type=whole, default=3, metavar="N",
                     help="meshes, each a uniform refinement of the last (default 3)")
    add_run_options(eoc)
    eoc.add_argument("--json", metavar="FILE", help="write the rows as JSON")

    bench = command("bench", run_bench, "Measure this machine's ceilings and the kernels against them.")
    bench.add_argument("cases", nargs="*", metavar="CASE", help="cases to measure; without any, the package's own list")
    bench.add_argument("--json", metavar="FILE", help="write the results as JSON")
    bench.add_argument("--compare", metavar="FILE", help="JSON of an earlier bench; the change in per cent is shown")
    bench.add_argument("--quick", action="store_true", help="small meshes and few steps, to see that everything runs")

    info = command("info", show_info, "Describe a mesh file or the output of a run.")
    info.add_argument("path", metavar="MESH|OUT.zarr")

    plot = command("plot", plot_output, "Draw a variable of a run at its true polynomial order.")
    plot.add_argument("path", metavar="OUT.zarr")
    plot.add_argument("variable", metavar="VARIABLE")
    plot.add_argument("--time", type=number, metavar="T", help="time of the snapshot, the nearest is drawn (default: the last)")
    plot.add_argument("-o", "--output", metavar="FILE.png", help="picture to write (default: VARIABLE.png)")
    plot.add_argument("--limits", metavar="LOW,HIGH", help="range of colours (default: the field's, symmetric if signed)")
    plot.add_argument("--mesh", action="store_true", default=None, help="draw the outlines of the elements")
    plot.add_argument("--slice", action="append", metavar="z=0.5",
                      help="cut by this plane; several make one 3D view (default in 3D: three through the middle)")
    plot.add_argument("--surface", action="append", metavar="NAME", help="draw on this boundary of a 3D run; may be repeated")
    plot.add_argument("--movie", metavar="FILE.mp4|FILE.gif", help="all snapshots as a movie instead of a picture")
    plot.add_argument("--fps", type=number, metavar="N", help="snapshots per second of a movie (default 10)")
    plot.add_argument("--record", metavar="NAME", help="draw VARIABLE of this record over time instead of the field")
    plot.add_argument("--spectrum", action="store_true", default=None, help="draw the record over frequency")
    # Limits may begin with a minus sign, which argparse would take for an option.
    plot._negative_number_matcher = re.compile(r"-[\d.][\d.eE+-]*(,.*)?$")

    export = command("export", export_output, "Write the output of a run for ParaView and VTK, at its true polynomial order.")
    export.add_argument("path", metavar="OUT.zarr")
    export.add_argument("-o", "--output", metavar="OUT.vtkhdf",
                        help="file: .vtkhdf with all snapshots or .vtu with one (default: OUT.vtkhdf beside the store)")
    export.add_argument("--time", type=number, metavar="T",
                        help="only the snapshot nearest to this time (default: all; in .vtu the last)")
    export.add_argument("--overwrite", action="store_true", help="replace an existing file")
    return parser


def add_run_options(parser):
    parser.add_argument("--backend", metavar="NAME", help="numpy, cupy or auto (default auto: a GPU where one is usable)")
    parser.add_argument("--kernels", metavar="KIND", help="fused (default) or array")
    parser.add_argument("--dtype", metavar="TYPE", help="float64 (default) or float32")
    parser.add_argument("--threads", type=whole, metavar="N", help="CPU threads (default: all)")
    parser.add_argument("--mesh", metavar="FILE", help="mesh file instead of the case's own")
    parser.add_argument("--stepper", metavar="NAME", help="lsrk54 (default), rk4 or ssp33")
    parser.add_argument("--cfl", type=number, metavar="C", help="share of the largest stable time step (default 0.9)")
    parser.add_argument("--until", type=number, metavar="T", help="end of the run (default: the case's own)")
    parser.add_argument("--dt", type=number, metavar="DT", help="time step fixed by hand")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="set any keyword of the case")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no summary")


def find_case(name):
    """The case function of that name, or the one that a Python file defines: `case`, or named like the file."""
    if not name.endswith(".py"):
        from . import cases
        if Path(name).is_file():
            raise ValueError(f"{name} is a file, but no case: a script ends in .py, and a mesh goes to --mesh")
        return getattr(cases, choose("case", name, cases.__all__))
    path = Path(name)
    if not path.is_file():
        raise ValueError(f"{name}: there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    called(spec.loader.exec_module, module)
    function = getattr(module, "case", None) or getattr(module, path.stem, None)
    if not callable(function):
        raise ValueError(f"{name}: defines no function case() or {path.stem}() that returns a dgarray.Simulation")
    return function


def called(function, *arguments, **keywords):
    """Call a user's function; one that ends the process is an error like any other."""
    try:
        return function(*arguments, **keywords)
    except SystemExit as stop:
        raise ValueError(f"the script ended the process with sys.exit({stop.code!r})") from stop


def case_keywords(function, options):
    """Keywords for the case from --set, --order and --mesh, checked against what it takes."""
    keywords = {}
    for item in options.set:
        name, equals, text = item.partition("=")
        if not equals:
            raise ValueError(f"--set {item}: give NAME=VALUE")
        try:
            keywords[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            keywords[name] = text
    for name in ("order", "mesh"):
        if getattr(options, name, None) is not None:
            if name in keywords:
                raise ValueError(f"--{name} and --set {name}= are given both; give one")
            keywords[name] = getattr(options, name)
    parameters = inspect.signature(function).parameters
    for name in keywords:
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            option = f"--{name}" if getattr(options, name, None) is not None else f"--set {name}"
            choose(f"{option}: the keyword", name, parameters, f" in case '{function.__name__}'; it has")
    return keywords


def run_options(options):
    """What the command line changes in the case's simulation."""
    names = ("backend", "kernels", "dtype", "threads", "stepper", "cfl", "dt", "until")
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def simulation(options):
    from .simulation import Simulation
    function = find_case(options.case)
    sim = called(function, **case_keywords(function, options))
    if not isinstance(sim, Simulation):
        raise ValueError(f"case '{function.__name__}' returned {type(sim).__name__}; it must return a dgarray.Simulation")
    changes = run_options(options)
    if sim.options["case"] is None:
        changes["case"] = function.__name__
    return sim.replace(**changes)


def list_cases(options):
    from . import cases
    width = max(len(name) for name in cases.__all__)
    for name in cases.__all__:
        print(f"{name:{width}}  {inspect.getdoc(getattr(cases, name)).splitlines()[0]}")


def run_case(options):
    from .output.report import Progress, summary
    check_json(options.json)
    if options.restart is not None and (options.out not in (None, options.restart) or options.overwrite):
        raise ValueError(f"--restart {options.restart} goes on with that store; leave out "
                         f"{'--overwrite' if options.overwrite else '--out'}")
    sim = with_probes(simulation(options), options.probe)
    until = sim.options["until"]
    if until is None:
        raise ValueError(f"case '{sim.options['case']}' has no end of its own; give --until T")
    out = options.restart or options.out
    live = live_picture(sim, options)
    keywords = dict(restart=options.restart is not None, checkpoint=options.checkpoint,
                    checkpoint_every=options.checkpoint_every, live=live, dump_on_error=options.dump_on_error)
    try:
        if options.quiet:
            sim.run(None, options.every, out, options.overwrite, **keywords)
        else:
            print(sim.memory(None, options.every, out), flush=True)
            with Progress(until) as progress:
                sim.run(None, options.every, out, options.overwrite, progress, **keywords)
            print(summary(sim.report, roofline(sim)))
    finally:
        if live is not None:
            live.close()
    write_json(options.json, sim.report)


def with_probes(sim, texts):
    """The simulation with the points of --probe as a record."""
    if not texts:
        return sim
    from . import Points
    try:
        points = [[float(number) for number in text.split(",")] for text in texts]
    except ValueError:
        points = []
    if any(len(point) != sim.mesh.dim for point in points) or not points:
        raise ValueError(f"--probe {' --probe '.join(texts)}: give {sim.mesh.dim} numbers with commas for each point")
    if "probes" in sim.record:
        raise ValueError("--probe: the case has a record 'probes' already")
    return sim.replace(record={**sim.record, "probes": Points(points)})


def live_picture(sim, options):
    """The picture of --live, or None."""
    if options.live is None:
        if options.live_variable is not None:
            raise ValueError("--live-variable is given without --live; give both")
        return None
    from .output import Live
    name = choose("--live-variable: the variable", options.live_variable or sim.law.variables[-1], sim.law.variables)
    return Live(sim.layout(), name, options.live or None)


def roofline(sim):
    """One line: operations, bytes, and the share of this machine's bound that the run reached."""
    from .analysis.roofline import ceilings, roofline_line
    if sim.backend.name != "numpy":
        return ""
    return roofline_line(sim.report, sim.operator.tables, ceilings(sim.report["dtype"], sim.backend.threads), sim.stepper)


def run_eoc(options):
    from .analysis.convergence import eoc
    from .output.report import eoc_header, eoc_row
    check_json(options.json)
    function = find_case(options.case)
    shown = []

    def show(row):
        if not shown:
            print(eoc_header())
        shown.append(row)
        print(eoc_row(row), flush=True)
    keywords = case_keywords(function, options)
    if "order" in keywords:
        raise ValueError("--set order= has no place here; give --orders")
    rows = eoc(function, orders(options.orders), options.levels, None if options.quiet else show, run_options(options),
               **keywords)
    write_json(options.json, rows)


def orders(text):
    """[1, 2, 3] from "1-3", [2, 4] from "2,4"."""
    try:
        parts = [[int(n) for n in part.split("-")] for part in text.split(",")]
        found = [order for part in parts for order in range(part[0], part[-1] + 1)]
    except ValueError:
        found = []
    if not found or any(len(part) > 2 for part in parts) or min(found) < 1:
        raise ValueError(f"--orders {text}: give a range such as 1-5 or a list such as 2,4")
    return found


def run_bench(options):
    from . import cases
    from .analysis.bench import bench, table
    from .analysis.compare import compare, read
    check_json(options.json)
    for name in options.cases:
        choose("case", name, cases.__all__)
    earlier = read(options.compare) if options.compare else None
    results = bench(options.cases or None, options.quick, lambda line: print(line, file=sys.stderr, flush=True))
    if earlier:
        results["comparison"] = {"with": options.compare} | compare(results, earlier)
    print(table(results))
    write_json(options.json, results)


def show_info(options):
    path = Path(options.path)
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    if path.is_dir():
        print(open_output(path))
    else:
        from .mesh import describe, read_mesh
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")          # the description lists the notes itself
            print(describe(read_mesh(path)))


def plot_output(options):
    from .output import curves, movie, plot
    pictures = ("time", "limits", "mesh", "slice", "surface", "movie", "fps")
    for option, excluded in (("record", pictures), ("movie", ("time", "output"))):
        both = [name for name in excluded if getattr(options, option) is not None and getattr(options, name) is not None]
        if both:
            raise ValueError(f"--{option} and --{both[0]} are both given; give one")
    for option, needed in (("spectrum", "record"), ("fps", "movie")):
        if getattr(options, option) is not None and getattr(options, needed) is None:
            raise ValueError(f"--{option} is given without --{needed}; give both")
    dataset, path = open_output(Path(options.path)), options.output or f"{options.variable}.png"
    if options.record is not None:
        draw = curves.spectrum if options.spectrum else curves.series
        print(draw(dataset, options.record, options.variable, path))
        return
    chosen = {name: getattr(options, name) for name in ("mesh", "slice", "surface") if getattr(options, name) is not None}
    if len(chosen.get("slice", ())) == 1:
        chosen["slice"] = chosen["slice"][0]
    if options.limits is not None:
        chosen["limits"] = limits(options.limits)
    if options.movie is not None:
        print(movie.movie(dataset, options.variable, options.movie, 10 if options.fps is None else options.fps, **chosen))
    else:
        print(plot.plot(dataset, options.variable, -1 if options.time is None else options.time, path, **chosen))


def limits(text):
    """(-1.0, 1.0) from "-1,1"."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ValueError(f"--limits {text}: give two numbers LOW,HIGH such as -1,1") from None
    return low, high


def export_output(options):
    store = Path(options.path)
    dataset = open_output(store)
    named = store.resolve() if store.name in ("", "..") else store
    path = options.output or named.with_name(named.name.removesuffix(".zarr") + ".vtkhdf")
    print(dataset.dg.to_vtk(path, time=options.time, overwrite=options.overwrite))


def open_output(path):
    import xarray

    from . import output
    if not (path / "zarr.json").is_file():
        raise ValueError(f"{path}: there is no output of a run; give the folder that --out named")
    dataset = xarray.open_zarr(path)
    output.Accessor(dataset)
    return dataset


def check_json(path):
    """Raise ValueError before a long run if the JSON file could not be written after it."""
    if path and (Path(path).is_dir() or not os.access(Path(path).resolve().parent, os.W_OK)):
        raise ValueError(f"--json {path}: " + ("this is a folder" if Path(path).is_dir() else
                                               f"the folder {Path(path).resolve().parent} cannot be written to"))


def write_json(path, value):
    if path:
        Path(path).write_text(json.dumps(value, indent=1) + "\n")


def main(arguments=None):
    """Run a command and return its exit status.

    0; 1 where the machine failed (no space, no memory), 2 for bad input, 3 for a solution that went bad; 130 and 143 after
    Ctrl-C and SIGTERM, 141 where nobody reads the output any more."""
    options = build_parser().parse_args(arguments)
    warnings.showwarning = lambda message, *_: print(f"dgarray: warning: {message}", file=sys.stderr)
    try:
        options.function(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who read the output has left, as in `dgarray list | head -1`; Python would complain again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13
    except KeyboardInterrupt as stop:
        print(f"dgarray {options.command}: {stop if str(stop) else 'interrupted'}", file=sys.stderr)
        return getattr(stop, "status", 130)
    except Exception as error:
        if options.debug:
            raise
        from .oneline import one_line, status
        print(f"dgarray {options.command}: {one_line(error)}", file=sys.stderr)
        return status(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
