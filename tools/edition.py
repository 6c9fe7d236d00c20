"""The students' edition: the course without worked solutions and without the pages for teachers."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import trust
from installation import ROOT

# Folders that can be made again.
MADE_AGAIN = (
    ".venv",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    ".paragraphs",
    ".evidence",
    ".differences",
    "__pycache__",
    ".ipynb_checkpoints",
    "_build",
    "screenshots",
)
# What a students' edition lacks; the tests of these, too.
FOR_TEACHERS = (
    "shared/exercises/solutions/",
    "teachers/",
    "tests/shared/test_exercises.py",
    "tests/form/test_teachers.py",
    "tests/tools/test_students.py",
    ".ci/",
    ".github/",
)


def make(target: Path) -> None:
    """Copy the course into a folder that does not exist yet, without what is for teachers alone: whole or not at all."""
    if not (ROOT / "shared/exercises/solutions").is_dir():
        sys.exit("This is a students' edition already: it has no worked solutions.")
    if ROOT in target.parents and target != ROOT / "students":
        sys.exit(f"{target} is inside of the course: name a folder outside, or none, which is students.")
    if target.exists():
        sys.exit(f"{target} exists, and nothing is overwritten: name another folder, or remove this one first.")
    aside = target.with_name(target.name + ".part")
    shutil.rmtree(aside, ignore_errors=True)
    for path in files_of_the_course():
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(FOR_TEACHERS):
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, aside / name)
    readme = (aside / "README.md").read_text(encoding="utf-8").split("\n\n")
    notice = "**This is the students' edition**, without worked solutions and without the pages for teachers."
    kept = "\n\n".join(notice if part.startswith("**As a teacher.**") else part for part in readme)
    (aside / "README.md").write_text(kept, encoding="utf-8", newline="\n")
    (aside / trust.LIST).write_text(json.dumps(trust.notebooks(aside), indent=1) + "\n", encoding="utf-8", newline="\n")
    os.replace(aside, target)


def files_of_the_course() -> list[Path]:
    """Every file, but for those that can be made again, a reader's progress, and the models that a reader has trained."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        place = Path(folder)
        skipped = {*MADE_AGAIN, *((".git", "slides", "students", "students.part") if place == ROOT else ())}
        if place == ROOT / "models":
            folders[:] = ["docstring_gpt"]
        folders[:] = [name for name in folders if name not in skipped and not name.endswith(".egg-info")]
        found += [place / name for name in files if name not in (".git", ".progress.json", "checkpoint.safetensors")]
    return sorted(path for path in found if path.suffix != ".part")
