"""One naming and one layout of weights: copied between frameworks, saved whole or not at all, and never half set."""

import json
import os
import pickle

import keras
import numpy as np
import pytest
import torch
from torch import nn

import shared.keras.models as keras_models
import shared.numpy.models as numpy_models
import shared.pytorch.models as pytorch_models
from shared import weights
from shared.frameworks.weights import (
    as_numpy,
    get_weights,
    load_arrays,
    load_weights,
    save_arrays,
    save_weights,
    set_weights,
    slots,
)
from shared.keras.bert import BERTModel
from shared.keras.gpt import GPTModel
from shared.keras.real_text import add_lora

pytestmark = pytest.mark.chapter("02", "08", "13", "14", "15")

SIZES = {"in_features": 5, "hidden_features": 7, "out_features": 3}


def numpy_mlp():
    return numpy_models.MLP(**SIZES, rng=0)


def pytorch_mlp():
    return pytorch_models.MLP(**SIZES)


def keras_mlp():
    model = keras_models.MLP(**SIZES)
    model.build((None, 5))
    return model


MAKERS = {"numpy": numpy_mlp, "pytorch": pytorch_mlp, "keras": keras_mlp}


def predict(model, x: np.ndarray) -> np.ndarray:
    if isinstance(model, nn.Module) and not isinstance(model, keras.layers.Layer):
        return as_numpy(model(torch.from_numpy(x)))
    return as_numpy(model(x))


@pytest.mark.parametrize("source", MAKERS)
@pytest.mark.parametrize("target", MAKERS)
@pytest.mark.keras
def test_keras_and_the_others_predict_the_same_after_a_copy_through_a_file(source, target, rng, tmp_path):
    x = rng.normal(size=(4, 5)).astype(np.float32)
    first, second = MAKERS[source](), MAKERS[target]()
    save_weights(first, tmp_path / "mlp.safetensors")
    load_weights(second, tmp_path / "mlp.safetensors")
    assert np.allclose(predict(first, x), predict(second, x), atol=1e-5)
    assert list(get_weights(first)) == list(get_weights(second))
    assert os.listdir(tmp_path) == ["mlp.safetensors"]


def test_a_linear_is_transposed_and_a_norm_and_an_embedding_are_renamed():
    model = nn.ModuleDict({"linear": nn.Linear(3, 5), "norm": nn.LayerNorm(4), "table": nn.Embedding(6, 2)})
    found = get_weights(model)
    assert np.array_equal(found["linear.kernel"], as_numpy(model["linear"].weight).T)
    assert set(found) == {"linear.kernel", "linear.bias", "norm.gamma", "norm.beta", "table.embeddings"}


@pytest.mark.keras
def test_keras_attention_is_flattened_to_in_out(rng):
    layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=3)
    x = rng.normal(size=(1, 4, 6)).astype(np.float32)
    layer(x, x)
    found = get_weights(layer)
    assert list(found) == [
        f"{name}.{kind}" for name in ("query", "key", "value", "output") for kind in ("kernel", "bias")
    ]
    # Head 1, feature 2 of the query stands in column 1 * 3 + 2.
    assert np.array_equal(found["query.kernel"][:, 5], as_numpy(layer._query_dense.kernel)[:, 1, 2])
    assert np.array_equal(found["output.kernel"][5], as_numpy(layer._output_dense.kernel)[1, 2])
    before = as_numpy(layer(x, x))
    set_weights(layer, {name: array * 2 for name, array in found.items()})
    assert not np.allclose(as_numpy(layer(x, x)), before)
    set_weights(layer, found)
    assert np.array_equal(as_numpy(layer(x, x)), before)


def test_copies_are_copies(rng):
    for make in MAKERS.values():
        model = make()
        taken = get_weights(model)
        taken["hidden.kernel"][...] = 0
        assert get_weights(model)["hidden.kernel"].any()
        given = {name: array.copy() for name, array in get_weights(model).items()}
        set_weights(model, given)
        given["hidden.kernel"][...] = 0
        assert get_weights(model)["hidden.kernel"].any()


@pytest.mark.parametrize("track", MAKERS)
@pytest.mark.keras
def test_keras_and_the_others_list_everything_wrong_and_stay_unchanged(track):
    model = MAKERS[track]()
    before = get_weights(model)
    wrong = {name: array + 1 for name, array in before.items()}
    wrong["extra"] = wrong.pop("hidden.bias")
    wrong["readout.kernel"] = wrong["readout.kernel"].T
    with pytest.raises(ValueError, match="weights") as caught:
        set_weights(model, wrong)
    assert all(name in str(caught.value) for name in ("hidden.bias", "extra", "readout.kernel"))
    after = get_weights(model)
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("track", MAKERS)
@pytest.mark.keras
def test_keras_and_the_others_take_only_floating_point_weights(track, tmp_path):
    model = MAKERS[track]()
    before = get_weights(model)
    wrong = {name: array + 1 for name, array in before.items()}
    wrong["hidden.kernel"] = wrong["hidden.kernel"].astype(np.complex64)
    wrong["hidden.bias"] = wrong["hidden.bias"].astype(np.int64)
    wrong["readout.bias"] = wrong["readout.bias"].astype(bool)
    save_arrays(wrong, tmp_path / "wrong.safetensors")
    for load, given in ((set_weights, wrong), (load_weights, tmp_path / "wrong.safetensors")):
        with pytest.raises(ValueError, match="weights") as caught:
            load(model, given)
        assert all(name in str(caught.value) for name in ("hidden.kernel", "hidden.bias", "readout.bias"))
        assert "readout.kernel" not in str(caught.value)
    after = get_weights(model)
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("track", MAKERS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble", ">f4", "bfloat16"])
@pytest.mark.keras
def test_keras_and_the_others_take_floating_point_weights_of_any_width(track, dtype):
    model = MAKERS[track]()
    given = {name: (array + 1).astype(dtype) for name, array in get_weights(model).items()}
    set_weights(model, given)
    after = get_weights(model)
    assert all(np.array_equal(after[name], given[name].astype(after[name].dtype)) for name in given)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_bfloat16_weights_can_be_set_again():
    layer = keras.layers.Dense(2, dtype="bfloat16")
    layer.build((None, 3))
    before = get_weights(layer)
    set_weights(layer, {name: array + 1 for name, array in before.items()})
    assert all(np.array_equal(array, before[name] + 1) for name, array in get_weights(layer).items())


@pytest.mark.parametrize("dtype", ["F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3"])
def test_a_dtype_that_numpy_lacks_is_named(dtype, tmp_path):
    size = {"F4": 2, "F6_E2M3": 3}.get(dtype, 4)  # bytes of four numbers
    tensors = {"a": {"dtype": dtype, "shape": [4], "data_offsets": [0, size]}}
    tensors["b"] = {"dtype": "F32", "shape": [1], "data_offsets": [size, size + 4]}
    header = json.dumps(tensors).encode()
    path = tmp_path / "small.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(size + 4))
    with pytest.raises(ValueError, match=rf"small\.safetensors.*\ba\b.*{dtype}"):
        load_arrays(path)


@pytest.mark.parametrize(
    ("model", "error"),
    [
        pytest.param(lambda: keras_models.MLP(**SIZES), ValueError, marks=pytest.mark.keras),  # it has no weights yet
        (lambda: None, TypeError),
        (lambda: {"kernel": 1}, TypeError),
        (lambda: np.zeros(3), TypeError),
    ],
)
def test_what_has_no_weights_is_refused(model, error):
    with pytest.raises(error, match=r"\bmodel\b"):
        get_weights(model())


def test_dtypes_are_kept_by_the_model(rng):
    model = pytorch_mlp()
    set_weights(model, {name: array.astype(np.float64) for name, array in get_weights(model).items()})
    assert next(model.parameters()).dtype == torch.float32


def test_a_missing_a_truncated_and_a_foreign_file_are_clear_errors(tmp_path):
    model = numpy_mlp()
    before = get_weights(model)
    path = tmp_path / "mlp.safetensors"
    with pytest.raises(FileNotFoundError, match=r"\bpath\b"):
        load_weights(model, path)
    save_weights(model, path)
    whole = path.read_bytes()
    for contents in (whole[: len(whole) // 2], whole[:4], b"", pickle.dumps({"hidden.kernel": 1}), b"\xff" * 64):
        path.write_bytes(contents)
        with pytest.raises(ValueError, match=r"mlp\.safetensors"):
            load_weights(model, path)
    assert all(np.array_equal(before[name], array) for name, array in get_weights(model).items())


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "mlp.safetensors"
    save_weights(numpy_mlp(), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(weights.os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save_weights(numpy_models.MLP(**SIZES, rng=1), path)
    assert path.read_bytes() == before


def test_metadata_comes_back(tmp_path):
    save_arrays({"a": np.arange(6).reshape(2, 3).T}, tmp_path / "x", {"steps": 3, "nested": {"text": "é"}})
    arrays, metadata = load_arrays(tmp_path / "x")
    assert np.array_equal(arrays["a"], np.arange(6).reshape(2, 3).T)
    assert metadata == {"steps": 3, "nested": {"text": "é"}}


@pytest.mark.keras
def test_keras_block_of_its_users_has_the_names_of_the_courses_own():
    """Alone, in a functional model, and beside a layer of another name, which keeps it."""
    from shared.keras.encoder import EncoderBlock, TransformerBlock

    block, named = EncoderBlock(8, 2, 12), TransformerBlock(8, 2, 12)
    for layer in (block, named):
        layer.build((None, None, 8))
    expected = {name: array.shape for name, array in get_weights(block).items()}
    assert {name: array.shape for name, array in get_weights(named).items()} == expected
    inputs = keras.Input((3, 8))
    outputs = keras.layers.Dense(2, name="attic")(TransformerBlock(8, 2, 12, name="block_10")(inputs))
    found = set(get_weights(keras.Model(inputs, outputs)))
    assert found == {f"encoder.blocks.10.{name}" for name in expected} | {"attic.kernel", "attic.bias"}


# Nothing is left out


def in_keras(make_parts, call):
    """A model whose parts are where `make_parts` puts them."""

    class Parts(keras.Model):
        def __init__(self):
            super().__init__()
            make_parts(self, keras.layers.Dense)

        def call(self, x):
            return call(self, x)

    return Parts()


def dict_of_layers(self, dense):
    self.parts = {"a": dense(4), "b": {"c": dense(4)}}


def tuple_and_lists(self, dense):
    self.pair, self.rows = (dense(4), dense(4)), [[dense(4)], [dense(4)]]


def private_layers(self, dense):
    self._hidden, self.first, self._rest = dense(4), dense(4), [dense(4)]


def names_like_the_courses(self, dense):
    self.head, self.head_dense, self.att, self.attention = dense(4), dense(4), dense(4), dense(4)
    self.query, self.query_dense = dense(4), dense(4)


def shared_layers(self, dense):
    self.first = dense(4)
    self.again = [self.first, dense(4)]


def in_turn(*layers):
    def call(self, x):
        for layer in layers:
            x = eval(layer, {"self": self})(x)
        return x

    return call


KEPT = {
    "a dict": lambda: in_keras(dict_of_layers, in_turn("self.parts['a']", "self.parts['b']['c']")),
    "tuple, list of lists": lambda: in_keras(
        tuple_and_lists, in_turn("self.pair[0]", "self.pair[1]", "self.rows[0][0]", "self.rows[1][0]")
    ),
    "private": lambda: in_keras(private_layers, in_turn("self._hidden", "self.first", "self._rest[0]")),
    "names like the course's": lambda: in_keras(
        names_like_the_courses,
        in_turn("self.head", "self.head_dense", "self.att", "self.attention", "self.query", "self.query_dense"),
    ),
    "shared": lambda: in_keras(shared_layers, in_turn("self.first", "self.again[0]", "self.again[1]")),
    "Conv1D": lambda: keras.layers.Conv1D(4, 3, padding="same"),
    "DepthwiseConv1D": lambda: keras.layers.DepthwiseConv1D(3, padding="same"),
    "EinsumDense": lambda: keras.layers.EinsumDense("abc,cd->abd", (None, 4), bias_axes="d"),
    "BatchNormalization": lambda: keras.layers.BatchNormalization(),
    "LayerNormalization without scale": lambda: keras.layers.LayerNormalization(scale=False),
    "LSTM": lambda: keras.layers.LSTM(4),
    "Bidirectional": lambda: keras.layers.Bidirectional(keras.layers.GRU(4)),
    "TimeDistributed": lambda: keras.layers.TimeDistributed(keras.layers.Dense(3, name="inner")),
    "GroupQueryAttention": lambda: in_keras(
        lambda self, dense: setattr(self, "attend", keras.layers.GroupQueryAttention(2, 4, 1)),
        lambda self, x: self.attend(x, x),
    ),
    "MultiHeadAttention without biases": lambda: in_keras(
        lambda self, dense: setattr(self, "attend", keras.layers.MultiHeadAttention(2, 3, use_bias=False)),
        lambda self, x: self.attend(x, x),
    ),
    "Sequential with names": lambda: keras.Sequential(
        [
            keras.layers.Dense(5, name="wide"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.Dense(2, name="b"),
        ]
    ),
}


@pytest.mark.parametrize("kind", KEPT)
@pytest.mark.keras
def test_keras_weights_are_all_found_saved_and_loaded(kind, rng, tmp_path):
    x = rng.normal(size=(2, 5, 4)).astype(np.float32)
    model, other = KEPT[kind](), KEPT[kind]()
    for each in (model, other):
        each(x)
        for weight in each.weights:  # running means and biases too
            weight.assign(rng.uniform(0.5, 1.5, weight.shape).astype(np.float32))
    before = as_numpy(model(x))
    assert not np.allclose(as_numpy(other(x)), before)
    assert {id(slot.parameter) for slot in slots(model).values()} == {id(weight) for weight in model.weights}
    save_weights(model, tmp_path / "weights")
    load_weights(other, tmp_path / "weights")
    np.testing.assert_allclose(as_numpy(other(x)), before, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("make", "parts"), [(GPTModel, ["tokens", "norm"]), (BERTModel, ["embedding", "head"])])
@pytest.mark.keras
def test_keras_frozen_weights_are_weights(make, parts):
    model = make(d_model=8, num_heads=2, d_ff=16, vocab_size=11, max_length=8)
    if not model.built:
        model.build((None, None))
    before = get_weights(model)
    for name in parts:
        getattr(model, name).trainable = False
    assert list(get_weights(model)) == list(before)
    assert any(not slot.trainable for slot in slots(model).values())


@pytest.mark.keras
def test_keras_adapters_are_saved_and_loaded(tmp_path):
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 16, "vocab_size": 11, "max_length": 8}
    tokens = np.array([[1, 2, 3]])
    model, other = (add_lora(GPTModel(**sizes), 2, 4.0) for _ in range(2))
    for name, slot in slots(model).items():
        if "lora" in name:
            slot.parameter.assign(np.ones(slot.parameter.shape))
    assert len(slots(model)) == len(model.weights) == len(slots(GPTModel(**sizes))) + 4
    save_weights(model, tmp_path / "lora")
    load_weights(other, tmp_path / "lora")
    np.testing.assert_allclose(as_numpy(other(tokens)), as_numpy(model(tokens)), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="lora_kernel_a"):
        load_weights(GPTModel(**sizes), tmp_path / "lora")


@pytest.mark.keras
def test_keras_of_one_name_is_refused():
    """Layers in a set have no path: both kernels would be called `kernel`."""
    model = in_keras(lambda self, dense: setattr(self, "parts", {dense(4), dense(4)}), lambda self, x: x)
    for layer in model.parts:
        layer.build((None, 4))
    model(np.ones((1, 4)))
    with pytest.raises(ValueError, match="model.*kernel"):
        get_weights(model)


@pytest.mark.keras
def test_keras_layers_without_a_name_are_told_to_have_one(tmp_path):
    first, second = (keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)]) for _ in range(2))
    save_weights(first, tmp_path / "w")
    with pytest.raises(ValueError, match=r"missing: dense.*name="):
        load_weights(second, tmp_path / "w")


def test_pytorch_keeps_what_its_state_dict_keeps(rng, tmp_path):
    def make():
        norm = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
        parts = [nn.Conv1d(4, 4, 1), nn.BatchNorm1d(4), nn.Flatten(), norm, nn.LSTM(4, 3)]
        return nn.Sequential(*parts).double()

    x = torch.from_numpy(rng.normal(size=(6, 4, 1)))
    model, other = make(), make()
    for _ in range(3):
        model(x)
    model[0].requires_grad_(False)
    before = model.eval()(x)[0]
    state = model.state_dict(keep_vars=True)
    assert {id(slot.parameter) for slot in slots(model).values()} == {id(each) for each in state.values()}
    assert get_weights(model)["1.num_batches_tracked"] == 3
    assert get_weights(model)["0.kernel"].shape == (1, 4, 4)
    save_weights(model, tmp_path / "weights")
    load_weights(other, tmp_path / "weights")
    assert torch.allclose(other.eval()(x)[0], before)
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in model.state_dict().items())
    wrong = get_weights(model) | {"1.num_batches_tracked": np.array(0.5)}
    with pytest.raises(ValueError, match="num_batches_tracked"):
        set_weights(model, wrong)


def test_pytorch_buffers_of_other_dtypes_are_kept(tmp_path):
    class Masked(nn.Linear):
        def __init__(self, fill):
            super().__init__(2, 2)
            self.register_buffer("mask", torch.full((2, 2), fill, dtype=torch.bool).tril())
            self.register_buffer("seed", torch.tensor(2**60 + int(fill)))
            self.register_buffer("turn", torch.tensor([1j, 2 + int(fill)]))

    model, other = Masked(True), Masked(False)
    save_weights(model, tmp_path / "w")
    load_weights(other, tmp_path / "w")
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in model.state_dict().items())
    for name in ("mask", "seed", "turn"):
        with pytest.raises(ValueError, match=name):
            set_weights(model, get_weights(model) | {name: np.ones(model.state_dict()[name].shape, np.float32)})


def test_pytorch_state_that_is_no_tensor_is_refused():
    class Counting(nn.Linear):
        def get_extra_state(self):
            return {"calls": 3}

        def set_extra_state(self, state):
            pass

    with pytest.raises(ValueError, match=r"model.*0\._extra_state"):
        get_weights(nn.Sequential(Counting(2, 2)))


def test_pytorch_leaves_out_what_it_computes_anew():
    module = nn.Linear(2, 2)
    module.register_buffer("table", torch.ones(3), persistent=False)
    assert list(get_weights(module)) == ["kernel", "bias"]
