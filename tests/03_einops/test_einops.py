"""Chapter 03: patterns held against reshape and transpose and the libraries' own functions, and LeNet in the three tracks."""

import re

import einops
import keras
import numpy as np
import pytest
import sklearn.datasets
import torch
from bs4 import BeautifulSoup
from einops import EinopsError, rearrange, reduce
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops
from torch import nn
from torch.nn import functional as F

import shared.keras.einops as keras_track
import shared.numpy.einops as numpy_track
import shared.pytorch.einops as pytorch_track
from shared import digits, exercises, parity, side_by_side
from shared.arrays import as_numpy
from shared.data.letters import COLORS, GLYPHS, letters
from shared.frameworks.weights import get_weights, set_weights
from shared.numpy.training import AdamW, cross_entropy_backward, warmup_schedule
from shared.pytorch.training import cross_entropy as pytorch_cross_entropy

TRACKS = {"numpy": numpy_track, "pytorch": pytorch_track, "keras": keras_track}
EVERY = pytest.mark.parametrize("track", TRACKS)
SMALL = {"height": 8, "width": 12, "channels": 2, "num_classes": 3, "features": (3, 4, 6, 5)}


def tensor(track: str, array):
    return torch.tensor(array) if track == "pytorch" else array


def run(track: str, name: str, x: np.ndarray, *arguments) -> np.ndarray:
    return as_numpy(getattr(TRACKS[track], name)(tensor(track, x), *arguments))


def scrambled(module):
    """The module with every weight random, biases included."""
    rng = np.random.default_rng(7)
    set_weights(module, {name: rng.normal(scale=0.4, size=value.shape) for name, value in get_weights(module).items()})
    return module


def make(track: str, **more):
    network = TRACKS[track].LeNet(**{**SMALL, **more})
    if track == "pytorch":
        network.double()
    if track == "keras":
        network.build()
    return scrambled(network)


# The functions, element by element


def by_hand(name: str, x: np.ndarray, n: int | None = None) -> np.ndarray:
    """Every function again, one element at a time, from where each number has to go."""
    shape = x.shape
    if name in ("space_to_depth", "patches", "max_pool", "mean_pool"):
        b, h, w, c = shape[0], shape[1] // n, shape[2] // n, shape[3]
        y = np.zeros((b, h, w, n * n * c), x.dtype)
        for i, r, s, p, q, k in np.ndindex(b, h, w, n, n, c):
            y[i, r, s, (p * n + q) * c + k] = x[i, r * n + p, s * n + q, k]
        if name == "patches":
            return np.stack([[y[i, r, s] for r in range(h) for s in range(w)] for i in range(b)])
        if name.endswith("pool"):
            blocks = np.stack([y[..., k::c] for k in range(c)], axis=-1)  # (b, h, w, n * n, c)
            return blocks.max(axis=3) if name == "max_pool" else blocks.mean(axis=3)
        return y
    if name == "depth_to_space":
        b, h, w, c = shape[0], shape[1], shape[2], shape[3] // n**2
        y = np.zeros((b, h * n, w * n, c), x.dtype)
        for i, r, s, k in np.ndindex(y.shape):
            y[i, r, s, k] = x[i, r // n, s // n, ((r % n) * n + s % n) * c + k]
        return y
    if name == "split_heads":
        return np.stack([x[..., i * shape[2] // n : (i + 1) * shape[2] // n] for i in range(n)], axis=1)
    return np.concatenate([x[:, i] for i in range(shape[1])], axis=-1)  # merge_heads


CASES = [
    ("space_to_depth", (2, 6, 9, 2), 3),
    ("depth_to_space", (2, 3, 2, 18), 3),
    ("patches", (2, 6, 9, 2), 3),
    ("split_heads", (2, 5, 12), 3),
    ("merge_heads", (2, 3, 5, 4), None),
    ("max_pool", (2, 6, 9, 2), 3),
    ("mean_pool", (2, 6, 9, 2), 3),
]


@EVERY
@pytest.mark.parametrize(("name", "shape", "number"), CASES)
def test_functions_by_hand(track, name, shape, number, rng):
    x = rng.normal(size=shape).astype("float32")
    arguments = () if number is None else (number,)
    ours, expected = run(track, name, x, *arguments), by_hand(name, x, *arguments)
    assert ours.shape == expected.shape and ours.dtype == np.float32
    assert np.allclose(ours, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("name", "shape", "number"), CASES)
@pytest.mark.keras
def test_keras_functions_by_hand_with_symbolic_inputs(name, shape, number, rng):
    x = rng.normal(size=shape).astype("float32")
    arguments = () if number is None else (number,)
    inputs = keras.Input(shape[1:])
    model = keras.Model(inputs, getattr(keras_track, name)(inputs, *arguments))
    expected = by_hand(name, x, *arguments)
    assert model.output_shape == (None, *expected.shape[1:])
    assert np.allclose(as_numpy(model(x)), expected, rtol=0, atol=1e-6)


@EVERY
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_rearranging_keeps_the_dtype(track, dtype, rng):
    x = (100 * rng.normal(size=(2, 4, 6, 4))).astype(dtype)
    for name in ("space_to_depth", "depth_to_space", "patches"):
        assert run(track, name, x, 2).dtype == x.dtype


@EVERY
@settings(deadline=None, max_examples=8)
@given(sizes=st.tuples(*[st.integers(1, 3)] * 4), block=st.integers(1, 3), seed=st.integers(0, 99))
def test_what_is_folded_is_unfolded(track, sizes, block, seed):
    b, h, w, c = sizes
    x = np.random.default_rng(seed).normal(size=(b, h * block, w * block, c)).astype("float32")
    assert np.array_equal(run(track, "depth_to_space", run(track, "space_to_depth", x, block), block), x)
    y = x.reshape(b, h * w * block, block * c)
    assert np.array_equal(run(track, "merge_heads", run(track, "split_heads", y, block)), y)


def test_pytorch_functions_of_the_library():
    x = torch.randn(2, 8, 12, 4)
    front = rearrange(x, "b h w c -> b c h w")
    folded = pytorch_track.space_to_depth(x, 2)
    assert torch.equal(rearrange(folded, "b h w (p q c) -> b (c p q) h w", p=2, q=2), F.pixel_unshuffle(front, 2))
    assert torch.equal(
        rearrange(pytorch_track.patches(x, 4), "b n (p c) -> b (c p) n", c=4), F.unfold(front, 4, stride=4)
    )
    dealt = rearrange(x, "b h w (g c) -> b (c g) h w", g=2)
    assert torch.equal(dealt, nn.ChannelShuffle(2)(front))
    assert torch.equal(rearrange(pytorch_track.max_pool(x, 4), "b h w c -> b c h w"), F.max_pool2d(front, 4))
    assert torch.allclose(rearrange(pytorch_track.mean_pool(x, 4), "b h w c -> b c h w"), F.avg_pool2d(front, 4))


@pytest.mark.keras
def test_keras_functions_of_the_library(rng):
    x = rng.normal(size=(2, 8, 12, 3)).astype("float32")
    assert np.array_equal(as_numpy(keras_track.max_pool(x, 2)), as_numpy(keras.layers.MaxPooling2D(2)(x)))
    assert np.allclose(as_numpy(keras_track.mean_pool(x, 2)), as_numpy(keras.layers.AveragePooling2D(2)(x)), atol=1e-6)
    sequence = rearrange(as_numpy(keras_track.patches(x, 4)), "b (h w) d -> b h w d", h=2)
    assert np.allclose(sequence, as_numpy(ops.image.extract_patches(x, 4)), rtol=0, atol=1e-6)


@pytest.mark.tensorflow
def test_tensorflow_folds_in_the_same_order(rng):
    import tensorflow as tf

    x = rng.normal(size=(2, 8, 12, 3)).astype("float32")
    folded = keras_track.space_to_depth(x, 2)
    assert np.array_equal(as_numpy(folded), tf.nn.space_to_depth(x, 2))
    assert np.array_equal(tf.nn.depth_to_space(folded, 2), x)


# Patterns, read by our own program


@st.composite
def moves(draw):
    """A shape, a pattern that splits, drops or adds, reorders and merges, and the sizes that it needs."""
    sizes = {name: draw(st.integers(1, 3)) for name in "abcdef"[: draw(st.integers(1, 6))]}
    names = list(sizes)

    def side(order):
        """The names in their order, some of them in brackets together, and a 1 now and then."""
        written, shape, start = [], [], 0
        while start < len(order):
            group = order[start : start + draw(st.integers(1, 3))]
            start += len(group)
            written.append(group[0] if len(group) == 1 else f"({' '.join(group)})")
            shape.append(int(np.prod([sizes[name] for name in group])))
            if draw(st.integers(0, 5)) == 0:
                written.append("1")
                shape.append(1)
        return " ".join(written), shape

    left, shape = side(names)
    kept = draw(st.permutations(names))
    return shape, left, side, list(kept), sizes


@settings(deadline=None, max_examples=25)
@given(drawn=moves(), data=st.data())
def test_numpy_patterns_are_those_of_einops(drawn, data):
    shape, left, side, order, sizes = drawn
    x = np.random.default_rng(0).normal(size=shape)
    pattern = f"{left} -> {side(order)[0]}"
    ours = numpy_track.rearrange(x, pattern, **sizes)
    assert np.array_equal(ours, einops.rearrange(x, pattern, **sizes))
    kept = order[: data.draw(st.integers(0, len(order)))]
    pattern, back = f"{left} -> {side(kept)[0]}", f"{side(kept)[0]} -> {side(order)[0]}"
    for reduction in ("mean", "max", "min", "sum", "prod"):
        ours = numpy_track.reduce(x, pattern, reduction, **sizes)
        theirs = einops.reduce(x, pattern, reduction, **sizes)
        assert ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=0, atol=1e-12)
    y = np.random.default_rng(1).normal(
        size=numpy_track.reduce(x, f"{left} -> {back.split('->')[0]}", "sum", **sizes).shape
    )
    assert np.array_equal(numpy_track.repeat(y, back, **sizes), einops.repeat(y, back, **sizes))


@pytest.mark.parametrize(
    ("pattern", "shape"),
    [
        ("... a -> a ...", (2, 3, 4)),
        ("a ... b -> (a b) ...", (2, 3, 4, 5)),
        ("a ... -> (...) a", (2, 3, 4)),
        ("... -> (...)", (2, 3)),
        ("a ... b -> b ... a", (2, 3)),
        ("a () b -> (b a)", (2, 1, 3)),
        (" a  b->b   a ", (2, 3)),
    ],
)
def test_numpy_patterns_with_dots_and_odd_spaces(pattern, shape, rng):
    x = rng.normal(size=shape)
    assert np.array_equal(numpy_track.rearrange(x, pattern), einops.rearrange(x, pattern))


def test_numpy_reduce_and_repeat_give_arrays_of_their_own(rng):
    x = rng.normal(size=(2, 3))
    total = numpy_track.reduce(x, "a b ->", "sum")
    assert isinstance(total, np.ndarray) and total.shape == () and np.isclose(total, x.sum())
    copies = numpy_track.repeat(x, "a b -> n a b", n=2)
    copies[0] = 0
    assert copies[1].any() and x.all()


# Gradients


@pytest.mark.parametrize("seed", range(3))
def test_numpy_pooling_backward(seed):
    rng = np.random.default_rng(seed)
    x, grad_output = rng.normal(size=(2, 4, 6, 3)), rng.normal(size=(2, 2, 3, 3))
    z = torch.tensor(x, requires_grad=True)
    for name, ours in (
        ("max_pool", numpy_track.max_pool_backward(x, 2, grad_output)),
        ("mean_pool", numpy_track.mean_pool_backward(2, grad_output)),
    ):
        function = getattr(numpy_track, name)
        truth = parity.numerical_gradient(lambda: (function(x, 2) * grad_output).sum(), x)  # noqa: B023 - used at once
        assert np.allclose(ours, truth, rtol=0, atol=1e-8)
        (theirs,) = torch.autograd.grad(getattr(pytorch_track, name)(z, 2), z, torch.tensor(grad_output))
        assert np.allclose(ours, theirs, rtol=0, atol=1e-12)


def test_numpy_equal_maxima_share_as_in_torch(rng):
    x = rng.integers(0, 2, (3, 4, 6, 2)).astype(float)  # many equals
    grad_output = rng.normal(size=(3, 2, 3, 2))
    z = torch.tensor(x, requires_grad=True)
    (theirs,) = torch.autograd.grad(pytorch_track.max_pool(z, 2), z, torch.tensor(grad_output))
    ours = numpy_track.max_pool_backward(x, 2, grad_output)
    assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
    assert np.allclose(reduce(ours, "b (h p) (w q) c -> b h w c", "sum", p=2, q=2), grad_output, rtol=0, atol=1e-12)


def test_behind_relu_the_pattern_and_max_pool2d_have_one_gradient(rng):
    """What lets `LeNet` pool by each library's own layer: equal maxima are zeros there, and ReLU stops their gradient."""
    x = rng.normal(size=(3, 4, 6, 2)) - 1  # many negative, so that many squares are four zeros
    z = torch.tensor(x, requires_grad=True)
    y, grad_output = torch.relu(z), torch.tensor(rng.normal(size=(3, 2, 3, 2)))
    assert (reduce(y, "b (h p) (w q) c -> b h w c", "max", p=2, q=2) == 0).any()
    own = rearrange(torch.max_pool2d(rearrange(y, "b h w c -> b c h w"), 2), "b c h w -> b h w c")
    (of_pattern,) = torch.autograd.grad(pytorch_track.max_pool(y, 2), z, grad_output, retain_graph=True)
    (of_library,) = torch.autograd.grad(own, z, grad_output)
    assert torch.equal(of_pattern, of_library)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_equal_maxima_share_as_in_numpy(rng):
    import tensorflow as tf

    x = tf.constant(rng.integers(0, 2, (3, 4, 6, 2)).astype(float))
    grad_output = rng.normal(size=(3, 2, 3, 2))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = keras_track.max_pool(x, 2)
    ours = numpy_track.max_pool_backward(x.numpy(), 2, grad_output)
    assert np.allclose(tape.gradient(y, x, output_gradients=tf.constant(grad_output)), ours, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("pattern", "lengths"),
    [
        ("b h w c -> b (h w c)", {}),
        ("b (h p) (w q) c -> b h w (p q c)", {"p": 2, "q": 3}),
        ("... h w c -> ... c h w", {}),
        ("b h w c -> (c w) 1 (b h)", {}),
    ],
)
def test_numpy_rearrange_goes_back(pattern, lengths, rng):
    module, x = numpy_track.Rearrange(pattern, **lengths), rng.normal(size=(2, 4, 6, 3))
    z = torch.tensor(x, requires_grad=True)
    y = rearrange(z, pattern, **lengths)
    grad_output = rng.normal(size=y.shape)
    assert np.array_equal(module(x), y.detach())
    assert np.array_equal(module.backward(grad_output), torch.autograd.grad(y, z, torch.tensor(grad_output))[0])


def test_a_convolution_starts_uniform_up_to_the_limit_of_glorot():
    """Glorot & Bengio 2010, eq. 16, where a neighbour's channel counts as an input, and likewise as an output."""
    kernel = numpy_track.Convolution(30, 10, 5, rng=0).kernel.value
    limit = (6 / (5 * 5 * (30 + 10))) ** 0.5
    assert -limit <= kernel.min() < -0.99 * limit and 0.99 * limit < kernel.max() <= limit
    assert abs(kernel.std() / (limit / 3**0.5) - 1) < 0.02  # the standard deviation of a uniform distribution


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
def test_numpy_convolution_is_that_of_torch(kernel_size, rng):
    x = rng.normal(size=(2, 4, 6, 3))
    theirs = nn.Conv2d(3, 2, kernel_size, padding="same")
    twin = nn.Sequential()
    for name, module in (
        ("front", pytorch_track.Rearrange("b h w c -> b c h w")),
        ("convolution", theirs),
        ("back", pytorch_track.Rearrange("b c h w -> b h w c")),
    ):
        twin.add_module(name, module)

    class Named(numpy_track.Module):
        def __init__(self, inner):
            self.convolution = inner

        def forward(self, x):
            return self.convolution(x)

        def backward(self, grad_output):
            return self.convolution.backward(grad_output)

    parity.check_backward(
        Named(scrambled(numpy_track.Convolution(3, 2, kernel_size))),
        {"x": x},
        twin,
        closed_forms={"convolution.bias": lambda grad_output: grad_output.sum(axis=(0, 1, 2))},
    )


def test_pytorch_gradcheck():
    x = torch.randn(2, 4, 8, 4, dtype=torch.float64, requires_grad=True)
    for name in ("space_to_depth", "depth_to_space", "patches", "max_pool", "mean_pool"):
        assert torch.autograd.gradcheck(lambda z, name=name: getattr(pytorch_track, name)(z, 2), x, fast_mode=True)


# LeNet


@EVERY
def test_names_and_shapes_of_weights(track):
    network = make(track)
    weights = get_weights(network)
    expected = {
        "convolution_1.kernel": (3, 3, 2, 3), "convolution_1.bias": (3,),
        "convolution_2.kernel": (3, 3, 3, 4), "convolution_2.bias": (4,),
        "hidden_1.kernel": (2 * 3 * 4, 6), "hidden_1.bias": (6,),
        "hidden_2.kernel": (6, 5), "hidden_2.bias": (5,), "readout.kernel": (5, 3), "readout.bias": (3,),
    }  # fmt: skip
    assert {name: value.shape for name, value in weights.items()} == expected


def test_a_kernel_of_a_convolution_is_turned(rng):
    """Course layout (height, width, in, out): that of Keras; torch keeps (out, in, height, width)."""
    theirs = nn.Conv2d(2, 5, (3, 4))
    found = get_weights(nn.ModuleDict({"convolution": theirs}))
    assert set(found) == {"convolution.kernel", "convolution.bias"}
    kernel = found["convolution.kernel"]
    assert kernel.shape == (3, 4, 2, 5)
    assert np.array_equal(kernel[2, 1, 0], as_numpy(theirs.weight)[:, 0, 2, 1])
    layer = keras.layers.Conv2D(5, (3, 4), data_format="channels_last")
    layer.build((None, 8, 8, 2))
    set_weights(layer, {name.removeprefix("convolution."): value for name, value in found.items()})
    x = rng.normal(size=(2, 8, 8, 2)).astype("float32")
    ours = theirs(torch.tensor(x).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    assert np.allclose(as_numpy(layer(x)), as_numpy(ours), rtol=0, atol=1e-5)
    assert np.array_equal(get_weights(layer)["kernel"], kernel)


@EVERY
def test_a_network_sees_neighbourhoods_and_pools_them(track, rng):
    """The picture moved by 4 pixels moves what the stages give by 1: before the flattening, away from the edges."""
    network = make(track, height=16, width=16)
    x = np.zeros((2, 16, 16, 2))
    x[0, 4:8, 4:8] = x[1, 8:12, 4:8] = rng.normal(size=(4, 4, 2))
    if track == "numpy":
        y = x
        for convolution in (network.convolution_1, network.convolution_2):
            y = numpy_track.max_pool(np.maximum(convolution(y), 0), 2)
    elif track == "pytorch":
        z = network.channels_first(torch.tensor(x))
        for convolution in (network.convolution_1, network.convolution_2):
            z = network.pool(torch.relu(convolution(z)))
        y = as_numpy(rearrange(z, "b c h w -> b h w c"))
    else:
        y = as_numpy(network.pool(network.convolution_2(network.pool(network.convolution_1(x)))))
    assert y.shape == (2, 4, 4, 4)
    assert np.allclose(y[0, 1, 1:3], y[1, 2, 1:3], rtol=0, atol=1e-5) and np.abs(y[0] - y[1]).max() > 0.1


@EVERY
def test_pictures_of_a_batch_do_not_meet(track, rng):
    network, x = make(track), rng.normal(size=(4, 8, 12, 2))
    changed = x.copy()
    changed[2] += rng.normal(size=x.shape[1:])
    before, after = (as_numpy(network(tensor(track, each))) for each in (x, changed))
    moved = np.abs(before - after).max(axis=-1) > 1e-6
    assert moved.tolist() == [False, False, True, False]


@EVERY
def test_train_and_eval_are_one(track, rng):
    network, x = make(track), tensor(track, rng.normal(size=(2, 8, 12, 2)))
    if track == "keras":
        assert np.array_equal(as_numpy(network(x, training=True)), as_numpy(network(x)))
    else:
        assert np.array_equal(as_numpy(network.train()(x)), as_numpy(network.eval()(x)))


# Digits


@pytest.fixture(scope="module")
def data() -> digits.Digits:
    return digits.load()


def steps_of(data, epochs: int = 8) -> list[np.ndarray]:
    return digits.batches(len(data.x_train), 32, epochs, seed=1)


LENET = {"height": 8, "width": 8, "channels": 1, "num_classes": 10, "features": (16, 32, 120, 84)}


def test_numpy_reads_digits(data):
    network = numpy_track.LeNet(**LENET, rng=1).astype(np.float32)
    steps = steps_of(data)
    optimizer = AdamW(network, warmup_schedule(5e-3, 50, len(steps)), weight_decay=0.1)
    for rows in steps:
        logits = network(data.x_train[rows])
        optimizer.zero_grad()
        network.backward(cross_entropy_backward(logits, data.y_train[rows], label_smoothing=0.1))
        optimizer.step()
    assert (network(data.x_test).argmax(axis=-1) == data.y_test).mean() > 0.96


def test_pytorch_reads_digits(data):
    network = pytorch_track.LeNet(**LENET)
    x_train, y_train, x_test, y_test = map(torch.from_numpy, data)
    steps = steps_of(data)
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-3, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup_schedule(1.0, 50, len(steps)))
    for rows in steps:
        loss = pytorch_cross_entropy(network(x_train[rows]), y_train[rows], label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    assert (network(x_test).argmax(dim=-1) == y_test).double().mean() > 0.96


@pytest.mark.keras
def test_keras_trains_a_little(data):
    network = keras_track.LeNet(**LENET)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    in_jax = keras.backend.backend() == "jax"  # which is slower without, and TensorFlow with
    network.compile(keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"], jit_compile=in_jax)
    network.fit(data.x_train, data.y_train, batch_size=64, epochs=4, verbose=0)
    assert network.evaluate(data.x_test, data.y_test, verbose=0)[1] > 0.85


def test_digits_are_those_of_scikit_learn(data):
    pictures = sklearn.datasets.load_digits()
    assert data.x_train.shape == (1437, 8, 8, 1) and data.x_test.shape == (360, 8, 8, 1)
    assert data.x_train.dtype == np.float32 and data.x_train.min() == 0 and data.x_train.max() == 1
    known = {(image.tobytes(), int(label)) for image, label in zip(pictures.images, pictures.target)}
    for x, y in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        assert {((16.0 * image[..., 0].astype(float)).tobytes(), int(label)) for image, label in zip(x, y)} <= known
    train, test = ({image.tobytes() for image in part} for part in (data.x_train, data.x_test))
    assert not train & test and len(train) + len(test) == len({image.tobytes() for image in pictures.images})
    again = digits.load()
    assert all(map(np.array_equal, again, data))


def test_batches_use_each_example_once_an_epoch():
    steps = digits.batches(10, 3, 4)
    assert len(steps) == 12 and all(len(step) == 3 for step in steps)
    epochs = [np.concatenate(steps[i : i + 3]) for i in range(0, 12, 3)]
    assert all(len(set(epoch)) == 9 and set(epoch) <= set(range(10)) for epoch in epochs)
    assert not np.array_equal(epochs[0], epochs[1])
    assert not np.array_equal(steps[0], digits.batches(10, 3, 4, seed=1)[0])


# Letters


def test_letters():
    x = letters("TENSOR")
    assert x.shape == (6, 16, 12, 3) and x.dtype == np.float32 and x.min() >= 0 and x.max() <= 1
    dark = (x[0] == np.array(COLORS[0][1], np.float32) / 255).all(axis=-1)
    assert dark[1:3, 1:11].all() and dark[3:15, 5:7].all() and dark.sum() == 20 + 24  # a T
    assert np.array_equal(letters("tensor"), x)
    assert len({picture.tobytes() for picture in letters("AAAAAA")}) == 6  # each in other colors
    assert sorted(GLYPHS) == list("ABCDEFGHIJKLMNOPQRSTUVWXYZ") and len(set(GLYPHS.values())) == 26
    assert all([len(row) for row in glyph.split()] == [5] * 7 and set(glyph) <= set("#. ") for glyph in GLYPHS.values())


def test_a_dictionary_never_breaks_a_pattern():
    entry = ('rearrange(x, "b h w c -> b (h w c)")', "x.reshape(6, -1)", "x.flatten(1)", "ops.reshape(x, (6, -1))")
    page = BeautifulSoup(side_by_side.dictionary([entry, entry]).data, "html.parser")
    assert page.table["aria-label"].startswith("2 patterns")
    head, pattern, calls, *_ = page.select("tr")
    assert [cell.text for cell in head.select("th")] == ["NumPy", "PyTorch", "Keras"]
    assert pattern.th["colspan"] == "3" and pattern.text == entry[0] and "white-space:pre;" in pattern.pre["style"]
    assert [cell.text for cell in calls.select("td")] == list(entry[1:])
    assert len(page.select("tr")) == 5 and not page.select("style, [class]")


# Pitfalls


@EVERY
def test_a_transposition_is_no_reshape(track):
    """The mistake that keeps the shape: every function that moves axes gives something else than a reshape."""
    x = letters("TENSOR")
    for name, number in (("space_to_depth", 2), ("patches", 4)):
        ours = run(track, name, x, number)
        assert not np.array_equal(ours, x.reshape(ours.shape))
    y = x.reshape(6, 16, 36)
    assert not np.array_equal(run(track, "split_heads", y, 4), y.reshape(6, 4, 16, 9))


@EVERY
def test_heads_are_neighbouring_features(track):
    x = np.arange(12.0).reshape(1, 2, 6)
    assert run(track, "split_heads", x, 3)[0, 1].tolist() == [[2, 3], [8, 9]]


def test_pytorch_flattening_order_matters(data):
    """(c h w), which nn.Flatten reads, is another network with the same weights."""
    network = pytorch_track.LeNet(**LENET)
    x = torch.from_numpy(data.x_test)
    before = network(x)
    network.flatten = nn.Flatten()
    assert network(x).shape == before.shape and not torch.allclose(network(x), before, atol=1e-3)


# Keras: layers, models, saving


LAYERS = {
    "flatten": (lambda: keras_track.Rearrange("b h w c -> b (h w c)", name="flatten"), (None, 8, 6, 2), (None, 96)),
    "patches": (
        lambda: keras_track.Rearrange("b (h p) (w q) c -> b (h w) (p q c)", p=2, q=2),
        (None, None, 6, 2),
        (None, None, 8),
    ),
    "split": (lambda: keras_track.Rearrange("(b s) h w c -> b s h w c", s=3), (None, 8, 6, 2), (None, 3, 8, 6, 2)),
    "pool": (
        lambda: keras_track.Reduce("b (h p) (w q) c -> b h w c", "max", p=2, q=2),
        (None, 8, None, 2),
        (None, 4, None, 2),
    ),
    "mean": (lambda: keras_track.Reduce("b ... c -> b c", "mean"), (None, 8, 6, 2), (None, 2)),
}


@pytest.mark.parametrize(("layer", "shape", "expected"), LAYERS.values(), ids=LAYERS)
@pytest.mark.keras
def test_keras_shapes_are_known_before_the_call(layer, shape, expected, rng):
    layer = layer()
    assert layer.compute_output_shape(shape) == expected
    outputs = layer(keras.Input(shape[1:]))
    assert outputs.shape == expected and outputs.dtype == "float32"
    x = rng.normal(size=(6, 8, 6, 2)).astype("float32")
    result = as_numpy(layer(x))
    assert all(known in (None, size) for known, size in zip(expected, result.shape))
    reduction = getattr(layer, "reduction", None)
    own = (
        reduce(x, layer.pattern, reduction, **layer.axes_lengths)
        if reduction
        else rearrange(x, layer.pattern, **layer.axes_lengths)
    )
    assert np.allclose(result, own, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("layer", "shape", "expected"), LAYERS.values(), ids=LAYERS)
@pytest.mark.keras
def test_keras_get_config_round_trip(layer, shape, expected):
    layer = layer()
    config = layer.get_config()
    through = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert type(through) is type(layer) and through.get_config() == config and through.name == layer.name
    assert through.compute_output_shape(shape) == expected


@pytest.mark.keras
def test_keras_layers_keep_the_dtype():
    has_float64 = keras.backend.backend() != "jax"  # which makes float32 of it
    for dtype in ("int32", "float16", *["float64"] * has_float64):
        layer = keras_track.Rearrange("b n -> n b")
        assert layer(keras.Input((3,), dtype=dtype)).dtype == dtype
        assert keras.backend.standardize_dtype(layer(np.ones((2, 3), dtype)).dtype) == dtype


@pytest.mark.keras
@pytest.mark.parametrize(
    "layer", [lambda: keras_track.Rearrange("b n d -> b d n"), lambda: keras_track.Reduce("b n d -> b d", "mean")]
)
def test_keras_layers_drop_a_mask_and_keras_says_so(layer):
    vectors = keras.layers.Embedding(3, 4, mask_zero=True)(np.array([[1, 2, 0]]))
    with pytest.warns(UserWarning, match="destroy the mask"):
        y = layer()(vectors)
    assert getattr(y, "_keras_mask", None) is None


@pytest.mark.keras
def test_keras_save_and_load_without_custom_objects(tmp_path, rng):
    """In a Python that has imported the module, and gives no custom_objects."""
    x = rng.normal(size=(3, 8, 12, 2)).astype("float32")
    inputs = keras.Input((8, 12, 2))
    functional = keras.Model(
        inputs, keras.layers.Dense(3)(keras_track.mean_pool(keras_track.space_to_depth(inputs, 2), 2))
    )
    for model in (make("keras", name="digits"), functional):
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert np.array_equal(as_numpy(loaded(x)), as_numpy(model(x)))
        assert loaded.name == model.name


@pytest.mark.tensorflow
def test_layers_of_einops_are_not_loaded(tmp_path):
    """Why the chapter has its own; if this fails, einops' own have become good enough."""
    from einops.layers.keras import Rearrange, keras_custom_objects

    model = keras.Sequential([keras.Input((2, 3)), Rearrange("b n d -> b (n d)", n=2, d=3)])
    model.save(tmp_path / "model.keras")
    with pytest.raises(TypeError, match="could not be deserialized"):
        keras.saving.load_model(tmp_path / "model.keras")
    assert keras.saving.load_model(tmp_path / "model.keras", custom_objects=keras_custom_objects).output_shape == (
        None,
        6,
    )


@keras.saving.register_keras_serializable(package="test_einops")
def flat(x):
    return rearrange(x, "b n d -> b (n d)")


@pytest.mark.keras
def test_a_lambda_layer_loads_with_a_registered_function_alone(tmp_path):
    """What the Keras notebook says beside its own layer."""
    for function, loads in ((flat, True), (lambda x: rearrange(x, "b n d -> b (n d)"), False)):
        keras.Sequential([keras.Input((2, 3)), keras.layers.Lambda(function)]).save(tmp_path / "model.keras")
        if loads:
            assert keras.saving.load_model(tmp_path / "model.keras").output_shape == (None, 6)
        else:
            with pytest.raises(ValueError, match="lambda"):
                keras.saving.load_model(tmp_path / "model.keras")


# What the Keras notebook says of Keras' own function, on every backend. If one of these fails, it has become better.


CUT = "b (h p) (w q) c -> b (h w) (p q c)"


class Cut(keras.layers.Layer):
    def __init__(self, **sizes):
        super().__init__()
        self.sizes = sizes

    def call(self, x):
        return ops.rearrange(x, CUT, **self.sizes)


@pytest.mark.keras
def test_keras_ops_rearrange_is_that_of_einops(rng):
    x = rng.normal(size=(2, 8, 12, 3)).astype("float32")
    theirs = as_numpy(ops.rearrange(ops.convert_to_tensor(x), CUT, p=4, q=4))
    assert np.array_equal(theirs, rearrange(x, CUT, p=4, q=4))
    assert as_numpy(ops.rearrange(x, "b h w c -> b c h w", c=7)).shape == (2, 3, 8, 12)  # c=7 is not looked at
    assert not hasattr(ops, "reduce")


@pytest.mark.keras
def test_keras_ops_rearrange_needs_a_known_batch():
    assert ops.rearrange(keras.Input((8, 12, 3), batch_size=2), CUT, p=4, q=4).shape == (2, 6, 48)
    with pytest.raises(TypeError):
        ops.rearrange(keras.Input((8, 12, 3)), CUT, p=4, q=4)
    assert Cut(h=2, w=3, p=4, q=4)(keras.Input((8, 12, 3))).shape == (None, 6, 48)
    if keras.backend.backend() == "jax":
        with pytest.raises(TypeError):
            Cut(p=4, q=4)(keras.Input((8, 12, 3)))
    else:
        assert Cut(p=4, q=4)(keras.Input((8, 12, 3))).shape == (None, 6, 48)


@pytest.mark.keras
@pytest.mark.parametrize("pattern", ["a b c -> a 1 b c", "... c -> c ..."])
def test_keras_ops_rearrange_reads_names_and_brackets_alone(pattern):
    with pytest.raises(Exception):  # noqa: B017 (each backend has another)
        ops.rearrange(ops.ones((2, 3, 4)), pattern)


# Exercises


def test_a_height_in_pixels_gets_advice():
    def images(sequence, size, height):
        return rearrange(sequence, "b (h w) (p q c) -> b (h p) (w q) c", h=height, p=size, q=size)

    verdict, message = exercises.judge("03.2", images)
    assert verdict == "wrong" and "not rows of pixels" in message


@pytest.mark.tensorflow
def test_a_mask_that_stays_bool_is_named():
    def counted(x, mask):
        return ops.sum(x * mask[:, :, None], axis=1) / ops.sum(mask, axis=1)[:, None]

    def multiplied(x, mask):
        return ops.sum(ops.multiply(x, mask[:, :, None]), axis=1) / ops.sum(mask, axis=1)[:, None]

    assert exercises.judge("03.7", counted)[1].startswith("close. The mask is bool")
    assert "The mask is bool" in exercises.judge("03.7", multiplied)[1]


# Bad input


FLOATS = np.random.default_rng(0).normal(size=(2, 6, 9, 4)).astype("float32")
PATTERNS = [  # of x with the shape (2, 3, 4)
    ("a b c", {}, "pattern"),
    ("a b -> b a", {}, "pattern"),
    ("a b c -> a b", {}, "pattern"),
    ("a b c -> a b c d", {"d": 2}, "pattern"),
    ("a b c -> a b c d", {}, "d"),
    ("a b c -> c b a", {"e": 2}, "e"),
    ("a b (c d) -> a b c d", {}, "c, d"),
    ("a b (c d) -> a b c d", {"c": 3}, "c"),
    ("a b (c d) -> a b c d", {"c": 2, "d": 3}, "d"),
    ("a b (c d) -> a b c d", {"c": 0}, "c"),
    ("a 1 c -> a c", {}, "1"),
    ("a a c -> a c", {}, "pattern"),
    ("a (b c -> a b c", {}, "pattern"),
    ("a b 2 -> a b 2", {}, "pattern"),
    ("a b c -> a b c -> a", {}, "pattern"),
]


def refused(call, error, name):
    with pytest.raises(error, match=rf"^[^;]*\b{re.escape(name)}(?!\w)"):  # other arrays stand behind a semicolon
        call()


@pytest.mark.parametrize("track", ["numpy", "pytorch", pytest.param("keras", marks=pytest.mark.keras)])
def test_sizes_that_divide_no_axis_are_refused(track):
    module, floats = TRACKS[track], tensor(track, FLOATS)
    tall = tensor(track, FLOATS.swapaxes(1, 2))  # 2 divides its width alone, as it divides the height alone of floats
    for name, size in (("space_to_depth", "block"), ("patches", "size"), ("max_pool", "size"), ("mean_pool", "size")):
        for x in (floats, tall):
            refused(lambda name=name, x=x: getattr(module, name)(x, 2), ValueError, f"{size}=2")
    refused(lambda: module.depth_to_space(floats, 3), ValueError, "block * block")
    refused(lambda: module.split_heads(floats[0], 3), ValueError, "num_heads")


@pytest.mark.parametrize(("pattern", "sizes", "name"), PATTERNS)
def test_patterns_that_fit_no_array_are_refused(pattern, sizes, name):
    refused(lambda: numpy_track.rearrange(np.zeros((2, 3, 4)), pattern, **sizes), ValueError, name)


def lenet(**wrong):
    return numpy_track.LeNet(**{**SMALL, **wrong})


def after_forward(module, *shape):
    module(np.zeros(shape))
    return module


REFUSED = [
    (lambda: lenet(height=6), ValueError, "height"),
    (lambda: lenet(width=10), ValueError, "width"),
    (lambda: lenet(features=(1, 2, 3)), ValueError, "features"),
    (lambda: lenet(features=6), TypeError, "features"),
    (lambda: lenet(features=(6, 16, 0, 84)), ValueError, "features[2]"),
    (lambda: numpy_track.reduce(np.zeros((2, 3)), "a b -> a", "median"), ValueError, "reduction"),
    (lambda: numpy_track.reduce(np.zeros((2, 3)), "a b -> a c", "sum", c=2), ValueError, "pattern"),
    (lambda: numpy_track.repeat(np.zeros((2, 3)), "a b -> a c", c=2), ValueError, "pattern"),
    (lambda: numpy_track.rearrange([1, 2], "a -> a"), TypeError, "x"),
    (lambda: numpy_track.rearrange(np.zeros((2, 3)), "a b -> b a", a=2.0), TypeError, "a"),
    (lambda: numpy_track.rearrange(np.zeros((2, 3)), None), TypeError, "pattern"),
    (lambda: numpy_track.Rearrange(3), TypeError, "pattern"),
    (
        lambda: after_forward(numpy_track.Rearrange("a b -> b a"), 2, 3).backward(np.ones((2, 3))),
        TypeError,
        "grad_output",
    ),
    (lambda: numpy_track.Convolution(2, 3, 4), ValueError, "kernel_size"),
    (lambda: numpy_track.mean_pool_backward(0, FLOATS), ValueError, "size"),
    (lambda: numpy_track.mean_pool_backward(2, FLOATS[0]), TypeError, "grad_output"),
    (lambda: numpy_track.max_pool_backward(FLOATS, 3, FLOATS), TypeError, "grad_output"),
    (lambda: keras_track.Rearrange(None), TypeError, "pattern"),
    (lambda: keras_track.Reduce("a b -> a", "median"), ValueError, "reduction"),
    (lambda: keras_track.Reduce(4, "max"), TypeError, "pattern"),
    (lambda: letters(""), ValueError, "text"),
    (lambda: letters("Ä"), ValueError, "text"),
    (lambda: letters(3), TypeError, "text"),
    (lambda: side_by_side.dictionary([]), ValueError, "entries"),
    (lambda: side_by_side.dictionary([("a", "b", "c")]), ValueError, "entries"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    refused(call, error, name)


@pytest.mark.keras
@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: keras_track.LeNet(**SMALL)(keras.Input((8, 8, 2))), TypeError, "x"),
        (lambda: keras_track.space_to_depth(keras.Input((8, 9, 2)), 3), ValueError, "block"),
        (lambda: keras_track.Rearrange("b (h p) w c -> b h p w c", p=3)(keras.Input((8, 9, 2))), EinopsError, "axis"),
    ],
)
def test_keras_wrong_wiring_is_found_before_the_call(call, error, name):
    with pytest.raises(error, match=rf"\b{name}\b"):
        call()


@pytest.mark.parametrize(("pattern", "sizes"), [("axis_0 ... -> ... axis_0", {}), ("a (x y) z -> x z (a y)", {"x": 3})])
def test_names_of_axes_do_not_collide_with_those_of_the_program(pattern, sizes):
    x = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(numpy_track.rearrange(x, pattern, **sizes), einops.rearrange(x, pattern, **sizes))


@pytest.mark.keras
@pytest.mark.parametrize("dtype", ["float64", "mixed_bfloat16"])
def test_keras_every_part_of_lenet_has_its_dtype(dtype):
    model = keras_track.LeNet(**SMALL, dtype=dtype)
    assert len(model.layers) == 7 and {layer.dtype_policy.name for layer in model.layers} == {dtype}
