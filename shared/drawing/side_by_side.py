"""The three codes of a chapter beside one another, rendered from the exported modules, and the one glossary of their names."""

import ast
import html
import importlib
import inspect
import re
import textwrap
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pandas as pd
from IPython.display import HTML
from pygments.lexers import PythonLexer

from shared.frameworks.weights import get_weights

TRACKS = {"numpy": "NumPy", "pytorch": "PyTorch", "keras": "Keras"}

# Names that Keras users know, and the course's own.
GLOSSARY = {"maxlen": "max_length", "embed_dim": "d_model", "ff_dim": "d_ff", "rate": "dropout"}


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


# Colors of code: those of the reader's theme in JupyterLab and in nbconvert's pages, these of a light page elsewhere.
_INK = {
    "Keyword": ("keyword", "#008000"),
    "Operator.Word": ("keyword", "#008000"),
    "Name.Builtin": ("builtin", "#0057ae"),
    "Literal.String": ("string", "#ba2121"),
    "Literal.Number": ("number", "#666666"),
    "Comment": ("comment", "#3f7e7e"),
}
# A method that a framework has in two parts: where the one ends and the other goes on.
PARTS = {("keras", "training", "Adam.step"): ("Adam.apply", "Adam.update_step")}
_STEP = re.compile(r"^\s*# (\d+) (\S.*)$")


def _colored(code: str) -> str:
    """The code as HTML, with nothing but inline styles: a notebook that isn't trusted yet keeps no style sheet.

    A line that is too long for its column goes on below, two letters further in than it began.
    """
    lines = []
    for line in code.splitlines():
        parts = []
        for token, text in PythonLexer(stripnl=False, stripall=False).get_tokens(line):
            name = str(token).removeprefix("Token.")
            found = next((ink for kind, ink in _INK.items() if name.startswith(kind)), None)
            text = html.escape(text.rstrip("\n"))
            if not name.startswith("Literal"):  # where a line may break, beside at spaces
                text = re.sub(r"(\()|(?=\.)", r"\1<wbr>", text)
                if len(text) > 20:
                    text = text.replace("_", "_<wbr>")
            style = f"color:var(--jp-mirror-editor-{found[0]}-color,{found[1]})" if found else ""
            parts.append(f'<span style="{style}">{text}</span>' if found and text.strip() else text)
        hang = 0.6 * (len(line) - len(line.lstrip()) + 2)  # em: the width of a letter is 0.6 of its height
        lines.append(
            f'<span style="display:block;padding-left:{hang:.1f}em;text-indent:-{hang:.1f}em">{"".join(parts)}</span>'
        )
    return "".join(lines)


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


def steps(chapter: str, name: str, elsewhere: dict[str, str] | None = None) -> HTML:
    """Show the steps of a function, of the call of a class, or of a Class.method: a row for each step, a column for each track.

    A cell spans the steps that one call does.

    Args:
        chapter: the module's name, such as "attention".
        name: a public name that the three tracks share.
        elsewhere: track -> the code to show for one that has no such name, because its library does all steps.

    Raises:
        ValueError: if a track has no such name, or the steps are not the same in the three tracks.
    """
    elsewhere = elsewhere or {}
    columns = {track: read_steps(track, chapter, name) for track in TRACKS if track not in elsewhere}
    words = {track: [word for group, _ in found for word in group] for track, found in columns.items()}
    first = next(iter(words))
    for track, told in words.items():
        if told != words[first]:
            raise ValueError(f"{name} has the steps {told} in {track}, and {words[first]} in {first}")
    columns |= {track: [(words[first], code)] for track, code in elsewhere.items()}
    border = "border:1px solid #9aa1a9;padding:6px 8px;text-align:left;vertical-align:top"
    # No ground and no ink of its own, so that it takes those of the page; and JupyterLab's stripes would cut tall cells.
    ground = "background-color:transparent"
    code_style = "margin:0;padding:0;border:0;background:transparent;color:inherit;font:13px/1.45 monospace"
    code_style += ";white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere;text-align:left"
    head = "".join(
        f'<th scope="col" style="{border};font-weight:600">{each}</th>' for each in ("step", *TRACKS.values())
    )
    rows = []
    for number, word in enumerate(words[first]):
        cells = [f'<th scope="row" style="{border};font-weight:400"><b>{number + 1}</b> {html.escape(word)}</th>']
        for track in TRACKS:
            start = 0
            for group, code in columns[track]:
                if start == number:
                    pre = f'<pre style="{code_style}">{_colored(code)}</pre>'
                    cells.append(f'<td rowspan="{len(group)}" style="{border}">{pre}</td>')
                start += len(group)
        rows.append(f'<tr style="{ground}">{"".join(cells)}</tr>')
    widths = "".join(f'<col style="width:{width}%">' for width in (10, 30, 30, 30))
    table = f"border-collapse:collapse;table-layout:fixed;width:100%;font:13px/1.45 sans-serif;{ground}"
    label = f"The steps of {name} in NumPy, PyTorch and Keras"
    return HTML(
        f'<table aria-label="{label}" style="{table}"><colgroup>{widths}</colgroup>'
        f'<thead><tr style="{ground}">{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def dictionary(entries: Sequence[Sequence[str]]) -> HTML:
    """Show calls that do the same: for each entry its pattern in a line of its own, and below it a call in each track.

    Args:
        entries: of four texts each: the pattern, and the code in NumPy, PyTorch and Keras.

    Raises:
        ValueError: if there is no entry, or one has not four texts.
    """
    if not entries or any(len(entry) != 4 for entry in entries):
        raise ValueError("entries: expected one or more, each of a pattern and a call in the three tracks")
    border = "border:1px solid #9aa1a9;padding:5px 8px;text-align:left;vertical-align:top"
    ground = "background-color:transparent"
    code_style = "margin:0;padding:0;border:0;background:transparent;color:inherit;font:13px/1.45 monospace"
    code_style += ";text-align:left;word-break:normal;overflow-wrap:anywhere"
    head = "".join(f'<th scope="col" style="{border};font-weight:600">{each}</th>' for each in TRACKS.values())
    rows = []
    for pattern, *calls in entries:
        # A pattern is never broken; a call may be, at a dot, a bracket or a space.
        line = f'<pre style="{code_style};white-space:pre;font-weight:600">{html.escape(pattern)}</pre>'
        rows.append(f'<tr style="{ground}"><th colspan="3" scope="rowgroup" style="{border}">{line}</th></tr>')
        cells = [f'<pre style="{code_style};white-space:pre-wrap">{_colored(call)}</pre>' for call in calls]
        cells = "".join(f'<td style="{border}">{cell}</td>' for cell in cells)
        rows.append(f'<tr style="{ground}">{cells}</tr>')
    table = f"border-collapse:collapse;table-layout:fixed;width:100%;font:13px/1.45 sans-serif;{ground}"
    label = f"{len(entries)} patterns, and the call in NumPy, PyTorch and Keras that does the same"
    return HTML(
        f'<table aria-label="{label}" style="{table}"><thead><tr style="{ground}">{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _lines(code: str) -> int:
    """Lines of code without comments; a signature, whatever it says of its arguments, is one line."""
    extra = sum(
        node.body[0].lineno - node.lineno - 1
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef) and node.body[0].lineno > node.lineno
    )
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in code.splitlines()) - extra


def lines(track: str, chapter: str, name: str) -> int:
    """Lines of code of a public class or function, as `cost` counts them."""
    return _lines(source(track, chapter, name))


def cost(chapter: str, models: dict[str, dict[str, Any]]) -> pd.DataFrame:
    """What each class costs: parameters of an instance, and lines of code without docstrings, comments and blank lines.

    Args:
        chapter: the module's name, such as "attention".
        models: name of a class -> {"numpy": instance, "pytorch": instance, "keras": built instance}.

    Raises:
        AssertionError: if the three instances do not have the same number of parameters.
    """
    rows = {}
    for name, instances in models.items():
        counts = {track: sum(array.size for array in get_weights(model).values()) for track, model in instances.items()}
        if len(set(counts.values())) != 1:
            raise AssertionError(f"{name} has different numbers of parameters: {counts}")
        lines = {f"lines, {title}": _lines(source(track, chapter, name)) for track, title in TRACKS.items()}
        rows[name] = {"parameters": next(iter(counts.values())), **lines}
    return pd.DataFrame(rows).T
