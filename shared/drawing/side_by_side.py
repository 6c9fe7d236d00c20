"""The three codes of a chapter beside one another, rendered from the exported modules: their steps, their calls, and what each costs."""

import html
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd
from IPython.display import HTML
from pygments.lexers import PythonLexer

from shared.frameworks import private
from shared.frameworks.weights import get_weights
from shared.lesson_code import TRACKS, count_lines, lines, module, read_steps, source

__all__ = ["TRACKS", "cost", "dictionary", "lines", "module", "read_steps", "source", "steps"]

# Colors of code: those of the reader's theme in JupyterLab and in nbconvert's pages, these of a light page elsewhere.
_INK = {
    "Keyword": ("keyword", "#008000"),
    "Operator.Word": ("keyword", "#008000"),
    "Name.Builtin": ("builtin", "#0057ae"),
    "Literal.String": ("string", "#ba2121"),
    "Literal.Number": ("number", "#666666"),
    "Comment": ("comment", "#3f7e7e"),
}


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
            style = f"color:{private.editor_color(*found)}" if found else ""
            parts.append(f'<span style="{style}">{text}</span>' if found and text.strip() else text)
        hang = 0.6 * (len(line) - len(line.lstrip()) + 2)  # em: the width of a letter is 0.6 of its height
        lines.append(
            f'<span style="display:block;padding-left:{hang:.1f}em;text-indent:-{hang:.1f}em">{"".join(parts)}</span>'
        )
    return "".join(lines)


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
        lines = {f"lines, {title}": count_lines(source(track, chapter, name)) for track, title in TRACKS.items()}
        rows[name] = {"parameters": next(iter(counts.values())), **lines}
    return pd.DataFrame(rows).T
