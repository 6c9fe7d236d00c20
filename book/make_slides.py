"""Slides of *Why* and *By hand*, one file for each notebook: `make slides`, or CHAPTER=06 for those of one chapter.

The cells are as they are stored; nothing is executed. nbconvert makes the pages, reveal.js turns them, and the book's own
drawings are the formulas. A file holds all of it, and asks nothing of a network. What neither of them does is to divide the
lesson: a slide begins at a heading, a step, a question and an answer (here), and one that is too long goes on, on the next
(deck.js, which measures it).
"""

import argparse
import importlib.util
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
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
from folds import BLANK, main_line

from shared.files import write_whole

TRACKS = ("numpy", "pytorch", "keras")  # compare has neither of the two headings
SECTIONS = ("Why", "By hand")
LINES = 22  # of code, to a slide


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
    """The cells under the headings that become slides, without those of Later sections."""
    found = {section: [] for section in SECTIONS}
    section = ""
    for cell in main_line(notebook.cells):
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
        if parts[-1] and len(both.splitlines()) > LINES:
            parts.append(block)
        else:
            parts[-1] = both
    return parts


def pieces(cells: list[nbformat.NotebookNode]) -> list[tuple[nbformat.NotebookNode, bool]]:
    """What the cells consist of, each a cell of its own, and whether a slide begins with it.

    A slide begins at a heading, where a paragraph begins in bold (a step, a question), and with the answer to a question.
    """
    found, asked = [], False
    for cell in cells:
        if cell.cell_type == "markdown":
            for block in paragraphs(cell.source):
                starts = block.startswith(("#", "**"))
                asked = "**Predict" in block or (asked and not starts)
                found.append((nbformat.v4.new_markdown_cell(block), starts))
            continue
        if "inputs" not in cell.metadata.get("tags", []) or cell.source.strip():
            parts = [nbformat.v4.new_code_cell(part) for part in chunks(cell.source)]
            found += [(part, asked and part is parts[0]) for part in parts]
        shown = [output for output in cell.outputs if output != BLANK]
        found += [(nbformat.v4.new_code_cell("", outputs=[output]), False) for output in shown]
        asked = False
    return found


def lay_out(notebook: nbformat.NotebookNode, path: Path) -> nbformat.NotebookNode:
    """A notebook whose cells are pieces of the first, marked where a slide begins."""
    deck = nbformat.v4.new_notebook(metadata=notebook.metadata)
    for number, (cell, starts) in enumerate(pieces(cells_of(notebook, path))):
        cell.id = f"piece-{number}"
        cell.metadata["slideshow"] = {"slide_type": "slide" if starts or number == 0 else "-"}
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
