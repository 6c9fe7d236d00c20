"""Pixels and lines of text, drawn as they are."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from shared.checks import check_positive
from shared.drawing.plotting import style


@style.styled
def pictures(
    images: Mapping[str, np.ndarray], alt: str | None = None, title: str = "", columns: int = 4
) -> style.Picture:
    """Draw pictures pixel by pixel, all at one scale, so that a larger array is a larger picture.

    Args:
        images: name: (height, width) grays, 0 is black and 1 is white, or (height, width, 3) red, green and blue; from 0 to 1.
        alt: what the pictures show; None for their names and sizes.
        title: a title above all of them.
        columns: pictures side by side before a new row begins.

    Returns:
        The picture, with its alt text.

    Raises:
        TypeError: if images is not a dict of real numbers, one has another shape, or columns is not a whole number.
        ValueError: if there is none, or one is not finite or not in [0, 1], or columns is below 1.
    """
    check_positive(columns=columns)
    style.check_not_empty("images", images)
    images = {name: style.real_numbers(f"images[{name!r}]", image, 2, 3) for name, image in images.items()}
    for name, image in images.items():
        if image.ndim == 3 and image.shape[-1] != 3:
            raise TypeError(f"images[{name!r}] has shape {image.shape}: expected (height, width) or (height, width, 3)")
        if image.min() < 0 or image.max() > 1:
            raise ValueError(f"images[{name!r}] is from {image.min():.3g} to {image.max():.3g}: expected [0, 1]")
    rows = [list(images.items())[start : start + columns] for start in range(0, len(images), columns)]
    gap, below, above = 0.42, 0.34, 0.3  # inches between pictures, and for the ticks and the name of each
    across, tallest = max(sum(image.shape[1] for _, image in row) for row in rows), max(map(len, images.values()))
    scale = min((7.4 - gap * max(map(len, rows))) / across, 1.7 / tallest)  # inches a pixel

    def slot(name: str, image: np.ndarray) -> float:
        return max(scale * image.shape[1], 0.075 * len(name)) + gap  # a long name needs room, too

    width = max(sum(slot(*each) for each in row) for row in rows)
    heights = [below + above + scale * max(len(image) for _, image in row) for row in rows]
    figure = Figure(figsize=(width, sum(heights)), layout="none")
    for number, row in enumerate(rows):
        left, bottom = 0.0, sum(heights[number + 1 :]) + below
        for name, image in row:
            side = scale * image.shape[1], scale * image.shape[0]
            box = left + (slot(name, image) - side[0]) / 2, bottom + heights[number] - below - above - side[1], *side
            panel = figure.add_axes([part / whole for part, whole in zip(box, figure.get_size_inches().tolist() * 2)])
            panel.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest", aspect="auto")
            panel.spines[:].set_visible(True)
            panel.set_title(name, fontsize=9)
            panel.set_xticks([0, image.shape[1] - 1])
            panel.set_yticks([0, image.shape[0] - 1])
            panel.tick_params(length=2, labelsize=8)
            left += slot(name, image)
    figure.text(0.5, 0, "width (pixels)", ha="center", va="top", fontsize=9)
    figure.text(0, 0.5, "height (pixels)", ha="right", va="center", rotation=90, fontsize=9)
    figure.text(0.5, 1, title, ha="center", va="bottom", fontsize=11)
    sizes = [f"{name}, {len(image)} by {image.shape[1]} pixels" for name, image in images.items()]
    return style.show(figure, f"Images: {'; '.join(sizes)}." if alt is None else alt)


@style.styled
def text_lines(
    lines: Sequence[str],
    alt: str | None = None,
    marks: Sequence[str] | None = None,
    mark_name: str | None = None,
) -> style.Picture:
    """Draw lines of text, such as what a model has written: a picture, because another processor may round to another word.

    Args:
        lines: one text a line.
        alt: what the plot shows; None for a description without the texts, which differ between processors.
        marks: a short text before each line, such as "yes" or "no"; None for none.
        mark_name: what the marks are, written above them; None if that is clear without.

    Returns:
        The picture, with its alt text.

    Raises:
        TypeError: if lines or marks are not texts.
        ValueError: if there is no line, or another number of marks.
    """
    columns = {"lines": lines} | ({} if marks is None else {"marks": marks})
    for name, texts in columns.items():
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"{name}={texts!r}: expected a list of texts")
    if not len(lines):
        raise ValueError("lines is empty: expected at least one")
    if marks is not None and len(marks) != len(lines):
        raise ValueError(f"marks has {len(marks)} entries: expected {len(lines)}, one for each line")
    top = 0 if mark_name is None else 1  # lines above the first
    figure = Figure(figsize=(8, 0.27 * (len(lines) + top)), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(len(lines) - 0.5, -top - 0.5))
    start = 0 if marks is None else 0.015 + 0.011 * max(map(len, [*marks, mark_name or ""]))  # behind the longest mark
    if mark_name is not None:
        axes.text(0, -1, mark_name, va="center", fontsize=9.5, style="italic", color="#57606a")
    for row, line in enumerate(lines):
        axes.text(start, row, line, va="center", fontsize=9.5, family="monospace")
        if marks is not None:
            axes.text(0, row, marks[row], va="center", fontsize=9.5, color="#57606a")
    marked = "" if marks is None else f", each with {'a mark' if mark_name is None else f'its {mark_name}'} before it"
    return style.show(figure, f"{len(lines)} lines of text{marked}." if alt is None else alt)
