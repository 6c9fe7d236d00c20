"""The nine families as transformers has them: tiny models with random weights, in true float64, and as directories."""

import contextlib
import copy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

# The windows are 5 wide, and the texts longer. No special token: theirs are not in so small a vocabulary.
_TINY = {
    "vocab_size": 61, "hidden_size": 48, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": None, "eos_token_id": None,
    "pad_token_id": None,
}  # fmt: skip
_LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip
_YARN = {
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16,
    "beta_slow": 0.25,
}  # fmt: skip
_GEMMA = {"head_dim": 16, "query_pre_attn_scalar": 24, "sliding_window": 5}
# Family -> the classes of configuration and model, and the settings. A scaled RoPE has frequencies of each kind: kept,
# stretched, and between the two.
FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", _TINY | {"rope_parameters": _LLAMA3, "rms_norm_eps": 1e-5}),
    "mistral": (
        "MistralConfig",
        "MistralForCausalLM",
        _TINY | {"hidden_size": 32, "head_dim": 16, "sliding_window": 5},
    ),
    "qwen3": (
        "Qwen3Config",
        "Qwen3ForCausalLM",
        _TINY
        | {"head_dim": 16, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2}
        | {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
    ),
    "smollm3": ("SmolLM3Config", "SmolLM3ForCausalLM", _TINY),
    "gemma2": (
        "Gemma2Config",
        "Gemma2ForCausalLM",
        _TINY | _GEMMA | {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 8.0},
    ),
    "gemma3_text": (
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        _TINY
        | _GEMMA
        | {
            "num_hidden_layers": 6,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
        },
    ),
    "olmo2": ("Olmo2Config", "Olmo2ForCausalLM", _TINY | {"num_key_value_heads": 4, "rms_norm_eps": 1e-6}),
    "olmo3": (
        "Olmo3Config",
        "Olmo3ForCausalLM",
        _TINY
        | {
            "sliding_window": 5,
            "rope_parameters": {
                "full_attention": _YARN,
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
        },
    ),
    "nanochat": ("NanoChatConfig", "NanoChatForCausalLM", _TINY | {"num_key_value_heads": 4}),
}


def config_of(family: str, **settings: Any) -> Any:
    """The configuration of a family, with other settings where they are given."""
    import transformers

    kind, _, own = FAMILIES[family]
    return getattr(transformers, kind)(**copy.deepcopy(own | settings))  # it changes the RoPE that it gets


def model_of(family: str, tied: bool | None = None, seed: int = 0, **settings: Any) -> Any:
    """A model of a family, in float32 and evaluation, whose weights are random and large enough that a mistake shows.

    Args:
        family: one of FAMILIES.
        tied: whether the output's weights are the table; by default as in the family's configuration class.
        seed: of the weights.
        settings: of the configuration, over those of FAMILIES.
    """
    import torch
    import transformers

    if tied is not None:
        settings["tie_word_embeddings"] = tied
    config = config_of(family, **settings)
    config._attn_implementation = "eager"  # the one that every family has, Gemma 2's caps included
    model = getattr(transformers, FAMILIES[family][1])(config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 1:
                parameter += 0.3 * noise  # the weight of a norm, which starts at 1, Gemma's at 0
            else:
                parameter.copy_(0.2 * noise)
    return model


class _Wide:
    """torch, but for float64 in the place of float32."""

    def __getattr__(self, name: str) -> Any:
        import torch

        return torch.float64 if name in ("float", "float32") else getattr(torch, name)


@contextlib.contextmanager
def in_float64(model: Any) -> Iterator[Any]:
    """A copy of a model that computes wholly in float64, as long as the context lasts.

    transformers computes norms, RoPE and the softmax in float32 whatever the model's dtype is, and Gemma's scale of the
    embeddings is one. Here its own code does it in float64: in the modules of the model and of RoPE, the name of torch's
    float32 stands for float64.
    """
    import torch
    import transformers.modeling_rope_utils as rope

    wide = _Wide()
    with (
        mock.patch.object(sys.modules[type(model).__module__], "torch", wide),
        mock.patch.object(rope, "torch", wide),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
    ):
        model = copy.deepcopy(model).double()
        model.model.rotary_emb = type(model.model.rotary_emb)(model.config)  # its frequencies anew
        table = model.model.embed_tokens
        if hasattr(table, "scalar_embed_scale"):
            table.embed_scale = torch.tensor(table.scalar_embed_scale, dtype=torch.float64)
        yield model


def saved(family: str, folder: Path, dtype: str = "float32", shards: int = 1, **settings: Any) -> Any:
    """The model that `model_of` makes, in a dtype of torch, after `save_pretrained` has written it.

    Args:
        family: one of FAMILIES.
        folder: where it is written.
        dtype: the name of a dtype, such as "bfloat16".
        shards: about how many files there are.
        settings: of `model_of`.
    """
    import torch

    model = model_of(family, **settings).to(getattr(torch, dtype))
    size = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    model.save_pretrained(folder, max_shard_size=10**12 if shards == 1 else -(-size // shards))
    return model
