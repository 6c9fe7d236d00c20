"""Figures are described to readers who don't see them: their text is in the page that nbconvert makes with its default template."""

import nbformat
from bs4 import BeautifulSoup
from nbclient import NotebookClient
from nbconvert import HTMLExporter

DRAWN = """
import numpy as np
from shared import plots, side_by_side
from shared.drawing.attention import multi_head_diagram
from IPython.display import display
display(multi_head_diagram())
display(plots.attention_map(np.eye(2), "GA", "GA", 'An "eye" & more.'))
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
    assert attention == 'An "eye" & more.'
    assert "MultiHeadAttention" in steps
