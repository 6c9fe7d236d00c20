"""The table of chapters is read, and what is wrong in it is named."""

import pytest

from shared import chapters
from shared.folders import course_folder

ROW = """[[chapter]]
number = "01"
name = "first"
title = "First"
status = "ready"
builds_on = []
box = { kind = "operation", name = "first", says = "begins" }
"""


def read(tmp_path, text: str):
    (tmp_path / "course.toml").write_text(text)
    return chapters.read(tmp_path / "course.toml")


def test_a_row_becomes_a_chapter(tmp_path):
    draft = ROW.replace("01", "17").replace('"first"', '"second"').replace("ready", "draft").replace("[]", '["first"]')
    first, second = read(tmp_path, ROW + "\n" + draft)
    assert (first.folder, first.status, second.folder, second.status) == ("01_first", "ready", "17_second", "draft")
    assert second.builds_on == ("first",)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('title = "First"\n', "", "title"),
        ('"ready"', '"done"', "status"),
        ("builds_on = []", 'builds_on = ["nothing"]', "nothing"),
        (', says = "begins"', "", "says"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, old, new, named):
    with pytest.raises(ValueError, match=named):
        read(tmp_path, ROW.replace(old, new))


def test_the_numbers_are_in_order_and_each_chapter_is_known_by_one_name():
    every = chapters.all_chapters()
    assert len({chapter.name for chapter in every}) == len({chapter.number for chapter in every}) == len(every)


def test_the_course_is_the_checkout_around_the_working_directory_or_what_the_variable_names(tmp_path, monkeypatch):
    monkeypatch.delenv("THREE_WAYS_FOLDER", raising=False)
    (tmp_path / "notebooks/06_attention").mkdir(parents=True)
    (tmp_path / "notebooks/00_start_here.ipynb").touch()
    monkeypatch.chdir(tmp_path / "notebooks/06_attention")
    assert course_folder() == tmp_path
    monkeypatch.setenv("THREE_WAYS_FOLDER", str(tmp_path / "elsewhere"))
    assert course_folder() == tmp_path / "elsewhere"
