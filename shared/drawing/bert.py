"""What chapter 13 draws: a hidden word with its probabilities, and BERT."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.drawing import diagrams, plots


@plots.styled
def hidden_word(words: Sequence[str], hidden: int, probs: Mapping[str, float]) -> plots.Picture:
    """Draw a sentence whose words point at the one that is hidden, and below it the chance of every word that it can have been.

    Args:
        words: the words of the sentence, with what is seen in the place of the hidden one.
        hidden: the place of the hidden word, from 0.
        probs: word: its probability.

    Returns:
        The picture; its description has the sentence and every chance in percent.
    """
    heights = list(probs.values())
    figure = Figure(figsize=(7, 3.7))
    above, axes = figure.subplots(2, height_ratios=(1, 1.7))
    widths = [0.5 + 0.17 * len(word) for word in words]
    centers = [sum(widths[:position]) + 0.45 * position + width / 2 for position, width in enumerate(widths)]
    for position, (word, center, width) in enumerate(zip(words, centers, widths)):
        fill, edge = ("#fde3b5", "#b9822a") if position == hidden else ("#d9e8f6", "#4a7fb0")
        above.add_patch(Rectangle((center - width / 2, 0), width, 0.6, facecolor=fill, edgecolor=edge))
        above.text(center, 0.3, word, ha="center", va="center", fontsize=11)
        if position != hidden:
            curve = -0.35 if position < hidden else 0.35
            arrow = {"arrowstyle": "->", "color": plots.INK, "connectionstyle": f"arc3,rad={curve}"}
            above.annotate("", (centers[hidden], 0.62), (center, 0.62), arrowprops=arrow)
    end = centers[-1] + widths[-1] / 2
    above.set(xlim=(-0.1, end + 0.1), ylim=(-0.05, 1.5), aspect="equal")
    above.set_axis_off()
    bars = axes.bar(range(len(probs)), heights, 0.7, color="#e69f00")
    axes.bar_label(bars, [f"{100 * height:.0f} %" for height in heights], padding=2, fontsize=9)
    axes.set_xticks(range(len(probs)), list(probs))
    axes.tick_params(axis="x", length=0)
    axes.set(ylabel="probability", xlabel="the hidden word", ylim=(0, 1.18 * max(heights)))
    description = ", ".join(f"{word} {100 * prob:.0f} %" for word, prob in probs.items())
    return plots.show(
        figure, f"A sentence, {' '.join(words)}, whose words point at {words[hidden]}. It can have been: {description}."
    )


def bert_diagram() -> diagrams.Diagram:
    """Draw BERT: three embeddings, an encoder, and an output that is tied to the embeddings.

    Source: Devlin et al. 2019, "BERT", figures 1 and 2.
    """
    return diagrams.draw(
        "BERT: the vectors of token, position and segment are added and normalized, and a post-norm encoder makes features of them. A transform and the "
        "token embedding, used again, give the logits; the pooler makes one vector of the first token's features.",
        {
            "tokens": ("data", "tokens, some hidden\n(batch, length)"),
            "positions": ("data", "positions\n0 … length - 1"),
            "segments": ("data", "segments\n0 or 1"),
            "token_embedding": ("parameters", "token embedding\n(vocab_size, d_model)"),
            "position_embedding": ("parameters", "position embedding"),
            "segment_embedding": ("parameters", "segment embedding"),
            "add": ("operation", "add"),
            "norm": ("normalisation", "LayerNorm"),
            "encoder": ("parameters", "Encoder, post-norm, GELU"),
            "features": ("data", "features\n(batch, length, d_model)"),
            "transform": ("parameters", "transform, GELU"),
            "head_norm": ("normalisation", "LayerNorm"),
            "product": ("operation", "z · embeddingᵀ + bias"),
            "logits": ("output", "logits\n(batch, length, vocab_size)"),
            "pooler": ("parameters", "pooler, tanh"),
            "pooled": ("output", "pooled\n(batch, d_model)"),
        },
        [
            "tokens -> token_embedding -> add -> norm -> encoder -> features -> transform -> head_norm -> product -> logits",
            "positions -> position_embedding -> add",
            "segments -> segment_embedding -> add",
            "token_embedding -> product: tied",
            "features -> pooler: first token",
            "pooler -> pooled",
        ],
        ranksep="0.2",
    )
