"""Instruments to hold against a Transformer of your own: any function of NumPy, PyTorch or Keras, whoever wrote it.

Each returns a `Result`, which says in one sentence, with a number, what was found. None needs the course's classes:

- `same_function`: are two functions one, and if not, which argument differs, and how?
- `keys_seen`: which keys does each query of an attention see?
- `law_of`: what does a sampler draw, and is it what was asked for?
- `loss_law`: over what does a loss take its mean?
- `finite_differences`: is a gradient right?
"""

import inspect
import itertools
import math
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shared.arrays import as_numpy, framework_of, from_numpy
from shared.checks import check_positive
from shared.conformance.parity import numerical_gradient
from shared.evidence import short

Arrays = dict[str, np.ndarray]
# A library that computes a part in float32 agrees in float64 to seven digits.
FLOAT32_INSIDE = 3e-7


@dataclass(frozen=True)
class Result:
    """What an instrument found.

    Args:
        ok: whether all is as it should be.
        sentence: the finding, with its number.
        found: the same for a program, by names.
    """

    ok: bool
    sentence: str
    found: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return self.sentence

    def __str__(self) -> str:
        return textwrap.fill(self.sentence, 84, subsequent_indent="  ", break_long_words=False)


# Functions of any framework as functions of arrays


def framework_that_runs(function: Callable, arrays: Arrays) -> str:
    """The framework whose arrays a function takes: numpy, pytorch or keras.

    Raises:
        TypeError: if it can be called with those of none; the message has what each said.
    """
    if (own := framework_of(function)) != "numpy":
        return own
    holder = getattr(function, "__self__", None)  # of `apply`, which would take arrays of NumPy, and find no gradients
    if (
        "torch" in sys.modules
        and isinstance(holder, type)
        and issubclass(holder, sys.modules["torch"].autograd.Function)
    ):
        return "pytorch"
    refused = []
    for framework in (
        "numpy",
        *(name for name, module in (("pytorch", "torch"), ("keras", "keras")) if module in sys.modules),
    ):
        try:
            output = _called(function, arrays, framework)
        except Exception as error:  # noqa: BLE001 - any function, and any reason to refuse
            refused.append(f"with {framework}'s arrays {type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        if "torch" in sys.modules and isinstance(output, sys.modules["torch"].Tensor):
            return "pytorch"
        return (
            "keras" if framework == "numpy" and not isinstance(output, np.ndarray | np.generic | float) else framework
        )
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    raise TypeError(f"{_name(function)} can't be called with {shapes}: " + "; ".join(refused))


def _called(function: Callable, arrays: Arrays, framework: str) -> Any:
    output = function(*(from_numpy(np.copy(array), framework) for array in arrays.values()))
    return output[0] if isinstance(output, tuple | list) else output


def _name(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _output(function: Callable, arrays: Arrays, framework: str) -> np.ndarray:
    return as_numpy(_called(function, arrays, framework))


def checked_output(function: Callable, arrays: Arrays, framework: str) -> np.ndarray:
    """The output of a function.

    Raises:
        ValueError: if it is another one each time, or not finite.
    """
    first, second = (_output(function, arrays, framework) for _ in range(2))
    if not np.array_equal(first, second, equal_nan=True):
        raise ValueError(
            f"{_name(function)} gives another output each time: switch dropout off (eval(), training=False)"
        )
    if not np.isfinite(first).all():
        count = int((~np.isfinite(first)).sum())
        raise ValueError(f"{_name(function)} gives {count} of {first.size} numbers that are NaN or infinite")
    return first


def gradients_of(function: Callable, arrays: Arrays, upstream: np.ndarray, framework: str) -> Arrays:
    """The gradient of (output * upstream).sum() for each array of numbers with a point, by the framework's own means.

    In NumPy by the function's `backward`, if it has one, and by finite differences otherwise.
    """
    floats = {name: array for name, array in arrays.items() if array.dtype.kind == "f"}
    if framework == "numpy":
        if hasattr(function, "backward"):
            function(*arrays.values())
            found = function.backward(upstream)
            return dict(zip(floats, found if isinstance(found, tuple) else (found,)))
        return {name: _by_differences(function, arrays, upstream, name) for name in floats}
    if framework == "pytorch" or sys.modules["keras"].backend.backend() == "torch":
        return _by_torch(function, arrays, upstream, framework)
    if sys.modules["keras"].backend.backend() == "tensorflow":
        import tensorflow as tf

        given = {name: tf.convert_to_tensor(array) for name, array in arrays.items()}
        with tf.GradientTape() as tape:
            tape.watch([given[name] for name in floats])
            output = function(*given.values())
            output = output[0] if isinstance(output, tuple | list) else output
            total = tf.reduce_sum(output * tf.cast(upstream, output.dtype))
        found = tape.gradient(total, {name: given[name] for name in floats}, unconnected_gradients="zero")
        return {name: np.array(each) for name, each in found.items()}
    import jax

    def total(floats: dict[str, Any]) -> Any:
        output = function(*(arrays | floats).values())
        output = output[0] if isinstance(output, tuple | list) else output
        return (output * upstream).sum()

    return {name: np.array(each) for name, each in jax.grad(total)(floats).items()}


def _by_torch(function: Callable, arrays: Arrays, upstream: np.ndarray, framework: str) -> Arrays:
    import torch

    given = {name: from_numpy(array, framework) for name, array in arrays.items()}
    floats = {name: tensor.requires_grad_() for name, tensor in given.items() if tensor.is_floating_point()}
    output = function(*given.values())
    output = output[0] if isinstance(output, tuple | list) else output
    total = (output * torch.as_tensor(upstream).to(output)).sum()
    found = torch.autograd.grad(total, list(floats.values()), allow_unused=True, materialize_grads=True)
    return {name: as_numpy(gradient) for name, gradient in zip(floats, found)}


def _by_differences(
    function: Callable, arrays: Arrays, upstream: np.ndarray, name: str, framework: str = "numpy"
) -> np.ndarray:
    moved = arrays | {name: arrays[name].astype(np.float64)}

    def total() -> float:
        return float((_output(function, moved, framework).astype(np.float64) * upstream).sum())

    return numerical_gradient(total, moved[name])


def off(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, relative to the largest number that is wanted; infinite for another shape."""
    if np.shape(found) != np.shape(wanted):
        return math.inf
    scale = float(np.abs(wanted).max(initial=0.0)) or 1.0
    difference = float(np.abs(np.asarray(found, float) - wanted).max(initial=0.0)) / scale
    return difference if math.isfinite(difference) else math.inf


def _bound(*outputs: np.ndarray) -> float:
    """What rounding alone may do, for the coarsest dtype."""
    digits = min(np.finfo(output.dtype).precision if output.dtype.kind == "f" else 15 for output in outputs)
    return 1e-9 if digits >= 15 else 1e-5 if digits >= 6 else 1e-2


# 1 Are two functions one?


def same_function(
    reference: Callable,
    function: Callable,
    make_inputs: Callable[[np.random.Generator], Mapping[str, np.ndarray]],
    trials: int = 3,
    seed: int = 0,
) -> Result:
    """Whether two functions have the same outputs and gradients on random inputs; if not, what they differ in.

    Args:
        reference, function: what it should be and what it is, of any framework, each of its own; they get the arrays by position.
        make_inputs: draws the inputs of one trial, name -> array, in the order of the call.
        trials: how often.

    Raises:
        TypeError, ValueError: if one can't be called so, is random, or gives numbers that aren't finite.
    """
    check_positive(trials=trials)
    rng = np.random.default_rng(seed)
    draws = [dict(make_inputs(rng)) for _ in range(trials)]
    frameworks = [framework_that_runs(each, draws[0]) for each in (function, reference)]
    pairs = [
        (checked_output(function, arrays, frameworks[0]), checked_output(reference, arrays, frameworks[1]))
        for arrays in draws
    ]
    below = _bound(*pairs[0])
    worst = max(off(*pair) for pair in pairs)
    found: dict[str, Any] = {"difference": worst, "below": below}
    if worst > below:
        if worst <= FLOAT32_INSIDE:
            return Result(True, f"they agree to {short(worst)}: one of them computes in float32 inside", found)
        named = _how_they_differ(function, reference, frameworks, draws, pairs, below)
        found["named"] = named
        said = f": {named}" if named else "; none of the usual mistakes explains it"
        if pairs[0][0].shape != pairs[0][1].shape:
            return Result(False, f"the outputs have shapes {pairs[0][0].shape} and {pairs[0][1].shape}{said}", found)
        return Result(False, f"the outputs differ by {short(worst)} of the largest number{said}", found)
    return _same_gradients(function, reference, frameworks, draws, found, rng)


def _same_gradients(
    function: Callable, reference: Callable, frameworks: list[str], draws: list[Arrays], found: dict, rng: Any
) -> Result:
    """The verdict on functions whose outputs agree."""
    below = max(found["below"], 1e-6)  # finite differences have no more digits
    ratios: dict[str, list[float]] = {}
    worst = 0.0
    for arrays in draws:
        upstream = rng.normal(size=_output(reference, arrays, frameworks[1]).shape)
        ours, theirs = (
            gradients_of(each, arrays, upstream, framework)
            for each, framework in zip((function, reference), frameworks)
        )
        for name, wanted in theirs.items():
            gap = off(ours[name], wanted) if np.abs(wanted).max(initial=0) > 1e-12 else float(np.abs(ours[name]).max())
            worst = max(worst, gap)
            if gap > below:
                ratios.setdefault(name, []).append(_factor(ours[name], wanted, below))
    found["gradients"] = worst
    if not ratios:
        sentence = f"the outputs agree to {short(found['difference'])}, the gradients to {short(worst)}"
        return Result(True, sentence, found)
    said = []
    for name, factors in ratios.items():
        steady = all(math.isclose(factor, factors[0], rel_tol=1e-4, abs_tol=1e-9) for factor in factors)
        what = f"{factors[0]:.4g} times the reference's" if steady and math.isfinite(factors[0]) else "another"
        said.append(f"that of {name} is {'zero' if steady and factors[0] == 0 else what}")
    found["wrong gradients"] = list(ratios)
    return Result(False, f"the outputs agree, and the gradients differ by {short(worst)}: {', '.join(said)}", found)


def _factor(found: np.ndarray, wanted: np.ndarray, below: float) -> float:
    """The number by which all of one array is larger than the other, NaN if there is none."""
    if found.shape != wanted.shape or not (square := float((wanted * wanted).sum())):
        return math.nan
    factor = float((found * wanted).sum()) / square
    return factor if off(found, factor * wanted) <= 10 * below * max(1.0, abs(factor)) else math.nan


def _how_they_differ(
    function: Callable,
    reference: Callable,
    frameworks: list[str],
    draws: list[Arrays],
    pairs: list[tuple[np.ndarray, np.ndarray]],
    below: float,
) -> str:
    """The change of the output, or of one argument, that makes the function the reference; empty if there is none."""
    for sentence, change in _changes_of_output(pairs, below):
        if all(off(change(ours), theirs) <= 10 * below for ours, theirs in pairs):
            return sentence
    sizes = [size for array in draws[0].values() for size in array.shape]
    fitting = [
        f"{name} {sentence}"
        for name, array in draws[0].items()
        for sentence, change in _changes_of(array, sizes)
        if _heals(function, frameworks[0], draws, pairs, below, name, change)
    ]
    if fitting:  # several may be the same, as to scale the query is to scale the key
        return ", or ".join(fitting[:3])
    return _epsilon(function, reference, frameworks, draws[0], off(*pairs[0]))


def _heals(
    function: Callable, framework: str, draws: list[Arrays], pairs: list, below: float, name: str, change: Callable
) -> bool:
    for arrays, (_, wanted) in zip(draws, pairs):
        try:
            with np.errstate(all="ignore"):
                output = _output(function, arrays | {name: np.ascontiguousarray(change(arrays[name]))}, framework)
        except Exception:  # noqa: BLE001 - an argument that was changed may not be one that it takes
            return False
        if off(output, wanted) > 10 * below:
            return False
    return True


def _epsilon(function: Callable, reference: Callable, frameworks: list[str], arrays: Arrays, difference: float) -> str:
    """Whether the difference is as that of a constant beside a variance: 30 times the inputs make a 900th of it."""
    larger = {name: array * 30 if array.dtype.kind == "f" else array for name, array in arrays.items()}
    outputs = (_output(each, larger, framework) for each, framework in zip((function, reference), frameworks))
    ratio = difference / (off(*outputs) or math.inf)
    if difference < 0.3 and 300 < ratio < 2000:
        return "it falls with the square of the inputs' size, as that of another epsilon does"
    return ""


def _changes_of_output(pairs: list, below: float) -> Iterator[tuple[str, Callable]]:
    ours, theirs = pairs[0]
    factor = _factor(ours, theirs, below)
    if math.isfinite(factor) and factor:
        yield f"the output is {factor:.4g} times the reference's", lambda x: x / factor
    for axes in itertools.permutations(range(ours.ndim)):
        if axes != tuple(range(ours.ndim)) and ours.ndim <= 4:
            yield f"the output's axes are in the order {axes}", lambda x, axes=axes: x.transpose(axes)
    yield from ((f"the output {text}", change) for text, change in _reorderings(ours))
    if ours.shape == theirs.shape and ours.ndim > 1:
        gap = (theirs - ours).reshape(-1, ours.shape[-1])
        if np.abs(gap - gap[0]).max() <= below * np.abs(theirs).max():
            yield "the output lacks a bias, one number for each feature", lambda x: x + gap[0]


def _changes_of(array: np.ndarray, sizes: list[int]) -> Iterator[tuple[str, Callable]]:
    """What may have happened to an argument."""
    if array.dtype == bool:
        yield "is read with the other polarity: True hides", np.logical_not
        if array.ndim > 1:
            yield "is read transposed", lambda x: np.swapaxes(x, -1, -2)
        return
    if array.dtype.kind in "iu":
        for step in (1, -1):
            yield f"is shifted: {step:+d} makes them agree", lambda x, step=step: x + step
        return
    factors = {"-1": -1.0, "2": 2.0, "1/2": 0.5}
    for size in sorted(set(sizes)):
        if size > 1:
            factors |= {
                f"sqrt({size})": size**0.5,
                f"1/sqrt({size})": size**-0.5,
                f"{size}": float(size),
                f"1/{size}": 1 / size,
            }
    for text, factor in factors.items():
        yield f"is scaled: {text} times as much makes them agree", lambda x, factor=factor: (x * factor).astype(x.dtype)
    if array.ndim > 1:
        yield "is read transposed", lambda x: np.swapaxes(x, -1, -2)
    yield from _reorderings(array)


def _reorderings(array: np.ndarray) -> Iterator[tuple[str, Callable]]:
    """The same numbers in another order along one axis: shifted by one, or two factors of it exchanged."""
    for axis, size in enumerate(array.shape):
        for step in (1, -1):
            if size > 2:
                yield f"is shifted by one along axis {axis}", lambda x, step=step, axis=axis: np.roll(x, step, axis)
        for first in range(2, size):
            if size % first == 0 and size // first > 1:
                yield (
                    f"has two factors of axis {axis}, {first} and {size // first}, exchanged (heads tiled and not repeated)",
                    lambda x, first=first, axis=axis: _exchanged(x, axis, first),
                )


def _exchanged(x: np.ndarray, axis: int, first: int) -> np.ndarray:
    moved = np.moveaxis(x, axis, -1)
    parts = moved.reshape(*moved.shape[:-1], first, -1).swapaxes(-1, -2).reshape(moved.shape)
    return np.moveaxis(parts, -1, axis)


# 2 Which keys does a query see?


def keys_seen(
    attention: Callable, length: int, expected: str | int | np.ndarray | None = None, width: int = 16, seed: int = 0
) -> Result:
    """Which keys each query of an attention sees, found by changing one key at a time.

    Args:
        attention: takes x, (2, length, width), or query, key and value, each as large, or query and value; returns the output.
            With x alone, a query is taken to see its own key, because to change one changes the other.
        length: how many positions.
        expected: "all", "causal", the width of a causal window, or a matrix (length, length), True where a query may look;
            None: whatever has a name, and keeps the rows of a batch apart, is right.

    Raises:
        TypeError, ValueError: if it can't be called so, is random, or gives numbers that aren't finite.
    """
    check_positive(length=length, width=width)
    count = _arguments_of(attention)
    rng = np.random.default_rng(seed)
    seen, leaks = np.zeros((length, length), bool), False
    for _ in range(2):
        arrays = {name: rng.normal(size=(2, length, width)) for name in ("query", "key", "value")[:count]}
        framework = framework_that_runs(attention, arrays)
        output = checked_output(attention, arrays, framework)
        if output.shape[:2] != (2, length):
            raise ValueError(f"{_name(attention)} returns shape {output.shape}: expected (2, {length}, ...)")
        bound = _bound(output) * float(np.abs(output).max()) * 1e-2
        for position in range(length):
            changed = {name: np.copy(array) for name, array in arrays.items()}
            for name in list(changed)[1:] or list(changed):
                changed[name][0, position] += rng.normal(size=width)
            moved = np.abs(_output(attention, changed, framework) - output).reshape(2, length, -1).max(axis=-1)
            seen[:, position] |= moved[0] > bound
            leaks |= bool((moved[1] > bound).any())
    if count == 1:
        np.fill_diagonal(seen, True)
    pattern = named_pattern(seen)
    if leaks:
        return Result(False, f"{pattern}; and a row of the batch moves another row", {"seen": seen, "pattern": pattern})
    wanted = _wanted(expected, length)
    if wanted is None:
        return Result(not pattern.startswith("no pattern"), pattern, {"seen": seen, "pattern": pattern})
    wrong = int((seen != wanted).sum())
    said = "" if not wrong else f"; {wrong} of {length * length} pairs are not as expected ({named_pattern(wanted)})"
    return Result(not wrong, pattern + said, {"seen": seen, "pattern": pattern, "wrong": wrong})


def _arguments_of(attention: Callable) -> int:
    """How many arrays it takes: what it needs by position, up to three."""
    call = getattr(attention, "call", None) or getattr(attention, "forward", None) or attention
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [
        each
        for each in inspect.signature(call).parameters.values()
        if each.kind in kinds and each.default is each.empty
    ]
    return min(3, max(1, len(needed)))


def _wanted(expected: str | int | np.ndarray | None, length: int) -> np.ndarray | None:
    if expected is None:
        return None
    back = np.arange(length)[:, None] - np.arange(length)
    if isinstance(expected, str):
        known = {"all": np.ones((length, length), bool), "causal": back >= 0}
        if expected not in known:
            raise ValueError(f"expected={expected!r}: expected one of {', '.join(known)}, a width, or a matrix")
        return known[expected]
    if isinstance(expected, int):
        check_positive(expected=expected)
        return (back >= 0) & (back < expected)
    matrix = np.asarray(expected, bool)
    if matrix.shape != (length, length):
        raise ValueError(f"expected has shape {matrix.shape}: expected {(length, length)}")
    return matrix


def named_pattern(seen: np.ndarray) -> str:
    """What a matrix of queries and keys is called."""
    length = len(seen)
    hidden = np.flatnonzero(~seen.any(axis=0))
    back = np.arange(length)[:, None] - np.arange(length)
    if len(hidden) == length:
        return "no query sees any key"
    shown = [column for column in range(length) if column not in hidden]
    offsets = _offsets(seen, back, shown)
    sinks = 0
    if offsets is None:  # the first keys may be seen by all that come after them
        for count in range(1, len(shown)):
            first = shown[:count]
            if all(seen[row, column] for column in first for row in range(column, length)):
                offsets, sinks = _offsets(seen, back, shown[count:]), count
                if offsets is not None and len(offsets) < length - count:
                    break
                offsets = None
    if offsets is None:
        return f"no pattern that has a name: {int(seen.sum())} of {seen.size} pairs"
    text = _named_offsets(offsets, length)
    text += f", and the first {sinks} key{'s' * (sinks > 1)} for all that follow (sinks)" if sinks else ""
    return text + (f"; keys {', '.join(map(str, hidden))} are hidden from all (padding)" if len(hidden) else "")


def _offsets(seen: np.ndarray, back: np.ndarray, columns: list[int]) -> set[int] | None:
    """How far back, or ahead, queries look, if that is the same for all of these keys; None if it isn't."""
    found, kinds = set(), {}
    for column in columns:
        for row in range(len(seen)):
            kinds.setdefault(int(back[row, column]), set()).add(bool(seen[row, column]))
    for offset, values in kinds.items():
        if len(values) > 1:
            return None
        if values == {True}:
            found.add(offset)
    return found


def _named_offsets(offsets: set[int], length: int) -> str:
    ahead, back = -min(offsets), max(offsets)
    whole = offsets == set(range(-ahead, back + 1))
    farthest = length - 1
    if not whole:
        without = set(range(-ahead, back + 1)) - offsets
        if without == {0} and ahead <= 0:
            return "each query sees the keys before its own, and not its own"
        return f"each query sees the keys at the distances {sorted(offsets)}"
    if ahead >= farthest and back >= farthest:
        return "every query sees every key"
    if ahead == 0 and back >= farthest:
        return "causal: each query sees its own key and all before it"
    if ahead == 0:
        return f"a causal window of {back + 1}: each query sees its own key and the {back} before it"
    if ahead < 0 and back >= farthest:
        return "each query sees the keys before its own, and not its own"
    if back >= farthest:
        return f"each query sees all keys before it, its own, and {ahead} after it: it sees the future"
    if back <= 0 and ahead >= farthest:
        what = "its own key and all after it" if back == 0 else "only the keys after its own"
        return f"each query sees {what}: the mask is reversed"
    return f"a window: each query sees {back} keys before its own and {ahead} after it"


# 3 What does a sampler draw?


def token_law(
    logits: np.ndarray, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> np.ndarray:
    """The probabilities of one token: logits over the temperature, of them the top_k, of these the fewest that reach top_p."""
    scores = np.asarray(logits, float) / temperature
    if top_k is not None:
        scores = np.where(scores >= np.sort(scores)[-min(top_k, len(scores))], scores, -np.inf)
    law = np.exp(scores - scores.max())
    law = law / law.sum()
    if top_p is not None:
        order = np.argsort(-law, kind="stable")
        before = np.cumsum(law[order]) - law[order]
        law[order[before >= top_p]] = 0
        law = law / law.sum()
    return law


def law_of(
    sampler: Callable,
    logits: np.ndarray,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    draws: int = 20_000,
    confidence: float = 0.9999,
) -> Result:
    """The law of a sampler over a small vocabulary, beside the one that was asked for.

    Args:
        sampler: takes logits, (draws, vocabulary), each row the same, and returns a token for each row, or the probabilities
            (draws, vocabulary), which are then compared exactly.
        logits: (vocabulary,), without ties.
        temperature, top_k, top_p: what the sampler is set to.
        draws: how many tokens are drawn; more find smaller mistakes.
        confidence: with which a right sampler is found right.

    Raises:
        ValueError: if what it returns is neither tokens nor probabilities.
    """
    logits = np.asarray(logits, float)
    check_positive(draws=draws)
    size = len(logits)
    rows = np.tile(logits, (draws, 1))
    returned = as_numpy(_called(sampler, {"logits": rows}, framework_that_runs(sampler, {"logits": rows[:2]})))
    if returned.shape == (draws, size) and returned.dtype.kind == "f":
        law, bound = returned[0].astype(float), 1e-5
    elif returned.size == draws and returned.dtype.kind in "iu":
        tokens = returned.reshape(-1)
        if tokens.min() < 0 or tokens.max() >= size:
            raise ValueError(
                f"{_name(sampler)} returns tokens from {tokens.min()} to {tokens.max()}: expected 0 to {size - 1}"
            )
        law = np.bincount(tokens, minlength=size) / draws
        # the mean is at most sqrt(size / draws) / 2; the rest is McDiarmid's inequality
        bound = math.sqrt(size / draws) / 2 + math.sqrt(-math.log(1 - confidence) / (2 * draws))
    else:
        raise ValueError(
            f"{_name(sampler)} returns shape {returned.shape}, {returned.dtype}: expected {draws} tokens, or "
            f"probabilities ({draws}, {size})"
        )
    wanted = token_law(logits, temperature, top_k, top_p)
    distance = float(np.abs(law - wanted).sum()) / 2
    found = {"law": law, "distance": distance, "below": bound}
    if distance <= bound and not (law[wanted == 0] > 0).any():
        sentence = f"the law is at a distance of {short(distance)} from the one asked for, must be below {short(bound)}"
        return Result(True, sentence, found)
    named = ""
    for text, other in _other_laws(logits, temperature, top_k, top_p):
        near = float(np.abs(law - other).sum()) / 2
        if near <= bound and near < distance and not (law[other == 0] > 0).any():
            named = text
            break
    found["named"] = named
    said = f": it is the law of {named}" if named else "; none of the usual mistakes explains it"
    return Result(False, f"the law is at a distance of {short(distance)} from the one asked for{said}", found)


def _other_laws(
    logits: np.ndarray, temperature: float, top_k: int | None, top_p: float | None
) -> Iterator[tuple[str, np.ndarray]]:
    """The laws of usual mistakes."""
    size = len(logits)
    yield "the likeliest token alone", np.eye(size)[logits.argmax()]
    if temperature != 1:
        yield "logits that were multiplied by the temperature", token_law(logits, 1 / temperature, top_k, top_p)
        yield "temperature 1", token_law(logits, 1.0, top_k, top_p)
        yield "the temperature applied twice", token_law(logits, temperature**2, top_k, top_p)
        law = token_law(logits) / temperature
        yield "probabilities, not logits, over the temperature", token_law(law, 1.0, top_k, top_p)
    if top_k is not None:
        yield "all tokens, not of the top k", token_law(logits, temperature, None, top_p)
        for other in (top_k + 1, top_k - 1):
            if other > 0:
                yield f"the top {other}, not {top_k}", token_law(logits, temperature, other, top_p)
        kept = token_law(logits, temperature)
        kept[token_law(logits, temperature, top_k) == 0] = 0
        smallest = np.where(logits >= np.sort(logits)[-top_k], logits / temperature, 0.0)
        yield "hidden logits at 0, not at minus infinity", token_law(smallest)
    if top_p is not None:
        yield "all tokens, not of top p", token_law(logits, temperature, top_k)
        whole = token_law(logits, temperature, top_k)
        order = np.argsort(-whole, kind="stable")
        short_of = whole.copy()
        short_of[order[np.cumsum(whole[order]) > top_p]] = 0
        if short_of.any():
            yield "the tokens up to p, without the one with which the sum passes p", short_of / short_of.sum()
        if temperature != 1:
            first = token_law(logits, 1.0, top_k, top_p)
            late = np.where(first > 0, token_law(logits, temperature), 0)
            yield "top p before the temperature", late / late.sum()
        yield "tokens whose own probability is at least 1 - p", _floored(whole, 1 - top_p)
    yield "every token alike", np.full(size, 1 / size)


def _floored(law: np.ndarray, least: float) -> np.ndarray:
    kept = np.where(law >= min(least, law.max()), law, 0)
    return kept / kept.sum()


def beams_of(
    search: Callable[[Callable[[tuple[int, ...]], np.ndarray]], Any],
    log_probs: Callable[[tuple[int, ...]], np.ndarray],
    vocabulary: int,
    length: int,
    width: int,
) -> Result:
    """Whether a search finds what a beam of this width finds, by listing every text of this length.

    Args:
        search: takes log_probs, and returns the tokens of one text.
        log_probs: from the tokens so far, a tuple, to the logarithms of the next one's probabilities, (vocabulary,).
        vocabulary, length: small: vocabulary ** length texts are listed.
    """
    check_positive(vocabulary=vocabulary, length=length, width=width)

    def score(text: tuple[int, ...]) -> float:
        return sum(float(log_probs(text[:index])[token]) for index, token in enumerate(text))

    returned = tuple(int(token) for token in np.asarray(as_numpy(search(log_probs))).reshape(-1))
    texts = sorted(itertools.product(range(vocabulary), repeat=length), key=score, reverse=True)
    wanted = _beam(log_probs, vocabulary, length, width)
    found = {"text": returned, "wanted": wanted, "rank": texts.index(returned) + 1 if returned in texts else None}
    if len(returned) != length:
        return Result(False, f"the search returns {len(returned)} tokens: expected {length}", found)
    if returned == wanted:
        return Result(
            True, f"it finds {wanted}, as a beam of {width} does, number {found['rank']} of {len(texts)}", found
        )
    for other in range(1, vocabulary**length):
        if other != width and returned == _beam(log_probs, vocabulary, length, other):
            named = "greedy search" if other == 1 else f"a beam of {other}"
            return Result(False, f"it finds {returned}, as {named} does; a beam of {width} finds {wanted}", found)
    if returned == texts[-1]:
        return Result(False, f"it finds {returned}, the least likely of all {len(texts)}: the order is reversed", found)
    return Result(
        False, f"it finds {returned}, number {found['rank']} of {len(texts)}; a beam of {width} finds {wanted}", found
    )


def _beam(log_probs: Callable, vocabulary: int, length: int, width: int) -> tuple[int, ...]:
    beams = [((), 0.0)]
    for _ in range(length):
        longer = [
            ((*text, token), total + float(log_probs(text)[token]))
            for text, total in beams
            for token in range(vocabulary)
        ]
        beams = sorted(longer, key=lambda pair: pair[1], reverse=True)[:width]
    return beams[0][0]


# 4 Over what does a loss take its mean?


def loss_law(loss: Callable, ignored: int | None = None, classes: int = 7, seed: int = 0) -> Result:
    """What a loss of logits, (rows, length, classes), and targets, (rows, length), computes: over which tokens, and with what.

    Args:
        loss: returns one number, the mean or the sum of cross-entropies.
        ignored: the target that shall not count; None: all do.
        classes: how many.

    Returns:
        ok where it is a mean, or a sum, of the cross-entropies of all tokens that count. `found` has reduction, smoothing, from
        ("logits" or "probabilities") and how far two halves of a batch are from the whole.

    Raises:
        TypeError, ValueError: if it can't be called so, is random, or gives numbers that aren't finite.
    """
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(3):
        logits, targets = rng.normal(size=(4, 6, classes)), rng.integers(1, classes, (4, 6))
        if ignored is not None:
            for row, count in enumerate((0, 1, 3, 5)):  # padding at the end, more of it in each row
                targets[row, 6 - count :] = ignored
        draws.append({"logits": logits, "targets": targets})
    framework = framework_that_runs(loss, draws[0])
    values = [float(checked_output(loss, arrays, framework)) for arrays in draws]
    counted = [arrays["targets"] != ignored if ignored is not None else np.ones((4, 6), bool) for arrays in draws]
    for source in ("logits", "probabilities", "probabilities that are normalized first"):
        for every, some in (("counted", counted), ("all", [np.ones((4, 6), bool)] * 3)):
            for reduction, reduce in _REDUCTIONS.items():
                pairs = [
                    _plain_and_even(arrays["logits"], np.where(kept, arrays["targets"], 0), kept, reduce, source)
                    for arrays, kept in zip(draws, some)
                ]
                # a label that is smoothed by s gives (1 - s) times the plain loss and s times the even one
                amounts = [(value - plain) / (even - plain) for value, (plain, even) in zip(values, pairs)]
                if max(amounts) - min(amounts) > 1e-4 or not -1e-4 < amounts[0] < 1 - 1e-4:
                    continue
                if every == "all" and ignored is None:
                    continue
                return _said_of_loss(loss, framework, draws[0], every, reduction, amounts[0], source, ignored)
    return Result(False, f"{short(values[0])}: no mean or sum of cross-entropies of these tokens", {"reduction": None})


def _mean(each: np.ndarray, kept: np.ndarray) -> float:
    return float(each[kept].sum() / kept.sum())


_REDUCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "mean": _mean,
    "sum": lambda each, kept: float(each[kept].sum()),
    "mean over all tokens, the ignored ones as 0": lambda each, kept: float(each[kept].sum() / kept.size),
    "mean of the rows' means": lambda each, kept: float(
        np.mean([each[row][kept[row]].mean() for row in range(len(each)) if kept[row].any()])
    ),
    "sum over a row, mean over the rows": lambda each, kept: float(each[kept].sum() / len(each)),
    "mean in bits": lambda each, kept: _mean(each, kept) / math.log(2),
}


def _plain_and_even(
    logits: np.ndarray, targets: np.ndarray, kept: np.ndarray, reduce: Callable, source: str
) -> tuple[float, float]:
    """The loss of the targets, and of labels that are even over the classes."""
    if source == "logits":
        logs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    elif source == "probabilities":  # clipped, and what normalizes them comes after
        clipped = np.clip(logits, 1e-7, 1 - 1e-7)
        logs = np.log(clipped / clipped.sum(axis=-1, keepdims=True))
    else:
        logs = np.log(np.clip(logits / logits.sum(axis=-1, keepdims=True), 1e-7, 1 - 1e-7))
    each = -np.take_along_axis(logs, targets[..., None], axis=-1)[..., 0]
    return reduce(each, kept), reduce(-logs.mean(axis=-1), kept)


def _said_of_loss(
    loss: Callable,
    framework: str,
    arrays: Arrays,
    every: str,
    reduction: str,
    smoothing: float,
    source: str,
    ignored: int | None,
) -> Result:
    halves = [{name: array[part] for name, array in arrays.items()} for part in (slice(0, 2), slice(2, 4))]
    whole, *parts = (float(_output(loss, each, framework)) for each in (arrays, *halves))
    joined = sum(parts) if reduction == "sum" else sum(parts) / 2
    smoothing = 0.0 if abs(smoothing) < 1e-4 else round(smoothing, 4)
    found = {"reduction": reduction, "smoothing": smoothing, "from": source, "halves minus whole": joined - whole}
    text = f"{reduction} over {'the tokens that count' if every == 'counted' and ignored is not None else 'all tokens'}"
    text += f", {ignored} ignored" if ignored is not None and every == "counted" else ""
    text += f", labels smoothed by {smoothing:g}" if smoothing else ""
    problems = []
    if every == "all":
        problems.append(f"target {ignored} counts (as class 0)")
    if source != "logits":
        problems.append("it takes its input for probabilities: give it logits, or tell it that they are")
    if reduction not in ("mean", "sum"):
        problems.append("it is neither the mean nor the sum over the tokens")
    if abs(joined - whole) > 1e-6 * max(1.0, abs(whole)):
        text += f"; the mean of two halves' losses is {joined - whole:+.2g} beside that of the batch, because their numbers of tokens differ"
    return Result(not problems, "; ".join([text, *problems]), found)


# 5 Is a gradient right?


def finite_differences(
    function: Callable, make_inputs: Callable[[np.random.Generator], Mapping[str, np.ndarray]], seed: int = 0
) -> Result:
    """Whether the gradients of a function are those of its outputs, by moving each number of its inputs up and down.

    Args:
        function: of PyTorch or Keras, whose framework finds gradients, or of NumPy with a method `backward` that takes the
            upstream gradient and returns one for each input with a point.
        make_inputs: draws the inputs, name -> array in float64, in the order of the call; small, because each number costs two calls.

    Raises:
        TypeError: if it is a function of NumPy without `backward`, or an input has another dtype.
        ValueError: if it is random, or gives numbers that aren't finite.
    """
    rng = np.random.default_rng(seed)
    arrays = dict(make_inputs(rng))
    framework = framework_that_runs(function, arrays)
    if framework == "numpy" and not hasattr(function, "backward"):
        raise TypeError(f"{_name(function)} has no method backward: there is no gradient to check")
    if narrow := [name for name, array in arrays.items() if array.dtype.kind == "f" and array.dtype != np.float64]:
        raise TypeError(f"{', '.join(narrow)} has dtype {arrays[narrow[0]].dtype}: expected float64")
    output = checked_output(function, arrays, framework)
    if output.dtype != np.float64:
        raise TypeError(f"{_name(function)} returns {output.dtype}: expected float64, in which differences have digits")
    upstream = rng.normal(size=output.shape)
    found = gradients_of(function, arrays, upstream, framework)
    gaps = {}
    for name, gradient in found.items():
        gaps[name] = off(gradient, _by_differences(function, arrays, upstream, name, framework))
    worst = max(gaps, key=gaps.get)
    figures = {"differences": gaps, "below": 1e-6}
    if gaps[worst] <= 1e-6:
        return Result(True, f"{len(gaps)} gradients agree with differences to {short(gaps[worst])}", figures)
    wrong = [name for name, gap in gaps.items() if gap > 1e-6]
    return Result(
        False, f"the gradient of {', '.join(wrong)} is off by {short(gaps[worst])} of its largest number", figures
    )
