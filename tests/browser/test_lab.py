"""JupyterLab as a reader meets it, in Chromium: the first start asks nothing, and reading a notebook changes nothing."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import folds
import nbformat
import pytest
from playwright.sync_api import Page

from shared import plots
from shared.quizzes import quiz

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ("00_start_here", *(f"06_attention/{name}" for name in ("numpy", "pytorch", "keras", "compare")))
# Signs that JupyterLab wants something of the reader, or believes that a notebook was changed.
ASKED = ".Toastify__toast, .jp-Dialog"
CHANGED = ".jp-mod-dirty"


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> str:
    """The address of a JupyterLab that `tools/course.py lab` has started for a reader with an empty home."""
    home = tmp_path_factory.mktemp("home")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    unset = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "XDG_CONFIG_HOME")
    variables = {key: value for key, value in os.environ.items() if key not in unset}
    variables |= {"HOME": str(home), "JUPYTER_TOKEN": "reader"}
    command = [sys.executable, "tools/course.py", "--here", "lab", "--no-browser", "--port", str(port)]
    with open(home / "lab.log", "w") as log:
        server = subprocess.Popen(
            command, cwd=ROOT, env=variables, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api?token=reader", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, (home / "lab.log").read_text()
                time.sleep(0.5)
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=60)


@pytest.fixture(scope="module")
def page(lab, chromium) -> Page:
    page = chromium.new_page(viewport={"width": 1000, "height": 900})
    page.goto(f"{lab}/?token=reader")  # what `make lab` opens
    yield page
    page.close()


def wait_for_kernel(page: Page) -> None:
    """Wait until the open notebook is drawn and its kernel idle, and JupyterLab has had the time to react to that."""
    page.wait_for_selector(".jp-NotebookPanel .jp-Notebook .jp-Cell", timeout=60_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)
    page.wait_for_timeout(2000)


def test_the_first_start_opens_the_map_and_asks_nothing(page, screenshots):
    wait_for_kernel(page)
    assert page.url.endswith("/lab/tree/notebooks/00_start_here.ipynb")
    page.screenshot(path=screenshots / "lab_map.png")
    assert page.locator(ASKED).all_text_contents() == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_that_is_opened_and_closed_stays_as_it_was(page, lab, screenshots, name):
    path = ROOT / "notebooks" / f"{name}.ipynb"
    before = path.read_bytes()
    page.goto(f"{lab}/lab/tree/notebooks/{name}.ipynb?reset")
    wait_for_kernel(page)
    page.screenshot(path=screenshots / f"lab_{name.replace('/', '_')}.png")
    assert page.locator(CHANGED).count() == 0
    page.keyboard.press("Alt+w")
    page.wait_for_selector(".jp-NotebookPanel", state="detached", timeout=10_000)
    assert page.locator(ASKED).all_text_contents() == []
    assert path.read_bytes() == before


def test_a_change_is_noticed(page, lab):
    """What the test above looks for appears when a cell is edited; it is taken back, and nothing is saved."""
    page.goto(f"{lab}/lab/tree/notebooks/{NOTEBOOKS[1]}.ipynb?reset")
    wait_for_kernel(page)
    page.locator(".jp-NotebookPanel .jp-MarkdownCell").first.click()
    page.keyboard.press("b")  # a new cell below
    page.wait_for_selector(CHANGED, state="attached", timeout=10_000)
    page.keyboard.press("Alt+w")
    page.wait_for_selector(".jp-Dialog", timeout=10_000)
    page.locator(".jp-Dialog button", has_text="Discard").click()


def test_figures_are_described_to_a_screen_reader(page, lab):
    """What Chromium hands to assistive technology, while a reader scrolls through the notebook until all was heard."""
    figures = {
        "06_attention/numpy": {"Arrows in the plane", "Multi-head attention: ", "Attention map, "},
        "06_attention/compare": {"The steps of MultiHeadAttention"},
    }
    tree = page.context.new_cdp_session(page)
    for name, missing in figures.items():
        page.goto(f"{lab}/lab/tree/notebooks/{name}.ipynb?reset")
        wait_for_kernel(page)
        for _ in range(40):
            for node in tree.send("Accessibility.getFullAXTree")["nodes"]:
                if node.get("role", {}).get("value") in ("image", "img", "table"):
                    heard = node.get("name", {}).get("value", "")
                    missing -= {words for words in missing if heard.startswith(words)}
            if not missing:
                break
            page.mouse.move(500, 500)
            page.mouse.wheel(0, 700)
            page.wait_for_timeout(100)
        assert missing == set(), name


def test_a_later_section_is_collapsed_and_an_answer_is_hidden_until_its_cell_is_run(page, lab, screenshots):
    text, printed = nbformat.v4.new_markdown_cell, nbformat.v4.new_output("stream", text="forty-two\n")
    tagged = {"metadata": {"tags": ["answer"]}, "outputs": [printed], "execution_count": 1}
    answer = nbformat.v4.new_code_cell('forty = "forty"\nprint(forty + "-two")', **tagged)
    later = [text("### Later: more\n\nWhat it is for."), text("Much more."), text("### The end\n\nText.")]
    cells = [text("**Predict.** How much?"), answer, *later]
    folds.close(cells)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), screenshots / "folds.ipynb")

    page.goto(f"{lab}/lab/tree/tests/browser/screenshots/folds.ipynb?reset")
    wait_for_kernel(page)
    page.screenshot(path=screenshots / "lab_folds.png")
    notebook, shown = page.locator(".jp-Notebook"), page.locator(".jp-RenderedMarkdown :is(p, h3):visible")
    assert [each.partition("¶")[0] for each in shown.all_inner_texts()] == [
        "Predict. How much?",
        "Later: more",
        "What it is for.",
        "The end",
        "Text.",
    ]
    assert notebook.get_by_text("forty-two").count() == 0  # not even in place of the output
    notebook.get_by_text("1 cell hidden").click()
    shown.filter(has_text="Much more.").wait_for()
    page.locator(".jp-CodeCell .jp-Placeholder").first.wait_for()
    assert notebook.get_by_text("print(").count() == 0  # the code is hidden, too
    page.locator(".jp-CodeCell .jp-Cell-inputCollapser").first.click()
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+Enter")
    notebook.get_by_text("forty-two").wait_for(timeout=60_000)
    page.keyboard.press("Control+s")
    page.wait_for_selector(CHANGED, state="detached", timeout=10_000)


def test_the_attention_explorer_works_in_a_notebook_that_is_trusted_and_can_be_read_in_one_that_is_not(
    page, lab, screenshots
):
    """A new notebook is not trusted: its stored page is shown without the script, until its cell is run."""
    explorer = plots.attention_explorer([[[[1, 0, 0], [0.75, 0.25, 0], [0, 0.6, 0.4]]]], ["the", " cat", " sat"])
    bundle = {"text/html": explorer._repr_html_(), "text/plain": repr(explorer)}
    source = (
        "from shared import plots\n"
        'plots.attention_explorer([[[[1, 0, 0], [0.75, 0.25, 0], [0, 0.6, 0.4]]]], ["the", " cat", " sat"])'
    )
    output = nbformat.v4.new_output("execute_result", bundle, execution_count=1)
    cell = nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=kernel), screenshots / "explorer.ipynb")

    page.goto(f"{lab}/lab/tree/tests/browser/screenshots/explorer.ipynb?reset")
    wait_for_kernel(page)
    assert page.locator(".sentence").count() == 0
    assert page.locator(".jp-OutputArea td").all_inner_texts() == ["", "·cat\n60\xa0%"]
    assert page.locator(f'.jp-OutputArea img[alt="{explorer}"]').is_visible()
    page.screenshot(path=screenshots / "explorer_lab_untrusted.png")

    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Control+Enter")
    sentence = page.locator(".sentence")
    sentence.wait_for(timeout=60_000)
    read = "In layer 0, head 0, “·sat” reads 60 % from “·cat” and 40 % from itself."
    assert sentence.inner_text().replace("\xa0", " ") == read
    page.locator(".tokens button").nth(2).click()
    page.keyboard.press("ArrowLeft")  # JupyterLab's single keys are quiet while the explorer has the focus
    assert sentence.inner_text().replace("\xa0", " ").endswith("“·cat” reads 75 % from “the” and 25 % from itself.")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("d")
    page.keyboard.press("d")  # in a notebook, this deletes a cell
    assert sentence.inner_text().replace("\xa0", " ").endswith("“the” reads 100 % from itself.")
    page.screenshot(path=screenshots / "explorer_lab.png")
    page.keyboard.press("Control+s")  # with another key beside them, JupyterLab's keys work as everywhere
    page.wait_for_selector(CHANGED, state="detached", timeout=10_000)


@pytest.mark.parametrize("trusted", [False, True])
def test_a_quiz_is_answered_by_keyboard(page, lab, screenshots, trusted):
    shown = quiz("06")
    output = nbformat.v4.new_output("execute_result", {"text/html": shown._repr_html_()}, execution_count=1)
    source = 'from shared.quizzes import quiz\n\nquiz("06")'
    cell = nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=kernel), screenshots / "quiz.ipynb")
    page.goto(f"{lab}/lab/tree/tests/browser/screenshots/quiz.ipynb?reset")
    wait_for_kernel(page)
    if trusted:  # what the reader has run
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.keyboard.press("Control+Enter")
        page.locator(".quiz").wait_for(timeout=60_000)
        page.wait_for_timeout(2000)
    options, reasons = page.locator(".jp-OutputArea summary"), page.locator(".jp-OutputArea details p")
    assert options.count() == reasons.count() == 15
    options.nth(0).focus()
    page.keyboard.press("Enter")
    assert [reasons.nth(0).is_visible(), reasons.nth(1).is_visible()] == [True, False]
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == options.nth(1).inner_text()
    page.keyboard.press("Enter")
    assert reasons.nth(1).is_visible()
    page.screenshot(path=screenshots / f"quiz_lab_{'trusted' if trusted else 'untrusted'}.png")
    page.keyboard.press("Control+s")
    page.wait_for_selector(CHANGED, state="detached", timeout=10_000)
