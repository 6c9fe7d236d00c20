"""Ports of known models, and mistakes to plant into them, written by somebody who hadn't seen the doctor.

PAIRS: name -> make(), which gives reference, port and inputs: two implementations of one function with the same random weights.
FAULTS: plant(port) changes a port in place. layer is to be found in the doctor's `where`, words in what it says, or None where no
catalogue is expected to have a name. Six plant two mistakes; layer and words are then tuples.
"""

import math
from collections import namedtuple

import keras
import numpy as np
import torch
import torch.nn.functional as F
from keras import layers, ops
from torch import nn
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from transformers.pytorch_utils import Conv1D

Fault = namedtuple("Fault", "name pair plant layer words")


# ---------------------------------------------------------------------------------------------- random weights


def draw(rng, shape, kind, fan_in=None):
    """Random values for one weight: a gain, a variance, a bias (or mean), an embedding, or a kernel."""
    noise = rng.standard_normal(shape)
    if kind == "gain":
        return 1 + 0.4 * noise
    if kind == "variance":
        return np.exp(0.4 * noise)
    if kind == "kernel":
        return noise / math.sqrt(fan_in)
    return {"bias": 0.4, "embedding": 0.5}[kind] * noise


def randomize_torch(model, rng):
    """Give every parameter and running statistic of a PyTorch model random values."""
    with torch.no_grad():
        for module in model.modules():
            for name, weight in module.named_parameters(recurse=False):
                fan_in = None
                if isinstance(module, nn.Embedding):
                    kind = "embedding"
                elif weight.ndim == 1:
                    kind = "bias" if name.endswith("bias") else "gain"
                else:
                    kind = "kernel"
                    fan_in = weight.shape[0] if isinstance(module, Conv1D) else weight[0].numel()
                weight.copy_(torch.from_numpy(draw(rng, tuple(weight.shape), kind, fan_in)))
            for name, buffer in module.named_buffers(recurse=False):
                if name in ("running_mean", "running_var"):
                    kind = "bias" if name == "running_mean" else "variance"
                    buffer.copy_(torch.from_numpy(draw(rng, tuple(buffer.shape), kind)))


def randomize_keras(model, rng):
    """Give every weight of a built Keras model random values."""
    for weight in model.weights:
        shape = tuple(weight.shape)
        fan_in = None
        if weight.name == "embeddings":
            kind = "embedding"
        elif weight.name in ("gamma", "scale"):
            kind = "gain"
        elif weight.name in ("bias", "beta"):
            kind = "bias"
        else:
            kind = "kernel"
            # The output kernel of a MultiHeadAttention is (heads, head width, width), the others start with fan-in.
            fan_in = shape[0] * shape[1] if "attention_output" in weight.path else shape[0]
        weight.assign(draw(rng, shape, kind, fan_in))


def array(tensor):
    """A PyTorch tensor as a NumPy array."""
    return tensor.detach().numpy()


def copy_torch(target, source, transpose=False):
    """Copy weight and bias of one PyTorch module into another."""
    with torch.no_grad():
        target.weight.copy_(source.weight.T if transpose else source.weight)
        if getattr(source, "bias", None) is not None:
            target.bias.copy_(source.bias)


# ------------------------------------------------------------------------------- pair 1: GPT-2, PyTorch, float64


class Logits(nn.Module):
    """A causal language model of transformers that returns its logits alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


class CausalAttention(nn.Module):
    """Causal self-attention with packed queries, keys and values."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.diagonal = 0
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).unbind(2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * self.scale
        seen = torch.ones(length, length, dtype=torch.bool, device=x.device).tril(self.diagonal)
        weights = scores.masked_fill(~seen, float("-inf")).softmax(-1)
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights, v)
        return self.proj(mixed.reshape(batch, length, width))


class Mlp(nn.Module):
    """GPT-2's feed-forward network."""

    def __init__(self, width, hidden):
        super().__init__()
        self.approximate = "tanh"
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate=self.approximate))


class GPTBlock(nn.Module):
    """A pre-norm block."""

    def __init__(self, width, heads, hidden, eps):
        super().__init__()
        self.mlp_residual = True
        self.ln_1 = nn.LayerNorm(width, eps=eps)
        self.attn = CausalAttention(width, heads)
        self.ln_2 = nn.LayerNorm(width, eps=eps)
        self.mlp = Mlp(width, hidden)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        y = self.mlp(self.ln_2(x))
        return x + y if self.mlp_residual else y


class GPT(nn.Module):
    """A hand-written GPT-2 with tied tables."""

    def __init__(self, vocabulary, positions, width, heads, hidden, depth, eps):
        super().__init__()
        self.first_position = 0
        self.embedding_scale = 1.0
        self.tok_emb = nn.Embedding(vocabulary, width)
        self.pos_emb = nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(GPTBlock(width, heads, hidden, eps) for _ in range(depth))
        self.ln_f = nn.LayerNorm(width, eps=eps)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tok_emb.weight

    def forward(self, input_ids):
        position = torch.arange(input_ids.shape[1], device=input_ids.device) + self.first_position
        x = self.tok_emb(input_ids) * self.embedding_scale + self.pos_emb(position)
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def make_gpt2():
    rng = np.random.default_rng(101)
    config = GPT2Config(
        vocab_size=31,
        n_positions=16,
        n_embd=12,
        n_layer=3,
        n_head=3,
        n_inner=20,
        layer_norm_epsilon=1e-5,
        bos_token_id=0,
        eos_token_id=0,
        attn_implementation="eager",
    )
    model = GPT2LMHeadModel(config)
    randomize_torch(model, rng)
    port = GPT(31, 16, 12, 3, 20, 3, 1e-5)
    reference, port = Logits(model).double().eval(), port.double().eval()
    copy_torch(port.tok_emb, model.transformer.wte)
    copy_torch(port.pos_emb, model.transformer.wpe)
    copy_torch(port.ln_f, model.transformer.ln_f)
    for ours, theirs in zip(port.blocks, model.transformer.h):
        copy_torch(ours.ln_1, theirs.ln_1)
        copy_torch(ours.ln_2, theirs.ln_2)
        copy_torch(ours.attn.qkv, theirs.attn.c_attn, transpose=True)
        copy_torch(ours.attn.proj, theirs.attn.c_proj, transpose=True)
        copy_torch(ours.mlp.up, theirs.mlp.c_fc, transpose=True)
        copy_torch(ours.mlp.down, theirs.mlp.c_proj, transpose=True)
    return reference, port, (rng.integers(0, 31, (2, 7)),)


# -------------------------------------------------------------------------------- pair 2: BERT, PyTorch, float64


class LastState(nn.Module):
    """A BertModel that takes its inputs by position and returns the last hidden state."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return out.last_hidden_state


class Norm(nn.Module):
    """Layer normalisation written out."""

    def __init__(self, width, eps):
        super().__init__()
        self.eps = eps
        self.unbiased = False
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        variance = x.var(-1, keepdim=True, unbiased=self.unbiased)
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance + self.eps) * self.weight + self.bias


class MaskedAttention(nn.Module):
    """Bidirectional self-attention; mask is 1 where a token is real."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.softmax_axis = -1
        self.mask_real = False
        self.always_drop = False
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        hidden = mask.bool() if self.mask_real else ~mask.bool()
        scores = scores.masked_fill(hidden[:, None, None, :], torch.finfo(scores.dtype).min)
        weights = F.dropout(scores.softmax(self.softmax_axis), 0.1, training=self.training or self.always_drop)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class PostNormBlock(nn.Module):
    """A block of the original Transformer: normalise after each residual sum."""

    def __init__(self, width, heads, hidden, eps):
        super().__init__()
        self.pre_norm = False
        self.attention = MaskedAttention(width, heads)
        self.norm_1 = Norm(width, eps)
        self.inner = nn.Linear(width, hidden)
        self.act = nn.GELU()
        self.outer = nn.Linear(hidden, width)
        self.norm_2 = Norm(width, eps)

    def forward(self, x, mask):
        if self.pre_norm:
            x = x + self.attention(self.norm_1(x), mask)
            return x + self.outer(self.act(self.inner(self.norm_2(x))))
        x = self.norm_1(x + self.attention(x, mask))
        return self.norm_2(x + self.outer(self.act(self.inner(x))))


class PostNormEncoder(nn.Module):
    """A hand-written BERT without pooler."""

    def __init__(self, vocabulary, positions, types, width, heads, hidden, depth, eps):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(positions, width)
        self.segments = nn.Embedding(types, width)
        self.norm = Norm(width, eps)
        self.blocks = nn.ModuleList(PostNormBlock(width, heads, hidden, eps) for _ in range(depth))

    def forward(self, input_ids, attention_mask, token_type_ids):
        place = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.norm(self.words(input_ids) + self.places(place) + self.segments(token_type_ids))
        for block in self.blocks:
            x = block(x, attention_mask)
        return x


def make_bert():
    rng = np.random.default_rng(202)
    config = BertConfig(
        vocab_size=29,
        max_position_embeddings=11,
        type_vocab_size=6,
        hidden_size=15,
        num_attention_heads=5,
        intermediate_size=22,
        num_hidden_layers=2,
        layer_norm_eps=1e-12,
        pad_token_id=0,
        attn_implementation="eager",
    )
    model = BertModel(config, add_pooling_layer=False)
    randomize_torch(model, rng)
    port = PostNormEncoder(29, 11, 6, 15, 5, 22, 2, 1e-12)
    reference, port = LastState(model).double().eval(), port.double().eval()
    copy_torch(port.words, model.embeddings.word_embeddings)
    copy_torch(port.places, model.embeddings.position_embeddings)
    copy_torch(port.segments, model.embeddings.token_type_embeddings)
    copy_torch(port.norm, model.embeddings.LayerNorm)
    for ours, theirs in zip(port.blocks, model.encoder.layer):
        copy_torch(ours.attention.query, theirs.attention.self.query)
        copy_torch(ours.attention.key, theirs.attention.self.key)
        copy_torch(ours.attention.value, theirs.attention.self.value)
        copy_torch(ours.attention.out, theirs.attention.output.dense)
        copy_torch(ours.norm_1, theirs.attention.output.LayerNorm)
        copy_torch(ours.inner, theirs.intermediate.dense)
        copy_torch(ours.outer, theirs.output.dense)
        copy_torch(ours.norm_2, theirs.output.LayerNorm)
    ids, types = rng.integers(1, 29, (4, 9)), rng.integers(0, 6, (4, 9))
    mask = (np.arange(9) < np.array([9, 6, 7, 4])[:, None]).astype(np.int64)
    return reference, port, (ids * mask, mask, types)


# ------------------------------------------------- pair 3: nn.TransformerEncoder beside a Keras model, float64


class Encoder(nn.Module):
    """A stack of nn.TransformerEncoderLayer with a final norm."""

    def __init__(self, width, heads, hidden, depth):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, hidden, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def gelu(x):
    """Exact GELU in float64 (keras.activations.gelu rounds the root of 2 to float32 on the TensorFlow backend)."""
    return 0.5 * x * (1 + ops.erf(x / math.sqrt(2)))


def keras_encoder(length, width, heads, hidden, depth):
    kinds = {"dtype": "float64"}
    x = inputs = keras.Input((length, width), name="features", **kinds)
    for i in range(depth):
        y = layers.LayerNormalization(epsilon=1e-5, name=f"block{i}_norm1", **kinds)(x)
        y = layers.MultiHeadAttention(heads, width // heads, name=f"block{i}_attention", **kinds)(y, y)
        x = layers.Add(name=f"block{i}_add1", **kinds)([x, y])
        y = layers.LayerNormalization(epsilon=1e-5, name=f"block{i}_norm2", **kinds)(x)
        y = layers.Dense(hidden, activation=gelu, name=f"block{i}_ff1", **kinds)(y)
        y = layers.Dense(width, name=f"block{i}_ff2", **kinds)(y)
        x = layers.Add(name=f"block{i}_add2", **kinds)([x, y])
    x = layers.LayerNormalization(epsilon=1e-5, name="final_norm", **kinds)(x)
    return keras.Model(inputs, x, name="encoder")


def make_encoder():
    """The inputs are features that nobody centred (temperatures in kelvin): their mean is far above their spread."""
    rng = np.random.default_rng(303)
    batch, length, width, heads, hidden, depth = 3, 8, 20, 5, 14, 2
    reference = Encoder(width, heads, hidden, depth)
    randomize_torch(reference, rng)
    reference = reference.double().eval()
    port = keras_encoder(length, width, heads, hidden, depth)
    for i, layer in enumerate(reference.layers):
        port.get_layer(f"block{i}_norm1").set_weights([array(layer.norm1.weight), array(layer.norm1.bias)])
        port.get_layer(f"block{i}_norm2").set_weights([array(layer.norm2.weight), array(layer.norm2.bias)])
        attention = port.get_layer(f"block{i}_attention")
        kernels = np.split(array(layer.self_attn.in_proj_weight), 3)
        biases = np.split(array(layer.self_attn.in_proj_bias), 3)
        for dense, kernel, bias in zip(
            (attention.query_dense, attention.key_dense, attention.value_dense), kernels, biases
        ):
            dense.set_weights([kernel.T.reshape(width, heads, -1), bias.reshape(heads, -1)])
        out = layer.self_attn.out_proj
        attention.output_dense.set_weights([array(out.weight).T.reshape(heads, -1, width), array(out.bias)])
        for name, linear in (("ff1", layer.linear1), ("ff2", layer.linear2)):
            port.get_layer(f"block{i}_{name}").set_weights([array(linear.weight).T, array(linear.bias)])
    port.get_layer("final_norm").set_weights([array(reference.norm.weight), array(reference.norm.bias)])
    return reference, port, (280 + rng.standard_normal((batch, length, width)),)


# ------------------------------------------------------- pair 4: a convolutional network and its twin, float64


class ConvNet(nn.Module):
    """Two convolutions with batch norm and a classifier."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 9, (3, 5), padding=(1, 2))
        self.bn2 = nn.BatchNorm2d(9)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(36, 5)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.pool(F.silu(self.bn2(self.conv2(x))))
        return self.fc(x.flatten(1))


def keras_convnet():
    kinds = {"dtype": "float64"}
    x = inputs = keras.Input((3, 8, 10), name="image", **kinds)
    x = layers.Permute((2, 3, 1), name="to_channels_last", **kinds)(x)
    x = layers.ZeroPadding2D(1, name="pad1", **kinds)(x)
    x = layers.Conv2D(6, 3, strides=2, name="conv1", **kinds)(x)
    x = layers.BatchNormalization(epsilon=1e-5, name="bn1", **kinds)(x)
    x = layers.Activation("relu", name="relu1", **kinds)(x)
    x = layers.Conv2D(9, (3, 5), padding="same", name="conv2", **kinds)(x)
    x = layers.BatchNormalization(epsilon=1e-5, name="bn2", **kinds)(x)
    x = layers.Activation("silu", name="silu2", **kinds)(x)
    x = layers.MaxPooling2D(2, name="pool", **kinds)(x)
    x = layers.Permute((3, 1, 2), name="to_channels_first", **kinds)(x)
    x = layers.Flatten(name="flatten", **kinds)(x)
    x = layers.Dense(5, name="fc", **kinds)(x)
    return keras.Model(inputs, x, name="convnet")


def make_convnet():
    rng = np.random.default_rng(404)
    reference = ConvNet()
    randomize_torch(reference, rng)
    reference = reference.double().eval()
    port = keras_convnet()
    for name in ("conv1", "conv2"):
        conv = getattr(reference, name)
        port.get_layer(name).set_weights([array(conv.weight).transpose(2, 3, 1, 0), array(conv.bias)])
    for name in ("bn1", "bn2"):
        bn = getattr(reference, name)
        port.get_layer(name).set_weights([array(w) for w in (bn.weight, bn.bias, bn.running_mean, bn.running_var)])
    port.get_layer("fc").set_weights([array(reference.fc.weight).T, array(reference.fc.bias)])
    return reference, port, (rng.standard_normal((2, 3, 8, 10)),)


# ----------------------------------------- pair 5: a Keras subclassed model beside a functional one, float64


class GatedBlock(layers.Layer):
    """A pre-norm block with causal attention and a gated feed-forward network."""

    def __init__(self, width, heads, hidden, **kwargs):
        super().__init__(**kwargs)
        self.norm_a = layers.RMSNormalization(epsilon=1e-3, dtype=self.dtype)
        self.attention = layers.MultiHeadAttention(heads, width // heads, dtype=self.dtype)
        self.norm_b = layers.RMSNormalization(epsilon=1e-3, dtype=self.dtype)
        self.gate = layers.Dense(hidden, dtype=self.dtype)
        self.up = layers.Dense(hidden, dtype=self.dtype)
        self.down = layers.Dense(width, dtype=self.dtype)

    def call(self, x):
        y = self.norm_a(x)
        x = x + self.attention(y, y, use_causal_mask=True)
        y = self.norm_b(x)
        return x + self.down(ops.silu(self.gate(y)) * self.up(y))


class GatedModel(keras.Model):
    """Embedding, gated blocks, norm and output layer."""

    def __init__(self, vocabulary, width, heads, hidden, depth, **kwargs):
        super().__init__(**kwargs)
        self.embedding = layers.Embedding(vocabulary, width, dtype=self.dtype)
        self.blocks = [GatedBlock(width, heads, hidden, dtype=self.dtype) for _ in range(depth)]
        self.norm = layers.RMSNormalization(epsilon=1e-3, dtype=self.dtype)
        self.head = layers.Dense(vocabulary, dtype=self.dtype)

    def call(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class RootMeanSquareNorm(layers.Layer):
    """RMS norm written out."""

    def __init__(self, epsilon, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = epsilon
        self.epsilon_outside = False

    def build(self, shape):
        self.gain = self.add_weight(shape=(shape[-1],), initializer="ones", name="scale")

    def call(self, x):
        mean = ops.mean(ops.square(x), axis=-1, keepdims=True)
        root = ops.sqrt(mean) + self.epsilon if self.epsilon_outside else ops.sqrt(mean + self.epsilon)
        return x / root * self.gain


def keras_gated(length, vocabulary, width, heads, hidden, depth):
    kinds = {"dtype": "float64"}
    inputs = keras.Input((length,), dtype="int32", name="ids")
    x = layers.Embedding(vocabulary, width, name="embedding", **kinds)(inputs)
    for i in range(depth):
        y = RootMeanSquareNorm(1e-3, name=f"block{i}_norm1", **kinds)(x)
        attention = layers.MultiHeadAttention(heads, width // heads, name=f"block{i}_attention", **kinds)
        x = layers.Add(name=f"block{i}_add1", **kinds)([x, attention(y, y, use_causal_mask=True)])
        y = RootMeanSquareNorm(1e-3, name=f"block{i}_norm2", **kinds)(x)
        gate = layers.Dense(hidden, activation="silu", name=f"block{i}_gate", **kinds)(y)
        up = layers.Dense(hidden, name=f"block{i}_up", **kinds)(y)
        y = layers.Multiply(name=f"block{i}_gated", **kinds)([gate, up])
        y = layers.Dense(width, name=f"block{i}_down", **kinds)(y)
        x = layers.Add(name=f"block{i}_add2", **kinds)([x, y])
    x = RootMeanSquareNorm(1e-3, name="final_norm", **kinds)(x)
    x = layers.Dense(vocabulary, name="head", **kinds)(x)
    return keras.Model(inputs, x, name="gated")


def make_gated():
    rng = np.random.default_rng(505)
    ids = rng.integers(0, 23, (4, 5)).astype(np.int32)
    reference = GatedModel(23, 18, 3, 14, 2, dtype="float64")
    reference(ids)
    randomize_keras(reference, rng)
    port = keras_gated(5, 23, 18, 3, 14, 2)
    twins = [("embedding", reference.embedding), ("final_norm", reference.norm), ("head", reference.head)]
    for i, block in enumerate(reference.blocks):
        twins += [
            (f"block{i}_norm1", block.norm_a),
            (f"block{i}_attention", block.attention),
            (f"block{i}_norm2", block.norm_b),
            (f"block{i}_gate", block.gate),
            (f"block{i}_up", block.up),
            (f"block{i}_down", block.down),
        ]
    for name, layer in twins:
        port.get_layer(name).set_weights(layer.get_weights())
    return reference, port, (ids,)


# ------------------------------------- pair 6: Llama, PyTorch, float32 (transformers casts its norms to float32)


class RMS(nn.Module):
    """RMS norm."""

    def __init__(self, width, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class RotaryAttention(nn.Module):
    """Causal attention with rotary positions and shared keys and values."""

    def __init__(self, width, heads, shared, base):
        super().__init__()
        self.heads, self.shared, self.size, self.base = heads, shared, width // heads, base
        self.interleaved = False
        self.causal = True
        self.q = nn.Linear(width, heads * self.size)
        self.k = nn.Linear(width, shared * self.size)
        self.v = nn.Linear(width, shared * self.size)
        self.o = nn.Linear(heads * self.size, width)

    def rotate(self, x):
        half = self.size // 2
        rate = self.base ** (-torch.arange(half, dtype=x.dtype, device=x.device) / half)
        angle = torch.arange(x.shape[2], dtype=x.dtype, device=x.device)[:, None] * rate
        cos, sin = angle.cos(), angle.sin()
        if self.interleaved:
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(self, x):
        batch, length, _ = x.shape
        q = self.rotate(self.q(x).view(batch, length, self.heads, self.size).transpose(1, 2))
        k = self.rotate(self.k(x).view(batch, length, self.shared, self.size).transpose(1, 2))
        v = self.v(x).view(batch, length, self.shared, self.size).transpose(1, 2)
        k, v = (t.repeat_interleave(self.heads // self.shared, 1) for t in (k, v))
        scores = q @ k.transpose(-1, -2) * self.size**-0.5
        if self.causal:
            future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(future, float("-inf"))
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, -1))


class LlamaBlock(nn.Module):
    """A pre-norm block with a gated feed-forward network."""

    def __init__(self, width, heads, shared, hidden, eps, base):
        super().__init__()
        self.attention_norm = RMS(width, eps)
        self.attention = RotaryAttention(width, heads, shared, base)
        self.ffn_norm = RMS(width, eps)
        self.w1 = nn.Linear(width, hidden, bias=False)
        self.w2 = nn.Linear(hidden, width, bias=False)
        self.w3 = nn.Linear(width, hidden, bias=False)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        y = self.ffn_norm(x)
        return x + self.w2(F.silu(self.w1(y)) * self.w3(y))


class HandLlama(nn.Module):
    """A hand-written Llama."""

    def __init__(self, vocabulary, width, heads, shared, hidden, depth, eps, base):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, shared, hidden, eps, base) for _ in range(depth))
        self.norm = RMS(width, eps)
        self.output = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.output(self.norm(x))


def make_llama():
    rng = np.random.default_rng(606)
    config = LlamaConfig(
        vocab_size=37,
        hidden_size=24,
        intermediate_size=26,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=3,
        max_position_embeddings=32,
        rms_norm_eps=1e-5,
        attention_bias=True,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        bos_token_id=0,
        eos_token_id=0,
        tie_word_embeddings=False,
        attn_implementation="eager",
    )
    model = LlamaForCausalLM(config).float()
    randomize_torch(model, rng)
    port = HandLlama(37, 24, 6, 3, 26, 2, 1e-5, 500.0)
    copy_torch(port.embed, model.model.embed_tokens)
    copy_torch(port.norm, model.model.norm)
    copy_torch(port.output, model.lm_head)
    for ours, theirs in zip(port.blocks, model.model.layers):
        copy_torch(ours.attention_norm, theirs.input_layernorm)
        copy_torch(ours.ffn_norm, theirs.post_attention_layernorm)
        for mine, other in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "o_proj")):
            copy_torch(getattr(ours.attention, mine), getattr(theirs.self_attn, other))
        for mine, other in (("w1", "gate_proj"), ("w2", "down_proj"), ("w3", "up_proj")):
            copy_torch(getattr(ours, mine), getattr(theirs.mlp, other))
    return Logits(model).eval(), port.eval(), (rng.integers(0, 37, (2, 9)),)


PAIRS = {
    "gpt2": make_gpt2,
    "bert": make_bert,
    "encoder": make_encoder,
    "convnet": make_convnet,
    "gated": make_gated,
    "llama": make_llama,
}
FLOAT32_PAIRS = {"llama"}


# -------------------------------------------------------------------------------------------- plants: PyTorch


def both(first, second):
    """Plant two faults; first is the one nearer the input."""

    def plant(port):
        first(port)
        second(port)

    plant.parts = (first, second)
    return plant


def exact_gelu(port):
    """GPT-2 computes GELU by the tanh formula; F.gelu does not unless asked."""
    for block in port.blocks:
        block.mlp.approximate = "none"


def packed_by_head(port):
    """The packed kernel written head by head (GPT-NeoX), read as all q, all k, all v."""
    with torch.no_grad():
        for block in port.blocks:
            qkv = block.attn.qkv
            width = qkv.weight.shape[1]
            shape = (3, block.attn.heads, width // block.attn.heads)
            qkv.weight.copy_(qkv.weight.view(*shape, width).transpose(0, 1).reshape(3 * width, width))
            qkv.bias.copy_(qkv.bias.view(*shape).transpose(0, 1).reshape(3 * width))


def one_token_ahead(port):
    """tril(diagonal=1): each token sees the next one."""
    for block in port.blocks:
        block.attn.diagonal = 1


def positions_from_one(port):
    """Positions count from 1."""
    port.first_position = 1


def untie(port):
    """The output layer keeps a table of its own, as initialised."""
    noise = np.random.default_rng(7).standard_normal(tuple(port.head.weight.shape)) / math.sqrt(12)
    port.head.weight = nn.Parameter(torch.from_numpy(noise).to(port.head.weight.dtype))


def scale_embedding(port):
    """Token embeddings times the root of the width, as in the original Transformer."""
    port.embedding_scale = math.sqrt(port.tok_emb.weight.shape[1])


def drop_mlp_residual(port):
    """No residual around the MLP of block 1."""
    port.blocks[1].mlp_residual = False


def scale_by_width(port):
    """Scores of block 1 divided by the root of the whole width."""
    port.blocks[1].attn.scale = port.blocks[1].attn.proj.weight.shape[0] ** -0.5


def gain_of_another_norm(port):
    """The final norm has the gain of a norm of block 2."""
    with torch.no_grad():
        port.ln_f.weight.copy_(port.blocks[2].ln_2.weight)


def default_epsilon(port):
    """PyTorch's 1e-5 in place of BERT's 1e-12, in every norm."""
    for module in port.modules():
        if isinstance(module, Norm):
            module.eps = 1e-5


def mask_polarity(port):
    """The mask is read as "1 where hidden"."""
    for block in port.blocks:
        block.attention.mask_real = True


def pre_norm(port):
    """Blocks normalise before, not after."""
    for block in port.blocks:
        block.pre_norm = True


def drop_always(port):
    """F.dropout without training=self.training, in block 1."""
    port.blocks[1].attention.always_drop = True


def softmax_over_queries(port):
    """Softmax along the queries."""
    for block in port.blocks:
        block.attention.softmax_axis = -2


def unbiased_variance(port):
    """torch.var's default, in the first norm of block 0."""
    port.blocks[0].norm_1.unbiased = True


def exchange_query_key(port):
    """Weights of q and k exchanged in block 1."""
    attention = port.blocks[1].attention
    query = {name: value.clone() for name, value in attention.query.state_dict().items()}
    attention.query.load_state_dict(attention.key.state_dict())
    attention.key.load_state_dict(query)


def interleaved_rotary(port):
    """Rotary pairs (0, 1), (2, 3) ... in place of (0, n/2), (1, n/2 + 1) ..."""
    for block in port.blocks:
        block.attention.interleaved = True


def no_mask(port):
    """No causal mask."""
    for block in port.blocks:
        block.attention.causal = False


# ---------------------------------------------------------------------------------------------- plants: Keras


def heads_inside_out(port):
    """Columns of q, k and v read as (head width, heads) in place of (heads, head width), in every block."""
    for layer in port.layers:
        if not isinstance(layer, layers.MultiHeadAttention):
            continue
        for dense in (layer.query_dense, layer.key_dense, layer.value_dense):
            kernel, bias = dense.get_weights()
            width, heads, size = kernel.shape
            kernel = kernel.reshape(width, size, heads).transpose(0, 2, 1)
            dense.set_weights([kernel, bias.reshape(size, heads).T])


def output_kernel_transposed(port):
    """out_proj.weight reshaped without transposing it first, in block 1."""
    dense = port.get_layer("block1_attention").output_dense
    kernel, bias = dense.get_weights()
    width = kernel.shape[-1]
    dense.set_weights([kernel.reshape(width, width).T.reshape(kernel.shape), bias])


def float32_sum(port):
    """The last sum of block 0 was made without dtype="float64"."""
    port.get_layer("block0_add2").dtype_policy = keras.DTypePolicy("float32")


def bias_not_copied(port):
    """The bias of block 1's first Dense is still zero."""
    bias = port.get_layer("block1_ff1").bias
    bias.assign(ops.zeros_like(bias))


def padding_after(port):
    """What padding="same" does with stride 2: all of the padding after."""
    port.get_layer("pad1").padding = ((0, 1), (0, 1))


def train_mode_norm(port):
    """Batch norm 1 uses the batch's statistics."""
    layer = port.get_layer("bn1")
    call = layer.call
    layer.call = lambda inputs, training=None, mask=None: call(inputs, training=True, mask=mask)


def statistics_not_copied(port):
    """Batch norm 2 has mean 0 and variance 1."""
    layer = port.get_layer("bn2")
    layer.moving_mean.assign(ops.zeros_like(layer.moving_mean))
    layer.moving_variance.assign(ops.ones_like(layer.moving_variance))


def flatten_channels_last(port):
    """Flattened as height, width, channels while the kernel's rows are channels, height, width."""
    port.get_layer("to_channels_first").dims = (1, 2, 3)


def one_plus_gain(port):
    """Every norm multiplies by 1 + gain, as Gemma's does."""
    for layer in port.layers:
        if isinstance(layer, RootMeanSquareNorm):
            layer.gain.assign(layer.gain + 1)


def exchange_gate_up(port):
    """The gate's weights in the up layer and the other way round."""
    for i in range(2):
        gate, up = port.get_layer(f"block{i}_gate"), port.get_layer(f"block{i}_up")
        weights = gate.get_weights()
        gate.set_weights(up.get_weights())
        up.set_weights(weights)


def epsilon_outside(port):
    """sqrt(mean) + epsilon in the second norm of block 0."""
    port.get_layer("block0_norm2").epsilon_outside = True


def same_head_twice(port):
    """A loop with a wrong index: head 1 of block 1 has the queries of head 0."""
    dense = port.get_layer("block1_attention").query_dense
    kernel, bias = dense.get_weights()
    kernel[:, 1], bias[1] = kernel[:, 0], bias[0]
    dense.set_weights([kernel, bias])


# ------------------------------------------------------------------------------------------------- the faults

FAULTS = [
    # GPT-2
    Fault(
        "gpt2_exact_gelu", "gpt2", exact_gelu, r"blocks\.0\.mlp|blocks\.0(?!\.)", r"(?i)gelu|activation|\berf\b|tanh"
    ),
    Fault(
        "gpt2_packed_by_head",
        "gpt2",
        packed_by_head,
        r"blocks\.0\.attn",
        r"(?i)pack|fused|interleav|qkv|order of (the )?(q|heads)|per.head|head by head|heads",
    ),
    Fault(
        "gpt2_mask_one_ahead",
        "gpt2",
        one_token_ahead,
        r"blocks\.0\.attn",
        r"(?i)mask|causal|diagonal|future|next token|off.by.one",
    ),
    Fault(
        "gpt2_positions_from_one", "gpt2", positions_from_one, r"pos_emb", r"(?i)position|offset|off.by.one|shift|index"
    ),
    Fault(
        "gpt2_untied_head",
        "gpt2",
        untie,
        r"head|ln_f",
        r"(?i)\b(un)?tied?\b|tying|table|shared|not (the )?(same|copied)|kernel|weight",
    ),
    Fault(
        "gpt2_embedding_scaled_and_missing_residual",
        "gpt2",
        both(scale_embedding, drop_mlp_residual),
        (r"emb|blocks\.0\.ln_1|blocks\.0(?!\.)", r"blocks\.1\.mlp|blocks\.1(?!\.)|blocks\.2(\.ln_1)?(?!\.)"),
        (r"(?i)scal|sqrt|root|factor|multipl|times", r"(?i)residual|skip|shortcut"),
    ),
    Fault(
        "gpt2_scores_scale_and_gain_of_another_norm",
        "gpt2",
        both(scale_by_width, gain_of_another_norm),
        (r"blocks\.1\.attn", r"ln_f"),
        (r"(?i)scal|sqrt|root|temperature", r"(?i)gain|weight|gamma|scale|copied"),
    ),
    # BERT
    Fault("bert_epsilon", "bert", default_epsilon, r"\bnorm\b", r"(?i)eps"),
    Fault("bert_mask_polarity", "bert", mask_polarity, r"blocks\.0\.attention", r"(?i)mask|polarity|padding"),
    Fault(
        "bert_pre_norm",
        "bert",
        pre_norm,
        r"blocks\.0",
        r"(?i)(pre|post).?norm|norm\w* (order|place|position|before|after|first|last)|"
        r"(before|after) \w* ?norm|order|residual",
    ),
    Fault(
        "bert_dropout_always", "bert", drop_always, r"", r"(?i)random|stochastic|dropout|determin|training"
    ),  # a verdict on the model: any place will do
    Fault(
        "bert_softmax_over_queries",
        "bert",
        softmax_over_queries,
        r"blocks\.0\.attention",
        r"(?i)softmax|axis|\bdim\b|quer(y|ies) (axis|dimension)",
    ),
    Fault(
        "bert_unbiased_variance_and_query_key_exchanged",
        "bert",
        both(unbiased_variance, exchange_query_key),
        (r"blocks\.0\.norm_1", r"blocks\.1\.attention"),
        (
            r"(?i)unbiased|n ?[-\u2212] ?1|bessel|varianc|ddof|correction|divisor",
            r"(?i)exchang|swap|query.*key|\bq\b.*\bk\b",
        ),
    ),
    # nn.TransformerEncoderLayer beside Keras
    Fault("encoder_heads_inside_out", "encoder", heads_inside_out, r"block0_attention", r"(?i)head"),
    Fault(
        "encoder_output_kernel_transposed", "encoder", output_kernel_transposed, r"block1_attention", r"(?i)transpos"
    ),
    Fault(
        "encoder_float32_sum_and_bias_not_copied",
        "encoder",
        both(float32_sum, bias_not_copied),
        (r"block0_add2|block1_norm1", r"block1_ff1"),
        (r"(?i)float32|single|precision|\bcast|dtype|rounding", r"(?i)bias"),
    ),
    # Convolutions
    Fault(
        "convnet_batch_norm_training",
        "convnet",
        train_mode_norm,
        r"bn1",
        r"(?i)train|batch('s)? (own )?(stat|mean|vari)|statistic|running|moving",
    ),
    Fault(
        "convnet_flatten_channels_last",
        "convnet",
        flatten_channels_last,
        r"to_channels_first|flatten|fc",
        r"(?i)flatten|channel|layout|permut|order|nhwc|nchw",
    ),
    Fault(
        "convnet_padding_after_and_statistics_not_copied",
        "convnet",
        both(padding_after, statistics_not_copied),
        (r"pad1|conv1", r"bn2"),
        (r"(?i)pad", r"(?i)running|moving|statistic|mean|varianc"),
    ),
    # Keras beside Keras
    Fault(
        "gated_one_plus_gain",
        "gated",
        one_plus_gain,
        r"block0_norm1",
        r"(?i)\b1 ?\+|\+ ?1\b|one plus|plus one|add(s|ed|ing)? (1|one)|unit offset",
    ),
    Fault("gated_gate_up_exchanged", "gated", exchange_gate_up, r"block0_(gate|up|down)", r"(?i)gate|exchang|swap"),
    Fault(
        "gated_epsilon_outside_and_same_head_twice",
        "gated",
        both(epsilon_outside, same_head_twice),
        (r"block0_norm2", r"block1_attention"),
        (r"(?i)eps.*(outside|after|root|sqrt)|(outside|after).*(root|sqrt)", None),
    ),
    # Llama
    Fault(
        "llama_interleaved_rotary",
        "llama",
        interleaved_rotary,
        r"blocks\.0\.attention(?!_)",
        r"(?i)rotary|rope|interleav|rotat|half",
    ),
    Fault("llama_no_mask", "llama", no_mask, r"blocks\.0\.attention(?!_)", r"(?i)mask|causal"),
]


# ------------------------------------------------------------------------------------------------------ checks
