"""The conventions by which ports differ: small functions with switches. What gives the port's value, and what the reference's."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from shared.arrays import as_numpy, framework_of
from shared.conformance.doctor.matching import laid_out, off
from shared.conformance.doctor.tracing import Call, Trace

_EPSILONS = (1e-5, 1e-6, 1e-3, 1e-12, 1e-8, 1e-7, 1e-2, 0.0)
Setting = tuple[str, ...]


def _erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf)(x)


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


class Read(NamedTuple):
    """What a layer read, with which weights of its own, and what came of it in the port and in the reference."""

    x: np.ndarray
    weights: dict[str, np.ndarray]
    known: dict[str, np.ndarray]  # the reference's weights
    port: np.ndarray
    reference: np.ndarray
    tolerance: float


def explain(
    call: Call, side: str, port: np.ndarray, reference: np.ndarray, trace: Trace, known: dict[str, np.ndarray]
) -> str:
    """The convention that makes the port's value of what the layer read, and the one that makes the reference's; empty if none does.

    Args:
        call, side: where the port parts, and whether by what the layer reads ("in") or returns ("out").
        port, reference: the two values.
        known: the reference's weights.
    """
    tolerance = 1e-6 if port.dtype == np.float64 else 3e-5
    if side == "out" and (text := _of_table(call, known, port, reference, tolerance)):
        return text
    if side == "out":
        inner = [each for each in trace.calls if each.inside == call.number]
        floats = [each for each in call.ins if each.dtype.kind == "f"]
        if floats and not inner:
            weights = weights_of(call.layer)
            for settings in (_norms(floats[0], weights), _linears(floats[0], weights)):
                if text := _closest(settings, port, reference, tolerance):
                    return text
            read = Read(floats[0], weights, known, port, reference, tolerance)
            if text := _other_gain(read) or _other_kernel(read):
                return text
            if text := _closest(
                (((name,), act(floats[0].astype(float))) for name, act in ACTIVATIONS.items()),
                port,
                reference,
                tolerance,
            ):
                return text
    return _glue(call, side, port, reference, trace, tolerance)


def weights_of(layer: Any) -> dict[str, np.ndarray]:
    """The layer's own weights, by the last part of their names."""
    if framework_of(layer) == "keras":
        return {each.path.rpartition("/")[2]: as_numpy(each) for each in layer.weights}
    return {
        name: as_numpy(each)
        for name, each in [*layer.named_parameters(recurse=False), *layer.named_buffers(recurse=False)]
    }


def _closest(
    settings: Iterator[tuple[Setting, np.ndarray]], port: np.ndarray, reference: np.ndarray, tolerance: float
) -> str:
    """The settings that give the port's and the reference's value, as few switches apart as possible."""
    mine, theirs = [], []
    for setting, value in settings:
        for found, wanted in ((mine, port), (theirs, reference)):
            for view in laid_out(value, wanted.shape) if value.size == wanted.size else []:
                if (gap := off(wanted, view)) <= tolerance:
                    found.append((gap, setting))
                    break
    if not mine or not theirs:
        return ""
    near = [[setting for gap, setting in found if gap <= 4 * min(found)[0] + 1e-15] for found in (mine, theirs)]
    pairs = sorted(itertools.product(*near), key=lambda pair: sum(a != b for a, b in zip(*pair)))
    first, second = pairs[0]
    differing = [f"{a} in place of {b}" for a, b in zip(first, second) if a != b]
    return "; ".join(differing)


def _norms(x: np.ndarray, weights: dict[str, np.ndarray]) -> Iterator[tuple[Setting, np.ndarray]]:
    gain = next(
        (weights[name] for name in ("gamma", "weight", "scale") if name in weights and weights[name].ndim == 1), None
    )
    shift = next((weights[name] for name in ("beta", "bias") if name in weights), None)
    moving = [
        weights[name]
        for pair in (("moving_mean", "running_mean"), ("moving_variance", "running_var"))
        for name in pair
        if name in weights
    ]
    if gain is None and not moving:
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
    for (kind, (center, spread)), eps, inside, plus in itertools.product(
        statistics.items(), _EPSILONS, (True, False), (False, True)
    ):
        with np.errstate(all="ignore"):
            y = (x - center) / (np.sqrt(spread + eps) if inside else np.sqrt(spread) + eps)
        y = y if gain is None else y * along((1 + gain) if plus else gain)
        y = y if shift is None else y + along(shift)
        where = "epsilon inside the root" if inside else "epsilon outside the root"
        yield (kind, f"epsilon {eps:g}", where, "a gain of 1 + w" if plus else "a gain of w"), y


def _other_gain(read: Read) -> str:
    """Which gain and bias give the reference's value of a norm, where the port has others."""
    gain = next(
        (
            read.weights[name]
            for name in ("gamma", "weight", "scale")
            if name in read.weights and read.weights[name].ndim == 1
        ),
        None,
    )
    if gain is None or read.x.shape[-1] != gain.size or read.x.shape != read.reference.shape:
        return ""
    rows, found, wanted = (each.reshape(-1, gain.size).astype(float) for each in (read.x, read.port, read.reference))
    shift = next((read.weights[name] for name in ("beta", "bias") if name in read.weights), np.zeros(gain.size))
    for eps, is_centered in itertools.product(_EPSILONS, (True, False)):
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


def _known_as(vector: np.ndarray, known: dict[str, np.ndarray]) -> str:
    """The name of the weight that is this vector; empty if none is."""
    return next((name for name, each in known.items() if each.shape == vector.shape and off(vector, each) < 1e-4), "")


def _linears(x: np.ndarray, weights: dict[str, np.ndarray]) -> Iterator[tuple[Setting, np.ndarray]]:
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


def all_weights(model: Any) -> dict[str, np.ndarray]:
    """Every weight of a model, and of kernels with a multiple of three in an axis their thirds, because these may be packed."""
    if framework_of(model) == "keras":
        found = {each.path: as_numpy(each) for each in model.weights}
    else:
        found = {name: as_numpy(each) for name, each in model.named_parameters()}
    for name, each in list(found.items()):
        for axis, size in enumerate(each.shape if each.ndim == 2 else ()):
            if size % 3 == 0:
                parts = np.split(each, 3, axis)
                found |= {f"part {number} of 3 of {name}": part for number, part in enumerate(parts, 1)}
    return found


def _of_table(
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
                return f"another table in place of {name}"
            size = own.shape[1]
            for text, factor in ((f"sqrt({size})", size**0.5), (f"1/sqrt({size})", size**-0.5)):
                if off(found * factor, reference) <= tolerance:
                    return f"{name} as it is in place of {text} times it"
    return ""


def _other_kernel(read: Read) -> str:
    """Which kernel of the reference gives its value, and what the port's kernel is instead."""
    own = next((each for each in read.weights.values() if each.ndim >= 2), None)
    if own is None:
        return ""
    flat = read.x.astype(float).reshape(-1, read.x.shape[-1])
    biases = [
        np.zeros(1),
        *(each.reshape(-1) for each in [*read.weights.values(), *read.known.values()] if each.ndim == 1),
    ]
    for name, kernel in read.known.items():
        if kernel.size != own.size or kernel.ndim < 2 or kernel.size % flat.shape[1]:
            continue
        for wanted in (kernel.reshape(len(flat.T), -1), kernel.reshape(-1, len(flat.T)).T):
            product = flat @ wanted
            for bias in biases:
                if bias.size not in (1, product.shape[1]) or product.size != read.reference.size:
                    continue
                if off((product + bias).reshape(read.reference.shape), read.reference) > read.tolerance:
                    continue
                same = (
                    [
                        each
                        for each, other in read.known.items()
                        if any(np.array_equal(view, own) for view in laid_out(other, own.shape))
                    ]
                    if own.ndim <= 3
                    else []
                )
                if same and name not in same:
                    return f"the kernel of {same[0]} in place of that of {name}"
                for text, changed in _turned(wanted):
                    if any(off(view, own) < 1e-6 for view in laid_out(changed, own.shape)):
                        return f"the kernel of {name}, {text}, in place of it as it is"
                if not same:
                    return f"a kernel that the reference doesn't have in place of {name}"
                own_bias = next((each for key, each in read.weights.items() if "bias" in key), None)
                what = "no bias" if own_bias is None or not own_bias.any() else "another bias"
                return f"{what} in place of the reference's, beside {name}"
    return ""


def _turned(kernel: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The same numbers of a kernel, (in, out), in another order."""
    for axis, what in ((0, "rows"), (1, "columns")):
        yield f"its {what} reversed", np.flip(kernel, axis)
        size = kernel.shape[axis]
        for first in range(2, size):
            if size % first == 0 and size // first > 1:
                moved = np.moveaxis(kernel, axis, -1)
                moved = moved.reshape(*moved.shape[:-1], first, -1).swapaxes(-1, -2).reshape(moved.shape)
                yield (
                    f"its {what} as ({size // first} {first}) and not ({first} {size // first})",
                    np.moveaxis(moved, -1, axis),
                )


def _flattened(port: np.ndarray, reference: np.ndarray, tolerance: float) -> str:
    """Whether the last axis is three axes that were joined in another order."""
    size = port.shape[-1]
    if port.ndim != 2 or reference.shape != port.shape:
        return ""
    for a in (each for each in range(2, size) if size % each == 0):
        for b in (each for each in range(2, size // a) if size // a % each == 0):
            for axes in itertools.permutations((1, 2, 3)):
                if axes != (1, 2, 3):
                    turned = port.reshape(len(port), a, b, -1).transpose(0, *axes).reshape(port.shape)
                    if off(turned, reference) <= tolerance:
                        return f"axes of {a}, {b} and {size // a // b} flattened as they are in place of in the order {axes} (channels first and last)"
    return ""


def _products(sources: list[tuple[str, np.ndarray]], port: np.ndarray, reference: np.ndarray, tolerance: float) -> str:
    """A gate: an activation of one, times another."""
    for act_name, act in ACTIVATIONS.items():
        settings = (
            ((f"{act_name} of {gate}, times {name}",), act(value.astype(float)) * other)
            for (gate, value), (name, other) in itertools.permutations(sources[-6:], 2)
        )
        if text := _closest(settings, port, reference, tolerance):
            return text
    return ""


def _attentions(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, heads: int, masks: dict[str, Any]
) -> Iterator[tuple[Setting, np.ndarray]]:
    """What queries, keys and values, (batch, length, width), become, with one switch or none away from the usual."""
    width = q.shape[-1]
    usual = ("scores over sqrt(head_dim)", "heads as (h d)", "query, key, value", "a softmax over keys")
    scales = {
        usual[0]: (width // heads) ** -0.5,
        "scores as they are": 1.0,
        "scores over sqrt(d_model)": width**-0.5,
        "scores over head_dim": heads / width,
    }
    orders = {
        " ".join(names): order
        for order, names in zip(itertools.permutations((0, 1, 2)), itertools.permutations(("query,", "key,", "value")))
    }
    orders = {usual[2]: (0, 1, 2)} | {
        f"the order {text}": order for text, order in orders.items() if order != (0, 1, 2)
    }

    def split(x: np.ndarray, is_usual: bool) -> np.ndarray:
        parts = x.reshape(*x.shape[:2], heads, -1) if is_usual else x.reshape(*x.shape[:2], -1, heads).swapaxes(2, 3)
        return parts.swapaxes(1, 2)

    for (mask_name, mask), (scale, factor), hd, (order, axes), over in itertools.product(
        masks.items(),
        scales.items(),
        (usual[1], "heads as (d h)"),
        orders.items(),
        (usual[3], "a softmax over queries"),
    ):
        if sum(a != b for a, b in zip((scale, hd, order, over), usual)) > 1:
            continue
        a, b, c = (split((q, k, v)[index].astype(float), hd == usual[1]) for index in axes)
        scores = a @ b.swapaxes(-1, -2) * factor
        scores = scores if mask is None else np.where(mask, scores, -1e30)
        axis = -1 if over == usual[3] else -2
        weights = np.exp(scores - scores.max(axis, keepdims=True))
        merged = (weights / weights.sum(axis, keepdims=True) @ c).swapaxes(1, 2)
        yield (mask_name, scale, hd, order, over), merged.reshape(q.shape)


def _spread(source: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """The array in a shape: as it is, laid out, or broadcast, as positions are over the batch; None if it fits in no way."""
    if source.size == math.prod(shape):
        return next(iter(laid_out(source, shape)), None)
    try:
        return np.broadcast_to(source, shape) if source.ndim <= len(shape) and source.size > 1 else None
    except ValueError:
        return None


def _as_attention(
    port: np.ndarray, reference: np.ndarray, sources: list[np.ndarray], given: list[np.ndarray], tolerance: float
) -> str:
    """The switches of an attention whose queries, keys and values are the last three that were computed.

    Args:
        given: masks of the model's inputs, (batch, length).
    """
    if len(sources) < 3 or port.ndim not in (3, 4):
        return ""
    q, k, v = (each.reshape(*each.shape[:2], -1) for each in sources[-3:])
    length, width = q.shape[1:]
    if port.size != q.size:
        return ""
    back = np.arange(length)[:, None] - np.arange(length)
    masks = {
        "no mask": None,
        "a causal mask": back >= 0,
        "a mask that lets each see the next, too,": back >= -1,
        "a mask that hides its own": (back > 0) | (np.arange(length)[:, None] == 0),
        "a mask of the other polarity": back <= 0,
    }
    for each in given:
        real = (each != 0)[:, None, None, :]
        masks = {"the padding mask": real, "the padding mask of the other polarity": ~real, "no mask": None}
        masks |= {"a causal mask alone": back >= 0, "a causal mask and the padding mask": real & (back >= 0)}
    for heads in (each for each in range(1, width + 1) if width % each == 0):
        if text := _closest(_attentions(q, k, v, heads, masks), port, reference, tolerance):
            return text
    return ""


def _glue(call: Call, side: str, port: np.ndarray, reference: np.ndarray, trace: Trace, tolerance: float) -> str:
    """What own code between layers may do: a factor, a sum of what is around, an activation."""
    holder = call.inside if side == "in" else call.number
    before = [
        each
        for each in trace.calls
        if each.inside == holder and each.ends < (call.begins if side == "in" else call.ends)
    ]
    around = [("what it reads", each) for each in (trace.calls[holder].ins if holder is not None else [])]
    around += [(each.path, out) for each in before[-6:] for out in each.outs]
    sources = [
        (name, view)
        for name, each in around
        if each.dtype.kind == "f" and (view := _spread(each, port.shape)) is not None
    ]
    for name, source in sources:
        settings = (((f"{act_name} of {name}",), act(source.astype(float))) for act_name, act in ACTIVATIONS.items())
        if text := _closest(settings, port, reference, tolerance):
            return text
    for count in (1, 2, 3):
        for some in itertools.combinations(sources[-6:], count):
            matrix = np.stack([each.reshape(-1).astype(float) for _, each in some], axis=1)
            weights = [
                np.linalg.lstsq(matrix, each.reshape(-1).astype(float), rcond=None) for each in (port, reference)
            ]
            if any(each[2] < count for each in weights):
                continue
            mine, theirs = (each[0] for each in weights)
            if (
                off(matrix @ mine, port.reshape(-1)) > tolerance
                or off(matrix @ theirs, reference.reshape(-1)) > tolerance
            ):
                continue
            names = [name for name, _ in some]
            return f"{_sum(mine, names, port.shape)} in place of {_sum(theirs, names, port.shape)}"
    if text := _products(sources, port, reference, tolerance) or _flattened(port, reference, tolerance):
        return text
    threes = []
    for _, each in around:
        if each.dtype.kind == "f" and each.ndim >= 3 and each.shape[:2] == port.shape[:2]:
            threes += (
                [each]
                if each.size == port.size
                else np.split(each, 3, -1)
                if each.size == 3 * port.size and each.shape[-1] % 3 == 0
                else []
            )
    given = [each for each in trace.calls[0].ins if each.shape == port.shape[:2] and set(np.unique(each)) == {0, 1}]
    if text := _as_attention(port, reference, threes, given, tolerance):
        return text
    square = float((port.astype(float) ** 2).sum())
    factor = float((port.astype(float) * reference).sum()) / square if square else math.nan
    if math.isfinite(factor) and factor and off(factor * port.astype(float), reference) <= tolerance:
        return f"{_number(1 / factor, port.shape)} times the reference's"
    gap = reference.astype(float) - port
    if gap.ndim > 1 and np.abs(gap - gap.reshape(-1, gap.shape[-1])[0]).max() <= tolerance * np.abs(reference).max():
        return "no bias in place of one number for each feature"
    return ""


def _sum(weights: np.ndarray, names: list[str], shape: tuple[int, ...]) -> str:
    parts = [
        f"{'' if abs(w - 1) < 1e-4 else _number(w, shape) + ' times '}{name}"
        for w, name in zip(weights, names)
        if abs(w) > 1e-6
    ]
    return " + ".join(parts) or "nothing"


def _number(value: float, shape: tuple[int, ...]) -> str:
    """A factor, by its name if it is one of a size."""
    for size in sorted(set(shape)):
        for text, known in (
            (f"sqrt({size})", size**0.5),
            (f"1/sqrt({size})", size**-0.5),
            (f"{size}", size),
            (f"1/{size}", 1 / size),
        ):
            if size > 1 and abs(value / known - 1) < 1e-4:
                return text
    return f"{value:.4g}"
