"""Whole numbers that a library would cut; imports no library, because the first line of every notebook comes by here."""

import sys
from typing import Any


def check_32_bits(**arrays: Any) -> None:
    """Raise ValueError if an array of NumPy has a whole number that 32 bits cannot hold: JAX would leave the lower ones."""
    numpy = sys.modules.get("numpy")  # an array is there only if it was imported
    for name, array in arrays.items():
        if numpy is not None and isinstance(array, numpy.ndarray) and array.dtype.kind in "iu" and array.size:
            for value in (array.min(), array.max()):
                if not -(2**31) <= value < 2**31:
                    raise ValueError(f"{name} holds {value}: expected ids inside the vocabulary")
