"""The instruments: each finds each of its mistakes when it is planted, and raises no false alarm on what is right."""

import keras
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from shared.conformance import instruments
from shared.conformance.instruments import (
    beams_of,
    finite_differences,
    keys_seen,
    law_of,
    loss_law,
    same_function,
    token_law,
)


def softmax(x, axis=-1):
    weights = np.exp(x - x.max(axis=axis, keepdims=True))
    return weights / weights.sum(axis=axis, keepdims=True)


def attend(q, k, v, mask=None, scale=None, axis=-1):
    scores = q @ np.swapaxes(k, -1, -2) * (scale or q.shape[-1] ** -0.5)
    if mask is not None:
        scores = np.where(mask, scores, -1e30)
    return softmax(scores, axis) @ v


def qkv(rng, batch=2, length=5, width=8):
    return {name: rng.normal(size=(batch, length, width)) for name in ("query", "key", "value")}


def with_mask(rng):
    mask = rng.random((2, 5, 5)) < 0.6
    return qkv(rng) | {"mask": mask | np.eye(5, dtype=bool)}


def repeated(q, k, v, copies=np.repeat):
    """Grouped queries: (batch, 4, length, 8) over two heads of keys and values."""
    return attend(q, copies(k, 2, axis=1), copies(v, 2, axis=1))


def tiled(q, k, v):
    return repeated(q, k, v, lambda x, count, axis: np.concatenate([x] * count, axis))


def heads(rng):
    return {"query": rng.normal(size=(2, 4, 5, 8))} | {name: rng.normal(size=(2, 2, 5, 8)) for name in ("key", "value")}


def layer_norm(x, eps=1e-5, ddof=0):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True, ddof=ddof) + eps)


def rows(rng):
    return {"x": rng.normal(size=(3, 8))}


# 1 Are two functions one?

DIFFERENT = {
    "the scale of scores": (lambda q, k, v: attend(q, k, v, scale=1.0), attend, qkv, "query is scaled: 1/sqrt(8) times"),
    "scaled by the width": (lambda q, k, v: attend(q, k, v, scale=1 / 8), attend, qkv, "query is scaled: sqrt(8) times"),
    "the polarity of a mask": (lambda q, k, v, m: attend(q, k, v, ~m), attend, with_mask, "mask is read with the other polarity"),
    "a mask from the other corner": (lambda q, k, v, m: attend(q, k, v, m.swapaxes(1, 2)), attend, with_mask, "mask is read transposed"),
    "values shifted by one": (lambda q, k, v: attend(q, k, np.roll(v, 1, 1)), attend, qkv, "value is shifted by one along axis 1"),
    "heads tiled": (lambda q, k, v: attend(q[:, [0, 2, 1, 3]], np.repeat(k, 2, 1), np.repeat(v, 2, 1)), repeated, heads, "query has two factors of axis 1, 2 and 2, exchanged"),
    "a kernel transposed": (lambda x, w: x @ w.T, lambda x, w: x @ w, lambda rng: {"x": rng.normal(size=(3, 8)), "kernel": rng.normal(size=(8, 8))}, "kernel is read transposed"),
    "an embedding scaled": (lambda ids, table: table[ids] * 8**0.5, lambda ids, table: table[ids], lambda rng: {"ids": rng.integers(1, 9, (2, 5)), "table": rng.normal(size=(11, 8))}, "the output is 2.828 times"),
    "ids shifted": (lambda ids, table: table[ids + 1], lambda ids, table: table[ids], lambda rng: {"ids": rng.integers(1, 9, (2, 5)), "table": rng.normal(size=(11, 8))}, "ids is shifted: -1"),
    "a bias left out": (lambda x: x @ np.ones((8, 4)), lambda x: x @ np.ones((8, 4)) + np.arange(4.0), rows, "the output lacks a bias"),
    "another epsilon": (lambda x: layer_norm(x, 1e-3), layer_norm, rows, "as that of another epsilon"),
    "the output transposed": (lambda x: (x @ np.ones((8, 2))).T, lambda x: x @ np.ones((8, 2)), rows, "the output's axes are in the order (1, 0)"),
    "features in another order": (lambda x: x.reshape(-1, 2, 4).swapaxes(1, 2).reshape(-1, 8), lambda x: x, rows, "two factors of axis 1, "),
    "an axis of the softmax": (lambda q, k, v: attend(q, k, v, axis=-2), attend, qkv, "none of the usual mistakes"),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_two_functions_differ_in_is_named(name):
    function, reference, make_inputs, named = DIFFERENT[name]
    result = same_function(reference, function, make_inputs)
    assert not result and named in repr(result)


@pytest.mark.keras
def test_right_functions_are_the_same_in_each_framework():
    def torch_attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v)

    def keras_attention(q, k, v):
        return keras.ops.matmul(keras.ops.softmax(keras.ops.matmul(q, keras.ops.transpose(k, (0, 2, 1))) / 8**0.5), v)

    for other in (attend, torch_attention, keras_attention):
        result = same_function(attend, other, qkv)
        assert result and "the gradients to" in repr(result), repr(result)
    theirs, ours = nn.LayerNorm(8, eps=1e-5).double(), layer_norm
    assert same_function(ours, theirs, rows)


def test_a_gradient_that_is_wrong_is_found_where_the_outputs_agree():
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 3

        @staticmethod
        def backward(context, upstream):
            return upstream * 1.5

    result = same_function(
        lambda q, k, v: torch.sin(q * 3) + k * v, lambda q, k, v: torch.sin(Half.apply(q)) + k * v, qkv
    )
    assert not result and "that of query is 0.5 times the reference's" in repr(result)
    assert "the gradient of x is off by 0.5" in repr(finite_differences(Half.apply, rows))
    detached = same_function(lambda x: x * 2, lambda x: x.detach() * 2 + 0 * x, rows)
    assert not detached and "that of x is zero" in repr(detached)


def test_float32_inside_of_float64_is_a_note():
    result = same_function(lambda x: torch.sin(x), lambda x: torch.sin(x.float()).double(), rows)
    assert result and "computes in float32 inside" in repr(result)


def test_what_cannot_be_compared_says_what_it_needs():
    with pytest.raises(ValueError, match="another output each time: switch dropout off"):
        same_function(nn.Dropout(0.5), lambda x: x, rows)
    with pytest.raises(TypeError, match="can't be called with x \\(3, 8\\)"):
        same_function(lambda a, b: a, lambda x: x, rows)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="NaN or infinite"):
        same_function(np.log, np.log, rows)


# 2 Which keys does a query see?


def seeing(mask):
    """An attention of NumPy behind a mask, (length, length), True where a query may look."""
    return lambda q, k, v: attend(q, k, v, mask)


BACK = np.arange(7)[:, None] - np.arange(7)
SEEN = {
    "every query sees every key": BACK < 9,
    "causal: each query sees its own key and all before it": BACK >= 0,
    "a causal window of 3": (BACK >= 0) & (BACK < 3),
    "a causal window of 4": (BACK >= 0) & (BACK < 4),
    "and 1 after it: it sees the future": BACK >= -1,
    "the keys before its own, and not its own": (BACK >= 1) | (np.arange(7) == 0)[:, None] & (BACK == 0),
    "its own key and all after it: the mask is reversed": BACK <= 0,
    "a window: each query sees 2 keys before its own and 2 after it": abs(BACK) < 3,
    "keys 5, 6 are hidden from all (padding)": np.broadcast_to(np.arange(7) < 5, (7, 7)),
    "and the first 2 keys for all that follow (sinks)": (BACK >= 0) & ((BACK < 2) | (np.arange(7) < 2)),
    "no pattern that has a name": np.random.default_rng(5).random((7, 7)) < 0.5,
}


@pytest.mark.parametrize("name", [name for name in SEEN if "before its own, and not" not in name])
def test_what_a_query_sees_is_named(name):
    result = keys_seen(seeing(SEEN[name]), 7)
    assert name in repr(result) and bool(result) == (not name.startswith("no pattern"))
    np.testing.assert_array_equal(result.found["seen"], SEEN[name])


def test_what_is_expected_is_asked_for():
    window = seeing(SEEN["a causal window of 4"])
    assert keys_seen(window, 7, 4)
    off_by_one = keys_seen(window, 7, 3)
    assert not off_by_one and "4 of 49 pairs are not as expected (a causal window of 3" in repr(off_by_one)
    assert not keys_seen(seeing(BACK >= 0), 7, "all") and keys_seen(seeing(BACK >= 0), 7, BACK >= 0)
    with pytest.raises(ValueError, match="expected='window'"):
        keys_seen(window, 7, "window")
    with pytest.raises(ValueError, match=r"expected has shape \(2, 2\)"):
        keys_seen(window, 7, np.ones((2, 2), bool))


def test_a_row_that_moves_another_is_found():
    def over_the_batch(q, k, v):
        joined = [x.reshape(1, -1, x.shape[-1]) for x in (q, k, v)]
        return attend(*joined).reshape(q.shape)

    result = keys_seen(over_the_batch, 5)
    assert not result and "a row of the batch moves another row" in repr(result)


@pytest.mark.keras
def test_the_frameworks_layers_see_what_they_say():
    x = dict.fromkeys(("attention", "encoder"))
    attention = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    hidden = nn.Transformer.generate_square_subsequent_mask(6)
    x["attention"] = keys_seen(
        lambda q, k, v: attention(q.float(), k.float(), v.float(), attn_mask=hidden), 6, "causal"
    )
    encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).double().eval()
    x["encoder"] = keys_seen(encoder, 6, "all")
    layer = keras.layers.MultiHeadAttention(2, 8, sliding_window=3)
    x["keras"] = keys_seen(lambda q, v: layer(q, v), 6)
    x["keras, causal"] = keys_seen(lambda q, v: layer(q, v, use_causal_mask=True), 6, 3)
    assert all(x.values()), {name: repr(result) for name, result in x.items()}
    assert "2 keys before its own and 2 after it" in repr(x["keras"])


# 3 What does a sampler draw?

LOGITS = np.array([2.0, 1.1, 0.4, -0.3, -1.2, -2.0])


def drawing(law, seed=0):
    """A sampler of one law, whatever logits it gets."""

    def sample(logits):
        return np.random.default_rng(seed).choice(len(law), size=len(logits), p=law)

    return sample


SETTINGS = [{}, {"temperature": 0.7}, {"top_k": 3}, {"top_p": 0.8}, {"temperature": 1.5, "top_k": 4, "top_p": 0.9}]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_right_sampler_has_the_law_asked_for(settings):
    law = token_law(LOGITS, **settings)
    assert law_of(drawing(law), LOGITS, **settings)
    assert law_of(lambda logits: np.tile(law, (len(logits), 1)), LOGITS, **settings)


@pytest.mark.parametrize(
    ("settings", "law", "named"),
    [
        ({}, np.eye(6)[0], "the likeliest token alone"),
        ({"temperature": 0.7}, token_law(LOGITS, 1 / 0.7), "multiplied by the temperature"),
        ({"temperature": 0.7}, token_law(LOGITS), "temperature 1"),
        ({"temperature": 0.5}, token_law(LOGITS, 0.25), "applied twice"),
        ({"temperature": 0.5}, token_law(token_law(LOGITS) * 2), "of probabilities, not logits"),
        ({"top_k": 3}, token_law(LOGITS, top_k=4), "the top 4, not 3"),
        ({"top_k": 3}, token_law(LOGITS), "all tokens, not of the top k"),
        ({"top_k": 3}, token_law(np.where(LOGITS > 0.3, LOGITS, 0.0)), "hidden logits at 0"),
        ({"top_p": 0.8}, token_law(LOGITS, top_k=2), "without the one with which the sum passes p"),
        ({"top_p": 0.8}, token_law(LOGITS), "all tokens, not of top p"),
        ({}, np.full(6, 1 / 6), "every token alike"),
        ({}, np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.1]), "none of the usual mistakes"),
    ],
)
def test_another_law_is_named(settings, law, named):
    result = law_of(drawing(law), LOGITS, **settings)
    assert not result and named in repr(result)


@pytest.mark.keras
def test_samplers_of_the_frameworks():
    torch.manual_seed(0)
    assert law_of(lambda logits: torch.distributions.Categorical(logits=torch.as_tensor(logits)).sample(), LOGITS)
    assert law_of(lambda logits: keras.random.categorical(keras.ops.cast(logits, "float32"), 1, seed=1), LOGITS)
    with pytest.raises(ValueError, match="expected 20000 tokens, or probabilities"):
        law_of(lambda logits: np.zeros(3), LOGITS)
    with pytest.raises(ValueError, match="returns tokens from 7 to 7: expected 0 to 5"):
        law_of(lambda logits: np.full(len(logits), 7), LOGITS)


def next_log_probs(text):
    """A law in which the likeliest first word leads to the less likely text."""
    first = {(): [0.5, 0.3, 0.2], (0,): [0.34, 0.33, 0.33], (1,): [0.05, 0.9, 0.05], (2,): [0.3, 0.3, 0.4]}
    return np.log(np.array(first.get(text, [0.6, 0.3, 0.1])))


def test_a_beam_is_held_against_all_texts():
    def search(width, **changed):
        return lambda log_probs: instruments._beam(log_probs, 3, 3, width, **changed)

    assert beams_of(search(2), next_log_probs, 3, 3, 2)
    assert "as greedy search does; a beam of 2 finds (1, 1, 0)" in repr(beams_of(search(1), next_log_probs, 3, 3, 2))
    assert "expected 3" in repr(beams_of(lambda _: [0], next_log_probs, 3, 3, 2))
    other = beams_of(lambda _: (0, 0, 1), next_log_probs, 3, 3, 2)
    assert not other and "number 6 of 27; a beam of 2 finds (1, 1, 0)" in repr(other)


# 4 Over what does a loss take its mean?


def cross_entropies(logits, targets):
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return -np.take_along_axis(logs, np.maximum(targets, 0)[..., None], -1)[..., 0]


def of_torch(**options):
    return lambda logits, targets: F.cross_entropy(logits.flatten(0, 1), targets.flatten(), **options)


LOSSES = {
    "mean over all tokens": (lambda x, y: cross_entropies(x, y).mean(), None, True),
    "sum over all tokens": (lambda x, y: cross_entropies(x, y).sum(), None, True),
    "mean over the tokens that count, -100 ignored": (of_torch(), -100, True),
    "sum over the tokens that count, 0 ignored": (of_torch(ignore_index=0, reduction="sum"), 0, True),
    "labels smoothed by 0.1": (of_torch(label_smoothing=0.1), -100, True),
    "target 0 counts (as class 0)": (of_torch(), 0, False),
    "the ignored ones as 0": (lambda x, y: np.where(y == -100, 0, cross_entropies(x, y)).mean(), -100, False),
    "mean of the rows' means": (
        lambda x, y: np.mean([cross_entropies(a, b)[b != -100].mean() for a, b in zip(x, y)]), -100, False,
    ),
    "sum over a row, mean over the rows": (lambda x, y: cross_entropies(x, y).sum(1).mean(), None, False),
    "mean in bits": (lambda x, y: cross_entropies(x, y).mean() / np.log(2), None, False),
    "it takes its input for probabilities": (
        lambda x, y: keras.losses.SparseCategoricalCrossentropy()(y, x), None, False,
    ),
    "no mean or sum of cross-entropies": (lambda x, y: ((x.argmax(-1) - y) ** 2).mean(), None, False),
}  # fmt: skip


@pytest.mark.parametrize("named", LOSSES)
def test_the_law_of_a_loss_is_named(named):
    loss, ignored, ok = LOSSES[named]
    result = loss_law(loss, ignored)
    assert named in repr(result) and result.ok == ok


@pytest.mark.keras
def test_losses_of_the_frameworks():
    from_logits = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)
    assert "-1 ignored" in repr(loss_law(lambda x, y: from_logits(y, x), -1))
    halves = loss_law(of_torch(), -100)
    assert (
        halves
        and "the mean of two halves' losses is" in repr(halves)
        and abs(halves.found["halves minus whole"]) > 1e-3
    )


# 5 Is a gradient right?


class Doubled:
    """A function of NumPy with a backward pass, which may be wrong by a factor."""

    def __init__(self, factor=2.0):
        self.factor = factor

    def __call__(self, x, y):
        self.x, self.y = x, y
        return 2 * x * y

    def backward(self, upstream):
        return self.factor * upstream * self.y, 2 * upstream * self.x


def two(rng):
    return {"x": rng.normal(size=(3, 4)), "y": rng.normal(size=(3, 4))}


def test_a_gradient_is_held_against_differences():
    assert finite_differences(Doubled(), two) and finite_differences(lambda x, y: torch.sin(x) * y, two)
    wrong = finite_differences(Doubled(1.0), two)
    assert not wrong and "the gradient of x is off by 0.5" in repr(wrong)
    cut = finite_differences(lambda x, y: torch.sin(x.detach()) * y + 0 * x, two)
    assert not cut and "the gradient of x" in repr(cut)
    with pytest.raises(TypeError, match="no method backward"):
        finite_differences(lambda x, y: x * y, two)
    with pytest.raises(TypeError, match="x, y has dtype float32: expected float64"):
        finite_differences(Doubled(), lambda rng: {name: x.astype(np.float32) for name, x in two(rng).items()})
    with pytest.raises(TypeError, match="returns float32: expected float64"):
        finite_differences(lambda x, y: (x * y).float(), two)


@pytest.mark.keras
@pytest.mark.tensorflow
def test_a_gradient_of_keras_is_held_against_differences():
    assert finite_differences(lambda x, y: keras.ops.sin(x) * y, two)
    cut = finite_differences(lambda x, y: keras.ops.sin(keras.ops.stop_gradient(x)) * y + 0 * x, two)
    assert not cut and "the gradient of x" in repr(cut)


# No false alarm on what is right


def test_a_thousand_right_variants_of_numpy_raise_no_alarm():
    rng = np.random.default_rng(0)
    for seed in range(250):
        length, width = (int(size) for size in rng.integers(2, 7, 2))

        def variant(q, k, v):
            order = np.random.default_rng(3).permutation(k.shape[1])
            scores = np.einsum("bnd,bmd->bnm", q, k[:, order]) / np.sqrt(q.shape[-1])
            weights = np.exp(scores)
            return np.einsum("bnm,bmd->bnd", weights / weights.sum(-1, keepdims=True), v[:, order])

        def draw(generator, length=length, width=width):
            return qkv(generator, 2, length, width)

        assert same_function(attend, variant, draw, trials=1, seed=seed)
        window = int(rng.integers(1, length + 1))
        back = np.arange(length)[:, None] - np.arange(length)
        assert keys_seen(seeing((back >= 0) & (back < window)), length, window, seed=seed)
        logits, settings = rng.normal(size=5) * 2, SETTINGS[seed % len(SETTINGS)]
        assert law_of(drawing(token_law(logits, **settings), seed), logits, draws=2000, **settings)
        scale = float(rng.choice([1.0, 24.0]))
        assert loss_law(lambda x, y, scale=scale: cross_entropies(x, y).mean() * scale, seed=seed)


@pytest.mark.keras
@pytest.mark.parametrize("framework", ["torch", "keras"])
def test_fifty_right_variants_of_a_framework_raise_no_alarm(framework):
    rng = np.random.default_rng(1)
    for seed in range(50):
        width = int(rng.choice([4, 8, 12]))
        if framework == "torch":
            layer = nn.LayerNorm(width).double() if seed % 2 else nn.LayerNorm(width)
            dtype = np.float64 if seed % 2 else np.float32
        else:
            layer = keras.layers.LayerNormalization(epsilon=1e-5)
            dtype = np.float32

        def draw(generator, width=width, dtype=dtype):
            return {"x": generator.normal(size=(3, width)).astype(dtype)}

        result = same_function(layer_norm, layer, draw, trials=1, seed=seed)
        assert result, repr(result)
