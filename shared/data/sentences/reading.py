"""A text of the reader's own, in the place of the grammar's sentences."""

import codecs
import os
import pathlib

from shared.files import check_path


def read_corpus(path: str | os.PathLike) -> list[str]:
    """Read a text of the reader's own, to be used in the place of the sentences of `shared.grammar.sample`.

    Args:
        path: a UTF-8 text file, a sentence or paragraph on each line. A byte-order mark is skipped.

    Returns:
        The lines that are not empty, without the white space around them.

    Raises:
        ValueError: if the file has no text, or is not UTF-8; the message names the line, counting from 1.
        OSError: if the file cannot be read.
    """
    check_path(path=path)
    path = pathlib.Path(path)
    data = path.read_bytes().removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        lines = [line.strip() for line in data.decode("utf-8").split("\n")]
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {number} of {path.name} is not UTF-8 text: {error.reason}") from error
    lines = [line for line in lines if line]
    if not lines:
        raise ValueError(f"{path.name} is empty: expected lines of text")
    return lines
