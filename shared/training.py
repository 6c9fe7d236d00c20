"""What training needs alike in the three tracks: checks of its arguments."""

import contextlib
import math
import numbers
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shared.checks import check_array, check_positive, check_rate, known_values


def check_number(low: float, above: bool = False, **values: float) -> None:
    """Raise unless every value is a finite number of at least low, or above low.

    Raises:
        TypeError: if a value is not a number.
        ValueError: if a value is too small or not finite.
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"{name}={value!r}: expected a number, got {type(value).__name__}")
        if not (low <= value < math.inf) or (above and value == low):
            raise ValueError(f"{name}={value}: expected a finite number {'above' if above else 'of at least'} {low}")


def _check_ignored(ignore_index: int) -> None:
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, numbers.Integral):
        raise TypeError(f"ignore_index={ignore_index!r}: expected a whole number, got {type(ignore_index).__name__}")


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


def check_cross_entropy(logits: Any, targets: Any, label_smoothing: float, ignore_index: int) -> None:
    """Raise unless logits and targets, of any framework, belong together and at least one target is kept.

    Args:
        logits: (..., classes) floats.
        targets: (...) whole numbers. A traced tensor has no values yet: its shape and dtype are checked, its values are not.
        label_smoothing: in [0, 1).
        ignore_index: the target that does not count.

    Raises:
        TypeError: if logits are no array of floats, targets no array of whole numbers, or another argument has a wrong type.
        ValueError: if the shapes do not belong together, a target is outside the classes, or none is kept.
    """
    check_rate(label_smoothing=label_smoothing)
    _check_ignored(ignore_index)
    for name, array, kind in (("logits", logits, "float"), ("targets", targets, "int")):
        check_array(**{name: array})
        dtype = getattr(array.dtype, "name", str(array.dtype))
        if kind not in dtype:
            raise TypeError(
                f"{name} has dtype {dtype}: expected {'floating-point' if kind == 'float' else 'whole'} numbers"
            )
    shape, expected = tuple(targets.shape), tuple(logits.shape)[:-1]
    if (
        not len(logits.shape)
        or len(shape) != len(expected)
        or any(None not in (a, b) and a != b for a, b in zip(shape, expected))
    ):
        raise ValueError(
            f"targets have shape {shape}, logits {tuple(logits.shape)}: expected one target for each row of logits"
        )
    values = known_values(targets)
    if values is not None:
        check_targets(values, logits.shape[-1], ignore_index)


def check_schedule(peak: float, warmup_steps: int, total_steps: int) -> None:
    """Raise unless the arguments of a warm-up schedule make sense together."""
    check_number(0, peak=peak)
    check_positive(warmup_steps=warmup_steps, total_steps=total_steps)
    if warmup_steps >= total_steps:
        raise ValueError(f"warmup_steps={warmup_steps}: expected fewer than total_steps={total_steps}")


def check_adam(
    learning_rate: Any, beta_1: float, beta_2: float, epsilon: float, weight_decay: float, clip_norm: float | None
) -> None:
    """Raise unless the arguments of Adam are of the right type and in range."""
    if not callable(learning_rate):
        check_number(0, learning_rate=learning_rate)
    check_rate(beta_1=beta_1, beta_2=beta_2)
    check_number(0, above=True, epsilon=epsilon)
    check_number(0, weight_decay=weight_decay)
    if clip_norm is not None:
        check_number(0, above=True, clip_norm=clip_norm)


def rate_at(learning_rate: Any, step: int) -> float:
    """The learning rate of a step, from a number or a schedule, as a checked Python float."""
    rate = float(learning_rate(step)) if callable(learning_rate) else learning_rate
    check_number(0, learning_rate=rate)
    return float(rate)


def check_optimizer(optimizer: Any, kind: type, model: Any) -> None:
    """Raise TypeError unless optimizer is of the kind (the Adam of a track), ValueError unless it is the model's."""
    if not isinstance(optimizer, kind):
        raise TypeError(f"optimizer is a {type(optimizer).__name__}: expected the Adam of this chapter")
    if getattr(optimizer, "model", model) is not model:
        raise ValueError("optimizer was made for another model: expected the Adam of this one")


def check_train(
    steps: int,
    batch_at: Callable,
    num_steps: int,
    label_smoothing: float,
    ignore_index: int,
    progress: bool,
    checkpoint: str | os.PathLike | None,
    checkpoint_every: int,
) -> None:
    """Raise unless the arguments of `train` make sense together, before anything is computed that could be lost.

    Args:
        steps: how many the optimizer has taken already.
        The others are as for `train`.

    Raises:
        TypeError: if an argument has a wrong type.
        ValueError: if a value is out of range, steps are past num_steps, or the checkpoint's folder does not exist.
    """
    if not callable(batch_at):
        raise TypeError(f"batch_at={batch_at!r}: expected a function of the step that returns (inputs, targets)")
    check_positive(num_steps=num_steps, checkpoint_every=checkpoint_every)
    if steps > num_steps:
        raise ValueError(f"num_steps={num_steps}: the optimizer has already taken {steps} steps")
    check_rate(label_smoothing=label_smoothing)
    _check_ignored(ignore_index)
    if not isinstance(progress, bool):
        raise TypeError(f"progress={progress!r}: expected True or False, got {type(progress).__name__}")
    if checkpoint is not None and not Path(checkpoint).parent.is_dir():
        raise ValueError(f"checkpoint={os.fspath(checkpoint)!r}: its folder does not exist")


@contextlib.contextmanager
def training_mode(model: Any) -> Iterator[None]:
    """Put a model into training mode, and into evaluation mode afterwards, also when it ends with an error."""
    model.train()
    try:
        yield
    finally:
        model.eval()


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
