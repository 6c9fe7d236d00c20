"""The best that a model can do which sees the last few words alone: exact, from the automaton."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shared.checks import check_choice
from shared.data.sentences.automaton import (
    BY_WORD,
    FINAL,
    FROM_STATE,
    INDEX,
    NEXT,
    PROBABILITY,
    REACHED,
    TO_STATE,
    WORDS,
)

# The moves of a state are one after the other: where they begin, and how many they are.
FIRST = np.searchsorted(FROM_STATE, np.arange(len(NEXT) + 1))


class BestOfWindow(NamedTuple):
    """`cross_entropy` in nats per word, and `grammatical`, the share of its sentences that follow all rules when it writes."""

    cross_entropy: float
    grammatical: float


@functools.cache
def best_that_sees(num_words: int) -> BestOfWindow:
    """The least cross-entropy that a model can reach which sees the last num_words words, and how well it then writes.

    Such a model predicts the next word by its frequency behind these words, over all sentences. Where fewer words are there,
    "." stands before the first.

    Args:
        num_words: 1 to 4; 4 takes some seconds.
    """
    check_choice(range(1, 5), num_words=num_words)
    total = REACHED[:-1].sum() - REACHED[:-1, FINAL].sum()  # the expected number of words

    # 1 how often a sentence is at a state with these words behind it, and goes on with a word
    seen, word, mass = [], [], []
    for window, moves, arrived in _walk(num_words, lambda window, moves: PROBABILITY[moves]):
        seen.append(window)
        word.append(BY_WORD[moves])
        mass.append(arrived)
    seen, word, mass = map(np.concatenate, (seen, word, mass))

    # 2 the frequency of each word behind each window
    pairs, number = np.unique(seen * len(WORDS) + word, return_inverse=True)
    of_pair = np.bincount(number, mass)
    _, number = np.unique(pairs // len(WORDS), return_inverse=True)
    frequency = of_pair / np.bincount(number, of_pair)[number]
    loss = -of_pair @ np.log(frequency) / total

    # 3 draw words by these frequencies; what no rule allows is lost
    def drawn(window: np.ndarray, moves: np.ndarray) -> np.ndarray:
        return frequency[np.searchsorted(pairs, window * len(WORDS) + BY_WORD[moves])]

    grammatical = sum(arrived[TO_STATE[moves] == FINAL].sum() for _, moves, arrived in _walk(num_words, drawn))
    return BestOfWindow(float(loss), float(grammatical))


def _walk(num_words: int, weigh: Callable[[np.ndarray, np.ndarray], np.ndarray]):
    """Word after word: the windows, as numbers, the moves that go on from them, and the probability of having taken each."""
    stop, size = INDEX["."], len(WORDS) ** num_words
    window, state, mass = np.array([sum(stop * len(WORDS) ** i for i in range(num_words))]), np.array([0]), np.ones(1)
    while len(state):
        count = FIRST[state + 1] - FIRST[state]
        row = np.repeat(np.arange(len(state)), count)
        moves = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + FIRST[state[row]]
        arrived = mass[row] * weigh(window[row], moves)
        yield window[row], moves, arrived

        kept = TO_STATE[moves] != FINAL
        following = (window[row] * len(WORDS) + BY_WORD[moves]) % size * len(NEXT) + TO_STATE[moves]
        keys, number = np.unique(following[kept], return_inverse=True)
        window, state = np.divmod(keys, len(NEXT))
        mass = np.bincount(number, arrived[kept])
