"""The letters of DNA: codes in the simulator, tokens for a model.

A nucleotide's code is A 0, C 1, G 2, T 3, R 4 (R is the IUPAC letter for "A or G"): a transition, A <-> G or C <-> T, is an XOR with 2.
A model's vocabulary has padding at 0, the nucleotides from 1 (token = code + 1) and the special tokens behind them.
"""

from collections.abc import Callable, Iterable

import numpy as np

from shared.checks import check_tokens
from shared.checks.text import check_texts, check_width

NUCLEOTIDES = "ACGTR"
A, C, G, T, R = range(5)
PAD_CODE = 255  # what PAD_ID - 1 is in uint8, so that token = code + 1 holds for padding too
VOCABULARY = ("<pad>", *NUCLEOTIDES, "<start>", "<end>", "<mask>")
PAD_ID = 0

_LETTERS = np.frombuffer(
    b"\0" + NUCLEOTIDES.encode() + b"\0\0\0", np.uint8
)  # token -> letter, 0 for the special tokens
_TOKENS = np.zeros(256, np.uint8)  # letter, of either case -> token, 0 for everything that is no nucleotide
_TOKENS[list(NUCLEOTIDES.encode())] = _TOKENS[list(NUCLEOTIDES.lower().encode())] = range(1, 6)


def to_tokens(sequences: list[str], where: Callable[[int], str]) -> np.ndarray:
    """Tokens of all the sequences, one behind the other; an unknown letter's error begins with `where` its sequence stands."""
    text = "".join(sequences)
    tokens = _TOKENS[
        np.frombuffer(text.encode("ascii", "replace"), np.uint8)
    ]  # one byte a letter: a letter outside ASCII becomes "?"
    if not tokens.all():
        site = int(np.argmin(tokens))
        index = int(np.searchsorted(np.cumsum([len(sequence) for sequence in sequences]), site, side="right"))
        raise ValueError(f"{where(index)}: {text[site]!r} is not a nucleotide; known: {NUCLEOTIDES}")
    return tokens


def tokenize_and_pad(sequences: Iterable[str], max_length: int | None = None) -> np.ndarray:
    """Turn sequences of nucleotides into token ids, padded at the end.

    Args:
        sequences: strings of the letters A, C, G, T, R, of either case.
        max_length: width of the result; None for the longest sequence's length.

    Returns:
        (n, max_length or longest) int64: 1 to 5 for A, C, G, T, R, and PAD_ID behind the end.

    Raises:
        TypeError: if sequences is one string or holds something else than strings, or max_length is not a whole number.
        ValueError: if there is no sequence, a letter is not a nucleotide, or a sequence is longer than max_length.
    """
    sequences = check_texts(sequences=sequences)
    lengths = [len(sequence) for sequence in sequences]
    width = check_width(lengths, max_length)
    result = np.full((len(sequences), width), PAD_ID, np.int64)
    result[np.arange(width) < np.array(lengths)[:, None]] = to_tokens(sequences, lambda index: f"sequences[{index}]")
    return result


def detokenize(tokens: np.ndarray) -> list[str]:
    """Turn token ids back into strings; padding and the other special tokens are dropped.

    Args:
        tokens: (n, length) ids of VOCABULARY.

    Returns:
        n strings of the letters A, C, G, T, R.

    Raises:
        TypeError: if the ids are not whole numbers, or tokens has not two axes.
        ValueError: if an id is outside the vocabulary.
    """
    tokens = np.asarray(tokens)
    if tokens.ndim != 2:
        raise TypeError(f"tokens has shape {tokens.shape}: expected (n, length)")
    check_tokens(tokens, len(VOCABULARY))
    letters = np.full((len(tokens), tokens.shape[1] + 1), ord("\n"), np.uint8)  # the last column ends each line
    letters[:, :-1] = _LETTERS[tokens]
    return letters[letters != 0].tobytes().decode("ascii").splitlines()


def as_tokens(ancestors: np.ndarray | Iterable[str]) -> np.ndarray:
    """Token ids of ancestors given as strings or as token ids: (n, length)."""
    tokens = np.asarray(ancestors)
    if tokens.dtype.kind in "OUT":
        return tokenize_and_pad(ancestors)
    if tokens.ndim != 2:
        raise TypeError(f"ancestors has shape {tokens.shape}: expected token ids (n, length), or a list of strings")
    check_tokens(tokens, len(VOCABULARY))
    if tokens.max(initial=0) > len(NUCLEOTIDES):
        raise ValueError(f"ancestors hold {VOCABULARY[tokens.max()]}: expected nucleotides and padding")
    return tokens
