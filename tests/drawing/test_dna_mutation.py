"""What chapter 10 draws."""

from itertools import pairwise

import pytest

from shared.drawing import dna_mutation

pytestmark = [pytest.mark.form, pytest.mark.chapter("10")]


def draw_costs():
    return dna_mutation.prediction_costs(0.8, {"a coin": 0.5, "exact": 0.8, "sure": 0.99})


def test_prediction_costs_are_described_and_not_clipped(check_picture):
    check_picture(
        draw_costs,
        "Curve of the average cost (nats) against the predicted probability of T, whose exact probability is 0.80: lowest there, "
        "0.50. Marked: a coin at 0.50 costs 0.69; exact at 0.80 costs 0.50; sure at 0.99 costs 0.93.",
    )


def test_the_axes_of_prediction_costs_are_labeled(figures):
    axes = draw_costs().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted probability of T", "average cost (nats)")


def test_the_diagram_compares_what_is_predicted_with_the_optimum(check_diagram, edges_of):
    check_diagram(dna_mutation.dna_pipeline_diagram)
    model = pairwise(("process", "simulate", "csv", "tokenize", "model", "train", "predict", "compare"))
    optimum = pairwise(("process", "optimum", "compare"))
    assert edges_of(dna_mutation.dna_pipeline_diagram()) == sorted([*model, *optimum])
