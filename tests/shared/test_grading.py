"""Grading: each verdict, and whatever a submitted notebook can do wrong, or do on purpose."""

import csv
import importlib
import subprocess
import sys
import textwrap

import nbformat
import pytest

from shared import private
from shared.exercises import attempts, grading

pytestmark = pytest.mark.form

RIGHT = """
def attend(query, key, value):
    scores = query @ key.T / np.sqrt(query.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ value
"""
CALLED = 'check("06.2", attend)'
WRONG = "import numpy as np\n\n\ndef answer(*arrays):\n    return np.zeros(3)\n\n\ncheck('06.3', answer)"


@pytest.fixture
def folder(tmp_path):
    """Submissions are written into it, as cells; `graded` gives the rows."""
    (tmp_path / "submitted").mkdir()
    return tmp_path


def submit(folder, student: str, *cells: str) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(textwrap.dedent(cell)) for cell in cells])
    path = folder / "submitted" / f"{student}.ipynb"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, path)


def graded(folder, **options) -> dict:
    grading.grade(folder / "submitted", folder / "grades.csv", **({"seconds": 20} | options))
    with open(folder / "grades.csv", encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def test_a_row_says_what_is_right_which_mistake_it_is_and_what_did_not_run(folder):
    submit(
        folder, "anna", "import numpy as np", RIGHT, f"from shared.exercises import check, hint, solution\n\n{CALLED}"
    )
    submit(folder, "class 2/ben", WRONG, 'check("06.1", 2)', "check('06.4', ...)")
    submit(
        folder,
        "carla",
        "import numpy as np\n\n\ndef answer(q, k, v):\n    return q @ missing\n\n\ncheck('06.2', answer)",
    )
    submit(folder, "dora", "1 / 0\ncheck('06.2', None)", "def f(:\n    pass\n\n\ncheck('06.3', f)", 'check("99.9", 1)')
    submit(folder, "emil", "print('nothing here')")
    (folder / "submitted" / "fritz.ipynb").write_text('{"cells": [')
    rows = graded(folder)
    assert (rows["anna"]["right"], rows["anna"]["of"], rows["anna"]["06.2"]) == ("1", "1", "right")
    ben = rows["class 2/ben"]
    assert (ben["right"], ben["of"], ben["06.4"]) == ("0", "3", "not done")
    assert ben["06.3"].startswith("wrong: expected a class") and ben["06.1"].startswith("wrong: ")
    assert rows["carla"]["06.2"].startswith("wrong: your function raised NameError")
    assert rows["dora"]["06.2"] == "error: ZeroDivisionError in line 1: division by zero"
    assert rows["dora"]["06.3"].startswith("error: SyntaxError in line 1")
    assert "there is no exercise '99.9'" in rows["dora"]["99.9"]
    assert rows["emil"]["note"] == "has no exercise that calls check"
    assert rows["fritz"]["note"].startswith("can't be read as a notebook")
    assert list(rows["anna"])[:4] == ["student", "right", "of", "note"] and list(rows["anna"])[-1] == "digest"


def test_a_listed_mistake_is_named(folder):
    named, wrong = next(iter(importlib.import_module("shared.exercises.attention").EXERCISES["06.1"].mistakes.items()))
    submit(folder, "anna", f"check('06.1', {wrong})")
    assert graded(folder)["anna"]["06.1"] == f"wrong: close. {named}"


def test_what_an_exercise_needs_runs_and_nothing_else(folder):
    submit(
        folder,
        "anna",
        "import numpy as np\n%matplotlib inline\n!pip list",
        "%%timeit\nimport time; time.sleep(1000)",
        "import time\nlosses = [time.sleep(1000) for _ in range(9)]\nx = losses[0]",
        "settings = {}\nsettings['root'] = 2",
        "def root(size):\n    return size ** (1 / settings['root'])",
        RIGHT.replace("np.sqrt", "root"),
        CALLED,
    )
    assert graded(folder)["anna"]["06.2"] == "right"
    cells = ["x = 1", "y = x", "x = 2\nz = 3", "def f(z):\n    return z + y\n\n\ncheck('06.2', f)"]
    [attempt] = attempts.attempts(cells)
    assert [attempts.ast.unparse(each) for each in attempt.before] == ["x = 1", "y = x", "x = 2"]


def test_one_that_does_not_end_takes_only_its_own_time(folder):
    forever = "import time\n\n\ndef answer(*arrays):\n    while True:\n        time.sleep(1)\n\n\ncheck('06.3', answer)"
    submit(folder, "anna", forever, f"import numpy as np\n{RIGHT}\n{CALLED}")
    row = graded(folder, seconds=4)["anna"]
    assert row["06.3"] == "error: didn't end within 4 seconds" and row["06.2"] == "right"


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no such limit")
@pytest.mark.parametrize("code", ["bytearray(3 * 2**30)", "import os; os._exit(3)", "import sys; sys.exit()"])
def test_one_that_takes_all_memory_or_ends_its_process_is_a_verdict(folder, code):
    submit(folder, "anna", f"{code}\ncheck('06.3', 1)", f"import numpy as np\n{RIGHT}\n{CALLED}")
    row = graded(folder, memory=2)["anna"]
    assert row["06.3"].startswith("error: ") and row["06.2"] == "right"


def is_confined(tmp_path) -> bool:
    """Whether this system lets a process give up its rights to write and to talk."""
    (tmp_path / "room").mkdir()
    program = (
        "from pathlib import Path; from shared import private; import sys; private.unshare_files(Path(sys.argv[1]))"
    )
    return not subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "room")], check=False, capture_output=True
    ).returncode


def test_nothing_is_written_elsewhere_and_nobody_is_called(folder, tmp_path):
    if not is_confined(tmp_path):
        pytest.skip("the system gives no namespaces to this user")
    left = tmp_path / "left behind"
    submit(
        folder,
        "anna",
        f"""
        import pathlib
        import socket

        found = []
        pathlib.Path("here.txt").write_text("a file of its own")
        for act in (
            lambda: pathlib.Path({str(left)!r}).write_text("x"),
            lambda: pathlib.Path({private.__file__!r}).write_text("x"),
            lambda: socket.create_connection(("1.1.1.1", 53), timeout=2),
        ):
            try:
                act()
            except OSError as error:
                found.append(error.strerror)
        raise OSError("; ".join(found))
        check("06.1", 1)
        """,
    )
    said = graded(folder)["anna"]["06.1"]
    assert said.count("Read-only file system") == 2 and "Network is unreachable" in said
    assert not left.exists()


def test_the_course_s_own_answers_are_not_handed_out(folder):
    submit(folder, "anna", "from shared.exercises import solutions\ncheck('06.2', solutions.attention)")
    assert graded(folder)["anna"]["06.2"].startswith("error: ModuleNotFoundError")


def test_what_was_graded_is_not_run_again_unless_it_was_changed(folder, monkeypatch):
    for student in ("anna", "ben"):
        submit(folder, student, "check('06.1', 1)")
    before, ran, row_of = graded(folder), [], grading._row
    monkeypatch.setattr(grading, "_row", lambda path, *rest: (ran.append(path.stem), row_of(path, *rest))[1])
    assert graded(folder) == before and ran == []
    submit(folder, "ben", "check('06.1', ...)")
    rows = graded(folder)
    assert ran == ["ben"] and rows["ben"]["06.1"] == "not done" and rows["anna"] == before["anna"]
    (folder / "submitted/anna.ipynb").unlink()
    assert list(graded(folder)) == ["ben"]


def test_a_table_is_written_after_each_notebook(folder, monkeypatch):
    """Interrupted, it has what was done."""
    for student in ("anna", "ben", "carla"):
        submit(folder, student, "check('06.1', 1)")

    def stop(done, count, student):
        assert count == 3
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        graded(folder, workers=1, tell=stop)
    with open(folder / "grades.csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 2
    assert len(graded(folder)) == 3


def test_a_message_is_no_formula(folder):
    assert [grading._safe(text) for text in ("=1+1", "@a", "-1", "right")] == ["'=1+1", "'@a", "'-1", "right"]


def test_another_table_is_left_alone(folder):
    submit(folder, "anna", "check('06.1', 1)")
    (folder / "grades.csv").write_text("name,mark\nanna,1\n")
    with pytest.raises(ValueError, match="out=.*its columns are others"):
        graded(folder)
    assert (folder / "grades.csv").read_text() == "name,mark\nanna,1\n"
    with pytest.raises(ValueError, match="folder=.*there is none"):
        grading.grade(folder / "elsewhere", folder / "other.csv")


def test_the_command_says_how_far_it_is_and_which_inputs_it_drew(folder):
    submit(folder, "anna", "check('06.1', 1)")
    command = [sys.executable, "-m", "shared.exercises", "grade", folder / "submitted", "--out", folder / "grades.csv"]
    done = subprocess.run([*map(str, command), "--seed", "5"], check=True, capture_output=True, text=True).stdout
    assert "1 of 1  anna" in done and "1 rows in" in done and "--seed 5" in done
    failed = subprocess.run([*map(str, command[:4]), "nowhere"], check=False, capture_output=True, text=True)
    assert failed.returncode and "folder='nowhere': expected a folder" in failed.stderr
