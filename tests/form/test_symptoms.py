"""The page by symptom: each link leads to a section, and each number in bold is printed in it."""

import html
import re

import pytest
from reading import NOTEBOOKS, read

PAGE = NOTEBOOKS / "00_by_symptom.ipynb"
LINK = re.compile(r"\]\(([\w/]+\.ipynb)#([^)]+)\)")
BOLD = re.compile(r"\*\*(.+?)\*\*")


def rows() -> list[str]:
    """The lines of the page's tables, without their heads."""
    lines = [line for cell in read(PAGE).cells for line in cell.source.splitlines()]
    return [line for line in lines if line.startswith("| ") and not line.startswith("| you see")]


def printed(path: str, anchor: str) -> str:
    """What the code cells of a section have printed, as text."""
    level, found = None, []
    for cell in read(NOTEBOOKS / path).cells:
        if cell.cell_type == "markdown":
            for hashes, heading in re.findall(r"^(#+) (.*)$", cell.source, re.MULTILINE):
                if level and len(hashes) <= level:
                    level = None
                if heading.replace(" ", "-") == anchor:
                    level = len(hashes)
        elif level and cell.cell_type == "code":
            for output in cell.outputs:
                texts = [
                    output.get("text", ""),
                    *(output.get("data", {}).get(f"text/{kind}", "") for kind in ("plain", "html")),
                ]
                found += [html.unescape(re.sub(r"<[^>]+>", " ", text)) for text in texts]
    return "\n".join(found)


def faults(row: str) -> list[str]:
    """A sentence for each number of a row that none of its sections has printed."""
    links = LINK.findall(row)
    text = "\n".join(printed(*link) for link in links)
    return [f"{number} is not printed in {links}" for number in BOLD.findall(row) if number not in text] or (
        [] if links else [f"no link in {row}"]
    )


def test_there_are_symptoms():
    assert len(rows()) > 40


@pytest.mark.parametrize("row", rows())
def test_each_number_is_printed_where_its_line_leads(row):
    assert faults(row) == []


def test_a_number_that_is_not_printed_is_found():
    link = "[09](09_training/compare.ipynb#Key-differences)"
    assert faults(f"| the loss is **0.69** | logits | {link} |") == []
    assert len(faults(f"| the loss is **0.6987** | logits | {link} |")) == 1
    assert len(faults("| the loss | logits | nowhere |")) == 1
