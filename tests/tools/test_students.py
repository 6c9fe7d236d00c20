"""`make students`: a copy of the course without worked solutions and teachers' pages, in which the exercises still answer."""

import argparse
import ast
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import assemble
import course
import edition as students
import pytest
import trust

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import sys
import nbformat
import numpy as np

notebook = nbformat.read(sys.argv[1], as_version=4)
names = {}
for cell in notebook.cells:
    if "nbval-ignore-output" in cell.metadata.get("tags", []):  # an exercise
        exec(cell.source, names)
import shared.notebook


def over_the_queries(query, key, value):
    weights = np.exp(query @ key.T / query.shape[1] ** 0.5)
    return weights / weights.sum(axis=0) @ value


names["check"]("06.2", over_the_queries)
names["check"]("06.2", lambda query, key, value: 1 / 0)
names["hint"]("06.2")
names["solution"]("06.2")
print(shared.__file__)
"""


def make(folder: Path) -> None:
    course.students(None, argparse.Namespace(folder=folder))


@pytest.fixture(scope="module")
def edition(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("students") / "course"
    make(folder)
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_it_has_no_solutions_no_pages_for_teachers_and_no_test_that_needs_them(edition):
    names = set(files(edition))
    assert {"notebooks/06_attention/numpy.ipynb", "shared/exercises/attention.py", "tools/course.py"} <= names
    assert not [name for name in names if "solutions/" in name or name.startswith(("teachers/", ".git/", ".venv/"))]
    for path in edition.glob("tests/*/*.py"):
        text = path.read_text(encoding="utf-8")
        assert "exercises.solutions" not in text and 'ROOT / "teachers"' not in text, path.name


def bodies(path: Path) -> dict[str, str]:
    """What each function, lambda and string of a file says, as Python writes it; without docstrings and imports."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            kept = [each for each in node.body if not isinstance(each, ast.Import | ast.ImportFrom)]
            kept = kept[ast.get_docstring(node) is not None :]
            found[f"{node.name}, line {node.lineno}"] = "\n".join(map(ast.unparse, kept))
        elif isinstance(node, ast.Lambda):
            found[f"lambda, line {node.lineno}"] = f"return {ast.unparse(node.body)}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            with contextlib.suppress(SyntaxError):  # a hint that is code
                found[f"text, line {node.lineno}"] = f"return {ast.unparse(ast.parse(node.value, mode='eval'))}"
    return found


@pytest.mark.parametrize(
    "path", sorted((ROOT / "shared/exercises/solutions").glob("[a-z]*.py")), ids=lambda path: path.stem
)
def test_no_exercise_holds_the_body_of_a_solution(path):
    solutions = {body: name for name, body in bodies(path).items() if not name.startswith(("lambda", "text"))}
    for other in sorted((ROOT / "shared/exercises").glob("*.py")):
        shown = {name: solutions[body] for name, body in bodies(other).items() if body in solutions}
        assert not shown, f"{other.name} shows what solutions/{path.name} keeps: {shown}"


def test_a_solution_that_is_shown_is_found(tmp_path):
    (tmp_path / "shown.py").write_text(
        'def right(x):\n    "Says more."\n    return  x+1\n\nhints = ["x+1", "no code"]\n'
    )
    assert list(bodies(tmp_path / "shown.py").values()) == ["return x + 1"] * 2


def test_everything_else_is_the_course_byte_for_byte(edition):
    copied = files(edition)
    assert copied.pop("README.md") != (ROOT / "README.md").read_bytes()
    assert json.loads(copied.pop(trust.LIST)) == trust.notebooks(ROOT)
    assert all(data == (ROOT / name).read_bytes() for name, data in copied.items())
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    missing = {name for name in tracked if name and (ROOT / name).is_file()} - set(copied) - {"README.md"}
    assert all(name.startswith(students.FOR_TEACHERS) for name in missing), missing


def test_its_readme_promises_nothing_that_is_not_there(edition):
    text = (edition / "README.md").read_text(encoding="utf-8")
    assert "As a teacher" not in text and "**Never used a framework?**" in text
    assert "**This is the students' edition**" in text
    links = [link for link in assemble.links(text) if not link.startswith("https:")]
    assert len(links) > 50
    assert [link for link in links if not (edition / link.partition("#")[0]).exists()] == []


@pytest.mark.chapter("06")
def test_the_exercises_of_a_chapter_answer_in_it(edition):
    notebook = edition / "notebooks/06_attention/numpy.ipynb"
    environment = os.environ | {"PYTHONPATH": str(edition), "PYTHONUTF8": "1"}
    command = [sys.executable, "-c", RUN, str(notebook)]
    result = subprocess.run(
        command, cwd=edition, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    asked = [f"06.{number}" for number in (1, 2, 3, 4)]
    assert [line.partition(". ")[0] for line in lines[:4]] == [f"{name}: not done yet" for name in asked]
    assert lines[4].startswith("06.2: close.") and "over the queries" in lines[4]
    assert "raised ZeroDivisionError" in lines[5]
    assert lines[6].startswith("hint 1 of") and "not part of this edition" in lines[7]
    assert Path(lines[8]).parent == edition / "shared"


def test_what_is_there_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    with pytest.raises(SystemExit, match="exists"):
        make(tmp_path / "mine")
    assert files(tmp_path) == {"mine/notes.txt": b"mine"}
    with pytest.raises(SystemExit, match="inside"):
        make(ROOT / "notebooks" / "copy")
    assert not (ROOT / "notebooks" / "copy").exists()


def test_a_copy_of_the_copy_is_refused(edition, tmp_path):
    command = [sys.executable, edition / "tools/course.py", "students", "--folder", tmp_path / "again"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "already" in result.stderr
    assert not (tmp_path / "again").exists()


def test_a_readers_own_files_stay_out(tmp_path, monkeypatch):
    """Progress, checkpoints, trained models and caches are not part of the course."""
    small = tmp_path / "small"
    for name in (
        *(
            "README.md",
            "shared/a.py",
            "shared/exercises/solutions/a.py",
            "models/docstring_gpt/config.json",
            "notebooks/a.ipynb",
        ),
        *(".progress.json", "models/my_gpt/config.json", "models/docstring_gpt/checkpoint.safetensors"),
        *(
            ".venv/x",
            "shared/__pycache__/a.pyc",
            "notebooks/.ipynb_checkpoints/x.ipynb",
            "book/_build/x",
            "slides/x.html",
        ),
        *("students/README.md", "transformers.egg-info/x", "a.part"),
    ):
        (small / name).parent.mkdir(parents=True, exist_ok=True)
        (small / name).write_text("text")
    monkeypatch.setattr(students, "ROOT", small)
    make(tmp_path / "out")
    kept = {"README.md", "shared/a.py", "models/docstring_gpt/config.json", "notebooks/a.ipynb"}
    assert set(files(tmp_path / "out")) == {*kept, trust.LIST}
