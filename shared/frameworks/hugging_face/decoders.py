"""Modern decoders of nine families: their settings as one record, their weights one at a time, their tokenizers.

A kernel is stored as (out, in) there, and is (in, out) here. A model can be larger than the memory that is left, so its
files are checked by their headers, and each weight is then read alone.
"""

import json
import math
import os
import reprlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
from tokenizers import Tokenizer, processors

from shared.checks import check_choice, check_entries
from shared.files import check_path
from shared.frameworks.hugging_face.files import _files, read_json, read_tokenizer
from shared.frameworks.hugging_face.settings import check_heads, eps_of, refusal, setting, size_of

# What a family's config.json does not say. The arguments of ModernConfig, where they are not those of Llama:
_LLAMA = {
    "rotation": 1, "gated": True, "norms": "before", "norm_gain": "w", "norm_embedding": False, "qk_norm": None,
}  # fmt: skip
_FAMILIES = {
    "llama": {},
    "mistral": {},
    "qwen3": {"qk_norm": "head"},
    "smollm3": {},
    "gemma2": {"norms": "both", "norm_gain": "1 + w"},
    "gemma3_text": {"norms": "both", "norm_gain": "1 + w", "qk_norm": "head"},
    "olmo2": {"norms": "after", "qk_norm": "all"},
    "olmo3": {"norms": "after", "qk_norm": "all"},
    "nanochat": {
        "rotation": -1, "gated": False, "norm_gain": "none", "norm_embedding": True, "qk_norm": "head after rotation",
    },
}  # fmt: skip

# The values of keys that a config.json lacks: those of transformers' configuration classes (5.23).
_PLAIN = {
    "num_key_value_heads": None, "head_dim": None, "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1e4,
    "tie_word_embeddings": False,
}  # fmt: skip
_GEMMA = {
    "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8,
    "num_key_value_heads": 4, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256,
    "sliding_window": 4096, "tie_word_embeddings": True,
}  # fmt: skip
_LARGE = {
    "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
    "max_position_embeddings": 2048,
}  # fmt: skip
_DEFAULTS = {
    "llama": _LARGE | {"vocab_size": 32000},
    "mistral": _LARGE | {
        "vocab_size": 32000, "intermediate_size": 14336, "num_key_value_heads": 8, "max_position_embeddings": 131072,
        "sliding_window": 4096,
    },
    "qwen3": _LARGE | {
        "vocab_size": 151936, "intermediate_size": 22016, "num_key_value_heads": 32, "head_dim": 128,
        "max_position_embeddings": 32768, "use_sliding_window": False, "sliding_window": 4096, "max_window_layers": 28,
    },
    "smollm3": {
        "vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
        "num_attention_heads": 16, "num_key_value_heads": 4, "max_position_embeddings": 32768, "rope_theta": 2e6,
        "use_sliding_window": False, "sliding_window": None, "no_rope_layer_interval": 4, "tie_word_embeddings": True,
    },
    "gemma2": _GEMMA | {
        "vocab_size": 256000, "max_position_embeddings": 8192, "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
    },
    "gemma3_text": _GEMMA | {
        "vocab_size": 262208, "max_position_embeddings": 131072, "sliding_window_pattern": 6, "rope_theta": 1e6,
        "rope_local_base_freq": 1e4, "attn_logit_softcapping": None, "final_logit_softcapping": None,
    },
    "olmo2": _LARGE | {"vocab_size": 50304, "rms_norm_eps": 1e-5},
    "olmo3": _LARGE | {"vocab_size": 50304, "rms_norm_eps": 1e-5, "rope_theta": 5e5, "sliding_window": 4096},
    "nanochat": {
        "vocab_size": 50304, "hidden_size": 768, "intermediate_size": 8192, "num_hidden_layers": 12,
        "num_attention_heads": 6, "max_position_embeddings": 2048, "hidden_act": "relu2",
        "final_logit_softcapping": 15.0,
    },
}  # fmt: skip

# Settings that the course's decoder has no code for: the value that it takes, beside none, and what the error expects.
_ONLY = {
    "quantization_config": (None, "weights that are not quantized"),
    "attention_bias": (False, "False: projections without a bias"),
    "mlp_bias": (False, "False: projections without a bias"),
    "use_bidirectional_attention": (False, "False: causal attention"),
    "pretraining_tp": (1, "1"),
    "partial_rotary_factor": (1, "1: all of a head is turned"),
}
_ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh", "relu2": "relu_squared",
}  # fmt: skip
# The ways to stretch RoPE: what each needs, and what it may have.
_SCALINGS = {
    "linear": (("factor",), ()),
    "llama3": (("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"), ()),
    "yarn": (
        ("factor", "original_max_position_embeddings"),
        ("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    ),
}
_FULL, _SLIDING = "full_attention", "sliding_attention"
_MOST = 2**31 - 1  # no size is larger, and all arithmetic with it is exact


def _size_up_to(config: dict[str, Any], key: str, most: int = _MOST) -> int:
    """A size, with an upper limit: config.json costs no more memory than its own."""
    size = size_of(config, key)
    if size > most:
        raise refusal(config, key, f"at most {most}")
    return size


def _number_of(config: dict[str, Any], key: str, above: float = 0, where: str = "") -> float:
    """A setting that must be a number; `where` is the object of config.json that has it."""
    value = config.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not above < value <= sys.float_info.max:
        raise refusal({where + key: value}, where + key, f"a number above {above}")
    return value


def _choice_of(config: dict[str, Any], key: str, choices: Any, where: str = "") -> Any:
    """A setting that must be one of the choices, of their type, too: in Python, 1 is True."""
    value = config.get(key)
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise refusal({where + key: value}, where + key, f"one of {', '.join(map(repr, choices))}")
    return value


def _listed(config: dict[str, Any], key: str, choices: tuple, num_layers: int, more: bool = False) -> list | None:
    """A setting that, if it is there, must be a list with a choice for each layer; or, if it may, for more."""
    value = config.get(key)
    if value is None:
        return None
    fits = isinstance(value, list) and (len(value) == num_layers or (more and len(value) > num_layers))
    if not fits or any(item not in choices for item in value):
        raise refusal(config, key, f"a list of {num_layers}, each one of {', '.join(map(repr, choices))}")
    return value[:num_layers]


def _object_of(config: dict[str, Any], key: str) -> dict[str, Any]:
    """A setting that must be an object or absent."""
    value = config.get(key)
    if value is not None and not isinstance(value, dict):
        raise refusal(config, key, "an object")
    return value or {}


def _turned(config: dict[str, Any], num_layers: int) -> list[bool]:
    """Of each layer, whether it has RoPE: SmolLM3's has not in one of four, where the list `no_rope_layers` says 0."""
    if config["model_type"] != "smollm3":
        return [True] * num_layers
    stated = _listed(config, "no_rope_layers", (0, 1), num_layers, more=True)
    if stated is not None:
        return [bool(each) for each in stated]
    interval = _size_up_to(config, "no_rope_layer_interval")
    return [(i + 1) % interval != 0 for i in range(num_layers)]


def _windows(config: dict[str, Any], turned: list[bool]) -> list[int | None]:
    """Of each layer, how many keys a query sees: itself and those just before it; None stands for all."""
    family, num_layers = config["model_type"], len(turned)
    if "sliding_window" not in _DEFAULTS[family]:
        return [None] * num_layers
    window = config["sliding_window"]
    if family in ("qwen3", "smollm3") and not _choice_of(config, "use_sliding_window", (True, False)):
        window = None
    types = None if family == "mistral" else _listed(config, "layer_types", (_FULL, _SLIDING), num_layers)
    if types is not None:
        slides = [layer_type == _SLIDING for layer_type in types]
    elif family in ("gemma2", "gemma3_text", "olmo3"):  # the last of each so many layers sees all
        period = {"gemma2": 2, "olmo3": 4}.get(family) or _size_up_to(config, "sliding_window_pattern")
        slides = [(i + 1) % period != 0 for i in range(num_layers)]
    elif window is None:
        slides = [False] * num_layers
    elif family == "qwen3":
        first = setting(config, "max_window_layers")
        if isinstance(first, bool) or not isinstance(first, int):
            raise refusal(config, "max_window_layers", "a whole number")
        slides = [i >= first for i in range(num_layers)]
    elif family == "smollm3":
        slides = [not each for each in turned]
    else:
        slides = [True] * num_layers
    if any(slides):
        if window is None:
            config = config | {"sliding_window": None}  # it may not be used
            raise refusal(config, "sliding_window", "a positive whole number, because there are layers with a window")
        window = _size_up_to(config, "sliding_window")
    return [window if each else None for each in slides]


def _rotation(config: dict[str, Any], layer_type: str) -> tuple[float, dict[str, Any] | None]:
    """RoPE's base and scaling in the layers of one type.

    New files have `rope_parameters`, flat or by the type of the layer; older ones `rope_theta` and `rope_scaling`. Gemma 3
    and OLMo 3 apply the latter to their full layers only; the base of Gemma 3's others is `rope_local_base_freq`.
    """
    by_type = config["model_type"] in ("gemma3_text", "olmo3")
    stated, older = _object_of(config, "rope_parameters"), _object_of(config, "rope_scaling")
    where = "rope_scaling." if older else "rope_parameters."
    if _FULL in stated or _SLIDING in stated:
        stated = _object_of(stated, layer_type)
        where = "rope_scaling." if older else f"rope_parameters.{layer_type}."
    elif stated and by_type:  # transformers, too, computes with none of it
        raise refusal(config, "rope_parameters", f"an object with {_FULL} and {_SLIDING}")
    if older and not by_type:
        stated = older
    elif older and layer_type == _FULL:
        stated = stated | older
    if "rope_theta" in stated:
        theta = _number_of(stated, "rope_theta", above=1, where=where)
    else:
        local = config["model_type"] == "gemma3_text" and layer_type == _SLIDING
        theta = _number_of(config, "rope_local_base_freq" if local else "rope_theta", above=1)
    if stated.get("partial_rotary_factor") not in (None, 1):
        name = where + "partial_rotary_factor"
        raise refusal({name: stated["partial_rotary_factor"]}, name, _ONLY["partial_rotary_factor"][1])
    return float(theta), _scaling(stated, config, where)


def _scaling(stated: dict[str, Any], config: dict[str, Any], where: str) -> dict[str, Any] | None:
    """How RoPE is stretched, with the keys that count, or None."""
    key = "type" if "type" in stated and "rope_type" not in stated else "rope_type"
    if stated.get(key, "default") == "default":
        return None
    kind = _choice_of(stated, key, ("default", *_SCALINGS), where)
    needed, optional = _SCALINGS[kind]
    stated = {"original_max_position_embeddings": config["max_position_embeddings"]} | stated
    scaling = {"rope_type": kind} | {name: _number_of(stated, name, where=where) for name in needed}
    for name in optional:
        if stated.get(name) is None:
            continue
        if name == "truncate":
            scaling[name] = _choice_of(stated, name, (True, False), where)
        else:
            scaling[name] = _number_of(stated, name, where=where)
    if kind == "llama3":
        _number_of(stated, "high_freq_factor", above=scaling["low_freq_factor"], where=where)
    return scaling


def _settings(config: dict[str, Any]) -> dict[str, Any]:
    """A config.json with a value for each key that it lacks; ValueError for a family or a setting that is not known."""
    family = config.get("model_type")
    if config.get("text_config") is not None:
        raise ValueError(
            f"config.json: model_type={reprlib.repr(family)} has a text_config, a model in a model: expected the"
            " config.json of the text model, such as that text_config"
        )
    if not isinstance(family, str) or family not in _FAMILIES:
        raise refusal(config, "model_type", f"one of {', '.join(map(repr, _FAMILIES))}")
    for key, (value, expected) in _ONLY.items():
        if config.get(key) not in (None, value):
            raise refusal(config, key, expected)
    config = _PLAIN | _DEFAULTS[family] | config
    for key in ("hidden_size", "num_attention_heads"):
        _size_up_to(config, key)
    if config["num_key_value_heads"] is None:
        config["num_key_value_heads"] = config["num_attention_heads"]
    if config["head_dim"] is None:
        check_heads(config, "num_attention_heads", "hidden_size")
        config["head_dim"] = config["hidden_size"] // config["num_attention_heads"]
    _size_up_to(config, "num_key_value_heads")
    check_heads(config, "num_key_value_heads", "num_attention_heads")
    if _size_up_to(config, "head_dim") % 2:
        expected = "an even number, because RoPE turns pairs; without it, hidden_size / num_attention_heads is meant"
        raise refusal(config, "head_dim", expected)
    return config


def read_decoder(path: str | os.PathLike) -> dict[str, Any]:
    """The arguments of `ModernConfig` that the config.json of a directory stands for.

    A key that is absent has the value that transformers gives it.

    Raises:
        FileNotFoundError: if there is no such directory, or it has no config.json.
        ValueError: if the model is of another family, or a setting has a value that is no such setting's, or one that
            the course's decoder has no code for.
    """
    check_path(path=path)
    config = _settings(read_json(Path(path) / "config.json"))
    family = config["model_type"]
    gemma = family.startswith("gemma")
    d_model, head_dim, max_length = (
        _size_up_to(config, key) for key in ("hidden_size", "head_dim", "max_position_embeddings")
    )
    turned = _turned(config, _size_up_to(config, "num_hidden_layers", most=1000))
    windows = _windows(config, turned)
    # The base belongs to the type of the layer. Only Gemma 3 and OLMo 3 have two.
    rotations = [_rotation(config, _FULL if window is None else _SLIDING) for window in windows]
    activation = "hidden_activation" if gemma else "hidden_act"
    squared = _ACTIVATIONS[_choice_of(config, activation, tuple(_ACTIVATIONS))] == "relu_squared"
    if squared != (family == "nanochat"):
        raise refusal(
            config, activation, "'relu2' in nanochat, whose feed-forward network has no gate, and nowhere else"
        )
    caps = {"score_cap": None, "logit_cap": None}
    for name, key in (("score_cap", "attn_logit_softcapping"), ("logit_cap", "final_logit_softcapping")):
        if key in _DEFAULTS[family] and config[key] is not None:
            caps[name] = float(_number_of(config, key))
    if family == "gemma3_text" and caps["score_cap"] is not None:
        raise refusal(config, "attn_logit_softcapping", "None: Gemma 3's scores have no cap")
    return _LLAMA | _FAMILIES[family] | caps | {
        "vocab_size": _size_up_to(config, "vocab_size"),
        "d_model": d_model,
        "num_heads": config["num_attention_heads"],
        "num_kv_heads": config["num_key_value_heads"],
        "head_dim": head_dim,
        "d_ff": _size_up_to(config, "intermediate_size"),
        "max_length": max_length,
        "windows": tuple(windows),
        "thetas": tuple(theta if each else None for each, (theta, _) in zip(turned, rotations)),
        "scalings": tuple(scaling if each else None for each, (_, scaling) in zip(turned, rotations)),
        "eps": eps_of(config, "rms_norm_eps", _PLAIN["rms_norm_eps"]),
        "activation": _ACTIVATIONS[_choice_of(config, activation, tuple(_ACTIVATIONS))],
        "score_scale": (_number_of(config, "query_pre_attn_scalar") if gemma else head_dim) ** -0.5,
        "embedding_scale": math.sqrt(d_model) if gemma else 1.0,
        "tied": _choice_of(config, "tie_word_embeddings", (True, False)),
    }  # fmt: skip


# The weights

# transformers' name of a norm -> the course's. One name, `post_attention_layernorm`, stands for two of them.
_NORMS = {
    "before": {"input_layernorm": "attention_norm", "post_attention_layernorm": "feed_forward_norm"},
    "after": {
        "post_attention_layernorm": "attention_post_norm",
        "post_feedforward_layernorm": "feed_forward_post_norm",
    },
    "both": {
        "input_layernorm": "attention_norm",
        "post_attention_layernorm": "attention_post_norm",
        "pre_feedforward_layernorm": "feed_forward_norm",
        "post_feedforward_layernorm": "feed_forward_post_norm",
    },
}
_TABLE, _HEAD = "model.embed_tokens.weight", "lm_head.weight"
# The dtypes that a file may have, as NumPy reads them; it has no bfloat16, which is the upper half of a float32.
_SOURCES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_AT_ONCE = 2**16  # numbers that are turned from one dtype into another at a time
_SHOWN = 12  # faults in a message; a foreign file can have thousands


class _Tensor(NamedTuple):
    """Where a tensor is: in which file, from which byte on."""

    file: Path
    dtype: str
    shape: tuple[int, ...]
    start: int


def _their_names(arguments: dict[str, Any]) -> tuple[dict[str, str], dict[str, tuple[int, ...]]]:
    """transformers' name -> the course's; and -> the shape there."""
    d_model, d_ff, head_dim = arguments["d_model"], arguments["d_ff"], arguments["head_dim"]
    queries, keys = arguments["num_heads"] * head_dim, arguments["num_kv_heads"] * head_dim
    block = {
        "self_attn.q_proj": ("attention.query", (queries, d_model)),
        "self_attn.k_proj": ("attention.key", (keys, d_model)),
        "self_attn.v_proj": ("attention.value", (keys, d_model)),
        "self_attn.o_proj": ("attention.output", (d_model, queries)),
    }
    if arguments["gated"]:
        block["mlp.gate_proj"] = ("feed_forward.gate", (d_ff, d_model))
    expand, contract = ("mlp.up_proj", "mlp.down_proj") if arguments["gated"] else ("mlp.fc1", "mlp.fc2")
    block[expand] = ("feed_forward.expand", (d_ff, d_model))
    block[contract] = ("feed_forward.contract", (d_model, d_ff))
    if arguments["norm_gain"] != "none":
        block |= {theirs: (ours, (d_model,)) for theirs, ours in _NORMS[arguments["norms"]].items()}
        if arguments["qk_norm"] is not None:
            whole = arguments["qk_norm"] == "all"
            block["self_attn.q_norm"] = ("attention.query_norm", (queries if whole else head_dim,))
            block["self_attn.k_norm"] = ("attention.key_norm", (keys if whole else head_dim,))
    names, shapes = {_TABLE: "tokens.embeddings"}, {_TABLE: (arguments["vocab_size"], d_model)}
    for i in range(len(arguments["windows"])):
        for theirs, (ours, shape) in block.items():
            name = f"model.layers.{i}.{theirs}.weight"
            names[name] = f"blocks.{i}.{ours}.{'kernel' if len(shape) == 2 else 'gamma'}"
            shapes[name] = shape
    if arguments["norm_gain"] != "none":
        names["model.norm.weight"], shapes["model.norm.weight"] = "norm.gamma", (d_model,)
    if not arguments["tied"]:
        names[_HEAD], shapes[_HEAD] = "output.kernel", (arguments["vocab_size"], d_model)
    return names, shapes


def _header(path: Path) -> dict[str, _Tensor]:
    """The tensors of a safetensors file, none of which is read."""
    try:
        with safetensors.safe_open(path, framework="numpy"):
            pass  # it has compared the header with itself and with the length of the file
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            entries = json.loads(file.read(length))
    except (safetensors.SafetensorError, ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is truncated or no safetensors file: {error}") from error
    return {
        name: _Tensor(path, entry["dtype"], tuple(entry["shape"]), 8 + length + entry["data_offsets"][0])
        for name, entry in entries.items()
        if name != "__metadata__"
    }


def _shown(faults: list[str], separator: str = "; ") -> str:
    """The first of them, and how many there are more."""
    more = f"{separator}and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
    return separator.join(faults[:_SHOWN]) + more


def _tensors(directory: Path, shapes: dict[str, tuple[int, ...]], tied: bool) -> dict[str, _Tensor]:
    """Each weight by its name in the files, whose headers are compared with each other and with the shapes."""
    files = _files(directory)
    lost = [
        f"{file}, which should have {_shown(placed, ', ')}"
        for file, placed in files.items()
        if not (directory / file).is_file()
    ]
    if lost:
        raise FileNotFoundError(f"{directory.name} has no {_shown(lost)}")
    found, wrong = {}, []
    for file, placed in files.items():
        header = _header(directory / file)
        wrong += [
            f"model.safetensors.index.json places {name} in {file}, which does not have it"
            for name in placed
            if name not in header
        ]
        for name, tensor in header.items():
            if name in found:
                wrong.append(f"{found[name].file.name} and {file} both have {name}")
            # A buffer of old files: RoPE's frequencies, which follow from the settings.
            if not name.endswith(".rotary_emb.inv_freq"):
                found[name] = tensor
    known = shapes | ({_HEAD: shapes[_TABLE]} if tied else {})
    wrong += [f"missing: {name}" for name in shapes if name not in found]
    for name, tensor in found.items():
        expected = known.get(name)
        if expected is None:
            wrong.append(f"unexpected: {name} in {tensor.file.name}")
        elif tensor.shape != expected:
            wrong.append(f"{name} in {tensor.file.name} has shape {tensor.shape}, expected {expected}")
        elif tensor.dtype not in _SOURCES:
            wrong.append(
                f"{name} in {tensor.file.name} has dtype {tensor.dtype}, expected one of {', '.join(_SOURCES)}"
            )
    if wrong:
        raise ValueError(f"the weights do not fit the model of config.json: {_shown(wrong)}")
    return found


def _stored(tensor: _Tensor, first: int = 0, count: int | None = None) -> np.ndarray:
    """Numbers of a tensor as the file has them, in one dimension: all of them, or `count` from the first on."""
    dtype = np.dtype(_SOURCES[tensor.dtype])
    count = math.prod(tensor.shape) - first if count is None else count
    numbers = np.fromfile(tensor.file, dtype, count, offset=tensor.start + first * dtype.itemsize)
    if len(numbers) != count:
        raise ValueError(f"{tensor.file.name} has become shorter since its header was read")
    return numbers


def _as_floats(numbers: np.ndarray) -> np.ndarray:
    """Numbers of a file that NumPy can compute with: bfloat16's bits become those of a float32."""
    if numbers.dtype.kind == "f":
        return numbers
    bits = numbers.astype(np.uint32)
    bits <<= 16
    return bits.view(np.float32)


def _read_array(tensor: _Tensor, dtype: str, kernel: bool) -> np.ndarray:
    """A tensor as an array of its own, a kernel as (in, out); beside it, only its bytes of the file are in memory."""
    stored = _stored(tensor).reshape(tensor.shape)
    array = np.empty(tensor.shape[::-1] if kernel else tensor.shape, dtype)
    target = array.T if kernel else array
    rows = max(1, _AT_ONCE // math.prod(tensor.shape[1:]))
    for first in range(0, len(stored), rows):
        target[first : first + rows] = _as_floats(stored[first : first + rows])
    return array


def _check_tied(head: _Tensor, table: _Tensor) -> None:
    """Raise ValueError unless the output's weights, which a tied model need not have, are the table once more."""
    for first in range(0, math.prod(table.shape), _AT_ONCE):
        count = min(_AT_ONCE, math.prod(table.shape) - first)
        one, other = (_as_floats(_stored(tensor, first, count)) for tensor in (head, table))
        if not np.array_equal(one, other, equal_nan=True):
            raise ValueError(
                f"{_HEAD} in {head.file.name} differs from {_TABLE}: expected the same, because"
                " tie_word_embeddings=True"
            )


def decoder_weights(
    path: str | os.PathLike, arguments: dict[str, Any], dtype: str = "float32"
) -> Iterator[tuple[str, np.ndarray]]:
    """The weights of a decoder by the course's names and in its layout, read one at a time.

    The call checks all files, before a weight is read: what the iterator gives fits the model.

    Args:
        path: the directory, with model.safetensors, or model.safetensors.index.json and the files that it names.
        arguments: of `ModernConfig`, as `read_decoder(path)` gives them.
        dtype: "float32" or "float64", of the arrays; the files may have float32, float16 or bfloat16.

    Raises:
        FileNotFoundError: if there is no such directory, or it lacks a file.
        ValueError: if a file is truncated or foreign, or is a pickle; if a tensor is missing, unexpected, mis-shaped,
            of another dtype, in two files or not where the index places it; or if a tied output differs from the table.
    """
    check_path(path=path)
    check_choice(("float32", "float64"), dtype=dtype)
    needed = ("vocab_size", "d_model", "num_heads", "num_kv_heads", "head_dim", "d_ff", "windows")
    check_entries((*needed, "gated", "norms", "norm_gain", "qk_norm", "tied"), arguments=arguments)
    directory = Path(path)
    if not directory.is_dir():
        raise FileNotFoundError(f"path={directory.name!r}: no such directory")
    names, shapes = _their_names(arguments)
    tensors = _tensors(directory, shapes, arguments["tied"])
    if arguments["tied"] and _HEAD in tensors:
        _check_tied(tensors[_HEAD], tensors[_TABLE])
    return (
        (ours, _read_array(tensors[theirs], dtype, kernel=ours.endswith(".kernel"))) for theirs, ours in names.items()
    )


# The tokenizer


def decoder_tokenizer(path: str | os.PathLike) -> Tokenizer:
    """The tokenizer of a directory, which puts the token that begins a text before it where the model was trained so.

    That is so if its tokenizer.json does it, or if that adds no token at all and tokenizer_config.json says
    `add_bos_token`. A chat template is not applied.

    Raises:
        FileNotFoundError: if there is no such directory, or it has no tokenizer.json.
        ValueError: if a file is truncated or foreign, or the token is none of the tokenizer's.
    """
    tokenizer = read_tokenizer(path)
    file = Path(path) / "tokenizer_config.json"
    config = read_json(file) if file.is_file() else {}
    token = config.get("bos_token")
    token = token.get("content") if isinstance(token, dict) else token
    if config.get("add_bos_token") is not True or token is None:
        return tokenizer
    bos_id = tokenizer.token_to_id(token) if isinstance(token, str) else None
    if bos_id is None:
        shown = reprlib.repr(config["bos_token"])
        raise ValueError(f"{file.name}: bos_token={shown}: expected a token of tokenizer.json")
    if tokenizer.encode("a").ids == tokenizer.encode("a", add_special_tokens=False).ids:
        first = processors.TemplateProcessing(
            single=[token, "$A"], pair=[token, "$A", f"{token}:1", "$B:1"], special_tokens=[(token, bos_id)]
        )
        own = tokenizer.post_processor
        tokenizer.post_processor = first if own is None else processors.Sequence([own, first])
    return tokenizer


def end_ids(path: str | os.PathLike) -> tuple[int, ...]:
    """The ids of the tokens that end a text, from generation_config.json or else config.json; none if neither says one.

    Raises:
        FileNotFoundError: if there is no such directory, or it has no config.json.
        ValueError: if a file is truncated or foreign, or an id is no whole number from 0.
    """
    check_path(path=path)
    config, more = read_json(Path(path) / "config.json"), Path(path) / "generation_config.json"
    name = "config.json"
    if more.is_file() and (generation := read_json(more)).get("eos_token_id") is not None:
        config, name = generation, more.name
    value = config.get("eos_token_id")
    ids = () if value is None else tuple(value) if isinstance(value, list) else (value,)
    if any(isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in ids):
        raise ValueError(
            f"{name}: eos_token_id={reprlib.repr(value)}: expected a whole number from 0, or a list of them"
        )
    return ids
