"""Chapter 01: the engine against finite differences and PyTorch, and `gradient` and `graph` in the three tracks."""

import re
import sys

import keras
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes
from keras import ops

import shared.keras.autograd as keras_track
import shared.numpy.autograd as numpy_track
import shared.pytorch.autograd as pytorch_track
from shared import housing, parity
from shared.arrays import as_numpy
from shared.numpy.autograd import Tensor, no_grad, topological_order, unbroadcast
from shared.numpy.models import MLP, mlp, mlp_backward

TRACKS = {"numpy": numpy_track, "pytorch": pytorch_track, "keras": keras_track}
examples = settings(deadline=None, max_examples=30)
SHAPES = array_shapes(min_dims=0, max_dims=2, max_side=3)
SEEDS = st.integers(0, 2**16)


def check(ours, theirs, *operands):
    """Hold the gradient of an operation, for a random upstream gradient, against finite differences and PyTorch's autograd."""
    value = ours(*map(Tensor, operands))
    tensors = [torch.tensor(operand, requires_grad=True) for operand in operands]
    reference = theirs(*tensors)
    assert value.shape == tuple(reference.shape)
    assert np.allclose(value.value, reference.detach().numpy(), rtol=1e-12, atol=1e-12)
    upstream = np.asarray(np.random.default_rng(1).normal(size=value.shape))
    reference.backward(torch.tensor(upstream))
    leaves = [Tensor(operand) for operand in operands]
    ours(*leaves).backward(upstream)
    for leaf, operand, tensor in zip(leaves, operands, tensors):
        assert isinstance(leaf.grad, np.ndarray) and leaf.grad.shape == operand.shape
        moved = parity.numerical_gradient(lambda: float((ours(*map(Tensor, operands)).value * upstream).sum()), operand)
        assert np.allclose(leaf.grad, moved, rtol=1e-6, atol=1e-7)
        assert np.allclose(leaf.grad, tensor.grad.numpy(), rtol=1e-12, atol=1e-12)


# Every operation, with shapes that broadcast

BINARY = {
    "add": (lambda a, b: a + b,) * 2,
    "subtract": (lambda a, b: a - b,) * 2,
    "multiply": (lambda a, b: a * b,) * 2,
    "divide": (lambda a, b: a / b,) * 2,
    "maximum": (numpy_track.maximum, torch.maximum),
}


@pytest.mark.parametrize("name", BINARY)
@examples
@given(shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), seed=SEEDS)
def test_binary_operations(name, shapes, seed):
    rng = np.random.default_rng(seed)
    a, b = (np.asarray(rng.normal(size=shape)) for shape in shapes.input_shapes)
    if name == "divide":
        b = np.asarray(np.sign(b) * (0.5 + np.abs(b)))
    check(*BINARY[name], a, b)


@examples
@given(
    batch=mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3),
    sizes=st.tuples(*[st.integers(1, 3)] * 3),
    seed=SEEDS,
)
def test_matmul(batch, sizes, seed):
    rng, (n, k, m) = np.random.default_rng(seed), sizes
    a, b = batch.input_shapes
    check(lambda a, b: a @ b, lambda a, b: a @ b, rng.normal(size=(*a, n, k)), rng.normal(size=(*b, k, m)))


UNARY = {
    "exp": lambda x: x.exp(),
    "log": lambda x: x.log(),
    "tanh": lambda x: x.tanh(),
    "relu": lambda x: x.relu(),
    "negative": lambda x: -x,
    "square": lambda x: x * x,
    "diamond": lambda x: (x * x + x) * (x - 2) + x,
    "constants on the left": lambda x: 2 - 3 / x + 4 * x + (1 + x),
    "constants on the right": lambda x: (x - 2) / 3 * 4 + 1,
}


@pytest.mark.parametrize("name", UNARY)
@examples
@given(shape=SHAPES, seed=SEEDS)
def test_unary_operations(name, shape, seed):
    x = np.asarray(np.random.default_rng(seed).uniform(0.5, 2, shape))
    check(UNARY[name], UNARY[name], x if name == "log" or "constants" in name else np.asarray(x - 1.23))


@pytest.mark.parametrize("exponent", [-1, 0, 0.5, 1, 2, 3, -2.5])
def test_power(exponent, rng):
    check(lambda x: x**exponent, lambda x: x**exponent, rng.uniform(0.5, 2, (2, 3)))


def test_power_of_zero():
    with np.errstate(all="raise"):
        for exponent, expected in ((0, 0), (1, 1), (2, 0)):
            assert numpy_track.gradient(lambda x, n=exponent: x**n, np.array(0.0)) == expected


@examples
@given(data=st.data(), shape=array_shapes(min_dims=1, max_dims=3, max_side=3), keepdims=st.booleans(), seed=SEEDS)
def test_reductions(data, shape, keepdims, seed):
    x = np.random.default_rng(seed).permutation(int(np.prod(shape))).reshape(shape) / 4  # no ties
    axes = st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, unique_by=lambda axis: axis % len(shape))
    axis = data.draw(st.none() | st.integers(-len(shape), len(shape) - 1) | axes.map(tuple))
    everything = tuple(range(len(shape)))
    for name, theirs in (("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax)):
        check(
            lambda x, name=name: getattr(x, name)(axis=axis, keepdims=keepdims),
            lambda x, theirs=theirs: theirs(x, dim=everything if axis is None else axis, keepdim=keepdims),
            x,
        )


def test_arrays_and_numbers_as_the_other_operand(rng):
    array, square = rng.uniform(1, 2, (4, 3)), rng.normal(size=(3, 3))
    other = torch.from_numpy(array)
    x = rng.uniform(1, 2, 3)
    check(lambda x: array + x, lambda x: other + x, x)
    check(lambda x: array - x, lambda x: other - x, x)
    check(lambda x: array * x, lambda x: other * x, x)
    check(lambda x: array / x, lambda x: other / x, x)
    check(lambda x: x / array, lambda x: x / other, x)
    check(lambda x: array @ x, lambda x: other @ x, square)
    check(lambda x: x @ array.T, lambda x: x @ other.T, square)
    check(lambda x: np.float64(2.5) * x - np.arange(3), lambda x: 2.5 * x - torch.arange(3), x)


INDICES = [
    1,
    -1,
    slice(None, None, 2),
    (slice(None), 0),
    (..., None, slice(1, 3)),
    np.array([0, 2, 0, 0]),  # one row three times
    (np.array([0, 1, 1]), np.array([2, 0, 0])),
    np.array([True, False, True]),
    (np.array([[0, 1], [2, 0]]), slice(0, 2)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_select(index, rng):
    x = rng.normal(size=(3, 4, 2))
    theirs = torch.from_numpy(index) if isinstance(index, np.ndarray) else index
    check(lambda x: x[index], lambda x: x[theirs], x)


def test_an_element_picked_twice_gets_both_gradients():
    found = numpy_track.gradient(lambda x: (x[np.array([0, 0, 2])] * np.array([1.0, 10.0, 100.0])).sum(), np.zeros(3))
    assert found.tolist() == [11, 0, 100]


def test_shapes(rng):
    x = rng.normal(size=(2, 3, 4))
    check(lambda x: x.reshape(4, -1), lambda x: x.reshape(4, -1), x)
    check(lambda x: x.reshape((6, 4)), lambda x: x.reshape(6, 4), x)
    check(lambda x: x.reshape(-1), lambda x: x.reshape(-1), x)
    for axes in ((0, 2, 1), (2, 0, 1), (1, 2, 0), (-1, 0, 1), (0, -1, 1)):
        check(lambda x, axes=axes: x.transpose(*axes), lambda x, axes=axes: x.permute(*axes), x)
    check(lambda x: x.T, lambda x: x.permute(2, 1, 0), x)
    check(lambda x: x.transpose(), lambda x: x.permute(2, 1, 0), x)
    check(lambda x: (x.T @ x.T[0]).T, lambda x: (x.permute(2, 1, 0) @ x.permute(2, 1, 0)[0]).permute(2, 1, 0), x[:, :2])


def test_ties_are_shared_as_in_pytorch():
    x = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, 0.0, 5.0]])
    other = np.array([[1.0, 0.0, 3.0], [2.0, 9.0, 2.0], [0.0, 1.0, 5.0]])

    def torch_gradient(function, *arrays):
        leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
        (function(*leaves) * torch.arange(1.0, 4.0)).sum().backward()
        return [leaf.grad.numpy() for leaf in leaves]

    upstream = np.arange(1.0, 4.0)
    ours = numpy_track.gradient(lambda x: (x.max(axis=1) * upstream).sum(), x)
    assert np.allclose(ours, torch_gradient(lambda x: x.amax(1), x)[0])
    both = numpy_track.gradient(lambda a, b: (numpy_track.maximum(a, b) * upstream).sum(), x, other)
    for mine, theirs in zip(both, torch_gradient(torch.maximum, x, other)):
        assert np.array_equal(mine, theirs)
    assert numpy_track.gradient(lambda x: x.relu().sum(), np.array([-1.0, 0.0, 1.0])).tolist() == [0, 0, 1]


# Broadcasting, backwards


@examples
@given(shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3), seed=SEEDS)
def test_unbroadcast_is_the_transpose_of_broadcasting(shapes, seed):
    rng = np.random.default_rng(seed)
    shape, stretched = shapes.input_shapes[0], shapes.result_shape
    x, gradient = np.asarray(rng.normal(size=shape)), np.asarray(rng.normal(size=stretched))
    back = unbroadcast(gradient, shape)
    assert back.shape == shape
    assert np.isclose((np.broadcast_to(x, stretched) * gradient).sum(), (x * back).sum())


def test_a_bias_gets_a_gradient_of_its_own_shape(rng):
    x = rng.normal(size=(4, 5, 3))
    for shape in ((3,), (1, 3), (5, 1), (4, 1, 1), ()):
        bias = np.asarray(rng.normal(size=shape))
        for track, function in (
            ("numpy", lambda b: ((x + b) ** 2).sum()),
            ("pytorch", lambda b: ((torch.from_numpy(x) + b) ** 2).sum()),
        ):
            found = as_numpy(TRACKS[track].gradient(function, torch.tensor(bias) if track == "pytorch" else bias))
            assert found.shape == shape and np.allclose(found, unbroadcast(2 * (x + bias), shape))


# The walk


def test_a_hundred_thousand_operations():
    end = begin = Tensor(1.0)
    for _ in range(100_000):
        end = end * 1.0
    assert 100_000 > 10 * sys.getrecursionlimit()
    end.backward()
    assert begin.grad == 1
    del end  # and the record goes without recursion, too


def test_every_tensor_is_visited_once_whatever_the_number_of_paths():
    x = y = Tensor(1.0)
    for _ in range(60):
        y = y + y  # two paths each: 2**60 in all
    assert len(topological_order(y)) == 61
    y.backward()
    assert x.grad == 2.0**60


def test_operands_stand_before_what_was_made_of_them(rng):
    made = [Tensor(rng.normal(size=3)) for _ in range(4)]
    for _ in range(60):
        a, b = rng.integers(0, len(made), 2)
        made.append(made[a] + made[b])
    order = topological_order(made[-1])
    index = {id(tensor): i for i, tensor in enumerate(order)}
    assert order[-1] is made[-1] and len(index) == len(order)
    assert all(index[id(operand)] < index[id(tensor)] for tensor in order for operand, _ in tensor.operands)


def test_gradients_add_up_and_a_second_walk_is_not_fed_by_the_first():
    w = Tensor(np.array([1.0, 2.0]))
    loss = 3 * (w * w).sum()
    loss.backward()
    assert w.grad.tolist() == [6, 12]
    loss.backward()
    assert w.grad.tolist() == [12, 24]
    (w * w).sum().backward()
    assert w.grad.tolist() == [14, 28]
    assert loss.grad is None  # only leaves keep theirs


def test_gradients_are_arrays_of_their_own():
    a, b, upstream = Tensor(np.zeros(3)), Tensor(np.zeros(3)), np.ones(3)
    (a + b).backward(upstream)
    a.grad *= 10  # as clipping does
    assert b.grad.tolist() == upstream.tolist() == [1, 1, 1]
    b.sum().backward()
    b.grad[:] = 7  # a broadcast view could not be written to
    assert upstream.tolist() == [1, 1, 1]
    c = Tensor(np.zeros((2, 2)))
    c.sum().backward()
    c.grad += 1
    assert c.grad.tolist() == [[2, 2], [2, 2]]


def test_an_upstream_gradient():
    x = Tensor(np.array([1.0, 2.0]))
    (x**2).backward(np.array([10.0, 100.0]))
    assert x.grad.tolist() == [20, 400]
    x = Tensor(np.array([[1.0]]))
    (x**2).backward(np.array([[3]]))  # whole numbers will do
    assert x.grad.tolist() == [[6]] and x.grad.dtype == np.float64


def test_a_leaf_can_be_the_result():
    x = Tensor(2.0)
    x.backward()
    assert x.grad == 1 and numpy_track.gradient(lambda x: x, np.array(3.0)) == 1


# What is recorded


def test_no_grad_records_nothing_and_ends():
    x = Tensor(np.ones(2))
    with no_grad():
        with no_grad():
            inner = x * 2
        outer = x * 3
    after = x * 4
    assert not inner.requires_grad and not outer.requires_grad and inner.operands == ()
    assert after.requires_grad and after.operands[0][0] is x
    with pytest.raises(RuntimeError), no_grad():
        raise RuntimeError
    assert (x * 5).requires_grad
    with no_grad():
        assert numpy_track.gradient(lambda x: (x * x).sum(), np.ones(2)).tolist() == [2, 2]
        assert not (x * 2).requires_grad


def test_constants_get_no_gradient():
    x, constant = Tensor(np.array([1.0, 2.0])), Tensor(np.array([3.0, 4.0]), requires_grad=False)
    (x * constant * x.detach()).sum().backward()
    assert x.grad.tolist() == [3, 8] and constant.grad is None
    assert x.detach().value is x.value and not x.detach().requires_grad
    assert not (constant * 2).requires_grad


def test_a_cut_path_is_missing_and_a_cut_graph_is_zero():
    x = np.array([1.0, 2.0])
    assert numpy_track.gradient(lambda x: (x * x.value).sum(), x).tolist() == [1, 2]
    assert numpy_track.gradient(lambda x: (x.detach() * x.detach()).sum(), x).tolist() == [0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_stays(dtype):
    x = Tensor(np.array([[0.5, 1.5], [2.5, 1.5]], dtype=dtype))
    y = ((2 * x - 1) / 3 + np.float64(4)).tanh().exp().log().relu() ** 0.5
    y = numpy_track.maximum(y @ x, 0.1).max(axis=1) + np.array(7) + y.mean(axis=0) + y[0] + y.T.reshape(4)[:2]
    loss = y.sum() / 2
    assert loss.dtype == dtype
    loss.backward(np.float64(1))
    assert x.grad.dtype == dtype


def test_a_float32_tensor_keeps_a_float32_gradient_beside_float64():
    x = Tensor(np.ones(2, np.float32))
    (x * np.array([1.0, 2.0])).sum().backward()
    assert x.grad.dtype == np.float32
    assert numpy_track.gradient(lambda x: (x * np.ones(2)).sum(), np.ones(2, np.float32)).dtype == np.float32


def test_what_a_tensor_shows():
    x = Tensor(np.array([1.0, 2.0]))
    assert repr(x) == "Tensor([1., 2.])" and repr(x * 2) == "Tensor([2., 4.], from multiply)"
    assert (x.shape, x.dtype, float(x.sum())) == ((2,), np.float64, 3.0)
    assert [float(each) for each in x] == [1, 2]
    x.value = np.zeros((4, 3))
    assert x.shape == (4, 3)


# The network of the next chapter


def perceptron(params, x):
    hidden = (x @ params["hidden.kernel"] + params["hidden.bias"]).relu()
    return hidden @ params["readout.kernel"] + params["readout.bias"]


def test_the_perceptron_gets_the_gradients_written_by_hand(rng):
    params = MLP(5, 7, 3, rng=0).parameters()
    x, grad_output = rng.normal(size=(6, 5)), rng.normal(size=(6, 3))
    leaves = {name: Tensor(array) for name, array in params.items()}
    output = perceptron(leaves, x)
    output.backward(grad_output)
    parity.compare(
        {
            "by hand": mlp_backward(params, x, grad_output) | {"output": mlp(params, x)},
            "engine": {name: leaf.grad for name, leaf in leaves.items()} | {"output": output.value},
        },
        tolerance=1e-12,
    )


def test_the_perceptron_trains_to_the_same_losses():
    x, y, _, _ = housing.split(housing.load())
    x, y = x[:200], y[:200]
    by_hand = MLP(8, 16, 1, rng=0).parameters()
    leaves = {name: Tensor(array.copy()) for name, array in by_hand.items()}
    for _ in range(20):
        loss = ((perceptron(leaves, x) - y) ** 2).mean()
        loss.backward()
        error = mlp(by_hand, x) - y
        assert np.isclose(float(loss), (error**2).mean(), rtol=1e-11)
        gradients = mlp_backward(by_hand, x, 2 * error / error.size)
        for name, leaf in leaves.items():
            leaf.value -= 0.05 * leaf.grad
            leaf.grad = None
            by_hand[name] = by_hand[name] - 0.05 * gradients[name]
    assert float(loss) < 2


# gradient, in the three tracks

TARGETS = np.array([0, 2, 1, 1, 0, 2])
ONE_HOT = np.eye(3)[TARGETS]


def own(track, array):
    """An array as the track takes it."""
    return torch.tensor(array) if track == "pytorch" else array


def constant(track, array, like):
    """A constant of the dtype of a Keras tensor, of the track's own kind in PyTorch."""
    return ops.cast(array, like.dtype) if track == "keras" else own(track, array)


def cross_entropy(track, logits):
    if track == "numpy":
        shifted = logits - logits.max(axis=-1, keepdims=True)
        return -((shifted - shifted.exp().sum(axis=-1, keepdims=True).log()) * ONE_HOT).sum() / 6
    if track == "pytorch":
        return torch.nn.functional.cross_entropy(logits, torch.from_numpy(TARGETS))
    return -ops.sum(ops.log_softmax(logits) * constant(track, ONE_HOT, logits)) / 6


def attention(track, query, key, value, upstream):
    if track == "numpy":
        scores = query @ key.transpose(0, 2, 1) / 2.0
        weights = (scores - scores.max(axis=-1, keepdims=True)).exp()
        return (weights / weights.sum(axis=-1, keepdims=True) @ value * upstream).sum()
    if track == "pytorch":
        return (torch.nn.functional.scaled_dot_product_attention(query, key, value) * torch.from_numpy(upstream)).sum()
    weights = ops.softmax(ops.matmul(query, ops.transpose(key, (0, 2, 1))) / 2.0)
    return ops.sum(ops.matmul(weights, value) * constant(track, upstream, query))


def gradients_of(track, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    shapes = {"query": (2, 3, 4), "key": (2, 5, 4), "value": (2, 5, 6)}
    arrays = {name: rng.normal(size=shape).astype(dtype) for name, shape in shapes.items()}
    upstream, logits = rng.normal(size=(2, 3, 6)).astype(dtype), (3 * rng.normal(size=(6, 3))).astype(dtype)
    gradient = TRACKS[track].gradient
    found = gradient(lambda *x: attention(track, *x, upstream), *(own(track, array) for array in arrays.values()))
    assert isinstance(found, tuple) and len(found) == 3
    return dict(zip(shapes, found)) | {"logits": gradient(lambda z: cross_entropy(track, z), own(track, logits))}


@pytest.mark.tensorflow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.keras
def test_keras_numpy_and_pytorch_find_the_same_gradients(float64, seed):
    parity.compare({track: gradients_of(track, seed) for track in TRACKS}, tolerance=1e-12)


@pytest.mark.keras
def test_keras_agrees_with_numpy_in_float32():
    reference = gradients_of("numpy", 0)
    for name, found in gradients_of("keras", 0, np.float32).items():
        assert keras.ops.is_tensor(found)
        assert np.allclose(as_numpy(found), reference[name], atol=1e-5), name


KINDS = {"numpy": np.ndarray, "pytorch": torch.Tensor}


def multiply(track, a, b):
    return (a * b).sum() if track != "keras" else ops.sum(a * b)


def unused(track):
    """For each track: gradients of a function that uses the first of two inputs, and of one that uses none."""
    gradient, ones = TRACKS[track].gradient, own(track, np.ones((2, 3), np.float32))
    constants = {
        "numpy": lambda x: Tensor(1.0),
        "pytorch": lambda x: torch.tensor(1.0),
        "keras": lambda x: ops.convert_to_tensor(np.float32(1)),
    }
    return gradient(lambda a, b: multiply(track, a, a), ones, ones), gradient(constants[track], ones)


def check_contract(track):
    gradient = TRACKS[track].gradient
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 10, 100], np.float32)
    found = gradient(lambda a, b: multiply(track, a, b), own(track, a), own(track, b))
    assert isinstance(found, tuple)
    assert as_numpy(found[0]).tolist() == [[1, 10, 100]] * 2 and as_numpy(found[1]).tolist() == [3, 5, 7]
    alone = gradient(lambda b: multiply(track, b, b), own(track, b))
    assert not isinstance(alone, tuple) and as_numpy(alone).tolist() == [2, 20, 200]
    twice = gradient(lambda a, b: multiply(track, a, b), own(track, b), own(track, b))  # one array, two inputs
    assert [as_numpy(each).tolist() for each in twice] == [[1, 10, 100]] * 2
    (used, not_used), nothing = unused(track)
    assert as_numpy(used).tolist() == [[2] * 3] * 2
    assert as_numpy(not_used).tolist() == as_numpy(nothing).tolist() == [[0] * 3] * 2
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
def test_what_gradient_returns(track):
    check_contract(track)
    ones = own(track, np.ones(3))
    assert isinstance(TRACKS[track].gradient(lambda x: x.sum(), ones), KINDS[track])


@pytest.mark.keras
def test_keras_gradient_returns_the_same():
    check_contract("keras")


@pytest.mark.keras
def test_keras_gradient_of_a_lookup_is_a_whole_array():
    found = keras_track.gradient(lambda t: ops.sum(ops.take(t, [1, 1, 3], axis=0)), np.zeros((4, 2), np.float32))
    assert type(found) is type(ops.convert_to_tensor(np.ones(2, np.float32)))  # not TensorFlow's IndexedSlices
    assert ops.convert_to_numpy(found).tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]


@pytest.mark.keras
def test_keras_gradients_can_be_differentiated_and_the_others_say_no():
    def second(gradient, x):
        return float(gradient(lambda x: gradient(lambda x: x**3, x), x))

    with pytest.raises(ValueError, match=r"\binputs\[0\]"):
        second(pytorch_track.gradient, torch.tensor(2.0))
    assert second(keras_track.gradient, np.array(2.0, np.float32)) == 12
    with pytest.raises(TypeError, match=r"\binputs\[0\]"):
        second(numpy_track.gradient, np.array(2.0))


def test_pytorch_gradient_leaves_alone_what_is_no_input():
    weight = torch.ones(3, requires_grad=True)
    weight.grad = torch.full((3,), 7.0)
    x = torch.ones(3)
    with torch.no_grad():  # does not reach into gradient
        assert pytorch_track.gradient(lambda x: (x * x * weight).sum(), x).tolist() == [2, 2, 2]
    assert weight.grad.tolist() == [7, 7, 7] and not x.requires_grad and x.grad is None


def test_pytorch_gradient_is_refused_where_nothing_is_recorded():
    with torch.inference_mode(), pytest.raises(RuntimeError, match="inference mode"):
        pytorch_track.gradient(lambda x: (x * x).sum(), torch.ones(3))


def test_tensors_can_be_keys():
    a, b = Tensor(1.0), Tensor(1.0)
    assert len({a, b}) == 2 and {a: "a", b: "b"}[a] == "a"


# graph, in the three tracks: what was really recorded


def drawn(drawing):
    """Labels by node, their kinds, and the edges as pairs of labels."""
    nodes = dict(re.findall(r'^\t(node\d+) \[label="?([^"]*?)"? class', drawing.source, flags=re.MULTILINE))
    kinds = dict(re.findall(r'^\t(node\d+) \[label="?[^"]*?"? class=(\w+)', drawing.source, flags=re.MULTILINE))
    edges = re.findall(r"^\t(node\d+) -> (node\d+)", drawing.source, flags=re.MULTILINE)
    return nodes, kinds, sorted((nodes[tail], nodes[head]) for tail, head in edges)


def test_the_graph_of_the_engine(rng):
    w, b = Tensor(rng.normal(size=(3, 2))), Tensor(np.zeros(2))
    hidden = rng.normal(size=(4, 3)) @ w + b  # the array is a constant
    nodes, kinds, edges = drawn(numpy_track.graph((hidden * hidden).sum(), w=w))
    assert edges == sorted(
        [
            ("w\n(3, 2)", "matmul\n(4, 2)"),
            ("matmul\n(4, 2)", "add\n(4, 2)"),
            ("leaf\n(2,)", "add\n(4, 2)"),
            *[("add\n(4, 2)", "multiply\n(4, 2)")] * 2,
            ("multiply\n(4, 2)", "reduce_sum\n()"),
        ]
    )
    assert [kinds[node] for node in nodes] == ["data", "operation", "data", "operation", "operation", "output"]


def test_the_graph_of_pytorch():
    w, b = torch.ones(3, 2, requires_grad=True), torch.zeros(2, requires_grad=True)
    hidden = torch.ones(4, 3) @ w + b
    _, kinds, edges = drawn(pytorch_track.graph((hidden * hidden).sum(), w=w))
    assert edges == sorted(
        [
            ("w\n(3, 2)", "MmBackward0"),
            ("MmBackward0", "AddBackward0"),
            ("leaf\n(2,)", "AddBackward0"),
            *[("AddBackward0", "MulBackward0")] * 2,
            ("MulBackward0", "SumBackward0"),
        ]
    )
    assert sorted(kinds.values()) == ["data"] * 2 + ["operation"] * 3 + ["output"]


@pytest.mark.keras
def test_keras_graph():
    x, layer = keras.Input((3,)), keras.layers.Dense(2)
    hidden = layer(x)
    _, kinds, edges = drawn(
        keras_track.graph(ops.sum(ops.multiply(hidden, hidden)) + ops.sum(layer(hidden[:, :1] * x)), x=x)
    )
    labels = [tail.split("\n")[0] + " " + head.split("\n")[0] for tail, head in edges]
    assert labels.count("x Dense") == 1 and labels.count("Dense Multiply") == 2 and labels.count("Dense Sum") == 1
    assert sorted(kinds.values()).count("parameters") == 2  # one layer, called twice
    assert list(kinds.values()).count("output") == 1


@pytest.mark.keras
def test_keras_graph_of_a_model_ends_at_its_inputs():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.ReLU(), keras.layers.Dense(1)])
    _, _, edges = drawn(keras_track.graph(model.outputs[0], x=model.inputs[0]))
    assert [f"{tail} {head}".replace("\n(None, ", "").replace(")", "") for tail, head in edges] == [
        "Dense4 ReLU4",
        "ReLU4 Dense1",
        "x3 Dense4",
    ]


def test_a_node_that_is_reached_twice_keeps_both_arrows():
    x = Tensor(np.ones(2))
    y = x.exp()
    _, _, edges = drawn(numpy_track.graph((y + y.tanh()).sum(), x=x))
    assert {("exp\n(2,)", "add\n(2,)"), ("exp\n(2,)", "tanh\n(2,)")} < set(edges) and len(edges) == 5
    w = torch.ones(2, requires_grad=True)
    y = w.exp()
    for total in ((y + y.tanh()).sum(), (y.tanh() + y).sum()):
        _, _, edges = drawn(pytorch_track.graph(total, w=w))
        assert {("ExpBackward0", "AddBackward0"), ("ExpBackward0", "TanhBackward0")} < set(edges) and len(edges) == 5


@pytest.mark.keras
def test_keras_graph_keeps_both_arrows_of_a_node_that_is_reached_twice():
    y = ops.exp(keras.Input(batch_shape=(2,)))
    for total in (ops.sum(y + ops.tanh(y)), ops.sum(ops.tanh(y) + y)):
        _, _, edges = drawn(keras_track.graph(total))
        assert {("Exp\n(2,)", "Add\n(2,)"), ("Exp\n(2,)", "Tanh\n(2,)")} < set(edges) and len(edges) == 5


@pytest.mark.parametrize("number", range(3))
def test_inputs_come_first_and_the_alt_text_lists_them(number):
    w, x = torch.ones(2, requires_grad=True), Tensor(np.ones(2))
    drawing = (
        lambda: numpy_track.graph((x * x).sum(), x=x),
        lambda: pytorch_track.graph((w * w).sum(), x=w),
        lambda: keras_track.graph(ops.sum(keras.Input(batch_shape=(2,), name="x") * 2)),
    )[number]()
    assert re.search(r"\b(x|input) \(2,\).*\b[Mm]ul\w+.*[Ss]um", drawing.alt)
    nodes, kinds, _ = drawn(drawing)
    assert kinds["node0"] == "data" and list(kinds.values())[-1] == "output" and len(nodes) == 3


# Bad input


def refused(call, error, name):
    with pytest.raises(error, match=rf"^[^;]*\b{re.escape(name)}(?!\w)"):  # other arrays stand behind a semicolon
        call()


@pytest.mark.parametrize("track", ["numpy", "pytorch", pytest.param("keras", marks=pytest.mark.keras)])
def test_gradient_names_what_it_refuses(track):
    floats, whole = own(track, np.ones(3, np.float32)), own(track, np.arange(3))
    gradient, total = TRACKS[track].gradient, ops.sum if track == "keras" else lambda x: x.sum()
    refused(lambda: gradient(floats, floats), TypeError, "function")
    refused(lambda: gradient(total), ValueError, "inputs")
    refused(lambda: gradient(total, floats, whole), TypeError, "inputs[1]")
    refused(lambda: gradient(total, 3.0), TypeError, "inputs[0]")
    refused(lambda: gradient(lambda x: x * x, floats), TypeError, "function")
    refused(lambda: gradient(lambda x: 1.0, floats), TypeError, "function")


REFUSED = [
    (lambda: Tensor(np.arange(3)), TypeError, "value"),
    (lambda: Tensor(1j), TypeError, "value"),
    (lambda: Tensor(np.ones(2)).backward(), ValueError, "grad"),
    (lambda: Tensor(np.ones(2)).backward(np.ones(3)), TypeError, "grad"),
    (lambda: Tensor(1.0, requires_grad=False).backward(), ValueError, "result"),
    (lambda: Tensor(1.0) > 0, TypeError, "Tensor"),
    (lambda: Tensor(1.0) == 1.0, TypeError, "Tensor"),
    (lambda: bool(Tensor(1.0)), TypeError, "Tensor"),
    (lambda: np.asarray(Tensor(1.0)), TypeError, "Tensor"),
    (lambda: np.exp(Tensor(1.0)), TypeError, "Tensor"),
    (lambda: Tensor(1.0) + "a", TypeError, "operand"),
    (lambda: Tensor(2.0) ** Tensor(2.0), TypeError, "exponent"),
    (lambda: Tensor(2.0) ** True, TypeError, "exponent"),
    (lambda: Tensor(np.ones(3)) @ np.ones((3, 2)), TypeError, "a has shape"),
    (lambda: np.ones((2, 3)) @ Tensor(np.ones(3)), TypeError, "b has shape"),
    (lambda: Tensor(np.ones((2, 0))).mean(axis=1), ValueError, "x"),
    (lambda: Tensor(np.ones((2, 3))).transpose(0, 5), ValueError, "axis"),
    (lambda: unbroadcast(np.ones((2, 3)), (2,)), ValueError, "shape"),
    (lambda: unbroadcast(np.ones(3), (1, 3)), ValueError, "shape"),
    (lambda: pytorch_track.gradient(lambda x: x.argmax(), torch.ones(3)), TypeError, "function"),
    (lambda: pytorch_track.gradient(torch.sum, np.ones(3)), TypeError, "inputs[0]"),
    (lambda: numpy_track.graph(np.ones(2)), TypeError, "result"),
    (lambda: numpy_track.graph(Tensor(1.0), x=1.0), TypeError, "x"),
    (lambda: pytorch_track.graph(np.ones(2)), TypeError, "result"),
    (lambda: pytorch_track.graph(torch.ones(2)), ValueError, "result"),
    (lambda: pytorch_track.graph(torch.ones(1, requires_grad=True) * 2, w=3), TypeError, "w"),
    pytest.param(lambda: keras_track.graph(ops.ones(3)), TypeError, "result", marks=pytest.mark.keras),
    pytest.param(
        lambda: keras_track.graph(ops.sum(keras.Input((3,))), x=np.ones(3)), TypeError, "x", marks=pytest.mark.keras
    ),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    refused(call, error, name)


# What the frameworks do, where the notebooks say so


def test_pytorch_notices_what_numpy_does_not():
    a, b = torch.tensor([2.0], requires_grad=True), torch.tensor([5.0])
    y = (a * b).sum()
    b += 100
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    ours, other = Tensor(np.array([2.0])), Tensor(np.array([5.0]))
    y = (ours * other).sum()
    other.value += 100
    y.backward()
    assert ours.grad == 105


@pytest.mark.tensorflow
def test_a_tape_answers_none_where_gradient_answers():
    import tensorflow as tf

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = ops.sum(x * x)
    assert tape.gradient(loss, x) is None
    assert keras_track.gradient(lambda x: ops.sum(x * x), x).numpy().tolist() == [2, 4]
    assert keras_track.gradient(lambda x: ops.sum(ops.convert_to_numpy(x) * 1.0), x).numpy().tolist() == [0, 0]


def test_pytorch_differentiates_a_gradient_only_if_it_was_recorded():
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    assert first.item() == 12 and torch.autograd.grad(first, x)[0].item() == 12
    (first,) = torch.autograd.grad(x**3, x)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(first, x)


def test_a_float32_leaf_keeps_its_dtype_where_the_result_does_not():
    x = Tensor(np.ones(3, np.float32))
    y = (x / 3 + np.arange(3) / 2).mean()
    y.backward(np.float64(1.0))
    assert y.dtype == np.float64 and x.grad.dtype == np.float32
    assert (x * 2 + 1).mean().dtype == np.float32
