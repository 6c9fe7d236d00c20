"""The slides in Chromium: from a folder, with no network, every slide readable, the keys of a teacher's hand."""

import re
import subprocess
import sys
from pathlib import Path

import folds
import make_slides
import nbformat
import pytest
from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[2]
LOOKED_AT = {
    "slide_question": ("06_attention-numpy", "Predict, then open the answer."),
    "slide_figure": ("13_bert-numpy", "hidden_word(sentence"),
    "slide_formula": ("10_dna_mutation-numpy", "Kimura"),
    "slide_wide_table": ("15_real_text-pytorch", "behind another sentence\t5.3"),
    "slide_code": ("04_tokenization-numpy", "def count(words"),
}
HIDDEN = {"tags": ["answer"], "collapsed": True, "jupyter": {"source_hidden": True, "outputs_hidden": True}}
# What a slide of 1280 by 720 shows: its size, its smallest code, pictures that did not load, formulas without a size.
SEEN = """() => {
  const box = Reveal.getCurrentSlide();
  const asks = [...box.querySelectorAll("strong")].find(each => each.innerText.startsWith("Predict"));
  const shown = [...box.querySelectorAll("pre, img, .jp-OutputArea")];
  const sizes = [...box.querySelectorAll("pre")].map(each => parseFloat(getComputedStyle(each).fontSize));
  return {
    text: box.innerText.trim(),
    asks: Boolean(asks),
    answered: Boolean(asks) && shown.some(each => asks.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING),
    height: box.scrollHeight,
    over: box.scrollWidth - box.clientWidth,
    code: Math.min(100, ...sizes),
    words: parseFloat(getComputedStyle(box).fontSize),
    dead: [...box.querySelectorAll("img")].filter(each => !each.naturalWidth).length,
    undescribed: [...box.querySelectorAll("img")].filter(each => !each.alt).length,
    formulas: [...box.querySelectorAll("svg[role=img]")].map(each => each.getBoundingClientRect().width),
    dollars: /\\$[^$\\n]+\\$/.test([...box.querySelectorAll("p, li")].map(each => each.innerText).join("\\n")),
  };
}"""


@pytest.fixture(scope="module")
def deck(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("slides")
    subprocess.run([sys.executable, ROOT / "book/make_slides.py", "--folder", folder], check=True, capture_output=True)
    return folder


@pytest.fixture
def page(chromium) -> Page:
    """A page that notes what it asks of others, and what goes wrong."""
    context = chromium.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    page = context.new_page()
    page.asked, page.wrong = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda message: page.wrong.append(message.text) if message.type == "error" else None)
    yield page
    context.close()


def open_deck(page: Page, path: Path) -> int:
    page.goto(path.as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady() && Reveal.getCurrentSlide().dataset.fitted")
    return page.evaluate("Reveal.getTotalSlides()")


def walk(page: Page, path: Path) -> list[dict]:
    """Every slide, reached by the arrow key."""
    seen = []
    for number in range(open_deck(page, path)):
        if number:
            page.keyboard.press("ArrowRight")
            page.wait_for_function(f"Reveal.getIndices().h === {number} && Reveal.getCurrentSlide().dataset.fitted")
        seen.append(page.evaluate(SEEN))
    return seen


NOTEBOOKS = [
    f"{path.parent.name}-{path.stem}"
    for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*/*.ipynb"))
    if path.stem in make_slides.TRACKS
]


def test_there_is_a_file_for_each_notebook_and_all_is_inside(deck):
    assert sorted(path.stem for path in deck.iterdir()) == sorted(NOTEBOOKS)
    for path in deck.iterdir():
        text = re.sub(r"<script>.*</script>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        loaded = re.findall(r'<(?:img|script|link|iframe|source)\b[^>]*?\b(?:src|href)="([^"]*)"', text)
        assert [each[:60] for each in loaded if not each.startswith("data:")] == []
        assert [each for each in re.findall(r"url\(([^)]{0,60})|@import", text) if not each.startswith("data:")] == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_slide_is_readable_and_the_arrow_keys_lead_there(deck, page, name):
    seen = walk(page, deck / f"{name}.html")
    assert len(seen) >= 4
    assert [slide for slide in seen if slide["height"] > 690 or slide["over"] > 1] == []
    assert min(slide["words"] for slide in seen) >= 20 and min(slide["code"] for slide in seen) >= 15
    assert [slide for slide in seen if slide["dead"] or slide["undescribed"] or slide["dollars"]] == []
    assert all(width > 4 for slide in seen for width in slide["formulas"])
    assert any(slide["asks"] for slide in seen) and not seen[-1]["asks"]  # the answer is on the next one
    assert [slide["text"] for slide in seen if slide["answered"]] == []
    together = "\n".join(slide["text"] for slide in seen)
    assert together.startswith("Why\n") and "\nBy hand\n" in together and "Build it\n" not in together
    assert page.asked == [(deck / f"{name}.html").as_uri()] and page.wrong == []
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"Reveal.getIndices().h === {len(seen) - 2}")


def test_formulas_are_drawn(deck, page):
    drawn = sum(len(slide["formulas"]) for slide in walk(page, deck / "10_dna_mutation-numpy.html"))
    text = (deck / "10_dna_mutation-numpy.html").read_text(encoding="utf-8")
    assert drawn >= 8 and 'aria-label="H(P) = -\\sum_y P(y)\\,\\log P(y)"' in text


@pytest.mark.parametrize("picture", LOOKED_AT)
def test_pictures_to_look_at(deck, page, screenshots, picture):
    name, words = LOOKED_AT[picture]
    for number in range(open_deck(page, deck / f"{name}.html")):
        page.evaluate(f"Reveal.slide({number})")
        page.wait_for_timeout(50)
        if words in page.evaluate(SEEN)["text"]:
            page.screenshot(path=screenshots / f"{picture}.png")
            return
    pytest.fail(f"no slide of {name} says {words}")


def test_a_later_section_is_on_no_slide_and_a_hidden_answer_is_on_the_next():
    text, printed = nbformat.v4.new_markdown_cell, nbformat.v4.new_output("stream", text="2\n")
    answer = nbformat.v4.new_code_cell("1 + 1", execution_count=1, outputs=[folds.BLANK, printed], metadata=HIDDEN)
    cells = [
        text("## Why\n\nText."),
        text("### Later: more\n\nMuch more."),
        text("## By hand\n\n**Predict.** How much?"),
    ]
    deck = make_slides.lay_out(nbformat.v4.new_notebook(cells=[*cells, answer]), Path("x.ipynb"))
    assert "Later" not in "\n".join(cell.source for cell in deck.cells)
    begun = [cell.metadata["slideshow"]["slide_type"] for cell in deck.cells]
    assert begun == ["slide", "slide", "slide", "-"]
    assert deck.cells[-1].outputs == [printed] and HIDDEN.keys().isdisjoint(deck.cells[-1].metadata)


def test_what_is_wrong_is_said(tmp_path):
    result = subprocess.run(
        [sys.executable, ROOT / "book/make_slides.py", "--chapter", "99"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1 and result.stderr.startswith("chapter=99: expected one of 01, 02")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A title\n\n## Why\n\nText.")])
    with pytest.raises(SystemExit, match='x.ipynb.*"By hand"'):
        make_slides.lay_out(notebook, Path("x.ipynb"))
    notebook.cells += [nbformat.v4.new_markdown_cell("## By hand\n\nText."), nbformat.v4.new_code_cell("1")]
    with pytest.raises(SystemExit, match="no stored output"):
        make_slides.lay_out(notebook, Path("x.ipynb"))
