"""The page of `plots.attention_explorer`: attention weights to look into, in a notebook. Its script is explorer.js."""

import base64
import hashlib
import html
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

MAX_TOKENS, MAX_MAPS, MAX_WEIGHTS = 128, 64, 2_000_000
# Weights are kept in half percents: a level has no two whole percents in it, so that the page shows the right one.
LEVELS = 200
_shades = matplotlib.colormaps["Blues"](np.arange(LEVELS + 1) / LEVELS, bytes=True)
COLORS = [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue, _ in _shades]
# Up to this level black letters are told from the color at least as well as white ones.
LAST_WITH_BLACK = 143
# Told where no script runs; the script leaves it out, because its page has no place of that name.
STILL = '<p slot="still">A still: in a trusted notebook, you choose the layer, the head and the token here.</p>'
SCRIPT = Path(__file__).with_suffix(".js")
_SIGNS = {" ": "·", "\n": "⏎", "\t": "⇥"}


def checked_weights(weights: Any) -> np.ndarray:
    """The weights of any framework as an array, after a check that they are the attention weights of one text.

    Raises:
        TypeError: if they are not real numbers, or their shape is not (layers, heads, length, length).
        ValueError: if there are too many, or a row is not finite,
            holds a negative number, or sums to something else than 1 and is not all 0.
    """
    if hasattr(weights, "detach"):  # NumPy takes neither a tensor with a history, nor one on a GPU, nor bfloat16
        weights = weights.detach().cpu().double()
    weights = np.asarray(weights)
    if weights.dtype.kind not in "fiu":
        raise TypeError(f"weights has dtype {weights.dtype}: expected real numbers")
    if weights.ndim != 4 or not weights.size:
        raise TypeError(f"weights has shape {weights.shape}: expected (layers, heads, length, length), none of them 0")
    layers, heads, queries, keys = weights.shape
    if queries != keys:
        raise ValueError(
            f"weights has shape {weights.shape}: expected as many queries as keys, {queries} is not {keys}"
        )
    if queries > MAX_TOKENS:
        raise ValueError(f"weights has shape {weights.shape}: expected at most {MAX_TOKENS} tokens")
    if max(layers, heads) > MAX_MAPS or weights.size > MAX_WEIGHTS:
        raise ValueError(
            f"weights has shape {weights.shape}: expected at most {MAX_MAPS} layers of {MAX_MAPS} heads, "
            f"and {MAX_WEIGHTS:,} weights"
        )
    weights = weights.astype(np.float64)
    sums = weights.sum(-1)
    for wrong, found in (
        (~np.isfinite(weights).all(-1), "holds a number that is not finite"),
        ((weights < 0).any(-1), "holds a negative number"),
        ((np.abs(sums - 1) > 1e-3) & (weights != 0).any(-1), "sums to {sum:.4g}"),
    ):
        if wrong.any():
            layer, head, row = np.argwhere(wrong)[0]
            found = found.format(sum=sums[layer, head, row])
            raise ValueError(
                f"weights of layer {layer}, head {head}, row {row}: {found}; "
                "expected weights of at least 0 that sum to 1, or zeros alone"
            )
    return weights


def checked_tokens(tokens: Sequence[str], length: int) -> list[str]:
    """The tokens as a list, after a check that they are `length` texts.

    Raises:
        TypeError: if they are not a list of texts.
        ValueError: if there are more or fewer.
    """
    if isinstance(tokens, np.ndarray):
        tokens = tokens.tolist()
    if not isinstance(tokens, Sequence):
        raise TypeError(f"tokens={tokens!r}: expected a list of texts, got {type(tokens).__name__}")
    for index, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(f"tokens[{index}]={token!r}: expected text, got {type(token).__name__}")
    if len(tokens) != length:
        raise ValueError(f"tokens has {len(tokens)} texts: expected {length}, one for each row of weights")
    return list(tokens)


def visible(token: str) -> str:
    """The token with signs for what would not be seen: · for a space at an end, ⏎ for a new line, ∅ for an empty text."""
    start, end = len(token) - len(token.lstrip(" ")), len(token.rstrip(" "))
    shown = []
    for index, letter in enumerate(token):
        inside = letter == " " and start <= index < end
        joiner = letter == "\u200d"  # joins emoji to one
        if inside or joiner or (letter != " " and letter.isprintable()):
            shown.append(letter)
        else:
            shown.append(_SIGNS.get(letter) or letter.encode("unicode_escape").decode())
    return "".join(shown) or "∅"


def names(tokens: Sequence[str]) -> list[str]:
    """The tokens in quotes, as a sentence names them; those that occur again, with their position."""
    count = Counter(tokens)
    return [
        f"“{token}” at position {position}" if count[token] > 1 else f"“{token}”"
        for position, token in enumerate(tokens)
    ]


def describe(weights: np.ndarray, tokens: Sequence[str], trained: bool) -> str:
    """How many layers and heads there are, the text, and which head of each layer reads the previous token most."""
    layers, heads, length, _ = weights.shape
    text = " ".join(tokens[:24]) + (" …" if length > 24 else "")
    counts = [
        f"{number} {word}{'s' if number > 1 else ''}"
        for number, word in ((layers, "layer"), (heads, "head"), (length, "token"))
    ]
    description = (
        f"Attention weights of {counts[0]} with {counts[1]}{' each' if layers > 1 else ''}, {counts[2]}: {text}."
    )
    if trained or length == 1:
        return description
    previous = np.diagonal(weights, offset=-1, axis1=2, axis2=3).mean(-1)
    best = [
        f"head {head} of layer {layer} ({previous[layer, head]:.0%})" for layer, head in enumerate(previous.argmax(-1))
    ]
    return f"{description} The previous token is read most, on average, by {', '.join(best)}."


def to_levels(weights: np.ndarray) -> np.ndarray:
    """The weights in half percents, rounded down, as bytes from 0 to 200."""
    # The little more keeps 1/4 on its level, where another processor has computed 0.24999999.
    return np.minimum(np.floor(LEVELS * weights + 1e-4), LEVELS).astype(np.uint8)


def percent(level: int) -> int:
    """The whole percent of a level: 61 of 122, from 61.0 to 61.5 percent; 62 of 123, from 61.5 to 62.0."""
    return (int(level) + 1) // 2


class Explorer:
    """What `plots.attention_explorer` returns: a notebook shows its page, and a prompt its description.

    Attributes:
        description: what the weights are, in one or two sentences.
        picture: the maps of all heads, which are shown where no script runs.
    """

    def __init__(self, weights: np.ndarray, tokens: Sequence[str], picture: Any, start: tuple[int, int, int]):
        self.description, self.picture = picture.alt, picture
        self._start = start
        self._tokens = tokens
        self._weights = weights

    def __repr__(self) -> str:
        return self.description

    def _repr_html_(self) -> str:
        data = self._data()
        function = SCRIPT.read_text(encoding="utf-8").rstrip()
        arguments = json.dumps(data).replace("<", "\\u003c")  # a token may be </script>
        return (
            f'<div data-explorer="{data["explorer"]}">{STILL}{self.picture._repr_html_()}{self._table()}</div>'
            f"<script>\n({function})({arguments});\n</script>"
        )

    def _data(self) -> dict[str, Any]:
        """What explorer.js reads; its name is a digest of the rest."""
        layers, heads, length, _ = self._weights.shape
        weights = self._weights
        if heads > 1:
            weights = np.concatenate([weights, weights.mean(1, keepdims=True)], axis=1)
        causal = not np.triu(weights, 1).any()
        levels = to_levels(weights)
        kept = levels[:, :, *np.tril_indices(length)] if causal else levels
        data = {
            "tokens": self._tokens,
            "names": names(self._tokens),
            "layers": layers,
            "heads": [*map(str, range(heads)), *(["average"] if heads > 1 else [])],
            "causal": causal,
            **dict(zip(("layer", "head", "token"), self._start)),
            "levels": base64.b64encode(kept.tobytes()).decode(),
        }
        digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16]
        colors = "".join(color.removeprefix("#") for color in COLORS)
        return {"explorer": digest, **data, "colors": colors, "white": LAST_WITH_BLACK}

    def _table(self) -> str:
        """What the last token reads most: a row for each layer, a column for each head."""
        levels = to_levels(self._weights[:, :, -1])
        line = "border:1px solid #7d8590;padding:2px 6px;text-align:left;vertical-align:top;white-space:nowrap"
        # Code, so that MathJax finds no formula between two dollars.
        shown = [f"<code>{html.escape(token)}</code>" for token in self._tokens]
        count = Counter(self._tokens)
        labels = [f"{code} at {key}" if count[self._tokens[key]] > 1 else code for key, code in enumerate(shown)]
        heads = "".join(f'<th scope="col" style="{line}">head {head}</th>' for head in range(levels.shape[1]))
        rows = []
        for layer, row in enumerate(levels):
            cells = [f'<th scope="row" style="{line}">layer {layer}</th>']
            for head in row:
                most = int(head.argmax())
                read = f"{labels[most]}<br>{percent(head[most])}&nbsp;%" if head[most] else "nothing"
                cells.append(f'<td style="{line}">{read}</td>')
            rows.append(f"<tr>{''.join(cells)}</tr>")
        caption = f"What the last token, {shown[-1]}, reads most, and its weight"
        return (
            '<div style="overflow-x:auto"><table style="border-collapse:collapse">'
            f'<caption style="text-align:left">{caption}</caption>'
            f'<thead><tr><td style="{line}"></td>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        )
