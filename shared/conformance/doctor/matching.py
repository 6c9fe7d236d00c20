"""Which array of one model is which of the other: the same numbers, whatever the order of the axes and the names of the layers."""

import itertools
import math

import numpy as np

_LARGE = 1e4  # times as large as most


def off(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, relative to the largest number that is wanted; infinite for another shape, or where one isn't finite.

    A number that is far larger than most, as -1e9 where a mask hides, counts relative to itself.
    """
    if found.shape != wanted.shape:
        return math.inf
    sizes = np.abs(wanted.astype(float))
    scale = float(sizes.max(initial=0.0)) or 1.0
    if scale > _LARGE and (usual := float(np.median(sizes))) * _LARGE < scale:
        rest = sizes[sizes <= _LARGE * usual]
        scale = np.where(sizes <= _LARGE * usual, float(rest.max(initial=0.0)) or 1.0, sizes)
    with np.errstate(all="ignore"):
        difference = float((np.abs(found.astype(float) - wanted) / scale).max(initial=0.0))
    return difference if math.isfinite(difference) else math.inf


def apart(found: np.ndarray, wanted: np.ndarray) -> float:
    """As `off`, for an output: numbers that aren't finite must be the same, and at the same places."""
    if found.shape != wanted.shape:
        return math.inf
    finite = np.isfinite(found) & np.isfinite(wanted)
    same = np.array_equal(np.where(finite, 0, found), np.where(finite, 0, wanted), equal_nan=True)
    return off(found[finite], wanted[finite]) if same else math.inf


def tells(array: np.ndarray) -> bool:
    """Whether an array is large and varied enough to be known again: not a mask, a shape or a row of zeros."""
    return array.size >= 8 and array.dtype.kind == "f" and float(np.ptp(array)) > 0 and bool(np.isfinite(array).all())


def laid_out(array: np.ndarray, shape: tuple[int, ...]) -> list[np.ndarray]:
    """The array in a shape, in every order of its axes in which it fits once neighbors are joined or parted; as it is first."""
    wanted = set(np.cumprod(shape).tolist())
    squeezed = array.reshape([size for size in array.shape if size > 1] or [1])
    found: list[np.ndarray] = []
    for axes in itertools.permutations(range(squeezed.ndim)) if squeezed.ndim <= 5 else [tuple(range(squeezed.ndim))]:
        turned = squeezed.transpose(axes)
        ends = set(np.cumprod(turned.shape).tolist())
        if (ends <= wanted or wanted <= ends) and turned.size == math.prod(shape):
            view = turned.reshape(shape)
            if not any(np.array_equal(view, each) for each in found):
                found.append(view)
    if array.ndim == 2 and len(shape) == 4 and array.shape == (shape[0], math.prod(shape[1:])):
        for axes in itertools.permutations((1, 2, 3)):  # images, flattened in another order of their axes
            image = array.reshape(shape[0], *(shape[axis] for axis in axes))
            found.append(image.transpose(0, *(1 + np.argsort(axes))))
    return found


class Pool:
    """The values of the reference, to be found again by their numbers."""

    def __init__(self, values: list[tuple[int, np.ndarray]]):
        self.values = [(time, value) for time, value in values if tells(value)]
        for time, value in list(self.values):  # queries, keys and values may be packed in one
            if value.ndim > 2 and value.shape[-1] % 3 == 0:
                self.values += [(time, part) for part in np.split(value, 3, axis=-1) if tells(part)]
        self.sorted = [np.sort(value, axis=None).astype(float) for _, value in self.values]
        self._known: dict[bytes, tuple[float, int | None]] = {}

    def nearest(self, value: np.ndarray) -> tuple[float, int | None]:
        """The smallest relative difference from a value of the reference, in any order of axes, and which one it is."""
        key = value.tobytes() + str(value.shape).encode()
        if key not in self._known:
            self._known[key] = self._search(value)
        return self._known[key]

    def _search(self, value: np.ndarray) -> tuple[float, int | None]:
        mine, best = np.sort(value, axis=None).astype(float), (math.inf, None)
        for index, theirs in enumerate(self.sorted):
            if len(theirs) != len(mine):
                continue
            scale = max(abs(theirs[0]), abs(theirs[-1]), 1e-30)
            if np.abs(mine - theirs).max() > min(best[0], 1e-2) * scale:
                continue  # other numbers: no order of the axes makes them these
            for view in laid_out(self.values[index][1], value.shape):
                if (difference := off(value, view)) < best[0]:
                    best = (difference, index)
        return best
