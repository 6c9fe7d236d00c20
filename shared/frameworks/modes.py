"""The mode of a model: training, where dropout acts, or evaluation."""

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def evaluation_mode(model: Any) -> Iterator[None]:
    """Put a model into evaluation mode, and back into the mode it came in, also when it ends with an error."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
