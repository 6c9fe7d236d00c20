"""Numbers along an axis: losses of training runs, curves in panels, numbers against sizes, numbers that move from stage to stage."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from shared.checks import check_positive
from shared.drawing.plotting import style


@style.styled
def loss_curves(
    curves: Mapping[str, np.ndarray],
    bounds: Mapping[str, float],
    alt: str | None = None,
    title: str = "",
    window: int = 11,
    x_label: str = "training step",
    y_label: str = "cross-entropy (nats per site)",
    y_max: float | None = None,
    every: int = 1,
    overlaid: bool = True,
) -> style.Picture:
    """Draw the losses of training runs, lightly smoothed, and the bounds that no model, or no model of a kind, can pass.

    Args:
        curves: name: (steps,) losses.
        bounds: name: value, each a dashed line with its name at its end; may be empty.
        alt: what the plot shows; None for a description made from the data.
        title: a title above the plot.
        window: each point is the mean over this many steps around it; the legend says so. 1 draws the losses as they are.
        x_label, y_label: what is on the axes, with its unit.
        y_max: the top of the plot, to look closer at the end of a run; None shows all.
        every: steps from one number of a curve to the next, for what was measured now and then; the first is at this step.
        overlaid: whether the curves lie on one another: the first is then drawn widest, so that all are seen. False draws all of them thin, as a curve alone is.

    Returns:
        The picture, with its alt text.

    Raises:
        TypeError: if curves or bounds are not dicts of real numbers, or window or every is not a whole number.
        ValueError: if there is no curve, a loss or bound is not finite, a curve is not one-dimensional, window or every is below 1, or y_max is below
            all that is drawn.
    """
    check_positive(window=window, every=every)
    style.check_not_empty("curves", curves)
    if not isinstance(bounds, Mapping):
        raise TypeError(f"bounds={bounds!r}: expected a dict, got {type(bounds).__name__}")
    curves = {name: style.real_numbers(f"curves[{name!r}]", curve, 1) for name, curve in curves.items()}
    bounds = {name: float(style.real_numbers(f"bounds[{name!r}]", value, 0)) for name, value in bounds.items()}
    figure = Figure(figsize=(7, 3.8))
    axes = figure.subplots()
    wide = [(7, "-"), (4, "-"), (2, (0, (3, 2)))] if overlaid and len(curves) > 1 else []
    lines = itertools.chain(wide, itertools.repeat((1.4, "-")))
    for (name, curve), color, (width, dashes) in zip(curves.items(), style.colors_of(list(curves)), lines):
        total, count = (np.convolve(values, np.ones(window), "full") for values in (curve, np.ones(len(curve))))
        middle = slice((window - 1) // 2, (window - 1) // 2 + len(curve))
        axes.plot(
            every * np.arange(1, len(curve) + 1),
            (total / count)[middle],
            color=color,
            label=name,
            linewidth=width,
            linestyle=dashes,
        )
    place = -np.inf
    for value in sorted(set(bounds.values())):
        axes.axhline(value, color=style.INK, linestyle="--", linewidth=1)
    low, high = axes.get_ylim()
    if y_max is not None:
        high, lowest = float(style.real_numbers("y_max", y_max, 0)), axes.dataLim.y0
        if high <= lowest:
            raise ValueError(f"y_max={y_max}: expected more than {lowest:.3g}, the lowest value drawn")
        low = lowest - 0.05 * (high - lowest)  # matplotlib's own margin is of all that could be drawn
    for value in sorted(set(bounds.values())):
        # Equal bounds share a label, and close ones keep a line's distance.
        name = " = ".join(name for name, bound in bounds.items() if bound == value)
        place = max(value, place + 0.06 * (high - low))
        axes.annotate(
            name,
            (1, place),
            (4, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            annotation_clip=False,
        )
    axes.set(xlabel=x_label, ylabel=y_label, title=title, ylim=(low, high))
    axes.locator_params(axis="x", integer=True)
    axes.margins(x=0.01)
    axes.legend(frameon=False, title=f"mean of {window} steps" if window > 1 else None)
    described = f"Curves of {y_label} against {x_label}, for {', '.join(curves)}"
    described += "".join(f"; {name} is a dashed line" for name in bounds) + "."
    return style.show(figure, described if alt is None else alt)


@style.styled
def line_panels(
    x: Sequence[float] | Mapping[str, Sequence[float]],
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    x_label: str,
    y_label: str | Mapping[str, str],
    log: bool = False,
    same_scale: bool = True,
    trained: bool = False,
) -> style.Picture:
    """Draw curves in panels side by side, the same names and colors in each, with one legend.

    Args:
        x: where the curves are known; title: x for panels that differ.
        panels: title: name: a number for each x.
        x_label, y_label: what is on the axes; title: y_label for panels that differ.
        log: whether the vertical axis is logarithmic.
        same_scale: whether the panels share their vertical axis.
        trained: whether the numbers are of trained models; they are then drawn with equal lines, and not told.

    Returns:
        The picture; its description tells where each curve begins and ends, and its extremes if they are elsewhere.
    """
    style.check_not_empty("panels", panels)
    positions = x if isinstance(x, Mapping) else dict.fromkeys(panels, x)
    y_labels = y_label if isinstance(y_label, Mapping) else dict.fromkeys(panels, y_label)
    figure = Figure(figsize=(7, 3.5))
    descriptions = []
    for number, (axes, (title, curves)) in enumerate(
        zip(figure.subplots(1, len(panels), sharey=same_scale, squeeze=False).flat, panels.items())
    ):
        x = style.real_numbers("x", positions[title], 1)
        # Curves that may lie on one another differ in width.
        styles = itertools.cycle([(2, "-")] if trained else [(4, "-"), (2.6, "-"), (1.6, (0, (3, 3))), (1.6, "-")])
        for (name, given), color, (width, dashes) in zip(curves.items(), style.colors_of(list(curves)), styles):
            given = style.real_numbers(f"panels[{title!r}][{name!r}]", given, 1)
            if len(given) != len(x):
                raise ValueError(f"panels[{title!r}][{name!r}] has {len(given)} numbers: expected {len(x)}")
            axes.plot(x, given, color=color, linewidth=width, linestyle=dashes, label=name)
            extremes = [
                f"{word} {value:.2g} at {x[at]:.2g}"
                for word, value, at in (
                    ("lowest", given.min(), given.argmin()),
                    ("highest", given.max(), given.argmax()),
                )
                if at not in (0, len(x) - 1) and value not in (given[0], given[-1])
            ]
            ends = f"{title}, {name}: from {given[0]:.2g} to {given[-1]:.2g}"
            descriptions.append(f"{title}: {name}" if trained else ", ".join([ends, *extremes]))
        axes.set(xlabel=x_label, title=title, yscale="log" if log else "linear")
        axes.grid(alpha=0.25)
        if not number or not same_scale:
            axes.set_ylabel(y_labels[title])
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=len(labels), loc="outside upper left")
    of = " and ".join(dict.fromkeys(y_labels.values()))
    return style.show(figure, f"Curves of {of} against {x_label}. {'; '.join(descriptions)}.")


@style.styled
def sizes(
    x: Sequence[float],
    values: Mapping[str, Sequence[float]],
    x_label: str,
    y_label: str,
    floor: tuple[str, float] | None = None,
    trained: bool = False,
) -> style.Picture:
    """Draw marked lines of numbers from 0 up, against sizes on a logarithmic axis; each end with its number.

    Args:
        x: sizes above 0, such as those of vocabularies.
        values: name: a number for each size.
        x_label, y_label: what is on the axes, with its unit.
        floor: the name and the height of a bound, drawn as a dashed line.
        trained: whether the numbers are of trained models; the description leaves them out.
    """
    style.check_not_empty("values", values)
    x = style.real_numbers("x", x, 1)
    figure = Figure(figsize=(6.4, 3.4))
    axes = figure.subplots()
    descriptions = []
    for (name, given), color, marker in zip(values.items(), style.colors_of(list(values)), itertools.cycle("os^D")):
        given = style.real_numbers(f"values[{name!r}]", given, 1)
        if len(given) != len(x):
            raise ValueError(f"values[{name!r}] has {len(given)} numbers: expected {len(x)}, one for each size")
        axes.semilogx(x, given, marker=marker, color=color, label=name)
        ends = f" from {given[0]:.2f} at {x[0]:g} to {given[-1]:.2f} at {x[-1]:g}"
        descriptions.append(name if trained else name + ends)
    for end in (0, -1):
        ends = sorted(given[end] for given in values.values())
        for value, above in {ends[-1]: True, ends[0]: len(ends) == 1}.items():
            axes.annotate(
                f"{value:.2f}", (x[end], value), (0, 8 if above else -14), textcoords="offset points", ha="center"
            )
    if floor is not None:
        axes.axhline(floor[1], color=style.INK, linestyle="--", linewidth=1, label=floor[0])
    axes.set_xticks(x, [f"{each:g}" for each in x])
    axes.minorticks_off()
    axes.margins(x=0.08)
    axes.set(xlabel=x_label, ylabel=y_label, ylim=(0, None))
    axes.legend(frameon=False)
    bound = "" if floor is None else f"; a dashed line, {floor[0]}, is at {floor[1]:.2f}"
    return style.show(figure, f"Lines of {y_label} against {x_label}: {'; '.join(descriptions)}{bound}.")


@style.styled
def number_lines(stages: Mapping[str, Sequence[float]], names: Sequence[str]) -> style.Picture:
    """Draw the same few numbers on a number line for each stage, one below the other, and follow each number down.

    Args:
        stages: what was done: the numbers after it, as many at each stage.
        names: a name for each number, for the legend.
    """
    style.check_not_empty("stages", stages)
    values = np.array([style.real_numbers(f"stages[{stage!r}]", numbers, 1) for stage, numbers in stages.items()])
    figure = Figure(figsize=(7, 0.75 * len(values) + 0.9))
    axes = figure.subplots()
    rows = -np.arange(len(values))
    axes.hlines(rows, values.min() - 0.6, values.max() + 0.6, color="#afb8c1", linewidth=1, zorder=0)
    axes.axvline(0, color="#afb8c1", linewidth=1, linestyle=":", zorder=0)
    colors = itertools.cycle((*style.COLORS.values(), *style.OTHER_COLORS))
    levels = []  # of the labels below the last line
    for number, (name, column, color) in enumerate(zip(names, values.T, colors)):
        axes.plot(column, rows, "o-", color=color, linewidth=0.8, label=name)
        for stage, value in enumerate(column):
            if stage == 0 and len(rows) > 1:
                place, side = (0, 7), "center"
            elif stage == len(rows) - 1:
                near = np.abs(value - values[stage, :number]) < 0.09 * np.ptp(values)
                level = min({0, 1, 2} - {levels[other] for other in np.flatnonzero(near)}, default=3)
                levels.append(level)
                place, side = (0, -14 - 11 * level), "center"  # lower, where another number is close
            else:  # below, on the side that the line to the next stage leaves free
                side = "right" if column[stage + 1] > value else "left"
                place = (-3 if side == "right" else 3, -14)
            # On white, so that the dotted line at 0 does not run through the number.
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
            options = {"textcoords": "offset points", "ha": side, "fontsize": 9, "bbox": ground}
            axes.annotate(f"{value:.2f}", (value, rows[stage]), place, **options)
    axes.set_yticks(rows, list(stages))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set(ylim=(rows[-1] - 0.55, 0.45), xlabel="value")
    axes.legend(frameon=False, ncols=len(names), loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    descriptions = [
        f"{' '.join(stage.split())}: {', '.join(f'{v:.2f}' for v in row)}" for stage, row in zip(stages, values)
    ]
    return style.show(figure, f"Number lines for {', '.join(names)}. {'; '.join(descriptions)}.")
