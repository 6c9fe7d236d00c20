"""What a tokenizer has learned: which words and merges it may hold, how JSON writes bytes, and the file that the three tracks share.

The file is JSON, {"format": ..., "unit": ..., "vocabulary": [...]} for words and {"format": ..., "merges": [[left, right], ...]}
for byte pairs. It holds text alone, so nothing that is loaded can run code.
"""

import contextlib
import json
import numbers
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from shared.checks import check_positive
from shared.checks.text import check_texts
from shared.files import check_path, write_whole

PAD_ID = 0
WORD_SPECIALS = ("[PAD]", "[UNK]")  # ids 0 and 1 of a vocabulary of whole words
GPT_SPECIALS = ("<pad>", "<end>")  # ids 0 and 1 of one of byte pairs
Unit = Literal["word", "letter"]
FORMAT = "transformers-three-ways tokenizer 1"
# Byte -> the letter that JSON writes it as, in the order of their ids: printable bytes as they are, the others above them.
_PRINTABLE = [byte for byte in range(256) if 33 <= byte <= 126 or (161 <= byte and byte != 173)]
BYTE_LETTERS = {byte: chr(byte) for byte in _PRINTABLE}
BYTE_LETTERS |= {
    byte: chr(256 + index) for index, byte in enumerate(byte for byte in range(256) if byte not in BYTE_LETTERS)
}
_BYTES = {letter: byte for byte, letter in BYTE_LETTERS.items()}


def to_letters(token: bytes) -> str:
    """A token of bytes as GPT-2's files write it, a letter a byte: b" robot" becomes "Ġrobot"."""
    return "".join(BYTE_LETTERS[byte] for byte in token)


def from_letters(token: str) -> bytes:
    """The bytes of a token that is written a letter a byte; ValueError if a letter stands for no byte."""
    for letter in token:
        if letter not in _BYTES:
            raise ValueError(f"token={token!r}: {letter!r} stands for no byte")
    return bytes(_BYTES[letter] for letter in token)


def byte_pair_vocabulary(merges: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """The tokens of byte pairs by id: the special ones, the 256 bytes, and what the merges made, in order and each once."""
    made = dict.fromkeys(left + right for left, right in merges)
    return [*(token.encode() for token in GPT_SPECIALS), *(bytes([byte]) for byte in BYTE_LETTERS), *made]


def check_vocabulary(vocabulary: Sequence[str], unit: str) -> list[str]:
    """A vocabulary of words or letters as a list; ValueError unless it begins with WORD_SPECIALS and holds each unit once."""
    vocabulary = list(vocabulary)
    if tuple(vocabulary[:2]) != WORD_SPECIALS or len(vocabulary) < 3:
        raise ValueError(
            f"vocabulary begins with {vocabulary[:2]}: expected {', '.join(WORD_SPECIALS)}, then at least one word"
        )
    seen = set()
    for index, token in enumerate(vocabulary):
        if token in seen:
            raise ValueError(f"vocabulary holds {token!r} twice: expected each {unit} once")
        seen.add(token)
        alone = len(token) == 1 if unit == "letter" else token.encode().split() == [token.encode()]
        if index > 1 and ("\0" in token or not alone):
            raise ValueError(f"vocabulary[{index}]={token!r}: expected one {unit}")
    return vocabulary


def check_learned(learned: Sequence[str], vocab_size: int | None) -> None:
    """ValueError unless there is at least one word, and vocab_size has room for one beside WORD_SPECIALS."""
    if not learned:
        raise ValueError("sentences hold no word: expected at least one")
    if vocab_size is not None and vocab_size < 3:
        raise ValueError(f"vocab_size={vocab_size}: expected at least 3, for {', '.join(WORD_SPECIALS)} and a word")


def check_byte_pair_size(vocab_size: int) -> None:
    """ValueError unless a vocabulary of byte pairs of that size holds every byte, and an array can be as long."""
    if vocab_size < len(byte_pair_vocabulary([])):
        raise ValueError(f"vocab_size={vocab_size}: expected at least 258, with every byte")
    check_positive(vocab_size=vocab_size)


def check_merges(merges: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Merges as a list; TypeError or ValueError unless each is a new pair of bytes or of what earlier merges made."""
    if isinstance(merges, str | bytes) or not isinstance(merges, Iterable):
        raise TypeError(f"merges={merges!r}: expected a list of pairs of bytes, got {type(merges).__name__}")
    known, found = {bytes([byte]) for byte in range(256)}, {}
    for index, pair in enumerate(merges):
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(part, bytes) for part in pair)):
            raise TypeError(f"merges[{index}]={pair!r}: expected a pair of bytes")
        for part in pair:
            if part not in known:
                raise ValueError(
                    f"merges[{index}]={pair!r}: {part!r} is no token yet: expected a byte or a merge before"
                )
        if tuple(pair) in found:
            raise ValueError(
                f"merges[{index}]={pair!r}: expected each pair once, and merges[{found[tuple(pair)]}] is it"
            )
        found[tuple(pair)] = index
        known.add(pair[0] + pair[1])
    return list(found)


def check_encodes(tokenizer: Any) -> None:
    """TypeError unless the tokenizer has a method encode; a string's own encode is another."""
    if isinstance(tokenizer, str) or not callable(getattr(tokenizer, "encode", None)):
        _complain_of(tokenizer)


def _complain_of(tokenizer: Any) -> None:
    kind = type(tokenizer).__name__
    raise TypeError(f"tokenizer is a {kind}: expected one whose encode(text) returns a list of ids")


def check_rows(rows: Sequence[Any], tokenizer: Any, max_length: int | None) -> int:
    """The width of an array that holds these rows of ids; an error if they are no lists, or one is longer than max_length."""
    if not isinstance(rows[0], list):
        _complain_of(tokenizer)
    if max_length is None:
        return max(map(len, rows))
    check_positive(max_length=max_length)
    for index, row in enumerate(rows):
        if len(row) > max_length:
            raise ValueError(f"length {len(row)} of texts[{index}] is over max_length={max_length}")
    return max_length


def check_ids(ids: Iterable[Any], vocab_size: int) -> Iterable[int]:
    """The ids one by one, each checked as it comes: a whole number in the vocabulary."""
    if hasattr(ids, "shape"):
        if "int" not in str(ids.dtype) and tuple(ids.shape) != (0,):
            raise TypeError(f"ids have dtype {ids.dtype}: expected whole numbers")
        if len(ids.shape) != 1:
            raise TypeError(f"ids have shape {tuple(ids.shape)}: expected (length,), the ids of one text")
        ids = [int(value) for value in ids]
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise TypeError(f"ids={ids!r}: expected token ids, got {type(ids).__name__}")
    for index, value in enumerate(ids):
        value = value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"ids[{index}]={value!r}: expected a whole number, got {type(value).__name__}")
        if not 0 <= value < vocab_size:
            raise ValueError(f"token id {value} is outside the vocabulary of {vocab_size}")
        yield int(value)


# The file


def write_words(path: str | os.PathLike, vocabulary: list[str], unit: str) -> None:
    """Write a vocabulary of words or letters to a file: whole or not at all."""
    _write(path, {"format": FORMAT, "unit": unit, "vocabulary": vocabulary})


def read_words(path: str | os.PathLike) -> tuple[list[str], str]:
    """The vocabulary and its unit from a file; FileNotFoundError if there is none, ValueError if it holds something else."""
    content = _read(path, "words", {"unit", "vocabulary"})
    with _named(path):
        unit, vocabulary = content["unit"], content["vocabulary"]
        if unit not in ("word", "letter"):
            raise ValueError(f"unit={unit!r}: expected 'word' or 'letter'")
        if not isinstance(vocabulary, list) or not all(isinstance(token, str) for token in vocabulary):
            raise ValueError("vocabulary: expected a list of strings")
        return check_vocabulary(check_texts(vocabulary=vocabulary), unit), unit


def write_merges(path: str | os.PathLike, merges: list[tuple[bytes, bytes]]) -> None:
    """Write merges to a file, a letter a byte: whole or not at all."""
    _write(path, {"format": FORMAT, "merges": [[to_letters(left), to_letters(right)] for left, right in merges]})


def read_merges(path: str | os.PathLike) -> list[tuple[bytes, bytes]]:
    """The merges from a file; FileNotFoundError if there is none, ValueError if it holds something else."""
    content = _read(path, "byte pairs", {"merges"})
    with _named(path):
        merges = content["merges"]
        if not isinstance(merges, list):
            raise ValueError("merges: expected a list of pairs")  # noqa: TRY004 - of a file
        for index, pair in enumerate(merges):
            if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
                raise ValueError(f"merges[{index}]={pair!r}: expected two strings")
        return check_merges([(from_letters(left), from_letters(right)) for left, right in merges])


@contextlib.contextmanager
def _named(path: str | os.PathLike):
    """Say of which file a complaint is."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{Path(path).name}: {error}") from error


def _write(path: str | os.PathLike, content: dict) -> None:
    write_whole(path, json.dumps(content, ensure_ascii=False, indent=0))


def _each_once(pairs: list[tuple[str, Any]]) -> dict:
    """An object of JSON as a dict, which would keep the last of two entries with one name."""
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ValueError(f"{name} is there {count} times: expected it once")
    return dict(pairs)


def _read(path: str | os.PathLike, kind: str, keys: set[str]) -> dict:
    check_path(path=path)
    with _named(path):
        try:
            content = json.loads(Path(path).read_bytes().decode("utf-8-sig"), object_pairs_hook=_each_once)
        except UnicodeDecodeError as error:
            raise ValueError(f"expected JSON in UTF-8; byte {error.start} is not") from error
        except json.JSONDecodeError as error:
            raise ValueError(f"expected JSON; it ends or breaks at character {error.pos}") from error
        except RecursionError:
            raise ValueError("expected JSON of a tokenizer; this is nested too deeply") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f'expected a tokenizer of this course, with "format": "{FORMAT}"')
        if set(content) != {"format", *keys}:
            found = ", ".join(sorted(map(str, set(content) - {"format"}))) or "nothing"
            raise ValueError(f"expected {kind}, that is {', '.join(sorted(keys))}; the file holds {found:.80}")
        return content
