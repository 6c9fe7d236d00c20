"""The quizzes: the numbers of every right answer are those that a cell computes, and the notebooks show them as they are."""

import html
import json
import re

import pytest

from shared import chapters, quizzes
from shared.folders import course_folder
from shared.quizzes import Question, Quiz, quiz

NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?|\bnan\b")
FOLDERS = {each.number: each.folder for each in chapters.ready()}
FILE = """[[question]]
ask = "How much is *one* plus `x`, if `x < 2`?"
options = [["1", "That's `x`."], ["2", "One more."]]
right = "b"
computed = "01_first/numpy#sum"
shows = "the sum: 2"
"""


def cells(notebook: str) -> dict[str, dict]:
    text = (course_folder() / f"notebooks/{notebook}.ipynb").read_text(encoding="utf-8")
    return {cell["id"]: cell for cell in json.loads(text)["cells"]}


def output(cell: dict) -> str:
    """The text that a cell shows."""
    found = []
    for each in cell["outputs"]:
        data = each.get("data", {})
        found += each.get("text", []) or data.get("text/markdown", data.get("text/plain", []))
    return "".join(found)


def numbers(text: str) -> list[str]:
    return [str(float(each.replace(",", ""))) for each in NUMBER.findall(text.lower())]


def answers(question: Question) -> set[str]:
    """The letters of the options that end what the cell shows, with as many words as any, or else as many numbers."""
    for parts in (str.split, numbers):
        shown = parts(question.shows)
        found = {letter: parts(says) for letter, (says, _) in question.options.items()}
        ends = {letter: len(each) for letter, each in found.items() if each and shown[-len(each) :] == each}
        if ends:
            return {letter for letter, count in ends.items() if count == max(ends.values())}
    return set()


def test_every_chapter_has_five_questions():
    counts = {number: len(quiz(number).questions) for number in quizzes.chapters()}
    assert FOLDERS.keys() <= counts.keys() and set(counts.values()) == {5}


def each_question():
    return [
        pytest.param(question, id=f"{number}.{place}", marks=pytest.mark.chapter(number))
        for number in FOLDERS
        for place, question in enumerate(quiz(number).questions, start=1)
    ]


@pytest.mark.parametrize("question", each_question())
def test_the_right_answer_is_the_computed_one(question):
    notebook, _, name = question.computed.partition("#")
    assert question.shows and question.shows in " ".join(output(cells(notebook)[name]).split())
    right, _ = question.options[question.right]
    assert answers(question) == {question.right} or not (numbers(right) or answers(question))
    says = [each for each, _ in question.options.values()]
    assert len(set(says)) == len(says) and all(reason for _, reason in question.options.values())


@pytest.mark.parametrize("number", [pytest.param(each, marks=pytest.mark.chapter(each)) for each in FOLDERS])
def test_a_notebook_shows_the_quiz_as_it_is(number):
    cell = cells(f"{FOLDERS[number]}/numpy")["quiz-questions"]
    assert f'quiz("{number}")' in "".join(cell["source"])
    (shown,) = cell["outputs"]
    assert "".join(shown["data"]["text/html"]) == quiz(number)._repr_html_(), f"run make run CHAPTER={number}"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a file of questions, and read it."""

    def read(text: str) -> Quiz:
        (tmp_path / "01.toml").write_text(text, encoding="utf-8")
        monkeypatch.setattr(quizzes, "FOLDER", tmp_path)
        return quiz("01")

    return read


def test_each_option_opens_and_says_whether_it_is_right(written):
    shown = written(FILE)._repr_html_()
    assert "How much is <em>one</em> plus <code>x</code>, if <code>x &lt; 2</code>?" in shown
    opened = re.findall(r"<details><summary>(.*?)</summary><p>(.*?)</p></details>", shown)
    assert [html.unescape(re.sub("<[^>]*>", "", each)) for pair in opened for each in pair] == [
        "a) 1",
        "Wrong. That's x.",
        "b) 2",
        "Right. One more.",
    ]


def test_a_question_says_which_notebook_it_comes_from_unless_that_is_numpys(written):
    elsewhere = written(FILE.replace("01_first/numpy", "01_first/keras"))
    for shown in (elsewhere._repr_html_(), elsewhere.sheet()):
        assert "? (From the Keras notebook.)" in shown
    assert "notebook" not in written(FILE)._repr_html_() + written(FILE).sheet()


def test_the_sheet_has_its_answers_at_the_end(written):
    questions, answers = written(FILE).sheet().split("## Answers")
    assert "- b) 2" in questions and "One more." not in questions
    assert "The right answer is b)" in answers and "- **b)** One more." in answers


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("computed", "computes", "computed"),
        ('right = "b"', 'right = "c"', "right is 'c'"),
        (', ["2", "One more."]', "", "two to four options"),
        ('["2", "One more."]', '["2"]', "two to four options"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(written, old, new, named):
    with pytest.raises(ValueError, match=f"01.toml, question 1: .*{re.escape(named)}"):
        written(FILE.replace(old, new))


def test_a_quiz_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"there is no quiz '6': expected one of 01, 02"):
        quiz("6")
