"""What the argument that holds a mask for attention is called in Keras, where `mask` is what Keras itself fills in."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

# By its name in the other tracks.
IN_KERAS = {"mask": "attention_mask", "self_mask": "self_attention_mask", "memory_mask": "cross_attention_mask"}


def in_keras(function: Callable, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a call is given, with masks for attention by the names that a function, or a layer's `call`, of Keras' track has."""
    own = inspect.signature(function).parameters
    return {IN_KERAS[name] if IN_KERAS.get(name) in own else name: value for name, value in given.items()}
