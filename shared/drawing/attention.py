"""What chapter 06 draws: vectors that attention moves, and attention with one head and with several."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from shared.drawing import diagrams, plots


@plots.styled
def word_vectors(
    tokens: Sequence[str],
    before: np.ndarray,
    after: np.ndarray,
    moved: str,
    axes: tuple[str, str] = ("nature", "money"),
) -> plots.Picture:
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
        color = plots.COLORS["NumPy"] if number == index else "#57606a"
        if x == y == 0:
            panel.plot(0, 0, "o", color=color, clip_on=False, zorder=3)
        else:
            panel.quiver(0, 0, x, y, color=color, **arrow)
        name = f"{token}, before" if number == index else token
        place = (-4, -14) if x == y == 0 else (7, 7)
        panel.annotate(name, (x, y), xytext=place, textcoords="offset points", color=color)
    x, y = after[index]
    panel.quiver(0, 0, x, y, color=plots.COLORS["PyTorch"], zorder=4, **arrow)
    place = (8, -4) if x >= before[index][0] else (-4, 7)  # not over the dotted line
    panel.annotate(f"{moved}, after", (x, y), xytext=place, textcoords="offset points", color=plots.COLORS["PyTorch"])
    panel.annotate(
        "",
        (x, y),
        before[index],
        arrowprops={"arrowstyle": "->", "linestyle": ":", "color": plots.INK, "shrinkA": 3, "shrinkB": 3},
    )
    panel.set(xlim=(-0.2, limit), ylim=(-0.2, limit), aspect="equal", xlabel=axes[0], ylabel=axes[1])
    panel.grid(alpha=0.25)
    positions = ", ".join(f"{token} at ({a:g}, {b:g})" for token, (a, b) in zip(tokens, before))
    a, b = before[index]
    return plots.show(
        figure,
        f"Arrows in the plane of {axes[0]} and {axes[1]}: {positions}. After attention, {moved} has moved from "
        f"({a:g}, {b:g}) to ({x:.2f}, {y:.2f}).",
    )


def attention_diagram() -> diagrams.Diagram:
    """Draw scaled dot-product attention with its mask and both of its results."""
    return diagrams.draw(
        "Scaled dot-product attention: query and key are multiplied and divided by the square root of head_dim, the mask removes pairs, a softmax over the keys "
        "gives the weights, and the weights average the values into the output.",
        {
            "query": ("data", "query\n(…, length_q, head_dim)"),
            "key": ("data", "key\n(…, length_k, head_dim)"),
            "mask": ("data", "mask\nTrue = may attend"),
            "value": ("data", "value\n(…, length_k, value_dim)"),
            "scores": ("operation", "query · keyᵀ / √head_dim\n(…, length_q, length_k)"),
            "masking": ("operation", "-∞ where the mask is False"),
            "softmax": ("operation", "softmax over the keys"),
            "weights": ("output", "weights\n(…, length_q, length_k)"),
            "sum": ("operation", "weights · value"),
            "output": ("output", "output\n(…, length_q, value_dim)"),
        },
        [
            "query -> scores -> masking -> softmax -> weights -> sum -> output",
            "key -> scores",
            "mask -> masking",
            "value -> sum",
        ],
    )


def multi_head_diagram() -> diagrams.Diagram:
    """Draw multi-head attention with its four learned projections, two heads side by side, and the mask."""
    nodes, edges = {}, []
    for name, length in (("query", "length_q"), ("key", "length_k"), ("value", "length_k")):
        nodes[f"{name}_input"] = ("data", f"{name} input\n({length}, d_model)")
        nodes[name] = ("parameters", f"{name}\nkernel and bias")
        nodes[f"{name}_heads"] = ("operation", "split into heads")
        edges.append(f"{name}_input -> {name} -> {name}_heads")
        edges += [f"{name}_heads -> head_{head}" for head in (0, 1)]
    nodes["mask"] = ("data", "mask\nTrue = may attend")
    for head in (0, 1):
        nodes[f"head_{head}"] = ("operation", f"head {head}: attention")
        edges += [f"mask -> head_{head}", f"head_{head} -> merge"]
    return diagrams.draw(
        "Multi-head attention: three learned projections make query, key and value, each is split into heads; here are two. "
        "Each head attends by itself, with the same mask; the heads are merged again, and a fourth learned projection makes "
        "the output.",
        nodes
        | {
            "merge": ("operation", "merge the heads\n(length_q, d_model)"),
            "output": ("parameters", "output\nkernel and bias"),
            "result": ("output", "result\n(length_q, d_model)"),
        },
        [*edges, "merge -> output -> result"],
        ranksep="0.45",
        nodesep="0.3",
    )
