"""What queries, keys and values become: heads, scales, masks, rotary positions, with one switch or none away from the usual."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from shared.conformance.doctor.layers import Affine
from shared.conformance.doctor.settings import Setting, closest, weights_of

_USUAL_BASES = (10000.0, 500000.0, 1000000.0)
_LAST = 6  # values among which queries, keys and values are looked for


class Projected(NamedTuple):
    """Queries, keys or values, (batch, length, heads · head_dim), and their number of heads where their shape shows it."""

    value: np.ndarray
    heads: int | None


def projected(values: list[np.ndarray], lengths: set[int]) -> list[list[Projected]]:
    """What of these values may be queries, keys or values, of one of these lengths; then the thirds of one that may be packed."""
    found, packed = [], []
    for each in values:
        if each.dtype.kind != "f" or each.ndim not in (3, 4):
            continue
        each = each.astype(float)
        if each.ndim == 4:
            turned = each if each.shape[1] in lengths else each.swapaxes(1, 2)
            if turned.shape[1] in lengths:
                found.append(Projected(turned.reshape(*turned.shape[:2], -1), turned.shape[2]))
        elif each.shape[1] in lengths:
            found.append(Projected(each, None))
            width = each.shape[2] // 3
            if each.shape[2] % 3 == 0:
                packed = [[Projected(part, None) for part in np.split(each, 3, axis=2)]]
                for heads in (size for size in range(2, width) if width % size == 0):
                    by_head = each.reshape(*each.shape[:2], heads, 3, -1)
                    packed.append(
                        [Projected(by_head[:, :, :, i].reshape(*each.shape[:2], -1), heads) for i in range(3)]
                    )
    found = found[-_LAST:]
    widths = {each.value.shape[2] for each in found}
    for each in list(found):  # keys and values in one
        if each.value.shape[2] % 2 == 0 and each.value.shape[2] // 2 in widths:
            found += [Projected(part, None) for part in np.split(each.value, 2, axis=2)]
    return [found, *packed]


def grouped(values: list[np.ndarray], lengths: set[int], width: int) -> list[list[Projected]]:
    """Triples of query, key and value out of a kernel that is packed group by group: a group's queries, its key, its value.

    Queries and keys are there as they are, and as a norm behind the kernel has left them.

    Args:
        width: of the queries of all heads together.
    """
    values = [each.astype(float) for each in values if each.dtype.kind == "f" and each.ndim > 2]
    found = []
    for packed in values:
        shape, more = packed.shape[:2], packed.shape[-1] - width  # keys and values: 2 · groups · head_dim
        if packed.ndim != 3 or packed.shape[1] not in lengths or more <= 0 or 2 * width % more:
            continue
        normed = [each for each in values if each.ndim > 3 and each.shape[:2] == shape]
        per_group = 2 * width // more
        for groups in range(1, width // per_group + 1):
            if width % (per_group * groups) or width == per_group * groups:
                continue  # no whole head_dim, or one of 1
            parts = packed.reshape(*shape, groups, per_group + 2, -1)
            query, key, value = (
                parts[:, :, :, index].reshape(*shape, -1) for index in (slice(0, per_group), per_group, per_group + 1)
            )
            queries = [query, *(each.reshape(*shape, -1) for each in normed if each.size == query.size)]
            keys = [key, *(each.reshape(*shape, -1) for each in normed if each.size == key.size)]
            for q, k in itertools.product(queries, keys):
                found.append([Projected(q, per_group * groups), Projected(k, groups), Projected(value, groups)])
    return found


def bases_of(layers: Iterable[Any]) -> list[float]:
    """The bases of rotary positions that layers have as attributes, or as tables of rates."""
    found = []
    for layer in layers:
        for name, value in vars(layer).items():
            is_base = any(word in name for word in ("base", "theta", "wavelength"))
            if is_base and isinstance(value, int | float) and value > 1:
                found.append(float(value))
        for name, rates in weights_of(layer).items():
            if "inv_freq" in name and rates.size > 1 and (rate := rates.ravel()[1]) > 0:
                found.append(float(f"{rate ** -float(rates.size):.4g}"))
    return list(dict.fromkeys(found))


def as_attention(
    port: np.ndarray,
    reference: np.ndarray,
    sources: list[list[Projected]],
    given: list[np.ndarray],
    bases: list[float],
    tolerance: float,
    behind: Affine | None = None,
    by_group: Sequence[list[Projected]] = (),
    normed: Callable[[np.ndarray], Iterable[tuple[str, np.ndarray]]] = lambda x: (),
) -> str:
    """The switches of an attention whose queries, keys and values are three of the last that were computed; empty if none fit.

    Args:
        given: masks of the model's inputs, (batch, length).
        bases: of rotary positions, as the models' own attributes and tables have them.
        behind: what is done to the attention's output before it is the port's and the reference's value; None for nothing.
        by_group: what `grouped` finds.
        normed: of queries or keys, (batch, length, heads, head_dim), what norms of the reference make, with the norm's name.
    """
    is_weights = port.ndim == 4 and bool(np.allclose(reference.sum(axis=-1), 1, atol=1e-3))
    shown = {
        f"a mask that hides {(each == 0).sum()} of {each.size} pairs": each != 0
        for each in (port, reference)
        if is_weights and (each == 0).any()
    }
    count = 2 if is_weights else 3
    ends = [] if is_weights else [port, reference] if behind is None else [*map(behind.before, (port, reference))]
    ends = [] if any(each is None for each in ends) else ends

    def settings(three: Sequence[Projected], heads: int, extra: Setting = ()) -> Iterator[tuple[Setting, np.ndarray]]:
        q, k, v = (each.value for each in [*three, three[-1]][:3])
        weights_shape = len(q), heads, q.shape[1], k.shape[1]
        masks = _masks(q.shape[1], k.shape[1], given)
        masks |= {name: each for name, each in shown.items() if each.shape == weights_shape}
        head_dim = q.shape[2] // heads
        turns = rotations(head_dim, bases)
        pairs = [("queries and keys as they are", q, k)]
        pairs += [(f"queries normalized by {name}", each, k) for name, each in _by_head(q, head_dim, normed)]
        pairs += [(f"keys normalized by {name}", q, each) for name, each in _by_head(k, head_dim, normed)]
        for norm, query, key in pairs:
            for setting, value in _attentions(query, key, v, heads, masks, turns, is_weights, ends):
                yield (*setting, norm, *extra), value if is_weights or behind is None else behind(value)

    plain, packed = sources[0], sources[1:]
    threes = [*itertools.combinations(plain, count), *(each[:count] for each in [*packed[:1], *by_group])]
    for three, heads in ((each, heads) for each in threes for heads in _heads(each)):
        text = closest(settings(three, heads), port, reference, tolerance)
        if text:
            return text
        if text is not None:
            break  # these are the port's, and no switch of theirs makes the reference's
    for by_head in packed[1:]:
        heads = by_head[0].heads
        both = (
            settings(packed[0][:count], heads, ("packed as (3 h d)",)),
            settings(by_head[:count], heads, ("packed as (h 3 d)",)),
        )
        if text := closest(itertools.chain(*both), port, reference, tolerance):
            return text
    return ""


def _by_head(x: np.ndarray, head_dim: int, normed: Callable) -> list[tuple[str, np.ndarray]]:
    """What norms make of queries or keys, head by head."""
    return [(name, value.reshape(x.shape)) for name, value in normed(x.reshape(*x.shape[:2], -1, head_dim))]


def _heads(three: Sequence[Projected]) -> list[int]:
    """Into how many heads the queries may be split, so that those of keys and values divide them; none if they don't belong together."""
    q, k, v = (each.value for each in [*three, three[-1]][:3])
    if k.shape != v.shape or len(q) != len(k) or q.shape[2] % k.shape[2]:
        return []
    width, known = q.shape[2], three[0].heads
    fits = [each for each in range(1, width + 1) if width % each == 0 and k.shape[2] % (width // each) == 0]
    return [each for each in fits if known in (None, each)]


def _masks(queries: int, keys: int, given: list[np.ndarray]) -> dict[str, np.ndarray | None]:
    back = np.arange(queries)[:, None] - np.arange(keys)
    masks: dict[str, np.ndarray | None] = {"no mask": None}
    if queries != keys:
        masks["a triangle from the top left"] = back >= 0
        masks["a triangle from the bottom right"] = back >= queries - keys
    else:
        masks |= {
            "a causal mask": back >= 0,
            "a causal mask shifted by one, so that each sees the next token,": back >= -1,
            "a causal mask shifted by one, so that none sees itself,": (back > 0) | (np.arange(queries)[:, None] == 0),
            "a mask of the other polarity": back < 0,
            "a triangle from the other corner": back <= 0,
        }
        masks |= {f"a causal window of {size}": (back >= 0) & (back < size) for size in range(2, min(keys, 9))}
    for each in given:
        real = (each != 0)[:, None, None, :]
        if real.shape[-1] != keys:
            continue
        masks |= {"the padding mask alone": real, "the padding mask of the other polarity": ~real}
        if queries == keys:
            masks["a causal mask and the padding mask"] = real & (back >= 0)
    return masks


def rotations(head_dim: int, bases: list[float]) -> dict[str, tuple[int, Any, Any]]:
    """How queries and keys may be turned by their positions: what it is called, switches away from the usual, and the two functions."""
    rotations: dict[str, tuple[int, Any, Any]] = {"no rotary positions": (0, lambda x: x, lambda x: x)}
    if head_dim % 2:
        return rotations
    half = head_dim // 2

    def turned(base: float, in_pairs: bool, start: int = 0, sign: int = 1, angles=_as_it_is, table=_as_it_is) -> Any:
        def apply(x: np.ndarray) -> np.ndarray:
            angle = angles(sign * (start + np.arange(x.shape[2]))[:, None] * base ** (-np.arange(half) / half))
            cos, sin = table(np.cos(angle)), table(np.sin(angle))
            a, b = (x[..., 0::2], x[..., 1::2]) if in_pairs else (x[..., :half], x[..., half:])
            parts = a * cos - b * sin, b * cos + a * sin
            return np.stack(parts, -1).reshape(x.shape) if in_pairs else np.concatenate(parts, -1)

        return apply

    for base in dict.fromkeys([*bases, *_USUAL_BASES]):
        of = f"of base {base:g}"
        for layout, in_pairs in (("halves", False), ("pairs", True)):
            name, usual = f"rotary positions in {layout}, {of}", turned(base, in_pairs)
            back, ahead = turned(base, in_pairs, sign=-1), turned(base, in_pairs, start=1)
            rotations[name] = 0, usual, usual
            rotations[f"{name}, turned in the other direction"] = 1, back, back
            for what in ("angles", "table"):
                few = turned(base, in_pairs, **{what: _bfloat16})
                rotations[f"{name}, with their {what} in bfloat16"] = 1, few, few
            rotations[f"{name}, queries shifted by one position"] = 1, ahead, usual
            rotations[f"{name}, keys shifted by one position"] = 1, usual, ahead
            rotations[f"{name}, of queries alone"] = 1, usual, lambda x: x
            rotations[f"{name}, of keys alone"] = 1, lambda x: x, usual
    return rotations


def _as_it_is(x: np.ndarray) -> np.ndarray:
    return x


def _bfloat16(x: np.ndarray) -> np.ndarray:
    """The nearest numbers of bfloat16, which is the first half of a float32; of two, the even one."""
    bits = x.astype(np.float32).view(np.uint32)
    return (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(float)


def _attentions(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    heads: int,
    masks: dict[str, np.ndarray | None],
    rotations: dict[str, tuple[int, Any, Any]],
    is_weights: bool,
    ends: list[np.ndarray],
) -> Iterator[tuple[Setting, np.ndarray]]:
    """What queries, keys and values become, (batch, length, heads, head_dim); or the weights, (batch, heads, length, length).

    Args:
        ends: the values that are looked for, to leave out settings that can give none of them; empty if that isn't known.
    """
    width = q.shape[-1]
    head_dim = width // heads
    groups = heads // (k.shape[-1] // head_dim)
    usual = (
        "scores over sqrt(head_dim)",
        "heads as (h d)",
        "query, key, value",
        "a softmax over keys",
        "heads repeated",
    )
    scales = {
        usual[0]: head_dim**-0.5,
        "scores as they are": 1.0,
        "scores over sqrt(d_model)": width**-0.5,
        "scores over head_dim": 1 / head_dim,
        "scores times sqrt(head_dim)": head_dim**0.5,
        **{f"scores over {each} sqrt(head_dim)": head_dim**-0.5 / each for each in (2, 3, 4)},
    }
    names = ("query", "key", "value")
    orders = {usual[2]: (0, 1, 2)}
    if k.shape == v.shape:  # and queries may be more
        orders |= {
            f"the order {', '.join(names[index] for index in order)}": order
            for order in itertools.permutations((0, 1, 2))
            if order != (0, 1, 2) and (q.shape == k.shape or order[0] == 0) and (order[2] == 2 or not is_weights)
        }
    softmaxes = (
        usual[3],
        "a softmax over queries",
        "a softmax before the mask",
        "a softmax in bfloat16",
        "a softmax whose weights become bfloat16",
    )
    splits = (usual[1], "heads as (d h)", "heads as (h d) of columns reordered from (d h)")
    switches = [[*scales], splits, softmaxes, (usual[4], "heads tiled") if groups > 1 else usual[4:]]
    usual_turns = [name for name, (cost, *_) in rotations.items() if not cost]
    chosen = [(*one, turn) for one in _one_away(switches) for turn in usual_turns]
    chosen += [(*(each[0] for each in switches), turn) for turn, (cost, *_) in rotations.items() if cost]
    some_see_none = any(mask is not None and not mask.any(axis=-1).all() for mask in masks.values())

    def split(x: np.ndarray, how: str) -> np.ndarray:
        count = x.shape[-1] // head_dim
        parts = x.reshape(*x.shape[:2], *((head_dim, count) if how == splits[1] else (count, head_dim)))
        if how != usual[1]:
            parts = parts.swapaxes(2, 3)
        return parts.reshape(*x.shape[:2], count, head_dim).swapaxes(1, 2)

    @functools.cache
    def in_heads(order: str, hd: str, shared: str) -> list[np.ndarray]:
        a, b, c = (split((q, k, v)[index], hd) for index in orders[order])
        if groups > 1:
            b, c = (
                np.repeat(each, groups, axis=1) if shared == usual[4] else np.tile(each, (1, groups, 1, 1))
                for each in (b, c)
            )
        return [a, b, c]

    @functools.cache
    def may_be(order: str, hd: str, shared: str, with_zero: bool) -> bool:
        return _may_be_means(in_heads(order, hd, shared)[2], ends, with_zero)

    # Any order is a usual one: a functional model may compute its keys before its queries.
    for order, (scale, hd, over, shared, rotation) in itertools.product(orders, chosen):
        with_zero = over == softmaxes[2] or some_see_none
        if over != softmaxes[1] and not may_be(order, hd, shared, with_zero):
            continue  # these aren't the values, whatever the weights
        a, b, c = in_heads(order, hd, shared)
        _, turn, turn_keys = rotations[rotation]
        a, b = turn(a), turn_keys(b)
        raw = a @ b.swapaxes(-1, -2) * scales[scale]
        axis = -2 if over == softmaxes[1] else -1
        for mask_name, mask in masks.items():
            setting = (mask_name, scale, hd, order, over, shared, rotation)
            hidden = np.zeros(1, bool) if mask is None else ~mask
            is_after = over == softmaxes[2]
            shown = raw if is_after else np.where(hidden, -1e30, raw)
            shown = _bfloat16(shown) if over == softmaxes[3] else shown
            weights = _softmax(shown, axis)
            weights = _bfloat16(weights) if over in softmaxes[3:] else weights
            found = [np.where(hidden, 0.0, weights) if is_after else weights]
            if hidden.all(axis=-1).any():  # a query that sees no key: libraries differ in what it gets
                found += [_softmax(np.where(hidden, raw - 1e9, raw), axis), np.where(hidden, 0.0, weights)]
            for each in found:
                yield setting, (each if is_weights else (each @ c).swapaxes(1, 2))


def _one_away(switches: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """The first of each, and all in which one isn't the first."""
    usual = tuple(each[0] for each in switches)
    yield usual
    for index, options in enumerate(switches):
        for other in options[1:]:
            yield (*usual[:index], other, *usual[index + 1 :])


def _may_be_means(values: np.ndarray, ends: list[np.ndarray], with_zero: bool) -> bool:
    """Whether one of these may be means of values, (batch, heads, length, head_dim), with weights from 0 to 1: no number is outside.

    Args:
        ends: (batch, length, heads · head_dim), or merged as (head_dim · heads); of another shape, they may be.
        with_zero: whether weights may add up to less than 1.
    """
    low, high = (values.min(axis=2), values.max(axis=2))
    if with_zero:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    slack = 1e-2 * np.abs(values).max()  # weights of bfloat16 don't add up to 1
    for each in ends:
        if each.ndim != 3 or each.shape[0] != len(values) or each.shape[2] != low[0].size:
            return True
        merged = (
            each.reshape(*each.shape[:2], *low.shape[1:]),
            each.reshape(*each.shape[:2], *low.shape[:0:-1]).swapaxes(2, 3),
        )
        if any((low[:, None] - slack <= parts).all() and (parts <= high[:, None] + slack).all() for parts in merged):
            return True
    return not ends


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    weights = np.exp(x - x.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)
