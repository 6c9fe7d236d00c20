"""What chapter 03 draws: arrays number by number, patches, what a pattern does, and LeNet."""

import itertools
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.drawing import diagrams, plots


@plots.styled
def number_grids(grids: Mapping[str, np.ndarray], across: int = 13) -> plots.Picture:
    """Draw small arrays number by number; a number keeps the color of the row that it has in the first array.

    Args:
        grids: name: (rows, columns) or (columns,) whole numbers, each a number of the first array.
        across: cells side by side before a new line of arrays begins.

    Returns:
        The picture; its description holds every number.
    """
    first = np.atleast_2d(next(iter(grids.values())))
    fills = dict(zip(range(len(first)), itertools.cycle(("#d9e8f6", "#fde3b5", "#d5efd3", "#e9dbf5"))))
    color_of = {number: fills[row] for row, numbers in enumerate(first) for number in numbers.tolist()}
    positions, descriptions, left, top, lowest, width = [], [], 0.0, 0.0, 0.0, 0.0
    for name, grid in grids.items():
        rows = np.atleast_2d(grid)
        space = max(rows.shape[1], 0.28 * len(name))
        if left and left + space > across:
            left, top = 0.0, lowest + 1.6
        positions.append((name, rows, left + (space - rows.shape[1]) / 2, top))
        descriptions.append(f"{name}: {' / '.join(' '.join(map(str, row)) for row in rows.tolist())}")
        width, lowest = max(width, left + space), max(lowest, top + len(rows))
        left += space + 1
    size = 0.42  # inches a cell
    figure = Figure(figsize=(size * (width + 0.1), size * (lowest + 0.9)), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    for name, rows, left, top in positions:
        axes.text(left + rows.shape[1] / 2, top - 0.2, name, ha="center", va="bottom", family="monospace")
        for (row, column), number in np.ndenumerate(rows):
            box = Rectangle((left + column, top + row), 1, 1, facecolor=color_of[number.item()], edgecolor=plots.INK)
            axes.add_patch(box)
            axes.text(left + column + 0.5, top + row + 0.5, f"{number}", ha="center", va="center")
    axes.set(xlim=(-0.05, width + 0.05), ylim=(lowest + 0.05, -0.85), aspect="equal")
    axes.set_axis_off()
    return plots.show(figure, f"Arrays, row by row. {'; '.join(descriptions)}.")


@plots.styled
def tiles(grids: Mapping[str, np.ndarray]) -> plots.Picture:
    """Draw grids of patches with gaps between them; the axes count patches.

    Args:
        grids: name: (rows, columns, height, width, 3), patches of red, green and blue from 0 to 1; all of one height and width.

    Returns:
        The picture; its description says how many patches there are and of what size.
    """
    most = max(grid.shape[1] for grid in grids.values())
    side = min(0.62, 7.4 / most)  # inches a patch
    heights = [side * len(grid) for grid in grids.values()]
    figure = Figure(figsize=(side * most + 0.7, sum(heights) + 0.75 * len(grids)))
    panels = figure.subplots(len(grids), squeeze=False, height_ratios=heights).flat
    descriptions = []
    for (name, grid), panel in zip(grids.items(), panels):
        rows, columns, height, width, _ = grid.shape
        for (row, column), _ in np.ndenumerate(grid[..., 0, 0, 0]):
            box = (column - 0.46, column + 0.46, row + 0.46, row - 0.46)  # left, right, bottom, top
            panel.imshow(grid[row, column], extent=box, vmin=0, vmax=1, interpolation="nearest")
        panel.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), aspect="equal", anchor="W")
        panel.set_title(name, fontsize=9, loc="left", family="monospace")
        panel.set_xticks(range(columns))
        panel.set_yticks(range(rows))
        panel.tick_params(length=0, labelsize=8)
        panel.spines[:].set_visible(False)
        descriptions.append(f"{name}, {rows} by {columns} patches of {height} by {width} pixels")
    figure.supxlabel("column (patches)", fontsize=9)
    figure.supylabel("row (patches)", fontsize=9)
    return plots.show(figure, f"Patches: {'; '.join(descriptions)}.")


def axis_names_diagram() -> diagrams.Diagram:
    """Draw how an einops pattern takes axes apart and puts them together, by their names."""
    return diagrams.draw(
        "How a pattern takes b (h p) (w q) c to b (h w) (p q c): height and width are each split in two, the six axes get a new order, "
        "and then h and w are merged into one axis, and p, q and c into another.",
        {
            "x": ("data", "b (h p) (w q) c\n6, 16, 12, 3"),
            "split": ("operation", "split height into h and p,\nwidth into w and q\nb h p w q c\n6, 4, 4, 3, 4, 3"),
            "reorder": ("operation", "reorder the six axes\nb h w p q c\n6, 4, 3, 4, 4, 3"),
            "merge": ("operation", "merge h and w into one axis,\np, q and c into another"),
            "y": ("output", "b (h w) (p q c)\n6, 12, 48"),
        },
        ["x -> split: reshape", "split -> reorder: transpose", "reorder -> merge: reshape", "merge -> y"],
    )


def lenet_diagram() -> diagrams.Diagram:
    """Draw LeNet for the digits, with the shape after every step."""
    return diagrams.draw(
        "LeNet: a picture goes through a convolution, ReLU and max pooling twice, then Rearrange makes one vector of each picture, "
        "and three linear layers make a logit for each class.",
        {
            "x": ("data", "pictures\n(b, 8, 8, 1)"),
            "convolution_1": ("parameters", "convolution_1, 3 by 3, ReLU\n(b, 8, 8, 6)"),
            "pool_1": ("operation", "max pooling\n(b, 4, 4, 6)"),
            "convolution_2": ("parameters", "convolution_2, 3 by 3, ReLU\n(b, 4, 4, 16)"),
            "pool_2": ("operation", "max pooling\n(b, 2, 2, 16)"),
            "flatten": ("operation", "Rearrange\nb h w c -> b (h w c)\n(b, 64)"),
            "hidden_1": ("parameters", "hidden_1, ReLU\n(b, 120)"),
            "hidden_2": ("parameters", "hidden_2, ReLU\n(b, 84)"),
            "readout": ("parameters", "readout"),
            "logits": ("output", "logits\n(b, 10)"),
        },
        [
            "x -> convolution_1 -> pool_1 -> convolution_2 -> pool_2 -> flatten",
            "flatten -> hidden_1 -> hidden_2 -> readout -> logits",
        ],
        ranksep="0.16",
    )
