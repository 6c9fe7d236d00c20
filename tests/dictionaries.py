"""The dictionary of a chapter's compare page, as its readers type it."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shared.arrays import as_numpy

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def rows_of(folder: str) -> list[tuple[str, ...]]:
    """What is done, and the call in each column, a tuple for each row; a chapter's folder, or a notebook beside the chapters."""
    page = NOTEBOOKS / folder if folder.endswith(".ipynb") else NOTEBOOKS / folder / "compare.ipynb"
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    [source] = ["".join(cell["source"]) for cell in cells if cell["id"] == "dictionary-calls"]
    return ast.literal_eval(ast.parse(source).body[0].value.args[0])


def values_of(
    folder: str, column: int, names: dict[str, Any], has_value: Callable[[str], bool]
) -> dict[str, np.ndarray]:
    """Run a column from its first row to its last, in names; return what the last line of each row that has a value gives."""
    values = {}
    for row in rows_of(folder):
        body = ast.parse(row[column])
        if has_value(row[0]):
            body.body[-1] = ast.Assign([ast.Name("value", ast.Store())], body.body[-1].value)
        exec(compile(ast.fix_missing_locations(body), row[0], "exec"), names)  # noqa: S102 - what the page shows
        if has_value(row[0]):
            values[row[0]] = as_numpy(names["value"])
    return values


def drawn(rng: np.random.Generator, column: int, **shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Normal numbers of these shapes, the same in each column but for their dtype: float32 in PyTorch's and Keras'."""
    arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    return {name: array.astype("float32") for name, array in arrays.items()} if column > 1 else arrays


def assert_same(columns: list[dict[str, np.ndarray]], names: set[str]) -> None:
    """Each column has a value of each row in names, and of no other, and they are equal up to rounding in float32."""
    assert [set(values) for values in columns] == [names] * len(columns)
    for name in names:
        for values in columns[1:]:
            np.testing.assert_allclose(values[name], columns[0][name], rtol=1e-4, atol=1e-5, err_msg=name)
