"""The code that a notebook's claims about learning rest on: the cells that they need, and of the course's modules what these call.

`make evidence` runs these cells alone, and the digest of this code says whether the stored runs are of today's. Docstrings,
comments, annotations and layout don't count, and neither does what is only shown. What is called is found by its name:
a function that a cell or a counted function names counts, a method if something names it or a framework calls it.
"""

import ast
import functools
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nbformat

import notebooks

sys.path.insert(0, str(notebooks.ROOT))
from shared import ROOMS

ROOT = notebooks.ROOT
LESSON = (
    "numpy",
    "pytorch",
    "keras",
    "data",
    "frameworks",
    "conformance",
    "arrays",
    "private",
)  # the rooms and modules of shared/ on which a measured value can depend
EXERCISE = re.compile(r"^(check|hint|solution)\(", re.MULTILINE)
# What only shows, and all that is imported from shared.drawing.
SHOWN = {"print", "show", "observed", "table", "display", "Markdown", "plt"}
# Methods that no lesson names, because a framework, or Python, calls them.
CALLED = re.compile(r"__\w+__|forward|backward|call|build|train_step|compute_\w+|on_\w+")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_UNTOLD = ("annotation", "returns", "ctx", "kind", "type_comment", "type_ignores", "type_params")


class Cell(NamedTuple):
    """What a cell of code needs, binds and may change, by the names of the notebook."""

    statements: list[ast.stmt]
    needs: set[str]  # before it binds them itself
    later: set[str]  # what its functions need when they are called
    binds: set[str]
    changes: set[str]
    always: bool  # whether it claims, or sets something for the whole process


def cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The cells of code, of those without an exercise, that what the notebook claims depends on; none if it claims nothing."""
    found = [cell for cell in notebook.cells if cell.cell_type == "code" and not EXERCISE.search(cell.source)]
    shown = SHOWN | _drawing(found)
    read = [_read(cell.source, shown) for cell in found]
    variables = {
        name
        for cell in read
        for statement in cell.statements
        if not isinstance(statement, (*FUNCTIONS, ast.Import, ast.ImportFrom))
        for name in _bound(statement)
    }
    last = max((number for number, cell in enumerate(read) if _claims(cell.statements)), default=-1)
    anywhere: set[str] = set()
    while True:
        kept, needed = [], set()
        for number in range(last, -1, -1):
            cell = read[number]
            wanted = needed | anywhere
            if cell.always or cell.binds & wanted or cell.changes & wanted & variables:
                kept.append(number)
                needed = (needed - cell.binds) | cell.needs
        more = set().union(*(read[number].later for number in kept)) - anywhere
        if not more:
            return [found[number] for number in sorted(kept)]
        anywhere |= more


def _claims(statements: list[ast.stmt]) -> bool:
    calls = (node.func for each in statements for node in ast.walk(each) if isinstance(node, ast.Call))
    return any(isinstance(function, ast.Name) and function.id == "learned" for function in calls)


def _drawing(found: list[nbformat.NotebookNode]) -> set[str]:
    """The names of what a notebook imports to draw with."""
    names = set(ROOMS["drawing"])
    for cell in found:
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shared.drawing"):
                names |= {alias.asname or alias.name for alias in node.names}
    return names


def _read(source: str, shown: set[str]) -> Cell:
    statements = [each for each in ast.parse(source).body if not _is_shown(each, shown)]
    needs, later, binds, changes = set(), set(), set(), set()
    always = _claims(statements) or "import shared.notebook" in source
    imported = set()
    for statement in statements:
        now, inside = _loaded(statement)
        needs |= (now | inside) - binds
        later |= inside
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imported |= _bound(statement)
        elif not isinstance(statement, FUNCTIONS):
            changes |= now
            # torch.manual_seed(0), keras.config.set_floatx("float64"): a call for what it does to a library
            always |= isinstance(statement, ast.Expr) and _root(statement.value) in {
                "torch",
                "keras",
                "np",
                "tf",
                "shared",
            }
        binds |= _bound(statement)
    return Cell(statements, needs, later, binds, changes, always)


def _is_shown(statement: ast.stmt, shown: set[str]) -> bool:
    """Whether a statement only prints or draws."""
    return isinstance(statement, ast.Expr) and _root(statement.value) in shown


def _root(node: ast.AST) -> str | None:
    """The name that a chain of calls and attributes begins with."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _loaded(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement reads at once, and those that its functions read when they are called."""
    functions = [node for node in ast.walk(statement) if isinstance(node, (*FUNCTIONS, ast.Lambda))]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return {node.id for node in names if id(node) not in inside}, {node.id for node in names if id(node) in inside}


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement binds in the notebook."""
    if isinstance(statement, FUNCTIONS):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


class Module:
    """The definitions of a module of the course, and where the names that it imports are from."""

    def __init__(self, path: Path, tree: ast.Module):
        self.path, self.defined, self.imported = path, {}, {}
        for statement in tree.body:
            for name in _bound(statement):
                if not isinstance(statement, ast.Import | ast.ImportFrom):
                    self.defined.setdefault(name, []).append(statement)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom | ast.Import):
                self.imported |= _sources(path, node)

    def find(self, name: str) -> Iterator[tuple["Module", str | None]]:
        """The module that defines a name, and its name there; None for it where the name is a module."""
        if name in self.defined:
            yield self, name
        elif name in self.imported:
            path, original = self.imported[name]
            if original is None:
                yield _module(path), None
            else:
                yield from _module(path).find(original)


@functools.cache
def _module(path: Path) -> Module:
    return Module(path, ast.parse(path.read_text(encoding="utf-8")))


def _file(*parts: str) -> Path | None:
    """The file of a module of the lesson's rooms; None for any other."""
    if len(parts) < 2 or parts[0] != "shared" or parts[1] not in LESSON:
        return None
    for path in (ROOT.joinpath(*parts).with_suffix(".py"), ROOT.joinpath(*parts, "__init__.py")):
        if path.is_file():
            return path
    return None


def _sources(path: Path, node: ast.Import | ast.ImportFrom) -> dict[str, tuple[Path, str | None]]:
    """Name -> the file it is from and its name there, for what is imported from the lesson's rooms."""
    found = {}
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname and (file := _file(*alias.name.split("."))):
                found[alias.asname] = (file, None)
        return found
    package = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
    parts = [*package, *(node.module or "").split(".")] if node.module else [*package]
    rooms = {module: room for room, modules in ROOMS.items() for module in modules}
    for alias in node.names:
        name = alias.asname or alias.name
        if parts == ["shared"] and alias.name in rooms:
            file, original = _file("shared", rooms[alias.name], alias.name), None
        elif file := _file(*parts, alias.name):
            original = None
        else:
            file, original = _file(*parts), alias.name
        if file:
            found[name] = (file, original)
    return found


def code(path: Path) -> list[str]:
    """What the claims of a notebook rest on, a text for each statement or definition, without what does not count."""
    _module.cache_clear()  # the files may have changed
    notebook = nbformat.read(path, as_version=4)
    kept = cells(notebook)
    shown = SHOWN | _drawing(
        [cell for cell in notebook.cells if cell.cell_type == "code" and not EXERCISE.search(cell.source)]
    )
    statements = [each for cell in kept for each in ast.parse(cell.source).body]
    of_notebook = Module(path, ast.Module(statements, []))
    counted: dict[int, tuple[Module, ast.AST]] = {}
    methods: dict[str, list[tuple[Module, ast.AST]]] = {}
    named: set[str] = set()
    waiting: list[tuple[Module, ast.AST]] = [
        (of_notebook, each)
        for each in statements
        if not isinstance(each, (*FUNCTIONS, ast.Import, ast.ImportFrom)) and not _is_shown(each, shown)
    ]
    while waiting:
        module, node = waiting.pop()
        if id(node) in counted:
            continue
        counted[id(node)] = (module, node)
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, FUNCTIONS):
                    methods.setdefault(each.name, []).append((module, each))
                    if CALLED.fullmatch(each.name) or each.name in named:
                        waiting.append((module, each))
        for each in _parts(node):
            if isinstance(each, ast.Attribute):
                named.add(each.attr)
                waiting += methods.get(each.attr, [])
                for owner, name in module.find(_root(each) or "") if isinstance(each.value, ast.Name) else ():
                    if name is None:
                        waiting += _definitions(owner, each.attr)
            if isinstance(each, ast.Name):
                waiting += _definitions(module, each.id)
    return sorted(_told(node) for _, node in counted.values())


def _definitions(module: Module, name: str) -> list[tuple[Module, ast.AST]]:
    return [(owner, node) for owner, found in module.find(name) if found for node in owner.defined[found]]


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all inside it that counts: of a class, what is no method."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        for name, value in ast.iter_fields(each):
            inside = value if isinstance(value, list) else [value]
            if isinstance(each, ast.ClassDef):
                inside = [part for part in inside if not isinstance(part, FUNCTIONS)]
            if name not in _UNTOLD:
                waiting += [part for part in inside if isinstance(part, ast.AST)]


def _told(node: ast.AST | list | object) -> str:
    """A node as text, the same on every Python: without annotations, docstrings, and the methods of a class."""
    if isinstance(node, list):
        return f"[{', '.join(map(_told, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, FUNCTIONS):
        first = node.body[0]
        is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        fields["body"] = node.body[1:] if is_docstring else node.body
    if isinstance(node, ast.ClassDef):
        fields["body"] = [each for each in fields["body"] if not isinstance(each, FUNCTIONS)]
    told = [
        f"{name}={_told(value)}" for name, value in fields.items() if name not in _UNTOLD and value not in (None, [])
    ]
    return f"{type(node).__name__}({', '.join(told)})"


def digest(path: Path) -> str:
    """A digest of the code that a notebook's claims rest on."""
    return hashlib.sha256("\n".join(code(path)).encode()).hexdigest()[:16]
