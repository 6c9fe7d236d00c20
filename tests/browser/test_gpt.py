"""The GPT that trains in the book's first page: NumPy's numbers, its controls, and what is there without a script."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from shared import next_word
from shared.numpy.gpt import GPTModel, token_probabilities
from shared.numpy.training import AdamW, warmup_schedule

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "book" / "_build" / "html"
LESSON = ROOT / "book" / "static" / "gpt.js"
SIZES = {"width": 12, "heads": 3, "hidden": 20, "words": next_word.VOCABULARY, "length": 31, "blocks": 2}
TEN_STEPS = """([sizes, weights, batches]) => {
  const model = new GPT.Model(sizes), optimizer = new GPT.AdamW(model, (step) => 1e-4 * (step + 1) / 20);
  for (const name in weights) model.weights[name] = Float64Array.from(weights[name]);
  const plain = (arrays) => Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, [...array]]));
  const found = { logits: [...model.forward([0, ...batches[0][0]]).logits], losses: [] };
  for (const rows of batches) {
    found.losses.push(GPT.loss(model, rows));
    found.gradients ??= plain(model.gradients);
    optimizer.step();
  }
  return { ...found, weights: plain(model.weights) };
}"""


@pytest.fixture
def lesson(chromium):
    page = chromium.new_page()
    page.add_script_tag(path=LESSON)
    yield page
    page.close()


@pytest.fixture
def first_page(chromium):
    context = chromium.new_context(viewport={"width": 1000, "height": 1500})
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((SITE / "index.html").as_uri())
    yield page
    assert errors == []
    context.close()


def test_it_is_numpys_model_with_its_gradients_and_ten_steps_of_adamw(lesson):
    model = GPTModel(12, 3, 20, vocab_size=next_word.VOCABULARY, max_length=31, num_layers=2, rng=0)
    rng = np.random.default_rng(0)
    for name, array in model.parameters().items():
        array[:] = rng.normal(scale=0.3, size=array.shape) + name.endswith("gamma")
    batches = [next_word.batch_at(step, batch_size=4) for step in range(10)]
    rows = [[row[row >= 0].tolist() for row in targets] for _, targets in batches]
    weights = {name: array.ravel().tolist() for name, array in model.parameters().items()}
    found = lesson.evaluate(TEN_STEPS, [SIZES, weights, rows])

    def same(name, ours, theirs):
        np.testing.assert_allclose(np.reshape(ours, theirs.shape), theirs, rtol=0, atol=1e-12, err_msg=name)

    same("logits", found["logits"], model(np.array([[0, *rows[0][0]]]))[0])
    optimizer = AdamW(model, warmup_schedule(1e-4, 20, 100))
    for step, (inputs, targets) in enumerate(batches):
        loss, grad = next_word.loss_and_gradient(model(inputs), targets)
        same("loss", found["losses"][step], np.asarray(loss))
        optimizer.zero_grad()
        model.backward(grad)
        if step == 0:
            for name, array in model.gradients().items():
                same(name, found["gradients"][name], array)
        optimizer.step()
    for name, array in model.parameters().items():
        same(name, found["weights"][name], array)
        assert np.abs(array.ravel() - weights[name]).max() > 1e-5 or name.endswith("key.bias"), name


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.5}, {"temperature": 0}, {"top_k": 4}, {"top_p": 0.6}, {"top_k": 1}]
)
def test_it_draws_from_numpys_probabilities(lesson, options):
    logits = np.random.default_rng(0).normal(size=30)
    given = [logits.tolist(), options.get("temperature", 1), options.get("top_k", 30), options.get("top_p", 1)]
    found = lesson.evaluate("given => GPT.probabilities(...given)", given)
    np.testing.assert_allclose(found, token_probabilities(logits[None], **options)[0], atol=1e-15)


def test_the_lesson_is_short_and_asks_for_nothing():
    text = LESSON.read_text(encoding="utf-8")
    assert len(text.encode()) <= 15_000
    assert not re.search(
        r"fetch|XMLHttpRequest|import\(|https?:", text + (LESSON.parent / "gpt_page.js").read_text("utf-8")
    )


def held_out(page) -> float:
    return float(re.search(r"learn from: (\S+) nats", page.locator(".said").inner_text())[1])


def test_by_keyboard_it_trains_pauses_and_starts_anew(first_page):
    first_page.set_default_timeout(120_000)
    start, best = (
        held_out(first_page),
        float(re.search(r"possible is (\d\.\d+)", first_page.locator(".said").inner_text())[1]),
    )
    assert start == pytest.approx(np.log(next_word.VOCABULARY), abs=0.05)
    expect(first_page.locator(".gpt-still")).to_be_hidden()
    first_page.locator(".train").focus()
    first_page.keyboard.press("Enter")
    first_page.wait_for_function("() => +document.querySelector('.said').textContent.match(/Step (\\d+)/)[1] >= 120")
    first_page.keyboard.press("Enter")
    assert best < held_out(first_page) < 3 and first_page.locator(".train").inner_text() == "Train"
    assert "nats a word" in first_page.locator(".gpt svg").get_attribute("aria-label")
    lines = first_page.locator(".written li")
    assert len(set(lines.all_inner_texts())) == 5
    first_page.locator(".temperature").focus()
    first_page.keyboard.press("Home")
    assert len(set(lines.all_inner_texts())) == 1  # at temperature 0 all are the likeliest
    first_page.locator(".anew").focus()
    first_page.keyboard.press("Enter")
    assert held_out(first_page) == start


def test_the_weights_of_each_head_are_a_table_of_percents(first_page):
    def rows():
        texts = first_page.locator(".weights tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(c => c.textContent))"
        )
        return [[int(cell) for cell in row[1:] if cell] for row in texts[1:]]

    first = rows()
    assert [len(row) for row in first] == list(range(1, len(first) + 1))
    assert all(abs(sum(row) - 100) <= len(row) / 2 for row in first)
    first_page.locator(".gpt .head").select_option("2")
    assert rows() != first
    first_page.locator(".gpt .sentence").fill("the dragon")
    assert first_page.locator(".unknown").inner_text() == '"dragon" is none of its words.'
    first_page.locator(".gpt .sentence").fill("two <b>")
    assert first_page.locator(".unknown").inner_text() == '"<b>" is none of its words.'


def test_a_text_of_ones_own_is_learned_from_and_what_is_wrong_is_said(first_page):
    first_page.locator(".gpt summary").click()
    first_page.locator(".gpt textarea").fill("one line")
    first_page.locator(".use").click()
    assert first_page.locator(".problem").inner_text() == "1 sentences: expected at least 20"
    first_page.locator(".gpt textarea").fill("\n".join(f"<i>word{number} is here" for number in range(1100)))
    first_page.locator(".use").click()
    assert "different words: expected at most 1000" in first_page.locator(".problem").inner_text()
    first_page.locator(".gpt textarea").fill("The cat sat. A dog ran! <i>Nobody saw it? " * 20)
    first_page.locator(".use").click()
    assert (
        first_page.locator(".problem").inner_text() == "" and "possible" not in first_page.locator(".said").inner_text()
    )
    first_page.locator(".train").click()
    first_page.wait_for_function("() => +document.querySelector('.said').textContent.match(/Step (\\d+)/)[1] >= 80")
    first_page.locator(".train").click()
    assert held_out(first_page) < 1 and first_page.locator(".gpt i").count() == 0


def test_a_loss_that_rises_above_where_it_began_stays_in_the_figure(first_page):
    first_page.set_default_timeout(120_000)
    first_page.locator(".gpt summary").click()
    few = first_page.locator(".gpt textarea").input_value().splitlines()[:50]
    first_page.locator(".gpt textarea").fill("\n".join(few))
    first_page.locator(".use").click()
    start = held_out(first_page)
    first_page.locator(".train").click()
    first_page.wait_for_function("() => +document.querySelector('.said').textContent.match(/Step (\\d+)/)[1] >= 400")
    first_page.locator(".train").click()
    points = first_page.locator(".gpt svg polyline.held-out").get_attribute("points").split()
    heights = [float(point.split(",")[1]) for point in points]
    assert held_out(first_page) > start and heights[-1] < heights[0]  # it learned the others by heart
    assert min(heights) > 12 and len(set(heights[-6:])) > 1  # below the upper edge, and not along it


def test_without_a_script_there_are_a_still_and_a_table(chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((SITE / "index.html").as_uri())
    still = page.locator(".gpt-still")
    expect(still.locator("img")).to_be_visible()
    expect(still.locator("table")).to_contain_text("the best possible")
    assert page.locator(".gpt").count() == 0
    context.close()
