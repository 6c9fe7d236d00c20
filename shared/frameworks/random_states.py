"""The state of PyTorch's random numbers, as text for a file; on Keras' PyTorch backend, dropout without a seed draws from them, too."""

from types import ModuleType
from typing import Any


def _library(kind: str) -> ModuleType:
    """What draws the random numbers of a kind of device: torch itself, or torch.cuda and the like."""
    import torch

    return torch if kind == "cpu" else getattr(torch, kind)


def torch_random_state(kind: str) -> dict[str, str]:
    """The state of the generator that draws on a kind of device, such as "cpu" or "cuda", by that kind."""
    return {kind: _library(kind).get_rng_state().numpy().tobytes().hex()}


def set_torch_random_state(kind: str, states: Any, name: str) -> None:
    """Set the state of that generator, if there is one of it; a bad one changes nothing.

    Args:
        kind: the kind of device, such as "cpu".
        states: what `torch_random_state` returned, or what a file has in its place.
        name: the file's, for the error.

    Raises:
        ValueError: if a state makes no sense.
    """
    import torch

    try:
        texts = states.values() if isinstance(states, dict) else [None]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("expected text for each kind of device")
        if kind in states:
            state = bytearray.fromhex(states[kind])
            _library(kind).set_rng_state(torch.frombuffer(state, dtype=torch.uint8))
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"{name}: the random state does not fit: {error}") from error
