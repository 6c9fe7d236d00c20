"""The Python environment of the course: made, filled with what is missing, and used to run its programs.

It runs before anything is installed, so it needs nothing but Python's standard library.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# JupyterLab's first start asks whether it may fetch news; a course without a network does not.
LAB_SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
# JupyterLab writes the kernel's version of Python into every notebook that it opens, and so marks it as changed.
KERNEL_CONFIG = """from ipykernel.ipkernel import IPythonKernel

# Written by tools/course.py: the version that the course's notebooks store, whatever the reader's is.
IPythonKernel.language_info = IPythonKernel.language_info | {"version": "3"}
"""


class Environment:
    """The Python environment of the course: .venv, or the one that runs this file."""

    def __init__(self, here: bool):
        self.here = here
        self.folder = Path(sys.prefix) if here else ROOT / ".venv"
        self.bin = self.folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = Path(sys.executable) if here else self.bin / ("python.exe" if os.name == "nt" else "python")
        self.variables = dict(os.environ, PYTHONUTF8="1")
        self.variables.setdefault("KERAS_BACKEND", "tensorflow")
        if "UV_FIND_LINKS" not in self.variables and (wheels := folder_of_wheels()):
            self.variables["UV_FIND_LINKS"] = wheels

    def run(self, *command: str | Path, **variables: str) -> None:
        """Run a command of the environment, and end with its exit status if that is not 0."""
        process = subprocess.Popen([str(part) for part in command], cwd=ROOT, env={**self.variables, **variables})
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:  # it went to the command as well, which decides what to do
                continue
        if status:
            sys.exit(status)

    def set_up(self, *groups: str, reader: bool = True) -> None:
        """Install what is missing; what is there is kept, so that a second call goes on where a first one stopped.

        Without `reader`, nothing of what the notebooks need is installed: the named groups are enough.
        """
        digest = hashlib.sha256()
        for name in ("pyproject.toml", "pins.txt"):
            digest.update((ROOT / name).read_bytes())
        wanted = (*(("reader",) if reader else ()), *groups)
        stamps = {group: self.folder / f"installed-{group}" for group in wanted}
        missing = [group for group, stamp in stamps.items() if not is_file_with(stamp, digest.hexdigest())]
        if not missing:
            return
        if not self.here and not self.has_uv():
            make_venv(self.folder)
        if not self.has_uv():
            pins = (ROOT / "pins.txt").read_text(encoding="utf-8").splitlines()
            pip = (self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
            install([*pip, *(pin for pin in pins if pin.startswith("uv=="))], self.variables)
        what = "course needs; this takes minutes" if reader else "book needs; this takes less than a minute"
        print(f"Installing what the {what} the first time.", flush=True)
        command = [self.python, "-m", "uv", "pip", "install", "--python", self.python, "--compile-bytecode"]
        command += ["--constraint", "pins.txt", *(("--editable", ".") if reader else ())]
        for group in missing:
            command += ["--group", group] if group != "reader" else []
        install(command, self.variables)
        if reader:
            self.settle_jupyter()
        for group in missing:
            write(stamps[group], digest.hexdigest())

    def settle_jupyter(self) -> None:
        """Answer what JupyterLab would ask at its first start."""
        write(self.folder / "share/jupyter/lab/settings/overrides.json", json.dumps(LAB_SETTINGS))
        write(self.folder / "etc/ipython/ipython_kernel_config.py", KERNEL_CONFIG)

    def has_uv(self) -> bool:
        """Whether the environment runs, on this version of Python, and has what installs the rest."""
        code = "import sys, uv; print(*sys.version_info[:2])"
        try:
            found = subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=False)
        except OSError:
            return False
        return found.stdout.split() == [str(number) for number in sys.version_info[:2]]


def is_file_with(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".part")
    aside.write_text(text, encoding="utf-8", newline="\n")
    os.replace(aside, path)


def folder_of_wheels() -> str:
    """The folder of wheels that pip is set to look into, if any: uv does not read pip's settings."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.find-links"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def make_venv(folder: Path) -> None:
    print(f"Making {folder.name} with Python {sys.version.split()[0]}.", flush=True)
    command = [sys.executable, "-m", "venv", "--clear", str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        said = (made.stdout + made.stderr).strip().splitlines()
        sys.exit(
            f"Python could not make {folder.name}: {said[-1] if said else 'no reason given'}\n"
            "On Debian and Ubuntu, install the package python3-venv, and run the same command again."
        )


def install(command: list, variables: dict[str, str]) -> None:
    """Run an installer, show what it says, and end in one or two lines that say what to do if it fails."""
    process = subprocess.Popen(
        [str(part) for part in command], cwd=ROOT, env=variables, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    said = []
    try:
        for line in process.stderr:
            said.append(line)
            if not re.match(r"\s*[+~-] |WARNING|\s*$", line):  # the list of all packages, and what does not matter
                print(line, end="", file=sys.stderr, flush=True)
        status = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        sys.exit("\nStopped. The same command goes on from here.")
    if status:
        sys.exit("\n" + advice("".join(said)))


def advice(said: str) -> str:
    """What to do about an installer's complaint."""
    if re.search(r"no wheels? with a matching|has no usable wheels|only has wheels", said):
        return (
            f"There is no wheel of one of the packages above for this system, or for Python {sys.version.split()[0]}.\n"
            "The README lists the systems that the course can be installed on; Python 3.11 is the one it is tested with."
        )
    if re.search(r"No space left|os error 28|not enough space", said, re.IGNORECASE):
        return "The disk is full: the README says how much the course takes. Make room, and run the same command again."
    if re.search(
        r"dns|connect|timed? ?out|network|Failed to (fetch|download)|error sending request|No matching distribution",
        said,
        re.IGNORECASE,
    ):
        return (
            "The packages could not be fetched: is there a network? What has arrived is kept.\n"
            "Run the same command again, and it goes on from here."
        )
    return "The installation failed, for the reason above. Run the same command again once that is mended."
