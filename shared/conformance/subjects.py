"""What the laws are asked of: a row for each layer, model and function of arrays, with how it is made, what it is given, and what it keeps.

A row names classes and inputs and imports none: whoever asks hands in the modules. A new class of a chapter is a row here.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TRACKS = ("numpy", "pytorch", "keras")
# All different, so that no mistaken axis has the right size.
SIZES = {"batch": 3, "length": 5, "length_q": 5, "length_k": 6, "d_model": 8, "heads": 2, "head_dim": 4, "value_dim": 7}
SIZES |= {"features": 3, "classes": 7, "height": 4, "width": 6, "channels": 3, "vocab": 11}


@dataclass(frozen=True)
class Input:
    """An array that a call is given: floats, token ids from 1 to below - 1, or a mask that hides the last positions of some sequences."""

    kind: str
    axes: str
    below: int = SIZES["vocab"]

    def draw(self, rng: np.random.Generator, sizes: Mapping[str, int], dtype: str) -> np.ndarray:
        """The array, of the sizes that the names of its axes have."""
        shape = [int(axis) if axis.isdigit() else sizes[axis] for axis in self.axes.split()]
        if self.kind == "floats":
            return rng.normal(size=shape).astype(dtype)
        if self.kind == "ids":
            return rng.integers(1, self.below, shape)
        if self.kind == "uniforms":
            return rng.random(shape).astype(dtype)
        if self.kind == "probs":
            return rng.dirichlet(np.ones(shape[-1]), shape[:-1]).astype(dtype)
        mask = rng.random(shape) < 0.7
        mask[..., 0] = True
        return mask


def floats(axes: str) -> Input:
    return Input("floats", axes)


def ids(axes: str, below: int = SIZES["vocab"]) -> Input:
    return Input("ids", axes, below)


def mask(axes: str) -> Input:
    return Input("mask", axes)


@dataclass(frozen=True)
class Subject:
    """One class or function of the course, the same in several tracks.

    Attributes:
        path: its module and name, such as attention.MultiHeadAttention.
        inputs: name -> what it is called with.
        arguments: of the constructor; of a function, what it is given besides.
        output: the axes of the (first) output.
        named: what every call of a layer is given besides arrays.
        tracks: which have it.
        is_layer: whether it is a class that is made first.
        variants: other arguments with which it is the same function in every track, too.
        hides: mask -> the inputs whose positions it hides, such as {"mask": ("key", "value")}.
        pads: the inputs that hold tokens, in which the id 0 is padding that the model hides by itself.
        future: the input whose later positions no output may see; None if all are seen.
        cached: whether it reads piece after piece, with a cache.
        keras: what the arguments are called in Keras, where it has its own names.
        make: makes it from what its track's modules export, where arguments do not say how.
        allows: arguments of which any number is right.
        has_gelu: whether it computes a GELU without being told to, which Keras takes through float32.
        is_tied: whether its weights are those of a layer that it is given, which the tracks name each in its way.
        takes_floats: the tracks in which token ids may be floating-point numbers.
        backward: whether NumPy's backward pass takes the upstream gradient alone, and gives back one for each input.
        has_shapes: whether its signature says what shapes it takes.
        keeps: whether NumPy's backward pass needs the input, or its shape.
    """

    path: str
    inputs: Mapping[str, Input]
    output: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    named: Mapping[str, Any] = field(default_factory=dict)
    tracks: tuple[str, ...] = TRACKS
    is_layer: bool = True
    variants: tuple[Mapping[str, Any], ...] = ()
    hides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pads: tuple[str, ...] = ()
    future: str | None = None
    cached: bool = False
    keras: Mapping[str, str] = field(default_factory=dict)
    make: Callable[..., Any] | None = None
    allows: tuple[str, ...] = ()
    has_gelu: bool = False
    is_tied: bool = False
    takes_floats: tuple[str, ...] = ()
    backward: bool = True
    has_shapes: bool = True
    keeps: bool = True

    @property
    def chapter(self) -> str:
        """The name of the chapter, as in course.toml."""
        return self.path.partition(".")[0]

    @property
    def name(self) -> str:
        """The name of the class or function."""
        return self.path.partition(".")[2]

    def made(self, of: Callable[[str], Any], track: str, **changed: Any) -> Any:
        """A layer of a track, of whose classes `of` gives one by its path; the function itself if it is none."""
        kind = of(self.path)
        if not self.is_layer:
            return kind
        arguments = {**self.arguments, **changed}
        if track == "keras":
            arguments = {self.keras.get(name, name): value for name, value in arguments.items()}
        return self.make(of, **arguments) if self.make else kind(**arguments)

    def draw(self, seed: int, dtype: str = "float64", **sizes: int) -> dict[str, np.ndarray]:
        """The arrays of a call, with other sizes of the axes that are named."""
        rng = np.random.default_rng(seed)
        return {name: each.draw(rng, SIZES | sizes, dtype) for name, each in self.inputs.items()}

    def shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        return tuple(int(axis) if axis.isdigit() else SIZES[axis] for axis in self.output.split())


def _double(x: Any) -> Any:
    return 2 * x


def _chain(of: Callable[[str], Any]) -> Any:
    """Two layers in a row."""
    return of("models.Chain")(of("models.Linear")(3, 5), of("models.Linear")(5, 4))


def _add(of: Callable[[str], Any]) -> Any:
    """A skip path around a layer."""
    return of("feed_forward.Add")(of("feed_forward.FeedForward")(SIZES["d_model"], 12))


def _around(of: Callable[[str], Any], **arguments: Any) -> Any:
    """Keras' residual connection, which goes around a layer."""
    inside = of("feed_forward.FeedForward")(SIZES["d_model"], 12, dtype=arguments.get("dtype"))
    return of("feed_forward.ResidualConnection")(inside, **arguments)


def _tied(of: Callable[[str], Any]) -> Any:
    """A projection that uses the table of an embedding."""
    embedding = of("embeddings.TokenEmbedding")(SIZES["d_model"], SIZES["vocab"])
    if hasattr(embedding, "build"):
        embedding.build((None, None))
    return of("seq2seq.TiedProjection")(embedding)


def _adapted(of: Callable[[str], Any], rank: int, alpha: float) -> Any:
    """An adapter around a linear layer of its framework."""
    adapter = of("real_text.LoRA")
    linear = of("models.Linear") if "numpy" in adapter.__module__ else sys.modules["torch"].nn.Linear
    return adapter(linear(SIZES["d_model"], 6), rank, alpha)


def _modern(of: Callable[[str], Any], **arguments: Any) -> Any:
    """A decoder of the conventions that the arguments name, with two heads for one of keys and a window in one of two blocks."""
    of_keras = {name: arguments.pop(name) for name in ("dtype", "name", "trainable") if name in arguments}
    sizes = {"vocab_size": VOCAB, "d_model": D_MODEL, "num_heads": HEADS, "num_kv_heads": 1, "head_dim": 6, "d_ff": 12}
    record = {"max_length": 9, "windows": (2, None), "thetas": (100.0, 10.0)} | arguments
    return of("modern_decoder.ModernDecoder")(of("modern_decoder.ModernConfig")(**sizes, **record), **of_keras)


D_MODEL, HEADS, VOCAB = SIZES["d_model"], SIZES["heads"], SIZES["vocab"]
X = floats("batch length d_model")
MEMORY = floats("batch length_k d_model")
PADDING = mask("batch 1 1 length")
ATTENTION = {"d_model": D_MODEL, "num_heads": HEADS}
BLOCK = ATTENTION | {"d_ff": 12}
MODEL = BLOCK | {"vocab_size": VOCAB, "max_length": 9}
POST_AND_PRE = ({"norm_first": True}, {"activation": "gelu"}, {"activation": "gelu_tanh", "eps": 1e-2})
DEEP = (*POST_AND_PRE, {"num_layers": 2}, {"num_layers": 2, "norm_first": True})
N, NP = ("numpy",), ("numpy", "pytorch")


SUBJECTS = (
    # 02
    Subject(
        "models.Linear", {"x": floats("batch features")}, "batch 4", {"in_features": 3, "out_features": 4}, tracks=N
    ),
    Subject(
        "models.Chain",
        {"x": floats("batch features")},
        "batch 4",
        tracks=N,
        make=_chain,
        has_shapes=False,
    ),
    Subject(
        "models.MLP",
        {"x": floats("batch features")},
        "batch 2",
        {"in_features": 3, "hidden_features": 4, "out_features": 2},
    ),
    # 03
    Subject(
        "einops.Convolution",
        {"x": floats("batch height width channels")},
        "batch height width 2",
        {"in_channels": 3, "out_channels": 2},
        tracks=N,
    ),
    Subject(
        "einops.LeNet",
        {"x": floats("batch 8 12 channels")},
        "batch 10",
        {"height": 8, "width": 12, "channels": 3, "num_classes": 10, "features": (3, 4, 6, 5)},
    ),
    *(
        Subject(f"einops.{name}", {"x": floats(axes)}, output, arguments, is_layer=False)
        for name, axes, output, arguments in (
            ("split_heads", "batch length d_model", "batch heads length head_dim", {"num_heads": HEADS}),
            ("merge_heads", "batch heads length head_dim", "batch length d_model", {}),
            ("patches", "batch height width channels", "batch 6 12", {"size": 2}),
            ("max_pool", "batch height width channels", "batch 2 3 channels", {"size": 2}),
            ("mean_pool", "batch height width channels", "batch 2 3 channels", {"size": 2}),
            ("space_to_depth", "batch height width channels", "batch 2 3 12", {"block": 2}),
            ("depth_to_space", "batch height width 12", "batch 8 12 3", {"block": 2}),
        )
    ),
    # 05
    Subject(
        "embeddings.TokenEmbedding",
        {"tokens": ids("batch length")},
        "batch length d_model",
        {"d_model": D_MODEL, "vocab_size": VOCAB},
        variants=({"scale": False},),
        takes_floats=("keras",),
    ),
    Subject(
        "embeddings.PositionalEncoding",
        {"x": X},
        "batch length d_model",
        {"d_model": D_MODEL, "max_length": 9},
        keeps=False,
    ),
    Subject(
        "embeddings.TokenAndPositionEmbedding",
        {"tokens": ids("batch length")},
        "batch length d_model",
        {"max_length": 9, "vocab_size": VOCAB, "d_model": D_MODEL},
        keras={"max_length": "maxlen", "d_model": "embed_dim"},
        takes_floats=("keras",),
    ),
    Subject("embeddings.LastThree", {"x": X}, "batch length 24", tracks=N, has_shapes=False, keeps=False),
    # 06
    Subject(
        "attention.padding_mask",
        {"tokens": ids("batch length")},
        "batch 1 1 length",
        is_layer=False,
        allows=("pad_id",),
    ),
    Subject(
        "attention.scaled_dot_product_attention",
        {
            "query": floats("batch heads length_q head_dim"),
            "key": floats("batch heads length_k head_dim"),
            "value": floats("batch heads length_k value_dim"),
            "mask": mask("batch 1 length_q length_k"),
        },
        "batch heads length_q value_dim",
        is_layer=False,
        hides={"mask": ("key", "value")},
    ),
    Subject(
        "attention.MultiHeadAttention",
        {
            "query": floats("batch length_q d_model"),
            "key": floats("batch length_k d_model"),
            "value": floats("batch length_k d_model"),
            "mask": mask("batch 1 1 length_k"),
        },
        "batch length_q d_model",
        ATTENTION,
        hides={"mask": ("key", "value")},
    ),
    Subject("attention.LookBack", {"x": X}, "batch length d_model", ATTENTION, future="x", tracks=N, has_shapes=False),
    # 07
    Subject("feed_forward.Add", {"x": X}, "batch length d_model", tracks=N, make=_add, has_shapes=False),
    Subject(
        "feed_forward.FeedForward",
        {"x": X},
        "batch length d_model",
        {"d_model": D_MODEL, "d_ff": 12},
        variants=({"activation": "gelu"}, {"activation": "gelu_tanh"}),
    ),
    Subject("feed_forward.LayerNorm", {"x": X}, "batch length d_model", {"d_model": D_MODEL}, variants=({"eps": 0.1},)),
    Subject(
        "feed_forward.ResidualConnection",
        {"x": X},
        "batch length d_model",
        {"d_model": D_MODEL},
        named={"sublayer": _double},
        tracks=NP,
        variants=({"norm_first": True},),
        backward=False,
    ),
    Subject(
        "feed_forward.ResidualConnection",
        {"x": X},
        "batch length d_model",
        tracks=("keras",),
        variants=({"norm_first": True},),
        make=_around,
        has_shapes=False,  # those of the layer inside
    ),
    # 08
    Subject(
        "encoder.EncoderBlock",
        {"x": X, "mask": PADDING},
        "batch length d_model",
        BLOCK,
        variants=POST_AND_PRE,
        hides={"mask": ("x",)},
    ),
    Subject(
        "encoder.Encoder",
        {"x": X, "mask": PADDING},
        "batch length d_model",
        BLOCK,
        variants=DEEP,
        hides={"mask": ("x",)},
    ),
    Subject(
        "encoder.Blocks",
        {"x": floats("batch length 16")},
        "batch length 16",
        {"num_layers": 2},
        future="x",
        tracks=N,
        has_shapes=False,
    ),
    Subject(
        "encoder.TransformerBlock",
        {"inputs": X},
        "batch length d_model",
        {"embed_dim": D_MODEL, "num_heads": HEADS, "ff_dim": 12, "rate": 0.0},
        tracks=("keras",),
        has_shapes=False,
    ),
    # 09
    *(
        Subject(
            f"training.{name}",
            {"logits": floats("batch length classes"), "targets": ids("batch length", 7)},
            output,
            {"label_smoothing": 0.1},
            tracks=tracks,
            is_layer=False,
            allows=("ignore_index",),
        )
        for name, output, tracks in (
            ("cross_entropy", "", TRACKS),
            ("cross_entropy_backward", "batch length classes", N),
        )
    ),
    # 10
    Subject(
        "dna_mutation.MutationModel",
        {"tokens": ids("batch length")},
        "batch length vocab",
        MODEL | {"num_layers": 2, "dropout": 0.0},
        tracks=NP,
        pads=("tokens",),
    ),
    # 11
    Subject(
        "decoder.CausalSelfAttention",
        {"x": X, "mask": PADDING},
        "batch length d_model",
        ATTENTION,
        hides={"mask": ("x",)},
        future="x",
        cached=True,
    ),
    Subject(
        "decoder.DecoderOnlyBlock",
        {"x": X, "mask": PADDING},
        "batch length d_model",
        BLOCK,
        variants=POST_AND_PRE,
        hides={"mask": ("x",)},
        future="x",
        cached=True,
    ),
    *(
        Subject(
            f"decoder.{name}",
            {"x": X, "memory": MEMORY, "self_mask": PADDING, "memory_mask": mask("batch 1 1 length_k")},
            "batch length d_model",
            BLOCK,
            variants=variants,
            hides={"memory_mask": ("memory",), "self_mask": ("x",)},
            future="x",
        )
        for name, variants in (("DecoderBlock", POST_AND_PRE), ("Decoder", DEEP))
    ),
    # 12
    Subject(
        "seq2seq.TiedProjection",
        {"x": X},
        "batch length vocab",
        {},
        tracks=("numpy", "keras"),  # PyTorch shares a weight by assigning it
        make=_tied,
        is_tied=True,
    ),
    Subject(
        "seq2seq.Seq2SeqTransformer",
        {"source": ids("batch length_k", 5), "target": ids("batch length", 23)},
        "batch length 23",
        BLOCK | {"max_length": 9},
        variants=(
            {"norm_first": True, "num_layers": 2},
            {"tie_weights": True, "activation": "gelu"},
            {"source_vocab_size": 23, "shared_embeddings": True},
        ),
        pads=("source", "target"),
        future="target",
    ),
    # 13
    Subject(
        "bert.BERTEmbedding",
        {"tokens": ids("batch length"), "segments": ids("batch length", 2)},
        "batch length d_model",
        {"d_model": D_MODEL, "dropout": 0.0, "vocab_size": VOCAB, "max_length": 9},
    ),
    Subject(
        "bert.MaskedLanguageHead",
        {"features": X, "embeddings": floats("vocab d_model")},
        "batch length vocab",
        {"d_model": D_MODEL, "vocab_size": VOCAB},
        tracks=("pytorch", "keras"),
    ),
    Subject("bert.Pooler", {"features": X}, "batch d_model", {"d_model": D_MODEL}),
    Subject(
        "bert.BERTModel",
        {"tokens": ids("batch length"), "segments": ids("batch length", 2)},
        "batch length vocab",
        MODEL,
        variants=({"num_layers": 2, "eps": 1e-2},),
        pads=("tokens",),
        has_gelu=True,
    ),
    # 14
    Subject(
        "gpt.GPTModel",
        {"tokens": ids("batch length")},
        "batch length vocab",
        MODEL,
        variants=({"num_layers": 2},),
        future="tokens",
        cached=True,
        pads=("tokens",),
        has_gelu=True,
    ),
    Subject(
        "gpt.token_probabilities",
        {"logits": floats("batch vocab")},
        "batch vocab",
        {"temperature": 0.7, "top_k": 3, "top_p": 0.9},
        is_layer=False,
    ),
    Subject(
        "gpt.sample",
        {"probs": Input("probs", "batch vocab"), "uniforms": Input("uniforms", "batch")},
        "batch",
        tracks=("numpy", "keras"),
        is_layer=False,
    ),
    # 15
    Subject(
        "real_text.LoRA",
        {"x": X},
        "batch length 6",
        {"rank": 2, "alpha": 1.0},
        tracks=NP,  # Keras' layers have it
        make=_adapted,
        allows=("alpha",),
        is_tied=True,
    ),
    # 18
    Subject(
        "modern_decoder.RMSNorm",
        {"x": X},
        "batch length d_model",
        {"size": D_MODEL},
        variants=({"gain": "1 + w"}, {"eps": 0.1}),
    ),
    Subject(
        "modern_decoder.Projection",
        {"x": X},
        "batch length 6",
        {"d_in": D_MODEL, "d_out": 6},
        tracks=N,
        allows=("std",),
    ),
    Subject(
        "modern_decoder.GatedFeedForward",
        {"x": X},
        "batch length d_model",
        {"d_model": D_MODEL, "d_ff": 12},
        variants=({"activation": "gelu_tanh"},),
    ),
    Subject(
        "modern_decoder.SquaredFeedForward",
        {"x": X},
        "batch length d_model",
        {"d_model": D_MODEL, "d_ff": 12},
    ),
    Subject(
        "modern_decoder.ModernDecoder",
        {"tokens": ids("batch length")},
        "batch length vocab",
        variants=(
            {"norms": "both", "norm_gain": "1 + w", "qk_norm": "head", "score_cap": 9.0, "tied": False, "eps": 1.0},
            {"norms": "after", "qk_norm": "all", "thetas": (None, 10.0), "embedding_scale": 3.0},
            {
                "gated": False,
                "activation": "relu_squared",
                "rotation": -1,
                "norm_embedding": True,
                "logit_cap": 2.0,
                "score_scale": 0.3,
            },
        ),
        future="tokens",
        cached=True,
        make=_modern,
    ),
)

# Layers, and functions of arrays, that the laws can't be asked of, and why.
OTHERS = {
    "autograd.gradient": "takes a function",
    "models.Dropout": "has no weights and draws what it does",
    "models.OneHot": "has no weights, and its input no gradient",
    "models.mlp": "takes its parameters by their names",
    "einops.Rearrange": "takes what its pattern says",
    "einops.Reduce": "takes what its pattern says",
    "einops.rearrange": "takes what its pattern says",
    "einops.reduce": "takes what its pattern says",
    "einops.repeat": "takes what its pattern says",
    "einops.mean_pool_backward": "is a backward pass, held to finite differences in its chapter",
    "einops.max_pool_backward": "is a backward pass, held to finite differences in its chapter",
    "attention.scaled_dot_product_attention_backward": "is a backward pass, held to finite differences in its chapter",
    "training.cross_entropy_backward": "is a backward pass, held to finite differences in its chapter",
    "training.text_batches": "draws what it does",
    "seq2seq.greedy_decode": "takes a model",
    "seq2seq.beam_search": "takes a model",
    "bert.mask_tokens": "draws what it does",
    "real_text.nats_per_token": "takes a model",
    "real_text.attention_weights": "takes a model",
    "real_text.ngram_probabilities": "is NumPy's alone, and held to counting in its chapter",
    "scaling_out.parallel_step": "takes a model",
    "modern_decoder.Identity": "has no weights and changes nothing",
    "modern_decoder.GroupedQueryAttention": "takes a record, and a part of it in each track; it is in ModernDecoder",
    "modern_decoder.ModernBlock": "takes a record, and a part of it in each track; it is in ModernDecoder",
}
