"""JupyterLab as a reader meets it, in Chromium: the first start asks nothing, and reading a notebook changes nothing."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent.parent
NOTEBOOKS = ("00_start_here", *(f"06_attention/{name}" for name in ("numpy", "pytorch", "keras", "compare")))
# Signs that JupyterLab wants something of the reader, or believes that a notebook was changed.
ASKED = ".Toastify__toast, .jp-Dialog"
CHANGED = ".jp-mod-dirty"
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


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
def page(lab) -> Page:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=QUIET)
        page = chromium.new_page(viewport={"width": 1000, "height": 900})
        page.goto(f"{lab}/?token=reader")  # what `make lab` opens
        yield page
        chromium.close()


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
    """What Chromium hands to assistive technology, while a reader scrolls through the notebook."""
    heard = set()
    tree = page.context.new_cdp_session(page)
    for name in ("06_attention/numpy", "06_attention/compare"):
        page.goto(f"{lab}/lab/tree/notebooks/{name}.ipynb?reset")
        wait_for_kernel(page)
        for _ in range(40):
            for node in tree.send("Accessibility.getFullAXTree")["nodes"]:
                if node.get("role", {}).get("value") in ("image", "img", "table"):
                    heard.add(node.get("name", {}).get("value", ""))
            page.mouse.move(500, 500)
            page.mouse.wheel(0, 700)
            page.wait_for_timeout(100)
    assert any(text.startswith("Arrows in the plane of nature and money: the at (0, 0)") for text in heard)
    assert any(text.startswith("Multi-head attention: ") for text in heard)
    assert any(text.startswith("Attention map, self-attention, padding masked: ") for text in heard)
    assert "The steps of MultiHeadAttention in NumPy, PyTorch and Keras" in heard
