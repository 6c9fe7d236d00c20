import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared import grammar, text

KINDS = {"wordpiece": 400, "bpe": 600}
CORPUS = grammar.sample(2000, 0)


@pytest.fixture(scope="module")
def trained() -> dict:
    return {kind: text.train_tokenizer(CORPUS, kind, size) for kind, size in KINDS.items()}


@pytest.mark.parametrize("kind, specials", [("wordpiece", text.BERT_SPECIALS), ("bpe", text.GPT_SPECIALS)])
def test_special_tokens_come_first(trained, kind, specials):
    tokenizer = trained[kind]
    assert [tokenizer.id_to_token(i) for i in range(len(specials))] == list(specials)
    assert tokenizer.get_vocab_size() <= KINDS[kind]
    assert sorted(tokenizer.get_vocab().values()) == list(range(tokenizer.get_vocab_size()))


@pytest.mark.parametrize("kind", KINDS)
def test_every_word_of_the_grammar_is_one_token(trained, kind):
    first, last = {"wordpiece": (2, 3), "bpe": (1, 1)}[kind]
    sentences = grammar.sample(500, 1)
    for sentence, encoding in zip(sentences, trained[kind].encode_batch(sentences)):
        assert (encoding.ids[0], encoding.ids[-1]) == (first, last)
        assert [token.lstrip("Ġ") for token in encoding.tokens[1:-1]] == sentence.split()


def test_byte_pairs_lose_nothing(trained):
    @settings(deadline=None, max_examples=60)
    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda word: not word.startswith(" ")))
    def check(words):
        assert trained["bpe"].decode(trained["bpe"].encode(words).ids) == f" {words}"

    check()


def test_wordpiece_marks_what_it_does_not_know(trained):
    tokens = trained["wordpiece"].encode("The ROBOT 漢 walked .").tokens
    assert tokens == ["[CLS]", "the", "robot", "[UNK]", "walked", ".", "[SEP]"]


@pytest.mark.parametrize("kind", KINDS)
def test_training_repeats_itself(trained, kind):
    again = text.train_tokenizer(iter(CORPUS), kind, KINDS[kind])
    assert again.to_str() == trained[kind].to_str()


def test_a_small_vocabulary_splits_words(trained):
    small = text.train_tokenizer(CORPUS, "bpe", 300)
    assert small.get_vocab_size() == 300
    for sentence in CORPUS[:50]:
        assert len(small.encode(sentence).ids) > len(trained["bpe"].encode(sentence).ids)
        assert small.decode(small.encode(sentence).ids) == f" {sentence}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_padded_at_the_end(trained, kind):
    sentences = ["a girl ran .", "the old robot near the tower walked slowly ."]
    tokens = text.encode_batch(trained[kind], iter(sentences))
    assert tokens.shape == (2, 11) and tokens.dtype == np.int64
    for row, sentence in zip(tokens, sentences):
        ids = trained[kind].encode(sentence).ids
        np.testing.assert_array_equal(row, ids + [text.PAD_ID] * (11 - len(ids)))
    np.testing.assert_array_equal(text.encode_batch(trained[kind], sentences, 14)[:, :11], tokens)
    assert not text.encode_batch(trained[kind], sentences, 14)[:, 11:].any()


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda t: text.train_tokenizer("a b", "bpe", 400), TypeError, "sentences='a b': expected a list of strings"),
        (lambda t: text.train_tokenizer(3, "bpe", 400), TypeError, "sentences=3: expected a list of strings"),
        (lambda t: text.train_tokenizer(["a", 3], "bpe", 400), TypeError, r"sentences\[1\]=3: expected a string"),
        (lambda t: text.train_tokenizer([], "bpe", 400), ValueError, "sentences is empty"),
        (lambda t: text.train_tokenizer(["a"], "words", 400), ValueError, "kind='words'"),
        (lambda t: text.train_tokenizer(["a"], "bpe", 0), ValueError, "vocab_size=0"),
        (lambda t: text.train_tokenizer(["a"], "bpe", 4.0), TypeError, "vocab_size=4.0"),
        (lambda t: text.train_tokenizer(["a"], "bpe", 200), ValueError, "vocab_size=200: expected at least 258"),
        (lambda t: text.train_tokenizer(["abc"], "wordpiece", 6), ValueError, "vocab_size=6: expected at least 1"),
        (lambda t: text.encode_batch(t, "a b"), TypeError, "sentences='a b'"),
        (lambda t: text.encode_batch(t, []), ValueError, "sentences is empty"),
        (lambda t: text.encode_batch(t, ["a", None]), TypeError, r"sentences\[1\]=None"),
        (lambda t: text.encode_batch(t, ["a girl ran ."], 4), ValueError, "length 6 is over max_length=4"),
        (lambda t: text.encode_batch(t, ["a"], 0), ValueError, "max_length=0"),
        (lambda t: text.encode_batch(None, ["a"]), TypeError, "tokenizer is a NoneType: expected a tokenizers.Token"),
    ],
)
def test_misuse(trained, call, error, message):
    with pytest.raises(error, match=message):
        call(trained["bpe"])
