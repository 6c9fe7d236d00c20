"""The anatomy of a chapter and of the map: what only a person can decide, such as a heading, an exercise or a result to look at."""

import os
import re

import folds
import pytest
from assemble import TO_COMPARE
from reading import (
    CHECK,
    GLOSSARY,
    MAP,
    NOTEBOOKS,
    PAGES,
    TRACKS,
    asked,
    code,
    for_each_chapter,
    for_each_page,
    prose,
    read,
    sections,
)

from shared import chapters, exercises

LESSON = ["Why", "By hand", "Build it", "Use it", "Check it", "Pitfalls", "Exercises", "Next"]
COMPARISON = ["Step by step", "Dictionary", "Key differences", "Proof", "Cost", "Exercises"]
# Where every cell shows a result, but for inputs that the next cell shows (tagged `inputs`) and code for the course (`export`).
SHOWN = {"By hand", "Use it", "Check it", "Pitfalls", "Step by step", "Key differences", "Proof", "Cost"}
WIDEST = 90  # letters of a line of code on the page


@for_each_chapter()
def test_the_notebooks_of_a_chapter_have_the_same_headings(chapter):
    for track in TRACKS:
        assert list(sections(read(NOTEBOOKS / chapter.folder / f"{track}.ipynb")))[1:] == LESSON, track
    assert list(sections(read(NOTEBOOKS / chapter.folder / "compare.ipynb")))[1:] == COMPARISON


def test_the_book_leads_from_a_heading_to_one_that_there_is():
    assert set(TO_COMPARE) <= set(LESSON) and set(TO_COMPARE.values()) <= set(COMPARISON)


@for_each_page()
def test_a_notebook_opens_with_a_title_and_a_link_to_what_it_builds_on(path):
    opening = read(path).cells[0].source
    assert re.match(r"# \w", opening)
    assert re.search(r"\]\([^)]+\.ipynb", opening), "no link to what it builds on"


@for_each_page()
def test_a_heading_has_a_sentence_under_it(path):
    for cell in prose(read(path)):
        for heading, below in re.findall(r"^(#+ .+)\n+(.*)", cell.source + "\n", re.MULTILINE):
            assert below.strip() and not below.startswith("#"), f"{cell.id}: nothing under {heading!r}"


@for_each_page()
def test_what_is_claimed_is_shown(path):
    for title, cells in sections(read(path)).items():
        for before, cell in zip([None, *cells], cells):
            if cell.cell_type != "code":
                continue
            if cell.source.startswith("#| export"):  # its code is what it shows
                continue
            announced = before is not None and before.cell_type == "markdown" and before.source.rstrip().endswith(":")
            wanted = title in SHOWN and "inputs" not in cell.metadata.get("tags", [])
            shown = any(output.get("data") or output.get("text", "").strip() for output in cell.outputs)
            assert shown or not (announced or wanted), f"{cell.id} shows nothing"


@for_each_page()
def test_inputs_are_shown_by_the_next_cell(path):
    cells = code(read(path))
    for cell, following in zip(cells, [*cells[1:], None]):
        if "inputs" in cell.metadata.get("tags", []):
            assert not cell.outputs and following.outputs, f"{cell.id} is tagged inputs"


@for_each_page()
def test_frameworks_are_seeded(path):
    """`import shared.notebook` seeds what is imported already; a framework that comes later draws other numbers in every run."""
    source = "\n".join(cell.source for cell in code(read(path)))
    if path.stem != "numpy":
        assert "shared.set_seed(" in source, "a notebook with a framework calls shared.set_seed(0)"


@for_each_page()
def test_lines_of_code_fit_the_page(path):
    for cell in code(read(path)):
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False) and not folds.is_answer(cell)
        wide = [line for line in cell.source.splitlines() if len(line) > WIDEST]
        assert hidden or wide == [], f"{cell.id} is too wide"


@for_each_page()
def test_every_exercise_with_an_answer_is_checked_and_every_check_is_of_an_exercise(path):
    notebook = read(path)
    found = [
        kind
        for cell in prose(notebook)
        for kind in re.findall(r"^\*\*(\d\d\.\d+) [^*]+\*\* \((\w+)", cell.source, re.MULTILINE)
    ]
    assert found, "no exercise"
    checked = [name for cell in code(notebook) for name in CHECK.findall(cell.source)]
    assert checked == [name for name, kind in found if kind != "explore"]


@for_each_page()
def test_the_cell_of_an_exercise_is_not_compared(path):
    """A reader who has solved it still passes. Besides, a table of half-trained models differs from processor to processor."""
    for cell in code(read(path)):
        left_out = "nbval-ignore-output" in cell.metadata.get("tags", [])
        if re.search(r"^(check|hint|solution|progress)\(", cell.source, re.MULTILINE):
            assert left_out, cell.id
        elif left_out:
            assert re.search(r"\b(table|DataFrame)\(|\bprint\(", cell.source), (
                f"{cell.id} shows no table that could differ"
            )


@pytest.mark.skipif("CI" not in os.environ, reason="a reader's own notebooks may hold answers")
@for_each_page()
def test_the_stored_exercises_are_unsolved(path):
    for cell in code(read(path)):
        for name in CHECK.findall(cell.source):
            [output] = cell.outputs
            assert output.text.startswith(f"{name}: not done yet"), cell.id


@pytest.mark.skipif("CI" not in os.environ, reason="a reader's own map shows what that reader has done")
def test_the_stored_map_shows_nothing_as_done():
    cell = next(cell for cell in code(read(MAP)) if "progress()" in cell.source)
    assert set(re.findall(r"(\d+) of \d+", cell.outputs[0].text)) == {"0"}


@for_each_chapter()
def test_every_exercise_that_has_a_check_is_in_a_notebook(chapter):
    with_check = {name for name, kind in asked(chapter).items() if kind != "explore"}
    assert with_check == {name for name in exercises.names() if name.startswith(chapter.number)}


def before(chapter: chapters.Chapter) -> set[str]:
    """The chapters that a chapter builds on, one by way of another too."""
    direct = [each for each in chapters.all_chapters() if each.name in chapter.builds_on]
    return set(chapter.builds_on).union(*map(before, direct))


@for_each_chapter()
def test_a_chapter_uses_only_those_that_the_map_leads_from(chapter):
    for name in PAGES:
        source = "\n".join(cell.source for cell in code(read(NOTEBOOKS / chapter.folder / f"{name}.ipynb")))
        used = set(re.findall(r"from shared\.(?:numpy|pytorch|keras)\.(\w+) import", source))
        for modules in re.findall(r"from shared\.(?:numpy|pytorch|keras) import (.+)", source):
            used |= {module.split()[0] for module in modules.split(",")}
        assert used - {chapter.name} <= before(chapter) | set(chapter.looks_ahead_to), name


def test_each_term_of_the_glossary_is_in_the_notebook_that_it_links_to():
    source = "\n".join(cell.source for cell in prose(read(GLOSSARY)))
    glossary = re.findall(r"^\| ([^|]+) \| [^|]+ \| \[(\d\d)\]\((\S+)\) \|$", source, re.MULTILINE)
    assert len(glossary) > 40
    for term, number, link in glossary:
        path = NOTEBOOKS / link
        assert path.parent.name.startswith(number)
        text = " ".join("\n".join(cell.source for cell in prose(read(path))).split())
        for word in term.split(", "):
            assert word.lower() in text.lower().replace("*", ""), term
