"""Which tests the README's command runs: the cheapest that cover what all cover together.

    python tests/support/choose.py FOLDER [FILE ...]        after `measure` has written FOLDER: writes tests/chosen.json

A test function states a property, so its cheapest example stays where it is cheap and is not marked as thorough. Of the
others those stay that run a line of the package or use a kind of generated kernel that no test kept so far does: greedily, by
what is new for each second of the processor, up to DEAR seconds a test. tests/chosen.json gives the examples that stay of
each function: {file: {function: [example]}}; "" is that of a function without parameters, [] none. What is left runs with `-m
thorough`. A function that the file does not name runs with all its examples, or is marked as thorough. With FILEs only their
entries are written anew.
"""
import json
import sys
from collections import defaultdict
from functools import cache
from heapq import heapify, heappop, heapreplace
from pathlib import Path

CHOSEN = Path(__file__).parents[1] / "chosen.json"
CHEAP, DEAR = 1.0, 4.0          # seconds of the processor
FIXED = 0.02             # seconds for a test, so that several that cost nothing are not taken for one
WHOLE = "test_layout.py", "test_errors.py"          # run with all their examples: files, and messages


def measured(folder):
    """{test: what `measure` has written of it}"""
    rows = [json.loads(line) for path in sorted(Path(folder).glob("measured-*.jsonl")) for line in path.open()]
    return {row["test"]: row for row in rows}


def covered(row):
    """What a test covers: lines as (file, line), and kinds of kernels without the hashes of their texts."""
    lines = {(name, line) for name, numbers in row["lines"].items() for line in numbers}
    return lines | {kernel.rsplit("_", 1)[0] for kernel in row["kernels"]}


def cost(row):
    return row["seconds"] + FIXED


def split(test):
    """File, function and example of a test: "tests/test_a.py::test_b[c]" is test_a.py, test_b, c."""
    path, _, name = test.partition("::")
    function, _, example = name.partition("[")
    return Path(path).name, function, example.removesuffix("]")


@cache
def table():
    """What tests/chosen.json says."""
    return json.loads(CHOSEN.read_text())


def usual(test):
    """Whether the README's command runs a test; None where tests/chosen.json does not know its function."""
    file, function, example = split(test)
    examples = table().get(file, {}).get(function)
    return None if examples is None else example.replace("cupy", "emulated") in examples


def cheapest(rows):
    """The cheapest example of each test function that has a cheap one and is not marked as thorough."""
    examples = defaultdict(list)
    for row in rows.values():
        if not row["thorough"]:
            examples[split(row["test"])[:2]].append(row)
    return [row["test"] for row in (min(each, key=cost) for each in examples.values()) if cost(row) < CHEAP]


def chosen(rows, kept):
    """`kept` and what else is needed to cover what all cover."""
    sets = {test: covered(row) for test, row in rows.items() if test in kept or cost(row) < DEAR}
    found, have = list(kept), set().union(*map(sets.get, kept))
    heap = [(-len(new - have) / cost(rows[test]), test) for test, new in sets.items()]
    heapify(heap)
    while heap:
        worth, test = heap[0]
        now = -len(sets[test] - have) / cost(rows[test])
        if now == 0:
            heappop(heap)
        elif now > worth:          # less than it was; others may be better
            heapreplace(heap, (now, test))
        else:
            heappop(heap)
            found.append(test)
            have |= sets[test]
    return found


def text_of(entries):
    """The JSON of the entries, a line for each function, so that a change of the choice is read in a diff."""
    files = []
    for file, functions in sorted(entries.items()):
        lines = [f"{json.dumps(name)}: {json.dumps(examples, ensure_ascii=False)}" for name, examples in functions.items()]
        files.append(f"{json.dumps(file)}: {{\n" + ",\n".join(lines) + "}")
    return "{" + ",\n".join(files) + "}\n"


def main(folder, *files):
    rows = {test: row for test, row in measured(folder).items() if split(test)[0] not in WHOLE}
    found = chosen(rows, cheapest(rows))
    kernels = [len({kernel for test in tests for kernel in rows[test]["kernels"]}) for tests in (found, rows)]
    seconds = [sum(cost(rows[test]) for test in tests) for tests in (found, rows)]
    print("{} of {} tests, {:.0f} of {:.0f} s, {} of {} kernels".format(len(found), len(rows), *seconds, *kernels))
    entries = table() if files else {}
    for file in files:
        entries.pop(file, None)
    for test in sorted(rows):
        file, function, example = split(test)
        if not files or file in files:
            examples = entries.setdefault(file, {}).setdefault(function, [])
            if test in found and example not in examples:
                examples.append(example)
    CHOSEN.write_text(text_of(entries))


if __name__ == "__main__":
    main(*sys.argv[1:])
