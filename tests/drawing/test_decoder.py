"""What chapter 11 draws."""

from itertools import pairwise

import numpy as np
import pytest

from shared.drawing import decoder

pytestmark = [pytest.mark.form, pytest.mark.chapter("11")]

both_orders = pytest.mark.parametrize("norm_first", [True, False])


def test_a_mask_grid_is_described_and_not_clipped(check_picture):
    check_picture(
        lambda: decoder.mask_grid(np.tri(2, 3, 1, dtype=bool), ["<start>", "C", "A"], "AT"),
        "A mask of 2 queries and 3 keys, the first 1 of them cached. C sees <start>, C and is to predict A; A sees <start>, C, A and is to "
        "predict T.",
    )


@pytest.mark.parametrize(
    ("mask", "error"),
    [(np.eye(2, dtype=int), TypeError), (np.eye(3, dtype=bool), TypeError), (np.ones((2, 3), dtype=bool), TypeError)],
)
def test_a_mask_grid_needs_booleans_a_row_for_each_answer_and_a_column_for_each_key(mask, error):
    with pytest.raises(error, match=r"\bmask\b"):
        decoder.mask_grid(mask, "ab", "bc")


@both_orders
@pytest.mark.parametrize("function", [decoder.decoder_only_diagram, decoder.decoder_block_diagram])
def test_a_diagram_can_be_read_and_says_its_order(function, norm_first, check_diagram):
    check_diagram(lambda: function(norm_first))
    assert ("pre-norm order" if norm_first else "post-norm order") in function(norm_first).alt


@both_orders
def test_decoder_blocks_show_what_each_attention_reads(norm_first, edges_of):
    def path(*parts, middle):
        """The nodes of residual connections, and the skip path of each."""
        nodes, last, skips = [], "x", []
        for part in parts:
            inner = [part, *(f"{part}_{each}" for each in middle), f"{part}_add"]
            nodes += [f"{part}_norm", *inner] if norm_first else [*inner, f"{part}_norm"]
            skips.append((last, f"{part}_add"))
            last = nodes[-1]
        return [*pairwise(("x", *nodes, "y")), *skips]

    given = [("mask", "attention"), ("cache", "attention")]
    expected = [*path("attention", "feed_forward", middle=["dropout"]), *given]
    assert edges_of(decoder.decoder_only_diagram(norm_first)) == sorted(expected)
    given = [("self_mask", "self_attention"), ("memory", "cross_attention"), ("memory_mask", "cross_attention")]
    expected = [*path("self_attention", "cross_attention", "feed_forward", middle=[]), *given]
    assert edges_of(decoder.decoder_block_diagram(norm_first)) == sorted(expected)
