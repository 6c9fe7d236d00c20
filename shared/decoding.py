"""What decoding needs alike in the three tracks: checks of its arguments, the mode of the model, and DNA as token ids."""

import contextlib
import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np

from shared.checks import check_choice, check_positive, check_token_batch
from shared.data.genetic_code import NUCLEOTIDES, PAD_ID, SOURCE_VOCABULARY, TARGET_VOCABULARY, encode_source
from shared.training import check_number


@contextlib.contextmanager
def evaluation_mode(model: Any) -> Iterator[None]:
    """Put a model into evaluation mode, and back into the mode it came in, also when it ends with an error."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def check_decoding(model: Any, source: Any, max_length: int, start_id: int, end_id: int) -> None:
    """Raise unless the arguments of a decoding function belong together.

    Args:
        model: what has `encode`, `decode`, `project` and `pad_id`; if it also has `max_length` and `target_vocab_size`, they count.
        source: (batch, length) token ids.
        max_length: the most tokens of a result, the start among them.
        start_id, end_id: token ids, neither of them that of padding.

    Raises:
        TypeError: if model lacks one of these, source holds no whole numbers, or a number is not whole.
        ValueError: if source does not have two axes and at least one row, or a number is out of range.
    """
    missing = [name for name in ("encode", "decode", "project", "pad_id") if not hasattr(model, name)]
    if missing:
        raise TypeError(
            f"model is a {type(model).__name__} without {', '.join(missing)}: expected a Seq2SeqTransformer or its like"
        )
    check_token_batch(source, model.pad_id)
    if 0 in tuple(source.shape):
        raise ValueError(
            f"source has shape {tuple(source.shape)}: expected at least one sequence of at least one token"
        )
    check_positive(max_length=max_length)
    if max_length > (longest := getattr(model, "max_length", max_length)):
        raise ValueError(f"max_length={max_length}: expected at most that of the model, {longest}")
    for name, token in (("start_id", start_id), ("end_id", end_id)):
        if isinstance(token, bool) or not isinstance(token, numbers.Integral):
            raise TypeError(f"{name}={token!r}: expected a whole number, got {type(token).__name__}")
        if token == model.pad_id:
            raise ValueError(f"{name}={token} is the id of padding: expected another")
        if not 0 <= token < getattr(model, "target_vocab_size", max(token, 0) + 1):
            raise ValueError(f"{name}={token}: expected an id inside the vocabulary of {model.target_vocab_size}")


def check_beam(beam_width: int, length_penalty: float) -> None:
    """Raise unless beam_width is a positive whole number, and length_penalty a number of at least 0."""
    check_positive(beam_width=beam_width)
    check_number(0, length_penalty=length_penalty)


def coding_tokens(model: Any, text: str | list[str]) -> np.ndarray:
    """Turn coding sequences into the token ids that a model of the genetic code reads.

    Args:
        model: its vocabularies and pad_id must be those of `shared.genetic_code`.
        text: DNA, in letters A, C, G, T of either case; or a list of such texts.

    Returns:
        (sequences, length) int64 ids, padded at the end.

    Raises:
        TypeError: if text is neither a text nor a list of texts.
        ValueError: if a text is empty, holds another letter, is not whole codons or is too long for the model; or if the model has other vocabularies.
    """
    sizes, expected = (
        (model.source_vocab_size, model.target_vocab_size),
        (len(SOURCE_VOCABULARY), len(TARGET_VOCABULARY)),
    )
    if (*sizes, model.pad_id) != (*expected, PAD_ID):
        raise ValueError(
            f"model has vocabularies of {sizes} tokens and pad_id={model.pad_id}:"
            f" expected {expected} and {PAD_ID}, as in shared.genetic_code"
        )
    if not isinstance(text, (str, list, tuple)) or not len(text):
        raise (ValueError if isinstance(text, (str, list, tuple)) else TypeError)(
            f"text={text!r}: expected a DNA sequence, or a list of at least one"
        )
    texts = [text] if isinstance(text, str) else list(text)
    for index, dna in enumerate(texts):
        name = "text" if isinstance(text, str) else f"text[{index}]"
        if not isinstance(dna, str):
            raise TypeError(f"{name}={dna!r}: expected a string, got {type(dna).__name__}")
        for place, letter in enumerate(dna, start=1):
            if letter not in NUCLEOTIDES + NUCLEOTIDES.lower():
                raise ValueError(f"letter {place} of {name}, {letter!r}, is not a nucleotide; known: {NUCLEOTIDES}")
        if len(dna) % 3 or not dna:
            raise ValueError(f"{name} has {len(dna)} letters: expected a multiple of 3, at least one codon")
        if len(dna) > model.max_length:
            raise ValueError(
                f"{name} has {len(dna)} letters: expected at most the model's max_length={model.max_length}"
            )
    return encode_source(texts)


def check_seq2seq(
    source_vocab_size: int, target_vocab_size: int, pad_id: int, shared_embeddings: bool, tie_weights: bool
) -> None:
    """Raise unless the arguments of `Seq2SeqTransformer` that no part of it checks fit together."""
    check_positive(source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size)
    check_choice(range(min(source_vocab_size, target_vocab_size)), pad_id=pad_id)
    check_choice((False, True), shared_embeddings=shared_embeddings, tie_weights=tie_weights)
    if shared_embeddings and source_vocab_size != target_vocab_size:
        raise ValueError(
            f"shared_embeddings=True with source_vocab_size={source_vocab_size} and target_vocab_size={target_vocab_size}:"
            " expected vocabularies of one size"
        )


def check_kind(kind: type, **values: Any) -> None:
    """Raise TypeError unless every value is an instance of the class."""
    for name, value in values.items():
        if not isinstance(value, kind):
            raise TypeError(f"{name} is a {type(value).__name__}: expected a {kind.__name__}")


def check_pair(source: Any, target: Any, pad_id: int) -> None:
    """Raise unless source and target, of any framework, are token ids of shape (batch, length), with one batch size.

    Raises:
        TypeError: if one is no array of whole numbers.
        ValueError: if one does not have two axes, or they differ in their number of rows.
    """
    check_token_batch(source, pad_id)
    check_token_batch(target, pad_id)
    rows = source.shape[0], target.shape[0]
    if None not in rows and rows[0] != rows[1]:
        raise ValueError(f"source has {rows[0]} rows and target {rows[1]}: expected a target for each source")
