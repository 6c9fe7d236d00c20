"""What chapter 16 draws: what the workers on a ring hold."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.drawing import plots


@plots.styled
def ring(stages: Mapping[str, np.ndarray]) -> plots.Picture:
    """Draw what workers on a ring hold after each step of adding up: a row for each worker, a column for each part.

    Args:
        stages: what was done: the (workers, parts) numbers after it; the first is the beginning, the last the end.

    Returns:
        The picture; a part that is complete, as in the last stage, is filled. Its description counts them.
    """
    last = list(stages.values())[-1]
    workers, parts = last.shape
    figure = Figure(figsize=(7.4, 0.8 + 0.42 * workers))
    axes, descriptions = figure.subplots(), []
    for number, (name, grid) in enumerate(stages.items()):
        left, done = number * (parts + 0.4), grid == last
        for row, column in np.ndindex(grid.shape):
            shade = "#0072b2" if done[row, column] else "#f2f3f5"
            axes.add_patch(Rectangle((left + column, row), 1, 1, facecolor=shade, edgecolor="white", linewidth=2))
            ink = "white" if done[row, column] else plots.INK
            text = f"{grid[row, column]:g}"
            axes.text(left + column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=9, color=ink)
        axes.text(left + parts / 2, -0.15, name, ha="center", va="bottom", fontsize=10)
        descriptions.append(f"{name} {done.sum()} of {done.size}")
    for row in range(workers):
        axes.text(-0.15, row + 0.5, f"worker {row}", ha="right", va="center", fontsize=9)
    axes.set(xlim=(-1.9, len(stages) * (parts + 0.4)), ylim=(workers, -0.7))
    axes.set_axis_off()
    return plots.show(figure, f"What {workers} workers hold in {parts} parts; complete are, {', '.join(descriptions)}.")
