"""Numbers that were measured once or in several rounds: bars side by side, and lines on logarithmic axes."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from shared.drawing.plotting import style


def _of_rounds(name: str, value: Any) -> np.ndarray:
    """One number, or one from each round of a measurement."""
    return np.atleast_1d(style.real_numbers(name, value, 0, 1)).astype(float)


def _numbers_of_rounds(values: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """What a description says of measured numbers: the median of each, and its range over the rounds."""
    groups = []
    for group, rounds in values.items():
        each = (f"{name} {np.median(x):.3g} ({min(x):.3g} to {max(x):.3g})" for name, x in rounds.items())
        groups.append(f"{' '.join(str(group).split())}: {', '.join(each)}")
    return f" Median and range of the rounds: {'; '.join(groups)}."


def _drawn_as(rounds: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The height at which each name is drawn: its median, or, where ranges overlap, one median for all of them."""
    heights, together, end = {}, [], -np.inf
    for name in sorted(rounds, key=lambda name: min(rounds[name])):
        if min(rounds[name]) > end:
            together = []
        together.append(name)
        end = max(end, *rounds[name])
        heights |= dict.fromkeys(together, float(np.median([np.median(rounds[each]) for each in together])))
    return heights


def _short(value: float, digits: int) -> str:
    """A number for a label: whole numbers as they are, others with so many digits, zeros at the end included."""
    if float(value).is_integer():
        return f"{value:.0f}"
    rounded = float(f"{value:.{digits}g}")
    if abs(rounded) >= 10**digits:  # 140, and not 1.4e+02
        return f"{rounded:.0f}"
    return f"{value:#.{digits}g}".rstrip(".")


@style.styled
def bars(
    values: Mapping[str, Mapping[str, float | Sequence[float]]],
    y_label: str,
    alt: str | None = None,
    title: str = "",
    x_label: str = "",
    log: bool = False,
) -> style.Picture:
    """Draw groups of bars side by side, one bar for each name, such as the time of each framework.

    A bar of several rounds is as high as their median, with a line from the least to the largest. Where the ranges of two bars
    of a group overlap, the measurement tells no difference, so they are drawn at the same height.

    Args:
        values: group: name: number, or a number for each round of a measurement, with the same names in every group.
        y_label: what the numbers are, with their unit.
        alt: what the plot shows; None for a description by names and groups. Medians and ranges of rounds are added to it.
        title: a title above the plot.
        x_label: what the groups are; they are named below their bars.
        log: whether the axis is logarithmic, for numbers of very different size.

    Returns:
        The picture, with its alt text.

    Raises:
        TypeError: if values are not dicts of real numbers.
        ValueError: if values or a group is empty, groups have different names, a number is not finite, or, with log, not above 0.
    """
    style.check_not_empty("values", values)
    for group, numbers in values.items():
        style.check_not_empty(f"values[{group!r}]", numbers)
    names = list(next(iter(values.values())))
    for group, numbers in values.items():
        if set(numbers) != set(names):
            raise ValueError(
                f"values[{group!r}] has the names {sorted(numbers)}: expected {sorted(names)}, as in the first group"
            )
    measured = any(np.ndim(number) for numbers in values.values() for number in numbers.values())
    rounds = {
        group: {name: _of_rounds(f"values[{group!r}][{name!r}]", numbers[name]) for name in names}
        for group, numbers in values.items()
    }
    drawn_as = [_drawn_as(each) if measured else {name: each[name][0] for name in names} for each in rounds.values()]
    figure = Figure(figsize=(7, 3.4))
    axes = figure.subplots()
    width = 0.8 / len(names)
    for number, (name, color) in enumerate(zip(names, style.colors_of(names))):
        each = [group[name] for group in rounds.values()]
        heights = [float(group[name]) for group in drawn_as]
        if log and min(map(min, each)) <= 0:
            raise ValueError(f"{name!r} is {min(map(min, each)):.3g}: expected numbers above 0 for a logarithmic axis")
        positions = np.arange(len(values)) + (number - (len(names) - 1) / 2) * width
        axes.bar(positions, heights, 0.92 * width, color=color, label=name)
        if measured:
            axes.vlines(positions, [min(x) for x in each], [max(x) for x in each], color="black", linewidth=1.2)
        if len(names) * len(values) <= 12:  # more bars are too narrow for their numbers
            short = log and max(heights) < 99.5  # 0.0298 is wider than its bar, and 0.030 is not
            for place, height, x in zip(positions, heights, each):
                axes.annotate(
                    _short(height, 2 if measured or short or height < 0.1 else 3),
                    (place, max(height, *x)),
                    (0, 2),
                    textcoords="offset points",
                    ha="center",
                    fontsize=9,
                )
    axes.set_xticks(range(len(values)), list(values))
    axes.tick_params(axis="x", length=0)
    axes.set(xlabel=x_label, ylabel=y_label, yscale="log" if log else "linear")
    in_a_row = len(names) if len(names) <= 4 else 3
    axes.set_title(title, pad=24 if in_a_row == len(names) else 40)  # above the legend
    axes.margins(y=0.12)
    if len(names) > 1:
        axes.legend(frameon=False, ncols=in_a_row, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    groups = ", ".join(" ".join(str(group).split()) for group in values)  # a name may have two lines
    described = f"Bars of {y_label} for {', '.join(names)}, in {len(values)} groups: {groups}."
    return style.show(figure, (described if alt is None else alt) + (_numbers_of_rounds(rounds) if measured else ""))


@style.styled
def lines(
    x: Sequence[float],
    values: Mapping[str, Sequence[float | Sequence[float]]],
    x_label: str,
    y_label: str,
    title: str = "",
    numbers: bool = True,
) -> style.Picture:
    """Draw positive numbers against x, a marked line for each name, on two logarithmic axes: a power law is a straight line.

    Args:
        x: where each number was measured, such as lengths.
        values: name: a number for each x, or for each x a number from each round of a measurement: the line goes through
            their medians, with a mark from the least to the largest.
        x_label, y_label: what is on the axes, with its unit.
        title: a title above the plot.
        numbers: whether each end of a line has its number.

    Returns:
        The picture; its description has the medians and ranges of rounds, and no other numbers.

    Raises:
        TypeError: if values is not a dict of real numbers.
        ValueError: if values is empty, or a line has not as many numbers as x, or a number is not finite and above 0.
    """
    style.check_not_empty("values", values)
    x = style.real_numbers("x", x, 1)
    figure = Figure(figsize=(6, 3.4))
    axes = figure.subplots()
    measured = {}
    for (name, each), color, marker in zip(values.items(), style.colors_of(list(values)), itertools.cycle("os^D")):
        rounds = style.real_numbers(f"values[{name!r}]", each, 1, 2)
        if len(rounds) != len(x) or min(x.min(), rounds.min()) <= 0:
            raise ValueError(
                f"values[{name!r}]: expected {len(x)} numbers above 0, one for each x, which are above 0 too"
            )
        given = rounds
        if rounds.ndim == 2:
            measured[name] = {f"{where:g}": numbers_there for where, numbers_there in zip(x, rounds)}
            given = np.median(rounds, axis=1)
            axes.vlines(x, rounds.min(axis=1), rounds.max(axis=1), color=color, linewidth=3, alpha=0.4)
        axes.loglog(x, given, marker=marker, color=color, label=name)
        for end in (0, -1) if numbers else ():
            axes.annotate(
                f"{given[end]:.{3 if given[end] >= 100 else 2}g}",
                (x[end], given[end]),
                (0, 6),
                textcoords="offset points",
                ha="center",
            )
    axes.set_xticks(x, [f"{each:g}" for each in x])
    axes.minorticks_off()
    low, high = axes.get_ylim()
    if high < 100 * low:  # one power of ten is too few ticks to read a number from
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    axes.legend(frameon=False)
    described = f"Lines of {y_label} against {x_label} on logarithmic axes, for {', '.join(values)}."
    return style.show(figure, described + (_numbers_of_rounds(measured) if measured else ""))
