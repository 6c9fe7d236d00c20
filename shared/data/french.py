"""Pairs of an English sentence and its French translation, from a small grammar written for this course, so that all right translations and their exact
probabilities are known.

    the angry owl found a box and it sang .    la chouette fâchée a trouvé un carton et elle a chanté .

French orders and counts the words in its own way: "angry" and "red" come behind their noun, "sang" becomes two words. And a noun has a gender, which its article,
its adjective and its pronoun share. Two English nouns have several translations, as if several people had translated, each by habit: "owl" and "box" (`CHOICES`).
The English sentence says nothing about which one it will be, but the first word of the phrase decides it for the rest: after "la" there can be no "hibou".
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from shared.checks import check_positive, check_seed

END = "<end>"  # what `next_word_probabilities` expects behind a whole translation; not a word of the language

# English noun -> its translations, each with its gender and how often it is chosen.
CHOICES = {
    "owl": [("hibou", "m", 0.4), ("chouette", "f", 0.2), ("hulotte", "f", 0.2), ("effraie", "f", 0.2)],
    "box": [("carton", "m", 0.4), ("boîte", "f", 0.2), ("caisse", "f", 0.2), ("malle", "f", 0.2)],
}
_ONE = {
    "robot": ("robot", "m"),
    "queen": ("reine", "f"),
    "king": ("roi", "m"),
    "girl": ("fille", "f"),
    "boy": ("garçon", "m"),
    "lamp": ("lampe", "f"),
    "umbrella": ("parapluie", "m"),
    "apple": ("pomme", "f"),
}
NOUNS = CHOICES | {english: [(*word, 1.0)] for english, word in _ONE.items()}
BEINGS = {"owl": "it", "robot": "it", "queen": "she", "king": "he", "girl": "she", "boy": "he"}  # with their pronouns
THINGS = ("box", "lamp", "umbrella", "apple")
ARTICLES = {"the": {"m": "le", "f": "la"}, "a": {"m": "un", "f": "une"}}
BEFORE = {
    "old": {"m": "vieux", "f": "vieille"},
    "small": {"m": "petit", "f": "petite"},
    "young": {"m": "jeune", "f": "jeune"},
}
BEHIND = {
    "angry": {"m": "fâché", "f": "fâchée"},
    "red": {"m": "rouge", "f": "rouge"},
    "green": {"m": "vert", "f": "verte"},
    "empty": {"m": "vide", "f": "vide"},
}
PRONOUNS = {"m": "il", "f": "elle"}
CONJUNCTIONS = {"and": "et", "but": "mais"}
# English verb -> French; the present and the past of a verb follow each other.
ALONE = {
    "sleeps": "dort",
    "slept": "a dormi",
    "sings": "chante",
    "sang": "a chanté",
    "walks": "marche",
    "walked": "a marché",
}
WITH_OBJECT = {
    "sees": "voit",
    "saw": "a vu",
    "carries": "porte",
    "carried": "a porté",
    "paints": "peint",
    "painted": "a peint",
    "finds": "trouve",
    "found": "a trouvé",
}
_VERBS = ALONE | WITH_OBJECT
# What a pocket dictionary says of each word, whatever is around it: the most frequent translation, masculine where there is a choice.
DICTIONARY = {
    **{article: genders["m"] for article, genders in ARTICLES.items()},
    "an": "un",
    **{adjective: genders["m"] for adjective, genders in (BEFORE | BEHIND).items()},
    **{noun: max(words, key=lambda word: word[2])[0] for noun, words in NOUNS.items()},
    **_VERBS,
    **CONJUNCTIONS,
    "it": "il",
    "he": "il",
    "she": "elle",
    ".": ".",
}
_PAST = {verb for number, verb in enumerate(_VERBS) if number % 2}


class _Phrase(NamedTuple):
    """An article, an adjective ("" for none) and a noun, in English."""

    article: str
    adjective: str
    noun: str

    def english(self) -> str:
        first = self.adjective or self.noun
        article = "an" if self.article == "a" and first[0] in "aeiou" else self.article
        return " ".join(word for word in (article, self.adjective, self.noun) if word)

    def french(self) -> list[tuple[str, str, float]]:
        """Each right translation: its words, its gender, its probability."""
        found = []
        for noun, gender, probability in NOUNS[self.noun]:
            before = BEFORE.get(self.adjective, {}).get(gender, "")
            behind = BEHIND.get(self.adjective, {}).get(gender, "")
            words = [ARTICLES[self.article][gender], before, noun, behind]
            found.append((" ".join(filter(None, words)), gender, probability))
        return found


class _Sentence(NamedTuple):
    """What a sentence says: who does what, to what ("" for no object), and what they do then ("" for no second clause)."""

    subject: _Phrase
    verb: str
    thing: _Phrase | None
    conjunction: str
    second_verb: str

    def english(self) -> str:
        words = [self.subject.english(), self.verb]
        if self.thing:
            words.append(self.thing.english())
        if self.conjunction:
            words += [self.conjunction, BEINGS[self.subject.noun], self.second_verb]
        return " ".join([*words, "."])

    def french(self) -> dict[str, float]:
        """Each right translation with its probability."""
        found = {}
        things = self.thing.french() if self.thing else [("", "", 1.0)]
        for (subject, gender, p_subject), (thing, _, p_thing) in itertools.product(self.subject.french(), things):
            words = [subject, _VERBS[self.verb], thing]
            if self.conjunction:
                words += [CONJUNCTIONS[self.conjunction], PRONOUNS[gender], ALONE[self.second_verb]]
            found[" ".join(filter(None, [*words, "."]))] = p_subject * p_thing
        return found


def _adjectives(noun: str) -> list[str]:
    """The English adjectives that come before this noun."""
    if noun in THINGS:
        return ["old", "small", "red", "green", "empty"]
    return ["small", "young", "angry"] if noun in ("girl", "boy") else ["old", "small", "young", "angry"]


def _draw_phrase(rng: np.random.Generator, nouns: Sequence[str]) -> _Phrase:
    """The first noun, which has several translations, with probability 0.4, the others alike; an adjective with probability 0.5."""
    probabilities = [0.4, *[0.6 / (len(nouns) - 1)] * (len(nouns) - 1)]
    noun = nouns[rng.choice(len(nouns), p=probabilities)]
    adjectives = _adjectives(noun)
    adjective = adjectives[rng.integers(len(adjectives))] if rng.random() < 0.5 else ""
    return _Phrase("the" if rng.random() < 0.6 else "a", adjective, noun)


def _draw(rng: np.random.Generator) -> _Sentence:
    is_past = rng.integers(2)
    alone, with_object = ([verb for verb in verbs if (verb in _PAST) == is_past] for verbs in (ALONE, WITH_OBJECT))
    subject = _draw_phrase(rng, list(BEINGS))
    verb, thing = alone[rng.integers(len(alone))], None
    if rng.random() < 0.6:
        verb, thing = with_object[rng.integers(len(with_object))], _draw_phrase(rng, THINGS)
    if rng.random() < 0.5:
        return _Sentence(subject, verb, thing, list(CONJUNCTIONS)[rng.integers(2)], alone[rng.integers(len(alone))])
    return _Sentence(subject, verb, thing, "", "")


def sample(num_pairs: int, seed: int | Sequence[int]) -> tuple[list[str], list[str]]:
    """Draw English sentences, and for each one of its right translations by its probability.

    Args:
        num_pairs: how many.
        seed: a whole number from 0, or a sequence of them such as (seed, step). Equal arguments give equal sentences.

    Returns:
        Two lists of strings: words with single spaces between them, a "." as the last one. English has 4 to 11 words, French 4 to 13.

    Raises:
        TypeError: if a number or the seed is not whole.
        ValueError: if num_pairs is below 1, or the seed is negative.
    """
    check_positive(num_pairs=num_pairs)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    english, french = [], []
    for _ in range(num_pairs):
        sentence = _draw(rng)
        translated = sentence.french()
        english.append(sentence.english())
        french.append(list(translated)[rng.choice(len(translated), p=list(translated.values()))])
    return english, french


def _read(english: str) -> _Sentence:
    """The sentence that these words say; ValueError, which names the first wrong word, for what `sample` can't draw."""
    if not isinstance(english, str):
        raise TypeError(f"english={english!r}: expected a string, got {type(english).__name__}")
    words = english.split()

    def fail(position: int) -> ValueError:
        what = (
            f"{words[position]!r} is word {position + 1}"
            if position < len(words)
            else f"it ends after {len(words)} words"
        )
        return ValueError(f"english={english!r}: {what}, where no sentence of shared.french goes on like that")

    position = 0

    def take(allowed: Iterable[str], optional: bool = False) -> str:
        nonlocal position
        if position < len(words) and words[position] in allowed:
            position += 1
            return words[position - 1]
        if optional:
            return ""
        raise fail(position)

    def phrase(nouns: Iterable[str]) -> _Phrase:
        nonlocal position
        start = position
        article = take(("the", "a", "an"))
        adjective = take({*BEFORE, *BEHIND}, optional=True)
        noun = take(nouns)
        found = _Phrase("a" if article == "an" else article, adjective, noun)
        if adjective and adjective not in _adjectives(noun):
            raise fail(start + 1)
        if found.english().split()[0] != article:
            raise fail(start)
        return found

    subject = phrase(BEINGS)
    verb = take(_VERBS)
    thing = phrase(THINGS) if verb in WITH_OBJECT else None
    conjunction, second_verb = take(CONJUNCTIONS, optional=True), ""
    if conjunction:
        take([BEINGS[subject.noun]])
        second_verb = take([each for each in ALONE if (each in _PAST) == (verb in _PAST)])
    take(["."])
    if position < len(words):
        raise fail(position)
    return _Sentence(subject, verb, thing, conjunction, second_verb)


def translations(english: str) -> dict[str, float]:
    """Every right translation of a sentence, with the probability that `sample` chooses it.

    Args:
        english: a sentence as `sample` draws it.

    Raises:
        TypeError: if it is not a string.
        ValueError: if `sample` can't draw it; the message names the first word that can't come where it is, counting from 1.
    """
    return _read(english).french()


def next_word_probabilities(english: str, prefix: str) -> dict[str, float]:
    """The exact distribution of the next French word, which is what a translator should learn.

    Args:
        english: a sentence as `sample` draws it.
        prefix: the French words so far, "" for none.

    Returns:
        Each word that can come next, with its probability; END with probability 1 behind a whole translation; nothing if no right translation begins like that.

    Raises:
        TypeError: if one is not a string.
        ValueError: if `sample` can't draw the English sentence.
    """
    if not isinstance(prefix, str):
        raise TypeError(f"prefix={prefix!r}: expected a string, got {type(prefix).__name__}")
    begun, found = prefix.split(), {}
    for french, probability in translations(english).items():
        words = [*french.split(), END]
        if words[: len(begun)] == begun and len(words) > len(begun):
            word = words[len(begun)]
            found[word] = found.get(word, 0.0) + probability
    total = sum(found.values())
    return {word: probability / total for word, probability in found.items()}


def first_mistake(english: str, french: str) -> str:
    """The first word that no right translation has at its place, END if it ends too early, "" if all is right."""
    words = french.split()
    for position, word in enumerate([*words, END]):
        if word not in next_word_probabilities(english, " ".join(words[:position])):
            return word
    return ""


def wrong_words(english: str, french: str) -> int:
    """How many words must be inserted, removed or replaced to make this a right translation: the smallest number, over all right ones."""
    return min(_distance(french.split(), right.split()) for right in translations(english))


def _distance(words: Sequence[str], right: Sequence[str]) -> int:
    """Levenshtein's distance of two texts, in words."""
    row = list(range(len(right) + 1))
    for word in words:
        before, row = row, [row[0] + 1]
        for column, other in enumerate(right):
            row.append(min(before[column] + (word != other), before[column + 1] + 1, row[column] + 1))
    return row[-1]
