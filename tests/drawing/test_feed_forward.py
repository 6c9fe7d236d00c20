"""What chapter 07 draws."""

from itertools import pairwise

import pytest

from shared.drawing import feed_forward

pytestmark = [pytest.mark.form, pytest.mark.chapter("07")]


def test_the_network_widens_and_narrows(check_diagram, edges_of):
    check_diagram(feed_forward.feed_forward_diagram)
    path = pairwise(("x", "widen", "activation", "narrow", "y"))
    assert edges_of(feed_forward.feed_forward_diagram()) == sorted(path)


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_residual_connection_has_its_norm_before_the_sublayer_or_after_the_sum(norm_first, check_diagram, edges_of):
    check_diagram(lambda: feed_forward.residual_diagram(norm_first))
    drawing = feed_forward.residual_diagram(norm_first)
    inner, norm = ["sublayer", "sublayer_dropout", "sublayer_add"], ["sublayer_norm"]
    path = ["x", *norm, *inner, "y"] if norm_first else ["x", *inner, *norm, "y"]
    assert edges_of(drawing) == sorted([*pairwise(path), ("x", "sublayer_add")])
    assert ("pre-norm order" if norm_first else "post-norm order") in drawing.alt
