"""How one layer's value comes about: norms, kernels, convolutions and tables, with switches."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from shared.arrays import framework_of
from shared.conformance.doctor.matching import off
from shared.conformance.doctor.settings import ACTIVATIONS, EPSILONS, Read, Setting, weights_of
from shared.conformance.doctor.tracing import Call, Trace, array_of

GAINS = ("gamma", "weight", "scale", "gain")  # how the field calls what a norm multiplies by
SHIFTS = ("beta", "bias", "offset", "shift")  # and what it adds


def norms(
    x: np.ndarray, weights: dict[str, np.ndarray], known: dict[str, np.ndarray]
) -> Iterator[tuple[Setting, np.ndarray]]:
    """A norm's value by each kind of statistics, epsilon and gain, moving statistics of the reference's among them."""
    gain = next((weights[name] for name in GAINS if name in weights and weights[name].ndim == 1), None)
    shift = next((weights[name] for name in SHIFTS if name in weights), None)
    shift = shift if gain is None or shift is None or shift.size == gain.size else None
    moving = [
        weights[name]
        for pair in (("moving_mean", "running_mean"), ("moving_variance", "running_var"))
        for name in pair
        if name in weights
    ]
    if gain is None and not moving:
        vectors = [each for each in weights.values() if each.shape == x.shape[-1:]]
        if vectors and len(vectors) == len(weights) <= 2:  # a norm whose weights have names of their own
            for order in itertools.permutations(vectors):
                yield from norms(x, dict(zip(("weight", "bias"), order)), known)
        return
    size = len(gain) if gain is not None else len(moving[0])
    axis = next((each for each in (x.ndim - 1, 1) if x.ndim > 1 and x.shape[each] == size), None)
    if axis is None:
        return
    x = x.astype(float)
    over = tuple(each for each in range(x.ndim) if each != axis) if len(moving) == 2 else (x.ndim - 1,)

    def along(vector: np.ndarray) -> np.ndarray:
        return vector.reshape([-1 if each == axis else 1 for each in range(x.ndim)])

    mean, variance = x.mean(over, keepdims=True), x.var(over, keepdims=True)
    statistics = {
        "a biased variance": (mean, variance),
        "an unbiased variance": (mean, x.var(over, keepdims=True, ddof=1)),
        "the root mean square, not centered,": (0.0, (x**2).mean(over, keepdims=True)),
    }
    if len(moving) == 2:
        statistics = {
            "moving statistics (evaluation)": tuple(map(along, moving)),
            "the batch's own statistics (training mode)": (mean, variance),
        }
        for name, center, spread in _moving(known):
            if center.shape == spread.shape == moving[0].shape and not np.array_equal(center, moving[0]):
                statistics[f"the moving statistics of the reference's {name}"] = along(center), along(spread)
    for (kind, (center, spread)), eps, inside, plus in itertools.product(
        statistics.items(), EPSILONS, (True, False), (False, True)
    ):
        with np.errstate(all="ignore"):
            y = (x - center) / (np.sqrt(spread + eps) if inside else np.sqrt(spread) + eps)
        y = y if gain is None else y * along((1 + gain) if plus else gain)
        y = y if shift is None else y + along(shift)
        where = "epsilon inside the root" if inside else "epsilon outside the root"
        yield (kind, f"epsilon {eps:g}", where, "a gain of 1 + w" if plus else "a gain of w"), y


def _moving(known: dict[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The reference's moving means and variances, with the path of their layer."""
    for mean, variance in (("running_mean", "running_var"), ("moving_mean", "moving_variance")):
        for name, center in known.items():
            if name.endswith(mean):
                path = name.removesuffix(mean)
                yield path.rstrip("./") or "the reference", center, known[path + variance]


def other_gain(read: Read) -> str:
    """Which gain and bias give the reference's value of a norm, where the port has others."""
    gain = next(
        (read.weights[name] for name in GAINS if name in read.weights and read.weights[name].ndim == 1),
        None,
    )
    if gain is None or read.x.shape[-1] != gain.size or read.x.shape != read.reference.shape:
        return ""
    rows, found, wanted = (each.reshape(-1, gain.size).astype(float) for each in (read.x, read.port, read.reference))
    if len(rows) < 3:
        return ""  # a line goes through any two points
    shift = _bias(read.weights, gain.size, SHIFTS)
    for eps, is_centered in itertools.product(EPSILONS, (True, False)):
        centered = rows - rows.mean(axis=-1, keepdims=True) if is_centered else rows
        normalized = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps)
        if off(normalized * gain + shift, found) > read.tolerance:
            continue
        fits = [np.polyfit(normalized[:, each], wanted[:, each], 1) for each in range(gain.size)]
        slopes, offsets = np.array(fits).T
        if off(normalized * slopes + offsets, wanted) > read.tolerance:
            return ""
        differing = []
        for what, own, fitted in (("gain", gain, slopes), ("bias", shift, offsets)):
            if np.abs(own - fitted).max() > 1e-4 * max(1.0, np.abs(fitted).max()):
                if what == "gain" and any(np.abs(own + step - fitted).max() < 1e-4 for step in (1, -1)):
                    differing.append(
                        "a gain of w in place of 1 + w"
                        if (fitted - own).mean() > 0
                        else "a gain of 1 + w in place of w"
                    )
                    continue
                mine, theirs = (_known_as(each, read.known) for each in (own, fitted))
                plain = (
                    f"a {what} of {'ones' if what == 'gain' else 'zeros'}" if np.ptp(own) == 0 else f"another {what}"
                )
                first = f"the {what} of {mine}" if mine else plain
                differing.append(f"{first} in place of that of {theirs or 'the reference'}")
        return "; ".join(differing)
    return ""


def _bias(weights: dict[str, np.ndarray], size: int, names: tuple[str, ...] = ("bias",)) -> np.ndarray:
    """The bias of this size among a layer's weights; zero if there is none."""
    found = (each.reshape(-1) for name, each in weights.items() if any(word in name for word in names))
    return next((each for each in found if each.size == size), np.zeros(1))


def _known_as(vector: np.ndarray, known: dict[str, np.ndarray]) -> str:
    """The name of the weight that is this vector; empty if none is."""
    return next((name for name, each in known.items() if each.shape == vector.shape and off(vector, each) < 1e-4), "")


def normalized(x: np.ndarray, gain: np.ndarray, shifts: list[np.ndarray]) -> Iterator[np.ndarray]:
    """A norm of x with this gain: by the root mean square, or centered and with each of these biases."""
    for eps in (1e-5, 1e-6, 1e-12):
        yield x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * gain
        centered = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + eps) * gain
        for shift in [np.zeros(1), *shifts]:
            yield centered + shift


def norm_left_out(port: np.ndarray, reference: np.ndarray, known: dict[str, np.ndarray], tolerance: float) -> str:
    """The name of the gain with which the reference normalizes what the port leaves as it is; empty if it doesn't."""
    if port.shape != reference.shape or port.ndim < 2:
        return ""
    rows, wanted = (each.reshape(-1, port.shape[-1]).astype(float) for each in (port, reference))
    if len(rows) < 3:
        return ""
    for eps, is_centered in itertools.product(EPSILONS, (True, False)):
        centered = rows - rows.mean(axis=-1, keepdims=True) if is_centered else rows
        with np.errstate(all="ignore"):  # rows of zeros fit nothing
            normalized = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps)
            means = normalized.mean(axis=0) if is_centered else np.zeros(normalized.shape[1])
            around = normalized - means
            slopes = (around * wanted).mean(axis=0) / (around**2).mean(axis=0)
            offsets = wanted.mean(axis=0) - slopes * means if is_centered else means
            fitted = normalized * slopes + offsets
        if off(fitted, wanted) <= tolerance:
            return _known_as(slopes, known)
    return ""


def linears(x: np.ndarray, weights: dict[str, np.ndarray]) -> Iterator[tuple[Setting, np.ndarray]]:
    kernels = {name: each for name, each in weights.items() if each.ndim >= 2}
    bias = next((each for name, each in weights.items() if "bias" in name), None)
    for each in kernels.values():
        for turned in (False, True):
            for lead in range(1, each.ndim):
                kernel = each.reshape(int(np.prod(each.shape[:lead])), -1)
                kernel = kernel.T if turned else kernel
                flat = x.astype(float).reshape(len(x), -1) if x.shape[-1] != len(kernel) else x.astype(float)
                if flat.shape[-1] != len(kernel):
                    continue
                for has_bias in (True, False):
                    if has_bias and (bias is None or bias.size != kernel.shape[1]):
                        continue
                    y = flat @ kernel + (bias.reshape(-1) if has_bias else 0)
                    for name, act in ACTIVATIONS.items():
                        kind = "the kernel's transpose" if turned else "the kernel as it is"
                        yield (kind, "with its bias" if has_bias else "without its bias", name), act(y)


def all_weights(model: Any, tables: bool = True) -> dict[str, np.ndarray]:
    """Every weight of a model, with the tables that it computed if asked for, and of kernels with a multiple of three in an axis their thirds, because these may be packed."""
    if framework_of(model) == "keras":
        found = {each.path: array_of(each) for each in model.weights}
    else:
        found = {
            name: array_of(each)
            for name, each in [*model.named_parameters(), *(model.named_buffers() if tables else ())]
        }
        found = {name: each for name, each in found.items() if each.dtype.kind == "f" and each.ndim}
    for name, each in list(found.items()):
        for axis, size in enumerate(each.shape if each.ndim == 2 or "bias" in name else ()):
            if size % 3 == 0:
                parts = np.split(each, 3, axis)
                found |= {f"part {number} of 3 of {name}": part for number, part in enumerate(parts, 1)}
    return found


def in_use(trace: Trace) -> list[tuple[str, np.ndarray]]:
    """The weights of the layers that call no other, in the order of the calls, with thirds of those that may be packed."""
    found = {}
    holders = {each.inside for each in trace.calls}
    for call in trace.calls:
        if call.number in holders or call.layer is None:
            continue
        if framework_of(call.layer) == "keras":
            own = {f"{call.path}.{each.path.rpartition('/')[2]}": each for each in call.layer.weights}
        else:
            own = {f"{call.path}.{name}": each for name, each in call.layer.named_parameters()}
        for name, each in own.items():
            array = array_of(each)
            found.setdefault(name, array)
            if (array.ndim and array.shape[0] % 3 == 0 and "in_proj" in name) or (
                array.ndim == 2 and array.shape[1] % 3 == 0
            ):
                parts = np.split(array, 3, 0 if "in_proj" in name else 1)
                found |= {f"part {number} of 3 of {name}": part for number, part in enumerate(parts, 1)}
    return list(found.items())


def displaced(trace: Trace, some: list[Call], theirs: list[tuple[str, np.ndarray]]) -> str:
    """Which weight of some of the port's layers stands where the reference, in the order of its calls, has another."""
    at = {}
    for number, (_, each) in enumerate(theirs):
        at.setdefault(_numbers(each), []).append(number)
    paths = tuple(f"{call.path}." for call in some if call.path)
    reads = {call.path: call.ins[0] for call in trace.calls if call.ins}
    most, text = 0, ""
    # Kernels among kernels, and gains among gains, because a norm may stand elsewhere, and packed biases do.
    used = [(name, each) for name, each in in_use(trace) if "bias" not in name and "beta" not in name]
    for is_kernel in (True, False):
        found = [(name, at.get(_numbers(each), [])) for name, each in used if (each.ndim > 1) == is_kernel]
        mine = [(name, where[0]) for name, where in found if len(where) == 1]
        for index, (name, number) in enumerate(mine):
            if not name.startswith(paths) or name.startswith("part "):
                continue
            # only with a weight of its size can one be exchanged; layers that read the same may come in any order
            size, read = theirs[number][1].size, reads.get(_path(name))
            wrong = [
                (other > number) == (place < index)
                for place, (one, other) in enumerate(mine)
                if place != index
                and theirs[other][1].size == size
                and (read is None or not np.array_equal(read, reads.get(_path(one))))
            ]
            if sum(wrong) > most:
                most = sum(wrong)
                said = f"{name} has the numbers of {theirs[number][0]}"
                text = f"{said}: perhaps weights of another layer, or layers exchanged"
    return text


def _path(name: str) -> str:
    """The layer of a weight, by its name in `in_use`."""
    return name.rpartition(".")[0]


def _numbers(array: np.ndarray) -> bytes:
    """What two weights have in common that differ by the order of their axes alone."""
    return np.sort(array, axis=None).astype(np.float32).tobytes()


def _numbers_in_order(row: np.ndarray) -> bytes:
    return row.astype(np.float32).tobytes()


def of_table(
    call: Call, known: dict[str, np.ndarray], port: np.ndarray, reference: np.ndarray, tolerance: float
) -> str:
    """What differs in a table of vectors that is looked up by whole numbers: the ids, the rows, a factor, or the table."""
    ids = next((each for each in call.ins if each.dtype.kind in "iu"), None)
    own = next((each for each in weights_of(call.layer).values() if each.ndim == 2), None)
    if ids is None or own is None or ids.size * own.shape[1] != port.size:
        return ""
    flat = ids.reshape(-1).astype(int)
    for name, table in known.items():
        if table.ndim != 2 or table.shape[1] != own.shape[1]:
            continue
        for step in (0, 1, -1, 2, -2):
            rows = flat + step
            if rows.min(initial=0) < 0 or rows.max(initial=0) >= len(table):
                continue
            found = table[rows].reshape(reference.shape)
            if off(found, reference) <= tolerance:
                if step:
                    return (
                        f"positions shifted by one: row i in place of row i {step:+d} of {name}"
                        if abs(step) == 1
                        else f"row i in place of row i {step:+d} of {name}"
                    )
                for moved in (1, -1, 2, -2):
                    if own.shape == table.shape and np.array_equal(np.roll(own, moved, axis=0), table):
                        return f"the rows of {name} shifted by {-moved:+d} in place of as they are"
                factor = float((own * table).sum() / (table * table).sum()) if own.shape == table.shape else 0.0
                if off(own, table) < 1e-6:
                    return ""  # the table is right: something else is done with it
                if factor and off(own, factor * table) < 1e-6:
                    return f"{factor:.4g} times {name} in place of it as it is: a scaled embedding"
                return f"another table in place of {name}"
            size = own.shape[1]
            for text, factor in ((f"sqrt({size})", size**0.5), (f"1/sqrt({size})", size**-0.5)):
                if off(found * factor, reference) <= tolerance:
                    return f"{name} as it is in place of {text} times it"
    numbers = {_numbers_in_order(row): number for number, row in enumerate(own)}
    theirs = [numbers.get(_numbers_in_order(row)) for row in reference.reshape(-1, own.shape[1])]
    if None not in theirs and (differing := [pair for pair in zip(flat.tolist(), theirs) if pair[0] != pair[1]]):
        return "row {} in place of row {} of this table, and so on: other ids".format(*differing[0])
    return ""


def other_kernel(read: Read) -> str:
    """Which kernel and bias of the reference give its value, and what the port's are instead."""
    own = next((each for each in read.weights.values() if each.ndim >= 2), None)
    if own is None:
        return ""
    flat = _rows(read.x, own, read.port)
    if flat is None:
        return ""
    columns = own.size // flat.shape[1]
    own_bias = _bias(read.weights, columns)
    biases = [np.zeros(1), own_bias, *(each.reshape(-1) for each in read.known.values() if each.size == columns)]
    found, wanted = (each.reshape(len(flat), -1).astype(float) for each in (read.port, read.reference))
    mine, act = next(
        (
            (each, act)
            for act in ACTIVATIONS.values()
            for each in _matrices(own, flat.shape[1])
            if off(act(flat @ each + own_bias), found) < 1e-4
        ),
        (None, ACTIVATIONS["no activation"]),
    )
    for name, kernel in read.known.items():
        if kernel.size != own.size:
            continue
        for theirs in _matrices(kernel, flat.shape[1]):
            product = flat @ theirs
            if min(off(act(product + bias), wanted) for bias in biases) > read.tolerance:
                continue
            if mine is None:
                return ""  # what the port does there is more than a kernel
            if off(mine, theirs) < 1e-6:
                what = "no bias" if not own_bias.any() else "another bias"
                return f"{what} in place of the reference's, beside {name}"
            if text := _in_another_order(mine, name, theirs):
                return text
            same = [each for each, other in read.known.items() if _is_kernel(mine, other)]
            mixed = f"the kernel of {same[0]}" if same else "a kernel that the reference doesn't have"
            is_untied = not same and any(_is_kernel(theirs, each) for each in read.tables)
            return f"{mixed} in place of that of {name}" + " (it is not tied to the table)" * is_untied
    return ""


class Affine(NamedTuple):
    """A kernel as a matrix (in, out), a bias, and the shape of what comes out."""

    kernel: np.ndarray
    bias: np.ndarray
    shape: tuple[int, ...]

    def __call__(self, value: np.ndarray) -> np.ndarray:
        """A value behind the kernel; nothing if it doesn't fit."""
        rows, columns = self.kernel.shape
        if value.size % rows or value.size // rows * columns != math.prod(self.shape):
            return np.zeros(0)
        return (value.reshape(-1, rows) @ self.kernel + self.bias).reshape(self.shape)

    def before(self, value: np.ndarray) -> np.ndarray | None:
        """What became this value; None if more than one thing may have."""
        if len(self.kernel) > self.kernel.shape[1] or np.linalg.cond(self.kernel) > 1e4:
            return None
        return (value.astype(float) - self.bias) @ np.linalg.pinv(self.kernel)


def as_affine(x: np.ndarray, weights: dict[str, np.ndarray], port: np.ndarray) -> Affine | None:
    """What a layer with a kernel does to what it reads, where that is all it does; None for another layer."""
    own = next((each for each in weights.values() if each.ndim >= 2), None)
    flat = None if own is None or x.dtype.kind != "f" else _rows(x, own, port)
    if flat is None:
        return None
    bias = _bias(weights, own.size // flat.shape[1])
    for kernel in _matrices(own, flat.shape[1]):
        if off((flat @ kernel + bias).reshape(port.shape), port) < 1e-4:
            return Affine(kernel.astype(float), bias, port.shape)
    return None


def _rows(x: np.ndarray, kernel: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """What a kernel reads as a matrix; its inputs may be several axes, as heads and their features are."""
    for axes in range(1, x.ndim):
        inputs = int(np.prod(x.shape[-axes:]))
        if kernel.size % inputs == 0 and x.size // inputs * (kernel.size // inputs) == y.size:
            return x.reshape(-1, inputs).astype(float)
    return None


def _matrices(kernel: np.ndarray, inputs: int) -> list[np.ndarray]:
    """A kernel as a matrix of (inputs, outputs), as both frameworks store it."""
    if kernel.ndim < 2 or kernel.size % inputs:
        return []
    return [kernel.reshape(inputs, -1), kernel.reshape(-1, inputs).T]


def _is_kernel(mine: np.ndarray, other: np.ndarray) -> bool:
    return other.size == mine.size and any(np.array_equal(each, mine) for each in _matrices(other, len(mine)))


def positions_from(port: np.ndarray, reference: np.ndarray, known: dict[str, np.ndarray], tolerance: float) -> str:
    """Whether both add rows of the same table to the same, from another row on."""
    if port.ndim != 3 or port.shape != reference.shape:
        return ""
    length = port.shape[1]
    for name, table in known.items():
        if table.ndim != 2 or table.shape[1] != port.shape[2] or len(table) < length:
            continue
        starts = range(min(4, len(table) - length + 1))
        for mine, theirs in itertools.permutations(starts, 2):
            gap = table[mine : mine + length] - table[theirs : theirs + length]
            if off(port - gap, reference) <= tolerance:
                return f"positions from {mine} in place of from {theirs}: rows of {name}"
    return ""


def in_another_order(weights: dict[str, np.ndarray], known: dict[str, np.ndarray]) -> str:
    """Which of these weights has the numbers of one of the reference's in an order that no layout explains; empty if none has."""
    for name, own in weights.items():
        if own.ndim < 2:
            continue
        alike = {
            each: other
            for each, other in known.items()
            if other.size == own.size and other.ndim > 1 and np.array_equal(np.sort(own, None), np.sort(other, None))
        }
        sizes = {size for other in alike.values() for size in (other.shape if other.ndim == 2 else (len(other),))}
        leads = sizes & {int(np.prod(own.shape[:axes])) for axes in range(1, own.ndim)}
        if not alike and (text := _cut_by_head(own, known)):
            return f"{name} is {text}"
        if not alike or any(
            off(mine, theirs) < 1e-6
            for other in alike.values()
            for inputs in leads
            for mine in _matrices(own, inputs)
            for theirs in _matrices(other, inputs)
        ):
            continue
        for each, other in alike.items():
            for inputs in leads:
                for mine in _matrices(own, inputs):
                    for theirs in _matrices(other, inputs):
                        if text := _in_another_order(mine, each, theirs):
                            return f"{name} is {text}"
    return ""


def _cut_by_head(own: np.ndarray, known: dict[str, np.ndarray]) -> str:
    """Whether a kernel is a third of a packed one, cut as if each head's queries, keys and values stood together, or apart."""
    for name, packed in known.items():
        if packed.ndim != 2 or packed.size != 3 * own.size or name.startswith("part "):
            continue
        for kernel in (packed, packed.T):
            width = kernel.shape[1] // 3
            if kernel.shape[1] % 3:
                continue
            for heads in (each for each in range(2, width) if width % each == 0):
                cut = kernel.reshape(len(kernel), heads, 3, -1)
                for number in range(3):
                    for mine in _matrices(own, len(kernel)):
                        if off(cut[:, :, number].reshape(len(kernel), -1), mine) < 1e-6:
                            return f"part {number + 1} of 3 of {name} packed as (h 3 d) and not (3 h d)"
    return ""


def _in_another_order(mine: np.ndarray, name: str, theirs: np.ndarray) -> str:
    for text, changed in _turned(theirs):
        if off(changed, mine) < 1e-6:
            return f"the kernel of {name}, {text}, in place of it as it is"
    return ""


def _turned(kernel: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The same numbers of a kernel, (in, out), in another order."""
    yield "transposed", kernel.T.reshape(kernel.shape)
    yield "transposed", kernel.reshape(kernel.shape[::-1]).T
    for axis, what in ((0, "rows"), (1, "columns")):
        yield f"its {what} reversed", np.flip(kernel, axis)
        size, moved = kernel.shape[axis], np.moveaxis(kernel, axis, -1)
        lead = moved.shape[:-1]
        for first in (each for each in range(2, size) if size % each == 0):
            turned = moved.reshape(*lead, first, -1).swapaxes(-1, -2).reshape(moved.shape)
            yield (
                f"its {what} as heads of ({size // first} {first}) and not ({first} {size // first})",
                np.moveaxis(turned, -1, axis),
            )
        for three in itertools.permutations((0, 1, 2)) if size % 3 == 0 else ():
            for heads in (each for each in range(2, size // 3) if size // 3 % each == 0):
                axes = [len(lead) + each for each in three]
                letters = " ".join("3hd"[each] for each in three)
                turned = moved.reshape(*lead, 3, heads, -1).transpose(*range(len(lead)), *axes).reshape(moved.shape)
                yield f"its {what} packed as ({letters}) and not (3 h d)", np.moveaxis(turned, -1, axis)
                back = np.argsort(three)
                sizes = [(3, heads, size // 3 // heads)[each] for each in three]
                turned = moved.reshape(*lead, *sizes).transpose(*range(len(lead)), *(len(lead) + back))
                yield (
                    f"its {what} packed as (3 h d) and not ({letters})",
                    np.moveaxis(turned.reshape(moved.shape), -1, axis),
                )


def convolutions(
    x: np.ndarray, layer: Any, weights: dict[str, np.ndarray], y: np.ndarray
) -> Iterator[tuple[Setting, np.ndarray]]:
    """A convolution's value with each padding before and after, and its kernel as it is, or turned."""
    kernel = next((each for each in weights.values() if each.ndim in (3, 4)), None)
    if kernel is None or x.ndim != kernel.ndim:
        return
    bias = next((each for name, each in weights.items() if "bias" in name), np.zeros(1))
    is_keras = framework_of(layer) == "keras"
    # (batch, channels, ...) and (out, in, ...), as PyTorch has them
    last = is_keras and getattr(layer, "data_format", "") != "channels_first"
    x, kernel = (np.moveaxis(x, -1, 1) if last else x), (np.moveaxis(kernel, (-1, -2), (0, 1)) if is_keras else kernel)
    axes = kernel.ndim - 2
    if x.shape[1] != kernel.shape[1]:
        return
    strides = np.broadcast_to(getattr(layer, "strides", getattr(layer, "stride", 1)), axes)
    spatial = tuple(range(2, kernel.ndim))
    kernels = {"the kernel as it is": kernel, "the kernel turned by half a turn": np.flip(kernel, spatial)}
    if axes == 2 and kernel.shape[2] == kernel.shape[3]:
        kernels["the kernel's height and width exchanged"] = kernel.swapaxes(2, 3)
    for before, after in itertools.product(range(max(kernel.shape[2:])), repeat=2):
        padded = np.pad(x.astype(float), [(0, 0), (0, 0), *([(before, after)] * axes)])
        if any(size < kernel.shape[2 + axis] for axis, size in enumerate(padded.shape[2:])):
            continue
        windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[2:], spatial)
        windows = windows[(slice(None), slice(None), *(slice(None, None, int(step)) for step in strides))]
        for name, each in kernels.items():
            summed = [1, *(windows.ndim - axes + axis for axis in range(axes))]
            out = np.tensordot(windows, each, (summed, [1, *spatial])) + bias.reshape(-1)
            if out.size == y.size:
                yield (f"padding of {before} before and {after} after", name), out


def pooled(x: np.ndarray, y: np.ndarray) -> Iterator[tuple[Setting, np.ndarray]]:
    """What one value of many positions may be: the first, the last, the mean, the largest; or of each window of an image."""
    if x.ndim > 2 and x[:, 0].size == y.size:
        yield ("the first position",), x[:, 0]
        yield ("the last position",), x[:, -1]
        yield ("the mean over positions",), x.mean(axis=1)
        yield ("the largest over positions",), x.max(axis=1)
    if x.ndim == 4:
        yield from _windows(x.astype(float), y)


def _windows(x: np.ndarray, y: np.ndarray) -> Iterator[tuple[Setting, np.ndarray]]:
    """The mean and the largest of each window: windows side by side, or of 2 or 3, with zeros around the image or none."""
    mean, largest, counted, real = (
        "the mean of each window",
        "the largest of each window",
        "its border's zeros counted",
        "its border's zeros not counted",
    )
    for at in (1, 2):  # where the height stands
        rows, columns = x.shape[at : at + 2]
        for down in (each for each in range(1, rows + 1) if rows % each == 0):
            across = x.size // y.size // down
            if across * down * y.size == x.size and columns % max(across, 1) == 0:
                shape = (*x.shape[:at], rows // down, down, columns // across, across, *x.shape[at + 2 :])
                windows = x.reshape(shape)
                yield (mean, real), windows.mean(axis=(at + 1, at + 3))
                yield (largest, real), windows.max(axis=(at + 1, at + 3))
        for size, step, before, after in itertools.product((2, 3), (1, 2, 3), (0, 1), (0, 1)):
            around = [(before, after) if axis in (at, at + 1) else (0, 0) for axis in range(4)]
            steps = [slice(None, None, step if axis in (at, at + 1) else 1) for axis in range(4)]
            padded, there = np.pad(x, around, constant_values=np.nan), np.pad(np.ones(x.shape), around)
            if min(padded.shape[at : at + 2]) < size:
                continue
            windows, there = (
                np.lib.stride_tricks.sliding_window_view(each, (size, size), (at, at + 1))[tuple(steps)]
                for each in (padded, there)
            )
            if windows[..., 0, 0].size == y.size:
                total = np.nansum(windows, axis=(-2, -1))
                border = f"padding of {before} before and {after} after"
                yield (mean, counted, border), total / size**2
                yield (mean, real, border), total / there.sum(axis=(-2, -1))
                yield (largest, real, border), np.nanmax(windows, axis=(-2, -1))
