"""What chapter 02 draws."""

from itertools import pairwise

import pytest

from shared.drawing import models

pytestmark = [pytest.mark.form, pytest.mark.chapter("02")]


def draw_predictions():
    return models.predictions(
        [1, 2, 3], {"before": [1, 2, 3], "after": [2, 3, 4.5]}, "size", "price", targets=[2, 3, 5]
    )


def test_predictions_are_described_and_not_clipped(check_picture):
    check_picture(
        draw_predictions,
        "price against size, from 1 to 3: before from 1.00 to 3.00; after from 2.00 to 4.50. The targets are "
        "points at (1, 2), (2, 3), (3, 5); a dashed line joins each to every prediction: its error.",
    )


def test_predictions_are_lines_and_their_errors_join_them_to_the_targets(figures):
    axes = draw_predictions().axes[0]
    before, after, targets = axes.lines
    assert [list(line.get_ydata()) for line in (before, after, targets)] == [[1, 2, 3], [2, 3, 4.5], [2, 3, 5]]
    errors = [[sorted(y for _, y in segment) for segment in each.get_segments()] for each in axes.collections]
    assert errors == [[[1, 2], [2, 3], [3, 5]], [[2, 2], [3, 3], [4.5, 5]]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["before", "after", "target"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("size", "price")
    alone = models.predictions([0.0, 1.0], {"a": [1.0, 2.0]}, "x", "y")
    assert len(alone.axes[0].lines) == 1 and not alone.axes[0].collections
    marked = models.predictions([0.0, 1.0], {"a": [1.0, 2.0]}, "x", "y", mark=0.5)
    assert list(marked.axes[0].lines[-1].get_xdata()) == [0.5, 0.5]


def test_predictions_describe_their_mark():
    assert models.predictions([0, 1], {"a": [1, 2]}, "x", "y", mark=0.5).alt.endswith(" A vertical line marks 0.5.")


@pytest.mark.parametrize(
    ("values", "targets", "error", "name"),
    [
        ({}, None, ValueError, "values"),
        ({"a": [1]}, None, ValueError, "a"),
        ({"a": [1, 2]}, [1, 2, 3], ValueError, "targets"),
        ({"a": ["1", "2"]}, None, TypeError, "a"),
    ],
)
def test_predictions_without_a_number_for_each_x_are_refused(values, targets, error, name):
    with pytest.raises(error, match=rf"\b{name}\b"):
        models.predictions([1, 2], values, "x", "y", targets)


def test_the_diagram_can_be_read(check_diagram):
    check_diagram(models.two_philosophies_diagram)


def test_an_object_changes_its_parameters_and_a_function_is_given_the_next(edges_of):
    ways = set(edges_of(models.two_philosophies_diagram()))
    for way, first, model, last in (
        ("object", ["parameters"], "model", ["parameters"]),
        ("function", ["params_0"], "mlp", ["params_1", "again", "params_2"]),
    ):
        training = pairwise((*first, model, f"prediction_{way}", f"step_{way}", *last))
        assert {*training, (f"x_{way}", model), (f"targets_{way}", f"step_{way}")} < ways
    assert len(ways) == 14  # and nothing leads from one to the other
