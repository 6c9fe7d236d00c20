"""`make test CHAPTER=06` runs what depends on chapter 06: a test elsewhere that imports its modules carries its mark."""

import re

import pytest
import selection
from reading import ROOT, imported

from shared.chapters import all_chapters

CHAPTERS = {chapter.name: chapter.number for chapter in all_chapters()}
FILES = [
    path for path in sorted((ROOT / "tests").glob("[a-z]*/test_*.py")) if path.parent.name not in ("form", "browser")
]


def chapters_that_are_imported(source: str) -> set[str]:
    """The numbers of the chapters whose modules a test imports."""
    found = set()
    for name in imported(source):
        module = re.match(r"shared\.(?:numpy|pytorch|keras|drawing|exercises)\.(\w+)", name)
        found |= {CHAPTERS[module[1]]} if module and module[1] in CHAPTERS else set()
    return found


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])
def test_a_test_of_a_chapter_is_marked(path):
    source = path.read_text(encoding="utf-8")
    unmarked = {number for number in chapters_that_are_imported(source) if not selection.has_mark(path, number)}
    assert not unmarked, f"add pytest.mark.chapter to {path.name}"


def test_an_import_of_a_chapter_is_seen():
    source = "import shared.keras.attention as a\nfrom shared.numpy import models\nfrom shared.drawing.gpt import cache\nfrom shared import dna"
    assert chapters_that_are_imported(source) == {"06", "02", "14"}
