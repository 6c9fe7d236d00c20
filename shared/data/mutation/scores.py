"""The best that a model can do with DNA that mutates by a known process, and how near a prediction comes to it: exactly, without a drawn descendant."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from shared.data.mutation.processes import Process, check_process
from shared.data.mutation.tokens import NUCLEOTIDES, PAD_ID, VOCABULARY, as_tokens


class Score(NamedTuple):
    """What a prediction is worth: `cross_entropy` in nats per site, and `accuracy`, the probability that its most probable token is right."""

    cross_entropy: float
    accuracy: float


def probabilities(process: Process, ancestors: np.ndarray | Iterable[str]) -> np.ndarray:
    """The exact distribution of each descendant token, given the whole ancestor.

    Args:
        process: how the ancestors mutate.
        ancestors: (n, length) padded token ids, or a list or column of strings.

    Returns:
        (n, length, vocabulary) float64: sums to 1 at a nucleotide, 0 at padding.

    Raises:
        TypeError: if process is not a `Process`, or ancestors are neither whole numbers nor strings.
        ValueError: if ancestors hold something else than nucleotides and padding.
    """
    check_process(process)
    tokens = as_tokens(ancestors)
    result = np.zeros((*tokens.shape, len(VOCABULARY)))
    result[..., 1 : 1 + len(NUCLEOTIDES)] = process.probabilities(tokens.astype(np.uint8) - np.uint8(1))
    return result


def score(process: Process, ancestors: np.ndarray | Iterable[str], predicted: np.ndarray) -> Score:
    """Score predicted distributions against the exact one: no descendant is drawn, so there is no sampling noise, and nothing beats `optimum`.

    Args:
        process: how the ancestors mutate.
        ancestors: (n, length) padded token ids, or a list or column of strings.
        predicted: (n, length, vocabulary) probabilities, not logits. What they say at padding does not matter.

    Returns:
        The expected cross-entropy and accuracy, averaged over the sites that are not padding.

    Raises:
        TypeError: as in `probabilities`, or if predicted does not hold numbers or has another shape.
        ValueError: as in `probabilities`, or if predicted is negative or does not sum to 1, or there is no site.
    """
    tokens = as_tokens(ancestors)
    exact = probabilities(process, tokens)
    predicted = np.asarray(predicted)
    if predicted.dtype.kind not in "fiu":
        raise TypeError(f"predicted has dtype {predicted.dtype}: expected real numbers")
    if predicted.shape != exact.shape:
        raise TypeError(
            f"predicted has shape {predicted.shape}: expected {exact.shape}, a probability for each token at each site"
        )
    real = tokens != PAD_ID
    if not real.any():
        raise ValueError("ancestors hold no nucleotide: expected at least one site that is not padding")
    exact, predicted = exact[real], predicted[real].astype(np.float64)  # (sites, vocabulary)
    total = predicted.sum(-1, keepdims=True)
    if not (predicted.min() >= 0 and np.abs(total - 1).max() <= 1e-3):  # false for NaN too
        raise ValueError(
            f"predicted goes from {predicted.min():.4g} to {predicted.max():.4g} and sums to {total.min():.4g} to {total.max():.4g} over the tokens of a site:"
            " expected probabilities that sum to 1 (softmax of the logits)"
        )
    predicted /= total  # float32 sums to 1 only nearly
    possible = exact > 0
    with np.errstate(divide="ignore"):  # what happens, though predicted to be impossible, costs infinitely much
        cross_entropy = -(exact[possible] * np.log(predicted[possible])).sum() / len(exact)
    accuracy = np.take_along_axis(exact, predicted.argmax(-1, keepdims=True), -1).mean()
    return Score(float(cross_entropy), float(accuracy))


def optimum(process: Process, ancestors: np.ndarray | Iterable[str]) -> Score:
    """The score of the exact distribution itself, which no predictor can beat.

    Args:
        process, ancestors: as in `probabilities`.

    Returns:
        Its cross-entropy (here the conditional entropy) and accuracy, averaged over the sites that are not padding.

    Raises:
        TypeError, ValueError: as in `score`.
    """
    tokens = as_tokens(ancestors)
    return score(process, tokens, probabilities(process, tokens))


def per_site_optimum(process: Process, ancestors: np.ndarray | Iterable[str]) -> Score:
    """The score of the best predictor that sees a site's own nucleotide, and whether it is the last one, but none of its neighbours.

    No model without attention is better: at most, if all sequences are equally long, its positions tell it which site is the last. The predictor answers with
    the average of the exact distributions of all the sites, in these ancestors, that look the same to it.

    Args:
        process, ancestors: as in `probabilities`.

    Returns:
        Its cross-entropy and accuracy, averaged over the sites that are not padding.

    Raises:
        TypeError, ValueError: as in `score`.
    """
    tokens = as_tokens(ancestors)
    predicted = probabilities(process, tokens)
    is_last = np.pad(tokens[:, 1:] == PAD_ID, ((0, 0), (0, 1)), constant_values=True)
    seen = 2 * tokens + is_last
    for kind in np.unique(seen):
        predicted[seen == kind] = predicted[seen == kind].mean(0)
    return score(process, tokens, predicted)
