"""What the conventions are made of: activations, epsilons, and the search for the settings that give a value."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from shared.arrays import framework_of
from shared.conformance.doctor.matching import Pool, laid_out, off
from shared.conformance.doctor.tracing import array_of

EPSILONS = (1e-5, 1e-6, 1e-3, 1e-12, 1e-8, 1e-7, 1e-2, 0.0)
Setting = tuple[str, ...]


def _erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[float])(x)


ACTIVATIONS = {
    "no activation": lambda x: x,
    "ReLU": lambda x: np.maximum(x, 0),
    "exact GELU": lambda x: x * (1 + _erf(x / math.sqrt(2))) / 2,
    "GELU by tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "GELU by sigmoid": lambda x: x / (1 + np.exp(-1.702 * x)),
    "SiLU": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "ReLU6": lambda x: np.clip(x, 0, 6),
    "leaky ReLU of 0.01": lambda x: np.where(x > 0, x, 0.01 * x),
    "leaky ReLU of 0.3": lambda x: np.where(x > 0, x, 0.3 * x),
    "squared ReLU": lambda x: np.maximum(x, 0) ** 2,
}


class Known(NamedTuple):
    """What is known of the reference.

    Args:
        weights: by their names, as they are and, where they may be packed, in thirds.
        bases: of its rotary positions.
        values: all that its layers read and return.
        used: its weights in the order in which its layers are called.
        narrow: the dtypes of few digits that it computes in.
    """

    weights: dict[str, np.ndarray]
    bases: list[float]
    values: Pool
    used: list[tuple[str, np.ndarray]]
    narrow: set[str]


class Read(NamedTuple):
    """What a layer read, with which weights of its own, and what came of it in the port and in the reference."""

    x: np.ndarray
    weights: dict[str, np.ndarray]
    known: dict[str, np.ndarray]  # the reference's weights
    tables: list[np.ndarray]  # the port's tables of vectors
    port: np.ndarray
    reference: np.ndarray
    tolerance: float


def weights_of(layer: Any) -> dict[str, np.ndarray]:
    """The layer's own weights, by the last part of their names."""
    if framework_of(layer) == "keras":
        return {each.path.rpartition("/")[2]: array_of(each) for each in layer.weights}
    return {
        name: array_of(each)
        for name, each in [*layer.named_parameters(recurse=False), *layer.named_buffers(recurse=False)]
    }


def closest(
    settings: Iterator[tuple[Setting, np.ndarray]], port: np.ndarray, reference: np.ndarray, tolerance: float
) -> str | None:
    """The settings that give the port's and the reference's value, as few switches apart as possible.

    Empty if none gives the reference's, and None if none gives the port's.
    """
    mine, theirs = [], []
    sides = [(found, wanted, float(np.linalg.norm(wanted))) for found, wanted in ((mine, port), (theirs, reference))]
    for setting, value in settings:
        norm = float(np.linalg.norm(value))
        for found, wanted, expected in sides:
            if value.size != wanted.size or not abs(norm - expected) <= 100 * tolerance * expected:
                continue  # no order of its axes makes it this
            for view in laid_out(value, wanted.shape):
                if (gap := off(wanted, view)) <= tolerance:
                    found.append((gap, setting))
                    break
    if not mine or not theirs:
        return "" if mine else None
    near = [[setting for gap, setting in found if gap <= 4 * min(found)[0] + 1e-15] for found in (mine, theirs)]
    pairs = sorted(itertools.product(*near), key=lambda pair: sum(a != b for a, b in zip(*pair)))
    first, second = pairs[0]
    differing = [f"{a} in place of {b}" for a, b in zip(first, second) if a != b]
    return "; ".join(differing)
