"""One run in the three frameworks, and NumPy's beside each."""

import numpy as np
import pytest

from shared.conformance.same_run import train_pairs
from shared.frameworks.weights import get_weights, set_weights
from shared.keras import models as keras_models
from shared.keras import training as keras_training
from shared.numpy import models as numpy_models
from shared.numpy import training as numpy_training
from shared.pytorch import models as pytorch_models
from shared.pytorch import training as pytorch_training

TRAINING = {"NumPy": numpy_training, "PyTorch": pytorch_training, "Keras": keras_training}

pytestmark = [pytest.mark.keras, pytest.mark.chapter("02", "09")]


def batch_at(step):
    rng = np.random.default_rng(step)
    targets = rng.integers(0, 3, (4, 6))
    targets[:, 5:] = -100
    return rng.normal(size=(4, 6, 5)), targets


def models_alike():
    models = {
        "NumPy": numpy_models.MLP(5, 4, 3, rng=0),
        "PyTorch": pytorch_models.MLP(5, 4, 3).double(),
        "Keras": keras_models.MLP(5, 4, 3),
    }
    models["Keras"].build((None, None, 5))
    for model in models.values():
        set_weights(model, get_weights(models["NumPy"]))
    return models


@pytest.mark.tensorflow
def test_each_library_takes_the_steps_of_numpys_formula(float64):
    models = models_alike()
    start = get_weights(models["NumPy"])
    losses = train_pairs(TRAINING, models, batch_at, 12, 0.01, 3, 20, beta_2=0.98, clip_norm=0.1)
    assert {name: each.shape for name, each in losses.items()} == dict.fromkeys(losses, (12,))
    for name in ("PyTorch", "Keras"):
        np.testing.assert_allclose(losses[name], losses[f"NumPy as {name}"], rtol=1e-12)
    weights = {name: get_weights(model) for name, model in models.items()}
    for name, value in weights["NumPy"].items():
        assert np.abs(value - start[name]).max() > 1e-3
        np.testing.assert_allclose(weights["PyTorch"][name], value, atol=1e-13)
