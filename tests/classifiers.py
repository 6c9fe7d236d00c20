"""A small classifier with dropout in the three tracks, its batches, and runs of it, for the tests of chapters 09 and 17."""

import json

import keras
import numpy as np
import torch
from torch.optim.lr_scheduler import LambdaLR

from shared.arrays import as_numpy
from shared.conformance.same_run import keras_steps
from shared.frameworks.weights import get_weights
from shared.keras import models as keras_models
from shared.keras import training as keras_training
from shared.numpy import models as numpy_models
from shared.numpy import training as numpy_training
from shared.numpy.training import warmup_schedule
from shared.pytorch import models as pytorch_models
from shared.pytorch import training as pytorch_training

FEATURES, HIDDEN, CLASSES = 6, 8, 5
ARRAYS = ["numpy", "pytorch"]


class NumpyClassifier(numpy_models.Module):
    def __init__(self, dropout=0.3, seed=0):
        rng = np.random.default_rng(seed)
        self.dropout = numpy_models.Dropout(dropout, rng)
        self.mlp = numpy_models.MLP(FEATURES, HIDDEN, CLASSES, rng)
        self.astype(np.float32)

    def forward(self, x):
        return self.mlp(self.dropout(x))

    def backward(self, grad_output):
        return self.dropout.backward(self.mlp.backward(grad_output))


class PytorchClassifier(torch.nn.Module):
    def __init__(self, dropout=0.3, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.dropout = torch.nn.Dropout(dropout)
        self.mlp = pytorch_models.MLP(FEATURES, HIDDEN, CLASSES)

    def forward(self, x):
        return self.mlp(self.dropout(x))


class KerasClassifier(keras.Model):
    def __init__(self, dropout=0.3, seed=0):
        super().__init__()
        keras.utils.set_random_seed(seed)
        self.dropout = self.make_dropout(dropout, seed)
        self.mlp = keras_models.MLP(FEATURES, HIDDEN, CLASSES)
        self.build((None, None, FEATURES))

    def make_dropout(self, dropout, seed):
        return keras.layers.Dropout(dropout, seed=seed)

    def build(self, input_shape):
        self.mlp.build(input_shape)
        self.built = True

    def call(self, x, training=None):
        return self.mlp(self.dropout(x, training=training))


MODULES = {"numpy": numpy_training, "pytorch": pytorch_training, "keras": keras_training}
CLASSIFIERS = {"numpy": NumpyClassifier, "pytorch": PytorchClassifier, "keras": KerasClassifier}


def batch_at(step):
    rng = np.random.default_rng((7, step))
    targets = rng.integers(0, CLASSES, (4, 9))
    targets[:, 7:] = -100
    return rng.normal(size=(4, 9, FEATURES)).astype(np.float32), targets


def make(track, dropout=0.3, seed=0, **options):
    """A classifier of a track and its optimizer, with everything that can be switched on switched on."""
    model = CLASSIFIERS[track](dropout, seed)
    return model, make_optimizer(track, model, **options)


def make_optimizer(track, model, **options):
    """The optimizer alone; PyTorch's has its scheduler as an attribute, for `train` below."""
    if track == "pytorch":
        adam = torch.optim.AdamW(model.parameters(), lr=0.05, weight_decay=0.1)
        adam.scheduler = LambdaLR(adam, warmup_schedule(1.0, 3, 40))
        return adam
    if track == "keras":
        decay = keras.optimizers.schedules.CosineDecay(0.0, 37, warmup_target=0.05, warmup_steps=3)
        return keras.optimizers.AdamW(decay, weight_decay=0.1, global_clipnorm=0.5)
    options = {"learning_rate": warmup_schedule(0.05, 3, 40), "weight_decay": 0.1, "clip_norm": 0.5} | options
    return numpy_training.AdamW(model, **options)


def train(track, model, adam, batches, num_steps, label_smoothing=0.0, **options):
    """`train` of a track, and of Keras its own steps; PyTorch's is given the scheduler and the clipping, too."""
    if track == "keras":
        loss = keras_training.SparseCrossEntropy(label_smoothing)
        return keras_steps(model, adam, loss, batches, num_steps, **options)
    if track == "pytorch":
        options |= {"scheduler": adam.scheduler, "clip_norm": 0.5}
    return MODULES[track].train(model, adam, batches, num_steps, label_smoothing=label_smoothing, **options)


def taken(track, adam):
    """How many steps an optimizer has taken."""
    if track == "numpy":
        return adam.steps
    return pytorch_training.steps_taken(adam) if track == "pytorch" else int(adam.iterations)


def state(track, model, optimizer):
    """Everything that a run depends on, as arrays and numbers."""
    found = {f"model/{name}": value for name, value in get_weights(model).items()} | {"steps": taken(track, optimizer)}
    if track == "numpy":
        found |= {f"m/{name}": value.copy() for name, value in optimizer.first_moment.items()}
        found |= {f"v/{name}": value.copy() for name, value in optimizer.second_moment.items()}
        found["random"] = json.dumps(model.dropout.rng.bit_generator.state)
    elif track == "pytorch":
        for number, parameter in enumerate(model.parameters()):
            found |= {f"{number}/{key}": value.clone() for key, value in optimizer.state.get(parameter, {}).items()}
        found["last_epoch"], found["rates"] = optimizer.scheduler.last_epoch, optimizer.scheduler.get_last_lr()
        found["rates of the groups"] = [group["lr"] for group in optimizer.param_groups]
        found["random"] = torch.get_rng_state()
    else:
        found |= {f"{number}": as_numpy(value) for number, value in enumerate(optimizer.variables)}
        found["random"] = as_numpy(model.dropout.seed_generator.state)
        if keras.backend.backend() == "torch":
            found["random of PyTorch"] = torch.get_rng_state()
    return found


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name in expected:
        assert np.array_equal(np.asarray(found[name]), np.asarray(expected[name])), name
