"""Chapter 02: the object and the function are one model, in each track and across the three."""

import keras
import numpy as np
import pytest
import torch
from dictionaries import rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import shared.keras.models as keras_models
import shared.numpy.models as numpy_models
import shared.pytorch.models as pytorch_models
from shared import next_word, parity
from shared.arrays import as_numpy
from shared.frameworks.weights import get_weights, load_weights, save_weights, set_weights

SIZES = {"in_features": 5, "hidden_features": 7, "out_features": 3}


def twins(seed: int = 0):
    built = keras_models.MLP(**SIZES)
    built.build((None, 5))
    return {"numpy": numpy_models.MLP(**SIZES, rng=seed), "pytorch": pytorch_models.MLP(**SIZES), "keras": built}


@settings(deadline=None, max_examples=20)
@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=3), d_in=st.integers(1, 5), d_out=st.integers(1, 5))
def test_linear_against_torch(shape, d_in, d_out):
    rng = np.random.default_rng(0)
    ours, theirs = numpy_models.Linear(d_in, d_out, rng), nn.Linear(d_in, d_out)
    ours.bias.value[...] = rng.normal(size=d_out)
    report = parity.check_backward(ours, {"x": rng.normal(size=(*shape, d_in))}, theirs)
    assert {row.name for row in report.rows} == {"gradient of x", "gradient of kernel", "gradient of bias"}


def with_biases(rng):
    """NumPy's model with biases that are not zero, as they are at first: a bias left out must be seen."""
    model = numpy_models.MLP(**SIZES, rng=0)
    for layer in (model.hidden, model.readout):
        layer.bias.value[...] = rng.normal(size=layer.bias.value.shape)
    return model


def test_function_and_object_agree_and_so_do_their_gradients(rng):
    model = with_biases(rng)
    x, grad_output = rng.normal(size=(6, 5)), rng.normal(size=(6, 3))
    assert np.array_equal(model(x), numpy_models.mlp(model.parameters(), x))
    model.backward(grad_output)
    gradients = numpy_models.mlp_backward(model.parameters(), x, grad_output)
    parity.compare({"object": model.gradients(), "function": gradients})


def test_pytorch_function_and_object_agree(rng):
    model = pytorch_models.MLP(**SIZES).double()
    x = torch.from_numpy(rng.normal(size=(6, 5)))
    params = {name: torch.from_numpy(array) for name, array in get_weights(model).items()}
    parity.compare({"object": {"y": model(x)}, "function": {"y": pytorch_models.mlp(params, x)}})


@pytest.mark.keras
def test_keras_function_object_and_numpy_agree(rng):
    model, reference = keras_models.MLP(**SIZES), with_biases(rng)
    x = rng.normal(size=(6, 5)).astype(np.float32)
    model(x)
    set_weights(model, get_weights(reference))
    for y in (
        model(x),
        keras_models.mlp({name: keras.ops.convert_to_tensor(a) for name, a in get_weights(model).items()}, x),
    ):
        assert np.allclose(as_numpy(y), reference(x), atol=1e-5)


@pytest.mark.keras
def test_keras_model_is_saved_and_loaded_without_custom_objects(rng, tmp_path):
    model = keras_models.MLP(**SIZES)
    x = rng.normal(size=(6, 5)).astype(np.float32)
    before = as_numpy(model(x))
    model.save(tmp_path / "mlp.keras")
    assert np.array_equal(as_numpy(keras.saving.load_model(tmp_path / "mlp.keras")(x)), before)


def test_a_kernel_is_in_out_in_every_track():
    assert all(get_weights(model)["hidden.kernel"].shape == (5, 7) for model in twins().values())


def test_zero_grad_clears_every_gradient(rng):
    linear = numpy_models.Linear(4, 3, rng)
    linear.backward(linear(rng.normal(size=(2, 4))))
    assert all(gradient.any() for gradient in linear.gradients().values())
    linear.zero_grad()
    assert not any(gradient.any() for gradient in linear.gradients().values())


def test_a_table_of_words_learns_by_plain_descent():
    model = numpy_models.Chain(numpy_models.OneHot(), numpy_models.Linear(87, 87, rng=0))
    before = next_word.score(model).gap
    numpy_models.descend(model, rate=10, num_steps=200)
    assert next_word.score(model).gap < before - 1


def test_names_are_paths_and_items_are_numbered_or_named():
    class Stack(numpy_models.Module):
        def __init__(self):
            self.scale = numpy_models.Parameter(np.ones(2))
            self.blocks = [numpy_models.Linear(2, 2, 0), numpy_models.Linear(2, 2, 1)]
            self.pair = (numpy_models.Parameter(np.ones(1)), numpy_models.Dropout(0.5, 0))
            self.table = {"x": [[numpy_models.Linear(2, 2, 2)]]}

    names = ["scale", "blocks.0.kernel", "blocks.0.bias", "blocks.1.kernel", "blocks.1.bias", "pair.0"]
    names += ["table.x.0.0.kernel", "table.x.0.0.bias"]
    stack = Stack()
    parts = (stack, *stack.blocks, stack.pair[1], stack.table["x"][0][0])
    assert sorted(stack.parameters()) == sorted(stack.gradients()) == sorted(names)
    stack.eval()
    assert not any(module.training for module in parts)
    stack.train()
    assert all(module.training for module in parts)
    assert all(array.dtype == np.float32 for array in stack.astype(np.float32).parameters().values())


def test_a_shared_parameter_is_listed_once():
    class Tied(numpy_models.Module):
        def __init__(self):
            self.first, self.second = numpy_models.Linear(3, 3, 0), numpy_models.Linear(3, 3, 1)
            self.second.kernel = self.first.kernel

    tied = Tied()
    names = ["first.kernel", "first.bias", "second.bias"]
    assert list(tied.parameters()) == list(tied.gradients()) == list(get_weights(tied)) == names
    tied.astype(np.float32)
    assert tied.second.kernel.value is tied.first.kernel.value
    assert tied.first.kernel.value.dtype == np.float32


def test_float32_stays_float32(rng):
    model = numpy_models.MLP(**SIZES, rng=0).astype(np.float32)
    output = model(rng.normal(size=(4, 5)).astype(np.float32))
    assert output.dtype == model.backward(output).dtype == np.float32
    assert all(gradient.dtype == np.float32 for gradient in model.gradients().values())
    dropout = numpy_models.Dropout(0.5, rng)
    assert dropout.backward(dropout(output)).dtype == np.float32


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_mean_and_is_its_own_backward(rate):
    dropout, n = numpy_models.Dropout(rate, 0), 100_000
    dropped = dropout(np.ones(n))
    assert abs(dropped.mean() - 1) < 5 * (rate / (1 - rate) / n) ** 0.5
    assert abs((dropped == 0).mean() - rate) < 5 * (rate * (1 - rate) / n) ** 0.5
    grad = np.random.default_rng(1).normal(size=n)
    assert np.array_equal(dropout.backward(grad), grad * dropped)
    x = np.random.default_rng(2).normal(size=9)
    assert np.array_equal(dropout.eval()(x), x) and np.array_equal(dropout.backward(x), x)


def test_one_seed_one_start():
    first, second, third = (get_weights(numpy_models.MLP(**SIZES, rng=seed)) for seed in (0, 0, 1))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert not np.array_equal(first["hidden.kernel"], third["hidden.kernel"])
    assert not np.array_equal(first["hidden.kernel"][:5, :3], first["readout.kernel"][:5, :3])


@pytest.mark.parametrize("sizes", [(20, 400), (400, 20), (100, 100)])
def test_a_kernel_starts_uniform_up_to_the_limit_of_glorot(sizes):
    """Glorot & Bengio 2010, eq. 16; 8000 draws come within a thousandth or two of the limit."""
    layer = numpy_models.Linear(*sizes, rng=0)
    limit = (6 / sum(sizes)) ** 0.5
    assert -limit <= layer.kernel.value.min() < -0.99 * limit and 0.99 * limit < layer.kernel.value.max() <= limit
    assert (
        abs(layer.kernel.value.std() / (limit / 3**0.5) - 1) < 0.02
    )  # the standard deviation of a uniform distribution
    assert not layer.bias.value.any()


# Bad input


def refused(call, error, name):
    # Keras sets the message in bold, and lists all arguments below it, each behind a dot.
    with pytest.raises(error, match=rf"^[^;•]*(\b|\x1b\[1m){name}\b"):
        call()


PARAMS = get_weights(numpy_models.MLP(**SIZES, rng=0))


@pytest.mark.parametrize(
    ("module", "tensor"),
    [
        (numpy_models, np.asarray),
        (pytorch_models, torch.as_tensor),
        pytest.param(keras_models, keras.ops.convert_to_tensor, marks=pytest.mark.keras),
    ],
)
def test_the_function_names_what_it_refuses(module, tensor):
    params = {name: tensor(array.astype(np.float32)) for name, array in PARAMS.items()}
    less = {name: array for name, array in params.items() if name != "hidden.bias"}
    refused(lambda: module.mlp(params, tensor(np.zeros((2, 4), np.float32))), TypeError, "x")
    refused(lambda: module.mlp(params, tensor(np.ones((2, 5), np.complex64))), TypeError, "x")
    refused(lambda: module.mlp(less, tensor(np.zeros((2, 5), np.float32))), ValueError, "params")


def drop_and_go_back(grad_output):
    dropout = numpy_models.Dropout(0.5)
    dropout(np.zeros((4, 3)))
    dropout.backward(grad_output)


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: numpy_models.Linear(3, 2, "seed"), TypeError, "rng"),
        (lambda: numpy_models.Dropout(0.5)(torch.ones(2, 3)), TypeError, "x"),
        (lambda: numpy_models.Dropout(1.0), ValueError, "rate"),
        (lambda: numpy_models.Dropout(-0.1), ValueError, "rate"),
        (lambda: numpy_models.Dropout("half"), TypeError, "rate"),
        (lambda: drop_and_go_back(np.zeros((4, 1))), TypeError, "grad_output"),
        (lambda: numpy_models.mlp_backward(PARAMS, np.zeros((2, 5)), np.zeros((2, 4))), TypeError, "grad_output"),
    ],
)
def test_what_is_refused_is_named(call, error, name):
    refused(call, error, name)


@pytest.mark.keras
def test_keras_gives_targets_their_axis_in_losses_and_in_some_metrics(rng):
    x, y = rng.normal(size=(16, 3)), rng.uniform(size=16)

    def measured(name: str, targets: np.ndarray) -> list[float]:
        keras.utils.set_random_seed(0)
        net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, activation="sigmoid")])
        losses = ("mse", "mae", "hinge", "poisson", "kl_divergence", "binary_crossentropy")
        net.compile(loss=name if name in losses else "mse", metrics=None if name == "binary_crossentropy" else [name])
        return net.evaluate(x, targets, verbose=0)

    for name, same in {"mse": True, "mae": True, "accuracy": True, "hinge": False, "poisson": False}.items():
        flat, column = measured(name, y), measured(name, y[:, None])
        assert flat[0] == pytest.approx(column[0])
        assert (flat[1] == pytest.approx(column[1], rel=1e-5)) is same, name
    assert measured("binary_crossentropy", y) == pytest.approx(measured("binary_crossentropy", y[:, None]))


@pytest.mark.keras
def test_keras_loads_weights_by_number_and_not_by_name(tmp_path):
    def square(*names: str) -> keras.Model:
        return keras.Sequential([keras.Input((8,)), *[keras.layers.Dense(8, name=name) for name in names]])

    saved, other = square("a", "b", "c"), square("new", "a", "b")
    saved.save_weights(tmp_path / "saved.weights.h5")
    other.load_weights(tmp_path / "saved.weights.h5")
    kernels = [keras.ops.convert_to_numpy(each.kernel) for each in (other.get_layer("a"), saved.get_layer("b"))]
    assert np.array_equal(*kernels)


@pytest.mark.keras
@pytest.mark.parametrize("at_first", [True, False])
def test_what_keras_does_with_trainable_after_a_fit(at_first, rng):
    """What the Keras notebook says of the three backends; a change before the first fit counts in all of them."""
    x, y = rng.normal(size=(8, 3)), rng.normal(size=(8, 1))
    layer = keras.layers.Dense(4)
    net = keras.Sequential([keras.Input((3,)), layer, keras.layers.Dense(1)])

    def moves() -> bool:
        before = as_numpy(layer.kernel).copy()
        net.fit(x, y, verbose=0)
        return not np.array_equal(as_numpy(layer.kernel), before)

    layer.trainable = at_first
    net.compile("sgd", "mse")
    assert moves() is at_first
    layer.trainable = not at_first
    backend = keras.backend.backend()
    if backend == "jax" or (backend == "torch" and not at_first):
        with pytest.raises(ValueError):
            moves()
    else:
        assert moves() is (at_first and backend == "tensorflow")
    if backend == "jax":  # where the failed fit has emptied the variables
        return
    net.compile("sgd", "mse")
    assert moves() is not at_first


@pytest.mark.keras
def test_a_frozen_batch_norm_of_keras_computes_as_in_evaluation(rng):
    norm = keras.layers.BatchNormalization(trainable=False)
    x = rng.normal(size=(8, 2)) + 5
    outputs = keras.ops.convert_to_numpy(norm(x, training=True))
    np.testing.assert_allclose(outputs, x / np.sqrt(1 + norm.epsilon), rtol=1e-5)
    assert not keras.ops.convert_to_numpy(norm.moving_mean).any()


def test_functional_call_ignores_other_names_unless_it_is_strict():
    model, x = nn.Linear(8, 8), torch.ones(2, 8)
    other = {"kernel": torch.zeros(8, 8), "bias": model.bias.detach()}
    assert torch.equal(torch.func.functional_call(model, other, (x,)), model(x))
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'kernel'"):
        torch.func.functional_call(model, other, (x,), strict=True)


def test_a_module_on_meta_has_new_parameters():
    model = nn.Linear(2, 2)
    weight = model.weight
    assert model.double().weight is weight and model.to("meta").weight is not weight


# The dictionary of compare


class Plain(nn.Module):
    """The network in PyTorch without the course's checks, which torch.fx can't trace."""

    def __init__(self):
        super().__init__()
        self.hidden, self.readout = nn.Linear(8, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.readout(torch.relu(self.hidden(x)))


def of_numpy(x, y) -> dict:
    names = {**vars(numpy_models), "save_weights": save_weights, "load_weights": load_weights}
    return names | {"model": numpy_models.MLP(8, 32, 1, rng=0), "self": numpy_models.Module(), "x": x, "y": y}


def of_pytorch(x, y) -> dict:
    return {"model": Plain(), "self": nn.Module(), "x": torch.from_numpy(x), "y": torch.from_numpy(y)}


def of_keras(x, y) -> dict:
    inputs = keras.Input((8,))
    hidden = keras.layers.Dense(32, activation="relu", name="hidden")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1, name="readout")(hidden))
    return {"model": model, "self": keras.layers.Layer(), "x": x, "y": y}


@pytest.mark.keras
@pytest.mark.parametrize(
    ("column", "given"), [(1, of_numpy), (2, of_pytorch), (3, of_keras)], ids=["numpy", "pytorch", "keras"]
)
def test_every_call_of_the_dictionary_runs_as_typed(column, given, rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, y = (rng.normal(size=(48, size)).astype("float32") for size in (8, 1))
    names = {"np": np, "torch": torch, "keras": keras} | given(x, y)
    kernel = get_weights(names["model"])["hidden.kernel"].copy()
    for row in rows_of("02_models"):
        if row[0] == "the parameters as arrays":
            arrays = eval(row[column], names)
        exec(compile(row[column], row[0], "exec"), names)  # noqa: S102 - what the page shows
    if column == 2:
        arrays = [arrays["hidden.weight"].T]
    if column > 1:  # copies: the model has been trained and reinitialized since
        assert np.array_equal(arrays[0], kernel)
        assert not np.array_equal(get_weights(names["model"])["readout.kernel"], arrays[-1])


def test_the_dictionary_compiles_in_place_and_exports_no_batch_of_one(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    rows = {row[0]: row[2] for row in rows_of("02_models")}
    names = {"torch": torch, "model": Plain(), "x": torch.ones(1, 8)}
    with pytest.raises(ValueError, match="conflicts"):
        exec(rows["save and load the whole model"], names)  # noqa: S102 - what the page shows
    names["x"] = torch.ones(2, 8)
    exec(rows["save and load the whole model"], names)  # noqa: S102 - what the page shows
    loaded = torch.export.load("mlp.pt2").module()
    assert loaded(torch.ones(5, 8)).shape == (5, 1)
    with pytest.raises(NotImplementedError):
        loaded.eval()
    exec(rows["compile"], names)  # noqa: S102 - what the page shows
    assert "hidden.weight" in names["model"].state_dict()
    assert "_orig_mod.hidden.weight" in torch.compile(names["model"]).state_dict()
