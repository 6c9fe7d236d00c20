"""BERT: Hugging Face's names and settings, and the course's. A kernel is stored as (out, in) there, and is (in, out) here."""

import os
import re
import reprlib
from typing import Any

import numpy as np

from shared.checks import check_choice, check_entries
from shared.frameworks.hugging_face.files import read_pretrained, write_model
from shared.frameworks.hugging_face.settings import (
    check_heads,
    check_layers,
    check_sizes,
    eps_of,
    refusal,
    rename,
    require,
    setting,
    size_of,
)
from shared.frameworks.weights import match

_EMBEDDINGS = {
    "embeddings.word_embeddings.weight": "embedding.tokens.embeddings",
    "embeddings.position_embeddings.weight": "embedding.positions",
    "embeddings.token_type_embeddings.weight": "embedding.segments.embeddings",
}
_BLOCK = {
    "attention.self.query": "attention.query",
    "attention.self.key": "attention.key",
    "attention.self.value": "attention.value",
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "feed_forward.expand",
    "output.dense": "feed_forward.contract",
    "output.LayerNorm": "feed_forward_norm",
}
_HEAD = {"cls.predictions.transform.dense": "head.transform", "cls.predictions.transform.LayerNorm": "head.norm"}
# The arguments of the course's BERTModel -> the settings of config.json; those that an old file may lack, with their values then.
_ARGUMENTS = {
    "d_model": "hidden_size",
    "num_heads": "num_attention_heads",
    "d_ff": "intermediate_size",
    "vocab_size": "vocab_size",
    "max_length": "max_position_embeddings",
    "num_layers": "num_hidden_layers",
}
_DEFAULTS = {
    "pad_id": ("pad_token_id", 0),
    "num_segments": ("type_vocab_size", 2),
    "eps": ("layer_norm_eps", 1e-12),
}
_DECODER = "cls.predictions.decoder"
# What a directory may hold beside the weights: constants, the head of the next-sentence task, copies of what is tied.
_IGNORED = re.compile(
    r"embeddings\.(position_ids|token_type_ids)|cls\.seq_relationship\..*|cls\.predictions\.decoder\.(weight|bias)"
)


def _names(num_layers: int, pooler: bool) -> dict[str, str]:
    """Hugging Face's name without the prefix "bert." -> the course's, of every weight."""
    parts = {"embeddings.LayerNorm": "embedding.norm"}
    for i in range(num_layers):
        parts |= {f"encoder.layer.{i}.{theirs}": f"encoder.blocks.{i}.{ours}" for theirs, ours in _BLOCK.items()}
    parts |= _HEAD | ({"pooler.dense": "pooler.dense"} if pooler else {})
    names = _EMBEDDINGS | {"cls.predictions.bias": "head.bias"}
    for theirs, ours in parts.items():
        pair = ("gamma", "beta") if theirs.endswith("LayerNorm") else ("kernel", "bias")
        names |= {f"{theirs}.{part}": f"{ours}.{own}" for part, own in zip(("weight", "bias"), pair)}
    return names


def _shapes(arguments: dict[str, Any], pooler: bool) -> dict[str, tuple[int, ...]]:
    """Hugging Face's name without the prefix "bert." -> the shape that the arguments of `BERTModel` give the weight."""
    d_model, d_ff, vocab_size = arguments["d_model"], arguments["d_ff"], arguments["vocab_size"]
    shapes = {}
    for theirs, ours in _names(arguments["num_layers"], pooler).items():
        inputs = d_ff if ".contract." in ours else d_model
        outputs = d_ff if ".expand." in ours else d_model
        shapes[theirs] = (outputs, inputs) if ours.endswith("kernel") else (outputs,)
    lengths = (vocab_size, arguments["max_length"], arguments["num_segments"])
    shapes |= {name: (length, d_model) for name, length in zip(_EMBEDDINGS, lengths)}
    return shapes | {"cls.predictions.bias": (vocab_size,)}


def bert_arguments(config: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `BERTModel` that a BERT's config.json stands for, but for dropout and pooler.

    Raises:
        ValueError: if a setting is missing, or has a value that the course's model does not know.
    """
    require(
        config,
        hidden_act="gelu",
        position_embedding_type="absolute",
        is_decoder=False,
        add_cross_attention=False,
        tie_word_embeddings=True,
    )
    arguments = {ours: size_of(config, theirs) for ours, theirs in _ARGUMENTS.items()}
    check_heads(config, "num_attention_heads", "hidden_size")
    pad_id, vocab_size = setting(config, *_DEFAULTS["pad_id"]), arguments["vocab_size"]
    if isinstance(pad_id, bool) or not isinstance(pad_id, int) or not 0 <= pad_id < vocab_size:
        raise refusal(config, "pad_token_id", f"an id below vocab_size={reprlib.repr(vocab_size)}")
    segments, eps = size_of(config, *_DEFAULTS["num_segments"]), eps_of(config, *_DEFAULTS["eps"])
    return arguments | {"pad_id": pad_id, "num_segments": segments, "eps": eps}


def bert_weights(config: dict[str, Any], arrays: dict[str, np.ndarray], pooler: bool = False) -> dict[str, np.ndarray]:
    """The weights of a BERT by the course's names and in its layout.

    Args:
        config: its config.json.
        arrays: by Hugging Face's names, with or without the prefix "bert.", as `read_pretrained` gives them. The old names of a LayerNorm's
            weights, `gamma` and `beta`, are understood; the head of the next-sentence task and constants are left out.
        pooler: whether the pooler's weights are wanted; otherwise they are left out.

    Raises:
        ValueError: if a setting is wrong, as for `bert_arguments`, or is not that of the weights; if a weight is
            missing (a BERT without the head that predicts tokens has none of its), mis-shaped or not floating-point; if
            there is one too many, one under two names, or an output with a kernel or a bias of its own.
    """
    arguments = bert_arguments(config)
    old_names = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
    renamed = rename(arrays, "bert.", old_names)
    if f"{_DECODER}.bias" in renamed:
        renamed.setdefault("cls.predictions.bias", renamed[f"{_DECODER}.bias"])
    check_layers(config, "num_hidden_layers", renamed, "encoder.layer.")
    words, positions, segments = _EMBEDDINGS
    check_sizes(
        config,
        renamed,
        {
            "vocab_size": (arguments["vocab_size"], words, 0),
            "hidden_size": (arguments["d_model"], words, 1),
            "max_position_embeddings": (arguments["max_length"], positions, 0),
            "type_vocab_size": (arguments["num_segments"], segments, 0),
            "intermediate_size": (arguments["d_ff"], "encoder.layer.0.intermediate.dense.weight", 0),
        },
    )
    shapes = _shapes(arguments, pooler)
    headless = [name for name in shapes if name.startswith("cls.") and name not in renamed]
    if headless:
        raise ValueError(
            f"the weights have no {', '.join(headless)}: expected a BERT with the head that predicts tokens"
            " (BertForMaskedLM or BertForPreTraining)"
        )
    left_out = re.compile(_IGNORED.pattern + ("" if pooler else r"|pooler\.dense\..*"))
    match(shapes, {name: array for name, array in renamed.items() if not left_out.fullmatch(name)}, "the weights")
    for copy, name in ((f"{_DECODER}.weight", words), (f"{_DECODER}.bias", "cls.predictions.bias")):
        if copy in renamed and not np.array_equal(renamed[copy], renamed[name], equal_nan=True):
            raise ValueError(f"{copy} differs from {name}: expected a tied output")
    names = _names(arguments["num_layers"], pooler)
    return {ours: renamed[name].T if ours.endswith("kernel") else renamed[name] for name, ours in names.items()}


def read_bert(path: str | os.PathLike, pooler: bool = False) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The arguments of `BERTModel` and its weights, from a Hugging Face directory.

    Args:
        path: the directory, as for `read_pretrained`.
        pooler: whether the pooler's weights are wanted.

    Raises:
        FileNotFoundError, ValueError: as `read_pretrained`, `bert_arguments` and `bert_weights` do.
    """
    check_choice((True, False), pooler=pooler)
    config, arrays = read_pretrained(path, "bert")
    return bert_arguments(config), bert_weights(config, arrays, pooler)


def write_bert(path: str | os.PathLike, arguments: dict[str, Any], weights: dict[str, np.ndarray]) -> None:
    """Write a BERT directory that Hugging Face's `BertForMaskedLM.from_pretrained` reads: the inverse of `read_bert`.

    Args:
        path: the directory; it is made if it does not exist.
        arguments: of the `BERTModel`, as `bert_arguments` gives them.
        weights: of the model, by the course's names, as `shared.weights.get_weights` gives them; a pooler's are left out.

    Raises:
        ValueError: if an argument is missing, or the weights are not those of such a model.
    """
    check_entries((*_ARGUMENTS, *_DEFAULTS), arguments=arguments)
    config = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_act": "gelu"}
    config |= {_ARGUMENTS[name]: arguments[name] for name in _ARGUMENTS}
    config |= {_DEFAULTS[name][0]: arguments[name] for name in _DEFAULTS}
    config |= dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0)  # or they are 0.1 there
    names = _names(arguments["num_layers"], pooler=False)
    check_entries(tuple(names.values()), weights=weights)
    arrays = {theirs: weights[ours].T if ours.endswith("kernel") else weights[ours] for theirs, ours in names.items()}
    prefixed = {name if name.startswith("cls.") else f"bert.{name}": array for name, array in arrays.items()}
    write_model(path, config, prefixed)
