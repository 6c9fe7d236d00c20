"""What all plots share: the look, the picture with its alt text, and checks of what is drawn. Nothing global changes."""

import base64
import html
import io
import itertools
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

# Okabe and Ito's colors, which color-blind readers tell apart, and three darker ones for figures with many curves.
COLORS = {"NumPy": "#0072b2", "PyTorch": "#d55e00", "Keras": "#009e73"}
OTHER_COLORS = ("#cc79a7", "#56b4e9", "#e69f00", "#000000", "#882255", "#7f7f7f", "#999933")
INK, DPI, PALETTE = "#1f2328", 192, 128
# "default" first: a reader's own style sheet, dark perhaps, does not leak in.
styled = plt.style.context(
    [
        "default",
        {
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11,
            **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
        },
    ]
)


class Picture:
    """A drawn figure with a description that reaches the reader: the alt text of an image in HTML, and the text where there is none.

    Attributes:
        data: the bytes of a PNG.
        alt: what the figure shows.
        width: pixels on the page; the PNG has twice as many.
    """

    def __init__(self, data: bytes, alt: str):
        self.data, self.alt = data, alt
        self.width = int.from_bytes(data[16:20], "big") // 2  # the first field of a PNG's header

    def __repr__(self) -> str:
        return self.alt

    def _repr_html_(self) -> str:
        # JupyterLab, nbconvert and myst-nb each lose the alt text of an image/png; an <img> keeps it in all three.
        data = base64.b64encode(self.data).decode()
        alt = html.escape(self.alt)
        return f'<img alt="{alt}" width="{self.width}" style="max-width:100%" src="data:image/png;base64,{data}">'


def show(figure: Figure, alt: str) -> Picture:
    """Turn a matplotlib figure into a picture with a description, and close the figure.

    Args:
        figure: any figure, from pyplot or not; it is drawn on white, at twice the pixels of its width on the page.
        alt: what the plot shows, in one or two sentences.

    Returns:
        A picture that a notebook shows when it is a cell's last line; the same figure gives the same bytes.

    Raises:
        TypeError: if figure is not a figure, or alt is not text.
        ValueError: if alt is empty.
    """
    if not isinstance(figure, Figure):
        raise TypeError(f"figure={figure!r}: expected a matplotlib Figure, got {type(figure).__name__}")
    if not isinstance(alt, str):
        raise TypeError(f"alt={alt!r}: expected text, got {type(alt).__name__}")
    if not alt.strip():
        raise ValueError(f"alt={alt!r}: expected a sentence that says what the plot shows")
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI, facecolor="white", transparent=False, bbox_inches="tight")
    plt.close(figure)  # a notebook would show a figure of pyplot's again at the end of the cell
    return Picture(_with_a_palette(file), alt)


def _with_a_palette(file: io.BytesIO) -> bytes:
    """The picture as a PNG of few colors, a third of its size: every redraw stays in the history of the notebooks."""
    small = io.BytesIO()
    # Of Pillow's ways to choose the colors, the one that keeps the steps of a color bar apart.
    few = Image.open(file).convert("RGB").quantize(PALETTE, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(small, format="PNG", optimize=True)
    return small.getvalue()


def real_numbers(name: str, values, *dimensions: int) -> np.ndarray:
    """The values as an array, checked: numbers, finite, not empty, with an allowed number of dimensions.

    Raises:
        TypeError: if they are not real numbers.
        ValueError: if one is not finite, there is none, or the dimensions are others.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} has dtype {array.dtype}: expected real numbers")
    if array.ndim not in dimensions or not array.size:
        raise TypeError(
            f"{name} has shape {array.shape}: expected {' or '.join(map(str, dimensions))} dimensions, none of them empty"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds {array[~np.isfinite(array)][0]}: expected finite numbers")
    return array


def check_not_empty(name: str, values: Mapping) -> None:
    """Refuse what is not a dict, and an empty one."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{name}={values!r}: expected a dict, got {type(values).__name__}")
    if not values:
        raise ValueError(f"{name}={values!r}: expected at least one entry")


def colors_of(names: Sequence[str]) -> list[str]:
    """A color for each name: the framework's if the name begins with one, the next of the others if not."""
    others = itertools.cycle(OTHER_COLORS)
    return [
        next((color for framework, color in COLORS.items() if name.startswith(framework)), None) or next(others)
        for name in names
    ]
