"""The table of `make device-check`: the CPU beside itself agrees, and a device that computes something else doesn't."""

import numpy as np
import pytest

from shared.conformance import devices
from shared.conformance.devices import beside_the_cpu, run_keras, run_pytorch
from shared.conformance.subjects import SUBJECTS

CHOSEN = ("einops.LeNet", "gpt.GPTModel", "attention.scaled_dot_product_attention")
RUNS = [
    pytest.param(run_pytorch, "pytorch", id="pytorch"),
    pytest.param(run_keras, "keras", id="keras"),  # on TensorFlow
]


def subject(path: str, track: str):
    return next(each for each in SUBJECTS if each.path == path and track in each.tracks)


@pytest.mark.parametrize("run, track", RUNS)
@pytest.mark.parametrize("path", CHOSEN)
def test_the_cpu_agrees_with_itself_and_another_number_is_noticed(run, track, path):
    chosen = subject(path, track)
    row = beside_the_cpu(chosen, run, "cpu")
    assert row.ok and row.output == row.gradients == 0 and "DIFFERS" not in str(row)
    values, _ = run(chosen, "cpu", None)
    assert len(values) > 1  # gradients, too
    for changed, array in values.items():
        other = values | {changed: 2 * array}
        row = beside_the_cpu(
            chosen, lambda _, device, __, other=other: (values if device == "cpu" else other, None), "cuda"
        )
        if np.abs(array).max() > devices.BELOW:  # the gradient of a key's bias is zero
            assert not row.ok and "DIFFERS" in str(row), changed


def test_a_gradient_that_one_device_lacks_is_named():
    def without_one(subject, device, weights):
        values, weights = run_pytorch(subject, "cpu", weights)
        if device != "cpu":
            del values["gradient of query"]
        return values, weights

    row = beside_the_cpu(subject(CHOSEN[2], "pytorch"), without_one, "cuda")
    assert not row.ok and row.problem == "other gradients: gradient of query"


def test_what_a_device_cannot_do_is_a_row():
    row = beside_the_cpu(subject(CHOSEN[0], "pytorch"), run_pytorch, "meta")
    assert not row.ok and "NotImplementedError" in row.problem and "DIFFERS" in str(row)


def test_what_tensorflow_computes_elsewhere_is_a_row(monkeypatch):
    """TensorFlow takes another device in silence where it doesn't find the one that is asked for."""
    monkeypatch.setitem(devices.ON_TENSORFLOW, "cuda", "gpu:7")
    row = beside_the_cpu(subject(CHOSEN[0], "keras"), run_keras, "cuda")
    assert not row.ok and "computed on" in row.problem
