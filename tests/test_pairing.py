"""The twins of a chapter say the same things in the same order, under the same names."""

import ast
from pathlib import Path

import pytest

from shared.drawing.side_by_side import EXTRAS, GLOSSARY, TRACKS

pytestmark = pytest.mark.form

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = sorted(path.name for path in (ROOT / "notebooks").iterdir() if path.is_dir() and path.name[0] != ".")


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


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_twins_export_the_same_names_with_the_same_parameters_and_defaults(chapter):
    name = chapter.split("_", 1)[1]
    by_track = {track: public(track, name, (ROOT / "shared" / track / f"{name}.py").read_text()) for track in TRACKS}
    assert differences(chapter, by_track) == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_declared_extras_exist(chapter):
    name = chapter.split("_", 1)[1]
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
