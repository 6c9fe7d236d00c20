"""The code of the lessons, read from the exported modules: without its docstrings, by its numbered steps, and counted."""

import ast
import importlib
import itertools
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

TRACKS = {"numpy": "NumPy", "pytorch": "PyTorch", "keras": "Keras"}
# What is a class in the other tracks and a function here.
OTHER_NAMES = {("keras", "dna_mutation", "MutationModel"): "build_model"}
STEP = re.compile(r"^\s*# (\d+)(?: to (\d+))? (\S.*)$")


def module(track: str, chapter: str) -> ModuleType:
    """The exported module of a chapter, such as `shared.numpy.attention` for ("numpy", "attention")."""
    return importlib.import_module(f"shared.{track}.{chapter}")


def _text(track: str, chapter: str) -> str:
    """The file of an exported module; it is read and not imported, so that no framework has to be installed."""
    return (Path(__file__).parent / track / f"{chapter}.py").read_text(encoding="utf-8")


def _home(track: str, chapter: str, name: str) -> str:
    """The chapter whose module has the definition: another one, if this one imports the name from there."""
    first = name.partition(".")[0]
    for node in ast.parse(_text(track, chapter)).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and any(alias.name == first for alias in node.names):
            return _home(track, node.module, name)
    return chapter


def _definition(track: str, chapter: str, name: str) -> ast.AST | None:
    """The class or function of a module, or the method Class.method, where it is written; None if there is none."""
    found = ast.parse(_text(track, chapter))
    for part in OTHER_NAMES.get((track, chapter, name), name).split("."):
        found = _named(found, part)
    return found


def _named(parent: ast.AST | None, name: str) -> ast.AST | None:
    """The class or function of this name in a module or class; of a name that is given one of several functions, the first."""
    body = getattr(parent, "body", ())
    for node in body:
        if getattr(node, "name", None) == name:
            return node
        if isinstance(node, ast.Assign) and any(getattr(target, "id", None) == name for target in node.targets):
            chosen = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
            return next((each for each in body if getattr(each, "name", None) in chosen), None)
    return None


def _written(track: str, chapter: str, node: ast.AST) -> str:
    """The lines of a class or function, its decorators among them."""
    first = min(each.lineno for each in (node, *node.decorator_list))
    return "\n".join(_text(track, chapter).splitlines()[first - 1 : node.end_lineno])


def source(track: str, chapter: str, name: str) -> str:
    """The code of a public class or function without its docstrings and blank lines: what remains is what runs.

    Args:
        track: "numpy", "pytorch" or "keras".
        chapter: the module's name, such as "attention".
        name: a public name of that module.

    Raises:
        ValueError: if the module has no such name.
    """
    chapter = _home(track, chapter, name)
    found = _definition(track, chapter, name)
    if found is None:
        raise ValueError(f"name={name!r}: shared.{track}.{chapter} has no such name")
    text = textwrap.dedent(_written(track, chapter, found))
    skipped = set()
    for node in ast.walk(ast.parse(text)):
        # A function that is nothing but its docstring keeps it.
        if (
            isinstance(node, ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
            and len(node.body) > 1
        ):
            skipped |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = [line.removesuffix("  # fmt: skip") for line in text.splitlines()]
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in skipped and line.strip())


class Step(NamedTuple):
    """The code below one step comment, which does the steps from first to last."""

    first: int
    last: int
    words: str
    code: str


class Row(NamedTuple):
    """A row of a table of steps: its numbers and words, and the code of the tracks that have a step for this row alone."""

    first: int
    last: int
    words: str
    codes: dict[str, str]


def read_steps(track: str, chapter: str, name: str) -> list[Step]:
    """The numbered steps of an exported function, of the call of a class, or of a Class.method.

    A comment is `# 3 score every query`, or `# 3 to 6 score, hide, weigh, average` where one call does several steps. Their code
    ends at the next step comment or at an empty line: what follows that is bookkeeping. Where this call is a function of the
    same module, or a method of the same class, that has as many steps, its own code is taken.

    Raises:
        ValueError: if there is no such name, or it has no steps, numbers that do not rise, or a step without code.
    """
    chapter = _home(track, chapter, name)
    where = f"shared.{track}.{chapter}.{name}"
    found, owner = _definition(track, chapter, name), name.rpartition(".")[0]
    if isinstance(found, ast.ClassDef):
        found, owner = _named(found, "call" if track == "keras" else "forward"), name
    if found is None:
        raise ValueError(f"name={name!r}: shared.{track}.{chapter} has no such function, and no such class to call")
    steps = split_steps(where, _written(track, chapter, found).splitlines())
    if not steps:
        raise ValueError(f"name={name!r}: {where} has no steps: expected comments such as `# 1 project the inputs`")
    return [inner for step in steps for inner in _opened(track, chapter, owner, step)]


def split_steps(where: str, lines: list[str]) -> list[Step]:
    """The steps in the lines of a function; where is its name, for the errors that `read_steps` lists."""
    steps, inside = [], False
    for line in lines:
        comment = STEP.match(line)
        if comment:
            first = int(comment[1])
            steps.append((first, int(comment[2] or first), comment[3], []))
        elif inside and line.strip():
            steps[-1][3].append(line)
        inside = bool(comment) or (inside and bool(line.strip()))
    before = -1
    for first, last, words, code in steps:
        message = f"`# {label_of(first, last)} {words}`"
        if not before < first <= last:
            raise ValueError(f"{where} has {message} here: expected numbers that rise")
        if all(line.lstrip().startswith("#") for line in code):
            raise ValueError(f"{where} has no code below {message}: expected it on the next line")
        before = last
    return [Step(first, last, words, textwrap.dedent("\n".join(code))) for first, last, words, code in steps]


def _opened(track: str, chapter: str, owner: str, step: Step) -> list[Step]:
    """The steps of the function or method of the owner that the code calls, if it has a step for each number; or else the step."""
    if step.first == step.last:
        return [step]
    try:
        [statement] = ast.parse(step.code).body
        called = ast.unparse(statement.value.func)
        inner = read_steps(track, chapter, re.sub(r"^self\b", owner, called))
    except (SyntaxError, ValueError, AttributeError):  # several statements, no call of a name, or of one without steps
        return [step]
    before = step.first - 1
    if inner[0].first != 1 or inner[-1].last != step.last - before:
        return [step]
    codes = [each.code for each in inner]
    codes[0] = f"# inside {called}\n{codes[0]}"
    if isinstance(statement, ast.Assign):
        codes[-1] += f"\n# outside: {ast.unparse(statement.targets[0]).strip('()')}"
    return [Step(each.first + before, each.last + before, each.words, code) for each, code in zip(inner, codes)]


def pair_steps(name: str, columns: dict[str, list[Step]]) -> list[Row]:
    """The rows of the table of a function's steps, from the steps of each track.

    A row begins where a step of some track begins, or the one before has ended. Its words are those of the tracks that have a
    step for this row alone.

    Raises:
        ValueError: if no track has a step for a row alone, or two have it in different words.
    """
    steps = [step for found in columns.values() for step in found]
    starts = {1} | {step.first for step in steps} | {step.last + 1 for step in steps}
    rows = []
    for first, after in itertools.pairwise(sorted(starts)):
        last = after - 1
        alone = {track: step for track, found in columns.items() for step in found if step[:2] == (first, last)}
        words = {track: step.words for track, step in alone.items()}
        label = label_of(first, last)
        if not words:
            raise ValueError(
                f"name={name!r}: no track has `# {label} ...` alone: expected one with the words of this row"
            )
        if len(set(words.values())) > 1:
            raise ValueError(f"name={name!r}: expected the same words for step {label}, got {words}")
        rows.append(Row(first, last, next(iter(words.values())), {track: step.code for track, step in alone.items()}))
    return rows


def label_of(first: int, last: int) -> str:
    """The numbers of one or more steps, such as "3" and "3 to 6"."""
    return str(first) if first == last else f"{first} to {last}"


def count_lines(code: str) -> int:
    """Lines of code without comments; a signature, whatever it says of its arguments, is one line."""
    lines = [line for line in code.splitlines() if line.strip() and not line.strip().startswith("#")]
    extra = sum(
        node.body[0].lineno - node.lineno - 1
        for node in ast.walk(ast.parse("\n".join(lines)))
        if isinstance(node, ast.FunctionDef) and node.body[0].lineno > node.lineno
    )
    return len(lines) - extra


def lines(track: str, chapter: str, name: str) -> int:
    """Lines of code of a public class or function, as `cost` counts them."""
    return count_lines(source(track, chapter, name))
