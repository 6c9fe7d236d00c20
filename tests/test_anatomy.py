"""The anatomy of a chapter and the map: how each notebook opens, its headings, a result to look at, exercises that answer, lines that fit the page.

A chapter whose NumPy notebook has a section *By hand* is in the new form; the others are held to the headings of the old one.
"""

import ast
import contextlib
import os
import re
from pathlib import Path

import nbformat
import pytest

from shared import exercises, side_by_side
from shared.drawing.diagrams import COURSE

pytestmark = pytest.mark.form

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = sorted(path for path in (ROOT / "notebooks").glob("[0-9][0-9]_*") if path.is_dir())
LESSON = ["Why", "By hand", "Build it", "Use it", "Check it", "Pitfalls", "Exercises", "Next"]
COMPARISON = ["Step by step", "Dictionary", "Key differences", "Proof", "Cost", "Exercises"]
OLD_LESSON = ["The idea", "Implementation", "Try it", "Check it", "Pitfalls", "Next"]
OLD_COMPARISON = ["The code, side by side", "A dictionary", "Parity", "Cost", "Key differences", "Exercises"]
# Where every cell shows a result, but for inputs that the next cell shows (tagged `inputs`) and code for the course (`export`).
SHOWN = {"By hand", "Use it", "Check it", "Pitfalls", "Step by step", "Key differences", "Proof", "Cost"}
EXERCISE = re.compile(r"^\*\*(\d\d\.\d+) [^*]+\*\* \((predict|code|explore)", re.MULTILINE)
CHECK = re.compile(r'^check\("([\d.]+)"', re.MULTILINE)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def sections(notebook: nbformat.NotebookNode) -> dict[str, list[nbformat.NotebookNode]]:
    """The cells below each `##` heading."""
    found = {"": []}
    for cell in notebook.cells:
        heading = re.search(r"^## (.+)$", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else None
        if heading:
            found[heading[1].strip()] = []
        found[list(found)[-1]].append(cell)
    return found


def is_new(chapter: Path) -> bool:
    return "By hand" in sections(read(chapter / "numpy.ipynb"))


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "markdown"]


NEW = [chapter for chapter in CHAPTERS if is_new(chapter)]
PAGES = [chapter / f"{name}.ipynb" for chapter in NEW for name in ("numpy", "pytorch", "keras", "compare")]
every_page = pytest.mark.parametrize("path", PAGES, ids=[f"{path.parent.name}/{path.stem}" for path in PAGES])


@pytest.mark.parametrize("chapter", CHAPTERS, ids=[chapter.name for chapter in CHAPTERS])
def test_the_notebooks_of_a_chapter_have_the_same_headings(chapter):
    lesson, comparison = (LESSON, COMPARISON) if chapter in NEW else (OLD_LESSON, OLD_COMPARISON)
    for track in ("numpy", "pytorch", "keras"):
        assert list(sections(read(chapter / f"{track}.ipynb")))[1:] == lesson, track
    assert list(sections(read(chapter / "compare.ipynb")))[1:] == comparison


@every_page
def test_a_notebook_opens_with_a_title_and_a_link_to_what_it_builds_on(path):
    opening = read(path).cells[0].source
    assert re.match(r"# \w", opening)
    assert re.search(r"\]\([^)]+\.ipynb", opening), "no link to what it builds on"


@every_page
def test_a_heading_has_a_sentence_under_it(path):
    for cell in prose(read(path)):
        for heading, below in re.findall(r"^(#+ .+)\n+(.*)", cell.source + "\n", re.MULTILINE):
            assert below.strip() and not below.startswith("#"), f"{cell.id}: nothing under {heading!r}"


@every_page
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


@every_page
def test_inputs_are_shown_by_the_next_cell(path):
    cells = code(read(path))
    for cell, following in zip(cells, [*cells[1:], None]):
        if "inputs" in cell.metadata.get("tags", []):
            assert not cell.outputs and following.outputs, f"{cell.id} is tagged inputs"


@every_page
def test_frameworks_are_seeded(path):
    """`import shared.notebook` seeds what is imported already; a framework that comes later draws other numbers in every run."""
    source = "\n".join(cell.source for cell in code(read(path)))
    if path.stem != "numpy":
        assert "shared.set_seed(" in source


@every_page
def test_lines_fit_the_page_and_drawing_stays_out(path):
    for cell in code(read(path)):
        assert [line for line in cell.source.splitlines() if len(line) > 90] == [], f"{cell.id} is too wide"
        assert "alt=" not in cell.source, f"{cell.id}: a drawing function describes its own data"


@every_page
def test_exercises_are_as_many_and_of_the_kinds_that_a_reader_expects(path):
    notebook = read(path)
    source = "\n".join(cell.source for cell in prose(notebook))
    found = EXERCISE.findall(source)
    kinds = [kind for _, kind in found]
    if path.stem == "numpy":
        assert kinds == ["predict", "code", "code", "code", "explore"]
    elif path.stem == "compare":
        assert kinds == ["predict"]
    else:
        assert kinds in (["code"], ["code", "code"])
    checked = [name for cell in code(notebook) for name in CHECK.findall(cell.source)]
    assert checked == [name for name, kind in found if kind != "explore"]


@every_page
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
@every_page
def test_the_stored_exercises_are_unsolved(path):
    for cell in code(read(path)):
        for name in CHECK.findall(cell.source):
            assert [output.text for output in cell.outputs] == [f'{name}: not done yet. hint("{name}") gives a hint.\n']


@pytest.mark.skipif("CI" not in os.environ, reason="a reader's own map shows what that reader has done")
def test_the_stored_map_shows_nothing_as_done():
    cell = next(cell for cell in code(read(ROOT / "notebooks/00_start_here.ipynb")) if "progress()" in cell.source)
    assert set(re.findall(r"(\d+) of \d+ done", cell.outputs[0].text)) == {"0"}


def test_every_exercise_that_has_a_check_is_in_a_notebook():
    asked = {name for path in PAGES for cell in code(read(path)) for name in CHECK.findall(cell.source)}
    assert asked == set(exercises.names())


@pytest.mark.parametrize("chapter", NEW, ids=[chapter.name for chapter in NEW])
def test_paired_functions_take_the_same_steps_in_lines_that_fit_three_columns(chapter):
    module = chapter.name.partition("_")[2]
    public = ast.parse((ROOT / "shared" / "numpy" / f"{module}.py").read_text()).body
    names = [node.name for node in public if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    paired = [name for name in names if name not in side_by_side.EXTRAS["numpy"]["names"].get(module, [])]
    stepped = []
    for name in paired:
        found = {}
        for track in side_by_side.TRACKS:
            with contextlib.suppress(ValueError):
                found[track] = side_by_side.read_steps(track, module, name)
        if found:
            stepped.append(name)
            words = {track: [word for group, _ in steps for word in group] for track, steps in found.items()}
            assert len(words) == 3 and words["numpy"] == words["pytorch"] == words["keras"], f"{name}: {words}"
            for track, steps in found.items():
                for _, code in steps:
                    assert max(map(len, code.splitlines())) <= 60, f"{name} in {track}: {code}"
    assert stepped, "no function has steps"


MAP = "\n".join(cell.source for cell in read(ROOT / "notebooks/00_start_here.ipynb").cells)
TRACKS = ("numpy", "pytorch", "keras", "compare")
GLOSSARY = re.findall(r"^\| ([^|]+) \| ([^|]+) \| \[(\d\d)\]\((\S+)\) \|$", MAP, re.MULTILINE)


AHEAD = {"autograd": {"models"}}  # its engine is tried on the next chapter's network


def before(chapter: str) -> set[str]:
    """The chapters that a chapter builds on, one by way of another too."""
    direct = COURSE[chapter][2]
    return set(direct).union(*map(before, direct))


@pytest.mark.parametrize("path", NEW, ids=lambda path: path.name)
def test_a_chapter_uses_only_those_that_the_map_leads_from(path):
    name = path.name[3:]
    for track in TRACKS:
        notebook = read(path / f"{track}.ipynb")
        source = "\n".join(cell.source for cell in code(notebook))
        used = set(re.findall(r"from shared\.(?:numpy|pytorch|keras)\.(\w+) import", source))
        for modules in re.findall(r"from shared\.(?:numpy|pytorch|keras) import (.+)", source):
            used |= {module.split()[0] for module in modules.split(",")}
        assert used - {name} <= before(name) | AHEAD.get(name, set()), track


def test_the_map_lists_the_chapters_in_order():
    assert list(COURSE) == [path.name[3:] for path in CHAPTERS] == list(exercises.MODULES.values())


def test_the_glossary_is_sorted_and_each_term_is_in_the_notebook_that_it_links_to():
    terms = [term for term, *_ in GLOSSARY]
    assert len(terms) > 40 and terms == sorted(terms, key=str.lower)
    for term, _, number, link in GLOSSARY:
        path = ROOT / "notebooks" / link
        assert path.parent.name.startswith(number)
        text = " ".join("\n".join(cell.source for cell in prose(read(path))).split())
        for word in term.split(", "):
            assert word.lower() in text.lower().replace("*", ""), term
