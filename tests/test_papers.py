"""CITATION.cff and CONTRIBUTING.md: what they say is what the course is."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import assemble
import pytest

pytestmark = pytest.mark.form

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def field(name: str) -> str:
    return re.search(rf'^{name}: "?([^"\n]+)"?$', CITATION, re.MULTILINE)[1]


def test_the_citation_has_what_the_format_requires():
    keys = set(re.findall(r"^([a-z-]+):", CITATION, re.MULTILINE))
    assert {"cff-version", "message", "title", "authors"} <= keys
    assert keys <= {"cff-version", "message", "type", "title", "version", "license", "authors", "abstract", "keywords"}
    assert field("cff-version") == "1.2.0" and field("type") == "software" and "\t" not in CITATION


def test_the_citation_agrees_with_pyproject_and_the_license():
    assert field("version") == PROJECT["version"] and field("license") == PROJECT["license"]
    assert field("title").lower().replace(" ", "-") == PROJECT["name"]
    abstract = " ".join(re.search(r"^abstract: >-\n((?:  .+\n)+)", CITATION, re.MULTILINE)[1].split())
    assert abstract == PROJECT["description"] + "."
    [author] = re.findall(r'^  - name: "(.+)"$', CITATION, re.MULTILINE)
    assert f"Copyright (c) 2026 {author}" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_every_command_that_contributing_names_exists():
    targets = set(re.findall(r"`make ([a-z-]+)", CONTRIBUTING))
    assert {"test", "export", "run", "lint", "book", "browser"} <= targets
    assert targets <= set(
        re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    for script, options in re.findall(r"python (tools/\w+\.py) ([^`]+)`", CONTRIBUTING):
        help_of = subprocess.run([sys.executable, ROOT / script, "--help"], capture_output=True, text=True, check=True)
        assert options.split()[0] in help_of.stdout
        for path in re.findall(r"notebooks/\S+\.ipynb", options):
            assert (ROOT / path).is_file()
    listed = subprocess.run(
        [sys.executable, ROOT / "tools/course.py", "run", "--help"], capture_output=True, text=True, check=True
    )
    assert "--fresh-timings" in listed.stdout


def test_every_place_that_a_new_chapter_needs_is_there():
    """The list of CONTRIBUTING.md, with an existing chapter in the place of the example."""
    listed = CONTRIBUTING.split("## A new chapter")[1].split("## Style")[0]
    paths = {
        path.replace("17_example", "06_attention").replace("example", "attention")
        for path in re.findall(r"`([\w./]+)`", listed)
    }
    paths = {path for path in paths if "/" in path or path.endswith(".md")}
    assert len(paths) >= 9
    assert [path for path in sorted(paths) if not (ROOT / path).exists() and "solutions" not in path] == []
    for name, path in re.findall(r"`([A-Z]+)` of `([\w./]+)`", listed):
        assert re.search(rf"^{name}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name


def test_the_headings_that_contributing_lists_are_those_of_a_chapter():
    course = assemble.Course(ROOT)
    [chapter] = [each for each in course.chapters if each.folder == "06_attention"]
    for track in ("numpy", "compare"):
        assert f"*{', '.join(chapter.pages[track].sections())}*" in CONTRIBUTING


def test_the_links_of_contributing_lead_somewhere():
    assert [link for link in assemble.links(CONTRIBUTING) if not (ROOT / link).exists()] == []
