"""Checks of arguments that chapter 14 needs alike in its three tracks."""

from typing import Any

import numpy as np

from shared.checks import check_number, check_positive, known_values


def check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Raise unless temperature is at least 0, top_k None or at least 1, and top_p None or in (0, 1]."""
    check_number(0, temperature=temperature)
    if top_k is not None:
        check_positive(top_k=top_k)
    if top_p is not None:
        check_number(0, above=True, top_p=top_p)
        if top_p > 1:
            raise ValueError(f"top_p={top_p}: expected at most 1")


def check_context(length: int | None, cached: Any, max_length: int) -> None:
    """Raise ValueError unless the new positions, and those that are cached, are together no more than a model has."""
    if length is not None and isinstance(cached, int) and cached + length > max_length:
        note = f", {cached} are cached" if cached else ""
        raise ValueError(f"length {cached + length} is over max_length={max_length}{note}")


def check_cache(cache: Any, blocks: int, rows: int | None) -> None:
    """Raise ValueError unless a cache, if there is one, has a layer for each block of a model and a row for each text.

    Args:
        rows: how many texts there are, None where that isn't known yet.
    """
    if cache is None:
        return
    given = len(cache.layers), cache.layers[0].keys.shape[0]
    if given[0] != blocks or rows not in (None, given[1]):
        raise ValueError(f"cache has {given[0]} layers and {given[1]} rows: expected {blocks} and {rows}")


def check_keys(new: int | None, cached: Any, **masks: Any) -> None:
    """Raise TypeError unless the last axis of a mask counts all keys, the cached ones and the new ones.

    It may have size 1, for all keys alike, where nothing is cached; behind a cache that would be the mask of one new token.
    """
    for name, mask in masks.items():
        if mask is None or new is None or mask.shape[-1] is None or not isinstance(cached, int):
            continue
        if mask.shape[-1] != cached + new and (cached or mask.shape[-1] != 1):
            raise TypeError(
                f"{name} has shape {tuple(mask.shape)}: expected one that broadcasts to {cached + new} keys"
                + (f", {cached} of them cached" if cached else "")
            )


def check_sample(probs: Any, uniforms: Any) -> None:
    """Raise ValueError unless rows of probs are finite, not negative, and one is above 0, and uniforms in [0, 1), as far as values are known."""
    probs, uniforms = known_values(probs), known_values(uniforms)
    if probs is None or uniforms is None:
        return
    totals = probs.sum(axis=-1)
    for row in np.flatnonzero(~((0 < totals) & (totals < np.inf)) | (probs < 0).any(axis=-1))[:1]:
        raise ValueError(
            f"probs[{row}] are from {probs[row].min()} to {probs[row].max()}:"
            " expected finite numbers of at least 0, and one above 0"
        )
    for row in np.flatnonzero(~((0 <= uniforms) & (uniforms < 1)))[:1]:
        raise ValueError(f"uniforms[{row}]={uniforms[row]}: expected a number in [0, 1)")


def check_logits(highest: Any, step: int) -> None:
    """Raise ValueError unless the highest logit of every row is finite: some tokens may have -inf, but none NaN.

    Args:
        highest: (batch,) numbers, NaN for a row that holds NaN.
        step: how many tokens have been added to the prompts.
    """
    if not np.isfinite(highest).all():
        wrong = next(float(value) for value in highest if not np.isfinite(value))
        raise ValueError(
            f"logits of step {step} have the maximum {wrong}: expected a finite number, from finite weights"
        )
