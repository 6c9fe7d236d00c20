"""Chapter 06: attention is one function in the three tracks, with any mask, and it is the function of the libraries."""

import warnings

import keras
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops
from torch import nn
from torch.nn import functional as F

import shared.keras.attention as keras_attention
import shared.numpy.attention as numpy_attention
import shared.pytorch.attention as pytorch_attention
from shared import parity, private
from shared.arrays import as_numpy
from shared.conformance import laws
from shared.frameworks.masks import in_keras
from shared.frameworks.weights import get_weights, set_weights
from shared.numpy.models import Dropout

MODULES = {"numpy": numpy_attention, "pytorch": pytorch_attention, "keras": keras_attention}
TENSOR = {"numpy": np.array, "pytorch": torch.tensor, "keras": ops.convert_to_tensor}
# Shapes that broadcast to (batch, heads, length_q, length_k) = (3, 4, 5, 7).
MASK_SHAPES = [(5, 7), (1, 7), (3, 1, 1, 7), (3, 1, 5, 7), (1, 1, 5, 7), (1, 4, 5, 1), (3, 4, 5, 7)]
every_track = pytest.mark.parametrize(
    "track", [pytest.param(track, marks=[pytest.mark.keras] * (track == "keras")) for track in MODULES]
)
numpy_and_pytorch = pytest.mark.parametrize("track", ["numpy", "pytorch"])


def layer(track: str, d_model: int = 16, num_heads: int = 4, dropout: float = 0.0):
    """A layer of a track with weights that are the same in all tracks, biases included."""
    made = MODULES[track].MultiHeadAttention(d_model, num_heads, dropout)
    if track == "keras":
        made.build((None, None, d_model))
    if track == "pytorch" and not dropout:
        made.double()
    rng = np.random.default_rng(7)
    set_weights(made, {name: rng.normal(size=array.shape) / 4 for name, array in get_weights(made).items()})
    return made


def call(track: str, function, *arrays: np.ndarray, **arguments):
    """Call a layer or function of a track with arrays, and give arrays back."""
    tensors = [TENSOR[track](array) for array in arrays]
    arguments = {name: TENSOR[track](v) if isinstance(v, np.ndarray) else v for name, v in arguments.items()}
    if track == "keras":
        arguments = in_keras(getattr(function, "call", function), arguments)
    result = function(*tensors, **arguments)
    return tuple(map(as_numpy, result)) if isinstance(result, tuple) else as_numpy(result)


def heads(rng, dtype=np.float64):
    """Query, key and value of five queries and seven keys, and a mask that hides everything from query 2 of sequence 0."""
    q, k, v = (rng.normal(size=(3, 4, *shape)).astype(dtype) for shape in ((5, 8), (7, 8), (7, 6)))
    mask = rng.random((3, 1, 5, 7)) < 0.6
    mask[..., 0] = True
    mask[0, 0, 2] = False
    return q, k, v, mask


def inputs(rng, d_model: int = 16, dtype=np.float64) -> dict[str, np.ndarray]:
    lengths = {"query": 5, "key": 7, "value": 7}
    return {name: rng.normal(size=(3, length, d_model)).astype(dtype) for name, length in lengths.items()}


def random_mask(rng, shape) -> np.ndarray:
    mask = rng.random(shape) < 0.6
    mask.flat[0] = False
    return mask


# --- masks


def check_masks(track: str) -> None:
    for length_q, length_k in [(1, 1), (5, 5), (1, 5), (3, 7)]:
        mask = as_numpy(MODULES[track].causal_mask(length_q, length_k))
        rule = [[j <= i + length_k - length_q for j in range(length_k)] for i in range(length_q)]
        assert mask.dtype == bool and np.array_equal(mask, rule)
        assert np.array_equal(mask, as_numpy(MODULES[track].causal_mask(length_k))[-length_q:])
    tokens = np.array([[3, 1, 4, 0, 0], [1, 9, 2, 6, 5]])
    for pad_id in (0, 9):
        mask = call(track, MODULES[track].padding_mask, tokens, pad_id=pad_id)
        assert mask.dtype == bool and mask.shape == (2, 1, 1, 5)
        assert np.array_equal(mask[:, 0, 0], tokens != pad_id)


@numpy_and_pytorch
def test_masks(track):
    check_masks(track)


@pytest.mark.keras
def test_keras_masks():
    check_masks("keras")


# --- scaled dot-product attention


@settings(deadline=None, max_examples=25)
@given(
    leading=st.lists(st.integers(1, 3), max_size=3),
    sizes=st.tuples(*[st.integers(1, 6)] * 4),
    seed=st.integers(0, 100),
    masked=st.booleans(),
)
def test_formula_against_the_function_of_pytorch(leading, sizes, seed, masked):
    rng = np.random.default_rng(seed)
    length_q, length_k, head_dim, value_dim = sizes
    shapes = ((length_q, head_dim), (length_k, head_dim), (length_k, value_dim))
    q, k, v = (3 * rng.normal(size=(*leading, *shape)) for shape in shapes)
    mask = rng.random((*leading, length_q, length_k)) < 0.6 if masked else None
    theirs = F.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), None if mask is None else torch.tensor(mask))
    for track in ("numpy", "pytorch"):
        output, weights = call(track, MODULES[track].scaled_dot_product_attention, q, k, v, mask=mask)
        np.testing.assert_allclose(output, theirs.numpy(), atol=1e-12)
        np.testing.assert_allclose(weights @ v, output, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.keras
def test_keras_formula_against_numpy(seed):
    q, k, v, mask = heads(np.random.default_rng(seed), np.float32)
    for one in (None, mask, mask[0, 0]):
        expected = numpy_attention.scaled_dot_product_attention(q, k, v, one)
        result = call("keras", keras_attention.scaled_dot_product_attention, q, k, v, mask=one)
        for ours, numpys in zip(result, expected):
            np.testing.assert_allclose(ours, numpys, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", ["textbook", "fused"])
def test_backward_of_the_formula_against_autograd(seed, form):
    rng = np.random.default_rng(seed)
    q, k, v, mask = heads(rng)
    tensors = [torch.tensor(array, requires_grad=True) for array in (q, k, v)]
    if form == "fused":
        theirs = F.scaled_dot_product_attention(*tensors, torch.tensor(mask))
    else:
        theirs, _ = pytorch_attention.scaled_dot_product_attention(*tensors, torch.tensor(mask))
    output, weights = numpy_attention.scaled_dot_product_attention(q, k, v, mask)
    grad_output = rng.normal(size=output.shape)
    theirs.backward(torch.tensor(grad_output))
    gradients = numpy_attention.scaled_dot_product_attention_backward(grad_output, q, k, v, weights)
    for gradient, tensor in zip(gradients, tensors):
        np.testing.assert_allclose(gradient, tensor.grad.numpy(), atol=1e-12)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_gradient_of_the_formula(float64, rng):
    import tensorflow as tf

    q, k, v, mask = heads(rng)
    tensors = [tf.constant(array) for array in (q, k, v)]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        output, _ = keras_attention.scaled_dot_product_attention(*tensors, mask)
    grad_output = rng.normal(size=output.shape)
    theirs = tape.gradient(output, tensors, tf.constant(grad_output))
    _, weights = numpy_attention.scaled_dot_product_attention(q, k, v, mask)
    gradients = numpy_attention.scaled_dot_product_attention_backward(grad_output, q, k, v, weights)
    for gradient, other in zip(gradients, theirs):
        np.testing.assert_allclose(gradient, other, atol=1e-12)


def test_dropout_falls_on_the_weights_and_the_weights_are_returned_whole(rng):
    q, k, v, mask = heads(rng)
    dropout = Dropout(0.5, rng=3)
    output, weights = numpy_attention.scaled_dot_product_attention(q, k, v, mask, dropout)
    assert set(np.unique(dropout.scale)) == {0, 2}
    np.testing.assert_allclose(weights.sum(axis=-1), np.broadcast_to(mask.any(axis=-1), (3, 4, 5)))
    np.testing.assert_allclose(output, (weights * dropout.scale) @ v)

    tensors = [torch.tensor(array, requires_grad=True) for array in (q, k, v)]
    scale = torch.tensor(dropout.scale)
    theirs, their_weights = pytorch_attention.scaled_dot_product_attention(
        *tensors, torch.tensor(mask), lambda x: x * scale
    )
    np.testing.assert_allclose(their_weights.detach().numpy(), weights, atol=1e-12)
    grad_output = rng.normal(size=output.shape)
    theirs.backward(torch.tensor(grad_output))
    gradients = numpy_attention.scaled_dot_product_attention_backward(grad_output, q, k, v, weights, dropout)
    for gradient, tensor in zip(gradients, tensors):
        np.testing.assert_allclose(gradient, tensor.grad.numpy(), atol=1e-12)


@pytest.mark.keras
def test_keras_dropout_falls_on_the_weights(rng):
    q, k, v, mask = heads(rng, np.float32)
    scale = 2 * (rng.random((3, 4, 5, 7)) < 0.5).astype(np.float32)
    function = keras_attention.scaled_dot_product_attention
    output, weights = call("keras", function, q, k, v, mask=mask, dropout=lambda x: x * TENSOR["keras"](scale))
    np.testing.assert_allclose(weights.sum(axis=-1), np.broadcast_to(mask.any(axis=-1), (3, 4, 5)), atol=1e-5)
    np.testing.assert_allclose(output, (weights * scale) @ v, atol=1e-5)


def check_scale(track: str) -> None:
    """Pitfall 13: the divisor is the root of head_dim, here 3, not of d_model."""
    q, k = np.eye(9, dtype=np.float32)[:1], 6 * np.eye(9, dtype=np.float32)[:2]
    _, weights = call(track, MODULES[track].scaled_dot_product_attention, q, k, k)
    np.testing.assert_allclose(weights, [[1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))]], atol=1e-6)


def check_large_scores(track: str) -> None:
    """Pitfall 12: scores of +-1e4 neither overflow nor lose the second best."""
    q, k = np.array([[100.0], [-100.0]], np.float32), np.array([[100.0], [99.99], [-100.0]], np.float32)
    scores = np.float64(q) @ np.float64(k).T
    assert abs(scores).max() == 1e4
    expected = np.exp(scores - scores.max(axis=-1, keepdims=True))
    expected /= expected.sum(axis=-1, keepdims=True)
    for mask in (None, np.ones((2, 3), bool)):
        _, weights = call(track, MODULES[track].scaled_dot_product_attention, q, k, k, mask=mask)
        np.testing.assert_allclose(weights, expected, atol=1e-3)


def check_fully_masked_rows(track: str, dtype) -> None:
    """Pitfall 4: a query that may see nothing gets zeros, with no warning, from the formula and from the layer, asked for weights or not."""
    q, k, v, mask = heads(np.random.default_rng(1), dtype)
    with np.errstate(all="raise", under="ignore"):
        output, weights = call(track, MODULES[track].scaled_dot_product_attention, q, k, v, mask=mask)
    assert output.dtype == weights.dtype == dtype and np.isfinite(output).all()
    assert not output[0, :, 2].any() and not weights[0, :, 2].any() and output[0, :, 1].all()
    attention = layer(track)
    given = list(inputs(np.random.default_rng(1), dtype=dtype).values())
    if track == "pytorch":
        attention = attention.to(TENSOR["pytorch"](given[0]).dtype)
    for one in (mask, np.zeros((5, 7), bool)):
        plain = call(track, attention, *given, mask=one)
        asked, weights = call(track, attention, *given, mask=one, return_weights=True)
        np.testing.assert_allclose(plain, asked, atol=1e-5)
        np.testing.assert_allclose(plain[0, 2], get_weights(attention)["output.bias"], atol=1e-6)
        assert not weights[0, :, 2].any()


@numpy_and_pytorch
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fully_masked_rows_are_zero(track, dtype):
    check_fully_masked_rows(track, dtype)


@pytest.mark.keras
def test_keras_fully_masked_rows_are_zero():
    check_fully_masked_rows("keras", np.float32)


@numpy_and_pytorch
def test_scale_and_large_scores(track):
    check_scale(track)
    check_large_scores(track)


@pytest.mark.keras
def test_keras_scale_and_large_scores():
    check_scale("keras")
    check_large_scores("keras")


@pytest.mark.parametrize("return_weights", [False, True])
def test_fully_masked_rows_send_back_nothing_and_no_nan(rng, return_weights):
    x, memory = inputs(rng)["query"], inputs(rng)["key"]
    mask = np.ones((3, 1, 5, 7), dtype=bool)
    mask[0, 0, 2] = False
    grad_output = rng.normal(size=x.shape)
    ours, theirs = layer("numpy"), layer("pytorch")
    ours(x, memory, memory, mask)
    grad_query, *_ = ours.backward(grad_output)
    tensor = torch.tensor(x, requires_grad=True)
    result = theirs(tensor, torch.tensor(memory), torch.tensor(memory), torch.tensor(mask), return_weights)
    (result[0] if return_weights else result).backward(torch.tensor(grad_output))
    assert not grad_query[0, 2].any() and not tensor.grad[0, 2].any()
    np.testing.assert_allclose(grad_query, tensor.grad.numpy(), atol=1e-12)
    assert all(torch.isfinite(parameter.grad).all() for parameter in theirs.parameters())


# --- the layer


@pytest.mark.tensorflow
@pytest.mark.parametrize("shape", [None, *MASK_SHAPES])
@pytest.mark.keras
def test_keras_numpy_and_pytorch_are_one_function(float64, rng, shape):
    twins = {track: module.MultiHeadAttention(16, 4) for track, module in MODULES.items()}
    mask = None if shape is None else random_mask(rng, shape)
    parity.compare_modules(**twins, inputs=inputs(rng), mask=mask)


@pytest.mark.tensorflow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.keras
def test_keras_scale_is_exact_whatever_the_width_of_a_head(float64, seed):
    """The library's layer takes 1 / sqrt(head_dim) through float32, and agrees within 4e-8 only where it is rounded."""
    rng = np.random.default_rng(seed)
    twins = {track: module.MultiHeadAttention(12, 2) for track, module in MODULES.items()}
    parity.compare_modules(**twins, inputs=inputs(rng, 12), mask=random_mask(rng, (3, 1, 5, 7)), tolerance=1e-13)


def test_backward_with_dropout(rng):
    attention, given = numpy_attention.MultiHeadAttention(6, 2, dropout=0.5, rng=1), rng.normal(size=(2, 4, 6))
    grad_output = rng.normal(size=given.shape)

    def objective() -> float:
        attention.dropout.rng = np.random.default_rng(5)  # the same zeros at each call
        return float((attention(given, given, given) * grad_output).sum())

    objective()
    gradient = sum(attention.backward(grad_output))  # one array, used three times
    np.testing.assert_allclose(gradient, parity.numerical_gradient(objective, given), atol=1e-7)


@pytest.mark.parametrize("shape", [None, *MASK_SHAPES])
def test_pytorch_textbook_and_fused_are_one_function(rng, shape):
    attention = layer("pytorch")
    mask = None if shape is None else torch.tensor(random_mask(rng, shape))
    grad_output = torch.randn(3, 5, 16, dtype=torch.float64)
    arrays, results = inputs(rng), {}
    for name in ("fused", "textbook"):
        tensors = {key: torch.tensor(x, requires_grad=True) for key, x in arrays.items()}
        output = attention(*tensors.values(), mask, name == "textbook")
        output = output[0] if name == "textbook" else output
        attention.zero_grad()
        output.backward(grad_output)
        gradients = {key: x.grad for key, x in tensors.items()}
        gradients |= {key: parameter.grad.clone() for key, parameter in attention.named_parameters()}
        results[name] = {"output": output} | gradients
    parity.compare(results, tolerance=1e-12)


def check_properties(track: str) -> None:
    rng = np.random.default_rng(2)
    module, attention = MODULES[track], layer(track)
    dtype = np.float32 if track == "keras" else np.float64
    x = rng.normal(size=(3, 6, 16)).astype(dtype)
    # Shuffled positions give shuffled outputs.
    order = rng.permutation(6)
    shuffled = x[:, order]
    plain = call(track, attention, x, x, x)
    np.testing.assert_allclose(call(track, attention, shuffled, shuffled, shuffled), plain[:, order], atol=1e-5)
    # Pitfall 2: a changed token changes the outputs that may see it, and no other.
    changed = x.copy()
    changed[:, 3] += 1
    causal = as_numpy(module.causal_mask(6))
    before, after = (call(track, attention, y, y, y, mask=causal) for y in (x, changed))
    np.testing.assert_allclose(before[:, :3], after[:, :3], atol=1e-6)
    assert (np.abs(before - after)[:, 3:].max(axis=-1) > 1e-3).all()
    tokens = np.array([[1, 2, 3, 0, 5, 6]] * 3)
    padding = call(track, module.padding_mask, tokens)
    before, after = (call(track, attention, x, y, y, mask=padding) for y in (x, changed))
    np.testing.assert_allclose(before, after, atol=1e-6)
    # Pitfall 14: each head sees its own features only, at one position at a time.
    _, weights = call(track, attention, x, x, x, return_weights=True)
    changed_head = get_weights(attention)
    changed_head["query.kernel"][:, 4:8] += 1
    other = layer(track)
    set_weights(other, changed_head)
    _, other_weights = call(track, other, x, x, x, return_weights=True)
    far = np.abs(weights - other_weights).max(axis=(0, 2, 3))
    assert far[1] > 1e-3 and far[[0, 2, 3]].max() < 1e-6
    # Pitfall 36: what is given is not written to.
    for function in (
        attention,
        lambda *given: attention(*given, return_weights=True),
        module.scaled_dot_product_attention,
    ):
        given = [TENSOR[track](array.copy()) for array in (x, x, x, causal)]
        function(*given)
        for tensor, array in zip(given, (x, x, x, causal)):
            assert np.array_equal(as_numpy(tensor), array)
    # Weights are not negative and sum to one, and an output lies within the values.
    _, weights = call(track, attention, x, x, x, mask=causal, return_weights=True)
    assert weights.shape == (3, 4, 6, 6) and (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    output, _ = call(track, module.scaled_dot_product_attention, x, x, x)
    assert (output <= x.max(axis=1, keepdims=True) + 1e-5).all()
    assert (output >= x.min(axis=1, keepdims=True) - 1e-5).all()


@numpy_and_pytorch
def test_properties(track):
    check_properties(track)


@pytest.mark.keras
def test_keras_properties():
    check_properties("keras")


# --- against the libraries


def torch_layer(weights: dict[str, np.ndarray], num_heads: int) -> nn.MultiheadAttention:
    """Pitfall 15: query, key and value on top of one another, each (out, in)."""
    theirs = nn.MultiheadAttention(len(weights["output.bias"]), num_heads, batch_first=True).double()
    names = ("query", "key", "value")
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.tensor(np.concatenate([weights[f"{name}.kernel"].T for name in names])))
        theirs.in_proj_bias.copy_(torch.tensor(np.concatenate([weights[f"{name}.bias"] for name in names])))
        theirs.out_proj.weight.copy_(torch.tensor(weights["output.kernel"].T))
        theirs.out_proj.bias.copy_(torch.tensor(weights["output.bias"]))
    return theirs


@numpy_and_pytorch
@pytest.mark.parametrize(("d_model", "num_heads"), [(12, 3), (10, 1), (8, 8)])
def test_against_the_layer_of_pytorch(track, d_model, num_heads, rng):
    ours = layer(track, d_model, num_heads)
    theirs = torch_layer(get_weights(ours), num_heads)
    given = inputs(rng, d_model)
    keep = random_mask(rng, (5, 7))
    keep[:, 0] = True
    padding = np.arange(7) < np.array([7, 4, 2])[:, None]
    expected, weights = theirs(
        *map(torch.tensor, given.values()), attn_mask=torch.tensor(~keep), key_padding_mask=torch.tensor(~padding)
    )  # True hides there
    mask = keep & padding[:, None, None]
    output, our_weights = call(track, ours, *given.values(), mask=mask, return_weights=True)
    np.testing.assert_allclose(output, expected.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(our_weights.mean(axis=1), weights.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(call(track, ours, *given.values(), mask=mask), output, atol=1e-12)


def test_gradients_against_the_layer_of_pytorch(rng):
    ours = layer("numpy", 12, 3)
    theirs = torch_layer(get_weights(ours), 3)
    given = inputs(rng, 12)
    tensors = [torch.tensor(x, requires_grad=True) for x in given.values()]
    output, _ = theirs(*tensors)
    grad_output = rng.normal(size=output.shape)
    output.backward(torch.tensor(grad_output))
    ours(*given.values())
    for gradient, tensor in zip(ours.backward(grad_output), tensors):
        np.testing.assert_allclose(gradient, tensor.grad.numpy(), atol=1e-12)
    packed = np.concatenate([ours.gradients()[f"{name}.kernel"].T for name in ("query", "key", "value")])
    np.testing.assert_allclose(packed, theirs.in_proj_weight.grad.numpy(), atol=1e-12)
    np.testing.assert_allclose(ours.gradients()["output.kernel"].T, theirs.out_proj.weight.grad.numpy(), atol=1e-12)


@pytest.mark.tensorflow
@pytest.mark.parametrize("direction", ["ours to theirs", "theirs to ours"])
@pytest.mark.keras
def test_keras_library_layer(float64, direction, rng):
    library, ours = keras.layers.MultiHeadAttention(4, key_dim=4), numpy_attention.MultiHeadAttention(16, 4, rng=0)
    library.build((None, None, 16), (None, None, 16))
    if direction == "ours to theirs":
        set_weights(library, get_weights(ours))
    else:
        set_weights(ours, get_weights(library))
    given = inputs(rng)
    mask = random_mask(rng, (3, 5, 7))  # Keras reads three axes as (batch, length_q, length_k)
    expected, weights = library(
        given["query"], given["value"], given["key"], attention_mask=mask, return_attention_scores=True
    )
    output, our_weights = ours(*given.values(), mask[:, None], return_weights=True)
    np.testing.assert_allclose(output, expected, atol=1e-12)
    np.testing.assert_allclose(our_weights, weights, atol=1e-12)


@pytest.mark.keras
def test_keras_parameter_counts():
    """Pitfall 1: key_dim is the width of one head."""
    counts = {track: sum(w.size for w in get_weights(layer(track, 256, 8)).values()) for track in MODULES}
    assert set(counts.values()) == {263168}
    assert sum(parameter.numel() for parameter in nn.MultiheadAttention(256, 8).parameters()) == 263168
    wide = keras.layers.MultiHeadAttention(8, key_dim=256)
    wide.build((None, None, 256), (None, None, 256))
    assert wide.count_params() == 2103552


def test_causal_alignment_for_a_cached_query(rng):
    """Pitfall 7: the last query of many sees what a lone query over all keys sees; is_causal=True would show it the first key only."""
    q, k, v = (torch.tensor(rng.normal(size=(2, 3, 5, 4))) for _ in range(3))
    full, _ = pytorch_attention.scaled_dot_product_attention(q, k, v, pytorch_attention.causal_mask(5))
    for length in (1, 2):
        mask = pytorch_attention.causal_mask(length, 5)
        last, _ = pytorch_attention.scaled_dot_product_attention(q[:, :, -length:], k, v, mask)
        torch.testing.assert_close(last, full[:, :, -length:])
    top_left = F.scaled_dot_product_attention(q[:, :, -1:], k, v, is_causal=True)
    torch.testing.assert_close(top_left, v[:, :, :1])


# --- Keras' own business


def functional_model(length: int | None = 7) -> keras.Model:
    x, tokens = keras.Input((length, 16)), keras.Input((length,), dtype="int32")
    attention = keras_attention.MultiHeadAttention(16, 4)
    y, weights = attention(x, x, x, keras_attention.padding_mask(tokens), return_weights=True)
    return keras.Model([x, tokens], [keras_attention.MultiHeadAttention(16, 2)(y, x, x), weights])


@pytest.mark.keras
def test_keras_model_is_saved_and_loaded(tmp_path, rng):
    model = functional_model()
    given = [rng.normal(size=(2, 7, 16)).astype(np.float32), rng.integers(0, 3, size=(2, 7)).astype(np.int32)]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for ours, theirs in zip(model.predict(given, verbose=0), loaded.predict(given, verbose=0)):
        assert np.array_equal(ours, theirs)


@pytest.mark.keras
def test_keras_mask_that_comes_attached_hides_padding_and_goes_on():
    """That of the keys, beside the mask of the call; that of the queries goes on with the output."""
    tokens = np.array([[1, 2, 0], [3, 0, 0], [1, 1, 1]])  # as many sequences as positions: no shape would be wrong
    embedded = keras.layers.Embedding(5, 16, mask_zero=True)(tokens)
    bare = TENSOR["keras"](as_numpy(embedded))
    attention, causal = layer("keras"), np.tri(3, dtype=bool)
    padding = as_numpy(keras_attention.padding_mask(TENSOR["keras"](tokens)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # Keras warns of a layer that loses a mask
        output = attention(embedded, embedded, embedded)
    assert np.allclose(as_numpy(output), as_numpy(attention(bare, bare, bare, attention_mask=padding)), atol=1e-6)
    assert np.array_equal(as_numpy(private.mask_of(output)), tokens != 0)
    both = attention(embedded, embedded, embedded, attention_mask=causal)
    assert np.allclose(as_numpy(both), as_numpy(attention(bare, bare, bare, causal & padding)), atol=1e-6)
    assert np.array_equal(as_numpy(private.mask_of(both)), tokens != 0)
    across = attention(bare, embedded, embedded)  # the queries carry none
    assert np.allclose(as_numpy(across), as_numpy(output), atol=1e-6) and private.mask_of(across) is None
    assert private.mask_of(attention(bare, bare, bare, attention_mask=padding)) is None
    given = attention(bare, bare, bare, key_mask=TENSOR["keras"](tokens != 0))  # given, and not attached
    assert np.allclose(as_numpy(given), as_numpy(output), atol=1e-6) and private.mask_of(given) is None


# --- bad input


@every_track
@pytest.mark.parametrize(("dtype", "pad_id"), [("uint8", 256), ("int8", -256), ("int8", 257), ("uint8", -255)])
def test_padding_is_the_id_itself_and_not_its_last_byte(track, dtype, pad_id):
    tokens = np.array([[0, 1, 2]], dtype)
    assert call(track, MODULES[track].padding_mask, tokens, pad_id=pad_id).all()
    assert call(track, MODULES[track].padding_mask, tokens, pad_id=2).tolist() == [[[[True, True, False]]]]


@pytest.mark.keras
def test_keras_padding_mask_looks_at_ids_before_they_are_cast():
    tokens = np.array([[0, 1]])
    with pytest.raises(ValueError, match="tokens"):
        keras_attention.padding_mask(tokens + 2**32)
    with pytest.raises(ValueError, match="pad_id"):
        keras_attention.padding_mask(tokens, 2**32)


@every_track
def test_a_causal_mask_has_as_many_keys_as_queries_or_more(track):
    module = MODULES[track]
    for lengths, error, name in (
        ((0,), ValueError, "length_q"),
        ((2.5,), TypeError, "length_q"),
        ((2, "5"), TypeError, "length_k"),
        ((5, 3), ValueError, "length_q"),
        ((2**70,), ValueError, "length_q"),
        ((2, 2**70), ValueError, "length_k"),
    ):
        finding = laws.refuses(lambda lengths=lengths: module.causal_mask(*lengths), error, (name,))
        assert finding, finding


@every_track
def test_the_formula_takes_masks_of_every_shape_and_a_function_that_drops(track, rng):
    q, k, v, mask = heads(rng, np.float32)
    wrong = [{"mask": each} for each in (mask[None], mask[:, :, :3], mask[0, 0, 0], True)] + [{"dropout": 0.1}]
    for arguments in wrong:
        attend = MODULES[track].scaled_dot_product_attention
        finding = laws.refuses(
            lambda given=arguments, attend=attend: call(track, attend, q, k, v, **given), TypeError, tuple(arguments)
        )
        assert finding, finding


def test_the_backward_pass_of_the_formula_needs_the_features_of_value(rng):
    q, k, v, mask = heads(rng)
    _, weights = numpy_attention.scaled_dot_product_attention(q, k, v, mask)
    backward, grad_output = numpy_attention.scaled_dot_product_attention_backward, np.ones((3, 4, 5, 3))
    finding = laws.refuses(lambda: backward(grad_output, q, k, v, weights), TypeError, ("value",))
    assert finding, finding


def test_a_cell_of_the_step_table_spans_the_steps_that_one_call_does():
    from shared import side_by_side

    found = {}
    for name, count in {"scaled_dot_product_attention": 4, "MultiHeadAttention": 7}.items():
        page = side_by_side.steps("attention", name).data
        assert page.count("<tr") == count + 1 and "<style" not in page and "check_" not in page and '"""' not in page
        found[name] = {track: side_by_side.read_steps(track, "attention", name) for track in MODULES}
    numpy, pytorch, keras = ([step[:2] for step in steps] for steps in found["MultiHeadAttention"].values())
    assert numpy == [(number, number) for number in range(1, 8)]
    assert pytorch == [(1, 1), (2, 2), (3, 6), (7, 7)] and keras == numpy
    inner = found["MultiHeadAttention"]["numpy"][2:6]
    assert [each.words for each in inner] == [each.words for each in found["scaled_dot_product_attention"]["numpy"]]
    assert inner[0].code.startswith("# inside scaled_dot_product_attention\n")
    assert inner[-1].code.endswith("\n# outside: attended, weights")


@pytest.mark.parametrize("return_weights", [False, True])
def test_the_mode_of_dropout_itself_decides(return_weights):
    # Monte Carlo dropout: everything in evaluation, and only the nn.Dropout modules in training
    torch.manual_seed(0)
    attention, x = pytorch_attention.MultiHeadAttention(8, 2, dropout=0.5).eval(), torch.randn(1, 4, 8)

    def outputs_differ() -> bool:
        first, second = (attention(x, x, x, return_weights=return_weights) for _ in range(2))
        return not torch.equal(*((each[0] if return_weights else each) for each in (first, second)))

    assert not outputs_differ()
    attention.dropout.train()
    assert outputs_differ()
    attention.train()
    attention.dropout.eval()
    assert not outputs_differ()
