"""The conventions by which ports differ: which one gives the port's value, and which the reference's."""

import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np

from shared.conformance.doctor import layers
from shared.conformance.doctor.attention import as_attention, bases_of, grouped, projected, rotations
from shared.conformance.doctor.matching import laid_out, off
from shared.conformance.doctor.settings import ACTIVATIONS, Known, Read, Setting, closest, weights_of
from shared.conformance.doctor.tracing import Call, Trace

# Where a norm stands elsewhere, all that follows differs, and nothing that is found behind it says more.
NORM_ELSEWHERE = ("perhaps pre-norm in place of post-norm", "perhaps post-norm in place of pre-norm")
RESIDUAL = "(a residual connection is missing)"
_WIDE = 12  # values before a place, of which a sum may be made


def explain(call: Call, side: str, port: np.ndarray, reference: np.ndarray, trace: Trace, known: Known) -> str:
    """The convention that makes the port's value of what the layer read, and the one that makes the reference's; empty if none does.

    Args:
        call, side: where the port parts, and whether by what the layer reads ("in") or returns ("out").
        port, reference: the two values.
        known: what the reference is made of.
    """
    if not port.ndim:
        return ""
    tolerance = _tolerance(port)
    if side == "out" and (
        text := layers.of_table(call, known.weights, port, reference, tolerance)
        or _of_leaf(call, port, reference, trace, known, tolerance)
    ):
        return text
    text = _glue(call, side, port, reference, trace, known, tolerance)
    if text := text or _norm_before_sum(call, side, port, reference, known):
        return text
    return _of_dtype(call, side, port, reference, trace, known) or _of_weights(call, side, trace, known)


def by_itself(call: Call, port: np.ndarray, trace: Trace, known: Known) -> tuple[str, np.ndarray] | None:
    """The convention with which one layer makes a value of the reference out of what it read, and that value; None if none does.

    Later layers aren't asked, so it is found beside other mistakes: kernels that are all transposed, say.

    Args:
        port: what the layer returned.
        trace, known: the port's calls, and what the reference is made of.
    """
    x = next((each for each in call.ins if each.dtype.kind == "f" and each.ndim and each.size), None)
    if x is None:
        return None
    tolerance, weights = _tolerance(port), weights_of(call.layer)
    for settings in (
        layers.norms(x, weights, known.weights),
        layers.linears(x, weights),
        _convolutions(call, weights, port, trace),
    ):
        values = {setting: laid_out(value, port.shape) for setting, value in settings if value.size == port.size}
        own = _nearest(
            (off(view, port), setting, order) for setting, views in values.items() for order, view in enumerate(views)
        )
        if own and own[0][0] <= tolerance:
            found = (each for _, mine, order in own for each in _other_settings(mine, order, values, known))
            if near := _nearest(each for each in found if each[0] <= tolerance):
                _, _, text, wanted = min(near, key=lambda each: each[1])
                return text, wanted.astype(port.dtype)
    return None


def _other_settings(
    mine: Setting, order: int, values: dict[Setting, list[np.ndarray]], known: Known
) -> Iterator[tuple[float, int, str, np.ndarray]]:
    """For each setting but the port's: how near the reference has its value, how many switches differ, which, and the value.

    Args:
        order: which of the orders of axes is the port's.
    """
    for setting, views in values.items():
        # the last switch of a kernel is an activation, which the reference may apply in a function, unseen by the trace
        as_mine = (*setting[:-1], mine[-1]) if setting[-1] == "no activation" else setting
        differing = [f"{a} in place of {b}" for a, b in zip(mine, as_mine) if a != b]
        is_other_activation = mine[-1] in ACTIVATIONS and mine[-1] != as_mine[-1]
        wanted = values[as_mine]
        if differing and not is_other_activation and order < len(wanted):  # fewer orders, where two are alike
            yield known.values.nearest(views[0])[0], len(differing), "; ".join(differing), wanted[order]


def _tolerance(port: np.ndarray) -> float:
    return 1e-6 if port.dtype == np.float64 else 3e-5


def _nearest(found: Iterable[tuple]) -> list[tuple]:
    """Those whose gap, the first entry, is the smallest; four times as large is rounding."""
    found = list(found)
    bound = 4 * min((gap for gap, *_ in found), default=0.0) + 1e-15
    return [each for each in found if each[0] <= bound]


def small_setting(call: Call, side: str, port: np.ndarray, reference: np.ndarray, known: Known) -> str:
    """Which setting of a norm gives each value exactly, where they are as near as if one were computed in float32."""
    x = next((each for each in call.ins if each.dtype.kind == "f" and each.ndim and each.size), None)
    if side != "out" or x is None:
        return ""
    return closest(layers.norms(x, weights_of(call.layer), known.weights), port, reference, 1e-11) or ""


def _of_dtype(call: Call, side: str, port: np.ndarray, reference: np.ndarray, trace: Trace, known: Known) -> str:
    """Whether the port went through a dtype of fewer digits, where the reference has all."""
    if reference.dtype.kind != "f":
        return ""
    name, gap, now = reference.dtype.name, off(port, reference), call.ends if side == "out" else call.begins
    before = [each for each in trace.calls if each.begins < now and each.number]
    for narrow, most in (("bfloat16", 3e-2), ("float16", 3e-3), ("float32", 1e-3 if name == "float64" else 0.0)):
        passed = [each.name for each in before[-8:] if narrow in each.narrow - known.narrow]
        if gap < most and passed:
            return f"{narrow} in place of {name} in {passed[-1]}"
    single = port.astype(np.float32)
    is_single = np.array_equal(port.astype(float), single.astype(float))
    if is_single and gap < 3e-2 and not (single.view(np.uint32) & 0xFFFF).any():
        return f"bfloat16 in place of {name}"
    return "float32 in place of float64" * (is_single and name == "float64" and gap < 1e-3)


def _of_leaf(call: Call, port: np.ndarray, reference: np.ndarray, trace: Trace, known: Known, tolerance: float) -> str:
    """What differs inside a layer that calls no other."""
    floats = [each for each in call.ins if each.dtype.kind == "f" and each.ndim and each.size]
    if not floats or any(each.inside == call.number for each in trace.calls):
        return ""
    x, weights = floats[0], weights_of(call.layer)
    for settings in (
        layers.norms(x, weights, known.weights),
        layers.linears(x, weights),
        _convolutions(call, weights, port, trace),
    ):
        if text := closest(settings, port, reference, tolerance):
            return text
    tables = [
        each
        for other in trace.calls
        if any(one.dtype.kind in "iu" for one in other.ins)
        for each in weights_of(other.layer).values()
    ]
    read = Read(x, weights, known.weights, tables, port, reference, tolerance)
    if text := layers.other_gain(read) or layers.other_kernel(read):
        return text
    if text := _norm_too_many(read) or _dropped(x, port, reference, tolerance):
        return text
    for settings in (
        (((name,), act(x.astype(float))) for name, act in ACTIVATIONS.items()),
        layers.pooled(x, port),
        _turned_by_position(call, x, known),
    ):
        if text := closest(settings, port, reference, tolerance):
            return text
    return ""


def _convolutions(call: Call, weights: dict[str, np.ndarray], port: np.ndarray, trace: Trace) -> Iterator:
    """Of what the layer reads, and of what the layer before it reads, which may only put zeros around it."""
    before = [each for each in trace.calls if each.inside == call.inside and each.ends < call.begins]
    for each in [*before[-1:], call]:
        for x in each.ins[:1]:
            yield from layers.convolutions(x, call.layer, weights, port)


def _norm_too_many(read: Read) -> str:
    """Whether the reference leaves as it is what the port normalizes."""
    gain = next((each for name, each in read.weights.items() if each.ndim == 1 and name in layers.GAINS), None)
    if gain is None or read.x.shape != read.reference.shape or off(read.x, read.reference) > read.tolerance:
        return ""
    is_used = any(each.shape == gain.shape and np.allclose(each, gain, atol=1e-6) for each in read.known.values())
    return "a norm in place of none" + f": {NORM_ELSEWHERE[0]}" * is_used


def _dropped(x: np.ndarray, port: np.ndarray, reference: np.ndarray, tolerance: float) -> str:
    """Whether some numbers are zero, and all others too large, as in training."""
    if x.shape != port.shape or off(reference, x) > tolerance or not (is_zero := (port == 0) & (x != 0)).any():
        return ""
    ratios = port[~is_zero & (x != 0)] / x[~is_zero & (x != 0)]
    is_dropout = ratios.size and np.ptp(ratios) < 1e-3 and ratios.mean() > 1
    return f"dropout of {1 - 1 / ratios.mean():.2g} left on in place of none" if is_dropout else ""


def _norm_before(call: Call, trace: Trace, known: Known) -> str:
    """Whether the reference normalizes what the layer's block reads, where the port doesn't, or not yet."""
    block = trace.calls[call.inside] if call.inside is not None else call
    seen = [value for time, _, value in trace.places() if time <= call.begins]
    for x in (each for each in block.ins if each.dtype.kind == "f" and each.ndim == 3):
        for name, gain in known.weights.items():
            if (
                gain.ndim != 1
                or gain.size != x.shape[-1]
                or "bias" in name
                or "beta" in name
                or name.startswith("part ")
            ):
                continue
            shifts = [each for other, each in known.weights.items() if each.shape == gain.shape and other != name]
            for value in layers.normalized(x, gain, shifts):
                # a norm of the port with other settings, an epsilon say, is there all the same
                is_new = not any(each.shape == value.shape and off(each, value) < 0.1 for each in seen)
                if is_new and known.values.nearest(value)[0] < 1e-5:
                    said = f"no norm in place of that of {name} before {block.path}"
                    return said + f": {NORM_ELSEWHERE[1]}" * _is_used(gain, trace)
    return ""


def _norm_before_sum(call: Call, side: str, port: np.ndarray, reference: np.ndarray, known: Known) -> str:
    """Whether a norm reads what the reference's sub-layer reads, where the reference's norm reads the sum of that and its output."""
    is_norm = any(each.ndim == 1 and name in layers.GAINS for name, each in weights_of(call.layer).items())
    if side == "out" or not is_norm or known.values.nearest(port)[0] > 1e-5:
        return ""
    added = known.values.nearest(reference.astype(float) - port)[0]
    return f"a norm before the sum in place of one after it: {NORM_ELSEWHERE[0]}" if added < 1e-5 else ""


def _norm_left_out(port: np.ndarray, reference: np.ndarray, trace: Trace, known: Known, tolerance: float) -> str:
    """Whether the reference normalizes what the port leaves as it is."""
    name = layers.norm_left_out(port, reference, known.weights, tolerance)
    if not name:
        return ""
    return f"no norm in place of that of {name}" + f": {NORM_ELSEWHERE[1]}" * _is_used(known.weights[name], trace)


def _is_used(gain: np.ndarray, trace: Trace) -> bool:
    """Whether a norm of the port has this gain, and does something."""
    return any(
        each.shape == gain.shape and np.allclose(each, gain, atol=1e-6)
        for call in trace.calls
        if not any(np.array_equal(one, out) for one in call.ins for out in call.outs)
        for each in weights_of(call.layer).values()
    )


def _turned_by_position(call: Call, x: np.ndarray, known: Known) -> Iterator:
    """Rotary positions as a layer of their own."""
    if x.ndim != 4 or weights_of(call.layer):
        return
    for axes in ((0, 1, 2, 3), (0, 2, 1, 3)):
        for name, (_, turn, _) in rotations(x.shape[-1], [*bases_of([call.layer]), *known.bases]).items():
            yield (name,), turn(x.astype(float).transpose(axes)).transpose(axes)


def _flattened(port: np.ndarray, reference: np.ndarray, tolerance: float) -> str:
    """Whether the last axis is three axes that were joined in another order, or is going to be."""
    if port.ndim not in (2, 4) or reference.shape != port.shape:
        return ""
    port, reference = (each.reshape(len(each), -1) for each in (port, reference))
    size = port.shape[1]
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
    settings = (
        ((f"{act_name} of {gate}, times {name}",), act(value.astype(float)) * other)
        for act_name, act in ACTIVATIONS.items()
        for (gate, value), (name, other) in itertools.permutations(sources[-6:], 2)
    )
    text = closest(settings, port, reference, tolerance) or ""
    mine, _, theirs = text.partition(" in place of ")
    is_exchanged = sorted(mine.replace(",", "").split()) == sorted(theirs.replace(",", "").split())
    return text + " (gate and other half exchanged)" * (bool(text) and is_exchanged)


def _too_much(sources: list[tuple[str, np.ndarray]], port: np.ndarray, reference: np.ndarray, tolerance: float) -> str:
    """Whether the two differ by a multiple of something that is added."""
    gap = (port.astype(float) - reference).reshape(-1)
    for name, source in sources:
        flat = source.reshape(-1).astype(float)
        factor = float(flat @ gap) / (float(flat @ flat) or 1.0)
        if np.abs(factor * flat - gap).max() <= tolerance * np.abs(reference).max():
            mine, theirs = _number(1 + factor, port.shape), _number(1 - factor, port.shape)
            if "sqrt" in mine or "sqrt" in theirs:
                return (
                    f"{name} once in a sum in place of {theirs} times"
                    if "sqrt" in theirs
                    else f"{mine} times {name} in a sum in place of once"
                )
            return f"{abs(factor):.4g} times {name} too {'much' if factor > 0 else 'little'} in a sum"
    return ""


def _spread(source: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """The array in a shape: as it is, laid out, or broadcast, as positions are over the batch; None if it fits in no way."""
    if source.size == math.prod(shape):
        return next(iter(laid_out(source, shape)), None)
    try:
        return np.broadcast_to(source, shape) if source.ndim <= len(shape) and source.size > 1 else None
    except ValueError:
        return None


def _glue(
    call: Call,
    side: str,
    port: np.ndarray,
    reference: np.ndarray,
    trace: Trace,
    known: Known,
    tolerance: float,
) -> str:
    """What own code between layers may do: a factor, a sum of what is around, an activation, an attention."""
    holder = call.inside if side == "in" else call.number
    is_leaf, inside, before = _neighbors(call, side, trace)
    reads = trace.calls[holder].ins if holder is not None else []
    around = [("what it reads", each) for each in ([] if is_leaf else reads)]
    around += [(each.path, out) for each in before[-6:] for out in each.outs]
    around += [("what it reads", each) for each in (reads if is_leaf and not before else [])]
    sources = [
        (name, view)
        for name, each in around
        if each.dtype.kind == "f" and (view := _spread(each, port.shape)) is not None
    ]
    for name, source in sources:
        settings = (((f"{act_name} of {name}",), act(source.astype(float))) for act_name, act in ACTIVATIONS.items())
        if text := closest(settings, port, reference, tolerance):
            return text
    if text := _sums(sources[-6:], (1, 2, 3), port, reference, tolerance):
        return text
    if text := _norm_left_out(port, reference, trace, known, tolerance):
        return text
    gates = [*sources, *_before_activation(before[-6:], port.shape), *_halves(around, port.shape)]
    if text := _products(gates, port, reference, tolerance) or _flattened(port, reference, tolerance):
        return text
    for _, each in around:
        if text := closest(layers.pooled(each, port), port, reference, tolerance) if each.dtype.kind == "f" else "":
            return text
    outer = [*reads, *(trace.calls[inside].ins if inside is not None else [])]
    outer += [each for other in before for each in other.ins]
    lengths = {each.shape[1] for each in [*outer, port] if each.ndim == 3} or set(port.shape[-2:])
    sizes = {len(port) * length for length in lengths}
    masks = [_as_mask(each) for other in trace.calls for each in other.ins if each.size in sizes]
    given = {each.tobytes(): each.reshape(len(port), -1) for each in masks if each is not None}
    owner = trace.calls[holder].layer if holder is not None else call.layer
    values = projected([each for _, each in around], lengths)
    behind = layers.as_affine(reads[0], weights_of(call.layer), port) if is_leaf and reads else None
    turned_by = [*bases_of([owner]), *known.bases]
    by_group = grouped([each for _, each in around], lengths, port.shape[-1])

    def normed(x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        for name, gain in known.weights.items():
            if gain.shape == x.shape[-1:] and "bias" not in name and not name.startswith("part "):
                near = [(known.values.nearest(each)[0], each) for each in layers.normalized(x, gain, [])]
                gap, value = min(near, key=lambda pair: pair[0])
                if gap < tolerance:
                    yield name, value

    if text := as_attention(port, reference, values, [*given.values()], turned_by, tolerance, behind, by_group, normed):
        return text
    if (
        text := _factor(port, reference, tolerance)
        or _too_much(sources, port, reference, tolerance)
        or layers.positions_from(port, reference, known.weights, tolerance)
    ):
        return text
    return _sums(_all_before(trace, call, side, port), (2,), port, reference, tolerance)


def _as_mask(array: np.ndarray) -> np.ndarray | None:
    """Which positions a mask shows, of ones and zeros, or of zeros and one large negative number, to be added; None if it's none."""
    values = set(np.unique(array).tolist())
    if array.dtype.kind in "iub":
        return array != 0 if values == {0, 1} else None
    return array == 0 if len(values) == 2 and max(values) == 0 and min(values) <= -1e4 else None


def _neighbors(call: Call, side: str, trace: Trace) -> tuple[bool, int | None, list[Call]]:
    """Whether a place is in a layer that calls no other, which call it is inside of, and the calls there before it.

    A layer that only adds or multiplies reads what its neighbors return.
    """
    is_leaf = side == "out" and not any(each.inside == call.number for each in trace.calls)
    inside = call.inside if side == "in" or is_leaf else call.number
    now = call.begins if side == "in" or is_leaf else call.ends
    return is_leaf, inside, [each for each in trace.calls if each.inside == inside and each.ends < now]


def _of_weights(call: Call, side: str, trace: Trace, known: Known) -> str:
    """What the weights near a place show, where the values on the way aren't to be seen in the reference."""
    _, inside, before = _neighbors(call, side, trace)
    own = {
        f"{each.path}'s {name}": weight for each in [*before, call] for name, weight in weights_of(each.layer).items()
    }
    if text := layers.in_another_order(own, known.weights):
        return text
    block = trace.calls[inside] if inside is not None else call
    near = [each for each in trace.calls if block.begins <= each.begins <= call.begins or each in before]
    return layers.displaced(trace, [*near, call], known.used) or _norm_before(call, trace, known)


def _sums(
    sources: list[tuple[str, np.ndarray]],
    counts: tuple[int, ...],
    port: np.ndarray,
    reference: np.ndarray,
    tolerance: float,
) -> str:
    """Two weighted sums of the same sources."""
    for count in counts:
        for some in itertools.combinations(sources, count):
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
            said = f"{_sum(mine, names, port.shape)} in place of {_sum(theirs, names, port.shape)}"
            left_out = [name for name, a, b in zip(names, mine, theirs) if abs(a) < 1e-6 and abs(b - 1) < 1e-4]
            is_residual = any(name.startswith("what ") for name in left_out) and len(left_out) < count
            return said + f" {RESIDUAL}" * is_residual
    return ""


def _all_before(trace: Trace, call: Call, side: str, port: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """The last values of a shape that layers read or returned before a place, each once."""
    now = call.begins if side == "in" else call.ends
    found: list[tuple[str, np.ndarray]] = []
    for time, (number, at, _), value in trace.places():
        if time >= now or value.shape != port.shape or value.dtype.kind != "f":
            continue
        if not any(np.array_equal(value, each) for _, each in found):
            name = trace.calls[number].path or "the model"
            found.append((f"what {name} reads" if at == "in" else name, value))
    return found[-_WIDE:]


def _halves(around: list[tuple[str, np.ndarray]], shape: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """The two halves of each array that is twice as wide: gate and value may be packed in one."""
    for name, value in around:
        if value.dtype.kind == "f" and value.shape == (*shape[:-1], 2 * shape[-1]):
            yield from zip((f"the first half of {name}", f"the second half of {name}"), np.split(value, 2, axis=-1))


def _before_activation(calls: list[Call], shape: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """What a kernel gives, of layers whose activation is inside."""
    for call in calls:
        kernel = next((each for each in weights_of(call.layer).values() if each.ndim == 2), None)
        if kernel is None or not call.ins or not call.outs or call.ins[0].shape[-1] != kernel.shape[0]:
            continue
        biases = (
            each for name, each in weights_of(call.layer).items() if "bias" in name and each.shape == kernel.shape[1:]
        )
        bias = next(biases, 0)
        value = call.ins[0] @ kernel + bias
        if value.shape == shape and off(value, call.outs[0]) > 1e-4:
            yield f"{call.path} before its activation", value


def _factor(port: np.ndarray, reference: np.ndarray, tolerance: float) -> str:
    """A constant factor, or a constant for each feature."""
    square = float((port.astype(float) ** 2).sum())
    factor = float((port.astype(float) * reference).sum()) / square if square else math.nan
    if math.isfinite(factor) and factor and off(factor * port.astype(float), reference) <= tolerance:
        return f"{_number(1 / factor, port.shape)} times the reference's"
    gap = reference.astype(float) - port
    if (
        gap.ndim > 1
        and gap.size >= 3 * gap.shape[-1]
        and np.abs(gap - gap.reshape(-1, gap.shape[-1])[0]).max() <= tolerance * np.abs(reference).max()
    ):
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
