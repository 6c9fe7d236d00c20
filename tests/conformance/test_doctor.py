"""The doctor for ports: planted mistakes are found where they are and named, right pairs raise no alarm."""

import copy
import dataclasses
import re

import keras
import numpy as np
import pytest
import torch
import transformers
from torch import nn
from torch.nn import functional as F

from shared.conformance.doctor import randomize, trace, where_they_part
from shared.frameworks.weights import get_weights, set_weights
from shared.keras.gpt import GPTModel as KerasGPT
from shared.pytorch.gpt import GPTModel

from . import planted_ports

pytestmark = pytest.mark.chapter("14")  # whose model is a port of transformers', in two frameworks

TOKENS = np.random.default_rng(0).integers(1, 30, (2, 7))


@pytest.mark.keras
@pytest.mark.tensorflow
@pytest.mark.parametrize("pair", planted_ports.PAIRS)
def test_a_right_port_raises_no_alarm(pair):
    reference, port, inputs = planted_ports.PAIRS[pair]()
    assert where_they_part(reference, port, *inputs)


@pytest.mark.keras
@pytest.mark.tensorflow
@pytest.mark.parametrize("fault", planted_ports.FAULTS, ids=lambda fault: fault.name)
def test_a_mistake_that_was_planted_by_somebody_else_is_found(fault):
    """They were written by one who hadn't seen the doctor: all are in the right place, and named where a name was asked for."""
    reference, port, inputs = planted_ports.PAIRS[fault.pair]()
    fault.plant(port)
    try:
        found = where_they_part(reference, port, *inputs).partings
    except ValueError as error:  # a model that is random
        assert "is random in the code of blocks" in str(error) and fault.name == "bert_dropout_always"
        return
    is_double = isinstance(fault.layer, tuple)
    for number, place in enumerate(fault.layer if is_double else (fault.layer,)):
        here = [each.convention for each in found if re.search(place, each.where)]
        assert here, repr(found)
        words = fault.words[number] if is_double else fault.words
        if words is not None:
            assert any(re.search(words, each) for each in here), repr(found)


class Block(nn.Module):
    """A pre-norm block as many write it, with a switch for each mistake of its own code."""

    def __init__(self, d_model: int = 12, heads: int = 3, hidden: int = 20):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.query, self.key = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.value, self.output = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.up, self.down = nn.Linear(d_model, hidden), nn.Linear(hidden, d_model)
        self.heads, self.scale, self.causal, self.residual = heads, None, True, 1.0
        self.activation = F.gelu

    def forward(self, x):
        normalized = self.norm1(x)

        def split(y):
            return y.view(*y.shape[:2], self.heads, -1).transpose(1, 2)

        q, k, v = split(self.query(normalized)), split(self.key(normalized)), split(self.value(normalized))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=self.scale)
        x = self.residual * x + self.output(attended.transpose(1, 2).flatten(2))
        return x + self.down(self.activation(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(31, 12)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.norm, self.head = nn.LayerNorm(12), nn.Linear(12, 31, bias=False)
        self.factor = 1.0

    def forward(self, tokens):
        x = self.factor * self.tokens(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


@pytest.fixture(scope="module")
def reference():
    return randomize(Model().double().eval())


class Logits(nn.Module):
    """A model of transformers that returns its logits alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(tokens).logits


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    """GPT-2 as transformers has it, and the course's model with its weights."""
    sizes = {"vocab_size": 31, "n_positions": 16, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_inner": 20}
    drops = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "bos_token_id": None, "eos_token_id": None}
    theirs = randomize(transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **drops)).eval(), scale=0.3)
    folder = tmp_path_factory.mktemp("gpt2")
    theirs.save_pretrained(folder)
    return Logits(theirs), GPTModel.from_pretrained(folder).eval()


def put(name: str, value):
    """Sets an attribute by its path."""

    def plant(model):
        *path, last = name.split(".")
        for part in path:
            model = model[int(part)] if part.isdigit() else getattr(model, part)
        setattr(model, last, value)

    return plant


def change(name: str, changed):
    """Puts other numbers into a weight."""

    def plant(model):
        with torch.no_grad():
            weight = model.get_parameter(name)
            weight.copy_(changed(model, weight.clone()))

    return plant


def of(name: str):
    return lambda model, weight: model.get_parameter(name).clone()


# name -> the mistake, where it must be found, and what must be said
PLANTED = {
    "an epsilon": (put("blocks.1.norm2.eps", 1e-3), r"^blocks\.1\.norm2 ", "epsilon 0.001 in place of epsilon 1e-05"),
    "an activation": (put("blocks.1.activation", F.relu), r"before blocks\.1\.down", "ReLU of blocks.1.up in place of exact GELU"),
    "GELU by tanh": (put("blocks.2.activation", lambda x: F.gelu(x, approximate="tanh")), r"before blocks\.2\.down", "GELU by tanh"),
    "scores not scaled": (put("blocks.0.scale", 1.0), r"before blocks\.0\.output", "scores as they are in place of scores over sqrt"),
    "scores over d_model": (put("blocks.1.scale", 12**-0.5), r"before blocks\.1\.output", "scores over sqrt(d_model)"),
    "no causal mask": (put("blocks.1.causal", False), r"before blocks\.1\.output", "no mask in place of a causal mask"),
    "half a residual": (put("blocks.1.residual", 0.5), r"before blocks\.1\.norm2", "1/2 times what it reads + blocks.1.output"),
    "no residual": (put("blocks.2.residual", 0.0), r"before blocks\.2\.norm2", "in place of what it reads + blocks.2.output"),
    "an embedding scaled": (put("factor", 12**0.5), r"before blocks\.0", "sqrt(12) times tokens in place of tokens"),
    "a kernel of another": (change("blocks.1.query.weight", of("blocks.1.key.weight")), r"^blocks\.1\.query", "the kernel of blocks.1.key.weight in place of that of blocks.1.query.weight"),
    "a kernel transposed": (change("blocks.1.output.weight", lambda _, w: w.T), r"^blocks\.1\.output", "the kernel's transpose"),
    "a bias left out": (change("blocks.0.down.bias", lambda _, w: 0 * w), r"^blocks\.0\.down", "no bias in place of"),
    "another bias": (change("blocks.0.down.bias", of("blocks.1.down.bias")), r"^blocks\.0\.down", "another bias"),
    "heads the other way": (change("blocks.2.value.weight", lambda _, w: w.view(3, 4, 12).transpose(0, 1).flatten(0, 1)), r"^blocks\.2\.value", "its columns as"),
    "a gain of another": (change("norm.weight", of("blocks.0.norm1.weight")), "^norm ", "the gain of blocks.0.norm1.weight in place of that of norm.weight"),
    "a gain left at ones": (change("blocks.0.norm2.weight", lambda _, w: torch.ones_like(w)), r"^blocks\.0\.norm2", "a gain of ones"),
    "rows of a table shifted": (change("tokens.weight", lambda _, w: w.roll(1, 0)), "^tokens", "shifted by"),
    "1 + w": (change("blocks.1.norm1.weight", lambda _, w: w + 1), r"^blocks\.1\.norm1", "a gain of 1 + w in place of w"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found_where_it_is_and_named(name, reference):
    plant, where, says = PLANTED[name]
    port = copy.deepcopy(reference)
    plant(port)
    found = where_they_part(reference, port, TOKENS)
    assert not found and len(found.partings) == 1, repr(found)
    assert re.search(where, found.partings[0].where) and says in found.partings[0].convention, repr(found)


def llama():
    return randomize(planted_ports.HandLlama(37, 24, 6, 3, 26, 2, 1e-5, 500.0).double().eval()), TOKENS


def turned(sign: int, dtype: torch.dtype):
    """Turns queries and keys of block 1 in a direction, with a table of a dtype."""

    def plant(model):
        attention = model.blocks[1].attention

        def rotate(x):
            half = attention.size // 2
            rate = attention.base ** (-torch.arange(half, dtype=x.dtype) / half)
            angle = sign * torch.arange(x.shape[2], dtype=x.dtype)[:, None] * rate
            cos, sin = (each.to(dtype).to(x.dtype) for each in (angle.cos(), angle.sin()))
            a, b = x[..., :half], x[..., half:]
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

        attention.rotate = rotate

    return plant


def attention_of(attend):
    """Replaces the attention of block 0 by one that computes with the queries, keys and values after their rotation."""

    def plant(model):
        attention = model.blocks[0].attention

        def forward(x):
            shape = *x.shape[:2], -1, attention.size
            q, k, v = (each(x).view(shape).transpose(1, 2) for each in (attention.q, attention.k, attention.v))
            mixed = attend(attention.rotate(q), attention.rotate(k), v)
            return attention.o(mixed.transpose(1, 2).reshape(x.shape))

        attention.forward = forward

    return plant


def tiled(q, k, v):
    k, v = (each.repeat(1, 2, 1, 1) for each in (k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def window_of_3(q, k, v):
    seen = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).tril().triu(-2)
    return F.scaled_dot_product_attention(q, k, v, seen, enable_gqa=True)


def few_digits(q, k, v):
    k, v = (each.repeat_interleave(2, dim=1) for each in (k, v))
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~torch.ones(7, 7, dtype=torch.bool).tril(), -torch.inf)
    return scores.bfloat16().softmax(-1).double() @ v


def triangle(shown):
    def attend(q, k, v):
        seen = shown(torch.ones(q.shape[2], q.shape[2], dtype=torch.bool))
        return F.scaled_dot_product_attention(q, k, v, torch.where(seen, 0.0, -1e9).double(), enable_gqa=True)

    return attend


def images():
    layers = (
        nn.Conv2d(3, 6, 3, padding=1),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(72, 5),
    )
    return randomize(nn.Sequential(*layers).double().eval()), np.random.default_rng(0).normal(size=(2, 3, 6, 8))


def bordered():
    layers = nn.Conv2d(3, 6, 3), nn.AvgPool2d(3, 2, padding=1), nn.Flatten(), nn.Linear(54, 5)
    return randomize(nn.Sequential(*layers).double().eval()), np.random.default_rng(0).normal(size=(2, 3, 7, 8))


class Classifier(nn.Module):
    """One block, whose positions become one vector."""

    def __init__(self):
        super().__init__()
        self.tokens, self.block, self.head = nn.Embedding(31, 12), Block(), nn.Linear(12, 5)
        self.pool = lambda x: x.mean(dim=1)

    def forward(self, tokens):
        return self.head(self.pool(self.block(self.tokens(tokens))))


def model():
    return randomize(Model().double().eval()), TOKENS


def classifier():
    return randomize(Classifier().double().eval()), TOKENS


def post_norm():
    layer = nn.TransformerEncoderLayer(12, 3, 20, batch_first=True)
    return randomize(
        nn.Sequential(nn.Embedding(31, 12), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)).double().eval()
    ), TOKENS


def norm_first(model):
    for layer in model[1].layers:
        layer.norm_first = True


class Ends(nn.Module):
    """A block with positions and a dropout in front, and a norm and a kernel with tanh behind."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(31, 12), nn.Embedding(16, 12)
        self.drop, self.block, self.norm, self.head = nn.Dropout(0.5), Block(), nn.LayerNorm(12), nn.Linear(12, 9)
        self.first, self.last, self.dtype = 0, torch.tanh, None

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight[self.first : self.first + tokens.shape[1]]
        x = self.block(self.drop(x))
        x = x if self.dtype is None else x.to(self.dtype).to(x.dtype)
        normalized = self.norm(x).to(self.head.weight.dtype)
        return self.last(self.head(normalized).to(x.dtype))


class Packed(nn.Module):
    """Packed self-attention, then attention to a memory of another length; the embedding is added to positions without a layer."""

    def __init__(self):
        super().__init__()
        self.tokens, self.memory = nn.Embedding(31, 12), nn.Embedding(5, 12)
        self.qkv, self.output = nn.Linear(12, 36), nn.Linear(12, 12)
        self.query, self.key, self.value = nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, 12)
        self.last = nn.Linear(12, 9)
        self.factor, self.scale, self.parts = 1.0, None, lambda x: x.unflatten(2, (3, 3, 4)).unbind(2)

    def forward(self, tokens):
        x = (
            self.factor * self.tokens(tokens)
            + torch.linspace(0, 1, 12).double().outer(torch.ones(12).double())[:7].sin()
        )
        q, k, v = (each.transpose(1, 2) for each in self.parts(self.qkv(x)))
        x = self.output(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        memory = self.memory.weight.expand(len(x), 5, 12)
        q, k, v = (
            each.unflatten(2, (3, 4)).transpose(1, 2) for each in (self.query(x), self.key(memory), self.value(memory))
        )
        mixed = F.scaled_dot_product_attention(q, k, v, scale=self.scale)
        return self.last(mixed.transpose(1, 2).flatten(2))


def packed():
    return randomize(Packed().double().eval()), TOKENS


def ends():
    return randomize(Ends().double().eval()), TOKENS


def same_dropout(model):
    mask = torch.arange(12) % 3 > 0
    model.drop.forward = lambda x: x * mask * 2


def exchange(model):
    model.blocks[1], model.blocks[2] = model.blocks[2], model.blocks[1]


class PostNorm(Block):
    """The same layers, with each norm behind its sum."""

    def forward(self, x):
        shape = *x.shape[:2], self.heads, -1
        q, k, v = (each(x).view(shape).transpose(1, 2) for each in (self.query, self.key, self.value))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = self.norm1(x + self.output(attended.transpose(1, 2).flatten(2)))
        return self.norm2(x + self.down(self.activation(self.up(x))))


class KeysFirst(Block):
    """Keys are computed before queries, as in some functional models, and scores are divided by the root of the width."""

    def forward(self, x):
        normalized, shape = self.norm1(x), (*x.shape[:2], self.heads, -1)
        k, q, v = (each(normalized).view(shape).transpose(1, 2) for each in (self.key, self.query, self.value))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=x.shape[2] ** -0.5)
        x = x + self.output(attended.transpose(1, 2).flatten(2))
        return x + self.down(self.activation(self.up(self.norm2(x))))


def to_class(path: str, other: type):
    def plant(model):
        model.get_submodule(path).__class__ = other

    return plant


# The same for other models: which, the mistake, where, and what must be said.
OTHERS = {
    "a base": (llama, put("blocks.1.attention.base", 1e6), r"before blocks\.1\.attention\.o", "of base 1e+06 in place of rotary positions in halves, of base 500"),
    "turned back": (llama, turned(-1, torch.float64), r"before blocks\.1\.attention\.o", "turned in the other direction in place of rotary positions in halves"),
    "a table of few digits": (llama, turned(1, torch.bfloat16), r"before blocks\.1\.attention\.o", "with their table in bfloat16 in place of rotary positions in halves"),
    "a softmax of few digits": (llama, attention_of(few_digits), r"before blocks\.0\.attention\.o", "a softmax in bfloat16 in place of a softmax over keys"),
    "a triangle": (llama, attention_of(triangle(torch.triu)), r"before blocks\.0\.attention\.o", "a triangle from the other corner in place of a causal mask"),
    "a polarity": (llama, attention_of(triangle(lambda x: ~x.tril())), r"before blocks\.0\.attention\.o", "a mask of the other polarity in place of a causal mask"),
    "heads tiled": (llama, attention_of(tiled), r"before blocks\.0\.attention\.o", "heads tiled in place of heads repeated"),
    "a window": (llama, attention_of(window_of_3), r"before blocks\.0\.attention\.o", "a causal window of 3 in place of a causal mask"),
    "a kernel turned": (images, change("0.weight", lambda _, w: w.flip(2, 3)), "^0 ", "the kernel as it is in place of the kernel turned by half a turn"),
    "height and width": (images, change("0.weight", lambda _, w: w.transpose(2, 3)), "^0 ", "height and width exchanged"),
    "another pooling": (images, put("3", nn.MaxPool2d(2)), "^3 ", "the largest of each window in place of the mean of each window"),
    "zeros at the border": (bordered, put("1.count_include_pad", False), "^1 ", "its border's zeros not counted in place of its border's zeros counted"),
    "moving statistics": (images, put("1.running_mean", torch.zeros(6).double()), "^1 ", "in place of the moving statistics of the reference's 1"),
    "the first position": (classifier, put("pool", lambda x: x[:, 0]), "before head", "the first position in place of the mean over positions"),
    "positions": (ends, put("first", 2), r"before drop", "positions from 2 in place of from 0: rows of positions.weight"),
    "dropout": (ends, same_dropout, "^drop ", "dropout of 0.5 left on in place of none"),
    "the last step": (ends, put("last", lambda x: x), "^head .*at the end", "no activation in place of tanh"),
    "a norm that does nothing": (ends, put("norm.forward", lambda x: x), "^norm ", "no norm in place of"),
    "few digits": (ends, put("dtype", torch.bfloat16), "before norm", "bfloat16 in place of float64"),
    "a layer of few digits": (ends, lambda model: model.head.bfloat16(), "head|the model", "bfloat16 in place of float64 in head"),
    "layers exchanged": (model, exchange, r"blocks\.[01] ", "has the numbers of blocks.2.", ),
    "scores over thrice": (model, put("blocks.1.scale", 1 / 6), r"before blocks\.1\.output", "scores over 3 sqrt(head_dim)"),
    "keys before queries": (model, to_class("blocks.1", KeysFirst), r"before blocks\.1\.output", "scores over sqrt(d_model) in place of scores over sqrt(head_dim)"),
    "an embedding scaled in a sum": (packed, put("factor", 12**0.5), "before qkv", "sqrt(12) times tokens in a sum in place of once"),
    "packed head by head": (packed, put("parts", lambda x: x.unflatten(2, (3, 3, 4)).unbind(3)), "before output", "packed as (h 3 d) in place of packed as (3 h d)"),
    "attention to a memory": (packed, put("scale", 1.0), "before last", "scores as they are in place of scores over sqrt(head_dim)"),
    "post-norm": (classifier, to_class("block", PostNorm), r"before block\.query", "no norm in place of that of block.norm1.weight: perhaps post-norm in place of pre-norm"),
    "pre-norm": (post_norm, norm_first, r"before 1\.layers\.0\.norm1", "a norm before the sum in place of one after it: perhaps pre-norm in place of post-norm"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_a_mistake_in_another_model_is_named(name):
    make, plant, where, says = OTHERS[name]
    reference, inputs = make()
    port = copy.deepcopy(reference)
    plant(port)
    found = where_they_part(reference, port, inputs)
    assert re.search(where, found.partings[0].where) and says in found.partings[0].convention, repr(found)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("an epsilon", "scores not scaled"),
        ("a bias left out", "GELU by tanh"),
        ("an embedding scaled", "a gain of another"),
    ],
)
def test_two_mistakes_are_found_one_after_the_other(first, second, reference):
    port = copy.deepcopy(reference)
    for name in (first, second):
        PLANTED[name][0](port)
    found = where_they_part(reference, port, TOKENS)
    assert len(found.partings) == 2, repr(found)
    for name in (first, second):
        _, where, says = PLANTED[name]
        assert any(re.search(where, each.where) and says in each.convention for each in found.partings), repr(found)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_port_of_gpt2_is_right_and_each_of_its_mistakes_is_found(gpt2, dtype):
    theirs, ours = (copy.deepcopy(each).to(dtype) for each in gpt2)
    right = where_they_part(theirs, ours, TOKENS)
    assert right and "nothing found" in repr(right) and "a mistake smaller than that can't be seen" in repr(right)
    ours.blocks[1].feed_forward_norm.eps = 1e-3
    change("blocks.0.attention.key.weight", of("blocks.0.attention.value.weight"))(ours)
    found = where_they_part(theirs, ours, TOKENS)
    key, norm = sorted(found.partings, key=lambda each: each.where)
    assert key.where.startswith("blocks.0.attention.key") and "part 3 of 3" in key.convention
    assert norm.where.startswith("blocks.1.feed_forward_norm") and "epsilon 0.001" in norm.convention


@pytest.mark.keras
@pytest.mark.tensorflow
def test_a_port_from_pytorch_to_keras_and_back(float64):
    sizes = {"d_model": 12, "num_heads": 3, "d_ff": 20, "vocab_size": 31, "max_length": 16, "num_layers": 2}
    theirs, ours = randomize(GPTModel(**sizes).double().eval(), scale=0.3), KerasGPT(**sizes)
    set_weights(ours, get_weights(theirs))
    for pair in ((theirs, ours), (ours, theirs)):
        found = where_they_part(*pair, TOKENS)
        assert found and all("one of the two computes in float32 inside" in note for note in found.notes), repr(found)
        assert len(found.notes) == 2  # TensorFlow rounds a constant of GELU
    ours.blocks[1].attention_norm.epsilon = 1e-3
    [parting] = where_they_part(theirs, ours, TOKENS).partings
    assert "epsilon 0.001 in place of epsilon 1e-05" in parting.convention and "layer_normalization" in parting.where


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(12)
        self.gate, self.value, self.out = (nn.Linear(12, 12) for _ in range(3))

    def forward(self, x):
        h = self.norm(x)
        return x + self.out(F.silu(self.gate(h)) * self.value(h))


@pytest.mark.keras
@pytest.mark.tensorflow
def test_mistakes_side_by_side_are_found_although_each_alone_heals_nothing(float64):
    """A kernel is square, and nobody has transposed it: neither factor of the product is right until the other is."""
    inputs = keras.Input((None, 12))
    h = keras.layers.LayerNormalization(name="norm")(inputs)  # with Keras' epsilon
    gate = keras.layers.Dense(12, activation="silu", name="gate")(h)
    value = keras.layers.Dense(12, name="value")(h)
    port = keras.Model(inputs, inputs + keras.layers.Dense(12, name="out")(gate * value))
    reference = randomize(Gated().double())
    for name, layer in reference.named_children():
        port.get_layer(name).set_weights([layer.weight.detach().numpy(), layer.bias.detach().numpy()])

    x = np.random.default_rng(0).normal(size=(2, 7, 12))
    found = where_they_part(reference, port, x).partings
    assert [each.where.split()[0] for each in found] == ["norm", "gate", "value", "out"]
    assert found[0].convention == "epsilon 0.001 in place of epsilon 1e-05"
    assert {each.convention for each in found[1:]} == {"the kernel as it is in place of the kernel's transpose"}

    port.get_layer("norm").epsilon = 1e-5
    for name in ("gate", "value", "out"):
        kernel, bias = port.get_layer(name).get_weights()
        port.get_layer(name).set_weights([kernel.T, bias])
    assert where_they_part(reference, port, x)


class Grouped(nn.Module):
    """Two heads of keys for four of queries, which are normalized, each kernel by itself, and a gate."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(12, 24), nn.Linear(12, 12), nn.Linear(12, 12)
        self.out, self.norm, self.query_norm = nn.Linear(24, 12), nn.LayerNorm(12), nn.RMSNorm(6, eps=1e-6)
        self.gate, self.up, self.down = nn.Linear(12, 16), nn.Linear(12, 16), nn.Linear(16, 12)

    def forward(self, x):
        q, k, v = (each(x).unflatten(2, (-1, 6)).transpose(1, 2) for each in (self.query, self.key, self.value))
        distance = torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])
        seen = (distance >= 0) & (distance < 4)
        y = F.scaled_dot_product_attention(self.query_norm(q), k, v, attn_mask=seen, enable_gqa=True)
        h = self.norm(x + self.out(y.transpose(1, 2).flatten(2)))
        return h + self.down(F.silu(self.gate(h)) * self.up(h))


class OwnNorm(nn.Module):
    """A norm whose weights have names of their own."""

    def __init__(self, ddof):
        super().__init__()
        self.stretch, self.offset, self.ddof = nn.Parameter(torch.ones(12)), nn.Parameter(torch.zeros(12)), ddof

    def forward(self, x):
        variance = x.var(-1, keepdim=True, correction=self.ddof)
        return (x - x.mean(-1, keepdim=True)) / (variance + 1e-5).sqrt() * self.stretch + self.offset


class PackedByGroup(nn.Module):
    """The same with one kernel for each group's two queries, its key and its value, and one for gate and up."""

    def __init__(self, reference, fault):
        super().__init__()
        self.all, self.out, self.norm = nn.Linear(12, 48), nn.Linear(24, 12), OwnNorm(int(fault == "variance"))
        self.both, self.down, self.fault = nn.Linear(12, 32), nn.Linear(16, 12), fault
        self.query_norm = nn.Identity() if fault == "query norm" else copy.deepcopy(reference.query_norm)
        self.double()
        with torch.no_grad():
            for name in ("weight", "bias"):
                three = [getattr(each, name) for each in (reference.query, reference.key, reference.value)]
                parts = torch.cat([each.unflatten(0, (2, -1, 6)) for each in three], dim=1)
                getattr(self.all, name).copy_(parts.flatten(0, 2))
                gate_up = [getattr(reference.gate, name), getattr(reference.up, name)]
                getattr(self.both, name).copy_(torch.cat(gate_up))
            self.norm.stretch.copy_(reference.norm.weight)
            self.norm.offset.copy_(reference.norm.bias)
        self.out.load_state_dict(reference.out.state_dict())
        self.down.load_state_dict(reference.down.state_dict())

    def forward(self, x):
        parts = self.all(x).unflatten(2, (2, 4, 6))
        q, k, v = self.query_norm(parts[:, :, :, :2]).flatten(2, 3), parts[:, :, :, 2], parts[:, :, :, 3]
        k, v = (v, k) if self.fault == "order" else (k, v)
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        if self.fault == "tiled":
            k, v = k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1)
        else:
            k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        distance = torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])
        seen = (distance >= 0) & (distance < (5 if self.fault == "window" else 4))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        h = self.norm(x + self.out(y.transpose(1, 2).flatten(2)))
        gate, up = self.both(h).chunk(2, dim=-1)
        gate, up = (up, gate) if self.fault == "gate" else (gate, up)
        return h + self.down(F.silu(gate) * up)


@pytest.mark.parametrize(
    "fault, where, said",
    [
        ("tiled", "before out", "heads tiled in place of heads repeated"),
        ("window", "before out", "a causal window of 5 in place of a causal window of 4"),
        ("gate", "before down", "gate and other half exchanged"),
        ("order", "before out", "the order query, value, key in place of query, key, value"),
        (
            "query norm",
            "before out",
            "queries and keys as they are in place of queries normalized by query_norm.weight",
        ),
        ("variance", "norm (OwnNorm)", "an unbiased variance in place of a biased variance"),
    ],
)
def test_a_port_that_packs_by_group_and_has_names_of_its_own_is_named(fault, where, said):
    """Written after a set of ports by somebody else, in which none of these was named."""
    reference, x = randomize(Grouped().double()), np.random.default_rng(0).normal(size=(2, 7, 12))
    assert where_they_part(reference, PackedByGroup(reference, ""), x)
    [parting] = where_they_part(reference, PackedByGroup(reference, fault), x).partings
    assert where in parting.where and said in parting.convention


class NamedNorm(nn.Module):
    """A norm with its epsilon outside of the root, or inside."""

    def __init__(self, gain, shift, is_outside):
        super().__init__()
        self.names, self.is_outside = (gain, shift), is_outside
        self.register_parameter(gain, nn.Parameter(torch.ones(12)))
        self.register_parameter(shift, nn.Parameter(torch.zeros(12)))

    def forward(self, x):
        gain, shift = (getattr(self, name) for name in self.names)
        variance = x.var(-1, keepdim=True, correction=0)
        root = variance.sqrt() + 1e-3 if self.is_outside else (variance + 1e-3).sqrt()
        return (x - x.mean(-1, keepdim=True)) / root * gain + shift


@pytest.mark.parametrize("names", [("gain", "shift"), ("scale", "offset"), ("gamma", "beta"), ("weight", "bias")])
def test_a_norms_weights_have_many_names(names):
    reference = randomize(nn.Sequential(nn.Linear(12, 12), NamedNorm(*names, is_outside=False)).double())
    port = copy.deepcopy(reference)
    port[1].is_outside = True
    [parting] = where_they_part(reference, port, np.random.default_rng(0).normal(size=(4, 12))).partings
    assert parting.convention == "epsilon outside the root in place of epsilon inside the root"


class Tables(nn.Module):
    """A sum of three tables, which are looked up in any order."""

    def __init__(self, order):
        super().__init__()
        self.words, self.positions, self.segments = nn.Embedding(31, 12), nn.Embedding(9, 12), nn.Embedding(2, 12)
        self.norm, self.order = nn.LayerNorm(12), order

    def forward(self, ids, segments):
        read = {"words": ids, "positions": torch.arange(ids.shape[1]), "segments": segments}
        return self.norm(sum(getattr(self, name)(read[name]) for name in self.order))


def test_other_ids_are_named_and_tables_may_be_looked_up_in_any_order():
    reference, port = randomize(Tables(["words", "segments", "positions"])), Tables(["words", "positions", "segments"])
    port.load_state_dict(reference.state_dict())
    segments = np.arange(7)[None] >= np.array([[3], [5]])
    assert where_they_part(reference, port, TOKENS, segments.astype(int))
    port.segments.register_forward_pre_hook(lambda module, given: (torch.zeros_like(given[0]),))
    [parting] = where_they_part(reference, port, TOKENS, segments.astype(int)).partings
    assert parting.where.startswith("segments ")
    assert parting.convention == "row 0 in place of row 1 of this table, and so on: other ids"


class Flat(nn.Module):
    """Images that are flattened, channels first."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 5, 3), nn.Linear(60, 4)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).flatten(1))


class Turned(Flat):
    """The same of layers, with channels last in between."""

    def __init__(self, back):
        super().__init__()
        self.relu, self.flatten, self.back = nn.ReLU(), nn.Flatten(), back

    def forward(self, x):
        x = self.relu(self.conv(x).permute(0, 2, 3, 1))
        return self.fc(self.flatten(x.permute(self.back)))


def test_images_flattened_in_another_order_part_where_they_are_flattened():
    reference, x = randomize(Flat().double()), np.random.default_rng(0).normal(size=(2, 3, 5, 6))
    port = Turned(back=(0, 3, 1, 2)).double()
    port.load_state_dict(reference.state_dict())
    assert where_they_part(reference, port, x)
    port.back = 0, 1, 2, 3
    [parting] = where_they_part(reference, port, x).partings
    assert parting.where.endswith("before flatten")
    assert "flattened as they are in place of in the order" in parting.convention


class KerasAttention(keras.layers.Layer):
    """Self-attention over what a mask of 1 and 0 shows, which is added to the scores."""

    def __init__(self, scale, **named):
        super().__init__(**named)
        self.three = [keras.layers.Dense(12, dtype="float64") for _ in range(3)]
        self.out, self.scale = keras.layers.Dense(12, dtype="float64"), scale

    def call(self, x, hidden):
        shape = *x.shape[:2], 3, 4
        q, k, v = (keras.ops.reshape(each(x), shape) for each in self.three)
        weights = keras.ops.softmax(keras.ops.einsum("bqhd,bkhd->bhqk", q, k) * self.scale + hidden)
        return self.out(keras.ops.reshape(keras.ops.einsum("bhqk,bkhd->bqhd", weights, v), x.shape))


class KerasMasked(keras.Model):
    def __init__(self, scale):
        super().__init__(dtype="float64")
        self.attention = KerasAttention(scale, dtype="float64")

    def call(self, x, seen):
        return self.attention(x, (1 - keras.ops.cast(seen, "float64"))[:, None, None] * -1e9)


@pytest.mark.keras
@pytest.mark.tensorflow
def test_a_mask_that_is_added_is_known_as_one():
    x, seen = np.random.default_rng(0).normal(size=(2, 7, 12)), (np.arange(7) < np.array([[7], [4]])).astype(int)
    reference, port = KerasMasked(4**-0.5), KerasMasked(12**-0.5)
    for each in (reference, port):
        each(x, seen)
    port.set_weights(randomize(reference).get_weights())
    found = where_they_part(reference, port, call_reference=lambda m: m(x, seen), call_port=lambda m: m(x, seen))
    assert "scores over sqrt(d_model) in place of scores over sqrt(head_dim)" in repr(found)


@pytest.mark.keras
@pytest.mark.tensorflow
def test_kernels_of_keras_attention_reordered_are_named():
    """As in `encoder_heads_inside_out`, where what is around the layer agrees in other ways."""
    reference, x = (
        nn.MultiheadAttention(12, 3, batch_first=True).double(),
        np.random.default_rng(0).normal(size=(2, 7, 12)),
    )
    randomize(reference)
    port = keras.layers.MultiHeadAttention(3, 4, dtype="float64")
    port.build(x.shape, x.shape)
    kernels, biases = (array.detach().numpy() for array in (reference.in_proj_weight, reference.in_proj_bias))
    for dense, kernel, bias in zip(
        (port.query_dense, port.key_dense, port.value_dense), np.split(kernels, 3), np.split(biases, 3)
    ):
        dense.set_weights([kernel.T.reshape(12, 4, 3).swapaxes(1, 2), bias.reshape(4, 3).T])
    out = reference.out_proj
    port.output_dense.set_weights([out.weight.detach().numpy().T.reshape(3, 4, 12), out.bias.detach().numpy()])
    given = torch.tensor(x)
    found = where_they_part(
        reference, port, call_reference=lambda m: m(given, given, given)[0], call_port=lambda m: m(x, x)
    )
    assert "heads as (h d) in place of heads as (h d) of columns reordered from (d h)" in repr(found)


class Across(nn.Module):
    """Attention to a longer memory; keys and values are of one kernel if they are packed."""

    def __init__(self, corner, is_packed):
        super().__init__()
        self.query, self.out, self.corner = nn.Linear(12, 12), nn.Linear(12, 12), corner
        self.both = nn.ModuleList([nn.Linear(12, 24)] if is_packed else [nn.Linear(12, 12), nn.Linear(12, 12)])

    def forward(self, x, memory):
        k, v = torch.cat([each(memory) for each in self.both], dim=2).chunk(2, dim=2)
        q, k, v = (each.unflatten(2, (3, 4)).transpose(1, 2) for each in (self.query(x), k, v))
        seen = torch.ones(x.shape[1], memory.shape[1], dtype=torch.bool).tril(self.corner)
        return self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(1, 2).flatten(2))


def test_the_corner_of_a_triangle_over_a_memory_is_named():
    reference, port = randomize(Across(0, is_packed=False).double()), Across(2, is_packed=True).double()
    for name in ("query", "out"):
        getattr(port, name).load_state_dict(getattr(reference, name).state_dict())
    with torch.no_grad():
        for name in ("weight", "bias"):
            getattr(port.both[0], name).copy_(torch.cat([getattr(each, name) for each in reference.both]))
    x, memory = (np.random.default_rng(0).normal(size=(2, length, 12)) for length in (5, 7))
    [parting] = where_they_part(reference, port, x, memory).partings
    assert parting.convention == "a triangle from the bottom right in place of a triangle from the top left"
    port.corner = 0
    assert where_they_part(reference, port, x, memory)


def test_a_kernel_is_found_although_what_follows_is_wrong_too():
    """Mending the activation hides all that comes before it."""

    def network(slope):
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.LeakyReLU(slope), nn.Flatten(), nn.Linear(4 * 12, 5)).double()

    reference, port = randomize(network(0.01)), network(0.3)
    port.load_state_dict(reference.state_dict())
    with torch.no_grad():
        port[0].weight.copy_(reference[0].weight.mT)
    found = where_they_part(reference, port, np.random.default_rng(0).normal(size=(2, 3, 6, 5))).partings
    assert [each.where.split()[0] for each in found] == ["0", "1"]
    assert "height and width exchanged" in found[0].convention and "leaky ReLU" in found[1].convention


def test_batch_norm_in_training_mode_is_named_and_its_statistics_stay():
    network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 12, 5))
    reference = randomize(network.double().eval())
    port = copy.deepcopy(reference)
    port[1].train()
    before = port[1].running_mean.clone()
    found = where_they_part(reference, port, np.random.default_rng(0).normal(size=(4, 3, 5, 6)))
    assert "the batch's own statistics (training mode) in place of moving statistics" in repr(found)
    assert torch.equal(before, port[1].running_mean)


def test_what_cannot_be_held_against_each_other_says_what_it_needs(reference):
    linear, ones = nn.Linear(12, 9), np.ones((3, 12), dtype="float32")
    with pytest.raises(ValueError, match=r"the port is random in 1 \(Dropout\): put it into evaluation mode"):
        where_they_part(nn.Sequential(linear, nn.Identity()), nn.Sequential(linear, nn.Dropout(0.5)), ones)
    with pytest.raises(TypeError, match="model is a function: expected a model of PyTorch or Keras"):
        where_they_part(lambda x: x, reference, TOKENS)
    with pytest.raises(ValueError, match="weights of the port are in no weight of the reference, as .*: carry"):
        where_they_part(reference, randomize(Model().double().eval(), seed=5), TOKENS)


def test_a_compiled_model_is_looked_at_as_it_is(reference):
    port = copy.deepcopy(reference)
    put("blocks.1.norm2.eps", 1e-3)(port)
    found = where_they_part(reference, torch.compile(port, backend="eager"), TOKENS)
    assert "epsilon 0.001 in place of epsilon 1e-05" in repr(found)


def test_trace_and_randomize(reference):
    found = trace(reference, TOKENS)
    assert "blocks.0.query (Linear)" in repr(found) and "(2, 7, 12) -> (2, 7, 12)" in repr(found)
    with pytest.raises(TypeError, match="expected a model of PyTorch or Keras"):
        randomize(object())
    layer = randomize(keras.Sequential([keras.Input((4,)), keras.layers.BatchNormalization()]))
    assert all(np.ptp(weight) > 0 for weight in layer.get_weights()) and (layer.get_weights()[3] > 0).all()


X = np.random.default_rng(0).normal(size=(2, 7, 12))


class Small(nn.Module):
    """Fewer outputs than tell, beside others."""

    def __init__(self, end=None):
        super().__init__()
        self.first, self.head, self.end = nn.Linear(12, 20), nn.Linear(20, 3), end

    def forward(self, x):
        h = torch.tanh(self.first(x))
        y = self.head(h.mean(1))
        return (h, self.end(y)) if self.end else y


@dataclasses.dataclass
class Answer:
    logits: torch.Tensor


@pytest.mark.parametrize(
    "end", [None, torch.sum, lambda y: y.masked_fill(y < 0, -np.inf), lambda y: y[:0], lambda y: Answer(y)]
)
def test_outputs_of_few_or_strange_numbers_are_compared(end):
    reference = randomize(Small(end).double())
    port = copy.deepcopy(reference)
    assert where_they_part(reference, port, X)
    with torch.no_grad():
        port.head.bias += 100
    is_empty = end is not None and not isinstance(end(torch.ones(2, 3)), Answer) and end(torch.ones(2, 3)).numel() == 0
    assert bool(where_they_part(reference, port, X)) == is_empty


class Heads(nn.Module):
    """Attention with a layer for the softmax, and its mask as a table of numbers, as nanoGPT has it."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(12, 12) for _ in range(4))
        self.softmax, self.masked = nn.Softmax(-1), True
        self.register_buffer("mask", torch.ones(9, 9).tril())

    def forward(self, x):
        q, k, v = (each(x).unflatten(2, (3, 4)).transpose(1, 2) for each in (self.q, self.k, self.v))
        scores, length = q @ k.mT / 2, x.shape[1]
        if self.masked:
            scores = scores.masked_fill(self.mask[:length, :length] == 0, -np.inf)
        return self.o((self.softmax(scores) @ v).transpose(1, 2).flatten(2))


def test_a_table_is_no_weight_and_a_mask_is_named_behind_a_softmax():
    reference = randomize(Heads().double())
    assert torch.equal(reference.mask, torch.ones(9, 9).double().tril())
    port = copy.deepcopy(reference)
    port.masked = False
    [parting] = where_they_part(reference, port, X).partings
    assert "no mask in place of a causal mask" in parting.convention and "softmax" in parting.where


class Lazy(nn.Module):
    """Makes a table when it is called first, and has statistics."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", None, persistent=False)
        self.first, self.norm = nn.Linear(12, 12), nn.BatchNorm1d(12)

    def forward(self, x):
        if self.table is None:
            self.register_buffer("table", torch.ones(x.shape[1], 12, dtype=x.dtype), persistent=False)
        return self.norm((self.first(x) * self.table).mT)


def test_a_table_that_a_call_makes_stays_as_it_is():
    reference = randomize(Lazy().double().eval())
    assert where_they_part(reference, copy.deepcopy(reference), X)
    assert torch.equal(reference.table, torch.ones(7, 12).double())


def test_a_small_difference_in_float64_is_named_and_a_part_in_float32_is_a_note():
    layers = nn.Linear(12, 12), nn.LayerNorm(12, eps=1e-6)
    reference = randomize(nn.Sequential(*layers).double())
    port = copy.deepcopy(reference)
    port[1].eps = 1e-5
    found = where_they_part(reference, port, 10 * X)
    assert (
        not found and "epsilon 1e-05 in place of epsilon 1e-06" in repr(found) and found.partings[0].difference < 3e-7
    )
    port[1].eps = 1e-6
    norm = port[1].forward
    port[1].forward = lambda x: norm(x) + (norm(x).float() - norm(x)) / 2
    found = where_they_part(reference, port, 10 * X)
    assert found and "computes in float32 inside" in repr(found)


def test_a_right_port_called_by_a_method_or_in_bfloat16_raises_no_alarm():
    class Features(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.block = nn.Embedding(31, 12), Block()

        def features(self, tokens):
            return self.block(self.tokens(tokens))

        forward = features

    reference = randomize(Features().double())
    port = copy.deepcopy(reference)
    assert where_they_part(reference, port, TOKENS, call_port=lambda model: model.features(torch.tensor(TOKENS)))
    assert where_they_part(reference.bfloat16(), port.bfloat16(), TOKENS)


def test_a_number_that_hides_does_not_hide_the_others():
    class Filled(nn.Module):
        def __init__(self):
            super().__init__()
            self.head, self.act = nn.Linear(12, 9), torch.tanh

        def forward(self, x):
            return self.act(self.head(x)).masked_fill(torch.arange(9) == 4, -1e9)

    reference = randomize(Filled().double())
    port = copy.deepcopy(reference)
    assert where_they_part(reference, port, X)
    port.act = torch.relu
    assert not where_they_part(reference, port, X)


def test_numbers_that_a_layer_looks_up_stay_such_numbers():
    class Times(nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.round, self.table, self.head, self.factor = (
                nn.Identity(),
                nn.Embedding(40, 12),
                nn.Linear(12, 5),
                factor,
            )

        def forward(self, times):
            return self.head(self.table(self.round(times * self.factor).long()))

    times = np.random.default_rng(0).integers(0, 13, (2, 7)).astype(float)
    reference = randomize(Times(2).double())
    port = Times(3).double()
    port.load_state_dict(reference.state_dict())
    assert not where_they_part(reference, port, times) and where_they_part(reference, copy.deepcopy(reference), times)


@pytest.mark.keras
def test_a_recurrent_layer_and_few_rows_name_nothing_that_is_not_there():
    def make(act):
        layers = keras.layers
        parts = (
            layers.Embedding(31, 12),
            layers.GRU(9, return_sequences=True),
            layers.Dense(20),
            layers.Activation(act),
            layers.Dense(5),
        )
        return keras.Sequential([keras.Input((7,)), *parts])

    reference, port = randomize(make("elu")), make("mish")
    port.set_weights(reference.get_weights())
    assert "no convention" in repr(where_they_part(reference, port, TOKENS))
    first = randomize(nn.Sequential(nn.Linear(12, 12), nn.LayerNorm(12, eps=1e-5)).double())
    second = copy.deepcopy(first)
    second[1].eps = 1e-4
    assert "the gain" not in repr(where_they_part(first, second, X[0, :2]))
