"""Chapter 18: the decoder of nine families in each track, against the classes of transformers."""

import keras
import numpy as np
import pytest
import torch
from dictionaries import assert_same, drawn, values_of
from scipy.special import expit
from torch.nn import functional as F

from shared.arrays import as_numpy
from shared.frameworks.weights import get_weights
from shared.keras import gpt as keras_gpt
from shared.keras import modern_decoder as keras_track
from shared.numpy import attention as numpy_attention
from shared.numpy import gpt as numpy_gpt
from shared.numpy import modern_decoder as numpy_track
from shared.pytorch import gpt as pytorch_gpt
from shared.pytorch import modern_decoder as pytorch_track

from .families import FAMILIES, in_float64, saved


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def texts(rng, length=24):
    return rng.integers(0, 61, (2, length))


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


# The same function


@pytest.mark.parametrize("tied", [False, True])
def test_each_track_computes_what_transformers_does(family, tied, rng, tmp_path):
    theirs = saved(family, tmp_path, tied=tied)
    tokens = texts(rng)
    with in_float64(theirs) as exact, torch.no_grad():
        expected = exact(torch.tensor(tokens)).logits.numpy()
        inexact = theirs(torch.tensor(tokens)).logits.numpy()

    np.testing.assert_allclose(numpy_track.load(tmp_path, "float64")(tokens), expected, rtol=0, atol=1e-10)
    logits = numpy_track.load(tmp_path)(tokens)
    assert logits.dtype == np.float32
    assert relative(logits, inexact) < 1e-5

    with torch.no_grad():
        logits = pytorch_track.load(tmp_path, torch.float64)(torch.tensor(tokens)).numpy()
        np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-10)
        logits = pytorch_track.load(tmp_path)(torch.tensor(tokens)).numpy()
    assert relative(logits, inexact) < 1e-5


@pytest.mark.keras
def test_keras_computes_what_numpy_does(family, rng, tmp_path):
    saved(family, tmp_path)
    tokens = texts(rng)
    assert relative(as_numpy(keras_track.load(tmp_path)(tokens)), numpy_track.load(tmp_path)(tokens)) < 1e-5


@pytest.mark.keras
@pytest.mark.tensorflow
@pytest.mark.parametrize("tied", [False, True])
def test_keras_computes_what_transformers_does_in_float64(family, tied, rng, tmp_path):
    theirs = saved(family, tmp_path, tied=tied)
    tokens = texts(rng)
    with in_float64(theirs) as exact, torch.no_grad():
        expected = exact(torch.tensor(tokens)).logits.numpy()
    bound = 1e-7 if family.startswith("gemma") else 1e-10  # TensorFlow rounds a constant of its GELU to float32
    np.testing.assert_allclose(as_numpy(keras_track.load(tmp_path, "float64")(tokens)), expected, rtol=0, atol=bound)


def test_numpy_and_pytorch_have_the_same_gradients(family, rng, tmp_path):
    saved(family, tmp_path)
    model = numpy_track.load(tmp_path, "float64")
    other = pytorch_track.load(tmp_path, torch.float64)
    tokens, upstream = texts(rng), rng.normal(size=(2, 24, 61))
    model(tokens)
    model.backward(upstream)
    (other(torch.tensor(tokens)) * torch.tensor(upstream)).sum().backward()
    expected = get_weights(other)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.copy_(parameter.grad)
    found = get_weights(other)
    assert found.keys() == expected.keys() == model.gradients().keys()
    for name, gradient in model.gradients().items():
        np.testing.assert_allclose(gradient, found[name], rtol=0, atol=1e-10 * np.abs(gradient).max(), err_msg=name)


# Writing


def test_each_track_writes_what_transformers_does(family, rng, tmp_path):
    theirs = saved(family, tmp_path, max_position_embeddings=64)
    prompt = rng.integers(0, 61, 9).tolist()
    with torch.no_grad():
        options = {"max_new_tokens": 50, "do_sample": False, "pad_token_id": 0}
        expected = theirs.generate(torch.tensor([prompt]), **options)[0].tolist()
    assert len(expected) == 59
    assert numpy_gpt.generate(numpy_track.load(tmp_path), prompt, 50, temperature=0) == expected
    assert pytorch_gpt.generate(pytorch_track.load(tmp_path), prompt, 50, temperature=0) == expected
    assert keras_gpt.generate(keras_track.load(tmp_path), prompt, 50, temperature=0) == expected


def test_the_cache_and_padding_change_nothing(family, tmp_path):
    saved(family, tmp_path)
    rows = [[1, 2, 3], [4, 5, 6, 7, 8, 9, 10, 11], [12]]
    for generate, model in (
        (numpy_gpt.generate, numpy_track.load(tmp_path, "float64")),
        (pytorch_gpt.generate, pytorch_track.load(tmp_path, torch.float64)),
    ):
        together = generate(model, rows, 12, temperature=0)
        assert together == generate(model, rows, 12, temperature=0, use_cache=False)
        assert together == [generate(model, row, 12, temperature=0) for row in rows]


def test_logits_with_a_cache_are_those_without(family, rng, tmp_path):
    saved(family, tmp_path)
    tokens = texts(rng)
    model, other = numpy_track.load(tmp_path, "float64"), pytorch_track.load(tmp_path, torch.float64)
    whole, cache, torch_cache = model(tokens), model.make_cache(2), other.make_cache(2)
    for begin, end in ((0, 7), (7, 8), (8, 20), (20, 24)):  # a window of 5 lies within and across
        part = model(tokens[:, begin:end], cache=cache)
        np.testing.assert_allclose(part, whole[:, begin:end], rtol=0, atol=1e-12)
        with torch.no_grad():
            part = other(torch.tensor(tokens[:, begin:end]), cache=torch_cache)
        np.testing.assert_allclose(part.numpy(), whole[:, begin:end], rtol=0, atol=1e-11)


@pytest.mark.keras
def test_keras_writes_prompts_of_different_lengths_as_each_alone(tmp_path):
    saved("gemma2", tmp_path)
    model = keras_track.load(tmp_path)
    rows = [[1, 2, 3], [4, 5, 6, 7, 8, 9, 10, 11], [12]]
    together = keras_gpt.generate(model, rows, 12, temperature=0)
    assert together == [keras_gpt.generate(model, row, 12, temperature=0) for row in rows]
    assert together == numpy_gpt.generate(numpy_track.load(tmp_path), rows, 12, temperature=0)


@pytest.mark.keras
def test_keras_saves_and_loads_the_record(family, rng, tmp_path):
    saved(family, tmp_path / "theirs")
    model, tokens = keras_track.load(tmp_path / "theirs"), texts(rng)
    model.save(tmp_path / "decoder.keras")
    loaded = keras.saving.load_model(tmp_path / "decoder.keras")
    assert loaded.config == model.config
    np.testing.assert_array_equal(as_numpy(loaded(tokens)), as_numpy(model(tokens)))


# What doesn't fit

SIZES = {
    "vocab_size": 31,
    "d_model": 16,
    "num_heads": 4,
    "num_kv_heads": 2,
    "head_dim": 4,
    "d_ff": 24,
    "max_length": 12,
}
TRACKS = [
    pytest.param(numpy_track, np.asarray, "mask", id="numpy"),
    pytest.param(pytorch_track, torch.as_tensor, "mask", id="pytorch"),
    pytest.param(keras_track, keras.ops.convert_to_tensor, "attention_mask", id="keras", marks=pytest.mark.keras),
]


def record(blocks: int, **changed):
    return numpy_track.ModernConfig(**SIZES, windows=(3,) * blocks, thetas=(1e4,) * blocks, **changed)


@pytest.mark.parametrize("module, array, name", TRACKS)
@pytest.mark.parametrize("blocks, rows", [(2, 2), (6, 2), (4, 3)])
def test_a_cache_of_another_model_or_number_of_texts_is_refused(module, array, name, blocks, rows):
    """With a draft's cache, the last blocks would be left out in silence; with a larger one, positions would begin anew."""
    model, other = (module.ModernDecoder(record(each)) for each in (4, blocks))
    with pytest.raises(ValueError, match=f"cache has {blocks} layers and {rows} rows: expected 4 and 2"):
        model(array(np.ones((2, 5), dtype=np.int64)), cache=other.make_cache(rows))


@pytest.mark.parametrize("module, array, name", TRACKS)
@pytest.mark.parametrize("keys", [1, 4, 6])
def test_a_mask_of_another_length_is_refused_by_its_name(module, array, name, keys):
    model, tokens = module.ModernDecoder(record(2)), array(np.ones((2, 5), dtype=np.int64))
    with pytest.raises(TypeError, match=rf"{name} has shape \(2, 1, 1, {keys}\): expected \(2, 1, 1, 5\)"):
        model(tokens, **{name: array(np.ones((2, 1, 1, keys), dtype=bool))})


@pytest.mark.parametrize("module, array, name", TRACKS)
@pytest.mark.parametrize("keys", [1, 4])
def test_an_attention_refuses_a_mask_of_the_new_positions_alone_and_keeps_its_cache(module, array, name, keys, rng):
    """Broadcast over all keys, it would show padding that is cached; refused late, the cache would have moved."""
    config = record(1)
    model = module.ModernDecoder(config)
    attention = model.blocks[0].attention
    cache = model.make_cache(1).layers[0]
    given = {"cos": (1, 1, 5, 2), "sin": (1, 1, 5, 2)} if module is not numpy_track else {}

    def call(length, **more):
        x = array(rng.normal(size=(1, length, config.d_model)).astype("float32"))
        turns = [array(np.ones((1, 1, length, 2), "float32"))] * 2 if given else [np.arange(length)[None]]
        return attention(x, *turns, cache=cache, **more)

    call(5)
    with pytest.raises(
        TypeError, match=rf"{name} has shape \(1, 1, 1, {keys}\): expected one that broadcasts to 6 keys"
    ):
        call(1, **{name: array(np.ones((1, 1, 1, keys), bool))})
    assert cache.length == 5


@pytest.mark.keras
def test_keras_attention_without_a_mask_is_causal_where_the_length_is_a_tensor(rng):
    """Such a cache gives its whole room: the empty slots must be hidden, and of several new positions the later ones."""
    config = record(1)
    attention = keras_track.GroupedQueryAttention(config)
    x = keras.ops.convert_to_tensor(rng.normal(size=(2, 6, config.d_model)).astype("float32"))
    [(cos, sin)] = keras_track.ModernDecoder(config).rotations(keras.ops.arange(6)[None])
    cache = keras_track.KVCache(1, 2, config.num_kv_heads, 9, config.head_dim, "float32").layers[0]
    cache.length = keras.ops.convert_to_tensor(0, "int32")
    parts = [
        attention(x[:, begin:end], cos[:, :, begin:end], sin[:, :, begin:end], cache=cache)
        for begin, end in ((0, 4), (4, 6))
    ]
    np.testing.assert_allclose(
        as_numpy(keras.ops.concatenate(parts, axis=1)), as_numpy(attention(x, cos, sin)), atol=1e-5
    )


def test_pytorchs_model_is_exported_for_every_length(rng):
    model = pytorch_track.ModernDecoder(record(2)).eval()
    length = torch.export.Dim("length", min=4, max=12)
    tokens = torch.as_tensor(rng.integers(0, 31, (2, 6)))
    program = torch.export.export(model, (tokens,), dynamic_shapes={"tokens": {1: length}})
    longer = torch.as_tensor(rng.integers(0, 31, (2, 11)))
    torch.testing.assert_close(program.module()(longer), model(longer))


@pytest.mark.parametrize("module, array, name", TRACKS)
def test_more_queries_than_keys_have_no_window(module, array, name):
    with pytest.raises(ValueError, match="length_q=4 must be from 1 to length_k=3"):
        module.window_mask(4, 3)


@pytest.mark.parametrize(
    "changed", [{"gated": False}, {"activation": "relu_squared"}, {"gated": False, "activation": "gelu_tanh"}]
)
def test_a_record_with_an_activation_that_nothing_applies_is_refused(changed):
    with pytest.raises(ValueError, match=f"activation='{changed.get('activation', 'silu')}' with gated="):
        record(1, **changed)


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 16, "low_freq_factor": 1.0}


@pytest.mark.parametrize("module, array, name", TRACKS)
@pytest.mark.parametrize(
    "scaling, named",
    [
        ({"factor": 8.0}, "rope_type=None: expected one of 'linear', 'llama3', 'yarn'"),
        ({"rope_type": "dynamic", "factor": 8.0}, "rope_type='dynamic': expected one of"),
        ({"rope_type": "linear"}, "factor is missing"),
        (LLAMA3, "high_freq_factor is missing"),
        ({"rope_type": "yarn", "factor": 4.0}, "original_max_position_embeddings is missing"),
    ],
)
def test_a_scaling_that_lacks_something_is_refused(module, array, name, scaling, named):
    with pytest.raises(ValueError, match=named):
        module.ModernDecoder(record(1, scalings=(scaling,)))


@pytest.mark.parametrize("module, array, name", TRACKS)
def test_room_for_no_position_is_refused(module, array, name, tmp_path):
    saved("llama", tmp_path)
    with pytest.raises(ValueError, match="max_length=0"):
        module.load(tmp_path, max_length=0)


def test_a_dtype_that_is_none_of_pytorch_is_refused_by_its_name(tmp_path):
    with pytest.raises(TypeError, match="dtype"):
        pytorch_track.load(tmp_path, "bfloat16")


# The dictionary of compare

SAME = {"RMSNorm, as a function", "RMSNorm, as a layer", "SiLU", "soft-cap", "RoPE's speeds"}


def test_every_call_of_the_dictionary_runs_as_typed(rng):
    """And those that have one value in the three columns have the same."""
    shapes = {"x": (3, 5, 16), "q": (3, 4, 5, 8), "k": (3, 2, 5, 8), "v": (3, 2, 5, 8)}
    columns = []
    for column in (1, 2, 3):
        names = drawn(np.random.default_rng(0), column, **shapes)
        if column == 1:
            names |= vars(numpy_track) | {"np": np, "expit": expit}
            names |= {name: getattr(numpy_attention, name) for name in ("softmax", "scaled_dot_product_attention")}
        elif column == 2:
            names = {name: torch.tensor(array) for name, array in names.items()} | {"torch": torch, "F": F}
        else:
            names |= {f"{name}k": names[name].swapaxes(1, 2) for name in "qkv"} | {"keras": keras}
        columns.append(values_of("18_modern_decoder", column, names, SAME.__contains__))
    assert_same(columns, SAME)
