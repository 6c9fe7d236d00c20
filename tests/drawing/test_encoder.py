"""What chapter 08 draws."""

from itertools import pairwise

import pytest

from shared.drawing import encoder

pytestmark = [pytest.mark.form, pytest.mark.chapter("08")]

both_orders = pytest.mark.parametrize("norm_first", [True, False])


def test_a_residual_stream_is_described_and_not_clipped(check_picture):
    stream = {"x": [1, 0], "after attention": [1.5, -1]}
    branches = [{"normalized": [1, -1], "attention\nadds": [0.5, -1]}]
    check_picture(
        lambda: encoder.residual_stream(stream, branches, ["a", "b"]),
        "A residual stream of a, b. In the stream: x 1.00, 0.00; after attention 1.50, -1.00. "
        "Branch 1: normalized 1.00, -1.00; attention adds 0.50, -1.00.",
    )


@both_orders
@pytest.mark.parametrize("function", [encoder.encoder_block_diagram, encoder.encoder_diagram])
def test_a_diagram_can_be_read_and_says_its_order(function, norm_first, check_diagram):
    check_diagram(lambda: function(norm_first))
    assert ("pre-norm order" if norm_first else "post-norm order") in function(norm_first).alt


@both_orders
def test_each_sublayer_of_a_block_has_a_skip_path_around_it(norm_first, edges_of):
    def path(part):
        inner = [part, f"{part}_dropout", f"{part}_add"]
        return [f"{part}_norm", *inner] if norm_first else [*inner, f"{part}_norm"]

    first, second = path("attention"), path("feed_forward")
    skips = [("x", "attention_add"), (first[-1], "feed_forward_add")]
    expected = [*pairwise(("x", *first, *second, "y")), *skips, ("mask", "attention")]
    assert edges_of(encoder.encoder_block_diagram(norm_first)) == sorted(expected)


@both_orders
def test_only_a_pre_norm_encoder_ends_with_a_norm(norm_first, graph_of):
    nodes, edges = graph_of(encoder.encoder_diagram(norm_first))
    blocks = ["block_first", "block_more", "block_last"]
    path = ["x", *blocks, "norm", "y"] if norm_first else ["x", *blocks, "y"]
    assert sorted(edges) == sorted([*pairwise(path), *(("mask", block) for block in blocks)])
    assert ("norm" in nodes) == norm_first
