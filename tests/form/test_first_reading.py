"""A first reading, in the chapters that say what it leaves out: what is folded, hidden, imported, and asked."""

import ast
import re
from itertools import pairwise, takewhile

import assemble
import folds
import nbformat
import pytest
from reading import NOTEBOOKS, code, for_each_chapter, for_each_page, imported, read, sections, with_a_main_line

from shared import contracts

FRAMEWORK = re.compile(r"(torch|keras|tensorflow|jax|shared\.(pytorch|keras))(\.|$)")
TYPES = re.compile(rf"\b({'|'.join(set(contracts.__all__) - {'Any'})})\b")


def faults_of_folds(notebook: nbformat.NotebookNode) -> list[str]:
    """A sentence for each fold that shows too much or too little."""
    messages = []
    inside = False
    for cell in notebook.cells:
        for level, text, line in folds.headings(cell):
            starts = text.startswith("Later")
            if starts and level != 3:
                messages.append(f"cell {cell.id}: a Later section has a ### heading")
            if line and (starts or (inside and level <= 3)):
                messages.append(f"cell {cell.id}: {text!r} must begin its cell, because whole cells are hidden")
            if starts and len(cell.source.strip().split("\n\n")) > 2:
                messages.append(
                    f"cell {cell.id}: more than a paragraph below {text!r} stays visible: begin another cell"
                )
            inside = starts or (inside and level > 3)
    for before, cell in pairwise(notebook.cells):
        asks = before.cell_type == "markdown" and "**Predict" in before.source.strip().split("\n\n")[-1]
        if asks and not folds.is_answer(cell):
            messages.append(f"cell {cell.id} answers a prediction, and is not tagged {folds.ANSWER}")
    for cell in code(notebook):
        if folds.is_answer(cell) and all(output == folds.BLANK for output in cell.outputs):
            messages.append(f"cell {cell.id} is tagged {folds.ANSWER}, and has no output")
    return messages


def faults_of_lesson(notebook: nbformat.NotebookNode) -> list[str]:
    """A sentence for each thing that a first reader of a NumPy notebook should not meet, or misses."""
    messages = []
    for cell in code(notebook):
        others = sorted(name for name in imported(cell.source) if FRAMEWORK.match(name))
        if others:
            messages.append(f"cell {cell.id} imports {others[0]}, which is for compare or a test")
        if cell.source.startswith("#| export"):
            functions = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.FunctionDef)]
            messages += [
                f"cell {cell.id}: {function.name} has more than one decorator"
                for function in functions
                if len(function.decorator_list) > 1
            ]
    found = sections(notebook)
    for title in takewhile(lambda title: title != "Build it", found):
        messages += [
            f"cell {cell.id} speaks of types before the idea"
            for cell in found[title]
            if cell.cell_type == "code" and TYPES.search(cell.source)
        ]
    asked = "\n\n".join(cell.source for cell in folds.main_line(notebook.cells) if cell.cell_type == "markdown")
    exercises = re.split(r"^(?=\*\*\d\d\.\d+ )", asked, flags=re.MULTILINE)
    to_code = [each.lower() for each in exercises if re.match(r"\*\*[^*]+\*\* \(code", each)]
    if not any("close the book" in each for each in to_code):
        messages.append("no code exercise of the first reading says close the book")
    links = [link for cell in found["Next"] for link in assemble.links(cell.source) if link.startswith("http")]
    if not 2 <= len(set(links)) <= 4:
        messages.append(f"Next has {len(set(links))} links to read on: expected two to four")
    return messages


@for_each_page(with_a_main_line())
def test_what_is_folded_is_folded_well(path):
    assert faults_of_folds(read(path)) == []


@for_each_chapter(with_a_main_line())
def test_a_numpy_notebook_is_a_lesson_of_its_own(chapter):
    assert faults_of_lesson(read(NOTEBOOKS / chapter.folder / "numpy.ipynb")) == []


def sound() -> dict[str, nbformat.NotebookNode]:
    """The cells of a lesson without a fault, by their ids, in their order."""
    text, run = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
    printed = nbformat.v4.new_output("stream", text="2\n")
    cells = [
        text("## By hand\n\nText.\n\n**Predict, then run.** How much?", id="ask"),
        run("print(1 + 1)", id="answer", metadata={"tags": ["answer"]}, outputs=[folds.BLANK, printed]),
        text("## Build it\n\nText.", id="build"),
        run("#| export\n@checked\ndef double(x: Float[ndarray, 'n']): ...", id="export"),
        text("### Later: more\n\nText.", id="later"),
        text("Much more.\n\n#### Inside\n\nText.", id="inside"),
        text("### The end\n\nText.", id="end"),
        text("## Exercises\n\n**01.1 A** (predict, 1 minute). How much?", id="exercises"),
        text("**01.2 B** (code, 5 minutes). Close the book, and write it.", id="exercise"),
        text("## Next\n\n[A](https://a.org), [B](https://b.org), [02](../02/numpy.ipynb).", id="next"),
    ]
    return {cell.id: cell for cell in cells}


def break_level(cells):
    cells["later"].source = "#### Later: more\n\nText."


def break_later_in_the_middle(cells):
    cells["later"].source = "Text.\n\n### Later: more"


def break_end_in_the_middle(cells):
    cells["end"].source = "Text that the book hides.\n\n### The end\n\nText."


def break_end_in_the_later_cell(cells):
    cells["later"].source = "### Later: more\n### The end"


def break_long_opening(cells):
    cells["later"].source += "\n\nText that JupyterLab shows."


def break_untagged_answer(cells):
    cells["answer"].metadata.tags = ["inputs"]


def break_answer_without_output(cells):
    cells["answer"].outputs.pop()


def break_import(cells):
    cells["answer"].source = "def f():\n    import torch.nn as nn"


def break_import_from(cells):
    cells["answer"].source = "from shared import keras"


def break_import_of_an_export(cells):
    cells["answer"].source = "from shared.pytorch.attention import MultiHeadAttention"


def break_decorators(cells):
    cells["export"].source = "#| export\nclass A:\n    @classmethod\n    @checked\n    def make(cls): ..."


def break_types(cells):
    cells["answer"].source = "def f(x: Float[ndarray, 'n']): ..."


def break_checked(cells):
    cells["answer"].source = "from shared.contracts import checked"


def break_exercises(cells):
    cells["exercises"].source += " Close the book."
    cells["exercise"].source = "**01.2 B** (code, 5 minutes). Write it."


def break_few_links(cells):
    cells["next"].source = "## Next\n\n[A](https://a.org), [A](https://a.org), [02](../02/numpy.ipynb)."


def break_many_links(cells):
    cells["next"].source += "".join(f" [x](https://{name}.org)" for name in "cde")


@pytest.mark.parametrize("damage", [value for name, value in list(globals().items()) if name.startswith("break_")])
def test_each_fault_is_found(damage):
    def faults(cells: dict) -> list[str]:
        notebook = nbformat.v4.new_notebook(cells=list(cells.values()))
        return faults_of_folds(notebook) + faults_of_lesson(notebook)

    cells = sound()
    assert faults(cells) == []
    damage(cells)
    assert len(faults(cells)) == 1
