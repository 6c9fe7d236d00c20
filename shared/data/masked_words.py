"""Hidden words in the grammar's sentences: what each can have been, exactly, and how near predictions come to that.

A word of a sentence is chosen with some probability, and what is seen in its place is [MASK] (80 %), any word (10 %) or the
word itself (10 %), as `mask_tokens` of chapter 13 does it. The grammar knows how probable every sentence is, so Bayes' rule
gives the distribution of each chosen word.
"""

import math
from typing import NamedTuple

import numpy as np
import tokenizers

from shared.checks import check_positive, check_rate
from shared.contracts import Float, checked
from shared.data import grammar
from shared.data.subwords import BERT_SPECIALS

IGNORED = -100  # the target where nothing is to be predicted; cross_entropy ignores it
MASKED, RANDOM = 0.8, 0.1  # of the chosen tokens: become [MASK], become any token; the others stay
PAD, _, START, SEPARATOR, MASK = range(len(BERT_SPECIALS))


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
        raise TypeError(f"inputs have shape {inputs.shape}, targets {targets.shape}: expected (batch, length) for both")
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

    A token other than [MASK] can still be wrong: one of ten chosen words was replaced by any word of the vocabulary. So each token
    is evidence about its word, with the probability of seeing it, and the grammar says how probable the words are together. A word
    that is to be predicted was chosen.

    Args:
        tokenizer: from `shared.data.text.train_tokenizer`, of kind "wordpiece", with a token for each word of the grammar.
        inputs: (batch, length) token ids of sentences of the grammar as `mask_tokens` changed them: [CLS] ... [SEP], padded.
        targets: (batch, length) as `mask_tokens` gives them; only where they are not IGNORED counts, not their values.
        rate: the probability that a word was chosen, in (0, 1).

    Returns:
        (n, vocab_size) float64: a row for each target that is not IGNORED, in their order; it sums to 1.

    Raises:
        TypeError: if the shapes do not fit.
        ValueError: if a word of the grammar has no token, a row has another form, or nothing is to be predicted.

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
    """The best predictions from each token by itself, knowing how frequent each word is: (n, vocab_size).

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


@checked
def score(exact: Float[np.ndarray, "rows vocab_size"], predicted: Float[np.ndarray, "rows vocab_size"]) -> Score:
    """Score predictions against the exact distributions, so that no sampled word makes the score noisy, and none is below the optimum.

    Args:
        exact: from `exact_predictions`.
        predicted: probabilities; `exact` itself gives the optimum.

    Raises:
        TypeError: if the shapes differ.
        ValueError: if a row of predicted does not sum to 1, or there is no row.
    """
    if not len(exact):
        raise ValueError("exact has no rows: expected a distribution for at least one word")
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
    found, batch = [], 0
    while len(found) < num_sentences:
        sentences = grammar.sample(4 * num_sentences, (seed, batch))
        found += [sentence for sentence in sentences if sentence.count(" ") < max_words]
        batch += 1
    return found[:num_sentences]
