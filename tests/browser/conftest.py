"""Chromium, and where the tests in it leave their pictures."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def chromium() -> Browser:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """A folder that git ignores, to look into after `make browser`."""
    folder = Path(__file__).resolve().parent / "screenshots"
    folder.mkdir(exist_ok=True)
    return folder
