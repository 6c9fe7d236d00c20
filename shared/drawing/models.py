"""What chapter 02 draws: predictions beside their targets, and the two ways to own parameters."""

import itertools
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from shared.drawing import diagrams, plots


@plots.styled
def predictions(
    x: Sequence[float],
    values: Mapping[str, Sequence[float]],
    x_label: str,
    y_label: str,
    targets: Sequence[float] | None = None,
    mark: float | None = None,
) -> plots.Picture:
    """Draw what models predict against one input, a line for each model, and how far each is from the targets.

    Args:
        x: the input, in rising order.
        values: model: its prediction for each x.
        x_label, y_label: what is on the axes, with its unit.
        targets: what should have been predicted, a point for each x, joined to every line by its error; None for no points.
        mark: an x at which to draw a vertical line; None for none.

    Returns:
        The picture; its description names the ends of each line, and the targets.

    Raises:
        TypeError: if values is not a dict of real numbers.
        ValueError: if values is empty, or a line or the targets have not as many numbers as x.
    """
    plots.check_not_empty("values", values)
    x = plots.real_numbers("x", x, 1)
    given = dict(values) | ({} if targets is None else {"targets": targets})
    given = {name: plots.real_numbers(name, each, 1) for name, each in given.items()}
    for name, each in given.items():
        if len(each) != len(x):
            raise ValueError(f"{name} has {len(each)} numbers: expected {len(x)}, one for each x")
    targets = given.pop("targets") if targets is not None else None
    figure = Figure(figsize=(5.2, 3.6))
    axes = figure.subplots()
    descriptions = []
    shift = 0.012 * (x[-1] - x[0])  # so that the errors of two lines stand beside one another
    for number, ((name, line), color) in enumerate(zip(given.items(), itertools.cycle(plots.COLORS.values()))):
        axes.plot(x, line, color=color, label=name, linewidth=2)
        descriptions.append(f"{name} from {line[0]:.2f} to {line[-1]:.2f}")
        if targets is not None:
            place = x + (number - (len(given) - 1) / 2) * shift
            axes.vlines(place, line, targets, color=color, linestyle="--", linewidth=1.3)
    described = f"{y_label} against {x_label}, from {x[0]:g} to {x[-1]:g}: {'; '.join(descriptions)}."
    if targets is not None:
        axes.plot(x, targets, "o", color=plots.INK, label="target", zorder=3)
        axes.set_xticks(x)
        points = ", ".join(f"({a:g}, {b:g})" for a, b in zip(x, targets))
        described += f" The targets are points at {points}; a dashed line joins each to every prediction: its error."
    if mark is not None:
        axes.axvline(mark, color=plots.INK, linestyle=":", linewidth=1.3)
        described += f" A vertical line marks {mark:g}."
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return plots.show(figure, described)


def two_philosophies_diagram() -> diagrams.Diagram:
    """Draw an object that owns its parameters beside a function that is given them."""
    return diagrams.draw(
        "On the left an object owns its parameters, and the arrow of a training step leads back to them. "
        "On the right a function is given params₀, a training step makes params₁, and the next one params₂.",
        {
            "parameters": ("parameters", "its own parameters"),
            "x_object": ("data", "x"),
            "model": ("operation", "model(x)"),
            "prediction_object": ("output", "prediction"),
            "targets_object": ("data", "targets"),
            "step_object": ("operation", "gradients of the loss;\na step changes the\nparameters in place"),
            "params_0": ("parameters", "params₀"),
            "x_function": ("data", "x"),
            "mlp": ("operation", "mlp(params₀, x)"),
            "prediction_function": ("output", "prediction"),
            "targets_function": ("data", "targets"),
            "step_function": ("operation", "gradients of the loss;\na step makes\nnew parameters"),
            "params_1": ("parameters", "params₁"),
            "again": ("operation", "the same with params₁"),
            "params_2": ("parameters", "params₂"),
        },
        [
            "x_object -> model",
            "parameters -> model -> prediction_object -> step_object -> parameters",
            "targets_object -> step_object",
            "x_function -> mlp",
            "params_0 -> mlp -> prediction_function -> step_function -> params_1 -> again -> params_2",
            "targets_function -> step_function",
        ],
        {
            "an object owns its parameters": [
                "parameters",
                "x_object",
                "model",
                "prediction_object",
                "targets_object",
                "step_object",
            ],
            "a function is given its parameters": [
                "params_0",
                "x_function",
                "mlp",
                "prediction_function",
                "targets_function",
                "step_function",
                "params_1",
                "again",
                "params_2",
            ],
        },
    )
