"""What generation needs alike in the three tracks: checks of its arguments, prompts as one batch, and the draw of a token.

The three tracks draw from the same random numbers, so with equal logits they choose the same tokens.
"""

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from shared.checks import check_array, check_choice, check_mask, check_positive, check_token_batch
from shared.frameworks.weights import as_numpy
from shared.training import check_number


def check_gpt(num_layers: int, vocab_size: int, pad_id: int | None) -> None:
    """Raise unless the arguments of `GPTModel` that no part of it checks are right: pad_id is None or an id of the vocabulary."""
    check_positive(num_layers=num_layers, vocab_size=vocab_size)
    if pad_id is None:
        return
    if isinstance(pad_id, bool) or not isinstance(pad_id, numbers.Integral):
        raise TypeError(f"pad_id={pad_id!r}: expected a whole number or None, got {type(pad_id).__name__}")
    if not 0 <= pad_id < vocab_size:
        raise ValueError(f"pad_id={pad_id}: expected None, or an id inside the vocabulary of {vocab_size}")


def check_cached_call(tokens: Any, mask: Any, cache: Any, kind: type, num_layers: int, max_length: int) -> None:
    """Raise unless the arguments of a model's call fit together; nothing has been computed or remembered by then.

    Args:
        tokens: (batch, length) whole numbers.
        mask: None, or booleans (batch or 1, 1, 1, cached + length).
        cache: None, or a cache of this kind, with as many layers and rows.
        kind: the `KVCache` of the track.
        num_layers, max_length: of the model.

    Raises:
        TypeError: if tokens hold no whole numbers, mask no booleans, or cache is something else.
        ValueError: if a shape does not fit, or cached and new tokens together are too many.
    """
    check_token_batch(tokens)
    batch, length = tokens.shape
    cached = 0
    if cache is not None:
        if not isinstance(cache, kind):
            raise TypeError(f"cache is a {type(cache).__name__}: expected a KVCache, as from make_cache(batch)")
        if (len(cache.layers), cache.batch) != (num_layers, batch):
            raise ValueError(
                f"cache has {len(cache.layers)} layers and {cache.batch} rows: expected {num_layers} and {batch}"
            )
        cached = cache.length
    if length is not None and cached + length > max_length:
        raise ValueError(
            f"length {cached + length} is over max_length={max_length}" + (f", {cached} are cached" if cached else "")
        )
    if mask is not None:
        check_array(mask=mask)
        if len(mask.shape) != 4:
            raise ValueError(f"mask has shape {tuple(mask.shape)}: expected (batch, 1, 1, length_k)")
        check_mask(mask, batch, 1, 1, None if length is None else cached + length)


def check_append(shape: tuple[int, ...], key_shape: tuple[int, ...], value_shape: tuple[int, ...], length: int) -> None:
    """Raise ValueError unless keys and values fit a layer of a cache, and there is room for them.

    Args:
        shape: of the layer, (batch, heads, max_length, head_dim).
        key_shape, value_shape: of what is appended, (batch, heads, new, head_dim).
        length: how many positions the layer holds.
    """
    batch, heads, max_length, head_dim = shape
    for name, given in (("key", key_shape), ("value", value_shape)):
        if len(given) != 4 or (given[0], given[1], given[3]) != (batch, heads, head_dim):
            raise ValueError(f"{name} has shape {tuple(given)}: expected ({batch}, {heads}, new, {head_dim})")
    if value_shape != key_shape:
        raise ValueError(f"value has shape {tuple(value_shape)}: expected that of key, {tuple(key_shape)}")
    if length + key_shape[2] > max_length:
        raise ValueError(f"length {length + key_shape[2]} is over max_length={max_length}: the cache is full")


def check_sampling(temperature: float, top_k: int | None, top_p: float | None, logits: Any = None) -> None:
    """Raise unless temperature is at least 0, top_k None or at least 1, top_p None or in (0, 1], and logits, if given, are floats (..., vocab_size)."""
    check_number(0, temperature=temperature)
    if top_k is not None:
        check_positive(top_k=top_k)
    if top_p is not None:
        check_number(0, above=True, top_p=top_p)
        if top_p > 1:
            raise ValueError(f"top_p={top_p}: expected at most 1")
    if logits is None:
        return
    check_array(logits=logits)
    if "float" not in str(logits.dtype):
        raise TypeError(f"logits have dtype {logits.dtype}: expected floating-point numbers")
    if not len(logits.shape) or not logits.shape[-1]:
        raise ValueError(f"logits have shape {tuple(logits.shape)}: expected (..., vocab_size)")


def _rows(prompt: Any) -> list[np.ndarray]:
    """The prompts, one array of whole numbers each."""
    if hasattr(prompt, "shape"):
        check_array(prompt=prompt)
        if len(prompt.shape) != 2:
            raise ValueError(f"prompt has shape {tuple(prompt.shape)}: expected (batch, length)")
        rows = list(as_numpy(prompt))
    elif isinstance(prompt, Sequence) and not isinstance(prompt, str):
        rows = list(prompt) if len(prompt) and not isinstance(prompt[0], numbers.Integral) else [prompt]
    else:
        raise TypeError(
            f"prompt is a {type(prompt).__name__}: expected token ids, a list of lists of them, or an array"
        )
    for index, row in enumerate(rows):
        name = "prompt" if len(rows) == 1 else f"prompt[{index}]"
        whole = not isinstance(row, str) and hasattr(row, "__len__")
        if not whole or not all(isinstance(token, numbers.Integral) and not isinstance(token, bool) for token in row):
            raise TypeError(f"{name}={row!r}: expected whole numbers")
        if not len(row):
            raise ValueError(f"{name} is empty: expected at least one token")
        rows[index] = np.array(row, np.int64)
    return rows


def read_prompts(
    prompt: Any, max_new_tokens: int, vocab_size: int, max_length: int, pad_id: int | None, end_id: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Turn what `generate` was given into one batch, shorter prompts filled up at the end.

    Args:
        prompt: token ids; or a list of such lists, of any lengths; or an array (batch, length).
        max_new_tokens: how many tokens are to be added to the longest.
        vocab_size, max_length, pad_id: of the model.
        end_id: the token that ends a row, or None.

    Returns:
        (batch, longest) int64 tokens, and booleans of the same shape, True where a token is real.

    Raises:
        TypeError: if a token or a number is not whole, or prompt is something else.
        ValueError: if there is no token, one is outside the vocabulary or is padding, or the result would be over max_length.
    """
    check_positive(max_new_tokens=max_new_tokens)
    if end_id is not None:
        if isinstance(end_id, bool) or not isinstance(end_id, numbers.Integral):
            raise TypeError(f"end_id={end_id!r}: expected a whole number or None, got {type(end_id).__name__}")
        if not 0 <= end_id < vocab_size or end_id == pad_id:
            raise ValueError(
                f"end_id={end_id}: expected an id inside the vocabulary of {vocab_size}, and not that of padding"
            )
    rows = _rows(prompt)
    longest = max(map(len, rows))
    if longest + max_new_tokens > max_length:
        raise ValueError(
            f"a prompt of {longest} tokens and max_new_tokens={max_new_tokens} are over max_length={max_length}"
        )
    tokens, real = np.full((len(rows), longest), pad_id or 0), np.zeros((len(rows), longest), bool)
    for index, row in enumerate(rows):
        for token in row:
            if not 0 <= token < vocab_size:
                raise ValueError(f"token id {token} is outside the vocabulary of {vocab_size}")
            if pad_id is not None and token == pad_id:
                raise ValueError(
                    f"prompt[{index}] holds pad_id={pad_id}: expected real tokens; give prompts of different lengths as lists"
                )
        tokens[index, : len(row)], real[index, : len(row)] = row, True
    return tokens, real


def check_generate(
    kind: type, model: Any, prompt: Any, max_new_tokens: int, temperature: float, top_k: int | None, top_p: float | None,
    seed: int, end_id: int | None, use_cache: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Check the arguments of `generate`, and turn the prompts into one batch.

    Args:
        kind: the `GPTModel` of the track; the others are as for `generate`.

    Returns:
        tokens and real as of `read_prompts`, and a random number in [0, 1) for each row and step, (batch, max_new_tokens).

    Raises:
        TypeError, ValueError: if an argument has a wrong type or is out of range, or the result would be over max_length.
    """
    if not isinstance(model, kind):
        raise TypeError(f"model is a {type(model).__name__}: expected a GPTModel of this track")
    check_sampling(temperature, top_k, top_p)
    check_choice((False, True), use_cache=use_cache)
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise TypeError(f"seed={seed!r}: expected a whole number, got {type(seed).__name__}")
    if seed < 0:
        raise ValueError(f"seed={seed}: expected at least 0")
    tokens, real = read_prompts(prompt, max_new_tokens, model.vocab_size, model.max_length, model.pad_id, end_id)
    return tokens, real, np.random.default_rng(seed).random((len(tokens), max_new_tokens))


def check_logits(highest: Any, step: int) -> None:
    """Raise ValueError unless the highest logit of every row is finite, as it is where some tokens have -inf, but none has NaN.

    Args:
        highest: (batch,) numbers, NaN for a row that holds NaN.
        step: how many tokens have been added to the prompts.
    """
    if not np.isfinite(highest).all():
        wrong = next(float(value) for value in highest if not np.isfinite(value))
        raise ValueError(
            f"logits of step {step} have the maximum {wrong}: expected a finite number, from finite weights"
        )


def filler(pad_id: int | None, end_id: int | None) -> int:
    """What stands behind the end of a row: padding, or the end once more where a model has no padding."""
    return next(token for token in (pad_id, end_id, 0) if token is not None)


def draw(probabilities: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Choose a token for each row by the inverse of the cumulative distribution.

    Args:
        probabilities: (batch, vocab_size) floats, any positive sum.
        uniforms: (batch,) random numbers in [0, 1).

    Returns:
        (batch,) int64: the first token whose cumulative probability is above the random number. One of probability 0 is never chosen.
    """
    cumulative = np.cumsum(probabilities, axis=-1, dtype=np.float64)
    return (cumulative / cumulative[:, -1:] <= uniforms[:, None]).sum(axis=-1)


def in_form_of(prompt: Any, tokens: np.ndarray, real: np.ndarray) -> Any:
    """What was generated, in the form in which the prompt was given: a list, a list of lists, or an array.

    Args:
        prompt: as `generate` was given it.
        tokens: (batch, slots) ids.
        real: (batch, slots) booleans, False at padding and behind the end of a row.
    """
    if hasattr(prompt, "shape"):
        return tokens
    rows = [row[kept].tolist() for row, kept in zip(tokens, real)]
    return rows[0] if isinstance(prompt[0], numbers.Integral) else rows


def residual_scale(num_layers: int) -> float:
    """How much smaller the kernels start whose outputs are added to the residual stream, of which there are two a block."""
    return 1 / math.sqrt(2 * num_layers)
