"""The page *Which framework?*: each call of its dictionary runs as it is typed."""

import numpy as np
import pytest
from dictionaries import NOTEBOOKS, rows_of, values_of

PAGE = "00_which_framework.ipynb"


@pytest.fixture
def arrays(rng, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # the calls write files
    may = np.tril(np.ones((2, 5, 5), bool))
    return {name: rng.normal(size=shape).astype("float32") for name, shape in SHAPES.items()} | {"may": may}


SHAPES = {"x": (32, 8), "y": (32, 1), "q": (2, 5, 16)}


def test_pytorch_runs_as_typed(arrays):
    import torch

    names = {name: torch.tensor(array) for name, array in arrays.items()} | {"torch": torch}
    values_of(PAGE, 1, names, lambda row: False)
    for name, parameter in names["model"].named_parameters():
        assert torch.isfinite(parameter).all(), name
    assert names["again"].hidden.weight.shape == (32, 8)


@pytest.mark.keras
@pytest.mark.tensorflow
def test_keras_runs_as_typed(arrays, tmp_path):
    import keras
    import tensorflow as tf

    names = arrays | {"keras": keras, "tf": tf}
    values_of(PAGE, 2, names, lambda row: False)
    assert (tmp_path / "net").is_dir() and (tmp_path / "net.keras").is_file()
    np.testing.assert_allclose(names["again"](arrays["x"]), names["model"](arrays["x"]), rtol=1e-5, atol=1e-6)


def test_both_columns_have_every_row():
    assert (NOTEBOOKS / PAGE).is_file()
    assert all(len(row) == 3 and all(row) for row in rows_of(PAGE))
