"""The commands that run problems: run, eoc. Each takes the parsed options."""
import ast
import inspect
from contextlib import suppress
from numbers import Real

from ..support.wording import choose
from .find_case import called, find_case
from .json_files import check_json, write_json
from .log import tell


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
    if getattr(options, "split", False) and options.mesh is None:
        raise ValueError("--split is given without --mesh; give both")
    parameters = inspect.signature(function).parameters
    for name in keywords:
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            option = f"--{name}" if getattr(options, name, None) is not None else f"--set {name}"
            choose(f"{option}: the keyword", name, parameters, f" in {named(function, options)}; it has")
    for item in options.set:
        name, _, text = item.partition("=")
        default = parameters[name].default if name in parameters else None
        if isinstance(default, Real) and isinstance(keywords[name], str):
            kind = "true or false" if isinstance(default, bool) else "a number"
            raise ValueError(f"--set {name}: {text!r} is not allowed; give {kind}, such as {default}")
    if getattr(options, "split", False):
        from ..mesh import read_mesh
        keywords["mesh"] = read_mesh(options.mesh, split=True)
    return keywords


def named(function, options):
    """The case in messages: its name, of a user's file the file and its function."""
    return f"{options.case}: {function.__name__}()" if options.case.endswith(".py") else f"case '{function.__name__}'"


def run_options(options):
    """{option: value} that the command line sets in the case's simulation."""
    names = ("backend", "kernels", "dtype", "threads", "stepper", "cfl", "dt", "until", "steady")
    return {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}


def simulation(options):
    from ..run.simulation import Simulation
    function = find_case(options.case)
    sim = called(function, **case_keywords(function, options))
    if not isinstance(sim, Simulation):
        raise ValueError(f"{named(function, options)} returned {type(sim).__name__}; it must return a dgarray.Simulation")
    changes = run_options(options)
    if sim.options["case"] is None:
        changes["case"] = function.__name__
    return sim.replace(**changes)


def run_case(options):
    from ..output.report import summary
    from ..run.arguments import check_positive
    from ..run.ranks import launch
    if options.ranks is not None:
        launch(options.ranks, options.arguments)
    check_json(options.json)
    if options.restart is not None and (options.out not in (None, options.restart) or options.overwrite):
        raise ValueError(f"--restart {options.restart} continues that store; leave out "
                         f"{'--overwrite' if options.overwrite else '--out'}")
    sim = with_probes(simulation(options), options.probe)
    sim.call = options.call
    if sim.options["until"] is None:
        raise ValueError(f"{options.case} has no end time; give --until T")
    if options.decayed is not None:
        sim = ending_early(sim, *options.decayed)
    every = sim.options["every"] if options.every is None else options.every
    if every is not None:
        check_positive("every", every)
    out = options.restart or options.out
    live = live_picture(sim, options)
    keywords = dict(restart=options.restart is not None, checkpoint=options.checkpoint,
                    checkpoint_every=options.checkpoint_every, live=live, dump_on_error=options.dump_on_error,
                    compress=options.compress)
    try:
        if sim.backend.note:
            tell(f"backend {sim.backend.name}: {sim.backend.note}", options.quiet)
        if sim.ranks is None and (options.log_file or not options.quiet):
            tell(sim.memory(None, options.every, out, quick=True), options.quiet)
        sim.run(None, options.every, out, options.overwrite, not options.quiet, **keywords)
        if options.log_file or not options.quiet:
            tell(summary(sim.report, roofline(sim)), options.quiet)
    finally:
        if live is not None:
            live.close()
    write_json(options.json, sim.report)


def ending_early(sim, ratio, variable, place):
    """The simulation that ends when a variable has decayed at a place, as --decayed says; its end time becomes the limit."""
    from ..run.decayed import decayed, end_of
    try:
        ratio = float(ratio)
    except ValueError:
        raise ValueError(f"--decayed {ratio}: give a number between 0 and 1") from None
    with suppress(ValueError):          # of a name
        place = tuple(float(number) for number in place.split(","))
    return sim.replace(until=decayed(ratio, variable, place, limit=end_of(sim.options["until"])))


def with_probes(sim, texts):
    """The simulation with the points of --probe as a record."""
    if not texts:
        return sim
    from .. import Points
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
    from ..output import Live
    name = choose("--live-variable: the variable", options.live_variable or sim.law.variables[-1], sim.law.variables)
    return Live(sim.layout(), name, options.live or None)


def roofline(sim):
    """One line: operations, bytes, and the share of this machine's bound that the run reached; empty where they are not
    counted."""
    from ..bench.roofline import ceilings, cost, roofline_line, variant_of
    operator, dtype, stepper = sim.operator, sim.report["dtype"], sim.stepper
    tables, program, kernels = operator.tables, operator.program, sim.report["kernels"]
    if tables is None:
        return ""
    if sim.backend.name != "cupy":
        found = cost(tables, kernels, dtype, stepper, program=program)
        return roofline_line(sim.report, found, tables.unit, ceilings(dtype, sim.backend.threads))
    from ..backends.cuda.ceilings import ceilings as of_device
    from ..backends.cuda.device import Device
    found = cost(tables, kernels, dtype, stepper, "cupy", variant_of(operator), program)
    least = cost(tables, "fused", dtype, stepper, "cupy", program=program)
    device = getattr(sim.backend, "device", None) or Device()
    return roofline_line(sim.report, found, tables.unit, of_device(device, dtype), least)


def run_eoc(options):
    from ..analysis.convergence import eoc
    from ..output.report import eoc_header, eoc_row
    check_json(options.json)
    function = find_case(options.case)
    shown = []

    def show(row):
        if not shown:
            tell(eoc_header(), options.quiet)
        shown.append(row)
        tell(eoc_row(row), options.quiet)
    keywords = case_keywords(function, options)
    if "order" in keywords:
        raise ValueError("--set order= is not allowed here; give --orders")
    chosen = "order" in inspect.signature(function).parameters
    asked = options.orders or ("1-4" if chosen else None)
    rows = eoc(function, asked and orders(asked), options.levels, show, run_options(options),
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
