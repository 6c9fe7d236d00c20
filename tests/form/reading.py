"""What the tests of form look at: the notebooks of the chapters that are no drafts, and how a test is asked for each of them."""

import functools
import re
from pathlib import Path

import nbformat
import pytest

from shared import chapters

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
MAP = NOTEBOOKS / "00_start_here.ipynb"
TRACKS = {"numpy": "NumPy", "pytorch": "PyTorch", "keras": "Keras"}
PAGES = (*TRACKS, "compare")
CHECK = re.compile(r'^check\("([\d.]+)"', re.MULTILINE)


def for_each_chapter():
    """Ask a test for each chapter; `make test CHAPTER=06` asks it for that one."""
    return pytest.mark.parametrize(
        "chapter",
        [pytest.param(each, id=each.folder, marks=pytest.mark.chapter(each.number)) for each in chapters.ready()],
    )


def for_each_page():
    """Ask a test for each notebook of each chapter."""
    return pytest.mark.parametrize(
        "path",
        [
            pytest.param(
                NOTEBOOKS / each.folder / f"{name}.ipynb",
                id=f"{each.folder}/{name}",
                marks=pytest.mark.chapter(each.number),
            )
            for each in chapters.ready()
            for name in PAGES
        ],
    )


@functools.cache
def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


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
