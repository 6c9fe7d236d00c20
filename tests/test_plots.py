"""The plots: what they draw, that their alt text is stored, and what they refuse."""

import functools
import io

import matplotlib.image
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbclient import NotebookClient

from shared import genetic_code, plots

pytestmark = pytest.mark.form

ALT = "What the plot shows."
FRAMEWORKS = ("NumPy", "PyTorch", "Keras")


def random_weights(seed, *shape):
    scores = np.exp(np.random.default_rng(seed).normal(size=shape))
    return scores / scores.sum(-1, keepdims=True)


def some_curves(seed=0, steps=90):
    random = np.random.default_rng(seed)
    return {name: 0.3 + np.exp(-np.arange(steps) / 20) + 0.01 * random.normal(size=steps) for name in FRAMEWORKS}


CALLS = {
    "attention_map": lambda: plots.attention_map(
        random_weights(0, 5, 7), list("ACGTA"), list("GATTACA"), ALT, "a title"
    ),
    "attention_map of 6 heads": lambda: plots.attention_map(
        random_weights(1, 6, 5, 7), list("ACGTA"), ["ein", "Satz", "aus", "sieben", "langen", "Wörtern", "."], ALT
    ),
    "attention_map of a decoder": lambda: plots.attention_map(
        random_weights(1, 2, 5, 7), "ACGTA", "GATTACA", ALT, x_label="letter read", y_label="letter to be written"
    ),
    "loss_curves": lambda: plots.loss_curves(some_curves(), {"optimum": 0.25, "per-site bound": 0.32}, ALT),
    "heatmap": lambda: plots.heatmap(np.random.default_rng(2).normal(size=(9, 4)), "feature", "position (token)", ALT),
    "bars": lambda: plots.bars(
        {"forward": dict.fromkeys(FRAMEWORKS, 1.5), "backward": dict.fromkeys(FRAMEWORKS, 2.5)},
        "time (ms)",
        ALT,
        x_label="pass",
    ),
    "lines": lambda: plots.lines([64, 128, 256], {"a": [1, 2, 4], "b": [3, 5, 9.5]}, "length (tokens)", "time (ms)"),
    "merges": lambda: plots.merges(
        {"letters": ["low", "lower"], "l + o": [["lo", "w"], ["lo", "w", "e", "r"]]}, [2, 1]
    ),
    "sizes": lambda: plots.sizes(
        [258, 512, 1024], {"a": [1.0, 2, 3], "b": [1.5, 1.75, 2.5]}, "size (tokens)", "bytes", ("c", 1)
    ),
    "number_lines": lambda: plots.number_lines({"x": [1.0, 2.0, 6.0], "centered": [-2.0, -1.0, 3.0]}, "abc"),
    "line_panels": lambda: plots.line_panels([0, 1, 2], {"left": {"a": [1, 2, 4], "b": [3, 1, 3]}}, "x", "y", log=True),
    "surprise": lambda: plots.surprise({"bank": 0.5, "money": 0.25}),
    "residual_stream": lambda: plots.residual_stream(
        {"x": [1, 0], "after attention": [1.5, -1]}, [{"normalized": [1, -1], "attention\nadds": [0.5, -1]}], ["a", "b"]
    ),
    "codon_table": lambda: plots.codon_table(genetic_code.CODE),
    "beam_tree": lambda: plots.beam_tree(TREE, width=1),
    "codon_attention": lambda: plots.codon_attention(np.full((2, 3, 6), 1 / 6), "ATGGCC", ["M", "A", "<end>"]),
    "mask_grid": lambda: plots.mask_grid(np.tri(2, 3, 1, dtype=bool), ["<start>", "C", "A"], "AT"),
    "word_vectors": lambda: plots.word_vectors(["the", "bank"], np.eye(2), np.eye(2) + 0.5, moved="bank"),
    "predictions": lambda: plots.predictions(
        [1, 2, 3], {"before": [1, 2, 3], "after": [2, 3, 4.5]}, "size", "price", targets=[2, 3, 5]
    ),
    "prediction_costs": lambda: plots.prediction_costs(0.8, {"a coin": 0.5, "exact": 0.8, "sure": 0.99}),
    "dials": lambda: plots.dials(np.array([[0.0, 1, 0, 1], [1, 0, 0.1, 0.995]])),
    "number_grids": lambda: plots.number_grids({"h w": np.array([[1, 2], [3, 4]]), "(w h)": np.array([1, 3, 2, 4])}),
    "tiles": lambda: plots.tiles({"h w p q c": np.ones((2, 6, 4, 5, 3)) * 0.5}),
    "similarities": lambda: plots.similarities({"before": np.eye(3) + 1, "after": np.eye(3)[[0, 0, 1]]}, "aab"),
}
TREE = {"": {"a": 0.6, "b": 0.4}, "a": {"a": 0.25, "$": 0.75}}
DESCRIBED = {  # what a plot says of itself
    "merges": "Words as tokens. letters: 2 times l|o|w, 1 times l|o|w|e|r; l + o: 2 times lo|w, 1 times lo|w|e|r.",
    "sizes": "Lines of bytes against size (tokens): a from 1.00 at 258 to 3.00 at 1024; b from 1.50 at 258 to 2.50 at 1024; "
    "a dashed line, c, is at 1.00.",
    "number_lines": "Number lines for a, b, c. x: 1.00, 2.00, 6.00; centered: -2.00, -1.00, 3.00.",
    "line_panels": "Curves of y against x. left, a: from 1 to 4; left, b: from 3 to 3, lowest 1 at 1.",
    "surprise": "The loss −log p falls from infinity at p = 0 to 0 at p = 1. Points: bank at p = 0.50, loss 0.69; "
    "money at p = 0.25, loss 1.39.",
    "residual_stream": "A residual stream of a, b. In the stream: x 1.00, 0.00; after attention 1.50, -1.00. "
    "Branch 1: normalized 1.00, -1.00; attention adds 0.50, -1.00.",
    "codon_table": "The 64 codons, and what each means. "
    + "; ".join(
        f"{'stop' if acid == '*' else acid}: {' '.join(codon for codon in genetic_code.CODE if genetic_code.CODE[codon] == acid)}"
        for acid in (*genetic_code.AMINO_ACIDS, "*")
    )
    + ".",
    "beam_tree": "A tree of texts, searched with a beam of 1. Step 1: kept a (0.6); cut b (0.4). "
    "Step 2: kept a$ (0.45); cut aa (0.15). Found: a$, probability 0.45. Greedy decoding finds a$.",
    "codon_attention": "Cross-attention of a trained model with 2 heads: a row for each of the 3 tokens to be written, "
    "a column for each of the 6 letters of DNA. A frame marks the codon of each amino acid.",
    "mask_grid": "A mask of 2 queries and 3 keys. C sees <start>, C and is to predict A; A sees <start>, C, A and is to "
    "predict T.",
    "lines": "Lines of time (ms) against length (tokens) on logarithmic axes, for a, b.",
    "word_vectors": "Arrows in the plane of nature and money: the at (1, 0), bank at (0, 1). After attention, bank has "
    "moved from (0, 1) to (0.50, 1.50).",
    "predictions": "price against size, from 1 to 3: before from 1.00 to 3.00; after from 2.00 to 4.50. The targets are "
    "points at (1, 2), (2, 3), (3, 5); a dashed line joins each to every prediction: its error.",
    "prediction_costs": "Curve of the average cost (nats) against the predicted chance of T, whose exact chance is 0.80: lowest there, "
    "0.50. Marked: a coin at 0.50 costs 0.69; exact at 0.80 costs 0.50; sure at 0.99 costs 0.93.",
    "number_grids": "Arrays, row by row. h w: 1 2 / 3 4; (w h): 1 3 2 4.",
    "tiles": "Patches: h w p q c, 2 by 6 patches of 4 by 5 pixels.",
    "dials": "2 dials with a hand for each of 2 positions: features 0 and 1 turn by 90 degrees a position; "
    "features 2 and 3 turn by 5.74 degrees a position.",
    "similarities": "Cosine similarity of 3 rows, a, b. before: on average 0.83 within a kind and 0.83 across kinds; "
    "after: on average 1.00 within a kind and 0.00 across kinds.",
}
every_plot = pytest.mark.parametrize("name", CALLS)
first_picture = functools.cache(lambda name: CALLS[name]())


@pytest.fixture
def figures(monkeypatch):
    """Makes the plots return their figure in place of its picture."""
    monkeypatch.setattr(plots, "show", lambda figure, alt: figure)


@every_plot
def test_picture_has_alt_text_and_width(name):
    picture = first_picture(name)
    assert repr(picture) == picture.alt
    assert f'<img alt="{ALT}" width="{picture.width}"' in picture._repr_html_() or name in DESCRIBED
    assert 300 < picture.width <= 760


def test_panels_may_have_axes_of_their_own(figures):
    panels = {"left": {"a": [1.0, 2.0]}, "right": {"a": [3.0, 4.0, 5.0]}}
    figure = plots.line_panels(
        {"left": [0, 1], "right": [1, 2, 3]}, panels, "x", {"left": "up", "right": "down"}, same_scale=False
    )
    assert [axes.get_ylabel() for axes in figure.axes] == ["up", "down"]
    assert [line.get_xdata().tolist() for axes in figure.axes for line in axes.lines] == [[0, 1], [1, 2, 3]]


def test_a_residual_stream_needs_a_vector_on_either_side_of_each_branch():
    branch = {"normalized": [1, -1], "adds": [0, 1]}
    with pytest.raises(ValueError, match="stream has 1 vectors: expected 2"):
        plots.residual_stream({"x": [1, 0]}, [branch], "ab")
    with pytest.raises(ValueError, match="adds has 1 numbers: expected 2"):
        plots.residual_stream({"x": [1, 0], "y": [1, 1]}, [branch | {"adds": [1]}], "ab")


def test_a_beam_tree_keeps_the_best_of_all_beams_and_lets_a_text_end(figures):
    """What is kept is solid, what is cut dotted, and an ended text keeps its place."""
    told = {width: first_alt(plots.beam_tree, TREE, width) for width in (1, 2, 3)}
    assert "Step 1: kept a (0.6), b (0.4); cut nothing. Step 2: kept a$ (0.45), b (0.4); cut aa (0.15)" in told[2]
    assert "cut nothing. Found: a$" in told[3]
    with pytest.raises(ValueError, match="expected the empty text among them"):
        plots.beam_tree({"a": {"b": 1.0}}, 2)


def first_alt(function, *args):
    alts = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "show", lambda figure, alt: alts.append(alt))
        function(*args)
    return alts[0]


def test_codons_need_all_64_and_whole_ones():
    with pytest.raises(ValueError, match="expected the 64 codons"):
        plots.codon_table({"ATG": "M"})
    with pytest.raises(ValueError, match=r"shape \(2, 3, 5\): expected \(heads, 3, 5\)"):
        plots.codon_attention(np.ones((2, 3, 5)), "ATGGC", "MA*")


def test_a_mask_grid_needs_booleans_a_row_for_each_answer_and_a_column_for_each_key():
    with pytest.raises(TypeError, match="mask has dtype int64: expected booleans"):
        plots.mask_grid(np.eye(2, dtype=int), "ab", "bc")
    for mask in (np.eye(3, dtype=bool), np.ones((2, 3), dtype=bool)):
        with pytest.raises(ValueError, match=r"mask has shape .*: expected \(2, 2\), answers and keys"):
            plots.mask_grid(mask, "ab", "bc")


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_plot_describes_itself(name):
    assert first_picture(name).alt == DESCRIBED[name]


def test_maps_and_bars_describe_themselves_when_no_text_is_given():
    told = plots.attention_map(np.array([[0.1, 0.9, 0.0], [0.0, 0.0, 0.0]]), "GA", "GAT", title="a map").alt
    assert told == (
        "Attention map, a map: 2 queries, 3 keys. Head 0, each query and the keys it attends to most: "
        "G to A1; A to nothing."
    )
    trained = plots.attention_map(np.full((2, 2, 3), 1 / 3), "GA", "GAT", trained=True).alt
    assert trained == "Attention map: 2 queries, 3 keys. 2 heads of a trained model."
    bars = plots.bars({"forward": dict.fromkeys(FRAMEWORKS, 1.5)}, "time (ms)").alt
    assert bars == "Bars of time (ms) for NumPy, PyTorch, Keras, in 1 groups: forward."
    curves = plots.loss_curves({"NumPy": [3.0, 2.0, 1.0]}, {"optimum": 0.5}, y_label="loss").alt
    assert curves == "Curves of loss against training step, for NumPy; optimum is a dashed line."
    heat = plots.heatmap(np.eye(3)[:2], "feature", "token", value_label="weight").alt
    assert heat == "Heat map of weight, 2 rows (token) by 3 columns (feature), from 0 to 1."
    images = plots.pictures({"a": np.eye(3)[:2], "b": np.eye(4)}).alt
    assert images == "Images: a, 2 by 3 pixels; b, 4 by 4 pixels."


@every_plot
def test_picture_is_opaque_and_not_blank(name):
    pixels = matplotlib.image.imread(io.BytesIO(first_picture(name).data))
    assert pixels[..., 3].min() == 1  # opaque
    assert (pixels[[0, -1], :, :3] == 1).all() and (
        pixels[:, [0, -1], :3] == 1
    ).all()  # a white margin: nothing is clipped
    assert (pixels[..., :3].min(-1) < 0.5).mean() > 0.001  # dark ink
    assert len(np.unique(pixels[::4, ::4, :3].reshape(-1, 3), axis=0)) > 20


@every_plot
def test_picture_is_the_same_twice_and_style_and_figures_stay_inside(name):
    before = first_picture(name).data
    assert b"tEXt" not in before  # no date, no version
    opened = plt.figure()
    with plt.style.context("dark_background"):
        kept = dict(plt.rcParams)
        assert CALLS[name]().data == before
        assert dict(plt.rcParams) == kept
    assert plt.get_fignums() == [opened.number]
    plt.close(opened)


@pytest.mark.parametrize("name, x_label, y_label", [
    ("attention_map", "key (token)", "query (token)"),
    ("attention_map of 6 heads", "key (token)", "query (token)"),
    ("attention_map of a decoder", "letter read", "letter to be written"),
    ("loss_curves", "training step", "cross-entropy (nats per site)"),
    ("heatmap", "feature", "position (token)"),
    ("bars", "pass", "time (ms)"),
    ("lines", "length (tokens)", "time (ms)"),
    ("sizes", "size (tokens)", "bytes"),
    ("word_vectors", "nature", "money"),
    ("predictions", "size", "price"),
    ("tiles", "column (patches)", "row (patches)"),
    ("prediction_costs", "predicted chance of T", "average cost (nats)"),
    ("dials", "feature 0 (sine)", "feature 1 (cosine)"),
])  # fmt: skip
def test_axes_are_labelled(figures, name, x_label, y_label):
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "show", lambda figure, alt: figure)
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
    places = [text.xy[1] for text in axes.texts]
    assert places[0] == 0.25 and min(np.diff(places)) > 0.059 * (high - low)


def test_y_max_looks_closer(figures):
    assert plots.loss_curves(some_curves(), {"optimum": 0.25}, ALT, y_max=0.5).axes[0].get_ylim()[1] == 0.5


def test_heatmap_has_zero_in_the_middle_of_its_colors(figures):
    matrix = np.random.default_rng(5).normal(size=(6, 9)) + 1
    figure = plots.heatmap(matrix, "feature", "position", ALT, "title", "encoding")
    image = figure.axes[0].images[0]
    np.testing.assert_array_equal(image.get_array(), matrix)
    assert image.get_clim() == (-np.abs(matrix).max(), np.abs(matrix).max())
    assert figure.axes[1].get_ylabel() == "encoding" and figure.axes[0].get_title() == "title"


def test_heatmap_without_negative_numbers_begins_at_the_smallest_and_can_have_square_cells(figures):
    for square, aspect in ((False, "auto"), (True, "equal")):
        axes = plots.heatmap(np.eye(4) + 1, "position", "position", ALT, square=square).axes[0]
        assert axes.images[0].get_clim() == (1, 2)
        assert axes.get_aspect() in (aspect, 1.0 if square else aspect)


def test_heatmap_says_where_the_rows_of_a_square_one_are_largest():
    assert plots.heatmap(np.eye(4), "p", "p", square=True).alt.endswith("Each row is largest on the diagonal.")
    assert "diagonal" not in plots.heatmap(np.eye(4)[::-1], "p", "p", square=True).alt


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


def test_bars_of_rounds_have_their_range_and_overlapping_ones_are_equal(figures):
    rounds = {"a": [1.0, 1.2, 1.1], "b": [1.15, 1.4, 1.3], "c": [2.0, 2.0, 2.2]}
    figure = plots.bars({"forward": rounds, "both": dict.fromkeys(rounds, 3.0)}, "ms")
    axes = figure.axes[0]
    assert [container[0].get_height() for container in axes.containers] == pytest.approx([1.2, 1.2, 2])
    ranges = [sorted(y for _, y in lines.get_segments()[0]) for lines in axes.collections]
    assert ranges == [[1.0, 1.2], [1.15, 1.4], [2.0, 2.2]]


def test_rounds_are_told_in_the_description():
    told = plots.bars({"forward\nalone": {"a": [1.0, 1.25, 1.125]}}, "ms").alt
    assert told.endswith(" Median and range of the rounds: forward alone: a 1.12 (1 to 1.25).")
    told = plots.lines([8, 16], {"a": [[1, 3, 2], [4, 4, 5]], "b": [1, 2]}, "length", "ms").alt
    assert told.endswith(" Median and range of the rounds: a: 8 2 (1 to 3), 16 4 (4 to 5).")


def test_show_closes_a_figure_of_pyplot():
    figure, axes = plt.subplots()
    axes.plot(np.random.default_rng(6).normal(size=9))
    picture = plots.show(figure, ALT)
    assert not plt.fignum_exists(figure.number)
    assert picture.data.startswith(b"\x89PNG") and picture.alt == ALT


def test_a_notebook_stores_the_alt_text():
    code = "import numpy as np\nfrom shared import plots\nplots.heatmap(np.eye(3) - 0.5, 'column', 'row', 'An \"eye\" & more.')"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    (output,) = notebook.cells[0].outputs
    assert set(output.data) == {"text/html", "text/plain"}
    assert '<img alt="An &quot;eye&quot; &amp; more." width=' in output.data["text/html"]
    assert output.data["text/plain"] == 'An "eye" & more.'


weights = random_weights(7, 2, 3, 4)
BAD = {
    "weights of 1 dimension": (lambda: plots.attention_map(weights[0, 0], "ACG", "ACGT", ALT), ValueError, r"weights has shape \(4,\): expected 2 or 3"),
    "no head": (lambda: plots.attention_map(weights[:0], "ACG", "ACGT", ALT), ValueError, r"weights has shape \(0, 3, 4\)"),
    "query labels": (lambda: plots.attention_map(weights, "ACGT", "ACGT", ALT), ValueError, "query_labels has 4 labels: expected 3"),
    "key labels": (lambda: plots.attention_map(weights, "ACG", "ACG", ALT), ValueError, "key_labels has 3 labels: expected 4"),
    "weights over 1": (lambda: plots.attention_map(3 + weights, "ACG", "ACGT", ALT), ValueError, r"weights are from 3.* expected weights in \[0, 1\]"),
    "negative weights": (lambda: plots.attention_map(-weights, "ACG", "ACGT", ALT), ValueError, r"expected weights in \[0, 1\]"),
    "weights of text": (lambda: plots.attention_map(np.array([["a"]]), "A", "A", ALT), TypeError, "weights has dtype <U1: expected real numbers"),
    "NaN weights": (lambda: plots.attention_map(weights * np.nan, "ACG", "ACGT", ALT), ValueError, "weights holds nan"),
    "no curve": (lambda: plots.loss_curves({}, {}, ALT), ValueError, "curves={}: expected at least one"),
    "curves not a dict": (lambda: plots.loss_curves([1.0], {}, ALT), TypeError, "curves.*expected a dict, got list"),
    "bounds not a dict": (lambda: plots.loss_curves(some_curves(), 0.2, ALT), TypeError, "bounds=0.2: expected a dict"),
    "NaN curve": (lambda: plots.loss_curves({"NumPy": [1.0, np.nan]}, {}, ALT), ValueError, r"curves\['NumPy'\] holds nan"),
    "curve of 2 dimensions": (lambda: plots.loss_curves({"NumPy": np.ones((2, 2))}, {}, ALT), ValueError, r"curves\['NumPy'\] has shape \(2, 2\)"),
    "endless bound": (lambda: plots.loss_curves(some_curves(), {"optimum": np.inf}, ALT), ValueError, r"bounds\['optimum'\] holds inf"),
    "window of 0": (lambda: plots.loss_curves(some_curves(), {}, ALT, window=0), ValueError, "window=0: expected at least 1"),
    "y_max too low": (lambda: plots.loss_curves(some_curves(), {}, ALT, y_max=-1), ValueError, "y_max=-1: expected more than"),
    "heatmap of a vector": (lambda: plots.heatmap(np.arange(3), "x", "y", ALT), ValueError, r"matrix has shape \(3,\): expected 2 dimensions"),
    "no bar": (lambda: plots.bars({}, "ms", ALT), ValueError, "values={}: expected at least one"),
    "empty group": (lambda: plots.bars({"forward": {}}, "ms", ALT), ValueError, r"values\['forward'\]={}"),
    "group not a dict": (lambda: plots.bars({"forward": 3}, "ms", ALT), TypeError, r"values\['forward'\]=3: expected a dict"),
    "groups differ": (lambda: plots.bars({"a": {"x": 1}, "b": {"y": 1}}, "ms", ALT), ValueError, r"values\['b'\] has the names \['y'\]: expected \['x'\]"),
    "bar of NaN": (lambda: plots.bars({"a": {"x": np.nan}}, "ms", ALT), ValueError, r"values\['a'\]\['x'\] holds nan"),
    "bar of nothing, logarithmic": (lambda: plots.bars({"a": {"x": 0.0}}, "ms", ALT, log=True), ValueError, "'x' is 0: expected numbers above 0"),
    "bar of text": (lambda: plots.bars({"a": {"x": "1 ms"}}, "ms", ALT), TypeError, r"values\['a'\]\['x'\] has dtype"),
    "lines of nothing": (lambda: plots.lines([1, 2], {"a": [1, 0]}, "x", "y"), ValueError, r"values\['a'\]: expected 2 numbers above 0"),
    "lines too short": (lambda: plots.lines([1, 2], {"a": [1]}, "x", "y"), ValueError, r"values\['a'\]: expected 2 numbers above 0"),
    "no prediction": (lambda: plots.predictions([1, 2], {}, "x", "y"), ValueError, "values={}: expected at least one"),
    "prediction too short": (lambda: plots.predictions([1, 2], {"a": [1]}, "x", "y"), ValueError, "a has 1 numbers: expected 2"),
    "a target too many": (lambda: plots.predictions([1, 2], {"a": [1, 2]}, "x", "y", [1, 2, 3]), ValueError, "targets has 3 numbers: expected 2"),
    "predictions of text": (lambda: plots.predictions([1, 2], {"a": ["1", "2"]}, "x", "y"), TypeError, "a has dtype"),
    "no guess": (lambda: plots.prediction_costs(0.5, {}), ValueError, "guesses={}: expected at least one"),
    "a certain guess": (lambda: plots.prediction_costs(0.5, {"a": 1.0}), ValueError, "a=1.0: expected a chance above 0 and below 1"),
    "no figure": (lambda: plots.show(np.ones(3), ALT), TypeError, "expected a matplotlib Figure, got ndarray"),
    "alt not text": (lambda: plots.show(plt.Figure(), None), TypeError, "alt=None: expected text"),
    "empty alt": (lambda: plots.bars({"a": {"x": 1}}, "ms", "  "), ValueError, "alt='  ': expected a sentence"),
}  # fmt: skip


@pytest.mark.parametrize("call, error, message", BAD.values(), ids=BAD)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_predictions_are_lines_and_their_errors_join_them_to_the_targets(figures):
    axes = CALLS["predictions"]().axes[0]
    before, after, targets = axes.lines
    assert [list(line.get_ydata()) for line in (before, after, targets)] == [[1, 2, 3], [2, 3, 4.5], [2, 3, 5]]
    errors = [[sorted(y for _, y in segment) for segment in each.get_segments()] for each in axes.collections]
    assert errors == [[[1, 2], [2, 3], [3, 5]], [[2, 2], [3, 3], [4.5, 5]]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["before", "after", "target"]
    alone = plots.predictions([0.0, 1.0], {"a": [1.0, 2.0]}, "x", "y")
    assert len(alone.axes[0].lines) == 1 and not alone.axes[0].collections
    marked = plots.predictions([0.0, 1.0], {"a": [1.0, 2.0]}, "x", "y", mark=0.5)
    assert list(marked.axes[0].lines[-1].get_xdata()) == [0.5, 0.5]


def test_predictions_describe_their_mark():
    assert plots.predictions([0, 1], {"a": [1, 2]}, "x", "y", mark=0.5).alt.endswith(" A vertical line marks 0.5.")


def test_kept_words_tells_what_is_cut():
    words, before = ["owl", "girl", "boy"], [0.5, 0.3, 0.2]
    picture = plots.kept_words(words, before, {"top-k 2": [0.625, 0.375, 0]})
    assert "top-k 2: owl 62 %, girl 38 %, boy cut." in picture.alt
    trained = plots.kept_words(words, before, {"top-k 2": [0.625, 0.375, 0]}, trained=True)
    assert "%" not in trained.alt and "owl, girl, boy" in trained.alt
    assert picture.data != plots.kept_words(words, before, {"top-k 2": [0.5, 0.3, 0.2]}).data
    many = [str(number) for number in range(9)]
    plots.kept_words(many, [1 / 9] * 9, {"temperature 1": [1 / 9] * 9})
    for panel in ([0.5, 0.5], [1.5, -0.5, 0]):
        with pytest.raises(ValueError, match="expected 3 probabilities"):
            plots.kept_words(words, before, {"wrong": panel})
    with pytest.raises(ValueError, match="panels"):
        plots.kept_words(words, before, {})


def test_cache_filling_tells_what_each_call_fills():
    keys = np.arange(8.0).reshape(4, 2)
    picture = plots.cache_filling(["a", "b", "c", "d"], {"prefill": keys[:3], "decode": keys}, room=5)
    assert "prefill fills a, b, c, 2 of 5 are empty; decode fills d, 1 of 5 are empty" in picture.alt
    assert (
        picture.data != plots.cache_filling(["a", "b", "c", "d"], {"prefill": keys[:3], "decode": -keys}, room=5).data
    )
    for stages, room in (({"one": keys, "two": keys[:2]}, 5), ({"one": keys}, 3)):
        with pytest.raises(ValueError, match="expected them to grow"):
            plots.cache_filling(["a", "b", "c", "d"], stages, room)


def test_text_lines_are_drawn_and_checked():
    picture = plots.text_lines(["a robot walks .", "two owls sing ."], "Two sentences.", marks=["yes", "no"])
    assert plots.text_lines(["a robot walks ."], marks=["yes"]).alt == "1 lines of text, each with a mark before it."
    assert picture.data.startswith(b"\x89PNG") and picture.alt == "Two sentences."
    assert picture.data != plots.text_lines(["a robot walks .", "two owls run ."], "Two sentences.", ["yes", "no"]).data
    for arguments, error, message in [
        ({"lines": "abc"}, TypeError, "lines='abc': expected a list of texts"),
        ({"lines": ["a", 1]}, TypeError, "expected a list of texts"),
        ({"lines": []}, ValueError, "lines is empty"),
        ({"lines": ["a"], "marks": []}, ValueError, "marks has 0 entries: expected 1"),
    ]:
        with pytest.raises(error, match=message):
            plots.text_lines(**arguments, alt="Text.")


@pytest.mark.parametrize("groups, labelled", [(6, True), (7, False)])
def test_bars_too_narrow_for_their_numbers_go_without(monkeypatch, groups, labelled):
    calls = []
    monkeypatch.setattr("matplotlib.axes.Axes.annotate", lambda *args, **kwargs: calls.append(args))
    plots.bars({f"g{i}": {"a": 1.0, "b": 2.0} for i in range(groups)}, "height", alt="Bars of two heights in groups.")
    assert bool(calls) == labelled


def test_a_loss_curve_has_no_half_steps(monkeypatch):
    figures = []
    monkeypatch.setattr(plots, "show", lambda figure, alt: figures.append(figure))
    plots.loss_curves({"NumPy": [3.0, 2.0, 1.0]}, {}, alt="A loss that falls.")
    assert all(tick == int(tick) for tick in figures[0].axes[0].get_xticks())


def test_curves_of_trained_models_are_drawn_alike(figures):
    figure = plots.line_panels([0, 1], {"left": {"a": [1.0, 2.0], "b": [2.0, 1.0]}}, "x", "y", trained=True)
    assert {(line.get_linewidth(), line.get_linestyle()) for line in figure.axes[0].lines} == {(2, "-")}


def test_numbers_of_trained_models_are_not_told():
    picture = plots.line_panels([0, 1], {"left": {"a": [1.0, 2.0]}}, "x", "y", trained=True)
    assert picture.alt == "Curves of y against x. left: a."


def test_ring_tells_how_many_parts_are_complete_and_refuses_what_is_no_ring():
    start, end = np.array([[1, 2], [10, 20]]), np.array([[11, 22], [11, 22]])
    picture = plots.ring({"start": start, "add 1": np.array([[11, 2], [10, 22]]), "copy 1": end})
    assert picture.alt == "What 2 workers hold in 2 parts; complete are, start 0 of 4, add 1 2 of 4, copy 1 4 of 4."
    with pytest.raises(ValueError, match="equal rows in the last one"):
        plots.ring({"start": end, "end": start})
    with pytest.raises(ValueError, match="arrays of one shape"):
        plots.ring({"start": start[:1], "end": end})
