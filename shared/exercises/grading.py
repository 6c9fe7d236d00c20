"""A folder of submitted notebooks, one a student, becomes a table: `python -m shared.exercises grade FOLDER --out grades.csv`.

Each notebook's exercises run in a process of their own (`attempts`), because they are somebody else's code. It has a limit of time
and memory. On Linux, where users may have namespaces of their own, it can write nowhere but into a folder that is gone
afterwards, and has no network. That is care, and no prison: grade on a machine that has nothing to lose.
"""

import contextlib
import csv
import hashlib
import io
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import nbformat

from shared.checks import check_number, check_positive
from shared.exercises.attempts import EXERCISE
from shared.files import write_whole
from shared.frameworks.workers.commands import started, status_of

_OWN = ("student", "right", "of", "note", "digest")
Grades = dict[str, dict[str, str]]


def grade(
    folder: Path,
    out: Path,
    seconds: float = 60.0,
    memory: float = 8.0,
    workers: int = 2,
    seed: int = 0,
    tell: Callable[[int, int, str], None] = lambda done, count, student: None,
) -> Grades:
    """Grade every notebook of a folder; what a table has already, of a notebook that hasn't changed, stays.

    Args:
        folder: with a notebook for each student, or a folder of them; the path without its ending is the student's name.
        out: the table, in CSV: a row for each student, a column for each exercise. It is written after each notebook.
        seconds: how long one exercise may take, the imports before it included.
        memory: in GB, of one process; where the system has no such limit, none.
        workers: how many notebooks are run at a time.
        seed: of the random inputs on which functions are tried.
        tell: is called after each notebook with how many are done, of how many, and whose it was.

    Returns:
        Student -> the row.

    Raises:
        ValueError: if there is no notebook, or the table is another one.
    """
    check_number(0, above=True, seconds=seconds, memory=memory)
    check_positive(workers=workers)
    paths = {str(path.relative_to(folder).with_suffix("")): path for path in _notebooks(folder)}
    if not paths:
        raise ValueError(f"folder={str(folder)!r}: expected notebooks, NAME.ipynb, and there is none")
    digests = {student: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for student, path in paths.items()}
    known = _read(out)
    grades = {student: row for student, row in known.items() if row["digest"] == digests.get(student)}
    left = [student for student in paths if student not in grades]
    with ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(_row, paths[student], seconds, memory, seed): student for student in left}
        for future in as_completed(running):
            student = running[future]
            grades[student] = {"student": student, **future.result(), "digest": digests[student]}
            _write(out, grades)
            tell(len(grades), len(paths), student)
    _write(out, grades)
    return grades


def _notebooks(folder: Path) -> Iterator[Path]:
    """The notebooks of a folder, and of those in it, without the copies that JupyterLab keeps."""
    return (path for path in sorted(folder.rglob("*.ipynb")) if not any(part.startswith(".") for part in path.parts))


def _row(path: Path, seconds: float, memory: float, seed: int) -> dict[str, str]:
    """What is to be said of a notebook: how many exercises are right, of how many, and of each the verdict."""
    try:
        notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    except Exception as error:  # noqa: BLE001 - a file can be damaged in any way
        return {"right": "0", "of": "0", "note": f"can't be read as a notebook: {_one_line(error)}"}
    asked = [found[1] for found in map(EXERCISE.search, cells) if found]
    if not asked:
        return {"right": "0", "of": "0", "note": "has no exercise that calls check"}
    said = dict.fromkeys(asked, "didn't run")
    for exercise, verdict, message in _said(cells, asked, seconds, memory, seed):
        said[exercise] = {"right": "right", "not done": "not done"}.get(verdict, f"{verdict}: {message}")
    right = sum(verdict == "right" for verdict in said.values())
    return {"right": str(right), "of": str(len(said)), "note": "", **said}


def _said(
    cells: list[str], asked: list[str], seconds: float, memory: float, seed: int
) -> Iterator[tuple[str, str, str]]:
    """Exercise, verdict and message, in their order; after one that didn't end, a new process goes on behind it."""
    done = 0
    while done < len(asked):
        begun, problem = False, ""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "cells.json"
            file.write_text(json.dumps(cells), encoding="utf-8")
            room = Path(folder) / "room"
            room.mkdir()
            results = Path(folder) / "results"
            results.touch()
            command = [sys.executable, "-m", "shared.exercises.attempts", file, room, results]
            command += ["--seed", seed, "--memory", memory, "--skip", done]
            own = {"HOME": str(room), "TMPDIR": str(room), "MPLBACKEND": "agg", "TF_CPP_MIN_LOG_LEVEL": "3"}
            with started([command], [own]) as [(process, _)], open(results, encoding="utf-8") as output:
                for line in _lines(process, output, seconds):
                    if "said" in line:
                        yield from map(tuple, line["said"])
                        done += 1
                    begun = begun or "begins" in line
                    if "ended" in line:
                        return
                problem = _ending(process, seconds)
                with contextlib.suppress(OSError, AttributeError):  # what the process has started
                    os.killpg(process.pid, signal.SIGKILL)
        if done < len(asked):
            yield asked[done], "error", problem
            done += 1
            if not begun:  # what no notebook is to blame for: the others wouldn't begin either
                yield from ((each, "error", problem) for each in asked[done:])
                return


def _lines(process: Any, output: Any, seconds: float) -> Iterator[dict[str, Any]]:
    """What a process writes, line by line, until it ends or a line takes longer than so many seconds."""
    deadline, rest = time.monotonic() + seconds, ""
    while True:
        has_ended = process.poll() is not None
        rest += output.read()
        *whole, rest = rest.split("\n")
        for line in whole:
            with contextlib.suppress(ValueError):
                yield json.loads(line)
            deadline = time.monotonic() + seconds
        if has_ended or time.monotonic() > deadline:
            return
        time.sleep(0.05)


def _ending(process: Any, seconds: float) -> str:
    if process.poll() is None:
        return f"didn't end within {seconds:g} seconds"
    return f"the process ended: {status_of(process.returncode)}"


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _read(out: Path) -> Grades:
    """The rows of a table that was written before; none if there is no such file."""
    if not out.exists():
        return {}
    with open(out, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if not set(_OWN) <= set(reader.fieldnames or ()):
            raise ValueError(
                f"out={str(out)!r}: expected a table of grades, or no such file, and its columns are others"
            )
        return {row["student"]: {name: text for name, text in row.items() if text} for row in reader}


def _write(out: Path, grades: Grades) -> None:
    """The table, whole, sorted by student, with a column for each exercise that is in a notebook."""
    found = {name for row in grades.values() for name in row} - set(_OWN)
    order = [*_OWN[:-1], *sorted(found, key=_number), _OWN[-1]]
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, order, restval="")
    table.writeheader()
    table.writerows({name: _safe(text) for name, text in grades[student].items()} for student in sorted(grades))
    write_whole(out, text.getvalue())


def _number(exercise: str) -> tuple[list[int], str]:
    parts = exercise.split(".")
    return [int(part) for part in parts if part.isdigit()], exercise


def _safe(text: str) -> str:
    """Text that a spreadsheet doesn't take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
