"""The twins of a chapter say the same things in the same order, under the same names."""

import ast
import contextlib
from typing import Any

from reading import ROOT, TRACKS, for_each_chapter

from shared import dna, genetic_code, side_by_side, vocabularies

# Names that Keras users know, and the course's own.
GLOSSARY = {"maxlen": "max_length", "embed_dim": "d_model"}
# What one track has beyond the others. Everything else must be the same in the three: the pairing test holds the tracks to it.
EXTRAS: dict[str, dict[str, Any]] = {
    "numpy": {
        "parameters": ["rng"],  # no global generator
        "methods": ["backward"],  # written by hand; the frameworks derive it
        "names": {  # chapter -> names, methods as Class.method, parameters as name(parameter)
            "autograd": [
                *("unbroadcast", "Tensor", "topological_order", "send_back"),  # the engine
                *("no_grad", "array_of", "operation", "stretch"),
                *("add", "subtract", "multiply", "divide", "power", "exp", "log", "tanh", "relu", "maximum", "matmul"),
                *("reduce_sum", "reduce_max", "reduce_mean", "reshape", "transpose", "select"),
            ],
            "tokenization": [
                "count_pairs",
                "join_pair",
                "pre_tokenize",
                "word_pieces",
                "byte_pieces",
            ],  # what libraries do inside
            "models": ["Parameter", "ParameterTree", "Module", "Linear", "Dropout", "mlp_backward"],
            "einops": [
                *(
                    "flat",
                    "read_axes",
                    "read_pattern",
                    "move",
                    "rearrange",
                    "reduce",
                    "repeat",
                ),  # the library, in the others
                *("Rearrange", "Convolution", "max_pool_backward", "mean_pool_backward"),
            ],
            "attention": ["softmax", "split_heads", "merge_heads", "scaled_dot_product_attention_backward"],
            "feed_forward": ["relu", "relu_backward", "gelu", "gelu_backward", "gelu_tanh", "gelu_tanh_backward"],
            "training": [
                *("cross_entropy_backward", "gradient_norm", "text_batches"),  # the batches are NumPy's in all three
                *("Adam(model)", "Adam.step", "Adam.zero_grad"),
            ],
            "decoder": ["_CrossAttention"],  # keeps the memory's gradient aside; its steps are those of chapter 06
            "bert": ["BERTModel.encode_backward"],
            "real_text": ["ngram_probabilities", "LoRA"],  # the baseline; Keras' layers have LoRA
            "scaling_out": [
                *(
                    "Group",
                    "in_threads",
                    "in_processes",
                    "flatten",
                    "unflatten",
                ),  # what process groups are, in the others
                *("ShardedAdam", "ParallelFeedForward"),  # FSDP and tensor parallelism, in the others
                *("ring_bytes", "ring_seconds", "time_ring", "train"),
            ],
        },
    },
    "pytorch": {
        "parameters": [],
        "methods": [],
        "names": {
            "tokenization": ["TextDataset", "pad_batch"],  # what a DataLoader asks for
            "embeddings": ["TokenEmbedding.reset_parameters", "PositionalEncoding.recompute"],  # a draw, and a cast
            "gpt": ["KVCache(device)", "LayerCache(device)"],  # where their tensors are
            "training": ["Adam(model)", "Adam.step"],
            "real_text": [
                *(
                    "bfloat16_is_faster",
                    "write_sample",
                    "Recorder",
                    "describe",
                    "pretrain",
                    "main",
                ),  # one track trains the shipped model
                *("LoRA", "add_lora"),
            ],
            "scaling_out": [
                *("join_group", "ShardedAttention", "distribute", "full_weights", "held_bytes", "accumulated_step"),
                *("save_sharded", "newest", "load_sharded", "make_model", "train", "main"),  # what torchrun starts
                *("demonstrate_no_sync", "demonstrate_uneven"),
            ],
        },
    },
    "keras": {
        "parameters": ["kwargs", "training"],  # name and dtype of a layer; whether dropout drops
        "methods": [
            "build",
            "get_config",
            "compute_output_shape",
            "compute_mask",
        ],  # weights on first use; saving; tracing
        "names": {
            "einops": ["Rearrange", "Reduce"],  # those of einops cannot be saved and loaded, and are TensorFlow's alone
            "encoder": ["TransformerBlock"],  # EncoderBlock under the name that Keras users know
            "training": [
                "Adam.apply",
                "Adam.update_step",
                "Adam.steps",
            ],  # `compile` hands Adam the weights, `fit` calls it
            "real_text": ["add_lora"],  # NumPy's notebook trains no adapter
            "scaling_out": [
                *("make_model", "tensor_layout", "compute_in_float64", "train_jax", "train_tensorflow", "multi_worker"),
                *("demonstrate_layer", "demonstrate_fit", "demonstrate_clip", "main"),  # what workers start
            ],
        },
    },
}

# The defaults of layers and models, and of what decodes with them: one for a name, whatever takes it. "" is for a parameter that must be given.
DEFAULTS = {
    "activation": "'relu'",
    "beam_width": "4",
    "cache": "None",
    "dropout": "0.0",
    "eps": "1e-05",
    "length_k": "None",  # as many keys as queries
    "length_penalty": "0.6",
    "mask": "None",
    "memory_mask": "None",
    "norm_first": "False",
    "num_layers": "1",
    "num_segments": "2",
    "on_full": "'error'",
    "pad_id": "0",
    "pooler": "False",
    "return_weights": "False",
    "scale": "True",
    "seed": "0",
    "segments": "None",
    "self_mask": "None",
    "shared_embeddings": "False",
    "temperature": "1.0",
    "tie_weights": "False",
    "top_k": "None",
    "top_p": "None",
    "use_cache": "True",
}
# Where a chapter has others: for a name in all of it, or for Class(name) or function(name).
OTHER_DEFAULTS = {
    "models": {},
    "einops": {"LeNet(features)": "(6, 16, 120, 84)"},
    "embeddings": {"PositionalEncoding(max_length)": "512", "sinusoidal_position_encoding(dtype)": "None"},
    "attention": {"scaled_dot_product_attention(dropout)": "None"},  # a function there, and not a rate
    "feed_forward": {},
    "encoder": {},
    "dna_mutation": {
        "norm_first": "True",
        "vocab_size": "len(VOCABULARY)",
        "max_length": "64",
        "pad_id": "PAD_ID",
        "build_model(d_model)": "32",
        "build_model(num_heads)": "2",
        "build_model(d_ff)": "64",
    },
    "decoder": {},
    "seq2seq": {
        "source_vocab_size": "len(SOURCE_VOCABULARY)",
        "target_vocab_size": "len(TARGET_VOCABULARY)",
        "Seq2SeqTransformer(max_length)": "36",
        "pad_id": "PAD_ID",
    },
    "bert": {
        "eps": "1e-12",
        "BERTModel(vocab_size)": "30522",
        "BERTModel(max_length)": "512",
        "BERTEmbedding(dropout)": "",
        "mask_tokens(rate)": "0.15",
    },
    "gpt": {
        "GPTModel(vocab_size)": "512",
        "GPTModel(max_length)": "64",
        "KVCache(num_layers)": "",
        "KVCache(dtype)": "None",
        "generate(end_id)": "None",
    },
}


def public(track: str, chapter: str, source: str) -> dict[str, list[str]]:
    """Public function, class or method -> its parameters by the course's names, with their defaults, without the declared extras.

    A class stands for its constructor, and `Class()` for its call.
    """
    extras = EXTRAS[track]
    names = extras["names"].get(chapter, [])
    found = {}

    def add(name: str, given: list[str]) -> None:
        skipped = ("self", *extras["parameters"])
        pairs = [each.partition("=") for each in given]
        kept = [each for each in pairs if each[0] not in skipped and f"{name}({each[0]})" not in names]
        found[name] = [GLOSSARY.get(each, each) + sign + default for each, sign, default in kept]

    for node in ast.parse(source).body:
        if getattr(node, "name", "_").startswith("_") or node.name in names:
            continue
        if isinstance(node, ast.FunctionDef):
            add(node.name, parameters(node))
            continue
        if any("dataclass" in ast.unparse(each) for each in node.decorator_list):
            add(node.name, [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)])
        for method in (each for each in node.body if isinstance(each, ast.FunctionDef)):
            path = f"{node.name}.{method.name}"
            if method.name == "__init__":
                add(node.name, parameters(method))
            elif method.name in ("forward", "call"):
                add(f"{node.name}()", parameters(method))
            elif not method.name.startswith("_") and method.name not in extras["methods"] and path not in names:
                add(path, parameters(method))
    return found


def parameters(function: ast.FunctionDef) -> list[str]:
    """Names, with "=" and the default of those that have one."""
    places, named = function.args.posonlyargs + function.args.args, function.args.kwonlyargs
    defaults = [None] * (len(places) - len(function.args.defaults)) + function.args.defaults + function.args.kw_defaults
    told = [
        each.arg + (f"={ast.unparse(default)}" if default else "") for each, default in zip([*places, *named], defaults)
    ]
    return told + [each.arg for each in (function.args.vararg, function.args.kwarg) if each]


def differences(chapter: str, by_track: dict[str, dict[str, list[str]]]) -> list[str]:
    """A sentence for each public name or parameter that a track has and another has not."""
    told = []
    reference = by_track["numpy"]
    for track in ("pytorch", "keras"):
        found = by_track[track]
        told += [f"{chapter}: numpy has {name}, {track} has not" for name in reference if name not in found]
        told += [f"{chapter}: {track} has {name}, numpy has not" for name in found if name not in reference]
        told += [
            f"{chapter}: {name} takes ({', '.join(reference[name])}) in numpy and ({', '.join(found[name])}) in {track}"
            for name in reference
            if name in found and reference[name] != found[name]
        ]
        if not told and list(reference) != list(found):
            told.append(f"{chapter}: the order is {', '.join(reference)} in numpy and {', '.join(found)} in {track}")
    return told


@for_each_chapter()
def test_twins_export_the_same_names_with_the_same_parameters_and_defaults(chapter):
    name = chapter.name
    by_track = {track: public(track, name, (ROOT / "shared" / track / f"{name}.py").read_text()) for track in TRACKS}
    assert differences(chapter.folder, by_track) == []


@for_each_chapter()
def test_declared_extras_exist(chapter):
    name = chapter.name
    for track in TRACKS:
        tree = ast.parse((ROOT / "shared" / track / f"{name}.py").read_text())
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} | {
            node.name for node in classes
        }
        defined |= {
            f"{node.name}.{each.name}" for node in classes for each in node.body if isinstance(each, ast.FunctionDef)
        }
        declared = {each.split("(")[0] for each in EXTRAS[track]["names"].get(name, [])}
        assert declared <= defined


@for_each_chapter()
def test_paired_functions_take_the_same_steps_in_lines_that_fit_three_columns(chapter):
    public = ast.parse((ROOT / "shared" / "numpy" / f"{chapter.name}.py").read_text()).body
    names = [node.name for node in public if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    stepped = []
    for name in names:
        if name in EXTRAS["numpy"]["names"].get(chapter.name, []):
            continue
        found = {}
        for track in TRACKS:
            with contextlib.suppress(ValueError):
                found[track] = side_by_side.read_steps(track, chapter.name, name)
        if found:
            stepped.append(name)
            words = {track: [word for group, _ in steps for word in group] for track, steps in found.items()}
            assert len(words) == 3 and words["numpy"] == words["pytorch"] == words["keras"], f"{name}: {words}"
            for track, steps in found.items():
                for _, code in steps:
                    assert max(map(len, code.splitlines())) <= 60, f"{name} in {track}: {code}"
    assert stepped, "no function has steps"


def wrong_defaults(chapter: str, by_track: dict[str, dict[str, list[str]]]) -> list[str]:
    """A sentence for each default that is not that of the tables, and for each entry of the chapter's table that nothing has."""
    others, told, used = OTHER_DEFAULTS[chapter], [], set()
    for track, found in by_track.items():
        for name, given in found.items():
            for each in given:
                parameter, _, default = each.partition("=")
                key = next((key for key in (f"{name}({parameter})", parameter) if key in others), None)
                used.add(key)
                expected = DEFAULTS.get(parameter, "") if key is None else others[key]
                if default != expected:
                    words = [
                        f"{parameter}={value}" if value else f"{parameter} without a default"
                        for value in (default, expected)
                    ]
                    told.append(f"{track}: {name} has {words[0]}: expected {words[1]}")
    return told + [f"no track has {key}" for key in others if key not in used]


@for_each_chapter()
def test_layers_and_models_have_the_defaults_of_the_table(chapter):
    name = chapter.name
    if name in OTHER_DEFAULTS:
        by_track = {
            track: public(track, name, (ROOT / "shared" / track / f"{name}.py").read_text()) for track in TRACKS
        }
        assert wrong_defaults(name, by_track) == []


def test_padding_is_token_0():
    assert dna.PAD_ID == genetic_code.PAD_ID == vocabularies.PAD_ID == int(DEFAULTS["pad_id"])


def test_the_block_of_keras_users_has_their_names_and_their_default():
    """The one layer of Keras' track alone: as in the examples of keras.io."""
    module = ast.parse((ROOT / "shared" / "keras" / "encoder.py").read_text())
    [block] = [node for node in module.body if getattr(node, "name", "") == "TransformerBlock"]
    [constructor] = [node for node in block.body if getattr(node, "name", "") == "__init__"]
    assert parameters(constructor) == ["self", "embed_dim", "num_heads", "ff_dim", "rate=0.1", "kwargs"]


def test_a_default_that_is_changed_or_gone_is_found():
    """In one track, and in all: the table knows what it was."""
    sources = {track: (ROOT / "shared" / track / "encoder.py").read_text() for track in TRACKS}
    for old, new in (
        ("norm_first: bool = False", "norm_first: bool = True"),
        ("dropout: float = 0.0", "dropout: float"),
    ):
        for changed in (["pytorch"], list(TRACKS)):
            copies = {
                track: sources[track].replace(old, new) if track in changed else sources[track] for track in TRACKS
            }
            told = wrong_defaults("encoder", {track: public(track, "encoder", copies[track]) for track in TRACKS})
            name, default = old.partition(":")[0], old.rpartition(" ")[2]
            assert len(told) == 2 * len(changed)  # a block, and a stack of them
            assert all(each.endswith(f": expected {name}={default}") for each in told)
    source = (ROOT / "shared" / "numpy" / "bert.py").read_text().replace("    rate: float = 0.15,\n", "")
    assert wrong_defaults("bert", {"numpy": public("numpy", "bert", source)}) == ["no track has mask_tokens(rate)"]


def test_differences_are_told_in_a_sentence():
    numpy = {"Layer": ["d_model", "dropout"], "Layer()": ["x", "mask"], "only_here": []}
    told = differences(
        "06_attention",
        {
            "numpy": numpy,
            "pytorch": {"Layer": ["dropout", "d_model"], "Layer()": ["x", "mask"], "only_here": []},
            "keras": {"Layer": ["d_model", "dropout"], "Layer()": ["x", "mask"]},
        },
    )
    assert told == [
        "06_attention: Layer takes (d_model, dropout) in numpy and (dropout, d_model) in pytorch",
        "06_attention: numpy has only_here, keras has not",
    ]


def test_the_glossary_and_the_extras_are_read():
    keras = public(
        "keras",
        "x",
        "class A:\n    def __init__(self, maxlen, embed_dim, **kwargs): ...\n    def call(self, x, scale=0.5, training=None): ...\n    def build(self, s): ...",
    )
    numpy = public(
        "numpy",
        "x",
        "class A:\n    def __init__(self, max_length, d_model, rng=None): ...\n    def forward(self, x, scale=0.5): ...\n    def backward(self, g): ...",
    )
    assert keras == numpy == {"A": ["max_length", "d_model"], "A()": ["x", "scale=0.5"]}
