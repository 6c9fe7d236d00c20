"""What can be computed is written by `make tidy`: one test says that there is nothing left for it to write."""

import subprocess
import sys

import tidy
from reading import ROOT


def test_there_is_nothing_left_for_make_tidy():
    changed = [path.relative_to(ROOT).as_posix() for path in tidy.changes()]
    assert changed == [], "run make tidy"


def test_the_code_is_laid_out():
    command = [sys.executable, "-m", "ruff", "format", "--check", "--quiet", "."]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"run make tidy\n{found.stdout}{found.stderr}"
