"""Chapter 05: embeddings."""

import numpy as np

from shared.exercises import Exercise


def _gradient(ids, grad, vocab_size):
    return np.einsum("blv,bld->vd", np.eye(vocab_size)[ids], grad)


def _lookup(table, ids, grad, /, **wrong):
    """Both ways through a lookup; what is given replaces the right one."""
    return {"forward": table[ids], "gradient": _gradient(ids, grad, len(table))} | wrong


def _run_lookup(make, table, ids, grad):
    layer = make(table)
    output = layer.forward(ids)
    gradient = None if output is None else layer.backward(grad)
    found = {"forward": output, "gradient": gradient}
    return {name: each for name, each in found.items() if each is not None}


def _random_lookup(rng):
    """Ids repeat within a sequence and across the batch, and some never occur; as many words as features."""
    batch, length, d_model = (int(size) for size in rng.permutation([3, 4, 6]))
    ids = rng.integers(0, d_model - 1, size=(batch, length))
    ids[:, 0] = ids[0, -1]
    return rng.normal(size=(d_model, d_model)), ids, rng.normal(size=(batch, length, d_model))


def _last_write(table, ids, grad):
    gradient = np.zeros_like(table)
    gradient[ids] += grad
    return gradient


def _mean_of_places(table, ids, grad):
    counts = np.bincount(ids.ravel(), minlength=len(table))
    return _gradient(ids, grad, len(table)) / np.maximum(counts, 1)[:, None]


def _steps(d_model):
    return 10000.0 ** (-np.arange(0, d_model, 2) / d_model)


def _interleaved(angle):
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(*angle.shape[:-1], -1)


def _position(p, d_model):
    return _interleaved(p * _steps(d_model))


def _two_halves(p, d_model):
    angle = p * _steps(d_model)
    return np.concatenate([np.sin(angle), np.cos(angle)])


def _alternating(angle):
    """An angle for each feature: the sine of the even ones, the cosine of the odd ones."""
    return np.where(np.arange(len(angle)) % 2 == 0, np.sin(angle), np.cos(angle))


def _walk(vector, k, sign=1):
    steps = _steps(len(vector))
    sine, cosine = vector[0::2], vector[1::2]
    c, s = np.cos(k * steps), sign * np.sin(k * steps)
    return np.stack([sine * c + cosine * s, cosine * c - sine * s], axis=-1).ravel()


def _walk_by(steps):
    def walk(vector, k):
        hands = (vector[1::2] + 1j * vector[0::2]) * np.exp(1j * k * steps(len(vector)))
        return np.stack([hands.imag, hands.real], axis=-1).ravel()

    return walk


def _walk_exchanged(vector, k):
    hands = (vector[0::2] + 1j * vector[1::2]) * np.exp(1j * k * _steps(len(vector)))
    return np.stack([hands.imag, hands.real], axis=-1).ravel()


def _walk_in_place(vector, k):
    vector, turn = vector.copy(), k * _steps(len(vector))
    vector[0::2] = vector[0::2] * np.cos(turn) + vector[1::2] * np.sin(turn)
    vector[1::2] = vector[1::2] * np.cos(turn) - vector[0::2] * np.sin(turn)
    return vector


def _random_walk(rng):
    d_model = int(rng.choice([6, 8, 10]))
    return _position(int(rng.integers(3, 40)), d_model), int(rng.integers(2, 9))


def _pool(table, ids):
    real = (ids != 0)[..., None]
    return (table[ids] * real).sum(axis=1) / real.sum(axis=1)


def _random_pool(rng):
    """Each sequence has padding at its end, and the row of the padding is far from zero."""
    batch, length, d_model, vocab_size = (int(size) for size in rng.permutation([4, 5, 6, 7]))
    ids = rng.integers(1, vocab_size, size=(batch, length))
    for row, real in zip(ids, rng.integers(2, length, size=batch)):
        row[real:] = 0
    table = rng.normal(size=(vocab_size, d_model))
    table[0] = 5
    return table, ids


def _rotary(x, steps=None, sign=1, first=0):
    steps = _steps(x.shape[-1]) if steps is None else steps
    angle = sign * np.arange(first, first + x.shape[1])[:, None] * steps
    turned = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


def _rotary_of_halves(x):
    half = x.shape[-1] // 2
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * np.arange(x.shape[1])[:, None] * _steps(x.shape[-1]))
    return np.concatenate([turned.real, turned.imag], axis=-1)


def _rotary_not_interleaved(x):
    turned = _rotary(x)
    return np.concatenate([turned[..., 0::2], turned[..., 1::2]], axis=-1)


def _random_rotary(rng):
    """As many sequences as positions in one draw of three, so that a wrong axis does not always fail."""
    batch, length = (4, 4) if rng.random() < 1 / 3 else (int(size) for size in rng.permutation([3, 5]))
    return (rng.normal(size=(batch, length, int(rng.choice([6, 8])))),)


def _position_ids(tokens):
    attention_mask = tokens != 0
    return np.where(attention_mask, attention_mask.cumsum(axis=1) - 1, 0)


def _random_padded(rng):
    """Padding in front, of another length in each sequence, and at least two real tokens; as many sequences as columns."""
    tokens = rng.integers(1, 9, size=(6, 6))
    for row, padding in zip(tokens, rng.permutation([0, 1, 2, 3, 4, 2])):
        row[:padding] = 0
    return (tokens,)


EXERCISES = {
    "05.1": Exercise(
        right=5.0,
        praise='"the" is the first and the fourth word, so its row collects 1 + 4.',
        mistakes={
            # seen: grad_table[ids] += grad, which the notebook shows.
            "That is the gradient of its last place alone: a row collects the gradients of all its places.": 4.0,
            # likely: the first place is found, and the second overlooked.
            '"the" is at two places, and that is the gradient of the first one.': 1.0,
            # likely: the example in Build it, where every upstream gradient is 1.
            "That is how often the word occurs. What arrives at each of its places isn't 1 here.": 2.0,
            # likely: nn.Embedding has scale_grad_by_freq, which divides so.
            "That is the mean over its two places; the gradient of a row is their sum.": 2.5,
            # likely: the gradients of the sentence are added up, whatever their words.
            'Five words send a gradient, but only those that are "the" send it to this row.': 15.0,
            # likely: positions are counted from 0, as Python does.
            "The upstream gradients go from 1 to 5, not from 0 to 4.": 3.0,
        },
        hints=[
            'At which places of the sentence is "the"?',
            "The gradient of a row is the sum of the upstream gradients at its places.",
            "At the first place arrives 1, at the fourth 4.",
        ],
    ),
    "05.2": Exercise(
        right=_lookup,
        inputs=_random_lookup,
        run=_run_lookup,
        praise="It is all that a layer of embeddings does.",
        mistakes={
            # likely: ids and features are both the last axis of something.
            "forward: you pick columns; a token has a row of the table.": (lambda t, ids, g: {"forward": t.T[ids]}),
            # seen: TokenEmbedding of this chapter, with scale=True.
            "forward: you multiply by the root of d_model; a lookup returns the rows as they are.": (
                lambda t, ids, g: {"forward": t[ids] * t.shape[1] ** 0.5}
            ),
            # likely: NumPy's += on an index; the notebook shows it.
            "backward: a token that occurs several times keeps one of its gradients; gradient[ids] += ... writes each row once.": (
                lambda t, ids, g: _lookup(t, ids, g, gradient=_last_write(t, ids, g))
            ),
            # seen: nn.Embedding has scale_grad_by_freq, which divides so.
            "backward: you take the mean over the places of a token; the gradient of a row is their sum.": (
                lambda t, ids, g: _lookup(t, ids, g, gradient=_mean_of_places(t, ids, g))
            ),
            # likely: of the two factors of the one-hot product one is transposed, and it was the other.
            "backward: your gradient is transposed; it has a row for each token, like the table.": (
                lambda t, ids, g: _lookup(t, ids, g, gradient=_gradient(ids, g, len(t)).T)
            ),
            # likely: the batch is an axis that a product of arrays with three axes leaves alone.
            "backward: you keep the batch, a table for each sequence; sum over the batch, too.": (
                lambda t, ids, g: _lookup(t, ids, g, gradient=np.einsum("blv,bld->bvd", np.eye(len(t))[ids], g))
            ),
            # likely: as Linear returns the gradient of its input, which has one row for each place.
            "backward: return the gradient of the table, (vocab_size, d_model), not the rows that arrive.": (
                lambda t, ids, g: _lookup(t, ids, g, gradient=g)
            ),
        },
        hints=[
            "Forward is one index. Keep ids for the backward pass.",
            "Begin with np.zeros_like(table), and add each row of grad to the row that its id names.",
            "np.add.at(gradient, ids, grad) adds where ids repeat, too.",
        ],
    ),
    "05.3": Exercise(
        right=_position,
        inputs=lambda rng: (int(rng.integers(2, 60)), int(rng.choice([6, 8, 12]))),
        shape="(d_model,)",
        praise="Stack it for p = 0, 1, 2, ... and you have the table.",
        mistakes={
            # seen: pitfall 1 of the notebook.
            "The exponent is doubled: with i = 0, 2, 4, ... it is i / d_model. 2 i / d_model squares each step.": (
                lambda p, d: _interleaved(p * _steps(d) ** 2)
            ),
            # likely: the notebook's formula with the paper's i.
            "The exponent counts pairs, so the steps shrink too slowly: with i = 0, 1, 2, ... it is 2 i / d_model.": (
                lambda p, d: _interleaved(p * _steps(d) ** 0.5)
            ),
            # seen: Tensor2Tensor and fairseq join two halves.
            "All sines come first, then all cosines; each sine should be beside its cosine.": _two_halves,
            # likely: TensorFlow's tutorial needs 2 * (i // 2) to avoid it.
            "Each feature has a frequency of its own; a sine and the cosine beside it share one.": (
                lambda p, d: _alternating(p * 10000.0 ** (-np.arange(d) / d)),
                lambda p, d: _alternating(p * 10000.0 ** (-2 * np.arange(d) / d)),
            ),
            # likely: the minus of the exponent, or the paper's fraction, is lost.
            "Your hands become faster from pair to pair: multiply by 10000 ** (-i / d_model), don't divide by it.": (
                lambda p, d: _interleaved(p / _steps(d))
            ),
        },
        hints=[
            "There are d_model / 2 angles: p times 10000 ** (-i / d_model) for i = 0, 2, 4, ...",
            "Make an empty vector. Its even places get the sines: vector[0::2] = ...",
            "np.arange(0, d_model, 2) gives all i at once. Take np.sin and np.cos of all angles.",
        ],
    ),
    "05.4": Exercise(
        right=_walk,
        inputs=_random_walk,
        shape="(d_model,)",
        praise="The rotation is the same from every position, so one matrix does it.",
        trials=8,
        mistakes={
            # likely: the signs of the two sums of angles are exchanged.
            "You walk back: this is the position k before. Turn the other way.": lambda v, k: _walk(v, k, -1),
            # likely: this chapter adds positions to everything else.
            "You add the vector of position k. Angles add up, their sines don't: rotate each pair.": (
                lambda v, k: v + _position(k, len(v))
            ),
            # likely: one clock hand in mind, and d_model / 2 in the vector.
            "All pairs turn by the same angle, k; each pair turns by k times its own step.": _walk_by(
                lambda d: np.ones(d // 2)
            ),
            # seen: pitfall 1 of the notebook.
            "The exponent of the steps is doubled: with i = 0, 2, 4, ... it is i / d_model.": _walk_by(
                lambda d: _steps(d) ** 2
            ),
            # likely: (cosine, sine) is the usual order, as in a complex number.
            "Sine and cosine are exchanged: the even features are sines, that is, the imaginary parts.": _walk_exchanged,
            # likely: vector[0::2] = ... on a copy, line by line.
            "You overwrite the sines, and the cosines are then computed from the new ones. Write into a new array.": (
                _walk_in_place
            ),
            # likely: find the position, then use 05.3 once more.
            "You read the position off the first hand, which soon points the same way again. Rotate each pair instead.": (
                lambda v, k: _position(np.arctan2(v[0], v[1]) + k, len(v)),
                lambda v, k: _position(np.arctan(v[0] / v[1]) + k, len(v)),
            ),
        },
        hints=[
            "sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b - sin a sin b.",
            "a is the angle in the vector: vector[0::2] is sin a, vector[1::2] is cos a. What is b for each pair?",
            "b is k times the step of the pair, which you computed in 05.3; d_model is len(vector).",
        ],
    ),
    "05.6": Exercise(
        track="pytorch",
        right=_pool,
        inputs=_random_pool,
        shape="(batch, d_model)",
        praise="That is how a sentence becomes one vector, for a search or a classifier.",
        mistakes={
            # likely: mean(dim=1), as for sequences of one length.
            "The padding is averaged in: leave out where the id is 0.": lambda t, ids: t[ids].mean(axis=1),
            # likely: mean(dim=1) of what has been masked.
            "The padding is left out of the sum, but you divide by the whole length: divide by the number of real tokens.": (
                lambda t, ids: (t[ids] * (ids != 0)[..., None]).mean(axis=1)
            ),
            # likely: right with padding_idx, whose row is zero.
            "The padding is in the sum, and only the number of tokens leaves it out: multiply the rows by the mask, too.": (
                lambda t, ids: t[ids].sum(axis=1) / (ids != 0).sum(axis=1)[:, None]
            ),
            # seen: True means padding in key_padding_mask of PyTorch.
            "The mask is upside down: this is the mean over the padding.": (
                lambda t, ids: (t[ids] * (ids == 0)[..., None]).sum(axis=1) / (ids == 0).sum(axis=1)[:, None]
            ),
        },
        hints=[
            "F.embedding(ids, table) looks the rows up: (batch, length, d_model).",
            "real = (ids != 0) has shape (batch, length). It needs one more axis to multiply the rows.",
            "Make the rows of the padding zero, then use sum(dim=1). What is the number to divide by?",
        ],
    ),
    "05.7": Exercise(
        track="pytorch",
        right=_rotary,
        inputs=_random_rotary,
        shape="(batch, length, d_model)",
        praise="The dot product of two rotated vectors depends on their distance alone. Llama and many others use this.",
        trials=9,
        mistakes={
            # likely: the minus belongs to the other of the two lines.
            "You rotate the other way: (a, b) becomes (a cos - b sin, a sin + b cos).": lambda x: _rotary(x, sign=-1),
            # seen: rotate_half of Llama in Transformers.
            "Your pairs are a feature and the one half the width further on; here the features 0 and 1, 2 and 3, ... are pairs.": (
                _rotary_of_halves
            ),
            # seen: pitfall 1 of the NumPy notebook.
            "The exponent of the steps is doubled: with i = 0, 2, 4, ... it is i / d_model.": (
                lambda x: _rotary(x, _steps(x.shape[-1]) ** 2)
            ),
            # likely: torch.cat of the two results, where a stack and a flatten are needed.
            "Each pair is rotated rightly, but you put all first features before all second ones; leave each in its place.": (
                _rotary_not_interleaved
            ),
            # seen: PositionalEncoding of PyTorch's tutorial takes (length, batch, d_model).
            "You rotate by the index of the sequence in the batch; the position is the second axis.": (
                lambda x: _rotary(x.swapaxes(0, 1)).swapaxes(0, 1)
            ),
        },
        hints=[
            "(a, b) rotated by an angle is (a cos - b sin, a sin + b cos). a is x[..., 0::2], b is x[..., 1::2].",
            "The angles are torch.outer(positions, steps), (length, pairs): no batch in them.",
            "Make an empty result of the shape of x, and write its even and its odd features.",
        ],
    ),
    "05.8": Exercise(
        track="keras",
        right=_position_ids,
        inputs=_random_padded,
        shape="(batch, length)",
        praise="With padding in front, the column of a token is not its position.",
        mistakes={
            # likely: ops.arange, as for sequences that are padded at the end.
            "You count columns, the padding too: the first real token has position 0, wherever it is.": (
                lambda t: np.broadcast_to(np.arange(t.shape[1]), t.shape)
            ),
            # likely: a cumulative sum counts the token itself.
            "The first real token has position 0; yours has 1.": lambda t: (t != 0).cumsum(axis=1),
            # likely: minus 1 is applied to all places.
            "The real tokens are right, but padding gets -1: make it 0.": lambda t: (t != 0).cumsum(axis=1) - 1,
            # likely: ops.arange with the padding set to 0.
            "The columns of the real tokens are kept; count from the first real token of each sequence.": (
                lambda t: np.where(t != 0, np.arange(t.shape[1]), 0)
            ),
        },
        hints=[
            "Which tokens are real? Cast that to whole numbers: 1 for a real token, 0 for padding.",
            "ops.cumsum along axis 1 counts the real tokens so far, this one included.",
            "Subtract 1. The padding has -1 then; ops.maximum can mend that.",
        ],
    ),
    "05.9": Exercise(
        track="compare",
        right=20.0,
        praise="400 g divided by the root of 400 g**2 is 20.",
        mistakes={
            # likely: Adam is known to forget the size of a gradient.
            "So it should be, and is with a dense gradient. What does Keras do with a list of rows?": 1.0,
            # likely: 400 gradients add up, as they do with plain gradient descent.
            "The gradients are added up, but Adam divides by something that grows, too, only more slowly.": 400.0,
            # seen: the page prints it for the 100.
            "That is the step for 100 occurrences.": 10.0,
            # likely: 20 times 0.001, the last step of the question overlooked.
            "That is the step itself; how many times the learning rate, 0.001, is it?": 0.02,
        },
        hints=[
            "Run the last loop of difference 2 with other numbers: how does the step grow from 1 to 100?",
            "Adam divides the sum of 400 equal gradients, 400 g, by a root. Keras puts the sum of the 400 squares under it.",
        ],
    ),
}
