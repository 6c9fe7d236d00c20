"""The exact distributions of hidden words, given the words around them."""

import numbers
from collections.abc import Iterable

import numpy as np

from shared.data.sentences.automaton import (
    BY_WORD,
    FINAL,
    FROM_STATE,
    INDEX,
    NEXT,
    PROBABILITY,
    TO_STATE,
    WORDS,
    as_words,
)


def posterior(likelihoods: np.ndarray) -> np.ndarray:
    """The distribution of the word at every place of a sentence of known length, given evidence about each, by the forward-backward algorithm.

    Args:
        likelihoods: (length, words) numbers from 0. Entry [i, j] is the probability of what is seen at place i if WORDS[j] stands there: a row is 1 at
            one word and 0 elsewhere if that word is seen, 1 everywhere if nothing is, and in between if what is seen may have been replaced (as in BERT's
            80/10/10).

    Returns:
        (length, words) float64: row i is P(word at place i | all the evidence) over WORDS, and sums to 1.

    Raises:
        TypeError: if likelihoods is no array of real numbers, or has another shape.
        ValueError: if it holds a negative number, infinity or NaN, or no sentence of this length fits.

    Source: Rabiner 1989, "A tutorial on hidden Markov models and selected applications in speech recognition", section III.
    """
    if getattr(getattr(likelihoods, "dtype", None), "kind", "") not in ("b", "i", "u", "f"):
        raise TypeError(f"likelihoods is a {type(likelihoods).__name__}: expected an array of real numbers")
    if likelihoods.ndim != 2 or likelihoods.shape[1] != len(WORDS):
        raise TypeError(f"likelihoods has shape {likelihoods.shape}: expected (length, {len(WORDS)})")
    if not (np.isfinite(likelihoods).all() and (likelihoods >= 0).all()):
        raise ValueError("likelihoods hold a negative number, infinity or NaN: expected finite numbers from 0")
    # At each place the moves that its evidence allows, and their probabilities together with that evidence.
    moves = [np.flatnonzero(row[BY_WORD]) for row in likelihoods]
    weights = [PROBABILITY[allowed] * row[BY_WORD[allowed]] for allowed, row in zip(moves, likelihoods)]
    # forward[i]: the evidence before place i together with the state there; backward: the evidence from place i on, given the state.
    forward = [np.eye(1, len(NEXT))[0]]
    for allowed, weight in zip(moves, weights):
        forward.append(np.bincount(TO_STATE[allowed], forward[-1][FROM_STATE[allowed]] * weight, len(NEXT)))
    if not forward[-1][FINAL]:
        raise ValueError(f"likelihoods: no sentence of {len(likelihoods)} words fits")
    backward = np.eye(1, len(NEXT), FINAL)[0]
    result = np.empty(likelihoods.shape)
    for index in reversed(range(len(result))):
        allowed, weight = moves[index], weights[index] * backward[TO_STATE[moves[index]]]
        result[index] = np.bincount(BY_WORD[allowed], forward[index][FROM_STATE[allowed]] * weight, len(WORDS))
        backward = np.bincount(FROM_STATE[allowed], weight, len(NEXT))
    return result / result.sum(1, keepdims=True)


def _hide(words: list[str], positions: Iterable[int], name: str) -> np.ndarray:
    """Posterior of the sentence whose words at these positions are hidden and whose others are seen: (length, words)."""
    hidden = set()
    for position in positions:
        if isinstance(position, bool) or not isinstance(position, numbers.Integral):
            raise TypeError(f"position={position!r}: expected a whole number, got {type(position).__name__}")
        if not 0 <= position < len(words):
            raise ValueError(f"position={position}: expected 0 to {len(words) - 1}, a place in {name}")
        hidden.add(position)
    likelihoods = np.zeros((len(words), len(WORDS)))
    for index, word in enumerate(words):
        if index not in hidden and word not in INDEX:
            raise ValueError(f"{name}: word {index}, {word!r}, is not a word of the grammar")
        likelihoods[index, slice(None) if index in hidden else INDEX[word]] = 1
    try:
        return posterior(likelihoods)
    except ValueError:
        shown = " ".join("..." if index in hidden else word for index, word in enumerate(words))
        raise ValueError(f"{name}: no sentence of the grammar fits {shown!r}") from None


def masked_word_probabilities(
    words: str | Iterable[str], position: int, hidden: Iterable[int] = ()
) -> dict[str, float]:
    """The exact distribution of a hidden word given the words on both sides, which is what a masked language model should learn.

    Args:
        words: a whole sentence, a string or a list of words. What stands at a hidden position does not matter: it may be "[MASK]".
        position: the place asked about, from 0; it is always hidden.
        hidden: places of other words that are hidden too.

    Returns:
        Each word that can stand at the position, with its probability.

    Raises:
        TypeError: if words is neither a string nor words, or a position is not a whole number.
        ValueError: if a position is outside the sentence, or no sentence of the grammar fits the words that are seen.
    """
    row = _hide(as_words(words, "words"), [position, *hidden], "words")[position]
    return {word: float(probability) for word, probability in zip(WORDS, row) if probability}
