"""The table of `make device-check`: the CPU beside itself agrees, and a device that computes something else doesn't."""

import pytest
import torch

from shared.conformance.devices import beside_the_cpu
from shared.conformance.subjects import SUBJECTS

CPU = torch.device("cpu")
CHOSEN = [
    each for each in SUBJECTS if each.path in ("einops.LeNet", "gpt.GPTModel", "attention.scaled_dot_product_attention")
]


@pytest.mark.parametrize("subject", CHOSEN, ids=lambda subject: subject.path)
def test_the_cpu_agrees_with_itself_and_another_number_is_noticed(subject):
    row = beside_the_cpu(subject, CPU)
    assert row.ok and row.output == row.gradients == 0 and "DIFFERS" not in str(row)

    def move(thing, where):
        """To a device, `cpu:0`, whose numbers are 1 % too large."""
        if where == CPU or (isinstance(thing, torch.Tensor) and not thing.is_floating_point()):
            return thing
        if isinstance(thing, torch.Tensor):
            return thing * 1.01
        with torch.no_grad():
            for weight in thing.parameters():
                weight.mul_(1.01)
        return thing

    row = beside_the_cpu(subject, torch.device("cpu", 0), move)
    assert not row.ok and "DIFFERS" in str(row)


def test_what_a_device_cannot_do_is_a_row():
    row = beside_the_cpu(CHOSEN[0], torch.device("meta"))
    assert not row.ok and "NotImplementedError" in row.problem and "DIFFERS" in str(row)
