"""The plots that several chapters draw: what they draw, what they say of it, and what they refuse."""

import io
import itertools

import matplotlib.colors
import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared import plots
from shared.drawing.plotting import style

pytestmark = pytest.mark.form

ALT = "What the plot shows."
FRAMEWORKS = ("NumPy", "PyTorch", "Keras")


def random_weights(seed, *shape):
    scores = np.exp(np.random.default_rng(seed).normal(size=shape))
    return scores / scores.sum(-1, keepdims=True)


def some_curves(seed=0, steps=90):
    random = np.random.default_rng(seed)
    return {name: 0.3 + np.exp(-np.arange(steps) / 20) + 0.01 * random.normal(size=steps) for name in FRAMEWORKS}


WORDS = ["ein", "Satz", "aus", "sieben", "langen", "Wörtern", "."]
PASSES = {"forward": dict.fromkeys(FRAMEWORKS, 1.5), "backward": dict.fromkeys(FRAMEWORKS, 2.5)}
CALLS = {
    "attention_map": lambda: plots.attention_map(
        random_weights(0, 5, 7), list("ACGTA"), list("GATTACA"), ALT, "a title"
    ),
    "attention_map of 6 heads": lambda: plots.attention_map(random_weights(1, 6, 5, 7), list("ACGTA"), WORDS, ALT),
    "attention_map of a decoder": lambda: plots.attention_map(
        random_weights(1, 2, 5, 7), "ACGTA", "GATTACA", ALT, x_label="letter read", y_label="letter to be written"
    ),
    "loss_curves": lambda: plots.loss_curves(some_curves(), {"optimum": 0.25, "per-site bound": 0.32}, ALT),
    "bars": lambda: plots.bars(PASSES, "time (ms)", ALT, x_label="pass"),
    "lines": lambda: plots.lines([64, 128, 256], {"a": [1, 2, 4], "b": [3, 5, 9.5]}, "length (tokens)", "time (ms)"),
    "sizes": lambda: plots.sizes(
        [258, 512, 1024], {"a": [1.0, 2, 3], "b": [1.5, 1.75, 2.5]}, "size (tokens)", "bytes", ("c", 1)
    ),
    "number_lines": lambda: plots.number_lines({"x": [1.0, 2.0, 6.0], "centered": [-2.0, -1.0, 3.0]}, "abc"),
    "line_panels": lambda: plots.line_panels([0, 1, 2], {"left": {"a": [1, 2, 4], "b": [3, 1, 3]}}, "x", "y", log=True),
}
DESCRIBED = {  # what a plot says of itself; the others are given a text
    "sizes": "Lines of bytes against size (tokens): a from 1.00 at 258 to 3.00 at 1024; b from 1.50 at 258 to 2.50 at 1024; "
    "a dashed line, c, is at 1.00.",
    "number_lines": "Number lines for a, b, c. x: 1.00, 2.00, 6.00; centered: -2.00, -1.00, 3.00.",
    "line_panels": "Curves of y against x. left, a: from 1 to 4; left, b: from 3 to 3, lowest 1 at 1.",
    "lines": "Lines of time (ms) against length (tokens) on logarithmic axes, for a, b.",
}


@pytest.mark.parametrize("name", CALLS)
def test_a_plot_is_described_whole_and_the_same_twice(name, check_picture):
    check_picture(CALLS[name], DESCRIBED.get(name, ALT))


def test_panels_may_have_axes_of_their_own(figures):
    panels = {"left": {"a": [1.0, 2.0]}, "right": {"a": [3.0, 4.0, 5.0]}}
    figure = plots.line_panels(
        {"left": [0, 1], "right": [1, 2, 3]}, panels, "x", {"left": "up", "right": "down"}, same_scale=False
    )
    assert [axes.get_ylabel() for axes in figure.axes] == ["up", "down"]
    assert [line.get_xdata().tolist() for axes in figure.axes for line in axes.lines] == [[0, 1], [1, 2, 3]]


def test_maps_and_bars_describe_themselves_when_no_text_is_given():
    description = plots.attention_map(np.array([[0.1, 0.9, 0.0], [0.0, 0.0, 0.0]]), "GA", "GAT", title="a map").alt
    assert description == (
        "Attention map, a map: 2 queries, 3 keys. Head 0, each query and the keys it attends to most: "
        "G to A1; A to nothing."
    )
    trained = plots.attention_map(np.full((2, 2, 3), 1 / 3), "GA", "GAT", trained=True).alt
    assert trained == "Attention map: 2 queries, 3 keys. 2 heads of a trained model."
    bars = plots.bars({"forward": dict.fromkeys(FRAMEWORKS, 1.5)}, "time (ms)").alt
    assert bars == "Bars of time (ms) for NumPy, PyTorch, Keras, in 1 groups: forward."
    curves = plots.loss_curves({"NumPy": [3.0, 2.0, 1.0]}, {"optimum": 0.5}, y_label="loss").alt
    assert curves == "Curves of loss against training step, for NumPy; optimum is a dashed line."
    images = plots.pictures({"a": np.eye(3)[:2], "b": np.eye(4)}).alt
    assert images == "Images: a, 2 by 3 pixels; b, 4 by 4 pixels."


@pytest.mark.parametrize("name, x_label, y_label", [
    ("attention_map", "key (token)", "query (token)"),
    ("attention_map of 6 heads", "key (token)", "query (token)"),
    ("attention_map of a decoder", "letter read", "letter to be written"),
    ("loss_curves", "training step", "cross-entropy (nats per site)"),
    ("bars", "pass", "time (ms)"),
    ("lines", "length (tokens)", "time (ms)"),
    ("sizes", "size (tokens)", "bytes"),
])  # fmt: skip
def test_axes_are_labeled(figures, name, x_label, y_label):
    figure = CALLS[name]()
    axes = figure.axes[0]
    assert (figure.get_supxlabel() or axes.get_xlabel()) == x_label
    assert (figure.get_supylabel() or axes.get_ylabel()) == y_label


@pytest.mark.parametrize("seed", range(3))
def test_attention_map_draws_each_head_as_given(figures, seed):
    weights = random_weights(seed, 3, 4, 6)
    figure = plots.attention_map(weights, range(4), range(10, 16), ALT, "heads")
    panels, color_bar = figure.axes[:3], figure.axes[3]
    for head, panel in enumerate(panels):
        np.testing.assert_array_equal(panel.images[0].get_array(), weights[head])
        assert panel.images[0].get_clim() == (0, 1)  # one scale for all maps
        assert panel.get_title() == f"head {head}"
    assert [label.get_text() for label in panels[0].get_xticklabels()] == ["10", "11", "12", "13", "14", "15"]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == list("0123")
    assert color_bar.get_ylabel() == "weight"
    assert figure.get_suptitle() == "heads"


@settings(deadline=None, max_examples=12)
@given(heads=st.integers(1, 9), length=st.integers(1, 80))
def test_attention_map_names_tokens_at_their_places(heads, length):
    labels = [f"t{i}" for i in range(length)]
    with pytest.MonkeyPatch.context() as patch:  # a fixture would be made once for all examples
        patch.setattr(style, "show", lambda figure, alt: figure)
        figure = plots.attention_map(random_weights(length, heads, length, length), labels, labels, ALT)
    panels = [axes for axes in figure.axes if axes.images and axes.get_visible()]
    assert len(panels) == heads
    ticks = panels[-1].get_xticks()
    assert [label.get_text() for label in panels[-1].get_xticklabels()] == [f"t{tick:.0f}" for tick in ticks]
    assert len(ticks) <= 30 and (len(ticks) == length or length > 10)


@pytest.mark.parametrize("window", [1, 4, 11, 200])
def test_loss_curves_are_means_of_the_steps_around(figures, window):
    curves = some_curves(3)
    axes = plots.loss_curves(curves, {}, ALT, window=window).axes[0]
    for line, curve in zip(axes.lines, curves.values(), strict=True):
        steps = np.arange(len(curve))
        expected = [curve[max(0, i - window // 2) : i + (window - 1) // 2 + 1].mean() for i in steps]
        np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-12)
        np.testing.assert_array_equal(line.get_xdata(), steps + 1)
    assert axes.get_legend().get_title().get_text() == ("" if window == 1 else f"mean of {window} steps")


def test_curves_on_one_another_are_all_seen():
    curve = some_curves(4)["NumPy"]
    picture = plots.loss_curves(dict.fromkeys(FRAMEWORKS, curve), {}, ALT, y_label="loss")
    pixels = matplotlib.image.imread(io.BytesIO(picture.data))[
        :, : picture.width, :3
    ]  # the left half, without the legend
    for name, color in plots.COLORS.items():
        shade = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        assert (np.abs(pixels - shade).max(-1) < 0.02).sum() > 300, f"{name} is hidden"


def test_curves_may_be_thin_and_known_at_some_steps_only(figures):
    figure = plots.loss_curves({"a": [3.0, 2.0], "b": [2.0, 1.0]}, {}, ALT, window=1, every=10, overlaid=False)
    assert [line.get_xdata().tolist() for line in figure.axes[0].lines] == [[10, 20]] * 2
    assert {line.get_linewidth() for line in figure.axes[0].lines} == {1.4}
    [alone] = plots.loss_curves({"a": [3.0, 2.0]}, {}, ALT).axes[0].lines
    assert alone.get_linewidth() == 1.4


def test_bounds_are_drawn_and_named(figures):
    axes = plots.loss_curves(
        some_curves(), {"per-site bound": 0.32, "optimum": 0.25, "same": 0.25, "close": 0.26}, ALT
    ).axes[0]
    assert [
        line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--" and line.get_color() == plots.INK
    ] == [0.25, 0.26, 0.32]
    assert [text.get_text() for text in axes.texts] == ["optimum = same", "close", "per-site bound"]
    low, high = axes.get_ylim()
    assert low < 0.25
    positions = [text.xy[1] for text in axes.texts]
    assert positions[0] == 0.25 and min(np.diff(positions)) > 0.059 * (high - low)


def test_y_max_looks_closer(figures):
    assert plots.loss_curves(some_curves(), {"optimum": 0.25}, ALT, y_max=0.5).axes[0].get_ylim()[1] == 0.5


def test_bars_can_be_logarithmic(figures):
    for log, scale in ((False, "linear"), (True, "log")):
        assert plots.bars({"a": {"x": 1, "y": 1000}}, "ms", ALT, log=log).axes[0].get_yscale() == scale


def test_bars_have_the_heights_and_colors_of_their_names(figures):
    values = {
        "forward": {"NumPy": 1.0, "Keras": 3.0, "other": 0.5},
        "backward": {"Keras": 4.0, "other": 0.25, "NumPy": 2.0},
    }
    axes = plots.bars(values, "time (ms)", ALT).axes[0]
    for container, name in zip(axes.containers, ["NumPy", "Keras", "other"], strict=True):
        assert container.get_label() == name
        assert [bar.get_height() for bar in container] == [values["forward"][name], values["backward"][name]]
        color = plots.COLORS.get(name, plots.OTHER_COLORS[0])
        assert all(matplotlib.colors.same_color(bar.get_facecolor(), color) for bar in container)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["forward", "backward"]


def test_seven_curves_have_seven_colors_that_are_no_frameworks(figures):
    curves = {f"seed {seed}": np.arange(3.0) for seed in range(7)}
    colors = {matplotlib.colors.to_hex(line.get_color()) for line in plots.loss_curves(curves, {}).axes[0].lines}
    assert len(colors) == 7 and not colors & set(plots.COLORS.values())


@pytest.mark.parametrize(
    ("value", "label"),
    [(1.0, "1"), (0.0298, "0.030"), (1.34, "1.34"), (135.2, "135"), (1234.5, "1230"), (1234.0, "1234")],
)
def test_a_bar_is_labeled_by_a_plain_number(value, label, figures):
    axes = plots.bars({"a": {"x": value}}, "ms", ALT).axes[0]
    assert [text.get_text() for text in axes.texts] == [label]


def test_bars_of_rounds_have_their_range_and_overlapping_ones_are_equal(figures):
    rounds = {"a": [1.0, 1.2, 1.1], "b": [1.15, 1.4, 1.3], "c": [2.0, 2.0, 2.2]}
    figure = plots.bars({"forward": rounds, "both": dict.fromkeys(rounds, 3.0)}, "ms")
    axes = figure.axes[0]
    assert [container[0].get_height() for container in axes.containers] == pytest.approx([1.2, 1.2, 2])
    ranges = [sorted(y for _, y in lines.get_segments()[0]) for lines in axes.collections]
    assert ranges == [[1.0, 1.2], [1.15, 1.4], [2.0, 2.2]]


def test_rounds_are_told_in_the_description():
    description = plots.bars({"forward\nalone": {"a": [1.0, 1.25, 1.125]}}, "ms").alt
    assert description.endswith(" Median and range of the rounds: forward alone: a 1.12 (1 to 1.25).")
    description = plots.lines([8, 16], {"a": [[1, 3, 2], [4, 4, 5]], "b": [1, 2]}, "length", "ms").alt
    assert description.endswith(" Median and range of the rounds: a: 8 2 (1 to 3), 16 4 (4 to 5).")


def test_show_closes_a_figure_of_pyplot():
    figure, axes = plt.subplots()
    axes.plot(np.random.default_rng(6).normal(size=9))
    picture = plots.show(figure, ALT)
    assert not plt.fignum_exists(figure.number)
    assert picture.data.startswith(b"\x89PNG") and picture.alt == ALT


weights, PICTURE = random_weights(7, 2, 3, 4), np.zeros((4, 3, 3))
REFUSED = [
    (lambda: plots.attention_map(weights[0, 0], "ACG", "ACGT", ALT), TypeError, "weights"),
    (lambda: plots.attention_map(weights[:0], "ACG", "ACGT", ALT), TypeError, "weights"),
    (lambda: plots.attention_map(weights, "ACGT", "ACGT", ALT), ValueError, "query_labels"),
    (lambda: plots.attention_map(weights, "ACG", "ACG", ALT), ValueError, "key_labels"),
    (lambda: plots.attention_map(3 + weights, "ACG", "ACGT", ALT), ValueError, "weights"),
    (lambda: plots.attention_map(-weights, "ACG", "ACGT", ALT), ValueError, "weights"),
    (lambda: plots.attention_map(np.array([["a"]]), "A", "A", ALT), TypeError, "weights"),
    (lambda: plots.attention_map(weights * np.nan, "ACG", "ACGT", ALT), ValueError, "weights"),
    (lambda: plots.loss_curves({}, {}, ALT), ValueError, "curves"),
    (lambda: plots.loss_curves([1.0], {}, ALT), TypeError, "curves"),
    (lambda: plots.loss_curves(some_curves(), 0.2, ALT), TypeError, "bounds"),
    (lambda: plots.loss_curves({"NumPy": [1.0, np.nan]}, {}, ALT), ValueError, r"curves\['NumPy'\]"),
    (lambda: plots.loss_curves({"NumPy": np.ones((2, 2))}, {}, ALT), TypeError, r"curves\['NumPy'\]"),
    (lambda: plots.loss_curves(some_curves(), {"optimum": np.inf}, ALT), ValueError, r"bounds\['optimum'\]"),
    (lambda: plots.loss_curves(some_curves(), {}, ALT, window=0), ValueError, "window"),
    (lambda: plots.loss_curves(some_curves(), {}, ALT, y_max=-1), ValueError, "y_max"),
    (lambda: plots.bars({}, "ms", ALT), ValueError, "values"),
    (lambda: plots.bars({"forward": {}}, "ms", ALT), ValueError, r"values\['forward'\]"),
    (lambda: plots.bars({"forward": 3}, "ms", ALT), TypeError, r"values\['forward'\]"),
    (lambda: plots.bars({"a": {"x": 1}, "b": {"y": 1}}, "ms", ALT), ValueError, r"values\['b'\]"),
    (lambda: plots.bars({"a": {"x": np.nan}}, "ms", ALT), ValueError, r"values\['a'\]\['x'\]"),
    (lambda: plots.bars({"a": {"x": 0.0}}, "ms", ALT, log=True), ValueError, "'x'"),
    (lambda: plots.bars({"a": {"x": "1 ms"}}, "ms", ALT), TypeError, r"values\['a'\]\['x'\]"),
    (lambda: plots.lines([1, 2], {"a": [1, 0]}, "x", "y"), ValueError, r"values\['a'\]"),
    (lambda: plots.lines([1, 2], {"a": [1]}, "x", "y"), ValueError, r"values\['a'\]"),
    (lambda: plots.show(np.ones(3), ALT), TypeError, "figure"),
    (lambda: plots.show(plt.Figure(), None), TypeError, "alt"),
    (lambda: plots.bars({"a": {"x": 1}}, "ms", "  "), ValueError, "alt"),
    (lambda: plots.text_lines("abc", ALT), TypeError, "lines"),
    (lambda: plots.text_lines(["a", 1], ALT), TypeError, "lines"),
    (lambda: plots.text_lines([], ALT), ValueError, "lines"),
    (lambda: plots.text_lines(["a"], ALT, marks=[]), ValueError, "marks"),
    (lambda: plots.pictures({}, ALT), ValueError, "images"),
    (lambda: plots.pictures([PICTURE], ALT), TypeError, "images"),
    (lambda: plots.pictures({"a": np.zeros((4, 3, 4))}, ALT), TypeError, r"images\['a'\]"),
    (lambda: plots.pictures({"a": PICTURE + 2}, ALT), ValueError, r"images\['a'\]"),
    (lambda: plots.pictures({"a": np.zeros(3)}, ALT), TypeError, r"images\['a'\]"),
    (lambda: plots.pictures({"a": np.array([["x"]])}, ALT), TypeError, r"images\['a'\]"),
    (lambda: plots.pictures({"a": PICTURE * np.nan}, ALT), ValueError, r"images\['a'\]"),
    (lambda: plots.pictures({"a": PICTURE}, ALT, columns=0), ValueError, "columns"),
    (lambda: plots.pictures({"a": PICTURE}, ALT, columns=1.5), TypeError, "columns"),
    (lambda: plots.pictures({"a": PICTURE}, " "), ValueError, "alt"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    with pytest.raises(error, match=rf"(^|\W){name}(?!\w)"):
        call()


def test_text_lines_are_drawn():
    picture = plots.text_lines(["a robot walks .", "two owls sing ."], "Two sentences.", marks=["yes", "no"])
    assert plots.text_lines(["a robot walks ."], marks=["yes"]).alt == "1 lines of text, each with a mark before it."
    named = plots.text_lines(["a robot walks ."], marks=["none"], mark_name="wrong word")
    assert named.alt == "1 lines of text, each with its wrong word before it."
    assert picture.data.startswith(b"\x89PNG") and picture.alt == "Two sentences."
    assert picture.data != plots.text_lines(["a robot walks .", "two owls run ."], "Two sentences.", ["yes", "no"]).data


@pytest.mark.parametrize("groups, labeled", [(6, True), (7, False)])
def test_bars_too_narrow_for_their_numbers_go_without(monkeypatch, groups, labeled):
    calls = []
    monkeypatch.setattr("matplotlib.axes.Axes.annotate", lambda *args, **kwargs: calls.append(args))
    plots.bars({f"g{i}": {"a": 1.0, "b": 2.0} for i in range(groups)}, "height", alt="Bars of two heights in groups.")
    assert bool(calls) == labeled


def test_a_loss_curve_has_no_half_steps(figures):
    axes = plots.loss_curves({"NumPy": [3.0, 2.0, 1.0]}, {}, alt="A loss that falls.").axes[0]
    assert all(tick == int(tick) for tick in axes.get_xticks())


def test_curves_of_trained_models_are_drawn_alike(figures):
    figure = plots.line_panels([0, 1], {"left": {"a": [1.0, 2.0], "b": [2.0, 1.0]}}, "x", "y", trained=True)
    assert {(line.get_linewidth(), line.get_linestyle()) for line in figure.axes[0].lines} == {(2, "-")}


def test_numbers_of_trained_models_are_not_told():
    picture = plots.line_panels([0, 1], {"left": {"a": [1.0, 2.0]}}, "x", "y", trained=True)
    assert picture.alt == "Curves of y against x. left: a."


def test_pictures_are_drawn_to_one_scale():
    big, small = np.zeros((8, 6, 3)), np.zeros((4, 3))
    picture = plots.pictures({"big": big, "small": small}, alt="Two black pictures.")
    assert picture.alt == "Two black pictures."
    assert plots.pictures({"big": big, "small": small}, alt="Two black pictures.").data == picture.data
    pixels = matplotlib.image.imread(io.BytesIO(picture.data))
    inside = (pixels[..., :3] < 0.02).all(axis=-1)
    runs = [len(list(group)) for value, group in itertools.groupby(inside[inside.shape[0] // 3]) if value]
    wide, narrow = sorted(runs, reverse=True)[:2]
    assert abs(wide / narrow - 2) < 0.1


def test_the_description_of_trained_sizes_has_no_numbers_of_theirs():
    picture = plots.sizes([1, 10], {"a": [0.5, 0.25]}, "rate", "loss", ("best", 0.2), trained=True)
    assert picture.alt == "Lines of loss against rate: a; a dashed line, best, is at 0.20."
