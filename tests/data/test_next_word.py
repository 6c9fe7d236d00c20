"""The task of the model that grows: its tokens, its loss, what it writes, and how good that is."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from shared import grammar, next_word


def grammars_own(tokens):
    """The logits of a model that knows the grammar: after a row, the exact probability of each word."""
    logits = np.full((*tokens.shape, next_word.VOCABULARY), -1e9)
    for row, words in zip(logits, tokens):
        for position in range(len(words)):
            said = [grammar.WORDS[token] for token in words[1 : position + 1]]
            if "." in said:
                break  # padding
            for word, probability in grammar.next_word_probabilities(said).items():
                row[position, grammar.WORDS.index(word)] = np.log(probability)
    return logits


def test_a_target_is_the_next_word():
    inputs, targets = next_word.encode(["a robot walks .", "the old queen saw two lamps ."])
    words = np.array([*grammar.WORDS, None])
    assert words[inputs[0]].tolist() == [".", "a", "robot", "walks", ".", ".", "."]
    assert words[targets[0]].tolist() == ["a", "robot", "walks", ".", None, None, None]
    assert (
        words[inputs[1, 1:]].tolist()
        == words[targets[1, :-1]].tolist()
        == ["the", "old", "queen", "saw", "two", "lamps"]
    )


def test_each_step_has_a_batch_of_its_own():
    first, again, second = (next_word.batch_at(step)[0] for step in (3, 3, 4))
    assert np.array_equal(first, again) and first.shape[0] == 32
    assert first.shape != second.shape or not np.array_equal(first, second)


def test_loss_and_gradient_are_those_of_torch(rng):
    _, targets = next_word.batch_at(0, batch_size=4)
    logits = 3 * rng.normal(size=(*targets.shape, next_word.VOCABULARY)) + 1000  # which exp alone would overflow
    loss, grad = next_word.loss_and_gradient(logits, targets)
    theirs = torch.tensor(logits, requires_grad=True)
    expected = F.cross_entropy(theirs.flatten(0, 1), torch.tensor(targets).flatten(), ignore_index=-1)
    expected.backward()
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    np.testing.assert_allclose(grad, theirs.grad.numpy(), atol=1e-15)


def test_the_grammar_itself_writes_without_a_mistake():
    loss, grammatical, written = next_word.score(grammars_own)
    assert abs(loss) < 1e-9 and grammatical == len(written) == 1000
    assert len(set(written)) > 500 and all(sentence.endswith(" .") for sentence in written)


def test_one_seed_draws_the_same_numbers_and_nothing_is_longer_than_the_grammars():
    def never_ends(tokens):
        logits = np.zeros((*tokens.shape, next_word.VOCABULARY))
        logits[..., 0] = -1e9
        return logits

    first, again, other = (next_word.write(never_ends, 5, seed) for seed in (0, 0, 1))
    assert first == again != other
    assert {len(sentence.split()) for sentence in first} == {grammar.MAX_LENGTH}


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("a robot walks .", None),
        ("a robot walk .", "walk"),
        ("a robot .", "."),
        ("a robot walks", grammar.END),
        ("a", grammar.END),
    ],
)
def test_the_first_mistake_is_found(sentence, wrong):
    assert next_word.first_mistake(sentence) == wrong


def test_what_is_allowed_is_what_the_grammar_gives_a_chance():
    sentences = grammar.sample(5, seed=3)
    _, targets = next_word.encode(sentences)
    allowed = next_word.allowed(sentences)
    assert allowed.shape == (*targets.shape, next_word.VOCABULARY) and not allowed[targets < 0].any()
    for row, sentence in enumerate(sentences):
        words = sentence.split()
        for position in range(len(words)):
            exact = grammar.next_word_probabilities(words[:position])
            assert {grammar.WORDS[each] for each in np.nonzero(allowed[row, position])[0]} == set(exact)
        assert next_word.decode(next_word.encode([sentence])[1][0]) == sentence


def test_each_kind_has_the_words_of_that_kind():
    kinds = next_word.kinds()
    assert set(kinds) <= set(grammar.WORDS) and len(kinds) == 61
    examples = {"queen": "singular", "towers": "plural", "saw": "verb + object", "sleep": "verb", "red": "adjective"}
    assert {word: kinds[word] for word in examples} == examples
    assert not {"the", "two", "she", "today", "herself", "."} & set(kinds)
