"""tools/trust.py: what is trusted is what was published; where nothing tells, it asks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import trust


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def course(tmp_path) -> Path:
    """A folder with two notebooks, in no git."""
    folder = tmp_path / "course"
    for name in ("a", "b"):
        (folder / "notebooks" / name).mkdir(parents=True)
        (folder / "notebooks" / name / "numpy.ipynb").write_text(name)
    return folder


@pytest.fixture
def clone(course, tmp_path) -> Path:
    """What a reader has who cloned the course."""
    git(course, "init", "--quiet", "--initial-branch=main")
    git(course, "add", ".")
    git(course, "commit", "--quiet", "--message=first")
    git(tmp_path, "clone", "--quiet", str(course), "clone")
    return tmp_path / "clone"


A, B = "notebooks/a/numpy.ipynb", "notebooks/b/numpy.ipynb"


def test_what_the_main_branch_has_is_trusted(clone, capsys):
    assert trust.trusted(clone) == [A, B]
    assert capsys.readouterr().out == ""


def test_what_a_proposal_changes_or_adds_is_not(clone, capsys):
    git(clone, "checkout", "--quiet", "-b", "proposal")
    (clone / A).write_text("changed")
    (clone / "notebooks/c.ipynb").write_text("new")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "--message=proposal")
    assert trust.trusted(clone) == [B]
    output = capsys.readouterr().out
    assert output.startswith("Not as in the branch origin/") and "a/numpy.ipynb, c.ipynb" in output


def test_a_list_that_a_proposal_brings_is_not_read(clone):
    (clone / A).write_text("changed")
    (clone / trust.LIST).write_text(json.dumps(trust.notebooks(clone)))
    assert trust.trusted(clone) == [B]


def test_a_students_edition_has_a_list(course):
    (course / trust.LIST).write_text(json.dumps(trust.notebooks(course)))
    (course / A).write_text("solved")
    (course / "notebooks/.ipynb_checkpoints").mkdir()
    (course / "notebooks/.ipynb_checkpoints/x.ipynb").write_text("old")
    assert trust.trusted(course) == [B]


@pytest.mark.parametrize(("terminal", "answer", "count"), [(True, "y", 2), (True, "", 0), (False, "y", 0)])
def test_where_nothing_tells_it_asks_whom_it_can_ask(course, monkeypatch, capsys, terminal, answer, count):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: answer)
    assert len(trust.trusted(course)) == count
    output = capsys.readouterr().out
    assert "Nothing here tells" in output and ("They are not trusted" in output) == (count == 0)
