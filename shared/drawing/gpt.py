"""What chapter 14 draws: what sampling keeps, a cache that fills, and GPT."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.drawing import diagrams, plots


@plots.styled
def kept_words(
    words: Sequence[str], before: Sequence[float], panels: Mapping[str, Sequence[float]], trained: bool = False
) -> plots.Picture:
    """Draw what sampling does to the probabilities of words: in each panel an outline before, and a filled bar after for what is kept.

    Args:
        words: every word that can come next; one of them may stand for all others.
        before: the probability of each word.
        panels: title: the probability of each word afterwards, 0 where it is cut.
        trained: whether the numbers are of a trained model; the description then leaves them out.

    Returns:
        The picture; its description has the words, and without trained also what is kept in each panel.

    Raises:
        ValueError: if a panel has not a number for each word, or one is not in [0, 1].
    """
    plots.check_not_empty("panels", panels)
    numbers = {"before": before} | dict(panels)
    numbers = {name: plots.real_numbers(f"panels[{name!r}]", values, 1) for name, values in numbers.items()}
    for name, values in numbers.items():
        if len(values) != len(words) or values.min() < 0 or values.max() > 1 + 1e-9:
            raise ValueError(f"panels[{name!r}]: expected {len(words)} probabilities, one for each word")
    before, locations = numbers.pop("before"), np.arange(len(words))
    few = len(words) <= 6
    across = 2 if few else 1
    down = -(-len(numbers) // across)
    figure = Figure(figsize=(7, (1.7 if few else 1.35) * down + 0.6))
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    top, descriptions = max(before.max(), *(values.max() for values in numbers.values())), []
    for axes, (title, values) in zip(grid.flat, numbers.items()):
        kept = values > 0
        axes.bar(locations[kept], values[kept], 0.76, color="#e69f00", label="after")
        axes.bar(
            locations,
            before,
            0.76,
            facecolor="none",
            edgecolor=plots.INK,
            linewidth=0.8,
            linestyle=(0, (2, 1.5)),
            label="before",
        )
        for place in locations:
            text = "cut" if not kept[place] else f"{100 * values[place]:.0f} %" if few else ""
            high = max(before[place], values[place])
            axes.text(
                place,
                high + 0.02 * top,
                text,
                ha="center",
                va="bottom",
                fontsize=8,
                color=plots.INK if few else "#8c4a00",
            )
        axes.set_title(title, fontsize=10, loc="left")
        axes.tick_params(axis="x", length=0)
        axes.set(ylim=(0, 1.2 * top))
        descriptions.append(
            f"{title}: {', '.join(f'{w} {100 * v:.0f} %' if v else f'{w} cut' for w, v in zip(words, values))}"
        )
    for axes in grid[-1]:
        axes.set_xticks(
            locations, list(words), rotation=0 if few else 55, ha="center" if few else "right", rotation_mode="anchor"
        )
    figure.supylabel("probability", fontsize=10)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=2, loc="outside upper right")
    described = f"Bars of the probability of {len(words)} words, {', '.join(words)}, before and after: "
    described += f"{', '.join(numbers)}; some words are cut." if trained else f"{'. '.join(descriptions)}."
    return plots.show(figure, described)


@plots.styled
def cache_filling(tokens: Sequence[str], stages: Mapping[str, np.ndarray], capacity: int) -> plots.Picture:
    """Draw a cache after each call: a column for each position, filled with what is kept there, those of this call framed.

    Args:
        tokens: the token at each position.
        stages: what the call was: the (positions, features) keys or values that the cache holds after it.
        capacity: how many positions the cache has.

    Returns:
        The picture; its description says which positions each call fills.

    Raises:
        ValueError: if a stage holds fewer positions than the one before, or more than there are tokens, or than there is room.
    """
    plots.check_not_empty("stages", stages)
    arrays = {name: plots.real_numbers(f"stages[{name!r}]", values, 2) for name, values in stages.items()}
    lengths = [0, *(len(values) for values in arrays.values())]
    if lengths != sorted(lengths) or lengths[-1] > min(capacity, len(tokens)):
        raise ValueError(
            f"stages hold {lengths[1:]} positions: expected them to grow, to at most {min(capacity, len(tokens))}"
        )
    features, largest = next(iter(arrays.values())).shape[1], max(np.abs(values).max() for values in arrays.values())
    figure = Figure(figsize=(7, 0.25 + len(arrays) * (0.42 + 0.24 * features)))
    descriptions = []
    for axes, (name, values), old in zip(figure.subplots(len(arrays), 1, squeeze=False).flat, arrays.items(), lengths):
        now = len(values)
        for column in range(capacity):
            for row in range(features):
                shade = (
                    "#f2f3f5" if column >= now else plt.get_cmap("RdBu_r")(0.5 + 0.4 * values[column, row] / largest)
                )
                axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="white", linewidth=1))
                if column < now:
                    ink = "white" if abs(values[column, row]) > 0.7 * largest else plots.INK
                    axes.text(
                        column + 0.5,
                        row + 0.5,
                        f"{values[column, row]:.1f}",
                        ha="center",
                        va="center",
                        fontsize=8,
                        color=ink,
                    )
            label = tokens[column] if column < now else "empty"
            axes.text(
                column + 0.5,
                features + 0.12,
                label,
                ha="center",
                va="top",
                fontsize=9,
                alpha=1 if column < now else 0.5,
            )
        frame = {"fill": False, "edgecolor": "#d55e00", "linewidth": 2.2, "zorder": 3}
        axes.add_patch(Rectangle((old, 0), now - old, features, **frame))
        axes.text(-0.15, features / 2, name, ha="right", va="center")
        axes.set(xlim=(-1.9, capacity + 0.05), ylim=(features + 0.85, -0.1))
        axes.set_axis_off()
        descriptions.append(
            f"{name} fills {', '.join(tokens[old:now]) or 'nothing'}, {capacity - now} of {capacity} are empty"
        )
    return plots.show(figure, f"A cache of {capacity} positions after each call. {'; '.join(descriptions)}.")


def gpt_diagram() -> diagrams.Diagram:
    """Draw GPT: from tokens to the logits of the next token, with the table that is used twice.

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3.
    """
    return diagrams.draw(
        "GPT: tokens look up rows of the token table, a vector for each position is added, the sum passes num_layers causal pre-norm blocks and a last LayerNorm, "
        "and a product with the same token table, transposed, gives the logits of the next token.",
        {
            "tokens": ("data", "tokens\n(batch, length)"),
            "table": ("parameters", "token table\n(vocab_size, d_model)"),
            "positions": ("parameters", "position table\n(max_length, d_model)"),
            "add": ("operation", "look up and add\n(batch, length, d_model)"),
            "block_first": ("parameters", "DecoderOnlyBlock\nblocks.0"),
            "block_more": ("parameters", "…"),
            "block_last": ("parameters", "DecoderOnlyBlock\nblocks.(num_layers - 1)"),
            "norm": ("normalisation", "LayerNorm"),
            "product": ("operation", "multiply by the\ntransposed token table"),
            "logits": ("output", "logits of the next token\n(batch, length, vocab_size)"),
        },
        [
            "tokens -> add -> block_first -> block_more -> block_last -> norm -> product -> logits",
            "table -> add",
            "positions -> add",
            "table -> product",
        ],
        ranksep="0.2",
    )
