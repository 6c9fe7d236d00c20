"""Set the course up, open it and test it, on any system, with nothing but Python's standard library.

    python tools/course.py lab     sets up .venv and opens the map of the course in JupyterLab
    python tools/course.py test    the same set-up, then every unit test and every notebook

`python tools/course.py --help` lists the rest. `make lab` is short for the first; on Windows, type `py tools/course.py lab`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import processors

ROOT = Path(__file__).resolve().parent.parent
NEEDED = "Python 3.11, 3.12 or 3.13"
MAP = "notebooks/00_start_here.ipynb"
# What `uv pip compile` calls the systems of the readers, all on Python 3.11.
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "macOS 14, Apple silicon": "aarch64-apple-darwin",
    "Windows": "windows",
}
# What is pinned, besides what a reader needs, and what the benchmarks add where they can.
GROUPS = ("setup", "test", "browser", "book", "slides")
# Folders that can be made again.
MADE_AGAIN = (
    ".venv",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    ".paragraphs",
    ".evidence",
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


def lab(environment: Environment, arguments: argparse.Namespace) -> None:
    """set up, trust the notebooks and open JupyterLab on the map"""
    port = arguments.port
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            sys.exit(
                f"Port {port} cannot be used ({error}); perhaps the course is already open at http://localhost:{port}.\n"
                f"To take another: make lab PORT={port % 65535 + 1}, or python tools/course.py lab --port {port % 65535 + 1}"
            )
    environment.set_up()
    notebooks = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "notebooks").rglob("*.ipynb"))
    jupyter = (environment.python, "-m", "jupyter")
    trusted = subprocess.run(
        [*jupyter, "trust", *notebooks],
        cwd=ROOT,
        env=environment.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if trusted.returncode:
        print("The notebooks could not be trusted; JupyterLab will show some figures only after a run.", flush=True)
    options = [f"--port={port}", "--ServerApp.port_retries=0", f"--LabApp.default_url=/lab/tree/{MAP}"]
    if hasattr(os, "getuid") and os.getuid() == 0:
        options.append("--allow-root")
    options += ["--no-browser"] if arguments.no_browser else []
    environment.run(*jupyter, "lab", *options)


def chapter_folder(chapter: str) -> Path:
    """The folder of a chapter, named by its number or its name."""
    folders = [path for path in sorted((ROOT / "notebooks").glob("[0-9]*_*")) if path.is_dir()]
    found = [path for path in folders if path.name.split("_")[0] == chapter.zfill(2) or path.name == chapter]
    if not found:
        names = ", ".join(path.name.split("_")[0] for path in folders)
        sys.exit(f"chapter={chapter}: expected one of {names}")
    return found[0]


def chapter_tests(chapter: str) -> list[str]:
    """The notebooks and tests of a chapter, the tests of form, and those elsewhere that are marked as this chapter's."""
    folder = chapter_folder(chapter).name
    number = folder.split("_")[0]
    elsewhere = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").glob("[a-z]*/test_*.py"))
        if path.parent.name != "form" and has_mark(path, number)
    ]
    paths = [f"notebooks/{folder}", f"tests/{folder}", "tests/form", *elsewhere]
    return [*(path for path in paths if (ROOT / path).exists()), "--chapter", number]


def has_mark(path: Path, number: str) -> bool:
    """Whether a file may hold tests that are marked as those of a chapter: with its number, or one that is computed."""
    marks = re.findall(r"mark\.chapter\(([^)]*)\)", path.read_text(encoding="utf-8"))
    return any(f'"{number}"' in mark or not re.search(r'"\d\d"', mark) for mark in marks)


def test(environment: Environment, arguments: argparse.Namespace) -> None:
    """set up and run every unit test and every notebook, or those of one chapter, or those that compute on a device"""
    selected = chapter_tests(arguments.chapter) if arguments.chapter else []
    environment.set_up("test")
    settings = as_tests_run(arguments.processor, arguments.device)
    if arguments.processor != "own":
        selected += ["-m", "not form"]
    if arguments.device != "cpu":
        selected = on_a_device(arguments.device, arguments.chapter)
    environment.run(environment.python, "-m", "pytest", "-n", "2", *selected, **settings)


def on_a_device(device: str, chapter: str | None) -> list[str]:
    """What pytest runs on an accelerator: the notebooks that use it, for their claims; their text is that of the CPU."""
    folder = chapter_folder(chapter) if chapter else ROOT / "notebooks"
    paths = sorted(path for path in folder.rglob("*.ipynb") if "best_device()" in path.read_text("utf-8"))
    if not paths:
        sys.exit(f"no notebook of chapter {chapter} computes on {device}")
    for path in paths:
        cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        claims = {
            kind: sum(bool(re.search(rf"\b{kind}\(", "".join(cell["source"]))) for cell in cells)
            for kind in ("show", "learned", "observed")
        }
        print(
            f"{path.relative_to(ROOT)} on {device}: {len(cells)} cells are run; those that prove ({claims['show']}) or claim what "
            f"is learned ({claims['learned']}) are held to it; those that observe ({claims['observed']}), and all text, are not",
            flush=True,
        )
    options = (
        "addopts=--nbval-lax --nbval-current-env --nbval-cell-timeout=600 --dist=loadfile --import-mode=importlib -ra"
    )
    return ["-o", options, "tests/frameworks/test_devices.py", *map(str, paths)]


def as_tests_run(processor: str = "own", device: str = "cpu") -> dict[str, str]:
    """The variables of a test: claims raise, one thread, nothing is timed, and whose kernels compute."""
    if note := processors.skipped(processor):
        print(note, flush=True)
    settings = {"EVIDENCE": "strict", "TIMINGS": "once", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return settings | {"THREE_WAYS_DEVICE": device} | processors.variables(processor)


def test_processors(environment: Environment, arguments: argparse.Namespace) -> None:
    """run every notebook as three kinds of processor compute: this one, one with AVX2, an old one"""
    environment.set_up("test")
    kinds = ("tests/tools/test_processors.py", "-p", "no:nbval", "-o", "addopts=--import-mode=importlib -ra")
    environment.run(environment.python, "-m", "pytest", "-q", *kinds)
    for processor in processors.KINDS:
        print(f"As this processor computes: {processor}", flush=True)
        settings = as_tests_run(processor)
        environment.run(environment.python, "-m", "pytest", "-q", "-n", "2", "notebooks", **settings)


def test_seeds(environment: Environment, arguments: argparse.Namespace) -> None:
    """run every notebook with a number added to each seed, for what it claims and not for what it prints"""
    environment.set_up("test")
    options = ("-o", "addopts=--nbval-lax --nbval-current-env --nbval-cell-timeout=600 --dist=loadfile -ra")
    settings = as_tests_run() | {"SEED_SHIFT": str(arguments.shift), "PYTHONPATH": str(ROOT / "tools/shifted_seeds")}
    selected = [chapter_folder(arguments.chapter)] if arguments.chapter else ["notebooks"]
    environment.run(environment.python, "-m", "pytest", "-q", "-n", "2", *options, *selected, **settings)


def evidence(environment: Environment, arguments: argparse.Namespace) -> None:
    """repeat what the notebooks claim of learning with other seeds and processors, and store the values beside them"""
    environment.set_up("test")
    environment.run(environment.python, "tools/evidence.py", *arguments.notebooks)


def test_backends(environment: Environment, arguments: argparse.Namespace) -> None:
    """run the tests of the Keras modules on Keras' other backends"""
    environment.set_up("test")
    files = [path for path in sorted((ROOT / "tests").glob("*/test_*.py")) if "mark.keras" in path.read_text("utf-8")]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for backend in ("torch", "jax"):
        print(f"Keras on {backend}", flush=True)
        environment.run(
            *(environment.python, "-m", "pytest", "-n", "2", "-p", "no:nbval", "-m", "keras and not tensorflow"),
            *("-o", "addopts=--dist=loadfile --import-mode=importlib", *files),
            **one_thread,
            KERAS_BACKEND=backend,
        )


def test_orders(environment: Environment, arguments: argparse.Namespace) -> None:
    """import the frameworks in every order, in processes of their own (not on Windows)"""
    environment.set_up()
    environment.run(environment.python, "tests/tools/import_orders.py")


def book(environment: Environment, arguments: argparse.Namespace) -> None:
    """build the course as a book, a site and an EPUB, from the stored outputs; installs nothing else"""
    environment.set_up("book", reader=False)
    build_book(environment)
    print("The book is in book/_build: open html/index.html in a browser, or epub/transformers-three-ways.epub.")


def build_book(environment: Environment) -> None:
    """The site and the EPUB; what is wrong in a notebook is said with its file and heading, and any warning ends it."""
    environment.run(environment.python, "book/assemble.py")
    for builder in ("epub", "html"):  # the site has the EPUB to download
        options = (
            "-b",
            builder,
            "-c",
            "book",
            "-d",
            "book/_build/doctrees",
            "-j",
            "2",
            "-a",
            "-q",
            "-W",
            "--keep-going",
        )
        environment.run(environment.python, "-m", "sphinx", *options, "book/_build/source", f"book/_build/{builder}")


def slides(environment: Environment, arguments: argparse.Namespace) -> None:
    """make slides of Why and By hand, from the stored outputs; installs nothing but what they and the book need"""
    environment.set_up("book", "slides", reader=False)
    chapter = ["--chapter", arguments.chapter] if arguments.chapter else []
    environment.run(environment.python, "book/make_slides.py", *chapter)


def students(environment: Environment, arguments: argparse.Namespace) -> None:
    """copy the course into a folder, without solutions and without the pages for teachers"""
    target = Path(arguments.folder).absolute()
    if not (ROOT / "shared/exercises/solutions").is_dir():
        sys.exit("This is a students' edition already: it has no solutions.")
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
    write(aside / "README.md", "\n\n".join(part for part in readme if not part.startswith("**As a teacher.**")))
    os.replace(aside, target)
    print(f"The students' edition is in {target}. To see that it passes, type make test in that folder.")


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


def browser(environment: Environment, arguments: argparse.Namespace) -> None:
    """open the course, the book and slides in Chromium, which must be installed: they ask nothing and change nothing"""
    environment.set_up("test", "browser", "book", "slides")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    chromium = os.environ.get("CHROMIUM", found)
    if not chromium:
        sys.exit("Chromium was not found: install it, or name the program with CHROMIUM=/path/to/it.")
    build_book(environment)
    options = ("-p", "no:nbval", "-o", "addopts=--import-mode=importlib", "-q", "-ra")
    environment.run(environment.python, "-m", "pytest", *options, "tests/browser", CHROMIUM=chromium)


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


def pins(environment: Environment, arguments: argparse.Namespace) -> None:
    """resolve pins.txt again from pyproject.toml, for every platform"""
    environment.set_up()
    write(
        ROOT / "pins.txt",
        compile_pins(environment, "--universal", *group_options(*GROUPS, "bench")),
    )


def platforms(environment: Environment, arguments: argparse.Namespace) -> None:
    """see that the pins can be installed, as wheels, on every platform"""
    environment.set_up()
    pinned = {line.split(" ;")[0].strip() for line in (ROOT / "pins.txt").read_text("utf-8").splitlines()}
    failed = False
    for system, name in PLATFORMS.items():
        groups = [*GROUPS, *(["bench"] if name != "windows" else [])]  # TensorFlow Text has no wheel
        options = ("--python-platform", name, "--constraint", "pins.txt", *group_options(*groups))
        found = compile_pins(environment, *options).split()
        unpinned = sorted(set(found) - pinned)
        print(f"{system:24} {len(found)} wheels" + (f"; not in pins.txt: {', '.join(unpinned)}" if unpinned else ""))
        failed = failed or bool(unpinned)
    if failed:
        sys.exit("pins.txt is not complete: run make pins")


def export(environment: Environment, arguments: argparse.Namespace) -> None:
    """write shared/<track>/<chapter>.py from the notebooks' export cells"""
    environment.set_up("test")
    environment.run(environment.python, "tools/notebooks.py", "export")


def run(environment: Environment, arguments: argparse.Namespace) -> None:
    """execute every notebook again, or those of one chapter, or those named, and store the outputs"""
    environment.set_up("test")
    fresh = ["--fresh-timings"] if arguments.fresh_timings else []
    named = sorted(chapter_folder(arguments.chapter).glob("*.ipynb")) if arguments.chapter else arguments.notebooks
    environment.run(environment.python, "tools/notebooks.py", "run", *fresh, *named)


def tidy(environment: Environment, arguments: argparse.Namespace) -> None:
    """write what can be computed into notebooks, README and teachers' pages, and lay out the code; runs no notebook"""
    environment.set_up("test")
    environment.run(environment.python, "tools/tidy.py")
    environment.run(environment.python, "-m", "ruff", "format", "--quiet", ".")


def pretrain(environment: Environment, arguments: argparse.Namespace) -> None:
    """train a language model on the text of the installed packages or on your own, and go on with a run that was stopped"""
    environment.set_up()
    options = [f"--{name}={value}" for name in ("folder", "steps", "file") if (value := getattr(arguments, name))]
    environment.run(
        environment.python, "-c", "import shared.notebook; from shared.pytorch.real_text import main; main()", *options
    )


def lint(environment: Environment, arguments: argparse.Namespace) -> None:
    """check code and notebooks with ruff"""
    environment.set_up("test")
    environment.run(environment.python, "-m", "ruff", "check", ".")
    environment.run(environment.python, "-m", "ruff", "format", "--check", ".")


def bench(environment: Environment, arguments: argparse.Namespace) -> None:
    """measure what the course says of speed; prints ratios"""
    environment.set_up("test", "bench")
    for script in sorted((ROOT / "tests/benchmarks").glob("bench_*.py")):
        environment.run(environment.python, script)


def clean(environment: Environment, arguments: argparse.Namespace) -> None:
    """remove everything that can be made again"""
    found = [ROOT / name for name in (*MADE_AGAIN, "slides")] + list(ROOT.glob("*.egg-info"))
    found += [
        path for folder in ("book", "notebooks", "shared", "tests", "tools") for path in (ROOT / folder).rglob("*")
        if path.name in MADE_AGAIN
    ]  # fmt: skip
    for path in found:
        shutil.rmtree(path, ignore_errors=True)


def main() -> None:
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        sys.exit(
            f"{NEEDED} is needed, and this is Python {sys.version.split()[0]}: name another, as in\n"
            "make lab PYTHON=python3.11, or py -3.11 tools/course.py lab"
        )
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--here", action="store_true", help="use the environment that runs this file, such as conda's")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    functions = (
        lab,
        test,
        test_backends,
        test_orders,
        test_processors,
        test_seeds,
        evidence,
        book,
        slides,
        students,
        browser,
        platforms,
        pins,
        export,
        run,
        tidy,
        pretrain,
        lint,
        bench,
        clean,
    )
    parts = {
        function: commands.add_parser(function.__name__.replace("_", "-"), help=function.__doc__, description=function.__doc__)
        for function in functions
    }  # fmt: skip
    parts[lab].add_argument("--port", type=int, default=8888, help="the port of the local server; 8888 if not given")
    parts[lab].add_argument("--no-browser", action="store_true", help="print the address instead of opening it")
    parts[test].add_argument("--chapter", help="two digits, such as 06")
    parts[test].add_argument("--processor", default="own", choices=processors.KINDS, help="whose kernels are used")
    parts[test].add_argument("--device", default="cpu", help="an accelerator that PyTorch finds, such as cuda or mps")
    parts[test_seeds].add_argument("--shift", type=int, default=1, help="what is added to each seed; 1 if not given")
    parts[test_seeds].add_argument("--chapter", help="two digits, such as 06; all chapters if not given")
    parts[evidence].add_argument(
        "notebooks", nargs="*", help="paths; all notebooks that claim something when none is given"
    )
    parts[slides].add_argument("--chapter", help="two digits, such as 06; all chapters if not given")
    parts[students].add_argument(
        "--folder", default=ROOT / "students", help="where the copy is made; students if not given"
    )
    parts[run].add_argument("notebooks", nargs="*", help="paths; all notebooks when none is given")
    parts[run].add_argument("--chapter", help="two digits, such as 06")
    parts[run].add_argument("--fresh-timings", action="store_true", help="draw the timing pictures anew")
    parts[pretrain].add_argument("--folder", help="where the model is written; models/my_gpt if not given")
    parts[pretrain].add_argument("--steps", type=int, help="how many; 4000 if not given")
    parts[pretrain].add_argument("--file", help="a text of your own in UTF-8, with empty lines between its paragraphs")
    arguments = parser.parse_args()
    chosen = {function.__name__.replace("_", "-"): function for function in functions}[arguments.command]
    chosen(Environment(arguments.here), arguments)


if __name__ == "__main__":
    main()
