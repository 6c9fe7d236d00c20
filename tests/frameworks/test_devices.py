"""What PyTorch functions make is where their inputs are, beside what `conformance` asks of layers: on the device `meta`, without a GPU."""

import importlib

import pytest
import torch

import shared
from shared.chapters import all_chapters

META = torch.device("meta")
NUMBERS_OF = {chapter.name: chapter.number for chapter in all_chapters()}


def of(name: str):
    module, _, attribute = name.partition(".")
    return getattr(importlib.import_module(f"shared.pytorch.{module}"), attribute)


def floats(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device=META, requires_grad=True)


def ids(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device=META, dtype=torch.long)


# function -> (what calls it, the shape of its result)
FUNCTIONS = {
    "autograd.gradient": (lambda f: f(lambda x: x.sin().sum(), floats(3).detach()), (3,)),
    "models.mlp": (
        lambda f: f(
            {
                "hidden.kernel": floats(3, 4),
                "hidden.bias": floats(4),
                "readout.kernel": floats(4, 2),
                "readout.bias": floats(2),
            },
            floats(5, 3),
        ),
        (5, 2),
    ),
    "decoder.LayerCache": (
        lambda f: f((2, 2, 6, 4), torch.float32, META).append(floats(2, 2, 3, 4).detach(), floats(2, 2, 3, 4).detach())[
            0
        ],
        (2, 2, 3, 4),
    ),
    "scaling_out.shard_batch": (lambda f: f(ids(6, 5), 1, 3), (2, 5)),
}

# Made where PyTorch makes tensors, for the reader to move.
MADE = {
    "attention.causal_mask": (lambda f: f(4, 5), (4, 5)),
    "embeddings.sinusoidal_position_encoding": (lambda f: f(5, 8), (5, 8)),
}


def each(names):
    """The names as cases of their chapters, for `make test CHAPTER=06`."""
    return [pytest.param(name, marks=pytest.mark.chapter(NUMBERS_OF[name.partition(".")[0]])) for name in names]


@pytest.mark.parametrize("name", each(FUNCTIONS))
def test_a_function_stays_on_the_device_of_its_inputs(name):
    call, shape = FUNCTIONS[name]
    result = call(of(name))
    assert result.device == META and result.shape == shape


@pytest.mark.parametrize("name", each(MADE))
def test_what_has_no_input_is_made_on_the_default_device(name):
    call, shape = MADE[name]
    with META:
        result = call(of(name))
    assert result.device == META and result.shape == shape


def test_the_device_can_be_chosen(monkeypatch):
    monkeypatch.setenv("THREE_WAYS_DEVICE", "cpu")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    assert shared.best_device() == torch.device("cpu")
    monkeypatch.setenv("THREE_WAYS_DEVICE", "cuda")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="THREE_WAYS_DEVICE"):
        shared.best_device()
