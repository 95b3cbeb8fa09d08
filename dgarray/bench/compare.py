"""Two results of `dgarray bench` side by side: what changed, in per cent."""
import json
from math import isfinite
from pathlib import Path

NOISE = 5.0             # per cent; a note says so where ceilings differ by more
SETTINGS = ("law", "order", "elements", "dtype", "kernels", "threads")
CEILINGS = ("bandwidth", "multiply_add")
ONCE = {"setup": "total", "memory": "ratio"}             # {part measured once: its number that is compared}


def read(path):
    """The result that `dgarray bench --json` wrote to a file; ValueError if there is no file or it holds anything else."""
    try:
        results = json.loads(Path(path).read_text())
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}); give a file written by dgarray bench --json") from error
    except ValueError as error:
        raise ValueError(f"{path} is not JSON; give a file written by dgarray bench --json") from error
    if not is_result(results):
        raise ValueError(f"{path} holds no benchmark; give a file written by dgarray bench --json")
    return results


def is_result(value):
    """Whether a value read from JSON has all that `compare` needs: machine, ceilings, and rows with names and rates."""
    def rates(entry, names):
        return isinstance(entry, dict) and all(
            isinstance(entry.get(name), (int, float)) and isfinite(entry[name]) and entry[name] > 0 for name in names)

    def named(entries, names):
        return isinstance(entries, list) and all(rates(e, names) and isinstance(e.get("name"), str) for e in entries)
    return (isinstance(value, dict) and isinstance(value.get("machine"), dict) and isinstance(value.get("ceilings"), dict)
            and all(rates(c, CEILINGS) for c in value["ceilings"].values())
            and named(value.get("rows"), ("best", "median", "share_of_bound", "elements"))
            and all(named(row.get("operations", []), ("seconds",)) for row in value["rows"])
            and all(rates(value[part], (name,)) for part, name in ONCE.items() if part in value))


def percent(new, old):
    """The change from old to new in per cent."""
    return 100 * (new / old - 1)


def compare(results, earlier):
    """The changes from an earlier result of `bench` to this one, as a dict for JSON.

    ceilings       {name: {"bandwidth": per cent, "multiply_add": per cent}}
    rows           {name: {"best", "median": per cent, "share_of_bound": the earlier share, "operations": {name: per cent}}}
    only_now, only_then   names of rows that only this result, or only the earlier one, has
    setup, memory  change in per cent of the seconds of set-up, and of the ratio of all bytes to those of a state
    notes          sentences on differences of the machines, of the ceilings, and of the problems of rows with the same name
    In rows the changes are those of rates, for operations elements per second: a positive change is faster."""
    then = {row["name"]: row for row in earlier["rows"]}
    now = {row["name"]: row for row in results["rows"]}
    ceilings = {name: {key: percent(own[key], earlier["ceilings"][name][key]) for key in CEILINGS}
                for name, own in results["ceilings"].items() if name in earlier["ceilings"]}
    found = {"ceilings": ceilings, "rows": {name: changes(now[name], then[name]) for name in now if name in then},
             "only_now": [name for name in now if name not in then], "only_then": [name for name in then if name not in now]}
    found |= {part: percent(results[part][name], earlier[part][name]) for part, name in ONCE.items()
              if part in results and part in earlier}
    return found | {"notes": [*machine_notes(results, earlier), *ceiling_notes(ceilings),
                              *(note for name in found["rows"] for note in row_notes(now[name], then[name]))]}


def changes(now, then):
    """Changes of one row and of the operations that both results have."""
    before = {o["name"]: o["seconds"] / then["elements"] for o in then.get("operations", [])}
    return {"best": percent(now["best"], then["best"]), "median": percent(now["median"], then["median"]),
            "share_of_bound": then["share_of_bound"],
            "operations": {o["name"]: percent(before[o["name"]], o["seconds"] / now["elements"])
                           for o in now.get("operations", []) if o["name"] in before}}


def differences(now, then, names):
    """Text on the entries in `names` that differ, e.g. "threads 2, then 1"."""
    return "; ".join(f"{name} {now.get(name)}, then {then.get(name)}" for name in names if now.get(name) != then.get(name))


def one(name):
    """The name of a ceiling with a correct singular: "float64, 1 threads" -> "float64, 1 thread"."""
    return name.replace(", 1 threads", ", 1 thread")


def machine_notes(results, earlier):
    """A note if the machines differ; the package's revision does not count."""
    text = differences(results["machine"], earlier["machine"], [name for name in results["machine"] if name != "revision"])
    return [f"the machine differs: {text}"] if text else []


def ceiling_notes(ceilings):
    """A note if a ceiling has changed by more than NOISE."""
    named = [f"{one(name)}: copy {c['bandwidth']:+.0f} %, product {c['multiply_add']:+.0f} %"
             for name, c in ceilings.items() if max(map(abs, c.values())) > NOISE]
    return [f"the ceilings differ ({'; '.join(named)}): compare shares of the bound rather than rates"] if named else []


def row_notes(now, then):
    """A note if two rows of one name were measured on different problems."""
    text = differences(now, then, SETTINGS)
    return [f"{now['name']} was not the same problem: {text}"] if text else []
