"""Read the notebooks as they are stored, check them, and lay out the sources of the book: `make book`.

Nothing is executed. The sources go to book/_build/source in the layout of the repository, so that every link between notebooks
is right as it is. What is wrong in them is said with its file and its heading, all at once, and the exit status is 1. (Sphinx,
which warns of a dead link too, knows no heading of a notebook, and would say so after a minute; the tests ask here.)
"""

import itertools
import json
import re
import shutil
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from shared.quizzes import quiz  # which needs nothing that is installed

BUILD = ROOT / "book" / "_build"
MAP = "notebooks/00_start_here.ipynb"
# Pages beside the chapters, and what the side bar calls them; the map is the first.
BESIDE = {
    MAP: "The map",
    "notebooks/00_which_framework.ipynb": "Which framework?",
    "notebooks/00_by_symptom.ipynb": "By symptom",
    "notebooks/00_jax.ipynb": "JAX, on one page",
    "notebooks/00_test_your_own.ipynb": "Test your own",
    "notebooks/00_glossary.ipynb": "Glossary",
    "notebooks/00_conventions.ipynb": "Conventions",
}
TABLE = "shared/course.toml"
TRACKS = {"numpy": "NumPy", "pytorch": "PyTorch", "keras": "Keras", "compare": "Compare"}
# Where the compare notebook says what the twins say under a heading, and the other way round; its top where there is no such place.
TO_COMPARE = {
    "Build it": "Step by step",
    "Check it": "Proof",
    "Pitfalls": "Key differences",
    "Exercises": "Exercises",
}
FROM_COMPARE = {there: here for here, there in TO_COMPARE.items()} | {"Dictionary": "Build it"}
# What the first page shows of the map, by the id of a cell, or of another notebook: {{source exercises-2}}, {{output 14_gpt/numpy#so-far}}.
QUOTE = re.compile(r"\{\{(source|output) (?:(\w+/\w+)#)?([\w-]+)\}\}")
# The Markdown that myst-nb reads, too: with tables, and with formulas, in which nothing is a link.
MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin)


@dataclass
class Heading:
    level: int
    text: str  # its words

    @property
    def anchor(self) -> str:
        """What Jupyter calls it in a link."""
        return self.text.replace(" ", "-")


@dataclass
class Page:
    """A notebook or a Markdown file: its headings, its links, and what is wrong with it."""

    path: str  # from the root of the repository, such as notebooks/06_attention/numpy.ipynb
    headings: list[Heading] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)  # target, and the heading that it is under
    minutes: int | None = None
    wrong: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What Sphinx calls it: the path without its ending."""
        return self.path.rpartition(".")[0]

    @property
    def title(self) -> str:
        return next((heading.text for heading in self.headings if heading.level == 1), "")

    def sections(self) -> list[str]:
        return [heading.text for heading in self.headings if heading.level == 2]

    def complain(self, under: str, what: str) -> None:
        self.wrong.append(f'{self.path}, under "{under}": {what}')


def read_markdown(page: Page, text: str, under: str) -> str:
    """Add the headings and links of a text to a page, and return the last heading."""
    tokens = MARKDOWN.parse(text)
    for before, token in itertools.pairwise(tokens):
        if token.type != "inline":
            continue
        if before.type == "heading_open":
            words = [each.content for each in token.children if each.type in ("text", "code_inline", "math_inline")]
            page.headings.append(Heading(int(before.tag[1]), "".join(words)))
            under = page.headings[-1].text
            if set(under) & set('"<>&'):  # Sphinx writes an id as it is, which a reader of XML refuses
                page.complain(under, "a heading is a link's target, and can't hold any of \" < > &")
        page.links += [(link, under) for link in links_in(token)]
    return under


def links_in(inline: Token) -> list[str]:
    """The targets of the links and images of a paragraph, a heading or a cell of a table."""
    found = [each.attrGet("href") or each.attrGet("src") for each in inline.children]
    return [unquote(target) for target in found if target]


def links(markdown: str) -> list[str]:
    """The targets of the links and images of a text."""
    return [target for token in MARKDOWN.parse(markdown) if token.type == "inline" for target in links_in(token)]


def read_notebook(root: Path, path: str) -> Page:
    """A notebook's headings and links; it complains of a cell that has not been run, or that failed."""
    page = Page(path)
    try:
        cells = json.loads((root / path).read_text(encoding="utf-8"))["cells"]
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError):
        page.wrong.append(f"{path}: this is not a notebook")
        return page
    under = ""
    never_run = not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            under = read_markdown(page, source, under)
        elif cell["cell_type"] == "code" and source.strip():
            if cell.get("execution_count") is None and not never_run:
                page.complain(under, f"cell {cell.get('id')} has no stored output; make run stores it")
            for output in cell.get("outputs", []):
                if output["output_type"] == "error":
                    page.complain(under, f"cell {cell.get('id')} ended in {output['ename']}: {output['evalue']}")
    if any(cell["cell_type"] == "code" for cell in cells) and not any(cell.get("outputs") for cell in cells):
        page.complain(page.title, "the notebook has no outputs; make run stores them")
    opening = "".join(cells[0]["source"]) if cells else ""
    found = re.search(r"[Aa]bout (\d+) minutes", opening)
    page.minutes = int(found[1]) if found else None
    if not page.title:
        page.wrong.append(f"{path}: expected a title, a line that starts with #")
    return page


def cells_by_id(path: Path) -> dict[str, dict]:
    try:
        return {cell["id"]: cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if "id" in cell}
    except (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError):  # `read_notebook` says so
        return {}


def read_text(root: Path, path: str) -> Page:
    page = Page(path)
    read_markdown(page, (root / path).read_text(encoding="utf-8"), "")
    if not page.title:
        page.wrong.append(f"{path}: expected a title, a line that starts with #")
    return page


@dataclass
class Chapter:
    folder: str  # such as 06_attention
    title: str
    pages: dict[str, Page]  # track -> its notebook

    @property
    def number(self) -> str:
        return self.folder[:2]


class Course:
    """All pages of the book, what is wrong with them, and how they hang together."""

    def __init__(self, root: Path = ROOT):
        self.root = root
        self.wrong: list[str] = []
        self.beside = [read_notebook(root, path) for path in BESIDE]
        self.map = self.beside[0]
        self.chapters = [self.read_chapter(row) for row in listed_chapters(root)]
        self.teachers = [
            read_text(root, path.relative_to(root).as_posix()) for path in sorted((root / "teachers").glob("*.md"))
        ]
        self.files: set[str] = set()  # linked, and no page
        self.pages = {page.path: page for page in (*self.beside, *self.notebooks(), *self.teachers)}
        for page in self.pages.values():
            self.wrong += page.wrong
        self.first_page = (root / "book/index.md").read_text(encoding="utf-8")
        self.quoted: dict[str, str] = {}
        for found in QUOTE.finditer(self.first_page):
            part, notebook, name = found.groups()
            path = f"notebooks/{notebook}.ipynb" if notebook else MAP
            cell = cells_by_id(root / path).get(name) if (root / path).is_file() else None
            if cell is None or (part == "output" and not cell.get("outputs")):
                self.wrong.append(f"book/index.md: {found[0]}: expected a cell of {path} with an output")
            else:
                self.quoted[found[0]] = shown(cell, part)
        for page in self.pages.values():
            for target, under in page.links:
                self.follow(page, target, under)

    def notebooks(self) -> list[Page]:
        return [page for chapter in self.chapters for page in chapter.pages.values()]

    def read_chapter(self, row: dict) -> Chapter:
        folder = f"{row['number']}_{row['name']}"
        pages = {}
        for track in TRACKS:
            path = f"notebooks/{folder}/{track}.ipynb"
            if (self.root / path).is_file():
                pages[track] = read_notebook(self.root, path)
            else:
                self.wrong.append(f"notebooks/{folder}: there is no {track}.ipynb")
        return Chapter(folder, row["title"], pages)

    def follow(self, page: Page, target: str, under: str) -> None:
        """See that a link leads somewhere."""
        if re.match(r"[a-z][a-z+.-]*:", target):  # https, mailto
            return
        path, _, anchor = target.partition("#")
        found = page.path
        if path:
            try:
                found = (self.root / page.path).parent.joinpath(path).resolve().relative_to(self.root).as_posix()
            except ValueError:
                found = ""
        message = f'{page.path}, under "{under}": the link to {target}'
        if found in self.pages:
            if anchor and anchor not in [heading.anchor for heading in self.pages[found].headings]:
                self.wrong.append(f"{message} leads to a heading that {found} does not have")
        elif found and (self.root / found).is_file():
            self.files.add(found)
        elif found and (self.root / found).is_dir():
            self.wrong.append(f"{message} leads to a folder, and the book has no page for that")
        else:
            self.wrong.append(f"{message} leads to a file that does not exist")

    def route(self) -> dict[str, dict[str, list[str]]]:
        """The pages before and after each: NumPy, then PyTorch or Keras, then compare, then the next chapter's NumPy."""
        stops = [[self.map.name]]
        for chapter in self.chapters:
            stops += [
                [chapter.pages[track].name for track in group]
                for group in (["numpy"], ["pytorch", "keras"], ["compare"])
            ]
        stops = [["index"], *stops]
        found = {}
        for before, here, after in zip([[], *stops], stops, [*stops[1:], []]):
            found |= {name: {"previous": before, "next": after} for name in here}
        return found

    def twins(self, chapter: Chapter, track: str) -> list[dict[str, int]]:
        """For each heading of a notebook: track -> which heading of that track's notebook is the same place; -1 is its top.

        A `###` heading leads only to notebooks that have the same one in the same section.
        """
        found = []
        section = ""
        for heading in chapter.pages[track].headings:
            section = heading.text if heading.level <= 2 else section
            places = {}
            for other, page in chapter.pages.items():
                if other == track or heading.level not in (2, 3):
                    continue
                place = self.same_place(track, other, page, section, heading)
                if place is not None:
                    places[other] = place
            found.append(places)
        return found

    @staticmethod
    def same_place(track: str, other: str, page: Page, section: str, heading: Heading) -> int | None:
        there = FROM_COMPARE if track == "compare" else TO_COMPARE if other == "compare" else {}
        wanted = there.get(section, section) if other == "compare" or track == "compare" else section
        inside = False
        top = -1 if heading.level == 2 else None
        for number, each in enumerate(page.headings):
            if each.level == 2:
                inside = each.text == wanted
                if inside and heading.level == 2:
                    return number
            elif inside and each.level == heading.level and each.text == heading.text:
                return number
        return top

    def facts(self) -> dict:
        """What the pages need to know of one another."""
        route = self.route()
        titles = {"index": "The first page"} | {page.name: BESIDE[page.path] for page in self.beside}
        pages = {page.name: {"headings": [heading.text for heading in page.headings]} for page in self.beside}
        for chapter in self.chapters:
            for track, page in chapter.pages.items():
                titles[page.name] = f"{chapter.number} {chapter.title}: {TRACKS[track]}"
                pages[page.name] = {
                    "headings": [heading.text for heading in page.headings],
                    "chapter": f"{chapter.number} {chapter.title}",
                    "track": track,
                    "minutes": page.minutes,
                    "exercises": "Exercises" in page.sections(),
                    "tracks": {other: twin.name for other, twin in chapter.pages.items()},
                    "twins": self.twins(chapter, track),
                }
        return {"tracks": TRACKS, "titles": titles, "route": route, "pages": pages}


def listed_chapters(root: Path) -> list[dict]:
    """The rows of shared/course.toml that are no drafts, in the order of the route."""
    rows = tomllib.loads((root / TABLE).read_text(encoding="utf-8"))["chapter"]
    return [row for row in rows if row["status"] != "draft"]


def toctree(entries: dict[str, str]) -> str:
    """A table of contents that shows in the side bar alone: page, from the page that it is on -> title."""
    lines = [f"{title} <{page}>" for page, title in entries.items()]
    return "\n".join(["```{toctree}", ":hidden:", "", *lines, "```"])


def first_page(course: Course) -> str:
    """book/index.md with what it shows of the map's cells, the table of the chapters, and the side bar's contents below."""
    text = course.first_page
    rows = ["| | Chapter | " + " | ".join(TRACKS.values()) + " |", "|--" * (2 + len(TRACKS)) + "|"]
    for chapter in course.chapters:
        cells = [f"[{page.minutes}&nbsp;min]({page.path})" for page in chapter.pages.values()]
        rows.append(f"| {chapter.number} | {chapter.title} | {' | '.join(cells)} |")
    chapters = {f"/{chapter.pages['numpy'].name}": f"{chapter.number} {chapter.title}" for chapter in course.chapters}
    beside = {f"/{page.name}": BESIDE[page.path] for page in course.beside}
    contents = {f"/{course.map.name}": BESIDE[MAP]} | chapters | beside
    if course.teachers:
        contents["/teachers/index"] = "For teachers"
    else:  # a students' edition
        text = re.sub(r"\*\*If you teach\*\*.*\n\n", "", text)
    text = QUOTE.sub(lambda found: course.quoted[found[0]], text)
    return f"{text.rstrip()}\n\n{toctree(contents)}\n".replace("{{chapters}}", "\n".join(rows))


def shown(cell: dict, part: str) -> str:
    """The source or the stored output of a cell, as a page of the book shows it."""
    if part == "source":
        return f"```python\n{''.join(cell['source'])}\n```"
    parts = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
        else:
            parts.append(f"````{{raw}} html\n{''.join(output['data']['text/html'])}\n````")
    return "\n\n".join(parts)


def lay_out(course: Course, source: Path) -> None:
    """Write the sources that Sphinx reads, and facts.json that book/pages.py reads."""

    def put(path: str, text: str) -> None:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text, encoding="utf-8", newline="\n")

    def copy(path: str) -> None:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(course.root / path, source / path)

    for page in [*course.beside, *course.notebooks()]:
        copy(page.path)
    for path in sorted(course.files):
        copy(path)
    put("index.md", first_page(course))
    for (
        chapter
    ) in course.chapters:  # the NumPy notebook is the chapter's entry in the side bar, the others are below it
        path = chapter.pages["numpy"].path
        notebook = json.loads((source / path).read_text(encoding="utf-8"))
        others = {track: TRACKS[track] for track in TRACKS if track != "numpy"}
        notebook["cells"].append({"cell_type": "markdown", "id": "contents", "metadata": {}, "source": toctree(others)})
        put(path, json.dumps(notebook, ensure_ascii=False))
    lay_out_quizzes(course, put)
    lay_out_teachers(course, put)
    put("facts.json", json.dumps(course.facts(), ensure_ascii=False, indent=1))


def with_quiz(course: Course) -> list[Chapter]:
    """The chapters that have a quiz and a page for teachers."""
    pages = {page.path for page in course.teachers}
    return [
        chapter
        for chapter in course.chapters
        if f"teachers/{chapter.folder}.md" in pages
        and (course.root / f"shared/quizzes/{chapter.number}.toml").is_file()
    ]


def lay_out_quizzes(course: Course, put) -> None:
    """For each quiz a page to print, below the teachers' page of its chapter."""
    for chapter in with_quiz(course):
        opening = "```{container} on-screen\nPrint this page: the answers are on a sheet of their own.\n```"
        title = f"# Quiz on {chapter.number}: {chapter.title}"
        put(f"teachers/quiz_{chapter.number}.md", f"{title}\n\n{opening}\n\n{quiz(chapter.number).sheet()}")


def lay_out_teachers(course: Course, put) -> None:
    """The pages of the folder `teachers`, whichever there are, under teachers/index: README.md or index.md if there is one."""
    if not course.teachers:
        return
    opening = next((page for page in course.teachers if page.name in ("teachers/index", "teachers/README")), None)
    others = [page for page in course.teachers if page is not opening]
    if opening:
        text = (course.root / opening.path).read_text(encoding="utf-8").replace("](README.md", "](index.md")
    else:
        listed = "\n".join(f"- [{page.title}]({Path(page.path).name})" for page in others)
        text = f"# For teachers\n\nA page for each of these chapters:\n\n{listed}\n"
    quizzes = {f"teachers/{chapter.folder}.md": chapter.number for chapter in with_quiz(course)}
    for page in others:
        shown = (course.root / page.path).read_text(encoding="utf-8").replace("](README.md", "](index.md")
        if page.path in quizzes:
            sheet = f"quiz_{quizzes[page.path]}"
            shown += f"\n## Quiz\n\n[A quiz on the pitfalls, to print]({sheet}.md).\n\n{toctree({sheet: 'Quiz, to print'})}\n"
        put(page.path, shown)
    tree = toctree({Path(page.name).name: page.title for page in others}) if others else ""
    put("teachers/index.md", f"{text.rstrip()}\n\n{tree}\n")


def main() -> None:
    course = Course()
    if course.wrong:
        count = f"{len(course.wrong)} mistake{'s' if len(course.wrong) > 1 else ''}"
        sys.exit("\n".join([*course.wrong, f"The book was not built: {count} in its sources."]))
    shutil.rmtree(BUILD, ignore_errors=True)
    lay_out(course, BUILD / "source")


if __name__ == "__main__":
    main()
