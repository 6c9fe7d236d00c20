"""The exercises of one notebook, run one after the other in a process of their own, which `grading` starts and listens to.

Of the notebook, the cells of exercises run, and before each what it needs: imports, functions, classes and values that earlier
cells bind. Training that no exercise needs is left out.
"""

import argparse
import ast
import builtins
import contextlib
import io
import json
import os
import re
import symtable
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from shared import private
from shared.frameworks.workers.commands import follow_parent

EXERCISE = re.compile(r"^check\(\s*[\"']([^\"']+)[\"']", re.MULTILINE)
_MAGIC = re.compile(r"^(\s*)([%!].*)$", re.MULTILINE)  # IPython's commands, which are no Python
_ANSWERS = ("check", "hint", "solution")


class Attempt(NamedTuple):
    """A cell with an exercise, and the statements of earlier cells that it needs."""

    exercise: str
    before: list[ast.stmt]
    source: str


def attempts(cells: list[str]) -> Iterator[Attempt]:
    """The exercises of a notebook, given the code of its cells."""
    earlier: list[ast.stmt] = []
    for source in map(without_magic, cells):
        try:
            body = ast.parse(source).body
        except SyntaxError:
            body = []
        if exercise := EXERCISE.search(source):
            yield Attempt(exercise[1], _needed(body, earlier), source)
        earlier += [statement for statement in body if not _asks(statement)]


def without_magic(source: str) -> str:
    """The code of a cell, with `pass` in place of IPython's commands."""
    if source.startswith("%%"):
        return ""
    return _MAGIC.sub(r"\1pass  # \2", source)


def _asks(statement: ast.stmt) -> bool:
    """Whether a statement is a call of check, hint or solution."""
    call = getattr(statement, "value", None)
    return isinstance(call, ast.Call) and getattr(call.func, "id", None) in _ANSWERS


def _needed(body: list[ast.stmt], earlier: list[ast.stmt]) -> list[ast.stmt]:
    """Of the earlier statements those that bind or change what these read, and what they need in turn."""
    needed: set[str] = set()
    bound = set(dir(builtins))
    for statement in body:
        needed |= _read(statement) - bound
        bound |= _bound(statement)
    kept: set[int] = set()
    while True:
        more = {
            index
            for index, statement in enumerate(earlier)
            if index not in kept and needed & (_bound(statement) | _changed(statement))
        }
        if not more:
            return [earlier[index] for index in sorted(kept)]
        kept |= more
        needed |= set().union(*(_read(earlier[index]) for index in more))


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement gives a value: those of imports, functions, classes, assignments and loops."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def _changed(statement: ast.stmt) -> set[str]:
    """The names whose parts a statement assigns to, as in `array[0] = 1` and `config.size = 2`."""
    found = set()
    for target in getattr(statement, "targets", [getattr(statement, "target", None)]):
        part = target
        while isinstance(part, ast.Subscript | ast.Attribute):
            part = part.value
        if part is not target and isinstance(part, ast.Name):
            found.add(part.id)
    return found


def _read(statement: ast.stmt) -> set[str]:
    """The names of the notebook that a statement reads, also when a function in it is called."""

    def of(scope: symtable.SymbolTable, is_top: bool) -> Iterator[str]:
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (is_top or symbol.is_global()):
                yield symbol.get_name()
        for child in scope.get_children():
            yield from of(child, False)

    return set(of(symtable.symtable(ast.unparse(statement), "<cell>", "exec"), True))


def said_of(attempt: Attempt, namespace: dict[str, Any], seed: int) -> list[tuple[str, str, str]]:
    """Exercise, verdict and message of each `check` that a cell calls; the verdict of one that doesn't run is "error"."""
    from shared import exercises

    said: list[tuple[str, str, str]] = []

    def check(name: str, answer: Any, track: str | None = None) -> None:
        said.append((name, *exercises.judge(name, answer, track, seed=seed)))

    # what a cell imports, and what it finds if it imports nothing
    asked = {"check": check, "hint": _silent, "solution": _silent}
    vars(exercises).update(asked)
    namespace |= asked
    try:
        for statement in attempt.before:
            with contextlib.suppress(Exception):  # the cell itself says what it lacks then
                _run(ast.Module([statement], []), namespace)
        _run(ast.parse(attempt.source, "<exercise>"), namespace)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a submitted cell raises
        said = [each for each in said if each[0] != attempt.exercise]
        said.append((attempt.exercise, "error", _described(error)))
    return said or [(attempt.exercise, "not done", "check wasn't called")]


def _run(module: ast.Module, namespace: dict[str, Any]) -> None:
    exec(compile(module, "<exercise>", "exec"), namespace)  # noqa: S102 - to run what was submitted is the purpose


def _described(error: BaseException) -> str:
    """An error in one line, with the line of the cell."""
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == "<exercise>"]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return f"{type(error).__name__}{'' if line is None else f' in line {line}'}: {error}"


def _silent(*_: Any) -> None:
    """What `hint` and `solution` do here."""


def _confine(folder: Path, memory: float) -> None:
    """Bound what this process may write, whom it can talk to, and its memory, as far as the system has means for it."""
    os.chdir(folder)
    with contextlib.suppress(OSError):
        private.unshare_files(folder)
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no such module
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(memory * 2**30),) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Run the exercises of a notebook; each line of the results says which one begins, or what was said of it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("cells", type=Path, help="the code of its cells, a list in a file")
    parser.add_argument("folder", type=Path, help="where it may write")
    parser.add_argument("results", type=Path, help="a file to which lines are added")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--memory", type=float, required=True)
    parser.add_argument("--skip", type=int, default=0, help="so many exercises were run before")
    options = parser.parse_args()
    cells = json.loads(options.cells.read_text(encoding="utf-8"))
    results = open(options.results, "a", encoding="utf-8")  # noqa: SIM115 - before writing is forbidden, and until the end
    _leave_output()
    _confine(options.folder, options.memory)
    follow_parent()
    sys.modules["shared.exercises.solutions"] = None  # nobody's own answers
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for attempt in list(attempts(cells))[options.skip :]:
        _say(results, begins=attempt.exercise)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            said = said_of(attempt, namespace, options.seed)
        _say(results, said=said)
    _say(results, ended=True)


def _leave_output() -> None:
    """Whatever runs here writes where nobody reads, and in a session of its own, so that it can be ended with this process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    if hasattr(os, "setsid"):
        os.setsid()


def _say(results: Any, **what: Any) -> None:
    print(json.dumps(what), file=results, flush=True)


if __name__ == "__main__":
    main()
