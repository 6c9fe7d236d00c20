"""Checks of arguments, for what a type cannot say: each names the argument, the value that came and what was expected."""

import math
import numbers
import sys
from typing import Any

import numpy as np


def check_positive(**sizes: int) -> None:
    """Raise unless every size is a whole number from 1 to the largest that an array's axis can have, or one that PyTorch leaves open.

    Raises:
        TypeError: if a size is not a whole number.
        ValueError: if a size is below 1, or above 2**63 - 1.
    """
    for name, size in sizes.items():
        if type(size).__name__ == "SymInt":  # of torch.export: any length
            continue
        if isinstance(size, bool) or not isinstance(size, numbers.Integral):
            raise TypeError(f"{name}={size!r}: expected a whole number, got {type(size).__name__}")
        if size < 1:
            raise ValueError(f"{name}={size}: expected at least 1")
        if size >= 2**63:
            raise ValueError(f"{name}={size}: expected at most 2**63 - 1")


def check_rate(**rates: float) -> None:
    """Raise unless every rate is a number from 0 up to, not including, 1.

    Raises:
        TypeError: if a rate is not a number.
        ValueError: if a rate is outside [0, 1).
    """
    for name, rate in rates.items():
        if isinstance(rate, bool) or not isinstance(rate, numbers.Real):
            raise TypeError(f"{name}={rate!r}: expected a number, got {type(rate).__name__}")
        if not 0 <= rate < 1:
            raise ValueError(f"{name}={rate}: expected a rate in [0, 1)")


def check_number(low: float, above: bool = False, **values: float) -> None:
    """Raise unless every value is a finite number of at least low, or above low.

    Raises:
        TypeError: if a value is not a number.
        ValueError: if a value is too small or not finite.
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"{name}={value!r}: expected a number, got {type(value).__name__}")
        if not (low <= value < math.inf) or (above and value == low):
            raise ValueError(f"{name}={value}: expected a finite number {'above' if above else 'of at least'} {low}")


def check_choice(choices, **values) -> None:
    """Raise ValueError unless every value is one of the choices."""
    for name, value in values.items():
        if value not in choices:
            raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, choices))}")


def check_divides(what: dict[str, int], **sizes: int | None) -> None:
    """Raise unless a positive whole number, given as {name: number}, divides every size that is known.

    Raises:
        TypeError: if it is not a whole number.
        ValueError: if it is below 1, or does not divide one of the sizes.
    """
    check_positive(**what)
    for name, number in what.items():
        for axis, size in sizes.items():
            if size is not None and size % number:
                raise ValueError(f"{name}={number} does not divide the {axis} of x, {size}")


def check_seed(seed: Any) -> None:
    """Raise unless seed is what `numpy.random.default_rng` takes as numbers: one from 0, or a sequence of them.

    Raises:
        TypeError: if it is no whole number and no sequence of them.
        ValueError: if a number is below 0.
    """
    entropy = list(seed) if isinstance(seed, tuple | list | np.ndarray) else [seed]
    if not entropy or not all(isinstance(value, numbers.Integral) and not isinstance(value, bool) for value in entropy):
        raise TypeError(f"seed={seed!r}: expected a whole number or a sequence of them")
    if min(entropy) < 0:
        raise ValueError(f"seed={seed!r}: expected no number below 0")


def check_floats(**arrays: Any) -> None:
    """Raise TypeError unless every value is an array of NumPy that holds floating-point numbers."""
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name} is a {type(array).__name__}: expected a NumPy array of floating-point numbers")
        if array.dtype.kind != "f":
            raise TypeError(f"{name} has dtype {array.dtype}: expected floating-point numbers")


def check_model(model: Any) -> None:
    """Raise TypeError unless this is a model of one of the three frameworks, as far as its methods say."""
    is_model = hasattr(model, "parameters") or hasattr(model, "trainable_variables")
    if isinstance(model, type) or not is_model:
        came = f"the class {model.__name__}" if isinstance(model, type) else f"a {type(model).__name__}"
        raise TypeError(f"model is {came}: expected a model of NumPy's track, of PyTorch or of Keras")


def check_entries(names: tuple[str, ...], **mappings: Any) -> None:
    """Raise ValueError unless every mapping has an entry for each of the names."""
    for argument, mapping in mappings.items():
        missing = [name for name in names if name not in mapping]
        if missing:
            raise ValueError(f"{argument} lacks {', '.join(missing)}: expected {', '.join(names)}")


def check_shape(shape: tuple[int, ...], **arrays: Any) -> None:
    """Raise TypeError unless every value is an array, of any framework, of exactly that shape."""
    for name, array in arrays.items():
        if not hasattr(array, "shape"):
            raise TypeError(f"{name} is a {type(array).__name__}: expected an array")
        if tuple(array.shape) != tuple(shape):
            raise TypeError(f"{name} has shape {tuple(array.shape)}: expected {tuple(shape)}")


def check_features(features: int, /, **arrays: Any) -> None:
    """Raise TypeError unless every value is an array, of any framework, with that many features on its last axis."""
    for name, array in arrays.items():
        if not hasattr(array, "shape"):
            raise TypeError(f"{name} is a {type(array).__name__}: expected an array")
        shape = tuple(array.shape)
        if not shape or shape[-1] != features:
            raise TypeError(f"{name} has shape {shape}: expected {features} features on its last axis")


def check_tokens(tokens: Any, vocab_size: int, max_length: int | None = None) -> None:
    """Raise unless tokens, of any framework, are whole numbers inside the vocabulary, in sequences that are not too long.

    Args:
        tokens: (..., length) token ids. A framework's traced tensor has no values yet: its length is checked, its ids are not.
        vocab_size: ids go from 0 to vocab_size - 1.
        max_length: the longest sequence allowed; None for no limit.

    Raises:
        TypeError: if tokens is no array of whole numbers.
        ValueError: if an id is outside the vocabulary, or the sequences are longer than max_length.
    """
    if not hasattr(tokens, "shape"):
        raise TypeError(f"tokens={tokens!r}: expected an array of whole numbers")
    dtype = getattr(tokens.dtype, "name", str(tokens.dtype)).removeprefix("torch.")
    if "int" not in dtype:
        raise TypeError(f"tokens have dtype {dtype}: expected whole numbers")
    check_length(tokens, max_length)
    values = known_values(tokens)
    if values is None or not values.size:
        return
    for value in (values.min(), values.max()):
        if not 0 <= value < vocab_size:
            raise ValueError(f"token id {value} is outside the vocabulary of {vocab_size}")


def check_length(tokens: Any, max_length: int | None) -> None:
    """Raise ValueError if the sequences, along the last axis, are longer than max_length; None, here or of a traced axis, is no limit."""
    length = tokens.shape[-1] if len(tokens.shape) else None
    if max_length is not None and length is not None and length > max_length:
        raise ValueError(f"length {length} is over max_length={max_length}")


def check_32_bits(**values: Any) -> None:
    """Raise ValueError if a whole number, or one in an array of any framework, needs more than 32 bits: JAX would drop the upper ones.

    What is neither is not looked at, nor is an array that has no values yet.
    """
    for name, value in values.items():
        for number in _extremes(value):
            if not -(2**31) <= number < 2**31:
                raise ValueError(f"{name} holds {number}: expected whole numbers from -2**31 to 2**31 - 1")


def _extremes(value: Any) -> tuple:
    """A whole number, or the least and the largest of an array whose dtype is wider than int32; otherwise nothing."""
    if isinstance(value, numbers.Integral):
        return (value,)
    dtype = getattr(value, "dtype", None)
    dtype = str(getattr(dtype, "name", dtype)).removeprefix("torch.")
    array = known_values(value) if dtype in ("int64", "uint32", "uint64") else None
    return () if array is None or not array.size else (array.min(), array.max())


def is_compiling() -> bool:
    """Whether PyTorch is compiling."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def known_values(x: Any) -> np.ndarray | None:
    """The values of an array of any framework; None where there are none yet (a traced tensor) or they are on a GPU."""
    if is_compiling():
        return None
    try:
        return np.asarray(x)
    except Exception:  # noqa: BLE001 - each framework refuses in its own way
        return None
