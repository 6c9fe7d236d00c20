"""Figures are described to readers who don't see them: their text is in the page that nbconvert makes with its default template."""

import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbclient import NotebookClient
from nbconvert import HTMLExporter

ROOT = Path(__file__).resolve().parents[2]
ATTENTION = ROOT / "notebooks" / "06_attention"
DRAWN = """
import numpy as np
from shared import plots, side_by_side
from shared.drawing.attention import multi_head_diagram
from IPython.display import display
display(multi_head_diagram())
display(plots.attention_map(np.eye(2), "GA", "GA"))
display(side_by_side.steps("attention", "MultiHeadAttention"))
"""


def heard(notebook: nbformat.NotebookNode) -> list[str]:
    """What a screen reader says of each figure and named table of the page, in order."""
    page = BeautifulSoup(HTMLExporter().from_notebook_node(notebook)[0], "html.parser")
    return [
        element.get("alt") or element.get("aria-label") or ""
        for element in page.select("main img, main svg, main table[aria-label]")
    ]


def test_what_a_run_has_drawn_is_described():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(DRAWN)])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    diagram, attention, steps = heard(notebook)
    assert diagram.startswith("Multi-head attention: ")
    assert attention.startswith(
        "Attention map: 2 queries, 2 keys. Head 0, each query and the keys it attends to most: G to G0"
    )
    assert steps == "The steps of MultiHeadAttention in NumPy, PyTorch and Keras"


def test_a_picture_without_text_is_noticed():
    """nbconvert writes a text of its own; it must not pass for a description."""
    png = nbformat.v4.new_output("display_data", data={"image/png": "AAAA"})
    cell = nbformat.v4.new_code_cell("1", outputs=[png])
    assert heard(nbformat.v4.new_notebook(cells=[cell])) == ["No description has been provided for this image"]


@pytest.mark.chapter("06")
@pytest.mark.parametrize("name", ["numpy", "pytorch", "keras", "compare"])
def test_every_figure_of_a_rebuilt_chapter_is_described(name):
    notebook = nbformat.read(ATTENTION / f"{name}.ipynb", as_version=4)
    texts = heard(notebook)
    assert texts and all(re.search(r"\w+ \w+ \w+", text) for text in texts)
    assert not any("No description" in text for text in texts)
