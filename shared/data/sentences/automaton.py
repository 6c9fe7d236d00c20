"""The grammar as a finite automaton, in numbers: its states, the moves between them, and how probable each is.

Because the next word always tells which rule was used, a sentence has exactly one derivation, and the words so far leave exactly
one row of symbols still to be replaced: the state. So all sums over sentences are finite and exact.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from shared.data.sentences.rules import SENTENCE, Symbol, rules


def _moves(state: tuple[str | Symbol, ...]) -> Iterator[tuple[float, str, tuple[str | Symbol, ...]]]:
    """Probability, next word, and what is left after it, for every way on from a row of words and symbols still to come."""
    first, *rest = state
    if isinstance(first, str):
        yield 1.0, first, tuple(rest)
        return
    for probability, body in rules(first):
        for further, word, after in _moves((*body, *rest)):
            yield probability * further, word, after


def _build() -> tuple[list[dict[str, tuple[float, int]]], int]:
    """For each state, numbered as it is found from 0, the start: word -> (probability, next state). And the number of the final state, where nothing is left."""
    numbers_of, queue, result = {(SENTENCE,): 0}, [(SENTENCE,)], []
    for state in queue:
        result.append({})
        for probability, word, after in _moves(state) if state else ():
            if word in result[-1]:
                raise ValueError(
                    f"{word!r} comes from two rules at {state}: expected the word to tell which rule was used"
                )
            if after not in numbers_of:
                numbers_of[after] = len(queue)
                queue.append(after)
            result[-1][word] = probability, numbers_of[after]
    return result, numbers_of[()]


NEXT, FINAL = _build()
WORDS = tuple(sorted({word for moves in NEXT for word in moves}))  # every word of the grammar, in alphabetical order
INDEX = {word: index for index, word in enumerate(WORDS)}
# The same moves as arrays, an entry for each: from which state, to which, by which word, how probable.
FROM_STATE, TO_STATE, BY_WORD, PROBABILITY = map(
    np.array,
    zip(*((state, to, INDEX[word], p) for state, moves in enumerate(NEXT) for word, (p, to) in moves.items())),
)
# At each state: the words that can come and their cumulative probabilities; entropy of the next word in nats; probability of the most probable one.
CHOICES = [(list(moves), np.cumsum([p for p, _ in moves.values()])[:-1].tolist()) for moves in NEXT]
ENTROPY = np.bincount(FROM_STATE, -PROBABILITY * np.log(PROBABILITY), len(NEXT))
HIGHEST = np.array([max((p for p, _ in moves.values()), default=1.0) for moves in NEXT])


def _reached() -> np.ndarray:
    """Probability that a sentence is in a state after t words: (longest sentence + 1, states)."""
    rows = [np.eye(1, len(NEXT))[0]]
    while np.delete(rows[-1], FINAL).any():
        rows.append(np.bincount(TO_STATE, rows[-1][FROM_STATE] * PROBABILITY, len(NEXT)))
    return np.array(rows)


REACHED = _reached()
MAX_LENGTH = len(REACHED) - 1  # words of the longest sentence, "." included


def as_words(text: str | Iterable[str], name: str) -> list[str]:
    """The words of a sentence given as a string or as a list; an error calls it by this name."""
    if isinstance(text, str):
        return text.split()
    if not isinstance(text, Iterable):
        raise TypeError(f"{name}={text!r}: expected a string or a list of words, got {type(text).__name__}")
    words = list(text)
    for index, word in enumerate(words):
        if not isinstance(word, str):
            raise TypeError(f"{name}[{index}]={word!r}: expected a word, got {type(word).__name__}")
    return words


def _expected(state: int) -> str:
    """The words that can come at a state, for a message: the most probable ones."""
    words = sorted(NEXT[state], key=NEXT[state].get, reverse=True)
    return (
        f"expected {' or '.join(words[:6])}{' or another' if len(words) > 6 else ''}" if words else "expected nothing"
    )


def walk(words: list[str], name: str, whole: bool = True) -> list[int]:
    """The states before the first word, after it, after the second, and so on; whole: the last must be the final one."""
    states = [0]
    for index, word in enumerate(words):
        if word not in NEXT[states[-1]]:
            problem = f"cannot follow {' '.join(words[:index])!r}" if index else "cannot begin a sentence"
            raise ValueError(f"{name}: word {index}, {word!r}, {problem}: {_expected(states[-1])}")
        states.append(NEXT[states[-1]][word][1])
    if whole and states[-1] != FINAL:
        raise ValueError(f"{name} is not over after {' '.join(words)!r}: {_expected(states[-1])}")
    return states
