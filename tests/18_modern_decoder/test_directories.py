"""The directories of nine families: their settings, their weights one at a time, their tokenizers, what is refused."""

import copy
import json
import math
import re
import shutil
import tracemalloc

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from shared.frameworks.pretrained import decoder_tokenizer, decoder_weights, end_ids, read_decoder

from .families import FAMILIES, config_of, saved

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
every_family = pytest.mark.parametrize("family", FAMILIES)


def written(folder, config):
    """The folder, after the config.json is written into it."""
    (folder / CONFIG).write_text(json.dumps(config))
    return folder


def config_json(family, **changes):
    """A config.json of a family as new files have it; a change to `...` takes the key away."""
    config = copy.deepcopy({"model_type": family} | FAMILIES[family][2]) | changes
    return {key: value for key, value in config.items() if value is not ...}


# The settings

LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "beta_slow": 0.25}
COMMON = {
    "vocab_size": 61, "d_model": 48, "num_heads": 4, "num_kv_heads": 2, "head_dim": 12, "d_ff": 48, "max_length": 64,
    "windows": (None,) * 4, "thetas": (1e4,) * 4, "scalings": (None,) * 4, "rotation": 1, "eps": 1e-6,
    "activation": "silu", "gated": True, "norms": "before", "norm_gain": "w", "norm_embedding": False,
    "qk_norm": None, "score_scale": 12**-0.5, "score_cap": None, "logit_cap": None, "embedding_scale": 1.0,
    "tied": False,
}  # fmt: skip
GEMMA = {
    "head_dim": 16, "score_scale": 24**-0.5, "activation": "gelu_tanh", "norms": "both", "norm_gain": "1 + w",
    "embedding_scale": math.sqrt(48), "tied": True,
}  # fmt: skip
ARGUMENTS = {
    "llama": {"scalings": (LLAMA3,) * 4, "eps": 1e-5},
    "mistral": {"d_model": 32, "head_dim": 16, "score_scale": 0.25, "windows": (5,) * 4},
    "qwen3": {
        "head_dim": 16, "score_scale": 0.25, "windows": (None, None, 5, 5), "thetas": (1e6,) * 4, "qk_norm": "head",
    },
    "smollm3": {"thetas": (2e6, 2e6, 2e6, None), "tied": True},
    "gemma2": GEMMA | {"windows": (5, None, 5, None), "score_cap": 5.0, "logit_cap": 8.0},
    "gemma3_text": GEMMA | {
        "windows": (5,) * 5 + (None,), "thetas": (1e4,) * 5 + (1e6,), "qk_norm": "head",
        "scalings": (None,) * 5 + ({"rope_type": "linear", "factor": 8.0},),
    },
    "olmo2": {"num_kv_heads": 4, "norms": "after", "qk_norm": "all"},
    "olmo3": {
        "windows": (5, 5, 5, None), "scalings": (None, None, None, YARN), "norms": "after", "qk_norm": "all",
        "eps": 1e-5,
    },
    "nanochat": {
        "num_kv_heads": 4, "rotation": -1, "activation": "relu_squared", "gated": False, "norm_gain": "none",
        "norm_embedding": True, "qk_norm": "head after rotation", "logit_cap": 15.0,
    },
}  # fmt: skip


@every_family
def test_the_arguments_of_each_family(family, tmp_path):
    assert read_decoder(written(tmp_path, config_json(family))) == COMMON | ARGUMENTS[family]


@every_family
def test_absent_keys_have_the_values_of_the_configuration_class(family, tmp_path):
    """Its own config.json has them all, so a file with no other key must mean the same."""
    import transformers

    full = getattr(transformers, FAMILIES[family][0])().to_dict()
    arguments = read_decoder(written(tmp_path, json.loads(json.dumps(full, default=str))))
    assert read_decoder(written(tmp_path, {"model_type": family})) == arguments


@every_family
def test_tied_or_not(family, tmp_path):
    for tied in (True, False):
        path = written(tmp_path, config_json(family, tie_word_embeddings=tied))
        assert read_decoder(path) == COMMON | ARGUMENTS[family] | {"tied": tied}


OLD_AND_NEW = [  # family, old keys, new keys
    ("llama", {"rope_theta": 7e4}, {"rope_parameters": {"rope_theta": 7e4, "rope_type": "default"}}),
    ("llama", {"rope_theta": 7e4, "rope_scaling": None}, {"rope_parameters": {"rope_theta": 7e4}}),
    ("llama", {"rope_theta": 7e4, "rope_scaling": LLAMA3}, {"rope_parameters": LLAMA3 | {"rope_theta": 7e4}}),
    (
        "qwen3",
        {"rope_theta": 7e4, "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 16}},
        {"rope_parameters": YARN | {"rope_theta": 7e4, "beta_slow": None}},
    ),
    (
        "mistral",  # without the length before stretching, it is max_position_embeddings
        {"rope_scaling": {"type": "yarn", "factor": 4.0}},
        {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}},
    ),
    (
        "smollm3",
        {"rope_theta": 5e6, "rope_scaling": {"type": "linear", "factor": 2.0}},
        {"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e6}}},
    ),
    (
        "gemma3_text",
        {"rope_theta": 7e4, "rope_local_base_freq": 300, "rope_scaling": {"type": "linear", "factor": 2.0}},
        {
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 7e4},
                "sliding_attention": {"rope_type": "default", "rope_theta": 300},
            }
        },
    ),
    (
        "gemma3_text",
        {},
        {"rope_parameters": {"full_attention": {"rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4}}},
    ),
    (
        "olmo3",
        {"rope_theta": 7e4, "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}},
        {
            "rope_parameters": {
                "full_attention": YARN | {"rope_theta": 7e4, "beta_slow": None},
                "sliding_attention": {"rope_type": "default", "rope_theta": 7e4},
            }
        },
    ),
]


@pytest.mark.parametrize(("family", "old", "new"), OLD_AND_NEW)
def test_old_and_new_keys_of_rope_mean_the_same(family, old, new, tmp_path):
    one, other = (
        read_decoder(written(tmp_path, config_json(family, rope_parameters=...) | keys)) for keys in (old, new)
    )
    assert one == other
    plain = COMMON | ARGUMENTS[family]
    assert {key for key in one if one[key] != plain[key]} <= {"thetas", "scalings"}


WINDOWS = [  # family, settings: what transformers' configuration makes of them is asked of it
    ("qwen3", {"max_window_layers": 1}),
    ("qwen3", {"use_sliding_window": False}),
    ("qwen3", {"layer_types": ["sliding_attention", "full_attention"] * 2}),
    ("smollm3", {"use_sliding_window": True, "sliding_window": 5}),
    ("smollm3", {"use_sliding_window": True, "sliding_window": 5, "no_rope_layers": [0, 1, 1, 0]}),
    ("smollm3", {"no_rope_layer_interval": 2}),
    ("smollm3", {"no_rope_layers": [1, 0, 1, 0, 0]}),  # more than the layers, which it may have
    ("gemma2", {"num_hidden_layers": 5, "sliding_window": 7}),
    ("gemma2", {"layer_types": ["full_attention"] * 4, "sliding_window": None}),
    ("gemma3_text", {"sliding_window_pattern": 2}),
    ("gemma3_text", {"layer_types": ["full_attention", "sliding_attention"] * 3}),
    ("olmo3", {"num_hidden_layers": 9}),
    ("olmo3", {"layer_types": ["full_attention", "sliding_attention"] * 2}),
]


@pytest.mark.parametrize(("family", "changes"), WINDOWS)
def test_windows_and_layers_without_rope_are_those_of_transformers(family, changes, tmp_path):
    config = config_of(family, **changes)
    arguments = read_decoder(written(tmp_path, config_json(family, **changes)))
    slides = [layer_type == "sliding_attention" for layer_type in config.layer_types]
    assert arguments["windows"] == tuple(config.sliding_window if each else None for each in slides)
    turned = getattr(config, "no_rope_layers", [1] * len(slides))[: len(slides)]
    assert [theta is not None for theta in arguments["thetas"]] == [bool(each) for each in turned]


def test_mistral_has_a_window_in_every_layer_or_in_none(tmp_path):
    assert read_decoder(written(tmp_path, config_json("mistral", sliding_window=None)))["windows"] == (None,) * 4
    assert read_decoder(written(tmp_path, config_json("mistral", sliding_window=...)))["windows"] == (4096,) * 4


def test_a_key_that_the_configuration_class_lacks_does_not_count(tmp_path):
    foreign = {
        "sliding_window": 5,
        "final_logit_softcapping": 3.0,
        "attn_logit_softcapping": 3.0,
        "no_rope_layers": [0],
    }
    path = written(tmp_path, config_json("llama", **foreign))
    assert read_decoder(path) == COMMON | ARGUMENTS["llama"]


def rope(**keys):
    return "llama", {"rope_parameters": LLAMA3 | keys}


def without(key, **keys):
    return {name: value for name, value in (LLAMA3 | keys).items() if name != key}


NINE = "llama.*mistral.*qwen3.*smollm3.*gemma2.*gemma3_text.*olmo2.*olmo3.*nanochat"
REFUSED = [  # family and changes, and what the error says: key, value, what was expected
    (("llama", {"model_type": "gpt_neox"}), rf"model_type='gpt_neox': expected one of .*{NINE}"),
    (("llama", {"model_type": ["llama"]}), r"model_type=\['llama'\]"),
    (("llama", {"model_type": ...}), "model_type=None"),
    (("gemma3_text", {"model_type": "gemma3", "text_config": {}}), "model_type='gemma3' has a text_config.*expected"),
    (("llama", {"quantization_config": {"bits": 4}}), r"quantization_config=\{'bits': 4\}: expected .*not quantized"),
    (("llama", {"attention_bias": True}), "attention_bias=True: expected False"),
    (("smollm3", {"mlp_bias": True}), "mlp_bias=True: expected False"),
    (("gemma2", {"use_bidirectional_attention": True}), "use_bidirectional_attention=True: expected False"),
    (("llama", {"pretraining_tp": 2}), "pretraining_tp=2: expected 1"),
    (("llama", {"partial_rotary_factor": 0.5}), "partial_rotary_factor=0.5: expected 1"),
    (rope(partial_rotary_factor=0.5), "rope_parameters.partial_rotary_factor=0.5: expected 1"),
    (rope(rope_type="dynamic"), "rope_parameters.rope_type='dynamic': expected one of 'default', 'linear', 'llama3'"),
    (("llama", {"rope_scaling": {"type": "ntk"}}), "rope_scaling.type='ntk': expected one of"),
    (("llama", {"rope_parameters": without("factor")}), "rope_parameters.factor=None: expected a number above 0"),
    (("llama", {"rope_parameters": without("low_freq_factor")}), "low_freq_factor=None: expected a number"),
    (rope(high_freq_factor=1), "high_freq_factor=1: expected a number above 1"),
    (rope(rope_type="yarn", truncate=1), "truncate=1: expected one of True, False"),
    (rope(rope_type="yarn", beta_fast="32"), "beta_fast='32': expected a number"),
    (rope(rope_theta=1), "rope_parameters.rope_theta=1: expected a number above 1"),
    (("llama", {"rope_parameters": [1]}), r"rope_parameters=\[1\]: expected an object"),
    (("olmo3", {"rope_parameters": {"rope_theta": 7e4}}), "rope_parameters=.*expected an object with full_attention"),
    (
        ("olmo3", {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}),
        "rope_parameters.full_attention.factor=None: expected a number",
    ),
    (("gemma3_text", {"rope_parameters": ..., "rope_local_base_freq": 0}), "rope_local_base_freq=0: expected a number"),
    (("llama", {"hidden_act": "gelu"}), "hidden_act='gelu': expected one of 'silu'"),
    (("llama", {"hidden_act": "relu2"}), "hidden_act='relu2': expected 'relu2' in nanochat"),
    (("gemma2", {"hidden_activation": "gelu"}), "hidden_activation='gelu': expected one of 'silu'"),
    (("llama", {"hidden_size": 48.0}), "hidden_size=48.0: expected a positive whole number"),
    (("llama", {"intermediate_size": 0}), "intermediate_size=0: expected a positive whole number"),
    (("llama", {"vocab_size": True}), "vocab_size=True: expected a positive whole number"),
    (("llama", {"max_position_embeddings": "64"}), "max_position_embeddings='64': expected a positive whole number"),
    (("llama", {"num_hidden_layers": 10**9}), "num_hidden_layers=1000000000: expected at most 1000"),
    (("llama", {"num_key_value_heads": 3}), "num_key_value_heads=3: expected a divisor of num_attention_heads=4"),
    (("llama", {"num_attention_heads": 5}), "num_attention_heads=5: expected a divisor of hidden_size=48"),
    (("qwen3", {"head_dim": 15}), "head_dim=15: expected an even number"),
    (("llama", {"hidden_size": 4}), "head_dim=1: expected an even number.*hidden_size"),
    (("llama", {"rms_norm_eps": 0}), "rms_norm_eps=0: expected a number above 0"),
    (("llama", {"tie_word_embeddings": 1}), "tie_word_embeddings=1: expected one of True, False"),
    (("qwen3", {"layer_types": ["full_attention"] * 3}), "layer_types=.*expected a list of 4"),
    (("qwen3", {"layer_types": ["full_attention"] * 5}), "layer_types=.*expected a list of 4"),
    (("qwen3", {"layer_types": ["chunked_attention"] * 4}), "layer_types=.*'full_attention', 'sliding_attention'"),
    (
        ("qwen3", {"layer_types": ["sliding_attention"] * 4, "use_sliding_window": False}),
        "sliding_window=None: expected a positive whole number",
    ),
    (("olmo3", {"sliding_window": None}), "sliding_window=None: expected a positive whole number"),
    (("gemma2", {"sliding_window": 0}), "sliding_window=0: expected a positive whole number"),
    (("smollm3", {"no_rope_layers": [1, 1, 1]}), r"no_rope_layers=\[1, 1, 1\]: expected a list of 4"),
    (("smollm3", {"no_rope_layers": [1, 1, 1, 2]}), r"no_rope_layers=\[1, 1, 1, 2\]: expected a list of 4"),
    (("gemma2", {"query_pre_attn_scalar": -1}), "query_pre_attn_scalar=-1: expected a number above 0"),
    (("gemma2", {"attn_logit_softcapping": 0}), "attn_logit_softcapping=0: expected a number above 0"),
    (("gemma3_text", {"attn_logit_softcapping": 50.0}), "attn_logit_softcapping=50.0: expected None"),
    (("nanochat", {"final_logit_softcapping": math.nan}), "final_logit_softcapping=nan: expected a number above 0"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_the_error_names_file_key_and_value_and_what_was_expected(given, message, tmp_path):
    family, changes = given
    with pytest.raises(ValueError, match=rf"^config\.json: .*{message}"):
        read_decoder(written(tmp_path, config_json(family, **changes)))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=re.escape(CONFIG)):
        read_decoder(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        decoder_weights(tmp_path / "nowhere", COMMON)


NUMBERS = st.integers() | st.integers(0, 9) | st.sampled_from([2**31, 2**63, 10**4000]) | st.floats()
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text() | st.sampled_from(["gelu", "full_attention", "yarn", "linear"]),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(st.sampled_from(["rope_type", "factor", "rope_theta", "full_attention"]), children)
    ),
    max_leaves=5,
)
MORE = ["rope_scaling", "rope_theta", "layer_types", "sliding_window_pattern", "no_rope_layers", "tie_word_embeddings"]


@settings(max_examples=200, deadline=1000, derandomize=True, database=None)
@given(data=st.data(), family=st.sampled_from(sorted(FAMILIES)), value=JSON)
def test_any_value_of_any_setting_makes_arguments_or_an_error_that_names_it(tmp_path_factory, data, family, value):
    config = config_json(family)
    key = data.draw(st.sampled_from([*sorted(config), *MORE]))
    path = written(tmp_path_factory.getbasetemp(), config | {key: value})
    try:
        arguments = read_decoder(path)
    except ValueError as error:
        assert str(error).startswith("config.json") and key in str(error) and len(str(error)) < 500
    else:
        assert set(arguments) == set(COMMON) and len(arguments["thetas"]) == len(arguments["windows"])


# The weights


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    """A function: the directory that `saved` has written, and the tensors that are in it; each is made once."""
    made = {}

    def directory(family, dtype="float32", shards=1, **settings):
        key = (family, dtype, shards, *settings.items())
        if key not in made:
            path = tmp_path_factory.mktemp(family)
            made[key] = path, saved(family, path, dtype, shards, **settings).state_dict()
        return made[key]

    return directory


BLOCK = {  # the course's names of a block of Llama, and where transformers has them
    "attention.query.kernel": "self_attn.q_proj", "attention.key.kernel": "self_attn.k_proj",
    "attention.value.kernel": "self_attn.v_proj", "attention.output.kernel": "self_attn.o_proj",
    "feed_forward.gate.kernel": "mlp.gate_proj", "feed_forward.expand.kernel": "mlp.up_proj",
    "feed_forward.contract.kernel": "mlp.down_proj",
}  # fmt: skip
BEFORE = {"attention_norm.gamma": "input_layernorm", "feed_forward_norm.gamma": "post_attention_layernorm"}
QK = {"attention.query_norm.gamma": "self_attn.q_norm", "attention.key_norm.gamma": "self_attn.k_norm"}
AFTER = {
    "attention_post_norm.gamma": "post_attention_layernorm",
    "feed_forward_post_norm.gamma": "post_feedforward_layernorm",
}  # fmt: skip
BOTH = AFTER | {"attention_norm.gamma": "input_layernorm", "feed_forward_norm.gamma": "pre_feedforward_layernorm"}
BLOCKS = {
    "llama": BLOCK | BEFORE, "mistral": BLOCK | BEFORE, "smollm3": BLOCK | BEFORE, "qwen3": BLOCK | BEFORE | QK,
    "gemma2": BLOCK | BOTH, "gemma3_text": BLOCK | BOTH | QK, "olmo2": BLOCK | AFTER | QK, "olmo3": BLOCK | AFTER | QK,
    "nanochat": dict(list(BLOCK.items())[:4])
    | {"feed_forward.expand.kernel": "mlp.fc1", "feed_forward.contract.kernel": "mlp.fc2"},
}  # fmt: skip


@every_family
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("dtype", "shards"), [("float32", 1), ("bfloat16", 3)])
def test_each_weight_has_the_name_the_layout_and_the_numbers(directories, family, tied, dtype, shards):
    path, tensors = directories(family, dtype, shards, tied=tied)
    assert len(list(path.glob("*.safetensors"))) >= shards
    arguments = read_decoder(path)
    places = {"tokens.embeddings": "model.embed_tokens"}
    for i in range(len(arguments["windows"])):
        places |= {f"blocks.{i}.{ours}": f"model.layers.{i}.{theirs}" for ours, theirs in BLOCKS[family].items()}
    places |= {} if family == "nanochat" else {"norm.gamma": "model.norm"}
    places |= {} if tied else {"output.kernel": "lm_head"}
    for target in ("float32", "float64"):
        weights = dict(decoder_weights(path, arguments, target))
        assert set(weights) == set(places)
        for name, array in weights.items():
            expected = tensors[f"{places[name]}.weight"].double().numpy()
            assert array.dtype == target and array.flags.c_contiguous and array.flags.owndata, name
            np.testing.assert_array_equal(array, expected.T if name.endswith("kernel") else expected)


def test_float16_and_three_shards(directories):
    path, tensors = directories("llama", "float16", 3)
    weights = dict(decoder_weights(path, read_decoder(path)))
    expected = tensors["model.layers.2.mlp.down_proj.weight"]
    assert str(expected.dtype) == "torch.float16"
    np.testing.assert_array_equal(weights["blocks.2.feed_forward.contract.kernel"], expected.float().numpy().T)


def test_a_bfloat16_that_is_no_number_or_without_end_stays_so(directories, tmp_path):
    import torch
    from safetensors.torch import load_file, save_file

    path, _ = directories("llama", "bfloat16")
    shutil.copytree(path, tmp_path / "model")
    tensors = load_file(path / WEIGHTS)
    tensors["model.norm.weight"][:4] = torch.tensor([torch.nan, torch.inf, -torch.inf, -0.0])
    save_file(tensors, tmp_path / "model" / WEIGHTS)
    array = dict(decoder_weights(tmp_path / "model", read_decoder(path), "float64"))["norm.gamma"]
    np.testing.assert_array_equal(array, tensors["model.norm.weight"].double().numpy())
    assert np.signbit(array[3])


NORM, KERNEL, LAST = "model.norm.weight", "model.layers.3.mlp.up_proj.weight", "lm_head.weight"


@pytest.fixture
def shards(directories, tmp_path):
    """A directory of three files, to be damaged, and which tensors are in which."""
    path, _ = directories("llama", "float32", 3)
    shutil.copytree(path, tmp_path / "model")
    files = {}
    for name, file in json.loads((path / INDEX).read_text())["weight_map"].items():
        files.setdefault(file, []).append(name)
    assert len(files) >= 3
    return tmp_path / "model", files


def changed(path, change):
    """Write a safetensors file again, after a function has changed its arrays."""
    arrays = safetensors.numpy.load_file(path)
    change(arrays)
    safetensors.numpy.save_file(arrays, path)


def file_of(files, name):
    return next(file for file, names in files.items() if name in names)


def refusal_of(path, error=ValueError):
    """What is said of a directory before the first weight."""
    with pytest.raises(error) as caught:
        decoder_weights(path, COMMON | ARGUMENTS["llama"])  # not a single `next`
    return str(caught.value)


def test_a_missing_shard_is_named_with_its_tensors(shards):
    path, files = shards
    file = file_of(files, NORM)
    (path / file).unlink()
    message = refusal_of(path, FileNotFoundError)
    assert file in message and (NORM in message or "more" in message)


def test_missing_unexpected_and_misshapen_tensors_are_named_together(shards):
    path, files = shards
    changed(path / file_of(files, NORM), lambda arrays: arrays.pop(NORM))
    changed(path / file_of(files, KERNEL), lambda arrays: arrays.update({KERNEL: arrays[KERNEL][:, 1:].copy()}))
    first = min(files)
    changed(path / first, lambda arrays: arrays.update({"model.extra": np.ones(2, np.float32)}))
    message = refusal_of(path)
    assert f"missing: {NORM}" in message and f"{INDEX} places {NORM} in {file_of(files, NORM)}" in message
    assert f"{KERNEL} in {file_of(files, KERNEL)} has shape (48, 47), expected (48, 48)" in message
    assert f"unexpected: model.extra in {first}" in message


def test_a_tensor_in_two_files_is_named_with_both(shards):
    path, files = shards
    here, there = file_of(files, NORM), next(file for file in sorted(files) if NORM not in files[file])
    changed(path / there, lambda arrays: arrays.update({NORM: np.ones(48, np.float32)}))
    assert re.search(rf"({here} and {there}|{there} and {here}) both have {NORM}", refusal_of(path))


def test_a_dtype_that_is_not_read_is_named(shards):
    path, files = shards
    for dtype, said in (("float64", "F64"), ("int8", "I8")):
        changed(path / file_of(files, NORM), lambda arrays, dtype=dtype: arrays.update({NORM: np.ones(48, dtype)}))
        assert f"{NORM} in {file_of(files, NORM)} has dtype {said}, expected one of F32, F16, BF16" in refusal_of(path)


def test_a_message_about_thousands_of_tensors_is_cut_short(shards):
    path, _ = shards
    with pytest.raises(ValueError, match=r"missing: .*; and \d{3} more") as caught:
        decoder_weights(path, COMMON | ARGUMENTS["llama"] | {"windows": (None,) * 50})
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-1],
        lambda whole: whole + b"\0",
        lambda whole: whole[:100],
        lambda whole: b"",
        lambda whole: b"\xff" * 8 + whole[8:],
        lambda whole: (200_000).to_bytes(8, "little") + b"[" * 200_000,
        lambda whole: b"\x80\x04" + whole,  # as a pickle starts
    ],
)
def test_a_damaged_file_is_named(directories, tmp_path, damage):
    path, _ = directories("llama")
    (tmp_path / WEIGHTS).write_bytes(damage((path / WEIGHTS).read_bytes()))
    assert refusal_of(tmp_path).startswith(f"{WEIGHTS} is truncated or no safetensors file")


def test_a_pickle_and_an_index_that_leaves_the_directory_are_refused(directories, tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    assert "pytorch_model.bin, a pickle" in refusal_of(tmp_path)
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": {NORM: "../model.safetensors"}}))
    assert "../model.safetensors" in refusal_of(tmp_path)


def test_a_tied_head_may_be_there_if_it_is_the_table(directories, tmp_path):
    path, _ = directories("llama", tied=True)
    arguments = read_decoder(path)
    shutil.copytree(path, tmp_path / "model")
    file = tmp_path / "model" / WEIGHTS
    changed(file, lambda arrays: arrays["model.embed_tokens.weight"].__setitem__((0, 0), np.nan))
    changed(file, lambda arrays: arrays.update({LAST: arrays["model.embed_tokens.weight"].copy()}))
    assert "output.kernel" not in dict(decoder_weights(tmp_path / "model", arguments))
    changed(file, lambda arrays: arrays[LAST].__setitem__((60, 47), 0.5))
    with pytest.raises(ValueError, match=r"lm_head.weight in model.safetensors differs .*tie_word_embeddings=True"):
        decoder_weights(tmp_path / "model", arguments)
    changed(file, lambda arrays: arrays.update({LAST: arrays[LAST][1:].copy()}))
    with pytest.raises(ValueError, match=r"lm_head.weight in model.safetensors has shape \(60, 48\)"):
        decoder_weights(tmp_path / "model", arguments)


def test_the_frequencies_that_old_files_keep_are_left_out(directories, tmp_path):
    path, _ = directories("llama")
    shutil.copytree(path, tmp_path / "model")
    buffer = {"model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(6)}
    changed(tmp_path / "model" / WEIGHTS, lambda arrays: arrays.update(buffer))
    one, other = (dict(decoder_weights(each, read_decoder(path))) for each in (path, tmp_path / "model"))
    assert list(one) == list(other)


def test_an_argument_that_is_missing_or_wrong_is_named(directories):
    path, _ = directories("llama")
    arguments = read_decoder(path)
    with pytest.raises(ValueError, match=r"dtype='float16'.*'float32', 'float64'"):
        decoder_weights(path, arguments, "float16")
    with pytest.raises(ValueError, match="arguments lacks head_dim"):
        decoder_weights(path, {key: value for key, value in arguments.items() if key != "head_dim"})


# 2.4 million weights, 9.5 MB in float32, in two files, of which one is more than the 1.3 below.
LARGE = {"vocab_size": 2048, "hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 8, "shards": 2}


@pytest.mark.parametrize(
    ("stored", "dtype"), [("float32", "float32"), ("bfloat16", "float32"), ("bfloat16", "float64")]
)
def test_memory_holds_the_model_and_one_tensor_of_the_file(directories, stored, dtype):
    path, _ = directories("llama", stored, **LARGE)
    arguments = read_decoder(path)
    sizes = {name: array.nbytes for name, array in decoder_weights(path, arguments, dtype)}
    assert sum(sizes.values()) > 8e6
    tracemalloc.start()
    weights = {}
    for name, array in decoder_weights(path, arguments, dtype):
        weights[name] = array
    kept = tracemalloc.get_traced_memory()[1]
    weights.clear()
    del array
    tracemalloc.reset_peak()
    for _, array in decoder_weights(path, arguments, dtype):
        del array
    passing = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kept < 1.3 * sum(sizes.values())
    # One array and its bytes; and what all names, and the numbers whose dtype is being changed, take.
    largest, stored_bytes = max(sizes.values()), 2048 * 128 * (4 if stored == "float32" else 2)
    assert passing < largest + stored_bytes + 5e5


# The tokenizer


def write_tokenizer(path, post_processor=None, **config):
    """A directory with a tokenizer of four tokens."""
    path.mkdir(exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "?": 2, "a": 3, "b": 4}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    if post_processor is not None:
        tokenizer.post_processor = post_processor
    tokenizer.save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").unlink(missing_ok=True)
    if config:
        (path / "tokenizer_config.json").write_text(json.dumps(config))
    return path


BOTH_ENDS = [("<s>", 0), ("</s>", 1)]
FIRST = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=BOTH_ENDS)
ENDED = processors.TemplateProcessing(single="$A </s>", special_tokens=BOTH_ENDS)
BEGINNINGS = [  # the file's own post-processor, tokenizer_config.json, the ids of "a b"
    (None, {}, [3, 4]),
    (None, {"bos_token": "<s>"}, [3, 4]),
    (None, {"bos_token": "<s>", "add_bos_token": False}, [3, 4]),
    (None, {"bos_token": "<s>", "add_bos_token": True}, [0, 3, 4]),
    (None, {"bos_token": {"content": "<s>", "lstrip": False}, "add_bos_token": True}, [0, 3, 4]),
    (None, {"bos_token": None, "add_bos_token": True}, [3, 4]),
    (FIRST, {}, [0, 3, 4]),
    (FIRST, {"bos_token": "<s>", "add_bos_token": True}, [0, 3, 4]),
    (FIRST, {"bos_token": "<s>", "add_bos_token": False}, [0, 3, 4]),
    (ENDED, {"bos_token": "<s>", "add_bos_token": True}, [3, 4, 1]),  # it says all that is added
    (ENDED, {"bos_token": "</s>", "add_bos_token": True}, [3, 4, 1]),
    (
        processors.ByteLevel(trim_offsets=False),
        {"bos_token": "<s>", "add_bos_token": True},
        [0, 3, 4],
    ),  # it adds nothing
]


@pytest.mark.parametrize(("post_processor", "config", "ids"), BEGINNINGS)
def test_the_token_that_begins_a_text_is_put_first_once_where_a_file_says_so(post_processor, config, ids, tmp_path):
    tokenizer = decoder_tokenizer(write_tokenizer(tmp_path / "model", post_processor, **config))
    assert tokenizer.encode("a b").ids == ids
    assert tokenizer.encode("a b", add_special_tokens=False).ids == [3, 4]
    assert 0 not in tokenizer.encode("a <s>", add_special_tokens=False).ids  # a name in a text is text


def test_a_tokenizer_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json"):
        decoder_tokenizer(tmp_path)
    for token in ("<bos>", 3, ["x" * 1000]):
        path = write_tokenizer(tmp_path / "model", bos_token=token, add_bos_token=True)
        with pytest.raises(ValueError, match=r"tokenizer_config\.json: bos_token=.*: expected a token") as caught:
            decoder_tokenizer(path)
        assert len(str(caught.value)) < 200


ENDS = [  # config.json, generation_config.json, the ids
    ({}, None, ()),
    ({"eos_token_id": None}, None, ()),
    ({"eos_token_id": 2}, None, (2,)),
    ({"eos_token_id": [0, 7]}, None, (0, 7)),
    ({"eos_token_id": 2}, {}, (2,)),
    ({"eos_token_id": 2}, {"eos_token_id": None}, (2,)),
    ({"eos_token_id": 2}, {"eos_token_id": [5, 6]}, (5, 6)),
    ({}, {"eos_token_id": 0}, (0,)),
]


@pytest.mark.parametrize(("config", "generation", "ids"), ENDS)
def test_the_tokens_that_end_a_text(config, generation, ids, tmp_path):
    written(tmp_path, config)
    if generation is not None:
        (tmp_path / "generation_config.json").write_text(json.dumps(generation))
    assert end_ids(tmp_path) == ids


@pytest.mark.parametrize("value", ["</s>", -1, 2.0, True, [1, None], [[1]], {"id": 1}])
@pytest.mark.parametrize("file", [CONFIG, "generation_config.json"])
def test_an_end_that_is_no_id_is_named(file, value, tmp_path):
    written(tmp_path, {})
    (tmp_path / file).write_text(json.dumps({"eos_token_id": value}))
    with pytest.raises(ValueError, match=rf"{re.escape(file)}: eos_token_id=.*: expected a whole number from 0"):
        end_ids(tmp_path)
