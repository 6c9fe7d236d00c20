"""What chapter 05 draws: position encodings, similarities, and the way from ids to vectors."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from shared.drawing import diagrams, plots


@plots.styled
def heatmap(
    matrix: np.ndarray,
    x_label: str,
    y_label: str,
    alt: str | None = None,
    title: str = "",
    value_label: str = "value",
    square: bool = False,
) -> plots.Picture:
    """Draw a matrix of numbers on a diverging scale with 0 in its middle, red above and blue below; without negative numbers, from white at the smallest to dark blue.

    Args:
        matrix: (rows, columns).
        x_label: what the columns are, with a unit.
        y_label: what the rows are, with a unit.
        alt: what the plot shows; None for a description made from the data.
        title: a title above the plot.
        value_label: what the numbers are, beside the color bar.
        square: whether rows are as high as columns are wide, as for a matrix whose rows and columns are the same things.

    Returns:
        The picture, with its alt text.

    Raises:
        TypeError: if matrix does not hold real numbers, or has another shape.
        ValueError: if matrix is not finite.
    """
    matrix = plots.real_numbers("matrix", matrix, 2)
    limit = np.abs(matrix).max() or 1
    figure = Figure(figsize=(5.4, 4.4) if square else (7, 3.8))
    axes = figure.subplots()
    cmap, lowest = ("RdBu_r", -limit) if matrix.min() < 0 else ("Blues", matrix.min())
    aspect = "equal" if square else "auto"
    image = axes.imshow(matrix, cmap=cmap, vmin=lowest, vmax=limit, aspect=aspect, interpolation="nearest")
    axes.spines[:].set_visible(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.get_major_locator().set_params(integer=True)
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    figure.colorbar(image, label=value_label)
    rows, columns = matrix.shape
    described = f"Heat map of {value_label}, {rows} rows ({y_label}) by {columns} columns ({x_label})"
    described += f", from {matrix.min():.3g} to {matrix.max():.3g}."
    if square and (matrix.argmax(axis=1) == np.arange(rows)).all():
        described += " Each row is largest on the diagonal."
    return plots.show(figure, described if alt is None else alt)


@plots.styled
def dials(encoding: np.ndarray) -> plots.Picture:
    """Draw a sinusoidal position encoding as clocks: a dial for each pair of features, a hand for each position.

    Args:
        encoding: (positions, features), an even number of features; a sine and its cosine are beside one another.
    """
    pairs = encoding.shape[1] // 2
    figure = Figure(figsize=(3.1 * pairs, 3.3))
    for pair, panel in enumerate(figure.subplots(1, pairs, squeeze=False).flat):
        panel.plot(*np.array([np.sin(a := np.linspace(0, 2 * np.pi, 200)), np.cos(a)]), color="#c8ccd1", linewidth=1)
        panel.plot(0, 0, "o", color=plots.INK, markersize=3)
        sines, cosines = encoding[:, 2 * pair], encoding[:, 2 * pair + 1]
        apart = np.hypot(np.diff(sines), np.diff(cosines)).min(initial=2) > 0.3  # room for a number at each hand
        for position, (x, y) in enumerate(zip(sines, cosines)):
            panel.plot([0, x], [0, y], color=plots.COLORS["NumPy"], linewidth=2)
            if apart:
                panel.annotate(str(position), (1.16 * x, 1.16 * y), ha="center", va="center")
        if not apart:
            panel.annotate(f"0 to {len(encoding) - 1}", (0, 1.16), ha="center", va="center")
        panel.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        panel.set(xlabel=f"feature {2 * pair} (sine)", ylabel=f"feature {2 * pair + 1} (cosine)")
    descriptions = []
    for pair in range(pairs):
        turned = np.degrees(np.arctan2(encoding[1, 2 * pair], encoding[1, 2 * pair + 1])) if len(encoding) > 1 else 0
        descriptions.append(f"features {2 * pair} and {2 * pair + 1} turn by {turned:.3g} degrees a position")
    return plots.show(
        figure, f"{pairs} dials with a hand for each of {len(encoding)} positions: {'; '.join(descriptions)}."
    )


@plots.styled
def similarities(tables: Mapping[str, np.ndarray], kinds: Sequence[str]) -> plots.Picture:
    """Draw how alike the rows of each table are, by the cosine of their angle: a panel for each table, rows of a kind together.

    Args:
        tables: title: (rows, features), with the same rows in each.
        kinds: the kind of each row; equal ones are neighbors.
    """
    figure = Figure(figsize=(3.5 * len(tables) + 0.8, 4.9))
    borders = [0, *(i for i in range(1, len(kinds)) if kinds[i] != kinds[i - 1]), len(kinds)]
    middles = [(low + high - 1) / 2 for low, high in itertools.pairwise(borders)]
    names = [kinds[low] for low in borders[:-1]]
    descriptions = []
    same = np.array([[a == b for b in kinds] for a in kinds])
    for number, (panel, (title, table)) in enumerate(
        zip(figure.subplots(1, len(tables), squeeze=False).flat, tables.items())
    ):
        unit = table / np.linalg.norm(table, axis=1, keepdims=True)
        cosine = unit @ unit.T
        image = panel.imshow(cosine, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
        for border in borders[1:-1]:
            panel.axhline(border - 0.5, color=plots.INK, linewidth=0.6)
            panel.axvline(border - 0.5, color=plots.INK, linewidth=0.6)
        panel.spines[:].set_visible(True)
        panel.set_title(title)
        panel.set_xticks(middles, names, rotation=30, ha="right", rotation_mode="anchor")
        panel.set_yticks(middles, names if number == 0 else [""] * len(names))
        panel.tick_params(length=0, labelsize=9)
        within, across = cosine[same & ~np.eye(len(kinds), dtype=bool)].mean(), cosine[~same].mean()
        descriptions.append(f"{title}: on average {within:.2f} within a kind and {across:.2f} across kinds")
    figure.colorbar(
        image,
        ax=figure.axes,
        label="cosine similarity",
        location="bottom",
        shrink=0.4,
        aspect=30,
        ticks=[-1, -0.5, 0, 0.5, 1],
    )
    return plots.show(figure, f"Cosine similarity of {len(kinds)} rows, {', '.join(names)}. {'; '.join(descriptions)}.")


def embeddings_diagram() -> diagrams.Diagram:
    """Draw how token ids become vectors that know their position."""
    return diagrams.draw(
        "Token ids look up rows of the embedding table, the rows are scaled by the square root of d_model, "
        "the encoding of each position is added, and dropout gives x of shape (batch, length, d_model).",
        {
            "tokens": ("data", "tokens\n(batch, length)"),
            "embedding": ("parameters", "token embedding\n(vocab_size, d_model)"),
            "scale": ("operation", "multiply by √d_model"),
            "positions": ("data", "positions\n0 … length - 1"),
            "encoding": ("operation", "position encoding\n(length, d_model)"),
            "add": ("operation", "add"),
            "dropout": ("operation", "dropout"),
            "x": ("output", "x\n(batch, length, d_model)"),
        },
        [
            "tokens -> embedding: look up",
            "embedding -> scale -> add -> dropout -> x",
            "positions -> encoding: sine and cosine",
            "encoding -> add",
        ],
    )
