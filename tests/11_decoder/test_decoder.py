"""Chapter 11: the decoder, held against PyTorch's own, against finite differences, and against its twins."""

import importlib
from functools import partial

import keras
import numpy as np
import pytest
import torch
from blocks import dropout_of
from dictionaries import assert_same, values_of
from keras import ops
from torch import nn
from torch.nn import functional as F

import shared.keras.decoder as keras_track
import shared.numpy.attention as numpy_attention
import shared.numpy.decoder as numpy_track
import shared.pytorch.decoder as pytorch_track
from shared import parity, private
from shared.arrays import as_numpy
from shared.conformance import laws
from shared.frameworks.masks import in_keras
from shared.frameworks.weights import get_weights, set_weights
from shared.keras.attention import padding_mask as keras_padding_mask
from shared.numpy.attention import causal_mask
from shared.numpy.encoder import EncoderBlock
from shared.pytorch.attention import MultiHeadAttention

TRACKS = {"numpy": numpy_track, "pytorch": pytorch_track, "keras": keras_track}
every_track = pytest.mark.parametrize("track", TRACKS)
ORDERS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])
BLOCK = {"d_model": 8, "num_heads": 2, "d_ff": 12}  # head_dim 4
WITH_MEMORY, NAMES = ("DecoderBlock", "Decoder"), ("DecoderBlock", "Decoder", "DecoderOnlyBlock")
LENGTHS, MEMORY_LENGTHS = np.array([5, 3, 1, 4]), np.array([2, 7, 4, 7])  # of 5 and 7 positions
SELF_MASK = (np.arange(5) < LENGTHS[:, None])[:, None, None, :]  # (batch, 1, 1, length)
MEMORY_MASK = (np.arange(7) < MEMORY_LENGTHS[:, None])[:, None, None, :]


def scrambled(module):
    """The module with every weight random, gamma and beta included, so that no mistake hides behind ones and zeros."""
    rng = np.random.default_rng(7)
    weights = {name: rng.normal(scale=0.4, size=value.shape) for name, value in get_weights(module).items()}
    set_weights(module, {name: value + name.endswith("gamma") for name, value in weights.items()})
    return module


def make(track: str, name: str, **arguments):
    """A scrambled module of a track: float64 but for Keras, with the same weights in the three."""
    module = getattr(TRACKS[track], name)(**BLOCK | arguments)
    if track == "pytorch":
        module.double()
    if track == "keras":
        module.build((None, None, 8))
    return scrambled(module)


def tensor(track: str, array):
    return torch.tensor(array) if track == "pytorch" and isinstance(array, np.ndarray) else array


def run(track: str, module, *inputs, **arguments) -> np.ndarray:
    arguments = {name: tensor(track, value) for name, value in arguments.items()}
    if track == "keras":
        arguments = in_keras(module.call, arguments)
    return as_numpy(module(*(tensor(track, each) for each in inputs), **arguments))


def make_cache(track: str, batch: int, max_length: int = 5, dtype: str = "float32"):
    """An empty cache of one block, for up to max_length positions; float64 but for Keras, if nothing else is asked for."""
    rest = {"numpy": (np.float64,), "pytorch": (torch.float64, "cpu"), "keras": (dtype,)}[track]
    return TRACKS[track].LayerCache((batch, 2, max_length, 4), *rest)


@pytest.fixture
def inputs(rng) -> dict[str, np.ndarray]:
    return {"x": rng.normal(size=(4, 5, 8)), "memory": rng.normal(size=(4, 7, 8))}


# NumPy: the hand-written backward


def test_numpy_causal_self_attention_sums_three_gradients(rng):
    attention = scrambled(numpy_track.CausalSelfAttention(8, 2))
    x, grad_output = rng.normal(size=(2, 3, 5, 8))
    parity.check_backward(attention, {"x": x}, pytorch_track.CausalSelfAttention(8, 2))
    attention(x)
    parts = super(type(attention), attention).backward(grad_output)
    assert len(parts) == 3 and np.array_equal(attention.backward(grad_output), sum(parts))


@ORDERS
def test_numpy_gradient_of_the_memory_is_a_sum_over_blocks(norm_first, inputs, rng):
    decoder = make("numpy", "Decoder", num_layers=3, norm_first=norm_first)
    grad_output = rng.normal(size=(4, 5, 8))
    decoder(**inputs, memory_mask=MEMORY_MASK)
    grad_x, grad_memory = decoder.backward(grad_output)
    grad, parts = (decoder.norm.backward(grad_output) if norm_first else grad_output), []
    for block in reversed(decoder.blocks):
        grad, part = block.backward(grad)
        parts.append(part)
    assert np.allclose(grad_x, grad, rtol=0, atol=1e-12) and np.allclose(grad_memory, sum(parts), rtol=0, atol=1e-12)
    assert all(np.abs(grad_memory - part).max() > 1e-2 for part in parts)
    assert not grad_memory[~np.broadcast_to(MEMORY_MASK[:, 0, 0], (4, 7))].any()


def test_numpy_future_has_no_gradient(inputs):
    """Output i depends on inputs up to i, so the gradient of later inputs is zero, to the last bit."""
    for name in NAMES:
        module = make("numpy", name)
        given = inputs.values() if name in WITH_MEMORY else [inputs["x"]]
        for position in range(5):
            grad_output = np.zeros((4, 5, 8))
            grad_output[:, position] = np.random.default_rng(position).normal(size=(4, 8))
            module(*given)
            grads = module.backward(grad_output)
            grad_x = grads[0] if name in WITH_MEMORY else grads
            assert not grad_x[:, position + 1 :].any() and grad_x[:, : position + 1].all()


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", NAMES)
def test_numpy_outputs_before_a_change_stay_and_those_after_it_move(name, training, inputs, rng):
    """To the last bit, in both modes: evaluation has no mask of its own."""
    module, (x, memory) = make("numpy", name).train(training), inputs.values()
    memory = [memory] if name in WITH_MEMORY else []
    for position in range(5):
        changed = x.copy()
        changed[:, position] += rng.normal(size=8)
        moved = (module(changed, *memory) != module(x, *memory)).any(axis=(0, 2))
        assert np.array_equal(moved, np.arange(5) >= position)


def test_numpy_backward_comes_back_after_a_cached_call(rng):
    block, x = make("numpy", "DecoderOnlyBlock"), rng.normal(size=(2, 3, 8))
    with pytest.raises(ValueError):
        block.backward(block(x, cache=make_cache("numpy", 2)))
    block(x)
    assert block.backward(x).shape == x.shape


@ORDERS
def test_numpy_decoder_only_block_is_an_encoder_block_behind_a_causal_mask(norm_first, inputs, rng):
    x, grad_output = inputs["x"], rng.normal(size=(4, 5, 8))
    block, encoder_block = (
        make("numpy", "DecoderOnlyBlock", norm_first=norm_first),
        EncoderBlock(**BLOCK, norm_first=norm_first),
    )
    set_weights(encoder_block, get_weights(block))
    assert np.allclose(block(x), encoder_block(x, causal_mask(5)[None, None]), rtol=0, atol=1e-12)
    assert np.allclose(block.backward(grad_output), encoder_block.backward(grad_output), rtol=0, atol=1e-12)
    for name, gradient in block.gradients().items():
        assert np.allclose(gradient, encoder_block.gradients()[name], rtol=0, atol=1e-12), name


def test_numpy_one_seed_one_decoder(inputs):
    first, second, third = (numpy_track.Decoder(**BLOCK, dropout=0.3, num_layers=2, rng=seed) for seed in (0, 0, 1))
    assert np.array_equal(first(**inputs), second(**inputs))  # weights and zeros
    assert not np.allclose(first.eval()(**inputs), third.eval()(**inputs))


# PyTorch: against torch.nn


def copy_into(layer: nn.Module, block) -> nn.Module:
    """Our block's weights into PyTorch's decoder layer, or encoder layer if the block has no memory."""
    memory = isinstance(block, pytorch_track.DecoderBlock)
    own, norm = (block.self_attention, block.self_attention_norm) if memory else (block.attention, block.attention_norm)
    attentions, norms = {"self_attn": own}, [norm]
    if memory:
        attentions["multihead_attn"] = block.cross_attention
        norms.append(block.cross_attention_norm)
    state = {}
    for name, ours in attentions.items():
        for part in ("weight", "bias"):
            packed = [getattr(each, part) for each in (ours.query, ours.key, ours.value)]
            state[f"{name}.in_proj_{part}"] = torch.cat(packed)
            state[f"{name}.out_proj.{part}"] = getattr(ours.output, part)
    parts = {"linear1": block.feed_forward.expand, "linear2": block.feed_forward.contract}
    parts |= {f"norm{i + 1}": norm for i, norm in enumerate([*norms, block.feed_forward_norm])}
    for name, ours in parts.items():
        state |= {f"{name}.{part}": value for part, value in ours.state_dict().items()}
    layer.load_state_dict(state)
    return layer


def torch_layer(norm_first: bool, activation: str = "relu", kind=nn.TransformerDecoderLayer, dropout: float = 0.0):
    return kind(
        8, 2, 12, dropout=dropout, activation=activation, batch_first=True, norm_first=norm_first
    ).double()  # fmt: skip


THEIR_MASKS = {
    "tgt_mask": torch.ones(5, 5, dtype=torch.bool).triu(1),
    "tgt_key_padding_mask": torch.tensor(~SELF_MASK[:, 0, 0]),
    "memory_key_padding_mask": torch.tensor(~MEMORY_MASK[:, 0, 0]),
}
OUR_MASKS = {"self_mask": torch.tensor(SELF_MASK), "memory_mask": torch.tensor(MEMORY_MASK)}


@ORDERS
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("mode", [True, False], ids=["train", "eval"])
def test_pytorch_block_is_torch_nn_transformer_decoder_layer(norm_first, activation, mode, inputs):
    block = make("pytorch", "DecoderBlock", norm_first=norm_first, activation=activation).train(mode)
    layer = copy_into(torch_layer(norm_first, activation), block).train(mode)
    x, memory = map(torch.tensor, inputs.values())
    for grad_mode in (True, False):
        with torch.set_grad_enabled(grad_mode):
            ours, theirs = block(x, memory, **OUR_MASKS), layer(x, memory, **THEIR_MASKS)
            assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)
            unmasked = layer(x, memory, tgt_mask=THEIR_MASKS["tgt_mask"])
            assert torch.allclose(block(x, memory), unmasked, rtol=0, atol=1e-12)


@ORDERS
def test_pytorch_decoder_is_torch_nn_transformer_decoder(norm_first, inputs):
    decoder = make("pytorch", "Decoder", norm_first=norm_first, num_layers=3)
    last = nn.LayerNorm(8).double() if norm_first else None
    stack = nn.TransformerDecoder(torch_layer(norm_first), 3, norm=last)
    for layer, block in zip(stack.layers, decoder.blocks):
        copy_into(layer, block)
    if norm_first:
        stack.norm.load_state_dict(decoder.norm.state_dict())
    x, memory = (torch.tensor(each, requires_grad=True) for each in inputs.values())
    grad_output = torch.randn_like(x)
    ours, theirs = decoder(x, memory, **OUR_MASKS), stack(x, memory, **THEIR_MASKS)
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)
    our_weight, their_weight = (
        decoder.blocks[0].cross_attention.output.weight,
        stack.layers[0].multihead_attn.out_proj.weight,
    )
    for gradients in zip(
        torch.autograd.grad(ours, (x, memory, our_weight), grad_output),
        torch.autograd.grad(theirs, (x, memory, their_weight), grad_output),
    ):
        assert torch.allclose(*gradients, rtol=0, atol=1e-11)


@ORDERS
def test_pytorch_decoder_only_block_is_a_causal_torch_nn_encoder_layer(norm_first, inputs):
    block = make("pytorch", "DecoderOnlyBlock", norm_first=norm_first)
    layer = copy_into(torch_layer(norm_first, kind=nn.TransformerEncoderLayer), block)
    x, causal = torch.tensor(inputs["x"]), THEIR_MASKS["tgt_mask"]
    assert torch.allclose(block(x), layer(x, src_mask=causal), rtol=0, atol=1e-12)
    padded = layer(x, src_mask=causal, src_key_padding_mask=THEIR_MASKS["tgt_key_padding_mask"])
    assert torch.allclose(block(x, OUR_MASKS["self_mask"]), padded, rtol=0, atol=1e-12)


def test_pytorch_dropout_acts_where_torch_nn_drops():
    """With the same rate the expected output agrees; with one place of dropout more or less it would not."""
    block = make("pytorch", "DecoderBlock", dropout=0.4, norm_first=True)
    layer = copy_into(torch_layer(True, dropout=0.4), block)
    x, memory = (torch.randn(1, n, 8, dtype=torch.float64).repeat(4000, 1, 1) for n in (3, 4))
    causal = torch.ones(3, 3, dtype=torch.bool).triu(1)
    with torch.no_grad():
        ours, theirs = block(x, memory), layer(x, memory, tgt_mask=causal)
    error = (ours.var(dim=0) / 4000 * 2).sqrt()
    assert ((ours.mean(dim=0) - theirs.mean(dim=0)).abs() < 5 * error).all()
    assert torch.allclose(ours.var(dim=0), theirs.var(dim=0), rtol=0.25)


def test_pytorch_ways_to_a_causal_mask_agree(rng):
    """With PyTorch's flag, beside another mask and behind an empty cache, outputs and gradients are chapter 06's with the mask."""
    attention, general = pytorch_track.CausalSelfAttention(8, 2).double(), MultiHeadAttention(8, 2).double()
    general.load_state_dict(attention.state_dict())
    x, grad_output = torch.tensor(rng.normal(size=(2, 3, 6, 8)))
    x.requires_grad_()
    expected = general(x, x, x, torch.ones(6, 6, dtype=torch.bool).tril())
    ways = (
        attention(x),
        attention(x, torch.ones(1, 1, 1, 6, dtype=torch.bool)),
        attention(x, cache=make_cache("pytorch", 3, 6)),
    )
    for y in ways:
        assert torch.allclose(y, expected, rtol=0, atol=1e-12)
        grads = [torch.autograd.grad(each, x, grad_output, retain_graph=True)[0] for each in (y, expected)]
        assert torch.allclose(*grads, rtol=0, atol=1e-12)


def test_pytorch_dropout_of_weights_acts_on_every_way():
    attention, silent = (pytorch_track.CausalSelfAttention(8, 2, rate) for rate in (0.5, 0.0))
    silent.load_state_dict(attention.state_dict())
    x, mask = torch.randn(2, 6, 8), torch.ones(1, 1, 1, 6, dtype=torch.bool)
    for arguments in ({}, {"mask": mask}):
        assert not torch.allclose(attention.train()(x, **arguments), attention(x, **arguments))
        assert torch.equal(attention.eval()(x, **arguments), silent(x, **arguments))
        many = attention.train()(x[:1].expand(4000, 6, 8), **arguments)
        assert torch.allclose(many.mean(dim=0), silent(x[0:1], **arguments)[0], atol=0.05)


def test_pytorch_flag_is_used_only_where_it_is_right(monkeypatch):
    """Without another mask and behind no cached position the triangle from the top left is ours, and nowhere else."""
    flags = []

    def watch(*arguments, original=F.scaled_dot_product_attention, **named):
        flags.append((named["attn_mask"] is not None, named["is_causal"]))
        return original(*arguments, **named)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watch)
    attention, cache = pytorch_track.CausalSelfAttention(8, 2).double(), make_cache("pytorch", 2, 7)
    x = torch.randn(2, 3, 8).double()
    attention(x), attention(x, torch.ones(1, 1, 3, 3, dtype=torch.bool))
    assert flags == [(False, True), (True, False)]  # a mask is given, the flag is set
    flags.clear()
    attention(x, cache=cache), attention(x, cache=cache), attention(x[:, :1], cache=cache)
    assert flags == [(False, True), (True, False), (False, False)]


@ORDERS
def test_pytorch_compiles_to_one_graph_whatever_the_length(norm_first, inputs):
    """PyTorch's flag is a bool, though a length is a symbol while it is recorded."""
    x, memory = map(torch.tensor, inputs.values())
    for name, rest in (("DecoderOnlyBlock", ()), ("DecoderBlock", (memory,)), ("Decoder", (memory,))):
        module = make("pytorch", name, norm_first=norm_first)
        compiled = torch.compile(module, fullgraph=True, backend="eager", dynamic=True)
        for length in (5, 3, 1):
            assert torch.equal(compiled(x[:, :length], *rest), module(x[:, :length], *rest))


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_ways_to_a_causal_mask_agree(float64, rng):
    """With and without another mask, outputs and gradients are those of chapter 06's attention with the causal one; behind an empty cache, outputs."""
    import tensorflow as tf

    attention, causal = keras_track.CausalSelfAttention(8, 2), np.tril(np.ones((6, 6), dtype=bool))
    attention.build((None, None, 8))
    scrambled(attention)
    x, grad_output = tf.constant(rng.normal(size=(2, 3, 6, 8)))

    def output_and_gradient(function):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return as_numpy(y), as_numpy(tape.gradient(y, x, output_gradients=grad_output))

    expected = output_and_gradient(lambda x: super(type(attention), attention).call(x, x, x, causal))
    for arguments in ({}, {"attention_mask": np.ones((1, 1, 1, 6), dtype=bool)}):
        for ours, theirs in zip(output_and_gradient(partial(attention, **arguments)), expected):
            assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
    cached = as_numpy(attention(x, cache=make_cache("keras", 3, 6, "float64")))  # for inference: it has no gradient
    assert np.allclose(cached, expected[0], rtol=0, atol=1e-12)


@pytest.mark.keras
def test_keras_dropout_of_weights_acts_on_every_way():
    attention, plain = (keras_track.CausalSelfAttention(8, 2, rate) for rate in (0.5, 0.0))
    for layer in (attention, plain):
        layer.build((None, None, 8))
    set_weights(plain, get_weights(attention))
    x = keras.random.normal((2, 6, 8), seed=0)
    for arguments in ({}, {"attention_mask": np.ones((1, 1, 1, 6), dtype=bool)}):
        once, again = (as_numpy(attention(x, training=True, **arguments)) for _ in range(2))
        assert not np.allclose(once, again)
        assert np.array_equal(as_numpy(attention(x, **arguments)), as_numpy(plain(x, **arguments)))
        many = as_numpy(attention(ops.tile(x[:1], (4000, 1, 1)), training=True, **arguments))
        assert np.allclose(many.mean(axis=0), as_numpy(plain(x[:1], **arguments))[0], atol=0.05)


@every_track
def test_causal_self_attention_has_the_weights_of_multi_head_attention(track):
    attention = TRACKS[track].CausalSelfAttention(8, 2)
    parent = next(each for each in type(attention).__mro__ if each.__name__ == "MultiHeadAttention")(8, 2)
    if track == "keras":
        attention.build((None, None, 8)), parent.build((None, None, 8))
    shapes = {name: value.shape for name, value in get_weights(parent).items()}
    assert {name: value.shape for name, value in get_weights(attention).items()} == shapes


# The three together


@ORDERS
@pytest.mark.tensorflow
@pytest.mark.parametrize("shape", [(4, 1, 1, 5), (4, 2, 5, 5), (1, 1, 1, 5), None])
def test_three_blocks_are_one_function_with_every_shape_of_mask(norm_first, shape, float64, inputs, rng):
    mask = None if shape is None else rng.random(shape) < 0.7
    memory_mask = {} if shape is None else {"memory_mask": rng.random((*shape[:-1], 7)) < 0.7}
    sizes = {**BLOCK, "norm_first": norm_first}
    for name, given, masks in (
        ("DecoderBlock", inputs, {"self_mask": mask, **memory_mask}),
        ("DecoderOnlyBlock", {"x": inputs["x"]}, {"mask": mask}),
    ):
        twins = [getattr(TRACKS[track], name)(**sizes) for track in TRACKS]
        parity.compare_modules(
            scrambled(twins[0]), *twins[1:], given, **{k: v for k, v in masks.items() if v is not None}
        )


@every_track
@ORDERS
def test_names_and_shapes_of_weights(track, norm_first):
    part = {f"feed_forward.{name}": shape for name, shape in (
        ("expand.kernel", (8, 12)), ("expand.bias", (12,)), ("contract.kernel", (12, 8)), ("contract.bias", (8,))
    )}  # fmt: skip

    def attention(name: str) -> dict[str, tuple]:
        parts = {f"{name}.{each}.kernel": (8, 8) for each in ("query", "key", "value", "output")}
        return parts | {f"{each.removesuffix('kernel')}bias": (8,) for each in parts}

    def norm(name: str) -> dict[str, tuple]:
        return {f"{name}_norm.{each}": (8,) for each in ("gamma", "beta")}

    part |= norm("feed_forward")
    alone = attention("attention") | norm("attention") | part
    block = part | {
        k: v for name in ("self_attention", "cross_attention") for k, v in (attention(name) | norm(name)).items()
    }
    stack = {f"blocks.{i}.{name}": shape for i in range(2) for name, shape in block.items()}
    stack |= {"norm.gamma": (8,), "norm.beta": (8,)} if norm_first else {}
    for name, expected in (("DecoderOnlyBlock", alone), ("DecoderBlock", block), ("Decoder", stack)):
        arguments = {"norm_first": norm_first} | ({"num_layers": 2} if name == "Decoder" else {})
        module = make(track, name, **arguments)
        assert {name: value.shape for name, value in get_weights(module).items()} == expected


@every_track
def test_attributes_stand_in_the_same_order(track):
    expected = ["self_attention", "self_attention_norm", "cross_attention", "cross_attention_norm"]
    expected += ["feed_forward", "feed_forward_norm"]
    names = list(dict.fromkeys(name.split(".")[0] for name in get_weights(make(track, "DecoderBlock"))))
    assert names == expected
    names = list(dict.fromkeys(name.split(".")[0] for name in get_weights(make(track, "DecoderOnlyBlock"))))
    assert names == ["attention", "attention_norm", "feed_forward", "feed_forward_norm"]


# What a decoder may see


def in_mode(track: str, module, training: bool):
    """The module in a mode, and what its call needs to be in that mode."""
    return (module, {"training": training}) if track == "keras" else (module.train(training), {})


@every_track
@pytest.mark.parametrize("name", WITH_MEMORY)
def test_padding_of_the_source_never_matters_and_the_rest_always_does(track, name, inputs, rng):
    """Each position of the target sees each real position of the source, the last included: nothing causal there."""
    module, (x, memory) = make(track, name), inputs.values()
    before = run(track, module, x, memory, memory_mask=MEMORY_MASK)
    for position in range(7):
        changed = memory.copy()
        changed[:, position] += rng.normal(size=(4, 8))
        moved = (run(track, module, x, changed, memory_mask=MEMORY_MASK) != before).any(axis=-1)  # (batch, length)
        assert np.array_equal(moved, np.repeat(MEMORY_MASK[:, 0, 0, position, None], 5, axis=1))
        if position == 4:  # as many as the target's: a causal mask would fit
            short, moved = memory[:, :5], changed[:, :5]
            assert (run(track, module, x, moved) != run(track, module, x, short)).any(axis=-1).all()


@every_track
def test_every_block_gets_both_masks(track, inputs, rng):
    """In the first block alone, what is masked would come in through the second."""
    module, (x, memory) = make(track, "Decoder", num_layers=3), inputs.values()
    masks = {"self_mask": np.eye(5, dtype=bool)[None, None], "memory_mask": (np.arange(7) < 3)[None, None, None]}
    changed = x.copy()
    changed[:, 1] += rng.normal(size=8)
    moved = run(track, module, changed, memory, **masks) != run(track, module, x, memory, **masks)
    assert moved.any(axis=(0, 2)).tolist() == [False, True, False, False, False]
    other = np.where((np.arange(7) < 3)[:, None], memory, rng.normal(size=memory.shape))
    assert np.array_equal(run(track, module, x, other, **masks), run(track, module, x, memory, **masks))


@every_track
@pytest.mark.parametrize("name", NAMES)
def test_a_position_is_what_it_would_be_at_the_end(track, name, inputs):
    module, (x, memory) = make(track, name), inputs.values()
    memory = [memory] if name in WITH_MEMORY else []
    whole = run(track, module, x, *memory)
    for length in (1, 3):
        assert np.allclose(run(track, module, x[:, :length], *memory), whole[:, :length], rtol=0, atol=1e-5)


# Where dropout acts, and whose outputs are set to 0 there, so that the other sums drop nothing.
OUTPUTS = {"self_attention": "output", "cross_attention": "output", "feed_forward": "contract"}
PLACES = dict.fromkeys(OUTPUTS, ())
PLACES |= {
    f"{name}_residual": tuple(f"{each}.{layer}." for each, layer in OUTPUTS.items() if each != name) for name in OUTPUTS
}


def silence(block, layers: tuple[str, ...]) -> None:
    """Set the weights of these layers to 0."""
    weights = get_weights(block)
    set_weights(block, {name: value * (not name.startswith(layers)) for name, value in weights.items()})


@pytest.mark.parametrize("place", PLACES)
@every_track
def test_every_dropout_acts_in_training(track, place, inputs):
    """Each of the six places by itself: with the others silenced, training still differs from evaluation."""
    block, rate = make(track, "DecoderBlock", dropout=0.5), "p" if track == "pytorch" else "rate"
    for name in PLACES:
        setattr(dropout_of(block, name), rate, 0.0)
    setattr(dropout_of(block, place), rate, 0.5)
    silence(block, PLACES[place])
    outputs = []
    for training in (True, False):
        module, mode = in_mode(track, block, training)
        outputs.append(run(track, module, *inputs.values(), **mode))
    assert not np.allclose(*outputs)


@pytest.mark.parametrize("name", ["DecoderBlock", "DecoderOnlyBlock"])
@every_track
def test_what_is_dropped_is_what_a_sub_layer_adds(track, name, inputs):
    """If none adds anything, a block in pre-norm order returns its input, in training, too."""
    module, mode = in_mode(track, make(track, name, dropout=0.5, norm_first=True), True)
    silence(module, ("attention.output.", *(f"{each}.{layer}." for each, layer in OUTPUTS.items())))
    given = [inputs["x"]] + [inputs["memory"]] * (name in WITH_MEMORY)
    assert np.allclose(run(track, module, *given, **mode), given[0], rtol=0, atol=1e-6)  # Keras computes in float32


@every_track
def test_order_of_the_norm(track, inputs):
    """Post-norm: every position has mean 0 and variance 1 at first; pre-norm: only behind the last norm."""
    for norm_first, name, normalised in (
        (False, "DecoderBlock", True),
        (True, "DecoderBlock", False),
        (True, "Decoder", True),
        (False, "DecoderOnlyBlock", True),
        (True, "DecoderOnlyBlock", False),
    ):
        module = getattr(TRACKS[track], name)(**BLOCK, norm_first=norm_first)
        given = [3 * inputs["x"]] + [inputs["memory"]] * (name in WITH_MEMORY)
        y = run(track, module.double() if track == "pytorch" else module, *given)
        assert (np.abs(y.std(axis=-1) - 1).max() < 1e-2) == normalised
    assert TRACKS[track].Decoder(**BLOCK).norm is None


@every_track
def test_blocks_start_from_numbers_of_their_own(track):
    decoder = TRACKS[track].Decoder(**BLOCK, num_layers=2)
    if track == "keras":
        decoder.build((None, None, 8))
    weights = get_weights(decoder)
    for name in ("self_attention.query.kernel", "cross_attention.query.kernel", "feed_forward.expand.kernel"):
        assert not np.allclose(weights[f"blocks.0.{name}"], weights[f"blocks.1.{name}"])
    assert not np.allclose(
        weights["blocks.0.self_attention.key.kernel"], weights["blocks.0.cross_attention.key.kernel"]
    )


@every_track
def test_eps_reaches_every_norm(track):
    """A position whose features are all but equal is scaled up by 1 / root of eps at most."""
    for name in NAMES:
        sizes = {**BLOCK, "eps": 0.5, "norm_first": name == "Decoder"}
        module = getattr(TRACKS[track], name)(**sizes)
        parts = [module.norm, *vars(module.blocks[0]).values()] if name == "Decoder" else list(vars(module).values())
        if track != "numpy":
            children = getattr(module, "modules", None) or (lambda module=module: module._flatten_layers())
            parts = list(children())
        norms = [getattr(part, "norm", part) for part in parts]
        found = [each for each in norms if type(each).__name__ in ("LayerNorm", "LayerNormalization")]
        assert len(found) >= 2
        assert {getattr(each, "eps", getattr(each, "epsilon", None)) for each in found} == {0.5}


# Keras: models, saving, masks behind the scenes


def translator(norm_first: bool = False, num_layers: int = 2, **arguments) -> keras.Model:
    source, target = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    memory, x = (keras.layers.Embedding(9, 8)(each) for each in (source, target))
    masks = {"self_attention_mask": keras_padding_mask(target), "cross_attention_mask": keras_padding_mask(source)}
    x = keras_track.Decoder(**BLOCK, num_layers=num_layers, norm_first=norm_first, **arguments)(x, memory, **masks)
    if num_layers > 1:
        x = keras_track.DecoderOnlyBlock(**BLOCK, activation="gelu")(x, attention_mask=masks["self_attention_mask"])
    return keras.Model([source, target], keras.layers.Dense(9)(x))


@ORDERS
@pytest.mark.keras
def test_keras_save_and_load_without_custom_objects(norm_first, tmp_path, rng):
    model = translator(norm_first, dropout=0.2)
    tokens = [rng.integers(0, 9, (5, 7)), rng.integers(1, 9, (5, 4))]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert np.array_equal(as_numpy(loaded(tokens)), as_numpy(model(tokens)))
    assert [layer.name for layer in loaded.layers] == [layer.name for layer in model.layers]


@pytest.mark.keras
def test_keras_trains_a_little(rng):
    """Say the source's letter again: only cross-attention can know it."""
    model, source = translator(True, num_layers=1), rng.integers(1, 5, (256, 1))
    source, target = np.repeat(source, 3, axis=1), np.repeat(source, 4, axis=1)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    in_jax = keras.backend.backend() == "jax"  # which is slower without, and TensorFlow with
    model.compile(keras.optimizers.Adam(0.01), loss, jit_compile=in_jax)
    reads = np.full(target.shape, 5)
    losses = model.fit([source, reads], target, batch_size=32, epochs=4, verbose=0).history["loss"]
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.keras
def test_keras_weights_in_a_functional_model(rng):
    x, memory = keras.Input((None, 8)), keras.Input((6, 8))
    y, weights = keras_track.DecoderBlock(**BLOCK)(x, memory, return_weights=True)
    assert y.shape == (None, None, 8) and weights.shape == (None, 2, None, 6)
    z, stacked = keras_track.Decoder(**BLOCK, num_layers=2)(y, memory, return_weights=True)
    assert z.shape == (None, None, 8) and [each.shape for each in stacked] == [(None, 2, None, 6)] * 2
    model = keras.Model([x, memory], [z, weights, *stacked])
    outputs = model([rng.normal(size=(3, 4, 8)), rng.normal(size=(3, 6, 8))])
    assert [tuple(each.shape) for each in outputs] == [(3, 4, 8)] + [(3, 2, 4, 6)] * 3
    assert np.allclose(as_numpy(outputs[1]).sum(axis=-1), 1, atol=1e-5)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_length_may_be_unknown_while_tracing(inputs):
    import tensorflow as tf

    decoder, block = make("keras", "Decoder", num_layers=2), make("keras", "DecoderOnlyBlock")
    unknown = tf.TensorSpec((None, None, 8), tf.float32)

    @tf.function(input_signature=[unknown, unknown], jit_compile=True)
    def traced(x, memory):
        return block(decoder(x, memory))

    for length in (1, 5):
        x, memory = (each[:, :length].astype(np.float32) for each in inputs.values())
        assert np.allclose(traced(x, memory), block(decoder(x, memory)), rtol=0, atol=1e-5)


TOKENS = np.array([[1, 2, 0], [3, 0, 0], [1, 1, 1]])  # as many sequences as positions: no shape would be wrong


@pytest.mark.keras
@ORDERS
def test_keras_mask_that_comes_attached_hides_padding_and_goes_on(norm_first):
    """Beside the mask of the call; as many sequences as positions, so that no shape says which mask is which."""
    embedding = keras.layers.Embedding(9, 8, keras.initializers.RandomNormal(stddev=1.0), mask_zero=True)
    embedded = embedding(TOKENS)
    bare, padding = as_numpy(embedded), as_numpy(keras_padding_mask(TOKENS))
    window = (np.tri(3, dtype=bool) & ~np.tri(3, k=-2, dtype=bool))[None, None]
    alone = (
        keras_track.DecoderOnlyBlock(**BLOCK, norm_first=norm_first),
        keras_track.CausalSelfAttention(8, 2),
    )
    for layer in alone:
        y = layer(embedded)
        assert np.allclose(as_numpy(y), as_numpy(layer(bare, attention_mask=padding)), atol=1e-6)
        assert np.array_equal(as_numpy(private.mask_of(y)), TOKENS != 0)
        both = layer(embedded, attention_mask=window)
        expected = as_numpy(layer(bare, attention_mask=window & padding))
        assert np.allclose(as_numpy(both), expected, atol=1e-6)
        assert np.array_equal(as_numpy(private.mask_of(both)), TOKENS != 0)
        assert private.mask_of(layer(bare, attention_mask=padding)) is None
        # Keras' own mask, given by hand and with a mask of two axes beside it, is attached to the output, too
        given = layer(bare, mask=ops.convert_to_tensor(TOKENS != 0), attention_mask=window[0, 0])
        assert np.allclose(as_numpy(given), expected, atol=1e-6)
        assert np.array_equal(as_numpy(private.mask_of(given)), TOKENS != 0)
    sizes = {**BLOCK, "norm_first": norm_first}
    for layer in (keras_track.DecoderBlock(**sizes), keras_track.Decoder(**sizes, num_layers=2)):
        y = layer(embedded, embedded)
        apart = layer(bare, bare, self_attention_mask=padding, cross_attention_mask=padding)
        assert np.allclose(as_numpy(y), as_numpy(apart), atol=1e-6)
        assert np.array_equal(as_numpy(private.mask_of(y)), TOKENS != 0)
        both = layer(embedded, embedded, cross_attention_mask=window)
        apart = layer(bare, bare, self_attention_mask=padding, cross_attention_mask=window & padding)
        assert np.allclose(as_numpy(both), as_numpy(apart), atol=1e-6)
        assert private.mask_of(layer(bare, bare, cross_attention_mask=padding)) is None
        inputs = keras.Input((3,), dtype="int32")  # and in a functional model
        x = embedding(inputs)
        functional = keras.Model(inputs, layer(x, x, cross_attention_mask=window))
        assert np.allclose(as_numpy(functional(TOKENS)), as_numpy(apart), atol=1e-6)


@pytest.mark.keras
def test_keras_cached_positions_are_real_beside_an_attached_mask():
    """Two sequences of four, whose last position is padding in the second: the new positions bring their mask."""
    tokens = np.array([[3, 1, 4, 1], [2, 7, 1, 0]])
    embedded = keras.layers.Embedding(9, 8, mask_zero=True)(tokens)
    attention, cache = keras_track.CausalSelfAttention(8, 2), make_cache("keras", 2)
    whole = as_numpy(attention(embedded))
    bare = ops.convert_to_tensor(as_numpy(embedded))
    attention(bare[:, :2], cache=cache)

    class Attached(keras.layers.Layer):
        def call(self, x):
            return x * 1.0

        def compute_mask(self, x, previous_mask=None):
            return ops.convert_to_tensor(tokens[:, 2:] != 0)

    later = Attached()(bare[:, 2:])
    # float32: sums of up to eight products, each below 1, in another order
    assert np.allclose(as_numpy(attention(later, cache=cache)), whole[:, 2:], rtol=0, atol=8 * 2**-23)


@pytest.mark.keras
def test_keras_cache_whose_length_is_a_tensor_hides_what_is_empty_and_what_comes_later(rng):
    """As in a compiled loop: the whole room comes back, and only what is there and not later may be seen."""
    attention, x = (
        keras_track.CausalSelfAttention(8, 2),
        ops.convert_to_tensor(rng.normal(size=(2, 5, 8)).astype("float32")),
    )
    padded = np.array([[True, False, True], [True, True, True]])
    known, unknown = make_cache("keras", 2), make_cache("keras", 2)
    unknown.length = ops.convert_to_tensor(0)
    for start, end, mask in ((0, 3, padded), (3, 5, None)):
        expected, found = (as_numpy(attention(x[:, start:end], mask=mask, cache=each)) for each in (known, unknown))
        assert np.abs(found - expected).max() < 1e-6
    assert int(unknown.length) == known.length == 5


# The dictionary of compare

SAME = {  # what has one value in the three columns
    "the causal mask, True = may attend",
    "the mask of 2 new positions behind 3 cached ones",
    "causal attention, of queries, keys and values",
    "that of the last 2 queries",
    "the positions of 2 words behind 3 cached ones",
}


def run_column(column: int) -> dict[str, np.ndarray]:
    """Run a column from its first row to its last, and return the values of the rows in SAME, attention with heads first."""
    rng = np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(2, 5, 16)), "memory": rng.normal(size=(2, 7, 16))}
    arrays |= {name: rng.normal(size=(2, 4, 5, 4)) for name in "qkv"} | {"probs": rng.dirichlet(np.ones(87))}
    if column > 1:
        arrays = {name: array.astype("float32") for name, array in arrays.items()}
    if column == 3:
        arrays |= {name: arrays[name].swapaxes(1, 2) for name in "qkv"}
    arrays |= {"source": np.array([[3, 1, 4, 1, 2, 2, 1], [1, 2, 3, 4, 0, 0, 0]]), "target": np.tri(2, 5, 3, dtype=int)}
    if column == 2:
        arrays = {name: torch.tensor(array) for name, array in arrays.items()}
    names = {"np": np, "torch": torch, "keras": keras, "rng": rng} | arrays
    names |= {**vars(numpy_attention), **vars(numpy_track)} if column == 1 else {}
    values = values_of("11_decoder", column, names, SAME.__contains__)
    if column == 3:  # Keras has the heads third
        values = {name: value.swapaxes(1, 2) if value.ndim == 4 else value for name, value in values.items()}
    if column > 1:  # the rows of the cache have filled it
        np.testing.assert_array_equal(as_numpy(names["keys"]), as_numpy(names["k"]))
    return values


@pytest.mark.keras
def test_every_call_of_the_dictionary_runs_as_typed_and_gives_the_same():
    assert_same([run_column(column) for column in (1, 2, 3)], SAME)


# What the pages say of the libraries' own calls


def seen(call, x) -> list[int]:
    """On how many positions each output depends."""
    moved, before = [], as_numpy(call(x))
    for position in range(x.shape[1]):
        other = x.copy()
        other[:, position] += np.random.default_rng(position + 1).normal(size=x.shape[-1])
        moved.append(np.abs(as_numpy(call(other)) - before).max(axis=(0, 2)) > 1e-6)
    return np.sum(moved, axis=0).tolist()


@pytest.mark.parametrize("kind", [nn.TransformerEncoderLayer, nn.TransformerDecoderLayer])
def test_pytorch_hint_hides_nothing_in_evaluation_and_drops_a_window_in_training(kind, inputs):
    layer, window = torch_layer(False, kind=kind), torch.ones(5, 5, dtype=torch.bool).tril().triu(-1)
    memory, source = [torch.tensor(inputs["memory"])], kind is nn.TransformerEncoderLayer
    memory, name, hint = ([], "src_mask", "is_causal") if source else (memory, "tgt_mask", "tgt_is_causal")

    def call(x, **given):
        return layer(torch.tensor(x), *memory, **given)

    both = {name: ~window, hint: True}
    with pytest.raises(RuntimeError, match="attn_mask"):
        call(inputs["x"], **{hint: True})
    assert seen(partial(call, **both), inputs["x"]) == [1, 2, 3, 4, 5]
    assert seen(partial(call, **{name: ~window}), inputs["x"]) == [1, 2, 2, 2, 2]
    layer.eval()
    with torch.no_grad():
        assert seen(partial(call, **{hint: True}), inputs["x"]) == seen(call, inputs["x"]) == [5] * 5
        assert seen(partial(call, **both), inputs["x"]) == [1, 2, 2, 2, 2]


@pytest.mark.keras
def test_keras_flag_is_a_mask_and_starts_at_the_top_left(inputs):
    layer, window = keras.layers.MultiHeadAttention(2, 4), (np.tri(5, dtype=bool) & ~np.tri(5, k=-2, dtype=bool))[None]
    x = inputs["x"].astype("float32")
    assert seen(lambda x: layer(x, x), x) == [5] * 5
    assert seen(lambda x: layer(x, x, use_causal_mask=True), x) == [1, 2, 3, 4, 5]
    assert seen(lambda x: layer(x, x, attention_mask=window, use_causal_mask=True), x) == [1, 2, 2, 2, 2]
    _, scores = layer(x[:, 4:], x, use_causal_mask=True, return_attention_scores=True)
    assert (as_numpy(scores)[0, 0, 0] > 0).tolist() == [True, False, False, False, False]


@pytest.mark.keras
def test_keras_start_token_that_is_padding_sees_the_future_in_the_library_s_attention_alone():
    tokens = np.array([[0, 5, 3, 7], [0, 5, 3, 8]])
    x = keras.layers.Embedding(9, 8, keras.initializers.RandomNormal(stddev=1.0), mask_zero=True)(tokens)
    library, own = keras.layers.MultiHeadAttention(2, 4), keras_track.CausalSelfAttention(8, 2)
    for layer, y in ((library, library(x, x, use_causal_mask=True)), (own, own(x))):
        moved = np.abs(as_numpy(y)[0] - as_numpy(y)[1]).max(axis=-1) > 1e-5
        assert moved.tolist() == [layer is library, False, False, True]


# Bad input


@every_track
def test_takes_one_cache_of_a_block_and_nothing_else(track, rng):
    """Neither a list of caches, such as those of all blocks, nor an object that only has an `append`."""
    block, x, cache = make(track, "DecoderOnlyBlock"), rng.normal(size=(2, 3, 8)), make_cache(track, 2)

    class Appends:
        def append(self, key, value):
            return key, value

    for wrong in ([cache], (cache,), [], {}, True, Appends()):
        finding = laws.refuses(lambda wrong=wrong: run(track, block, x, cache=wrong), TypeError, ("cache",))
        assert finding, finding


@every_track
def test_chapter_14_has_the_cache_of_this_one(track):
    assert vars(importlib.import_module(f"shared.{track}.gpt"))["LayerCache"] is TRACKS[track].LayerCache


@every_track
@pytest.mark.parametrize("keys", [1, 2, 4, 6])
def test_behind_a_cache_a_mask_counts_the_cached_keys_too(track, keys, rng):
    """Size 1 would be the mask of one new token alone; and a call that is refused leaves the cache as it was."""
    block, cache, x = make(track, "DecoderOnlyBlock"), make_cache(track, 4), rng.normal(size=(4, 5, 8))
    name = "attention_mask" if track == "keras" else "mask"
    run(track, block, x[:, :3], mask=np.ones((1, 1, 1, 1), dtype=bool), cache=cache)
    for new in (x[:, 3:], x[:, 3:4]):
        if keys != 3 + new.shape[1]:
            mask = np.ones((1, 1, 1, keys), dtype=bool)
            finding = laws.refuses(
                lambda new=new, mask=mask: run(track, block, new, mask=mask, cache=cache), TypeError, (name,)
            )
            assert finding and cache.length == 3, finding
    behind = run(track, block, x[:, 3:], mask=np.ones((1, 1, 1, 5), dtype=bool), cache=cache)
    assert np.abs(as_numpy(behind) - as_numpy(run(track, block, x))[:, 3:]).max() < 1e-5


def test_the_mode_of_dropout_itself_decides_behind_a_causal_mask():
    torch.manual_seed(0)
    block, x = pytorch_track.DecoderOnlyBlock(8, 2, 16, dropout=0.5).eval(), torch.randn(1, 4, 8)
    attention = block.attention
    attention.dropout.train()
    assert not torch.equal(attention(x), attention(x))
    attention.train()
    attention.dropout.eval()
    assert torch.equal(attention(x), attention(x))
