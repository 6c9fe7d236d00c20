"""Handwritten digits, 8 by 8 pixels, that come with scikit-learn: no network is needed."""

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from shared.checks import check_positive, check_seed

HELD_OUT = 360  # a fifth of the 1797


class Digits(NamedTuple):
    """Pictures (n, 8, 8, 1) float32 from 0 to 1, and the digit that each shows, (n,) int64."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def load() -> Digits:
    """Load the 1797 digits: 1437 to train on, and 360, drawn at random once and for all, to test with."""
    data = load_digits()
    pictures = (data.images[..., None] / 16).astype(np.float32)  # (n, 8, 8, 1)
    order = np.random.default_rng(0).permutation(len(pictures))
    train, test = order[HELD_OUT:], order[:HELD_OUT]
    return Digits(pictures[train], data.target[train], pictures[test], data.target[test])


def batches(count: int, batch_size: int, epochs: int, seed: int = 0) -> list[np.ndarray]:
    """The examples of each training step: every epoch in a new order, without what does not fill a batch.

    Args:
        count: number of examples.
        batch_size: examples of a step.
        epochs: how often every example is used.
        seed: of the orders.

    Returns:
        a list of (batch_size,) arrays of example numbers, a step each.

    Raises:
        TypeError, ValueError: if a number is not a positive whole number, batch_size is over count, or seed is no seed.
    """
    check_positive(count=count, batch_size=batch_size, epochs=epochs)
    check_seed(seed)
    if batch_size > count:
        raise ValueError(f"batch_size={batch_size} is over the count of examples, {count}")
    rng, steps = np.random.default_rng(seed), count // batch_size
    return [row for _ in range(epochs) for row in rng.permutation(count)[: steps * batch_size].reshape(steps, -1)]
