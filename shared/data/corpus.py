"""A corpus for a language model: paragraphs split so that no part has seen the others, and cut into windows of tokens.

parts = split(text.docstrings())                # training, validation, test: by module
tokens = stream(tokenizer, parts.training)      # <end> paragraph <end> paragraph <end>
inputs, targets = windows(tokens, 128)
"""

import hashlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

from shared.checks import check_positive
from shared.checks.text import check_texts
from shared.data.subwords import check_reads_text, train_tokenizer
from shared.data.text import PARAGRAPHS_A_PART, Paragraph

END_ID = 1  # <end>, before and after each paragraph
COUNTED_OUT = -100  # a target that no loss counts
SHARE = 0.05  # of the modules, for validation and for test
RUN = 8  # words in a row that may not be in training and in another part


class Split(NamedTuple):
    """Paragraphs to learn from, to choose by, and to judge by."""

    training: list[Paragraph]
    validation: list[Paragraph]
    test: list[Paragraph]


def split(paragraphs: Iterable[Paragraph]) -> Split:
    """Split paragraphs by module: 90 % of the modules for training, 5 % for validation and 5 % for test.

    A module goes where the hash of its name says, so a new version of a package moves no module. A paragraph of
    validation or test that has 8 words in a row in common with training is left out.

    Raises:
        ValueError: if there are fewer than three modules.
    """
    paragraphs = list(paragraphs)
    modules = sorted({each.module for each in paragraphs}, key=hash_fraction)
    if len(modules) < 3:
        raise ValueError(
            f"paragraphs: got {len(paragraphs)}, of {len(modules)} modules; expected those of 3 modules at least. In a file of "
            f"your own, separate paragraphs by an empty line: {PARAGRAPHS_A_PART} of them count as a module"
        )
    third = len(modules) // 3  # a small corpus has a module for each part
    test = [module for module in modules[:third] if hash_fraction(module) < SHARE] or modules[:1]
    others = modules[len(test) :]
    validation = [module for module in others[:third] if hash_fraction(module) < 2 * SHARE] or others[:1]
    held_out = {*test, *validation}
    training = [each for each in paragraphs if each.module not in held_out]
    seen = set().union(*(runs(each.text) for each in training))

    def unseen(modules: list[str]) -> list[Paragraph]:
        wanted = set(modules)
        return [each for each in paragraphs if each.module in wanted and seen.isdisjoint(runs(each.text))]

    return Split(training, unseen(validation), unseen(test))


def hash_fraction(module: str) -> float:
    """A number from 0 to 1 that depends on the name alone."""
    return int(hashlib.sha256(module.encode()).hexdigest()[:8], 16) / 2**32


def runs(text: str, length: int = RUN) -> set[tuple[str, ...]]:
    """All runs of so many words."""
    words = text.split()
    return set(zip(*(words[start:] for start in range(length))))


def count_bytes(texts: Iterable[str]) -> int:
    """The bytes of the texts in UTF-8, with one more for the end of each: what a file with a line for each has."""
    return sum(len(text.encode()) + 1 for text in texts)


def stream(tokenizer: Tokenizer, texts: Iterable[str]) -> np.ndarray:
    """All texts as one row of token ids, (length,) int64, with <end> before and after each, and nowhere else.

    Raises:
        ValueError: if the tokenizer would take "<end>" in a text for the end of one.
    """
    check_reads_text(tokenizer)
    encodings = tokenizer.encode_batch(check_texts(texts=texts))
    return np.array([END_ID, *(token for each in encodings for token in each.ids[1:])], np.int64)


def _check_stream(tokens: np.ndarray, length: int) -> None:
    check_positive(length=length)
    if tokens.ndim != 1 or len(tokens) <= length:
        raise ValueError(f"tokens have shape {tokens.shape}: expected one row longer than the context of {length}")


def windows(tokens: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut a row of tokens into windows; the target at each position is the token after it.

    Every token but the first is a target once. The last window is filled with <end>, whose targets are -100.

    Returns:
        inputs and targets, each (windows, length) int64.

    Raises:
        ValueError: if tokens is not one row longer than length.
    """
    _check_stream(tokens, length)
    count = len(tokens) - 1
    rows = -(-count // length)
    inputs = np.full(rows * length, END_ID)
    targets = np.full(rows * length, COUNTED_OUT)
    inputs[:count], targets[:count] = tokens[:-1], tokens[1:]
    return inputs.reshape(rows, length), targets.reshape(rows, length)


def random_windows(tokens: np.ndarray, length: int, batch_size: int, seed: int = 0) -> Callable[[int], tuple]:
    """A function: step -> inputs and targets of windows that start anywhere, the same for the same step and seed.

    Raises:
        ValueError: if tokens is not one row longer than length.
    """
    _check_stream(tokens, length)
    check_positive(batch_size=batch_size)

    def batch_at(step: int) -> tuple[np.ndarray, np.ndarray]:
        starts = np.random.default_rng((seed, step)).integers(0, len(tokens) - length, batch_size)
        found = tokens[starts[:, None] + np.arange(length + 1)]
        return found[:, :-1], found[:, 1:]

    return batch_at


def longest_shared_runs(texts: Iterable[str], others: Iterable[str]) -> list[str]:
    """For each text its longest run of whole words that is in one of the other texts, too; the first of several."""
    known = "\n".join(f" {' '.join(each.split())} " for each in others)
    return [_longest_run(each.split(), known) for each in texts]


def _longest_run(words: list[str], known: str) -> str:
    best, start = [], 0
    for end in range(1, len(words) + 1):
        while start < end and f" {' '.join(words[start:end])} " not in known:
            start += 1
        best = max(best, words[start:end], key=len)
    return " ".join(best)


class Corpus(NamedTuple):
    """A split text as rows of token ids, and what made them."""

    tokenizer: Tokenizer
    training: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    bytes: dict[str, int]  # of each part's text
    digest: str  # of the training part's tokens


def prepare(paragraphs: Iterable[Paragraph], vocab_size: int = 4096, tokenizer: Tokenizer | None = None) -> Corpus:
    """Split paragraphs by module, learn byte pairs from the training part, and turn each part into a row of tokens.

    Args:
        paragraphs: from `shared.text.docstrings`.
        vocab_size: the most tokens that the vocabulary may have.
        tokenizer: one that is there already, such as a model's; None to learn one.

    Raises:
        ValueError: as `split` and `train_tokenizer` do.
    """
    texts = {name: [each.text for each in part] for name, part in split(paragraphs)._asdict().items()}
    tokenizer = train_tokenizer(texts["training"], "bpe", vocab_size) if tokenizer is None else tokenizer
    tokens = {name: stream(tokenizer, part) if part else np.array([END_ID]) for name, part in texts.items()}
    digest = hashlib.sha256(tokens["training"].astype("<i4").tobytes()).hexdigest()[:16]
    return Corpus(tokenizer, **tokens, bytes={name: count_bytes(part) for name, part in texts.items()}, digest=digest)


def check_parts(corpus: Corpus, length: int) -> None:
    """ValueError unless each part has more tokens than a window."""
    for part in corpus.bytes:
        count = len(getattr(corpus, part))
        if count <= length:
            raise ValueError(f"the {part} part of the text has {count} tokens: expected more than max_length={length}")


def bits_per_byte(nats: float, tokens: np.ndarray, num_bytes: int) -> float:
    """The bits that a model needs for each byte of a text, from its nats per token: what tokenizers of any size can be compared by.

    Raises:
        TypeError: if num_bytes is not a whole number.
        ValueError: if there is no byte, or no token after the first, which a model doesn't predict.
    """
    check_positive(num_bytes=num_bytes)
    if len(tokens) < 2:
        raise ValueError(f"tokens has {len(tokens)}: expected two or more")
    return float(nats * (len(tokens) - 1) / np.log(2) / num_bytes)


def answers(tokenizer: Tokenizer, packages: Iterable[str]) -> np.ndarray:
    """For each package the token that stands for it: the first one of its name.

    Raises:
        ValueError: if two names begin with the same token.
    """
    packages = list(packages)
    found = np.array([tokenizer.encode(package).ids[1] for package in packages])
    if len(set(found.tolist())) < len(packages):
        raise ValueError(f"packages={packages}: expected names that begin with different tokens")
    return found


def which_package(
    tokenizer: Tokenizer, paragraphs: Iterable[Paragraph], each: int, length: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """A task for a language model: after a paragraph and <end>, say which package it is from.

    Args:
        tokenizer: of the model.
        paragraphs: to draw from.
        each: how many paragraphs of each package.
        length: tokens of a row; a longer paragraph is cut, a shorter one filled with <end>.
        seed: of the draw.

    Returns:
        inputs and targets, (packages * each, length) int64; the target behind the first <end> is the number of the package
        in the order of their names, and all others are -100.

    Raises:
        ValueError: if a package has fewer paragraphs, or the tokenizer would take "<end>" in one for its end.
    """
    check_positive(each=each, length=length)
    check_reads_text(tokenizer)
    by_package: dict[str, list[str]] = {}
    for paragraph in paragraphs:
        by_package.setdefault(paragraph.package, []).append(paragraph.text)
    few = {package: len(texts) for package, texts in by_package.items() if len(texts) < each}
    if few or not by_package:
        raise ValueError(f"each={each}: expected as many paragraphs of each package, got {few}")
    names = sorted(by_package)
    inputs = np.full((len(names) * each, length), END_ID)
    targets = np.full_like(inputs, COUNTED_OUT)
    rng, row = np.random.default_rng(seed), 0
    for answer, package in enumerate(names):
        for index in rng.permutation(len(by_package[package]))[:each]:
            ids = tokenizer.encode(by_package[package][index]).ids[: length - 1]
            ids = ids[:-1] if ids[-1] == END_ID else ids
            inputs[row, : len(ids)] = ids
            targets[row, len(ids)] = answer
            row += 1
    return inputs, targets
