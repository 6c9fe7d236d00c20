"""Chapter 15: real text."""

import math

import numpy as np

from shared.exercises import Exercise


def _per_byte(probs, text):
    nats = -np.log(probs).sum()
    return nats / np.log(2) / len(text.encode())


def _random_text(rng):
    words = ["café", "naïve", "the", "tensor", "Größe", "of", "≥", "zero", "señor"]
    picked = [str(word) for word in rng.choice(words, size=int(rng.integers(3, 7)))]
    text = " ".join(["née", *picked])  # one letter at least takes two bytes
    return rng.uniform(0.02, 0.9, size=len(text.split()) + int(rng.integers(1, 4))), text


def _backed_off(counts, shorter, strength):
    return (counts + strength * shorter) / (counts.sum(axis=-1, keepdims=True) + strength)


def _random_counts(rng):
    contexts, words = int(rng.integers(3, 6)), int(rng.integers(4, 7))
    counts = rng.integers(0, 6, size=(contexts, words)).astype(float)
    counts[0] = 0  # a context that training doesn't have
    counts[1, 0] = 0
    return counts, rng.dirichlet(np.full(words, 2.0)), float(rng.uniform(1.5, 4))


def _merged(kernel, a, b, alpha):
    return kernel + alpha / a.shape[1] * a @ b


def _random_adapter(rng):
    size, rank = int(rng.integers(4, 7)), int(rng.integers(2, 4))
    kernel = rng.normal(size=(size, size))
    return kernel, rng.normal(size=(size, rank)), rng.normal(size=(rank, size)), float(rng.uniform(4, 8))


def _induction(weights, tokens):
    """The mean weight on the positions just behind earlier copies of each token that has one."""
    return _mean_weight(weights, _behind(tokens))


def _behind(tokens):
    tokens = np.asarray(tokens)
    length = len(tokens)
    earlier = np.tri(length, k=-1, dtype=bool)
    same = (tokens[:, None] == tokens) & earlier
    behind = np.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    return behind & np.tri(length, dtype=bool)


def _mean_weight(weights, wanted):
    has = wanted.any(axis=-1)
    return (weights * wanted).sum(axis=-1)[:, has].mean(axis=-1)


def _shifted_left(weights, tokens):
    """The mask of earlier copies, one column to the left, averaged over the same rows as the right one."""
    tokens = np.asarray(tokens)
    same = (tokens[:, None] == tokens) & np.tri(len(tokens), k=-1, dtype=bool)
    left = np.zeros_like(same)
    left[:, :-1] = same[:, 1:]
    return (weights * left).sum(axis=-1)[:, same.any(axis=-1)].mean(axis=-1)


def _without_neighbors(weights, tokens):
    """As if a token right before an equal one were no earlier copy."""
    wanted = _behind(tokens) & np.tri(len(tokens), k=-1, dtype=bool)
    return _mean_weight(weights, wanted)


def _on_the_copy(weights, tokens):
    tokens = np.asarray(tokens)
    return _mean_weight(weights, (tokens[:, None] == tokens) & np.tri(len(tokens), k=-1, dtype=bool))


def _before_the_copy(weights, tokens):
    tokens = np.asarray(tokens)
    same = (tokens[:, None] == tokens) & np.tri(len(tokens), k=-1, dtype=bool)
    before = np.zeros_like(same)
    before[:, :-1] = same[:, 1:]
    return _mean_weight(weights, before)


def _over_all(weights, tokens):
    return (weights * _behind(tokens)).sum(axis=-1).mean(axis=-1)


def _random_maps(rng):
    heads, length = int(rng.integers(2, 4)), int(rng.integers(8, 12))
    tokens = rng.integers(0, 4, size=length)
    tokens[-1] = tokens[0]  # one repetition at least, not of neighbors
    tokens[2] = tokens[1]  # and one of neighbors
    scores = np.where(np.tri(length, dtype=bool), rng.normal(scale=2, size=(heads, length, length)), -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True), tokens


def _of_heads(kernel, a, b, alpha):
    return kernel + alpha / b.shape[0] * a @ b


def _random_heads(rng):
    d_model, heads, size, rank = 6, 3, 4, 2
    shapes = ((d_model, heads, size), (d_model, heads, rank), (rank, size))
    return (*(rng.normal(size=shape) for shape in shapes), float(rng.uniform(4, 8)))


EXERCISES = {
    "15.1": Exercise(
        right=3 / math.log(2) / 4,
        digits=2,
        praise="A byte alone, all 256 equally likely, would take 8 bits.",
        mistakes={
            # likely: the second of two changes of units is forgotten
            "That is in nats per byte; a nat is 1 / ln 2 = 1.44 bits.": 3 / 4,
            # likely: the second of two changes of units is forgotten
            "Those are the bits of a token; it has 4 bytes.": 3 / math.log(2),
            # likely: the direction of a change of units
            "A nat is more than a bit: divide by ln 2, don't multiply.": 3 * math.log(2) / 4,
        },
        hints=[
            "How many bits are 3 nats? A nat is 1 / ln 2 bits.",
            "Those bits are for a token. How many bytes share them?",
            "4.33 bits for 4 bytes.",
        ],
    ),
    "15.2": Exercise(
        right=_per_byte,
        inputs=_random_text,
        shape="()",
        praise="It can compare any two models of one text, whatever their tokens are.",
        mistakes={
            # likely: np.log by habit, as in every loss of the course
            "That is in nats per byte: take the logarithm to base 2.": (
                lambda probs, text: -np.log(probs).sum() / len(text.encode())
            ),
            # likely: len(text), which in English is nearly the same
            "You divide by the number of characters; é has two bytes in UTF-8.": (
                lambda probs, text: -np.log2(probs).sum() / len(text)
            ),
            # likely: .mean(), as a loss is taken
            "You divide by the number of tokens; divide by the bytes of the text.": (
                lambda probs, text: -np.log2(probs).mean()
            ),
            # likely: the loss of a loop is a mean already, and is divided by the bytes
            "That is the mean over tokens, divided by the bytes; add up all tokens first.": (
                lambda probs, text: -np.log2(probs).mean() / len(text.encode())
            ),
        },
        hints=[
            "The surprise of a token in bits is -log2 of its probability.",
            "Add up the surprise of all tokens.",
            "text.encode() gives the bytes of the text in UTF-8.",
        ],
    ),
    "15.3": Exercise(
        right=_backed_off,
        inputs=_random_counts,
        shape="(contexts, words)",
        praise="A context that was never seen gives the answer of the shorter one.",
        mistakes={
            # likely: the added counts are forgotten in the divisor
            "The chances of a context don't add up to 1: strength belongs below the line, too.": (
                lambda counts, shorter, strength: (
                    (counts + strength * shorter) / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
                )
            ),
            # seen: add-k smoothing (Laplace)
            "Every word gets the same addition; the shorter context's chances say how much each gets.": (
                lambda counts, shorter, strength: (
                    (counts + strength / counts.shape[-1]) / (counts.sum(axis=-1, keepdims=True) + strength)
                ),
                lambda counts, shorter, strength: (counts + strength) / (counts + strength).sum(axis=-1, keepdims=True),
            ),
            # likely: axis=0, or .sum() without an axis
            "You add up over the contexts; add up what followed each context, along its row.": (
                lambda counts, shorter, strength: (counts + strength * shorter) / (counts.sum(axis=0) + strength),
                lambda counts, shorter, strength: (counts + strength * shorter) / (counts.sum() + strength),
            ),
            # seen: By hand, whose formula has 1; below the line alone, an outside reader's trial answer
            "The shorter context counts for `strength` observations; you let it count for one.": (
                lambda counts, shorter, strength: _backed_off(counts, shorter, 1.0),
                lambda counts, shorter, strength: (
                    (counts + strength * shorter) / (counts.sum(axis=-1, keepdims=True) + 1)
                ),
            ),
            # seen: the name, and Katz's back-off, which takes one or the other
            "You back off only where a context was never seen; the shorter one counts everywhere.": (
                lambda counts, shorter, strength: np.where(
                    counts.sum(axis=-1, keepdims=True) > 0,
                    counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1),
                    shorter,
                )
            ),
        },
        hints=[
            "The formula of By hand has a 1 in two places; strength takes its place.",
            "counts.sum(axis=-1, keepdims=True) says how often anything followed a context.",
            "shorter has a chance for each word, the same for all contexts: strength * shorter is added to each row.",
        ],
    ),
    "15.4": Exercise(
        right=_merged,
        inputs=_random_adapter,
        shape="(in, out)",
        praise="After merging, the adapter costs nothing: the layer is an ordinary one again.",
        mistakes={
            # likely: alpha is taken for the scale itself
            "alpha is divided by the rank, the number of columns of a.": (
                lambda kernel, a, b, alpha: kernel + alpha * a @ b
            ),
            # seen: the LoRA paper's formula, W + BA
            "The scale alpha / rank is missing.": lambda kernel, a, b, alpha: kernel + a @ b,
            # likely: shape[0], which is the rank of the paper's A
            "The rank is the number of columns of a; you divide by its number of rows.": (
                lambda kernel, a, b, alpha: kernel + alpha / a.shape[0] * a @ b
            ),
            # seen: PyTorch and the LoRA paper, whose weights are (out, in)
            "The update is transposed: it is a times b, (in, rank) by (rank, out).": (
                lambda kernel, a, b, alpha: kernel + alpha / a.shape[1] * (a @ b).T
            ),
        },
        hints=[
            "a is (in, rank) and b is (rank, out). Which product has the shape of the kernel?",
            "The rank is a.shape[1].",
            "The update is scaled by alpha / rank, and added to the kernel.",
        ],
    ),
    "15.6": Exercise(
        track="pytorch",
        right=_induction,
        inputs=_random_maps,
        shape="(heads,)",
        praise="Near 1, a head reads where an induction head would (Olsson et al. 2022); switch it off to see what it does.",
        trials=8,
        mistakes={
            # likely: tokens[:, None] == tokens marks the copies, and the shift is forgotten
            "That is the weight on the earlier copy itself; look at the position behind it.": _on_the_copy,
            # likely: the mean over all rows
            "Take the mean over the positions whose token came before; the others have nothing to find.": _over_all,
            # likely: the two slices of the shift exchanged
            "Shifted the wrong way: the position behind a copy is one column further to the right.": (
                _shifted_left,
                _before_the_copy,
            ),
            # likely: tril(diagonal=-1) after the shift
            "A copy may be the position just before; you leave out the neighbors.": _without_neighbors,
        },
        hints=[
            "tokens[:, None] == tokens[None, :] is True where two positions have the same token; keep those to the left.",
            "Shift that mask one column to the right: it then marks the position behind each copy.",
            "Add up the weights under the mask in each row, and take the mean over the rows that have a copy.",
        ],
    ),
    "15.7": Exercise(
        track="keras",
        right=_of_heads,
        inputs=_random_heads,
        shape="(d_model, heads, head_dim)",
        praise="Each head has an a of its own, so as one matrix the update has a higher rank than that of b.",
        mistakes={
            # seen: the LoRA paper's formula, W + BA
            "The scale alpha / rank is missing.": lambda kernel, a, b, alpha: kernel + a @ b,
            # likely: alpha is taken for the scale itself
            "alpha is divided by the rank, the number of rows of b.": lambda kernel, a, b, alpha: (
                kernel + alpha * a @ b
            ),
            # seen: exercise 15.4, where a.shape[1] is the rank
            "You divide by the number of heads; divide by the rank.": (
                lambda kernel, a, b, alpha: kernel + alpha / a.shape[1] * a @ b
            ),
        },
        hints=[
            "ops.matmul multiplies the last axis of a with the first of b, for all heads at once.",
            "The rank is b.shape[0].",
            "kernel + alpha / rank * update.",
        ],
    ),
    "15.8": Exercise(
        track="compare",
        right=5120,
        praise="The layer has 262,144 weights in its kernel: the adapter trains one in 51.",
        mistakes={
            # likely: one of the two matrices is forgotten
            "That is a alone; b has 4 x 1024 more.": 1024,
            # likely: one of the two matrices is forgotten
            "That is b alone; a has 256 x 4 more.": 4096,
            # likely: a layer is counted with its bias
            "The bias stays frozen, too.": 6144,
        },
        hints=[
            "a maps 256 features to 4.",
            "b maps 4 features to 1024.",
            "256 x 4 and 4 x 1024.",
        ],
    ),
}
