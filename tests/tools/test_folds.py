"""What is stored closed, that `make run` and `make tidy` keep it so, and that the main line needs nothing of the Later sections."""

import builtins
import symtable

import folds
import nbformat
import pytest
import reading

import notebooks

v4 = nbformat.v4
KNOWN = {*dir(builtins), "display", "__name__", "__spec__"}  # to every cell
HIDDEN = {"tags": ["answer"], "collapsed": True, "jupyter": {"source_hidden": True, "outputs_hidden": True}}


def lesson() -> nbformat.NotebookNode:
    """A question with its answer, and a Later section between two of the main line."""
    cells = [
        v4.new_markdown_cell("## By hand\n\n**Predict, then run.** How much is it?", id="ask"),
        v4.new_code_cell("print(1 + 1)", id="answer", metadata={"tags": ["answer"]}),
        v4.new_markdown_cell("### Later: more\n\nText.", id="later"),
        v4.new_code_cell("more = 3", id="more"),
        v4.new_markdown_cell("#### Even more\n\n```\n# no heading\n```", id="inside"),
        v4.new_markdown_cell("### The end\n\nText.", id="end"),
        v4.new_code_cell("print(4)", id="last"),
    ]
    return v4.new_notebook(cells=cells)


def test_a_later_section_ends_at_the_next_heading_of_its_level_or_above():
    cells = lesson().cells
    assert [cell.id for cell, is_later in zip(cells, folds.later(cells)) if is_later] == ["later", "more", "inside"]
    assert [cell.id for cell in folds.main_line(cells)] == ["ask", "answer", "end", "last"]
    for ending, left_out in (("### Later: another", 4), ("## Use it", 3)):
        cells[5].source = ending
        assert sum(folds.later(cells[:6])) == left_out


def test_later_headings_and_answers_are_closed_and_nothing_else():
    cells = lesson().cells
    cells[0].metadata = {folds.COLLAPSED: True}
    cells[3].metadata = {"jupyter": {"source_hidden": True}}
    cells[6].metadata = {"collapsed": True, "jupyter": {"outputs_hidden": True}}
    for _ in range(2):
        folds.close(cells)
        assert {cell.id: cell.metadata for cell in cells if cell.metadata} == {
            "answer": HIDDEN,
            "later": {folds.COLLAPSED: True},
            "more": {"jupyter": {"source_hidden": True}},  # as its author wants it
        }
        assert [len(cell.get("outputs", [])) for cell in cells] == [0, 1, 0, 0, 0, 0, 0]
    cells[1].metadata.tags = []
    folds.close(cells)
    assert cells[1].metadata == {"tags": []} and cells[1].outputs == []


def test_run_stores_closed_what_is_tagged(tmp_path):
    path = tmp_path / "lesson.ipynb"
    nbformat.write(lesson(), path)
    for _ in range(2):
        notebooks.run(path)
        stored = nbformat.read(path, as_version=4)
        nbformat.validate(stored)
        assert stored.cells[1].metadata == HIDDEN and stored.cells[2].metadata == {folds.COLLAPSED: True}
        assert [output.get("text") for output in stored.cells[1].outputs] == [None, "2\n"]


def names(source: str) -> tuple[set[str], set[str], set[str]]:
    """What a cell's own lines read, what its functions read of the notebook, and what the cell binds."""
    table = symtable.symtable(source, "cell", "exec")
    now = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    bound = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    inside, scopes = set(), table.get_children()
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        inside |= {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global() and symbol.is_referenced()}
    return now, inside, bound


def lost(cells: list[nbformat.NotebookNode]) -> list[str]:
    """Each name that a cell of the main line reads, and that nothing of the main line has bound."""
    code = [cell for cell in folds.main_line(cells) if cell.cell_type == "code"]
    anywhere = KNOWN.union(*(names(cell.source)[2] for cell in code))
    before, wrong = set(KNOWN), []
    for cell in code:
        now, inside, bound = names(cell.source)
        missed = (now - bound - before) | (inside - anywhere)
        wrong += [f"{cell.id}: {name}" for name in sorted(missed)]
        before |= bound
    return wrong


def test_a_main_line_that_needs_a_later_section_is_found():
    cells = lesson().cells
    assert lost(cells) == []
    for source in ("print(more)", "def f():\n    return more", "print([each + more for each in (1, 2)])"):
        cells[-1].source = source
        assert lost(cells) == ["last: more"]
    for source in ("more = 4\nprint(more)", "def f(more):\n    return more", "print([more for more in (1, 2)])"):
        cells[-1].source = source
        assert lost(cells) == []


@pytest.mark.parametrize(
    "chapter",
    [pytest.param(each, id=each.folder, marks=pytest.mark.chapter(each.number)) for each in reading.with_a_main_line()],
)
def test_the_main_line_of_a_chapter_needs_no_later_section(chapter):
    """Read, not run: that its cells run, in this order, is what the notebook's own test shows."""
    assert lost(nbformat.read(reading.NOTEBOOKS / chapter.folder / "numpy.ipynb", as_version=4).cells) == []
