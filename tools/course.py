"""Set the course up, open it and test it, on any system, with nothing but Python's standard library.

    python tools/course.py lab     sets up .venv and opens the map of the course in JupyterLab
    python tools/course.py test    the same set-up, then every unit test and every notebook

`python tools/course.py --help` lists the rest. `make lab` is short for the first; on Windows, type `py tools/course.py lab`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import edition
import pinning
import processors
from installation import ROOT, Environment
from selection import chapter_folder, chapter_tests, on_a_device

NEEDED = "Python 3.11, 3.12 or 3.13"
MAP = "notebooks/00_start_here.ipynb"


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
    edition.make(target)
    print(f"The students' edition is in {target}. To see that it passes, type make test in that folder.")


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


def pins(environment: Environment, arguments: argparse.Namespace) -> None:
    """resolve pins.txt again from pyproject.toml, for every platform"""
    environment.set_up()
    pinning.write_pins(environment)


def platforms(environment: Environment, arguments: argparse.Namespace) -> None:
    """see that the pins can be installed, as wheels, on every platform"""
    environment.set_up()
    if pinning.unpinned(environment):
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
    found = [ROOT / name for name in (*edition.MADE_AGAIN, "slides")] + list(ROOT.glob("*.egg-info"))
    found += [
        path for folder in ("book", "notebooks", "shared", "tests", "tools") for path in (ROOT / folder).rglob("*")
        if path.name in edition.MADE_AGAIN
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
