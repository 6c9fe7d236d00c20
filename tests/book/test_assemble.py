"""The sources of the book: what is wrong in a notebook is said with its file and heading, and how the pages hang together.

The book itself is looked at in tests/browser/test_book.py, which `make browser` runs.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import assemble
import pytest
from assemble import Course, Page, links, read_markdown

ROOT = Path(__file__).resolve().parents[2]
LESSON = ("Why", "Build it", "Check it", "Pitfalls", "Exercises", "Next")
COMPARISON = ("Step by step", "Dictionary", "Key differences", "Proof", "Exercises")
INDEX = """# The book

{{source first}}

{{output first}}

**If you teach**, see [the pages](teachers/index.md).

{{chapters}}
"""


def markdown(text: str) -> dict:
    return {"cell_type": "markdown", "id": "text", "metadata": {}, "source": text.splitlines(keepends=True)}


def code(source: str, count: int | None = 1, *outputs: dict) -> dict:
    return {
        "cell_type": "code",
        "id": "code",
        "metadata": {},
        "source": source,
        "execution_count": count,
        "outputs": list(outputs),
    }


PRINTED = {"output_type": "stream", "name": "stdout", "text": "1\n"}
FAILED = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}


def write(root: Path, path: str, *cells: dict) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), "utf-8")


def notebook(root: Path, path: str, headings: tuple[str, ...], *more: dict, title: str = "# A title") -> None:
    cells = [markdown(f"## {heading}\n\nText.") for heading in headings]
    write(root, path, markdown(f"{title}\n\nAbout 10 minutes."), code("print(1)", 1, PRINTED), *cells, *more)


def table(root: Path, *names: str, **statuses: str) -> None:
    """Write the table of chapters; those whose status is not given are ready."""
    rows = [
        f'[[chapter]]\nnumber = "{number:02}"\nname = "{name}"\ntitle = "Chapter {name}"\n'
        f'status = "{statuses.get(name, "ready")}"\n'
        for number, name in enumerate(names, 1)
    ]
    (root / "shared").mkdir(exist_ok=True)
    (root / "shared/course.toml").write_text("\n".join(rows), "utf-8")


@pytest.fixture
def course(tmp_path) -> Path:
    """The folder of a small course with nothing wrong: two chapters of four notebooks each."""
    first = code("print(1)", 1, PRINTED) | {"id": "first"}
    write(tmp_path, "notebooks/00_start_here.ipynb", markdown("# The map\n\nText."), first)
    for path in set(assemble.BESIDE) - {assemble.MAP}:
        write(tmp_path, path, markdown("# A page\n\nText."))
    table(tmp_path, "first", "second")
    for chapter in ("01_first", "02_second"):
        for track in ("numpy", "pytorch", "keras"):
            notebook(tmp_path, f"notebooks/{chapter}/{track}.ipynb", LESSON)
        notebook(tmp_path, f"notebooks/{chapter}/compare.ipynb", COMPARISON)
    (tmp_path / "book").mkdir()
    (tmp_path / "book/index.md").write_text(INDEX, "utf-8")
    return tmp_path


def test_a_course_with_nothing_wrong_is_laid_out(course):
    found = Course(course)
    assert found.wrong == []
    assemble.lay_out(found, course / "out")
    assert (course / "out/notebooks/02_second/keras.ipynb").read_bytes() == (
        course / "notebooks/02_second/keras.ipynb"
    ).read_bytes()
    page = (course / "out/index.md").read_text(encoding="utf-8")
    assert "| 02 | Chapter second | [10&nbsp;min](notebooks/02_second/numpy.ipynb) |" in page
    assert "01 Chapter first </notebooks/01_first/numpy>" in page and "{{" not in page
    assert "```python\nprint(1)\n```\n\n```text\n1\n```\n\n| | Chapter" in page and "If you teach" not in page


def test_the_first_page_shows_a_table_as_it_is_stored_and_names_a_cell_that_is_not_there(course):
    table = {"output_type": "display_data", "metadata": {}, "data": {"text/html": ["<table>", "</table>"]}}
    empty = code("x = 1", 2) | {"id": "empty"}
    write(course, "notebooks/00_start_here.ipynb", markdown("# Map"), code("x", 1, table) | {"id": "first"}, empty)
    assemble.lay_out(Course(course), course / "out")
    assert "````{raw} html\n<table></table>\n````" in (course / "out/index.md").read_text(encoding="utf-8")
    (course / "book/index.md").write_text("# Book\n\n{{output nowhere}} {{output empty}} {{source empty}}", "utf-8")
    first, second = Course(course).wrong
    assert "index.md: {{output nowhere}}" in first and "index.md: {{output empty}}" in second


@pytest.mark.parametrize(
    ("text", "target", "kind"),
    [
        ("[x](nowhere.ipynb)", "nowhere.ipynb", "file"),
        ("[x](../../../elsewhere.txt)", "../../../elsewhere.txt", "file"),
        ("![x](figure.png)", "figure.png", "file"),
        ("[x](numpy.ipynb#Nothing)", "numpy.ipynb#Nothing", "heading"),
        ("[x](#check-it)", "#check-it", "heading"),
        ("[`a` [MASK]](../01_first/)", "../01_first/", "folder"),
    ],
)
def test_a_dead_link_is_told_with_its_file_and_heading(course, text, target, kind):
    notebook(course, "notebooks/02_second/keras.ipynb", LESSON, markdown(f"### Use them\n\nSee {text}."))
    [line] = Course(course).wrong
    assert line.startswith('notebooks/02_second/keras.ipynb, under "Use them"')
    assert f"{target} leads to a {kind}" in line


@pytest.mark.parametrize(
    "text",
    [
        "[x](numpy.ipynb) and [y](../01_first/compare.ipynb#Key-differences) and [z](#Use-them)",
        "[x](#Optional:-a-detail,-told-in-%60code%60)\n\n### Optional: a detail, told in `code`\n\nText.",
        "`[x](nowhere.ipynb)` is code, and so is\n\n```\n[x](nowhere.ipynb)\n## No heading\n```\n\n~~~~\n[x](n.ipynb)\n~~~\n~~~~",
        "$[x](y)$ is a formula and $$[0, 1](2)$$ too",
        "[x](https://example.org/nothing) leads out",
    ],
)
def test_a_link_that_is_right_or_none_is_not_told(course, text):
    notebook(course, "notebooks/02_second/keras.ipynb", LESSON, markdown(f"### Use them\n\n{text}"))
    wrong = Course(course).wrong
    if "%60" in text:  # a heading's name has no backticks
        assert len(wrong) == 1 and "leads to a heading" in wrong[0]
    else:
        assert wrong == []


@pytest.mark.parametrize("title", ['What "same" pads', "`a<b`", "Norm & sum"])
def test_a_heading_that_no_epub_can_name_is_told(course, title):
    notebook(course, "notebooks/02_second/keras.ipynb", LESSON, markdown(f"### {title}\n\nText."))
    [line] = Course(course).wrong
    assert line.startswith("notebooks/02_second/keras.ipynb, under") and "heading" in line


def test_a_linked_file_of_the_course_comes_along(course):
    (course / "shared/data.py").write_text("x = 1\n")
    notebook(course, "notebooks/01_first/numpy.ipynb", LESSON, markdown("[x](../../shared/data.py)"))
    found = Course(course)
    assemble.lay_out(found, course / "out")
    assert found.wrong == [] and (course / "out/shared/data.py").is_file()


@pytest.mark.parametrize("count", [None, 1])
def test_a_notebook_without_outputs_is_told(course, count):
    write(
        course,
        "notebooks/01_first/pytorch.ipynb",
        markdown("# A title\n\nAbout 10 minutes."),
        *(markdown(f"## {heading}\n\nText.") for heading in LESSON),
        code("print(1)", count),
    )
    [line] = Course(course).wrong
    assert line.startswith("notebooks/01_first/pytorch.ipynb") and "no outputs" in line


def test_a_cell_that_was_not_run_and_one_that_failed_are_told(course):
    more = (code("x = 1", None), code("", None), code("int('a')", 3, FAILED))
    notebook(course, "notebooks/01_first/keras.ipynb", LESSON, *more)
    first, second = Course(course).wrong
    assert "keras.ipynb" in first and "no stored output" in first
    assert "keras.ipynb" in second and "ValueError: no" in second


def test_what_else_is_wrong_is_told(course):
    (course / "notebooks/01_first/keras.ipynb").unlink()
    (course / "notebooks/01_first/pytorch.ipynb").write_text("not JSON")
    table(course, "first", "second", "third", "fourth", fourth="draft")
    notebook(course, "notebooks/03_third/numpy.ipynb", LESSON, title="No title")
    for track in ("pytorch", "keras"):
        notebook(course, f"notebooks/03_third/{track}.ipynb", LESSON)
    write(course, "notebooks/03_third/compare.ipynb", markdown("# A title"), code("1", 1, PRINTED))
    first, second, third = Course(course).wrong  # the fourth chapter is a draft, and in no book
    assert "01_first" in first and "keras.ipynb" in first
    assert "01_first/pytorch.ipynb" in second and "03_third/numpy.ipynb" in third and "title" in third


def test_a_wrong_course_ends_the_build_with_every_place_and_leaves_no_book(course):
    shutil.copyfile(ROOT / "book/assemble.py", course / "book/assemble.py")
    command = [sys.executable, course / "book/assemble.py"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert (course / "book/_build/source/index.md").is_file()
    shutil.rmtree(course / "book/_build")
    notebook(course, "notebooks/02_second/keras.ipynb", LESSON, markdown("[x](y.ipynb) [x](z.ipynb)"))
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and result.stdout == ""
    first, second, summary = result.stderr.splitlines()
    assert "y.ipynb" in first and "z.ipynb" in second and "2 mistakes" in summary
    assert not (course / "book/_build").exists()


def test_the_route_is_numpy_then_a_framework_then_compare(course):
    route = Course(course).route()
    first, second = "notebooks/01_first/", "notebooks/02_second/"
    assert route["index"] == {"previous": [], "next": ["notebooks/00_start_here"]}
    assert route[first + "numpy"] == {
        "previous": ["notebooks/00_start_here"],
        "next": [first + "pytorch", first + "keras"],
    }
    for track in ("pytorch", "keras"):
        assert route[first + track] == {"previous": [first + "numpy"], "next": [first + "compare"]}
    assert route[first + "compare"] == {"previous": [first + "pytorch", first + "keras"], "next": [second + "numpy"]}
    assert route[second + "compare"]["next"] == []


def leads_to(course: Path, track: str, heading: str) -> dict[str, str | None]:
    """Track -> the heading that a heading of 02 leads to there; None is the top."""
    facts = Course(course).facts()["pages"]
    page = facts[f"notebooks/02_second/{track}"]
    places = page["twins"][page["headings"].index(heading)]
    return {
        other: None if place < 0 else facts[page["tracks"][other]]["headings"][place] for other, place in places.items()
    }


def test_each_heading_leads_to_the_same_place_in_the_other_notebooks(course):
    same = {"numpy": "Check it", "keras": "Check it", "compare": "Proof"}
    assert leads_to(course, "pytorch", "Check it") == same
    assert leads_to(course, "keras", "Why") == {"numpy": "Why", "pytorch": "Why", "compare": None}
    for heading, there in (("Proof", "Check it"), ("Dictionary", "Build it"), ("Key differences", "Pitfalls")):
        assert leads_to(course, "compare", heading) == dict.fromkeys(("numpy", "pytorch", "keras"), there)


def test_a_smaller_heading_leads_to_one_of_its_name_in_the_same_section(course):
    for track in ("numpy", "keras"):
        path = f"notebooks/02_second/{track}.ipynb"
        headings = [*LESSON[:2], "### Masks", *LESSON[2:], "### Only here" if track == "keras" else "### Masks"]
        cells = [markdown((each if each.startswith("#") else f"## {each}") + "\n\nText.") for each in headings]
        write(course, path, markdown("# A title\n\nAbout 10 minutes."), code("1", 1, PRINTED), *cells)
    assert leads_to(course, "numpy", "Masks") == {"keras": "Masks"}
    page = Course(course).facts()["pages"]["notebooks/02_second/numpy"]
    first, second = (number for number, heading in enumerate(page["headings"]) if heading == "Masks")
    assert page["twins"][first] == {"keras": 3} and page["twins"][second] == {}
    assert leads_to(course, "keras", "Only here") == {}


def test_the_teachers_pages_are_those_that_there_are(course):
    assemble.lay_out(Course(course), course / "none")
    assert not (course / "none/teachers").exists() and "teachers" not in (course / "none/index.md").read_text()
    (course / "teachers").mkdir()
    (course / "teachers/02_second.md").write_text(
        "# Teaching the second\n\n[x](../notebooks/02_second/numpy.ipynb#Why)\n"
    )
    assemble.lay_out(Course(course), course / "some")
    opening = (course / "some/teachers/index.md").read_text()
    assert "[Teaching the second](02_second.md)" in opening and "Teaching the second <02_second>" in opening
    assert "For teachers </teachers/index>" in (course / "some/index.md").read_text()
    (course / "teachers/01_first.md").write_text("# Teaching the second\n\nBack to [the start](README.md).\n")
    (course / "teachers/README.md").write_text("# How to teach it\n\n[x](02_second.md) [y](nothing.md)\n")
    found = Course(course)
    [line] = found.wrong
    assert line.startswith("teachers/README.md") and "nothing.md" in line
    assemble.lay_out(found, course / "all")
    opening = (course / "all/teachers/index.md").read_text()
    assert opening.startswith("# How to teach it")
    assert "[the start](index.md)" in (course / "all/teachers/01_first.md").read_text()
    assert not (course / "all/teachers/README.md").exists()
    assert "Teaching the second <01_first>\nTeaching the second <02_second>" in opening


def test_a_teachers_page_leads_to_the_quiz_of_its_chapter(course):
    (course / "teachers").mkdir()
    for name in ("01_first", "02_second"):
        (course / f"teachers/{name}.md").write_text("# Teaching it\n\nText.\n")
    (course / "shared/quizzes").mkdir()
    shutil.copy(ROOT / "shared/quizzes/02.toml", course / "shared/quizzes")
    assemble.lay_out(Course(course), course / "out")
    assert {path.name for path in (course / "out/teachers").glob("quiz_*")} == {"quiz_02.md"}
    sheet = (course / "out/teachers/quiz_02.md").read_text(encoding="utf-8")
    assert sheet.startswith("# Quiz on 02: Chapter second") and sheet.count("## Answers") == 1
    page = (course / "out/teachers/02_second.md").read_text(encoding="utf-8")
    assert "(quiz_02.md)" in page and "Quiz, to print <quiz_02>" in page
    assert "quiz" not in (course / "out/teachers/01_first.md").read_text(encoding="utf-8")


def test_chapters_come_in_the_order_of_the_table(course):
    rows = (course / "shared/course.toml").read_text().split("\n\n")
    (course / "shared/course.toml").write_text("\n\n".join(reversed(rows)))
    assert [chapter.folder for chapter in Course(course).chapters] == ["02_second", "01_first"]


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("Fine-tune with `fit`", "Fine-tune with fit"),
        ("**Bold** and *slanted*", "Bold and slanted"),
        ("See [this](x.ipynb)", "See this"),
        ("num_heads * head_dim", "num_heads * head_dim"),
        ("The root of $d$", "The root of d"),
    ],
)
def test_the_words_of_a_heading(heading, words):
    page = Page("a.md")
    assert read_markdown(page, f"## {heading}\n\nText.", "") == words
    assert [(each.level, each.text) for each in page.headings] == [(2, words)]


def test_links_are_found_where_a_reader_sees_them():
    assert links('[a](b "title") ![c](d) [e [f] g](<h>) [*i*](j(k).md) [l]() `[m](n)` ``[o](`p`)``') == [
        "b",
        "d",
        "h",
        "j(k).md",
    ]


def test_what_writes_the_slides_needs_the_standard_library_alone(tmp_path):
    code = f"from shared.files import write_whole; write_whole({str(tmp_path / 'a')!r}, 'text')"
    command = [sys.executable, "-S", "-c", code]  # -S: nothing that is installed is found
    subprocess.run(command, cwd=ROOT, check=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "text")]
