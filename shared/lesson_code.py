"""The code of the lessons, read from the exported modules: without its docstrings, by its numbered steps, and counted."""

import ast
import importlib
import inspect
import re
import textwrap
from types import ModuleType

TRACKS = {"numpy": "NumPy", "pytorch": "PyTorch", "keras": "Keras"}
# A method that a framework has in two parts: where the one ends and the other goes on.
PARTS = {("keras", "training", "Adam.step"): ("Adam.apply", "Adam.update_step")}
_STEP = re.compile(r"^\s*# (\d+) (\S.*)$")


def module(track: str, chapter: str) -> ModuleType:
    """The exported module of a chapter, such as `shared.numpy.attention` for ("numpy", "attention")."""
    return importlib.import_module(f"shared.{track}.{chapter}")


def source(track: str, chapter: str, name: str) -> str:
    """The code of a public class or function without its docstrings and blank lines: what remains is what runs.

    Args:
        track: "numpy", "pytorch" or "keras".
        chapter: the module's name, such as "attention".
        name: a public name of that module.

    Raises:
        ValueError: if the module has no such name.
    """
    found = getattr(module(track, chapter), name, None)
    if found is None:
        raise ValueError(f"name={name!r}: shared.{track}.{chapter} has no such name")
    text = inspect.getsource(found)
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


def read_steps(track: str, chapter: str, name: str) -> list[tuple[list[str], str]]:
    """The numbered steps of an exported function, of the call of a class, or of a Class.method: pairs of (the words of one or more steps, their code).

    The code of a step ends at the next step comment or at an empty line: what follows that is bookkeeping.
    Several step comments directly above one another belong to the one call below them. Where this call is a function of the same
    module that has just these steps, its own code is taken.

    Raises:
        ValueError: if the module has no such name, or the function no numbered steps, or their numbers are not 1, 2, 3, ...
    """
    lines = []
    for each in PARTS.get((track, chapter, name), (name,)):
        found = module(track, chapter)
        for part in each.split("."):
            found = getattr(found, part, None)
        if inspect.isclass(found):
            found = getattr(found, "call" if track == "keras" else "forward", None)
        if found is None:
            raise ValueError(f"name={name!r}: shared.{track}.{chapter} has no such function, and no such class to call")
        lines += ["", *inspect.getsource(inspect.unwrap(found)).splitlines()]
    numbers, groups, ended = [], [], False
    for line in lines:
        step = _STEP.match(line)
        if step:
            numbers.append(int(step[1]))
            if groups and not groups[-1][1]:
                groups[-1][0].append(step[2])
            else:
                groups.append(([step[2]], []))
        elif groups and line.strip() and not ended:
            groups[-1][1].append(line)
        ended = not line.strip() or (ended and not step)
    if not numbers or numbers != list(range(1, len(numbers) + 1)):
        raise ValueError(f"shared.{track}.{chapter}.{name} has the steps {numbers}: expected 1, 2, 3, ...")
    steps = []
    for words, lines in groups:
        code = textwrap.dedent("\n".join(lines))
        steps += _opened(track, chapter, words, code) or [(words, code)]
    return steps


def _opened(track: str, chapter: str, words: list[str], code: str) -> list[tuple[list[str], str]] | None:
    """The steps of the function of the module that the code calls, if it is one call and takes the same steps."""
    if len(words) == 1:
        return None
    [*statements] = ast.parse(code).body
    value = getattr(statements[0], "value", None)
    if len(statements) != 1 or not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return None
    try:
        inner = read_steps(track, chapter, value.func.id)
    except ValueError:
        return None
    if [word for group, _ in inner for word in group] != words:
        return None
    inner[0] = (inner[0][0], f"# inside {value.func.id}\n{inner[0][1]}")
    if isinstance(statements[0], ast.Assign):
        inner[-1] = (inner[-1][0], f"{inner[-1][1]}\n# outside: {ast.unparse(statements[0].targets[0]).strip('()')}")
    return inner


def count_lines(code: str) -> int:
    """Lines of code without comments; a signature, whatever it says of its arguments, is one line."""
    extra = sum(
        node.body[0].lineno - node.lineno - 1
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef) and node.body[0].lineno > node.lineno
    )
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in code.splitlines()) - extra


def lines(track: str, chapter: str, name: str) -> int:
    """Lines of code of a public class or function, as `cost` counts them."""
    return count_lines(source(track, chapter, name))
