"""What a notebook stores closed: the sections that a first reading leaves out, and the answers to its predictions.

A section is closed if its `###` heading begins with "Later", and a cell if it is tagged `answer`: its code and its output, because
either could give the answer away. JupyterLab keeps all this in the metadata of a cell: a collapsed heading hides the cells below
it, up to the next heading of its level or above; what is hidden of a cell is shown when the reader clicks on its dots, and its
output also when the reader runs it. The book makes folds of the same sections and cells.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import pairwise

import nbformat
from markdown_it import MarkdownIt

ANSWER = "answer"
QUIZ = "Quiz"
COLLAPSED = "jp-MarkdownHeadingCollapsed"
# In place of what is hidden, JupyterLab shows its first line. That of an output could be the answer: this output has none.
BLANK = nbformat.v4.new_output("display_data")
# A comment in a block of code is no heading; what is inside a heading stays as it is written.
_BLOCKS = MarkdownIt("commonmark").disable("inline")


def headings(cell: nbformat.NotebookNode) -> list[tuple[int, str, int]]:
    """The level of each heading of a cell, its text, and the line on which it begins, counted from 0."""
    if cell.cell_type != "markdown":
        return []
    tokens = _BLOCKS.parse(cell.source)
    return [
        (int(token.tag[1]), text.content, token.map[0])
        for token, text in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


def under(cells: Iterable[nbformat.NotebookNode], is_wanted: Callable[[str], bool]) -> Iterator[bool]:
    """For each cell, whether it is in a section whose heading is wanted."""
    inside = 0  # the level of that heading
    for cell in cells:
        for level, text, _ in headings(cell):
            if level <= inside:
                inside = 0
            if not inside and is_wanted(text):
                inside = level
        yield bool(inside)


def later(cells: Iterable[nbformat.NotebookNode]) -> Iterator[bool]:
    """For each cell, whether a first reading leaves it out: whether it is under a heading that begins with "Later"."""
    return under(cells, lambda heading: heading.startswith("Later"))


def main_line(cells: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """The cells of a first reading."""
    return [cell for cell, is_later in zip(cells, later(cells)) if not is_later]


def express_line(cells: list[nbformat.NotebookNode], can_wait: Collection[str]) -> list[nbformat.NotebookNode]:
    """The cells of a first reading that the express route doesn't leave for afterwards; a quiz asks about later sections, too.

    Raises:
        ValueError: for a section that isn't there.
    """
    found = {text for cell in cells for _, text, _ in headings(cell)}
    if missing := [heading for heading in can_wait if heading not in found]:
        raise ValueError(f"can_wait={missing} of course.toml: no such heading")
    waits = under(cells, lambda heading: heading in (*can_wait, QUIZ))
    return [cell for cell, *is_left in zip(cells, later(cells), waits) if not any(is_left)]


def is_answer(cell: nbformat.NotebookNode) -> bool:
    return ANSWER in cell.metadata.get("tags", [])


def close(cells: Iterable[nbformat.NotebookNode]) -> None:
    """Store closed the sections and cells that are to be closed, and no others, whatever an author's JupyterLab has saved."""
    for cell in cells:
        found = headings(cell)
        set_where(cell.metadata, COLLAPSED, bool(found) and found[0][1].startswith("Later"))
        if cell.cell_type == "code":
            # JupyterLab keeps the older "collapsed" equal to "outputs_hidden", and would add the one that is missing.
            jupyter = cell.metadata.pop("jupyter", {})
            was_answer = jupyter.get("outputs_hidden", False)  # code alone may be hidden as its author wants it
            set_where(jupyter, "source_hidden", is_answer(cell) or (jupyter.get("source_hidden") and not was_answer))
            set_where(jupyter, "outputs_hidden", is_answer(cell))
            set_where(cell.metadata, "jupyter", jupyter)
            set_where(cell.metadata, "collapsed", is_answer(cell))
            cell.outputs = [BLANK] * is_answer(cell) + [output for output in cell.outputs if output != BLANK]


def set_where(metadata: dict, key: str, value: bool | dict) -> None:
    """Set a key that has something to say, and remove one that has not."""
    if value:
        metadata[key] = value
    else:
        metadata.pop(key, None)
