"""What every test starts from: the course's thread cap, and seeds that do not depend on the order of the tests."""

import shared.notebook  # isort: skip - limits the threads before NumPy is imported

import numpy as np
import pytest


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
