"""The attention explorer: what its page holds, that it is the same for the same weights, and what it refuses."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest
from bs4 import BeautifulSoup
from matplotlib import colormaps

from shared import explorer, plots
from shared.drawing.plotting import attention

pytestmark = pytest.mark.form

TOKENS = ["The", " cat", " sat", " on", " the", " mat"]
SANITIZE = Path(__file__).parents[1] / "sanitize.cfg"


def some_weights(layers=2, heads=3, length=6, causal=True, seed=0):
    scores = 2 * np.random.default_rng(seed).normal(size=(layers, heads, length, length))
    weights = np.exp(np.where(np.tri(length, dtype=bool) | (not causal), scores, -np.inf))
    return weights / weights.sum(-1, keepdims=True)


def page_of(*arguments, **options):
    return plots.attention_explorer(*arguments, **options)._repr_html_()


def data_of(page):
    """What the page hands to its script."""
    call = page[page.rindex("\n})({") + 4 : page.rindex(");\n</script>")]
    return json.loads(call)


def weights_of(data):
    """The weights that the page holds, with the average as the last head, in half percents."""
    length, shape = len(data["tokens"]), (data["layers"], len(data["heads"]))
    kept = np.frombuffer(base64.b64decode(data["levels"]), np.uint8)
    if not data["causal"]:
        return kept.reshape(*shape, length, length)
    levels = np.zeros((*shape, length, length), np.uint8)
    levels[:, :, *np.tril_indices(length)] = kept.reshape(*shape, -1)
    return levels


def contrast(one, other):
    """The contrast ratio of two colors, as WCAG 2.1 defines it."""
    luminances = []
    for color in (one, other):
        parts = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        luminances.append(linear @ [0.2126, 0.7152, 0.0722])
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


@pytest.mark.tensorflow
def test_the_same_weights_of_any_framework_give_the_same_bytes():
    import tensorflow as tf
    import torch

    weights = some_weights().astype(np.float32)
    page = page_of(weights, TOKENS)
    assert page_of(weights.tolist(), tuple(TOKENS)) == page
    assert page_of(torch.tensor(weights, requires_grad=True), TOKENS) == page
    assert page_of(tf.constant(weights), TOKENS) == page
    assert page_of(tf.Variable(weights), np.array(TOKENS)) == page
    assert data_of(page_of(weights, TOKENS[::-1]))["explorer"] != data_of(page)["explorer"]
    assert page_of(torch.tensor([[[[1.0, 0.0], [0.25, 0.75]]]], dtype=torch.bfloat16), "GA") == page_of(
        [[[[1.0, 0.0], [0.25, 0.75]]]], "GA"
    )


@pytest.mark.parametrize("causal", [True, False])
def test_the_page_holds_every_weight_to_a_half_percent_and_exact_whole_percents(causal):
    weights = some_weights(causal=causal)
    data = data_of(page_of(weights, TOKENS))
    assert data["causal"] == causal and data["heads"] == ["0", "1", "2", "average"]
    assert len(base64.b64decode(data["levels"])) == 2 * 4 * (21 if causal else 36)
    levels = weights_of(data)
    weights = np.concatenate([weights, weights.mean(1, keepdims=True)], axis=1)
    assert np.all(levels <= 200 * weights + 1e-3) and np.all(200 * weights < levels + 1)
    percents = [explorer.percent(level) for level in levels.ravel()]
    assert percents == [int(100 * weight + 0.5) for weight in weights.ravel()]


def test_a_weight_that_a_processor_rounds_down_keeps_its_level():
    assert explorer.to_levels(np.array([0, 0.25, 0.25 - 1e-12, 1, 1 + 1e-9])).tolist() == [0, 50, 50, 200, 200]


def test_one_head_has_no_average():
    assert data_of(page_of(some_weights(heads=1), TOKENS))["heads"] == ["0"]


def test_a_token_cannot_end_the_page_it_is_in():
    tokens = ["</script>", '"', "<!--<script>", "&amp;", "\n", "'"]
    page = page_of(some_weights(), tokens)
    assert page.count("<script") == page.count("</script>") == 1 and "<!--" not in page
    found = BeautifulSoup(page, "html.parser")
    assert data_of(page)["tokens"] == ["</script>", '"', "<!--<script>", "&amp;", "⏎", "'"]
    assert all(token in found.img["alt"] for token in ("</script>", '"', "<!--<script>", "&amp;", "⏎", "'"))
    assert {code.text for code in found.find_all("code")} <= set(data_of(page)["tokens"])


@pytest.mark.parametrize(
    ("token", "shown"),
    [(" the", "·the"), ("New York ", "New York·"), (" ", "·"), ("\n\n", "⏎⏎"), ("a\tb", "a⇥b"), ("", "∅"), ("ß", "ß"),
     ("🌍", "🌍"), ("👩\u200d💻", "👩\u200d💻"), ("\u202ea", "\\u202ea"), ("\x00", "\\x00"), ("\ud800", "\\ud800")],
)  # fmt: skip
def test_what_would_not_be_seen_of_a_token_is_shown(token, shown):
    assert explorer.visible(token) == shown


def test_tokens_that_occur_again_are_named_with_their_position():
    names = data_of(page_of(some_weights(length=4), "GATA"))["names"]
    assert names == ["“G”", "“A” at position 1", "“T”", "“A” at position 3"]
    table = BeautifulSoup(page_of(np.tile([[0.0, 1], [0, 1]], (1, 1, 1, 1)), "AA"), "html.parser").table
    assert table.td.find_next("td").get_text(" ").split() == ["A", "at", "1", "100", "%"]


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 6), (12, 12, 20), (2, 2, 128)])
def test_the_page_without_its_data_is_small_and_asks_for_nothing(shape):
    page = page_of(some_weights(*shape), [f"t{index}" for index in range(shape[-1])])
    data = page[page.rindex("\n})({") + 4 : page.rindex(");\n</script>")]
    table = page[page.index("<table") : page.index("</table>")]
    bare = re.sub('base64,[^"]+', "", page.replace(data, "").replace(table, ""))
    assert len(bare.encode()) <= 30_000
    assert not re.search(r"http|url\(|import|fetch|window", bare)
    assert len(data) <= 4 / 3 * shape[0] * (shape[1] + 1) * shape[2] * (shape[2] + 1) / 2 + 50 * shape[2] + 3000


def test_where_no_script_runs_there_are_a_figure_and_a_table():
    weights = some_weights()
    weights[1, 2] = np.eye(6)
    weights[1, 1, 5] = 0  # all is masked
    found = BeautifulSoup(page_of(weights, TOKENS), "html.parser")
    assert found.img["alt"] == repr(plots.attention_explorer(weights, TOKENS))
    assert found.img["src"].startswith("data:image/png;base64,")
    assert "trusted notebook" in found.p.text
    assert "·mat" in found.caption.text
    rows = [[cell.get_text(" ") for cell in row.find_all(["th", "td"])] for row in found.find_all("tr")]
    assert rows[0] == ["", "head 0", "head 1", "head 2"]
    expected = []
    for head in range(3):
        most = weights[0, head, 5].argmax()
        expected.append(f"{TOKENS[most].replace(' ', '·')} {weights[0, head, 5, most]:.0%}".replace("%", "\xa0%"))
    assert rows[1] == ["layer 0", *expected]
    assert rows[2][2:] == ["nothing", "·mat 100\xa0%"]


def test_the_figure_has_a_map_for_each_head_on_the_scale_of_the_other_plots(figures):
    weights = some_weights()
    figure = attention._attention_grid(weights, TOKENS, "alt")
    image = figure.axes[0].images[0]
    assert image.get_cmap().name == "Blues" and image.get_clim() == (0, 1)
    assert len(figure.axes[0].patches) == 6
    for frame, (layer, head) in zip(figure.axes[0].patches, np.ndindex(2, 3)):
        left, top = (int(edge + 0.5) for edge in frame.get_xy())
        assert np.array_equal(image.get_array()[top : top + 6, left : left + 6], weights[layer, head])


@pytest.mark.filterwarnings("error")
def test_the_figure_takes_any_token_for_text():
    """A dollar begins no formula, and a sign that the font lacks is no reason for a warning in the notebook."""
    plots.attention_explorer(some_weights(1, 1, 5), ["$\\frac$", "$x$", "🌍", "字", "long" * 50])


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 6), (12, 12, 18), (3, 2, 128)])
def test_the_figure_fits_a_page(shape):
    picture = plots.attention_explorer(some_weights(*shape), ["token"] * shape[-1]).picture
    assert 200 < picture.width <= 760


def test_the_description_tells_the_text_and_the_heads_that_read_the_previous_token():
    weights = np.tile(np.eye(3), (2, 2, 1, 1))
    weights[0, 1] = [[1, 0, 0], [1, 0, 0], [0, 0.5, 0.5]]
    weights[1, 0] = [[1, 0, 0], [0, 0, 0], [0, 0.3, 0.7]]
    description = "Attention weights of 2 layers with 2 heads each, 3 tokens: the ·cat ⏎."
    tokens = ["the", " cat", "\n"]
    assert repr(plots.attention_explorer(weights, tokens)) == (
        f"{description} The previous token is read most, on average, by head 1 of layer 0 (75%), head 0 of layer 1 (15%)."
    )
    assert repr(plots.attention_explorer(weights, tokens, trained=True)) == description
    assert repr(plots.attention_explorer([[[[1]]]], ["a"])) == "Attention weights of 1 layer with 1 head, 1 token: a."
    long = plots.attention_explorer(some_weights(1, 1, 30), [str(index) for index in range(30)], trained=True)
    assert repr(long).endswith("30 tokens: " + " ".join(map(str, range(24))) + " ….")


def test_colors_are_those_of_the_other_maps_and_text_is_told_from_each():
    drawn = colormaps["Blues"](np.arange(201) / 200, bytes=True)[:, :3]
    assert explorer.COLORS == ["#" + bytes(color).hex() for color in drawn]
    for level, color in enumerate(explorer.COLORS):
        assert contrast(color, "#ffffff" if level > explorer.LAST_WITH_BLACK else "#000000") >= 4.5
    style = explorer.SCRIPT.read_text()
    assert contrast("#59636e", explorer.COLORS[0]) >= 4.5 and "color: #59636e" in style
    for ground in ("#ffffff", "#111111"):  # of JupyterLab, light and dark
        for edge in ("#7d8590", "#0072b2", "#767676"):  # of a token, of the focus, of a list
            assert contrast(edge, ground) >= 3 and edge in style
    assert (
        contrast("#d55e00", explorer.COLORS[0]) >= 3 and "#d55e00" in style
    )  # on paper, which is white in every theme


def changed(where, value):
    weights = some_weights()
    weights[where] = value
    return weights


def square(layers, heads, length):
    return np.zeros((layers, heads, length, length))


@pytest.mark.parametrize(
    ("weights", "more", "error", "name"),
    [
        (np.full((6, 6), 1 / 6), {}, TypeError, "weights"),
        (square(1, 0, 6), {}, TypeError, "weights"),
        (np.full((1, 1, 5, 6), 1 / 6), {}, ValueError, "weights"),
        (np.full((1, 1, 6, 6), "a"), {}, TypeError, "weights"),
        (square(1, 1, 129), {"tokens": ["a"] * 129}, ValueError, "weights"),
        (square(12, 11, 124), {"tokens": ["a"] * 124}, ValueError, "weights"),
        (square(1, 65, 1), {"tokens": ["a"]}, ValueError, "weights"),
        (changed((1, 2, 4, 0), np.nan), {}, ValueError, "layer 1, head 2, row 4"),
        (changed((0, 1, 5), [1.5, -0.5, 0, 0, 0, 0]), {}, ValueError, "layer 0, head 1, row 5"),
        (changed((0, 1, 3), [0.5, 0, 0.2, 0, 0, 0]), {}, ValueError, "layer 0, head 1, row 3"),
        (some_weights(), {"tokens": TOKENS[1:]}, ValueError, "tokens"),
        (some_weights(), {"tokens": [*TOKENS[1:], 5]}, TypeError, r"tokens\[5\]"),
        (some_weights(), {"tokens": []}, ValueError, "tokens"),
        (some_weights(), {"tokens": None}, TypeError, "tokens"),
        (some_weights(), {"tokens": np.arange(6)}, TypeError, r"tokens\[0\]"),
        (some_weights(), {"layer": 2}, ValueError, "layer"),
        (some_weights(), {"head": -1}, ValueError, "head"),
        (some_weights(), {"token": 6}, ValueError, "token"),
    ],
)
def test_what_cannot_be_explored_is_refused(weights, more, error, name):
    with pytest.raises(error, match=rf"\b{name}(?!\w)") as raised:
        plots.attention_explorer(weights, **{"tokens": TOKENS} | more)
    assert "\n" not in str(raised.value)


def test_a_row_may_be_off_by_less_than_a_thousandth():
    page_of(changed((0, 1, 3), [0.5, 0, 0.4995, 0, 0, 0]), TOKENS)


def test_stored_pages_of_trained_weights_are_compared_without_the_weights():
    patterns = re.findall(r"(?m)^regex: (.*)$", SANITIZE.read_text())

    def compared(page):
        for pattern in patterns:
            page = re.sub(pattern, "X", page)
        return page

    pages = [page_of(some_weights(seed=seed), TOKENS, trained=True) for seed in (1, 2)]
    assert pages[0] != pages[1] and compared(pages[0]) == compared(pages[1])
    assert compared(page_of(some_weights(seed=1), TOKENS[::-1], trained=True)) != compared(pages[0])


def test_it_opens_where_it_is_told_to():
    weights = np.tile(np.eye(4), (2, 3, 1, 1))
    data = data_of(page_of(weights, list("abcd")))
    assert (data["layer"], data["head"], data["token"]) == (0, 0, 3)
    data = data_of(plots.attention_explorer(weights, list("abcd"), layer=1, head=2, token=0)._repr_html_())
    assert (data["layer"], data["head"], data["token"]) == (1, 2, 0)
