"""The checkpoint file, which any track writes and any other reads: a model, its optimizer, and where the random numbers stand.

It is a safetensors file: the weights under `model/`, Adam's moments under `first_moment/` and `second_moment/`, each by the
course's name and in its layout, and as metadata the number of steps taken and the state of the random numbers behind dropout.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shared.frameworks.weights import get_weights, load_arrays, match, save_arrays

GROUPS = ("model", "first_moment", "second_moment")


class Checkpoint(NamedTuple):
    """What a checkpoint file holds; the moments are empty if they were not asked for."""

    weights: dict[str, np.ndarray]
    first_moment: dict[str, np.ndarray]
    second_moment: dict[str, np.ndarray]
    steps: int
    random_states: dict[str, Any]


def write_checkpoint(path: str | os.PathLike, checkpoint: Checkpoint) -> None:
    """Write a checkpoint file: whole or not at all.

    Args:
        path: the file; one that exists is replaced when the new one is complete.
        checkpoint: arrays by the course's names and in its layout; random_states: track -> anything that JSON can say.
    """
    arrays = {f"{group}/{name}": array for group, part in zip(GROUPS, checkpoint) for name, array in part.items()}
    save_arrays(arrays, path, {"steps": checkpoint.steps, "random_states": checkpoint.random_states})


def read_checkpoint(path: str | os.PathLike, model: Any, moments: bool) -> Checkpoint:
    """Read a checkpoint file that any track wrote, and check all of it against a model; change nothing.

    Args:
        path: the file.
        model: a module of any track, as for `shared.weights.slots`.
        moments: whether the moments are wanted, and checked, too.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is truncated, no checkpoint, or does not fit the model.
    """
    arrays, metadata = load_arrays(path)
    name = Path(path).name
    steps, random_states = (
        metadata.get(key) if isinstance(metadata, dict) else None for key in ("steps", "random_states")
    )
    if not isinstance(steps, int) or steps < 0 or not isinstance(random_states, dict):
        raise ValueError(f"{name} is no checkpoint: expected the number of steps and the random states in its metadata")
    groups = GROUPS if moments else GROUPS[:1]
    wanted = {key: array for key, array in arrays.items() if moments or not key.startswith(GROUPS[1:])}
    shapes = {weight: array.shape for weight, array in get_weights(model).items()}
    match({f"{group}/{weight}": shape for group in groups for weight, shape in shapes.items()}, wanted, name)
    parts = [{weight: wanted[f"{group}/{weight}"] for weight in shapes if group in groups} for group in GROUPS]
    return Checkpoint(*parts, steps, random_states)
