"""The checkpoint file, which any track writes and any other reads: a model, its optimizer, and where the random numbers stand.

It is a safetensors file: all weights of the model under `model/`, the running means of batch normalization among them, Adam's
moments under `first_moment/` and `second_moment/`, each by the course's name and in its layout, and as metadata the number of
steps taken and the state of the random numbers behind dropout.
"""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from shared.frameworks.weights import get_weights, load_arrays, match, other_dtypes, save_arrays

GROUPS = ("model", "first_moment", "second_moment")


class Checkpoint(NamedTuple):
    """What a checkpoint file holds; the moments are empty if they were not asked for."""

    weights: dict[str, np.ndarray]
    first_moment: dict[str, np.ndarray]
    second_moment: dict[str, np.ndarray]
    steps: int
    random_states: dict[str, Any]
    own_steps: Mapping[str, int] = MappingProxyType({})  # of weights that have taken fewer, which PyTorch counts


def write_checkpoint(path: str | os.PathLike, checkpoint: Checkpoint) -> None:
    """Write a checkpoint file: whole or not at all.

    Args:
        path: the file; one that exists is replaced when the new one is complete.
        checkpoint: arrays by the course's names and in its layout; random_states: track -> anything that JSON can say.
    """
    arrays = {f"{group}/{name}": array for group, part in zip(GROUPS, checkpoint) for name, array in part.items()}
    own_steps = {name: steps for name, steps in checkpoint.own_steps.items() if steps != checkpoint.steps}
    metadata = {"steps": checkpoint.steps, "random_states": checkpoint.random_states, "own_steps": own_steps}
    save_arrays(arrays, path, metadata)


def read_checkpoint(
    path: str | os.PathLike, model: Any, trained: Collection[str] = (), one_count: bool = False
) -> Checkpoint:
    """Read a checkpoint file that any track wrote, and check all of it against a model; change nothing.

    Args:
        path: the file.
        model: a module of any track, as for `shared.weights.slots`.
        trained: the names of the weights whose moments are wanted, and checked, too.
        one_count: whether the optimizer has one count of steps for all weights, as NumPy's and Keras' have.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is truncated, no checkpoint, or does not fit the model.
    """
    arrays, metadata = load_arrays(path)
    name = Path(path).name
    metadata = metadata if isinstance(metadata, dict) else {}
    steps, random_states = metadata.get("steps"), metadata.get("random_states")
    own_steps = metadata.get("own_steps", {})
    counts = [steps, *own_steps.values()] if isinstance(own_steps, dict) else [None]
    are_counts = all(type(count) is int and count >= 0 for count in counts)
    if not are_counts or not isinstance(random_states, dict):
        raise ValueError(f"{name} is no checkpoint: expected the number of steps and the random states in its metadata")
    if trained and one_count and any(own_steps.values()):
        few = next(weight for weight, count in own_steps.items() if count)
        raise ValueError(
            f"{name}: {few} has taken {own_steps[few]} steps of {steps}: expected one count for all weights"
        )
    own = get_weights(model)
    expected = {f"model/{weight}": array for weight, array in own.items()}
    expected |= {f"{group}/{weight}": own[weight] for group in GROUPS[1:] for weight in trained}
    wanted = {key: array for key, array in arrays.items() if trained or not key.startswith(GROUPS[1:])}
    match({key: array.shape for key, array in expected.items()}, wanted, name, other_dtypes(expected))
    weights = {weight: arrays[f"model/{weight}"] for weight in own}
    moments = [{weight: arrays[f"{group}/{weight}"] for weight in trained} for group in GROUPS[1:]]
    return Checkpoint(weights, *moments, steps, random_states, own_steps)
