"""The pages for teachers: one for each chapter, alike in their headings, and true to the notebooks and the exercises."""

import ast
import html
import importlib.util
import json
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from shared import exercises

pytestmark = pytest.mark.form

ROOT = Path(__file__).resolve().parent.parent
TEACHERS = ROOT / "teachers"
HEADINGS = [
    "Goals",
    "Minutes",
    "On the board",
    "A plan for 90 minutes",
    "Mistakes that students make",
    "Questions for the end",
    "Homework",
    "Answers",
]
TRACKS = {"numpy": "NumPy", "pytorch": "PyTorch", "keras": "Keras", "compare": "compare"}
ASKED = re.compile(r"^\*\*(\d\d\.\d+) [^*]+\*\* \((predict|code|explore)(?:, (\d+) minutes?)?", re.MULTILINE)
# A number with its sign, as in -2.67, 100 000 or 1e-8; not the 2 of `x2` or of 06.2 in bold.
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w])")


def load_assemble():
    """The module that lays out the book; it reads every page's headings and follows every link."""
    spec = importlib.util.spec_from_file_location("assemble", ROOT / "book" / "assemble.py")
    module = sys.modules["assemble"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ASSEMBLE = load_assemble()
# Chapters whose four notebooks exist; a page for one whose notebooks are still to come would have nothing to be true to.
CHAPTERS = [
    name
    for name in ASSEMBLE.chapter_names(ROOT)
    if all((ROOT / "notebooks" / name / f"{track}.ipynb").is_file() for track in TRACKS)
]
every_chapter = pytest.mark.parametrize("chapter", CHAPTERS)


@cache
def course():
    return ASSEMBLE.Course(ROOT)


@cache
def page(chapter: str) -> str:
    return (TEACHERS / f"{chapter}.md").read_text(encoding="utf-8")


def parts(text: str) -> dict[str, str]:
    """What is under each `##` heading."""
    found = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2]))


@cache
def cells(chapter: str, track: str) -> list[dict]:
    path = ROOT / "notebooks" / chapter / f"{track}.ipynb"
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@cache
def asked(chapter: str) -> dict[str, tuple[str, str]]:
    """Every exercise of a chapter: its kind, and its minutes ("" for an open one)."""
    prose = [
        "".join(cell["source"]) for track in TRACKS for cell in cells(chapter, track) if cell["cell_type"] == "markdown"
    ]
    return {name: (kind, minutes) for name, kind, minutes in ASKED.findall("\n".join(prose))}


def text_of(output: dict) -> str:
    """What a reader sees of an output: its text, or its HTML without tags and with the descriptions of figures."""
    data = output.get("data", {})
    if "text/html" not in data:
        return "".join(output.get("text", data.get("text/plain", "")))
    page = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
    described = " ".join(re.findall(r'(?:alt|aria-label)="([^"]*)"', page))
    return html.unescape(re.sub(r"<[^>]*>", " ", page) + " " + described)


def value(number: str) -> float:
    return float(number.replace("−", "-"))


def numbers(text: str) -> set[float]:
    return {value(found) for found in NUMBER.findall(text)}


@cache
def by_hand(chapter: str) -> set[float]:
    """Every number in the source and the stored outputs of the chapter's sections By hand, in its three twins."""
    found, section = set(), ""
    for track in ("numpy", "pytorch", "keras"):
        for cell in cells(chapter, track):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown" and (heading := re.findall(r"^## (.+)$", source, re.MULTILINE)):
                section = heading[-1]
            if section == "By hand":
                shown = " ".join(text_of(output) for output in cell.get("outputs", []))
                found |= numbers(source.replace("\\", " ")) | numbers(shown)
    return found


def board(chapter: str) -> set[float]:
    """The numbers on the board, without those of steps in a list, links and names of exercises."""
    text = parts(page(chapter))["On the board"]
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"^\s*\d+\. ", "", text, flags=re.MULTILINE)
    return numbers(re.sub(r"chapter \d\d|\*\*\d\d\.\d+\*\*", "", text))


def test_every_chapter_of_the_course_has_a_page_and_no_page_is_left_over():
    names = {path.stem for path in TEACHERS.glob("*.md")}
    assert names == {"index", *CHAPTERS}


def test_the_opening_page_leads_to_every_page():
    found = ASSEMBLE.links((TEACHERS / "index.md").read_text(encoding="utf-8"))
    assert [link for link in found if re.match(r"\d\d_", link)] == [f"{name}.md" for name in CHAPTERS]


@every_chapter
def test_a_page_has_its_title_and_the_headings_in_their_order(chapter):
    title = next(each.title for each in course().chapters if each.folder == chapter)
    assert page(chapter).splitlines()[0] == f"# Teaching {chapter[:2]}: {title.partition(':')[0]}"
    assert list(parts(page(chapter))) == HEADINGS
    assert all(text.strip() and not text.strip().startswith("#") for text in parts(page(chapter)).values())


@every_chapter
def test_there_are_as_many_goals_and_questions_as_a_session_holds(chapter):
    found = parts(page(chapter))
    assert 3 <= len(re.findall(r"^- ", found["Goals"], re.MULTILINE)) <= 5
    questions = re.findall(r"^\d\. (.+?\?) \*(.+)\*$", found["Questions for the end"], re.MULTILINE)
    listed = re.findall(r"^\d\. ", found["Questions for the end"], re.MULTILINE)
    assert 4 <= len(questions) == len(listed) <= 6, "each question ends in ? and has its answer after it, in italics"


@every_chapter
def test_the_plan_takes_ninety_minutes(chapter):
    rows = re.findall(
        r"^\| (\d+) \| (\S.*?) \| (\S.*?) \|$", parts(page(chapter))["A plan for 90 minutes"], re.MULTILINE
    )
    assert sum(int(minutes) for minutes, _, _ in rows) == 90


def test_every_link_and_anchor_exists():
    assert course().teachers
    assert [line for line in course().wrong if line.startswith("teachers/")] == []


@every_chapter
def test_a_mistake_is_one_that_the_exercise_names(chapter):
    items = re.findall(r"^- (.+)$", parts(page(chapter))["Mistakes that students make"], re.MULTILINE)
    assert len(items) >= 3
    for item in items:
        name, quoted = re.match(r'\*\*(\d\d\.\d+)\*\*: "(.*)', item).groups()
        known = exercises._find(name).mistakes
        said = [mistake for mistake in known if quoted.startswith(f'{mistake}" ')]
        assert said, f"{name} names no mistake that begins {quoted:.60}; it names {list(known)}"


@every_chapter
def test_the_board_shows_numbers_of_the_notebook(chapter):
    shown = board(chapter)
    assert len(shown) >= 5
    assert sorted(shown - by_hand(chapter)) == [], "not in By hand"


@every_chapter
def test_every_exercise_that_is_mentioned_exists(chapter):
    mentioned = re.findall(r"\*\*(\d\d\.\d+)\*\*", page(chapter)) + re.findall(r'solution\("([\d.]+)"\)', page(chapter))
    assert set(mentioned) <= set(asked(chapter))


@every_chapter
def test_every_exercise_has_its_place_in_class_or_at_home_with_its_minutes(chapter):
    homework = parts(page(chapter))["Homework"]
    for name, (_, minutes) in asked(chapter).items():
        told = re.search(rf"\*\*{re.escape(name)}\*\*(?: \((\d+) minutes?\))?", homework)
        assert told, f"{name} is missing"
        assert (told[1] or "") == minutes, name


@every_chapter
def test_every_exercise_has_its_answer_and_a_prediction_the_right_one(chapter):
    answers = parts(page(chapter))["Answers"]
    for name, (kind, _) in asked(chapter).items():
        if kind == "predict":
            given = re.search(rf"^- \*\*{re.escape(name)}\*\* is `([^`]+)`", answers, re.MULTILINE)
            assert given, f"{name} has no answer"
            assert exercises.judge(name, ast.literal_eval(given[1]))[0] == "right", f"{name}: {given[1]}"
        elif kind == "code":
            assert f'solution("{name}")' in answers, name
            exercises._find(name)
        else:
            assert re.search(rf"^- \*\*{re.escape(name)}\*\* ", answers, re.MULTILINE), name
