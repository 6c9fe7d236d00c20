"""Three kinds of claim, each marked by the function that shows it, and small tables of numbers.

`show` is for what is proved: identities, counts, gradients, in float64 or whole numbers, with a bound that follows from the
arithmetic. `learned` is for what training reaches: the mean over several seeds and draws is bounded. `observed` is for what
happened here once: it is printed, and nothing follows from it.

In a reader's session a claim that is out of its bounds says so, and the notebook goes on; with EVIDENCE=strict, which the
tests set, it raises. `make evidence` repeats what is learned over seeds, draws and kinds of processor, and stores the values
beside the notebooks, in `evidence.json`.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

TABLE = "evidence.json"  # in the folder of the chapter, which is the working directory of its notebooks
ROOM = 4  # standard deviations of the mean that must lie between the mean and its bound
SPREAD = 6  # standard deviations of a single run that the page's own run may lie from the mean of the others
_SIGNS = {"below": "must be below", "above": "must be above", "equal": "must be"}


def show(
    label: str, value: float, below: float | None = None, above: float | None = None, equal: float | None = None
) -> None:
    """Print a measured value beside the bound that it must keep on every processor and with every seed.

    Raises:
        AssertionError: if the value is not within its bound, where EVIDENCE=strict.
        TypeError: if not exactly one bound is given.
    """
    name, bound = _bound("show", below=below, above=above, equal=equal)
    value = _number(value)
    _say(f"{label}: measured {short(value)}, {_SIGNS[name]} {short(bound)}", keeps(value, name, bound))


def learned(
    label: str,
    values: float | Sequence[float] | Callable[[], float],
    below: float | None = None,
    above: float | None = None,
) -> None:
    """Print what training reaches: the mean over several runs, and the bound that this mean must keep.

    Args:
        label: what was measured, and on which part of the data; it names the claim in the chapter's stored table.
        values: a value for each of five runs or more; or the page's own single value, where the runs take too long for a
            page and their values come from the stored table; or a function that measures one, where a single run takes too
            long: only `make evidence` calls it.
        below, above: the bound; one of the two.

    Raises:
        AssertionError: where EVIDENCE=strict, if the mean is out of its bound, or if the page's own run is out of the bound
            and more than six standard deviations from the stored mean.
        TypeError: if not exactly one bound is given.
        ValueError: if two to four values are given, which are too few to know their spread.
    """
    name, bound = _bound("learned", below=below, above=above)
    if callable(values):
        if os.environ.get("EVIDENCE_FILE"):
            values = values()
        else:
            _say_stored(label, name, bound)
            return
    own = np.array([_number(value) for value in np.ravel(values)]) if np.ndim(values) else np.array([_number(values)])
    if 1 < len(own) < 5 or not len(own):
        raise ValueError(f"values={own.tolist()}: expected one, or those of at least five runs")
    if _record(label, own, name, bound):
        return
    if len(own) > 1:
        line = f"{label}: measured {short(own.mean())} on average, with a standard deviation of {short(own.std(ddof=1))} over {len(own)} runs"
        kept = keeps(own.mean(), name, bound)
    else:
        runs, line = stored_values(label), f"{label}: measured {short(own[0])} here; "
        if not len(runs):
            _say(line + "make evidence has not been run for it", False)
            return
        mean, deviation = runs.mean(), runs.std(ddof=1)
        line += f"{len(runs)} runs with other seeds: mean {short(mean)}, standard deviation {short(deviation)}"
        within = keeps(own[0], name, bound) or abs(own[0] - mean) <= SPREAD * deviation
        kept = keeps(mean, name, bound) and within
    line += f"; the mean {_SIGNS[name]} {short(bound)}"
    _say(line, kept)


def _say_stored(label: str, name: str, bound: float) -> None:
    """Print what `make evidence` has stored of a claim that the page doesn't measure."""
    runs = stored_values(label)
    if not len(runs):
        _say(f"{label}: make evidence has not been run for it", False)
        return
    mean, deviation = runs.mean(), runs.std(ddof=1)
    line = f"{label}: {len(runs)} runs: mean {short(mean)}, standard deviation {short(deviation)}"
    _say(f"{line}; the mean {_SIGNS[name]} {short(bound)}", keeps(mean, name, bound))


def observed(label: str, value: float) -> None:
    """Print what happened here, in one run on one processor: nothing is claimed of other runs."""
    print(f"{label}: measured {short(_number(value))} here")


def stored_values(label: str, folder: str | os.PathLike = ".") -> np.ndarray:
    """The values of a learned claim in the chapter's stored table, one a run; empty if there are none."""
    path = Path(folder) / TABLE
    tables = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    found = [table["claims"][label]["values"] for table in tables.values() if label in table["claims"]]
    return np.ravel(found[0]) if found else np.array([])


def keeps(value: float, name: str, bound: float) -> bool:
    """Whether a value keeps its bound, of the kind below, above or equal."""
    return bool({"below": value < bound, "above": value > bound, "equal": value == bound}[name])


def short(number: float) -> str:
    """Five digits, or the size alone of a number that is very small or very large."""
    if number == 0 or 1e-3 <= abs(number) < 1e5:
        return f"{number:.5g}"
    return f"{number:.1e}".replace(".0e", "e").replace("e-0", "e-")


def table(
    values: np.ndarray, rows: Sequence[str], columns: Sequence[str], digits: int = 2, observed: bool = False
) -> pd.DataFrame:
    """A matrix with a name for each row and column, rounded to so many digits after the point.

    What is observed, such as the numbers of a trained model, is headed "measured here": nothing is claimed of other runs.
    """
    numbers = [[f"{number:.{digits}f}" for number in row] for row in np.asarray(values)]
    frame = pd.DataFrame(numbers, list(rows), list(columns))
    return frame.rename_axis(columns="measured here") if observed else frame


def _bound(function: str, **bounds: float | None) -> tuple[str, float]:
    """The one bound that was given, with its name."""
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    if len(given) != 1:
        names = " and ".join(", ".join(bounds).rsplit(", ", 1))
        raise TypeError(f"{function} takes one of {names}; got {', '.join(given) or 'none'}")
    [(name, bound)] = given.items()
    return name, _number(bound)


def _number(value: float) -> float:
    return float(value.detach() if hasattr(value, "detach") else value)  # PyTorch warns of a number with a history


def _say(line: str, kept: bool) -> None:
    """Print a claim; one that isn't kept is said to differ here, or raises where EVIDENCE=strict."""
    if not kept and os.environ.get("EVIDENCE") == "strict":
        raise AssertionError(line)
    print(line if kept else f"{line}. IT DIFFERS HERE.")


def _record(label: str, values: np.ndarray, name: str, bound: float) -> bool:
    """Append a learned claim to the file that EVIDENCE_FILE names, as `make evidence` does; whether there is one."""
    path = os.environ.get("EVIDENCE_FILE")
    if path:
        claim = {"label": label, "values": values.tolist(), "bound": {name: bound}}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(claim) + "\n")
    return bool(path)
