"""The course's plots: one look, alt text for each, and one color per framework everywhere.

Every function returns a picture that a notebook shows and stores with its alt text. The style stays inside: nothing global changes.
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
_styled = plt.style.context(
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


def _numbers(name: str, values, *dimensions: int) -> np.ndarray:
    """The values as an array, checked: numbers, finite, not empty, with an allowed number of dimensions."""
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


def _not_empty(name: str, values: Mapping) -> None:
    if not isinstance(values, Mapping):
        raise TypeError(f"{name}={values!r}: expected a dict, got {type(values).__name__}")
    if not values:
        raise ValueError(f"{name}={values!r}: expected at least one entry")


def _of_rounds(name: str, value: Any) -> np.ndarray:
    """One number, or one from each round of a measurement."""
    return np.atleast_1d(_numbers(name, value, 0, 1)).astype(float)


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


@_styled
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
    weights = _numbers("weights", weights, 2, 3)
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


@_styled
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


@_styled
def word_vectors(
    tokens: Sequence[str],
    before: np.ndarray,
    after: np.ndarray,
    moved: str,
    axes: tuple[str, str] = ("nature", "money"),
) -> Picture:
    """Draw the vectors of some words as arrows in a plane, and where one word's vector moves.

    Args:
        tokens: the words.
        before: (words, 2) vectors.
        after: (words, 2) vectors, of which that of the moved word is drawn.
        moved: the word that moves, one of tokens.
        axes: what the two features are.
    """
    figure = Figure(figsize=(4.2, 3.9))
    panel = figure.subplots()
    limit = 1.2 * max(np.max(before), np.max(after))  # a square, so that two figures can be compared
    arrow = {"angles": "xy", "scale_units": "xy", "scale": 1, "units": "inches", "width": 0.035}
    index = list(tokens).index(moved)
    for number, (token, (x, y)) in enumerate(zip(tokens, before)):
        color = COLORS["NumPy"] if number == index else "#57606a"
        if x == y == 0:
            panel.plot(0, 0, "o", color=color, clip_on=False, zorder=3)
        else:
            panel.quiver(0, 0, x, y, color=color, **arrow)
        name = f"{token}, before" if number == index else token
        place = (-4, -14) if x == y == 0 else (7, 7)
        panel.annotate(name, (x, y), xytext=place, textcoords="offset points", color=color)
    x, y = after[index]
    panel.quiver(0, 0, x, y, color=COLORS["PyTorch"], zorder=4, **arrow)
    place = (8, -4) if x >= before[index][0] else (-4, 7)  # not over the dotted line
    panel.annotate(f"{moved}, after", (x, y), xytext=place, textcoords="offset points", color=COLORS["PyTorch"])
    panel.annotate(
        "",
        (x, y),
        before[index],
        arrowprops={"arrowstyle": "->", "linestyle": ":", "color": INK, "shrinkA": 3, "shrinkB": 3},
    )
    panel.set(xlim=(-0.2, limit), ylim=(-0.2, limit), aspect="equal", xlabel=axes[0], ylabel=axes[1])
    panel.grid(alpha=0.25)
    places = ", ".join(f"{token} at ({a:g}, {b:g})" for token, (a, b) in zip(tokens, before))
    a, b = before[index]
    return show(
        figure,
        f"Arrows in the plane of {axes[0]} and {axes[1]}: {places}. After attention, {moved} has moved from "
        f"({a:g}, {b:g}) to ({x:.2f}, {y:.2f}).",
    )


@_styled
def predictions(
    x: Sequence[float],
    values: Mapping[str, Sequence[float]],
    x_label: str,
    y_label: str,
    targets: Sequence[float] | None = None,
    mark: float | None = None,
) -> Picture:
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
    _not_empty("values", values)
    x = _numbers("x", x, 1)
    given = dict(values) | ({} if targets is None else {"targets": targets})
    given = {name: _numbers(name, each, 1) for name, each in given.items()}
    for name, each in given.items():
        if len(each) != len(x):
            raise ValueError(f"{name} has {len(each)} numbers: expected {len(x)}, one for each x")
    targets = given.pop("targets") if targets is not None else None
    figure = Figure(figsize=(5.2, 3.6))
    axes = figure.subplots()
    told = []
    shift = 0.012 * (x[-1] - x[0])  # so that the errors of two lines stand beside one another
    for number, ((name, line), color) in enumerate(zip(given.items(), itertools.cycle(COLORS.values()))):
        axes.plot(x, line, color=color, label=name, linewidth=2)
        told.append(f"{name} from {line[0]:.2f} to {line[-1]:.2f}")
        if targets is not None:
            place = x + (number - (len(given) - 1) / 2) * shift
            axes.vlines(place, line, targets, color=color, linestyle="--", linewidth=1.3)
    described = f"{y_label} against {x_label}, from {x[0]:g} to {x[-1]:g}: {'; '.join(told)}."
    if targets is not None:
        axes.plot(x, targets, "o", color=INK, label="target", zorder=3)
        axes.set_xticks(x)
        points = ", ".join(f"({a:g}, {b:g})" for a, b in zip(x, targets))
        described += f" The targets are points at {points}; a dashed line joins each to every prediction: its error."
    if mark is not None:
        axes.axvline(mark, color=INK, linestyle=":", linewidth=1.3)
        described += f" A vertical line marks {mark:g}."
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return show(figure, described)


@_styled
def prediction_costs(chance: float, guesses: Mapping[str, float], outcome: str = "T") -> Picture:
    """Draw what a prediction of one of two outcomes costs on average, against the chance that it gives to the first one.

    Args:
        chance: the exact chance of the first outcome, above 0 and below 1.
        guesses: name: a predicted chance, above 0 and below 1, to be marked on the curve.
        outcome: what the first outcome is called.

    Returns:
        The picture; its description names the lowest point and every guess.

    Raises:
        TypeError: if guesses is not a dict of real numbers.
        ValueError: if guesses is empty, or a chance is not above 0 and below 1.
    """
    _not_empty("guesses", guesses)
    for name, value in {"chance": chance, **guesses}.items():
        if not 0 < float(_numbers(name, value, 0)) < 1:
            raise ValueError(f"{name}={value}: expected a chance above 0 and below 1")

    def cost(guess):
        return -chance * np.log(guess) - (1 - chance) * np.log(1 - guess)

    figure = Figure(figsize=(6.4, 3.6))
    axes = figure.subplots()
    x = np.linspace(0.01, 0.995, 400)
    lowest = cost(chance)
    axes.plot(x, cost(x), color=COLORS["NumPy"], linewidth=2)
    axes.axhline(lowest, color=INK, linestyle="--", linewidth=1)
    axes.annotate(f"lowest possible: {lowest:.2f}", (0.01, lowest), (2, -13), textcoords="offset points")
    told = []
    for name, guess in guesses.items():
        value = cost(guess)
        axes.plot(guess, value, "o", color=COLORS["PyTorch"], zorder=3)
        if value > lowest + 0.01:
            axes.vlines(guess, lowest, value, color=COLORS["PyTorch"], linestyle=":", linewidth=1.3)
        # Below the curve where it is lowest; to the left where there is no room to the right.
        place, side = (
            ((0, -14), "center") if value <= lowest + 0.01 else ((-8, 8), "right") if guess > 0.9 else ((6, 8), "left")
        )
        text = f"{name}: {value:.2f}"
        axes.annotate(text, (guess, value), place, textcoords="offset points", color=COLORS["PyTorch"], ha=side)
        told.append(f"{name} at {guess:.2f} costs {value:.2f}")
    axes.set(xlabel=f"predicted chance of {outcome}", ylabel="average cost (nats)", ylim=(0, 2.2), xlim=(0, 1))
    axes.grid(alpha=0.25)
    return show(
        figure,
        f"Curve of the average cost (nats) against the predicted chance of {outcome}, whose exact chance is {chance:.2f}: "
        f"lowest there, {lowest:.2f}. Marked: {'; '.join(told)}.",
    )


@_styled
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
    _not_empty("curves", curves)
    if not isinstance(bounds, Mapping):
        raise TypeError(f"bounds={bounds!r}: expected a dict, got {type(bounds).__name__}")
    curves = {name: _numbers(f"curves[{name!r}]", curve, 1) for name, curve in curves.items()}
    bounds = {name: float(_numbers(f"bounds[{name!r}]", value, 0)) for name, value in bounds.items()}
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
    high = high if y_max is None else float(_numbers("y_max", y_max, 0))
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


@_styled
def number_lines(stages: Mapping[str, Sequence[float]], names: Sequence[str]) -> Picture:
    """Draw the same few numbers on a number line for each stage, one below the other, and follow each number down.

    Args:
        stages: what was done: the numbers after it, as many at each stage.
        names: a name for each number, for the legend.
    """
    _not_empty("stages", stages)
    values = np.array([_numbers(f"stages[{stage!r}]", numbers, 1) for stage, numbers in stages.items()])
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


@_styled
def surprise(probabilities: Mapping[str, float]) -> Picture:
    """Draw the loss -log p against the probability p of the right answer, and a point on it for each answer.

    Args:
        probabilities: an answer: the probability, above 0, that a model gave to it.
    """
    _not_empty("probabilities", probabilities)
    given = {name: float(_numbers(name, p, 0)) for name, p in probabilities.items()}
    for name, p in given.items():
        if not 0 < p <= 1:
            raise ValueError(f"{name} is {p}: expected a probability above 0")
    figure = Figure(figsize=(5.6, 3.4))
    axes = figure.subplots()
    p = np.linspace(0.02, 1, 200)
    axes.plot(p, -np.log(p), color="#afb8c1", linewidth=2)
    for (name, each), color in zip(given.items(), itertools.cycle((*COLORS.values(), *OTHER_COLORS))):
        axes.plot([each, each, 0], [0, -np.log(each), -np.log(each)], color=color, linestyle=":", linewidth=1.3)
        axes.plot(each, -np.log(each), "o", color=color)
        told = f"{name}: p = {each:.2f}, loss {-np.log(each):.2f}"
        axes.annotate(told, (each, -np.log(each)), (8, 6), textcoords="offset points")
    axes.set(xlim=(0, 1.02), ylim=(0, 4), xlabel="p, the probability of the right answer", ylabel="loss, −log p (nats)")
    points = "; ".join(f"{name} at p = {each:.2f}, loss {-np.log(each):.2f}" for name, each in given.items())
    return show(figure, f"The loss −log p falls from infinity at p = 0 to 0 at p = 1. Points: {points}.")


@_styled
def residual_stream(
    stream: Mapping[str, Sequence[float]], branches: Sequence[Mapping[str, Sequence[float]]], features: Sequence[str]
) -> Picture:
    """Draw one vector on its way through a block: the stream above, and below it what each sub-layer reads and adds.

    Args:
        stream: name: the vector before the first sub-layer, and after each.
        branches: of each sub-layer, name: vector, from what it reads to what it adds.
        features: a name for each number of a vector.

    Returns:
        The picture; its description has every number.

    Raises:
        ValueError: if there is not one vector more in the stream than branches, or one has not a number for each feature.
    """
    if len(stream) != len(branches) + 1:
        raise ValueError(f"stream has {len(stream)} vectors: expected {len(branches) + 1}, one more than branches")
    for name, vector in itertools.chain(stream.items(), *(branch.items() for branch in branches)):
        if _numbers(name, vector, 1).shape != (len(features),):
            raise ValueError(f"{name} has {len(vector)} numbers: expected {len(features)}, one for each feature")
    places, at = [0.0], 0.0
    for branch in branches:
        at += 1.55 * (len(branch) + 1)
        places.append(at)
    low, cell, width, color = -2.1, 0.36, 1.05, "#57606a"
    figure = Figure(figsize=(7.6, 3.5))
    axes = figure.subplots()
    largest = max(np.abs(v).max() for v in itertools.chain(stream.values(), *(b.values() for b in branches)))

    def draw(x: float, y: float, name: str, vector: Sequence[float], above: bool) -> None:
        for row, value in enumerate(vector):
            top = y - row * cell
            shade = plt.get_cmap("RdBu_r")(0.5 + 0.3 * value / largest)
            axes.add_patch(plt.Rectangle((x - width / 2, top - cell), width, cell, facecolor=shade, edgecolor=color))
            axes.text(x, top - cell / 2, f"{value:.2f}", ha="center", va="center", fontsize=10)
        place = y + 0.1 if above else y - len(features) * cell - 0.1
        axes.text(x, place, name, ha="center", va="bottom" if above else "top", fontsize=10)

    arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    middle, below = -len(features) * cell / 2, low - len(features) * cell / 2
    for place, (name, vector) in zip(places, stream.items()):
        draw(place, 0, name, vector, above=True)
    for start, end, branch in zip(places, places[1:], branches):
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
    axes.set(xlim=(-1.6, places[-1] + 0.75), ylim=(low - len(features) * cell - 0.5, 0.5))
    axes.set_axis_off()

    def told(vectors: Mapping[str, Sequence[float]]) -> str:
        return "; ".join(
            f"{' '.join(n.split())} {', '.join(f'{value:.2f}' for value in v)}" for n, v in vectors.items()
        )

    described = f"A residual stream of {', '.join(features)}. In the stream: {told(stream)}. "
    described += " ".join(f"Branch {number}: {told(branch)}." for number, branch in enumerate(branches, 1))
    return show(figure, described)


@_styled
def mask_grid(
    mask: np.ndarray, keys: Sequence[str], answers: Sequence[str], queries: Sequence[str] | None = None
) -> Picture:
    """Draw a mask as a grid, a row a query and a column a key, and beside each row the sentence as that query sees it.

    Args:
        mask: (queries, keys) booleans, True where a query may attend to a key.
        keys: a token for each column.
        answers: what each query is to predict.
        queries: a token for each row; None if the queries are the last of the keys.

    Returns:
        The picture; its description says what each query sees.

    Raises:
        TypeError: if the mask does not hold booleans.
        ValueError: if it has not a row for each query and answer, and a column for each key.
    """
    mask = np.asarray(mask)
    if mask.dtype != bool:
        raise TypeError(f"mask has dtype {mask.dtype}: expected booleans")
    queries = list(keys)[-len(answers) :] if queries is None else list(queries)
    if mask.shape != (len(answers), len(keys)) or len(queries) != len(answers):
        raise ValueError(f"mask has shape {mask.shape}: expected ({len(answers)}, {len(keys)}), answers and keys")
    rows, columns = mask.shape
    widths = [0.5 + 0.15 * len(key) for key in keys]  # of the tokens of a sentence, in cells
    places, gray = columns + 0.6 + np.cumsum([0, *widths]), "#e6e8eb"
    start, end = places[0], places[-1]
    figure = Figure(figsize=(0.62 * (end + 2.6), 0.62 * (rows + 1)))
    axes = figure.subplots()
    told = []
    for row, (query, answer) in enumerate(zip(queries, answers)):
        axes.text(-0.15, row + 0.5, query, ha="right", va="center")
        seen = []
        for column, key in enumerate(keys):
            open_ = mask[row, column]
            color = "#9ec5e8" if open_ else gray
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=color, edgecolor="white", linewidth=2))
            axes.text(
                column + 0.5, row + 0.5, "1" if open_ else "0", ha="center", va="center", alpha=1 if open_ else 0.5
            )
            left, wide = places[column], widths[column]
            if open_:
                axes.text(left + wide / 2, row + 0.5, key, ha="center", va="center")
                seen.append(key)
            else:
                axes.add_patch(Rectangle((left + 0.1, row + 0.3), wide - 0.2, 0.4, facecolor=gray))
        axes.text(end + 0.2, row + 0.5, f"\u2192  {answer} ?", va="center")
        told.append(f"{query} sees {', '.join(seen) or 'nothing'} and is to predict {answer}")
    for column, key in enumerate(keys):
        axes.text(column + 0.5, -0.15, key, ha="center", va="bottom", fontsize=10 if len(key) < 5 else 8)
    axes.text(start + 0.1, -0.15, "what this row sees", va="bottom", style="italic")
    axes.text(columns / 2, -0.62, "key", ha="center", va="center", style="italic")
    axes.text(-1.45, rows / 2, "query", ha="center", va="center", rotation=90, style="italic")
    axes.set(xlim=(-1.6, end + 1.3), ylim=(rows + 0.05, -0.9))
    axes.set_axis_off()
    return show(figure, f"A mask of {rows} queries and {columns} keys. {'; '.join(told)}.")


@_styled
def hidden_word(words: Sequence[str], hidden: int, chances: Mapping[str, float]) -> Picture:
    """Draw a sentence whose words point at the one that is hidden, and below it the chance of every word that it can have been.

    Args:
        words: the words of the sentence, with what is seen in the place of the hidden one.
        hidden: the place of the hidden word, from 0.
        chances: word: its probability.

    Returns:
        The picture; its description has the sentence and every chance in percent.

    Raises:
        ValueError: if there are no chances, one is not in [0, 1], or hidden is no place in the sentence.
    """
    _not_empty("chances", chances)
    heights = _numbers("chances", list(chances.values()), 1)
    if heights.min() < 0 or heights.max() > 1:
        raise ValueError(f"chances are from {heights.min():.3g} to {heights.max():.3g}: expected probabilities")
    if not 0 <= hidden < len(words):
        raise ValueError(f"hidden={hidden}: expected 0 to {len(words) - 1}, a place in the sentence")
    figure = Figure(figsize=(7, 3.7))
    above, axes = figure.subplots(2, height_ratios=(1, 1.7))
    widths = [0.5 + 0.17 * len(word) for word in words]
    centers = [sum(widths[:place]) + 0.45 * place + width / 2 for place, width in enumerate(widths)]
    for place, (word, center, width) in enumerate(zip(words, centers, widths)):
        fill, edge = ("#fde3b5", "#b9822a") if place == hidden else ("#d9e8f6", "#4a7fb0")
        above.add_patch(Rectangle((center - width / 2, 0), width, 0.6, facecolor=fill, edgecolor=edge))
        above.text(center, 0.3, word, ha="center", va="center", fontsize=11)
        if place != hidden:
            curve = -0.35 if place < hidden else 0.35
            arrow = {"arrowstyle": "->", "color": INK, "connectionstyle": f"arc3,rad={curve}"}
            above.annotate("", (centers[hidden], 0.62), (center, 0.62), arrowprops=arrow)
    end = centers[-1] + widths[-1] / 2
    above.set(xlim=(-0.1, end + 0.1), ylim=(-0.05, 1.5), aspect="equal")
    above.set_axis_off()
    drawn = axes.bar(range(len(chances)), heights, 0.7, color="#e69f00")
    axes.bar_label(drawn, [f"{100 * height:.0f} %" for height in heights], padding=2, fontsize=9)
    axes.set_xticks(range(len(chances)), list(chances))
    axes.tick_params(axis="x", length=0)
    axes.set(ylabel="probability", xlabel="the hidden word", ylim=(0, 1.18 * heights.max()))
    told = ", ".join(f"{word} {100 * chance:.0f} %" for word, chance in chances.items())
    return show(
        figure, f"A sentence, {' '.join(words)}, whose words point at {words[hidden]}. It can have been: {told}."
    )


@_styled
def kept_words(
    words: Sequence[str], before: Sequence[float], panels: Mapping[str, Sequence[float]], trained: bool = False
) -> Picture:
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
    _not_empty("panels", panels)
    numbers = {"before": before} | dict(panels)
    numbers = {name: _numbers(f"panels[{name!r}]", values, 1) for name, values in numbers.items()}
    for name, values in numbers.items():
        if len(values) != len(words) or values.min() < 0 or values.max() > 1 + 1e-9:
            raise ValueError(f"panels[{name!r}]: expected {len(words)} probabilities, one for each word")
    before, places = numbers.pop("before"), np.arange(len(words))
    few = len(words) <= 6
    across = 2 if few else 1
    down = -(-len(numbers) // across)
    figure = Figure(figsize=(7, (1.7 if few else 1.35) * down + 0.6))
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    top, told = max(before.max(), *(values.max() for values in numbers.values())), []
    for axes, (title, values) in zip(grid.flat, numbers.items()):
        kept = values > 0
        axes.bar(places[kept], values[kept], 0.76, color="#e69f00", label="after")
        axes.bar(
            places,
            before,
            0.76,
            facecolor="none",
            edgecolor=INK,
            linewidth=0.8,
            linestyle=(0, (2, 1.5)),
            label="before",
        )
        for place in places:
            text = "cut" if not kept[place] else f"{100 * values[place]:.0f} %" if few else ""
            high = max(before[place], values[place])
            axes.text(
                place, high + 0.02 * top, text, ha="center", va="bottom", fontsize=8, color=INK if few else "#8c4a00"
            )
        axes.set_title(title, fontsize=10, loc="left")
        axes.tick_params(axis="x", length=0)
        axes.set(ylim=(0, 1.2 * top))
        told.append(f"{title}: {', '.join(f'{w} {100 * v:.0f} %' if v else f'{w} cut' for w, v in zip(words, values))}")
    for axes in grid[-1]:
        axes.set_xticks(
            places, list(words), rotation=0 if few else 55, ha="center" if few else "right", rotation_mode="anchor"
        )
    figure.supylabel("probability", fontsize=10)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=2, loc="outside upper right")
    described = f"Bars of the probability of {len(words)} words, {', '.join(words)}, before and after: "
    described += f"{', '.join(numbers)}; some words are cut." if trained else f"{'. '.join(told)}."
    return show(figure, described)


@_styled
def cache_filling(tokens: Sequence[str], stages: Mapping[str, np.ndarray], room: int) -> Picture:
    """Draw a cache after each call: a column for each position, filled with what is kept there, those of this call framed.

    Args:
        tokens: the token at each position.
        stages: what the call was: the (positions, features) keys or values that the cache holds after it.
        room: how many positions the cache has.

    Returns:
        The picture; its description says which positions each call fills.

    Raises:
        ValueError: if a stage holds fewer positions than the one before, or more than there are tokens, or than there is room.
    """
    _not_empty("stages", stages)
    arrays = {name: _numbers(f"stages[{name!r}]", values, 2) for name, values in stages.items()}
    lengths = [0, *(len(values) for values in arrays.values())]
    if lengths != sorted(lengths) or lengths[-1] > min(room, len(tokens)):
        raise ValueError(
            f"stages hold {lengths[1:]} positions: expected them to grow, to at most {min(room, len(tokens))}"
        )
    features, largest = next(iter(arrays.values())).shape[1], max(np.abs(values).max() for values in arrays.values())
    figure = Figure(figsize=(7, 0.25 + len(arrays) * (0.42 + 0.24 * features)))
    told = []
    for axes, (name, values), old in zip(figure.subplots(len(arrays), 1, squeeze=False).flat, arrays.items(), lengths):
        now = len(values)
        for column in range(room):
            for row in range(features):
                shade = (
                    "#f2f3f5" if column >= now else plt.get_cmap("RdBu_r")(0.5 + 0.4 * values[column, row] / largest)
                )
                axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="white", linewidth=1))
                if column < now:
                    ink = "white" if abs(values[column, row]) > 0.7 * largest else INK
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
        axes.set(xlim=(-1.9, room + 0.05), ylim=(features + 0.85, -0.1))
        axes.set_axis_off()
        told.append(f"{name} fills {', '.join(tokens[old:now]) or 'nothing'}, {room - now} of {room} are empty")
    return show(figure, f"A cache of {room} positions after each call. {'; '.join(told)}.")


@_styled
def ring(stages: Mapping[str, np.ndarray]) -> Picture:
    """Draw what workers on a ring hold after each step of adding up: a row for each worker, a column for each part.

    Args:
        stages: what was done: the (workers, parts) numbers after it; the first is the beginning, the last the end.

    Returns:
        The picture; a part that is complete, as in the last stage, is filled. Its description counts them.

    Raises:
        ValueError: if the stages differ in shape, or the workers don't hold the same in the last one.
    """
    _not_empty("stages", stages)
    grids = {name: _numbers(f"stages[{name!r}]", values, 2) for name, values in stages.items()}
    *_, last = grids.values()
    if {grid.shape for grid in grids.values()} != {last.shape} or (last != last[0]).any():
        raise ValueError("stages: expected arrays of one shape, and equal rows in the last one")
    workers, parts = last.shape
    figure = Figure(figsize=(7.4, 0.8 + 0.42 * workers))
    axes, told = figure.subplots(), []
    for number, (name, grid) in enumerate(grids.items()):
        left, done = number * (parts + 0.4), grid == last
        for row, column in np.ndindex(grid.shape):
            shade = "#0072b2" if done[row, column] else "#f2f3f5"
            axes.add_patch(Rectangle((left + column, row), 1, 1, facecolor=shade, edgecolor="white", linewidth=2))
            ink = "white" if done[row, column] else INK
            text = f"{grid[row, column]:g}"
            axes.text(left + column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=9, color=ink)
        axes.text(left + parts / 2, -0.15, name, ha="center", va="bottom", fontsize=10)
        told.append(f"{name} {done.sum()} of {done.size}")
    for row in range(workers):
        axes.text(-0.15, row + 0.5, f"worker {row}", ha="right", va="center", fontsize=9)
    axes.set(xlim=(-1.9, len(grids) * (parts + 0.4)), ylim=(workers, -0.7))
    axes.set_axis_off()
    return show(figure, f"What {workers} workers hold in {parts} parts; complete are, {', '.join(told)}.")


@_styled
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
    _not_empty("panels", panels)
    places = x if isinstance(x, Mapping) else dict.fromkeys(panels, x)
    y_labels = y_label if isinstance(y_label, Mapping) else dict.fromkeys(panels, y_label)
    figure = Figure(figsize=(7, 3.5))
    told = []
    for number, (axes, (title, curves)) in enumerate(
        zip(figure.subplots(1, len(panels), sharey=same_scale, squeeze=False).flat, panels.items())
    ):
        x = _numbers("x", places[title], 1)
        # Curves that may lie on one another differ in width.
        styles = itertools.cycle([(2, "-")] if trained else [(4, "-"), (2.6, "-"), (1.6, (0, (3, 3))), (1.6, "-")])
        for (name, given), color, (width, dashes) in zip(curves.items(), _colors(list(curves)), styles):
            given = _numbers(f"panels[{title!r}][{name!r}]", given, 1)
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


@_styled
def merges(stages: Mapping[str, Sequence[Sequence[str]]], counts: Sequence[int]) -> Picture:
    """Draw the same words after each merge, a box for each token; what the merge of a row made is filled.

    Args:
        stages: what was done: the tokens of each word after it.
        counts: how often each word occurs.
    """
    _not_empty("stages", stages)
    for stage, words in stages.items():
        if len(words) != len(counts):
            raise ValueError(f"stages[{stage!r}] has {len(words)} words: expected {len(counts)}, one for each count")
    letter, gap = 0.16, 0.1  # inches
    letters = [max(sum(map(len, words[i])) for words in stages.values()) for i in range(len(counts))]
    starts = np.cumsum([1.9, *(letter * n + 3 * gap + 0.55 for n in letters)])
    figure = Figure(figsize=(float(starts[-1]), 0.42 * len(stages) + 0.1), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, starts[-1]), ylim=(0.42 * len(stages), -0.1))
    known, told = {token for word in next(iter(stages.values())) for token in word}, []
    for row, (stage, words) in enumerate(stages.items()):
        y = 0.42 * row + 0.15
        axes.text(0.05, y, stage, va="center", fontsize=10)
        for start, count, word in zip(starts, counts, words):
            axes.text(start, y, f"{count} ×", va="center", fontsize=10, color="#57606a")
            x = start + 0.38
            for token in word:
                fill = "#fde3b5" if token not in known else "white"
                width = letter * len(token)
                axes.add_patch(
                    Rectangle((x, y - 0.14), width - 0.03, 0.28, facecolor=fill, edgecolor="#7c838c", linewidth=1)
                )
                axes.text(
                    x + width / 2 - 0.015, y + 0.01, token, ha="center", va="center", family="monospace", fontsize=11
                )
                x += width
        known |= {token for word in words for token in word}
        told.append(f"{stage}: " + ", ".join(f"{n} times {'|'.join(word)}" for n, word in zip(counts, words)))
    return show(figure, f"Words as tokens. {'; '.join(told)}.")


@_styled
def heatmap(
    matrix: np.ndarray,
    x_label: str,
    y_label: str,
    alt: str | None = None,
    title: str = "",
    value_label: str = "value",
    square: bool = False,
) -> Picture:
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
        TypeError: if matrix does not hold real numbers.
        ValueError: if matrix has another shape or is not finite.
    """
    matrix = _numbers("matrix", matrix, 2)
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
    return show(figure, described if alt is None else alt)


@_styled
def dials(encoding: np.ndarray) -> Picture:
    """Draw a sinusoidal position encoding as clocks: a dial for each pair of features, a hand for each position.

    Args:
        encoding: (positions, features), an even number of features; a sine and its cosine are beside one another.
    """
    pairs = encoding.shape[1] // 2
    figure = Figure(figsize=(3.1 * pairs, 3.3))
    for pair, panel in enumerate(figure.subplots(1, pairs, squeeze=False).flat):
        panel.plot(*np.array([np.sin(a := np.linspace(0, 2 * np.pi, 200)), np.cos(a)]), color="#c8ccd1", linewidth=1)
        panel.plot(0, 0, "o", color=INK, markersize=3)
        sines, cosines = encoding[:, 2 * pair], encoding[:, 2 * pair + 1]
        apart = np.hypot(np.diff(sines), np.diff(cosines)).min(initial=2) > 0.3  # room for a number at each hand
        for position, (x, y) in enumerate(zip(sines, cosines)):
            panel.plot([0, x], [0, y], color=COLORS["NumPy"], linewidth=2)
            if apart:
                panel.annotate(str(position), (1.16 * x, 1.16 * y), ha="center", va="center")
        if not apart:
            panel.annotate(f"0 to {len(encoding) - 1}", (0, 1.16), ha="center", va="center")
        panel.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        panel.set(xlabel=f"feature {2 * pair} (sine)", ylabel=f"feature {2 * pair + 1} (cosine)")
    told = []
    for pair in range(pairs):
        turned = np.degrees(np.arctan2(encoding[1, 2 * pair], encoding[1, 2 * pair + 1])) if len(encoding) > 1 else 0
        told.append(f"features {2 * pair} and {2 * pair + 1} turn by {turned:.3g} degrees a position")
    return show(figure, f"{pairs} dials with a hand for each of {len(encoding)} positions: {'; '.join(told)}.")


@_styled
def similarities(tables: Mapping[str, np.ndarray], kinds: Sequence[str]) -> Picture:
    """Draw how alike the rows of each table are, by the cosine of their angle: a panel for each table, rows of a kind together.

    Args:
        tables: title: (rows, features), with the same rows in each.
        kinds: the kind of each row; equal ones are neighbors.
    """
    figure = Figure(figsize=(3.5 * len(tables) + 0.8, 4.9))
    borders = [0, *(i for i in range(1, len(kinds)) if kinds[i] != kinds[i - 1]), len(kinds)]
    middles = [(low + high - 1) / 2 for low, high in itertools.pairwise(borders)]
    names = [kinds[low] for low in borders[:-1]]
    told = []
    same = np.array([[a == b for b in kinds] for a in kinds])
    for number, (panel, (title, table)) in enumerate(
        zip(figure.subplots(1, len(tables), squeeze=False).flat, tables.items())
    ):
        unit = table / np.linalg.norm(table, axis=1, keepdims=True)
        cosine = unit @ unit.T
        image = panel.imshow(cosine, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
        for border in borders[1:-1]:
            panel.axhline(border - 0.5, color=INK, linewidth=0.6)
            panel.axvline(border - 0.5, color=INK, linewidth=0.6)
        panel.spines[:].set_visible(True)
        panel.set_title(title)
        panel.set_xticks(middles, names, rotation=30, ha="right", rotation_mode="anchor")
        panel.set_yticks(middles, names if number == 0 else [""] * len(names))
        panel.tick_params(length=0, labelsize=9)
        within, across = cosine[same & ~np.eye(len(kinds), dtype=bool)].mean(), cosine[~same].mean()
        told.append(f"{title}: on average {within:.2f} within a kind and {across:.2f} across kinds")
    figure.colorbar(
        image,
        ax=figure.axes,
        label="cosine similarity",
        location="bottom",
        shrink=0.4,
        aspect=30,
        ticks=[-1, -0.5, 0, 0.5, 1],
    )
    return show(figure, f"Cosine similarity of {len(kinds)} rows, {', '.join(names)}. {'; '.join(told)}.")


def _short(value: float, digits: int) -> str:
    """A number for a label: whole numbers as they are, others with so many digits, zeros at the end included."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:#.{digits}g}".rstrip(".")


@_styled
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
    _not_empty("values", values)
    for group, numbers in values.items():
        _not_empty(f"values[{group!r}]", numbers)
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


@_styled
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
    _not_empty("values", values)
    x = _numbers("x", x, 1)
    figure = Figure(figsize=(6, 3.4))
    axes = figure.subplots()
    measured = {}
    for (name, each), color, marker in zip(values.items(), _colors(list(values)), itertools.cycle("os^D")):
        rounds = _numbers(f"values[{name!r}]", each, 1, 2)
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


@_styled
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
    _not_empty("values", values)
    x = _numbers("x", x, 1)
    figure = Figure(figsize=(6.4, 3.4))
    axes = figure.subplots()
    told = []
    for (name, given), color, marker in zip(values.items(), _colors(list(values)), itertools.cycle("os^D")):
        given = _numbers(f"values[{name!r}]", given, 1)
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


@_styled
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
    _not_empty("images", images)
    images = {name: _numbers(f"images[{name!r}]", image, 2, 3) for name, image in images.items()}
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


@_styled
def number_grids(grids: Mapping[str, np.ndarray], across: int = 13) -> Picture:
    """Draw small arrays number by number; a number keeps the color of the row that it has in the first array.

    Args:
        grids: name: (rows, columns) or (columns,) whole numbers, each a number of the first array.
        across: cells side by side before a new line of arrays begins.

    Returns:
        The picture; its description holds every number.

    Raises:
        TypeError: if grids is not a dict of real numbers.
        ValueError: if there is none, or one has another shape, or a number that the first array has not.
    """
    _not_empty("grids", grids)
    grids = {name: _numbers(f"grids[{name!r}]", grid, 1, 2) for name, grid in grids.items()}
    first = np.atleast_2d(next(iter(grids.values())))
    fills = dict(zip(range(len(first)), itertools.cycle(("#d9e8f6", "#fde3b5", "#d5efd3", "#e9dbf5"))))
    color_of = {number: fills[row] for row, numbers in enumerate(first) for number in numbers.tolist()}
    places, told, left, top, lowest, width = [], [], 0.0, 0.0, 0.0, 0.0
    for name, grid in grids.items():
        rows = np.atleast_2d(grid)
        if unknown := set(rows.ravel().tolist()) - set(color_of):
            raise ValueError(f"grids[{name!r}] holds {min(unknown)}: expected numbers of the first array")
        room = max(rows.shape[1], 0.28 * len(name))
        if left and left + room > across:
            left, top = 0.0, lowest + 1.6
        places.append((name, rows, left + (room - rows.shape[1]) / 2, top))
        told.append(f"{name}: {' / '.join(' '.join(map(str, row)) for row in rows.tolist())}")
        width, lowest = max(width, left + room), max(lowest, top + len(rows))
        left += room + 1
    size = 0.42  # inches a cell
    figure = Figure(figsize=(size * (width + 0.1), size * (lowest + 0.9)), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    for name, rows, left, top in places:
        axes.text(left + rows.shape[1] / 2, top - 0.2, name, ha="center", va="bottom", family="monospace")
        for (row, column), number in np.ndenumerate(rows):
            box = plt.Rectangle((left + column, top + row), 1, 1, facecolor=color_of[number.item()], edgecolor=INK)
            axes.add_patch(box)
            axes.text(left + column + 0.5, top + row + 0.5, f"{number}", ha="center", va="center")
    axes.set(xlim=(-0.05, width + 0.05), ylim=(lowest + 0.05, -0.85), aspect="equal")
    axes.set_axis_off()
    return show(figure, f"Arrays, row by row. {'; '.join(told)}.")


@_styled
def tiles(grids: Mapping[str, np.ndarray]) -> Picture:
    """Draw grids of patches with gaps between them; the axes count patches.

    Args:
        grids: name: (rows, columns, height, width, 3), patches of red, green and blue from 0 to 1; all of one height and width.

    Returns:
        The picture; its description says how many patches there are and of what size.

    Raises:
        TypeError: if grids is not a dict of real numbers.
        ValueError: if there is none, or one has another shape.
    """
    _not_empty("grids", grids)
    grids = {name: _numbers(f"grids[{name!r}]", grid, 5) for name, grid in grids.items()}
    most = max(grid.shape[1] for grid in grids.values())
    side = min(0.62, 7.4 / most)  # inches a patch
    heights = [side * len(grid) for grid in grids.values()]
    figure = Figure(figsize=(side * most + 0.7, sum(heights) + 0.75 * len(grids)))
    panels = figure.subplots(len(grids), squeeze=False, height_ratios=heights).flat
    told = []
    for (name, grid), panel in zip(grids.items(), panels):
        rows, columns, height, width, channels = grid.shape
        if channels != 3:
            raise ValueError(f"grids[{name!r}] has shape {grid.shape}: expected (rows, columns, height, width, 3)")
        for (row, column), _ in np.ndenumerate(grid[..., 0, 0, 0]):
            box = (column - 0.46, column + 0.46, row + 0.46, row - 0.46)  # left, right, bottom, top
            panel.imshow(grid[row, column], extent=box, vmin=0, vmax=1, interpolation="nearest")
        panel.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), aspect="equal", anchor="W")
        panel.set_title(name, fontsize=9, loc="left", family="monospace")
        panel.set_xticks(range(columns))
        panel.set_yticks(range(rows))
        panel.tick_params(length=0, labelsize=8)
        panel.spines[:].set_visible(False)
        told.append(f"{name}, {rows} by {columns} patches of {height} by {width} pixels")
    figure.supxlabel("column (patches)", fontsize=9)
    figure.supylabel("row (patches)", fontsize=9)
    return show(figure, f"Patches: {'; '.join(told)}.")


@_styled
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


_GROUND, _CUT = "#9ec5e8", "#e6e8eb"


@_styled
def codon_table(code: Mapping[str, str]) -> Picture:
    """Draw a genetic code: a block for the first two letters of a codon, in it a line for each third letter, with the amino acid.

    Args:
        code: codon -> one letter of an amino acid, "*" for stop; all 64.

    Returns:
        The picture; its description lists the codons of each amino acid.

    Raises:
        ValueError: if a codon is missing, or there is another key.
    """
    letters = "TCAG"
    codons = ["".join(each) for each in itertools.product(letters, repeat=3)]
    if set(code) != set(codons):
        raise ValueError(f"code has {len(code)} entries: expected the 64 codons of T, C, A and G")
    figure = Figure(figsize=(7, 4.6))
    axes = figure.subplots()
    for row, first in enumerate(letters):
        axes.text(-0.06, 4 * row + 2, first, ha="right", va="center", fontsize=12, weight="bold")
        for column, second in enumerate(letters):
            axes.add_patch(Rectangle((column, 4 * row), 0.97, 3.9, facecolor="none", edgecolor="#9aa1a9"))
            for line, third in enumerate(letters):
                codon = first + second + third
                place = 4 * row + line + 0.5
                shade = _CUT if code[codon] == "*" else _GROUND
                axes.add_patch(Rectangle((column + 0.56, place - 0.42), 0.34, 0.84, facecolor=shade))
                axes.text(column + 0.1, place, codon, va="center", family="monospace")
                meaning = "stop" if code[codon] == "*" else code[codon]
                axes.text(column + 0.73, place, meaning, ha="center", va="center", weight="bold", fontsize=9)
    for column, second in enumerate(letters):
        axes.text(column + 0.48, -0.25, second, ha="center", va="bottom", fontsize=12, weight="bold")
    axes.text(2, -1.15, "second letter", ha="center", va="bottom", style="italic")
    axes.text(-0.28, 8, "first letter", ha="center", va="center", rotation=90, style="italic")
    axes.set(xlim=(-0.36, 4), ylim=(16.05, -1.9))
    axes.set_axis_off()
    acids = sorted(set(code.values()), key=lambda acid: (acid == "*", acid))
    told = [f"{'stop' if each == '*' else each}: {' '.join(c for c in codons if code[c] == each)}" for each in acids]
    return show(figure, f"The 64 codons, and what each means. {'; '.join(told)}.")


@_styled
def beam_tree(following: Mapping[str, Mapping[str, float]], width: int, end: str = "$") -> Picture:
    """Draw what beam search does as a tree, from left to right: what it keeps, what it cuts and never continues, and what it finds.

    Args:
        following: a text so far -> next letter -> its probability, from "" on; a text that is not in it has ended.
        width: how many texts are kept at each step.
        end: the letter that ends a text.

    Returns:
        The picture; its description names what is kept and cut at each step, and the best text with its probability.

    Raises:
        ValueError: if there is no beginning.
    """
    check_positive(width=width)
    if "" not in following:
        raise ValueError(f"following has {sorted(following)}: expected the empty text among them")
    kept, levels, children = {"": 1.0}, [], {}
    while any(each in following for each in kept):
        grown = {}
        for text, probability in kept.items():
            if text in following:
                children[text] = [text + letter for letter in following[text]]
                grown |= {text + letter: probability * p for letter, p in following[text].items()}
            else:
                grown[text] = probability
        best = sorted(grown, key=grown.get, reverse=True)[:width]
        levels.append((grown, best))
        kept = {text: grown[text] for text in best}
    found = max(kept, key=kept.get)
    greedy = [""]
    while greedy[-1] in following:
        greedy.append(greedy[-1] + max(following[greedy[-1]], key=following[greedy[-1]].get))
    # Where each text is: leaves below one another, a parent in the middle of its children.
    places, leaves = {}, itertools.count()

    def put(text: str) -> float:
        below = [put(each) for each in children.get(text, ())]
        places[text] = (len(text), float(np.mean(below)) if below else float(next(leaves)))
        return places[text][1]

    put("")
    deep, many = max(x for x, _ in places.values()), next(leaves)
    figure = Figure(figsize=(min(7.2, 1.2 + 2.0 * deep), 0.9 + 0.42 * many))
    axes = figure.subplots()
    probability = {"": 1.0} | {text: p for grown, _ in levels for text, p in grown.items()}
    lasting = {"", *(text for _, best in levels for text in best)}
    wide = 0.72 if any(len(text.replace(end, " end")) > 4 for text in places) else 0.5  # of a box
    for text, below in children.items():
        for each in below:
            (x, y), (to_x, to_y) = places[text], places[each]
            stays = each in lasting
            start, stop = x + wide / 2, to_x - wide / 2
            axes.plot(
                [start, stop],
                [y, to_y],
                color=INK if stays else "#9aa1a9",
                linewidth=1.2,
                linestyle="-" if stays else ":",
            )
            at = 0.62
            axes.text(
                start + at * (stop - start),
                y + at * (to_y - y),
                f"{following[text][each[-1]]:.2f}",
                fontsize=9,
                ha="center",
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            )
    for text, (x, y) in places.items():
        stays, wins = text in lasting, text == found
        box = Rectangle(
            (x - wide / 2, y - 0.36),
            wide,
            0.72,
            facecolor="#f2c14e" if wins else _GROUND if stays else "white",
            edgecolor=INK if stays else "#9aa1a9",
            linewidth=1.2,
            linestyle="-" if stays else ":",
        )
        axes.add_patch(box)
        label = text.replace(end, " end") or "start"
        told = label if not text else f"{label}   {f'{probability[text]:.3f}'.rstrip('0')}"
        axes.text(x, y, told, ha="center", va="center", weight="bold" if wins else "normal", fontsize=9.5)
        if text and text == greedy[-1]:
            axes.text(x + wide / 2 + 0.04, y, "greedy", va="center", style="italic", fontsize=9)
    for x, label in ((0, "nothing written"), *((n, f"step {n}") for n in range(1, deep + 1))):
        axes.text(x, -0.75, label, ha="center", va="center", style="italic", fontsize=9)
    keys = [("#f2c14e", "-", INK, "found"), (_GROUND, "-", INK, "kept"), ("white", ":", "#9aa1a9", "cut")]
    handles = [Rectangle((0, 0), 1, 1, facecolor=f, linestyle=s, edgecolor=e, label=name) for f, s, e, name in keys]
    axes.legend(handles=handles, loc="lower left", fontsize=9, frameon=False)
    axes.set(xlim=(-0.4, deep + wide / 2 + 0.4), ylim=(many - 0.4, -1.1))
    axes.set_axis_off()
    sentences = []
    for number, (grown, best) in enumerate(levels, 1):
        cut = [f"{text} ({grown[text]:.3g})" for text in grown if text not in best]
        stays = ", ".join(f"{text} ({grown[text]:.3g})" for text in best)
        sentences.append(f"Step {number}: kept {stays}; cut {', '.join(cut) or 'nothing'}.")
    ending = f"Found: {found}, probability {kept[found]:.3g}. Greedy decoding finds {greedy[-1]}."
    return show(figure, f"A tree of texts, searched with a beam of {width}. {' '.join(sentences)} {ending}")


@_styled
def codon_attention(weights: np.ndarray, dna: str, written: Sequence[str]) -> Picture:
    """Draw the cross-attention of a trained translator, a panel for each head, and a frame around the codon of each amino acid.

    Args:
        weights: (heads, length_t, length_s), from 0 to 1.
        dna: length_s letters, whole codons.
        written: length_t tokens, an amino acid for each codon first.

    Returns:
        The picture; its description leaves the weights out, which differ a little from one processor to another.

    Raises:
        ValueError: if the weights have another shape.
    """
    weights, written = _numbers("weights", weights, 3), list(map(str, written))
    if weights.shape[1:] != (len(written), len(dna)) or len(dna) % 3:
        raise ValueError(f"weights have shape {weights.shape}: expected (heads, {len(written)}, {len(dna)})")
    figure = Figure(figsize=(7, len(weights) * (0.5 + 0.27 * len(written)) + 0.3))
    panels = figure.subplots(len(weights), 1, squeeze=False, sharex=True).flat
    for head, panel in enumerate(panels):
        image = panel.imshow(weights[head], cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for codon in range(len(dna) // 3):
            frame = Rectangle(
                (3 * codon - 0.5, codon - 0.5), 3, 1, facecolor="none", edgecolor="#d55e00", linewidth=1.6
            )
            panel.add_patch(frame)
        panel.set_xticks(range(len(dna)), list(dna))
        panel.set_yticks(range(len(written)), written)
        panel.tick_params(length=0, labelsize=10, labelbottom=True)
        panel.set_title(f"head {head}")
        panel.spines[:].set_visible(True)
    figure.supxlabel("letter of the DNA (key)", fontsize=10)
    figure.supylabel("token to be written (query)", fontsize=10)
    figure.colorbar(image, ax=figure.axes, label="weight", shrink=0.9)
    return show(
        figure,
        f"Cross-attention of a trained model with {len(weights)} heads: a row for each of the {len(written)} tokens to be written, "
        f"a column for each of the {len(dna)} letters of DNA. A frame marks the codon of each amino acid.",
    )
