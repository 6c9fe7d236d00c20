"""Write what can be computed into notebooks, README, teachers' pages and the book's first page: `make tidy`.

Minutes, tables of the chapters, the route between twins, ids of cells, the order of the glossary, what is stored closed, metadata
and layout. Nothing is run. What only a person can decide, such as a missing description of a figure, is left to the tests of form.
Drafts are left alone.
"""

import argparse
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import folds
import nbformat

import notebooks

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from shared import chapters
from shared.data import grammar
from shared.files import write_whole

PAGES = {"numpy": "NumPy", "pytorch": "PyTorch", "keras": "Keras", "compare": "Side by side"}
SENTENCES = "book/static/gpt_sentences.js"
MAP = "notebooks/00_start_here.ipynb"
HEADER = f"| | Chapter | {' | '.join(PAGES.values())} |\n|--|--|--|--|--|--|\n"
EXPRESS = "| | Express route | minutes | run now, read afterwards |\n|--|--|--|--|\n"
# The rule of a first reading, which the README says.
WORDS, LINES, FIGURE = 200, 10, 0.5  # words and lines of code a minute; minutes of a figure or table
ROUTES = {
    "numpy": "Your route: this notebook first, then your framework ([PyTorch](pytorch.ipynb) or [Keras](keras.ipynb)), then [compare](compare.ipynb).",
    "pytorch": "Your route: [NumPy](numpy.ipynb) first, then this notebook, then [compare](compare.ipynb).",
    "keras": "Your route: [NumPy](numpy.ipynb) first, then this notebook, then [compare](compare.ipynb).",
}
_TIMES = re.compile(
    r"(?:First reading: about \d+ minutes; with everything and the exercises, about \d+|About \d+ minutes(?:, \d+ of them [^.]*)?)\."
)
_MEASURED = re.compile(r" \(Measured with [^()]*\(\.\./00_which_framework\.ipynb#Since-when\)\.\)")
_TABLE = re.compile(r"(?:^\|.*\n?)+", re.MULTILINE)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)|<img\b[^>]*>")


def figures_of(outputs: list) -> int:
    """How many figures and tables the outputs of a cell show."""
    shown = [output.get("data", {}) for output in outputs]
    return sum(
        any(kind.startswith("image/") for kind in data)
        or bool(re.search(r"<(img|svg|table)\b", data.get("text/html", "")))
        for data in shown
    )


def minutes_of(cell: nbformat.NotebookNode) -> float:
    """What it takes to read a cell."""
    if cell.cell_type == "code":
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False) and not folds.is_answer(cell)
        lines = [] if hidden else [line for line in cell.source.splitlines() if line.strip()]
        return len(lines) / LINES + figures_of(cell.get("outputs", [])) * FIGURE
    shown = len(_TABLE.findall(cell.source)) + len(_IMAGE.findall(cell.source))
    words = _IMAGE.sub("", _TABLE.sub("", cell.source)).split()
    return len(words) / WORDS + shown * FIGURE


def times(notebook: nbformat.NotebookNode) -> tuple[int, int]:
    """The minutes of a first reading, and of everything with the exercises, in steps of five."""
    return minutes_together(folds.main_line(notebook.cells)), minutes_together(notebook.cells, 2)


def minutes_together(cells: list[nbformat.NotebookNode], times: int = 1) -> int:
    """The minutes of these cells, so many times, in steps of five."""
    return max(5, 5 * round(times * sum(minutes_of(cell) for cell in cells) / 5))


def with_opening(
    source: str,
    page: str,
    first: int,
    whole: int,
    following: chapters.Chapter | None = None,
    can_wait: Collection[str] = (),
) -> str:
    """The first cell of a notebook with its times, its route, and what the express route leaves out and goes on with."""
    sentence = f"First reading: about {first} minutes; with everything and the exercises, about {whole}."
    if _TIMES.search(source):
        source = _TIMES.sub(sentence, source, count=1)
    else:
        paragraphs = source.split("\n\n")
        paragraphs[min(1, len(paragraphs) - 1)] += f" {sentence}"
        source = "\n\n".join(paragraphs)
    route = ROUTES.get(page)
    if route and following:
        route += f" On the express route, {following.number}, [{following.title}](../{following.folder}/{page}.ipynb), is next."
    if route and can_wait:
        route += f" On that route, run the cells of {named(can_wait)}; their text can wait until the route's end."
    if route and not re.search(rf"^{re.escape(route)}$", source, re.MULTILINE):
        source = re.sub(r"\n\nYour route: [^\n]*", "", source) + f"\n\n{route}"
    return source


def with_versions(source: str, versions: dict[str, str]) -> str:
    """The opening of Key differences with the versions on which its rows are measured."""
    measured = (
        f"(Measured with PyTorch {versions['torch']}, Keras {versions['keras']} and TensorFlow {versions['tensorflow']}"
    )
    sentence = f"{measured}. What other versions do: [*Since when*](../00_which_framework.ipynb#Since-when).)"
    heading, opening, *rest = _MEASURED.sub("", source).split("\n\n")
    return "\n\n".join([heading, f"{opening} {sentence}", *rest])


def pinned(root: Path) -> dict[str, str]:
    """The version of each package that is installed, from pins.txt."""
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (root / "pins.txt").read_text(encoding="utf-8"), re.MULTILINE))


def with_ids(cells: list) -> None:
    """Give a cell whose id was made by a program, or is there twice, one that says where it is: its section, and a number."""
    taken, section = {cell.id for cell in cells}, "title"
    seen = set()
    for cell in cells:
        headings = re.findall(r"^#{1,2} (.+)$", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else []
        if headings and cell is not cells[0]:
            section = re.sub(r"\W+", "-", headings[-1].lower()).strip("-")
        if cell.id in seen or re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?", cell.id):
            number = 1
            while f"{section}-{number}" in taken:
                number += 1
            cell.id = f"{section}-{number}"
            taken.add(cell.id)
        seen.add(cell.id)


def with_sorted_glossary(source: str) -> str:
    """A table of terms in the order of the alphabet, whatever the case."""
    rows = re.compile(r"(\| Term \| Meaning \| \|\n\|--\|--\|--\|\n)((?:\|.*\|\n?)+)")

    def in_order(found: re.Match) -> str:
        lines = sorted(found[2].rstrip("\n").split("\n"), key=lambda line: line.split(" | ")[0].strip("| ").lower())
        return found[1] + "\n".join(lines) + ("\n" if found[2].endswith("\n") else "")

    return rows.sub(in_order, source)


def with_table(text: str, rows: list[str], where: str, header: str = HEADER) -> str:
    """The text with these rows in the table of this header."""
    start = text.find(header)
    if start < 0:
        raise ValueError(f"{where} has no table that begins with {header.splitlines()[0]}")
    rest = text[start + len(header) :]
    kept = re.sub(r"\A(?:\|.*(?:\n|\Z))+", "", rest)
    return text[: start + len(header)] + "\n".join(rows) + ("\n" if kept or rest.endswith("\n") else "") + kept


def links(chapter: chapters.Chapter, titles: dict[str, str], before: str = "") -> str:
    cells = [f"[{titles[page]}]({before}{chapter.folder}/{page}.ipynb)" for page in PAGES]
    return f"| {chapter.number} | {chapter.title} | {' | '.join(cells)} |"


def tidied(root: Path = ROOT) -> dict[Path, str]:
    """Every file that is written from others, with the text that it should have."""
    found: dict[Path, str] = {}
    minutes: dict[tuple[str, str], int] = {}
    express: dict[str, int] = {}
    versions = pinned(root)
    ready = [chapter for chapter in chapters.read(root / "shared/course.toml") if chapter.status == "ready"]
    for chapter in ready:
        for page in PAGES:
            path = root / "notebooks" / chapter.folder / f"{page}.ipynb"
            notebook = nbformat.read(path, as_version=4)
            first, whole = times(notebook)
            minutes[chapter.folder, page] = first
            following, can_wait = None, ()
            if page == "numpy":
                following, can_wait = after_on_express_route(ready, chapter), chapter.can_wait
                express[chapter.folder] = minutes_together(folds.express_line(notebook.cells, can_wait))
            for cell in notebook.cells:
                if cell.cell_type == "markdown" and cell.source.startswith("## Key differences\n\n"):
                    cell.source = with_versions(cell.source, versions)
            opening = notebook.cells[0]
            opening.source = with_opening(opening.source, page, first, whole, following, can_wait)
            found[path] = as_stored(notebook)
    for path in sorted((root / "notebooks").glob("*.ipynb")):  # the map, and the pages beside the chapters
        page = nbformat.read(path, as_version=4)
        for cell in page.cells:
            if cell.cell_type == "markdown":
                cell.source = with_sorted_glossary(cell.source)
                if HEADER in cell.source:
                    cell.source = with_table(cell.source, all_minutes(ready, minutes), path.name)
                if EXPRESS in cell.source:
                    cell.source = with_table(cell.source, express_minutes(ready, express), path.name, EXPRESS)
        found[path] = as_stored(page)
    readme = root / "README.md"
    rows = [links(each, {page: page for page in PAGES}, "notebooks/") for each in ready]
    found[readme] = with_table(readme.read_text(encoding="utf-8"), rows, "README.md")
    for path, text in teachers_pages(root, ready, minutes):
        found[path] = text
    if (root / SENTENCES).is_file():
        found[root / SENTENCES] = sentences_of_the_first_page()
    return found


def sentences_of_the_first_page() -> str:
    """What the GPT in the book's first page learns from, and the least loss on those that are held out."""
    learned, held_out = grammar.sample(1000, seed=(2, 0)), grammar.sample(200, seed=(1, 0))
    words = sum(len(sentence.split()) for sentence in held_out)
    best = -sum(map(grammar.log_probability, held_out)) / words
    lines = "\n".join([*learned, *held_out])
    return (
        "// Sentences of shared/data/grammar.py, written by `make tidy`.\n"
        "const GPT_SENTENCES = {\n"
        f"  heldOut: {len(held_out)}, // the last ones\n"
        f"  best: {best:.6f}, // what they cost the grammar itself, in nats a word\n"
        f"  text: `{lines}`,\n"
        "};\n"
    )


def after_on_express_route(ready: list, chapter: chapters.Chapter) -> chapters.Chapter | None:
    """The chapter that follows a chapter of the express route; None for its last one, and for a chapter that isn't on it."""
    route = [each for each in ready if each.express]
    place = route.index(chapter) + 1 if chapter.express else len(route)
    return route[place] if place < len(route) else None


def all_minutes(ready: list, minutes: dict) -> list[str]:
    """The rows of the map's table: the first reading of each notebook, and their sum."""
    rows = [links(each, {page: f"{minutes[each.folder, page]} min" for page in PAGES}) for each in ready]
    hours = [round(sum(minutes[each.folder, page] for each in ready) / 60) for page in PAGES]
    return [*rows, f"| | together | {' | '.join(f'{count} hours' for count in hours)} |"]


def express_minutes(ready: list, minutes: dict[str, int]) -> list[str]:
    """The rows of the express route: what it reads of its NumPy notebooks, their sum, and what it leaves for afterwards."""
    route = [each for each in ready if each.express]
    rows = [
        f"| {e.number} | [{e.title}]({e.folder}/numpy.ipynb) | {minutes[e.folder]} | {named(e.can_wait)} |"
        for e in route
    ]
    total = sum(minutes[each.folder] for each in route)
    return [*rows, f"| | together | {round(total / 60)} hours | |"]


def named(headings: Collection[str]) -> str:
    """Headings as a sentence names them."""
    return " and ".join(f"*{heading}*" for heading in headings)


def teachers_pages(root: Path, ready: list, minutes: dict) -> Iterator[tuple[Path, str]]:
    """The minutes on each page for teachers, and the list of these pages; a students' edition has none."""
    folder = root / "teachers"
    for chapter in ready:
        path = folder / f"{chapter.folder}.md"
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            for page in PAGES:
                link = re.escape(f"](../notebooks/{chapter.folder}/{page}.ipynb)")
                text = re.sub(rf"({link} )\d+", rf"\g<1>{minutes[chapter.folder, page]}", text)
            yield path, text
    index = folder / "index.md"
    if index.is_file():
        listed = "\n".join(f"- [{chapter.title.partition(':')[0]}]({chapter.folder}.md)" for chapter in ready)
        text = index.read_text(encoding="utf-8")
        yield index, re.sub(r"(?<=\n)(?:- \[[^\]]+\]\(\d\d_\w+\.md\)\n)+", listed + "\n", text)


def as_stored(notebook: nbformat.NotebookNode) -> str:
    """A notebook as `make run` writes it."""
    with_ids(notebook.cells)
    folds.close(notebook.cells)
    notebook.metadata = nbformat.from_dict(notebooks.METADATA)
    notebook.nbformat_minor = max(notebook.nbformat_minor, 5)
    return nbformat.writes(notebook) + "\n"


def changes(root: Path = ROOT) -> dict[Path, str]:
    """The files that are not as they should be, with the text that they should have."""
    return {path: text for path, text in tidied(root).items() if path.read_text(encoding="utf-8") != text}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for path, text in changes().items():
        write_whole(path, text)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
