"""The three codes of a chapter beside one another, rendered from the exported modules, and the one glossary of their names."""

import ast
import importlib
import inspect
import subprocess
from types import ModuleType
from typing import Any

import pandas as pd
from IPython.display import HTML
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from ruff.__main__ import find_ruff_bin

from shared.frameworks.weights import get_weights

TRACKS = {"numpy": "NumPy", "pytorch": "PyTorch", "keras": "Keras"}

# Names that Keras users know, and the course's own.
GLOSSARY = {"maxlen": "max_length", "embed_dim": "d_model", "ff_dim": "d_ff", "rate": "dropout"}

# What one track has beyond the others. Everything else must be the same in the three: the pairing test holds the tracks to it.
EXTRAS: dict[str, dict[str, Any]] = {
    "numpy": {
        "parameters": ["rng"],  # no global generator
        "methods": ["backward"],  # written by hand; the frameworks derive it
        "names": {  # chapter -> names, methods as Class.method, parameters as name(parameter)
            "autograd": [
                *("unbroadcast", "Operators", "Refusals", "Tensor", "topological_order", "send_back"),  # the engine
                *("no_grad", "array_of", "operation", "stretch"),
                *("add", "subtract", "multiply", "divide", "power", "exp", "log", "tanh", "relu", "maximum", "matmul"),
                *("reduce_sum", "reduce_max", "reduce_mean", "reshape", "transpose", "select"),
            ],
            "tokenization": ["pre_tokenize"],  # the libraries cut by themselves
            "models": ["Parameter", "ParameterTree", "Module", "Linear", "Dropout", "mlp_backward"],
            "einops": ["Rearrange", "Convolution", "max_pool_backward", "mean_pool_backward"],
            "attention": ["scaled_dot_product_attention_backward"],
            "feed_forward": ["relu", "relu_backward", "gelu", "gelu_backward", "gelu_tanh", "gelu_tanh_backward"],
            "training": ["cross_entropy_backward", "Adam(model)", "Adam.step"],
        },
    },
    "pytorch": {
        "parameters": [],
        "methods": [],
        "names": {
            "tokenization": ["TextDataset", "pad_batch"],  # what a DataLoader asks for
            "embeddings": ["TokenEmbedding.reset_parameters"],  # where nn.Embedding draws its vectors
            "gpt": ["KVCache(device)"],  # where its tensors are
            "training": ["Adam(model)", "Adam.step"],
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
            "training": ["Adam.update_step"],  # `compile` hands Adam the weights, and `fit` calls it
        },
    },
}


def module(track: str, chapter: str) -> ModuleType:
    """The exported module of a chapter, such as `shared.numpy.attention` for ("numpy", "attention")."""
    return importlib.import_module(f"shared.{track}.{chapter}")


def source(track: str, chapter: str, name: str) -> str:
    """The code of a public class or function without its docstrings and blank lines: what remains is what runs.

    Args:
        track: "numpy", "pytorch" or "keras".
        chapter: the module's name, such as "attention".
        name: a public name of that module.

    Raises:
        ValueError: if the module has no such name.
    """
    found = getattr(module(track, chapter), name, None)
    if found is None:
        raise ValueError(f"name={name!r}: shared.{track}.{chapter} has no such name")
    text = inspect.getsource(found)
    skipped = set()
    for node in ast.walk(ast.parse(text)):
        # A function that is nothing but its docstring keeps it.
        if (
            isinstance(node, ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
            and len(node.body) > 1
        ):
            skipped |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = [line.removesuffix("  # fmt: skip") for line in text.splitlines()]
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in skipped and line.strip())


def _narrow(code: str) -> str:
    """The same code with shorter lines, so that three of them fit beside one another."""
    command = [find_ruff_bin(), "format", "--isolated", "--line-length=54", "--stdin-filename=code.py", "-"]
    return subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout


def columns(chapter: str, *names: str) -> HTML:
    """Show public classes or functions of a chapter in three columns, one a track.

    Args:
        chapter: the module's name, such as "attention".
        names: public names that the three tracks share.

    Raises:
        ValueError: if a track has no such name.
    """
    # Its own background, because the colours of the code are made for a light one.
    style = (
        "background:#ffffff;color:#202020;padding:8px;border:1px solid #d0d0d0;overflow-x:auto;font:10px/1.4 monospace"
    )
    formatter = HtmlFormatter(
        noclasses=True,
        nobackground=True,
        style="xcode",
        prestyles="margin:0;background:#ffffff;font:inherit;white-space:pre",
    )
    cells = []
    for name in names:
        for track, title in TRACKS.items():
            code = highlight(_narrow(source(track, chapter, name)), PythonLexer(), formatter)
            cells.append(f'<div style="{style}"><b style="font-family:sans-serif">{title}: {name}</b>{code}</div>')
    # As wide as the code needs; on a narrow screen the three scroll together.
    grid = "display:grid;grid-template-columns:repeat(3,minmax(330px,1fr));gap:6px;text-align:left"
    return HTML(f'<div style="overflow-x:auto"><div style="{grid}">{"".join(cells)}</div></div>')


def cost(chapter: str, models: dict[str, dict[str, Any]]) -> pd.DataFrame:
    """What each class costs: parameters of an instance, and lines of code without docstrings, comments and blank lines.

    Args:
        chapter: the module's name, such as "attention".
        models: name of a class -> {"numpy": instance, "pytorch": instance, "keras": built instance}.

    Raises:
        AssertionError: if the three instances do not have the same number of parameters.
    """
    rows = {}
    for name, instances in models.items():
        counts = {track: sum(array.size for array in get_weights(model).values()) for track, model in instances.items()}
        if len(set(counts.values())) != 1:
            raise AssertionError(f"{name} has different numbers of parameters: {counts}")
        code = {title: source(track, chapter, name).splitlines() for track, title in TRACKS.items()}
        lines = {
            f"lines, {title}": sum(not line.strip().startswith("#") for line in text) for title, text in code.items()
        }
        rows[name] = {"parameters": next(iter(counts.values())), **lines}
    return pd.DataFrame(rows).T
