"""Checks of texts, token ids and lengths: what tokenizers and data sets are given."""

from collections.abc import Iterable, Sequence
from typing import Any

from shared.checks import check_positive


def check_unicode(**texts: Any) -> None:
    """Raise unless every value is text that UTF-8 can write.

    Raises:
        TypeError: if one is not a string.
        ValueError: if one holds half of a surrogate pair, which stands for no character.
    """
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{name}={text!r}: expected text, got {type(text).__name__}")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{name}={text!r}: expected text, got half a surrogate pair at place {error.start}"
            ) from error


def check_texts(**lists: Any) -> list[str]:
    """The one value as a list, after a check that it holds strings that UTF-8 can write, at least one.

    Raises:
        TypeError: if it is a single string or no list, or holds something else than strings.
        ValueError: if it is empty, or a string holds half of a surrogate pair.
    """
    ((name, texts),) = lists.items()
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"{name}={texts!r}: expected a list of strings, got {type(texts).__name__}")
    texts = list(texts)
    if not texts:
        raise ValueError(f"{name} is empty: expected at least one string")
    check_unicode(**{f"{name}[{index}]": text for index, text in enumerate(texts)})
    return texts


def check_width(lengths: Sequence[int], max_length: int | None) -> int:
    """The width of an array that holds rows of these lengths: max_length, or the longest where it is None.

    Raises:
        TypeError: if max_length is not a whole number.
        ValueError: if a row is longer than max_length.
    """
    longest = max(lengths)
    if max_length is None:
        return longest
    check_positive(max_length=max_length)
    if longest > max_length:
        raise ValueError(f"length {longest} is over max_length={max_length}")
    return max_length


def check_range(**ranges: Any) -> tuple[int, int]:
    """The one value as (shortest, longest), after a check that it is such a pair, or a single length for both.

    Raises:
        TypeError: if a length is not a whole number.
        ValueError: if a length is below 1, or the first is above the second.
    """
    ((name, value),) = ranges.items()
    shortest, longest = value if isinstance(value, tuple | list) and len(value) == 2 else (value, value)
    for length in (shortest, longest):
        check_positive(**{name: length})
    if shortest > longest:
        raise ValueError(f"{name}={value!r}: expected (shortest, longest)")
    return shortest, longest
