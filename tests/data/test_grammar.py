import collections
import functools
import itertools
import math
import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared import grammar
from shared.data.grammar import (
    END,
    MAX_LENGTH,
    NOUNS,
    QUALITIES,
    REFLEXIVES,
    SENTENCE,
    SIZES,
    VERBS,
    WORDS,
    Optimum,
    agreement_sites,
    best_that_sees,
    entropy_per_sentence,
    entropy_per_token,
    expected_length,
    log_probability,
    masked_word_probabilities,
    next_word_probabilities,
    optimum,
    posterior,
    read_corpus,
    rules,
    sample,
)

modest = settings(deadline=None, max_examples=40)
one_sentence = st.integers(0, 2**32 - 1).map(lambda seed: sample(1, seed)[0].split())


def within_5_standard_errors(values, expected) -> bool:
    values = np.asarray(values, float)
    return abs(values.mean() - expected) < 5 * values.std() / math.sqrt(values.size)


# A second way to every number: from the rules alone, top down, without the automaton.


@functools.cache
def all_symbols() -> tuple:
    found = [SENTENCE]
    for symbol in found:
        for _, body in rules(symbol):
            found += [part for part in dict.fromkeys(body) if not isinstance(part, str) and part not in found]
    return tuple(found)


@functools.cache
def derivational_entropy(symbol) -> float:
    """Entropy of the choice of a rule, and of all the choices below it."""
    if isinstance(symbol, str):
        return 0.0
    return sum(p * (-math.log(p) + sum(map(derivational_entropy, body))) for p, body in rules(symbol))


@functools.cache
def mean_length(symbol) -> float:
    if isinstance(symbol, str):
        return 1.0
    return sum(p * sum(map(mean_length, body)) for p, body in rules(symbol))


@functools.cache
def derived(symbol, longest: int) -> tuple:
    """Every derivation of at most so many words: (words, probability)."""
    if isinstance(symbol, str):
        return (((symbol,), 1.0),) if longest else ()
    result = []
    for probability, body in rules(symbol):
        partial = [((), probability)]
        for part in body:
            partial = [(words + more, p * q) for words, p in partial for more, q in derived(part, longest - len(words))]
        result += partial
    return tuple(result)


def count_derivations(words: tuple[str, ...]) -> int:
    """The number of derivations of these words from SENTENCE, by a chart over all spans."""

    @functools.cache
    def ways(symbol, start: int, stop: int) -> int:
        if isinstance(symbol, str):
            return int(words[start:stop] == (symbol,))
        return sum(body_ways(tuple(body), start, stop) for _, body in rules(symbol))

    @functools.cache
    def body_ways(body: tuple, start: int, stop: int) -> int:
        if not body:
            return int(start == stop)
        if isinstance(body[0], str):  # one word: no need to try other spans
            return int(words[start : start + 1] == body[:1]) and body_ways(body[1:], start + 1, stop)
        return sum(ways(body[0], start, i) * body_ways(body[1:], i, stop) for i in range(start, stop + 1))

    return ways(SENTENCE, 0, len(words))


def test_the_rules_are_distributions():
    for symbol in all_symbols():
        found = rules(symbol)
        assert math.isclose(sum(p for p, _ in found), 1, abs_tol=1e-12) and min(p for p, _ in found) > 0
        assert len({tuple(body) for _, body in found}) == len(found), symbol


def test_the_words():
    terminals = {
        part for symbol in all_symbols() for _, body in rules(symbol) for part in body if isinstance(part, str)
    }
    assert WORDS == tuple(sorted(terminals)) and 60 <= len(WORDS) <= 90
    assert all(word == word.lower() and " " not in word for word in WORDS) and END not in WORDS


def test_every_state_is_a_distribution():
    """Depth first through all prefixes of up to three words, then along sampled sentences: next words sum to 1."""
    prefixes = [[]]
    for prefix in prefixes:
        found = next_word_probabilities(prefix)
        assert math.isclose(sum(found.values()), 1, abs_tol=1e-12) and min(found.values()) > 0
        if len(prefix) < 3:
            prefixes += [[*prefix, word] for word in found]
    assert len(prefixes) > 900
    visited = set()
    for sentence in sample(2000, 0):
        words = sentence.split()
        for length in range(len(words) + 1):
            found = next_word_probabilities(words[:length])
            assert math.isclose(sum(found.values()), 1, abs_tol=1e-12)
            visited.add(tuple(found.items()))
        assert found == {END: 1.0}
    assert len(visited) > 50


def test_all_short_sentences():
    """Every derivation of up to 6 words, from the rules: each sentence once, with the probability that the automaton gives it."""
    found = derived(SENTENCE, 6)
    counts = collections.Counter(words for words, _ in found)
    assert set(counts.values()) == {1} and len(counts) > 10_000
    for words, probability in found[:: len(found) // 3000]:
        assert math.isclose(log_probability(words), math.log(probability), rel_tol=1e-12)
    # All paths of the automaton, word by word, and nothing else.
    total, prefixes = 0.0, {(): 1.0}
    for _ in range(5):
        longer = {}
        for prefix, p in prefixes.items():
            for word, q in next_word_probabilities(prefix).items():
                if word == ".":
                    total += p * q
                    assert (*prefix, word) in counts
                elif word != END:
                    longer[*prefix, word] = p * q
        prefixes = longer
    short = math.fsum(p for words, p in found if len(words) <= 5)
    assert 0.05 < short < 0.1 and math.isclose(total, short, rel_tol=1e-12)
    shares = [len(sentence.split()) <= 6 for sentence in sample(20_000, 1)]
    assert within_5_standard_errors(shares, math.fsum(p for _, p in found))


def test_every_sentence_has_one_derivation():
    for sentence in sample(60, 2):
        words = tuple(sentence.split())
        assert count_derivations(words) == 1
        assert count_derivations(words[:-1]) == 0


def test_entropy_and_length_from_the_rules():
    """With one derivation a sentence, the entropy of the sentences is that of the choices of rules."""
    assert math.isclose(entropy_per_sentence(), derivational_entropy(SENTENCE), rel_tol=1e-12)
    assert math.isclose(expected_length(), mean_length(SENTENCE), rel_tol=1e-12)
    assert math.isclose(entropy_per_token(), derivational_entropy(SENTENCE) / mean_length(SENTENCE), rel_tol=1e-12)
    assert math.isclose(entropy_per_token(end_token=True) * (mean_length(SENTENCE) + 1), entropy_per_sentence())


@pytest.mark.parametrize("seed", range(4))
def test_entropy_and_length_of_samples(seed):
    sentences = sample(5000, seed)
    lengths = np.array([len(sentence.split()) for sentence in sentences])
    costs = -np.array([log_probability(sentence) for sentence in sentences])
    assert within_5_standard_errors(costs, entropy_per_sentence())
    assert within_5_standard_errors(lengths, expected_length())
    # The mean of costs - entropy_per_token * length is 0: the ratio of the two means.
    assert within_5_standard_errors(costs - entropy_per_token() * lengths, 0)
    assert lengths.min() == 4 and 15 < lengths.max() <= MAX_LENGTH


@pytest.mark.parametrize("seed", range(3))
def test_sampled_frequencies(seed):
    """After each prefix of up to four words that came often, each next word comes within 5 standard errors of its probability."""
    counts = collections.defaultdict(collections.Counter)
    for sentence in sample(20_000, (7, seed)):
        words = sentence.split()
        for length in range(4):
            counts[tuple(words[:length])][words[length]] += 1
    compared = 0
    for prefix, seen in counts.items():
        n = seen.total()
        if n >= 500:
            exact = next_word_probabilities(prefix)
            assert set(seen) <= set(exact)
            for word, p in exact.items():
                assert abs(seen[word] - n * p) <= 5 * math.sqrt(n * p * (1 - p)) + 1e-6, (prefix, word)
            compared += 1
    assert compared > 15


@modest
@given(one_sentence)
def test_chain_rule(words):
    parts = [next_word_probabilities(words[:length])[word] for length, word in enumerate(words)]
    assert math.isclose(log_probability(words), sum(map(math.log, parts)), rel_tol=1e-12)
    assert log_probability("  ".join(words) + "\n") == log_probability(iter(words)) < 0


def by_counting(num_words: int) -> tuple[float, float]:
    """What `best_that_sees` gives, by a walk over prefixes, each as long as it needs to be: state and last words."""
    from shared.data.sentences.automaton import FINAL, NEXT

    counts = collections.defaultdict(collections.Counter)

    def walk(weigh):
        ended, row = 0.0, {((".",) * num_words, 0): 1.0}
        while row:
            following = collections.Counter()
            for (window, state), mass in row.items():
                for word, (p, after) in NEXT[state].items():
                    reached = mass * weigh(window, word, p)
                    counts[window][word] += reached
                    if after == FINAL:
                        ended += reached
                    else:
                        following[(*window[1:], word), after] += reached
            row = following
        return ended

    assert math.isclose(walk(lambda window, word, p: p), 1)
    seen = {window: dict(each) for window, each in counts.items()}
    frequency = {window: {word: n / sum(each.values()) for word, n in each.items()} for window, each in seen.items()}
    total = sum(sum(each.values()) for each in seen.values())
    loss = -sum(n * math.log(frequency[window][word]) for window, each in seen.items() for word, n in each.items())
    return loss / total, walk(lambda window, word, _: frequency[window][word])


@pytest.mark.parametrize("num_words", [1, 2])
def test_the_best_that_sees_few_words_is_that_of_counting(num_words):
    found = best_that_sees(num_words)
    np.testing.assert_allclose(found, by_counting(num_words), rtol=1e-12)
    assert found.cross_entropy > entropy_per_token() and found.grammatical < 0.2


def test_the_best_that_sees_one_word_writes_as_it_says():
    """With frequencies counted in drawn sentences, and sentences drawn from these."""
    followers = collections.defaultdict(list)
    for sentence in sample(20_000, 1):
        for before, word in itertools.pairwise([".", *sentence.split()]):
            followers[before].append(word)
    rng, grammatical = np.random.default_rng(0), 0
    for _ in range(5000):
        words = ["."]
        while len(words) == 1 or (words[-1] != "." and len(words) < 100):
            words.append(followers[words[-1]][rng.integers(len(followers[words[-1]]))])
        try:
            log_probability(words[1:])
            grammatical += 1
        except ValueError:
            pass
    expected = best_that_sees(1).grammatical
    assert abs(grammatical / 5000 - expected) < 5 * math.sqrt(expected / 5000)


@pytest.mark.parametrize("num_words", [0, 5, "2"])
def test_a_window_of_no_or_too_many_words_is_refused(num_words):
    with pytest.raises(ValueError, match="num_words"):
        best_that_sees(num_words)


def test_seeds():
    assert sample(30, 5) == sample(30, np.int64(5)) == sample(40, 5)[:30] != sample(30, 6)
    assert sample(30, (5, 1)) == sample(30, [5, 1]) != sample(30, (5, 2))
    assert len(set(sample(1000, 0))) > 900 and all(type(sentence) is str for sentence in sample(3, 0))


def test_sampling_is_fast():
    start = time.perf_counter()
    assert len(sample(10_000, 0)) == 10_000
    assert time.perf_counter() - start < 1


# What the grammar promises in its docstring, checked by another reading of the words

SINGULAR = {singular: pronoun for nouns in NOUNS.values() for singular, _, pronoun in nouns}
PLURAL = {plural for nouns in NOUNS.values() for _, plural, _ in nouns}
KIND = {form: kind for kind, nouns in NOUNS.items() for noun in nouns for form in noun[:2]}
FORM = {form: (place, kind) for kind, verbs in VERBS.items() for verb in verbs for place, form in enumerate(verb)}


def agrees(verb: str, who: str) -> bool:
    return FORM[verb][0] in ((0, 2) if who == "they" else (1, 2))


def without_object_relatives(words: list[str]) -> tuple[list[str], int]:
    """The words without the clauses of which the noun before is the object, each checked by itself, and how many they were."""
    removed = 0
    while starts := [
        i for i, word in enumerate(words[:-1]) if word == "that" and words[i + 1] in ("the", "two", "many")
    ]:
        start = starts[-1]  # no other is inside it
        noun = start + 2
        assert KIND[words[noun]] == "being"
        who, verb = SINGULAR.get(words[noun], "they"), noun + 1
        if words[verb] in (
            "near",
            "behind",
            "with",
            "that",
        ):  # what is said of this noun ends with another noun, or a reflexive
            assert words[verb] != "that" or agrees(words[verb + 1], who)
            verb = (
                next(i for i in range(verb + 1, len(words)) if words[i] in KIND or words[i] in REFLEXIVES.values()) + 1
            )
            assert words[verb - 1] in KIND or words[verb - 1] == REFLEXIVES[who]
        assert FORM[words[verb]][1] == "meet" and agrees(words[verb], who), words
        assert {"yesterday": 2}.get(words[0], FORM[words[verb]][0]) == FORM[words[verb]][0]
        assert words[0] != "today" or FORM[words[verb]][0] != 2
        words, removed = words[:start] + words[verb + 1 :], removed + 1
    return words, removed


def test_agreement_always_holds():
    distant, depths = collections.Counter(), collections.Counter()
    for sentence in sample(4000, 3):
        words, depth = without_object_relatives(sentence.split())
        depths[depth] += 1
        subject = next(index for index, word in enumerate(words) if word in KIND)
        assert KIND[words[subject]] == "being"
        who = SINGULAR.get(words[subject], "they")
        clauses = [list(part) for is_and, part in itertools.groupby(words, lambda w: w in ("and", "but")) if not is_and]
        tenses = set()
        for number, clause in enumerate(clauses):
            forms = [word for word in clause if word in FORM]
            for form in forms:  # every verb in a sentence has the same subject
                assert agrees(form, who), sentence
            assert len(forms) == 1 + ("that" in clause)
            tenses.add("past" if FORM[forms[-1]][0] == 2 else "present")
            assert number == 0 or clause[0] == who
            between = clause[subject + 1 : clause.index(forms[-1])] if number == 0 else []
            distant[who, any((word in PLURAL) != (who == "they") for word in between if word in KIND)] += 1
            for word, following in itertools.pairwise([*clause, *([] if clause[-1] == "." else ["."])]):
                if word in FORM:
                    allowed = {
                        "move": {"slowly", "quickly", "to"},
                        "rest": {"quietly", "near"},
                        "meet": {"the", "a", "an", "two", "many", REFLEXIVES[who]},
                        "handle": {"the", "a", "an", "two", "many"},
                    }[FORM[word][1]]
                    assert following in allowed or (following == "." and FORM[word][1] in ("move", "rest")), sentence
        assert len(tenses) == 1 and len(clauses) <= 2
        assert {"yesterday": {"past"}, "today": {"present"}}.get(words[0], tenses) == tenses
        for index, word in enumerate(words):
            if word in ("the", "a", "an", "two", "many"):
                end = next(i for i in range(index, len(words)) if words[i] in KIND)
                noun, adjectives = words[end], words[index + 1 : end]
                assert set(adjectives) <= {*QUALITIES[KIND[noun]], *SIZES}
                assert len(adjectives) <= (2 if end == subject else 1)
                assert word == "the" or (noun in PLURAL) == (word in ("two", "many"))
                assert word not in ("a", "an") or (word == "an") == (words[index + 1][0] in "aeiou")
            assert word not in REFLEXIVES.values() or word == REFLEXIVES[who]
    # Nouns of another number stand between subject and verb often enough to matter.
    assert distant["they", True] > 100 and sum(distant[who, True] for who in ("he", "she", "it")) > 100
    assert min(depths[1], depths[2]) > 100 and max(depths) == 2


@pytest.mark.parametrize(
    "good, bad, place",
    [
        ("the robots near the old tower walk slowly .", "the robots near the old tower walks slowly .", 6),
        ("the robot near the old towers walks slowly .", "the robot near the old towers walk slowly .", 6),
        ("the robot that sees two owls sleeps .", "the robot that sees two owls sleep .", 6),
        ("the robots that the owl sees walk .", "the robots that the owl sees walks .", 6),
        ("the robots that the owl sees walk .", "the robots that the owl see walk .", 5),
        ("the owl that two boys that the king saw see ran .", "the owl that two boys that the king saw sees ran .", 9),
        ("yesterday the robots near a tower walked .", "yesterday the robots near a tower walk .", 6),
        ("today the robots near a tower walk .", "today the robots near a tower walked .", 6),
        ("an owl ran .", "a owl ran .", 1),
        ("a young owl ran .", "an young owl ran .", 1),
        ("two owls ran .", "two owl ran .", 1),
        ("the queen with a lamp saw herself .", "the queen with a lamp saw himself .", 6),
        ("the queen sang and she slept .", "the queen sang and it slept .", 4),
        ("the queen sang and she slept .", "the queen sang and she sleeps .", 5),
        ("the boys sang but they slept .", "the boys sang but he slept .", 4),
        ("a king painted the red box .", "a king painted the angry box .", 4),
        ("a king ran quickly .", "a king ran quietly .", 3),
    ],
)
def test_what_is_a_sentence(good, bad, place):
    assert -40 < log_probability(good) < 0 and count_derivations(tuple(good.split())) == 1
    words = bad.split()
    assert count_derivations(tuple(words)) == 0
    wrong = f"word {place}, {words[place]!r}"
    with pytest.raises(ValueError, match=f"^text: {wrong}"):
        log_probability(bad)
    with pytest.raises(ValueError, match=f"^prefix: {wrong}"):
        next_word_probabilities(words[: place + 1])
    next_word_probabilities(words[:place])
    with pytest.raises(ValueError, match=rf"^sentences\[1\]: {wrong}"):
        optimum([good, bad])


# The best that a model can do


@pytest.mark.parametrize("end_token", [False, True])
def test_optimum_token_by_token(end_token):
    sentences = sample(40, 8)
    costs, hits = [], []
    for sentence in sentences:
        words = sentence.split()
        for length in range(len(words) + end_token):
            exact = next_word_probabilities(words[:length])
            costs.append(-sum(p * math.log(p) for p in exact.values()))
            hits.append(max(exact.values()))
    best = optimum(iter(sentences), end_token)
    assert math.isclose(best.cross_entropy, np.mean(costs), rel_tol=1e-12)
    assert math.isclose(best.accuracy, np.mean(hits), rel_tol=1e-12)
    assert optimum([sentence.split() for sentence in sentences], end_token) == best


@pytest.mark.parametrize("seed", range(3))
def test_optimum_is_what_the_exact_predictor_gets(seed):
    """On what was drawn, the exact distribution's loss and accuracy differ from the optimum by noise of mean 0."""
    sentences = sample(1500, (1, seed))
    losses, hits = [], []
    for sentence in sentences:
        words = sentence.split()
        loss = hit = 0.0
        for length, word in enumerate(words):
            exact = next_word_probabilities(words[:length])
            loss += -math.log(exact[word]) + sum(p * math.log(p) for p in exact.values())
            hit += (max(exact, key=exact.get) == word) - max(exact.values())
        losses.append(loss)
        hits.append(hit)
    assert within_5_standard_errors(losses, 0) and within_5_standard_errors(hits, 0)
    best = optimum(sentences)
    lengths = np.array([len(sentence.split()) for sentence in sentences])
    costs = np.array([optimum([sentence]).cross_entropy for sentence in sentences]) * lengths
    assert math.isclose(best.cross_entropy, costs.sum() / lengths.sum(), rel_tol=1e-12)
    assert within_5_standard_errors(costs - entropy_per_token() * lengths, 0)


@modest
@given(one_sentence, st.data())
def test_masked_words_by_trying_all(words, data):
    position = data.draw(st.integers(0, len(words) - 1))
    joint = {}
    for word in WORDS:
        try:
            joint[word] = math.exp(log_probability([*words[:position], word, *words[position + 1 :]]))
        except ValueError:
            continue
    masked = [*words[:position], "[MASK]", *words[position + 1 :]]
    found = masked_word_probabilities(masked, position)
    assert set(found) == set(joint) and words[position] in found
    for word, p in joint.items():
        assert math.isclose(found[word], p / sum(joint.values()), rel_tol=1e-9)
    assert masked_word_probabilities(" ".join(words), position, [position]) == found


def brute_force(likelihoods: np.ndarray) -> np.ndarray:
    """Bayes' rule over all sentences of this length, from the rules alone."""
    result = np.zeros(likelihoods.shape)
    for words, probability in derived(SENTENCE, len(likelihoods)):
        if len(words) == len(likelihoods):
            indices = np.arange(len(words)), [WORDS.index(word) for word in words]
            result[indices] += probability * likelihoods[indices].prod()
    return result / result.sum(1, keepdims=True)


@pytest.mark.parametrize("seed", range(3))
def test_posterior_by_bayes_rule(seed):
    """Random evidence; and what BERT sees: [MASK], the word itself or a random word, at places that may or may not have been chosen."""
    rng = np.random.default_rng(seed)
    evidence = rng.random((5, len(WORDS))) ** 4
    np.testing.assert_allclose(posterior(evidence), brute_force(evidence), rtol=1e-10, atol=1e-15)
    size = len(WORDS)
    chosen = 0.1 * np.eye(size) + 0.1 / size  # P(seen | word) at a chosen place, but for [MASK]
    anywhere = 0.85 * np.eye(size) + 0.15 * chosen
    words = next(w for w in (s.split() for s in sample(1000, seed)) if len(w) == 5)
    evidence = anywhere[[WORDS.index(word) for word in words]]
    evidence[1], evidence[2] = 0.8, chosen[rng.integers(size)]
    found = posterior(evidence)
    np.testing.assert_allclose(found, brute_force(evidence), rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-12)


def entropy_of(probabilities: dict[str, float]) -> float:
    return -sum(p * math.log(p) for p in probabilities.values())


def test_several_hidden_words():
    """Two words hidden together, against all pairs; knowing less costs more."""
    words = ["the", "robots", "near", "the", "old", "tower", "walk", "."]
    joint = np.zeros((len(WORDS), len(WORDS)))
    for i, first in enumerate(WORDS):
        try:
            next_word_probabilities([*words[:1], first])
        except ValueError:
            continue
        for j, second in enumerate(WORDS):
            try:
                joint[i, j] = math.exp(log_probability([words[0], first, *words[2:6], second, "."]))
            except ValueError:
                continue
    joint /= joint.sum()
    for position, other, exact in ((1, 6, joint.sum(1)), (6, 1, joint.sum(0))):
        found = masked_word_probabilities(words, position, [other])
        assert set(found) == {word for word, p in zip(WORDS, exact) if p}
        np.testing.assert_allclose([found.get(word, 0) for word in WORDS], exact, rtol=1e-9)
    assert "walks" in masked_word_probabilities(words, 6, [1]) and "walks" not in masked_word_probabilities(words, 6)
    together, alone = (
        np.mean([entropy_of(masked_word_probabilities(words, index, hidden)) for index in (1, 6)])
        for hidden in ([1, 6], [])
    )
    assert together > alone + 0.05


@pytest.mark.parametrize("seed", range(3))
def test_hidden_words_come_as_often_as_their_exact_distributions_say(seed):
    rng = np.random.default_rng(seed)
    sentences = sample(250, (2, seed))
    positions = [np.flatnonzero(rng.random(len(sentence.split())) < 0.2) for sentence in sentences]
    costs, highest, losses, hits = [], [], [], []
    for sentence, hidden in zip(sentences, positions):
        words = sentence.split()
        loss = hit = 0.0
        for position in hidden:
            exact = masked_word_probabilities(sentence, position, hidden)
            costs.append(entropy_of(exact))
            highest.append(max(exact.values()))
            loss += -math.log(exact[words[position]]) - costs[-1]
            hit += (max(exact, key=exact.get) == words[position]) - highest[-1]
        losses.append(loss)
        hits.append(hit)
    assert within_5_standard_errors(losses, 0) and within_5_standard_errors(hits, 0)
    # The words behind help: the next word alone is harder to tell.
    best = optimum(sentences)
    assert np.mean(costs) < best.cross_entropy - 0.3 and np.mean(highest) > best.accuracy


def test_a_place_twice_counts_once():
    words = sample(1, 3)[0]
    assert masked_word_probabilities(words, 2, [2, 1, 1]) == masked_word_probabilities(words, 2, [1])


# Bad input


def refused_as_words(function, name: str) -> list:
    return [(lambda: function(3), TypeError, name), (lambda: function(["the", None]), TypeError, f"{name}[1]")]


def with_one(wrong: float) -> np.ndarray:
    likelihoods = np.ones((5, len(WORDS)))
    likelihoods[2, 3] = wrong
    return likelihoods


NO_SENTENCES = [
    ("", "text"),
    ("the girl", "after 'the girl'"),
    ("the girl sang", "after 'the girl sang'"),
    ("The girl sang .", "text: word 0, 'The'"),
    ("the girl sang.", "text: word 2, 'sang.'"),
    ("the girl sang . the", "text: word 4, 'the'"),
    ("the ghost sang .", "text: word 1, 'ghost'"),
]
GOOD = "the girl sang ."
REFUSED = [
    (lambda: rules(("verb",)), ValueError, "symbol"),
    (lambda: sample(0, 0), ValueError, "num_sentences"),
    (lambda: sample(3, None), TypeError, "seed"),
    *((lambda text=text: log_probability(text), ValueError, place) for text, place in NO_SENTENCES),
    *refused_as_words(log_probability, "text"),
    *refused_as_words(next_word_probabilities, "prefix"),
    (lambda: optimum(GOOD), TypeError, "sentences"),
    (lambda: optimum(3), TypeError, "sentences"),
    (lambda: optimum([4]), TypeError, "sentences[0]"),
    (lambda: optimum([]), ValueError, "sentences"),
    (lambda: optimum(["the girl"]), ValueError, "sentences[0]"),
    *((lambda wrong=wrong: masked_word_probabilities(GOOD, wrong), ValueError, "position") for wrong in (-1, 4)),
    *((lambda wrong=wrong: masked_word_probabilities(GOOD, 0, (wrong,)), ValueError, "position") for wrong in (-1, 4)),
    *(
        (lambda wrong=wrong: masked_word_probabilities(GOOD, wrong), TypeError, "position")
        for wrong in (1.0, "1", None, True)
    ),
    (lambda: masked_word_probabilities(3, 0), TypeError, "words"),
    (lambda: masked_word_probabilities("the girl [MASK] .", 1), ValueError, "words: word 2, '[MASK]'"),
    (lambda: masked_word_probabilities("the girls sings .", 0), ValueError, "words"),
    *(
        (lambda wrong=wrong: posterior(with_one(wrong)), ValueError, "likelihoods")
        for wrong in (-1.0, math.nan, math.inf)
    ),
    *(
        (lambda shape=shape: posterior(np.ones(shape)), TypeError, "likelihoods")
        for shape in ((5, len(WORDS) + 1), (len(WORDS),), (), (2, 5, len(WORDS)))
    ),
    *(
        (lambda length=length: posterior(np.ones((length, len(WORDS)))), ValueError, "likelihoods")
        for length in (0, 3, MAX_LENGTH + 1)
    ),
    (lambda: posterior([[1.0] * len(WORDS)]), TypeError, "likelihoods"),
    (lambda: posterior(np.full((5, len(WORDS)), "1")), TypeError, "likelihoods"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    with pytest.raises(error, match=rf"\b{re.escape(name)}(?!\w)"):
        call()


def test_likelihoods_may_be_whole_numbers_up_to_the_longest_sentence():
    posterior(np.ones((MAX_LENGTH, len(WORDS)), int))


# Any other text


def test_read_corpus(tmp_path):
    sentences = sample(50, 4)
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(sentences), encoding="utf-8")
    assert read_corpus(path) == read_corpus(str(path)) == sentences
    path.write_bytes("\ufeff  Der Bär\tschläft. \r\n\r\n \t\nÉté\u2028chaud\rlast\x85".encode())
    assert read_corpus(path) == ["Der Bär\tschläft.", "Été\u2028chaud", "last"]


@pytest.mark.parametrize(
    "content, place",
    [
        (b"", "corpus.txt is empty"),
        (b"\xef\xbb\xbf", "corpus.txt is empty"),
        (b" \n\r\n\t\n", "corpus.txt is empty"),
        (b"one\ntwo\nthr\xe9e\n\xff", "line 3 of corpus.txt"),
        (b"\xef\xbb\xbf\n\xff", "line 2 of corpus.txt"),
        (b"one\r\ntwo\rthree\xff\n", "line 3 of corpus.txt"),
        ("one".encode("utf-16"), "line 1 of corpus.txt"),
        (b"one\ntw\xc3", "line 2 of corpus.txt"),
    ],
)
def test_read_corpus_refuses_bad_files(tmp_path, content, place):
    path = tmp_path / "corpus.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=place):
        read_corpus(path)


def test_read_corpus_without_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        read_corpus(tmp_path / "none.txt")


def test_public_names_are_documented():
    public = [getattr(grammar, name) for name in grammar.__all__]
    public = [value for value in public if callable(value)]
    assert len(public) == 16
    for function in public:
        parts = {name for name in function.__annotations__ if name != "return"}
        documentation = function.__doc__
        assert documentation.split("\n")[0].endswith("."), function
        if function not in (Optimum, grammar.AgreementSite):
            assert all(f" {part}: " in documentation for part in parts) and ("Args:" in documentation) == bool(parts)


def test_agreement_is_asked_where_a_form_depends_on_an_earlier_word():
    sentences = ["the old robots walk .", "yesterday the queen slept but she ran ."]
    found = agreement_sites(sentences)
    assert [(site.rule, site.row, site.position, site.previous) for site in found] == [
        ("number", 0, 3, "robots"),
        ("tense", 1, 3, "queen"),
        ("pronoun", 1, 5, "but"),
        ("tense", 1, 6, "she"),
    ]
    assert "walk" in found[0].allowed and "walks" in found[0].forms and "walks" not in found[0].allowed
    assert found[2].allowed == ["she"] and found[2].forms == ["he", "it", "she", "they"]
    sampled = sample(200, 3)
    for site in agreement_sites(sampled):
        assert sampled[site.row].split()[site.position] in site.allowed and set(site.allowed) < set(site.forms)
