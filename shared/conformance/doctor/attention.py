"""What queries, keys and values become: heads, scales, masks, rotary positions, with one switch or none away from the usual."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from shared.conformance.doctor.settings import Setting, closest, weights_of

_USUAL_BASES = (10000.0, 500000.0, 1000000.0)
_LAST = 6  # values among which queries, keys and values are looked for


class Projected(NamedTuple):
    """Queries, keys or values, (batch, length, heads · head_dim), and their number of heads where their shape shows it."""

    value: np.ndarray
    heads: int | None


def projected(values: list[np.ndarray], length: int) -> list[Projected]:
    """What of these values may be queries, keys or values; and the thirds of the last that may be packed."""
    found, packed = [], []
    for each in values:
        if each.dtype.kind != "f" or each.ndim not in (3, 4):
            continue
        if each.ndim == 4:
            turned = each if each.shape[1] == length else each.swapaxes(1, 2)
            if turned.shape[1] == length:
                found.append(Projected(turned.reshape(*turned.shape[:2], -1).astype(float), turned.shape[2]))
        elif each.shape[1] == length:
            found.append(Projected(each.astype(float), None))
            if each.shape[2] % 3 == 0:
                packed = [Projected(part.astype(float), None) for part in np.split(each, 3, axis=2)]
    return [*packed, *found[-_LAST:]] if packed else found[-_LAST:]


def bases_of(layers: Iterable[Any]) -> list[float]:
    """The bases of rotary positions that layers have as attributes, or as tables of rates."""
    found = []
    for layer in layers:
        for name, value in vars(layer).items():
            is_base = any(word in name for word in ("base", "theta", "wavelength"))
            if is_base and isinstance(value, int | float) and value > 1:
                found.append(float(value))
        for name, rates in weights_of(layer).items():
            if "inv_freq" in name and rates.size > 1:
                found.append(float(f"{rates[1] ** -float(rates.size):.4g}"))
    return list(dict.fromkeys(found))


def as_attention(
    port: np.ndarray,
    reference: np.ndarray,
    sources: list[Projected],
    given: list[np.ndarray],
    bases: list[float],
    tolerance: float,
    behind: Callable[[np.ndarray], np.ndarray] = lambda mixed: mixed,
) -> str:
    """The switches of an attention whose queries, keys and values are three of the last that were computed; empty if none fit.

    Args:
        given: masks of the model's inputs, (batch, length).
        bases: of rotary positions, as the models' own attributes and tables have them.
        behind: what is done to the attention's output before it is the port's and the reference's value.
    """
    is_weights = port.ndim == 4 and port.shape[-1] == port.shape[-2]
    shown = {
        f"a mask that hides {(each == 0).sum()} of {each.size} pairs": each != 0
        for each in (port, reference)
        if is_weights and (each == 0).any()
    }
    for three in itertools.combinations(sources, 2 if is_weights else 3):
        q, k, v = (each.value for each in [*three, three[-1]][:3])
        if k.shape != v.shape or q.shape[:2] != k.shape[:2] or q.shape[2] % k.shape[2]:
            continue
        known = next((each.heads for each in three[:1] if each.heads), None)
        width = q.shape[2]
        for heads in [known] if known else [each for each in range(1, width + 1) if width % each == 0]:
            head_dim = width // heads
            if k.shape[2] % head_dim or heads % (k.shape[2] // head_dim):
                continue
            turns = rotations(head_dim, bases)
            settings = _attentions(q, k, v, heads, _masks(q.shape[1], given) | shown, turns, is_weights)
            settings = ((setting, value if is_weights else behind(value)) for setting, value in settings)
            if text := closest(settings, port, reference, tolerance):
                return text
    return ""


def _masks(length: int, given: list[np.ndarray]) -> dict[str, np.ndarray | None]:
    back = np.arange(length)[:, None] - np.arange(length)
    masks = {
        "no mask": None,
        "a causal mask": back >= 0,
        "a causal mask shifted by one, so that each sees the next token,": back >= -1,
        "a causal mask shifted by one, so that none sees itself,": (back > 0) | (np.arange(length)[:, None] == 0),
        "a mask of the other polarity": back <= 0,
    }
    for window in range(2, min(length, 9)):
        masks[f"a causal window of {window}"] = (back >= 0) & (back < window)
    for each in given:
        real = (each != 0)[:, None, None, :]
        masks |= {
            "the padding mask alone": real,
            "the padding mask of the other polarity": ~real,
            "a causal mask and the padding mask": real & (back >= 0),
        }
    return masks


def rotations(head_dim: int, bases: list[float]) -> dict[str, tuple[int, Any, Any]]:
    """How queries and keys may be turned by their positions: what it is called, switches away from the usual, and the two functions."""
    rotations: dict[str, tuple[int, Any, Any]] = {"no rotary positions": (0, lambda x: x, lambda x: x)}
    if head_dim % 2:
        return rotations
    half = head_dim // 2

    def turned(base: float, in_pairs: bool, start: int, sign: int) -> Any:
        def apply(x: np.ndarray) -> np.ndarray:
            angle = sign * (start + np.arange(x.shape[2]))[:, None] * base ** (-np.arange(half) / half)
            cos, sin = np.cos(angle), np.sin(angle)
            a, b = (x[..., 0::2], x[..., 1::2]) if in_pairs else (x[..., :half], x[..., half:])
            parts = a * cos - b * sin, b * cos + a * sin
            return np.stack(parts, -1).reshape(x.shape) if in_pairs else np.concatenate(parts, -1)

        return apply

    for base in dict.fromkeys([*bases, *_USUAL_BASES]):
        of = f"of base {base:g}"
        for layout, in_pairs in (("halves", False), ("pairs", True)):
            name, usual = f"rotary positions in {layout}, {of}", turned(base, in_pairs, 0, 1)
            back, ahead = turned(base, in_pairs, 0, -1), turned(base, in_pairs, 1, 1)
            rotations[name] = 0, usual, usual
            rotations[f"{name}, turned in the other direction"] = 1, back, back
            rotations[f"{name}, queries shifted by one position"] = 1, ahead, usual
            rotations[f"{name}, keys shifted by one position"] = 1, usual, ahead
            rotations[f"{name}, of queries alone"] = 1, usual, lambda x: x
            rotations[f"{name}, of keys alone"] = 1, lambda x: x, usual
    return rotations


def _attentions(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    heads: int,
    masks: dict[str, np.ndarray | None],
    rotations: dict[str, tuple[int, Any, Any]],
    is_weights: bool,
) -> Iterator[tuple[Setting, np.ndarray]]:
    """What queries, keys and values become, (batch, length, heads, head_dim); or the weights, (batch, heads, length, length)."""
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
    names = ("query,", "key,", "value")
    orders = {usual[2]: (0, 1, 2)}
    if groups == 1:
        orders |= {
            f"the order {' '.join(names[index] for index in order)}": order
            for order in itertools.permutations((0, 1, 2))
            if order != (0, 1, 2)
        }
    softmaxes = (usual[3], "a softmax over queries", "a softmax before the mask")

    def split(x: np.ndarray, as_h_d: bool) -> np.ndarray:
        count = x.shape[-1] // head_dim
        parts = x.reshape(*x.shape[:2], count, -1) if as_h_d else x.reshape(*x.shape[:2], -1, count).swapaxes(2, 3)
        return parts.swapaxes(1, 2)

    switches = itertools.product(
        scales.items(),
        (usual[1], "heads as (d h)"),
        orders.items(),
        softmaxes,
        (usual[4], "heads tiled") if groups > 1 else usual[4:],
        rotations.items(),
    )
    for (scale, factor), hd, (order, axes), over, shared, (rotation, (cost, turn, turn_keys)) in switches:
        if cost + sum(a != b for a, b in zip((scale, hd, order, over, shared), usual)) > 1:
            continue
        a, b, c = (split((q, k, v)[index], hd == usual[1]) for index in axes)
        a, b = turn(a), turn_keys(b)
        if groups > 1:
            b, c = (
                np.repeat(each, groups, axis=1) if shared == usual[4] else np.tile(each, (1, groups, 1, 1))
                for each in (b, c)
            )
        raw = a @ b.swapaxes(-1, -2) * factor
        axis = -2 if over == softmaxes[1] else -1
        for mask_name, mask in masks.items():
            setting = (mask_name, scale, hd, order, over, shared, rotation)
            hidden = np.zeros(1, bool) if mask is None else ~mask
            is_after = over == softmaxes[2]
            weights = _softmax(raw if is_after else np.where(hidden, -1e30, raw), axis)
            found = [np.where(hidden, 0.0, weights) if is_after else weights]
            if hidden.all(axis=-1).any():  # a query that sees no key: libraries differ in what it gets
                found += [_softmax(np.where(hidden, raw - 1e9, raw), axis), np.where(hidden, 0.0, weights)]
            for each in found:
                yield setting, (each if is_weights else (each @ c).swapaxes(1, 2))


def _softmax(x: np.ndarray, axis: int) -> np.ndarray:
    weights = np.exp(x - x.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)
