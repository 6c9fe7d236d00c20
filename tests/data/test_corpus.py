"""A corpus for a language model: its split, its windows, and the task made of it."""

from itertools import pairwise

import numpy as np
import pytest
from tokenizers import Tokenizer

from shared.data import corpus, text
from shared.data.text import Paragraph


def made(modules: int, each: int = 3, words: int = 12) -> list[Paragraph]:
    """Paragraphs of random words, a few of each module."""
    rng = np.random.default_rng(modules)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return [
        Paragraph(" ".join("".join(rng.choice(letters, 4)) for _ in range(words)), f"p{m % 3}", f"p{m % 3}.m{m}")
        for m in range(modules)
        for _ in range(each)
    ]


@pytest.fixture(scope="module")
def tokenizer():
    return text.train_tokenizer([each.text for each in made(40)], "bpe", 300)


@pytest.mark.parametrize("modules", [3, 4, 5, 7, 20, 400])
def test_each_module_is_in_one_part_and_no_part_is_empty(modules):
    paragraphs = made(modules)
    parts = corpus.split(paragraphs)
    assert sorted(each.text for part in parts for each in part) == sorted(each.text for each in paragraphs)
    found = [{each.module for each in part} for part in parts]
    assert all(found) and not found[0] & found[1] and not found[0] & found[2] and not found[1] & found[2]
    assert len(found[0]) >= modules / 3


def test_a_module_stays_in_its_part_when_others_come():
    before, after = (corpus.split(made(400)[:count]) for count in (900, 1200))
    for few, many in zip(before, after):
        assert {each.module for each in few} <= {each.module for each in many}
    sizes = [len({each.module for each in part}) for part in after]
    assert sizes[0] > 340 and sizes[1] > 5 and sizes[2] > 5


def test_a_paragraph_that_shares_eight_words_with_training_is_left_out():
    paragraphs = made(60)
    parts = corpus.split(paragraphs)
    copied = " ".join(parts.training[0].text.split()[2:10])
    seven = " ".join(parts.training[0].text.split()[2:9])
    held_out = parts.test[0]
    more = [held_out._replace(text=f"before {copied} behind"), held_out._replace(text=f"before {seven} behind")]
    assert corpus.split(paragraphs + more).test == [*parts.test, more[1]]


def test_a_stream_has_an_end_around_each_text(tokenizer):
    texts = [each.text for each in made(4)]
    tokens = corpus.stream(tokenizer, texts)
    ends = np.flatnonzero(tokens == corpus.END_ID)
    assert len(ends) == len(texts) + 1 and ends[0] == 0 and ends[-1] == len(tokens) - 1
    between = [tokens[start + 1 : end] for start, end in pairwise(ends)]
    assert [tokenizer.decode(each).strip() for each in between] == texts
    assert corpus.count_bytes(["ab", "é"]) == 3 + 3


def test_a_text_that_spells_an_end_ends_where_it_ends(tokenizer):
    spelled = ["the <end> of <pad>", "<end>", "plain"]
    tokens = corpus.stream(tokenizer, spelled)
    assert np.count_nonzero(tokens == corpus.END_ID) == 4 and text.PAD_ID not in tokens
    assert tokenizer.decode(tokens) == "".join(f" {each}" for each in spelled)
    paragraphs = [Paragraph("a <end> b", "p", "p.m"), Paragraph("<pad> <end>", "q", "q.m")]
    inputs, targets = corpus.which_package(tokenizer, paragraphs, 1, 40)
    for row, asked, each in zip(inputs, targets, paragraphs):
        (end,) = np.flatnonzero(asked != corpus.COUNTED_OUT)
        assert text.PAD_ID not in row and corpus.END_ID not in row[1:end] and (row[end:] == corpus.END_ID).all()
        assert tokenizer.decode(row[:end]) == f" {each.text}"


def test_a_tokenizer_that_would_end_a_text_there_is_refused(tokenizer):
    copied = Tokenizer.from_str(tokenizer.to_str())  # the library's switch is in no copy
    for call in (
        lambda: corpus.stream(copied, ["a"]),
        lambda: corpus.which_package(copied, made(6), 1, 12),
        lambda: corpus.prepare(made(6), tokenizer=copied),
    ):
        with pytest.raises(ValueError, match=r"\btokenizer\b"):
            call()


def test_a_file_of_too_few_paragraphs_says_what_ends_one(tmp_path):
    (tmp_path / "story.txt").write_text("\n".join(f"Line {i} of a text." for i in range(100)))
    with pytest.raises(ValueError, match=r"^paragraphs\b.*\bempty line\b"):
        corpus.prepare(text.docstrings(file=tmp_path / "story.txt"))


@pytest.mark.parametrize("count", [6, 11, 12, 13])
def test_every_token_but_the_first_is_a_target_once(count):
    tokens = np.arange(2, 2 + count)
    inputs, targets = corpus.windows(tokens, 5)
    assert inputs.shape == targets.shape and inputs.shape[1] == 5
    counted = targets != corpus.COUNTED_OUT
    assert targets[counted].tolist() == tokens[1:].tolist()
    assert (inputs[counted] + 1 == targets[counted]).all()


def test_random_windows_depend_on_the_step_and_the_seed_alone():
    tokens = np.arange(100)
    batch_at = corpus.random_windows(tokens, 8, batch_size=16)
    inputs, targets = batch_at(3)
    assert inputs.shape == (16, 8) and (targets == inputs + 1).all()
    np.testing.assert_equal(corpus.random_windows(tokens, 8, 16)(3), (inputs, targets))
    assert (batch_at(4)[0] != inputs).any() and (corpus.random_windows(tokens, 8, 16, seed=1)(3)[0] != inputs).any()
    windows = np.concatenate([batch_at(step)[1] for step in range(200)])
    assert windows.max() == 99 and windows.min() == 1


def test_the_longest_shared_run_is_of_whole_words():
    others = ["one two three four", "a bone two three", "three four five six seven"]
    texts = ["x one two three four five y", "four five six", "bone marrow", "nothing", "", "seven six five four"]
    found = corpus.longest_shared_runs(texts, others)
    assert found == ["one two three four", "four five six", "bone", "", "", "seven"]


def test_the_longest_shared_run_is_that_of_trying_all():
    rng = np.random.default_rng(0)
    others = [" ".join(rng.choice(["a", "b", "c"], 30)) for _ in range(3)]
    for _ in range(50):
        words = rng.choice(["a", "b", "c"], 12).tolist()
        runs = [words[i:j] for i in range(12) for j in range(i + 1, 13)]
        best = max(len(run) for run in runs if any(f" {' '.join(run)} " in f" {other} " for other in others))
        assert len(corpus.longest_shared_runs([" ".join(words)], others)[0].split()) == best


def test_prepare_learns_from_the_training_part_alone():
    paragraphs = made(60)
    data = corpus.prepare(paragraphs, vocab_size=300)
    parts = corpus.split(paragraphs)
    learned = text.train_tokenizer([each.text for each in parts.training], "bpe", 300)
    assert data.tokenizer.to_str() == learned.to_str()
    for name, part in parts._asdict().items():
        texts = [each.text for each in part]
        np.testing.assert_equal(getattr(data, name), corpus.stream(learned, texts))
        assert data.bytes[name] == corpus.count_bytes(texts)
    again = corpus.prepare(paragraphs, tokenizer=learned)
    assert again.digest == data.digest != corpus.prepare(paragraphs[3:], 300).digest
    corpus.check_parts(data, 8)
    with pytest.raises(ValueError, match=r"\bvalidation\b"):
        corpus.check_parts(data, len(data.validation))


def test_bits_per_byte_of_equal_chances():
    tokens = np.zeros(101, int)  # 100 targets
    assert corpus.bits_per_byte(np.log(4), tokens, 50) == pytest.approx(4)


def test_the_task_asks_once_behind_each_paragraph(tokenizer):
    paragraphs = [each._replace(package={"p0": "ace", "p1": "bit", "p2": "cat"}[each.package]) for each in made(30)]
    names = ["ace", "bit", "cat"]
    ids = corpus.answers(tokenizer, names)
    assert [tokenizer.decode([token]).strip()[0] for token in ids] == ["a", "b", "c"]
    inputs, targets = corpus.which_package(tokenizer, paragraphs, 5, 12, seed=1)
    assert inputs.shape == targets.shape == (15, 12)
    rows, positions = np.nonzero(targets != corpus.COUNTED_OUT)
    assert rows.tolist() == list(range(15)) and targets[rows, positions].tolist() == np.arange(3).repeat(5).tolist()
    texts = {each.text: each.package for each in paragraphs}
    for row, position, name in zip(inputs, positions, np.repeat(names, 5)):
        assert row[0] == corpus.END_ID and (row[position:] == corpus.END_ID).all()
        assert corpus.END_ID not in row[1:position]
        written = tokenizer.decode(row[1:position]).strip()
        assert [package for each, package in texts.items() if each.startswith(written)] == [name]
    np.testing.assert_equal(corpus.which_package(tokenizer, paragraphs, 5, 12, seed=1), (inputs, targets))


REFUSED = [
    *((lambda t, modules=modules: corpus.split(made(modules)), "paragraphs") for modules in (0, 1, 2)),
    *(
        (lambda t, tokens=tokens: corpus.windows(tokens, 8), "tokens")
        for tokens in (np.arange(8), np.zeros((3, 20), int))
    ),
    (lambda t: corpus.random_windows(np.arange(8), 8, 2), "tokens"),
    (lambda t: corpus.windows(np.arange(8), 0), "length"),
    (lambda t: corpus.random_windows(np.arange(8), 4, 0), "batch_size"),
    (lambda t: corpus.which_package(t, made(6), 7, 12), "each"),
    (lambda t: corpus.which_package(t, [], 1, 12), "each"),
    (lambda t: corpus.which_package(t, made(6), 0, 12), "each"),
    (lambda t: corpus.answers(t, ["sympy", "sympy"]), "packages"),
    (lambda t: corpus.bits_per_byte(1.0, np.zeros(5, int), 0), "num_bytes"),
    (lambda t: corpus.bits_per_byte(1.0, np.zeros(1, int), 5), "tokens"),
]


@pytest.mark.parametrize(("call", "name"), REFUSED)
def test_what_is_refused_is_named(tokenizer, call, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call(tokenizer)
