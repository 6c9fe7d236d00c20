"""Prompts of different lengths as one batch, the texts that they become, and the window of them that a model reads."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from shared.frameworks.weights import as_numpy


def read_rows(prompt: Any, vocab_size: int, pad_id: int | None) -> list[list[int]]:
    """The prompts as lists of token ids, one for each text.

    Args:
        prompt: token ids; a list of such lists, of any lengths; or an array of any framework, (batch, length).
        vocab_size, pad_id: of the model; padding is refused.

    Raises:
        TypeError: if a token is not a whole number, an array has other axes, or prompt is something else.
        ValueError: if there is no token, or one is outside the vocabulary or is padding.
    """
    if hasattr(prompt, "shape"):
        if len(prompt.shape) != 2:
            raise TypeError(f"prompt has shape {tuple(prompt.shape)}: expected (batch, length)")
        rows = list(as_numpy(prompt))
    elif isinstance(prompt, Sequence) and not isinstance(prompt, str):
        rows = list(prompt) if len(prompt) and not isinstance(prompt[0], numbers.Integral) else [prompt]
    else:
        raise TypeError(
            f"prompt is a {type(prompt).__name__}: expected token ids, a list of lists of them, or an array"
        )
    for index, row in enumerate(rows):
        name = "prompt" if len(rows) == 1 else f"prompt[{index}]"
        whole = not isinstance(row, str) and hasattr(row, "__len__")
        if not whole or not all(isinstance(token, numbers.Integral) and not isinstance(token, bool) for token in row):
            raise TypeError(f"{name}={row!r}: expected whole numbers")
        if not len(row):
            raise ValueError(f"{name} is empty: expected at least one token")
        for token in row:
            if not 0 <= token < vocab_size:
                raise ValueError(f"token id {token} is outside the vocabulary of {vocab_size}")
            if pad_id is not None and token == pad_id:
                raise ValueError(
                    f"{name} holds pad_id={pad_id}: expected real tokens; give prompts of different lengths as lists"
                )
    return [[int(token) for token in row] for row in rows]


class Texts:
    """The texts that are being written, and the window of them that the model reads.

    Args:
        prompt: as for `read_rows`.
        model: its vocab_size, max_length and pad_id count.
        end_id: a text that gets this token is over; None if none ends.

    Attributes:
        rows: the whole texts, lists of ids.
        going: (batch,) booleans, False where a text is over.
        tokens, attention_mask: (batch, length) ids of the window, and True where one is no padding.
        restarted: whether the window has changed from its start, so that a cache of it is worth nothing.

    Raises:
        TypeError, ValueError: as `read_rows`, or if end_id is padding or outside the vocabulary, or a prompt is over max_length.
    """

    def __init__(self, prompt: Any, model: Any, end_id: int | None):
        if end_id is not None and (not 0 <= end_id < model.vocab_size or end_id == model.pad_id):
            raise ValueError(
                f"end_id={end_id}: expected an id inside the vocabulary of {model.vocab_size}, and not that of padding"
            )
        self.prompt, self.end_id, self.max_length = prompt, end_id, model.max_length
        self.rows = read_rows(prompt, model.vocab_size, model.pad_id)
        # What comes behind the end of a text: padding, or the end once more where a model has no padding.
        self.fill = next(token for token in (model.pad_id, end_id, 0) if token is not None)
        self.going = np.ones(len(self.rows), bool)
        longest = max(map(len, self.rows))
        if longest > self.max_length:
            raise ValueError(f"a prompt of {longest} tokens is over max_length={self.max_length}")
        self.restart([len(row) for row in self.rows])

    def check_length(self, max_new_tokens: int) -> None:
        """Raise ValueError unless the longest prompt and so many new tokens fit into the context."""
        if self.length + max_new_tokens > self.max_length:
            raise ValueError(
                f"a prompt of {self.length} tokens and max_new_tokens={max_new_tokens} are over"
                f' max_length={self.max_length}; on_full="slide" goes on'
            )

    def restart(self, kept: Sequence[int]) -> None:
        """Make the window anew of the last so many tokens of each text, padded at the end."""
        shape = (len(self.rows), self.max_length)
        self._tokens, self._attention_mask = np.full(shape, self.fill), np.zeros(shape, bool)
        for index, (row, count) in enumerate(zip(self.rows, kept)):
            self._tokens[index, :count] = row[len(row) - count :]
            self._attention_mask[index, :count] = True
        self.length, self.restarted = max(kept), True

    @property
    def tokens(self) -> np.ndarray:
        """(batch, length) ids of the window."""
        return self._tokens[:, : self.length]

    @property
    def attention_mask(self) -> np.ndarray:
        """(batch, length) booleans, True where the window has no padding."""
        return self._attention_mask[:, : self.length]

    @property
    def last(self) -> np.ndarray:
        """(batch,) positions of the last real token of each row of the window."""
        return self.length - 1 - self.attention_mask[:, ::-1].argmax(axis=1)

    def append(self, new: np.ndarray) -> None:
        """Add a token to every text that isn't over; a full window first forgets the older half of each full row."""
        self.restarted = False
        if self.length == self.max_length:
            counts = self.attention_mask.sum(axis=1)
            kept = np.where(counts == self.max_length, self.max_length // 2, counts)
            self.restart(np.where(self.going, kept, 1).tolist())
        self._tokens[:, self.length] = np.where(self.going, new, self.fill)
        self._attention_mask[:, self.length] = self.going
        self.length += 1
        for row, token, going in zip(self.rows, new.tolist(), self.going):
            if going:
                row.append(token)
        if self.end_id is not None:
            self.going = self.going & (new != self.end_id)

    def result(self) -> Any:
        """The texts in the form in which the prompt was given: a list, a list of lists, or an array."""
        if hasattr(self.prompt, "shape"):
            longest = max(map(len, self.rows))
            return np.array([row + [self.fill] * (longest - len(row)) for row in self.rows])
        return self.rows[0] if isinstance(self.prompt[0], numbers.Integral) else self.rows
