"""Where the tests in the browser leave their pictures."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """A folder that git ignores, to look into after `make browser`."""
    folder = Path(__file__).resolve().parent / "screenshots"
    folder.mkdir(exist_ok=True)
    return folder
