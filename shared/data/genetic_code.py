"""The standard genetic code, as a translation task whose answer is always known: DNA in, protein out.

Three nucleotides, a codon, spell one amino acid. Of the 64 codons 61 mean an amino acid (sense codons), and 3 stop the translation (stop codons). The
sequences here are coding sequences: sense codons and nothing else, so a perfect model translates every one of them without a mistake.
"""

import itertools
from collections.abc import Iterable, Sequence

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


class LetterTokenizer:
    """The letters of DNA, or of protein, as ids: a tokenizer such as `translate` of chapter 12 takes.

    Args:
        vocabulary: the tokens by id; those of one letter are what a text is made of.
        letter_name: what such a letter is, for errors.
    """

    def __init__(self, vocabulary: Sequence[str], letter_name: str):
        self.vocabulary, self.letter_name = list(vocabulary), letter_name
        letters = [(index, token) for index, token in enumerate(self.vocabulary) if len(token) == 1]
        self._ids = {case: index for index, letter in letters for case in (letter, letter.lower())}

    def encode(self, text: str) -> list[int]:
        """The id of each letter, of either case; ValueError for another one."""
        try:
            return [self._ids[letter] for letter in text]
        except KeyError as unknown:
            letters = "".join(token for token in self.vocabulary if len(token) == 1)
            raise ValueError(f"{unknown} is not {self.letter_name}; known: {letters}") from None

    def decode(self, ids: Iterable[int]) -> str:
        """The letters of ids, without padding and other special tokens."""
        tokens = (self.vocabulary[token] for token in ids)
        return "".join(token for token in tokens if len(token) == 1)


SOURCE_TOKENIZER = LetterTokenizer(SOURCE_VOCABULARY, "a nucleotide")
TARGET_TOKENIZER = LetterTokenizer(TARGET_VOCABULARY, "an amino acid")


def _encode(
    sequences: Iterable[str],
    max_length: int | None,
    tokenizer: LetterTokenizer,
    name: str,
    before: Sequence[int] = (),
    after: Sequence[int] = (),
) -> np.ndarray:
    """Ids of each sequence's letters between the tokens before and after, as rows padded at the end; errors call the argument by its name."""
    rows = []
    for index, sequence in enumerate(check_texts(**{name: sequences})):
        try:
            rows.append([*before, *tokenizer.encode(sequence), *after])
        except ValueError as error:
            raise ValueError(f"{name}[{index}]: {error}") from None
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
    return _encode(sequences, max_length, SOURCE_TOKENIZER, "sequences")


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
    return _encode(proteins, max_length, TARGET_TOKENIZER, "proteins", [START_ID], [END_ID])


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
