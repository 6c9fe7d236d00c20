"""What is installed, on every system: resolved from pyproject.toml into pins.txt."""

from __future__ import annotations

import itertools
import subprocess
import sys

from installation import ROOT, Environment

PYTHONS = ("3.11", "3.12", "3.13")
# What `uv pip compile` calls the systems of the readers.
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "macOS 14, Apple silicon": "aarch64-apple-darwin",
    "Windows": "windows",
}
# What is pinned, besides what a reader needs.
GROUPS = ("setup", "test", "browser", "book", "slides", "bench")


def compile_pins(environment: Environment, *options: str) -> str:
    """What uv resolves from pyproject.toml, for the public index and wheels alone."""
    command = [environment.python, "-m", "uv", "pip", "compile", "pyproject.toml", "--no-config", "--quiet"]
    command += ["--all-extras", "--only-binary", ":all:", "--no-header", "--no-annotate", *options]
    command += [part for group in GROUPS for part in ("--group", group)]
    variables = {key: value for key, value in environment.variables.items() if key != "UV_FIND_LINKS"}
    variables["MACOSX_DEPLOYMENT_TARGET"] = "14.0"  # for PyTorch on a Mac; other systems do not read it
    found = subprocess.run([str(part) for part in command], cwd=ROOT, env=variables, capture_output=True, text=True, check=False)  # fmt: skip
    if found.returncode:
        sys.exit(found.stderr.strip())
    return found.stdout


def write_pins(environment: Environment) -> None:
    """Resolve pins.txt again, for every system and Python; a pin that still fits stays."""
    compile_pins(environment, "--universal", "--python-version", PYTHONS[0], "--output-file", "pins.txt")


def unpinned(environment: Environment) -> list[str]:
    """The packages that some system needs and pins.txt does not have; a line is printed for each system and Python."""
    pinned = {line.split(" ;")[0].strip() for line in (ROOT / "pins.txt").read_text("utf-8").splitlines()}
    missing = set()
    for (system, name), python in itertools.product(PLATFORMS.items(), PYTHONS):
        options = ("--python-platform", name, "--python-version", python, "--constraint", "pins.txt")
        found = compile_pins(environment, *options).split()
        lacking = sorted(set(found) - pinned)
        note = f"; not in pins.txt: {', '.join(lacking)}" if lacking else ""
        print(f"{system:24} Python {python}  {len(found)} wheels{note}", flush=True)
        missing |= set(lacking)
    return sorted(missing)
