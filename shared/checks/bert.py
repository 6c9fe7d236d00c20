"""Checks of arguments that chapter 13 needs alike in its three tracks."""

import numbers
from collections.abc import Collection
from typing import Any

from shared.checks import check_positive, check_rate, known_values


def check_segments(segments: Any, num_segments: int) -> None:
    """Raise ValueError if a segment, of an array of any framework, is not from 0 to num_segments - 1."""
    values = known_values(segments)
    for value in () if values is None or not values.size else (values.min(), values.max()):
        if not 0 <= value < num_segments:
            raise ValueError(f"segment {value} is outside the {num_segments} segments")


def check_masking(mask_id: int, vocab_size: int, special_ids: Collection, rate: float, seed: int = 0) -> None:
    """Raise unless the whole numbers that `mask_tokens` gets, of any framework, make sense together.

    Raises:
        TypeError: if special_ids hold something else than whole numbers.
        ValueError: if an id is outside the vocabulary, mask_id is not special, no token is ordinary, or a number is out of range.
    """
    check_positive(vocab_size=vocab_size)
    check_rate(rate=rate)
    for value in special_ids:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"special_ids={special_ids!r}: expected whole numbers")
    for name, value in (("mask_id", mask_id), *(("special_ids", each) for each in special_ids)):
        if not 0 <= value < vocab_size:
            raise ValueError(f"{name}={value}: expected an id of the vocabulary of {vocab_size}")
    if mask_id not in special_ids:
        raise ValueError(f"mask_id={mask_id} must be among special_ids={list(special_ids)}")
    if len(set(special_ids)) == vocab_size:
        raise ValueError(f"special_ids={list(special_ids)}: expected at least one ordinary token beside them")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed={seed}: expected a whole number from 0 to 2**32 - 1")
