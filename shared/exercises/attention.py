"""Chapter 06: attention."""

import math

import numpy as np

from shared.exercises import Exercise
from shared.numpy.attention import scaled_dot_product_attention, scaled_dot_product_attention_backward, softmax


def _attention(query, key, value):
    return scaled_dot_product_attention(query, key, value)[0]


def _random_attention(rng):
    """Sizes that are all different, and in every second draw scores whose exponentials overflow in a row and vanish in others."""
    length_q, length_k, width, value_dim = rng.permutation([3, 4, 6, 7])
    query, key = rng.normal(size=(length_q, width)), rng.normal(size=(length_k, width))
    if rng.random() < 0.5:
        query[:, 0], key[:, 0] = -50, 50  # adds 1000 or more to the scores of one query, and takes it from the others
        query[0, 0] = 50
    return query, key, rng.normal(size=(length_k, value_dim))


def _scores(query, key):
    return query @ key.T / math.sqrt(query.shape[1])


def _overflowing(query, key, value):
    weights = np.exp(_scores(query, key))
    return weights / weights.sum(axis=1, keepdims=True) @ value


def _overflowing_columns(query, key, value):
    weights = np.exp(_scores(query, key))
    return weights / weights.sum(axis=0) @ value


def _one_highest(query, key, value):
    weights = np.exp(_scores(query, key) - _scores(query, key).max())
    return weights / weights.sum(axis=1, keepdims=True) @ value


def _over_everything(query, key, value):
    weights = np.exp(_scores(query, key) - _scores(query, key).max())
    return weights / weights.sum() @ value


def _run_attention(make, query, key, value, grad_output):
    attention = make()
    output = attention.forward(query, key, value)
    grads = None if output is None else attention.backward(grad_output)
    if grads is None:
        return {} if output is None else {"forward": output}
    return {"forward": output} | dict(zip(_GRADIENTS, grads, strict=True))


_GRADIENTS = ("gradient of query", "gradient of key", "gradient of value")


def _both_ways(query, key, value, grad_output):
    output, weights = scaled_dot_product_attention(query, key, value)
    grads = scaled_dot_product_attention_backward(grad_output, query, key, value, weights)
    return {"forward": output} | dict(zip(_GRADIENTS, grads, strict=True))


def _random_both_ways(rng):
    """As many queries as keys and features in every second trial, so that what is transposed wrongly still fits."""
    length_q, length_k, width, value_dim = rng.permutation([3, 4, 6, 7])
    if rng.random() < 0.5:
        length_q = length_k = width = value_dim
    query, key = rng.normal(size=(length_q, width)), rng.normal(size=(length_k, width))
    return query, key, rng.normal(size=(length_k, value_dim)), rng.normal(size=(length_q, value_dim))


def _wrong_forward(attend):
    return lambda query, key, value, grad_output: {"forward": attend(query, key, value)}


def _wrong_backward(**wrong):
    """The backward pass with one piece replaced."""

    def run(query, key, value, grad_output):
        output, weights = scaled_dot_product_attention(query, key, value)
        grad_weights = grad_output @ value.T
        grad_scores = weights * (grad_weights - (weights * grad_weights).sum(axis=1, keepdims=True))
        if "grad_scores" in wrong:
            grad_scores = wrong["grad_scores"](weights, grad_weights)
        grad_scores = grad_scores / wrong.get("scale", math.sqrt(query.shape[1]))
        grads = [grad_scores @ key, grad_scores.T @ query, weights.T @ grad_output]
        if "grads" in wrong:
            grads = wrong["grads"](*grads)
        return {"forward": output} | dict(zip(_GRADIENTS, grads, strict=True))

    return run


def _window(length, width):
    return np.tri(length, dtype=bool) & ~np.tri(length, k=-width, dtype=bool)


def _distance(length):
    return np.arange(length)[:, None] - np.arange(length)


def _summary(scores, values):
    """What a fused function keeps of a block of keys: the highest score, the sum of the exponentials, the weighted values."""
    exponentials = np.exp(scores - scores.max())
    return scores.max(), exponentials.sum(), exponentials @ values


def _random_halves(rng):
    length_a, length_b, value_dim = rng.permutation([3, 5, 2])
    raised_a, raised_b = [(0.0, 1.0), (800.0, 1.0), (0.0, 801.0)][rng.integers(3)]  # close, or either one far higher
    scores_a, values_a = rng.normal(size=length_a) + raised_a, rng.normal(size=(length_a, value_dim))
    scores_b, values_b = rng.normal(size=length_b) + raised_b, rng.normal(size=(length_b, value_dim))
    return *_summary(scores_a, values_a), *_summary(scores_b, values_b)


def _factors(highest_a, highest_b):
    """What brings the sums of each half from its own highest score to the common one."""
    highest = max(highest_a, highest_b)
    return np.exp(highest_a - highest), np.exp(highest_b - highest)


def _join(highest_a, total_a, weighted_a, highest_b, total_b, weighted_b):
    a, b = np.array(_factors(highest_a, highest_b)) * (total_a, total_b)
    share = a / (a + b)
    return share * weighted_a / total_a + (1 - share) * weighted_b / total_b


def _not_rescaled(highest_a, total_a, weighted_a, highest_b, total_b, weighted_b):
    return (weighted_a + weighted_b) / (total_a + total_b)


def _totals_not_rescaled(highest_a, total_a, weighted_a, highest_b, total_b, weighted_b):
    a, b = _factors(highest_a, highest_b)
    return (a * weighted_a + b * weighted_b) / (total_a + total_b)


def _rescaled_the_wrong_way(highest_a, total_a, weighted_a, highest_b, total_b, weighted_b):
    highest = max(highest_a, highest_b)
    a, b = np.exp(highest - highest_a), np.exp(highest - highest_b)
    return (a * weighted_a + b * weighted_b) / (a * total_a + b * total_b)


def _mean_of_halves(highest_a, total_a, weighted_a, highest_b, total_b, weighted_b):
    return (weighted_a / total_a + weighted_b / total_b) / 2


def _not_divided(highest_a, total_a, weighted_a, highest_b, total_b, weighted_b):
    a, b = _factors(highest_a, highest_b)
    return a * weighted_a + b * weighted_b


def _brought_to_b(highest_a, total_a, weighted_a, highest_b, total_b, weighted_b):
    a = np.exp(highest_a - highest_b)
    return (a * weighted_a + weighted_b) / (a * total_a + total_b)


def _brought_to_a(highest_a, total_a, weighted_a, highest_b, total_b, weighted_b):
    b = np.exp(highest_b - highest_a)
    return (weighted_a + b * weighted_b) / (total_a + b * total_b)


def _overflowing_halves(highest_a, total_a, weighted_a, highest_b, total_b, weighted_b):
    a, b = np.exp(highest_a), np.exp(highest_b)
    return (a * weighted_a + b * weighted_b) / (a * total_a + b * total_b)


def _unpack(packed, num_heads):
    batch, length, _ = packed.shape
    return packed.reshape(batch, length, 3, num_heads, -1).transpose(2, 0, 3, 1, 4)


def _per_head(packed, num_heads):
    batch, length, _ = packed.shape
    return packed.reshape(batch, length, num_heads, 3, -1).transpose(3, 0, 2, 1, 4)


def _dealt_heads(packed, num_heads):
    batch, length, _ = packed.shape
    return packed.reshape(batch, length, 3, -1, num_heads).transpose(2, 0, 4, 1, 3)


def _dealt_parts(packed, num_heads):
    batch, length, _ = packed.shape
    return packed.reshape(batch, length, -1, 3, num_heads).transpose(3, 0, 4, 1, 2)


def _random_packed(rng):
    batch, length, num_heads, head_dim = (int(size) for size in rng.permutation([2, 3, 4, 5]))
    return rng.normal(size=(batch, length, 3 * num_heads * head_dim)), num_heads


def _with_temperature(query, key, value, temperature, divide_too=1.0):
    scores = query @ key.swapaxes(-1, -2) / temperature[:, None, None]
    return softmax(scores / divide_too) @ value


def _random_temperature(rng):
    """As many sequences, queries and keys as heads in one draw of three, so that a wrong axis does not always fail."""
    batch, heads, length, width = (int(size) for size in rng.permutation([2, 3, 5, 4]))
    if rng.random() < 1 / 3:
        batch = length = heads
    query, key, value = rng.normal(size=(3, batch, heads, length, width))
    return query, key, value, rng.uniform(0.3, 3.0, size=heads)


def _split(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model // num_heads).swapaxes(1, 2)


def _merge(x):
    batch, num_heads, length, head_dim = x.shape
    return x.swapaxes(1, 2).reshape(batch, length, num_heads * head_dim)


def _only_reshaped(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, num_heads, length, d_model // num_heads)


def _only_reshaped_back(x):
    batch, num_heads, length, head_dim = x.shape
    return x.reshape(batch, length, num_heads * head_dim)


def _in_heads(query, key, value, mask, num_heads, split=_split, divisor=None, weigh=None, merge=_merge, swapped=False):
    """The right answer to 06.8, and its mistakes: each replaces one piece."""
    q, k, v = (split(x, num_heads) for x in ((query, value, key) if swapped else (query, key, value)))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1] if divisor is None else divisor)
    weights = softmax(np.where(mask, scores, -np.inf)) if weigh is None else weigh(scores, mask)
    return merge(weights @ v)


def _softmax_as_it_is(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _wrong_in_heads(**wrong):
    return lambda query, key, value, mask, num_heads: _in_heads(query, key, value, mask, num_heads, **wrong)


def _random_in_heads(rng):
    """One query may see nothing in every draw; as many keys as queries, so that what is exchanged still fits."""
    batch, num_heads, head_dim, length = (int(size) for size in rng.permutation([2, 3, 4, 5]))
    query, key, value = rng.normal(size=(3, batch, length, num_heads * head_dim))
    mask = rng.random((batch, 1, length, length)) < 0.6
    mask[:, :, 0] = False
    return query, key, value, mask, num_heads


EXERCISES = {
    "06.1": Exercise(
        right=0.25,
        praise="Four equal scores make four equal weights, so each word takes the plain average.",
        mistakes={
            # likely: in By hand a word does give itself most weight.
            "A word is its own best match, but the three copies match exactly as well: four equal scores.": 1.0,
            # likely: attention is often told as looking at the other words.
            "A word may attend to itself too: four keys, not three.": 1 / 3,
            # likely: By hand reads its weights as 11 %, 45 %, 45 %.
            "Give a part of 1, not percent.": 25,
            # named by an outside reading; likely: 1 / sqrt(4) remembers the scale and stops there.
            "The root belongs to the scale of the scores, which are equal with any scale: four equal weights.": 0.5,
        },
        hints=["What are the sixteen scores?", "All are equal. What is the softmax of four equal numbers?"],
    ),
    "06.2": Exercise(
        right=_attention,
        inputs=_random_attention,
        shape="(length_q, value_dim)",
        praise="That is equation 1 of the paper.",
        mistakes={
            # likely: axis=0 for axis=1; with square scores nothing complains.
            "Your weights sum to 1 over the queries (columns); each query's own weights (its row) must sum to 1.": (
                lambda q, k, v: softmax(_scores(q, k).T).T @ v,
                _overflowing_columns,
            ),
            # likely: weights.sum() without an axis adds all in NumPy.
            "You divide by the sum of the whole matrix; each row must sum to 1 by itself.": _over_everything,
            # likely: dot-product attention before the Transformer (Luong et al. 2015) has none.
            "The scale is missing: divide the scores by the square root of the number of features.": (
                lambda q, k, v: softmax(q @ k.T) @ v
            ),
            # likely: a mean over features would divide by d.
            "You divide by the number of features; it should be its square root.": (
                lambda q, k, v: softmax(q @ k.T / q.shape[1]) @ v
            ),
            # likely: len() of a 2-D array counts its rows.
            "You divide by the root of the number of queries or keys; it should be the root of the number of features.": (
                lambda q, k, v: softmax(q @ k.T / math.sqrt(len(q))) @ v,
                lambda q, k, v: softmax(q @ k.T / math.sqrt(len(k))) @ v,
            ),
            # likely: scores.max() without an axis, which is enough while scores are small.
            "You subtract the highest score of the whole matrix; a row far below it becomes 0/0. Subtract each row's own.": (
                _one_highest
            ),
            # likely: the formula of a softmax, typed as it is printed.
            "Right for small scores, but large ones overflow to NaN: subtract the highest score of each row before "
            "the exponential.": _overflowing,
            # likely: in By hand one array was both.
            "You average the keys; the keys are for comparing, the values for averaging.": (
                lambda q, k, v: softmax(_scores(q, k)) @ k
            ),
        },
        hints=[
            "Three lines: scores, weights, average.",
            "scores = query @ key.T / np.sqrt(...): what goes under the root? And which axis must sum to one?",
            "weights = np.exp(scores - scores.max(axis=1, keepdims=True)), then divide by their sum along axis 1.",
        ],
    ),
    "06.3": Exercise(
        right=_both_ways,
        inputs=_random_both_ways,
        run=_run_attention,
        praise="That is the core of every Transformer, in both directions, from memory.",
        errors={"zip() argument": "backward must return three arrays: the gradients of query, key and value."},
        mistakes={
            # likely: axis=0 for axis=1; with square scores nothing complains.
            "forward: your weights sum to 1 over the queries (columns); each query's own weights (its row) must sum to 1.": (
                _wrong_forward(lambda q, k, v: softmax(_scores(q, k).T).T @ v)
            ),
            # likely: the part of the formula that is easiest to forget.
            "forward: the scale is missing: divide the scores by the square root of the number of features.": (
                _wrong_forward(lambda q, k, v: softmax(q @ k.T) @ v)
            ),
            # likely: a constant doesn't look like a step that has a backward pass.
            "backward: the scores were divided by the root of the number of features; divide their gradient by it, too.": (
                _wrong_backward(scale=1.0)
            ),
            # likely: the softmax is taken for an activation that works on each number by itself.
            "backward, softmax: the row's weighted mean is missing: a score also lowers the other weights of its row.": (
                _wrong_backward(grad_scores=lambda weights, grad: weights * grad)
            ),
            # likely: hint 3 speaks of a mean, and np.mean is at hand.
            "backward, softmax: you subtract the plain mean of the row's gradients; it must be weighted with the weights.": (
                _wrong_backward(grad_scores=lambda weights, grad: weights * (grad - grad.mean(axis=1, keepdims=True)))
            ),
            # likely: the diagonal alone, which is also the slope of a sigmoid.
            "backward, softmax: you use p(1 - p), the slope of a weight by its own score, and leave out the other scores of the row.": (
                _wrong_backward(grad_scores=lambda weights, grad: weights * (1 - weights) * grad)
            ),
            # likely: the query's gradient is made from the key, and the key's from the query.
            "backward: the gradients of query and key are exchanged.": (
                _wrong_backward(grads=lambda query, key, value: (key, query, value))
            ),
            # likely: going backward, the value's gradient is ready first.
            "backward: return the gradients in the order query, key, value.": (
                _wrong_backward(grads=lambda query, key, value: (value, key, query))
            ),
        },
        hints=[
            "Forward is three lines. Keep query, key, value and the weights for the way back.",
            "The last step was a matrix product of weights and value: each one's gradient is the output's gradient times the other.",
            "A row of scores gets weights * (grad_weights - mean), in which mean is the row's mean of grad_weights, weighted with the weights.",
        ],
    ),
    "06.4": Exercise(
        right=_join,
        inputs=_random_halves,
        shape="(value_dim,)",
        praise="Keep the joined three, join them with those of the next block, and so on: that is how FlashAttention joins its blocks.",
        trials=16,
        mistakes={
            # likely: halves suggest it, and it is right for equal scores.
            "You take the mean of the two halves' outputs; a half with larger exponentials must count for more.": _mean_of_halves,
            # likely: sums over keys can be split, if only their exponentials were the same ones.
            "Each half subtracted its own highest score; bring both to the same one before you add.": _not_rescaled,
            # likely: weighted comes last in the list, and looks like the whole answer.
            "You rescale the weighted sums alone; the totals were taken from each half's own highest score, too.": (
                _totals_not_rescaled
            ),
            # likely: FlashAttention divides once, after the last block.
            "The totals are missing: divide by their sum at the end, rescaled like the weighted sums.": _not_divided,
            # likely: a sign slips when exp(s - own) becomes exp(s - common).
            "You rescale the wrong way: multiply each half by exp(own highest - common highest), which is at most 1.": (
                _rescaled_the_wrong_way
            ),
            # likely: with one of the two as the common score, only one half needs a factor.
            "You bring one half to the other's highest score; where its own is far higher, the exponential overflows. "
            "Bring both to the larger of the two.": (_brought_to_a, _brought_to_b),
            # likely: undoing the subtraction is the first idea.
            "Right for small scores, but exp(highest) overflows for large ones: subtract the larger of the two first.": (
                _overflowing_halves
            ),
        },
        hints=[
            "The exact output is a quotient: a sum over all keys above, a sum over all keys below. Sums can be split.",
            "Both halves must use the same highest score. Multiplying by exp(own - common) changes from one to the other.",
            "above = exp(highest_a - m) * weighted_a + exp(highest_b - m) * weighted_b, below with the totals; m is the larger.",
        ],
    ),
    "06.6": Exercise(
        track="pytorch",
        right=_unpack,
        inputs=_random_packed,
        shape="(3, batch, heads, length, head_dim)",
        praise="GPT-2's weights are packed this way.",
        mistakes={
            # seen: GPT-NeoX packs query, key and value inside each head.
            "You read the features head by head, with query, key and value inside each; here the three come first: "
            '"(three h d)".': _per_head,
            # seen: pitfall 5 of the notebook.
            "You deal the features out to the heads in turn; in (h d) the head is the slow axis.": _dealt_heads,
            # seen: AI Summer's self_attention_cv splits "(d k h)", with k=3.
            "You deal the features out to query, key and value in turn; the three are one after the other.": _dealt_parts,
            # seen: pitfall 6 of the NumPy notebook.
            "The heads have the wrong rows: a reshape alone keeps the order in memory. The axes must move, too.": (
                lambda packed, h: packed.reshape(3, packed.shape[0], h, packed.shape[1], -1)
            ),
            # seen: pitfall 4 of the notebook.
            "Key comes first in your answer; the order is query, key, value.": (lambda p, h: _unpack(p, h)[[1, 0, 2]]),
        },
        hints=[
            "The last axis is three axes in one. Name them in the order from slow to fast.",
            'On the left: "b n (three h d)". You must say how large two of the three are.',
            "On the right each of the three axes stands by itself: the one that tells query, key and value apart comes first.",
        ],
    ),
    "06.7": Exercise(
        track="pytorch",
        right=_with_temperature,
        inputs=_random_temperature,
        shape="(batch, heads, length, head_dim)",
        praise="Scaling the query scales its scores, so the fused function needs to know nothing of it.",
        trials=9,
        mistakes={
            # likely: the default of `scale`, which stays unless it is replaced.
            "The fused function still divides by the root of head_dim: tell it scale=1, or undo it in the query.": (
                lambda q, k, v, t: _with_temperature(q, k, v, t, math.sqrt(q.shape[-1]))
            ),
            # likely: `scale` itself multiplies.
            "You multiply by the temperature; scores are divided by it.": (
                lambda q, k, v, t: _with_temperature(q, k, v, 1 / t),
                lambda q, k, v, t: _with_temperature(q, k, v, 1 / t, math.sqrt(q.shape[-1])),
            ),
            # seen: Whisper scales both, each by the fourth root.
            "You divide both query and key, so the scores are divided by the temperature twice.": (
                lambda q, k, v, t: _with_temperature(q, k, v, t * t)
            ),
            # likely: the scores are out of reach inside the fused function.
            "You divide the output; the temperature belongs to the scores, before the softmax.": (
                lambda q, k, v, t: _with_temperature(q, k, v, np.ones_like(t)) / t[:, None, None],
                lambda q, k, v, t: (
                    _with_temperature(q, k, v, np.ones_like(t), math.sqrt(q.shape[-1])) / t[:, None, None]
                ),
            ),
        },
        hints=[
            "A score is linear in its query: what happens to all scores of a head when you divide its queries?",
            "temperature[:, None, None] has a row for each head. And the function has an argument `scale`.",
            "Divide the queries before the call, and tell the function not to divide by the root of the head's size as well.",
        ],
    ),
    "06.8": Exercise(
        track="keras",
        right=_in_heads,
        inputs=_random_in_heads,
        shape="(batch, length, d_model)",
        praise="That is steps 2 to 7 of the layer, without its projections.",
        trials=8,
        mistakes={
            # seen: nn.MultiheadAttention and masked_fill read a mask this way.
            "The mask is upside down: True means that a query may attend.": _wrong_in_heads(
                weigh=lambda s, m: softmax(np.where(m, -np.inf, s))
            ),
            # likely: multiplying by a mask is shorter than a where, and hides the same keys.
            "You mask the weights after the softmax, so a row no longer sums to one: mask the scores before it.": (
                _wrong_in_heads(weigh=lambda s, m: softmax(s) * m)
            ),
            # seen: Annotated Transformer, function attention; pitfall 2 of the NumPy notebook.
            "A query that may see nothing gets the mean of all values, as with a score of -1e9 or ops.dot_product_attention. "
            "Use -infinity, and set the row to zero.": _wrong_in_heads(
                weigh=lambda s, m: _softmax_as_it_is(np.where(m, s, -1e9))
            ),
            # likely: ops.softmax has no guard; the NumPy track's has one.
            "A query that may see nothing gets NaN: set its weights to zero after the softmax.": _wrong_in_heads(
                weigh=lambda s, m: _softmax_as_it_is(np.where(m, s, -np.inf))
            ),
            # likely: the part of the formula that is easiest to forget.
            "The scale is missing: divide the scores by the square root of head_dim.": _wrong_in_heads(divisor=1.0),
            # seen: pitfall 1 of the NumPy notebook.
            "You divide by the square root of d_model; the scale is that of one head.": (
                lambda q, k, v, m, h: _in_heads(q, k, v, m, h, divisor=q.shape[-1])
            ),
            # likely: Keras' own layer takes value before key.
            "Key and value are exchanged.": _wrong_in_heads(swapped=True),
            # seen: pitfall 6 of the NumPy notebook.
            "A reshape alone mixes positions. To split, reshape the last axis, then move the heads in front of the length; "
            "to merge, undo both in the opposite order.": (
                _wrong_in_heads(split=_only_reshaped),
                _wrong_in_heads(merge=_only_reshaped_back),
                _wrong_in_heads(split=_only_reshaped, merge=_only_reshaped_back),
            ),
        },
        hints=[
            "To split: ops.reshape to (batch, length, heads, head_dim), then ops.transpose with (0, 2, 1, 3).",
            "ops.where(mask, scores, -math.inf), ops.softmax, and ops.where(mask, weights, 0.0) once more.",
            "To merge: ops.transpose with (0, 2, 1, 3) again, then ops.reshape to (batch, length, d_model).",
        ],
    ),
    "06.9": Exercise(
        right=_window,
        inputs=lambda rng: (int(rng.integers(5, 9)), int(rng.integers(2, 4))),
        shape="(length, length)",
        track="keras",
        praise="Long-context models use such windows in some of their layers.",
        mistakes={
            # seen: nn.MultiheadAttention reads a mask this way.
            "True and False are swapped: here True means that a query may attend.": lambda n, w: ~_window(n, w),
            # likely: j - i for i - j.
            "Your window looks at the future; a query sees positions at or before its own.": lambda n, w: (
                _window(n, w).T
            ),
            # likely: distance <= width.
            "Your window is one position too wide: width counts the query's own position.": lambda n, w: _window(
                n, w + 1
            ),
            # likely: width - 1 in the exercise, and < in the code.
            "Your window is one position too narrow: own position plus width - 1 before it.": lambda n, w: _window(
                n, w - 1
            ),
            # likely: "before" is read as distance > 0.
            "A query must see its own position too.": lambda n, w: _window(n, w) & ~np.eye(n, dtype=bool),
            # seen: sliding_window of keras.layers.MultiHeadAttention is symmetric.
            "Your window opens to both sides; only the past belongs in it.": lambda n, w: np.abs(_distance(n)) < w,
            # likely: ops.tri and ops.ones give floats.
            "The pattern is right, but a mask must be boolean; yours holds numbers.": lambda n, w: _window(n, w).astype(
                int
            ),
        },
        hints=[
            "Write down i - j for query i and key j. Which of these distances are allowed?",
            "np.arange(length)[:, None] - np.arange(length) is the matrix of distances.",
            "Two conditions, joined by &: one forbids the future, the other what is too far back. Is width itself still allowed?",
        ],
    ),
    "06.10": Exercise(
        track="compare",
        right=3,
        praise="It sees keys 2, 3 and 4: exactly the ones that the mask was meant to hide.",
        mistakes={
            # likely: the meaning of True in Keras, in F.scaled_dot_product_attention and in this course.
            "Two would be right for Keras and for this course. What does True mean to nn.MultiheadAttention?": 2,
            # likely: counted from 1, row 1 of the mask is the first.
            "That is the first query. The second has one key fewer.": 4,
            # seen: the page says that a mask of 1 and 0 hides nothing.
            "A mask of booleans does hide something; only numbers are added.": 5,
        },
        hints=[
            "Row 1 of causal_mask(5) is True, True, False, False, False.",
            "nn.MultiheadAttention hides the keys where the mask is True.",
        ],
    ),
}
