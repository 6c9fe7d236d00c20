"""The Keras modules run unmodified on another backend: their tests, again, with KERAS_BACKEND=torch."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_tests_of_the_keras_modules_pass_on_the_torch_backend():
    files = [str(path) for path in sorted((ROOT / "tests").glob("test_*.py")) if "def test_keras_" in path.read_text()]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:nbval",
        "-p",
        "no:xdist",
        "-o",
        "addopts=--import-mode=importlib",
        "-q",
    ]
    command += ["-m", "not tensorflow", "-k", "test_keras_", *files]
    environment = os.environ | {"KERAS_BACKEND": "torch"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", result.stdout).group(1)) >= len(files)
