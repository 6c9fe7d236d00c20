"""What chapter 06 draws."""

from itertools import pairwise

import numpy as np
import pytest

from shared.drawing import attention

pytestmark = [pytest.mark.form, pytest.mark.chapter("06")]


def draw_vectors():
    return attention.word_vectors(["the", "bank"], np.eye(2), np.eye(2) + 0.5, moved="bank")


def test_word_vectors_are_described_and_not_clipped(check_picture):
    check_picture(
        draw_vectors,
        "Arrows in the plane of nature and money: the at (1, 0), bank at (0, 1). After attention, bank has "
        "moved from (0, 1) to (0.50, 1.50).",
    )


def test_the_axes_of_word_vectors_are_the_features(figures):
    axes = draw_vectors().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("nature", "money")


@pytest.mark.parametrize("draw", [attention.attention_diagram, attention.multi_head_diagram])
def test_a_diagram_can_be_read(draw, check_diagram):
    check_diagram(draw)


def test_the_mask_comes_after_the_scores_and_before_the_softmax(edges_of):
    path = pairwise(("query", "scores", "masking", "softmax", "weights", "sum", "output"))
    given = [("key", "scores"), ("mask", "masking"), ("value", "sum")]
    assert edges_of(attention.attention_diagram()) == sorted([*path, *given])


def test_attention_has_the_parameters_of_the_course(graph_of):
    nodes, edges = graph_of(attention.multi_head_diagram())
    parameters = {"query", "key", "value", "output"}
    assert {name for name, node in nodes.items() if node["class"] == "parameters"} == parameters
    assert all(nodes[name]["label"] == f"{name}\nkernel and bias" for name in parameters)
    for number in (0, 1):
        read = {tail for tail, head in edges if head == f"head_{number}"}
        assert read == {"query_heads", "key_heads", "value_heads", "mask"}
    assert [tail for tail, head in edges if head == "merge"] == ["head_0", "head_1"]
