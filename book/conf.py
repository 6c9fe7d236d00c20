"""Settings of Sphinx: the site and the EPUB, from the sources that book/assemble.py lays out in book/_build/source."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "Transformers Three Ways"
author = "The authors of Transformers Three Ways"
copyright = author  # the license says the year
version = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
language = "en"
show_authors = False
html_show_copyright = False

extensions = ["myst_nb", "sphinx_copybutton", "pages"]
include_patterns = ["index.md", "notebooks/**/*.ipynb", "notebooks/*.ipynb", "teachers/*.md"]
templates_path = ["templates"]

# The stored outputs are the book; nothing runs.
nb_execution_mode = "off"
nb_merge_streams = True
nb_mime_priority_overrides = [
    (builder, mime, place) for builder in ("html", "epub") for place, mime in enumerate(("text/html", "text/plain"))
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_heading_slug_func = "pages.anchor"  # as Jupyter, so that a link is right there and here
html_math_renderer = "drawn"  # in pages.py

html_theme = "furo"
html_title = project
html_static_path = ["static"]
html_css_files = ["book.css"]
html_js_files = [("book.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it would fetch each page that is found, which a browser refuses in a folder
html_use_index = False
html_permalinks_icon = "#"
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_selector = "div.highlight:not(div.output div.highlight) pre"

epub_basename = "transformers-three-ways"
epub_identifier = "transformers-three-ways"
epub_uid = epub_identifier
epub_show_urls = "no"
epub_use_index = False
epub_tocdepth = 2
epub_css_files = ["epub.css"]
epub_exclude_files = [
    f"_static/{name}"
    for name in (
        *("book.js", "gpt.js", "gpt_page.js", "gpt_sentences.js"),
        *("book.css", "copybutton.js", "file.png", "plus.png", "minus.png"),
    )
]
suppress_warnings = ["epub.unknown_project_files"]  # files of the course that a page links to
