"""How a call of Keras' track differs from the others: `mask` is what Keras itself fills in, and several inputs are one dict."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

# By its name in the other tracks.
IN_KERAS = {"mask": "attention_mask", "self_mask": "self_attention_mask", "memory_mask": "cross_attention_mask"}


def takes_a_dict(function: Callable) -> bool:
    """Whether a function, or the `call` of a Keras model, has one argument for all its inputs, a dict."""
    own = inspect.signature(function).parameters
    return "inputs" in own and own["inputs"].annotation is dict


def in_keras(function: Callable, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a call is given, as a function, or a layer's `call`, of Keras' track takes it.

    Masks for attention have the names that it has for them, and inputs are in one dict where it wants them so.
    """
    own = inspect.signature(function).parameters
    named = {IN_KERAS[name] if IN_KERAS.get(name) in own else name: value for name, value in given.items()}
    inputs = {name: value for name, value in named.items() if name not in own}
    if not takes_a_dict(function) or not inputs:
        return named
    return {"inputs": inputs} | {name: value for name, value in named.items() if name in own}
