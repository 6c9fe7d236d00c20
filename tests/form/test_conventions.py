"""What the conventions say that other codes call it: the course has the names of the first column."""

import ast
import re

import pytest
from reading import NOTEBOOKS, ROOT, read

PAGE = NOTEBOOKS / "00_conventions.ipynb"


def rows() -> list[list[str]]:
    """The cells of each line of the two tables, without their heads."""
    sources = [cell.source for cell in read(PAGE).cells if cell.id.startswith("other-names")]
    lines = [line for source in sources for line in source.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines if "| this course |" not in line]


def defined(chapter: str | None) -> set[str]:
    """Names of classes, functions, arguments and attributes in the code that a chapter exports, or all of them."""
    found = set()
    for module in (ROOT / "shared").glob("*/*.py"):
        source = module.read_text(encoding="utf-8")
        if module.parent.name in ("numpy", "pytorch", "keras") and (
            chapter is None or f"notebooks/{chapter}_" in source
        ):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.ClassDef | ast.FunctionDef):
                    found.add(node.name)
                elif isinstance(node, ast.arg):
                    found.add(node.arg)
                elif isinstance(node, ast.Attribute):
                    found.add(node.attr)
    return found


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0] + str(len(row)))
def test_the_course_has_the_names_that_it_says(row):
    chapters = re.findall(r"\]\((\d\d)_", row[0])
    names = set(re.findall(r"`(\w+)`", row[0]))
    known = set().union(*map(defined, chapters)) if chapters else defined(None)
    assert len(row) in (3, 4) and names and names <= known


def test_a_name_that_is_not_there_is_found():
    assert "ProjectionLayer" not in defined(None) and "TokenEmbedding" in defined("05") - defined("06")
