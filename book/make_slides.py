"""Slides of *Why* and *By hand*, one file for each notebook: `make slides`, or CHAPTER=06 for those of one chapter.

The cells are as they are stored; nothing is executed. nbconvert makes the pages, reveal.js turns them, and the book's own
drawings are the formulas. A file holds all of it, and asks nothing of a network.
"""

import argparse
import importlib.util
import math
import re
import sys
from pathlib import Path

import nbformat
from nbconvert.exporters import SlidesExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pages import draw
from pygments.formatters import HtmlFormatter

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))
from shared.files import write_whole

TRACKS = ("numpy", "pytorch", "keras")  # compare has neither of the two headings
SECTIONS = ("Why", "By hand")
# What fits on a slide of 720 pixels: the height of a line of text and of code, and the letters to a line of text.
ROOM, TEXT, CODE, LETTERS = 640, 38, 26, 84


class Renderer(IPythonRenderer):
    """Markdown as HTML: formulas are drawn, and a link to another notebook is its words."""

    def __init__(self):
        super().__init__(escape=False, exclude_anchor_links=True)

    def inline_math(self, body: str) -> str:
        return draw(" ".join(body.split()), inline=True, label=True)

    def block_math(self, body: str) -> str:
        return f'<span class="formula">{draw(" ".join(body.split()), inline=False, label=True)}</span>'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return super().link(text, url, title) if url.startswith("https:") else text


def markdown_to_html(source: str) -> str:
    """What nbconvert does with the text of a cell, with drawn formulas."""
    return MarkdownWithMath(renderer=Renderer()).render(source)


def reveal() -> tuple[str, str]:
    """The style and the script of reveal.js, out of the package that carries them."""
    found = importlib.util.find_spec("sphinx_revealjs")
    dist = Path(found.origin).parent / "_static" / "revealjs" / "dist"
    return tuple((dist / name).read_text(encoding="utf-8") for name in ("reveal.css", "reveal.js"))


def cells_of(notebook: nbformat.NotebookNode, path: Path) -> list[nbformat.NotebookNode]:
    """The cells under the headings that become slides."""
    found = {section: [] for section in SECTIONS}
    section = ""
    for cell in notebook.cells:
        heading = re.search(r"^## (.+)$", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else None
        section = heading[1].strip() if heading else section
        if section in found:
            found[section].append(cell)
    missing = [section for section in SECTIONS if not found[section]]
    if missing:
        sys.exit(f'{path}: the heading "{missing[0]}" is missing')
    for cell in (cell for cells in found.values() for cell in cells):
        if cell.cell_type == "code" and cell.execution_count is None:
            sys.exit(f"{path}: cell {cell.id} has no stored output; make run stores it")
    return [cell for cells in found.values() for cell in cells]


def paragraphs(source: str) -> list[str]:
    """The blocks of a Markdown cell; a heading goes with what follows it."""
    blocks, fence = [""], False
    for line in source.splitlines():
        fence = fence != line.startswith(("```", "~~~"))
        if not line.strip() and not fence:
            blocks.append("")
        else:
            blocks[-1] += line + "\n"
    merged = []
    for block in filter(None, blocks):
        if merged and re.fullmatch(r"#+ .*\n", merged[-1]):
            merged[-1] += "\n" + block
        else:
            merged.append(block)
    return merged


def chunks(source: str) -> list[str]:
    """Code in parts that fit on a slide, cut at its empty lines where there are any."""
    parts = [""]
    for block in re.split(r"\n{2,}(?=\S)", source):
        both = f"{parts[-1]}\n\n{block}" if parts[-1] else block
        if parts[-1] and len(both.splitlines()) * CODE > ROOM - 40:
            parts.append(block)
        else:
            parts[-1] = both
    return parts


def height_of_output(output: nbformat.NotebookNode) -> float:
    """How many pixels an output takes, about."""
    data = output.get("data", {})
    html = data.get("text/html", "")
    if "<img" in html or "<svg" in html or "image/png" in data:
        return 14.5 * 28 + 20
    if html:
        return 34 * html.count("<tr") + 30 if "<tr" in html else TEXT * (1 + html.count("<br")) + 20
    text = output.get("text", data.get("text/plain", ""))
    return CODE * sum(math.ceil(max(len(line), 1) / 95) for line in text.splitlines()) + 30


def height_of_text(block: str) -> float:
    if block.lstrip().startswith("$$"):
        return 90
    lines = block.splitlines()
    if lines[0].startswith("|"):
        return 42 * (len(lines) - 1) + 20
    heading = 50 if lines[0].startswith("#") else 0
    if any(re.match(r"\s*([-*]|\d+\.|>) ", line) for line in lines):
        return heading + sum(TEXT * math.ceil(len(line) / LETTERS) + 8 for line in lines if line.strip())
    return heading + TEXT * math.ceil(len(" ".join(lines)) / LETTERS) + 16


def pieces(cells: list[nbformat.NotebookNode]) -> list[tuple[nbformat.NotebookNode, float, bool]]:
    """What the cells consist of, each with its height and whether a slide must begin with it.

    A slide begins at a heading, where a paragraph begins in bold (a step, a question), and with the answer to a question.
    """
    found, asked = [], False

    def add(cell: nbformat.NotebookNode, height: float, starts: bool) -> None:
        found.append((cell, height, starts))

    for cell in cells:
        if cell.cell_type == "markdown":
            for block in paragraphs(cell.source):
                starts = block.startswith(("#", "**"))
                asked = "**Predict" in block or (asked and not starts)
                add(nbformat.v4.new_markdown_cell(block), height_of_text(block), starts)
            continue
        if "inputs" not in cell.metadata.get("tags", []) or cell.source.strip():
            for number, part in enumerate(chunks(cell.source)):
                lines = part.splitlines()
                code = nbformat.v4.new_code_cell(part)
                add(code, CODE * len(lines) + 40, asked and number == 0)
        for output in cell.outputs:
            add(nbformat.v4.new_code_cell("", outputs=[output]), height_of_output(output), False)
        asked = False
    return found


def lay_out(notebook: nbformat.NotebookNode, path: Path) -> nbformat.NotebookNode:
    """A notebook whose cells are pieces of the first, marked where a slide begins."""
    deck = nbformat.v4.new_notebook(metadata=notebook.metadata)
    found = pieces(cells_of(notebook, path))
    full = 0.0
    for number, (cell, height, starts) in enumerate(found):
        new = number == 0 or starts or full + height > ROOM
        if cell.source and cell.cell_type == "code" and number + 1 < len(found):  # code stays with what it shows
            following, its_height, _ = found[number + 1]
            new = new or (not following.source and full + height + its_height > ROOM >= height + its_height)
        full = height if new else full + height
        cell.id = f"piece-{number}"
        cell.metadata["slideshow"] = {"slide_type": "slide" if new else "-"}
        deck.cells.append(cell)
    return deck


def make(path: Path) -> str:
    """The slides of a notebook, as a page."""
    notebook = nbformat.read(path, as_version=4)
    title = re.match(r"# (.+)", notebook.cells[0].source)[1]
    style, script = reveal()
    colors = HtmlFormatter(style="tango").get_style_defs(".reveal .highlight")
    own = {name: (HERE / "deck" / name).read_text(encoding="utf-8") for name in ("deck.css", "deck.js")}
    deck = {
        "title": title.replace("`", ""),
        "style": "\n".join([style, colors, own["deck.css"]]),
        "script": "\n".join([script, own["deck.js"]]).replace("</script", "<\\/script"),
    }
    exporter = SlidesExporter(
        template_name="deck",
        extra_template_basedirs=[str(HERE)],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        filters={"markdown2html": markdown_to_html},
    )
    page, _ = exporter.from_notebook_node(lay_out(notebook, path.relative_to(ROOT)), resources={"deck": deck})
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chapter", help="two digits, such as 06; all chapters if not given")
    parser.add_argument("--folder", type=Path, default=ROOT / "slides")
    arguments = parser.parse_args()
    folders = [path for path in sorted((ROOT / "notebooks").glob("[0-9][0-9]_*")) if (path / "numpy.ipynb").is_file()]
    chosen = [path for path in folders if arguments.chapter is None or path.name[:2] == arguments.chapter.zfill(2)]
    if not chosen:
        sys.exit(f"chapter={arguments.chapter}: expected one of {', '.join(path.name[:2] for path in folders)}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for folder in chosen:
        for track in TRACKS:
            write_whole(arguments.folder / f"{folder.name}-{track}.html", make(folder / f"{track}.ipynb"))
    print(
        f"{len(chosen) * len(TRACKS)} files in {arguments.folder.name}: open one in a browser, and go on with the arrow keys."
    )


if __name__ == "__main__":
    main()
