"""What chapter 05 draws."""

from itertools import pairwise

import numpy as np
import pytest

from shared.drawing import embeddings

pytestmark = [pytest.mark.form, pytest.mark.chapter("05")]

DIALS = np.array([[0.0, 1, 0, 1], [1, 0, 0.1, 0.995]])


def test_a_heatmap_is_described_and_not_clipped(check_picture):
    matrix = np.random.default_rng(2).normal(size=(9, 4))
    check_picture(
        lambda: embeddings.heatmap(matrix, "feature", "position (token)", "What the plot shows."),
        "What the plot shows.",
    )
    check_picture(
        lambda: embeddings.heatmap(matrix, "feature", "position (token)", value_label="encoding"),
        "Heat map of encoding, 9 rows (position (token)) by 4 columns (feature), "
        f"from {matrix.min():.3g} to {matrix.max():.3g}.",
    )


def test_a_heatmap_has_zero_in_the_middle_of_its_colors(figures):
    matrix = np.random.default_rng(5).normal(size=(6, 9)) + 1
    axes, color_bar = embeddings.heatmap(matrix, "feature", "position", title="title", value_label="encoding").axes
    np.testing.assert_array_equal(axes.images[0].get_array(), matrix)
    assert axes.images[0].get_clim() == (-np.abs(matrix).max(), np.abs(matrix).max())
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("feature", "position", "title")
    assert color_bar.get_ylabel() == "encoding"


def test_a_heatmap_without_negative_numbers_begins_at_the_smallest_and_can_have_square_cells(figures):
    for square, aspect in ((False, "auto"), (True, 1.0)):
        axes = embeddings.heatmap(np.eye(4) + 1, "position", "position", square=square).axes[0]
        assert axes.images[0].get_clim() == (1, 2)
        assert axes.get_aspect() == aspect


def test_a_heatmap_says_where_the_rows_of_a_square_one_are_largest():
    description = embeddings.heatmap(np.eye(3)[:2], "feature", "token", value_label="weight").alt
    assert description == "Heat map of weight, 2 rows (token) by 3 columns (feature), from 0 to 1."
    assert embeddings.heatmap(np.eye(4), "p", "p", square=True).alt.endswith("Each row is largest on the diagonal.")
    assert "diagonal" not in embeddings.heatmap(np.eye(4)[::-1], "p", "p", square=True).alt


def test_a_heatmap_of_a_vector_is_refused():
    with pytest.raises(TypeError, match=r"\bmatrix\b"):
        embeddings.heatmap(np.arange(3), "x", "y")


def test_dials_are_described_and_not_clipped(check_picture):
    check_picture(
        lambda: embeddings.dials(DIALS),
        "2 dials with a hand for each of 2 positions: features 0 and 1 turn by 90 degrees a position; "
        "features 2 and 3 turn by 5.74 degrees a position.",
    )


def test_the_axes_of_a_dial_are_the_features(figures):
    first, second = embeddings.dials(DIALS).axes
    assert (first.get_xlabel(), first.get_ylabel()) == ("feature 0 (sine)", "feature 1 (cosine)")
    assert (second.get_xlabel(), second.get_ylabel()) == ("feature 2 (sine)", "feature 3 (cosine)")


def test_similarities_are_described_and_not_clipped(check_picture):
    check_picture(
        lambda: embeddings.similarities({"before": np.eye(3) + 1, "after": np.eye(3)[[0, 0, 1]]}, "aab"),
        "Cosine similarity of 3 rows, a, b. before: on average 0.83 within a kind and 0.83 across kinds; "
        "after: on average 1.00 within a kind and 0.00 across kinds.",
    )


def test_the_diagram_leads_from_ids_and_positions_to_vectors(check_diagram, edges_of):
    check_diagram(embeddings.embeddings_diagram)
    tokens = pairwise(("tokens", "embedding", "scale", "add", "dropout", "x"))
    positions = pairwise(("positions", "encoding", "add"))
    assert edges_of(embeddings.embeddings_diagram()) == sorted([*tokens, *positions])
