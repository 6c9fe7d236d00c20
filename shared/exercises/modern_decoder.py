"""Chapter 18: a modern decoder."""

import math

import numpy as np

from shared.exercises import Exercise
from shared.numpy.attention import softmax


def _row_mean(array):
    return array.mean(axis=1, keepdims=True)


def _norm_backward(x, gamma, grad_output):
    n, r, g = _parts(x, gamma, grad_output)
    return (g - n * _row_mean(g * n)) / r


def _parts(x, gamma, grad_output):
    """The normalized features, the root mean square, and the gradient of the former."""
    r = np.sqrt(_row_mean(x**2))
    return x / r, r, grad_output * gamma


def _wrong_norm(of):
    """A wrong backward pass, of the normalized features, the root mean square, the gradient of the former, and x."""
    return lambda x, gamma, grad_output: of(*_parts(x, gamma, grad_output), x)


def _layer_norm_backward(x, gamma, grad_output):
    std, g = x.std(axis=1, keepdims=True), grad_output * gamma
    n = (x - _row_mean(x)) / std
    return (g - _row_mean(g) - n * _row_mean(g * n)) / std


def _random_norm(rng):
    """Features whose root mean square is about 2, and gradients far from mean 0."""
    rows, d = (int(size) for size in rng.permutation([3, 5]))
    gamma = rng.permutation(np.linspace(0.4, 2.4, d))
    return rng.normal(1, 2, size=(rows, d)), gamma, rng.normal(2, 4, size=(rows, d))


def _halves(x, cos, sin):
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _neighbors(x, cos, sin):
    first, second = x[..., 0::2], x[..., 1::2]
    return np.stack([first * cos - second * sin, second * cos + first * sin], axis=-1).reshape(x.shape)


def _neighbors_as_halves(x, cos, sin):
    first, second = x[..., 0::2], x[..., 1::2]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _speeds(d, theta, exponent=2):
    return theta ** (-exponent * np.arange(d // 2) / d)


def _rope(x, positions, theta, turn=_halves, speeds=_speeds, unit=1.0):
    """The right answer to 18.3, and its mistakes: each replaces one piece."""
    angles = unit * positions[:, None] * speeds(x.shape[-1], theta)
    return turn(x, np.cos(angles), np.sin(angles))


def _wrong_rope(**wrong):
    return lambda x, positions, theta: _rope(x, positions, theta, **wrong)


def _heads_last(x, positions, theta, **wrong):
    """The layout of Keras, in which the heads come after the length: the right answer to 18.7, and its mistakes."""
    return _rope(x.swapaxes(1, 2), positions, theta, **wrong).swapaxes(1, 2)


def _wrong_heads_last(**wrong):
    return lambda x, positions, theta: _heads_last(x, positions, theta, **wrong)


def _random_rotary(rng):
    """As many heads as positions, so that angles along the wrong axis fit. Positions with gaps, of which none is 0."""
    batch, length, head_dim = int(rng.integers(2, 4)), int(rng.integers(4, 6)), int(rng.choice([4, 6, 8]))
    positions = 1 + rng.permutation(np.arange(1, length + 1)).cumsum()
    return rng.normal(size=(batch, length, length, head_dim)), positions, float(rng.choice([50, 100, 500]))


def _random_rotary_keras(rng):
    x, positions, theta = _random_rotary(rng)
    return x.astype(np.float32), positions, theta


def _causal(length):
    return np.tri(length, dtype=bool)


def _soft(scores):
    """Without the guard for a row in which all is hidden."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _attend(query, key, value, mask, divisor=None, hidden=-np.inf, weigh=softmax):
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(divisor or query.shape[-1])
    return weigh(np.where(mask, scores, hidden)) @ value


def _repeated(array, heads):
    return np.repeat(array, heads // array.shape[1], axis=1)


def _tiled(array, heads):
    return np.tile(array, (1, heads // array.shape[1], 1, 1))


def _grouped(query, key, value, keys=_repeated, values=_repeated, mask=_causal, **wrong):
    """The right answer to 18.4, and its mistakes: each replaces one piece."""
    heads, length = query.shape[1:3]
    return _attend(query, keys(key, heads), values(value, heads), mask(length), **wrong)


def _wrong_grouped(**wrong):
    return lambda query, key, value: _grouped(query, key, value, **wrong)


def _only_before(length):
    """A triangle without its diagonal."""
    return np.tri(length, k=-1, dtype=bool)


def _random_grouped(rng):
    """At least two heads of keys for groups of at least two, so that the order of the copies counts."""
    kv_heads, group, length, d = int(rng.integers(2, 4)), int(rng.integers(2, 4)), int(rng.integers(4, 7)), 5
    query = 2 * rng.normal(size=(2, kv_heads * group, length, d))
    return query, *rng.normal(size=(2, 2, kv_heads, length, d))


def _distance(length):
    """How far each key is before each query; below 0 if it comes after it."""
    return np.arange(length)[:, None] - np.arange(length)


def _band(length, window):
    return (_distance(length) >= 0) & (_distance(length) < window)


def _windowed(mask):
    return lambda query, key, value, window: _attend(query, key, value, mask(query.shape[2], window))


def _numbers_added(query, key, value, window):
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    return softmax(scores + _band(query.shape[2], window)) @ value


def _random_windowed(rng):
    """Longer than the window by at least two, so that one key more is seen by several queries."""
    window, heads, d = int(rng.integers(2, 5)), int(rng.integers(2, 4)), 4
    query, key, value = rng.normal(size=(3, 2, heads, window + int(rng.integers(2, 5)), d))
    return 2 * query, key, value, window


EXERCISES = {
    "18.1": Exercise(
        right=-6,
        praise="Half a turn is the same in both directions, so with the query at 7 and the key at 9 it is -6, too.",
        mistakes={
            # likely: both are turned, and two turns are thought to cancel
            "That is the dot product before anything is turned; the query has turned further than the key.": 6,
            # likely: neighbors in the text, or one of the two turns in the picture
            "A quarter turn apart they would give 0; from 7 to 9 there are two quarter turns.": 0,
            # likely: the angle takes all attention
            "That is the cosine of the angle; the lengths of the two arrows, 3 and 2, are factors, too.": -1,
            # seen: np.cos(180), whatever the positions are
            "You took the cosine of 180 radians; np.cos needs np.radians(180).": 6 * math.cos(180),
        },
        hints=[
            "Only the distance of the two positions counts. How many quarter turns is the query ahead of the key?",
            "Leave the key where it is, and turn the query alone by that. Where does its arrow point?",
            "A dot product is the two lengths, times the cosine of the angle between the arrows.",
        ],
    ),
    "18.2": Exercise(
        right=_norm_backward,
        inputs=_random_norm,
        shape="(rows, d)",
        praise="In each row its dot product with x is 0, because a longer x changes no output.",
        errors={
            "could not be broadcast": "Each row has a mean of its own: keepdims=True keeps the axis of the features."
        },
        mistakes={
            # seen: chapter 07's backward pass of LayerNorm, all of it or its first term
            "You subtract the mean of the gradient, as LayerNorm does; RMSNorm subtracts no mean, in neither direction.": (
                _wrong_norm(lambda n, r, g, x: (g - _row_mean(g) - n * _row_mean(g * n)) / r),
                _layer_norm_backward,
            ),
            # likely: the divisor is taken for a constant
            "x acts through the root mean square, too: the part of the gradient along the normalized x must go.": (
                _wrong_norm(lambda n, r, g, x: g / r)
            ),
            # likely: gamma begins as ones, so nothing shows until it has been trained
            "gamma is not used: the upstream gradient times gamma is what reaches the normalized features.": (
                lambda x, gamma, grad_output: _norm_backward(x, 1.0, grad_output)
            ),
            # likely: gamma comes last in the forward pass, and is put last here
            "gamma comes too late: multiply the upstream gradient by it first, before you take the part along x.": (
                lambda x, gamma, grad_output: gamma * _norm_backward(x, 1.0, grad_output)
            ),
            # likely: the 1/d of the mean square is lost on the way back
            "You sum over the features; the part along the normalized x is a mean, 1/d times the sum.": (
                _wrong_norm(lambda n, r, g, x: (g - n * (g * n).sum(axis=1, keepdims=True)) / r)
            ),
            # likely: the two terms are remembered, and what both are divided by is not
            "The last step is missing, or upside down: divide by the root mean square, as the forward pass did.": (
                _wrong_norm(lambda n, r, g, x: (g - n * _row_mean(g * n)) * r),
                _wrong_norm(lambda n, r, g, x: g - n * _row_mean(g * n)),
            ),
            # likely: both have one shape, and the code has x at hand
            "You use x where the normalized x belongs, in one place or in both.": (
                _wrong_norm(lambda n, r, g, x: (g - x * _row_mean(g * x)) / r),
                _wrong_norm(lambda n, r, g, x: (g - x * _row_mean(g * n)) / r),
            ),
        },
        hints=[
            "Go through the forward pass again: the root mean square, the normalized x. Which gradient does the latter get?",
            "That is the upstream gradient times gamma. A feature acts directly, and through the root mean square.",
            "The second way takes off the normalized x, times a mean over the features. Of which product?",
        ],
    ),
    "18.3": Exercise(
        right=_rope,
        inputs=_random_rotary,
        shape="(batch, heads, length, head_dim)",
        praise="Call it with -positions, and you have its backward pass.",
        trials=8,
        errors={
            "could not be broadcast": "The angles have a row for each position and a column for each pair, (length, head_dim / 2)."
        },
        mistakes={
            # seen: pitfall 1 of the notebook, and Meta's own Llama
            "You pair neighbors, features 2i and 2i + 1; here i and i + d/2 are a pair.": (
                _wrong_rope(turn=_neighbors),
                _wrong_rope(turn=_neighbors_as_halves),
            ),
            # likely: the two signs of the sine are exchanged, as in the backward pass
            "You turn the other way: the first of a pair gets the minus.": _wrong_rope(unit=-1.0),
            # likely: By hand there is one pair, and one angle for each position
            "All pairs turn at one speed in yours; pair i turns by theta ** (-2i/d) a position.": (
                _wrong_rope(speeds=lambda d, theta: np.ones(d // 2))
            ),
            # likely: i and 2i are confused, as np.arange(0, d, 2) is i in some code and 2i in other
            "Your exponent is half of what it must be, or twice: it is -2i/d, and i counts the pairs, from 0 to d/2 - 1.": (
                _wrong_rope(speeds=lambda d, theta: _speeds(d, theta, exponent=1)),
                _wrong_rope(speeds=lambda d, theta: _speeds(d, theta, exponent=4)),
            ),
            # seen: pitfall 4 of the notebook
            "You count the positions yourself; take those that are given, which may begin anywhere and have gaps.": (
                lambda x, positions, theta: _rope(x, np.arange(len(positions)), theta),
                lambda x, positions, theta: _rope(x, positions[0] + np.arange(len(positions)), theta),
            ),
            # likely: By hand has degrees
            "The angles are in radians already: they need no np.radians and no np.degrees.": (
                _wrong_rope(unit=math.pi / 180),
                _wrong_rope(unit=180 / math.pi),
            ),
            # seen: layouts in which the heads come after the length
            "Each head has an angle of its own in yours; positions go along the length, the last axis but one.": _heads_last,
            # likely: which of the two belongs where is remembered wrongly
            "Cosine and sine are exchanged: at position 0 nothing may turn, and the cosine of 0 is 1.": (
                _wrong_rope(turn=lambda x, cos, sin: _halves(x, sin, cos))
            ),
        },
        hints=[
            "First the speeds, one for each pair; then the angles, (length, d/2); then cosine and sine of them.",
            "np.split(x, 2, axis=-1) gives the first and the second of each pair.",
            "Turn an arrow as By hand does, with arrays in place of x and y, and join the two halves again.",
        ],
    ),
    "18.4": Exercise(
        right=_grouped,
        inputs=_random_grouped,
        shape="(batch, heads, length, d)",
        praise="A cache keeps keys and values as you got them, before they are repeated.",
        trials=8,
        errors={
            "could not be broadcast": "There are more heads of queries than of keys: repeat those of the keys first."
        },
        mistakes={
            # seen: pitfall 2 of the notebook
            "Your copies come in turn, 0, 1, 0, 1, as np.tile makes them; neighbors share a key head: 0, 0, 1, 1.": (
                _wrong_grouped(keys=_tiled, values=_tiled)
            ),
            # likely: the groups take all attention
            "There is no causal mask: a query sees the keys after it.": (
                _wrong_grouped(mask=lambda length: np.ones((length, length), bool))
            ),
            # likely: "before" is read as "before itself"; what the first row becomes depends on the softmax
            "Your mask hides a query's own key, too, so that the first query sees nothing; the diagonal is visible.": (
                _wrong_grouped(mask=_only_before),
                _wrong_grouped(mask=_only_before, weigh=_soft),
                _wrong_grouped(mask=_only_before, hidden=-1e9),
            ),
            # likely: the part of the formula that is easiest to forget
            "The scale is missing: divide the scores by the square root of d.": _wrong_grouped(divisor=1.0),
            # likely: the keys are corrected, and the values forgotten
            "Keys and values are not grouped alike: each must be repeated, none tiled.": (
                _wrong_grouped(values=_tiled),
                _wrong_grouped(keys=_tiled),
            ),
            # seen: pitfall 1 of chapter 06's notebook
            "You divide by the root of all features together, d times heads; the scale is that of one head.": (
                lambda query, key, value: _grouped(query, key, value, divisor=query.shape[1] * query.shape[3])
            ),
        },
        hints=[
            "How many query heads share one key head? Two of the shapes say it.",
            "np.repeat has an axis, and puts the copies of a head side by side. Do it with keys and values.",
            "The rest is chapter 06: scores, scale, mask (np.tri), softmax over the keys, weighted sum.",
        ],
    ),
    "18.6": Exercise(
        track="pytorch",
        right=_windowed(_band),
        inputs=_random_windowed,
        shape="(batch, heads, length, d)",
        praise="Two such blocks, one above the other, see 2 * (window - 1) positions back.",
        trials=8,
        errors={"attn_mask dtype": "Make the mask boolean: True where a query sees a key."},
        mistakes={
            # seen: pitfall 3 of the NumPy notebook
            "Your window is one key too wide: it counts the query's own.": _windowed(
                lambda length, window: _band(length, window + 1)
            ),
            # likely: window - 1 in the exercise, and < in the code
            "Your window is one key too narrow: the query's own, and window - 1 before it.": _windowed(
                lambda length, window: _band(length, window - 1)
            ),
            # seen: Longformer's window, which opens to both sides
            "Your window opens to both sides; a query sees no key after its own.": _windowed(
                lambda length, window: np.abs(_distance(length)) < window
            ),
            # likely: the new condition is written, and the old one forgotten
            "The past is cut off, but every key after the query is visible: join the causal mask to it, with &.": _windowed(
                lambda length, window: _distance(length) < window
            ),
            # likely: is_causal=True was enough in all chapters before
            "There is no window: each query sees everything before it.": _windowed(
                lambda length, window: _causal(length)
            ),
            # seen: nn.MultiheadAttention reads a mask this way
            "Your mask is inverted: for F.scaled_dot_product_attention True means visible.": _windowed(
                lambda length, window: ~_band(length, window)
            ),
            # likely: tril and triu of torch.ones give floats
            "A mask of ones and zeros is added to the scores, and hides nothing: make it boolean.": _numbers_added,
        },
        hints=[
            "Write down i - j for query i and key j. Which of these distances are allowed?",
            "torch.arange(length)[:, None] - torch.arange(length) holds all of them.",
            "Two conditions, joined by &: one for what comes after the query, one for what is too far back.",
        ],
    ),
    "18.7": Exercise(
        track="keras",
        right=_heads_last,
        inputs=_random_rotary_keras,
        shape="(batch, length, heads, head_dim)",
        praise="It turns queries and keys alike, however many heads each of them has.",
        trials=8,
        errors={
            "was expected to be a": "Numbers of two kinds meet: positions are whole, and what comes of dividing whole numbers may be "
            "float64. ops.cast brings them to x.dtype."
        },
        mistakes={
            # likely: angles of shape (length, d/2) fit the last two axes, which are heads and features here
            "Your angles go along the heads, the last axis but one; in Keras' layout the length comes before it.": _rope,
            # seen: TensorFlow cuts NumPy's floats to whole numbers in a product with a tensor of whole numbers
            "Only the first pair turns: the positions are whole numbers, and your speeds became whole, too. Use ops.cast first.": (
                _wrong_heads_last(speeds=lambda d, theta: np.trunc(_speeds(d, theta)))
            ),
            # seen: pitfall 1 of the NumPy notebook
            "You pair neighbors, features 2i and 2i + 1; here i and i + d/2 are a pair.": (
                _wrong_heads_last(turn=_neighbors),
                _wrong_heads_last(turn=_neighbors_as_halves),
            ),
            # likely: the two signs of the sine are exchanged
            "You turn the other way: the first of a pair gets the minus.": _wrong_heads_last(unit=-1.0),
            # likely: By hand of the NumPy notebook has one pair
            "All pairs turn at one speed in yours; pair i turns by theta ** (-2i/d) a position.": (
                _wrong_heads_last(speeds=lambda d, theta: np.ones(d // 2))
            ),
        },
        hints=[
            "As in NumPy: speeds, angles, cosine and sine. Which axis of x do the positions belong to?",
            "An angle is the same for all heads: its array has an axis of size 1 where x has the heads.",
            "ops.split(x, 2, axis=-1) and ops.concatenate do what NumPy's do; ops.cast makes numbers of another kind.",
        ],
    ),
    "18.8": Exercise(
        track="compare",
        right=114688,
        praise="These are the sizes of Qwen3 with 0.6 billion parameters: a text of 8192 tokens takes 0.94 GB, its weights 1.2 GB.",
        mistakes={
            # likely: the cache of chapter 14 has keys for each head; or float32, the course's default
            "Twice as much as it is: only the 8 key heads are kept, not 16, and a bfloat16 number has 2 bytes, not 4.": 229376,
            # likely: keys are counted, and values forgotten
            "Half of it: a cache keeps keys and values, and each number has 2 bytes.": 57344,
            # likely: attention is taught block by block
            "That is one block; each of the 28 has keys and values of its own.": 4096,
        },
        hints=[
            "How many numbers does one block keep for one token?",
            "A key and a value for each of the heads that have their own. Those of the queries aren't kept.",
            "Times the blocks, times the bytes of a number: bfloat16 has 16 bits.",
        ],
    ),
}
