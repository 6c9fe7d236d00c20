"""The modes of a model: training, where dropout acts, or evaluation."""

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def evaluation_mode(model: Any) -> Iterator[None]:
    """Put a model of the NumPy or PyTorch track into evaluation mode, and then each of its modules back into its own.

    A part that was frozen in evaluation mode stays in it; also when what is done meanwhile ends with an error.
    """
    # Keras has no such flag: there, each call says which mode it means.
    parts = model.modules() if hasattr(model, "modules") else (tree for _, tree in model.trees())
    training = [(part, part.training) for part in parts]
    model.eval()
    try:
        yield
    finally:
        for part, was_training in training:
            part.training = was_training
