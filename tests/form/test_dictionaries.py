"""What a dictionary of calls names of a library, the library has."""

import ast
import inspect
import re

import keras
import pytest
import torch
import torch.distributed.checkpoint
import torch.distributed.fsdp
import torch.distributed.optim
import torch.distributed.tensor.parallel
from reading import NOTEBOOKS, code, for_each_chapter, read

LIBRARIES = {"torch": torch, "keras": keras, "F": torch.nn.functional}
NAMED = re.compile(r"(?<![\w.])(torch|keras|F)((?:\.[A-Za-z_]\w*)+)")


def entries(source: str) -> list[tuple[str, ...]]:
    """The entries of the dictionaries in a cell; none where they aren't written in it."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    found = [node.args[0] for node in calls if getattr(node.func, "attr", "") == "dictionary"]
    return [entry for node in found if isinstance(node, ast.List) for entry in ast.literal_eval(node)]


def takes_length_first(call: str) -> bool:
    """Whether a call makes one of PyTorch's layers that read (length, batch, d_model) unless they are told otherwise."""
    for node in ast.walk(ast.parse(call)):
        layer = getattr(torch.nn, getattr(getattr(node, "func", None), "attr", ""), None)
        told = {keyword.arg for keyword in getattr(node, "keywords", [])}
        if inspect.isclass(layer) and "batch_first" in inspect.signature(layer).parameters.keys() - told:
            return True
    return False


def faults(rows: list[tuple[str, ...]]) -> list[str]:
    """A sentence for each call that is no Python, or mixes sequences, and for each name that its library has not."""
    messages = []
    for pattern, _, *calls in rows:
        for call in calls:
            for library, path in NAMED.findall(call):
                value = LIBRARIES[library]
                for name in path.strip(".").split("."):
                    value = getattr(value, name, None)
                if value is None:
                    messages.append(f"{pattern}: there is no {library}{path}")
            try:
                if takes_length_first(call):
                    messages.append(f"{pattern}: {call} mixes the sequences of a batch without batch_first=True")
            except SyntaxError:
                messages.append(f"{pattern}: {call} is no Python")
    return messages


@for_each_chapter()
def test_what_a_dictionary_names_exists(chapter):
    cells = code(read(NOTEBOOKS / chapter.folder / "compare.ipynb"))
    assert [fault for cell in cells for fault in faults(entries(cell.source))] == []


@pytest.mark.parametrize(
    "call",
    [
        "torch.nn.MultiHeadAttention(1)",
        "keras.layers.Multihead",
        "F.attend(q",
        "layer(x",
        "torch.nn.TransformerEncoderLayer(8, 2, norm_first=True)",
    ],
)
def test_a_call_that_is_wrong_is_found(call):
    assert len(faults([("the layer", "", call, "keras.layers.Dense(1)")])) >= 1
