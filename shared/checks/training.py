"""Checks of arguments that chapters 09 and 17 need alike in their three tracks."""

import numbers
from typing import Any

import numpy as np

from shared.checks import check_model, check_number, check_positive, check_rate, known_values


def check_classes(targets: Any, classes: int, ignore_index: int | None = None) -> None:
    """Raise ValueError unless every target is a class or ignore_index, as far as the values are known."""
    values = known_values(targets)
    if values is None:
        return
    kept = values if ignore_index is None else values[values != ignore_index]
    wrong = kept[(kept < 0) | (kept >= classes) | (kept % 1 != 0)]
    if wrong.size:
        ignored = "" if ignore_index is None else f", and is not ignore_index={ignore_index}"
        raise ValueError(f"target {wrong[0]:.17g} is none of the {classes} classes{ignored}")


def nothing_counts(ignore_index: int) -> str:
    """What is said where there is nothing to take the mean of."""
    return f"all targets are ignore_index={ignore_index}: expected at least one that counts"


def check_counted(number: float, ignore_index: int) -> None:
    """Raise ValueError unless a number of targets that count, over all workers where there are several, is above 0."""
    if not number:
        raise ValueError(nothing_counts(ignore_index))


def check_any_counts(targets: Any, ignore_index: int) -> None:
    """Raise ValueError unless at least one target is not ignore_index, as far as the values are known."""
    values = known_values(targets)
    if values is not None:
        check_counted((values != ignore_index).sum(), ignore_index)


def check_targets(targets: Any, classes: int, ignore_index: int) -> None:
    """Raise ValueError unless every target is a class or ignore_index, and at least one is a class, as far as the values are known."""
    values = known_values(targets)
    if values is not None:
        check_classes(values, classes, ignore_index)
        check_any_counts(values, ignore_index)


def check_class_numbers(targets: tuple[int | None, ...], logits: tuple[int | None, ...]) -> None:
    """Raise TypeError unless targets of this shape are a class number for each row of logits, as far as sizes are known."""
    expected = tuple(logits)[:-1]
    if not _fit(targets, expected):
        raise TypeError(
            f"y_true has shape {tuple(targets)}: expected {expected}, a class number for each row of y_pred, {tuple(logits)}"
        )


def check_weights(weights: tuple[int | None, ...], targets: tuple[int | None, ...]) -> None:
    """Raise TypeError unless sample_weight of this shape is one number, or has the axes of the targets, each of its length or 1.

    With fewer axes, nobody knows whether the weights are those of sequences or of positions. Only known sizes are compared.
    """
    if len(weights) and not _fit(weights, targets, or_one=True):
        raise TypeError(f"sample_weight has shape {tuple(weights)}: expected {tuple(targets)}, or 1 along an axis")


def _fit(shape: tuple[int | None, ...], expected: tuple[int | None, ...], or_one: bool = False) -> bool:
    """Whether a shape is the expected one, where both sizes of an axis are known; or_one allows 1 for any."""
    if len(shape) != len(expected):
        return False
    pairs = [(size, other) for size, other in zip(shape, expected) if size is not None and other is not None]
    return all(size == other or (or_one and size == 1) for size, other in pairs)


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
    """Raise unless an optimizer is of this kind, takes a step for each batch, and is of this model, as far as it says: Keras' meets its variables later.

    Raises:
        TypeError: if it is of another kind, of which expected says which are taken, or model is no model.
        ValueError: if it was made for another model, if it takes a step for several batches, or if `fit` ends by putting
            averages in the place of the weights.
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
    batches = getattr(optimizer, "gradient_accumulation_steps", None)  # Keras'
    if batches:
        raise ValueError(f"optimizer has gradient_accumulation_steps={batches}: expected None, a step for each batch")
    if getattr(optimizer, "use_ema", False):  # Keras'
        raise ValueError("optimizer has use_ema=True: expected False, because `fit` ends by averaging the weights")


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


def check_batch(batch: Any, step: int, ignore_index: int) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """A batch as (inputs, targets), the inputs as a tuple even of one.

    Raises:
        TypeError: if the batch is anything else.
        ValueError: if no target counts.
    """
    pair = isinstance(batch, tuple) and len(batch) == 2
    inputs, targets = batch if pair else ((), None)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    if not inputs or not all(isinstance(array, np.ndarray) for array in (*inputs, targets)):
        raise TypeError(
            f"batch_at({step}) returned a {type(batch).__name__}: expected (inputs, targets), NumPy arrays; inputs may be a tuple of arrays"
        )
    if not (targets != ignore_index).any():
        raise ValueError(f"batch_at({step}): {nothing_counts(ignore_index)}")
    return inputs, targets
