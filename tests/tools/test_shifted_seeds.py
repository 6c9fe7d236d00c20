"""`make test-seeds` moves the seeds of the course's code, in every framework, and no seed of a stored thing."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.form

ROOT = Path(__file__).resolve().parents[2]
DRAWN = """
import random
import shared.notebook
import numpy as np, torch, keras
from shared import digits, exercises, housing

shared.set_seed(0)
print("python:", random.random())
print("legacy:", np.random.random())
print("torch:", float(torch.rand(1)))
print("numpy:", np.random.default_rng(0).random())
print("of a step:", np.random.default_rng((0, 7)).random())
print("generator:", float(torch.rand(1, generator=torch.Generator().manual_seed(0))))
print("keras:", float(keras.random.uniform((), seed=keras.random.SeedGenerator(0))))
keras.utils.set_random_seed(0)
print("keras, all:", float(keras.random.uniform(())))
print("data:", float(housing.load(seed=0).features.sum()))
print("split of the digits:", float(digits.load().x_train[0].sum()))
"""


def drawn(shift: int) -> dict[str, str]:
    """What a process draws whose seeds are shifted."""
    environment = {**os.environ, "SEED_SHIFT": str(shift), "PYTHONPATH": str(ROOT / "tools/shifted_seeds")}
    result = subprocess.run([sys.executable, "-c", DRAWN], env=environment, capture_output=True, text=True, check=True)
    return dict(line.split(": ") for line in result.stdout.splitlines())


def test_every_seed_of_the_course_is_shifted_and_no_stored_one():
    first, moved, again = drawn(0), drawn(5), drawn(5)
    assert moved == again
    assert {name for name in first if first[name] == moved[name]} == {"split of the digits"}
    assert moved["numpy"] == str(np.random.default_rng(5).random())
    assert moved["of a step"] == str(np.random.default_rng((5, 7)).random())
