"""The course's plots: one look, alt text for each, and one color per framework everywhere.

Every function returns a picture that a notebook shows and stores with its alt text. The style stays inside: nothing global changes.
What one chapter alone draws is in the chapter's module of this folder, in the same style: `@styled`, and `show` at its end.
"""

import base64
import html
import io
import itertools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator
from PIL import Image

from shared.checks import check_choice, check_positive
from shared.drawing import explorer

# Okabe and Ito's colors, which color-blind readers tell apart.
COLORS = {"NumPy": "#0072b2", "PyTorch": "#d55e00", "Keras": "#009e73"}
OTHER_COLORS = ("#cc79a7", "#56b4e9", "#e69f00", "#000000")
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
        raise ValueError(
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


def _of_rounds(name: str, value: Any) -> np.ndarray:
    """One number, or one from each round of a measurement."""
    return np.atleast_1d(real_numbers(name, value, 0, 1)).astype(float)


def _numbers_of_rounds(values: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """What a description says of measured numbers: the median of each, and its range over the rounds."""
    groups = []
    for group, rounds in values.items():
        each = (f"{name} {np.median(x):.3g} ({min(x):.3g} to {max(x):.3g})" for name, x in rounds.items())
        groups.append(f"{' '.join(str(group).split())}: {', '.join(each)}")
    return f" Median and range of the rounds: {'; '.join(groups)}."


def _drawn_as(rounds: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The height at which each name is drawn: its median, or, where ranges overlap, one median for all of them."""
    heights, together, end = {}, [], -np.inf
    for name in sorted(rounds, key=lambda name: min(rounds[name])):
        if min(rounds[name]) > end:
            together = []
        together.append(name)
        end = max(end, *rounds[name])
        heights |= dict.fromkeys(together, float(np.median([np.median(rounds[each]) for each in together])))
    return heights


def _colors(names: Sequence[str]) -> list[str]:
    """A color for each name: the framework's if the name begins with one, the next of the others if not."""
    others = itertools.cycle(OTHER_COLORS)
    return [
        next((color for framework, color in COLORS.items() if name.startswith(framework)), None) or next(others)
        for name in names
    ]


@styled
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
) -> Picture:
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
        TypeError: if weights are not real numbers.
        ValueError: if weights have another shape, are not finite or not in [0, 1], or a list of labels has another length.
    """
    weights = real_numbers("weights", weights, 2, 3)
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
            labels = [f"{letter}{place}" for place, letter in enumerate(labels)]
        step = -(-len(labels) // int(7 * side))
        axis.set_ticks(range(0, len(labels), step), labels[::step])
    figure.supxlabel(x_label, fontsize=10)
    figure.supylabel(y_label, fontsize=10)
    figure.suptitle(title, fontsize=11)
    figure.colorbar(image, ax=figure.axes, label="weight", shrink=0.9)
    return show(figure, _describe_attention(heads, query_labels, key_labels, title, trained) if alt is None else alt)


def _describe_attention(
    heads: np.ndarray, query_labels: list[str], key_labels: list[str], title: str, trained: bool
) -> str:
    """For each query the keys that get at least two thirds of its largest weight; of a trained model the sizes alone."""
    sentences = [f"Attention map{f', {title}' if title else ''}: {len(query_labels)} queries, {len(key_labels)} keys."]
    if trained:
        return f"{sentences[0]} {len(heads)} heads of a trained model."
    for number, head in enumerate(heads):
        told = []
        for label, row in zip(query_labels, head):
            keys = [f"{key_labels[k]}{k}" for k in np.flatnonzero((row > 0) & (row >= row.max() * 2 / 3))]
            told.append(f"{label} to {', '.join(keys) or 'nothing'}")
        sentences.append(f"Head {number}, each query and the keys it attends to most: {'; '.join(told)}.")
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
        TypeError: if weights are not real numbers, or a token is not text.
        ValueError: if the shape of weights does not fit, a row is not one of attention weights, layer, head or token is
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


@styled
def _attention_grid(weights: np.ndarray, tokens: Sequence[str], alt: str) -> Picture:
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
    sharp = "nearest" if length <= DPI * side else "auto"  # a pixel at least for each weight: a third of the bytes
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
        places = (np.arange(length) + pitch * np.arange(heads)[:, None]).ravel()
        axes.set_xticks(places, heads * labels, rotation=rotation, parse_math=False)
        places = (np.arange(length) + pitch * np.arange(layers)[:, None]).ravel()
        beside.set_yticks(places, layers * labels, parse_math=False)
    else:
        axes.set_xticks([])
        beside.set_yticks([])
    axes.set_xlabel("key (token that is read)", fontsize=10)
    beside.set_ylabel("query (token that reads)", fontsize=10)
    figure.colorbar(image, ax=axes, label="weight", shrink=min(0.9, 3 / (side * layers)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # of a token in another script, or an emoji
        return show(figure, alt)


@styled
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
) -> Picture:
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
        overlaid: whether the curves lie on one another: the first is then drawn widest, so that all are seen. False draws all of them thin.

    Returns:
        The picture, with its alt text.

    Raises:
        TypeError: if curves or bounds are not dicts of real numbers, or window or every is not a whole number.
        ValueError: if there is no curve, a loss or bound is not finite, a curve is not one-dimensional, window or every is below 1, or y_max is below
            all that is drawn.
    """
    check_positive(window=window, every=every)
    check_not_empty("curves", curves)
    if not isinstance(bounds, Mapping):
        raise TypeError(f"bounds={bounds!r}: expected a dict, got {type(bounds).__name__}")
    curves = {name: real_numbers(f"curves[{name!r}]", curve, 1) for name, curve in curves.items()}
    bounds = {name: float(real_numbers(f"bounds[{name!r}]", value, 0)) for name, value in bounds.items()}
    figure = Figure(figsize=(7, 3.8))
    axes = figure.subplots()
    wide = [(7, "-"), (4, "-"), (2, (0, (3, 2)))] if overlaid else []
    lines = itertools.chain(wide, itertools.repeat((1.4, "-")))
    for (name, curve), color, (width, dashes) in zip(curves.items(), _colors(list(curves)), lines):
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
        axes.axhline(value, color=INK, linestyle="--", linewidth=1)
    low, high = axes.get_ylim()
    high = high if y_max is None else float(real_numbers("y_max", y_max, 0))
    if high <= low:
        raise ValueError(f"y_max={y_max}: expected more than {low:.3g}, the lowest value drawn")
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
    return show(figure, described if alt is None else alt)


@styled
def number_lines(stages: Mapping[str, Sequence[float]], names: Sequence[str]) -> Picture:
    """Draw the same few numbers on a number line for each stage, one below the other, and follow each number down.

    Args:
        stages: what was done: the numbers after it, as many at each stage.
        names: a name for each number, for the legend.
    """
    check_not_empty("stages", stages)
    values = np.array([real_numbers(f"stages[{stage!r}]", numbers, 1) for stage, numbers in stages.items()])
    figure = Figure(figsize=(7, 0.75 * len(values) + 0.9))
    axes = figure.subplots()
    rows = -np.arange(len(values))
    axes.hlines(rows, values.min() - 0.6, values.max() + 0.6, color="#afb8c1", linewidth=1, zorder=0)
    axes.axvline(0, color="#afb8c1", linewidth=1, linestyle=":", zorder=0)
    for number, (name, column) in enumerate(zip(names, values.T)):
        color = (*COLORS.values(), *OTHER_COLORS)[number % 7]
        axes.plot(column, rows, "o-", color=color, linewidth=0.8, label=name)
        for stage, value in enumerate(column):
            if stage == 0 and len(rows) > 1:
                place, side = (0, 7), "center"
            elif stage == len(rows) - 1:
                near = np.abs(value - values[stage, :number]) < 0.08 * np.ptp(values)
                place, side = (0, -25 if near.any() else -14), "center"  # lower, if another number is close
            else:  # below, on the side that the line to the next stage leaves free
                side = "right" if column[stage + 1] > value else "left"
                place = (-3 if side == "right" else 3, -14)
            # On white, so that the dotted line at 0 does not run through the number.
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
            told = {"textcoords": "offset points", "ha": side, "fontsize": 9, "bbox": ground}
            axes.annotate(f"{value:.2f}", (value, rows[stage]), place, **told)
    axes.set_yticks(rows, list(stages))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set(ylim=(rows[-1] - 0.55, 0.45), xlabel="value")
    axes.legend(frameon=False, ncols=len(names), loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    told = [f"{' '.join(stage.split())}: {', '.join(f'{v:.2f}' for v in row)}" for stage, row in zip(stages, values)]
    return show(figure, f"Number lines for {', '.join(names)}. {'; '.join(told)}.")


@styled
def line_panels(
    x: Sequence[float] | Mapping[str, Sequence[float]],
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    x_label: str,
    y_label: str | Mapping[str, str],
    log: bool = False,
    same_scale: bool = True,
    trained: bool = False,
) -> Picture:
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
    check_not_empty("panels", panels)
    places = x if isinstance(x, Mapping) else dict.fromkeys(panels, x)
    y_labels = y_label if isinstance(y_label, Mapping) else dict.fromkeys(panels, y_label)
    figure = Figure(figsize=(7, 3.5))
    told = []
    for number, (axes, (title, curves)) in enumerate(
        zip(figure.subplots(1, len(panels), sharey=same_scale, squeeze=False).flat, panels.items())
    ):
        x = real_numbers("x", places[title], 1)
        # Curves that may lie on one another differ in width.
        styles = itertools.cycle([(2, "-")] if trained else [(4, "-"), (2.6, "-"), (1.6, (0, (3, 3))), (1.6, "-")])
        for (name, given), color, (width, dashes) in zip(curves.items(), _colors(list(curves)), styles):
            given = real_numbers(f"panels[{title!r}][{name!r}]", given, 1)
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
            told.append(f"{title}: {name}" if trained else ", ".join([ends, *extremes]))
        axes.set(xlabel=x_label, title=title, yscale="log" if log else "linear")
        axes.grid(alpha=0.25)
        if not number or not same_scale:
            axes.set_ylabel(y_labels[title])
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=len(labels), loc="outside upper left")
    of = " and ".join(dict.fromkeys(y_labels.values()))
    return show(figure, f"Curves of {of} against {x_label}. {'; '.join(told)}.")


def _short(value: float, digits: int) -> str:
    """A number for a label: whole numbers as they are, others with so many digits, zeros at the end included."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:#.{digits}g}".rstrip(".")


@styled
def bars(
    values: Mapping[str, Mapping[str, float | Sequence[float]]],
    y_label: str,
    alt: str | None = None,
    title: str = "",
    x_label: str = "",
    log: bool = False,
) -> Picture:
    """Draw groups of bars side by side, one bar for each name, such as the time of each framework.

    A bar of several rounds is as high as their median, with a line from the least to the largest. Where the ranges of two bars
    of a group overlap, the measurement tells no difference, so they are drawn at the same height.

    Args:
        values: group: name: number, or a number for each round of a measurement, with the same names in every group.
        y_label: what the numbers are, with their unit.
        alt: what the plot shows; None for a description by names and groups. Medians and ranges of rounds are added to it.
        title: a title above the plot.
        x_label: what the groups are; they are named below their bars.
        log: whether the axis is logarithmic, for numbers of very different size.

    Returns:
        The picture, with its alt text.

    Raises:
        TypeError: if values are not dicts of real numbers.
        ValueError: if values or a group is empty, groups have different names, a number is not finite, or, with log, not above 0.
    """
    check_not_empty("values", values)
    for group, numbers in values.items():
        check_not_empty(f"values[{group!r}]", numbers)
    names = list(next(iter(values.values())))
    for group, numbers in values.items():
        if set(numbers) != set(names):
            raise ValueError(
                f"values[{group!r}] has the names {sorted(numbers)}: expected {sorted(names)}, as in the first group"
            )
    measured = any(np.ndim(number) for numbers in values.values() for number in numbers.values())
    rounds = {
        group: {name: _of_rounds(f"values[{group!r}][{name!r}]", numbers[name]) for name in names}
        for group, numbers in values.items()
    }
    drawn_as = [_drawn_as(each) if measured else {name: each[name][0] for name in names} for each in rounds.values()]
    figure = Figure(figsize=(7, 3.4))
    axes = figure.subplots()
    width = 0.8 / len(names)
    for number, (name, color) in enumerate(zip(names, _colors(names))):
        each = [group[name] for group in rounds.values()]
        heights = [float(group[name]) for group in drawn_as]
        if log and min(map(min, each)) <= 0:
            raise ValueError(f"{name!r} is {min(map(min, each)):.3g}: expected numbers above 0 for a logarithmic axis")
        places = np.arange(len(values)) + (number - (len(names) - 1) / 2) * width
        axes.bar(places, heights, 0.92 * width, color=color, label=name)
        if measured:
            axes.vlines(places, [min(x) for x in each], [max(x) for x in each], color="black", linewidth=1.2)
        if len(names) * len(values) <= 12:  # more bars are too narrow for their numbers
            short = log and max(heights) < 99.5  # 0.0298 is wider than its bar, and 0.030 is not
            for place, height, x in zip(places, heights, each):
                axes.annotate(
                    _short(height, 2 if measured or short or height < 0.1 else 3),
                    (place, max(height, *x)),
                    (0, 2),
                    textcoords="offset points",
                    ha="center",
                    fontsize=9,
                )
    axes.set_xticks(range(len(values)), list(values))
    axes.tick_params(axis="x", length=0)
    axes.set(xlabel=x_label, ylabel=y_label, yscale="log" if log else "linear")
    axes.set_title(title, pad=24)  # above the legend
    axes.margins(y=0.12)
    if len(names) > 1:
        axes.legend(frameon=False, ncols=len(names), loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    groups = ", ".join(" ".join(str(group).split()) for group in values)  # a name may have two lines
    described = f"Bars of {y_label} for {', '.join(names)}, in {len(values)} groups: {groups}."
    return show(figure, (described if alt is None else alt) + (_numbers_of_rounds(rounds) if measured else ""))


@styled
def lines(
    x: Sequence[float],
    values: Mapping[str, Sequence[float | Sequence[float]]],
    x_label: str,
    y_label: str,
    title: str = "",
    numbers: bool = True,
) -> Picture:
    """Draw positive numbers against x, a marked line for each name, on two logarithmic axes: a power law is a straight line.

    Args:
        x: where each number was measured, such as lengths.
        values: name: a number for each x, or for each x a number from each round of a measurement: the line goes through
            their medians, with a mark from the least to the largest.
        x_label, y_label: what is on the axes, with its unit.
        title: a title above the plot.
        numbers: whether each end of a line has its number.

    Returns:
        The picture; its description has the medians and ranges of rounds, and no other numbers.

    Raises:
        TypeError: if values is not a dict of real numbers.
        ValueError: if values is empty, or a line has not as many numbers as x, or a number is not finite and above 0.
    """
    check_not_empty("values", values)
    x = real_numbers("x", x, 1)
    figure = Figure(figsize=(6, 3.4))
    axes = figure.subplots()
    measured = {}
    for (name, each), color, marker in zip(values.items(), _colors(list(values)), itertools.cycle("os^D")):
        rounds = real_numbers(f"values[{name!r}]", each, 1, 2)
        if len(rounds) != len(x) or min(x.min(), rounds.min()) <= 0:
            raise ValueError(
                f"values[{name!r}]: expected {len(x)} numbers above 0, one for each x, which are above 0 too"
            )
        given = rounds
        if rounds.ndim == 2:
            measured[name] = {f"{where:g}": numbers_there for where, numbers_there in zip(x, rounds)}
            given = np.median(rounds, axis=1)
            axes.vlines(x, rounds.min(axis=1), rounds.max(axis=1), color=color, linewidth=3, alpha=0.4)
        axes.loglog(x, given, marker=marker, color=color, label=name)
        for end in (0, -1) if numbers else ():
            axes.annotate(
                f"{given[end]:.{3 if given[end] >= 100 else 2}g}",
                (x[end], given[end]),
                (0, 6),
                textcoords="offset points",
                ha="center",
            )
    axes.set_xticks(x, [f"{each:g}" for each in x])
    axes.minorticks_off()
    low, high = axes.get_ylim()
    if high < 100 * low:  # one power of ten is too few ticks to read a number from
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    axes.legend(frameon=False)
    described = f"Lines of {y_label} against {x_label} on logarithmic axes, for {', '.join(values)}."
    return show(figure, described + (_numbers_of_rounds(measured) if measured else ""))


@styled
def sizes(
    x: Sequence[float],
    values: Mapping[str, Sequence[float]],
    x_label: str,
    y_label: str,
    floor: tuple[str, float] | None = None,
) -> Picture:
    """Draw marked lines of numbers from 0 up, against sizes on a logarithmic axis; each end with its number.

    Args:
        x: sizes above 0, such as those of vocabularies.
        values: name: a number for each size.
        x_label, y_label: what is on the axes, with its unit.
        floor: the name and the height of a bound, drawn as a dashed line.
    """
    check_not_empty("values", values)
    x = real_numbers("x", x, 1)
    figure = Figure(figsize=(6.4, 3.4))
    axes = figure.subplots()
    told = []
    for (name, given), color, marker in zip(values.items(), _colors(list(values)), itertools.cycle("os^D")):
        given = real_numbers(f"values[{name!r}]", given, 1)
        if len(given) != len(x):
            raise ValueError(f"values[{name!r}] has {len(given)} numbers: expected {len(x)}, one for each size")
        axes.semilogx(x, given, marker=marker, color=color, label=name)
        told.append(f"{name} from {given[0]:.2f} at {x[0]:g} to {given[-1]:.2f} at {x[-1]:g}")
    for end in (0, -1):
        ends = sorted(given[end] for given in values.values())
        for value, above in {ends[-1]: True, ends[0]: len(ends) == 1}.items():
            axes.annotate(
                f"{value:.2f}", (x[end], value), (0, 8 if above else -14), textcoords="offset points", ha="center"
            )
    if floor is not None:
        axes.axhline(floor[1], color=INK, linestyle="--", linewidth=1, label=floor[0])
    axes.set_xticks(x, [f"{each:g}" for each in x])
    axes.minorticks_off()
    axes.margins(x=0.08)
    axes.set(xlabel=x_label, ylabel=y_label, ylim=(0, None))
    axes.legend(frameon=False)
    bound = "" if floor is None else f"; a dashed line, {floor[0]}, is at {floor[1]:.2f}"
    return show(figure, f"Lines of {y_label} against {x_label}: {'; '.join(told)}{bound}.")


@styled
def pictures(images: Mapping[str, np.ndarray], alt: str | None = None, title: str = "", columns: int = 4) -> Picture:
    """Draw pictures pixel by pixel, all at one scale, so that a larger array is a larger picture.

    Args:
        images: name: (height, width) grays, 0 is black and 1 is white, or (height, width, 3) red, green and blue; from 0 to 1.
        alt: what the pictures show; None for their names and sizes.
        title: a title above all of them.
        columns: pictures side by side before a new row begins.

    Returns:
        The picture, with its alt text.

    Raises:
        TypeError: if images is not a dict of real numbers, or columns is not a whole number.
        ValueError: if there is none, one has another shape, or is not finite or not in [0, 1], or columns is below 1.
    """
    check_positive(columns=columns)
    check_not_empty("images", images)
    images = {name: real_numbers(f"images[{name!r}]", image, 2, 3) for name, image in images.items()}
    for name, image in images.items():
        if image.ndim == 3 and image.shape[-1] != 3:
            raise ValueError(
                f"images[{name!r}] has shape {image.shape}: expected (height, width) or (height, width, 3)"
            )
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
    return show(figure, f"Images: {'; '.join(sizes)}." if alt is None else alt)


@styled
def text_lines(lines: Sequence[str], alt: str | None = None, marks: Sequence[str] | None = None) -> Picture:
    """Draw lines of text, such as what a model has written: a picture, because another processor may round to another word.

    Args:
        lines: one text a line.
        alt: what the plot shows; None for a description without the texts, which differ between processors.
        marks: a short text before each line, such as "yes" or "no"; None for none.

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
    figure = Figure(figsize=(8, 0.27 * len(lines)), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(len(lines) - 0.5, -0.5))
    for row, line in enumerate(lines):
        axes.text(0 if marks is None else 0.09, row, line, va="center", fontsize=9.5, family="monospace")
        if marks is not None:
            axes.text(0, row, marks[row], va="center", fontsize=9.5, color="#57606a")
    told = "" if marks is None else ", each with a mark before it"
    return show(figure, f"{len(lines)} lines of text{told}." if alt is None else alt)
