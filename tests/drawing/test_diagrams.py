"""The diagrams of the whole course, what all share, and that what one chapter draws is in that chapter's module."""

import importlib
import inspect
import itertools
import re
from pathlib import Path

import pytest

import notebooks
import shared
from shared import diagrams, next_word, plots
from shared.numpy.embeddings import TokenEmbedding
from shared.numpy.encoder import EncoderBlock
from shared.numpy.models import MLP

pytestmark = pytest.mark.form

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = {
    path.name[3:]: path
    for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*"))
    if (ROOT / f"shared/drawing/{path.name[3:]}.py").is_file()
}


def drawn_by(module) -> dict:
    """The public functions of a module that return a picture or a diagram."""
    return {
        name: function
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and inspect.signature(function).return_annotation in (diagrams.Diagram, plots.Picture)
    }


def of_chapter(chapter: str) -> dict:
    return drawn_by(importlib.import_module(f"shared.drawing.{chapter}"))


@pytest.mark.parametrize("draw", [diagrams.course_map, diagrams.legend, diagrams.forward_pass])
def test_a_diagram_of_the_course_can_be_read(draw, check_diagram):
    check_diagram(draw)


def test_the_shapes_of_the_forward_pass_are_those_of_the_model():
    tokens, targets = next_word.encode(["the robots walk ."])
    embedding, block, read = TokenEmbedding(16, 87), EncoderBlock(16, 4, 64), MLP(16, 64, 87)
    vectors = embedding(tokens)
    output = block(vectors)
    _, weights = block.attention(vectors, vectors, vectors, return_weights=True)
    logits = read(output)
    inside = block.feed_forward.expand(vectors)
    loss, _ = next_word.loss_and_gradient(logits, targets)
    assert isinstance(loss, float)
    shapes = [tokens.shape, vectors.shape, weights.shape, inside.shape, logits.shape, output.shape]
    assert re.findall(r"\(1.*?\)", diagrams.forward_pass().alt) == [str(shape) for shape in shapes]


def test_the_part_of_a_chapter_is_in_color_and_the_others_are_pale():
    pale = {lit: diagrams.forward_pass(lit).source.count('class="another\'s"') for lit in (None, "06", "08", "11")}
    assert pale == {None: 0, "06": 6, "08": 5, "11": 5}
    with pytest.raises(ValueError, match="lit"):
        diagrams.forward_pass("13")


def test_every_module_beside_those_for_all_is_a_chapters():
    modules = {path.stem for path in (ROOT / "shared/drawing").glob("*.py")}
    assert modules - {"__init__", *shared.ROOMS["drawing"]} == set(CHAPTERS)


FOR_EACH = pytest.mark.parametrize(
    "chapter", [pytest.param(each, marks=pytest.mark.chapter(path.name[:2])) for each, path in CHAPTERS.items()]
)


@FOR_EACH
def test_what_a_chapter_draws_is_in_its_notebooks_and_in_no_others(chapter):
    own, others = [], []
    for path in notebooks.notebooks():
        (own if path.parent == CHAPTERS[chapter] else others).append(path.read_text(encoding="utf-8"))
    drawn = of_chapter(chapter)
    assert [name for name in drawn if not re.search(rf"\b{name}\(", "".join(own))] == []
    assert not re.search(rf"shared\.drawing\.{chapter}\b", "".join(others))


@FOR_EACH
def test_what_a_chapter_draws_is_tested(chapter):
    path = Path(__file__).parent / f"test_{chapter}.py"
    tests = path.read_text(encoding="utf-8") if path.is_file() else ""
    untested = [name for name in of_chapter(chapter) if not re.search(rf"\b{name}\b", tests)]
    assert not untested, f"tests/drawing/{path.name} has no test of {', '.join(untested)}"


def test_no_two_diagrams_have_the_same_description():
    descriptions = []
    for function in itertools.chain(drawn_by(diagrams).values(), *(of_chapter(each).values() for each in CHAPTERS)):
        parameters = list(inspect.signature(function).parameters)
        if not parameters:
            descriptions.append(function().alt)
        if parameters == ["norm_first"]:
            descriptions += [function(True).alt, function(False).alt]
    assert len(set(descriptions)) == len(descriptions) > 20


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(
        w * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
        for w, c in zip((0.2126, 0.7152, 0.0722), channels)
    )


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_stands_out_and_kinds_differ():
    assert all(contrast(diagrams.INK, fill) >= 7 for fill, _ in diagrams.PALETTE.values())  # WCAG level AAA
    assert contrast(diagrams.INK, diagrams.PAGE) >= 7 and contrast(diagrams.INK, diagrams.GROUP) >= 7
    assert all(contrast(border, diagrams.PAGE) >= 3 for _, border in diagrams.PALETTE.values())  # and AA for graphics
    assert len(set(diagrams.PALETTE.values())) == len(diagrams.PALETTE)
    assert {name.lower(): color for name, color in plots.COLORS.items()} == {
        name: diagrams.PALETTE[name][1] for name in ("numpy", "pytorch", "keras")
    }


def test_a_computed_graph_is_drawn_as_it_was_given(graph_of):
    given = {"x:0": ("data", "x\n(3,)"), "->": ("operation", "multiply"), "sum": ("output", "sum\n()")}
    drawing = diagrams.graph(given, [("x:0", "->"), ("x:0", "->"), ("->", "sum")])
    nodes, edges = graph_of(drawing)
    assert [(node["class"], node["label"]) for node in nodes.values()] == list(given.values())
    first, second, third = nodes
    assert sorted(edges) == [(first, second), (first, second), (second, third)]
    assert drawing.alt.endswith(" built, from the inputs x (3,) through the operations multiply, sum ().")
    assert diagrams.graph({"x": ("data", "x")}, []).alt.endswith("from the inputs x through the operations none.")


def test_any_graph_of_a_reader_gets_a_page():
    drawing = diagrams.Diagram('digraph { bgcolor=transparent a -> "b < c" }', 'A leads to "b < c" & ends.')
    assert f'fill="{diagrams.PAGE}"' in drawing.svg and "b &lt; c" in drawing.svg
    assert '<img alt="A leads to &quot;b &lt; c&quot; &amp; ends." src=' in drawing._repr_mimebundle_()["text/html"]
    assert repr(drawing) == """Diagram('A leads to "b < c" & ends.')"""


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: diagrams.graph({}, []), ValueError, "nodes"),
        (lambda: diagrams.graph({str(i): ("data", "x") for i in range(61)}, []), ValueError, "nodes"),
        (lambda: diagrams.graph({"x": ("tensor", "x")}, []), ValueError, "node 'x'"),
        (lambda: diagrams.graph({"x": ("data", "x")}, [("x", "y")]), ValueError, "edge"),
        (lambda: diagrams.Diagram("digraph { a [label=<<b>bold</b>>] }", "A."), ValueError, "source"),
        (lambda: diagrams.Diagram('digraph { "x \\" y" -> b; b [xlabel= <i>] }', "A."), ValueError, "source"),
        (lambda: diagrams.Diagram("digraph { a -> }", "A."), ValueError, "source"),
        (lambda: diagrams.Diagram("", "A."), ValueError, "source"),
        (lambda: diagrams.Diagram(b"digraph {}", "A."), TypeError, "source"),
        (lambda: diagrams.Diagram("digraph { a }", None), TypeError, "alt"),
        (lambda: diagrams.Diagram("digraph { a }", " "), ValueError, "alt"),
    ],
)
def test_what_is_refused_is_named(call, error, name):
    with pytest.raises(error, match=rf"\b{name}(?!\w)"):
        call()
