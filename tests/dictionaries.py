"""The dictionary of a chapter's compare page, as its readers type it."""

import ast
import json
from pathlib import Path


def rows_of(folder: str) -> list[tuple[str, ...]]:
    """What is done, and the calls in NumPy, PyTorch and Keras, a tuple for each row."""
    page = Path(__file__).resolve().parents[1] / "notebooks" / folder / "compare.ipynb"
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    [source] = ["".join(cell["source"]) for cell in cells if cell["id"] == "dictionary-calls"]
    return ast.literal_eval(ast.parse(source).body[0].value.args[0])
