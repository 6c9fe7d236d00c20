"""The three codes of a chapter beside one another, rendered from the exported modules: their steps, their calls, and what each costs."""

import html
import itertools
import re
from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd
from IPython.display import HTML
from pygments.lexers import PythonLexer

from shared import private
from shared.frameworks.weights import get_weights
from shared.lesson_code import (
    TRACKS,
    Row,
    Step,
    count_lines,
    label_of,
    lines,
    module,
    pair_steps,
    read_steps,
    source,
)

__all__ = ["TRACKS", "cost", "dictionary", "lines", "module", "pair_steps", "read_steps", "source", "steps"]

# Colors of code: those of the reader's theme in JupyterLab and in nbconvert's pages, these of a light page elsewhere.
_INK = {
    "Keyword": ("keyword", "#008000"),
    "Operator.Word": ("keyword", "#008000"),
    "Name.Builtin": ("builtin", "#0057ae"),
    "Literal.String": ("string", "#ba2121"),
    "Literal.Number": ("number", "#666666"),
    "Comment": ("comment", "#3f7e7e"),
}
# Inline styles alone, because a notebook that isn't trusted yet keeps no style sheet. No ground and no ink of its own, so that a
# table takes those of the page; and JupyterLab's stripes would cut tall cells.
_GROUND = "background-color:transparent"
_TABLE = f"border-collapse:collapse;table-layout:fixed;width:100%;font:13px/1.45 sans-serif;{_GROUND}"
_CELL = "border:1px solid #9aa1a9;padding:6px 8px;text-align:left;vertical-align:top"
_CODE = "margin:0;padding:0;border:0;background:transparent;color:inherit;font:13px/1.45 monospace;text-align:left"
_CODE += ";white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"
# A line is broken between its chunks: each goes to the next line whole, unless it is wider than the column.
_CHUNK = "display:inline-block;max-width:100%;box-sizing:border-box;padding-left:0.6em;text-indent:-0.6em"
_MARK = "background-color:rgba(255,170,0,0.3);color:inherit;border-radius:2px"
_MARKED = ("Name", "Literal", "Keyword.Constant")


def _tokens(code: str) -> list[list[tuple[str, str]]]:
    """The lines of some code, each a list of tokens: their kind, as Pygments calls it, and their text."""
    lines = [[]]
    for token, text in PythonLexer(stripnl=False).get_tokens(code):
        for part in re.split(r"(\n)", text):
            if part == "\n":
                lines.append([])
            elif part:
                lines[-1].append((str(token).removeprefix("Token."), part))
    return lines[:-1]  # the lexer ends the last line, too


def _words(code: str) -> set[str]:
    """The names, numbers and texts in some code."""
    found = {text for line in _tokens(code) for kind, text in line if kind.startswith(_MARKED)}
    return found - {"'", '"'}


def _may_break(before: str, kind: str, text: str) -> bool:
    """Whether a line may be broken before a token: after a comma or an opening bracket, and before an operator."""
    if before.endswith(("(", "[", "{")):
        return text not in (")", "]", "}")
    operator = kind.startswith("Operator") and text not in ("=", "in", "is", "not")
    return before.endswith(", ") or (before.endswith(" ") and (operator or text in ("for", "if", "else")))


def _chunk(code: str) -> str:
    """A part of a line; the spaces behind it are outside, where a line may end."""
    text = code.rstrip(" ")
    return f'<span style="{_CHUNK}">{text}</span>{code[len(text) :]}'


def _colored(code: str, marked: Collection[str] = ()) -> str:
    """The code as HTML. A line that is too long for its column goes on below, two letters further in than it began.

    Args:
        code: one or more lines.
        marked: the names, numbers and texts that get a ground of their own.
    """
    lines = []
    for line in _tokens(code):
        before, chunks, comment = "", [""], ""
        for kind, text in line:
            part = html.escape(text)
            if kind == "Name" and len(text) > 20:  # nearly as wide as a column
                part = part.replace("_", "_<wbr>")
            found = next((ink for start, ink in _INK.items() if kind.startswith(start)), None)
            if found:
                part = f'<span style="color:{private.editor_color(*found)}">{part}</span>'
            if kind == "Operator" and text in (".", "="):  # where a chunk that is too wide is broken first
                part = f"<wbr>{part}" if text == "." else f"{part}<wbr>"
            if text in marked and kind.startswith(_MARKED):
                part = f'<mark style="{_MARK}">{part}</mark>'
            if kind.startswith("Comment"):  # the end of a line, which may be broken at each space
                comment = part
            elif before.strip() and _may_break(before, kind, text):
                chunks.append(part)
            else:
                chunks[-1] += part
            before += text
        hang = 0.6 * (len(before) - len(before.lstrip()) + 2)  # em: the width of a letter is 0.6 of its height
        style = f"display:block;padding-left:{hang:.1f}em;text-indent:-{hang:.1f}em"
        first, *others = chunks
        shown = "<wbr>".join([first, *map(_chunk, others)])
        lines.append(f'<span style="{style}">{shown}{comment}')
    # The newlines are for a page that drops the styles; at the end of a block they are not seen.
    return "\n</span>".join(lines) + "</span>"


def _pre(code: str, marked: Collection[str] = ()) -> str:
    return f'<pre style="{_CODE}">{_colored(code, marked)}</pre>'


def steps(
    chapter: str, name: str, elsewhere: dict[str, str] | None = None, tracks: Sequence[str] = tuple(TRACKS)
) -> HTML:
    """Show the steps of a function, of the call of a class, or of a Class.method: a row for each step, a column for each track.

    A cell spans the steps that one call does. Rows that are the same in all tracks are one row, and a function that is the
    same is no table. What is not in every cell of a row is marked.

    Args:
        chapter: the module's name, such as "attention".
        name: a public name that the tracks share.
        elsewhere: track -> the code to show for one that has no such name, because its library does all steps.
        tracks: two or three of "numpy", "pytorch" and "keras".

    Raises:
        ValueError: if a track has no such name, or the steps of the tracks do not fit one another.
    """
    elsewhere = elsewhere or {}
    if not set(tracks) <= set(TRACKS) or len(set(tracks)) != len(tracks) or len(tracks) < 2:
        raise ValueError(f"tracks={tracks}: expected two or three of {', '.join(TRACKS)}")
    if not set(elsewhere) <= set(tracks):
        raise ValueError(f"elsewhere={elsewhere}: expected code for some of the tracks {', '.join(tracks)}")
    titles = [TRACKS[track] for track in tracks]
    columns = {track: read_steps(track, chapter, name) for track in tracks if track not in elsewhere}
    rows = pair_steps(name, columns)
    for track, code in elsewhere.items():
        columns[track] = [Step(rows[0].first, rows[-1].last, "", code)]
    if all(_is_same(row, tracks) for row in rows):
        wording = f"The steps of <code>{name}</code> are the same in {', '.join(titles)}:"
        return HTML(f"<p>{wording}</p>{_pre(_together(rows))}")

    body = []
    for same, run in itertools.groupby(rows, key=lambda row: _is_same(row, tracks)):
        run = list(run)
        if same:
            words, code = run[0].words, _code(run[0])
            if len(run) > 1:
                words, code = "", _together(run)
            cell = f'<td colspan="{len(tracks)}" style="{_CELL}">{_pre(code)}</td>'
            label = label_of(run[0].first, run[-1].last)
            body.append(
                _row(
                    label,
                    f"{html.escape(words)}<br><i>the same in {'both' if len(tracks) == 2 else 'all three'}</i>",
                    cell,
                )
            )
        else:
            for row in run:
                cells = "".join(_cell(track, row, rows, columns) for track in tracks)
                body.append(_row(label_of(row.first, row.last), html.escape(row.words), cells))
    head = "".join(f'<th scope="col" style="{_CELL};font-weight:600">{each}</th>' for each in ("step", *titles))
    width = 30 if len(tracks) == 3 else 42
    widths = "".join(f'<col style="width:{each}%">' for each in (100 - width * len(tracks), *[width] * len(tracks)))
    caption = ""
    if "<mark" in "".join(body):
        says = "in one of the two alone" if len(tracks) == 2 else "not in every cell of its row"
        legend = f'<mark style="{_MARK}">marked</mark>: {says}'
        style = "caption-side:bottom;text-align:left;padding:6px 0;font:13px/1.45 sans-serif;color:inherit"
        caption = f'<caption style="{style}">{legend}</caption>'
    label = f"The steps of {name} in {', '.join(titles[:-1])} and {titles[-1]}"
    return HTML(
        f'<table aria-label="{label}" style="{_TABLE}">{caption}<colgroup>{widths}</colgroup>'
        f'<thead><tr style="{_GROUND}">{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'
    )


def _is_same(row: Row, tracks: Sequence[str]) -> bool:
    """Whether the tracks have the same code for a row."""
    return len(row.codes) == len(tracks) and len(set(row.codes.values())) == 1


def _together(rows: list[Row]) -> str:
    """The code of rows that are the same in all tracks, with their comments."""
    return "\n".join(f"# {label_of(row.first, row.last)} {row.words}\n{_code(row)}" for row in rows)


def _code(row: Row) -> str:
    return next(iter(row.codes.values()))


def _row(label: str, words: str, cells: str) -> str:
    return (
        f'<tr style="{_GROUND}"><th scope="row" style="{_CELL};font-weight:400"><b>{label}</b> {words}</th>{cells}</tr>'
    )


def _cell(track: str, row: Row, rows: list[Row], columns: dict[str, list[Step]]) -> str:
    """The cell of a track that begins in a row; nothing where one goes on that began above."""
    found = [step for step in columns[track] if step.first <= row.first <= step.last]
    if not found:
        return f'<td style="{_CELL}">—</td>'
    [step] = found
    if step.first < row.first:
        return ""
    height = sum(step.first <= each.first <= step.last for each in rows)
    others = [_words(each.code) for steps in columns.values() for each in steps if each[:2] == step[:2]]
    marked = _words(step.code) - set.intersection(*others) if len(others) > 1 else ()
    return f'<td rowspan="{height}" style="{_CELL}">{_pre(step.code, marked)}</td>'


def dictionary(entries: Sequence[Sequence[str]], columns: Sequence[str] = tuple(TRACKS.values())) -> HTML:
    """Show calls that do the same: for each entry its pattern in a line of its own, and below it a call in each column.

    Args:
        entries: the pattern, and the code of each column.
        columns: their titles.

    Raises:
        ValueError: if there is no entry, or one has not as many texts.
    """
    if not entries or any(len(entry) != 1 + len(columns) for entry in entries):
        raise ValueError(f"entries: expected one or more, each of a pattern and a call in {', '.join(columns)}")
    head = "".join(f'<th scope="col" style="{_CELL};font-weight:600">{each}</th>' for each in columns)
    rows = []
    for pattern, *calls in entries:
        # A pattern is never broken; a call may be.
        line = f'<pre style="{_CODE};white-space:pre;font-weight:600">{html.escape(pattern)}</pre>'
        rows.append(
            f'<tr style="{_GROUND}"><th colspan="{len(columns)}" scope="rowgroup" style="{_CELL}">{line}</th></tr>'
        )
        cells = "".join(f'<td style="{_CELL}">{_pre(call)}</td>' for call in calls)
        rows.append(f'<tr style="{_GROUND}">{cells}</tr>')
    label = f"{len(entries)} patterns, and the call in {', '.join(columns[:-1])} and {columns[-1]} that does the same"
    return HTML(
        f'<table aria-label="{label}" style="{_TABLE}"><thead><tr style="{_GROUND}">{head}</tr></thead>'
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
