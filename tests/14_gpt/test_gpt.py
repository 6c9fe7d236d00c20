"""Chapter 14: GPT, its cache and its text, in each track, across the three, and against `transformers`."""

import functools
import json
import math
import re
from pathlib import Path

import keras
import nbformat
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import nn

import shared.keras.gpt as keras_track
import shared.numpy.gpt as numpy_track
import shared.pytorch.gpt as pytorch_track
from shared import grammar, parity, text
from shared.arrays import as_numpy
from shared.checks.gpt import check_logits
from shared.frameworks.pretrained import gpt2_weights, read_pretrained
from shared.frameworks.weights import get_weights, set_weights

ROOT = Path(__file__).resolve().parents[2]
TRACKS = {"numpy": numpy_track, "pytorch": pytorch_track, "keras": keras_track}
SMALL = {"d_model": 8, "num_heads": 2, "d_ff": 12, "vocab_size": 11, "max_length": 12, "num_layers": 2}
HF = {"vocab_size": 61, "n_positions": 80, "n_embd": 16, "n_layer": 2, "n_head": 4, "initializer_range": 0.4}
every_track = pytest.mark.parametrize("track", TRACKS)
PROMPTS = [[3, 1, 4], [2], [7, 1, 8, 2, 8]]


def scrambled(model, seed: int = 7):
    """The model with every weight random and large enough to matter."""
    rng = np.random.default_rng(seed)
    given = sorted(get_weights(model).items())  # in one order, whatever the track's is
    weights = {name: rng.normal(scale=0.4, size=value.shape) for name, value in given}
    set_weights(model, {name: value + name.endswith("gamma") for name, value in weights.items()})
    return model


def make(track: str, **arguments):
    """A scrambled model, in float64 and evaluation."""
    if track == "keras":
        return scrambled(keras_track.GPTModel(**SMALL | arguments))
    model = scrambled(TRACKS[track].GPTModel(**SMALL | arguments)).eval()
    return model.double() if track == "pytorch" else model


def close(track: str) -> float:
    """Keras computes in float32 here; on TensorFlow only the tests with the float64 fixture do more."""
    return 2e-5 if track == "keras" else 1e-12


def seeded(track: str, seed: int) -> dict:
    """What makes `generate` of a track draw the same each time."""
    return {
        "numpy": lambda: {"rng": seed},
        "pytorch": lambda: {"generator": torch.Generator().manual_seed(seed)},
        "keras": lambda: {"seed": seed},
    }[track]()


def uncached(model, prompts: list[list[int]], new: int) -> list[list[int]]:
    """Each text by itself, all of it read for every token; written out with the model alone."""
    rows = [list(prompt) for prompt in prompts]
    for row in rows:
        for _ in range(new):
            row.append(int(call(model, [row])[0, -1].argmax()))
    return rows


def tensor(track: str, array):
    return torch.tensor(array) if track == "pytorch" else array


def call(model, tokens, mask=None, cache=None) -> np.ndarray:
    track = "pytorch" if isinstance(model, pytorch_track.GPTModel) and not isinstance(model, keras.Model) else "other"
    with torch.no_grad():
        mask = None if mask is None else tensor(track, mask)
        name = "attention_mask" if isinstance(model, keras.Model) else "mask"
        return as_numpy(model(tensor(track, np.asarray(tokens)), **{name: mask, "cache": cache}))


def random_tokens(rng, *shape: int) -> np.ndarray:
    return rng.integers(1, SMALL["vocab_size"], size=shape)


# One function, three times


def test_numpy_tied_gradient_is_the_sum_of_both_paths(rng):
    model, tokens = make("numpy"), random_tokens(rng, 2, 5)
    grad_output = rng.normal(size=(2, 5, 11))
    table = model.tokens.embeddings
    model(tokens)
    model.backward(grad_output)
    as_output = np.einsum("bnv,bnd->vd", grad_output, model.h)
    truth = parity.numerical_gradient(lambda: float((model(tokens) * grad_output).sum()), table.value)
    np.testing.assert_allclose(table.grad, truth, atol=1e-6)
    read = np.unique(tokens)
    assert (np.abs(table.grad - as_output)[read].max(axis=1) > 1e-3).all()
    unread = np.setdiff1d(np.arange(11), read)
    np.testing.assert_allclose(table.grad[unread], as_output[unread], atol=1e-12)


def test_numpy_backward_goes_through_the_dropout_of_the_embeddings(rng):
    model, tokens, grad_output = make("numpy").train(), random_tokens(rng, 2, 4), rng.normal(size=(2, 4, 11))
    model.dropout.rate = 0.5

    def objective() -> float:
        model.dropout.rng = np.random.default_rng(1)
        return float((model(tokens) * grad_output).sum())

    objective()
    model.backward(grad_output)
    positions = model.positions.embeddings
    np.testing.assert_allclose(positions.grad, parity.numerical_gradient(objective, positions.value), atol=1e-6)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_count_the_table_once(track):
    model = make(track)
    names = list(get_weights(model))
    assert len(names) == 4 + 2 * 16
    assert [name for name in names if "embeddings" in name] == ["tokens.embeddings", "positions.embeddings"]
    total = {
        "numpy": lambda: sum(array.size for array in model.parameters().values()),
        "pytorch": lambda: sum(parameter.numel() for parameter in model.parameters()),
        "keras": lambda: model.count_params(),
    }[track]()
    block = 4 * (8 * 8 + 8) + (8 * 12 + 12) + (12 * 8 + 8) + 4 * 8
    assert total == 2 * block + (11 + 12) * 8 + 2 * 8


@pytest.mark.keras
def test_keras_model_is_saved_and_loaded_without_custom_objects(tmp_path):
    model, tokens = make("keras", eps=1e-3), np.array([[3, 1, 4, 0]])
    model.save(tmp_path / "gpt.keras")
    loaded = keras.saving.load_model(tmp_path / "gpt.keras")
    np.testing.assert_array_equal(call(loaded, tokens), call(model, tokens))
    assert loaded.get_config() == model.get_config() and loaded.get_config()["eps"] == 1e-3


@every_track
@pytest.mark.keras
def test_keras_and_the_others_start_as_gpt2(track):
    model = TRACKS[track].GPTModel(d_model=64, num_heads=4, d_ff=256, vocab_size=200, max_length=200, num_layers=8)
    for name, array in get_weights(model).items():
        if name.endswith(("beta", "bias")):
            assert not array.any()
        elif name.endswith("gamma"):
            assert (array == 1).all()
        else:
            adds = name.endswith(("attention.output.kernel", "contract.kernel"))
            assert array.std() == pytest.approx(0.02 / (4 if adds else 1), rel=0.05), name
    drawn = [array.tobytes() for array in get_weights(model).values() if array.ndim == 2]
    assert len(set(drawn)) == len(drawn)  # no initializer has given its numbers twice


@every_track
@pytest.mark.keras
def test_keras_and_the_others_have_tanh_gelu_pre_norm_and_a_last_norm(track, rng):
    """Written out with NumPy's functions, one row, one block."""
    model, tokens = make(track, num_layers=1), random_tokens(rng, 1, 5)
    w = {name: array.astype(float) for name, array in get_weights(model).items()}

    def norm(x, name):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w[f"{name}.gamma"] + w[
            f"{name}.beta"
        ]

    def linear(x, name):
        return x @ w[f"blocks.0.{name}.kernel"] + w[f"blocks.0.{name}.bias"]

    x = w["tokens.embeddings"][tokens[0]] + w["positions.embeddings"][:5]
    n = norm(x, "blocks.0.attention_norm")
    q, k, v = (linear(n, f"attention.{part}").reshape(5, 2, 4).transpose(1, 0, 2) for part in ("query", "key", "value"))
    scores = np.where(np.tri(5, dtype=bool), q @ k.swapaxes(1, 2) / 2, -np.inf)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    x = x + linear((weights @ v).transpose(1, 0, 2).reshape(5, 8), "attention.output")
    h = linear(norm(x, "blocks.0.feed_forward_norm"), "feed_forward.expand")
    h = h / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))
    x = norm(x + linear(h, "feed_forward.contract"), "norm")
    np.testing.assert_allclose(call(model, tokens)[0], x @ w["tokens.embeddings"].T, atol=100 * close(track))


# The cache


@every_track
@pytest.mark.keras
def test_keras_and_the_others_are_equal_with_a_cache_and_padding_before(track, rng):
    """Rows of different lengths, padded on the left: each as if it were alone, with a cache and without."""
    model = make(track)
    prompts = np.array([[3, 1, 4, 2, 6], [0, 0, 0, 0, 2], [0, 0, 7, 1, 8]])
    more = random_tokens(rng, 3, 4)
    real = np.c_[prompts != 0, np.ones((3, 4), bool)]
    lengths = (prompts != 0).sum(axis=1)
    alone = [call(model, np.r_[row[-n:], new][None])[0] for row, n, new in zip(prompts, lengths, more)]
    at_once = call(model, np.c_[prompts, more], real[:, None, None])
    cache, parts = model.make_cache(3), []
    for part in (prompts, more[:, :1], more[:, 1:]):
        seen = real[:, : cache.length + part.shape[1]][:, None, None]
        parts.append(call(model, part, seen, cache))
    for found in (at_once, np.concatenate(parts, axis=1)):
        for i, n in enumerate(lengths):
            np.testing.assert_allclose(found[i, 5 - n :], alone[i], atol=close(track))


@every_track
@pytest.mark.keras
def test_keras_and_the_others_need_no_mask_for_padding_at_the_end(track):
    """A causal model never sees it: the logits at real positions are those without it."""
    model = make(track)
    alone, padded = call(model, [[4, 8, 5, 7]]), call(model, [[4, 8, 5, 7, 0, 0]])
    np.testing.assert_allclose(padded[0, :4], alone[0], atol=close(track))
    mask = np.array([[1, 1, 1, 1, 0, 0]], bool)[:, None, None]
    np.testing.assert_allclose(call(model, [[4, 8, 5, 7, 0, 0]], mask)[0, :4], alone[0], atol=close(track))


@every_track
@pytest.mark.keras
def test_keras_and_the_others_count_positions_from_the_first_real_token(track):
    model = make(track)
    alone = call(model, [[4, 8, 5, 7]])
    padded = np.array([[0, 0, 4, 8, 5, 7]])
    told = call(model, padded, (padded != 0)[:, None, None])
    np.testing.assert_allclose(told[0, 2:], alone[0], atol=close(track))
    assert np.abs(call(model, padded)[0, -1] - alone[0, -1]).max() > 1e-2


@every_track
@pytest.mark.keras
def test_keras_and_the_others_keep_what_an_entry_of_the_cache_was_given(track, rng):
    cache = TRACKS[track].KVCache(2, 3, 4, 6, 5)
    key, value = rng.normal(size=(2, 3, 4, 4, 5)).astype("float64" if track == "numpy" else "float32")
    for start, stop in ((0, 3), (3, 4)):
        keys, values = cache.layers[1].append(*(tensor(track, each[:, :, start:stop]) for each in (key, value)))
        np.testing.assert_array_equal(as_numpy(keys), key[:, :, :stop])
        np.testing.assert_array_equal(as_numpy(values), value[:, :, :stop])
    assert cache.length == 4 and cache.layers[0].length == 0
    new = tensor(track, key[:, :, :3])
    for given, error, name in [
        ((new, new), ValueError, "max_length"),
        ((new[:1], new), TypeError, "key"),
        ((new, new[..., :2]), TypeError, "value"),
        ((new[:, :, :1], new[:, :, :2]), TypeError, "value"),
    ]:
        with pytest.raises(error, match=rf"\b{name}\b"):
            cache.layers[1].append(*given)
    assert cache.length == 4


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
def test_cache_hands_out_views_and_has_the_dtype_of_the_model(track, rng):
    model = make(track)
    model = model.astype(np.float32) if track == "numpy" else model.float()
    cache = model.make_cache(2)
    assert "float32" in str(cache.layers[0].keys.dtype)
    call(model, random_tokens(rng, 2, 3), cache=cache)
    layer = cache.layers[0]
    one = tensor(track, np.ones((2, 2, 1, 4), np.float32))
    keys, _ = layer.append(one, one)
    assert keys.shape[2] == 4
    before = as_numpy(keys)
    layer.keys += 1
    assert not np.array_equal(as_numpy(keys), before)  # the same memory


@pytest.mark.parametrize("padding", [False, True])
@pytest.mark.keras
def test_keras_model_gives_the_same_where_the_position_is_a_tensor(padding, rng):
    """As in compiled code: the whole room comes back, and a mask hides what is empty."""
    model, prompts = make("keras"), random_tokens(rng, 3, 5)
    real = np.ones((3, 12), bool)
    if padding:
        real[1, :3], prompts[1, :3] = False, 0
    cache, twin = model.make_cache(3), model.make_cache(3)
    for each in (cache, twin):
        call(model, prompts, real[:, None, None, :5], cache=each)
    twin.restore(keras.ops.convert_to_tensor(5, "int32"), twin.tensors())
    for end in range(6, 10):
        new, filled = random_tokens(rng, 3, 1), np.arange(12) < end
        found = call(model, new, (real & filled)[:, None, None], cache=twin)
        expected = call(model, new, real[:, None, None, :end], cache=cache)
        np.testing.assert_allclose(found, expected, atol=close("keras"))
    assert int(twin.length) == cache.length == 9


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="the PyTorch backend compiles nothing")
@pytest.mark.keras
def test_keras_compiles_writing_once_for_each_number_of_texts(monkeypatch):
    """Whatever the lengths are: how often Python runs through the model says how often it is traced."""
    traces, plain = [], keras_track._Writer.call

    def counted(writer, inputs):
        traces.append(inputs[0].shape[0])
        return plain(writer, inputs)

    monkeypatch.setattr(keras_track._Writer, "call", counted)
    model = make("keras")
    for prompt, new in (([1, 2], 8), ([[1], [2, 3]], 6)):
        keras_track.generate(model, prompt, new)
    compiled = len(traces)
    assert set(traces) == {1, 2}
    for prompt, new in (([3, 1, 4, 1], 5), ([[5, 6], [7]], 9), ([2], 3)):
        keras_track.generate(model, prompt, new)
    assert len(traces) == compiled


@pytest.mark.keras
def test_keras_compiled_writing_sees_weights_that_are_changed_later():
    model = make("keras")
    before = keras_track.generate(model, [1, 2], 8, temperature=0)
    scrambled(model, seed=8)
    after = keras_track.generate(model, [1, 2], 8, temperature=0)
    assert [after] == uncached(model, [[1, 2]], 8)
    assert after != before


@pytest.mark.parametrize("policy", ["float64", "mixed_float16", "mixed_bfloat16"])
@pytest.mark.keras
def test_keras_writes_in_every_dtype(policy):
    """The random numbers stay in float32: in float16 some would be 1, and give a token behind the last."""
    before = keras.config.floatx(), keras.config.dtype_policy()
    try:
        keras.config.set_floatx("float64" if policy == "float64" else "float32")
        keras.config.set_dtype_policy(policy)
        model = keras_track.GPTModel(**SMALL)
        rows = keras_track.generate(model, [[1, 2]] * 500, 9, seed=1)
    finally:
        keras.config.set_floatx(before[0])
        keras.config.set_dtype_policy(before[1])
    assert np.unique(rows).tolist() == list(range(11))


@pytest.mark.keras
def test_keras_model_that_has_written_is_saved_as_before(tmp_path):
    model = make("keras")
    names = [variable.path for variable in model.variables]
    written = keras_track.generate(model, [1, 2], 8, temperature=0)
    assert [variable.path for variable in model.variables] == names
    model.save(tmp_path / "gpt.keras")
    loaded = keras.saving.load_model(tmp_path / "gpt.keras")
    assert keras_track.generate(loaded, [1, 2], 8, temperature=0) == written


# One graph


@pytest.fixture
def graphs():
    """Counts the graphs that `torch.compile` makes; what it compiles runs as it is, so that no compiler is needed."""
    from torch._dynamo.testing import CompileCounter

    torch._dynamo.reset()
    yield CompileCounter()
    torch._dynamo.reset()


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_pytorch_compiles_to_one_graph(mode, graphs, rng):
    """Forward and backward, with a mask and without: the same numbers."""
    model = getattr(make("pytorch"), mode)()
    tokens = torch.tensor(random_tokens(rng, 3, 7))
    compiled = torch.compile(model, backend=graphs, fullgraph=True)
    for count, mask in ((1, None), (2, torch.tensor(np.arange(7) > 1)[None, None, None].expand(3, 1, 1, 7))):
        found = []
        for each in (model, compiled):
            model.zero_grad()
            logits = each(tokens, mask)
            logits.square().sum().backward()
            found.append([logits.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(*found))
        assert graphs.frame_count == count


def test_pytorch_compiles_to_two_graphs_with_a_cache(graphs):
    """One for the prompt and one for a token, whatever its position."""
    model = make("pytorch", max_length=40)
    compiled = torch.compile(model, backend=graphs, fullgraph=True)
    written = pytorch_track.generate(compiled, [3, 1, 4], 30, temperature=0)
    assert graphs.frame_count == 2
    assert [written] == uncached(model, [[3, 1, 4]], 30)


# Sampling


@every_track
@pytest.mark.keras
def test_keras_and_the_others_bend_the_distribution(track, rng):
    bend = TRACKS[track].token_probabilities
    logits = rng.normal(scale=2, size=(3, 9))
    full = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)

    def given(**options):
        return as_numpy(bend(tensor(track, logits.astype("float32" if track == "keras" else "float64")), **options))

    np.testing.assert_allclose(given(), full, atol=1e-6)
    half = full**2 / (full**2).sum(-1, keepdims=True)
    np.testing.assert_allclose(given(temperature=0.5), half, atol=1e-6)
    np.testing.assert_array_equal(given(temperature=0), np.eye(9)[logits.argmax(-1)])
    np.testing.assert_allclose(given(top_k=100), full, atol=1e-6)
    np.testing.assert_allclose(given(top_p=1.0), full, atol=1e-6)
    for top_k in (1, 3):
        kept = np.where(full >= np.sort(full)[:, -top_k, None], full, 0)
        np.testing.assert_allclose(given(top_k=top_k), kept / kept.sum(-1, keepdims=True), atol=1e-6)
    for top_p in (0.05, 0.6, 0.9):
        for row, out in zip(full, given(top_p=top_p)):
            order = np.argsort(-row)
            count = 1 + int((np.cumsum(row[order]) < top_p).sum())  # the fewest that reach it
            assert set(np.flatnonzero(out)) == set(order[:count])
            np.testing.assert_allclose(out[order[:count]], row[order[:count]] / row[order[:count]].sum(), atol=1e-6)
    both = given(temperature=2.0, top_k=4, top_p=0.7)
    np.testing.assert_allclose(both.sum(-1), 1, atol=1e-6)
    assert ((both > 0).sum(-1) <= 4).all()
    huge = tensor(track, np.array([[1e4, -1e4, 0]], "float32"))
    assert np.isfinite(as_numpy(bend(huge))).all()


@every_track
@pytest.mark.keras
def test_keras_and_the_others_stop_where_top_p_is_reached(track):
    """Chances of 3/4 and 1/4, and top_p=3/4: the first is enough, and the second isn't needed."""
    logits = tensor(track, np.log(np.array([[3.0, 1.0]], "float32" if track == "keras" else "float64")))
    highest = float(as_numpy(TRACKS[track].token_probabilities(logits)).max())
    np.testing.assert_array_equal(as_numpy(TRACKS[track].token_probabilities(logits, top_p=highest)), [[1, 0]])


TINY = [
    *({"temperature": temperature} for temperature in (1e-4, 1e-5, 1e-8, 1e-30, 1e-38, 1e-39, 1e-46, 1e-320)),
    *({"top_p": top_p} for top_p in (1e-4, 1e-8, 1e-39, 1e-46, 1e-320)),
    {"temperature": 1e-46, "top_k": 2, "top_p": 1e-46},
]


@every_track
@pytest.mark.keras
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_keras_and_the_others_take_numbers_that_underflow(track, dtype):
    logits = np.array([[1, 2, 3], [5, -2, 1], [-np.inf, 1, -1]], dtype)
    if track == "keras" and keras.backend.backend() == "jax" and dtype == "float64":
        pytest.skip("JAX has no float64 here")
    for options in TINY:
        found = as_numpy(TRACKS[track].token_probabilities(tensor(track, logits), **options))
        assert np.array_equal(found, np.eye(3)[[2, 0, 1]]), options


@every_track
@pytest.mark.keras
def test_keras_and_the_others_write_the_likeliest_token_at_a_tiny_temperature(track):
    model = make(track)
    greedy = TRACKS[track].generate(model, [[1, 2], [3]], 4, temperature=0)
    for temperature in (1e-5, 1e-38, 1e-46):
        assert TRACKS[track].generate(model, [[1, 2], [3]], 4, temperature=temperature) == greedy


def test_sampling_against_transformers(rng):
    from transformers.generation import TopKLogitsWarper, TopPLogitsWarper

    logits = torch.tensor(rng.normal(scale=2, size=(4, 30)))
    for top_k, top_p in ((5, None), (None, 0.7), (12, 0.8)):
        scores = logits / 0.8
        scores = TopKLogitsWarper(top_k)(None, scores) if top_k else scores
        scores = TopPLogitsWarper(top_p)(None, scores) if top_p else scores
        ours = numpy_track.token_probabilities(logits.numpy(), 0.8, top_k, top_p)
        np.testing.assert_allclose(ours, scores.softmax(-1).numpy(), atol=1e-12)


@pytest.mark.parametrize("track", ["numpy", "keras"])
@pytest.mark.keras
def test_keras_and_numpy_draw_by_the_inverse_of_the_running_sums(track, rng):
    module = TRACKS[track]

    def sample(probs, uniforms):
        given = (
            (probs, uniforms)
            if track == "numpy"
            else (keras.ops.array(each.astype("float32")) for each in (probs, uniforms))
        )
        return as_numpy(module.sample(*given))

    probs = np.array([[0.0, 0.25, 0.5, 0.0, 0.25, 0.0]])
    uniforms = np.array([0.0, 0.2499, 0.25, 0.7499, 0.75, 1 - 2**-24])
    assert sample(probs.repeat(6, 0), uniforms).tolist() == [1, 1, 2, 2, 4, 4]
    assert sample(3 * probs.repeat(6, 0), uniforms).tolist() == [1, 1, 2, 2, 4, 4]
    assert sample(probs.repeat(6, 0).astype("float32"), uniforms).tolist() == [1, 1, 2, 2, 4, 4]
    many = sample(probs.repeat(20000, 0), rng.random(20000))
    np.testing.assert_allclose(np.bincount(many, minlength=6) / 20000, probs[0], atol=0.02)


# Generation


@every_track
@pytest.mark.keras
def test_keras_and_the_others_write_greedy_texts_as_if_each_were_alone(track):
    """Prompts of different lengths, with a cache and without; no token is special, 0 neither."""
    model, generate = make(track), TRACKS[track].generate
    prompts = [[3, 0, 4], [0], [7, 1, 8, 2, 0]]
    written = generate(model, prompts, 7, temperature=0)
    assert written == uncached(model, prompts, 7)
    assert written == [generate(model, prompt, 7, temperature=0) for prompt in prompts]
    if track != "keras":
        assert written == generate(model, prompts, 7, temperature=0, use_cache=False)


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
def test_a_prompt_in_a_batch_gives_the_logits_that_it_gives_alone(track):
    """In float64: what is padded on the left changes nothing, up to rounding."""
    model, read = make(track), []
    forward = model.forward
    model.forward = lambda *given: (read.append(forward(*given)), read[-1])[1]
    TRACKS[track].generate(model, PROMPTS, 7, temperature=0)
    together, alone = [as_numpy(each)[:, -1] for each in read], []
    for prompt in PROMPTS:
        read.clear()
        TRACKS[track].generate(model, prompt, 7, temperature=0)
        alone.append([as_numpy(each)[0, -1] for each in read])
    np.testing.assert_allclose(np.stack(together, axis=1), alone, atol=1e-12)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_sample_the_same_from_the_same_seed(track):
    model, generate = make(track), TRACKS[track].generate
    options = {"top_k": 4, "temperature": 0.7}
    written = generate(model, PROMPTS, 7, **options, **seeded(track, 3))
    assert written == generate(model, PROMPTS, 7, **options, **seeded(track, 3))
    assert written != generate(model, PROMPTS, 7, **options, **seeded(track, 4))
    if track != "keras":
        assert written == generate(model, PROMPTS, 7, **options, **seeded(track, 3), use_cache=False)
    for row, prompt in zip(written, PROMPTS):
        assert row[: len(prompt)] == prompt and len(row) == len(prompt) + 7
    end = written[0][5]
    ended = generate(model, PROMPTS, 7, **options, **seeded(track, 3), end_id=end)
    for row, whole, prompt in zip(ended, written, PROMPTS):
        new = whole[len(prompt) :]
        assert row == prompt + new[: new.index(end) + 1 if end in new else None]


@every_track
@pytest.mark.keras
def test_keras_and_the_others_draw_from_the_models_distribution(track):
    """The first new token of many rows, against the exact probabilities."""
    model = make(track)
    rows = np.array(TRACKS[track].generate(model, [[3, 1]] * 3000, 1, **seeded(track, 1)))
    logits = call(model, [[3, 1]])[0, -1].astype(float)
    expected = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    np.testing.assert_allclose(np.bincount(rows[:, 2], minlength=11) / 3000, expected, atol=0.04)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_answer_in_the_form_of_the_prompt(track):
    model, generate = make(track), TRACKS[track].generate
    one = generate(model, [3, 1, 4], 5, 0)
    assert isinstance(one, list) and len(one) == 8 and all(isinstance(token, int) for token in one)
    assert generate(model, [[3, 1, 4]], 5, 0) == [one]
    assert generate(model, ((3, 1, 4),), 5, 0) == [one]
    array = generate(model, tensor(track, np.array([[3, 1, 4], [3, 1, 4]])), 5, 0)
    assert (
        isinstance(array, torch.Tensor if track == "pytorch" else np.ndarray)
        and array.shape == (2, 8)
        and array.tolist() == [one, one]
    )
    end = one[4]
    short = one[: one.index(end, 3) + 1]
    assert generate(model, [3, 1, 4], 5, 0, end_id=end) == short
    ended = generate(model, np.array([[3, 1, 4], [2, 2, 2]]), 5, 0, end_id=end)
    assert ended[0].tolist() == short + [end] * (ended.shape[1] - len(short))


@every_track
@pytest.mark.parametrize("temperature", [0, 1])
@pytest.mark.keras
def test_keras_and_the_others_write_nothing_from_nan(track, temperature):
    model = make(track)
    weights = get_weights(model)
    weights["positions.embeddings"][4] = math.nan  # the third token is the first to be read at this position
    set_weights(model, weights)
    with pytest.raises(ValueError, match="logits of step 3"):
        TRACKS[track].generate(model, [1, 2], 6, temperature)
    assert len(TRACKS[track].generate(model, [1, 2], 3, temperature)) == 5  # none of these saw it


def test_logits_may_rule_tokens_out():
    check_logits(np.array([[-math.inf, 1.0], [2.0, -math.inf]]).max(axis=-1), 0)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_fill_the_context(track):
    model, generate = make(track), TRACKS[track].generate
    assert [generate(model, [3, 1, 4], 9, 0)] == uncached(model, [[3, 1, 4]], 9)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_use_a_fresh_cache(track):
    model, generate = make(track), TRACKS[track].generate
    assert generate(model, PROMPTS, 4, 0) == generate(model, PROMPTS, 4, 0)
    cache = model.make_cache(1)
    first, second = (call(model, [[3, 1, 4]], cache=cache) for _ in range(2))
    assert np.abs(first - second).max() > 1e-2


# Weights of Hugging Face


@pytest.fixture(scope="module")
def hugging_face(tmp_path_factory):
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(**HF, bos_token_id=None, eos_token_id=None)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)  # biases and norms, too
    path = tmp_path_factory.mktemp("gpt2") / "model"
    model.save_pretrained(path)
    return model, path


@every_track
@pytest.mark.keras
def test_keras_and_the_others_are_gpt2(track, hugging_face):
    theirs, path = hugging_face
    model = TRACKS[track].GPTModel.from_pretrained(path)
    assert (model.max_length, model.vocab_size, len(model.blocks)) == (80, 61, 2)
    tokens = np.random.default_rng(0).integers(0, 61, size=(2, 25))
    with torch.no_grad():
        expected = theirs(torch.tensor(tokens)).logits.numpy()
    np.testing.assert_allclose(call(model, tokens), expected, atol=2e-5 * np.abs(expected).max())
    greedy = {"max_new_tokens": 50, "do_sample": False, "pad_token_id": 0}  # and without a mask, 0 would be padding
    written = theirs.generate(torch.tensor(tokens), attention_mask=torch.ones(2, 25), **greedy).numpy()
    assert np.array_equal(TRACKS[track].generate(model, tokens, 50, temperature=0), written)
    # prompts of different lengths, padded on the left as there
    mask = torch.tensor(np.arange(25) >= np.array([[0], [11]])).long()
    written = theirs.generate(torch.tensor(tokens), attention_mask=mask, **greedy).numpy()
    rows = TRACKS[track].generate(model, [tokens[0].tolist(), tokens[1, 11:].tolist()], 50, temperature=0)
    assert rows == [written[0].tolist(), written[1, 11:].tolist()]


def test_pytorch_is_gpt2_in_float64_with_its_mask_and_positions(hugging_face, rng):
    theirs, path = hugging_face
    model, mask = pytorch_track.GPTModel.from_pretrained(str(path)).double(), torch.ones(2, 12, dtype=torch.bool)
    tokens = torch.tensor(rng.integers(0, 61, size=(2, 12)))
    mask[0, 7:] = False
    theirs.double()
    with torch.no_grad():
        expected = theirs(tokens, attention_mask=mask.long()).logits
        ours = model(tokens, mask[:, None, None])
    theirs.float()
    assert (ours - expected)[mask].abs().max() < 1e-10
    theirs.double()
    model(tokens).logsumexp(-1).sum().backward()
    theirs(tokens).logits.logsumexp(-1).sum().backward()
    table = theirs.transformer.wte.weight
    assert (model.tokens.weight.grad - table.grad).abs().max() < 1e-9 * table.grad.abs().max()
    theirs.float().zero_grad()


def change(path, target, config=None, arrays=None, drop=()):
    """A copy of a model directory with other settings or weights."""
    target.mkdir()
    settings = json.loads((path / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(settings | (config or {})))
    weights = {name: array for name, array in load_file(path / "model.safetensors").items() if name not in drop}
    save_file(weights | (arrays or {}), target / "model.safetensors")
    return target


def test_weights_with_and_without_prefix_buffers_and_head(hugging_face, tmp_path):
    _, path = hugging_face
    expected = get_weights(pytorch_track.GPTModel.from_pretrained(path))
    weights = load_file(path / "model.safetensors")
    assert all(name.startswith("transformer.") for name in weights)
    bare = {name.removeprefix("transformer."): array for name, array in weights.items()}
    bare |= {"h.0.attn.bias": np.ones((1, 1, 80, 80), np.float32), "h.0.attn.masked_bias": np.float32([-1e4])}
    bare["lm_head.weight"] = bare["wte.weight"].copy()
    found = get_weights(pytorch_track.GPTModel.from_pretrained(change(path, tmp_path / "a", None, bare, weights)))
    assert all(np.array_equal(array, found[name]) for name, array in expected.items())
    bare["lm_head.weight"] = bare["wte.weight"] + 1
    with pytest.raises(ValueError, match=r"lm_head\.weight"):
        pytorch_track.GPTModel.from_pretrained(change(path, tmp_path / "b", None, bare, weights))


NO_GPT2 = [  # what of the directory is changed, and the setting or weight that is named
    ({"config": {"activation_function": "relu"}}, "activation_function"),
    ({"config": {"scale_attn_by_inverse_layer_idx": True}}, "scale_attn_by_inverse_layer_idx"),
    ({"config": {"scale_attn_weights": False}}, "scale_attn_weights"),
    ({"config": {"tie_word_embeddings": False}}, "tie_word_embeddings"),
    ({"config": {"add_cross_attention": True}}, "add_cross_attention"),
    ({"config": {"n_head": 3}}, "n_head"),
    ({"config": {"layer_norm_epsilon": 0}}, "layer_norm_epsilon"),
    ({"config": {"layer_norm_epsilon": float("inf")}}, "layer_norm_epsilon"),
    ({"drop": ["transformer.ln_f.bias"]}, "ln_f.bias"),
]


@pytest.mark.parametrize(("changes", "name"), NO_GPT2, ids=[str(changes)[:60] for changes, _ in NO_GPT2])
def test_what_is_no_gpt2_of_this_kind_is_refused(changes, name, hugging_face, tmp_path):
    _, path = hugging_face
    with pytest.raises(ValueError, match=rf"\b{re.escape(name)}\b"):
        gpt2_weights(*read_pretrained(change(path, tmp_path / "changed", **changes), "gpt2"))


def test_another_eps_and_inner_width_are_read(tmp_path):
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    config = GPT2Config(**HF, n_inner=24, layer_norm_epsilon=0.1, activation_function="gelu_pytorch_tanh", bos_token_id=None, eos_token_id=None)  # fmt: skip
    theirs = GPT2LMHeadModel(config).eval()
    theirs.save_pretrained(tmp_path)
    arguments, _ = gpt2_weights(*read_pretrained(tmp_path, "gpt2"))
    assert (arguments["d_ff"], arguments["eps"]) == (24, 0.1)
    tokens = np.array([[1, 2, 3, 4]])
    with torch.no_grad():
        expected = theirs(torch.tensor(tokens)).logits.numpy()
    for track in TRACKS.values():
        np.testing.assert_allclose(call(track.GPTModel.from_pretrained(tmp_path), tokens), expected, atol=1e-4)


# Past the context


def slid(model, prompt: list[int], new: int) -> list[int]:
    """Greedy, written out: a full window forgets its older half before the next token is chosen."""
    text, window, limit = list(prompt), list(prompt), model.max_length
    for _ in range(new):
        if len(window) == limit:
            window = window[limit - limit // 2 :]
        text.append(int(call(model, [window])[0, -1].argmax()))
        window.append(text[-1])
    return text


@every_track
@pytest.mark.keras
def test_keras_and_the_others_slide_over_a_full_context(track):
    model, generate = make(track, max_length=7), TRACKS[track].generate
    for prompt, new in ((PROMPTS[0], 12), (PROMPTS[1], 12), ([3, 1, 4, 1, 5, 9, 2], 3), ([2], 1)):
        written = numpy_track.generate_sliding(generate, model, prompt, new, temperature=0)
        assert written == slid(model, prompt, new)
    free = numpy_track.generate_sliding(generate, model, PROMPTS[0], 20, temperature=0)
    end = free[12]
    ended = numpy_track.generate_sliding(generate, model, PROMPTS[0], 20, end, temperature=0)
    assert ended == free[: free.index(end, 3) + 1]


def test_each_window_draws_other_numbers():
    """From a generator, which goes on: of equal chances, no two windows alike."""
    model = numpy_track.GPTModel(**SMALL)
    for array in model.parameters().values():
        array[:] = 0
    text = numpy_track.generate_sliding(numpy_track.generate, model, [1], 35, rng=np.random.default_rng(0))
    assert text[12:18] != text[18:24] and len(text) == 36


def test_a_slide_reads_half_of_the_window_again_and_no_more(monkeypatch):
    read = []
    model = make("numpy")
    forward = model.forward
    monkeypatch.setattr(
        model, "forward", lambda tokens, *others: (read.append(tokens.shape[1]), forward(tokens, *others))[1]
    )
    numpy_track.generate_sliding(numpy_track.generate, model, [3, 1, 4], 30)
    assert [length for length in read if length > 1] == [3, 6, 6, 6, 6] and len(read) == 30
    read.clear()
    numpy_track.generate(model, [3, 1, 4], 9)
    assert read == [3] + [1] * 8
    read.clear()
    numpy_track.generate(model, [3, 1, 4], 9, use_cache=False)
    assert read == [*range(3, 12)]
    read.clear()
    numpy_track.generate(model, [[3, 1, 4], [2]], 2)  # all prompts at once
    assert read == [3, 1]


# Real weights, as the NumPy notebook reads them


@pytest.fixture
def reading_cell():
    notebook = nbformat.read(ROOT / "notebooks/14_gpt/numpy.ipynb", as_version=4)
    return next(cell.source for cell in notebook.cells if cell.id == "real-gpt2")


def test_the_notebook_says_what_is_missing_where_there_is_no_gpt2(reading_cell, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPT2_DIRECTORY", raising=False)
    exec(reading_cell, {"GPTModel": None, "generate": None})  # noqa: S102
    output = capsys.readouterr().out
    assert re.search(r"'gpt2'.*config\.json.*model\.safetensors.*tokenizer\.json.*missing", output)


def test_the_notebook_writes_with_a_gpt2_where_there_is_one(reading_cell, hugging_face, tmp_path, monkeypatch, capsys):
    _, path = hugging_face
    folder = change(path, tmp_path / "gpt2")
    vocabulary = {word: index for index, word in enumerate(["The", "owl", "that", *map(str, range(58))])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="0"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    for place, name in ((tmp_path, None), (tmp_path.parent, str(folder))):
        monkeypatch.chdir(place)
        if name:
            monkeypatch.setenv("GPT2_DIRECTORY", name)
        exec(reading_cell, {"GPTModel": numpy_track.GPTModel, "generate": numpy_track.generate})  # noqa: S102
        output = capsys.readouterr().out.split()
        assert output[:3] == ["The", "owl", "that"] and len(output) == 8 + 30


# Misuse


CACHE = {"num_layers": 2, "batch": 2, "num_heads": 2, "max_length": 12, "head_dim": 4}
made = functools.cache(make)  # a call that is refused leaves a model as it was


def refused(call, error, name):
    # Behind a semicolon stand the other arrays, behind a bullet all that Keras was given; [1m is how it prints bold.
    with pytest.raises(error, match=rf"^[^;•]*(\b|\[1m){name}(?!\w)"):
        call()


def generate(track, prompt=(1, 2), max_new_tokens=3, **wrong):
    TRACKS[track].generate(**{"model": made(track), "prompt": prompt, "max_new_tokens": max_new_tokens} | wrong)


@pytest.mark.parametrize("track", ["numpy", "pytorch", pytest.param("keras", marks=pytest.mark.keras)])
def test_every_track_names_what_it_refuses(track):
    module, model, dtype = TRACKS[track], made(track), {"pytorch": (torch.float32, "cpu")}.get(track, ("float32",))
    tokens = tensor(track, np.array([[3, 1, 4], [2, 2, 0]]))
    name = "attention_mask" if track == "keras" else "mask"
    for wrong in (np.ones((2, 1, 1, 3)), np.ones((2, 1, 1, 4), bool)):
        refused(lambda wrong=wrong: model(tokens, **{name: tensor(track, wrong)}), TypeError, name)
    refused(lambda: model(tokens, cache=[1]), TypeError, "cache")
    refused(lambda: model(tokens, cache=model.make_cache(3)), ValueError, "cache")
    refused(lambda: model(tokens, cache=module.KVCache(**CACHE | {"num_layers": 1})), ValueError, "cache")
    for name in CACHE:
        refused(lambda name=name: module.KVCache(**CACHE | {name: 0}), ValueError, name)
    refused(lambda: module.LayerCache((1, 1, 2**70, 2), *dtype), ValueError, r"shape\[2\]")
    refused(lambda: generate(track, model=None), TypeError, "model")
    refused(lambda: generate(track, temperature=-1), ValueError, "temperature")
    refused(lambda: generate(track, end_id=1.0), TypeError, "end_id")
    if track != "keras":
        refused(lambda: generate(track, use_cache="yes"), TypeError, "use_cache")


def after_a_cached_call():
    model = make("numpy")
    model(np.ones((2, 4), int), cache=model.make_cache(2))
    return model


def slide(**wrong):
    given = {"generate": numpy_track.generate, "model": made("numpy"), "prompt": [1], "max_new_tokens": 2}
    numpy_track.generate_sliding(**given | wrong)


REFUSED = [
    (lambda: generate("numpy", "abc"), TypeError, "prompt"),
    (lambda: generate("numpy", 3), TypeError, "prompt"),
    (lambda: generate("numpy", []), ValueError, "prompt"),
    (lambda: generate("numpy", [[1], [0.5]]), TypeError, "prompt"),
    (lambda: generate("numpy", [[1], 2]), TypeError, "prompt"),
    (lambda: generate("numpy", np.array([1, 2])), TypeError, "prompt"),
    (lambda: generate("numpy", [1, 11]), ValueError, "token"),
    (lambda: generate("numpy", [3] * 13), ValueError, "prompt"),
    (lambda: generate("numpy", [[3, 1, 4], [1]], 10), ValueError, "max_new_tokens"),
    (lambda: generate("numpy", max_new_tokens=0), ValueError, "max_new_tokens"),
    (lambda: generate("numpy", top_k=0), ValueError, "top_k"),
    (lambda: generate("numpy", top_p=0), ValueError, "top_p"),
    (lambda: generate("numpy", top_p=1.5), ValueError, "top_p"),
    (lambda: generate("numpy", end_id=11), ValueError, "end_id"),
    (lambda: generate("numpy", end_id=-1), ValueError, "end_id"),
    (lambda: generate("numpy", rng="a"), TypeError, "rng"),
    (lambda: slide(max_new_tokens=0), ValueError, "max_new_tokens"),
    (lambda: slide(prompt=[]), ValueError, "prompt"),
    (lambda: slide(model=None), TypeError, "model"),
    (lambda: after_a_cached_call().backward(np.ones((2, 4, 11))), ValueError, "cache"),
    (lambda: check_logits([1.0, math.inf], 2), ValueError, "logits"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    refused(call, error, name)


def test_pytorch_keeps_its_parameters_registered_once():
    model = make("pytorch")
    assert len(list(model.parameters())) == len({id(parameter) for parameter in model.parameters()}) == 36
    assert isinstance(model, nn.Module) and model.output.weight is model.tokens.weight
    fired = []
    for layer in (model.tokens, model.positions, model.output):
        layer.register_forward_hook(lambda layer, *_: fired.append(layer))
    call(model, [[3, 1]])
    assert fired == [model.tokens, model.positions, model.output]


# The data


def test_every_word_of_the_grammar_is_one_token():
    """The sentences on which the three notebooks train: a word is a token, between two <end>."""
    tokenizer = text.train_tokenizer(grammar.sample(2000, seed=2), "bpe", vocab_size=512)
    assert [word for word in grammar.WORDS if len(tokenizer.encode(word).ids) != 3] == []


NO_PROBABILITIES = [
    ([math.nan, 0.5, 0.5], 0.3, "probs"),
    ([math.inf, 1.0, 1.0], 0.3, "probs"),
    ([-1.0, 1.0, 1.0], 0.3, "probs"),
    ([0.0, 0.0, 0.0], 0.3, "probs"),
    ([0.5, 0.5, 0.0], math.nan, "uniforms"),
    ([0.5, 0.5, 0.0], 1.0, "uniforms"),  # this would be token 3 of 3
]


@pytest.mark.parametrize("track", ["numpy", pytest.param("keras", marks=pytest.mark.keras)])
def test_no_token_is_drawn_from_what_are_no_probabilities(track):
    right, sample = [0.2, 0.3, 0.5], TRACKS[track].sample
    array = keras.ops.array if track == "keras" else np.array
    for probs, uniform, name in NO_PROBABILITIES:
        rows, uniforms = array(np.array([right, probs], "float32")), array(np.array([0.1, uniform], "float32"))
        with pytest.raises(ValueError, match=rf"^{name}\[1\]"):
            sample(rows, uniforms)
        assert as_numpy(sample(rows[:1], uniforms[:1])).tolist() == [0]


@pytest.mark.keras
def test_keras_fit_applies_dropout_and_evaluate_does_not():
    """`fit` hands training=True only to a `call` that has the argument."""
    model = make("keras", dropout=0.9)
    model.compile(keras.optimizers.SGD(0.0), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    tokens = np.random.default_rng(0).integers(0, model.vocab_size, (8, 6))
    in_training = [model.train_on_batch(tokens[:, :-1], tokens[:, 1:]) for _ in range(2)]
    evaluated = [model.evaluate(tokens[:, :-1], tokens[:, 1:], verbose=0) for _ in range(2)]
    assert evaluated[0] == evaluated[1] and len({float(each) for each in (*in_training, evaluated[0])}) == 3


@pytest.mark.keras
def test_keras_writes_with_the_weights_that_lora_adds_after_the_first_text():
    model, generate = make("keras"), keras_track.generate
    before = generate(model, [3, 1, 4], 5, 0)
    for block in model.blocks:
        dense = block.feed_forward.contract
        dense.enable_lora(2)
        for variable in (dense.lora_kernel_a, dense.lora_kernel_b):
            variable.assign(keras.random.normal(variable.shape, stddev=3.0, seed=1))
    [written] = uncached(model, [[3, 1, 4]], 5)
    assert generate(model, [3, 1, 4], 5, 0) == written != before


@pytest.mark.keras
def test_keras_never_draws_what_has_no_chance(rng):
    """JAX's running sums rise by rounding where a chance is 0: a number between two of them must not choose it."""
    probs = rng.dirichlet(np.full(512, 0.3), size=20).astype(np.float32)
    probs[rng.random(probs.shape) < 0.6] = 0
    for row in probs:
        sums = as_numpy(keras.ops.cumsum(row[None], axis=-1))[0]
        sums = sums / sums[-1]
        edges = np.concatenate([sums, np.nextafter(sums, np.float32(0))])
        uniforms = edges[edges < 1]
        rows = keras.ops.convert_to_tensor(np.repeat(row[None], len(uniforms), axis=0))
        tokens = as_numpy(keras_track.sample(rows, keras.ops.convert_to_tensor(uniforms)))
        assert (row[tokens] > 0).all()
