"""Chapter 07: the feed-forward network, LayerNorm and the residual connection, in the three tracks and against the frameworks' own."""

import math

import keras
import numpy as np
import pytest
import torch
from dictionaries import values_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

import shared.keras.feed_forward as keras_parts
import shared.numpy.feed_forward as numpy_parts
import shared.pytorch.feed_forward as pytorch_parts
from shared import exercises, parity
from shared.arrays import as_numpy
from shared.conformance import laws
from shared.frameworks.weights import get_weights, set_weights
from shared.numpy.models import Chain, Module

ACTIVATIONS = ["relu", "gelu", "gelu_tanh"]
BOTH_ORDERS = pytest.mark.parametrize("norm_first", [False, True])
SEEDS = pytest.mark.parametrize("seed", [0, 1, 2])


def random_weights(module, rng):
    """Give every weight a random value: gamma of ones and beta of zeros would hide mistakes."""
    set_weights(module, {name: rng.normal(size=array.shape) for name, array in get_weights(module).items()})
    return module


class NumPyBlock(Module):
    def __init__(self, norm_first, dropout=0.0, rng=None, d_model=8):
        self.residual = numpy_parts.ResidualConnection(d_model, dropout, norm_first, rng=rng)
        self.feed_forward = numpy_parts.FeedForward(d_model, 12, rng=rng)

    def forward(self, x):
        return self.residual(x, self.feed_forward)

    def backward(self, grad_output):
        return self.residual.backward(grad_output, self.feed_forward.backward)


class PyTorchBlock(torch.nn.Module):
    def __init__(self, norm_first, d_model=8):
        super().__init__()
        self.residual = pytorch_parts.ResidualConnection(d_model, norm_first=norm_first)
        self.feed_forward = pytorch_parts.FeedForward(d_model, 12)

    def forward(self, x):
        return self.residual(x, self.feed_forward)


@keras.saving.register_keras_serializable(package="three_ways_tests")
class KerasBlock(keras.layers.Layer):
    def __init__(self, norm_first, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.arguments = {"norm_first": norm_first, "dropout": dropout}
        self.feed_forward = keras_parts.FeedForward(8, 12)
        self.residual = keras_parts.ResidualConnection(self.feed_forward, dropout, norm_first)

    def build(self, input_shape):
        self.residual.build(input_shape)

    def call(self, x):
        return self.residual(x)

    def get_config(self):
        return super().get_config() | self.arguments


def around(function, **arguments):
    """Keras' residual connection around a function."""
    return keras_parts.ResidualConnection(keras.layers.Lambda(function), **arguments)


# Activations


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_equal_pytorchs(name, rng):
    x = rng.normal(size=(7, 50)) * 3
    grad_output = rng.normal(size=x.shape)
    function, backward = numpy_parts.ACTIVATIONS[name]
    tensor = torch.tensor(x, requires_grad=True)
    y = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda t: F.gelu(t, approximate="tanh")}[name](tensor)
    y.backward(torch.tensor(grad_output))
    assert np.allclose(function(x), as_numpy(y), rtol=0, atol=1e-13)
    assert np.allclose(backward(x, grad_output), as_numpy(tensor.grad), rtol=0, atol=1e-12)
    assert torch.equal(pytorch_parts.ACTIVATIONS[name](tensor), y)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_agree_with_finite_differences(name, rng):
    x = rng.normal(size=40) * 3
    grad_output = rng.normal(size=40)
    function, backward = numpy_parts.ACTIVATIONS[name]
    numerical = parity.numerical_gradient(lambda: float((function(x) * grad_output).sum()), x)
    assert np.allclose(backward(x, grad_output), numerical, atol=1e-8)


@given(x=st.floats(-30, 30))
@settings(deadline=None, max_examples=50)
def test_gelu_properties(x):
    x = np.array(x)
    assert np.isclose(numpy_parts.gelu(x) - numpy_parts.gelu(-x), x, atol=1e-12)  # Phi(x) + Phi(-x) = 1
    assert -0.17 <= numpy_parts.gelu(x) <= max(x, 0)


def test_the_two_gelus_are_not_each_other():
    x = np.linspace(-6, 6, 120_001)
    for gelu, tanh in (
        (numpy_parts.gelu(x), numpy_parts.gelu_tanh(x)),
        *[[as_numpy(pytorch_parts.ACTIVATIONS[name](torch.tensor(x))) for name in ("gelu", "gelu_tanh")]],
    ):
        assert 4.7e-4 < np.abs(gelu - tanh).max() < 4.8e-4


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_activations_keep_the_dtype(name, dtype, rng):
    x = rng.normal(size=5).astype(dtype)
    function, backward = numpy_parts.ACTIVATIONS[name]
    assert function(x).dtype == backward(x, x).dtype == dtype


# FeedForward


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_feed_forward_equals_its_formula(activation, rng):
    module = random_weights(numpy_parts.FeedForward(5, 9, activation=activation), rng)
    weights, x = get_weights(module), rng.normal(size=(2, 3, 5))
    h = numpy_parts.ACTIVATIONS[activation][0](x @ weights["expand.kernel"] + weights["expand.bias"])
    assert np.allclose(module(x), h @ weights["contract.kernel"] + weights["contract.bias"], atol=1e-12)


def test_feed_forward_sees_one_position(rng):
    x = rng.normal(size=(2, 5, 8))
    changed = x.copy()
    changed[1, 3] += 1
    pytorch_module = pytorch_parts.FeedForward(8, 12).double()
    for module in (numpy_parts.FeedForward(8, 12, rng=0), lambda x: as_numpy(pytorch_module(torch.tensor(x)))):
        moved = (np.abs(module(changed) - module(x)) > 1e-12).any(axis=-1)
        assert moved.tolist() == [[False] * 5, [False, False, False, True, False]]


def test_dropout_acts_on_the_hidden_features():
    """With identity kernels the output shows what dropout did to each hidden feature."""
    numpy_module = numpy_parts.FeedForward(1000, 1000, dropout=0.2, rng=0)
    pytorch_module = pytorch_parts.FeedForward(1000, 1000, dropout=0.2)
    weights = {
        f"{layer}.{name}": value
        for layer in ("expand", "contract")
        for name, value in (("kernel", np.eye(1000)), ("bias", np.full(1000, 0.5)))
    }
    for module in (numpy_module, pytorch_module):
        set_weights(module, weights)
    x = np.ones((4, 1000))
    for run in (numpy_module, lambda x: as_numpy(pytorch_module(torch.tensor(x, dtype=torch.float32)))):
        y = run(x)
        assert np.allclose(np.unique(y), [0.5, 1.5 / 0.8 + 0.5])  # the bias of the last layer is never dropped
        assert abs(y.mean() - 2) < 5 * 1.5 * math.sqrt(0.2 / 0.8 / y.size)
    for module in (numpy_module, pytorch_module):
        module.eval()
    assert np.array_equal(numpy_module(x), np.full_like(x, 2))
    assert torch.equal(pytorch_module(torch.ones(4, 1000)), torch.full((4, 1000), 2.0))


def test_feed_forward_backward_through_dropout(rng):
    module, x, grad_output = (
        numpy_parts.FeedForward(6, 40, dropout=0.5),
        rng.normal(size=(2, 3, 6)),
        rng.normal(size=(2, 3, 6)),
    )

    def objective():
        module.dropout.rng = np.random.default_rng(7)  # the same features are dropped each time
        return float((module(x) * grad_output).sum())

    objective()
    assert np.allclose(module.backward(grad_output), parity.numerical_gradient(objective, x), atol=1e-8)


# LayerNorm


@SEEDS
def test_layer_norm_backward(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, 3, 5)) * 4 + 3
    module = random_weights(numpy_parts.LayerNorm(5), rng)
    gamma = module.gamma.value
    sigma = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    n = (x - x.mean(axis=-1, keepdims=True)) / sigma
    jacobian = (np.eye(5) - 1 / 5 - n[..., :, None] * n[..., None, :] / 5) / sigma[..., None]
    parity.check_backward(
        module,
        {"x": x},
        torch.nn.LayerNorm(5),
        closed_forms={
            "x": lambda grad: np.einsum("bti,btij->btj", grad * gamma, jacobian),
            "gamma": lambda grad: (grad * n).sum(axis=(0, 1)),
            "beta": lambda grad: grad.sum(axis=(0, 1)),
        },
        seed=seed,
    )


@given(
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), scale=st.floats(1e-3, 1e3), seed=st.integers(0, 2**16)
)
@settings(deadline=None, max_examples=40)
def test_layer_norm_equals_pytorchs(shape, scale, seed):
    rng = np.random.default_rng(seed)
    x, grad_output = scale * rng.normal(size=shape) + rng.normal(), rng.normal(size=shape)
    module = random_weights(numpy_parts.LayerNorm(shape[-1]), rng)
    tensor = torch.tensor(x, requires_grad=True)
    y = F.layer_norm(tensor, (shape[-1],), torch.tensor(module.gamma.value), torch.tensor(module.beta.value))
    y.backward(torch.tensor(grad_output))
    ours = module(x)
    parity.compare(
        {"torch": {"y": y, "x": tensor.grad}, "ours": {"y": ours, "x": module.backward(grad_output)}}, tolerance=1e-9
    )


def test_pytorch_layer_norm_is_nn_layer_norm():
    ours, theirs, x = pytorch_parts.LayerNorm(8), torch.nn.LayerNorm(8), torch.randn(2, 5, 8)
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_()
    theirs.load_state_dict(ours.state_dict())
    assert torch.equal(ours(x), theirs(x))
    theirs.eps = 1e-3
    assert torch.equal(pytorch_parts_with(ours, eps=1e-3)(x), theirs(x))


def pytorch_parts_with(norm, eps):
    other = pytorch_parts.LayerNorm(len(norm.weight), eps)
    other.load_state_dict(norm.state_dict())
    return other


def test_layer_norm_uses_the_biased_variance_and_eps_inside_the_root():
    row = np.array([[1.0, 0, 0, 0]])
    expected = 0.75 / math.sqrt(3 / 16 + 1e-5)  # with D - 1 in place of D: 1.5
    assert abs(numpy_parts.LayerNorm(4)(row)[0, 0] - expected) < 1e-12
    assert abs(pytorch_parts.LayerNorm(4).double()(torch.tensor(row))[0, 0].item() - expected) < 1e-12
    # A constant row: inside the root eps keeps it at 0, and a small one shows how large eps is.
    assert np.array_equal(numpy_parts.LayerNorm(4)(np.full((1, 4), 3.0)), np.zeros((1, 4)))


def test_layer_norm_default_eps(rng):
    """PITFALLS row 10: standard deviation 0.02 in, 0.988 out with 1e-5, 0.535 with Keras' 1e-3."""
    x = rng.normal(size=(3, 64))
    x = 0.02 * (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)
    assert np.allclose(numpy_parts.LayerNorm(64)(x).std(axis=-1), 0.02 / math.sqrt(0.02**2 + 1e-5), atol=1e-12)
    assert np.allclose(as_numpy(pytorch_parts.LayerNorm(64).double()(torch.tensor(x))).std(axis=-1), 0.9877, atol=1e-4)
    assert np.allclose(numpy_parts.LayerNorm(64, eps=1e-3)(x).std(axis=-1), 0.5345, atol=1e-4)


def test_layer_norm_sees_one_position(rng):
    x = rng.normal(size=(2, 5, 8))
    changed = x.copy()
    changed[0, 4, 1] += 1
    pytorch_module = pytorch_parts.LayerNorm(8).double()
    for module in (numpy_parts.LayerNorm(8), lambda x: as_numpy(pytorch_module(torch.tensor(x)))):
        moved = (np.abs(module(changed) - module(x)) > 1e-12).any(axis=-1)
        assert moved.tolist() == [[False, False, False, False, True], [False] * 5]


def test_eps_may_be_large(rng):
    """It is no rate: 07.2 draws 1.0."""
    x = rng.normal(size=(2, 4)).astype("float32")
    expected = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 2.5)
    for parts, array in ((numpy_parts, np.array), (pytorch_parts, torch.tensor), (keras_parts, keras.ops.array)):
        assert np.allclose(as_numpy(parts.LayerNorm(4, eps=2.5)(array(x))), expected, atol=1e-6)


@SEEDS
def test_layer_norm_gradient_ignores_what_the_output_ignores(seed):
    rng = np.random.default_rng(seed)
    module, x = random_weights(numpy_parts.LayerNorm(6, eps=1e-12), rng), rng.normal(size=(2, 3, 6))
    assert np.allclose(module(5 * x - 2), module(x), atol=1e-9)
    grad = module.backward(rng.normal(size=x.shape))
    assert np.abs(grad).max() > 0.01
    assert np.abs(grad.sum(axis=-1)).max() < 1e-9
    assert np.abs((grad * module.normalized).sum(axis=-1)).max() < 1e-9


def test_an_upstream_gradient_of_ones_hides_a_broken_backward(rng):
    """The reason for random upstream gradients: with ones, a backward without its third term passes."""
    module, x = numpy_parts.LayerNorm(6), rng.normal(size=(2, 3, 6))
    module(x)

    def broken(grad):
        return (grad - grad.mean(axis=-1, keepdims=True)) / module.std

    assert np.allclose(module.backward(np.ones_like(x)), broken(np.ones_like(x)))
    random = rng.normal(size=x.shape)
    assert np.abs(module.backward(random) - broken(random)).max() > 0.1


# ResidualConnection


@BOTH_ORDERS
@SEEDS
def test_residual_backward(norm_first, seed):
    rng = np.random.default_rng(seed)
    module = random_weights(NumPyBlock(norm_first, d_model=4), rng)
    parity.check_backward(module, {"x": rng.normal(size=(2, 3, 4))}, PyTorchBlock(norm_first, d_model=4), seed=seed)


@pytest.mark.tensorflow
@BOTH_ORDERS
@pytest.mark.keras
def test_keras_residual_parity(norm_first, rng, float64):
    parity.compare_modules(
        random_weights(NumPyBlock(norm_first), rng),
        PyTorchBlock(norm_first),
        KerasBlock(norm_first),
        {"x": rng.normal(size=(2, 5, 8))},
    )


@BOTH_ORDERS
def test_residual_order(norm_first, rng):
    """Written out from F.layer_norm, so that the two orders cannot be exchanged."""
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    block = PyTorchBlock(norm_first).double()
    random_weights(block, rng)
    norm, sublayer = block.residual.norm, block.feed_forward

    def layer_norm(t):
        return F.layer_norm(t, (8,), norm.weight, norm.bias)

    expected = x + sublayer(layer_norm(x)) if norm_first else layer_norm(x + sublayer(x))
    other = layer_norm(x + sublayer(x)) if norm_first else x + sublayer(layer_norm(x))
    ours = NumPyBlock(norm_first)
    set_weights(ours, get_weights(block))
    for y in (as_numpy(block(x)), ours(x.numpy())):
        assert np.allclose(y, as_numpy(expected), atol=1e-12)
        assert np.abs(y - as_numpy(other)).max() > 0.1


@BOTH_ORDERS
def test_residual_equals_the_half_of_pytorchs_encoder_layer(norm_first):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, norm_first=norm_first, batch_first=True).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    block = NumPyBlock(norm_first)
    renamed = {"linear1": "feed_forward.expand", "linear2": "feed_forward.contract", "norm2": "residual.norm"}
    theirs = get_weights(layer)
    set_weights(
        block,
        {
            f"{ours}.{name.split('.')[1]}": value
            for there, ours in renamed.items()
            for name, value in theirs.items()
            if name.split(".")[0] == there
        },
    )
    expected = x + layer._ff_block(layer.norm2(x)) if norm_first else layer.norm2(x + layer._ff_block(x))
    assert np.allclose(block(x.numpy()), as_numpy(expected), atol=1e-10)


def test_the_straight_line(rng):
    x, grad_output = rng.normal(size=(2, 3, 8)), rng.normal(size=(2, 3, 8))
    residual = numpy_parts.ResidualConnection(8, norm_first=True)
    assert np.array_equal(residual(x, np.zeros_like), x)
    assert np.array_equal(residual.backward(grad_output, np.zeros_like), grad_output)


@BOTH_ORDERS
def test_add_and_chain_are_the_residual_connection_without_dropout(norm_first, rng):
    block = random_weights(NumPyBlock(norm_first), rng)
    norm, network = block.residual.norm, block.feed_forward
    ours = numpy_parts.Add(Chain(norm, network)) if norm_first else Chain(numpy_parts.Add(network), norm)
    x, grad_output = rng.normal(size=(2, 2, 3, 8))
    expected = block(x)
    expected_grads = block.backward(grad_output), *(each.copy() for each in block.gradients().values())
    assert np.allclose(ours(x), expected, rtol=0, atol=1e-12)
    block.zero_grad()
    grads = ours.backward(grad_output), *block.gradients().values()
    for found, wanted in zip(grads, expected_grads, strict=True):
        assert np.allclose(found, wanted, rtol=0, atol=1e-12)


def test_residual_dropout_spares_the_skip_path(rng):
    """PITFALLS row 18: dropout acts before the addition; what survives is divided by 1 - p; evaluation is deterministic."""
    x = rng.normal(size=(4, 100, 50))
    ours, theirs = (
        numpy_parts.ResidualConnection(50, 0.2, norm_first=True, rng=0),
        pytorch_parts.ResidualConnection(50, 0.2, norm_first=True),
    )
    tensor = torch.tensor(x)
    theirs.double()
    for y in (ours(x, np.ones_like), as_numpy(theirs(tensor, torch.ones_like))):
        change = y - x
        assert np.allclose(np.unique(change.round(9)), [0, 1.25])
        assert abs(change.mean() - 1) < 5 * math.sqrt(0.25 / change.size)
    assert np.array_equal(ours(x, np.zeros_like), x) and torch.equal(theirs(tensor, torch.zeros_like), tensor)
    ours.eval(), theirs.eval()
    assert np.array_equal(ours(x, np.ones_like), x + 1) and torch.equal(theirs(tensor, torch.ones_like), tensor + 1)


@BOTH_ORDERS
def test_residual_backward_through_dropout(norm_first, rng):
    module, x, grad_output = (
        NumPyBlock(norm_first, dropout=0.4, d_model=6),
        rng.normal(size=(2, 3, 6)),
        rng.normal(size=(2, 3, 6)),
    )

    def objective():
        module.residual.dropout.rng = np.random.default_rng(3)
        return float((module(x) * grad_output).sum())

    objective()
    assert np.allclose(module.backward(grad_output), parity.numerical_gradient(objective, x), atol=1e-7)


def test_a_stack_keeps_its_scale_in_post_norm_only(rng):
    """A pre-norm stack leaves its sums as they are, and has to end with a norm."""
    scales = {}
    for norm_first in (False, True):
        x = rng.normal(size=(2, 4, 32))
        for seed in range(16):
            residual, network = (
                numpy_parts.ResidualConnection(32, norm_first=norm_first),
                numpy_parts.FeedForward(32, 64, rng=seed),
            )
            x = residual(x, network)
        scales[norm_first] = np.sqrt((x**2).mean())
    assert abs(scales[False] - 1) < 1e-3 and scales[True] > 1.5


# Keras: layers of their own kind, on any backend


@BOTH_ORDERS
@pytest.mark.keras
def test_keras_residual_equals_numpy(norm_first, rng):
    ours, block = random_weights(NumPyBlock(norm_first), rng), KerasBlock(norm_first)
    x = rng.normal(size=(2, 5, 8)).astype("float32")
    block(x)
    set_weights(block, get_weights(ours))
    parity.compare({"NumPy": {"y": ours.astype(np.float32)(x)}, "Keras": {"y": block(x)}}, tolerance=1e-5)


@pytest.mark.keras
def test_keras_layer_norm_is_keras_own(rng):
    ours, theirs = keras_parts.LayerNorm(8), keras.layers.LayerNormalization(epsilon=1e-5)
    x = rng.normal(size=(2, 5, 8)).astype("float32")
    theirs(x), ours(x)
    set_weights(theirs, get_weights(random_weights(ours, rng)))
    assert np.array_equal(as_numpy(ours(x)), as_numpy(theirs(x)))


@pytest.mark.keras
def test_keras_layer_norm_default_eps(rng):
    x = np.tile([0.02, -0.02], 8).astype("float32")[None]
    assert abs(as_numpy(keras_parts.LayerNorm(16)(x)).std() - 0.9877) < 1e-3
    assert (
        abs(as_numpy(keras.layers.LayerNormalization()(x)).std() - 0.5345) < 1e-3
    )  # the library's default, which has to be overridden
    row = np.array([[1, 0, 0, 0]], "float32")
    assert abs(as_numpy(keras_parts.LayerNorm(4)(row))[0, 0] - 1.732) < 1e-3


@pytest.mark.keras
def test_keras_parts_see_one_position(rng):
    x = rng.normal(size=(2, 5, 8)).astype("float32")
    changed = x.copy()
    changed[0, 4, 1] += 1
    for module in (keras_parts.FeedForward(8, 12), keras_parts.LayerNorm(8)):
        moved = (np.abs(as_numpy(module(changed)) - as_numpy(module(x))) > 1e-5).any(axis=-1)
        assert moved.tolist() == [[False, False, False, False, True], [False] * 5]


@pytest.mark.keras
def test_keras_activations_are_the_named_ones():
    x = np.linspace(-6, 6, 1001).astype("float32")
    for name in ACTIVATIONS:
        assert np.allclose(as_numpy(keras_parts.ACTIVATIONS[name](x)), numpy_parts.ACTIVATIONS[name][0](x), atol=1e-5)
    exact, tanh = (as_numpy(keras_parts.ACTIVATIONS[name](x)) for name in ("gelu", "gelu_tanh"))
    assert 4e-4 < np.abs(exact - tanh).max() < 5e-4


@pytest.mark.keras
def test_keras_dropout(rng):
    x = rng.normal(size=(4, 100, 50)).astype("float32")
    residual = around(keras.ops.ones_like, dropout=0.2, norm_first=True)
    change = as_numpy(residual(x, training=True)) - x
    assert np.allclose(np.unique(change.round(3)), [0, 1.25])
    assert abs(change.mean() - 1) < 5 * math.sqrt(0.25 / change.size)
    assert np.array_equal(as_numpy(residual(x)), x + 1)
    residual = around(keras.ops.zeros_like, dropout=0.2, norm_first=True)
    assert np.array_equal(as_numpy(residual(x, training=True)), x)

    identity = keras_parts.FeedForward(1000, 1000, dropout=0.2)
    identity.build((None, 1000))
    set_weights(
        identity,
        {
            f"{part}.{name}": value
            for part in ("expand", "contract")
            for name, value in (("kernel", np.eye(1000)), ("bias", np.zeros(1000)))
        },
    )
    y = as_numpy(identity(np.ones((4, 1000), "float32"), training=True))
    assert np.allclose(np.unique(y), [0, 1.25]) and abs(y.mean() - 1) < 5 * math.sqrt(0.25 / y.size)
    assert np.array_equal(as_numpy(identity(np.ones((4, 1000), "float32"))), np.ones((4, 1000)))


@BOTH_ORDERS
@pytest.mark.keras
def test_keras_functional_model_owns_the_layer_inside(norm_first, rng, tmp_path):
    """It is one layer of the model, found by its name; the weights inside are the model's, trained and saved."""
    inputs = keras.Input((None, 8))
    network = keras_parts.FeedForward(8, 12)
    residual = keras_parts.ResidualConnection(network, 0.3, norm_first, name="residual")
    model = keras.Model(inputs, residual(inputs))
    x = rng.normal(size=(2, 5, 8)).astype("float32")
    assert len(model.trainable_variables) == 6
    assert model.get_layer("residual") is residual and residual.layer is network
    assert np.allclose(as_numpy(model(x)), as_numpy(residual(x)), atol=1e-6)
    assert np.abs(as_numpy(model(x, training=True)) - as_numpy(model(x))).max() > 0.01  # dropout is still there
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert np.array_equal(as_numpy(loaded(x)), as_numpy(model(x)))
    again = loaded.get_layer("residual")
    assert again.layer.get_config() == network.get_config()
    assert (again.dropout.rate, again.norm_first, again.norm.epsilon) == (0.3, norm_first, 1e-5)


@pytest.mark.keras
def test_keras_residual_around_a_layer_of_keras_is_saved_with_it(rng, tmp_path):
    residual = keras_parts.ResidualConnection(keras.layers.Dense(8), norm_first=True, name="residual")
    model = random_weights(keras.Sequential([keras.Input((None, 8)), residual]), rng)
    x = rng.normal(size=(2, 5, 8)).astype("float32")
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert np.array_equal(as_numpy(loaded(x)), as_numpy(model(x)))
    assert set(get_weights(loaded)) == {
        f"residual.{n}" for n in ("layer.kernel", "layer.bias", "norm.gamma", "norm.beta")
    }


@pytest.mark.keras
def test_keras_residual_refuses_what_is_not_its_argument():
    network, kind = keras_parts.FeedForward(8, 12), keras_parts.ResidualConnection
    for name, value, error in laws.wrong_sizes(kind.__init__):
        finding = laws.refuses(lambda given={name: value}: kind(network, **given), error, (name,))
        assert finding, finding
    for wrong in (np.tanh, keras_parts.FeedForward, None):
        finding = laws.refuses(lambda wrong=wrong: kind(wrong), TypeError, ("layer",))
        assert finding, finding
    residual = kind(network)
    for x in (np.ones((2, 5, 8), "int32"), np.ones((2, 5, 7), "float32")):
        finding = laws.refuses(lambda x=x: residual(x), TypeError, ("x",))
        assert finding, finding


@BOTH_ORDERS
@pytest.mark.keras
def test_keras_layers_save_and_load(norm_first, rng, tmp_path):
    model = keras.Sequential(
        [keras.Input((None, 8)), KerasBlock(norm_first, name="block"), keras_parts.LayerNorm(8, eps=1e-3, name="norm")]
    )
    random_weights(model, rng)
    x = rng.normal(size=(2, 5, 8)).astype("float32")
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert np.array_equal(as_numpy(loaded(x)), as_numpy(model(x)))
    model.compile("sgd", "mse")
    assert np.isfinite(model.fit(x, x, verbose=0).history["loss"]).all()


@pytest.mark.parametrize(
    ("policy", "dtype"),
    [
        ("mixed_bfloat16", "float32"),
        ("float32", "float32"),
        pytest.param(
            "float64",
            "float64",
            marks=pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX makes float32 of float64"),
        ),
    ],
)
@pytest.mark.keras
def test_keras_activation_has_the_precision_of_the_weights(policy, dtype, rng, monkeypatch):
    seen = []

    def watch(x):
        seen.append(keras.backend.standardize_dtype(x.dtype))
        return x

    monkeypatch.setitem(keras_parts.ACTIVATIONS, "gelu", watch)
    network = keras_parts.FeedForward(8, 12, activation="gelu", dtype=policy)
    y = network(rng.normal(size=(2, 5, 8)))
    assert seen == [dtype] and keras.backend.standardize_dtype(y.dtype) == network.compute_dtype


@pytest.mark.keras
def test_keras_layers_do_not_lose_a_mask(rng, recwarn):
    embedding, residual, network = (
        keras.layers.Embedding(5, 8, mask_zero=True),
        keras_parts.ResidualConnection(keras_parts.FeedForward(8, 12)),
        keras_parts.FeedForward(8, 12),
    )
    y = residual(network(embedding(np.array([[1, 2, 0]]))))
    assert y.shape == (1, 3, 8) and not [warning for warning in recwarn if "mask" in str(warning.message)]


@pytest.mark.tensorflow
@BOTH_ORDERS
@pytest.mark.keras
def test_keras_residual_inside_tf_function(norm_first, rng):
    import tensorflow as tf

    residual = keras_parts.ResidualConnection(keras_parts.FeedForward(8, 12), norm_first=norm_first)
    compiled = tf.function(residual, input_signature=[tf.TensorSpec((None, None, 8), tf.float32)])
    x = rng.normal(size=(2, 5, 8)).astype("float32")
    assert np.allclose(compiled(x), residual(x), atol=1e-5)


# Bad input


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize(
    ("parts", "ones"), [(numpy_parts, np.ones), (pytorch_parts, torch.ones)], ids=["numpy", "pytorch"]
)
def test_a_sublayer_must_be_a_function_that_keeps_the_shape(parts, ones, norm_first):
    """Broadcasting would add a sub-layer's single feature to all eight without a word."""
    residual, x = parts.ResidualConnection(8, norm_first=norm_first), ones((2, 5, 8))
    for finding in (
        laws.refuses(lambda: residual(x, lambda y: y[..., :1]), TypeError, ("sublayer_output",)),
        laws.refuses(lambda: residual(x, x), TypeError, ("sublayer",)),
    ):
        assert finding, finding


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.keras
def test_keras_layer_inside_must_keep_the_shape(norm_first):
    residual = around(lambda y: y[..., :1], norm_first=norm_first)
    finding = laws.refuses(lambda: residual(keras.ops.ones((2, 5, 8))), TypeError, ("sublayer_output",))
    assert finding, finding


def test_a_residual_connection_goes_back_through_a_function():
    residual, x = numpy_parts.ResidualConnection(8), np.ones((2, 5, 8))
    residual(x, np.tanh)
    finding = laws.refuses(lambda: residual.backward(x, x), TypeError, ("sublayer_backward",))
    assert finding, finding
    for norm_first in (False, True):
        block = NumPyBlock(norm_first)
        with pytest.raises(AttributeError):
            block.backward(x)
        block(x)
        for wrong in (x[..., :7], x[:, :4]):
            finding = laws.refuses(lambda block=block, wrong=wrong: block.backward(wrong), TypeError, ("grad_output",))
            assert finding, finding


# The three as one


def test_weights_have_the_same_names_in_the_three():
    for name, arguments, names in (
        (
            "FeedForward",
            {"d_model": 8, "d_ff": 12},
            {"expand.kernel": (8, 12), "expand.bias": (12,), "contract.kernel": (12, 8), "contract.bias": (8,)},
        ),
        ("LayerNorm", {"d_model": 8}, {"gamma": (8,), "beta": (8,)}),
        ("ResidualConnection", {"d_model": 8}, {"norm.gamma": (8,), "norm.beta": (8,)}),
    ):
        if name == "ResidualConnection":
            layer = around(keras.ops.tanh)
        else:
            layer = getattr(keras_parts, name)(**arguments)
        layer.build((None, 5, 8))
        for module in (getattr(numpy_parts, name)(**arguments), getattr(pytorch_parts, name)(**arguments), layer):
            assert {path: array.shape for path, array in get_weights(module).items()} == names


# Exercises: code as a reader would write it


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [
        (lambda x: (x - x.mean(1, True)) / x.std(1, keepdim=True), "eps is missing"),
        (lambda x: (x - x.mean(1, True)) / (x.std(1, keepdim=True) + 1e-5), "eps is added"),
        (
            lambda x: F.layer_norm(x.permute(0, 2, 3, 1), x.shape[1:2]).reshape(x.shape),
            "Move the channels back with movedim",
        ),
        (
            lambda x: F.layer_norm(x.reshape(len(x), *x.shape[2:], -1), x.shape[1:2]).reshape(x.shape),
            "reshape moves no axis",
        ),
        (lambda x: F.layer_norm(x.movedim(1, -1), x.shape[1:2], eps=1e-3).movedim(-1, 1), "That is Keras' eps"),
    ],
)
def test_channel_norm_mistakes_in_pytorch(attempt, expected):
    verdict, message = exercises.judge("07.7", attempt)
    assert verdict == "wrong" and expected in message


@pytest.mark.tensorflow
def test_add_dropped_gets_advice():
    ops = keras.ops
    for attempt in (lambda x, c, k, r: x + c * k / (1 - r), lambda x, c, k, r: x + c / (1 - r) * k):
        assert "see ops.where" in exercises.judge("07.8", attempt)[1]
    for attempt in (
        lambda x, c, k, r: x + c * ops.cast(k, "float32") / (1 - r),
        lambda x, c, k, r: x + ops.cast(k, "float32") * c / (1 - r),
    ):
        assert "cast to change.dtype" in exercises.judge("07.8", attempt)[1]


# The dictionary of compare

SAME = {  # what has one value in the three columns; a layer's weights are random, and those of a new norm are not
    "ReLU",
    "GELU",
    "GELU by tanh, as in GPT-2",
    "SiLU, the gate of newer models",
    "LayerNorm",
    "LayerNorm without scale and shift",
    "over the last two axes",
    "RMSNorm",
    "the variance, divided by d_model",
    "dropout, in evaluation",
}
IN_BOTH_LIBRARIES = {
    "batch normalization, in training",
    "batch normalization, in evaluation",
    "of sequences",
}


def run_column(column: int) -> dict[str, np.ndarray]:
    """Run a column from its first row to its last; return the values of the rows that have one for all."""
    import tensorflow as tf

    from shared.numpy.models import Dropout, Linear

    rng = np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(2, 5, 16)), "grad": rng.normal(size=(2, 5, 16)), "rows": rng.normal(size=(8, 16))}
    arrays = {name: array.astype("float32") for name, array in arrays.items()}
    if column == 2:
        arrays = {name: torch.from_numpy(array) for name, array in arrays.items()}
    names = {"np": np, "torch": torch, "keras": keras, "tf": tf, "rng": rng} | arrays
    names |= {**vars(numpy_parts), "Linear": Linear, "Dropout": Dropout} if column == 1 else {}
    have_values = SAME | IN_BOTH_LIBRARIES if column > 1 else SAME
    values = values_of("07_feed_forward", column, names, have_values.__contains__)
    if column > 1:
        averages = [names["batch_norm"].running_mean] if column == 2 else [names["batch_norm"].moving_mean]
        values["the moving mean"] = as_numpy(averages[0])
    return values


@pytest.mark.tensorflow
@pytest.mark.keras
def test_every_call_of_the_dictionary_runs_as_typed_and_gives_the_same():
    of_numpy, of_torch, of_keras = (run_column(column) for column in (1, 2, 3))
    assert set(of_numpy) == SAME
    for name in SAME:
        for values in (of_torch, of_keras):
            np.testing.assert_allclose(values[name], of_numpy[name], rtol=1e-4, atol=1e-4, err_msg=name)
    assert set(of_torch) == set(of_keras) == SAME | IN_BOTH_LIBRARIES | {"the moving mean"}
    for name in IN_BOTH_LIBRARIES | {"the moving mean"}:
        # in evaluation the stored variances differ: n - 1 and n
        np.testing.assert_allclose(of_keras[name], of_torch[name], rtol=2e-2, atol=1e-4, err_msg=name)


@pytest.mark.keras
def test_the_layer_norm_of_keras_is_loaded_with_all_of_its_arguments(tmp_path):
    norm = keras_parts.LayerNorm(4, eps=0.1, center=False, gamma_regularizer="l2")
    keras.Sequential([keras.Input((4,)), norm]).save(tmp_path / "norm.keras")
    loaded = keras.saving.load_model(tmp_path / "norm.keras").layers[0]
    assert (loaded.epsilon, loaded.center, len(loaded.losses)) == (0.1, False, 1)
