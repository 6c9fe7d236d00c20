"""The pages for teachers: each exercise has its answer, which is right."""

import ast
import re

from reading import ROOT, asked, for_each_chapter

from shared import chapters, exercises

TEACHERS = ROOT / "teachers"


def page(chapter: chapters.Chapter) -> str:
    return (TEACHERS / f"{chapter.folder}.md").read_text(encoding="utf-8")


def answers(chapter: chapters.Chapter) -> str:
    return re.split(r"^## Answers$", page(chapter), flags=re.MULTILINE)[1]


def test_every_chapter_has_a_page_and_no_page_is_left_over():
    assert {path.stem for path in TEACHERS.glob("*.md")} == {"index", *(each.folder for each in chapters.ready())}


@for_each_chapter()
def test_every_exercise_that_is_mentioned_exists(chapter):
    mentioned = re.findall(r"\*\*(\d\d\.\d+)\*\*|solution\(\"([\d.]+)\"\)", page(chapter))
    assert {one or other for one, other in mentioned} <= set(asked(chapter))


@for_each_chapter()
def test_every_exercise_has_its_answer_and_a_prediction_the_right_one(chapter):
    text = answers(chapter)
    for name, kind in asked(chapter).items():
        if kind == "predict":
            given = re.search(rf"^- \*\*{re.escape(name)}\*\* is `([^`]+)`", text, re.MULTILINE)
            assert given, f"## Answers of the teachers' page lacks: - **{name}** is `...`"
            assert exercises.judge(name, ast.literal_eval(given[1]))[0] == "right", f"{name}: {given[1]}"
        elif kind == "code":
            assert f'solution("{name}")' in text, f'## Answers of the teachers\' page lacks: solution("{name}")'
            exercises._find(name)
        else:
            given = re.search(rf"^- \*\*{re.escape(name)}\*\* ", text, re.MULTILINE)
            assert given, f"## Answers of the teachers' page lacks: - **{name}** ..."
