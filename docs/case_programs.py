"""The program that a case is with its default keywords: plain text in the public API, made from the case's source.

    python docs/case_programs.py CASE          prints it

Keywords become assignments. Checks of input and what the package reports of a case go, conditions that the defaults decide
are decided, and what a helper returns is written as its call, Maxwell(dim=2). Helpers that return anything else come along."""
import ast
import builtins
import functools
import importlib.util
import inspect
import re
import sys
import types

import dgarray
from dgarray import cases

WIDTH = 110                     # characters of a line
LONGEST = 80                    # lines of a program; of a longer one the function alone is shown
# What a user of the case needs, not one who has its text: checks of input, and arguments of a report.
CHECKS = "check_"
REPORTED = "case", "results"


def program(name):
    """The text of the program of a case, or where that is long the function alone."""
    text = Writer(getattr(cases, name)).text()
    return text if len(text.splitlines()) <= LONGEST else source(getattr(cases, name))


def source(case):
    """The text of a case without its docstring."""
    text, (node,) = inspect.getsource(case), ast.parse(inspect.getsource(case)).body
    lines = text.splitlines()
    first = node.body[0]
    return "\n".join([*lines[:first.lineno - 1], *lines[first.end_lineno:]]) + "\n"


class Writer:
    """Collects what the program of a case consists of."""

    def __init__(self, case):
        self.case, self.module = case, sys.modules[case.__module__]
        self.imports, self.above, self.values = {}, {}, {}

    def text(self):
        known = {key: parameter.default for key, parameter in inspect.signature(self.case).parameters.items()}
        self.values = returned(self.case, self.module)
        body = self.statements(function_of(self.case).body[1:], self.module, {**known})
        body[-1] = ast.Assign([ast.Name("sim", ast.Store())], body[-1].value)
        body = used_only(body)
        names = [key for key in known if key in loaded(body) and key != "mesh"]
        if names:
            values = [ast.Constant(known[key]) if not isinstance(known[key], tuple) else literal(known[key]) for key in names]
            pair = [ast.Tuple([ast.Name(key, ast.Store()) for key in names], ast.Store()), ast.Tuple(values, ast.Load())]
            body.insert(0, ast.Assign(pair[:1], pair[1]) if len(names) > 1 else ast.Assign([pair[0].elts[0]], values[0]))
        for each in sorted(loaded(body) - stored_all(body) | loaded(body) & set(vars(self.module))):
            self.bring(each, self.module)
        text = "\n".join([self.import_lines(), "", *map(written, self.above.values()), *map(written, body), "ds = sim.run()"])
        return re.sub(r"\n{3,}", "\n\n\n", text) + "\n"

    def bring(self, name, module):
        """Import a name of a module, or take its definition along, with all that this needs."""
        if name in self.above or name in self.imports or hasattr(builtins, name) and not hasattr(module, name):
            return
        home, node = found(name, module)
        if isinstance(node, ast.Import):
            self.imports[name] = ast.unparse(node)
        elif isinstance(node, ast.ImportFrom):
            self.imports[name] = "dgarray" if ast.unparse(node) == f"from dgarray import {name}" else ast.unparse(node)
        elif isinstance(node, ast.FunctionDef):
            self.take(name, node, home)
        elif node:
            for each in sorted(loaded([node])):
                self.bring(each, home)
            if ast.unparse(node) not in map(ast.unparse, self.above.values()):
                self.above[name] = node

    def take(self, name, node, module):
        if asks_for_mesh(node):
            node.args.args = [each for each in node.args.args if each.arg != "mesh"]
            node.args.defaults = node.args.defaults[-len(node.args.args):] if node.args.args else []
        documented = node.body[:1] if ast.get_docstring(node) else []
        node.body = [*documented, *self.statements(node.body[len(documented):], module,
                                                   {"mesh": None} if asks_for_mesh(node) else {})]
        self.above[name] = node
        for each in sorted(loaded([node])):
            self.bring(each, module)
        self.above[name] = self.above.pop(name)

    def statements(self, body, module, known):
        """Statements without checks, with all decided that is known."""
        out = []
        for node in body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and name_of(node.value.func).startswith(CHECKS):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and name_of(node.value.func) == "choose":
                continue
            if isinstance(node, ast.If) and (test := decided(node.test, known)) is not UNKNOWN:
                out += self.statements(node.body if test else node.orelse, module, known)
                if out and isinstance(out[-1], ast.Return):
                    break
                continue
            if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise) and not node.orelse:
                continue
            if isinstance(node, ast.Assign) and keeps(node, known):
                continue
            out.append(Decide(self, module, known).visit(node))
            for each in stored(node) if isinstance(node, ast.Assign) else ():
                known.pop(each, None)
            if isinstance(out[-1], ast.Return):
                break
        return out

    def import_lines(self):
        named = sorted(name for name, text in self.imports.items() if text == "dgarray")
        others = sorted({text for text in self.imports.values() if text != "dgarray"})
        plain, rest = [t for t in others if t.startswith("import")], [t for t in others if not t.startswith("import")]
        line = f"from dgarray import {', '.join(named)}"
        own = [line if len(line) <= WIDTH else wrapped(f"from dgarray import ({', '.join(named)})")] if named else []
        return "\n".join([*plain, *[""] * bool(plain), *own, *rest])


UNKNOWN = object()


def decided(node, known):
    """The value of an expression of constants and known names; UNKNOWN of others."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    if not names <= known.keys() | {"isinstance", "str", "bool", "int", "abs", "min", "max"}:
        return UNKNOWN
    return eval(compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval"), dict(known))


def keeps(node, known):
    """Whether an assignment leaves its name what it is known to be."""
    before = known.get(name_of(node.targets[0]), UNKNOWN)
    return before is not UNKNOWN and decided(node.value, known) == before


class Decide(ast.NodeTransformer):
    """Decides conditions, and writes calls of helpers as what they return."""

    def __init__(self, writer, module, known):
        self.writer, self.module, self.known = writer, module, known

    def visit_IfExp(self, node):
        test = decided(node.test, self.known)
        return self.generic_visit(node) if test is UNKNOWN else self.visit(node.body if test else node.orelse)

    def visit_BoolOp(self, node):
        value = decided(node, self.known)
        return self.generic_visit(node) if value is UNKNOWN else ast.Constant(value)

    def visit_Subscript(self, node):
        key = decided(node.slice, self.known)
        table = getattr(self.module, name_of(node.value), None) if isinstance(node.value, ast.Name) else None
        if isinstance(node.slice, ast.Call) and name_of(node.slice.func) == "choose":
            key = decided(node.slice.args[1], self.known)
        if key is not UNKNOWN and isinstance(node.value, ast.Dict):
            for each, value in zip(node.value.keys, node.value.values):
                if ast.literal_eval(each) == key:
                    return self.visit(value)
        if key is not UNKNOWN and isinstance(table, dict) and key in table and pasteable(table[key]):
            return self.pasted(table[key])
        return self.generic_visit(node)

    def visit_FunctionDef(self, node):
        known = {key: value for key, value in self.known.items() if key not in {each.arg for each in node.args.args}}
        node.body = self.writer.statements(node.body, self.module, known)
        return node

    def visit_Call(self, node):
        name = name_of(node.func)
        if name == "choose":
            return self.visit(node.args[1])
        if name == "case_mesh":
            return self.mesh(node.args[1])
        node.keywords = [each for each in node.keywords if each.arg not in REPORTED]
        if name in self.writer.values and pasteable(self.writer.values[name]):
            return self.pasted(self.writer.values[name])
        if self.known.get("mesh", 0) is None:
            node.args = [each for each in node.args if name_of(each) != "mesh"]
            node.keywords = [each for each in node.keywords if each.arg != "mesh"]
        return self.generic_visit(node)

    def mesh(self, node):
        """The case's own mesh: what a function without arguments returns, or a file."""
        if isinstance(node, ast.Lambda):
            return self.visit(node.body)
        if isinstance(node, ast.Name):
            return ast.Call(node, [], [])
        self.writer.imports["MESHES"] = "from dgarray.cases.common import MESHES"
        self.writer.imports["read_mesh"] = "dgarray"
        return ast.parse(f"read_mesh(MESHES / {ast.unparse(self.visit(node))})", mode="eval").body

    def pasted(self, value):
        text = value.__name__ if isinstance(value, types.FunctionType) else repr(value)
        node = ast.parse(text, mode="eval").body
        if isinstance(node, ast.Call):
            usual = inspect.signature(type(value)).parameters
            node.keywords = [each for each in node.keywords
                             if decided(each.value, {}) is UNKNOWN or decided(each.value, {}) != usual[each.arg].default]
        for each in loaded([node]):
            self.writer.imports[each] = "dgarray"
        return node


def pasteable(value):
    """Whether what is written of a value gives it again, with names of dgarray alone."""
    if isinstance(value, types.FunctionType):
        return getattr(dgarray, value.__name__, None) is value
    if isinstance(value, tuple):
        return all(map(pasteable, value))
    if isinstance(value, (int, float, str, type(None))):
        return True
    return type(value).__name__ in dgarray.__all__ and "<" not in repr(value) and type(value).__name__ not in (
        "Mesh", "Grid", "Simulation")


def returned(case, module):
    """{name of a helper of dgarray.cases: what it returns}, of those that are called once while a case is made."""
    found, kept = {}, {}

    def recording(name, function):
        @functools.wraps(function)
        def call(*arguments, **keywords):
            found.setdefault(name, []).append(function(*arguments, **keywords))
            return found[name][-1]
        return call

    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and value.__module__.startswith("dgarray.cases") and value is not case:
            kept[name] = value
            setattr(module, name, recording(name, value))
    try:
        case()
    finally:
        for name, value in kept.items():
            setattr(module, name, value)
    return {name: values[0] for name, values in found.items() if len(values) == 1 and kept[name].__module__ != module.__name__}


def function_of(function):
    return ast.parse(inspect.getsource(function)).body[0]


def found(name, module):
    """(module, statement) that defines a name which a module of dgarray.cases has, or imports it from elsewhere; (None, None)
    of others."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Import) and name in [alias.asname or alias.name for alias in node.names]:
            return module, node
        if isinstance(node, ast.ImportFrom) and name in [alias.asname or alias.name for alias in node.names]:
            alias, = [alias for alias in node.names if name == (alias.asname or alias.name)]
            source = importlib.util.resolve_name("." * node.level + (node.module or ""), module.__package__)
            if source.startswith("dgarray.cases") and ".meshes" not in source:
                return found(alias.name, importlib.import_module(source))
            return module, ast.ImportFrom(source, [alias], 0)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name or isinstance(
                node, ast.Assign) and name in stored(node):
            return module, node
    return None, None


def asks_for_mesh(node):
    """Whether a function has a mesh of its own where it is given none."""
    return any(isinstance(each, ast.Call) and name_of(each.func) == "case_mesh" for each in ast.walk(node))


def used_only(body):
    """The statements without assignments and functions that no later one reads."""
    while True:
        needed = loaded(body) | {"sim"}
        kept = [node for node in body if isinstance(node, ast.Expr) or stored(node) & needed or not stored(node)]
        if len(kept) == len(body):
            return body
        body = kept


def stored(node):
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def stored_all(body):
    return set().union(*map(stored, body))


def loaded(nodes):
    return {each.id: None for node in nodes for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}.keys() | set()


def name_of(node):
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def literal(value):
    return ast.parse(repr(value), mode="eval").body


def written(node):
    """A statement as text, in lines that are not too long; a function with empty lines around it."""
    text = ast.unparse(ast.fix_missing_locations(node))
    lines = [line if "f'" in line else re.sub(r"'([^'\"\\]*)'", r'"\1"', bare(line)) for line in text.splitlines()]
    text = "\n".join(map(wrapped, lines))
    text = re.sub(r"\n+( +def )", r"\n\n\1", text)
    return f"\n\n{text}\n\n" if isinstance(node, ast.FunctionDef) else text


def bare(line):
    """The line `a, b = (c, d)` or `return (c, d)` without these brackets."""
    match = len(line) <= WIDTH and re.fullmatch(r"(\s*(?:return|[\w, ]+ =) )\((.*)\)", line)
    try:
        value = match and ast.parse(f"({match[2]})", mode="eval").body
    except SyntaxError:
        return line
    return match[1] + match[2] if isinstance(value, ast.Tuple) and len(value.elts) > 1 else line


def wrapped(line, opened=()):
    """A line that is too long, broken after a comma, if possible of an outer bracket; the rest begins below this bracket.

    opened: columns of brackets that are open at its start"""
    if len(line) <= WIDTH:
        return line
    opened, best, quoted = [*opened], None, ""
    for place, character in enumerate(line[:WIDTH]):
        if quoted:
            quoted = "" if character == quoted else quoted
        elif character in "'\"":
            quoted = character
        elif character in "([{":
            opened.append(place)
        elif character in ")]}":
            opened.pop()
        elif character == "," and opened and (not best or best[0] < WIDTH // 2 or len(opened) <= len(best[1])):
            best = place + 1, [*opened]
    rest = best and " " * (best[1][-1] + 1) + line[best[0]:].lstrip()
    return f"{line[:best[0]]}\n{wrapped(rest, best[1])}" if rest and len(rest) < len(line) else line


if __name__ == "__main__":
    print(program(sys.argv[1]))
