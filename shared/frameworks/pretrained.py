"""Read a model directory as Hugging Face's `save_pretrained` writes it: config.json and safetensors. Nothing that is read can run code."""

import json
import os
import re
import reprlib
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from tokenizers import Tokenizer

from shared.checks import check_choice, check_entries
from shared.folders import course_folder
from shared.frameworks.weights import load_arrays, match


def shipped() -> Path:
    """The folder of the course's own model of real English, which chapter 15 trains; `make pretrain` writes another.

    Raises:
        FileNotFoundError: if it is not there, because the package was installed without the course.
    """
    folder = course_folder() / "models" / "docstring_gpt"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no {folder}: the model comes with the course's folder; start there, or let THREE_WAYS_FOLDER name it"
        )
    return folder


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent.name} has no {path.name}: expected a directory of save_pretrained")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # the latter from lists in lists in lists
        raise ValueError(f"{path.name} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - the type of what is in the file, not of an argument
            f"{path.name} holds a {type(value).__name__}: expected an object"
        )
    return value


def _files(directory: Path) -> dict[str, list[str]]:
    """The safetensors files of a model, one or those of an index, each with the tensors that the index places there."""
    if (directory / "model.safetensors").is_file():
        return {"model.safetensors": []}
    if (directory / "model.safetensors.index.json").is_file():
        parts = read_json(directory / "model.safetensors.index.json").get("weight_map")
        if not isinstance(parts, dict) or not all(isinstance(name, str) for name in parts.values()):
            raise ValueError("model.safetensors.index.json has no weight_map: expected tensor names and their files")
        for name in sorted(set(parts.values())):
            if Path(name).name != name:
                raise ValueError(f"model.safetensors.index.json names {name!r}: expected a file of the same directory")
        placed = {file: [] for file in sorted(set(parts.values()))}
        for name, file in parts.items():
            placed[file].append(name)
        return placed
    pickles = [path.name for path in sorted(directory.glob("*.bin"))]
    if pickles:
        raise ValueError(
            f"{directory.name} has {pickles[0]}, a pickle, which can run code: expected model.safetensors"
            " (save_pretrained of a current transformers writes it)"
        )
    raise FileNotFoundError(f"{directory.name} has no model.safetensors")


def read_pretrained(path: str | os.PathLike, model_type: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the settings and the weights of a Hugging Face model directory.

    Args:
        path: the directory, with config.json and model.safetensors (or model.safetensors.index.json and the files that it names).
        model_type: what config.json must say of itself, such as "bert".

    Returns:
        config.json as a dict, and the arrays by Hugging Face's names; floating-point numbers of 16 bits become float32.

    Raises:
        FileNotFoundError: if the directory or one of its files does not exist.
        ValueError: if a file is truncated or foreign, the weights are a pickle, the model is of another type, two files
            hold one tensor, or a file does not hold a tensor that the index places in it.
    """
    directory = Path(path)
    if not directory.is_dir():
        raise FileNotFoundError(f"path={directory.name!r}: no such directory")
    config = read_json(directory / "config.json")
    if config.get("model_type") != model_type:
        raise _refusal(config, "model_type", repr(model_type))
    arrays, origin = {}, {}
    for file, placed in _files(directory).items():
        found = load_arrays(directory / file)[0]
        for name in placed:
            if name not in found:
                raise ValueError(f"model.safetensors.index.json places {name} in {file}: expected it in that file")
        for name in found:
            if name in arrays:
                raise ValueError(f"{origin[name]} and {file} both have {name}: expected it in one file")
        arrays |= found
        origin |= dict.fromkeys(found, file)
    return config, {
        name: array.astype(np.float32) if array.dtype == np.float16 else array for name, array in arrays.items()
    }


def _refusal(config: dict[str, Any], key: str, expected: str) -> ValueError:
    """The error for a setting of config.json; its value is cut short, because a file can hold any."""
    return ValueError(f"config.json: {key}={reprlib.repr(config.get(key))}: expected {expected}")


def setting(config: dict[str, Any], key: str, default: Any = None) -> Any:
    """A setting of config.json; KeyError's place is taken by a ValueError that names the key."""
    value = config.get(key, default)
    if value is None:
        raise ValueError(f"config.json has no {key!r}")
    return value


def require(config: dict[str, Any], **expected: Any) -> None:
    """Raise ValueError unless each setting is absent or has the only value that the course's model knows."""
    for key, value in expected.items():
        if config.get(key, value) != value:
            raise _refusal(config, key, repr(value))


def _size(config: dict[str, Any], key: str, default: int | None = None) -> int:
    """A setting of config.json that must be a positive whole number."""
    value = setting(config, key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _refusal(config, key, "a positive whole number")
    return value


def _eps(config: dict[str, Any], key: str, default: float) -> float:
    """A setting of config.json that must be a positive number, and below 1, as a LayerNorm wants it."""
    value = setting(config, key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise _refusal(config, key, "a number above 0 and below 1")
    return value


def _check_heads(config: dict[str, Any], heads: str, width: str) -> None:
    """Raise ValueError unless the heads, a key of config.json, share the width, another key, evenly."""
    if config[width] % config[heads]:
        raise _refusal(config, heads, f"a divisor of {width}={reprlib.repr(config[width])}")


def _check_layers(config: dict[str, Any], key: str, arrays: dict[str, np.ndarray], prefix: str) -> None:
    """Raise ValueError unless config.json has as many layers as the arrays; behind the prefix stands the layer."""
    found = {name.removeprefix(prefix).split(".")[0] for name in arrays if name.startswith(prefix)}
    if config[key] != len(found):
        raise _refusal(config, key, f"{len(found)}, the number of layers in the weights")


def _check_sizes(config: dict[str, Any], arrays: dict[str, np.ndarray], sizes: dict[str, tuple[int, str, int]]) -> None:
    """Raise ValueError unless the sizes of config.json, given as key -> (size, name of array, axis), are the arrays'.

    An array that is missing, or not a matrix, is skipped: `match` names it.
    """
    for key, (size, name, axis) in sizes.items():
        shape = arrays[name].shape if name in arrays else ()
        if len(shape) == 2 and shape[axis] != size:
            raise _refusal(config, key, f"{shape[axis]}, because {name} has shape {shape}")


def _renamed(arrays: dict[str, np.ndarray], prefix: str, replaced: dict[str, str]) -> dict[str, np.ndarray]:
    """The arrays without the prefix that a name may have, and with parts of names replaced; no two may get one name."""
    found, origin = {}, {}
    for name, array in arrays.items():
        new = name.removeprefix(prefix)
        for old_part, new_part in replaced.items():
            new = new.replace(old_part, new_part)
        if new in found:
            raise ValueError(f"the weights have both {origin[new]} and {name}: expected one of them")
        found[new], origin[new] = array, name
    return found


# BERT: Hugging Face's names -> the course's. A kernel is stored as (out, in) there, and is (in, out) here.

_BERT_EMBEDDINGS = {
    "embeddings.word_embeddings.weight": "embedding.tokens.embeddings",
    "embeddings.position_embeddings.weight": "embedding.positions",
    "embeddings.token_type_embeddings.weight": "embedding.segments.embeddings",
}
_BERT_BLOCK = {
    "attention.self.query": "attention.query",
    "attention.self.key": "attention.key",
    "attention.self.value": "attention.value",
    "attention.output.dense": "attention.output",
    "attention.output.LayerNorm": "attention_residual.norm",
    "intermediate.dense": "feed_forward.expand",
    "output.dense": "feed_forward.contract",
    "output.LayerNorm": "feed_forward_residual.norm",
}
_BERT_HEAD = {"cls.predictions.transform.dense": "head.transform", "cls.predictions.transform.LayerNorm": "head.norm"}
# The arguments of the course's BERTModel -> the settings of config.json; those that an old file may lack, with their values then.
_BERT_ARGUMENTS = {
    "d_model": "hidden_size",
    "num_heads": "num_attention_heads",
    "d_ff": "intermediate_size",
    "vocab_size": "vocab_size",
    "max_length": "max_position_embeddings",
    "num_layers": "num_hidden_layers",
}
_BERT_DEFAULTS = {
    "pad_id": ("pad_token_id", 0),
    "num_segments": ("type_vocab_size", 2),
    "eps": ("layer_norm_eps", 1e-12),
}
_BERT_DECODER = "cls.predictions.decoder"
# What a directory may hold beside the weights: constants, the head of the next-sentence task, copies of what is tied.
_BERT_IGNORED = re.compile(
    r"embeddings\.(position_ids|token_type_ids)|cls\.seq_relationship\..*|cls\.predictions\.decoder\.(weight|bias)"
)


def _bert_names(num_layers: int, pooler: bool) -> dict[str, str]:
    """Hugging Face's name without the prefix "bert." -> the course's, of every weight."""
    parts = {"embeddings.LayerNorm": "embedding.norm"}
    for i in range(num_layers):
        parts |= {f"encoder.layer.{i}.{theirs}": f"encoder.blocks.{i}.{ours}" for theirs, ours in _BERT_BLOCK.items()}
    parts |= _BERT_HEAD | ({"pooler.dense": "pooler.dense"} if pooler else {})
    names = _BERT_EMBEDDINGS | {"cls.predictions.bias": "head.bias"}
    for theirs, ours in parts.items():
        pair = ("gamma", "beta") if theirs.endswith("LayerNorm") else ("kernel", "bias")
        names |= {f"{theirs}.{part}": f"{ours}.{own}" for part, own in zip(("weight", "bias"), pair)}
    return names


def _bert_shapes(arguments: dict[str, Any], pooler: bool) -> dict[str, tuple[int, ...]]:
    """Hugging Face's name without the prefix "bert." -> the shape that the arguments of `BERTModel` give the weight."""
    d_model, d_ff, vocab_size = arguments["d_model"], arguments["d_ff"], arguments["vocab_size"]
    shapes = {}
    for theirs, ours in _bert_names(arguments["num_layers"], pooler).items():
        inputs = d_ff if ".contract." in ours else d_model
        outputs = d_ff if ".expand." in ours else d_model
        shapes[theirs] = (outputs, inputs) if ours.endswith("kernel") else (outputs,)
    lengths = (vocab_size, arguments["max_length"], arguments["num_segments"])
    shapes |= {name: (length, d_model) for name, length in zip(_BERT_EMBEDDINGS, lengths)}
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
    arguments = {ours: _size(config, theirs) for ours, theirs in _BERT_ARGUMENTS.items()}
    _check_heads(config, "num_attention_heads", "hidden_size")
    pad_id, vocab_size = setting(config, *_BERT_DEFAULTS["pad_id"]), arguments["vocab_size"]
    if isinstance(pad_id, bool) or not isinstance(pad_id, int) or not 0 <= pad_id < vocab_size:
        raise _refusal(config, "pad_token_id", f"an id below vocab_size={reprlib.repr(vocab_size)}")
    segments, eps = _size(config, *_BERT_DEFAULTS["num_segments"]), _eps(config, *_BERT_DEFAULTS["eps"])
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
    renamed = _renamed(arrays, "bert.", old_names)
    if f"{_BERT_DECODER}.bias" in renamed:
        renamed.setdefault("cls.predictions.bias", renamed[f"{_BERT_DECODER}.bias"])
    _check_layers(config, "num_hidden_layers", renamed, "encoder.layer.")
    words, positions, segments = _BERT_EMBEDDINGS
    _check_sizes(
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
    shapes = _bert_shapes(arguments, pooler)
    headless = [name for name in shapes if name.startswith("cls.") and name not in renamed]
    if headless:
        raise ValueError(
            f"the weights have no {', '.join(headless)}: expected a BERT with the head that predicts tokens"
            " (BertForMaskedLM or BertForPreTraining)"
        )
    left_out = re.compile(_BERT_IGNORED.pattern + ("" if pooler else r"|pooler\.dense\..*"))
    match(shapes, {name: array for name, array in renamed.items() if not left_out.fullmatch(name)}, "the weights")
    for copy, name in ((f"{_BERT_DECODER}.weight", words), (f"{_BERT_DECODER}.bias", "cls.predictions.bias")):
        if copy in renamed and not np.array_equal(renamed[copy], renamed[name], equal_nan=True):
            raise ValueError(f"{copy} differs from {name}: expected a tied output")
    names = _bert_names(arguments["num_layers"], pooler)
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


# The arguments of the course's GPTModel -> the settings of config.json.
_GPT2_ARGUMENTS = {
    "d_model": "n_embd",
    "num_heads": "n_head",
    "d_ff": "n_inner",
    "vocab_size": "vocab_size",
    "max_length": "n_positions",
    "num_layers": "n_layer",
    "eps": "layer_norm_epsilon",
}


def _gpt2_places(arguments: dict[str, Any]) -> tuple[dict[str, str], dict[str, tuple[int, ...]]]:
    """Hugging Face's name without the prefix "transformer." -> the course's, with query, key and value in one; and -> the shape."""
    d_model, d_ff, vocab_size = arguments["d_model"], arguments["d_ff"], arguments["vocab_size"]
    shapes = {"wte.weight": (vocab_size, d_model), "wpe.weight": (arguments["max_length"], d_model)}
    shapes |= {"ln_f.weight": (d_model,), "ln_f.bias": (d_model,)}
    names = {"wte.weight": "embedding.tokens.embeddings", "wpe.weight": "embedding.positions"}
    names |= {"ln_f.weight": "norm.gamma", "ln_f.bias": "norm.beta"}
    for i in range(arguments["num_layers"]):
        for theirs, ours in (("ln_1", "attention_residual.norm"), ("ln_2", "feed_forward_residual.norm")):
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
        raise _refusal(config, "activation_function", "'gelu_new'")
    d_model, num_layers, vocab_size = (_size(config, key) for key in ("n_embd", "n_layer", "vocab_size"))
    d_ff = 4 * d_model if config.get("n_inner") is None else _size(config, "n_inner")
    # An old file may have the first name only.
    positions = "n_ctx" if "n_ctx" in config and "n_positions" not in config else "n_positions"
    max_length = _size(config, positions)
    arguments = {
        "d_model": d_model,
        "num_heads": _size(config, "n_head"),
        "d_ff": d_ff,
        "vocab_size": vocab_size,
        "max_length": max_length,
        "num_layers": num_layers,
        "pad_id": None,  # its vocabulary has none: id 0 is "!"
        "eps": _eps(config, "layer_norm_epsilon", 1e-5),
    }
    _check_heads(config, "n_head", "n_embd")
    arrays = _renamed(arrays, "transformer.", {})
    # Buffers of old files hold the causal mask, and a head that is tied is the table once more.
    arrays = {name: array for name, array in arrays.items() if not name.endswith((".attn.bias", ".attn.masked_bias"))}
    head = arrays.pop("lm_head.weight", None)
    _check_layers(config, "n_layer", arrays, "h.")
    _check_sizes(
        config,
        arrays,
        {
            "vocab_size": (vocab_size, "wte.weight", 0),
            "n_embd": (d_model, "wte.weight", 1),
            positions: (max_length, "wpe.weight", 0),
            "n_inner": (d_ff, "h.0.mlp.c_fc.weight", 1),
        },
    )
    names, shapes = _gpt2_places(arguments)
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


def write_bert(path: str | os.PathLike, arguments: dict[str, Any], weights: dict[str, np.ndarray]) -> None:
    """Write a BERT directory that Hugging Face's `BertForMaskedLM.from_pretrained` reads: the inverse of `read_bert`.

    Args:
        path: the directory; it is made if it does not exist.
        arguments: of the `BERTModel`, as `bert_arguments` gives them.
        weights: of the model, by the course's names, as `shared.weights.get_weights` gives them; a pooler's are left out.

    Raises:
        ValueError: if an argument is missing, or the weights are not those of such a model.
    """
    check_entries((*_BERT_ARGUMENTS, *_BERT_DEFAULTS), arguments=arguments)
    config = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_act": "gelu"}
    config |= {_BERT_ARGUMENTS[name]: arguments[name] for name in _BERT_ARGUMENTS}
    config |= {_BERT_DEFAULTS[name][0]: arguments[name] for name in _BERT_DEFAULTS}
    names = _bert_names(arguments["num_layers"], pooler=False)
    check_entries(tuple(names.values()), weights=weights)
    arrays = {theirs: weights[ours].T if ours.endswith("kernel") else weights[ours] for theirs, ours in names.items()}
    prefixed = {name if name.startswith("cls.") else f"bert.{name}": array for name, array in arrays.items()}
    _write_model(path, config, prefixed)


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
    check_entries(tuple(_GPT2_ARGUMENTS), arguments=arguments)
    if tokenizer.get_vocab_size() != arguments["vocab_size"]:
        raise ValueError(
            f"tokenizer has {tokenizer.get_vocab_size()} tokens: expected vocab_size={arguments['vocab_size']}"
        )
    end_id = tokenizer.token_to_id("<end>")
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new"}
    config |= {theirs: arguments[ours] for ours, theirs in _GPT2_ARGUMENTS.items()}
    config |= {"bos_token_id": end_id, "eos_token_id": end_id, "tie_word_embeddings": True, "dtype": "float16"}
    names, _ = _gpt2_places(arguments)
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
    files = {"tokenizer.json": tokenizer.to_str(pretty=True), "tokenizer_config.json": json.dumps(settings, indent=2)}
    _write_model(path, config, arrays, files)


def _write_model(
    path: str | os.PathLike, config: dict[str, Any], arrays: dict[str, np.ndarray], files: dict[str, str] | None = None
) -> None:
    """Write a directory that `read_pretrained` reads, and files of text beside it; each file whole or not at all."""
    directory = Path(path)
    directory.mkdir(parents=True, exist_ok=True)
    contents = {name: text.encode() for name, text in (files or {}).items()}
    contents["config.json"] = json.dumps(config, indent=2).encode()
    contents["model.safetensors"] = safetensors.numpy.save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata={"format": "pt"}
    )
    for name, data in contents.items():
        write_whole(directory / name, data)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file: whole or not at all."""
    aside = path.with_name(path.name + ".part")
    aside.write_bytes(data)
    os.replace(aside, path)


def read_tokenizer(path: str | os.PathLike) -> Tokenizer:
    """The tokenizer of a Hugging Face model directory, from its tokenizer.json.

    Raises:
        FileNotFoundError: if there is no such directory, or it has no tokenizer.json.
        ValueError: if the file is truncated or foreign.
    """
    file = Path(path) / "tokenizer.json"
    read_json(file)
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing narrower
        raise ValueError(f"tokenizer.json is no tokenizer: {error}") from error
