"""Layers and models have one name in the three tracks, and take the same arguments; the steps of a function fit one another."""

import ast
import inspect
from collections.abc import Iterable

import keras
import pytest
import torch
from reading import NOTEBOOKS, PAGES, ROOT, TRACKS, code, for_each_chapter, read

from shared import chapters, dna, genetic_code, side_by_side, vocabularies
from shared.frameworks.masks import IN_KERAS
from shared.lesson_code import STEP, module, pair_steps, read_steps, split_steps
from shared.numpy.models import Module

# What makes a class of a track a layer or a model.
BASES = {"numpy": Module, "pytorch": torch.nn.Module, "keras": keras.layers.Layer}
# What else has one name in the three, because a reader who changes frameworks calls it. The rest is each framework's own.
FUNCTIONS = {
    "gradient",
    "mlp",
    *("SimpleTokenizer", "train_bpe", "tokenize_and_pad"),
    "sinusoidal_position_encoding",
    *("causal_mask", "padding_mask", "scaled_dot_product_attention"),
    "predict_sequence",
    *("greedy_decode", "beam_search", "translate"),
    "mask_tokens",
    *("KVCache", "generate"),
}
# Names that Keras users know, and the course's own; of masks, those for attention.
GLOSSARY = {"maxlen": "max_length", "embed_dim": "d_model"} | {keras: name for name, keras in IN_KERAS.items()}
# What one track has beyond the others: parameters, wherever they are or as name(parameter), and layers.
EXTRAS = {
    "numpy": {
        "rng",  # no global generator
        "use_cache",  # what Keras compiles has a cache
        *("Linear", "Dropout", "Chain", "Convolution"),  # the frameworks' own, in the others
        *("OneHot", "LastThree", "LookBack", "Add", "Blocks"),  # of the model that grows from chapter to chapter
        "Rearrange",  # einops has one for PyTorch
        "LoRA",  # Keras' layers have it
        *("TiedProjection", "TiedProjection()"),  # PyTorch shares a weight by assigning it
        "mask_tokens(seed)",  # a generator in PyTorch
        *(
            "Seq2SeqTransformer()(source)",
            "Seq2SeqTransformer()(target)",
        ),  # one dict in Keras, which `fit` can hand over
        "MutationModel",  # a function in Keras, `build_model`
        *("ResidualConnection(d_model)", "ResidualConnection()(sublayer)"),  # Keras' goes around a layer
        *("Projection", "Identity"),  # layers of the frameworks, in the others
        *("GroupedQueryAttention(block)", "ModernBlock(block)"),  # each counts its own angles
        *("GroupedQueryAttention()(positions)", "ModernBlock()(positions)"),
    },
    "pytorch": {
        *("KVCache(device)", "causal_mask(device)"),  # where its tensors are
        *("generator", "use_cache"),  # a `torch.Generator`; what Keras compiles has a cache
        *("Seq2SeqTransformer()(source)", "Seq2SeqTransformer()(target)"),
        *("LoRA", "MutationModel"),
        *("ResidualConnection(d_model)", "ResidualConnection()(sublayer)"),
        *("GroupedQueryAttention()(cos)", "GroupedQueryAttention()(sin)"),  # those of the model, for all blocks
        *("ModernBlock()(cos)", "ModernBlock()(sin)"),
    },
    "keras": {
        *("TiedProjection", "TiedProjection()"),
        *("mask_tokens(seed)", "Seq2SeqTransformer()(inputs)"),
        *("kwargs", "training"),  # name and dtype of a layer; whether dropout drops
        *("key_mask", "x_mask", "mask_zero"),  # Keras' own mask: where it hands it in, and whether a layer makes it
        *("EncoderBlock()(mask)", "Encoder()(mask)", "CausalSelfAttention()(mask)", "DecoderOnlyBlock()(mask)"),
        *("Rearrange", "Reduce"),  # those of einops need TensorFlow, and custom_objects to be loaded
        "ResidualConnection(layer)",  # a `layers.Wrapper`
        "TransformerBlock",  # EncoderBlock under the name that Keras users know
        "generate(seed)",  # as `keras.random` takes it
        *("GroupedQueryAttention()(cos)", "GroupedQueryAttention()(sin)"),
        *("ModernBlock()(cos)", "ModernBlock()(sin)"),
    },
}


def compared(track: str, chapter: str) -> set[str]:
    """The names that a chapter must have in each track: its layers and models, and those of FUNCTIONS."""
    found = {
        name: value
        for name, value in vars(module(track, chapter)).items()
        if getattr(value, "__module__", None) == f"shared.{track}.{chapter}" and not name.startswith("_")
    }
    base = BASES[track]
    layers = {name for name, value in found.items() if inspect.isclass(value) and issubclass(value, base)}
    return (layers - {base.__name__}) | (FUNCTIONS & set(found))


def public(track: str, names: Iterable[str], source: str) -> dict[str, list[str]]:
    """Each of the names -> its parameters by the course's names, with their defaults, without the declared extras.

    A class stands for its constructor, and `Class()` for its call.
    """
    extras = EXTRAS[track]
    found = {}

    def add(name: str, function: ast.FunctionDef) -> None:
        pairs = [each.partition("=") for each in parameters(function)]
        kept = [each for each in pairs if each[0] != "self" and not {each[0], f"{name}({each[0]})"} & extras]
        found[name] = [GLOSSARY.get(each, each) + sign + default for each, sign, default in kept]

    for node in ast.parse(source).body:
        if getattr(node, "name", None) not in set(names) - extras:
            continue
        if isinstance(node, ast.FunctionDef):
            add(node.name, node)
            continue
        for method in (each for each in node.body if isinstance(each, ast.FunctionDef)):
            if method.name == "__init__":
                add(node.name, method)
            elif method.name in ("forward", "call"):
                add(f"{node.name}()", method)
    return found


def source_of(track: str, chapter: str) -> str:
    return (ROOT / "shared" / track / f"{chapter}.py").read_text()


def public_of(chapter: str) -> dict[str, dict[str, list[str]]]:
    """What `public` finds in each track."""
    return {track: public(track, compared(track, chapter), source_of(track, chapter)) for track in TRACKS}


def parameters(function: ast.FunctionDef) -> list[str]:
    """Names, with "=" and the default of those that have one."""
    positional, named = function.args.posonlyargs + function.args.args, function.args.kwonlyargs
    defaults = (
        [None] * (len(positional) - len(function.args.defaults)) + function.args.defaults + function.args.kw_defaults
    )
    listed = [
        each.arg + (f"={ast.unparse(default)}" if default else "")
        for each, default in zip([*positional, *named], defaults)
    ]
    return listed + [each.arg for each in (function.args.vararg, function.args.kwarg) if each]


def differences(chapter: str, by_track: dict[str, dict[str, list[str]]]) -> list[str]:
    """A sentence for each name or parameter that a track has and another has not."""
    messages = []
    reference = by_track["numpy"]
    for track in ("pytorch", "keras"):
        found = by_track[track]
        messages += [f"{chapter}: numpy has {name}, {track} has not" for name in reference if name not in found]
        messages += [f"{chapter}: {track} has {name}, numpy has not" for name in found if name not in reference]
        messages += [
            f"{chapter}: {name} takes ({', '.join(reference[name])}) in numpy and ({', '.join(found[name])}) in {track}"
            for name in reference
            if name in found and reference[name] != found[name]
        ]
    return messages


@for_each_chapter()
def test_layers_and_models_have_the_same_names_parameters_and_defaults(chapter):
    assert differences(chapter.folder, public_of(chapter.name)) == []


def test_declared_extras_and_functions_exist():
    for track, extras in EXTRAS.items():
        names = set.union(*(compared(track, each.name) for each in chapters.ready()))
        assert FUNCTIONS <= names
        assert {each.split("(")[0] for each in extras if each[0].isupper()} <= names


def test_padding_is_token_0():
    assert dna.PAD_ID == genetic_code.PAD_ID == vocabularies.PAD_ID == 0


def test_the_block_of_keras_users_has_their_names_and_their_default():
    """The one layer of Keras' track alone: as in the examples of keras.io."""
    module = ast.parse((ROOT / "shared" / "keras" / "encoder.py").read_text())
    [block] = [node for node in module.body if getattr(node, "name", "") == "TransformerBlock"]
    [constructor] = [node for node in block.body if getattr(node, "name", "") == "__init__"]
    assert parameters(constructor) == ["self", "embed_dim", "num_heads", "ff_dim", "rate=0.1", "kwargs"]


def test_differences_are_found():
    numpy = {"Layer": ["d_model", "dropout"], "Layer()": ["x", "mask"], "only_here": []}
    order, missing = differences(
        "06_attention",
        {
            "numpy": numpy,
            "pytorch": {"Layer": ["dropout", "d_model"], "Layer()": ["x", "mask"], "only_here": []},
            "keras": {"Layer": ["d_model", "dropout"], "Layer()": ["x", "mask"]},
        },
    )
    assert "(d_model, dropout) in numpy" in order and "(dropout, d_model) in pytorch" in order
    assert "numpy has only_here" in missing


def test_the_glossary_and_the_extras_are_read():
    keras = public(
        "keras",
        ["A"],
        "class A:\n    def __init__(self, maxlen, embed_dim, **kwargs): ...\n    def call(self, x, scale=0.5, training=None): ...\n    def build(self, s): ...",
    )
    numpy = public(
        "numpy",
        ["A"],
        "class A:\n    def __init__(self, max_length, d_model, rng=None): ...\n    def forward(self, x, scale=0.5): ...\ndef helper(x): ...",
    )
    assert keras == numpy == {"A": ["max_length", "d_model"], "A()": ["x", "scale=0.5"]}


# Steps


def bare_steps(source: str) -> list[str]:
    """The step comments of some code that have none below them."""
    lines, found = source.splitlines(), []
    for number, line in enumerate(lines, 1):
        if STEP.match(line):
            below = (each for each in lines[number:] if STEP.match(each) or not each.lstrip().startswith("#"))
            following = next(below, "")
            if STEP.match(following) or not following.strip():
                found.append(line.strip())
    return found


def stepped(track: str, chapter: str) -> list[str]:
    """The functions and methods with step comments, by the names that `read_steps` takes.

    A backward pass has the numbers of the forward pass, from the last to the first, and no table.
    """
    text = source_of(track, chapter)
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            for method in (each for each in node.body if isinstance(each, ast.FunctionDef)):
                found[node.name if method.name in ("forward", "call") else f"{node.name}.{method.name}"] = method
    return [
        name
        for name, node in found.items()
        if any(map(STEP.match, ast.get_source_segment(text, node).splitlines())) and not name.endswith("backward")
    ]


def shown(chapter: chapters.Chapter) -> list[tuple[str, str, dict[str, str]]]:
    """What the compare notebook hands to `side_by_side.steps`."""
    cells = code(read(NOTEBOOKS / chapter.folder / "compare.ipynb"))
    calls = [
        node
        for cell in cells
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "side_by_side.steps"
    ]
    return [
        (
            *(ast.literal_eval(each) for each in call.args),
            {key.value: "pass" for keyword in call.keywords for key in keyword.value.keys},
        )
        for call in calls
    ]


@for_each_chapter()
def test_every_step_comment_has_code_below_it(chapter):
    for page in PAGES:
        for cell in code(read(NOTEBOOKS / chapter.folder / f"{page}.ipynb")):
            assert bare_steps(cell.source) == [], page


@for_each_chapter()
def test_steps_with_one_number_have_the_same_words(chapter):
    columns = {}
    for track in TRACKS:
        for name in stepped(track, chapter.name):
            columns.setdefault(name, {})[track] = read_steps(track, chapter.name, name)
    for name, found in columns.items():
        if len(found) > 1:
            assert pair_steps(name, found)


@for_each_chapter()
def test_every_step_table_of_the_compare_notebook_can_be_shown(chapter):
    calls = shown(chapter)
    assert calls, "compare.ipynb shows no step table: side_by_side.steps(chapter, name)"
    for name, function, elsewhere in calls:
        assert "<pre" in side_by_side.steps(name, function, elsewhere).data


def test_a_step_without_code_is_found():
    for source in ("# 1 a\n# 2 b\nx = 1", "# 1 a\n# why\n\nx = 1", "x = 1\n# 1 a"):
        assert bare_steps(source) == ["# 1 a"]
        with pytest.raises(ValueError, match="`# 1 a`"):
            split_steps("f", source.splitlines())
    assert bare_steps("# 1 a\n# why\nx = 1\n# 2 to 3 b\ny = 2") == []


@pytest.mark.parametrize(
    "lines", ["# 2 a\nx\n# 1 b\ny", "# 1 a\nx\n# 1 b\ny", "# 3 to 2 a\nx", "# 1 to 2 a\nx\n# 2 b\ny"]
)
def test_steps_that_do_not_rise_are_refused(lines):
    with pytest.raises(ValueError, match="rise"):
        split_steps("f", lines.splitlines())


def columns_of(**tracks: str) -> dict:
    """The steps of each track, from comments without their sharps, such as "1 a, 2 to 3 b"."""
    return {
        track: split_steps(track, [line for each in messages.split(", ") for line in (f"# {each}", "x")])
        for track, messages in tracks.items()
    }


def test_rows_are_the_union_of_the_steps():
    found = pair_steps("f", columns_of(numpy="1 a, 2 b, 3 c", pytorch="0 set up, 1 a, 4 d", keras="1 to 3 all"))
    assert [row[:3] for row in found] == [(0, 0, "set up"), (1, 1, "a"), (2, 2, "b"), (3, 3, "c"), (4, 4, "d")]
    together = pair_steps("f", columns_of(numpy="1 to 2 a", pytorch="1 to 2 a, 3 b", keras="1 to 2 a"))
    assert [row[:3] for row in together] == [(1, 2, "a"), (3, 3, "b")]


@pytest.mark.parametrize(
    ("tracks", "message"),
    [
        ({"numpy": "1 a, 2 b", "keras": "1 a, 2 c"}, "step 2"),
        ({"numpy": "1 to 2 a", "keras": "1 to 2 c"}, "step 1 to 2"),
        ({"numpy": "1 to 2 a, 3 b", "keras": "1 c, 2 to 3 d"}, "`# 2 ...`"),  # an overlap: 2 stands nowhere alone
        ({"numpy": "1 to 3 a", "keras": "1 b, 3 c"}, "`# 2 ...`"),
        ({"numpy": "1 a, 3 b", "keras": "1 a"}, "`# 2 ...`"),  # a number that nobody has
        ({"numpy": "2 a", "keras": "2 a"}, "`# 1 ...`"),
    ],
)
def test_steps_that_do_not_fit_are_refused(tracks, message):
    with pytest.raises(ValueError, match=f"name='f'.*{message}"):
        pair_steps("f", columns_of(**tracks))
