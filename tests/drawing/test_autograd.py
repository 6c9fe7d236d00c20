"""What chapter 01 draws."""

import re
from itertools import pairwise

import pytest

from shared.drawing import autograd

pytestmark = [pytest.mark.form, pytest.mark.chapter("01")]


def test_the_diagram_can_be_read(check_diagram):
    check_diagram(autograd.forward_backward_diagram)


def test_the_gradient_runs_back_beside_the_values(edges_of):
    drawing = autograd.forward_backward_diagram()
    # Beside the values, its arrowheads at the tails.
    back = [*pairwise(("grad_x", "grad_j", "grad_h", "grad_k", "grad_L"))]
    across = [("j", "grad_j"), ("k", "grad_k"), ("L", "grad_L")]
    assert edges_of(drawing) == sorted([*pairwise(("x", "j", "h", "k", "L")), *back, *across])
    assert re.findall(r"(\w+) -> \w+ \[[^\]]*dir=back", drawing.source) == [tail for tail, _ in back]


def test_values_and_gradients_are_drawn_and_told(graph_of):
    given = {"x": (3.0, 6.0), "y = x · x": (9.0, 1.0)}
    drawing = autograd.values_and_gradients(given, {("x", "y"): 6.0})
    nodes, edges = graph_of(drawing)
    labels = ["x\nvalue 3\ngradient 6", "y = x · x\nvalue 9\ngradient 1"]
    assert [(node["class"], node["label"]) for node in nodes.values()] == list(zip(("data", "output"), labels))
    assert edges == [("x", "y")] and "× 6" in drawing.source
    assert drawing.alt == (
        "A computation of 2 nodes: x has value 3 and gradient 6; y = x · x has value 9 and gradient 1. "
        "Its arrows: x to y with slope 6."
    )
