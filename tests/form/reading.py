"""What the tests of form look at: the notebooks of the chapters that are no drafts, and how a test is asked for each of them."""

import ast
import functools
import re
from pathlib import Path

import folds
import nbformat
import pytest

from shared import chapters

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
MAP = NOTEBOOKS / "00_start_here.ipynb"
GLOSSARY = NOTEBOOKS / "00_glossary.ipynb"
TRACKS = {"numpy": "NumPy", "pytorch": "PyTorch", "keras": "Keras"}
PAGES = (*TRACKS, "compare")
CHECK = re.compile(r'^check\("([\d.]+)"', re.MULTILINE)


@functools.cache
def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


@functools.cache
def with_a_main_line() -> list[chapters.Chapter]:
    """The chapters whose NumPy notebook says what a first reading leaves out."""
    return [each for each in chapters.ready() if any(folds.later(read(NOTEBOOKS / each.folder / "numpy.ipynb").cells))]


def for_each_chapter(found: list[chapters.Chapter] | None = None):
    """Ask a test for each chapter, or each of those given; `make test CHAPTER=06` asks it for that one."""
    asked = chapters.ready() if found is None else found
    return pytest.mark.parametrize(
        "chapter", [pytest.param(each, id=each.folder, marks=pytest.mark.chapter(each.number)) for each in asked]
    )


def for_each_page(found: list[chapters.Chapter] | None = None):
    """Ask a test for each notebook of each chapter, or of each of those given."""
    return pytest.mark.parametrize(
        "path",
        [
            pytest.param(
                NOTEBOOKS / each.folder / f"{name}.ipynb",
                id=f"{each.folder}/{name}",
                marks=pytest.mark.chapter(each.number),
            )
            for each in (chapters.ready() if found is None else found)
            for name in PAGES
        ],
    )


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "markdown"]


def sections(notebook: nbformat.NotebookNode) -> dict[str, list[nbformat.NotebookNode]]:
    """The cells below each `##` heading."""
    found = {"": []}
    for cell in notebook.cells:
        heading = re.search(r"^## (.+)$", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else None
        if heading:
            found[heading[1].strip()] = []
        found[list(found)[-1]].append(cell)
    return found


def asked(chapter: chapters.Chapter) -> dict[str, str]:
    """Every exercise of a chapter with its kind: predict, code or explore."""
    source = "\n".join(
        cell.source for name in PAGES for cell in prose(read(NOTEBOOKS / chapter.folder / f"{name}.ipynb"))
    )
    return dict(re.findall(r"^\*\*(\d\d\.\d+) [^*]+\*\* \((predict|code|explore)", source, re.MULTILINE))


def imported(source: str) -> set[str]:
    """The modules that code imports, in functions too, and what it imports from each: `a.b` for `from a import b`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
