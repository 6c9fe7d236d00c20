"""The twins of a chapter say the same things in the same order, under the same names."""

import ast
import contextlib
from typing import Any

from reading import ROOT, TRACKS, for_each_chapter

from shared import side_by_side
from shared.drawing.side_by_side import GLOSSARY

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
            "embeddings": ["TokenEmbedding.reset_parameters"],  # where nn.Embedding draws its vectors
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
            "compute_output_spec",
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
