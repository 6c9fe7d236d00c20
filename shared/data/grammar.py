"""English sentences from a small probabilistic grammar, written for this course, so that the best any language model can do is computed exactly.

    yesterday the small robot near an old tower walked slowly and it carried two red lamps .

Words are lower case and separated by single spaces, "." is a word of its own and ends every sentence. What a model can learn, from near to far: `a` or `an` by
the letter that follows; which adjectives suit a noun and which adverbs and objects suit a verb; that `two` and `many` call for a plural; that a verb agrees
with its subject, past other nouns ("the robots near the old tower walk", "the robots that the owl sees walk"); that `yesterday` makes the main verbs past, however far away,
and `today` present; that a second clause keeps the tense of the first; and that its pronoun, like a reflexive ("the queen saw herself"), means the subject:
he, she, it or they.

Sentences are drawn and predicted here. In the folder `sentences`: the rules in `rules.py`, the automaton that they make in
`automaton.py`, hidden words in `hidden_words.py`, models that see few words in `windows.py`, a text of your own in `reading.py`.
"""

from bisect import bisect
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from shared.checks import check_positive, check_seed
from shared.data.sentences.automaton import (
    CHOICES,
    ENTROPY,
    FINAL,
    HIGHEST,
    MAX_LENGTH,
    NEXT,
    REACHED,
    WORDS,
    as_words,
    walk,
)
from shared.data.sentences.hidden_words import masked_word_probabilities, posterior
from shared.data.sentences.reading import read_corpus
from shared.data.sentences.rules import NOUNS, QUALITIES, REFLEXIVES, SENTENCE, SIZES, VERBS, rules
from shared.data.sentences.windows import best_that_sees

__all__ = [
    "END",
    "MAX_LENGTH",
    "NOUNS",
    "QUALITIES",
    "REFLEXIVES",
    "SENTENCE",
    "SIZES",
    "VERBS",
    "WORDS",
    "AgreementSite",
    "Optimum",
    "agreement_sites",
    "batch_at",
    "best_that_sees",
    "entropy_per_sentence",
    "entropy_per_token",
    "expected_length",
    "log_probability",
    "masked_word_probabilities",
    "next_word_probabilities",
    "optimum",
    "posterior",
    "read_corpus",
    "rules",
    "sample",
]

END = "<end>"  # what `next_word_probabilities` expects behind a whole sentence; not a word of the grammar


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
            choices, cumulative = CHOICES[state]
            words.append(choices[bisect(cumulative, uniform)])
            state = NEXT[state][words[-1]][1]
            if state == FINAL:
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
    words = as_words(text, "text")
    states = walk(words, "text")
    return float(sum(np.log(NEXT[state][word][0]) for state, word in zip(states, words)))


def entropy_per_sentence() -> float:
    """The entropy of the sentences, in nats: what a sentence costs the best predictor on average, in whatever tokens the sentence is written.

    Returns:
        The expectation of minus `log_probability`, by the chain rule: the entropy of the next word at each state, times the expected visits to the state.
    """
    return float(REACHED.sum(0) @ ENTROPY)


def expected_length() -> float:
    """The expected number of words of a sentence, the "." at the end included."""
    return float(REACHED[:, FINAL] @ np.arange(MAX_LENGTH + 1))


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
    state = walk(as_words(prefix, "prefix"), "prefix", whole=False)[-1]
    return {END: 1.0} if state == FINAL else {word: probability for word, (probability, _) in NEXT[state].items()}


class AgreementSite(NamedTuple):
    """A word whose form depends on a word that may be far back."""

    rule: str  # "number" or "tense" of a verb, or "pronoun"
    row: int  # which sentence
    position: int  # which word of it
    previous: str  # the word before it, "" at the start
    forms: list[str]  # all that words of this kind have
    allowed: list[str]  # those that the grammar allows here


def agreement_sites(sentences: Iterable[str | Iterable[str]]) -> list[AgreementSite]:
    """Every verb in the present, every verb of a sentence with "yesterday" or "today", and every pronoun of a second clause.

    Args:
        sentences: of the grammar, each a text or a list of words.

    Raises:
        TypeError, ValueError: as `next_word_probabilities`.
    """
    verbs = [verb for group in VERBS.values() for verb in group]
    present = {form for base, third, _ in verbs for form in (base, third)}
    past = {form for _, _, form in verbs}
    kinds = {"number": present, "tense": present | past, "pronoun": {"he", "she", "it", "they"}}
    sites = []
    for row, words in enumerate(_as_sentences(sentences)):
        is_dated = words[0] in ("yesterday", "today")
        for position, word in enumerate(words):
            for rule, forms in kinds.items():
                if word in forms and (is_dated or rule != "tense"):
                    allowed = next_word_probabilities(words[:position])
                    sites.append(
                        AgreementSite(
                            rule=rule,
                            row=row,
                            position=position,
                            previous=words[position - 1] if position else "",
                            forms=sorted(forms),
                            allowed=sorted(forms & set(allowed)),
                        )
                    )
    return sites


class Optimum(NamedTuple):
    """The best that a predictor can expect: `cross_entropy` in nats per token, and `accuracy`, the probability that its most probable word is right."""

    cross_entropy: float
    accuracy: float


def _as_sentences(sentences: Iterable[str | Iterable[str]]) -> list[list[str]]:
    if isinstance(sentences, str) or not isinstance(sentences, Iterable):
        raise TypeError(f"sentences={sentences!r}: expected a list of sentences, got {type(sentences).__name__}")
    result = [as_words(sentence, f"sentences[{index}]") for index, sentence in enumerate(sentences)]
    if not result:
        raise ValueError("sentences is empty: expected at least one")
    return result


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
        visited = walk(words, f"sentences[{index}]")
        states += visited if end_token else visited[:-1]  # at the final state the end token is certain
    return Optimum(float(ENTROPY[states].mean()), float(HIGHEST[states].mean()))
