"""What chapter 04 draws: words after each merge, and the way from texts to ids."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.drawing import diagrams, plots


@plots.styled
def merged_words(stages: Mapping[str, Sequence[Sequence[str]]], counts: Sequence[int]) -> plots.Picture:
    """Draw the same words after each merge, a box for each token; what the merge of a row made is filled.

    Args:
        stages: what was done: the tokens of each word after it.
        counts: how often each word occurs.
    """
    letter, gap = 0.16, 0.1  # inches
    letters = [max(sum(map(len, words[i])) for words in stages.values()) for i in range(len(counts))]
    starts = np.cumsum([1.9, *(letter * n + 3 * gap + 0.55 for n in letters)])
    figure = Figure(figsize=(float(starts[-1]), 0.42 * len(stages) + 0.1), layout="none")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, starts[-1]), ylim=(0.42 * len(stages), -0.1))
    known, descriptions = {token for word in next(iter(stages.values())) for token in word}, []
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
        descriptions.append(f"{stage}: " + ", ".join(f"{n} times {'|'.join(word)}" for n, word in zip(counts, words)))
    return plots.show(figure, f"Words as tokens. {'; '.join(descriptions)}.")


def tokenization_diagram() -> diagrams.Diagram:
    """Draw the way of two texts to a padded batch of ids; the tokens and ids are those of the first 60 merges learned from the course's grammar."""
    return diagrams.draw(
        "The tokenization pipeline: texts are normalized, cut into words, split into tokens by learned merges, looked up in a learned vocabulary as ids, "
        "and padded at the end with 0 to one array (batch, length).",
        {
            "text": ("data", "texts\n'the girls saw', 'a robot'"),
            "normalise": ("operation", "normalize\n(here nothing; uncased BERT: lower case)"),
            "pre_tokenise": (
                "operation",
                "pre-tokenize: cut into words\n' the', ' girls', ' saw'\n' a', ' robot'",
            ),
            "merge": ("parameters", "merge: learned pairs\n' the', ' girl', 's', ' saw'\n' a', ' robot'"),
            "ids": ("parameters", "look up: learned vocabulary\n260, 288, 84, 315\n261, 268"),
            "batch": ("output", "padded batch (batch, length)\n260 288 84 315\n261 268 0 0"),
        },
        ["text -> normalise -> pre_tokenise -> merge -> ids -> batch"],
    )
