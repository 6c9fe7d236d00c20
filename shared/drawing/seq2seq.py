"""What chapter 12 draws: the genetic code, beam search, attention to codons, and the Transformer that translates."""

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from shared.checks import check_positive
from shared.drawing import diagrams, plots

_GROUND = "#9ec5e8"  # of an amino acid, and of a text that is kept
_STOP = "#e6e8eb"
_FOUND = "#f2c14e"
_FAINT = "#9aa1a9"  # the border of a text that is cut, and of a block of codons


@plots.styled
def codon_table(code: Mapping[str, str]) -> plots.Picture:
    """Draw a genetic code: a block for the first two letters of a codon, in it a line for each third letter, with the amino acid.

    Args:
        code: codon -> one letter of an amino acid, "*" for stop; all 64.

    Returns:
        The picture; its description lists the codons of each amino acid.
    """
    letters = "TCAG"
    codons = ["".join(each) for each in itertools.product(letters, repeat=3)]
    figure = Figure(figsize=(7, 4.6))
    axes = figure.subplots()
    for row, first in enumerate(letters):
        axes.text(-0.06, 4 * row + 2, first, ha="right", va="center", fontsize=12, weight="bold")
        for column, second in enumerate(letters):
            axes.add_patch(Rectangle((column, 4 * row), 0.97, 3.9, facecolor="none", edgecolor=_FAINT))
            for line, third in enumerate(letters):
                codon = first + second + third
                place = 4 * row + line + 0.5
                shade = _STOP if code[codon] == "*" else _GROUND
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
    descriptions = [
        f"{'stop' if each == '*' else each}: {' '.join(c for c in codons if code[c] == each)}" for each in acids
    ]
    return plots.show(figure, f"The 64 codons, and what each means. {'; '.join(descriptions)}.")


@plots.styled
def beam_tree(
    following: Mapping[str, Mapping[str, float]], width: int, end: str = "$", between: str = ""
) -> plots.Picture:
    """Draw what beam search does as a tree, from left to right: what it keeps, what it cuts and never continues, and what it finds.

    Args:
        following: a text so far -> next token -> its probability, from "" on; a text that is not in it has ended.
        width: how many texts are kept at each step.
        end: the token that ends a text.
        between: what joins two tokens of a text: nothing for letters, " " for words.

    Returns:
        The picture; its description names what is kept and cut at each step, and the best text with its probability.

    Raises:
        ValueError: if there is no beginning, or width is below 1.
    """
    check_positive(width=width)
    if "" not in following:
        raise ValueError(f"following has {sorted(following)}: expected the empty text among them")

    def grown(text: str, token: str) -> str:
        return text + between + token if text else token

    levels = _beam_search(following, width, grown)
    kept = [[""], *(best for _, best in levels)]
    lasting = set(itertools.chain(*kept))
    last, best = levels[-1]
    found = max(best, key=last.get)
    greedy = _greedy(following, grown)
    children = {
        text: {grown(text, token): prob for token, prob in following[text].items()}
        for texts in kept
        for text in texts
        if text in following
    }
    locations = _positions(children)
    deep = max(x for x, _ in locations.values())
    leaves = len(locations) - len(children)
    figure = Figure(figsize=(min(7.2, 1.2 + (3.0 if between else 2.0) * deep), 0.9 + 0.42 * leaves))
    axes = figure.subplots()
    wide = 0.72 if any(len(text.replace(end, " end")) > 4 for text in locations) else 0.5  # of a box
    for text, below in children.items():
        for each, prob in below.items():
            _draw_line(axes, locations[text], locations[each], wide, prob, stays=each in lasting)
    probability = {"": 1.0}
    for level, _ in levels:
        probability |= level
    for text, place in locations.items():
        label = text.replace(end, " end") or "start"
        if text:
            label = f"{label}   {f'{probability[text]:.3f}'.rstrip('0')}"
        _draw_box(axes, place, wide, label, stays=text in lasting, wins=text == found)
        if text and text == greedy:
            axes.text(place[0] + wide / 2 + 0.04, place[1], "greedy", va="center", style="italic", fontsize=9)
    for x, label in enumerate(["nothing written", *(f"step {number}" for number in range(1, deep + 1))]):
        axes.text(x, -0.75, label, ha="center", va="center", style="italic", fontsize=9)
    handles = [
        Rectangle((0, 0), 1, 1, facecolor=_FOUND, linestyle="-", edgecolor=plots.INK, label="found"),
        Rectangle((0, 0), 1, 1, facecolor=_GROUND, linestyle="-", edgecolor=plots.INK, label="kept"),
        Rectangle((0, 0), 1, 1, facecolor="white", linestyle=":", edgecolor=_FAINT, label="cut"),
    ]
    axes.legend(handles=handles, loc="lower left", fontsize=9, frameon=False)
    axes.set(xlim=(-0.4, deep + wide / 2 + 0.4), ylim=(leaves - 0.4, -1.1))
    axes.set_axis_off()
    steps = " ".join(f"Step {number}: {_described(*level)}." for number, level in enumerate(levels, 1))
    ending = f"Found: {found}, probability {probability[found]:.3g}. Greedy decoding finds {greedy}."
    return plots.show(figure, f"A tree of texts, searched with a beam of {width}. {steps} {ending}")


def _beam_search(
    following: Mapping[str, Mapping[str, float]], width: int, grown: Callable[[str, str], str]
) -> list[tuple[dict[str, float], list[str]]]:
    """For each step, the texts that it looks at with their probabilities, and those that it keeps, the best first."""
    levels, kept = [], {"": 1.0}
    while any(text in following for text in kept):
        level = {}
        for text, probability in kept.items():
            if text in following:
                level |= {grown(text, token): probability * p for token, p in following[text].items()}
            else:
                level[text] = probability
        best = sorted(level, key=level.get, reverse=True)[:width]
        levels.append((level, best))
        kept = {text: level[text] for text in best}
    return levels


def _greedy(following: Mapping[str, Mapping[str, float]], grown: Callable[[str, str], str]) -> str:
    text = ""
    while text in following:
        text = grown(text, max(following[text], key=following[text].get))
    return text


def _positions(children: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[int, float]]:
    """Where each text is: leaves below one another, a parent in the middle of its children."""
    locations, leaves = {}, itertools.count()

    def put(text: str, step: int) -> float:
        below = [put(each, step + 1) for each in children.get(text, ())]
        height = float(np.mean(below)) if below else float(next(leaves))
        locations[text] = (step, height)
        return height

    put("", 0)
    return locations


def _draw_line(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], wide: float, prob: float, stays: bool
) -> None:
    """A line from one box to the next, with the probability of the letter that is added."""
    (x, y), (to_x, to_y) = start, end
    left, right = x + wide / 2, to_x - wide / 2
    color, dashes = (plots.INK, "-") if stays else (_FAINT, ":")
    axes.plot([left, right], [y, to_y], color=color, linewidth=1.2, linestyle=dashes)
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    at_x, at_y = left + 0.62 * (right - left), y + 0.62 * (to_y - y)
    axes.text(at_x, at_y, f"{prob:.2f}", fontsize=9, ha="center", va="center", bbox=ground)


def _draw_box(axes: Axes, place: tuple[float, float], wide: float, label: str, stays: bool, wins: bool) -> None:
    x, y = place
    fill = _FOUND if wins else _GROUND if stays else "white"
    color, dashes = (plots.INK, "-") if stays else (_FAINT, ":")
    corner = (x - wide / 2, y - 0.36)
    axes.add_patch(Rectangle(corner, wide, 0.72, facecolor=fill, edgecolor=color, linewidth=1.2, linestyle=dashes))
    axes.text(x, y, label, ha="center", va="center", weight="bold" if wins else "normal", fontsize=9.5)


def _described(grown: Mapping[str, float], best: Sequence[str]) -> str:
    """What a step keeps and cuts, with the probabilities."""
    kept = ", ".join(f"{text} ({grown[text]:.3g})" for text in best)
    cut = ", ".join(f"{text} ({grown[text]:.3g})" for text in grown if text not in best)
    return f"kept {kept}; cut {cut or 'nothing'}"


@plots.styled
def codon_attention(weights: np.ndarray, dna: str, written: Sequence[str]) -> plots.Picture:
    """Draw the cross-attention of a trained translator, a panel for each head, and a frame around the codon of each amino acid.

    Args:
        weights: (heads, length_t, length_s), from 0 to 1.
        dna: length_s letters, whole codons.
        written: length_t tokens, an amino acid for each codon first.

    Returns:
        The picture; its description leaves the weights out, which differ a little from one processor to another.

    Raises:
        TypeError: if the weights have another shape.
    """
    weights, written = plots.real_numbers("weights", weights, 3), list(map(str, written))
    if weights.shape[1:] != (len(written), len(dna)) or len(dna) % 3:
        raise TypeError(f"weights have shape {weights.shape}: expected (heads, {len(written)}, {len(dna)})")
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
    return plots.show(
        figure,
        f"Cross-attention of a trained model with {len(weights)} heads: a row for each of the {len(written)} tokens to be written, "
        f"a column for each of the {len(dna)} letters of DNA. A frame marks the codon of each amino acid.",
    )


def seq2seq_diagram() -> diagrams.Diagram:
    """Draw a Transformer that translates: the encoder reads the source once, the decoder writes the target token by token.

    Source: Vaswani et al. 2017, "Attention Is All You Need", figure 1.
    """
    return diagrams.draw(
        "A sequence-to-sequence Transformer: the source tokens are embedded and pass the encoder once, which gives the memory. The target so far is embedded and passes the decoder, "
        "which looks at the memory; a projection gives the logits of the next token, and what is chosen is added to the target.",
        {
            "source": ("data", "source\n(batch, length_s)"),
            "source_embedding": ("parameters", "source embedding\nand positions"),
            "encoder": ("parameters", "Encoder"),
            "memory": ("data", "memory\n(batch, length_s, d_model)"),
            "target": ("data", "target so far\n(batch, length_t)"),
            "target_embedding": ("parameters", "target embedding\nand positions"),
            "decoder": ("parameters", "Decoder"),
            "projection": ("parameters", "projection"),
            "logits": ("output", "logits of the next token\n(batch, length_t, target_vocab_size)"),
        },
        [
            "source -> source_embedding -> encoder -> memory",
            "target -> target_embedding -> decoder -> projection -> logits",
            "memory -> decoder: keys and values",
            "logits -> target: choose and add",
        ],
        {
            "encode, once": ["source", "source_embedding", "encoder", "memory"],
            "decode and project, for every token": ["target", "target_embedding", "decoder", "projection", "logits"],
        },
    )
