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
)

pytestmark = pytest.mark.chapter("02", "08")

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
