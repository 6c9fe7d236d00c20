"""What every test starts from: the course's limit of threads, and seeds that do not depend on the order of the tests."""

import shared.notebook  # isort: skip - limits the threads before NumPy is imported

from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parent


def pytest_addoption(parser):
    parser.addoption(
        "--chapter", help="two digits: only the tests of this chapter, and of the form of all that it is part of"
    )


def pytest_collection_modifyitems(config, items):
    """Mark the tests of form, and leave out those of other chapters, where `--chapter` asks for one; the notebooks come first.

    They take minutes each, so at the end there is something short for a process that has nothing left.
    """
    items.sort(key=lambda item: FOLDER in item.path.parents)
    wanted = config.getoption("--chapter")
    left_out = []
    for item in items:
        folder = item.path.relative_to(FOLDER).parts[0] if FOLDER in item.path.parents else ""
        if folder == "form":
            item.add_marker("form")
        of_chapters = {number for mark in item.iter_markers("chapter") for number in mark.args}
        if of_chapters:
            asked = wanted in of_chapters
        else:
            asked = folder in ("", "form") or folder.startswith(f"{wanted}_")
        if wanted and not asked:
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same seeds, whichever ran before it."""
    shared.set_seed(0)


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator of random inputs."""
    return np.random.default_rng(0)


@pytest.fixture
def float64():
    """Make Keras compute in float64 during a test."""
    import keras

    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")  # an earlier layer has fixed the policy, and floatx alone changes nothing
    yield
    keras.config.set_floatx("float32")
    keras.config.set_dtype_policy("float32")
