"""The book in Chromium, as `make browser` has built it: from a folder, with no network, in both themes, by keyboard and on a phone."""

import html.parser
import http.server
import os
import re
import shutil
import subprocess
import threading
import zipfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import axe_playwright_python
import course
import pages
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from playwright.sync_api import Page, expect

from shared import chapters

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "book" / "_build" / "html"
EPUB = ROOT / "book" / "_build" / "epub" / "transformers-three-ways.epub"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
NOTEBOOKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks").rglob("*.ipynb"))
NOTEBOOKS = [path for path in NOTEBOOKS if ".ipynb_checkpoints" not in path]
LOOKED_AT = {
    "first": "index.html",
    "lesson": "notebooks/06_attention/numpy.html",
    "compare": "notebooks/06_attention/compare.html",
    "real_text": "notebooks/15_real_text/numpy.html",
    "map": "notebooks/00_start_here.html",
}
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
# Of the pieces of code that have one color, the first is enough: axe takes milliseconds for each of thousands.
ONE_OF_A_COLOR = """() => {
  const seen = new Set();
  for (const span of document.querySelectorAll("pre span[class], pre span[style]")) {
    const box = span.closest(".highlight, td");
    const key = [span.className, span.getAttribute("style"), box && box.tagName, !!span.closest(".cell_output")].join();
    if (seen.has(key) && !span.querySelector("span")) span.replaceWith(span.textContent);
    seen.add(key);
  }
}"""
# A page has thousands of pieces of text in some fifty looks: one of each is marked, in each theme, and axe is asked about these alone.
ONE_OF_A_LOOK = """() => {
  const looks = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    const {color, fontSize, fontWeight} = getComputedStyle(element);
    const look = [element.tagName, color, fontSize, fontWeight];
    for (let each = element; each; each = each.parentElement) {
      const {backgroundColor, backgroundImage, opacity} = getComputedStyle(each);
      look.push(backgroundColor, backgroundImage, opacity);
    }
    const key = look.filter(part => !["rgba(0, 0, 0, 0)", "none", "1"].includes(part)).join();
    if (!looks.has(key)) element.dataset.kept = "";
    looks.add(key);
  }
}"""
THESE_ALONE = """() => {
  for (const each of document.querySelectorAll("body *")) {
    if (!each.closest("[data-kept]") && !each.querySelector("[data-kept]")) each.remove();
  }
}"""
FAILED = """options => axe.run(document, options).then(found => found.violations.flatMap(
  each => each.nodes.map(node => `${each.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`)))"""
RULES_BUT_COLOR = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
    "rules": {"color-contrast": {"enabled": False}},
    "resultTypes": ["violations"],
    "preload": False,
}
RULES_OF_COLOR = {"runOnly": ["color-contrast", "link-in-text-block"], "resultTypes": ["violations"], "preload": False}
DARK = "getComputedStyle(document.body).backgroundColor !== 'rgb(255, 255, 255)'"
# Text that a reader of a narrow screen would have to move the page for: not in a box that scrolls by itself, and not hidden.
CUT_OFF = """width => {
  const found = [];
  const scrolls = (element) => {
    for (let each = element; each && each.tagName !== "ARTICLE"; each = each.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(each).overflowX)) return true;
    }
    return false;
  };
  for (const each of document.querySelectorAll("article :is(p, li, h1, h2, h3, td, th, summary, img, a)")) {
    const box = each.getBoundingClientRect();
    if (box.right > width + 1 && each.checkVisibility() && !scrolls(each)) found.push(each.outerHTML.slice(0, 200));
  }
  return [document.documentElement.scrollWidth > width ? "the page scrolls sideways" : "", ...found].filter(Boolean);
}"""
FORMULAS = """() => [...document.querySelectorAll(".math")].map((each) => {
  const box = each.querySelector("svg").getBoundingClientRect();
  return [box.width, box.height, each.querySelectorAll("svg path").length, each.querySelectorAll("math").length];
})"""


def test_every_notebook_has_its_page_and_can_be_downloaded_from_there():
    assert {path.removesuffix(".ipynb") + ".html" for path in NOTEBOOKS} <= set(PAGES)
    for path in NOTEBOOKS:
        assert (SITE / path).read_bytes() == (ROOT / path).read_bytes()
        name = Path(path).name
        assert f'<a href="{name}" download>' in (SITE / path).with_suffix(".html").read_text(encoding="utf-8")


def test_the_epub_can_be_downloaded_from_the_first_page():
    assert f'<a href="{EPUB.name}" download>' in (SITE / "index.html").read_text(encoding="utf-8")
    assert (SITE / EPUB.name).read_bytes() == EPUB.read_bytes()


@pytest.fixture(scope="module")
def context(chromium):
    """A reader without a network: every request that is not for a file of the site is noted, and refused."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
    context.outside = []

    def refuse(route):
        context.outside.append(route.request.url)
        route.abort()

    context.route(re.compile(r"^(?!file:|data:|blob:|http://127\.0\.0\.1:)"), refuse)
    yield context
    context.close()


@pytest.fixture
def page(context) -> Page:
    """A page on which no script may fail, no file may be missing, and no request may leave the machine."""
    page, complaints = context.new_page(), []
    context.outside.clear()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: request.failure != "net::ERR_ABORTED" and complaints.append(request.url))
    page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    yield page
    page.evaluate("() => { try { localStorage.clear() } catch { } }")
    page.close()
    assert context.outside == [] and complaints == []


def go(page: Page, name: str) -> None:
    page.goto((SITE / name.partition("#")[0]).as_uri() + "".join(name.partition("#")[1:]))


def hard_to_see(page: Page) -> dict[str, list[str]]:
    """What axe says of the colors in each theme of the system; of the page, only the text that it was asked about is left."""

    def in_each_theme(script: str, *options) -> dict:
        found = {}
        for theme, shown in {"light": f"!({DARK})", "dark": DARK}.items():
            page.emulate_media(color_scheme=theme)
            page.wait_for_function(shown)
            found[theme] = page.evaluate(script, *options)
        return found

    in_each_theme(ONE_OF_A_LOOK)
    page.evaluate(THESE_ALONE)
    return in_each_theme(FAILED, RULES_OF_COLOR)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shuts_nobody_out(page, name):
    """axe-core on the whole page, and its rules of color in both themes; formulas drawn; on a phone, no text cut off."""
    go(page, name)
    formulas = page.evaluate(FORMULAS)
    assert all(min(box) > 0 for box in formulas)
    text = page.locator("article").evaluate(
        "article => { const copy = article.cloneNode(true);"
        "copy.querySelectorAll('pre, code, math').forEach(each => each.remove()); return copy.textContent }"
    )
    assert not re.search(r"\$\$|\\(frac|sum|sqrt|mathrm|partial|text)\b", text), "a formula that was not drawn"
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate(CUT_OFF, 360) == []
    page.set_viewport_size({"width": 1400, "height": 900})
    page.evaluate(ONE_OF_A_COLOR)
    page.evaluate(AXE)
    assert page.evaluate(FAILED, RULES_BUT_COLOR) == []
    assert hard_to_see(page) == {"light": [], "dark": []}


@pytest.mark.parametrize("name", LOOKED_AT.values())
@pytest.mark.parametrize(("theme", "system"), [("dark", "light"), ("light", "dark")])
def test_a_theme_other_than_that_of_the_system_shuts_nobody_out(page, name, theme, system):
    page.emulate_media(color_scheme=system)
    go(page, name)
    page.evaluate("theme => document.body.dataset.theme = theme", theme)
    page.wait_for_function(DARK if theme == "dark" else f"!({DARK})")
    page.evaluate(ONE_OF_A_LOOK)
    page.evaluate(THESE_ALONE)
    page.evaluate(AXE)
    assert page.evaluate(FAILED, RULES_OF_COLOR) == []


def test_axe_finds_what_is_wrong(page):
    """The checks of the test above fail on a page that they must fail on."""
    go(page, "index.html")
    page.locator("article").evaluate(
        'article => article.innerHTML += \'<img src="_static/file.png"><p style="color:#ccc;background:#fff">faint</p>'
        '<p style="width:500px">wide</p><p class="night">unseen</p>\''
    )
    page.add_style_tag(content="@media (prefers-color-scheme: dark) { p.night { color: #222 } }")
    page.evaluate(AXE)
    assert [each.split(":")[0] for each in page.evaluate(FAILED, RULES_BUT_COLOR)] == ["image-alt"]
    page.set_viewport_size({"width": 360, "height": 800})
    assert any("wide" in each for each in page.evaluate(CUT_OFF, 360))
    found = hard_to_see(page)
    assert len(found["light"]) == 1 and "color-contrast" in found["light"][0] and "faint" in found["light"][0]
    assert sum("night" in each for each in found["dark"]) == 1 and not any("night" in each for each in found["light"])


class Links(html.parser.HTMLParser):
    """The ids of a page, and everything that it refers to."""

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        for name in ("src", *(("href",) if tag == "link" else ())):
            if attributes.get(name) and not attributes[name].startswith("data:"):
                self.loaded.append(attributes[name])

    handle_startendtag = handle_starttag


def broken(pages: dict[str, Links], exists) -> list[str]:
    """Every link inside the book that leads to no file, or to no place in it, and everything that is loaded from elsewhere."""
    found = []
    for name, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded or parts.scheme not in ("https", "http", "mailto"):
                    found.append(f"{name}: {link}")
                continue
            here = Path(name).parent / unquote(parts.path) if parts.path else Path(name)
            target = Path(*simplified(here)).as_posix()
            known = pages[target].ids if target in pages else None
            if not exists(target) or (known is not None and parts.fragment and unquote(parts.fragment) not in known):
                found.append(f"{name}: {link}")
    return found


def simplified(path: Path) -> list[str]:
    parts = []
    for part in path.parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return parts


def test_no_link_and_no_anchor_is_broken():
    pages = {name: Links((SITE / name).read_text(encoding="utf-8")) for name in PAGES}
    assert sum(len(page.links) for page in pages.values()) > 50 * len(pages)
    assert broken(pages, lambda name: (SITE / name).is_file()) == []


def test_a_broken_link_is_noticed():
    pages = {
        "a/b.html": Links(
            '<p id="x"><a href="../c.html#y"><a href="#z"><a href="d.html"><script src="https://e.org/f.js">'
        )
    }
    pages["c.html"] = Links('<p id="x">')
    assert broken(pages, lambda name: name in pages) == [
        f"a/b.html: {link}" for link in ("../c.html#y", "#z", "d.html", "https://e.org/f.js")
    ]


def chapter_page(number: int, track: str) -> str:
    return next(name for name in PAGES if re.fullmatch(rf"notebooks/{number:02}_\w+/{track}\.html", name))


def heading(page: Page):
    """The heading that the address names."""
    return page.locator(f"[id='{unquote(urlsplit(page.url).fragment)}'] > :is(h2, h3)").first


@pytest.mark.parametrize("track", ["pytorch", "keras", "compare"])
@pytest.mark.parametrize("title", ["Build it", "Check it", "Pitfalls", "Exercises"])
def test_switching_keeps_the_heading(page, title, track):
    go(page, LOOKED_AT["lesson"])
    section = page.locator("section").filter(has=page.locator(f"> h2:has-text('{title}')"))
    section.locator(
        "> p.twins a", has_text={"pytorch": "PyTorch", "keras": "Keras", "compare": "Compare"}[track]
    ).click()
    assert urlsplit(page.url).path.endswith(f"06_attention/{track}.html")
    there = {"Build it": "Step by step", "Check it": "Proof", "Pitfalls": "Key differences"}
    expect(heading(page)).to_contain_text(there.get(title, title) if track == "compare" else title)
    expect(heading(page)).to_be_in_viewport()


def test_three_clicks_from_the_first_page_show_how_the_other_framework_masks_padding(page):
    """For a reader who knows PyTorch and needs Keras."""
    go(page, "index.html")
    page.locator("article tr", has_text="Attention").locator("a[href*='06_attention/pytorch']").click()
    page.locator(".toc-tree a", has_text="Masks").click()
    expect(heading(page)).to_contain_text("Masks")
    page.locator("section").filter(has=page.locator("> h3:has-text('Masks')")).locator(
        "> p.twins a", has_text="Keras"
    ).click()
    assert urlsplit(page.url).path.endswith("06_attention/keras.html")
    expect(heading(page)).to_contain_text("Masks")
    expect(heading(page)).to_be_in_viewport()
    section = page.locator(f"[id='{urlsplit(page.url).fragment}']")
    assert "def padding_mask" in section.inner_text()


def shown(page: Page, selector: str) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(selector).all_inner_texts() if text.strip()]


def test_the_chosen_framework_is_remembered_from_chapter_to_chapter(page):
    go(page, chapter_page(6, "numpy"))
    assert [text.split(": ")[-1] for text in shown(page, ".route .next a:visible")] == ["PyTorch", "Keras"]
    page.locator("p.twins a.track-keras").first.click()
    go(page, chapter_page(9, "numpy"))
    assert shown(page, ".route .next a:visible") == ["Next 09 Training: Keras"]
    assert page.locator("p.twins").first.locator("a").all_inner_texts()[0] == "Keras"
    page.get_by_label("Your framework").select_option("PyTorch")
    assert shown(page, ".route .next a:visible") == ["Next 09 Training: PyTorch"]
    page.reload()
    assert shown(page, ".route .next a:visible") == ["Next 09 Training: PyTorch"]
    page.get_by_label("Your framework").select_option("both")
    assert len(shown(page, ".route .next a:visible")) == 2


def test_next_leads_along_the_route_to_the_end_and_previous_back_to_the_start():
    def last_of(name: str, direction: str) -> str | None:
        route = (SITE / name).read_text(encoding="utf-8").partition('<nav class="route"')[2].partition("</nav>")[0]
        found = BeautifulSoup(route, "html.parser").select(f".{direction} a")
        return Path(*simplified(Path(name).parent / found[-1]["href"])).as_posix() if found else None

    walked = ["index.html"]
    for direction in ("next", "previous"):
        while (following := last_of(walked[-1], direction)) is not None:
            walked.append(following)
    folders = [f"notebooks/{chapter.folder}" for chapter in chapters.ready()]
    stops = [f"{folder}/{track}.html" for folder in folders for track in ("numpy", "keras", "compare")]
    there = ["index.html", "notebooks/00_start_here.html", *stops]
    assert walked == [*there, *there[-2::-1]]


def test_without_scripts_everything_is_there(chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    go(page, chapter_page(6, "numpy"))
    assert [text.split(": ")[-1] for text in shown(page, ".route .next a:visible")] == ["PyTorch", "Keras"]
    assert page.locator(".math svg").first.is_visible() and page.locator(".cell_output img").first.is_visible()
    assert not page.get_by_label("Your framework").is_visible()
    context.close()


@pytest.fixture
def served():
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 64  # a page asks for many figures at once

    with Server(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("from_a_folder", [True, False])
def test_search_finds_softmax(page, served, from_a_folder):
    page.goto((SITE.as_uri() + "/" if from_a_folder else served) + "index.html")
    page.get_by_role("searchbox", name="Search").or_(page.locator("input[name=q]")).first.fill("softmax")
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    page.get_by_text(re.compile("Search finished, found")).wait_for()
    found = [link.get_attribute("href") for link in page.locator("#search-results li a").all()]
    assert any("06_attention/numpy.html" in link for link in found)
    with page.expect_navigation(wait_until="networkidle"):
        page.locator("#search-results li a[href*='06_attention/numpy']").first.click()
    assert "06_attention/numpy.html" in page.url


def test_the_keyboard_reaches_what_a_mouse_does(page):
    go(page, chapter_page(6, "numpy"))
    keys = page.keyboard
    keys.press("Tab")
    focused = page.locator(":focus")
    while "Skip to content" not in focused.inner_text():
        keys.press("Tab")
        assert page.evaluate("document.activeElement !== document.body"), "no link past the side bar"
    assert focused.is_visible()
    keys.press("Enter")
    keys.press("Tab")
    for _ in range(4):  # the notebooks of the chapter come first
        if "track-pytorch" in (focused.get_attribute("class") or ""):
            break
        keys.press("Tab")
    assert focused.evaluate("link => getComputedStyle(link).outlineStyle !== 'none'"), "the focus cannot be seen"
    keys.press("Enter")
    page.wait_for_url("**/06_attention/pytorch.html")
    assert page.locator("body").get_attribute("data-framework") == "pytorch"


def test_the_theme_is_switched_by_keyboard_and_kept(page):
    go(page, "index.html")
    ground = "getComputedStyle(document.body).backgroundColor"
    button = page.locator("button.theme-toggle:visible").first
    seen = [page.evaluate(ground)]
    for _ in range(2):
        button.press("Enter")
        seen.append(page.evaluate(ground))
    assert len(set(seen)) == 2
    chosen = page.locator("body").get_attribute("data-theme")
    go(page, "notebooks/00_start_here.html")
    assert page.locator("body").get_attribute("data-theme") == chosen


def test_on_a_phone_the_side_bar_opens_by_keyboard(page):
    page.set_viewport_size({"width": 360, "height": 800})
    go(page, chapter_page(6, "numpy"))
    link = page.locator(".sidebar-tree a", has_text="07 ")
    expect(link.first).not_to_be_visible()
    page.keyboard.press("Tab")
    assert page.locator(":focus").get_attribute("aria-label") == "Toggle site navigation sidebar"
    icon = page.locator(".nav-overlay-icon")
    assert icon.evaluate("icon => getComputedStyle(icon).outlineStyle") == "solid", "the focus cannot be seen"
    page.keyboard.press("Space")
    expect(link.first).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(link.first).not_to_be_visible()
    page.keyboard.press("Space")
    link.first.press("Enter")
    page.wait_for_url("**/07_feed_forward/numpy.html")


def test_what_scrolls_sideways_is_reached_by_keyboard(page):
    page.set_viewport_size({"width": 360, "height": 800})
    go(page, LOOKED_AT["compare"])
    boxes = page.evaluate(
        "() => [...document.querySelectorAll('article *')].filter(each => each.scrollWidth > each.clientWidth + 1 &&"
        "['auto', 'scroll'].includes(getComputedStyle(each).overflowX)).map(each => each.tabIndex)"
    )
    assert len(boxes) > 5 and set(boxes) == {0}


def test_printed_sentences_wrap_and_columns_keep_their_lines(page):
    page.set_viewport_size({"width": 800, "height": 800})
    cut = """() => {
      document.querySelectorAll("details").forEach((each) => each.open = true);
      return [...document.querySelectorAll(".cell_output .output pre")]
        .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent);
    }"""
    go(page, "notebooks/07_feed_forward/numpy.html")
    assert page.evaluate(cut) == []
    assert page.locator(".output.sentences", has_text="the mean must be below").count() > 0
    go(page, "notebooks/13_bert/numpy.html")
    assert any("[CLS]     the" in each for each in page.evaluate(cut))


def folded(builder: str) -> str:
    """What `pages.fold` makes of a page with a Later section and the answer to a prediction."""
    later = nodes.section("", nodes.title("", "Later: more"), nodes.paragraph("", "Much more."), ids=["later-more"])
    output = nodes.container("", nodes.paragraph("", "2"), nb_element="cell_code_output")
    cell = nodes.container(
        "", nodes.paragraph("", "1 + 1"), output, nb_element="cell_code", classes=["cell", "tag_answer"]
    )
    page = nodes.section("", nodes.title("", "Use it"), cell, later)
    pages.fold(SimpleNamespace(builder=SimpleNamespace(name=builder)), page, "page")
    return "\n".join(text.astext() for text in page.findall(nodes.Text))


def test_later_sections_and_answers_are_folded_in_the_site():
    answer = '<details class="fold answer"><summary>Show the answer</summary>\n1 + 1\n2\n</details>'
    section = '<details class="fold later"><summary>\nLater: more\n</summary>\nMuch more.\n</details>'
    assert folded("html") == f"Use it\n{answer}\n{section}"
    assert folded("epub") == "Use it\n1 + 1\n2\nLater: more\nMuch more."


@pytest.fixture
def section(page):
    """A section that is folded, with a heading inside, on a page with links to both."""
    go(page, "index.html")
    page.locator("article").evaluate(
        "article => article.innerHTML += `<a href='#later-more'>later</a> <a href='#inside'>inside</a>"
        "<div style='height: 3000px'></div><section id='later-more'><details class='fold later'><summary><h3>Later</h3></summary>"
        "<section id='inside'><h4>Inside</h4><p>Much more.</p></section></details></section>`"
    )
    return page.locator("section#later-more")


@pytest.mark.parametrize("name", ["later", "inside"])
def test_a_link_opens_the_section_that_it_leads_into(page, section, name):
    text = section.get_by_text("Much more.")
    expect(text).not_to_be_visible()
    for _ in range(2):  # the second time, the address is the same
        page.get_by_role("link", name=name, exact=True).click()
        expect(text).to_be_in_viewport()
        section.locator("summary").click()
        expect(text).not_to_be_visible()


def test_on_paper_what_is_folded_is_there(page, section):
    page.emulate_media(media="print")
    shown = "each => each.checkVisibility({contentVisibilityAuto: true})"
    assert section.get_by_text("Much more.").evaluate(shown)
    page.emulate_media(media="screen")
    assert not section.get_by_text("Much more.").evaluate(shown)


@pytest.mark.parametrize("name", ["lesson", "compare"])
def test_on_paper_nothing_is_cut(page, name):
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 without its margins
    page.emulate_media(media="print")
    go(page, LOOKED_AT[name])
    cut = """() => [...document.querySelectorAll("article pre, article table, article img")]
      .filter((each) => each.getBoundingClientRect().right > 718 + 1 || each.scrollWidth > each.clientWidth + 1)
      .map((each) => each.outerHTML.slice(0, 300))"""
    assert page.evaluate(cut) == []
    expect(page.get_by_text("Skip to content")).to_be_hidden()  # it would lie upon every sheet
    page.emulate_media(media="screen")


def test_the_pages_of_a_chapter_are_printed(tmp_path):
    paths = course.print_chapter(os.environ["CHROMIUM"], "06_attention", tmp_path)
    sheets = {}
    for path in paths:
        data = path.read_bytes()
        assert data.startswith(b"%PDF") and data.rstrip().endswith(b"%%EOF")
        sheets[path.stem] = len(re.findall(rb"/Type\s*/Page\b", data))
    assert sheets.pop("06_attention_quiz_06") == 2  # the questions, and the answers
    assert set(sheets) == {f"06_attention_{track}" for track in ("compare", "keras", "numpy", "pytorch")}
    assert min(sheets.values()) >= 8


def test_a_quiz_is_answered_by_keyboard(page):
    go(page, chapter_page(6, "numpy"))
    option = page.locator(".quiz summary").first
    reason = page.locator(".quiz details p").first
    expect(reason).to_be_hidden()
    option.focus()
    page.keyboard.press("Enter")
    expect(reason).to_be_visible()
    assert reason.inner_text().startswith(("Right.", "Wrong."))
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == page.locator(".quiz summary").nth(1).inner_text()


def test_on_paper_a_quiz_keeps_its_answers(page):
    page.emulate_media(media="print")
    go(page, chapter_page(6, "numpy"))
    assert page.locator(".quiz summary").first.is_visible()
    shown = "each => each.checkVisibility({contentVisibilityAuto: true})"
    assert not any(reason.evaluate(shown) for reason in page.locator(".quiz details p").all())
    page.emulate_media(media="screen")


@pytest.mark.parametrize("name", ["first", "map", "real_text"])
def test_the_attention_explorer_answers_to_mouse_and_keys_in_the_book(page, name):
    go(page, LOOKED_AT[name])
    explorer = page.locator("[data-explorer]").first
    told = explorer.locator("[aria-live=polite]")
    found = [told.inner_text()]
    explorer.locator(".tokens button").nth(1).click()
    found.append(told.inner_text())
    page.keyboard.press("ArrowRight")
    found.append(told.inner_text())
    assert len(set(found)) == 3


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 360])
def test_pages_to_look_at(chromium, screenshots, theme, width):
    context = chromium.new_context(viewport={"width": width, "height": 1500}, color_scheme=theme)
    for name, path in LOOKED_AT.items():
        page = context.new_page()
        go(page, path)
        page.screenshot(path=screenshots / f"book_{name}_{theme}_{width}.png")
        page.close()
    context.close()
    assert len(list(screenshots.glob(f"book_*_{theme}_{width}.png"))) >= len(LOOKED_AT)


@pytest.mark.skipif(not shutil.which("epubcheck"), reason="epubcheck is not installed")
def test_epubcheck_finds_nothing_in_the_epub():
    program = Path(shutil.which("epubcheck"))
    command = ["java", "-jar"] if program.read_bytes()[:2] == b"PK" else []  # Debian's is the archive itself
    done = subprocess.run([*command, program, EPUB], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_the_epub_holds_every_notebook_as_xml_without_scripts():
    with zipfile.ZipFile(EPUB) as epub:
        names = set(epub.namelist())
        pages = {name: epub.read(name).decode() for name in names if name.endswith(".xhtml")}
    assert {path.removesuffix(".ipynb") + ".xhtml" for path in NOTEBOOKS} <= set(pages)
    formulas = 0
    for name, text in pages.items():
        root = ElementTree.fromstring(text)
        assert root.findall(".//{*}script") == [], name
        for drawn in root.findall(".//*[@class='math notranslate']/{*}svg"):
            assert drawn.get("aria-label") and drawn.findall(".//{*}path"), name
            formulas += 1
        for image in root.findall(".//{*}img"):
            assert image.get("alt") and not image.get("src").startswith(("http", "data")), name
    in_the_site = sum((SITE / name).read_text(encoding="utf-8").count('class="math notranslate"') for name in PAGES)
    assert formulas == in_the_site > 500
    assert broken({name: Links(text) for name, text in pages.items()}, names.__contains__) == []
