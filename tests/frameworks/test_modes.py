"""The mode of each module: its own again after a model was switched to evaluation, also after an error."""

import pytest
import torch

from shared.frameworks.modes import evaluation_mode
from shared.numpy import models as numpy_models

pytestmark = pytest.mark.chapter("02", "10", "12", "14", "17")


class NumpyStack(numpy_models.Module):
    def __init__(self):
        self.frozen = numpy_models.Dropout(0.5, 0)
        self.rest = ({"inner": numpy_models.Dropout(0.5, 0)},)


class PytorchStack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = torch.nn.Dropout(0.5)
        self.rest = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Dropout(0.5))])


def modes(model) -> list[bool]:
    parts = model.modules() if hasattr(model, "modules") else [tree for _, tree in model.trees()]
    return [part.training for part in parts]


@pytest.mark.parametrize("make", [NumpyStack, PytorchStack])
@pytest.mark.parametrize("training", [True, False])
def test_each_module_has_its_own_mode_again(make, training):
    model = make().train(training)
    model.frozen.train(not training)
    before = modes(model)
    assert len(set(before)) == 2
    with evaluation_mode(model):
        assert not any(modes(model))
    assert modes(model) == before
    with pytest.raises(ZeroDivisionError), evaluation_mode(model):
        1 / 0  # noqa: B018
    assert modes(model) == before
