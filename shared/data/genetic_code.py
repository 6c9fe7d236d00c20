"""The standard genetic code, as a translation task whose answer is always known: DNA in, protein out.

Three nucleotides, a codon, spell one amino acid. Of the 64 codons 61 mean an amino acid (sense codons), and 3 stop the translation (stop codons). The
sequences here are coding sequences: sense codons and nothing else, so a perfect model translates every one of them without a mistake.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from shared.checks import check_positive, check_seed, check_tokens
from shared.checks.text import check_range, check_texts, check_width

NUCLEOTIDES = "ACGT"
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"  # one-letter names, in alphabetical order
SOURCE_VOCABULARY = ("<pad>", *NUCLEOTIDES)
TARGET_VOCABULARY = ("<pad>", "<start>", "<end>", *AMINO_ACIDS)
PAD_ID, START_ID, END_ID = 0, 1, 2

# Codon -> amino acid, "*" for stop. The row of letters is how NCBI prints "translation table 1", the standard code: its codons count TTT, TTC, TTA, TTG, TCT, ...
CODE = dict(
    zip(
        map("".join, itertools.product("TCAG", repeat=3)),
        "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG",
    )
)
SENSE_CODONS = tuple(sorted(codon for codon, amino_acid in CODE.items() if amino_acid != "*"))
_CODON_TOKENS = np.array([[SOURCE_VOCABULARY.index(letter) for letter in codon] for codon in SENSE_CODONS])  # (61, 3)
_AMINO_ACID_TOKENS = np.array([TARGET_VOCABULARY.index(CODE[codon]) for codon in SENSE_CODONS])  # (61,)


def translate(dna: str) -> str:
    """Translate a coding sequence into the protein that it stands for.

    Args:
        dna: sense codons, in letters A, C, G, T of either case, read from the first letter on. An empty sequence is an empty protein.

    Returns:
        One letter of AMINO_ACIDS for each codon.

    Raises:
        TypeError: if dna is not a string.
        ValueError: if a letter is no nucleotide, the length is not a multiple of 3, or a codon is a stop codon; the message counts letters and codons from 1.

    Source: NCBI, "The Genetic Codes", translation table 1 (the standard code).
    """
    if not isinstance(dna, str):
        raise TypeError(f"dna={dna!r}: expected a string, got {type(dna).__name__}")
    for position, letter in enumerate(dna, start=1):
        if letter not in "ACGTacgt":
            raise ValueError(f"letter {position} of dna, {letter!r}, is not a nucleotide; known: {NUCLEOTIDES}")
    if len(dna) % 3:
        raise ValueError(f"dna has {len(dna)} letters: expected a multiple of 3, whole codons")
    codons = [dna[start : start + 3].upper() for start in range(0, len(dna), 3)]
    for position, codon in enumerate(codons, start=1):
        if CODE[codon] == "*":
            raise ValueError(f"codon {position} of dna is the stop codon {codon}: expected sense codons only")
    return "".join(CODE[codon] for codon in codons)


def sample(num_pairs: int, codons: int | tuple[int, int], seed: int | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Draw coding sequences and their proteins as token ids: training takes a fresh batch of them each step.

    Args:
        num_pairs: number of pairs.
        codons: codons in each sequence, or (shortest, longest): then each pair's number is uniform from shortest to longest, both included. Each codon is
            one of the 61 sense codons, all equally probable, so amino acids with more codons are more frequent.
        seed: a whole number from 0, or a sequence of them such as (seed, step). Equal arguments give equal arrays.

    Returns:
        The source, (num_pairs, 3 longest) int64 ids of SOURCE_VOCABULARY, and the target, (num_pairs, longest + 2) int64 ids of TARGET_VOCABULARY: <start>, the
        amino acids, <end>. Both are padded at the end with PAD_ID.

    Raises:
        TypeError: if a number or the seed is not whole.
        ValueError: if a number is below 1, the shortest is over the longest, or the seed is negative.
    """
    check_positive(num_pairs=num_pairs)
    shortest, longest = check_range(codons=codons)
    check_seed(seed)

    rng = np.random.default_rng(seed)
    sampled = rng.integers(len(SENSE_CODONS), size=(num_pairs, longest))
    lengths = rng.integers(shortest, longest, num_pairs, endpoint=True)
    real = np.arange(longest) < lengths[:, None]  # (n, longest), False behind a sequence's end
    source = (_CODON_TOKENS[sampled] * real[:, :, None]).reshape(num_pairs, 3 * longest)
    target = np.zeros((num_pairs, longest + 2), np.int64)
    target[:, 0] = START_ID
    target[:, 1:-1] = _AMINO_ACID_TOKENS[sampled] * real
    target[np.arange(num_pairs), lengths + 1] = END_ID
    return source.astype(np.int64, copy=False), target


def _encode(
    sequences: Iterable[str],
    max_length: int | None,
    vocabulary: tuple[str, ...],
    name: str,
    letter_name: str,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
) -> np.ndarray:
    """Ids of each sequence's letters between the tokens before and after, as rows padded at the end; errors call the argument by its name."""
    sequences = check_texts(**{name: sequences})
    letters = [token for token in vocabulary if len(token) == 1]
    ids = {case: vocabulary.index(letter) for letter in letters for case in (letter, letter.lower())}
    rows = []
    for index, sequence in enumerate(sequences):
        try:
            rows.append([*before, *(ids[letter] for letter in sequence), *after])
        except KeyError as unknown:
            raise ValueError(f"{name}[{index}]: {unknown} is not {letter_name}; known: {''.join(letters)}") from None
    result = np.full((len(rows), check_width([len(row) for row in rows], max_length)), PAD_ID, np.int64)
    for tokens, row in zip(result, rows):
        tokens[: len(row)] = row
    return result


def encode_source(sequences: Iterable[str], max_length: int | None = None) -> np.ndarray:
    """Turn DNA into the token ids that an encoder reads, padded at the end.

    Args:
        sequences: strings of the letters A, C, G, T, of either case.
        max_length: width of the result; None for the longest sequence's length.

    Returns:
        (n, length) int64 ids of SOURCE_VOCABULARY.

    Raises:
        TypeError: if sequences is a single string or holds something else than strings, or max_length is not a whole number.
        ValueError: if there is no sequence, a letter is not a nucleotide, or a sequence is longer than max_length.
    """
    return _encode(sequences, max_length, SOURCE_VOCABULARY, "sequences", "a nucleotide")


def encode_target(proteins: Iterable[str], max_length: int | None = None) -> np.ndarray:
    """Turn proteins into the token ids that a decoder writes: <start>, the amino acids, <end>, padded at the end.

    Args:
        proteins: strings of the letters in AMINO_ACIDS, of either case.
        max_length: width of the result, <start> and <end> included; None for the longest protein's length + 2.

    Returns:
        (n, length) int64 ids of TARGET_VOCABULARY.

    Raises:
        TypeError: if proteins is a single string or holds something else than strings, or max_length is not a whole number.
        ValueError: if there is no protein, a letter is not an amino acid, or a protein with <start> and <end> is longer than max_length.
    """
    return _encode(proteins, max_length, TARGET_VOCABULARY, "proteins", "an amino acid", [START_ID], [END_ID])


def decode_target(tokens: np.ndarray) -> list[str]:
    """Turn a decoder's token ids back into proteins: each ends before its first <end>, and other special tokens are dropped.

    Args:
        tokens: (n, length) ids of TARGET_VOCABULARY. What stands behind the first <end> does not matter; a row without <end> is read to its last token.

    Returns:
        n strings of the letters in AMINO_ACIDS.

    Raises:
        TypeError: if the ids are not whole numbers, or tokens has not two axes.
        ValueError: if an id is outside the vocabulary.
    """
    tokens = np.asarray(tokens)
    if tokens.ndim != 2:
        raise TypeError(f"tokens has shape {tokens.shape}: expected (n, length)")
    check_tokens(tokens, len(TARGET_VOCABULARY))
    letters = np.array([token if len(token) == 1 else "" for token in TARGET_VOCABULARY])
    ended = np.maximum.accumulate(tokens == END_ID, axis=1)
    return ["".join(row) for row in np.where(ended, "", letters[tokens])]


def coding_tokens(model: Any, text: str | Sequence[str]) -> np.ndarray:
    """Turn coding sequences, one or a list of them, into the token ids that a model of the genetic code reads.

    Returns:
        (sequences, length) int64 ids, padded at the end.

    Raises:
        TypeError: if a text of the list is not a string.
        ValueError: if a text is empty, holds another letter than A, C, G, T of either case, is not whole codons or is too long for the model; or if the
            model's vocabularies or padding are not those of this module.
    """
    sizes = (model.source_vocab_size, model.target_vocab_size)
    expected = (len(SOURCE_VOCABULARY), len(TARGET_VOCABULARY))
    if (*sizes, model.pad_id) != (*expected, PAD_ID):
        raise ValueError(
            f"model has vocabularies of {sizes} tokens and pad_id={model.pad_id}:"
            f" expected {expected} and {PAD_ID}, as in shared.genetic_code"
        )
    if not len(text):
        raise ValueError(f"text={text!r}: expected a DNA sequence, or a list of at least one")
    texts = {"text": text} if isinstance(text, str) else {f"text[{index}]": each for index, each in enumerate(text)}
    for name, dna in texts.items():
        if not isinstance(dna, str):
            raise TypeError(f"{name}={dna!r}: expected a string, got {type(dna).__name__}")
        for position, letter in enumerate(dna, start=1):
            if letter not in NUCLEOTIDES + NUCLEOTIDES.lower():
                raise ValueError(f"letter {position} of {name}, {letter!r}, is not a nucleotide; known: {NUCLEOTIDES}")
        if len(dna) % 3 or not dna:
            raise ValueError(f"{name} has {len(dna)} letters: expected a multiple of 3, at least one codon")
        if len(dna) > model.max_length:
            raise ValueError(
                f"{name} has {len(dna)} letters: expected at most the model's max_length={model.max_length}"
            )
    return encode_source(texts.values())
