"""Each law is broken on purpose, and says so: a law that cannot fail proves nothing."""

import keras
import numpy as np
import pytest
import torch

from shared.conformance import laws
from shared.numpy.models import Linear, Module
from shared.pytorch import models as pytorch_models

pytestmark = pytest.mark.chapter("02")

X = {"x": np.arange(24.0).reshape(2, 4, 3)}
OTHERS = {"x": -X["x"]}


def running(x):
    """What keeps every law of order: the sum so far."""
    return np.cumsum(x, axis=1)


def drawn(x):
    return np.random.random(x.shape)


def careless(x):
    x += 1
    return x


def same(x):
    return x


def longer(x):
    return {"x": np.concatenate([x, np.ones_like(x[:, :1])], axis=1)}


class Reader:
    """Adds up what it has read, if it remembers."""

    def __init__(self, remembers):
        self.total, self.remembers = 0.0, remembers

    def read(self, x):
        outputs = self.total + running(x)
        self.total = outputs[:, -1:] if self.remembers else 0.0
        return outputs


def with_cache(x, cache=None):
    return running(x) if cache is None else cache.read(x)


class Overwrites(Module):
    """Its second backward pass takes the place of the first."""

    def __init__(self):
        self.linear = Linear(3, 2, 0)

    def forward(self, x):
        return self.linear(x)

    def backward(self, grad_output):
        self.zero_grad()
        return self.linear.backward(grad_output)


def fails(name):
    raise ValueError(f"{name}=3: expected at most 2")


KEPT = {
    "one function": lambda: laws.one_function(same, same, X),
    "same each time": lambda: laws.same_each_time(running, X),
    "dropout": lambda: laws.drops_in_training_only(drawn, same, X),
    "padding": lambda: laws.hides_padding(running, X, longer(X["x"])),
    "future": lambda: laws.hides_the_future(running, X, OTHERS, "x"),
    "cache": lambda: laws.cache_changes_nothing(with_cache, lambda: Reader(True), X, "x", (1, 3)),
    "gradients": lambda: laws.adds_up_gradients(Linear(3, 2, 0), X, np.ones((2, 4, 2))),
    "error": lambda: laws.refuses(lambda: fails("size"), ValueError, ("size",)),
}
BROKEN = {
    "another function": lambda: laws.one_function(same, running, X),
    "another shape": lambda: laws.one_function(same, lambda x: x[:1], X),
    "not a number": lambda: laws.one_function(same, lambda x: x * np.nan, X),
    "random": lambda: laws.same_each_time(drawn, X),
    "an input is changed": lambda: laws.same_each_time(careless, X),
    "no dropout in training": lambda: laws.drops_in_training_only(same, same, X),
    "dropout in evaluation": lambda: laws.drops_in_training_only(drawn, drawn, X),
    "padding is seen": lambda: laws.hides_padding(lambda x: x - x.mean(axis=1, keepdims=True), X, longer(X["x"])),
    "nothing is hidden": lambda: laws.hides_padding(running, X, longer(X["x"]), shows=longer(X["x"])),
    "the future is seen": lambda: laws.hides_the_future(lambda x: running(x[:, ::-1])[:, ::-1], X, OTHERS, "x"),
    "nothing is seen": lambda: laws.hides_the_future(lambda x: 0 * x, X, OTHERS, "x"),
    "a cache forgets": lambda: laws.cache_changes_nothing(with_cache, lambda: Reader(False), X, "x", (1, 3)),
    "gradients are overwritten": lambda: laws.adds_up_gradients(Overwrites(), X, np.ones((2, 4, 2))),
    "no error": lambda: laws.refuses(lambda: None, ValueError, ("size",)),
    "another error": lambda: laws.refuses(lambda: fails("size"), TypeError, ("size",)),
    "an error without a name": lambda: laws.refuses(lambda: fails("resize"), ValueError, ("size",)),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_keeps_a_law_is_found_to(name):
    finding = KEPT[name]()
    assert finding and "BROKEN" not in str(finding)


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_law_is_found_to(name):
    finding = BROKEN[name]()
    assert not finding and str(finding).endswith(": BROKEN")


def test_a_model_that_was_not_saved_whole_is_found(tmp_path):
    class Half(torch.nn.Module):
        """Half of it is no parameter, so no file has it."""

        def __init__(self):
            super().__init__()
            self.linear, self.scale = torch.nn.Linear(3, 3), torch.rand(3)

        def forward(self, x):
            return self.linear(x) * self.scale

    inputs = {"x": np.ones((2, 3), "float32")}
    assert not laws.saving_changes_nothing(Half(), Half(), inputs, tmp_path / "weights.safetensors")
    models = [pytorch_models.MLP(3, 4, 2) for _ in range(2)]
    assert laws.saving_changes_nothing(*models, inputs, tmp_path / "weights.safetensors")


def test_a_mode_that_is_changed_for_good_is_found():
    model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Dropout(0.5))
    assert laws.keeps_modes(model, lambda model: None)
    assert not laws.keeps_modes(model, lambda model: model.eval())


def test_a_tensor_that_stays_behind_is_found():
    class Forgetful(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) + torch.arange(2.0)

    x = {"x": torch.empty(4, 3, device="meta", requires_grad=True)}
    assert laws.stays_on_its_device(lambda x: x * 2, x)
    assert not laws.stays_on_its_device(lambda x: Forgetful(3, 2).to("meta")(x), x)
    assert not laws.stays_on_its_device(lambda x: torch.ones(2), x)


@keras.saving.register_keras_serializable(package="three_ways_tests")
class Forgets(keras.layers.Layer):
    def __init__(self, size=3, **kwargs):
        super().__init__(**kwargs)

    def get_config(self):
        return {name: value for name, value in super().get_config().items() if name != "size"}


@pytest.mark.keras
def test_an_argument_that_a_config_lacks_is_found():
    assert not laws.config_makes_it_again(Forgets())
    assert laws.config_makes_it_again(keras.layers.Dropout(0.5))
