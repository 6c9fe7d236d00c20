"""The settings of a config.json, each checked before it is used: the file is not ours, and says what it likes."""

import reprlib
from typing import Any

import numpy as np


def refusal(config: dict[str, Any], key: str, expected: str) -> ValueError:
    """The error for a setting of config.json; its value is cut short, because a file can hold any."""
    return ValueError(f"config.json: {key}={reprlib.repr(config.get(key))}: expected {expected}")


def setting(config: dict[str, Any], key: str, default: Any = None) -> Any:
    """A setting of config.json; KeyError's place is taken by a ValueError that names the key."""
    value = config.get(key, default)
    if value is None:
        raise ValueError(f"config.json has no {key!r}")
    return value


def require(config: dict[str, Any], **expected: Any) -> None:
    """Raise ValueError unless each setting is absent or has the only value that the course's model knows."""
    for key, value in expected.items():
        if config.get(key, value) != value:
            raise refusal(config, key, repr(value))


def size_of(config: dict[str, Any], key: str, default: int | None = None) -> int:
    """A setting of config.json that must be a positive whole number."""
    value = setting(config, key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise refusal(config, key, "a positive whole number")
    return value


def eps_of(config: dict[str, Any], key: str, default: float) -> float:
    """A setting of config.json that must be a positive number, and below 1, as a LayerNorm wants it."""
    value = setting(config, key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise refusal(config, key, "a number above 0 and below 1")
    return value


def check_heads(config: dict[str, Any], heads: str, width: str) -> None:
    """Raise ValueError unless the heads, a key of config.json, share the width, another key, evenly."""
    if config[width] % config[heads]:
        raise refusal(config, heads, f"a divisor of {width}={reprlib.repr(config[width])}")


def check_layers(config: dict[str, Any], key: str, arrays: dict[str, np.ndarray], prefix: str) -> None:
    """Raise ValueError unless config.json has as many layers as the arrays; behind the prefix stands the layer."""
    found = {name.removeprefix(prefix).split(".")[0] for name in arrays if name.startswith(prefix)}
    if config[key] != len(found):
        raise refusal(config, key, f"{len(found)}, the number of layers in the weights")


def check_sizes(config: dict[str, Any], arrays: dict[str, np.ndarray], sizes: dict[str, tuple[int, str, int]]) -> None:
    """Raise ValueError unless the sizes of config.json, given as key -> (size, name of array, axis), are the arrays'.

    An array that is missing, or not a matrix, is skipped: `match` names it.
    """
    for key, (size, name, axis) in sizes.items():
        shape = arrays[name].shape if name in arrays else ()
        if len(shape) == 2 and shape[axis] != size:
            raise refusal(config, key, f"{shape[axis]}, because {name} has shape {shape}")


def rename(arrays: dict[str, np.ndarray], prefix: str, replaced: dict[str, str]) -> dict[str, np.ndarray]:
    """The arrays without the prefix that a name may have, and with parts of names replaced; no two may get one name."""
    found, origin = {}, {}
    for name, array in arrays.items():
        new = name.removeprefix(prefix)
        for old_part, new_part in replaced.items():
            new = new.replace(old_part, new_part)
        if new in found:
            raise ValueError(f"the weights have both {origin[new]} and {name}: expected one of them")
        found[new], origin[new] = array, name
    return found
