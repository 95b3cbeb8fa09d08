"""The commands that measure the machine: bench, tune. Each takes the parsed options."""
import sys
from types import SimpleNamespace

from ..support.wording import choose
from .json_files import check_json, write_json
from .log import tell
from .run_commands import orders, simulation

FAILED = 1                # exit status where a part of a benchmark raised an error


def run_bench(options):
    from .. import backends, cases
    from ..bench import cpu, gpu, gpu_tables, tables
    from ..bench.compare import compare, read
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
        raise ValueError("--orders is for the package's own list, but cases are given; give only one of them")
    if options.orders:
        keywords["orders"] = orders(options.orders)
    if options.dtype:
        keywords["dtypes"] = [choose("dtype", name, backends.DTYPES) for name in options.dtype]
    if options.paper:
        if options.cases or options.orders:
            raise ValueError(f"--paper has rows of its own; leave out {' '.join(options.cases) or '--orders'}")
        keywords["paper"] = choose("paper", options.paper, cpu.PAPERS)
    earlier = read(options.compare) if options.compare else None
    measure, table = (gpu.bench, gpu_tables.table) if on_gpu else (cpu.bench, tables.table)
    done = {}

    def keep(results):
        done.update(results)
        write_json(options.json, results)
    try:
        results = measure(options.cases or None, options.quick, say, keep=keep, **keywords)
    except KeyboardInterrupt:
        if done.get("rows"):
            tell(table(done))
        raise
    if earlier:
        results["comparison"] = {"with": options.compare} | compare(results, earlier)
    tell(table(results))
    write_json(options.json, results)
    for part in results["failed"] if options.debug else ():
        say(f"\n{part['name']}\n{part['traceback']}")
    if results["failed"]:
        say("dgarray bench: failed: " + "; ".join(f"{part['name']}: {part['error']}" for part in results["failed"]))
        return FAILED
    return 0


def run_first_contact(options):
    from ..bench.first_contact import BUDGET, exit_status, first_contact
    from ..bench.first_contact_table import table
    from ..run.arguments import check_positive
    others = [name for name in ("orders", "dtype", "json", "compare", "paper", "quick") if getattr(options, name)]
    given = [*options.cases, *(f"--{name}" for name in others), *["--backend"] * (options.backend != "numpy")]
    if given:
        raise ValueError(f"--first-contact takes its steps as they are; leave out {' '.join(given)}")
    if options.budget is not None:
        check_positive("budget", options.budget)
    records, left = first_contact(options.first_contact, options.budget or BUDGET, say)
    tell(table(records, left))
    return exit_status(records)


def run_tune(options):
    from .. import backends
    from ..bench import tune
    from ..bench.tuning_table import table
    if options.cases and options.law:
        raise ValueError("--law is for the package's own list, but cases are given; give only one of them")
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


def say(line):
    """A line on what happens at the moment, beside the results."""
    tell(line, file=sys.stderr)
