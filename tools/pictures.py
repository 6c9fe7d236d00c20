"""Draw the README's pictures, from the map's stored outputs as the book shows them: `make pictures`.

They are of the book's first page in Chromium, light and dark, and say of which outputs (`digest`), so that a test can tell an
old one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from pathlib import Path

from installation import ROOT

MAP = ROOT / "notebooks/00_start_here.ipynb"
PAGE = ROOT / "book/_build/html/index.html"
IMAGES = ROOT / "images"
# Name of the picture -> the map's cell, and where the first page shows what it printed.
SHOWN = {"attention": ("look-inside-2", "[data-explorer]"), "steps": ("three-ways-2", "table[aria-label^='The steps']")}
THEMES = ("light", "dark")
WIDTH, SCALE, COLORS = 880, 1.5, 64  # of the window, in CSS pixels; pixels of a picture for each; in its palette


def path_of(name: str, theme: str) -> Path:
    return IMAGES / f"{name}_{theme}.png"


def digest(cell_id: str) -> str:
    """Which stored output a picture is of."""
    cells = json.loads(MAP.read_text(encoding="utf-8"))["cells"]
    [cell] = [cell for cell in cells if cell["id"] == cell_id]
    return hashlib.sha256("".join(cell["outputs"][0]["data"]["text/html"]).encode()).hexdigest()[:16]


def main() -> None:
    from PIL import Image, PngImagePlugin
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("CHROMIUM") or sys.exit("expected CHROMIUM to name the program")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for theme in THEMES:
            size = {"width": WIDTH, "height": 1000}
            page = browser.new_page(color_scheme=theme, viewport=size, device_scale_factor=SCALE)
            page.goto(PAGE.as_uri())
            page.wait_for_timeout(1000)  # until the explorer is drawn
            for name, (cell_id, selector) in SHOWN.items():
                shot = page.locator(selector).first.screenshot()
                picture = (
                    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLORS, kmeans=1, dither=Image.Dither.NONE)
                )
                about = PngImagePlugin.PngInfo()
                about.add_text("digest", digest(cell_id))
                picture.save(path_of(name, theme), optimize=True, pnginfo=about)
                print(path_of(name, theme).relative_to(ROOT), path_of(name, theme).stat().st_size, "bytes")
        browser.close()


if __name__ == "__main__":
    main()
