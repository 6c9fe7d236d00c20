"""Checks of arguments that chapter 09 needs alike in its three tracks."""

import numbers
import os
from pathlib import Path
from typing import Any

import numpy as np

from shared.checks import check_number, check_positive, check_rate
from shared.files import check_path


def check_targets(targets: np.ndarray, classes: int, ignore_index: int) -> None:
    """Raise ValueError unless every target is a class or ignore_index, and at least one is a class."""
    kept = targets[targets != ignore_index]
    wrong = kept[(kept < 0) | (kept >= classes)]
    if wrong.size:
        raise ValueError(f"target {wrong[0]} is outside the {classes} classes, and is not ignore_index={ignore_index}")
    if not kept.size:
        raise ValueError(
            f"all {targets.size} targets are ignore_index={ignore_index}: expected at least one that counts"
        )


def check_adam(
    learning_rate: Any, beta_1: float, beta_2: float, epsilon: float, weight_decay: float, clip_norm: float | None
) -> None:
    """Raise unless the numbers that an Adam is made with are in range."""
    if not callable(learning_rate):
        check_number(0, learning_rate=learning_rate)
    check_rate(beta_1=beta_1, beta_2=beta_2)
    check_number(0, above=True, epsilon=epsilon)
    check_number(0, weight_decay=weight_decay)
    if clip_norm is not None:
        check_number(0, above=True, clip_norm=clip_norm)


def check_run(
    steps: int,
    batch_at: Any,
    num_steps: int,
    label_smoothing: float,
    ignore_index: int,
    progress: bool,
    checkpoint: str | os.PathLike | None,
    checkpoint_every: int,
    validate: Any,
    validate_every: int,
) -> None:
    """Raise unless the arguments of `train` make sense together, before anything is computed that could be lost.

    Raises:
        TypeError: if an argument has a wrong type.
        ValueError: if a value is out of range, steps are past num_steps, or the checkpoint's folder does not exist.
    """
    if not callable(batch_at):
        raise TypeError(f"batch_at={batch_at!r}: expected a function of the step that returns (inputs, targets)")
    if validate is not None and not callable(validate):
        raise TypeError(f"validate={validate!r}: expected a function of the number of steps")
    check_positive(num_steps=num_steps, checkpoint_every=checkpoint_every, validate_every=validate_every)
    if steps > num_steps:
        raise ValueError(f"num_steps={num_steps}: the optimizer has already taken {steps} steps")
    check_rate(label_smoothing=label_smoothing)
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, numbers.Integral):
        raise TypeError(f"ignore_index={ignore_index!r}: expected a whole number, got {type(ignore_index).__name__}")
    if not isinstance(progress, bool):
        raise TypeError(f"progress={progress!r}: expected True or False, got {type(progress).__name__}")
    if checkpoint is not None:
        check_path(checkpoint=checkpoint)
        if not Path(checkpoint).parent.is_dir():
            raise ValueError(f"checkpoint={os.fspath(checkpoint)!r}: its folder does not exist")


def check_batch(batch: Any, step: int) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """A batch as (inputs, targets), the inputs as a tuple even of one; raise TypeError if the batch is anything else."""
    pair = isinstance(batch, tuple) and len(batch) == 2
    inputs, targets = batch if pair else ((), None)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    if not inputs or not all(isinstance(array, np.ndarray) for array in (*inputs, targets)):
        raise TypeError(
            f"batch_at({step}) returned a {type(batch).__name__}: expected (inputs, targets), NumPy arrays; inputs may be a tuple of arrays"
        )
    return inputs, targets
