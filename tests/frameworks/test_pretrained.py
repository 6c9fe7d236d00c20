import json
import re
import shutil
import tracemalloc

import numpy as np
import pytest
import safetensors.numpy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from shared.frameworks.pretrained import bert_weights, gpt2_weights, read_pretrained, require, setting, write_bert
from shared.frameworks.weights import get_weights, load_arrays
from shared.numpy.bert import BERTModel
from shared.numpy.gpt import GPTModel

pytestmark = pytest.mark.chapter("13", "14")


@pytest.fixture
def directory(tmp_path):
    """A model directory with one weight, of 16 bits."""
    path = tmp_path / "model"
    path.mkdir()
    (path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 8}))
    save_file({"a.weight": torch.tensor([[1.5, -2.0]]).half()}, path / "model.safetensors")
    return path


def test_one_file(directory):
    for path in (directory, str(directory)):
        config, arrays = read_pretrained(path, "bert")
        assert config["hidden_size"] == 8 and arrays["a.weight"].dtype == np.float32
        np.testing.assert_array_equal(arrays["a.weight"], [[1.5, -2.0]])


WEIGHT_MAP = {"a": "model-1.safetensors", "b": "model-1.safetensors", "c": "model-2.safetensors"}


def several(directory, weight_map, second=("c",)):
    """Put two files and an index in place of the one file; the first has a and b."""
    (directory / "model.safetensors").unlink()
    save_file({"a": torch.ones(1), "b": torch.arange(3)}, directory / "model-1.safetensors")
    save_file({name: torch.tensor([0.1, -3e38]) for name in second}, directory / "model-2.safetensors")
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


def test_several_files(directory):
    several(directory, WEIGHT_MAP)
    arrays = read_pretrained(directory, "bert")[1]
    assert sorted(arrays) == ["a", "b", "c"] and arrays["b"].dtype == np.int64


def test_bfloat16_becomes_float32(tmp_path):
    """Bit for bit what PyTorch makes of it."""
    tensors = {"a": torch.randn(3, 4).bfloat16(), "b": torch.randn(2), "c": torch.tensor([torch.inf, -0.0]).bfloat16()}
    save_file(tensors, tmp_path / "x.safetensors")
    arrays = load_arrays(tmp_path / "x.safetensors")[0]
    assert set(arrays) == set(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(arrays[name], tensor.float().numpy())
        assert arrays[name].dtype == np.float32


def elsewhere(directory, path):
    """Let the index name a file outside the directory, where one is."""
    (directory / "model.safetensors").rename(directory.parent / "model.safetensors")
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": path}}))


def without_weights(directory):
    (directory / "model.safetensors").unlink()


def cut_off(directory):
    whole = (directory / "model.safetensors").read_bytes()
    (directory / "model.safetensors").write_bytes(whole[:-1])


def pickled(directory):
    without_weights(directory)
    torch.save({"a": torch.ones(2)}, directory / "pytorch_model.bin")


def nested(directory, file, content):
    """Put lists in lists in lists, or the like, into a file."""
    if file == "model.safetensors":
        save_file({"a": torch.ones(1)}, directory / file, {"course": content})
        return
    if file == "model.safetensors.index.json":
        without_weights(directory)
    (directory / file).write_text(content)


DEEP = ["[" * 100_000, '{"a":' * 100_000]
CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
BAD_DIRECTORIES = [  # what is done to a directory that can be read, the error and what it names
    (shutil.rmtree, FileNotFoundError, "path"),
    (lambda d: (d / CONFIG).unlink(), FileNotFoundError, CONFIG),
    (lambda d: (d / CONFIG).write_text("[1]"), ValueError, CONFIG),
    (lambda d: (d / CONFIG).write_text("{"), ValueError, CONFIG),
    (lambda d: (d / CONFIG).write_text("{}"), ValueError, "model_type"),
    (lambda d: (d / CONFIG).write_text('{"model_type": "gpt2"}'), ValueError, "model_type"),
    (without_weights, FileNotFoundError, WEIGHTS),
    (cut_off, ValueError, WEIGHTS),
    (pickled, ValueError, "pytorch_model.bin"),
    (lambda d: several(d, WEIGHT_MAP, second=("b", "c")), ValueError, "b"),
    (lambda d: several(d, WEIGHT_MAP | {"b": "model-2.safetensors"}), ValueError, "b"),
    (lambda d: several(d, WEIGHT_MAP | {"d": "model-2.safetensors"}), ValueError, "d"),
    (lambda d: several(d, WEIGHT_MAP | {"c": "model-3.safetensors"}), FileNotFoundError, "model-3.safetensors"),
    (lambda d: elsewhere(d, "../model.safetensors"), ValueError, INDEX),
    (lambda d: elsewhere(d, "/etc/passwd"), ValueError, INDEX),
    (lambda d: elsewhere(d, ".."), FileNotFoundError, "path"),
    *(
        (lambda d, file=file, content=content: nested(d, file, content), ValueError, file)
        for file in (CONFIG, WEIGHTS, INDEX)
        for content in DEEP
    ),
]


@pytest.mark.parametrize(("damage", "error", "name"), BAD_DIRECTORIES)
def test_what_is_refused_of_a_directory_is_named(damage, error, name, directory):
    damage(directory)
    with pytest.raises(error, match=rf"\b{re.escape(name)}\b"):
        read_pretrained(directory, "bert")


def test_settings():
    config = {"size": 4, "act": "gelu"}
    assert setting(config, "size") == 4 and setting(config, "none", 3) == 3
    with pytest.raises(ValueError, match=r"\bnone\b"):
        setting(config, "none")
    require(config, act="gelu", absent=True)
    with pytest.raises(ValueError, match=r"\bact\b"):
        require(config, act="relu")


# Any config.json


def gpt2_files(path) -> dict:
    """Write a GPT-2 of two layers, of width 4 and inner width 6; return its config.json."""
    sizes = {"vocab_size": 7, "n_positions": 5, "n_embd": 4, "n_layer": 2, "n_head": 2, "n_inner": 6}
    shapes = {"wte.weight": (7, 4), "wpe.weight": (5, 4), "ln_f.weight": (4,), "ln_f.bias": (4,)}
    for i in range(2):
        for norm in ("ln_1", "ln_2"):
            shapes |= {f"h.{i}.{norm}.weight": (4,), f"h.{i}.{norm}.bias": (4,)}
        kernels = {"attn.c_attn": (4, 12), "attn.c_proj": (4, 4), "mlp.c_fc": (4, 6), "mlp.c_proj": (6, 4)}
        for name, shape in kernels.items():
            shapes |= {f"h.{i}.{name}.weight": shape, f"h.{i}.{name}.bias": shape[1:]}
    arrays = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    safetensors.numpy.save_file(arrays, path / "model.safetensors")
    others = {"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "bos_token_id": 0, "resid_pdrop": 0.1}
    choices = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False}
    return {"model_type": "gpt2", "tie_word_embeddings": True} | sizes | others | choices


def bert_files(path) -> dict:
    """Write a BERT of two layers, of width 4 and inner width 6; return its config.json."""
    arguments = {"d_model": 4, "num_heads": 2, "d_ff": 6, "vocab_size": 7, "max_length": 5, "num_layers": 2}
    arguments |= {"pad_id": 0, "num_segments": 3, "eps": 1e-12}
    write_bert(path, arguments, get_weights(BERTModel(**arguments, rng=0)))
    choices = {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}
    config = json.loads((path / "config.json").read_text())
    return config | choices | {"tie_word_embeddings": True, "hidden_dropout_prob": 0.1}


MODELS = {"gpt2": (gpt2_files, GPTModel, gpt2_weights), "bert": (bert_files, BERTModel, bert_weights)}
NUMBERS = st.integers() | st.integers(0, 9) | st.sampled_from([2**31, 2**63, 10**30]) | st.floats()
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text() | st.sampled_from(["2", "gelu", "gelu_pytorch_tanh"]),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=5,
)


@pytest.fixture(scope="module", params=MODELS)
def small(request, tmp_path_factory):
    """A model directory, its class and its config.json."""
    write, model, _ = MODELS[request.param]
    path = tmp_path_factory.mktemp(request.param)
    config = write(path)
    (path / "config.json").write_text(json.dumps(config))
    model.from_pretrained(path)
    return path, model, config


@settings(max_examples=60, deadline=1000, derandomize=True, database=None)
@given(data=st.data(), value=JSON)
def test_any_value_of_any_setting_makes_a_model_or_an_error_that_names_it(small, data, value):
    path, model, config = small
    key = data.draw(st.sampled_from(sorted(config)))
    (path / "config.json").write_text(json.dumps(config | {key: value}))
    try:
        model.from_pretrained(path)
    except ValueError as error:
        assert "config.json" in str(error) and key in str(error)


@pytest.mark.parametrize("size", [2**31, 10**30])
def test_a_size_of_config_json_costs_no_memory(small, size):
    path, model, config = small
    sizes = [key for key, value in config.items() if isinstance(value, int) and value > 1]
    assert len(sizes) > 5
    tracemalloc.start()
    for key in sizes:
        (path / "config.json").write_text(json.dumps(config | {key: size}))
        with pytest.raises(ValueError, match=rf"\b{key}\b"):
            model.from_pretrained(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_an_old_file_names_its_positions_n_ctx(tmp_path):
    config = gpt2_files(tmp_path)
    arrays = load_arrays(tmp_path / "model.safetensors")[0]
    positions = config.pop("n_positions")
    assert gpt2_weights(config | {"n_ctx": positions}, arrays)[0]["max_length"] == positions
    with pytest.raises(ValueError, match=r"\bn_ctx\b"):
        gpt2_weights(config | {"n_ctx": 6}, arrays)
    with pytest.raises(ValueError, match=r"\bn_positions\b"):
        gpt2_weights(config, arrays)


def test_a_long_value_is_cut_short_in_the_message(small):
    path, model, config = small
    nested = []
    for _ in range(300):
        nested = [nested]
    for key in config:
        for value in ("x" * 100_000, list(range(100_000)), nested, 10**4000):
            (path / "config.json").write_text(json.dumps(config | {key: value}))
            try:
                model.from_pretrained(path)
            except ValueError as error:
                assert key in str(error) and len(str(error)) < 300


@pytest.mark.parametrize(
    ("kind", "name", "other"),
    [
        ("gpt2", "wte.weight", "transformer.wte.weight"),
        ("gpt2", "transformer.h.1.mlp.c_fc.bias", "h.1.mlp.c_fc.bias"),
        ("bert", "bert.embeddings.LayerNorm.weight", "embeddings.LayerNorm.weight"),
        ("bert", "bert.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.gamma"),
        ("bert", "bert.embeddings.LayerNorm.bias", "embeddings.LayerNorm.beta"),
        ("bert", "cls.predictions.transform.LayerNorm.bias", "cls.predictions.transform.LayerNorm.beta"),
    ],
)
def test_a_weight_under_two_names_is_refused_by_both(kind, name, other, tmp_path):
    write, _, translate = MODELS[kind]
    config = write(tmp_path)
    arrays = load_arrays(tmp_path / "model.safetensors")[0]
    shape = arrays[name if name in arrays else other].shape
    one, two = {name: np.ones(shape, np.float32)}, {other: np.zeros(shape, np.float32)}
    rest = {key: array for key, array in arrays.items() if key not in (name, other)}
    translate(config, rest | one)
    translate(config, rest | two)
    for both in (one | two, two | one):
        with pytest.raises(ValueError, match=re.escape(name)) as caught:
            translate(config, rest | both)
        assert other in str(caught.value)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("shape", [(), (1,), (2, 2), (1, 2, 3)])
def test_every_array_must_have_its_shape(kind, shape, tmp_path):
    """Each in turn: no exception but a ValueError that names the array, or the size that the array does not have."""
    write, _, translate = MODELS[kind]
    config = write(tmp_path)
    arrays = load_arrays(tmp_path / "model.safetensors")[0]
    translate(config, arrays)
    for name in arrays:
        with pytest.raises(ValueError, match=re.escape(name.removeprefix("bert."))) as caught:
            translate(config, arrays | {name: np.ones(shape, np.float32)})
        assert str(shape) in str(caught.value)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("dtype", ["int64", "bool", "complex64"])
def test_every_array_must_be_floating_point(kind, dtype, tmp_path):
    write, _, translate = MODELS[kind]
    config = write(tmp_path)
    arrays = load_arrays(tmp_path / "model.safetensors")[0]
    for name, array in arrays.items():
        with pytest.raises(ValueError, match=re.escape(name.removeprefix("bert."))):
            translate(config, arrays | {name: array.astype(dtype)})
