"""English sentences from a small probabilistic grammar, written for this course, so that the best any language model can do is computed exactly.

    yesterday the small robot near an old tower walked slowly and it carried two red lamps .

Words are lower case and separated by single spaces, "." is a word of its own and ends every sentence. What a model can learn, from near to far: `a` or `an` by
the letter that follows; which adjectives suit a noun and which adverbs and objects suit a verb; that `two` and `many` call for a plural; that a verb agrees
with its subject ("the robots near the old tower walk", "the robot that sees many owls walks"); that `yesterday` makes the main verbs past, however far away,
and `today` present; that a second clause keeps the tense of the first; and that its pronoun, like a reflexive ("the queen saw herself"), means the subject:
he, she, it or they.

A sentence is derived from `SENTENCE` by replacing symbols with the right-hand sides of their rules until only words are left, always the leftmost symbol
first. The rules are written such that the next word always tells which rule was used. So a sentence has exactly one derivation, the words so far leave exactly one row
of symbols still to be replaced (the state), and the grammar is a finite automaton over these states: all sums below are finite and exact.
"""

import codecs
import functools
import numbers
import os
import pathlib
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from shared.checks import check_positive, check_seed

END = "<end>"  # what `next_word_probabilities` expects behind a whole sentence; not a word of the grammar

# Singular, plural, pronoun.
NOUNS = {
    "being": [
        ("robot", "robots", "it"),
        ("girl", "girls", "she"),
        ("boy", "boys", "he"),
        ("owl", "owls", "it"),
        ("queen", "queens", "she"),
        ("king", "kings", "he"),
    ],
    "place": [
        ("tower", "towers", "it"),
        ("river", "rivers", "it"),
        ("island", "islands", "it"),
        ("garden", "gardens", "it"),
    ],
    "thing": [
        ("lamp", "lamps", "it"),
        ("apple", "apples", "it"),
        ("box", "boxes", "it"),
        ("umbrella", "umbrellas", "it"),
    ],
}
SIZES = ["small", "enormous"]
QUALITIES = {
    "being": ["old", "young", "angry"],
    "place": ["old", "green", "ancient"],
    "thing": ["red", "old", "empty"],
}
# Base form, third person singular, past.
VERBS = {
    "move": [("walk", "walks", "walked"), ("run", "runs", "ran")],
    "rest": [("sleep", "sleeps", "slept"), ("sing", "sings", "sang")],
    "meet": [("see", "sees", "saw"), ("find", "finds", "found")],
    "handle": [("carry", "carries", "carried"), ("paint", "paints", "painted")],
}
REFLEXIVES = {"he": "himself", "she": "herself", "it": "itself", "they": "themselves"}

Symbol = tuple  # its name, then its features, such as ("predicate", "past", "she", "last"); a word is a str
SENTENCE: Symbol = ("sentence",)


def _ranked(weight: float, words: Sequence) -> list[tuple[float, object]]:
    """Share a weight among words as 1 : 1/2 : 1/3 ..., so that the first of a list is the most frequent."""
    total = sum(1 / rank for rank in range(1, len(words) + 1))
    return [(weight / rank / total, word) for rank, word in enumerate(words, start=1)]


@functools.cache
def rules(symbol: Symbol) -> list[tuple[float, list[str | Symbol]]]:
    """All that can stand in a symbol's place: the grammar itself.

    Args:
        symbol: SENTENCE, or a symbol from the right-hand side of one of its rules, and so on.

    Returns:
        A pair for each rule: its probability, and the words and symbols that replace the symbol. The probabilities sum to 1.

    Raises:
        ValueError: if there is no such symbol.
    """
    weighted = _weighted_rules(symbol)
    total = sum(weight for weight, _ in weighted)
    return [(weight / total, body) for weight, body in weighted]


def _weighted_rules(symbol: Symbol) -> list[tuple[float, list[str | Symbol]]]:
    match symbol:
        case ("sentence",):
            return [
                (5, [("phrase", "being", "any tense")]),
                (3, ["yesterday", ("phrase", "being", "past")]),
                (2, ["today", ("phrase", "being", "present")]),
            ]

        # A noun phrase. With a tense it is the subject, and the rest of its clause follows the noun, whose number and kind it needs.
        case ("phrase", kind, tense):
            level = "quality" if tense is None else "size"  # only a subject can have two adjectives
            singular = _weighted_rules(("nominal", kind, "singular", level, tense))
            # "a" or "an" is a matter of the word behind it, so each is as probable as the words that call for it.
            share = sum(weight for weight, body in singular if body[0][0] in "aeiou") / sum(
                weight for weight, _ in singular
            )
            return [
                (4, ["the", ("nominal", kind, "any number", level, tense)]),
                (3 * (1 - share), ["a", ("nominal", kind, "a", level, tense)]),
                (3 * share, ["an", ("nominal", kind, "an", level, tense)]),
                (1, ["two", ("nominal", kind, "plural", level, tense)]),
                (1, ["many", ("nominal", kind, "plural", level, tense)]),
            ]
        # Adjectives and the noun: a size, a quality, the noun, each adjective or none. The level says which of these may come next.
        case ("nominal", kind, "a" | "an" as article, level, tense):
            singular = _weighted_rules(("nominal", kind, "singular", level, tense))
            return [(weight, body) for weight, body in singular if (body[0][0] in "aeiou") == (article == "an")]
        case ("nominal", kind, number, level, tense):
            result = []
            if level == "size":
                result += [(w, [word, ("nominal", kind, number, "quality", tense)]) for w, word in _ranked(1, SIZES)]
            if level != "noun":
                result += [
                    (w, [word, ("nominal", kind, number, "noun", tense)]) for w, word in _ranked(2, QUALITIES[kind])
                ]
            for weight, (singular, plural, pronoun) in _ranked(4, NOUNS[kind]):
                forms = {"singular": [(singular, pronoun)], "plural": [(plural, "they")]}
                forms["any number"] = forms["singular"] + forms["plural"]
                for noun, who in forms[number]:
                    body = (
                        [noun]
                        if tense is None
                        else [noun, ("description", tense, who), ("predicate", tense, who, "first")]
                    )
                    result.append((weight / len(forms[number]), body))
            return result

        # What stands between a subject and its verb, and has nouns of its own to lead a model astray.
        case ("description", tense, who):
            return [
                (5, []),
                (1, ["near", ("phrase", "place", None)]),
                (1, ["behind", ("phrase", "place", None)]),
                (1, ["with", ("phrase", "thing", None)]),
                (2, ["that", ("relative", tense, who)]),
            ]
        case ("relative", tense, who):
            return [
                (weight, [form, ("complement", kind, who)])
                for weight, kind, form, _ in _verb_forms(tense, who)
                if kind in ("meet", "handle")
            ]

        # The verb, what belongs to it, and how the clause ends. From the verb on, the tense is known.
        case ("predicate", tense, who, clause):
            return [
                (
                    weight,
                    [form, ("complement", kind, who), *(["."] if clause == "last" else [("ending", form_tense, who)])],
                )
                for weight, kind, form, form_tense in _verb_forms(tense, who)
            ]
        case ("complement", "move", _):
            return [(3, []), (1, ["slowly"]), (1, ["quickly"]), (2, ["to", ("phrase", "place", None)])]
        case ("complement", "rest", _):
            return [(3, []), (2, ["quietly"]), (1, ["near", ("phrase", "place", None)])]
        case ("complement", "meet", who):
            return [(4, [("phrase", "being", None)]), (1, [REFLEXIVES[who]])]
        case ("complement", "handle", _):
            return [(1, [("phrase", "thing", None)])]
        case ("ending", tense, who):
            return [
                (6, ["."]),
                (2, ["and", who, ("predicate", tense, who, "last")]),
                (1, ["but", who, ("predicate", tense, who, "last")]),
            ]
    raise ValueError(f"symbol={symbol!r}: expected a symbol of the grammar, such as {SENTENCE}")


def _verb_forms(tense: str, who: str) -> Iterator[tuple[float, str, str, str]]:
    """Weight, kind of verb, form and tense of every verb form that agrees with the subject."""
    for kind, verbs in VERBS.items():
        for weight, (base, third_person, past) in _ranked(1, verbs):
            if tense != "past":
                yield weight, kind, base if who == "they" else third_person, "present"
            if tense != "present":
                yield weight, kind, past, "past"


# The automaton


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


_NEXT, _FINAL = _build()
WORDS = tuple(sorted({word for moves in _NEXT for word in moves}))  # every word of the grammar, in alphabetical order
_INDEX = {word: index for index, word in enumerate(WORDS)}
# The same moves as arrays, an entry for each: from which state, to which, by which word, how probable.
_FROM, _TO, _WORD, _PROBABILITY = map(
    np.array,
    zip(*((state, to, _INDEX[word], p) for state, moves in enumerate(_NEXT) for word, (p, to) in moves.items())),
)
# At each state: the words that can come and their cumulative probabilities; entropy of the next word in nats; probability of the most probable one.
_CHOICES = [(list(moves), np.cumsum([p for p, _ in moves.values()])[:-1].tolist()) for moves in _NEXT]
_ENTROPY = np.bincount(_FROM, -_PROBABILITY * np.log(_PROBABILITY), len(_NEXT))
_HIGHEST = np.array([max((p for p, _ in moves.values()), default=1.0) for moves in _NEXT])


def _reached() -> np.ndarray:
    """Probability that a sentence is in a state after t words: (longest sentence + 1, states)."""
    rows = [np.eye(1, len(_NEXT))[0]]
    while np.delete(rows[-1], _FINAL).any():
        rows.append(np.bincount(_TO, rows[-1][_FROM] * _PROBABILITY, len(_NEXT)))
    return np.array(rows)


_REACHED = _reached()
MAX_LENGTH = len(_REACHED) - 1  # words of the longest sentence, "." included


def _as_words(text: str | Iterable[str], name: str) -> list[str]:
    if isinstance(text, str):
        return text.split()
    if not isinstance(text, Iterable):
        raise TypeError(f"{name}={text!r}: expected a string or a list of words, got {type(text).__name__}")
    words = list(text)
    for index, word in enumerate(words):
        if not isinstance(word, str):
            raise TypeError(f"{name}[{index}]={word!r}: expected a word, got {type(word).__name__}")
    return words


def _as_sentences(sentences: Iterable[str | Iterable[str]]) -> list[list[str]]:
    if isinstance(sentences, str) or not isinstance(sentences, Iterable):
        raise TypeError(f"sentences={sentences!r}: expected a list of sentences, got {type(sentences).__name__}")
    result = [_as_words(sentence, f"sentences[{index}]") for index, sentence in enumerate(sentences)]
    if not result:
        raise ValueError("sentences is empty: expected at least one")
    return result


def _expected(state: int) -> str:
    """The words that can come at a state, for a message: the most probable ones."""
    words = sorted(_NEXT[state], key=_NEXT[state].get, reverse=True)
    return (
        f"expected {' or '.join(words[:6])}{' or another' if len(words) > 6 else ''}" if words else "expected nothing"
    )


def _walk(words: list[str], name: str, whole: bool = True) -> list[int]:
    """The states before the first word, after it, after the second, and so on; whole: the last must be the final one."""
    states = [0]
    for index, word in enumerate(words):
        if word not in _NEXT[states[-1]]:
            place = f"cannot follow {' '.join(words[:index])!r}" if index else "cannot begin a sentence"
            raise ValueError(f"{name}: word {index}, {word!r}, {place}: {_expected(states[-1])}")
        states.append(_NEXT[states[-1]][word][1])
    if whole and states[-1] != _FINAL:
        raise ValueError(f"{name} is not over after {' '.join(words)!r}: {_expected(states[-1])}")
    return states


# Sentences


def sample(num_sentences: int, seed: int | Sequence[int]) -> list[str]:
    """Draw sentences.

    Args:
        num_sentences: how many.
        seed: a whole number from 0, or a sequence of them such as (seed, step). Equal arguments give equal sentences.

    Returns:
        Strings of 4 to MAX_LENGTH words, the "." at the end included, with single spaces between them.

    Raises:
        TypeError: if a number or the seed is not whole.
        ValueError: if num_sentences is below 1, or the seed is negative.
    """
    check_positive(num_sentences=num_sentences)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(num_sentences):
        state, words = 0, []
        for uniform in rng.random(MAX_LENGTH).tolist():
            choices, cumulative = _CHOICES[state]
            words.append(choices[bisect(cumulative, uniform)])
            state = _NEXT[state][words[-1]][1]
            if state == _FINAL:
                break
        sentences.append(" ".join(words))
    return sentences


def batch_at(step: int, batch_size: int = 8, length: int = 16, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A batch of sentences as ids of words, for training a causal language model; each step has its own, always the same.

    Args:
        step: which batch.
        batch_size: how many sentences.
        length: how many positions; longer sentences are cut, shorter ones padded at the end.
        seed: of the whole run.

    Returns:
        (inputs, targets), both (batch_size, length): the target of a word is the next one. Padding is 0, in both.
    """
    check_positive(batch_size=batch_size, length=length)
    ids = {word: number for number, word in enumerate(WORDS, 1)}
    tokens = np.zeros((batch_size, length + 1), np.int64)
    for row, sentence in zip(tokens, sample(batch_size, seed=(seed, step))):
        words = [ids[word] for word in sentence.split()][: length + 1]
        row[: len(words)] = words
    return tokens[:, :-1], tokens[:, 1:]


def log_probability(text: str | Iterable[str]) -> float:
    """The natural logarithm of the probability that the grammar draws this sentence.

    Args:
        text: one sentence: a string with spaces between the words, or the words. The "." at the end is one of them.

    Returns:
        A finite number below 0: what the grammar cannot draw is an error, not minus infinity.

    Raises:
        TypeError: if text is neither a string nor words.
        ValueError: if text is no sentence of the grammar; the message names the first word that cannot stand where it stands, counting from 0.
    """
    words = _as_words(text, "text")
    states = _walk(words, "text")
    return float(sum(np.log(_NEXT[state][word][0]) for state, word in zip(states, words)))


def entropy_per_sentence() -> float:
    """The entropy of the sentences, in nats: what a sentence costs the best predictor on average, in whatever tokens the sentence is written.

    Returns:
        The expectation of minus `log_probability`, by the chain rule: the entropy of the next word at each state, times the expected visits to the state.
    """
    return float(_REACHED.sum(0) @ _ENTROPY)


def expected_length() -> float:
    """The expected number of words of a sentence, the "." at the end included."""
    return float(_REACHED[:, _FINAL] @ np.arange(MAX_LENGTH + 1))


def entropy_per_token(end_token: bool = False) -> float:
    """What a token costs the best predictor on average over a long text, in nats, when each word is a token.

    Args:
        end_token: whether each sentence has one more token behind its ".". It costs nothing, because nothing else can come there, and it counts.

    Returns:
        `entropy_per_sentence` divided by the expected number of tokens. A text of other tokens (byte pairs) has the same entropy per sentence and another
        number of tokens: divide by that.
    """
    return entropy_per_sentence() / (expected_length() + bool(end_token))


def next_word_probabilities(prefix: str | Iterable[str]) -> dict[str, float]:
    """The exact distribution of the next word, which is what a causal language model should learn.

    Args:
        prefix: the words so far: a string with spaces between them, or a list; nothing for the first word of a sentence.

    Returns:
        Each word that can come next, with its probability; END with probability 1 behind a whole sentence.

    Raises:
        TypeError: if prefix is neither a string nor words.
        ValueError: if no sentence begins like this; the message names the first word that cannot stand where it stands, counting from 0.
    """
    state = _walk(_as_words(prefix, "prefix"), "prefix", whole=False)[-1]
    return {END: 1.0} if state == _FINAL else {word: probability for word, (probability, _) in _NEXT[state].items()}


class Optimum(NamedTuple):
    """The best that a predictor can expect: `cross_entropy` in nats per token, and `accuracy`, the probability that its most probable word is right."""

    cross_entropy: float
    accuracy: float


def optimum(sentences: Iterable[str | Iterable[str]], end_token: bool = False) -> Optimum:
    """What the best causal language model can expect on these sentences: at each token, it knows the words before and nothing else.

    The expectation is over what could have come at each place, not what came there, so it carries no sampling noise but that of the prefixes.

    Args:
        sentences: whole sentences, each a string or a list of words; every word is a token, the first and the "." too.
        end_token: as in `entropy_per_token`.

    Returns:
        Cross-entropy (here the conditional entropy) and accuracy of the exact distribution, averaged over the tokens.

    Raises:
        TypeError: if sentences is a single string, or holds something else than sentences.
        ValueError: if there is none, or one is no sentence of the grammar.
    """
    states = []
    for index, words in enumerate(_as_sentences(sentences)):
        visited = _walk(words, f"sentences[{index}]")
        states += visited if end_token else visited[:-1]  # at the final state the end token is certain
    return Optimum(float(_ENTROPY[states].mean()), float(_HIGHEST[states].mean()))


# Hidden words


def posterior(likelihoods: np.ndarray) -> np.ndarray:
    """The distribution of the word at every place of a sentence of known length, given evidence about each, by the forward-backward algorithm.

    Args:
        likelihoods: (length, words) numbers from 0. Entry [i, j] is the probability of what is seen at place i if WORDS[j] stands there: a row is 1 at
            one word and 0 elsewhere if that word is seen, 1 everywhere if nothing is, and in between if what is seen may have been replaced (as in BERT's
            80/10/10).

    Returns:
        (length, words) float64: row i is P(word at place i | all the evidence) over WORDS, and sums to 1.

    Raises:
        TypeError: if likelihoods is no array of real numbers.
        ValueError: if it has another shape, holds a negative number, infinity or NaN, or no sentence of this length fits.

    Source: Rabiner 1989, "A tutorial on hidden Markov models and selected applications in speech recognition", section III.
    """
    if getattr(getattr(likelihoods, "dtype", None), "kind", "") not in ("b", "i", "u", "f"):
        raise TypeError(f"likelihoods is a {type(likelihoods).__name__}: expected an array of real numbers")
    if likelihoods.ndim != 2 or likelihoods.shape[1] != len(WORDS):
        raise ValueError(f"likelihoods has shape {likelihoods.shape}: expected (length, {len(WORDS)})")
    if not (np.isfinite(likelihoods).all() and (likelihoods >= 0).all()):
        raise ValueError("likelihoods hold a negative number, infinity or NaN: expected finite numbers from 0")
    # At each place the moves that its evidence allows, and their probabilities together with that evidence.
    moves = [np.flatnonzero(row[_WORD]) for row in likelihoods]
    weights = [_PROBABILITY[allowed] * row[_WORD[allowed]] for allowed, row in zip(moves, likelihoods)]
    # forward[i]: the evidence before place i together with the state there; backward: the evidence from place i on, given the state.
    forward = [np.eye(1, len(_NEXT))[0]]
    for allowed, weight in zip(moves, weights):
        forward.append(np.bincount(_TO[allowed], forward[-1][_FROM[allowed]] * weight, len(_NEXT)))
    if not forward[-1][_FINAL]:
        raise ValueError(f"likelihoods: no sentence of {len(likelihoods)} words fits")
    backward = np.eye(1, len(_NEXT), _FINAL)[0]
    result = np.empty(likelihoods.shape)
    for place in reversed(range(len(result))):
        allowed, weight = moves[place], weights[place] * backward[_TO[moves[place]]]
        result[place] = np.bincount(_WORD[allowed], forward[place][_FROM[allowed]] * weight, len(WORDS))
        backward = np.bincount(_FROM[allowed], weight, len(_NEXT))
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
    for place, word in enumerate(words):
        if place not in hidden and word not in _INDEX:
            raise ValueError(f"{name}: word {place}, {word!r}, is not a word of the grammar")
        likelihoods[place, slice(None) if place in hidden else _INDEX[word]] = 1
    try:
        return posterior(likelihoods)
    except ValueError:
        shown = " ".join("..." if place in hidden else word for place, word in enumerate(words))
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
    row = _hide(_as_words(words, "words"), [position, *hidden], "words")[position]
    return {word: float(probability) for word, probability in zip(WORDS, row) if probability}


def masked_optimum(sentences: Iterable[str | Iterable[str]], positions: Iterable[Iterable[int]]) -> Optimum:
    """What the best masked language model can expect at these positions, when it sees every other word as it is.

    All positions of a sentence are hidden together, and the expectation is over what could have stood there.

    Args:
        sentences: whole sentences, each a string or a list of words.
        positions: for each sentence, the places of its hidden words, from 0; none for a sentence that is not asked about.

    Returns:
        Cross-entropy and accuracy of the exact distribution, averaged over the hidden words.

    Raises:
        TypeError: if sentences is a single string or holds something else than sentences, or a position is not a whole number.
        ValueError: if there is no sentence or no position, not as many of both, a position is outside its sentence, or no sentence of the grammar fits.
    """
    sentences = _as_sentences(sentences)
    positions = [list(places) for places in positions]
    if len(positions) != len(sentences):
        raise ValueError(f"positions has {len(positions)} entries: expected {len(sentences)}, one for each sentence")
    if not any(positions):
        raise ValueError("positions holds no position: expected at least one")
    rows = np.concatenate(
        [
            _hide(words, places, f"sentences[{index}]")[sorted(set(places))]
            for index, (words, places) in enumerate(zip(sentences, positions))
            if places
        ]
    )  # (hidden words, words)
    possible = np.where(rows > 0, rows, 1)  # 0 log 0 is 0
    return Optimum(float(-(rows * np.log(possible)).sum() / len(rows)), float(rows.max(1).mean()))


# Any other text


def read_corpus(path: str | os.PathLike) -> list[str]:
    """Read a text of the reader's own, to be used in the place of `sample`'s sentences.

    Args:
        path: a UTF-8 text file, a sentence or paragraph on each line. A byte-order mark is skipped.

    Returns:
        The lines that are not empty, without the white space around them.

    Raises:
        ValueError: if the file has no text, or is not UTF-8; the message names the line, counting from 1.
        OSError: if the file cannot be read.
    """
    path = pathlib.Path(path)
    data = path.read_bytes().removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        lines = [line.strip() for line in data.decode("utf-8").split("\n")]
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {number} of {path.name} is not UTF-8 text: {error.reason}") from error
    lines = [line for line in lines if line]
    if not lines:
        raise ValueError(f"{path.name} is empty: expected lines of text")
    return lines
