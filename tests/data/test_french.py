"""Pairs of English and French: what is drawn is right, probabilities are exact, and what can't be drawn is named."""

import collections
import itertools

import pytest

from shared.data import french

ENGLISH, FRENCH = french.sample(3000, seed=0)
MASCULINE = {"le", "un", "vieux", "petit", "fâché", "vert", "il"}
FEMININE = {"la", "une", "vieille", "petite", "fâchée", "verte", "elle"}


def test_what_is_drawn_is_right_and_has_the_lengths_that_are_said():
    for english, translated in zip(ENGLISH, FRENCH):
        assert translated in french.translations(english)
        assert not french.first_mistake(english, translated) and not french.wrong_words(english, translated)
    assert {len(text.split()) for text in ENGLISH} == set(range(4, 12))
    assert {len(text.split()) for text in FRENCH} == set(range(4, 14))
    assert french.sample(5, seed=(1, 2)) == french.sample(5, seed=(1, 2)) != french.sample(5, seed=(1, 3))


def test_probabilities_add_up_and_follow_the_chain_rule():
    for english in ENGLISH[:200]:
        whole = french.translations(english)
        assert sum(whole.values()) == pytest.approx(1)
        for text, probability in whole.items():
            words, product = text.split(), 1.0
            for number, word in enumerate([*words, french.END]):
                following = french.next_word_probabilities(english, " ".join(words[:number]))
                assert sum(following.values()) == pytest.approx(1)
                product *= following[word]
            assert product == pytest.approx(probability)


def test_translators_choose_as_often_as_is_said():
    texts = " ".join(text for english, text in zip(ENGLISH, FRENCH) if "owl" in english)
    counts = collections.Counter(texts.split())
    total = sum(counts[word] for word, _, _ in french.CHOICES["owl"])
    for word, _, probability in french.CHOICES["owl"]:
        assert counts[word] / total == pytest.approx(probability, abs=0.06)  # four standard deviations


def test_article_adjective_and_pronoun_agree_with_the_noun():
    gender = {word: kind for choices in french.NOUNS.values() for word, kind, _ in choices}
    for text in FRENCH:
        words = text.split()
        nouns = [number for number, word in enumerate(words) if word in gender]
        pronoun = {"m": "il", "f": "elle"}[gender[words[nouns[0]]]]  # the subject's
        for number in nouns:
            around = {*words[max(0, number - 2) : number], *words[number + 1 : number + 2]}
            assert not around & (FEMININE if gender[words[number]] == "m" else MASCULINE)
        assert {"il", "elle"} & {*words} <= {pronoun}


def test_each_right_translation_of_two_choices():
    found = french.translations("the old owl found a red box and it sang .")
    assert len(found) == 16 and found["le vieux hibou a trouvé un carton rouge et il a chanté ."] == pytest.approx(0.16)
    assert found["la vieille chouette a trouvé une malle rouge et elle a chanté ."] == pytest.approx(0.04)


def test_the_first_mistake_and_the_number_of_wrong_words():
    owl = "the owl sings ."
    for text, word, wrong in [
        ("la hibou chante .", "hibou", 1),
        ("le hibou .", ".", 1),
        ("le hibou chante", french.END, 1),
        ("le vieux hibou chante . .", "vieux", 2),
        ("", french.END, 4),
    ]:
        assert (french.first_mistake(owl, text), french.wrong_words(owl, text)) == (word, wrong)
    assert french.next_word_probabilities(owl, "la hibou") == {}


def test_what_cannot_be_drawn_is_named():
    for english, named in [
        ("the owl the .", "'the' is word 3"),
        ("a old owl sings .", "'a' is word 1"),
        ("an young owl sings .", "'an' is word 1"),
        ("the red owl sings .", "'red' is word 2"),
        ("the old girl sings .", "'old' is word 2"),
        ("the owl sings and she sings .", "'she' is word 5"),
        ("the owl sings and it sang .", "'sang' is word 6"),
        ("the owl sees .", "'.' is word 4"),
        ("the owl sings . .", "'.' is word 5"),
        ("the owl", "it ends after 2 words"),
        ("", "it ends after 0 words"),
    ]:
        with pytest.raises(ValueError, match=named):
            french.translations(english)
    for wrong in (None, ["the"], 3):
        with pytest.raises(TypeError, match="expected a string"):
            french.translations(wrong)
        with pytest.raises(TypeError, match="expected a string"):
            french.next_word_probabilities("the owl sings .", wrong)
    for arguments, error in [((0, 0), ValueError), ((2, -1), ValueError), ((1.5, 0), TypeError)]:
        with pytest.raises(error):
            french.sample(*arguments)


def test_every_sentence_that_is_read_is_the_one_that_was_drawn():
    for english in ENGLISH[:300]:
        assert french._read(english).english() == english
    for article, adjective, noun in itertools.product(("the", "a", "an"), ("", "old", "angry", "young"), french.BEINGS):
        text = " ".join(filter(None, (article, adjective, noun, "slept .")))
        first = (adjective or noun)[0]
        allowed = article == "the" or (article == "an") == (first in "aeiou")
        allowed &= not (adjective == "old" and noun in ("girl", "boy"))
        if allowed:
            assert french._read(text).english() == text
        else:
            with pytest.raises(ValueError):
                french._read(text)


def test_the_dictionary_has_every_word_and_translates_what_needs_no_grammar():
    assert {word for sentence in ENGLISH for word in sentence.split()} == set(french.DICTIONARY)

    def word_by_word(sentence):
        return " ".join(french.DICTIONARY[word] for word in sentence.split())

    for right in ("the owl sleeps .", "a young king finds a box and he sings .", "the boy carries an old umbrella ."):
        assert word_by_word(right) in french.translations(right)
    for wrong in ("the queen sleeps .", "the angry king sleeps .", "the boy finds a lamp ."):
        assert word_by_word(wrong) not in french.translations(wrong)
