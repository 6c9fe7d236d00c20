"""The Python environment of the course: made, filled with what is missing, and used to run its programs.

uv does the work: it knows what is installed, goes on where it was stopped, and needs no network where nothing is missing. This
file runs before uv is there, so it needs nothing but Python's standard library.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The frameworks, each an extra of pyproject.toml; NumPy's notebooks need neither.
TRACKS = {"numpy": (), "pytorch": ("pytorch",), "keras": ("keras",)}
FRAMEWORKS = tuple(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
# JupyterLab's first start asks whether it may fetch news; a course without a network does not.
LAB_SETTINGS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
# JupyterLab writes the kernel's version of Python into every notebook that it opens, and so marks it as changed.
KERNEL_CONFIG = """from ipykernel.ipkernel import IPythonKernel

# Written by tools/course.py: the version that the course's notebooks store, whatever the reader's is.
IPythonKernel.language_info = IPythonKernel.language_info | {"version": "3"}
"""


class Environment:
    """The Python environment of the course: .venv, or the one that runs this file.

    Args:
        here: whether it is the one that runs this file.
        track: numpy, pytorch or keras, to install what this one needs; None for all three.
    """

    def __init__(self, here: bool, track: str | None = None):
        self.here = here
        self.frameworks = FRAMEWORKS if track is None else TRACKS[track]
        self.folder = Path(sys.prefix) if here else ROOT / ".venv"
        self.bin = self.folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = Path(sys.executable) if here else self.bin / ("python.exe" if os.name == "nt" else "python")
        self.variables = dict(os.environ, PYTHONUTF8="1")
        self.variables.setdefault("KERAS_BACKEND", "tensorflow")
        if "UV_FIND_LINKS" not in self.variables and (wheels := folder_of_wheels()):
            self.variables["UV_FIND_LINKS"] = wheels

    def run(self, *command: str | Path, **variables: str) -> None:
        """Run a command of the environment, and end with its exit status if that is not 0."""
        if status := self.status_of(*command, **variables):
            sys.exit(status)

    def status_of(self, *command: str | Path, **variables: str) -> int:
        process = subprocess.Popen([str(part) for part in command], cwd=ROOT, env={**self.variables, **variables})
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # it went to the command as well, which decides what to do
                continue

    def set_up(self, *groups: str, reader: bool = True) -> None:
        """Install what is missing of the named groups and, unless `reader` is False, of what the notebooks need."""
        self.get_uv()
        wanted = [part for group in groups for part in ("--group", group)]
        if reader:
            wanted += ["--requirements", "pyproject.toml"]
            wanted += [part for name in self.frameworks for part in ("--extra", name)]
        self.install("--constraint", "pins.txt", *wanted)
        if reader:
            if not self.has_course():
                self.install("--no-deps", "--editable", ".")
            self.settle_jupyter()

    def get_uv(self) -> None:
        """Make the environment, if it runs no Python of this version, and install the uv of pins.txt with pip, if it lacks it."""
        pin = re.search(r"^uv==(\S+)", (ROOT / "pins.txt").read_text("utf-8"), re.MULTILINE)
        code = "import sys; from importlib.metadata import version; print(*sys.version_info[:2]); print(version('uv'))"
        python, _, uv = self.answer(code).partition("\n")
        if not self.here and python != "{} {}".format(*sys.version_info):
            make_venv(self.folder)
            uv = ""  # the one that was asked is gone
        if uv.strip() != pin[1]:
            pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", pin[0])
            if self.status_of(self.python, *pip):
                sys.exit(
                    "uv, which installs the rest, could not be installed, for the reason above. Is there a network?"
                )

    def install(self, *wanted: str) -> None:
        """Install with uv what is missing.

        PyTorch comes from its own index in the build for this machine, which is without CUDA where there is no GPU. Where that
        index doesn't answer, it comes from the public one. UV_TORCH_BACKEND decides, if it is set.
        """
        uv = (self.python, "-m", "uv", "pip", "install", "--python", self.python, "--compile-bytecode")
        if "pytorch" in wanted and "UV_TORCH_BACKEND" not in self.variables and not self.has_torch():
            if not self.status_of(*uv, *wanted, UV_TORCH_BACKEND="auto"):
                return
            print(
                "That went wrong with PyTorch's own index, so the public one is asked, whose build for Linux brings CUDA along.",
                flush=True,
            )
        if self.status_of(*uv, *wanted):
            sys.exit(
                "The installation did not end well, for the reason above. What has arrived is kept: the same command goes on from here.\n"
                "The README lists the systems and Pythons that it was run on, and how much it takes."
            )

    def has_torch(self) -> bool:
        """Whether some build of PyTorch is installed; uv asks the index named by UV_TORCH_BACKEND even if nothing is missing."""
        return self.answer("from importlib.util import find_spec; print(find_spec('torch') is not None)") == "True\n"

    def has_course(self) -> bool:
        """Whether a notebook finds the package of this folder, and not that of another."""
        found = self.answer("import shared; print(shared.__file__)")
        return Path(found.strip()).parent == ROOT / "shared"

    def answer(self, code: str) -> str:
        """What a program prints, started far from this folder; nothing if it fails."""
        command = [str(self.python), "-I", "-c", code]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False).stdout
        except OSError:
            return ""

    def settle_jupyter(self) -> None:
        """Answer what JupyterLab would ask at its first start."""
        written = {
            "share/jupyter/lab/settings/overrides.json": json.dumps(LAB_SETTINGS),
            "etc/ipython/ipython_kernel_config.py": KERNEL_CONFIG,
        }
        for name, text in written.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def folder_of_wheels() -> str:
    """The folder of wheels that pip is set to look into, if any: uv does not read pip's settings."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.find-links"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def make_venv(folder: Path) -> None:
    print(f"Making {folder.name} with Python {sys.version.split()[0]}.", flush=True)
    command = [sys.executable, "-m", "venv", "--clear", str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        output = (made.stdout + made.stderr).strip().splitlines()
        sys.exit(
            f"Python could not make {folder.name}: {output[-1] if output else 'no reason given'}\n"
            "On Debian and Ubuntu, install the package python3-venv, and run the same command again."
        )
