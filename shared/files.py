"""Files: write one whole or not at all, so that a full disk or a power cut leaves the old one, and see that a path is one.

Nothing but Python's standard library is needed: `make slides` writes with it where the notebooks' libraries are not installed.
"""

import contextlib
import os
from pathlib import Path
from typing import Any


def check_path(**paths: Any) -> None:
    """Raise TypeError unless every value is a path: a string, or what `pathlib` makes."""
    for name, path in paths.items():
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"{name}={path!r}: expected a path, got {type(path).__name__}")


def write_whole(path: str | os.PathLike, content: bytes | str) -> None:
    """Write a file; an old one of that name stays as it was until all of the new one is on disk.

    Args:
        path: the file, in a folder that exists. What is not complete yet stands beside it, with `.part` behind its name.
        content: bytes, or text, which is written in UTF-8.

    Raises:
        TypeError: if path is no path.
        OSError: if the file cannot be written.
    """
    check_path(path=path)
    path, data = Path(path), content.encode() if isinstance(content, str) else content
    aside = path.with_name(path.name + ".part")
    try:
        with open(aside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # on disk before the name points to it
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise
