"""Chapter 08: the encoder, held against PyTorch's own, against finite differences, and against its twins."""

import ast
import copy
import warnings
from collections.abc import Callable

import keras
import numpy as np
import pytest
import torch
from blocks import dropout_of, norm_of
from dictionaries import rows_of
from einops import rearrange
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import layers, ops
from torch import nn

import shared.keras.encoder as keras_track
import shared.numpy.encoder as numpy_track
import shared.pytorch.encoder as pytorch_track
from shared import parity, private
from shared.arrays import as_numpy
from shared.conformance import laws
from shared.frameworks.weights import get_weights, set_weights
from shared.keras.attention import padding_mask as keras_padding_mask
from shared.keras.embeddings import TokenAndPositionEmbedding
from shared.numpy.attention import causal_mask, padding_mask
from shared.numpy.models import Linear

TRACKS = {"numpy": numpy_track, "pytorch": pytorch_track, "keras": keras_track}
ORDERS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
BLOCK = {"d_model": 8, "num_heads": 2, "d_ff": 12}  # head_dim 4
LENGTHS = np.array([6, 4, 1, 3])  # of 6 positions


def random_padding() -> np.ndarray:
    """(batch, 1, 1, length) for the lengths above."""
    return (np.arange(6) < LENGTHS[:, None])[:, None, None, :]


def scrambled(module):
    """The module with every weight random, gamma and beta included, so that no mistake hides behind ones and zeros."""
    rng = np.random.default_rng(7)
    weights = {name: rng.normal(scale=0.4, size=value.shape) for name, value in get_weights(module).items()}
    set_weights(module, {name: value + name.endswith("gamma") for name, value in weights.items()})
    return module


RATE_OF = {"numpy": "rate", "pytorch": "p", "keras": "rate"}  # the attribute of a dropout


def silence(block, *names: str) -> None:
    """Set the weights of these layers to 0."""
    weights = get_weights(block)
    layers = tuple(f"{name}." for name in names if name)
    set_weights(block, {name: value * (not name.startswith(layers)) for name, value in weights.items()})


def tensor(track: str, array):
    return torch.tensor(array) if track == "pytorch" else array


# NumPy: the hand-written backward


@ORDERS
def test_numpy_self_attention_sums_three_gradients(norm_first, rng):
    """The three are visible one by one when attention is cross-attention over three copies."""
    block = scrambled(numpy_track.EncoderBlock(**BLOCK, norm_first=norm_first))
    x, grad_output = rng.normal(size=(2, 3, 5, 8))[:2]
    block(x)
    full = block.backward(grad_output)
    parts = []
    for i in range(3):
        grad = block.feed_forward_residual.backward(grad_output, block.feed_forward.backward)
        parts.append(block.attention_residual.backward(grad, lambda g, i=i: block.attention.backward(g)[i]))
    straight = block.attention_residual.backward(
        block.feed_forward_residual.backward(grad_output, block.feed_forward.backward), np.zeros_like
    )
    assert np.allclose(full, sum(parts) - 2 * straight, rtol=0, atol=1e-12)
    assert all(np.abs(full - part).max() > 1e-2 for part in parts)


def test_numpy_straight_line(rng):
    block = numpy_track.EncoderBlock(**BLOCK, norm_first=True, rng=0)
    for layer in (block.attention.output, block.feed_forward.contract):
        layer.kernel.value[:] = 0
    x, grad_output = rng.normal(size=(2, 2, 5, 8))
    assert np.array_equal(block(x), x)
    assert np.array_equal(block.backward(grad_output), grad_output)


def test_numpy_gradient_size_by_depth():
    """Xiong et al. 2020, theorem 1: next to the output, level in post-norm and 1 / root of the depth in pre-norm."""
    x, grad_output = np.random.default_rng(0).normal(size=(2, 4, 16, 32))
    sizes = {}
    for norm_first in (False, True):
        for depth in (1, 16):
            encoder = numpy_track.Encoder(32, 4, 128, norm_first=norm_first, num_layers=depth, rng=0)
            encoder(x)
            encoder.backward(grad_output)
            sizes[norm_first, depth] = np.linalg.norm(encoder.blocks[-1].feed_forward.contract.kernel.grad)
    assert 0.5 < sizes[False, 16] / sizes[False, 1] < 2
    assert sizes[True, 16] / sizes[True, 1] < 0.4


def test_numpy_one_seed_one_encoder(rng):
    x = rng.normal(size=(2, 5, 8))
    first, second, third = (numpy_track.Encoder(**BLOCK, dropout=0.3, num_layers=2, rng=seed) for seed in (0, 0, 1))
    assert np.array_equal(first(x), second(x))  # weights and zeros
    assert not np.allclose(first.eval()(x), third.eval()(x))


# PyTorch: against torch.nn


def copy_into(layer: nn.TransformerEncoderLayer, block) -> nn.TransformerEncoderLayer:
    attention, state = block.attention, {}
    for part in ("weight", "bias"):
        stacked = [getattr(each, part) for each in (attention.query, attention.key, attention.value)]
        state[f"self_attn.in_proj_{part}"] = torch.cat(stacked)
    for name, ours in {
        "self_attn.out_proj": attention.output,
        "linear1": block.feed_forward.expand,
        "linear2": block.feed_forward.contract,
        "norm1": block.attention_norm,
        "norm2": block.feed_forward_norm,
    }.items():
        state |= {f"{name}.{part}": value for part, value in ours.state_dict().items()}
    layer.load_state_dict(state)
    return layer


def copy_from(block, layer: nn.TransformerEncoderLayer) -> None:
    """The other direction: our block takes the weights of PyTorch's."""
    attention = layer.self_attn
    for part in ("weight", "bias"):
        packed = getattr(attention, f"in_proj_{part}").detach().chunk(3)
        for each, value in zip((block.attention.query, block.attention.key, block.attention.value), packed):
            getattr(each, part).data.copy_(value)
    for ours, theirs in (
        (block.attention.output, attention.out_proj),
        (block.feed_forward.expand, layer.linear1),
        (block.feed_forward.contract, layer.linear2),
        (block.attention_norm, layer.norm1),
        (block.feed_forward_norm, layer.norm2),
    ):
        ours.load_state_dict(theirs.state_dict())


def torch_layer(norm_first: bool, activation: str = "relu", dropout: float = 0.0) -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(
        8, 2, 12, dropout=dropout, activation=activation, batch_first=True, norm_first=norm_first
    ).double()


@ORDERS
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
def test_pytorch_block_is_torch_nn_transformer_encoder_layer(norm_first, activation, mode):
    block = scrambled(pytorch_track.EncoderBlock(**BLOCK, norm_first=norm_first, activation=activation).double())
    layer = copy_into(torch_layer(norm_first, activation), block)
    mask, x = torch.tensor(random_padding()), torch.randn(4, 6, 8, dtype=torch.float64)
    attention_mask = mask[:, 0, 0]
    for grad_mode in (True, False):  # without gradients, evaluation takes another path there
        with torch.set_grad_enabled(grad_mode):
            ours = block.train(mode)(x, mask)[attention_mask]
            theirs = layer.train(mode)(x, src_key_padding_mask=~attention_mask)[attention_mask]
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)


@ORDERS
def test_pytorch_block_takes_the_weights_of_torch_nn(norm_first):
    layer = torch_layer(norm_first)
    block = pytorch_track.EncoderBlock(**BLOCK, norm_first=norm_first).double()
    copy_from(block, layer)
    x = torch.randn(4, 6, 8, dtype=torch.float64)
    assert torch.allclose(block(x), layer(x), rtol=0, atol=1e-12)


@ORDERS
def test_pytorch_encoder_is_torch_nn_transformer_encoder(norm_first):
    encoder = scrambled(pytorch_track.Encoder(**BLOCK, norm_first=norm_first, num_layers=3).double())
    last = nn.LayerNorm(8).double() if norm_first else None
    stack = nn.TransformerEncoder(torch_layer(norm_first), 3, norm=last, enable_nested_tensor=False)
    for layer, block in zip(stack.layers, encoder.blocks):
        copy_into(layer, block)
    if norm_first:
        last.load_state_dict(encoder.norm.state_dict())
        stack.norm = last
    mask, x = torch.tensor(random_padding()), torch.randn(4, 6, 8, dtype=torch.float64, requires_grad=True)
    attention_mask = mask[:, 0, 0]
    grad_output = torch.randn_like(x)[attention_mask]
    ours, theirs = encoder(x, mask)[attention_mask], stack(x, src_key_padding_mask=~attention_mask)[attention_mask]
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)
    for gradients in zip(
        torch.autograd.grad(ours, (x, encoder.blocks[0].feed_forward.expand.weight), grad_output),
        torch.autograd.grad(theirs, (x, stack.layers[0].linear1.weight), grad_output),
    ):
        assert torch.allclose(*gradients, rtol=0, atol=1e-11)


@ORDERS
def test_pytorch_attention_mask_of_torch_nn_is_turned_round(norm_first):
    block = scrambled(pytorch_track.EncoderBlock(**BLOCK, norm_first=norm_first).double())
    layer = copy_into(torch_layer(norm_first), block)
    x = torch.randn(4, 6, 8, dtype=torch.float64)
    mask = torch.rand(6, 6) < 0.5
    mask.fill_diagonal_(True)
    ours = block(x, mask[None, None])
    assert torch.allclose(ours, layer(x, src_mask=~mask), rtol=0, atol=1e-12)
    assert not torch.allclose(ours, layer(x, src_mask=mask | torch.eye(6, dtype=torch.bool)), atol=1e-2)


def test_pytorch_fast_path_of_torch_nn_zeroes_padding_and_ours_does_not():
    """Why only real positions are compared."""
    encoder = pytorch_track.Encoder(**BLOCK, num_layers=2).double().eval()
    stack = nn.TransformerEncoder(torch_layer(False), 2).eval()
    for layer, block in zip(stack.layers, encoder.blocks):
        copy_into(layer, block)
    mask, x = torch.tensor(random_padding()), torch.randn(4, 6, 8, dtype=torch.float64)
    attention_mask = mask[:, 0, 0]
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nested tensors are a prototype
        theirs, ours = stack(x, src_key_padding_mask=~attention_mask), encoder(x, mask)
    assert torch.allclose(ours[attention_mask], theirs[attention_mask], rtol=0, atol=1e-12)
    assert not theirs[~attention_mask].any() and ours[~attention_mask].all()


def test_pytorch_dropout_acts_where_torch_nn_drops():
    """With the same rate the expected output agrees; with one place of dropout more or less it would not."""
    torch.manual_seed(0)
    block = pytorch_track.EncoderBlock(**BLOCK, dropout=0.4, norm_first=True).double()
    layer = copy_into(torch_layer(True, dropout=0.4), block)
    x = torch.randn(1, 6, 8, dtype=torch.float64).repeat(4000, 1, 1)
    with torch.no_grad():
        ours, theirs = block(x), layer(x)
    error = (ours.var(dim=0) / 4000 * 2).sqrt()
    assert ((ours.mean(dim=0) - theirs.mean(dim=0)).abs() < 5 * error).all()
    assert torch.allclose(ours.var(dim=0), theirs.var(dim=0), rtol=0.2)


@pytest.mark.parametrize("track", TRACKS)
def test_blocks_start_from_numbers_of_their_own(track):
    """nn.TransformerEncoder deep-copies one layer; ours makes each anew."""
    shared_start = nn.TransformerEncoder(torch_layer(True), 2, enable_nested_tensor=False).layers
    assert torch.equal(shared_start[0].linear1.weight, shared_start[1].linear1.weight)

    encoder = TRACKS[track].Encoder(**BLOCK, num_layers=3)
    if track == "keras":
        encoder.build((None, None, 8))
    weights = get_weights(encoder)
    for name in ("attention.query.kernel", "feed_forward.expand.kernel"):
        kernels = [weights[f"blocks.{i}.{name}"] for i in range(3)]
        assert not any(np.allclose(kernels[i], kernels[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


def test_pytorch_modules_find_every_weight():
    encoder = pytorch_track.Encoder(**BLOCK, num_layers=2, norm_first=True)
    assert len(list(encoder.parameters())) == 2 * 16 + 2
    assert copy.deepcopy(encoder).norm is not encoder.norm


# The three together


@ORDERS
@pytest.mark.tensorflow
@pytest.mark.parametrize("shape", [(4, 1, 1, 6), (1, 1, 6, 6), (4, 2, 6, 6), (1, 1, 1, 6), None])
def test_three_blocks_are_one_function_with_every_shape_of_mask(norm_first, shape, float64, rng):
    mask = {} if shape is None else {"mask": rng.random(shape) < 0.6}
    sizes = {**BLOCK, "norm_first": norm_first}
    parity.compare_modules(
        scrambled(numpy_track.EncoderBlock(**sizes)),
        pytorch_track.EncoderBlock(**sizes),
        keras_track.EncoderBlock(**sizes),
        {"x": rng.normal(size=(4, 6, 8))},
        **mask,
    )


@pytest.mark.parametrize("track", TRACKS)
@ORDERS
def test_names_and_shapes_of_weights(track, norm_first):
    encoder = TRACKS[track].Encoder(**BLOCK, norm_first=norm_first, num_layers=2)
    if track == "keras":
        encoder.build((None, None, 8))
    weights = get_weights(encoder)
    part = {f"attention.{name}.kernel": (8, 8) for name in ("query", "key", "value", "output")}
    part |= {f"attention.{name}.bias": (8,) for name in ("query", "key", "value", "output")}
    part |= {"feed_forward.expand.kernel": (8, 12), "feed_forward.expand.bias": (12,)}
    part |= {"feed_forward.contract.kernel": (12, 8), "feed_forward.contract.bias": (8,)}
    part |= {f"{which}_norm.{p}": (8,) for which in ("attention", "feed_forward") for p in ("gamma", "beta")}
    expected = {f"blocks.{i}.{name}": shape for i in range(2) for name, shape in part.items()}
    expected |= {"norm.gamma": (8,), "norm.beta": (8,)} if norm_first else {}
    assert {name: value.shape for name, value in weights.items()} == expected


# What an encoder is: padding, permutations, modes, orders


def make(track: str, **extra):
    encoder = TRACKS[track].Encoder(**{**BLOCK, "num_layers": 2, "norm_first": True, **extra})
    if track == "pytorch":
        encoder.double()
    if track == "keras":
        encoder.build((None, None, 8))
    return scrambled(encoder)


def run(track: str, encoder, x, mask=None, **arguments) -> np.ndarray:
    name = "attention_mask" if track == "keras" else "mask"
    arguments |= {} if mask is None else {name: tensor(track, mask)}
    return as_numpy(encoder(tensor(track, x), **arguments))


@pytest.mark.parametrize("track", TRACKS)
def test_every_block_gets_the_mask(track, rng):
    """In the first block alone, padding would come in through the second."""
    encoder, x, mask = make(track, num_layers=3), rng.normal(size=(4, 6, 8)), np.eye(6, dtype=bool)[None, None]
    changed = x.copy()
    changed[:, 2] += rng.normal(size=8)
    moved = np.abs(run(track, encoder, changed, mask) - run(track, encoder, x, mask)).max(axis=(0, 2)) > 1e-5
    assert moved.tolist() == [False, False, True, False, False, False]


@pytest.mark.parametrize("track", TRACKS)
@settings(deadline=None, max_examples=5)
@given(order=st.permutations(range(6)), seed=st.integers(0, 100))
def test_permutation_equivariance(track, order, seed):
    encoder = make(track)
    x = np.random.default_rng(seed).normal(size=(2, 6, 8))
    assert np.allclose(run(track, encoder, x[:, order]), run(track, encoder, x)[:, order], rtol=0, atol=1e-5)


# Where dropout acts, and what of a sub-layer is set to 0 there, so that the other sum drops nothing.
PLACES = {
    "attention": "",
    "attention_residual": "feed_forward.contract",
    "feed_forward": "",
    "feed_forward_residual": "attention.output",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("track", TRACKS)
def test_every_dropout_acts_in_training(track, place, rng):
    """Each of the four places by itself: with the others silenced, training still differs from evaluation."""
    x = tensor(track, rng.normal(size=(2, 6, 8)).astype("float32"))
    block = TRACKS[track].EncoderBlock(**BLOCK, dropout=0.5)
    if track == "keras":
        block.build(x.shape)
    for name in PLACES:
        setattr(dropout_of(block, name), RATE_OF[track], 0.0)
    setattr(dropout_of(block, place), RATE_OF[track], 0.5)
    silence(block, PLACES[place])
    if track == "keras":
        trained, evaluated = block(x, training=True), block(x)
    else:
        trained, evaluated = block.train()(x), block.eval()(x)
    assert not np.allclose(as_numpy(trained), as_numpy(evaluated))


@pytest.mark.parametrize("track", TRACKS)
def test_what_is_dropped_is_what_a_sub_layer_adds(track, rng):
    """If neither adds anything, a block in pre-norm order returns its input, in training, too."""
    x = tensor(track, rng.normal(size=(2, 6, 8)).astype("float32"))
    block = TRACKS[track].EncoderBlock(**BLOCK, dropout=0.5, norm_first=True)
    if track == "keras":
        block.build(x.shape)
    silence(block, "attention.output", "feed_forward.contract")
    trained = block(x, training=True) if track == "keras" else block.train()(x)
    assert np.array_equal(as_numpy(trained), as_numpy(x))


@pytest.mark.parametrize("track", TRACKS)
def test_the_rate_of_dropout_reaches_every_part(track):
    for name, arguments in (("EncoderBlock", {}), ("Encoder", {"num_layers": 2})):
        module = getattr(TRACKS[track], name)(**BLOCK, dropout=0.3, **arguments)
        for block in getattr(module, "blocks", [module]):
            for place in PLACES:
                assert getattr(dropout_of(block, place), RATE_OF[track]) == 0.3


@pytest.mark.parametrize("track", TRACKS)
def test_order_of_the_norm(track, rng):
    """Post-norm: every position has mean 0 and variance 1 at first; pre-norm: only behind the last norm."""
    x = 3 * rng.normal(size=(2, 6, 8))
    for norm_first, name, normalised in (
        (False, "EncoderBlock", True),
        (True, "EncoderBlock", False),
        (True, "Encoder", True),
    ):
        module = getattr(TRACKS[track], name)(**BLOCK, norm_first=norm_first)
        y = run(track, module.double() if track == "pytorch" else module, x)
        assert (np.abs(y.std(axis=-1) - 1).max() < 1e-2) == normalised
    assert TRACKS[track].Encoder(**BLOCK).norm is None


@ORDERS
@pytest.mark.parametrize("track", TRACKS)
def test_eps_reaches_every_norm(track, norm_first):
    """1e-5 unless another is given; in the blocks, and behind the last of them."""
    for arguments, expected in (({}, 1e-5), ({"eps": 1e-3}, 1e-3)):
        encoder = TRACKS[track].Encoder(**BLOCK, norm_first=norm_first, num_layers=2, **arguments)
        norms = [norm_of(block, name) for block in encoder.blocks for name in ("attention", "feed_forward")]
        norms += [encoder.norm] if norm_first else []
        assert [getattr(norm, "epsilon" if track == "keras" else "eps") for norm in norms] == [expected] * len(norms)


# Keras: models, saving, masks behind the scenes


def classifier(num_layers: int, **arguments) -> keras.Model:
    """The form of keras.io's text classifiers, with a masked stack behind the block if num_layers is not 0."""
    inputs = keras.Input((8,), dtype="int32")
    x = TokenAndPositionEmbedding(maxlen=8, vocab_size=9, embed_dim=16)(inputs)
    x = keras_track.TransformerBlock(embed_dim=16, num_heads=2, ff_dim=32, **arguments)(x)
    if num_layers:
        x = keras_track.Encoder(16, 2, 32, norm_first=True, num_layers=num_layers)(
            x, attention_mask=keras_padding_mask(inputs)
        )
    x = keras.layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, keras.layers.Dense(2)(x))


@pytest.mark.keras
def test_keras_save_and_load_without_custom_objects(tmp_path, rng):
    model, tokens = classifier(2, rate=0.2), rng.integers(0, 9, (5, 8))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert np.array_equal(as_numpy(loaded(tokens)), as_numpy(model(tokens)))
    assert loaded.layers[-1].name == model.layers[-1].name


@pytest.mark.keras
def test_keras_trains_a_little(rng):
    model, tokens = classifier(0), rng.integers(1, 5, (128, 8))
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    labels = (tokens[:, 0] == 1).astype("int32")
    losses = model.fit(tokens, labels, batch_size=32, epochs=15, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_transformer_block_is_a_post_norm_relu_encoder_block(float64, rng):
    """Also at padding: both hide keys, and no queries."""
    block, named = keras_track.EncoderBlock(**BLOCK), keras_track.TransformerBlock(8, 2, 12)
    for layer in (block, named):
        layer.build((None, None, 8))
    set_weights(named, get_weights(scrambled(block)))
    tokens = np.array([[3, 1, 4, 1, 5], [2, 7, 0, 0, 0]])
    embedding = keras.layers.Embedding(9, 8, keras.initializers.RandomNormal(stddev=1.0), mask_zero=True)
    bare = as_numpy(embedding(tokens))
    expected = as_numpy(block(bare, attention_mask=keras_padding_mask(tokens)))
    # the library's attention takes its scale, 1 / sqrt(4), through float32, in which it is exact
    assert np.allclose(as_numpy(named(embedding(tokens))), expected, rtol=0, atol=1e-12)
    assert not np.allclose(as_numpy(named(bare)), expected, atol=1e-3)  # nothing tells it what padding is
    assert not np.allclose(as_numpy(named(embedding(tokens), training=True)), expected, atol=1e-3)  # rate=0.1


@pytest.mark.keras
def test_keras_model_as_its_users_write_it_runs(rng, tmp_path):
    """Call for call as in the first of the course's sources: an input without a dtype, both layers by position, softmax."""
    inputs = keras.layers.Input(shape=(6,))
    x = TokenAndPositionEmbedding(6, 5, 8)(inputs)
    for _ in range(2):
        x = keras_track.TransformerBlock(8, 2, 12, rate=0.1)(x)
    model = keras.Model(inputs=inputs, outputs=keras.layers.Dense(5, activation="softmax")(x))
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    tokens = rng.integers(1, 5, (32, 6))
    history = model.fit(tokens, tokens, epochs=8, batch_size=8, validation_split=0.25, verbose=0).history
    assert history["loss"][-1] < history["loss"][0] and "val_accuracy" in history
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert np.array_equal(loaded.predict(tokens, verbose=0), model.predict(tokens, verbose=0))


@pytest.mark.keras
def test_keras_transformer_block_hands_its_mask_on(rng):
    """So the mean over positions, and the loss of `fit`, are those of the real tokens."""
    tokens = np.array([[3, 1, 4, 1, 5], [2, 7, 0, 0, 0]])
    block, pool = keras_track.TransformerBlock(8, 2, 12), keras.layers.GlobalAveragePooling1D()
    output = block(keras.layers.Embedding(9, 8, mask_zero=True)(tokens))
    mean = as_numpy(output)[1, :2].mean(axis=0)
    assert np.allclose(as_numpy(pool(output))[1], mean, atol=1e-6)


@pytest.mark.keras
def test_keras_transformer_block_leaves_its_input_as_it_was_and_hides_keys_alone():
    """The library's attention takes the mask off what it reads: the first call and the second leave it on the caller's tensor."""
    tokens = np.array([[3, 1, 4, 1, 5], [2, 7, 0, 0, 0]])
    embedded = keras.layers.Embedding(9, 8, mask_zero=True)(tokens)
    block = keras_track.TransformerBlock(8, 2, 12)
    for _ in range(2):
        output = block(embedded)
        assert np.array_equal(as_numpy(private.mask_of(embedded)), tokens != 0)
        assert np.array_equal(as_numpy(private.mask_of(output)), tokens != 0)
    bare = ops.convert_to_tensor(as_numpy(embedded))
    assert np.allclose(as_numpy(block(bare, mask=ops.convert_to_tensor(tokens != 0))), as_numpy(output), atol=1e-6)
    inputs = keras.Input((5,), dtype="int32")
    x = keras.layers.Embedding(9, 8, mask_zero=True)(inputs)
    model = keras.Model(inputs, keras.layers.Add()([x, block(x)]))
    assert np.array_equal(as_numpy(private.mask_of(model(tokens))), tokens != 0)


TOKENS = np.array([[1, 2, 0], [3, 0, 0], [1, 1, 1]])  # as many sequences as positions: no shape would be wrong


@pytest.mark.keras
@ORDERS
def test_keras_mask_that_comes_attached_hides_padding_and_goes_on(norm_first):
    """Beside the mask of the call; as many sequences as positions, so that no shape says which mask is which."""
    embedding = keras.layers.Embedding(9, 8, keras.initializers.RandomNormal(stddev=1.0), mask_zero=True)
    embedded = embedding(TOKENS)
    bare, padding = as_numpy(embedded), as_numpy(keras_padding_mask(TOKENS))
    causal = np.tri(3, dtype=bool)[None, None]
    sizes = {**BLOCK, "norm_first": norm_first}
    for layer in (keras_track.EncoderBlock(**sizes), keras_track.Encoder(**sizes, num_layers=2)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # Keras warns of a layer that loses a mask
            y = layer(embedded)
        assert np.allclose(as_numpy(y), as_numpy(layer(bare, attention_mask=padding)), atol=1e-6)
        assert np.array_equal(as_numpy(private.mask_of(y)), TOKENS != 0)
        both = layer(embedded, attention_mask=causal)
        expected = as_numpy(layer(bare, attention_mask=causal & padding))
        assert np.allclose(as_numpy(both), expected, atol=1e-6)
        assert np.array_equal(as_numpy(private.mask_of(both)), TOKENS != 0)
        assert private.mask_of(layer(bare, attention_mask=padding)) is None
        # Keras' own mask, given by hand and with a mask of two axes beside it, is attached to the output, too
        given = layer(bare, mask=ops.convert_to_tensor(TOKENS != 0), attention_mask=causal[0, 0])
        assert np.allclose(as_numpy(given), expected, atol=1e-6)
        assert np.array_equal(as_numpy(private.mask_of(given)), TOKENS != 0)
        inputs = keras.Input((3,), dtype="int32")  # and in a functional model
        functional = keras.Model(inputs, layer(embedding(inputs), attention_mask=causal))
        assert np.allclose(as_numpy(functional(TOKENS)), expected, atol=1e-6)
        assert np.array_equal(as_numpy(private.mask_of(functional(TOKENS))), TOKENS != 0)


@pytest.mark.keras
@pytest.mark.parametrize(
    "block", [lambda: keras_track.EncoderBlock(8, 2, 12), lambda: keras_track.TransformerBlock(8, 2, 12, rate=0)]
)
def test_keras_the_loss_of_fit_is_the_mean_over_real_tokens(block):
    """Through a functional model, as the first source writes it; the embedding makes the mask of the padding id."""
    tokens = np.array([[3, 1, 4, 1, 5], [2, 7, 0, 0, 0]])
    inputs = keras.Input((5,), dtype="int32")
    x = TokenAndPositionEmbedding(maxlen=5, vocab_size=9, embed_dim=8, mask_zero=True)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(9)(block()(x)))
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), optimizer=keras.optimizers.SGD(0.0)
    )
    logits = as_numpy(model(tokens)).astype(np.float64)
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    losses = -np.take_along_axis(log_probs, tokens[..., None], axis=-1)[..., 0]
    [loss] = model.fit(tokens, tokens, batch_size=2, verbose=0).history["loss"]
    assert np.isclose(loss, losses[tokens != 0].mean(), rtol=1e-5)
    assert not np.isclose(loss, losses.mean(), rtol=1e-3)


@pytest.mark.keras
@pytest.mark.parametrize(
    ("wrong", "error"),
    [({"num_heads": 3}, ValueError), ({"norm_first": True}, ValueError)],
)
def test_keras_transformer_block_refuses_sizes_that_do_not_fit(wrong, error):
    sizes = {"embed_dim": 8, "num_heads": 2, "ff_dim": 12} | wrong
    finding = laws.refuses(lambda: keras_track.TransformerBlock(**sizes), error, tuple(wrong))
    assert finding, finding


# Images: patches, and the vision transformer of transformers


def image_reader(rng):
    """Weights of a pre-norm image reader with two blocks, by the course's names, and the encoder that holds its own."""
    encoder = scrambled(pytorch_track.Encoder(16, 2, 24, norm_first=True, num_layers=2).double())
    shapes = {"embed": (16, 16), "class_token": (1, 1, 16), "positions": (1, 5, 16), "readout": (10, 16)}
    return encoder, {name: torch.tensor(rng.normal(size=shape)) for name, shape in shapes.items()}


@pytest.mark.parametrize("how", ["eager", "sdpa"])
def test_pytorch_encoder_is_the_vit_of_transformers(how, rng):
    """Names of its weights as the page renames them; its eager attention takes the softmax in float32."""
    transformers = pytest.importorskip("transformers")
    encoder, ours = image_reader(rng)
    config = transformers.ViTConfig(
        image_size=8,
        patch_size=4,
        num_channels=1,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        num_labels=10,
        hidden_act="relu",
        layer_norm_eps=1e-5,
        attn_implementation=how,
    )
    vit = transformers.ViTForImageClassification(config).eval().double()
    parts = {"query": "attention.q_proj", "key": "attention.k_proj", "value": "attention.v_proj"}
    parts = {f"attention.{name}": theirs for name, theirs in parts.items()}
    parts |= {"attention.output": "attention.o_proj", "attention_norm": "layernorm_before"}
    parts |= {"feed_forward_norm": "layernorm_after"}
    parts |= {"feed_forward.expand": "mlp.fc1", "feed_forward.contract": "mlp.fc2"}
    state = {f"vit.layernorm.{part}": value for part, value in encoder.norm.state_dict().items()}
    for i, block in enumerate(encoder.blocks):
        for name, theirs in parts.items():
            for part, value in block.get_submodule(name).state_dict().items():
                state[f"vit.layers.{i}.{theirs}.{part}"] = value
    zeros = torch.zeros(16, dtype=torch.float64)
    state["vit.embeddings.cls_token"] = ours["class_token"]
    state["vit.embeddings.position_embeddings"] = ours["positions"]
    state["vit.embeddings.patch_embeddings.projection.weight"] = ours["embed"].reshape(16, 1, 4, 4)
    state["vit.embeddings.patch_embeddings.projection.bias"] = zeros
    state |= {"classifier.weight": ours["readout"], "classifier.bias": zeros[:10]}
    vit.load_state_dict(state)
    images = torch.tensor(rng.normal(size=(3, 1, 8, 8)))
    patches = rearrange(images, "b 1 (h p) (w q) -> b (h w) (p q)", p=4, q=4) @ ours["embed"].T
    x = torch.cat([ours["class_token"].expand(3, 1, 16), patches], dim=1) + ours["positions"]
    expected = encoder(x)[:, 0] @ ours["readout"].T
    with torch.no_grad():
        tolerance = 1e-12 if how == "sdpa" else 1e-5
        assert torch.allclose(vit(images).logits, expected, rtol=0, atol=tolerance)


@pytest.mark.keras
def test_a_patch_embedding_is_a_convolution_in_both_libraries(rng):
    """With the same weights, of an even number of patches that aren't square in number."""
    images, kernel, bias = rng.normal(size=(2, 8, 12, 3)), rng.normal(size=(48, 5)), rng.normal(size=5)
    patches = rearrange(images, "b (h p) (w q) c -> b (h w) (p q c)", p=4, q=4)
    expected = patches @ kernel + bias
    in_keras = keras.layers.Conv2D(5, 4, strides=4, dtype="float64")
    in_keras.build(images.shape)
    in_keras.set_weights([kernel.reshape(4, 4, 3, 5), bias])
    assert np.allclose(as_numpy(in_keras(images)).reshape(2, 6, 5), expected, rtol=0, atol=1e-5)
    cut = as_numpy(ops.image.extract_patches(images, size=4)).reshape(2, 6, 48)
    assert np.allclose(cut, patches, rtol=0, atol=1e-6)
    in_torch = nn.Conv2d(3, 5, 4, stride=4).double()
    weight = rearrange(kernel, "(p q c) d -> d c p q", p=4, q=4)
    in_torch.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
    channels_first = torch.tensor(rearrange(images, "b h w c -> b c h w"))
    assert np.allclose(as_numpy(in_torch(channels_first).flatten(2).mT), expected, rtol=0, atol=1e-12)


# The ready-made block, where a part of it is exchanged


def test_pytorch_fast_path_of_torch_nn_passes_over_what_is_exchanged():
    """What the page says of evaluation without gradients: another linear1 and another _sa_block aren't called."""

    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    class NoAttention(nn.TransformerEncoderLayer):
        def _sa_block(self, x, *arguments, **options):
            return torch.zeros_like(x)

    x = torch.randn(4, 6, 8, dtype=torch.float64)
    exchanged = torch_layer(False)
    exchanged.linear1 = Doubled(8, 12).double()
    for layer in (exchanged, NoAttention(8, 2, 12, dropout=0.0, batch_first=True).double()):
        with torch.no_grad():
            assert not torch.allclose(layer.train()(x), layer.eval()(x), atol=1e-3)
    other_norm = torch_layer(False)
    other_norm.norm1, other_norm.norm2 = nn.RMSNorm(8).double(), nn.RMSNorm(8).double()
    with torch.no_grad():
        other_norm.train()(x)
        with pytest.raises(AttributeError, match="bias"):
            other_norm.eval()(x)


# The dictionary of compare

TOKENS_OF_ROWS = np.array([[3, 1, 4, 1, 2], [2, 4, 1, 0, 0]])


def run_column(column: int, rng) -> dict[str, np.ndarray]:
    """Run a column from its first row to its last; what the names hold afterwards, and the value of some last lines."""
    x, images = rng.normal(size=(2, 5, 16)).astype("float32"), rng.normal(size=(3, 8, 8, 1)).astype("float32")
    names = {"d_model": 16, "num_heads": 4, "d_ff": 64, "embed_dim": 16, "ff_dim": 64, "np": np, "keras": keras}
    names |= {"torch": torch, "x": x, "tokens": TOKENS_OF_ROWS, "images": images}
    if column == 1:
        names |= {**vars(numpy_track), "causal_mask": causal_mask, "padding_mask": padding_mask}
        names |= {"rearrange": rearrange, "Linear": Linear}
    if column == 2:
        names |= {"x": torch.tensor(x), "tokens": torch.tensor(TOKENS_OF_ROWS)}
        names["images"] = torch.tensor(images).permute(0, 3, 1, 2)
    if column == 3:
        names["TransformerBlock"] = keras_track.TransformerBlock
    values = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "enable_nested_tensor is True")  # of a pre-norm stack
        warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")
        for row in rows_of("08_encoder"):
            body = ast.parse(row[column])
            if body.body and isinstance(body.body[-1], ast.Expr):
                body.body[-1] = ast.Assign([ast.Name("value", ast.Store())], body.body[-1].value)
            names["value"] = None
            exec(compile(ast.fix_missing_locations(body), row[0], "exec"), names)  # noqa: S102 - what the page shows
            values[row[0]] = names["value"]
    return names | {"values": values}


@pytest.mark.keras
def test_every_call_of_the_dictionary_runs_as_typed():
    numpy_, pytorch, keras_ = (run_column(column, np.random.default_rng(0)) for column in (1, 2, 3))
    for found in (numpy_, pytorch, keras_):  # padding is hidden, and the stack goes on to the mean over real positions
        y = as_numpy(found["y"])
        mean = np.stack([y[0].mean(axis=0), y[1, :3].mean(axis=0)])
        assert np.allclose(as_numpy(found["values"]["the mean over real positions"]), mean, atol=1e-5)
        weights = as_numpy(found["values"]["the attention weights of the first block's heads, in evaluation"])
        assert weights.shape == (2, 4, 5, 5) and np.allclose(weights.sum(axis=-1), 1, atol=1e-5)
        assert int(found["values"]["how many parameters"]) == 6 * 3280
        kernel = found["values"]["the kernel of the first query, (in, out); in Keras (in, heads, head_dim)"]
        assert as_numpy(kernel).reshape(16, 16).shape == (16, 16)
        assert np.allclose(as_numpy(found["patches"]), numpy_["patches"], atol=1e-6)
        assert as_numpy(found["values"]["a vector of each patch"]).shape == (3, 4, 16)
    assert len({block.linear1.weight.detach().numpy().tobytes() for block in pytorch["encoder"].layers}) == 1


@pytest.mark.keras
@pytest.mark.parametrize("column", [1, 2, 3])
def test_the_dictionarys_masks_hide_what_they_say(column):
    """Another vector at the padding moves no real position; a later one moves no earlier one."""
    named = run_column(column, np.random.default_rng(0))
    rows = {row[0]: row[column] for row in rows_of("08_encoder")}
    x = np.random.default_rng(1).normal(size=(2, 5, 16)).astype("float32")
    changed = {"hide padding": x.copy(), "hide the future": x.copy()}
    changed["hide padding"][1, 3:] += 1
    changed["hide the future"][:, 3] += 1

    def output(what: str, array: np.ndarray) -> np.ndarray:
        given = named | {"x": tensor("pytorch" if column == 2 else "", array)}
        body = ast.parse(rows[what])
        if isinstance(body.body[-1], ast.Expr):
            body.body[-1] = ast.Assign([ast.Name("y", ast.Store())], body.body[-1].value)
        exec(compile(ast.fix_missing_locations(body), what, "exec"), given)  # noqa: S102 - what the page shows
        return as_numpy(given["y"])

    for what, other in changed.items():
        moved = np.abs(output(what, other) - output(what, x)).max(axis=-1) > 1e-4
        still = TOKENS_OF_ROWS != 0 if what == "hide padding" else np.arange(5) < np.array([[3], [3]])
        assert not moved[still].any()
        assert what == "hide padding" or moved[:, 3].all()


@pytest.mark.keras
def test_what_the_page_says_of_a_block_in_the_functional_api():
    # layers.Add() saves the mean at the end, not a loss at each token; ops.copy loses the mask, a layer keeps it
    def reader(copied: Callable | None, ends_in_mean: bool) -> keras.Model:
        keras.utils.set_random_seed(0)
        inputs = keras.Input((None,), dtype="int32")
        wide = keras.initializers.RandomNormal(stddev=1.0)  # what padding does is well above rounding
        x = layers.Embedding(5, 16, embeddings_initializer=wide, mask_zero=True)(inputs)
        read = copied(x) if copied else x
        x = layers.Add()([x, layers.MultiHeadAttention(num_heads=2, key_dim=8)(read, read)])
        x = layers.GlobalAveragePooling1D()(x) if ends_in_mean else x
        return keras.Model(inputs, layers.Dense(1)(x))

    pieces = [np.pad([[2, 1, 4]], ((0, 0), (0, padding))) for padding in (0, 12)]

    def spread(model: keras.Model) -> float:
        return float(np.ptp([model.predict(piece, verbose=0)[0, 0] for piece in pieces]))

    assert spread(reader(copied=None, ends_in_mean=True)) < 1e-5
    assert spread(reader(copied=ops.copy, ends_in_mean=True)) > 1e-2

    def spread_of_losses(model: keras.Model) -> float:
        model.compile(loss="mse")
        targets = [np.ones((*piece.shape, 1)) * (piece > 0)[..., None] for piece in pieces]
        return float(np.ptp([model.evaluate(*pair, verbose=0) for pair in zip(pieces, targets)]))

    assert spread_of_losses(reader(copied=None, ends_in_mean=False)) > 1e-2
    for keeps in (layers.Rescaling(1.0), layers.LayerNormalization()):  # a copy, and pre-norm order
        assert spread_of_losses(reader(copied=keeps, ends_in_mean=False)) < 1e-5


def test_what_the_page_says_of_the_librarys_first_weights_and_last_norm():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, batch_first=True, norm_first=True)
    packed, out = (
        each.detach().abs().max().item() for each in (layer.self_attn.in_proj_weight, layer.self_attn.out_proj.weight)
    )
    xavier, linear = (6 / (64 + 3 * 64)) ** 0.5, 64**-0.5
    assert 0.99 * xavier < packed <= xavier and 0.99 * linear < out <= linear
    assert not layer.self_attn.in_proj_bias.any() and not layer.self_attn.out_proj.bias.any()
    assert nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).norm is None


def test_the_librarys_attention_never_calls_its_output_layer():
    """It hands the weight to a function, in training, too: what is put in its place gets no gradient."""
    block = nn.TransformerEncoderLayer(16, 2, 64, dropout=0.0, batch_first=True)
    block.self_attn.out_proj.register_forward_hook(lambda *_: 1 / 0)
    called = []
    block.linear1.register_forward_hook(lambda *_: called.append("linear1"))
    block.train()(torch.randn(2, 8, 16)).sum().backward()
    assert called == ["linear1"] and block.self_attn.out_proj.weight.grad is not None
