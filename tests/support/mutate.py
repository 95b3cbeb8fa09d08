"""Whether tests see small mutations of the package: an operator, a comparison, a number, a truth value, each at a random place.

    python tests/support/mutate.py FOLDER COUNT SEED [START]

FOLDER holds what `measure` has written.  Each mutation is made in a copy of the project; the tests of the README's command that
run its line go first, the cheapest first, then the others, each part for at most LIMIT seconds.  One line for each: file, line,
change, and the test that failed.
"""
import ast
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from choose import cost, measured, usual

ROOT = Path(__file__).parents[2]
LIMIT = 90          # seconds
EVERY = "-q", "-m", "", "--all-combinations", "-p", "no:xdist", "-p", "no:cacheprovider"
SWAPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
         ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And}


def places(tree, lines):
    """(node, what to do with it) of each place in a file where a mutation can be made on one of `lines`."""
    for node in ast.walk(tree):
        if getattr(node, "lineno", None) not in lines:
            continue
        if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
            yield node, lambda node: setattr(node, "op", SWAPS[type(node.op)]())
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            yield node, lambda node: setattr(node, "ops", [SWAPS[type(node.ops[0])](), *node.ops[1:]])
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield node, lambda node: setattr(node, "value", not node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield node, lambda node: setattr(node, "value", node.value + 1)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield node, lambda node: setattr(node, "op", ast.UAdd())


def mutation(path, lines, chance):
    """The text of a file with one mutation, its line, and the line's text before and after; None where there is no place."""
    text = path.read_text()
    tree = ast.parse(text)
    found = list(places(tree, lines))
    if not found:
        return None
    node, change = chance.choice(found)
    before = ast.get_source_segment(text, node)
    change(node)
    after = ast.unparse(node)
    start, end = [sum(map(len, text.encode().splitlines(True)[:line - 1])) + column for line, column in (
        (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))]
    return (text.encode()[:start] + f"({after})".encode() + text.encode()[end:]).decode(), node.lineno, before, after


def pytest(folder, *options, timeout=None):
    """What pytest says in a folder."""
    command = [sys.executable, "-m", "pytest", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout)


def failing(folder, tests, names):
    """The first of the tests that fails, None where all pass in time."""
    names.write_text("\n".join(tests))
    options = "-x", *EVERY, "--tb=no"
    try:
        done = pytest(folder, *options, f"@{names}", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "(no end in time)"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else None if done.returncode == 0 else f"(status {done.returncode})"


def main(folder, count, seed, start=0):
    there = set(pytest(ROOT, "--collect-only", *EVERY).stdout.splitlines())
    rows, of_line = {test: row for test, row in measured(folder).items() if test in there}, defaultdict(list)
    for test, row in rows.items():
        for file, lines in row["lines"].items():
            for line in lines:
                of_line[file, line].append(test)
    chance, files = random.Random(seed), sorted({file for file, _ in of_line})
    with tempfile.TemporaryDirectory() as temporary:
        copy, names = Path(temporary) / "copy", Path(temporary) / "tests.txt"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".git", "_build"))
        for name in ("backends", "cases"):          # before those of an installed package
            (copy / "dgarray" / name).symlink_to(copy / name)
        number = 0
        while number < count:
            file = chance.choice(files)
            made = mutation(ROOT / file, {line for name, line in of_line if name == file}, chance)
            if made is None:
                continue
            number += 1
            text, line, before, after = made
            if number <= start:
                continue
            (copy / file).write_text(text)
            tests = sorted(of_line[file, line], key=lambda test: cost(rows[test]))
            caught = None
            for part in (True, False):
                some, seconds = [], 0.0
                for test in tests:
                    if bool(usual(test)) == part and seconds < LIMIT / 3 and len(some) < 200:
                        some.append(test)
                        seconds += cost(rows[test])
                caught = caught or some and failing(copy, some, names)
            (copy / file).write_text((ROOT / file).read_text())
            print(f"{file}:{line}: {before} -> {after}: {caught or 'NOT CAUGHT'} ({len(tests)} tests)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
