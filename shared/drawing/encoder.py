"""What chapter 08 draws: a vector on its way through a block, the encoder block, and the encoder."""

import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.drawing import diagrams, plots


@plots.styled
def residual_stream(
    stream: Mapping[str, Sequence[float]], branches: Sequence[Mapping[str, Sequence[float]]], features: Sequence[str]
) -> plots.Picture:
    """Draw one vector on its way through a block: the stream above, and below it what each sub-layer reads and adds.

    Args:
        stream: name: the vector before the first sub-layer, and after each; one more than branches.
        branches: of each sub-layer, name: vector, from what it reads to what it adds.
        features: a name for each number of a vector.

    Returns:
        The picture; its description has every number.
    """
    positions, at = [0.0], 0.0
    for branch in branches:
        at += 1.55 * (len(branch) + 1)
        positions.append(at)
    low, cell, width, color = -2.1, 0.36, 1.05, "#57606a"
    figure = Figure(figsize=(7.6, 3.5))
    axes = figure.subplots()
    largest = max(np.abs(v).max() for v in itertools.chain(stream.values(), *(b.values() for b in branches)))

    def draw(x: float, y: float, name: str, vector: Sequence[float], above: bool) -> None:
        for row, value in enumerate(vector):
            top = y - row * cell
            shade = plt.get_cmap("RdBu_r")(0.5 + 0.3 * value / largest)
            axes.add_patch(Rectangle((x - width / 2, top - cell), width, cell, facecolor=shade, edgecolor=color))
            axes.text(x, top - cell / 2, f"{value:.2f}", ha="center", va="center", fontsize=10)
        place = y + 0.1 if above else y - len(features) * cell - 0.1
        axes.text(x, place, name, ha="center", va="bottom" if above else "top", fontsize=10)

    arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    middle, below = -len(features) * cell / 2, low - len(features) * cell / 2
    for place, (name, vector) in zip(positions, stream.items()):
        draw(place, 0, name, vector, above=True)
    for start, end, branch in zip(positions, positions[1:], branches):
        steps = [start + 1.55 * (number + 1) for number in range(len(branch))]
        for place, (name, vector) in zip(steps, branch.items()):
            draw(place, low, name, vector, above=False)
        plus = steps[-1]  # straight above what is added
        axes.annotate("", (end - width / 2, middle), (start + width / 2, middle), arrowprops=arrow | {"linewidth": 3})
        axes.plot(plus, middle, "o", markersize=15, color="white", markeredgecolor=color, markeredgewidth=1.3, zorder=4)
        axes.text(plus, middle - 0.02, "+", ha="center", va="center", fontsize=13, zorder=5)
        corners = [(start, -len(features) * cell), (start, below), (steps[0] - width / 2, below)]
        axes.plot(*zip(*corners[:2]), color=color, linewidth=1.3)
        axes.annotate("", corners[2], corners[1], arrowprops=arrow)
        for left, right in itertools.pairwise(steps):
            axes.annotate("", (right - width / 2, below), (left + width / 2, below), arrowprops=arrow)
        axes.annotate("", (plus, middle - 0.16), (plus, low), arrowprops=arrow)
    axes.text(width / 2 + 0.15, middle + 0.12, "residual stream", va="bottom", fontsize=10, style="italic")
    for row, feature in enumerate(features):
        axes.text(-width / 2 - 0.12, -(row + 0.5) * cell, feature, ha="right", va="center", fontsize=10)
    axes.set(xlim=(-1.6, positions[-1] + 0.75), ylim=(low - len(features) * cell - 0.5, 0.5))
    axes.set_axis_off()

    def listed(vectors: Mapping[str, Sequence[float]]) -> str:
        return "; ".join(
            f"{' '.join(n.split())} {', '.join(f'{value:.2f}' for value in v)}" for n, v in vectors.items()
        )

    described = f"A residual stream of {', '.join(features)}. In the stream: {listed(stream)}. "
    described += " ".join(f"Branch {number}: {listed(branch)}." for number, branch in enumerate(branches, 1))
    return plots.show(figure, described)


def encoder_block_diagram(norm_first: bool) -> diagrams.Diagram:
    """Draw an encoder block: self-attention, then feed-forward, each in a residual connection.

    Args:
        norm_first: True normalizes each sub-layer's input, False each sum, as the 2017 paper does.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1 and figure 1.
    """
    order = diagrams.norm_order(norm_first)
    first, first_edges, middle = diagrams.residual_connection(
        "x", "attention", ("parameters", "MultiHeadAttention\nquery = key = value"), norm_first
    )
    second, second_edges, last = diagrams.residual_connection(
        middle, "feed_forward", ("parameters", "FeedForward"), norm_first
    )
    return diagrams.draw(
        f"An encoder block in {order} order: self-attention and then the feed-forward network, each with dropout and a skip path around it, "
        f"and LayerNorm {'before each of the two' if norm_first else 'after each sum'}.",
        {"x": ("data", "x (batch, length, d_model)"), "mask": ("data", "mask")}
        | first
        | second
        | {"y": ("output", "y (batch, length, d_model)")},
        [*first_edges, "mask -> attention", *second_edges, f"{last} -> y"],
        ranksep="0.2",
    )


def encoder_diagram(norm_first: bool) -> diagrams.Diagram:
    """Draw an encoder: a stack of blocks, and a last LayerNorm if the blocks are pre-norm.

    Args:
        norm_first: the order of the blocks; a pre-norm stack ends with a norm of its own.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1.
    """
    order = diagrams.norm_order(norm_first)
    blocks = {
        "block_first": "EncoderBlock\nblocks.0",
        "block_more": "…",
        "block_last": "EncoderBlock\nblocks.(num_layers - 1)",
    }
    norm = {"norm": ("normalisation", "LayerNorm")} if norm_first else {}
    return diagrams.draw(
        f"An encoder: x passes num_layers encoder blocks in {order} order, each of which gets the same mask{', and a last LayerNorm' if norm_first else ''}.",
        {"x": ("data", "x\n(batch, length, d_model)"), "mask": ("data", "mask\n(batch, 1, 1, length)")}
        | {name: ("parameters", label) for name, label in blocks.items()}
        | norm
        | {"y": ("output", "y\n(batch, length, d_model)")},
        [" -> ".join(["x", *blocks, *norm, "y"]), *(f"mask -> {name}" for name in blocks)],
    )
