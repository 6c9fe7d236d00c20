"""Chapter 05: token embeddings and positions, in the three tracks."""

import math

import keras
import numpy as np
import pytest
import torch
from dictionaries import values_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import shared.keras.embeddings as keras_embeddings
import shared.numpy.embeddings as numpy_embeddings
import shared.pytorch.embeddings as pytorch_embeddings
from shared.arrays import as_numpy
from shared.frameworks.weights import get_weights, set_weights

TRACKS = {"numpy": numpy_embeddings, "pytorch": pytorch_embeddings, "keras": keras_embeddings}


def repeated_tokens(seed: int, vocab_size: int = 11, shape: tuple = (4, 9)) -> np.ndarray:
    """Random ids of which some repeat and some never occur."""
    return np.random.default_rng(seed).integers(0, vocab_size - 3, size=shape)


def closed_form(length: int, d_model: int) -> np.ndarray:
    """The sinusoid, one number at a time."""

    def value(p: int, j: int) -> float:
        angle = p / 10000 ** ((j - j % 2) / d_model)
        return math.cos(angle) if j % 2 else math.sin(angle)

    return np.array([[value(p, j) for j in range(d_model)] for p in range(length)])


def encoding_of(track: str, length: int, d_model: int) -> np.ndarray:
    """The sinusoid of a track, in float64."""
    dtype = torch.float64 if track == "pytorch" else "float64"
    return as_numpy(TRACKS[track].sinusoidal_position_encoding(length, d_model, dtype))


# The sinusoid


@settings(deadline=None, max_examples=30)
@given(length=st.integers(1, 80), d_model=st.integers(1, 40))
def test_sinusoid_is_the_closed_form(length, d_model):
    expected = closed_form(length, d_model)
    for track in ("numpy", "pytorch"):
        np.testing.assert_allclose(encoding_of(track, length, d_model), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
@pytest.mark.parametrize("d_model", [2, 8, 30])
def test_a_step_of_k_positions_is_the_same_rotation_everywhere(track, d_model):
    encoding, k = encoding_of(track, 60, d_model), 7
    hands = encoding[:, 1::2] + 1j * encoding[:, 0::2]
    turn = np.exp(1j * k * 10000.0 ** (-np.arange(0, d_model, 2) / d_model))
    np.testing.assert_allclose(hands[k:], hands[:-k] * turn, rtol=0, atol=1e-12)


def test_wavelengths_grow_by_the_same_factor_and_are_not_squared():
    for track in ("numpy", "pytorch"):
        encoding = encoding_of(track, 2, 8)
        wavelengths = 1 / np.arctan2(encoding[1, 0::2], encoding[1, 1::2])
        np.testing.assert_allclose(wavelengths, [1, 10, 100, 1000], rtol=1e-9)


def test_dot_products_of_positions_depend_on_the_distance_alone():
    encoding = numpy_embeddings.sinusoidal_position_encoding(50, 16)
    products = encoding @ encoding.T
    for distance in range(50):
        assert np.ptp(products.diagonal(distance)) < 1e-12
    assert (products.argmax(axis=1) == np.arange(50)).all()


def test_sinusoid_has_the_default_dtype_of_its_track():
    assert numpy_embeddings.sinusoidal_position_encoding(4, 6).dtype == np.float64
    assert numpy_embeddings.sinusoidal_position_encoding(4, 6, np.float32).dtype == np.float32
    assert pytorch_embeddings.sinusoidal_position_encoding(4, 6).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        encoding = pytorch_embeddings.sinusoidal_position_encoding(500, 6)
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_allclose(encoding.numpy(), closed_form(500, 6), rtol=0, atol=1e-12)


def test_angles_are_computed_in_float64_even_for_float32():
    for track, dtype in (("numpy", np.float32), ("pytorch", torch.float32)):
        encoding = as_numpy(TRACKS[track].sinusoidal_position_encoding(2000, 16, dtype))
        np.testing.assert_allclose(encoding, closed_form(2000, 16), rtol=0, atol=1e-7)


# Tokens


@pytest.mark.parametrize("scale", [True, False])
def test_pytorch_token_embedding_is_nn_embedding(rng, scale):
    ours = pytorch_embeddings.TokenEmbedding(6, 11, scale).double()
    theirs = nn.Embedding(11, 6).double()
    set_weights(ours, get_weights(theirs))
    tokens = torch.from_numpy(repeated_tokens(3))
    grad_output = torch.from_numpy(rng.normal(size=(4, 9, 6)))
    factor = math.sqrt(6) if scale else 1

    output, expected = ours(tokens), theirs(tokens) * factor
    output.backward(grad_output)
    expected.backward(grad_output)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-14)
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad, rtol=0, atol=1e-12)
    set_weights(theirs, get_weights(ours))  # and back
    torch.testing.assert_close(theirs(tokens) * factor, ours(tokens), rtol=0, atol=1e-14)


def test_numpy_backward_adds_repeated_tokens_and_returns_nothing(rng):
    layer = numpy_embeddings.TokenEmbedding(3, 5, scale=False, rng=0)
    grad_output = rng.normal(size=(1, 4, 3))
    layer(np.array([[2, 0, 2, 2]]))
    assert layer.backward(grad_output) is None
    np.testing.assert_allclose(layer.embeddings.grad[2], grad_output[0, [0, 2, 3]].sum(axis=0))
    np.testing.assert_array_equal(layer.embeddings.grad[[1, 3, 4]], 0)
    once = layer.embeddings.grad.copy()
    layer.backward(grad_output)
    np.testing.assert_allclose(layer.embeddings.grad, 2 * once)


@pytest.mark.parametrize("shape", [(7,), (2, 3, 4), (2, 0)])
def test_tokens_of_any_shape(shape):
    tokens = np.random.default_rng(0).integers(0, 5, size=shape)
    layer = numpy_embeddings.TokenEmbedding(4, 5, rng=0)
    assert layer(tokens).shape == (*shape, 4)
    twin = pytorch_embeddings.TokenEmbedding(4, 5).double()
    set_weights(twin, get_weights(layer))
    np.testing.assert_allclose(twin(torch.from_numpy(tokens)).detach().numpy(), layer(tokens), rtol=0, atol=1e-14)


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
def test_scale_multiplies_by_the_root_of_d_model(track):
    tokens = repeated_tokens(0) if track == "numpy" else torch.from_numpy(repeated_tokens(0))
    scaled, plain = (TRACKS[track].TokenEmbedding(12, 11, scale=scale) for scale in (True, False))
    set_weights(plain, get_weights(scaled))
    np.testing.assert_allclose(as_numpy(scaled(tokens)), math.sqrt(12) * as_numpy(plain(tokens)), rtol=1e-6)
    np.testing.assert_array_equal(as_numpy(plain(tokens)), get_weights(plain)["embeddings"][repeated_tokens(0)])


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.parametrize("d_model", [16, 100])
@pytest.mark.keras
def test_keras_and_others_draw_the_same_distribution(track, d_model):
    layer = TRACKS[track].TokenEmbedding(d_model, 2000)
    if track == "keras":
        layer.build((None, None))
    values = get_weights(layer)["embeddings"] * math.sqrt(d_model)
    assert abs(values.mean()) < 5 / math.sqrt(values.size)
    assert abs(values.std() - 1) < 5 / math.sqrt(2 * values.size)
    assert abs((values**4).mean() - 3) < 5 * math.sqrt(96 / values.size)  # normal, not uniform


def test_pytorch_gradients_are_repeatable_to_the_last_bit():
    layer = pytorch_embeddings.TokenEmbedding(64, 4)
    tokens = torch.randint(0, 4, (64, 128))
    grad_output = torch.randn(64, 128, 64)
    runs = [torch.autograd.grad(layer(tokens), layer.weight, grad_output)[0] for _ in range(4)]
    assert all(torch.equal(runs[0], run) for run in runs[1:])


# Positions, computed


@pytest.mark.parametrize("d_model", [8, 5])
def test_positional_encoding_adds_the_first_rows(rng, d_model):
    x = rng.normal(size=(3, 6, d_model))
    expected = x + closed_form(6, d_model)
    ours = numpy_embeddings.PositionalEncoding(d_model, max_length=10)
    np.testing.assert_allclose(ours(x), expected, rtol=0, atol=1e-12)
    theirs = pytorch_embeddings.PositionalEncoding(d_model, max_length=10).double()
    np.testing.assert_allclose(theirs(torch.from_numpy(x)).numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_others_take_max_length(track):
    make = torch.zeros if track == "pytorch" else np.zeros
    assert tuple(TRACKS[track].PositionalEncoding(4, max_length=64)(make((2, 64, 4))).shape) == (2, 64, 4)


def test_numpy_dropout_comes_after_the_sum(rng):
    x = rng.normal(size=(50, 20, 8))
    layer = numpy_embeddings.PositionalEncoding(8, dropout=0.25, rng=0)
    total = x + closed_form(20, 8)
    dropped = layer(x)
    kept = dropped != 0
    np.testing.assert_allclose(dropped[kept], total[kept] / 0.75)
    assert abs(kept.mean() - 0.75) < 5 * math.sqrt(0.25 * 0.75 / kept.size)
    grad_output = rng.normal(size=x.shape)
    np.testing.assert_allclose(layer.backward(grad_output), grad_output * kept / 0.75)
    np.testing.assert_allclose(layer.eval()(x), total, rtol=0, atol=1e-12)


def test_pytorch_dropout_comes_after_the_sum(rng):
    x = torch.from_numpy(rng.normal(size=(50, 20, 8)))
    layer = pytorch_embeddings.PositionalEncoding(8, dropout=0.25).double()
    total = x + torch.from_numpy(closed_form(20, 8))
    dropped = layer(x)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], total[kept] / 0.75)
    assert abs(kept.double().mean() - 0.75) < 5 * math.sqrt(0.25 * 0.75 / kept.numel())
    torch.testing.assert_close(layer.eval()(x), total, rtol=0, atol=1e-12)


def test_the_sinusoid_is_no_weight():
    assert numpy_embeddings.PositionalEncoding(8).parameters() == {}
    layer = pytorch_embeddings.PositionalEncoding(8)
    assert list(layer.parameters()) == [] and layer.state_dict() == {}
    assert get_weights(layer) == {}


def test_pytorch_table_moves_with_the_module_and_is_exact_in_every_dtype():
    outer = nn.Sequential(pytorch_embeddings.PositionalEncoding(16, max_length=400))
    expected = torch.from_numpy(closed_form(400, 16))
    for dtype in (torch.float64, torch.float16, torch.float32, torch.float64):
        table = outer.to(dtype)[0].encoding
        assert table.dtype == dtype
        torch.testing.assert_close(table.double(), expected, rtol=0, atol=max(1e-12, torch.finfo(dtype).eps))
    assert outer.to("meta")[0].encoding.is_meta
    torch.testing.assert_close(outer.to_empty(device="cpu")[0].encoding, expected, rtol=0, atol=1e-12)


# Positions, learned


def test_numpy_learned_positions_of_a_single_sequence(rng):
    layer = numpy_embeddings.TokenAndPositionEmbedding(6, 5, 4, rng=0)
    tokens, grad_output = np.array([1, 3, 1]), rng.normal(size=(3, 4))
    weights = get_weights(layer)
    np.testing.assert_allclose(layer(tokens), weights["tokens.embeddings"][tokens] + weights["positions"][:3])
    layer.backward(grad_output)
    layer.backward(grad_output)
    np.testing.assert_allclose(layer.positions.grad, 2 * np.pad(grad_output, [(0, 3), (0, 0)]))


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_others_start_from_the_sinusoid_over_the_root(track):
    layer = TRACKS[track].TokenAndPositionEmbedding(20, 500, 32)
    if track == "keras":
        layer.build((None, None))
    weights = get_weights(layer)
    assert {name: array.shape for name, array in weights.items()} == {
        "tokens.embeddings": (500, 32),
        "positions": (20, 32),
    }
    np.testing.assert_allclose(weights["positions"], closed_form(20, 32) / math.sqrt(32), rtol=0, atol=1e-7)
    assert abs(weights["tokens.embeddings"].std() * math.sqrt(32) - 1) < 0.05


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_others_learn_a_position_up_to_the_last(track):
    give = torch.from_numpy if track == "pytorch" else np.asarray
    layer = TRACKS[track].TokenAndPositionEmbedding(6, 11, 4)
    assert tuple(layer(give(np.ones((2, 6), int))).shape) == (2, 6, 4)


# The three against one another, in float64


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_computes_in_float64_where_the_layer_says_so(rng):
    layer = keras_embeddings.PositionalEncoding(7, dtype="float64")
    x = rng.normal(size=(2, 300, 7))
    np.testing.assert_allclose(layer(x), x + closed_form(300, 7), rtol=0, atol=1e-12)
    learned = keras_embeddings.TokenAndPositionEmbedding(9, 11, 6, dtype="float64")
    learned.build((None, None))
    np.testing.assert_allclose(get_weights(learned)["positions"], closed_form(9, 6) / math.sqrt(6), rtol=0, atol=1e-15)


# Keras, on any backend


def keras_model(length: int | None = None) -> keras.Model:
    """A small functional model that holds the chapter's layers."""
    inputs = keras.Input((length,), dtype="int32")
    tokens = keras_embeddings.TokenEmbedding(4, 11)(inputs)
    x = keras_embeddings.PositionalEncoding(4, dropout=0.1, max_length=9)(tokens)
    both = keras_embeddings.TokenAndPositionEmbedding(maxlen=9, vocab_size=11, embed_dim=4)(inputs)
    return keras.Model(inputs, x + both)


@pytest.mark.keras
def test_keras_sinusoid_is_the_closed_form():
    for length, d_model in ((50, 8), (33, 7), (4, 1), (2000, 16)):
        encoding = keras_embeddings.sinusoidal_position_encoding(length, d_model)
        assert keras.backend.standardize_dtype(encoding.dtype) == "float32"
        np.testing.assert_allclose(as_numpy(encoding), closed_form(length, d_model), rtol=0, atol=1e-7)


@pytest.mark.keras
def test_keras_token_embedding_is_the_librarys_times_the_root():
    tokens = repeated_tokens(1)
    library = keras.layers.Embedding(11, 6)
    library.build((None, None))
    for scale in (True, False):
        ours = keras_embeddings.TokenEmbedding(6, 11, scale)
        ours.build((None, None))
        set_weights(ours, get_weights(library))
        factor = math.sqrt(6) if scale else 1
        np.testing.assert_allclose(as_numpy(ours(tokens)), factor * as_numpy(library(tokens)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.keras
def test_keras_adam_takes_a_step_of_the_learning_rate_for_a_repeated_id(scale):
    """The sparse gradient of `keras.layers.Embedding` on TensorFlow makes it sqrt(count) times as large."""
    layer = keras_embeddings.TokenEmbedding(4, 5, scale=scale)
    readout = keras.layers.Dense(1, use_bias=False, trainable=False)
    model = keras.Sequential([keras.Input((50,), dtype="int32"), layer, readout])
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    before = get_weights(layer)["embeddings"]
    tokens = np.full((20, 50), 2)
    tokens[0, 0] = 4
    history = model.fit(tokens, np.full((20, 50, 1), 3.0), batch_size=20, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    step = np.abs(get_weights(layer)["embeddings"] - before)
    np.testing.assert_allclose(step[[2, 4]], 1e-3, rtol=0.02)  # 999 places, and one
    np.testing.assert_array_equal(step[[0, 1, 3]], 0)


@pytest.mark.keras
def test_keras_adam_takes_a_step_of_the_learning_rate_for_a_learned_position():
    layer = keras_embeddings.TokenAndPositionEmbedding(9, 5, 4)
    readout = keras.layers.Dense(1, use_bias=False, trainable=False)
    model = keras.Sequential([keras.Input((6,), dtype="int32"), layer, readout])
    model.compile(keras.optimizers.Adam(1e-3), "mse")
    before = get_weights(layer)
    model.fit(np.full((20, 6), 2), np.full((20, 6, 1), 3.0), batch_size=20, verbose=0)
    moved = {name: np.abs(value - before[name]) for name, value in get_weights(layer).items()}
    np.testing.assert_allclose(moved["positions"][:6], 1e-3, rtol=0.02)
    np.testing.assert_allclose(moved["tokens.embeddings"][2], 1e-3, rtol=0.02)
    np.testing.assert_array_equal(moved["positions"][6:], 0)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_gradients_of_a_repeated_id_add_up_in_full_precision_under_mixed_precision():
    """In bfloat16 a sum of ones ends at 256."""
    import tensorflow as tf

    layer = keras_embeddings.TokenEmbedding(4, 5, scale=False, dtype="mixed_bfloat16")
    layer.build((None,))
    with tf.GradientTape() as tape:
        vectors = layer(np.full(1000, 2))
        total = tf.reduce_sum(tf.cast(vectors, tf.float32))
    assert vectors.dtype == tf.bfloat16
    np.testing.assert_array_equal(as_numpy(tape.gradient(total, layer.embeddings.value))[2], 1000)


@pytest.mark.keras
def test_keras_layers_have_the_names_that_keras_users_know():
    layer = keras_embeddings.TokenAndPositionEmbedding(maxlen=9, vocab_size=11, embed_dim=4)
    assert isinstance(layer.token_emb, keras.layers.Embedding) and isinstance(layer.pos_emb, keras.layers.Embedding)
    assert (layer.token_emb.input_dim, layer.pos_emb.input_dim) == (11, 9)
    assert layer.token_emb.scale is False


@pytest.mark.keras
def test_keras_mask_zero_leaves_out_id_0_and_is_off_by_default():
    tokens = np.array([[3, 1, 0, 0]])
    masked = keras_embeddings.TokenAndPositionEmbedding(9, 11, 4, mask_zero=True)
    assert as_numpy(masked.compute_mask(tokens)).tolist() == [[True, True, False, False]]
    assert keras_embeddings.TokenAndPositionEmbedding(9, 11, 4).compute_mask(tokens) is None


@pytest.mark.keras
def test_keras_config_keeps_what_the_librarys_layer_takes():
    layer = keras_embeddings.TokenEmbedding(
        4, 11, scale=False, mask_zero=True, embeddings_regularizer=keras.regularizers.L2(0.5), name="words"
    )
    copy = keras_embeddings.TokenEmbedding.from_config(layer.get_config())
    assert (copy.d_model, copy.vocab_size, copy.scale, copy.factor, copy.name) == (4, 11, False, 1.0, "words")
    assert copy.mask_zero and copy.supports_masking and float(copy.embeddings_regularizer.l2) == 0.5
    assert as_numpy(copy.compute_mask(np.array([[1, 0]]))).tolist() == [[True, False]]


@pytest.mark.keras
def test_keras_model_is_saved_and_loaded_without_custom_objects(tmp_path):
    model, tokens = keras_model(), repeated_tokens(0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(as_numpy(loaded(tokens)), as_numpy(model(tokens)))


@pytest.mark.keras
def test_keras_model_takes_any_length_and_trains():
    model, tokens = keras_model(), repeated_tokens(0)
    assert model.output_shape == (None, None, 4)
    whole = model.predict(tokens, verbose=0)
    np.testing.assert_allclose(model.predict(tokens[:, :5], verbose=0), whole[:, :5], rtol=1e-6, atol=1e-6)
    model.compile(keras.optimizers.Adam(0.05), "mse")
    history = model.fit(tokens, np.ones((4, 9, 4)), epochs=20, verbose=0)
    assert history.history["loss"][-1] < 0.5 * history.history["loss"][0]
    with pytest.raises(ValueError, match=r"\bmax_length\b"):
        model.predict(np.ones((2, 12), int), verbose=0)


@pytest.mark.keras
def test_keras_layers_inside_a_layer_that_builds_them_late():
    """Constants made while a graph is traced must not outlive it."""

    class Late(keras.layers.Layer):
        def build(self, input_shape):
            self.both = keras_embeddings.TokenAndPositionEmbedding(9, 11, 4)
            self.both.build(input_shape)
            self.encoder = keras_embeddings.PositionalEncoding(4, max_length=9)

        def call(self, tokens):
            return self.encoder(self.both(tokens))

    layer, tokens = Late(), repeated_tokens(0)
    model = keras.Sequential([keras.Input((9,), dtype="int32"), layer])
    model.compile("sgd", "mse")
    for _ in range(2):
        history = model.fit(tokens, np.ones((4, 9, 4)), verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    assert as_numpy(layer(tokens)).shape == (4, 9, 4)


@pytest.mark.keras
def test_keras_dropout_comes_after_the_sum(rng):
    x = rng.normal(size=(50, 20, 8)).astype("float32")
    layer = keras_embeddings.PositionalEncoding(8, dropout=0.25)
    total = x + closed_form(20, 8)
    dropped = as_numpy(layer(x, training=True))
    kept = dropped != 0
    np.testing.assert_allclose(dropped[kept], total[kept] / 0.75, rtol=1e-4, atol=1e-5)
    assert abs(kept.mean() - 0.75) < 5 * math.sqrt(0.25 * 0.75 / kept.size)
    np.testing.assert_allclose(as_numpy(layer(x)), total, rtol=1e-5, atol=1e-5)
    assert layer.weights == [] or all(not weight.trainable for weight in layer.weights)


@pytest.mark.keras
def test_keras_layers_make_no_implicit_mask_and_do_not_warn(recwarn):
    tokens = np.array([[1, 2, 0, 0]])
    masked = keras.layers.Embedding(5, 4, mask_zero=True)(tokens)
    assert getattr(masked, "_keras_mask", None) is not None
    assert getattr(masked * 2.0, "_keras_mask", None) is None  # the pitfall: why masks are arguments here
    assert getattr(keras_embeddings.PositionalEncoding(4)(masked), "_keras_mask", None) is not None  # passed on
    for layer in (keras_embeddings.TokenEmbedding(4, 5), keras_embeddings.TokenAndPositionEmbedding(9, 5, 4)):
        assert getattr(layer(tokens), "_keras_mask", None) is None
    assert not [warning for warning in recwarn if "mask" in str(warning.message)]


@pytest.mark.keras
@pytest.mark.parametrize("make", ["TokenEmbedding", "TokenAndPositionEmbedding"])
def test_keras_takes_the_ids_of_an_input_that_says_no_dtype(make, rng):
    """`keras.Input((4,))` is float32, and what `fit` and `predict` are given is cast to it."""
    layer = {
        "TokenEmbedding": lambda: keras_embeddings.TokenEmbedding(8, 300),
        "TokenAndPositionEmbedding": lambda: keras_embeddings.TokenAndPositionEmbedding(4, 300, 8),
    }[make]()
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layer(inputs))
    tokens = rng.integers(0, 300, (3, 4))
    expected = as_numpy(layer(tokens))
    assert np.array_equal(model.predict(tokens, verbose=0), expected)
    assert np.array_equal(as_numpy(layer(tokens.astype("float32"))), expected)


@pytest.mark.keras
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_keras_mixed_precision_rounds_vectors_and_no_ids(policy):
    for layer in (
        keras_embeddings.TokenEmbedding(8, 3000, dtype=policy),
        keras_embeddings.TokenAndPositionEmbedding(4, 3000, 8, dtype=policy),
    ):
        found = layer(np.array([[257.0, 2049.0]], "float32"))
        assert keras.backend.standardize_dtype(found.dtype) == policy.removeprefix("mixed_")
        given, same, rounded = (
            as_numpy(keras.ops.cast(each, "float32"))
            for each in (found, layer(np.array([[257, 2049]])), layer(np.array([[256, 2048]])))
        )
        assert np.array_equal(given, same) and not np.array_equal(given, rounded)


# What the pages say of the libraries


def test_a_pretrained_table_is_not_copied():
    table = torch.zeros(4, 2)
    for handed_in, shared_memory in ((table, True), (table.clone(), False)):
        layer = torch.nn.Embedding.from_pretrained(handed_in, freeze=False)
        assert (layer.weight.data_ptr() == table.data_ptr()) is shared_memory


@pytest.mark.parametrize(("name", "options", "moves"), [("SGD", {"momentum": 0.9}, True), ("SparseAdam", {}, False)])
def test_momentum_moves_absent_rows_but_in_sparse_adam(name, options, moves):
    layer = torch.nn.Embedding(2, 1, sparse=True)
    optimizer = getattr(torch.optim, name)(layer.parameters(), lr=0.001, **options)
    values = []
    for row in (0, 1):
        optimizer.zero_grad()
        layer(torch.tensor([row])).sum().backward()
        optimizer.step()
        values.append(layer.weight[0].item())
    assert (values[0] != values[1]) is moves


def test_a_table_with_max_norm_must_be_read_before_it_is_used():
    for lookup_first in (True, False):
        layer = torch.nn.Embedding(4, 2, max_norm=1.0)
        torch.nn.init.ones_(layer.weight)
        used = None if lookup_first else (layer.weight**2).sum()
        rows = layer(torch.tensor([1])).sum()
        if lookup_first:
            ((layer.weight**2).sum() + rows).backward()
        else:
            with pytest.raises(RuntimeError, match="inplace"):
                (used + rows).backward()


@pytest.mark.keras
def test_the_loss_of_no_target():
    from shared.numpy.training import cross_entropy

    logits, none = np.zeros((2, 3, 5), "float32"), np.full((2, 3), -1)
    with pytest.raises(ValueError, match="ignore_index"):
        cross_entropy(logits, none, ignore_index=-1)
    in_torch = torch.nn.functional.cross_entropy(torch.zeros(6, 5), torch.full((6,), -1), ignore_index=-1)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)
    assert in_torch.isnan() and float(loss(none, logits)) == 0


class AccuracyOfTargets(keras.metrics.SparseCategoricalAccuracy):
    """That of the Keras notebook."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        is_target = keras.ops.cast(y_true >= 0, "float32")
        return super().update_state(y_true, y_pred, sample_weight=is_target)


@pytest.mark.keras
def test_a_metric_counts_what_the_loss_leaves_out():
    targets = np.array([[1, 2, 0, -1], [2, 1, -1, -1]])
    logits = 20 * np.eye(3, dtype="float32")[np.maximum(targets, 0)]
    model = keras.Sequential([keras.Input((4, 3)), keras.layers.Identity()])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1)
    model.compile(loss=loss, metrics=["accuracy", AccuracyOfTargets()])
    assert model.evaluate(logits, targets, verbose=0)[1:] == [5 / 8, 1]


@pytest.mark.keras
def test_low_rank_matrices_of_a_frozen_table_are_frozen_too():
    for trainable, expected in ((False, 0), (True, 2)):
        layer = keras.layers.Embedding(87, 16)
        layer.build()
        layer.trainable = False
        layer.trainable = trainable
        layer.enable_lora(4)
        assert len(layer.trainable_variables) == expected


def own_optimizer(variable):
    return keras.optimizers.SGD(0.0) if "table" in variable.path else keras.optimizers.Adam(0.01)


@pytest.mark.keras
def test_keras_gives_each_variable_its_optimizer():
    table, readout = keras.layers.Embedding(5, 4, name="table"), keras.layers.Dense(5)
    model = keras.Sequential([keras.Input((2,)), table, readout])
    before = [each.copy() for each in model.get_weights()]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.MultiOptimizer(own_optimizer), loss)
    model.fit(np.array([[1, 2], [2, 3]]), np.array([[1, 2], [2, 3]]), verbose=0)
    assert [np.array_equal(old, new) for old, new in zip(before, model.get_weights())] == [True, False, False]


@pytest.mark.keras
def test_an_id_outside_the_table_on_each_backend():
    layer, outside = keras.layers.Embedding(5, 2), np.array([9])
    layer.build()
    if keras.backend.backend() == "jax":
        assert np.isnan(as_numpy(layer(outside))).all()
    else:
        with pytest.raises(Exception, match="9|range"):
            layer(outside)


class Unregistered(keras.layers.Dense):
    pass


@pytest.mark.keras
def test_an_unregistered_class_is_not_found_where_it_exists(tmp_path):
    keras.Sequential([keras.Input((2,)), Unregistered(3)]).save(tmp_path / "model.keras")
    with pytest.raises(TypeError, match="Could not locate class 'Unregistered'"):
        keras.saving.load_model(tmp_path / "model.keras")
    given = {"Unregistered": Unregistered}
    assert keras.saving.load_model(tmp_path / "model.keras", custom_objects=given).output_shape == (None, 3)


# The dictionary of compare

SAME = {  # what has one value in the three columns
    "look up in a table that you have",
    "one-hot",
    "the gradient of a lookup",
    "add rows where ids repeat (scatter-add)",
    "where there are words",
    "the mean of a text's vectors",
    "leave padding out of the loss",
    "the positions",
    "each sine beside its cosine",
    "the same table as the output layer",
    "the rows that are most like row 3",
}


def run_column(column: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Run a column from its first row to its last, and return the values of the rows in SAME."""
    import tensorflow as tf

    from shared.numpy.models import Parameter
    from shared.numpy.training import cross_entropy

    arrays = {"table": rng.normal(size=(87, 16)), "total": np.zeros((87, 16)), "angle": rng.normal(size=(9, 8))}
    arrays |= {name: rng.normal(size=(2, 5, 16)) for name in ("x", "grad")}
    arrays |= {"logits": rng.normal(size=(2, 5, 87)), "ids": np.array([[3, 7, 3, 0, 0], [9, 86, 3, 1, 0]])}
    arrays = {name: array if name == "ids" else array.astype("float32") for name, array in arrays.items()}
    if column == 2:
        arrays = {name: torch.from_numpy(array) for name, array in arrays.items()}
    names = {"np": np, "torch": torch, "keras": keras, "tf": tf, "rng": rng} | arrays
    names |= {**vars(numpy_embeddings), "Parameter": Parameter, "cross_entropy": cross_entropy} if column == 1 else {}
    return values_of("05_embeddings", column, names, SAME.__contains__)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_every_call_of_the_dictionary_runs_as_typed_and_gives_the_same():
    columns = [run_column(column, np.random.default_rng(0)) for column in (1, 2, 3)]
    assert [set(values) for values in columns] == [SAME] * 3
    for name in SAME:
        for values in columns[1:]:
            np.testing.assert_allclose(values[name], columns[0][name], rtol=1e-4, atol=1e-5, err_msg=name)


# Bad input


@pytest.mark.parametrize("track", ["numpy", "pytorch", pytest.param("keras", marks=pytest.mark.keras)])
def test_a_sinusoid_needs_positions_and_features(track):
    for sizes, name in (((0, 4), "length"), ((5, 0), "d_model")):
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            TRACKS[track].sinusoidal_position_encoding(*sizes)
