"""Predict the next word: the sentences that "The model so far" of each chapter is trained on, its loss, and how well it writes.

A token is a word, numbered in the order of the alphabet. Token 0 is ".": it ends a sentence, comes before its first word, and pads it.
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from shared.checks import check_positive
from shared.data import grammar

VOCABULARY = len(grammar.WORDS)
_NUMBER = {word: number for number, word in enumerate(grammar.WORDS)}
_HELD_OUT = (1, 0)  # the seed of the sentences that no training sees; that of a step is (0, step)

Model = Callable[[np.ndarray], np.ndarray]  # tokens (batch, length) to logits (batch, length, VOCABULARY)


class Score(NamedTuple):
    """How good a model of the next word is.

    `gap`: its loss above that of the grammar itself, in nats per word, on 1000 sentences that it hasn't seen. `grammatical`: how
    many of 1000 sentences that it writes follow all rules. `written`: these sentences.
    """

    gap: float
    grammatical: int
    written: list[str]


def encode(sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """(inputs, targets), both (batch, length): each token, from the "." before the first word on, and the token that comes next.

    A target is -1 behind the end of a sentence, where nothing is to be predicted.
    """
    rows = [[_NUMBER[word] for word in sentence.split()] for sentence in sentences]
    longest = max(map(len, rows))
    inputs = np.zeros((len(rows), longest), np.int64)
    targets = np.full((len(rows), longest), -1, np.int64)
    for number, row in enumerate(rows):
        inputs[number, 1 : len(row)] = row[:-1]
        targets[number, : len(row)] = row
    return inputs, targets


def decode(tokens: Sequence[int]) -> str:
    """The sentence of a row of tokens, up to its first "."; what comes before a sentence, a ".", isn't among them."""
    row = list(tokens)
    end = row.index(0) + 1 if 0 in row else len(row)
    return " ".join(grammar.WORDS[token] for token in row[:end])


def batch_at(step: int, batch_size: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """The (inputs, targets) of a step of training: sentences of its own, always the same."""
    return encode(grammar.sample(batch_size, seed=(0, step)))


def loss_and_gradient(logits: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean of minus the logarithm of the probability that each target gets, and its gradient with respect to the logits.

    Args:
        logits: (batch, length, VOCABULARY) floating point.
        targets: (batch, length) tokens; -1 where nothing is to be predicted.
    """
    kept = np.nonzero(targets >= 0)
    shifted = logits[kept] - logits[kept].max(axis=-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    picked = np.arange(len(shifted)), targets[kept]
    rows = np.exp(log_probabilities)
    rows[picked] -= 1
    grad = np.zeros_like(logits)
    grad[kept] = rows / len(rows)
    return float(-log_probabilities[picked].mean()), grad


def write(model: Model, number: int, seed: int = 0) -> list[str]:
    """Sentences, drawn word by word from the model's own probabilities until their ".", or until they are as long as any of the grammar's.

    The same seed draws the same random numbers for every model.
    """
    check_positive(number=number)
    uniform = np.random.default_rng(seed).random((grammar.MAX_LENGTH, number, 1))
    tokens = np.zeros((number, grammar.MAX_LENGTH + 1), np.int64)
    going_on = np.arange(number)
    for position in range(grammar.MAX_LENGTH):
        logits = model(tokens[going_on, : position + 1])[:, -1]
        sums = np.exp(logits - logits.max(axis=-1, keepdims=True)).cumsum(axis=-1)
        drawn = (sums <= uniform[position, going_on] * sums[:, -1:]).sum(axis=-1)
        tokens[going_on, position + 1] = drawn
        going_on = going_on[drawn != 0]
        if not len(going_on):
            break
    return [decode(row[1:]) for row in tokens]


def score(model: Model) -> Score:
    """Measure a model: its loss on sentences that it hasn't seen, and the sentences that it writes."""
    inputs, targets, least = _held_out()
    loss, _ = loss_and_gradient(model(inputs), targets)
    written = write(model, 1000)
    return Score(loss - least, sum(first_mistake(sentence) is None for sentence in written), written)


def first_mistake(sentence: str) -> str | None:
    """The first word that the grammar doesn't allow at its place, `grammar.END` where a sentence stops too early; None if all is right."""
    words = sentence.split()
    for position, word in enumerate([*words, grammar.END]):
        if word not in grammar.next_word_probabilities(words[:position]):
            return word
    return None


def allowed(sentences: Sequence[str]) -> np.ndarray:
    """Which words the grammar allows at each place that `encode` gives a target, (batch, length, VOCABULARY); behind a sentence none."""
    _, targets = encode(sentences)
    found = np.zeros((*targets.shape, VOCABULARY), bool)
    for row, sentence in enumerate(sentences):
        words = sentence.split()
        for position in range(len(words)):
            for word in grammar.next_word_probabilities(words[:position]):
                found[row, position, _NUMBER[word]] = True
    return found


def kinds() -> dict[str, str]:
    """Each noun, verb and adjective of the grammar: the kind of word that it is, which no model is told."""
    found = {}
    for nouns in grammar.NOUNS.values():
        found |= {singular: "singular" for singular, _, _ in nouns}
        found |= {plural: "plural" for _, plural, _ in nouns}
    for group, verbs in grammar.VERBS.items():
        name = "verb + object" if group in ("meet", "handle") else "verb"
        found |= {form: name for forms in verbs for form in forms}
    for adjectives in (grammar.SIZES, *grammar.QUALITIES.values()):
        found |= dict.fromkeys(adjectives, "adjective")
    return found


@functools.cache
def _held_out() -> tuple[np.ndarray, np.ndarray, float]:
    """Inputs and targets of 1000 sentences, and the grammar's own loss on them."""
    sentences = grammar.sample(1000, seed=_HELD_OUT)
    inputs, targets = encode(sentences)
    return inputs, targets, float(-sum(map(grammar.log_probability, sentences)) / (targets >= 0).sum())
