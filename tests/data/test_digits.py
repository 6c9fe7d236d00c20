"""The handwritten digits: the order of the examples, and what is refused."""

import numpy as np
import pytest

from shared import digits


def test_every_example_comes_once_in_an_epoch_and_the_orders_differ():
    steps = digits.batches(10, 5, 2, seed=3)
    first, second = np.concatenate(steps[:2]), np.concatenate(steps[2:])
    assert sorted(first) == sorted(second) == list(range(10)) and first.tolist() != second.tolist()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((10, 11, 1), "batch_size"),
        ((10, 0, 1), "batch_size"),
        ((10, 5, 1, -1), "seed"),
    ],
)
def test_what_is_refused_is_named(arguments, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        digits.batches(*arguments)
