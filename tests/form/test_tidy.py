"""What can be computed is written by `make tidy`: one test says that there is nothing left for it to write."""

import os
import subprocess
import sys
from pathlib import Path

import folds
import nbformat
import tidy
from reading import ROOT, sections

from shared import chapters


def as_published(path: Path) -> str:
    """The text of a file; a reader's own notebook may have its folds open, because to run a cell opens them."""
    text = path.read_text(encoding="utf-8")
    if "CI" in os.environ or path.suffix != ".ipynb":
        return text
    notebook = nbformat.reads(text, as_version=4)
    opened = nbformat.writes(notebook)
    folds.close(notebook.cells)
    return text.replace(opened, nbformat.writes(notebook))  # what is laid out in another way stays so


def test_there_is_nothing_left_for_make_tidy():
    changed = [path.relative_to(ROOT).as_posix() for path, text in tidy.tidied().items() if as_published(path) != text]
    assert changed == [], "run make tidy"


def test_the_code_is_laid_out():
    command = [sys.executable, "-m", "ruff", "format", "--check", "--quiet", "."]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"run make tidy\n{found.stdout}{found.stderr}"


def test_the_end_of_a_chapter_names_the_next_one_of_the_express_route():
    ready = [chapter for chapter in chapters.read(ROOT / "shared/course.toml") if chapter.status == "ready"]
    missing = []
    for chapter in ready:
        following = tidy.after_on_express_route(ready, chapter)
        page = ROOT / "notebooks" / chapter.folder / "numpy.ipynb"
        said = "".join(cell.source for cell in sections(nbformat.read(page, as_version=4))["Next"])
        if following and f"../{following.folder}/numpy.ipynb" not in said:
            missing.append(f"{chapter.folder}: Next has no link to {following.folder}")
    assert missing == []
