"""What the commands of the command line do: each takes the parsed options."""
import ast
import importlib.util
import inspect
import json
import os
import sys
import warnings
from numbers import Real
from pathlib import Path
from types import SimpleNamespace

from .names import choose

FAILED = 1                # exit status where a part of a benchmark raised an error


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
        names = " or ".join(dict.fromkeys(["case()", f"{path.stem}()"]))
        raise ValueError(f"{name} defines no function {names} that returns a dgarray.Simulation")
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
            keywords[name] = {"true": True, "false": False}.get(text.lower(), text)
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
    for item in options.set:
        name, _, text = item.partition("=")
        default = parameters[name].default if name in parameters else None
        if isinstance(default, Real) and isinstance(keywords[name], str):
            kind = "true or false" if isinstance(default, bool) else "a number"
            raise ValueError(f"--set {name}: {text!r} is not allowed; give {kind}, such as {default}")
    return keywords


def run_options(options):
    """What the command line changes in the case's simulation."""
    names = ("backend", "kernels", "dtype", "threads", "stepper", "cfl", "dt", "until", "steady")
    return {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}


def simulation(options):
    from .run.simulation import Simulation
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
    from .run.simulation import positive
    check_json(options.json)
    if options.restart is not None and (options.out not in (None, options.restart) or options.overwrite):
        raise ValueError(f"--restart {options.restart} goes on with that store; leave out "
                         f"{'--overwrite' if options.overwrite else '--out'}")
    sim = with_probes(simulation(options), options.probe)
    until = sim.options["until"]
    if until is None:
        raise ValueError(f"case '{sim.options['case']}' has no end of its own; give --until T")
    every = sim.options["every"] if options.every is None else options.every
    if every is not None:
        positive("every", every)
    out = options.restart or options.out
    live = live_picture(sim, options)
    keywords = dict(restart=options.restart is not None, checkpoint=options.checkpoint,
                    checkpoint_every=options.checkpoint_every, live=live, dump_on_error=options.dump_on_error,
                    compress=options.compress)
    try:
        if options.quiet:
            sim.run(None, options.every, out, options.overwrite, **keywords)
        else:
            if sim.backend.note:
                print(f"backend {sim.backend.name}: {sim.backend.note}")
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
    tables, dtype = sim.operator.tables, sim.report["dtype"]
    if sim.backend.name == "numpy":
        return roofline_line(sim.report, tables, ceilings(dtype, sim.backend.threads), sim.stepper)
    from .backends.cuda.ceilings import ceilings as of_device
    from .backends.cuda.device import Device
    device, variant = getattr(sim.backend, "device", None) or Device(), getattr(sim.operator.operations, "variant", None)
    return roofline_line(sim.report, tables, of_device(device, dtype), sim.stepper, variant)


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


def run_first_contact(options):
    from .analysis.first_contact import BUDGET, exit_status, first_contact
    from .output.contact import table
    from .run.simulation import positive
    others = [name for name in ("orders", "dtype", "json", "compare", "quick") if getattr(options, name)]
    given = [*options.cases, *(f"--{name}" for name in others), *["--backend"] * (options.backend != "numpy")]
    if given:
        raise ValueError(f"--first-contact takes its steps as they are; leave out {' '.join(given)}")
    if options.budget is not None:
        positive("budget", options.budget)
    records, left = first_contact(options.first_contact, options.budget or BUDGET, say)
    print(table(records, left))
    return exit_status(records)


def run_bench(options):
    from . import backends, cases
    from .analysis import bench, bench_gpu
    from .analysis.compare import compare, read
    from .output import rates, rates_gpu
    if options.first_contact is not None:
        return run_first_contact(options)
    if options.budget is not None:
        raise ValueError("--budget is given without --first-contact; give both")
    on_gpu, keywords = choose("backend", options.backend, ("numpy", "cupy")) == "cupy", {}
    check_json(options.json)
    for name in options.cases:
        choose("case", name, cases.__all__)
    for name in ("orders", "dtype"):
        if getattr(options, name) and not on_gpu:
            raise ValueError(f"--{name} is for --backend cupy; the list for the processor is fixed")
    if options.orders and options.cases:
        raise ValueError("--orders is for the package's own list, but cases are given; leave out one of both")
    if options.orders:
        keywords["orders"] = orders(options.orders)
    if options.dtype:
        keywords["dtypes"] = [choose("dtype", name, backends.DTYPES) for name in options.dtype]
    earlier = read(options.compare) if options.compare else None
    measure, table = (bench_gpu.bench, rates_gpu.table) if on_gpu else (bench.bench, rates.table)
    done = {}

    def keep(results):
        done.update(results)
        write_json(options.json, results)
    try:
        results = measure(options.cases or None, options.quick, say, keep=keep, **keywords)
    except KeyboardInterrupt:
        if done.get("rows"):
            print(table(done))
        raise
    if earlier:
        results["comparison"] = {"with": options.compare} | compare(results, earlier)
    print(table(results))
    write_json(options.json, results)
    for part in results["failed"] if options.debug else ():
        say(f"\n{part['name']}\n{part['traceback']}")
    if results["failed"]:
        say("dgarray bench: failed: " + "; ".join(f"{part['name']}: {part['error']}" for part in results["failed"]))
        return FAILED
    return 0


def say(line):
    """A line on what happens at the moment, beside the results."""
    print(line, file=sys.stderr, flush=True)


def run_tune(options):
    from . import backends
    from .analysis import tune
    from .output.tuned import table
    if options.cases and options.law:
        raise ValueError("--law is for the package's own list, but cases are given; leave out one of both")
    dtypes = [choose("dtype", name, backends.DTYPES) for name in options.dtype or backends.DTYPES]
    wanted = orders(options.orders) if options.orders else [None] if options.cases else tune.ORDERS
    if options.cases:
        given = [simulation(SimpleNamespace(case=name, set=options.set, order=order))
                 for name in options.cases for order in wanted]
    else:
        given = [tune.Own(name, order) for name in options.law or tune.PROBLEMS for order in wanted]
    tune.check(given)
    problem = backends.gpu_problem()
    if problem:
        raise RuntimeError(f"there is no GPU to tune for: {problem}")
    devices = [backends.get("cupy", None, dtype) for dtype in dtypes]
    say(f"{len(given) * len(devices)} problems, {'some seconds' if options.quick else 'a minute or two'} each")
    limits, files = [tune.ceilings(backend.device, backend.dtype) for backend in devices], {}
    for each in given:
        tables = tune.tables_of(each)
        for backend, most in zip(devices, limits):
            result = tune.tune(backend, tables, options.quick, say, most)
            print(table(result), flush=True)
            files[result["file"]] = None
    print(f"kept in {', '.join(files)}")


def show_info(options):
    path = Path(options.path)
    if not path.exists():
        raise ValueError(f"{path}: there is no such file")
    if path.is_dir():
        if options.check:
            check_files(path)
        print(open_output(path))
    elif options.check:
        raise ValueError(f"--check is for the output of a run; {path} is a file")
    else:
        from .mesh import describe, read_mesh
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")          # the description lists the notes itself
            print(describe(read_mesh(path)))


def plot_output(options):
    from .derived import with_field
    from .output import curves, movie, plot
    pictures = ("time", "limits", "isolines", "mesh", "slice", "surface", "movie", "fps")
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
    for name, example in (("limits", "LOW,HIGH such as -1,1"), ("isolines", "LOW,HIGH,COUNT such as 0,1,11")):
        if getattr(options, name) is not None:
            chosen[name] = numbers_of(f"--{name}", getattr(options, name), example)
    dataset = with_field(dataset, options.variable)
    if options.movie is not None:
        print(movie.movie(dataset, options.variable, options.movie, 10 if options.fps is None else options.fps, **chosen))
    else:
        print(plot.plot(dataset, options.variable, -1 if options.time is None else options.time, path, **chosen))


def numbers_of(option, text, example):
    """(-1.0, 1.0) from "-1,1", as many as there are in the example."""
    try:
        found = tuple(float(number) for number in text.split(","))
    except ValueError:
        found = ()
    count = example.split()[0].count(",") + 1
    if len(found) != count:
        raise ValueError(f"{option} {text}: give {('two', 'three')[count - 2]} numbers {example}")
    return found


def export_output(options):
    store = Path(options.path)
    dataset = open_output(store)
    named = store.resolve() if store.name in ("", "..") else store
    path = options.output or named.with_name(named.name.removesuffix(".zarr") + ".vtkhdf")
    print(dataset.dg.to_vtk(path, time=options.time, overwrite=options.overwrite))


def open_output(path):
    from .output import DamagedError, open_store
    if_output(path)
    try:
        dataset = open_store(path)
        repr(dataset.dg)          # which only a run's dataset has
    except DamagedError:
        raise
    except Exception as error:
        raise ValueError(f"{path} cannot be read as the output of a run: {error}") from error
    return dataset


def if_output(path):
    """Raise ValueError unless there is a store at `path`."""
    if not (path / "zarr.json").is_file():
        raise ValueError(f"{path}: there is no output of a run; give the folder that --out named")


def check_files(path):
    """Compare the checksums of a store, and print what was found; ValueError if a file is damaged."""
    from .output import verify
    if_output(path)
    found = verify(path)
    for error in found.damaged[:-1]:
        print(error)
    if found.damaged:
        count = len(found.damaged)
        raise ValueError(f"{found.damaged[-1]}{f'; {count} files are damaged' if count > 1 else ''}")
    print(found)


def check_json(path):
    """Raise ValueError before a long run if the JSON file could not be written after it."""
    if path and (Path(path).is_dir() or not os.access(Path(path).resolve().parent, os.W_OK)):
        raise ValueError(f"--json {path}: " + ("this is a folder" if Path(path).is_dir() else
                                               f"the folder {Path(path).resolve().parent} cannot be written to"))


def write_json(path, value):
    if path:
        from .output.aside import written
        with written(path) as aside:
            aside.write_text(json.dumps(value, indent=1) + "\n")
