"""What chapter 09 draws."""

from itertools import pairwise

import pytest

from shared.drawing import training

pytestmark = [pytest.mark.form, pytest.mark.chapter("09")]


def test_surprise_is_described_and_not_clipped(check_picture):
    check_picture(
        lambda: training.surprise({"bank": 0.5, "money": 0.25}),
        "The loss −log p falls from infinity at p = 0 to 0 at p = 1. Points: bank at p = 0.50, loss 0.69; "
        "money at p = 0.25, loss 1.39.",
    )


def test_the_diagram_goes_round_from_parameters_to_parameters(check_diagram, edges_of):
    check_diagram(training.training_loop_diagram)
    loop = pairwise(("parameters", "model", "logits", "loss", "backward", "adam", "parameters"))
    given = [("batch", "model"), ("targets", "loss"), ("schedule", "adam")]
    assert edges_of(training.training_loop_diagram()) == sorted([*loop, *given])
