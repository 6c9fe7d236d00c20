"""Attention weights: maps with a panel for each head, and the explorer of all layers and heads."""

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.checks import check_choice
from shared.drawing import explorer
from shared.drawing.plotting import style


@style.styled
def attention_map(
    weights: np.ndarray,
    query_labels: Sequence[str],
    key_labels: Sequence[str],
    alt: str | None = None,
    title: str = "",
    largest: float = 1.0,
    trained: bool = False,
    x_label: str = "key (token)",
    y_label: str = "query (token)",
) -> style.Picture:
    """Draw attention weights: a row for each query, a column for each key, a panel for each head.

    Args:
        weights: (length_q, length_k) or (heads, length_q, length_k), from 0 to 1.
        query_labels: length_q tokens, or a text of as many letters.
        key_labels: length_k tokens, in the same way.
        alt: what the plot shows; None for a description made from the weights.
        title: a title above the panels.
        largest: the weight that is drawn darkest, the same in every panel; 1 makes all maps comparable.
        trained: whether a model was trained to these weights, which then differ a little from one processor to another: the description leaves them out.
        x_label, y_label: what a column and a row are, where the labels name something else than the key and the query themselves.

    Returns:
        The picture, with its alt text.

    Raises:
        TypeError: if weights are not real numbers, or have another shape.
        ValueError: if weights are not finite or not in [0, 1], or a list of labels has another length.
    """
    weights = style.real_numbers("weights", weights, 2, 3)
    query_labels, key_labels = list(map(str, query_labels)), list(map(str, key_labels))
    for name, labels, length in (
        ("query_labels", query_labels, weights.shape[-2]),
        ("key_labels", key_labels, weights.shape[-1]),
    ):
        if len(labels) != length:
            raise ValueError(
                f"{name} has {len(labels)} labels: expected {length}, as many as weights of shape {weights.shape} have"
            )
    if weights.min() < 0 or weights.max() > 1 + 1e-6:
        raise ValueError(f"weights are from {weights.min():.3g} to {weights.max():.3g}: expected weights in [0, 1]")
    heads = weights.reshape(-1, *weights.shape[-2:])
    rows = -(-len(heads) // 4)
    columns = -(-len(heads) // rows)
    side = 4.2 if columns == 1 else 6.6 / columns
    figure = Figure(
        figsize=(side * columns + 0.8, rows * (0.4 + side * min(2, max(0.4, heads.shape[1] / heads.shape[2]))))
    )
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat
    for head, panel in itertools.zip_longest(range(len(heads)), panels):
        if head is None:
            panel.set_visible(False)
            continue
        image = panel.imshow(heads[head], cmap="Blues", vmin=0, vmax=largest, aspect="auto")
        panel.spines[:].set_visible(True)
        if max(heads.shape[1:]) <= 24:  # lines between the cells, so that equal neighbors are not one block
            panel.set_xticks(np.arange(0.5, heads.shape[2] - 1), minor=True)
            panel.set_yticks(np.arange(0.5, heads.shape[1] - 1), minor=True)
            panel.tick_params(which="minor", length=0)
            panel.grid(which="minor", color="#c8d1da", linewidth=0.6)
        if len(heads) > 1:
            panel.set_title(f"head {head}")
        panel.tick_params(length=0, labelsize=9)
        panel.tick_params(labelbottom=head + columns >= len(heads))  # the lowest panel of its column
        if max(map(len, key_labels)) > 2:
            panel.tick_params(axis="x", labelrotation=90)
    # Room for about 7 labels an inch: of a long sequence every second or third token is named. The panels share their ticks.
    for axis, labels in ((figure.axes[0].xaxis, key_labels), (figure.axes[0].yaxis, query_labels)):
        if (
            len(set(labels)) < len(labels) <= 12 and max(map(len, labels)) == 1
        ):  # equal letters, told apart by their place
            labels = [f"{letter}{index}" for index, letter in enumerate(labels)]
        step = -(-len(labels) // int(7 * side))
        axis.set_ticks(range(0, len(labels), step), labels[::step])
    figure.supxlabel(x_label, fontsize=10)
    figure.supylabel(y_label, fontsize=10)
    figure.suptitle(title, fontsize=11)
    figure.colorbar(image, ax=figure.axes, label="weight", shrink=0.9)
    return style.show(
        figure, _describe_attention(heads, query_labels, key_labels, title, trained) if alt is None else alt
    )


def _describe_attention(
    heads: np.ndarray, query_labels: list[str], key_labels: list[str], title: str, trained: bool
) -> str:
    """For each query the keys that get at least two thirds of its largest weight; of a trained model the sizes alone."""
    sentences = [f"Attention map{f', {title}' if title else ''}: {len(query_labels)} queries, {len(key_labels)} keys."]
    if trained:
        return f"{sentences[0]} {len(heads)} heads of a trained model."
    for number, head in enumerate(heads):
        descriptions = []
        for label, row in zip(query_labels, head):
            keys = [f"{key_labels[k]}{k}" for k in np.flatnonzero((row > 0) & (row >= row.max() * 2 / 3))]
            descriptions.append(f"{label} to {', '.join(keys) or 'nothing'}")
        sentences.append(f"Head {number}, each query and the keys it attends to most: {'; '.join(descriptions)}.")
    return " ".join(sentences)


def attention_explorer(
    weights: Any,
    tokens: Sequence[str],
    trained: bool = False,
    layer: int = 0,
    head: int = 0,
    token: int | None = None,
) -> explorer.Explorer:
    """Show the attention weights of one text in a notebook, to look into with the mouse or the keyboard.

    You choose a layer, a head (or the average of a layer's heads) and a token, and see what the token reads. Where no
    script runs, a figure of all heads and a table are shown. The page holds each weight in half percents, rounded down:
    the whole percents that it shows are exact, and of two weights in the same half percent the earlier token comes first.

    Args:
        weights: (layers, heads, length, length), an array of any framework; each row sums to 1, or is all 0 where all is
            masked.
        tokens: length texts.
        trained: whether a model was trained to these weights, which then differ a little from one processor to another:
            the description leaves them out.
        layer, head, token: where it opens; None is the last token.

    Returns:
        What a notebook shows when it is a cell's last line. The same weights and tokens give the same page.

    Raises:
        TypeError: if weights are not real numbers or have another shape, or a token is not text.
        ValueError: if a row is not one of attention weights, layer, head or token is
            none of them, or there are more than 128 tokens, 64 layers or heads, or 2,000,000 weights.
    """
    weights = explorer.checked_weights(weights)
    tokens = [explorer.visible(token) for token in explorer.checked_tokens(tokens, weights.shape[-1])]
    layers, heads, length, _ = weights.shape
    token = length - 1 if token is None else token
    check_choice(range(layers), layer=layer)
    check_choice(range(heads), head=head)
    check_choice(range(length), token=token)
    picture = _attention_grid(weights, tokens, explorer.describe(weights, tokens, trained))
    return explorer.Explorer(weights, tokens, picture, (layer, head, token))


@style.styled
def _attention_grid(weights: np.ndarray, tokens: Sequence[str], alt: str) -> style.Picture:
    """Draw the attention maps of all heads: a row for each layer, a column for each head."""
    layers, heads, length, _ = weights.shape
    side = min(2.3, 6.2 / heads)  # inches
    pitch = length + max(1, round(0.08 * length))  # from one map to the next, in weights
    whole = np.full((layers * pitch, heads * pitch), np.nan)
    named = length <= 7 * side  # room for 7 tokens an inch
    figure = Figure(figsize=(side * heads + 1.3, side * layers + (1.5 if named else 0.9)))
    axes = figure.subplots()
    for layer, head in np.ndindex(layers, heads):
        top, left = layer * pitch, head * pitch
        whole[top : top + length, left : left + length] = weights[layer, head]
        frame = Rectangle((left - 0.5, top - 0.5), length, length, facecolor="none", edgecolor="#7d8590", linewidth=0.8)
        axes.add_patch(frame)
    # A pixel at least for each weight: a third of the bytes.
    sharp = "nearest" if length <= style.DPI * side else "auto"
    image = axes.imshow(whole, cmap="Blues", vmin=0, vmax=1, interpolation=sharp)
    axes.set(xlim=(-1, heads * pitch - (pitch - length)), ylim=(layers * pitch - (pitch - length), -1))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=9)
    middle = (length - 1) / 2
    # The names of the heads above, those of the layers on the left; the tokens, if there is room, on the other sides.
    above, beside = axes.secondary_xaxis("top"), axes.secondary_yaxis("right")
    for axis in (above, beside):
        axis.tick_params(length=0, labelsize=9)
        axis.spines[:].set_visible(False)
    above.set_xticks(pitch * np.arange(heads) + middle, [f"head {n}" if side > 0.7 else n for n in range(heads)])
    axes.set_yticks(pitch * np.arange(layers) + middle, [f"layer {n}" for n in range(layers)])
    if side <= 0.7:
        above.set_xlabel("head", fontsize=10)
    if named:
        labels = [token if len(token) <= 15 else token[:14] + "…" for token in tokens]
        rotation = 90 if max(map(len, tokens)) > 2 else 0
        positions = (np.arange(length) + pitch * np.arange(heads)[:, None]).ravel()
        axes.set_xticks(positions, heads * labels, rotation=rotation, parse_math=False)
        positions = (np.arange(length) + pitch * np.arange(layers)[:, None]).ravel()
        beside.set_yticks(positions, layers * labels, parse_math=False)
    else:
        axes.set_xticks([])
        beside.set_yticks([])
    axes.set_xlabel("key (token that is read)", fontsize=10)
    beside.set_ylabel("query (token that reads)", fontsize=10)
    figure.colorbar(image, ax=axes, label="weight", shrink=min(0.9, 3 / (side * layers)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # of a token in another script, or an emoji
        return style.show(figure, alt)
