"""What chapter 11 draws: masks, and the two decoder blocks."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.drawing import diagrams, plots


@plots.styled
def mask_grid(
    mask: np.ndarray, keys: Sequence[str], answers: Sequence[str], queries: Sequence[str] | None = None
) -> plots.Picture:
    """Draw a mask as a grid, a row a query and a column a key, and beside each row the sentence as that query sees it.

    Args:
        mask: (queries, keys) booleans, True where a query may attend to a key.
        keys: a token for each column.
        answers: what each query is to predict.
        queries: a token for each row; None if the queries are the last of the keys, and those before them are cached.

    Returns:
        The picture; its description says what each query sees.

    Raises:
        TypeError: if the mask does not hold booleans, or has not a row for each query and answer and a column for each key.
    """
    mask = np.asarray(mask)
    if mask.dtype != bool:
        raise TypeError(f"mask has dtype {mask.dtype}: expected booleans")
    cached = len(keys) - len(answers) if queries is None else 0
    queries = list(keys)[-len(answers) :] if queries is None else list(queries)
    if mask.shape != (len(answers), len(keys)) or len(queries) != len(answers):
        raise TypeError(f"mask has shape {mask.shape}: expected ({len(answers)}, {len(keys)}), answers and keys")
    rows, columns = mask.shape
    widths = [0.5 + 0.15 * len(key) for key in keys]  # of the tokens of a sentence, in cells
    positions, gray = columns + 0.6 + np.cumsum([0, *widths]), "#e6e8eb"
    start, end = positions[0], positions[-1]
    figure = Figure(figsize=(0.62 * (end + 2.6), 0.62 * (rows + 1)))
    axes = figure.subplots()
    descriptions = []
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
            left, wide = positions[column], widths[column]
            if open_:
                axes.text(left + wide / 2, row + 0.5, key, ha="center", va="center")
                seen.append(key)
            else:
                axes.add_patch(Rectangle((left + 0.1, row + 0.3), wide - 0.2, 0.4, facecolor=gray))
        axes.text(end + 0.2, row + 0.5, f"\u2192  {answer} ?", va="center")
        descriptions.append(f"{query} sees {', '.join(seen) or 'nothing'} and is to predict {answer}")
    for column, key in enumerate(keys):
        axes.text(column + 0.5, -0.15, key, ha="center", va="bottom", fontsize=10 if len(key) < 5 else 8)
    axes.text(start + 0.1, -0.15, "what this row sees", va="bottom", style="italic")
    titles = {"cached keys": cached / 2, "new keys": (cached + columns) / 2} if cached else {"key": columns / 2}
    for title, center in titles.items():
        axes.text(center, -0.62, title, ha="center", va="center", style="italic")
    if cached:
        axes.plot([cached, cached], [-0.85, rows + 0.05], color="#57606a", linewidth=2)
    axes.text(-1.45, rows / 2, "query", ha="center", va="center", rotation=90, style="italic")
    axes.set(xlim=(-1.6, end + 1.3), ylim=(rows + 0.05, -0.9))
    axes.set_axis_off()
    behind = f", the first {cached} of them cached" if cached else ""
    return plots.show(figure, f"A mask of {rows} queries and {columns} keys{behind}. {'; '.join(descriptions)}.")


def decoder_only_diagram(norm_first: bool) -> diagrams.Diagram:
    """Draw the block of a decoder alone: causal self-attention, then feed-forward, each in a residual connection.

    Args:
        norm_first: True normalizes each sub-layer's input, False each sum.

    Source: Liu et al. 2018, "Generating Wikipedia by Summarizing Long Sequences", section 4.2.3; Radford et al. 2019, section 2.3.
    """
    order = diagrams.norm_order(norm_first)
    first, first_edges, middle = diagrams.residual_connection(
        "x", "attention", ("parameters", "CausalSelfAttention\nno position sees a later one"), norm_first
    )
    second, second_edges, last = diagrams.residual_connection(
        middle, "feed_forward", ("parameters", "FeedForward"), norm_first
    )
    return diagrams.draw(
        f"The block of a decoder alone in {order} order: causal self-attention, which may keep keys and values in a cache, and then the feed-forward "
        f"network, each with dropout and a skip path around it, and LayerNorm {'before each of the two' if norm_first else 'after each sum'}.",
        {
            "x": ("data", "x (batch, length, d_model)"),
            "mask": ("data", "mask"),
            "cache": ("data", "cache of keys and values"),
        }
        | first
        | second
        | {"y": ("output", "y (batch, length, d_model)")},
        [*first_edges, "mask -> attention", "cache -> attention", *second_edges, f"{last} -> y"],
        ranksep="0.2",
    )


def decoder_block_diagram(norm_first: bool) -> diagrams.Diagram:
    """Draw a decoder block: causal self-attention, attention to the memory, then feed-forward, each in a residual connection.

    Args:
        norm_first: True normalizes each sub-layer's input, False each sum, as the 2017 paper does.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1 and figure 1.
    """
    order = diagrams.norm_order(norm_first)
    own, own_edges, second = diagrams.residual_connection(
        "x", "self_attention", ("parameters", "CausalSelfAttention"), norm_first, short=True
    )
    cross, cross_edges, third = diagrams.residual_connection(
        second, "cross_attention", ("parameters", "MultiHeadAttention to memory"), norm_first, short=True
    )
    digest, digest_edges, last = diagrams.residual_connection(
        third, "feed_forward", ("parameters", "FeedForward"), norm_first, short=True
    )
    return diagrams.draw(
        f"A decoder block in {order} order: causal self-attention, then attention whose keys and values come from the memory, then the feed-forward "
        f"network, each with dropout and a skip path around it, and LayerNorm {'before each of the three' if norm_first else 'after each sum'}.",
        {
            "x": ("data", "x (batch, length, d_model)"),
            "self_mask": ("data", "self_mask"),
            "memory": ("data", "memory\n(batch, length_k, d_model)"),
            "memory_mask": ("data", "memory_mask"),
        }
        | own
        | cross
        | digest
        | {"y": ("output", "y (batch, length, d_model)")},
        [
            *own_edges,
            "self_mask -> self_attention",
            *cross_edges,
            "memory -> cross_attention",
            "memory_mask -> cross_attention",
            *digest_edges,
            f"{last} -> y",
        ],
        ranksep="0.12",
        nodesep="0.2",
    )
