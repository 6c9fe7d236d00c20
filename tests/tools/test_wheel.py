"""A wheel that is built and installed elsewhere works as a library, without the course around it."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
USED = """
import numpy as np
from shared import plots, pretrained
from shared.chapters import ready
from shared.exercises import check, progress
from shared.numpy.attention import MultiHeadAttention

import shared
print(shared.__file__)
print(len(ready()), MultiHeadAttention(8, 2, rng=0)(*[np.ones((1, 3, 8))] * 3).shape)
plots.attention_explorer(np.full((1, 1, 2, 2), 0.5), ["a", "b"])
check("06.1", 0.25)
progress()
try:
    pretrained.shipped()
except FileNotFoundError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder in which nothing is but what the wheel installs."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):  # a build leaves files where it happens
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "shared", folder / "shared", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "uv", "build", "--wheel", "--no-build-isolation", "--offline", "--quiet"]
    subprocess.run([*command, "--python", sys.executable, "--out-dir", folder, folder], check=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(folder / "site")
    return folder / "site"


def run(site: Path, folder: Path, code: str, **variables: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(site), "THREE_WAYS_FOLDER": "", **variables}
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()


def test_it_computes_draws_checks_and_says_what_only_the_course_has(site, tmp_path):
    lines = run(site, tmp_path, USED)
    assert Path(lines[0]).parent == site / "shared"
    assert lines[1].endswith("(1, 3, 8)") and "06.1: right" in lines[2]
    assert any("attention" in line and "1 of" in line for line in lines)
    assert "THREE_WAYS_FOLDER" in lines[-1] and str(tmp_path) in lines[-1]
    assert [path.name for path in tmp_path.iterdir()] == [".progress.json"]


def test_the_course_is_found_where_the_variable_says(site, tmp_path):
    code = "from shared import pretrained; print(pretrained.shipped())"
    assert run(site, tmp_path, code, THREE_WAYS_FOLDER=str(ROOT)) == [str(ROOT / "models/docstring_gpt")]


def test_workers_find_the_package(site, tmp_path):
    code = "from shared import processes; import sys; print(*processes.run([[sys.executable, '-c', 'import shared; print(shared.__file__)']]))"
    assert run(site, tmp_path, code)[0] == str(site / "shared/__init__.py")
