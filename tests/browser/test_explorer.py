"""The attention explorer in Chromium: by mouse and by keyboard, in both themes, on a phone, and where no script runs."""

import re

import numpy as np
import pytest

from shared import plots
from shared.drawing.explorer import COLORS, to_levels

TOKENS = ["The", " cat", " sat", " on", " the", " mat", " <b>&", "\n"]
SHOWN = ["The", "·cat", "·sat", "·on", "·the", "·mat", "·<b>&", "⏎"]
THEMES = {"light": "background:#ffffff;color:#1f2328", "dark": "background:#111111;color:#e0e0e0"}


def some_weights(layers, heads, length, causal=True, seed=0):
    scores = 2.5 * np.random.default_rng(seed).normal(size=(layers, heads, length, length))
    weights = np.exp(np.where(np.tri(length, dtype=bool) | (not causal), scores, -np.inf))
    return weights / weights.sum(-1, keepdims=True)


WEIGHTS = some_weights(2, 3, 8)


def spoken(weights, shown, layer, head, query):
    """The sentence that the page should say, computed from the weights."""
    row = weights[layer].mean(0)[query] if head == "average" else weights[layer, head, query]
    where = "the average of its heads" if head == "average" else f"head {head}"
    read = []
    for key in np.argsort(-np.floor(200 * row), kind="stable")[:3]:  # equal to half a percent: the earlier one first
        if row[key] >= 0.005:
            read.append(f"{int(100 * row[key] + 0.5)} % from {'itself' if key == query else f'“{shown[key]}”'}")
    listed = " and ".join([", ".join(read[:-1]), read[-1]] if read[1:] else read)
    return f"In layer {layer}, {where}, “{shown[query]}” reads {listed}."


class Explored:
    """An explorer on a page: its parts, and what it says."""

    def __init__(self, root):
        self.root = root
        self.tokens, self.maps = root.locator(".tokens button"), root.locator(".maps button")
        self.layer, self.head = root.get_by_role("combobox", name="Layer"), root.get_by_role("combobox", name="Head")

    def says(self):
        return self.root.locator("[aria-live=polite]").inner_text().replace("\xa0", " ")


@pytest.fixture
def open_page(chromium, tmp_path):
    """Opens explorers on a page of their own, as a file; no request may leave it, and no error be raised on it."""
    contexts, complaints = [], []

    def open_(*explorers, theme="light", width=1000, scripts=True):
        body = "".join(explorer._repr_html_() for explorer in explorers)
        path = tmp_path / "page.html"
        path.write_text(
            '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f'<title>Explorers</title><body style="margin:12px;{THEMES[theme]};font:14px sans-serif">{body}',
            encoding="utf-8",
        )
        context = chromium.new_context(viewport={"width": width, "height": 700}, java_script_enabled=scripts)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: complaints.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(path.as_uri())
        complaints.remove(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert [each[:200] for each in complaints if not each.startswith("data:image/png")] == []


@pytest.fixture
def one(open_page):
    return Explored(open_page(plots.attention_explorer(WEIGHTS, TOKENS)).locator("[data-explorer]"))


def test_the_tokens_are_shown_as_they_are(one):
    assert [text.split("\n")[0] for text in one.tokens.all_inner_texts()] == SHOWN
    assert one.says() == spoken(WEIGHTS, SHOWN, 0, 0, 7)
    assert one.root.get_attribute("aria-label") == repr(plots.attention_explorer(WEIGHTS, TOKENS))


def test_the_mouse_chooses_a_token_a_layer_and_a_head(one):
    one.tokens.nth(4).hover()
    assert one.says() == spoken(WEIGHTS, SHOWN, 0, 0, 4)
    one.layer.hover()
    assert one.says() == spoken(WEIGHTS, SHOWN, 0, 0, 7)  # pointing is not choosing
    one.tokens.nth(4).click()
    one.layer.select_option("1")
    assert one.says() == spoken(WEIGHTS, SHOWN, 1, 0, 4)
    one.head.select_option("2")
    assert one.says() == spoken(WEIGHTS, SHOWN, 1, 2, 4)
    one.head.select_option("average")
    assert one.says() == spoken(WEIGHTS, SHOWN, 1, "average", 4)
    one.maps.nth(1).click()
    assert one.says() == spoken(WEIGHTS, SHOWN, 0, 1, 4)
    assert (one.layer.input_value(), one.head.input_value()) == ("0", "1")


def test_every_choice_shows_the_weights_computed_in_python(one):
    average = np.concatenate([WEIGHTS, WEIGHTS.mean(1, keepdims=True)], axis=1)
    for number, (layer, head) in enumerate(np.ndindex(2, 4)):
        one.maps.nth(number).click()
        for query in range(8):
            one.tokens.nth(query).click()
            assert one.says() == spoken(WEIGHTS, SHOWN, layer, "average" if head == 3 else head, query)
            for key, text in enumerate(one.tokens.all_inner_texts()):
                number_of = re.search(r"(\d+)\s%$", text)
                assert int(number_of[1] if number_of else 0) == int(100 * average[layer, head, query, key] + 0.5)


def test_the_keyboard_alone_reaches_everything(one):
    keys = one.root.page.keyboard
    keys.press("Tab")  # to the layer
    keys.press("ArrowDown")
    keys.press("Tab")  # to the head
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    assert one.says() == spoken(WEIGHTS, SHOWN, 1, 2, 7)
    keys.press("Tab")  # to the chosen token
    for key, token in (("ArrowLeft", 6), ("ArrowUp", 5), ("Home", 0), ("ArrowLeft", 0), ("ArrowRight", 1), ("End", 7)):
        keys.press(key)
        assert one.says() == spoken(WEIGHTS, SHOWN, 1, 2, token)
        assert one.tokens.nth(token).evaluate("button => button.matches(':focus-visible')")
    keys.press("Control+ArrowLeft")  # not ours
    assert one.says() == spoken(WEIGHTS, SHOWN, 1, 2, 7)
    keys.press("Tab")  # to the chosen map
    for key, layer, head in (("ArrowUp", 0, 2), ("ArrowUp", 0, 2), ("ArrowLeft", 0, 1), ("ArrowDown", 1, 1)):
        keys.press(key)
        assert one.says() == spoken(WEIGHTS, SHOWN, layer, head, 7)
    focused = one.maps.nth(5)
    assert focused.evaluate("button => getComputedStyle(button).outlineStyle") == "solid"
    assert focused.evaluate("button => parseFloat(getComputedStyle(button).outlineWidth)") >= 2
    keys.press("Tab")  # to the figure and the table
    keys.press("Enter")
    assert one.root.locator("table").is_visible() and one.root.locator("img").is_visible()


def test_one_tab_stop_for_the_tokens_and_one_for_the_maps(one):
    for buttons in (one.tokens, one.maps):
        chosen = [buttons.nth(number).get_attribute("tabindex") == "0" for number in range(buttons.count())]
        checked = [buttons.nth(number).get_attribute("aria-checked") == "true" for number in range(buttons.count())]
        assert chosen == checked and sum(chosen) == 1


def test_assistive_technology_is_told_what_everything_is(one):
    tree = one.root.aria_snapshot()
    for line in (
        'combobox "Layer"',
        'combobox "Head"',
        'radiogroup "The token that reads"',
        'radio "·cat, position 1"',
        'radio "⏎, position 7" [checked]',
        'radiogroup "Layer and head"',
        'radio "layer 0, head 0" [checked]',
        'radio "layer 1, head average"',
    ):
        assert line in tree, tree


def test_maps_have_the_colors_of_the_weights(one):
    pixel = "canvas => [...canvas.getContext('2d').getImageData(2, 5, 1, 1).data]"
    for number, (layer, head) in enumerate(((0, 0), (0, 1), (0, 2))):
        color = COLORS[to_levels(WEIGHTS)[layer, head, 5, 2]]
        found = one.maps.nth(number).locator("canvas").evaluate(pixel)
        assert found == [*bytes.fromhex(color[1:]), 255]


def test_two_explorers_and_the_same_one_twice_do_not_disturb_one_another(open_page):
    other_weights, other = some_weights(1, 2, 4, causal=False, seed=1), list("GTCA")
    first = plots.attention_explorer(WEIGHTS, TOKENS)
    page = open_page(first, plots.attention_explorer(other_weights, other), first)
    roots = page.locator("[data-explorer]")
    explored = [Explored(roots.nth(number)) for number in range(3)]
    assert page.locator(".sentence").count() == 3
    explored[0].tokens.nth(2).click()
    explored[1].maps.nth(1).click()
    explored[1].tokens.nth(0).click()
    explored[2].maps.nth(4).click()
    assert explored[0].says() == spoken(WEIGHTS, SHOWN, 0, 0, 2)
    assert explored[1].says() == spoken(other_weights, other, 0, 1, 0)
    assert explored[2].says() == spoken(WEIGHTS, SHOWN, 1, 0, 7)


def test_a_page_keeps_its_own_variables_and_styles(open_page):
    names = "Object.getOwnPropertyNames(window).sort()"
    empty = open_page().evaluate(names)
    page = open_page(plots.attention_explorer(WEIGHTS, TOKENS))
    assert page.evaluate(names) == empty
    assert page.evaluate("document.styleSheets.length") == 0


@pytest.mark.parametrize("causal", [True, False])
def test_a_later_token_is_told_apart_where_none_is_read(open_page, causal):
    weights = some_weights(1, 1, 5, causal)
    one = Explored(open_page(plots.attention_explorer(weights, "ABCDE")).locator("[data-explorer]"))
    one.tokens.nth(2).click()
    later = [one.tokens.nth(n).evaluate("button => button.classList.contains('later')") for n in range(5)]
    assert later == [causal and n > 2 for n in range(5)]
    assert one.says() == spoken(weights, "ABCDE", 0, 0, 2)


def test_a_masked_row_reads_nothing(open_page):
    weights = np.tile(np.eye(3), (1, 1, 1, 1))
    weights[0, 0, 2] = 0
    one = Explored(open_page(plots.attention_explorer(weights, "ABC")).locator("[data-explorer]"))
    assert "“C” reads nothing" in one.says()


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("size", [(2, 3, 8), (12, 12, 18), (1, 1, 128)])
def test_a_phone_scrolls_in_one_direction_only(open_page, size, scripts, screenshots):
    tokens = [f"·token{index}" if index % 3 else "antidisestablishmentarianism" * 2 for index in range(size[2])]
    page = open_page(plots.attention_explorer(some_weights(*size), tokens), width=360, scripts=scripts)
    page.screenshot(path=screenshots / f"explorer_phone_{size[0]}_{scripts}.png", full_page=True)
    if scripts:
        page.locator("summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    else:
        root = page.locator("[data-explorer]").bounding_box()
        assert root["x"] + root["width"] <= 360 and page.locator("html").bounding_box()["width"] <= 360


def test_where_no_script_runs_the_figure_and_the_table_are_seen(open_page, screenshots):
    page = open_page(plots.attention_explorer(WEIGHTS, TOKENS), scripts=False)
    assert page.locator("table").is_visible() and page.locator("img").is_visible()
    assert page.get_by_text("A still").is_visible()
    page.screenshot(path=screenshots / "explorer_without_scripts.png", full_page=True)


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_is_told_from_its_ground(open_page, screenshots, theme):
    """The contrast of each text, as WCAG 2.1 AA asks for it, with every token chosen once."""
    page = open_page(plots.attention_explorer(WEIGHTS, TOKENS), theme=theme)
    one = Explored(page.locator("[data-explorer]"))
    for number in range(8):
        one.tokens.nth(number).click()
        found = page.evaluate(CONTRASTS)
        assert len(found) > 20
        assert min(found, key=lambda pair: pair[1])[1] >= 4.5, found
    page.screenshot(path=screenshots / f"explorer_{theme}.png", full_page=True)


# For every text of the page and of the explorer: the text, and its contrast to the ground that is painted below it.
CONTRASTS = """() => {
  const luminance = (color) => color.slice(0, 3).map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const ground = (element) => {
    const color = parse(getComputedStyle(element).backgroundColor);
    if (color.length === 3 || color[3] === 1) return color;
    return ground(element.parentElement || element.getRootNode().host);
  };
  const found = [];
  const visit = (parent) => {
    for (const element of parent.children) {
      const text = [...element.childNodes].map((node) => (node.nodeType === 3 ? node.data.trim() : "")).join("");
      if (text && element.checkVisibility() && !["STYLE", "SCRIPT"].includes(element.tagName)) {
        const both = [luminance(parse(getComputedStyle(element).color)), luminance(ground(element))];
        found.push([text, (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05)]);
      }
      visit(element);
      if (element.shadowRoot) visit(element.shadowRoot);
    }
  };
  visit(document.body);
  return found;
}"""
