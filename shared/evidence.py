"""Claims that show themselves: what was measured beside what is allowed, and small tables of numbers."""

from collections.abc import Sequence

import numpy as np
import pandas as pd


def show(
    label: str, value: float, below: float | None = None, above: float | None = None, equal: float | None = None
) -> None:
    """Print a measured value beside its bound, and raise if it is out of bounds.

    Args:
        label: what was measured.
        value: a number, or an array of one.
        below, above, equal: the bound; one of the three.

    Raises:
        AssertionError: if the value is not within its bound.
        TypeError: if not exactly one bound is given.
    """
    bounds = {"below": below, "above": above, "equal": equal}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    if len(given) != 1:
        raise TypeError(f"show takes one of below, above and equal; got {', '.join(given) or 'none'}")
    [(name, bound)] = given.items()
    value = float(value.detach() if hasattr(value, "detach") else value)  # PyTorch warns of a number with a history
    kept = {"below": value < bound, "above": value > bound, "equal": value == bound}[name]
    line = f"{label}: measured {short(value)}, must be {name} {short(bound)}".replace("be equal", "be")
    if not kept:
        raise AssertionError(line)
    print(line)


def short(number: float) -> str:
    """Five digits, or the size alone of a number that is very small or very large."""
    if number == 0 or 1e-3 <= abs(number) < 1e5:
        return f"{number:.5g}"
    return f"{number:.1e}".replace(".0e", "e").replace("e-0", "e-")


def table(values: np.ndarray, rows: Sequence[str], columns: Sequence[str], digits: int = 2) -> pd.DataFrame:
    """A matrix with a name for each row and column, rounded to so many digits after the point."""
    numbers = [[f"{number:.{digits}f}" for number in row] for row in np.asarray(values)]
    return pd.DataFrame(numbers, list(rows), list(columns))
