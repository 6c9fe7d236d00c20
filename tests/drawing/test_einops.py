"""What chapter 03 draws."""

from itertools import pairwise

import numpy as np
import pytest

from shared.drawing import einops

pytestmark = [pytest.mark.form, pytest.mark.chapter("03")]


@pytest.mark.parametrize("draw", [einops.axis_names_diagram, einops.lenet_diagram])
def test_a_diagram_can_be_read(draw, check_diagram):
    check_diagram(draw)


def test_a_pattern_splits_reorders_and_merges_and_lenet_has_its_layers_in_order(edges_of):
    assert edges_of(einops.axis_names_diagram()) == sorted(pairwise(("x", "split", "reorder", "merge", "y")))
    images = ("x", "convolution_1", "pool_1", "convolution_2", "pool_2", "flatten")
    vectors = ("flatten", "hidden_1", "hidden_2", "readout", "logits")
    assert edges_of(einops.lenet_diagram()) == sorted([*pairwise(images), *pairwise(vectors)])


def test_number_grids_are_described_and_not_clipped(check_picture):
    grids = {"h w": np.array([[1, 2], [3, 4]]), "(w h)": np.array([1, 3, 2, 4])}
    check_picture(lambda: einops.number_grids(grids), "Arrays, row by row. h w: 1 2 / 3 4; (w h): 1 3 2 4.")


def test_tiles_are_described_and_not_clipped(check_picture):
    grid = np.ones((2, 6, 4, 5, 3)) * 0.5
    described = "Patches: h w p q c, 2 by 6 patches of 4 by 5 pixels."
    check_picture(lambda: einops.tiles({"h w p q c": grid}), described)


def test_number_grids_color_a_number_by_its_first_row(figures):
    image = np.array([[1, 2, 3], [4, 5, 6]])
    axes = einops.number_grids({"h w": image, "(w h)": image.T.ravel()}).axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["h w", *"123456", "(w h)", *"142536"]
    colors = [patch.get_facecolor() for patch in axes.patches]
    of_row = {colors[0], colors[3]}
    assert len(of_row) == 2 and colors[:3] == [colors[0]] * 3 and colors[6:] == [colors[0], colors[3]] * 3
    positions = [patch.get_xy() for patch in axes.patches]
    assert len(set(positions)) == 12 and positions[3] == (positions[0][0], positions[0][1] + 1)  # row after row
    narrow = einops.number_grids({"h w": image, "(w h)": image.T.ravel()}, across=7).axes[0]
    assert narrow.patches[6].get_xy()[1] > 2  # on a line of its own


def test_tiles_draws_each_patch_in_its_place_and_counts_patches(figures, rng):
    grid = rng.random((4, 3, 2, 5, 3))
    figure = einops.tiles({"a": grid, "b": grid[:1]})
    panel = figure.axes[0]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("column (patches)", "row (patches)")
    assert len(figure.axes) == 2 and len(panel.images) == 12 and len(figure.axes[1].images) == 3
    for image, (row, column) in zip(panel.images, np.ndindex(4, 3)):
        left, right, bottom, top = image.get_extent()
        assert ((left + right) / 2, (bottom + top) / 2) == pytest.approx((column, row)) and top < bottom
        assert np.array_equal(image.get_array(), grid[row, column])
    assert [label.get_text() for label in panel.get_yticklabels()] == list("0123")
    assert [label.get_text() for label in panel.get_xticklabels()] == list("012")
