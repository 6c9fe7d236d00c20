"""Prompts of different lengths as one batch, with room for the tokens that a model adds to them."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from shared.arrays import as_numpy
from shared.checks import check_positive


def read_rows(prompt: Any, vocab_size: int) -> list[list[int]]:
    """The prompts as lists of token ids, one for each text.

    Args:
        prompt: token ids; a list of such lists, of any lengths; or an array of any framework, (batch, length).
        vocab_size: of the model.

    Raises:
        TypeError: if a token is not a whole number, an array has other axes, or prompt is something else.
        ValueError: if there is no token, or one is outside the vocabulary.
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
    return [[int(token) for token in row] for row in rows]


class Prompts:
    """The texts that are being written, one row each; shorter prompts are padded on the left, so that all new tokens are on the right.

    Args:
        prompt: as for `read_rows`.
        model: its vocab_size and max_length count.
        max_new_tokens: how many tokens each text gets.
        end_id: a text that gets this token is over; None if none ends.

    Attributes:
        tokens: (batch, longest prompt) ids, 0 before the first of a shorter prompt.
        mask: (batch, 1, 1, longest prompt + max_new_tokens) booleans, False at that padding; None where all prompts are equally long.

    Raises:
        TypeError, ValueError: as `read_rows`, or if end_id is outside the vocabulary, or the texts would be over max_length.
    """

    def __init__(self, prompt: Any, model: Any, max_new_tokens: int, end_id: int | None):
        check_positive(max_new_tokens=max_new_tokens)
        if end_id is not None and not 0 <= end_id < model.vocab_size:
            raise ValueError(f"end_id={end_id}: expected an id inside the vocabulary of {model.vocab_size}")
        self.prompt, self.end_id = prompt, end_id
        self.rows = read_rows(prompt, model.vocab_size)
        lengths = np.array([len(row) for row in self.rows])
        longest = int(lengths.max())
        if longest > model.max_length:
            raise ValueError(f"a prompt of {longest} tokens is over max_length={model.max_length}")
        total = longest + max_new_tokens
        if total > model.max_length:
            raise ValueError(
                f"a prompt of {longest} tokens and max_new_tokens={max_new_tokens} are over"
                f" max_length={model.max_length}; shared.numpy.gpt.generate_sliding goes on"
            )
        is_real = np.arange(total) >= (longest - lengths)[:, None]
        self.tokens = np.zeros((len(lengths), longest), dtype=int)
        self.tokens[is_real[:, :longest]] = np.concatenate(self.rows)
        self.mask = None if is_real.all() else is_real[:, None, None]

    def result(self, tokens: Any) -> Any:
        """The texts in the form in which the prompt was given: a list, a list of lists, or an array, in which a text that is over repeats end_id.

        Args:
            tokens: (batch, length): `tokens`, and all that was written after them.
        """
        texts = []
        for row, written in zip(self.rows, as_numpy(tokens).tolist()):
            new = written[self.tokens.shape[1] :]
            if self.end_id in new:
                new = new[: new.index(self.end_id) + 1]
            texts.append(row + new)
        if hasattr(self.prompt, "shape"):
            longest = max(map(len, texts))
            return np.array([text + [self.end_id] * (longest - len(text)) for text in texts])
        return texts[0] if isinstance(self.prompt[0], numbers.Integral) else texts
