"""GPT-2: Hugging Face's names and settings, and the course's. Both store a kernel as (in, out); there, query, key and value are one."""

import json
import os
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from shared.checks import check_entries
from shared.frameworks.hugging_face.files import write_model
from shared.frameworks.hugging_face.settings import (
    check_heads,
    check_layers,
    check_sizes,
    eps_of,
    refusal,
    rename,
    require,
    size_of,
)
from shared.frameworks.weights import match

# The arguments of the course's GPTModel -> the settings of config.json.
_ARGUMENTS = {
    "d_model": "n_embd",
    "num_heads": "n_head",
    "d_ff": "n_inner",
    "vocab_size": "vocab_size",
    "max_length": "n_positions",
    "num_layers": "n_layer",
    "eps": "layer_norm_epsilon",
}


def _layout(arguments: dict[str, Any]) -> tuple[dict[str, str], dict[str, tuple[int, ...]]]:
    """Hugging Face's name without the prefix "transformer." -> the course's, with query, key and value in one; and -> the shape."""
    d_model, d_ff, vocab_size = arguments["d_model"], arguments["d_ff"], arguments["vocab_size"]
    shapes = {"wte.weight": (vocab_size, d_model), "wpe.weight": (arguments["max_length"], d_model)}
    shapes |= {"ln_f.weight": (d_model,), "ln_f.bias": (d_model,)}
    names = {"wte.weight": "tokens.embeddings", "wpe.weight": "positions.embeddings"}
    names |= {"ln_f.weight": "norm.gamma", "ln_f.bias": "norm.beta"}
    for i in range(arguments["num_layers"]):
        for theirs, ours in (("ln_1", "attention_norm"), ("ln_2", "feed_forward_norm")):
            names |= {
                f"h.{i}.{theirs}.weight": f"blocks.{i}.{ours}.gamma",
                f"h.{i}.{theirs}.bias": f"blocks.{i}.{ours}.beta",
            }
            shapes |= {f"h.{i}.{theirs}.weight": (d_model,), f"h.{i}.{theirs}.bias": (d_model,)}
        for theirs, ours, shape in (
            ("attn.c_attn", "attention.query_key_value", (d_model, 3 * d_model)),
            ("attn.c_proj", "attention.output", (d_model, d_model)),
            ("mlp.c_fc", "feed_forward.expand", (d_model, d_ff)),
            ("mlp.c_proj", "feed_forward.contract", (d_ff, d_model)),
        ):
            names |= {
                f"h.{i}.{theirs}.weight": f"blocks.{i}.{ours}.kernel",
                f"h.{i}.{theirs}.bias": f"blocks.{i}.{ours}.bias",
            }
            shapes |= {f"h.{i}.{theirs}.weight": shape, f"h.{i}.{theirs}.bias": shape[1:]}
    return names, shapes


def gpt2_weights(config: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Translate a GPT-2 of Hugging Face into the course's settings, names and layouts.

    Their Conv1D keeps its kernel as (in, out), as the course does, so nothing is transposed; c_attn packs query, key and value on the last axis.

    Args:
        config, arrays: as `read_pretrained(path, "gpt2")` returns them.

    Returns:
        the arguments of `GPTModel`, and the weights by the course's names.

    Raises:
        ValueError: if a setting is one that the course's model does not have, or is not that of the weights; or if a
            weight is missing, unexpected, there under two names, mis-shaped or not floating-point.
    """
    require(
        config, scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False,
        tie_word_embeddings=True,
    )  # fmt: skip
    activation = config.get("activation_function", "gelu_new")
    if activation not in ("gelu_new", "gelu_pytorch_tanh"):  # two names of one function
        raise refusal(config, "activation_function", "'gelu_new'")
    d_model, num_layers, vocab_size = (size_of(config, key) for key in ("n_embd", "n_layer", "vocab_size"))
    d_ff = 4 * d_model if config.get("n_inner") is None else size_of(config, "n_inner")
    # An old file may have the first name only.
    positions = "n_ctx" if "n_ctx" in config and "n_positions" not in config else "n_positions"
    max_length = size_of(config, positions)
    arguments = {
        "d_model": d_model,
        "num_heads": size_of(config, "n_head"),
        "d_ff": d_ff,
        "vocab_size": vocab_size,
        "max_length": max_length,
        "num_layers": num_layers,
        "eps": eps_of(config, "layer_norm_epsilon", 1e-5),
    }
    check_heads(config, "n_head", "n_embd")
    arrays = rename(arrays, "transformer.", {})
    # Buffers of old files hold the causal mask, and a head that is tied is the table once more.
    arrays = {name: array for name, array in arrays.items() if not name.endswith((".attn.bias", ".attn.masked_bias"))}
    head = arrays.pop("lm_head.weight", None)
    check_layers(config, "n_layer", arrays, "h.")
    check_sizes(
        config,
        arrays,
        {
            "vocab_size": (vocab_size, "wte.weight", 0),
            "n_embd": (d_model, "wte.weight", 1),
            positions: (max_length, "wpe.weight", 0),
            "n_inner": (d_ff, "h.0.mlp.c_fc.weight", 1),
        },
    )
    names, shapes = _layout(arguments)
    match(shapes, arrays, "the weights")
    if head is not None and not np.array_equal(head, arrays["wte.weight"]):
        raise ValueError("lm_head.weight differs from wte.weight: expected the tied head of GPT-2")
    weights = {}
    for theirs, ours in names.items():
        if "query_key_value" not in ours:
            weights[ours] = arrays[theirs]
            continue
        for part, array in zip(("query", "key", "value"), np.split(arrays[theirs], 3, axis=-1)):
            weights[ours.replace("query_key_value", part)] = array
    return arguments, weights


def write_gpt2(
    path: str | os.PathLike, arguments: dict[str, Any], weights: dict[str, np.ndarray], tokenizer: Tokenizer
) -> None:
    """Write a GPT-2 directory, in float16 and with its tokenizer, that this course and Hugging Face's `AutoModelForCausalLM` read.

    Args:
        path: the directory; it is made if it does not exist.
        arguments: of the `GPTModel`, as `gpt2_weights` gives them.
        weights: of the model, by the course's names, as `shared.weights.get_weights` gives them.
        tokenizer: from `shared.text.train_tokenizer` with kind "bpe".

    Raises:
        ValueError: if an argument is missing, a size of the tokenizer or the weights are not those of such a model, or
            a weight is too large for float16.
    """
    check_entries(tuple(_ARGUMENTS), arguments=arguments)
    if tokenizer.get_vocab_size() != arguments["vocab_size"]:
        raise ValueError(
            f"tokenizer has {tokenizer.get_vocab_size()} tokens: expected vocab_size={arguments['vocab_size']}"
        )
    end_id = tokenizer.token_to_id("<end>")
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new"}
    config |= {theirs: arguments[ours] for ours, theirs in _ARGUMENTS.items()}
    config |= dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)  # or they are 0.1 there
    config |= {"bos_token_id": end_id, "eos_token_id": end_id, "tie_word_embeddings": True, "dtype": "float16"}
    names, _ = _layout(arguments)
    arrays = {}
    for theirs, ours in names.items():
        wanted = [ours.replace("query_key_value", part) for part in ("query", "key", "value")]
        wanted = wanted if "query_key_value" in ours else [ours]
        check_entries(tuple(wanted), weights=weights)
        whole = np.concatenate([np.asarray(weights[name]) for name in wanted], axis=-1)
        if not np.abs(whole).max() <= np.finfo(np.float16).max:  # also if it is no number
            raise ValueError(f"weights: {ours} has {np.abs(whole).max()}: expected what float16 can hold")
        arrays[f"transformer.{theirs}"] = whole.astype(np.float16)
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<end>", "eos_token": "<end>"}
    settings |= {"model_max_length": arguments["max_length"], "clean_up_tokenization_spaces": False}
    settings |= {"split_special_tokens": True}  # "<end>" in a text is text there, too
    files = {"tokenizer.json": tokenizer.to_str(pretty=True), "tokenizer_config.json": json.dumps(settings, indent=2)}
    write_model(path, config, arrays, files)
