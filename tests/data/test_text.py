"""Real text from docstrings, and the subword tokenizers that chapters 13 and 14 train."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from shared import grammar, pretrained, text

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


SPELLED = ["<end>", "<pad>", "the <pad> token and the <end> token", "a<end>b", "<end><end> <pad>"]


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_special_token_that_a_text_spells_is_text(trained, spelled):
    tokenizer = text.train_tokenizer([spelled, "plain text"], "bpe", 300)
    for one in (trained["bpe"], tokenizer):
        first, *ids, last = one.encode(spelled).ids
        assert first == last == 1 and min(ids) > 1
        assert one.decode([first, *ids, last, 0]) == f" {spelled}" == one.decode(ids)
        assert one.decode([first, *ids, 0], skip_special_tokens=False) == f"<end> {spelled}<pad>"
        np.testing.assert_array_equal(text.encode_batch(one, ["a", spelled])[1], [first, *ids, last])


def test_the_model_of_bert_reads_a_mask_in_a_text_as_a_mask(trained):
    ids = text.encode_batch(trained["wordpiece"], ["the [MASK] walked [SEP] [PAD]"])[0]
    assert [ids[2], ids[4], ids[5]] == [4, 3, 0] and [ids[0], ids[-1]] == [2, 3]


def test_a_file_of_byte_pairs_is_read_as_they_were_and_bert_s_too(trained, tmp_path):
    for kind, spelled in (("bpe", "a <end> b <pad>"), ("wordpiece", "the [MASK] walked")):
        trained[kind].save(str(tmp_path / "tokenizer.json"))
        read = pretrained.read_tokenizer(tmp_path)
        assert read.encode(spelled).ids == trained[kind].encode(spelled).ids
    # The library's own switch is in no file and no copy.
    copied = Tokenizer.from_str(trained["bpe"].to_str())
    assert 1 in copied.encode("a <end> b").ids[1:-1]
    with pytest.raises(ValueError, match=r"\btokenizer\b"):
        text.encode_batch(copied, ["a <end> b"])


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


REFUSED = [
    (lambda t: text.train_tokenizer("a b", "bpe", 400), TypeError, "sentences"),
    (lambda t: text.train_tokenizer(["a"], "words", 400), ValueError, "kind"),
    (lambda t: text.train_tokenizer(["a"], "bpe", 4.0), TypeError, "vocab_size"),
    (lambda t: text.train_tokenizer(["a"], "bpe", 200), ValueError, "vocab_size"),
    (lambda t: text.train_tokenizer(["abc"], "wordpiece", 6), ValueError, "vocab_size"),
    (lambda t: text.encode_batch(t, "a b"), TypeError, "sentences"),
    (lambda t: text.encode_batch(t, ["a girl ran ."], 4), ValueError, "max_length"),
    (lambda t: text.encode_batch(None, ["a"]), TypeError, "tokenizer"),
    (lambda t: text.docstrings(file="/no/such.txt"), ValueError, "file"),
    (lambda t: text.docstrings("numpy"), TypeError, "packages"),
    (lambda t: text.docstrings(["nothing_like_it"]), ValueError, "packages"),
    (lambda t: text.docstrings(["this"]), ValueError, "packages"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(trained, call, error, name):
    with pytest.raises(error, match=rf"\b{re.escape(name)}(?!\w)"):
        call(trained["bpe"])


# Real text


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A package of a few files; importing it would fail."""
    folder = tmp_path / "site" / "prosaic"
    for path, source in {
        "__init__.py": '"""A package that is made for this test alone, and explodes."""\nraise SystemExit\n',
        "b.py": '''"""The same sentence is found in two modules of this package."""

class Reader:
    """Read files of many kinds.

    The reader that is described here takes a file and returns
    what :class:`~prosaic.b.Reader` made of the ``text``.

    Parameters
    ----------
    path : str
        Where the file of the reader is found on the disk.
    >>> Reader("This example is a line of code and no sentence.")

    Notes
    -----
    A note is kept although its heading is underlined with dashes.
    """

    if True:
        async def read(self):
            """Nested functions have docstrings too, and they are read in order."""

    x = """A string that is no docstring is not read, however nice it may be."""
''',
        "a.py": '"""The same sentence is found in two modules of this package."""\n',
        "broken.py": '"""This file is no Python, so nothing of it is read at all."""\ndef (:\n"""\n',
        "version.py": '"""Files that are generated by a build are left out of the text."""\n',
        "tests/test_b.py": '"""Tests are left out of the text, as they say little in prose."""\n',
        "inner/deep.py": 'def f():\n    """It\'s true that apostrophes, commas and numbers such as 3 are kept."""\n',
        "inner/codes.py": '"""This x_i = {y} has too many signs to be a sentence of English."""\n',
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(source)
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setenv("THREE_WAYS_FOLDER", str(tmp_path))
    text._of_package.cache_clear()
    yield folder
    text._of_package.cache_clear()


def test_paragraphs_of_a_package(package):
    found = text.docstrings(("prosaic",))
    assert [(each.module, each.text) for each in found] == [
        ("prosaic", "A package that is made for this test alone, and explodes."),
        ("prosaic.a", "The same sentence is found in two modules of this package."),
        (
            "prosaic.b",
            "The reader that is described here takes a file and returns what prosaic.b.Reader made of the text.",
        ),
        ("prosaic.b", "Where the file of the reader is found on the disk."),
        ("prosaic.b", "A note is kept although its heading is underlined with dashes."),
        ("prosaic.b", "Nested functions have docstrings too, and they are read in order."),
        ("prosaic.inner.deep", "It's true that apostrophes, commas and numbers such as 3 are kept."),
    ]
    assert {each.package for each in found} == {"prosaic"} and "prosaic" not in sys.modules
    assert text.docstrings(["prosaic", "prosaic"]) == found


def test_summaries_of_a_package(package):
    (package / "c.py").write_text(
        '''"""The module's own sentence has no name to ask for."""
def count(text):
    """Count the ``words`` of a text, as :func:`count`
    does. The second sentence is left out."""
def short():
    """Too short."""
def signs():
    """Return x_i = {y}, which is more than plain words."""
def _hidden():
    """A private function is left out of the list."""
class Reader:
    """The second class of this name is left out of the list."""
'''
    )
    text._of_package.cache_clear()
    found = [(each.name, each.sentence, each.module) for each in text.summaries(("prosaic",))]
    assert found == [
        ("Reader", "Read files of many kinds.", "prosaic.b"),
        ("read", "Nested functions have docstrings too, and they are read in order.", "prosaic.b"),
        ("count", "Count the words of a text, as count does.", "prosaic.c"),
        ("f", "It's true that apostrophes, commas and numbers such as 3 are kept.", "prosaic.inner.deep"),
    ]
    with pytest.raises(ValueError, match="nowhere"):
        text.summaries(("nowhere",))


def test_paragraphs_are_kept_until_a_file_changes(package, monkeypatch, tmp_path):
    parsed = []
    parse = text._parse
    monkeypatch.setattr(text, "_parse", lambda *given: parsed.append(given) or parse(*given))

    def read() -> list:
        text._of_package.cache_clear()
        return text.docstrings(("prosaic",))

    first = read()
    assert read() == first and len(parsed) == 1
    (kept,) = (tmp_path / ".paragraphs").iterdir()
    whole = json.loads(kept.read_text())
    others = [{"a": 1}, {"paragraphs": {}}, whole | {"paragraphs": {"a": 1}}, whole | {"summaries": {"a": ["b"]}}]
    for damaged in ("", "[]", kept.read_text()[:-9], *map(json.dumps, others)):
        kept.write_text(damaged)
        assert read() == first
    assert len(parsed) == 8

    (package / "a.py").write_text('"""Another sentence is found in this module of the package."""')
    assert read() != first and len(parsed) == 9
    assert len(list((tmp_path / ".paragraphs").iterdir())) == 1, (
        "what is out of date is removed, and nothing half written stays"
    )


def test_where_nothing_can_be_kept_the_package_is_parsed(package, monkeypatch, tmp_path):
    (tmp_path / "a_file").touch()
    monkeypatch.setenv("THREE_WAYS_FOLDER", str(tmp_path / "a_file"))
    assert len(text.docstrings(("prosaic",))) == 7


def test_what_differs_from_the_record_is_said_in_a_line(package, monkeypatch):
    monkeypatch.setattr(text.importlib.metadata, "version", lambda name: "1.5+cpu")
    here = text.record("prosaic")
    assert here[:2] == ("1.5", 7) and len(here.digest) == 16
    assert text.about(["prosaic"]).startswith("prosaic 1.5: 7 paragraphs, not among")
    assert not text.is_recorded(["prosaic"])
    monkeypatch.setitem(text.RECORDS, "prosaic", here)
    assert text.about(["prosaic"]) == "prosaic 1.5: 7 paragraphs, as recorded" and text.is_recorded(["prosaic"])
    (package / "a.py").write_text('"""Another sentence makes another digest of the whole package."""')
    text._of_package.cache_clear()
    assert text.record("prosaic").digest != here.digest and not text.is_recorded(["prosaic"])
    assert "not the 7 of version 1.5" in text.about(["prosaic"])
    assert len(text.about(["prosaic"]).splitlines()) == 1


def test_real_packages_are_read_and_never_imported():
    code = """
import sys
from shared import text
before = set(sys.modules)
paragraphs = text.docstrings(("sklearn",))
print(len(paragraphs), "sklearn" in sys.modules, len({p.text for p in paragraphs}) == len(paragraphs))
print(paragraphs == text.docstrings(["sklearn"]))
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert int(output[0]) > 1000 and output[1:] == ["False", "True", "True"]


@pytest.mark.parametrize("package", text.RECORDS)
def test_a_recorded_version_has_the_recorded_text_and_another_is_said_to_be_another(package):
    here, recorded = text.record(package), text.RECORDS[package]
    if here.version == recorded.version:
        assert here == recorded and recorded.paragraphs > 1000
    else:
        assert here.digest == recorded.digest or f"of version {recorded.version}" in text.about([package])


def test_a_file_of_ones_own(tmp_path):
    file = tmp_path / "story.txt"
    blocks = [f"Paragraph {i}\nhas two lines." for i in range(120)]
    file.write_bytes("\r\n\r\n".join(["\ufeffIt begins.", *blocks, blocks[3]]).encode())
    found = text.docstrings(file=file)
    assert [each.text for each in found[:2]] == ["It begins.", "Paragraph 0 has two lines."] and len(found) == 121
    assert [each.module for each in found[::10]] == [f"story.part{i}" for i in range(13)]
    assert text.docstrings(file=str(file)) == found and found[0].package == "story"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old mac"])
def test_a_paragraph_ends_at_an_empty_line_of_any_system(end, tmp_path):
    lines = ["One", "two.", "", "Three", "four.", " \t", "", "Five."]
    (tmp_path / "story.txt").write_bytes(end.join([*lines, ""]).encode())
    assert [each.text for each in text.docstrings(file=tmp_path / "story.txt")] == ["One two.", "Three four.", "Five."]


@pytest.mark.parametrize("content, reason", [(b"", "empty"), (b" \n\n ", "empty"), (b"ab\xff", "byte 2")])
def test_a_bad_file_is_refused(content, reason, tmp_path):
    (tmp_path / "bad.txt").write_bytes(content)
    with pytest.raises(ValueError, match=f"bad.txt'.*{reason}"):
        text.docstrings(file=tmp_path / "bad.txt")
