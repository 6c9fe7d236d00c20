"""The versions of all packages, on every platform: resolved from pyproject.toml, and held against pins.txt."""

from __future__ import annotations

import subprocess
import sys

from installation import ROOT, Environment, write

# What `uv pip compile` calls the systems of the readers, all on Python 3.11.
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "macOS 14, Apple silicon": "aarch64-apple-darwin",
    "Windows": "windows",
}
# What is pinned, besides what a reader needs, and what the benchmarks add where they can.
GROUPS = ("setup", "test", "browser", "book", "slides")


def compile_pins(environment: Environment, *options: str) -> str:
    """What uv resolves from pyproject.toml, for the public index and wheels alone."""
    command = [environment.python, "-m", "uv", "pip", "compile", "pyproject.toml", "--no-config", "--quiet"]
    command += ["--python-version", "3.11", "--only-binary", ":all:", "--no-header", "--no-annotate", *options]
    variables = {key: value for key, value in environment.variables.items() if key != "UV_FIND_LINKS"}
    variables["MACOSX_DEPLOYMENT_TARGET"] = "14.0"  # for PyTorch on a Mac; other systems do not read it
    found = subprocess.run([str(part) for part in command], cwd=ROOT, env=variables, capture_output=True, text=True, check=False)  # fmt: skip
    if found.returncode:
        sys.exit(found.stderr.strip())
    return found.stdout


def group_options(*groups: str) -> list[str]:
    return [part for group in groups for part in ("--group", group)]


def write_pins(environment: Environment) -> None:
    """Resolve pins.txt again, for every platform."""
    write(ROOT / "pins.txt", compile_pins(environment, "--universal", *group_options(*GROUPS, "bench")))


def unpinned(environment: Environment) -> list[str]:
    """The packages that some platform needs and pins.txt does not have; a line is printed for each platform."""
    pinned = {line.split(" ;")[0].strip() for line in (ROOT / "pins.txt").read_text("utf-8").splitlines()}
    missing = set()
    for system, name in PLATFORMS.items():
        groups = [*GROUPS, *(["bench"] if name != "windows" else [])]  # TensorFlow Text has no wheel
        options = ("--python-platform", name, "--constraint", "pins.txt", *group_options(*groups))
        found = compile_pins(environment, *options).split()
        lacking = sorted(set(found) - pinned)
        print(f"{system:24} {len(found)} wheels" + (f"; not in pins.txt: {', '.join(lacking)}" if lacking else ""))
        missing |= set(lacking)
    return sorted(missing)
