"""Checks of arguments that chapters 09 and 17 need alike in their three tracks."""

import numbers
from typing import Any

import numpy as np

from shared.checks import check_model, check_number, check_positive, check_rate


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
    steps: int, batch_at: Any, num_steps: int, label_smoothing: float, ignore_index: int, progress: bool
) -> None:
    """Raise unless the arguments of `train` make sense together, before anything is computed that could be lost.

    Raises:
        TypeError: if an argument has a wrong type.
        ValueError: if a value is out of range, or steps are past num_steps.
    """
    if not callable(batch_at):
        raise TypeError(f"batch_at={batch_at!r}: expected a function of the step that returns (inputs, targets)")
    check_positive(num_steps=num_steps)
    if steps > num_steps:
        raise ValueError(f"num_steps={num_steps}: the optimizer has already taken {steps} steps")
    check_rate(label_smoothing=label_smoothing)
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, numbers.Integral):
        raise TypeError(f"ignore_index={ignore_index!r}: expected a whole number, got {type(ignore_index).__name__}")
    if not isinstance(progress, bool):
        raise TypeError(f"progress={progress!r}: expected True or False, got {type(progress).__name__}")


def check_optimizer(optimizer: Any, model: Any, kind: type, expected: str) -> None:
    """Raise unless an optimizer is of this kind, and of this model, as far as it says: Keras' meets its variables later.

    Raises:
        TypeError: if it is of another kind, of which expected says which are taken, or model is no model.
        ValueError: if it was made for another model.
    """
    check_model(model)
    if not isinstance(optimizer, kind):
        raise TypeError(f"optimizer is a {type(optimizer).__name__}: expected {expected}")
    if hasattr(optimizer, "param_groups"):  # PyTorch's
        parameters = {id(each) for each in model.parameters()}
        fits = all(id(each) in parameters for group in optimizer.param_groups for each in group["params"])
    else:
        fits = getattr(optimizer, "model", model) is model  # NumPy's says which
    if not fits:
        raise ValueError("optimizer was made for another model: expected this one's")


def check_scheduler(scheduler: Any, optimizer: Any, kind: type) -> None:
    """Raise unless this is None, or a scheduler of PyTorch, of this kind and of this optimizer.

    Raises:
        TypeError: if it is of another kind.
        ValueError: if it was made for another optimizer.
    """
    if scheduler is None:
        return
    if not isinstance(scheduler, kind):
        raise TypeError(f"scheduler is a {type(scheduler).__name__}: expected a {kind.__name__}")
    if scheduler.optimizer is not optimizer:
        raise ValueError("scheduler was made for another optimizer: expected this one's")


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
