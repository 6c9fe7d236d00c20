"""Masked language modelling on the grammar's sentences: the best that any model can predict, computed exactly, and what a model reached."""

import math
import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tokenizers

from shared import grammar
from shared.checks import check_positive, check_rate, check_tokens
from shared.data.text import BERT_SPECIALS

IGNORED = -100  # the target where nothing is to be predicted; cross_entropy ignores it
MASKED, RANDOM = 0.8, 0.1  # of the chosen tokens: become [MASK], become any token; the others stay
PAD, _, START, SEPARATOR, MASK = range(len(BERT_SPECIALS))


def check_mask_tokens(
    tokens: Any, mask_id: int, vocab_size: int, special_ids: Sequence[int], rate: float, seed: int
) -> None:
    """Raise unless the arguments of `mask_tokens`, of any framework, make sense together.

    Raises:
        TypeError: if tokens is no array of whole numbers, or another argument has a wrong type.
        ValueError: if an id is outside the vocabulary, mask_id is not special, no token is ordinary, or a value is out of range.
    """
    check_positive(vocab_size=vocab_size)
    check_tokens(tokens, vocab_size)
    check_rate(rate=rate)
    if isinstance(special_ids, str) or not isinstance(special_ids, Sequence | np.ndarray | range | set | frozenset):
        raise TypeError(f"special_ids={special_ids!r}: expected a sequence of whole numbers")
    for name, value in (("mask_id", mask_id), ("seed", seed), *(("special_ids", each) for each in special_ids)):
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"{name}={value!r}: expected a whole number, got {type(value).__name__}")
        if name != "seed" and not 0 <= value < vocab_size:
            raise ValueError(f"{name}={value}: expected an id of the vocabulary of {vocab_size}")
    if mask_id not in special_ids:
        raise ValueError(f"mask_id={mask_id} is not among special_ids={list(special_ids)}: expected it there")
    if len(set(special_ids)) == vocab_size:
        raise ValueError(f"special_ids={list(special_ids)}: expected at least one ordinary token beside them")
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed={seed}: expected a whole number from 0 to 2**32 - 1")


def ordinary_ids(vocab_size: int, special_ids: Sequence[int]) -> np.ndarray:
    """The ids that are not special, int64: those that may be chosen, and those that a random token is drawn from."""
    return np.setdiff1d(np.arange(vocab_size), list(special_ids))


def word_ids(tokenizer: tokenizers.Tokenizer) -> np.ndarray:
    """The token id of each of `grammar.WORDS`, in their order.

    Raises:
        ValueError: if a word has no token of its own.
    """
    ids = [tokenizer.token_to_id(word) for word in grammar.WORDS]
    if None in ids:
        missing = [word for word, token in zip(grammar.WORDS, ids) if token is None]
        raise ValueError(f"the vocabulary of {tokenizer.get_vocab_size()} has no token for {', '.join(missing[:5])}")
    return np.array(ids)


class _Evidence(NamedTuple):
    """What the tokens of one sentence say about its words: numbers for (word of the sentence, word of the grammar)."""

    chosen: np.ndarray  # (length,) whether the word is to be predicted
    seen: np.ndarray  # P(token seen | word)
    seen_if_chosen: np.ndarray  # P(token seen | word, and it was chosen)


def _evidence(tokenizer: tokenizers.Tokenizer, inputs: np.ndarray, targets: np.ndarray, rate: float) -> list[_Evidence]:
    ids, ordinary = word_ids(tokenizer), tokenizer.get_vocab_size() - len(BERT_SPECIALS)
    check_rate(rate=rate)
    if inputs.shape != targets.shape or inputs.ndim != 2:
        raise ValueError(
            f"inputs have shape {inputs.shape}, targets {targets.shape}: expected (batch, length) for both"
        )
    result = []
    for row, chosen in zip(inputs, targets != IGNORED):
        ends = np.flatnonzero(row == SEPARATOR)
        if row[0] != START or len(ends) != 1 or (row[ends[0] + 1 :] != PAD).any():
            raise ValueError(f"inputs have the row {row.tolist()}: expected [CLS], words, [SEP], padding")
        words = row[1 : ends[0]]
        same = words[:, None] == ids  # (length, words)
        masked = (words == MASK)[:, None]
        if_chosen = np.where(masked, MASKED, RANDOM / ordinary + (1 - MASKED - RANDOM) * same)
        result.append(_Evidence(chosen[1 : ends[0]], rate * if_chosen + (1 - rate) * same, if_chosen))
    if not any(evidence.chosen.any() for evidence in result):
        raise ValueError(f"targets are all {IGNORED}: expected at least one word to predict")
    return result


def exact_predictions(
    tokenizer: tokenizers.Tokenizer, inputs: np.ndarray, targets: np.ndarray, rate: float = 0.15
) -> np.ndarray:
    """The exact distribution of every word that is to be predicted, given all that a model sees: what the best model would say.

    A token that is no [MASK] can still be wrong: one of ten chosen words was replaced by any token of the vocabulary. So each token is
    evidence about its word, with the probability of seeing it, and the grammar says how well words go together. That a word is to
    be predicted tells that it was chosen.

    Args:
        tokenizer: from `shared.data.text.train_tokenizer`, of kind "wordpiece", with a token for each word of the grammar.
        inputs: (batch, length) token ids of sentences of the grammar as `mask_tokens` changed them: [CLS] ... [SEP], padded.
        targets: (batch, length) as `mask_tokens` gives them; only where they are not IGNORED counts, not their values.
        rate: the probability that a word was chosen, in (0, 1).

    Returns:
        (n, vocab_size) float64: a row for each target that is not IGNORED, in their order; it sums to 1.

    Raises:
        ValueError: if a word of the grammar has no token, a row has another form, shapes do not fit, or nothing is to be predicted.

    Source: Devlin et al. 2019, section 3.1 and appendix A.1 (what is done to the words); Bayes' rule.
    """
    rows, ids = [], word_ids(tokenizer)
    for chosen, seen, seen_if_chosen in _evidence(tokenizer, inputs, targets, rate):
        if chosen.any():
            posterior = grammar.posterior(seen)[chosen]  # (chosen, words), each word as if it might have been chosen
            posterior *= seen_if_chosen[chosen] / seen[chosen]  # and now that it was
            rows.append(posterior / posterior.sum(axis=1, keepdims=True))
    result = np.zeros((sum(map(len, rows)), tokenizer.get_vocab_size()))
    result[:, ids] = np.concatenate(rows)
    return result


def predictions_without_context(
    tokenizer: tokenizers.Tokenizer, inputs: np.ndarray, targets: np.ndarray, rate: float, frequencies: np.ndarray
) -> np.ndarray:
    """The best predictions of who sees each token by itself, and knows how frequent each word is: (n, vocab_size).

    Args:
        tokenizer, inputs, targets, rate: as for `exact_predictions`.
        frequencies: (words,) how often each of `grammar.WORDS` occurs, on any scale.
    """
    evidence = _evidence(tokenizer, inputs, targets, rate)
    words = np.concatenate([each.seen_if_chosen[each.chosen] for each in evidence]) * frequencies
    result = np.zeros((len(words), tokenizer.get_vocab_size()))
    result[:, word_ids(tokenizer)] = words / words.sum(axis=1, keepdims=True)
    return result


class Score(NamedTuple):
    """Of predictions: `cross_entropy` in nats per chosen word, and `accuracy`, the probability that the most probable token is right."""

    cross_entropy: float
    accuracy: float


def score(exact: np.ndarray, predicted: np.ndarray) -> Score:
    """Score predictions against the exact distributions, so that no sampled word makes the score noisy, and none is below the optimum.

    Args:
        exact: (n, vocab_size) from `exact_predictions`.
        predicted: (n, vocab_size) probabilities; `exact` itself gives the optimum.

    Raises:
        ValueError: if the shapes differ, or a row of predicted does not sum to 1.
    """
    if exact.shape != predicted.shape:
        raise ValueError(f"predicted has shape {predicted.shape}: expected {exact.shape}, that of exact")
    if not (predicted >= 0).all() or abs(predicted.sum(axis=1) - 1).max() > 1e-4:
        raise ValueError("predicted has rows that are no probabilities: expected numbers from 0 that sum to 1")
    with np.errstate(divide="ignore"):
        logarithms = np.log(predicted, out=np.full(predicted.shape, -math.inf), where=predicted > 0)
    nats = -np.sum(exact * np.where(exact > 0, logarithms, 0), axis=1)  # 0 log 0 is 0
    right = np.take_along_axis(exact, predicted.argmax(axis=1)[:, None], axis=1)
    return Score(float(nats.mean()), float(right.mean()))


def short_sentences(num_sentences: int, max_words: int, seed: int) -> list[str]:
    """Draw sentences of the grammar that have at most max_words words, the "." included.

    Leaving out the long ones changes nothing for `exact_predictions`, because it takes a sentence's length as known.

    Args:
        num_sentences: how many.
        max_words: the most words of a sentence, at least 4, which is the shortest of the grammar.
        seed: as for `grammar.sample`.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.
    """
    check_positive(num_sentences=num_sentences, max_words=max_words)
    if max_words < 4:
        raise ValueError(f"max_words={max_words}: expected at least 4, the words of the grammar's shortest sentence")
    found, draw = [], 0
    while len(found) < num_sentences:
        sentences = grammar.sample(4 * num_sentences, (seed, draw))
        found += [sentence for sentence in sentences if sentence.count(" ") < max_words]
        draw += 1
    return found[:num_sentences]
