"""Checks of arguments, the same in the three tracks: each names the argument, the value that came and what was expected."""

import numbers
from typing import Any

import numpy as np


def check_positive(**sizes: int) -> None:
    """Raise unless every size is a whole number of at least 1.

    Raises:
        TypeError: if a size is not a whole number.
        ValueError: if a size is below 1.
    """
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, numbers.Integral):
            raise TypeError(f"{name}={size!r}: expected a whole number, got {type(size).__name__}")
        if size < 1:
            raise ValueError(f"{name}={size}: expected at least 1")


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


def check_choice(choices, **values) -> None:
    """Raise ValueError unless every value is one of the choices."""
    for name, value in values.items():
        if value not in choices:
            raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, choices))}")


def check_heads(d_model: int, num_heads: int) -> None:
    """Raise unless num_heads heads share d_model features evenly.

    Raises:
        TypeError: if one of them is not a whole number.
        ValueError: if one is below 1, or num_heads does not divide d_model.
    """
    check_positive(d_model=d_model, num_heads=num_heads)
    if d_model % num_heads:
        raise ValueError(f"num_heads={num_heads} does not divide d_model={d_model}")


def check_array(**arrays: Any) -> None:
    """Raise TypeError unless every value is an array or a tensor of some framework."""
    for name, array in arrays.items():
        if not hasattr(array, "shape"):
            raise TypeError(f"{name} is a {type(array).__name__}: expected an array")


def check_shape(shape: tuple[int, ...], **arrays: Any) -> None:
    """Raise unless every array, of any framework, has exactly that shape.

    Raises:
        TypeError: if one is no array.
        ValueError: if one has another shape.
    """
    check_array(**arrays)
    for name, array in arrays.items():
        if tuple(array.shape) != tuple(shape):
            raise ValueError(f"{name} has shape {tuple(array.shape)}: expected {tuple(shape)}")


def check_entries(names: tuple[str, ...], **mappings: Any) -> None:
    """Raise ValueError unless every mapping has an entry for each of the names."""
    for argument, mapping in mappings.items():
        missing = [name for name in names if name not in mapping]
        if missing:
            raise ValueError(f"{argument} lacks {', '.join(missing)}: expected {', '.join(names)}")


def check_features(features: int, **arrays: Any) -> None:
    """Raise unless the last axis of every array, of any framework, has that many features.

    Raises:
        TypeError: if one is no array.
        ValueError: if one has another number of features.
    """
    check_array(**arrays)
    for name, array in arrays.items():
        shape = tuple(array.shape)
        if not shape or shape[-1] != features:
            raise ValueError(f"{name} has shape {shape}: expected {features} features on its last axis")


def check_sequence(d_model: int, max_length: int, **arrays: Any) -> None:
    """Raise unless every array, of any framework, is (..., length, d_model) and its length, if known, is not too long.

    Raises:
        TypeError: if one is no array.
        ValueError: if one has fewer axes, another number of features, or is too long.
    """
    check_features(d_model, **arrays)
    for name, array in arrays.items():
        if len(array.shape) < 2:
            raise ValueError(f"{name} has shape {tuple(array.shape)}: expected (..., length, {d_model})")
        if array.shape[-2] is not None and array.shape[-2] > max_length:
            raise ValueError(f"length {array.shape[-2]} is over max_length={max_length}")


def known_values(x: Any) -> np.ndarray | None:
    """The values of an array of any framework; None where there are none yet (a traced tensor) or they are on a GPU."""
    try:
        return np.asarray(x)
    except Exception:  # noqa: BLE001 - each framework refuses in its own way
        return None


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
    check_array(tokens=tokens)
    dtype = getattr(tokens.dtype, "name", str(tokens.dtype)).removeprefix("torch.")
    if "int" not in dtype:
        raise TypeError(f"tokens have dtype {dtype}: expected whole numbers")
    length = tokens.shape[-1] if len(tokens.shape) else None
    if max_length is not None and length is not None and length > max_length:
        raise ValueError(f"length {length} is over max_length={max_length}")
    values = known_values(tokens)
    if values is None or not values.size:
        return
    for value in (values.min(), values.max()):
        if not 0 <= value < vocab_size:
            raise ValueError(f"token id {value} is outside the vocabulary of {vocab_size}")


def check_mask(mask: Any, *shape: int) -> None:
    """Raise unless mask is None, or boolean and broadcastable to shape.

    Raises:
        TypeError: if the mask is not boolean: a mask of 0 and 1, or of 0 and -inf, means other things in other libraries.
        ValueError: if it does not broadcast to shape.
    """
    if mask is None:
        return
    check_array(mask=mask)
    if "bool" not in str(mask.dtype):
        raise TypeError(f"mask has dtype {mask.dtype}: expected booleans, True where a query may attend to a key")
    given = tuple(mask.shape)
    fits = len(given) <= len(shape) and all(
        m in (1, None) or s is None or m == s for m, s in zip(given[::-1], shape[::-1])
    )
    if not fits:
        raise ValueError(f"mask has shape {given}: expected one that broadcasts to {tuple(shape)}")


def check_query_key_value(query: Any, key: Any, value: Any, axes: int | None = None) -> None:
    """Raise unless query, key and value fit together: equal leading axes, the features of query in key, a value for each key.

    Args:
        query: (..., length_q, features).
        key: (..., length_k, features).
        value: (..., length_k, any).
        axes: how many axes each must have; None for two or more.

    Raises:
        TypeError: if one is no array of floating-point numbers.
        ValueError: if the shapes do not fit; a framework's unknown sizes (None) fit all.
    """
    check_array(query=query, key=key, value=value)
    for name, array in (("query", query), ("key", key), ("value", value)):
        if "float" not in str(array.dtype):
            raise TypeError(f"{name} has dtype {array.dtype}: expected floating-point numbers")
    q, k, v = (tuple(array.shape) for array in (query, key, value))
    if len(q) < 2 or (axes and len(q) != axes):
        raise ValueError(f"query has shape {q}: expected {axes or 'at least 2'} axes")

    def differ(a: tuple, b: tuple) -> bool:
        return len(a) != len(b) or any(None not in (m, n) and m != n for m, n in zip(a, b))

    if len(k) != len(q) or differ(k[:-2] + k[-1:], q[:-2] + q[-1:]):
        raise ValueError(f"key has shape {k}: expected that of query, {q}, but for the length")
    if len(v) != len(k) or differ(v[:-1], k[:-1]):
        raise ValueError(f"value has shape {v}: expected that of key, {k}, but for the features")


def check_multi_head(query: Any, key: Any, value: Any, mask: Any, d_model: int, num_heads: int) -> None:
    """Raise unless query, key and value are (batch, length, d_model) and fit together, and mask fits (batch, num_heads, length_q, length_k).

    Raises:
        TypeError: if an array does not hold floating-point numbers, or the mask booleans.
        ValueError: if a shape does not fit, or a Keras tensor carries an implicit mask.
    """
    check_query_key_value(query, key, value, axes=3)
    check_features(d_model, query=query, value=value)
    check_mask(mask, query.shape[0], num_heads, query.shape[1], key.shape[1])
    for name, array in (("query", query), ("key", key), ("value", value)):
        if getattr(array, "_keras_mask", None) is not None:
            raise ValueError(
                f"{name} carries an implicit Keras mask, as from mask_zero=True: expected none; give the call a mask instead"
            )


def check_token_batch(tokens: Any, pad_id: int = 0) -> None:
    """Raise unless tokens, of any framework, are whole numbers of shape (batch, length), and pad_id is a whole number.

    Raises:
        TypeError: if tokens is no array of whole numbers, or pad_id no whole number.
        ValueError: if tokens do not have two axes.
    """
    if isinstance(pad_id, bool) or not isinstance(pad_id, numbers.Integral):
        raise TypeError(f"pad_id={pad_id!r}: expected a whole number, got {type(pad_id).__name__}")
    check_array(tokens=tokens)
    if "int" not in str(tokens.dtype):
        raise TypeError(f"tokens have dtype {tokens.dtype}: expected whole numbers")
    if len(tokens.shape) != 2:
        raise ValueError(f"tokens have shape {tuple(tokens.shape)}: expected (batch, length)")


def check_callable(**functions: Any) -> None:
    """Raise TypeError unless every value can be called: a function, a module or a layer."""
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(
                f"{name} is a {type(function).__name__}: expected a function to call, such as a layer, not its result"
            )
