"""Set the course up, open it and test it, on any system, with nothing but Python's standard library.

    make lab     sets up .venv and opens the map of the course in JupyterLab
    make test    the same set-up, then every unit test and every notebook

Where there is no make, as on Windows, type `py tools/course.py` in its place, with the same words: CHAPTER=06 is --chapter 06.
"""

from __future__ import annotations

import sys

if not (3, 11) <= sys.version_info[:2] <= (3, 13):
    sys.exit(
        "Python 3.11, 3.12 or 3.13 is needed, and this is Python " + sys.version.split()[0] + ": name another, as in\n"
        "make lab PYTHON=python3.11, or py -3.11 tools/course.py lab"
    )

import argparse
import os
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import edition
import pinning
import processors
import trust
from installation import ROOT, TRACKS, Environment
from selection import chapter_folder, chapter_tests, on_a_device, track_notebooks

MAP = "notebooks/00_start_here.ipynb"
BACKENDS = ("torch", "jax")  # Keras' own beside TensorFlow, which the notebooks and all other tests are on


def setup(environment: Environment, arguments: argparse.Namespace) -> None:
    """install what lab needs, and open nothing; TRACK=numpy, pytorch or keras for what this one needs alone"""
    environment.set_up()


def lab(environment: Environment, arguments: argparse.Namespace) -> None:
    """set up, trust the notebooks as published, and open JupyterLab on the map; PORT=9000, TRACK=numpy"""
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
    jupyter = (environment.python, "-m", "jupyter")
    if notebooks := trust.trusted():
        command = [*jupyter, "trust", *notebooks]
        done = subprocess.run(command, cwd=ROOT, env=environment.variables, capture_output=True, check=False)
        if done.returncode:
            print("The notebooks could not be trusted; JupyterLab will show some figures only after a run.", flush=True)
    options = [f"--port={port}", "--ServerApp.port_retries=0", f"--LabApp.default_url=/lab/tree/{MAP}"]
    if hasattr(os, "getuid") and os.getuid() == 0:
        options.append("--allow-root")
    options += ["--no-browser"] if arguments.no_browser else []
    environment.run(*jupyter, "lab", *options)


def test(environment: Environment, arguments: argparse.Namespace) -> None:
    """set up and run every unit test and every notebook; CHAPTER=06, TRACK=numpy, PROCESSOR=old (the notebooks by older kernels), DEVICE=cuda"""
    if arguments.track:
        selected = track_notebooks(arguments.track, arguments.chapter)
    else:
        selected = chapter_tests(arguments.chapter) if arguments.chapter else []
    environment.set_up("test")
    settings = as_tests_run(arguments.processor, arguments.device)
    if arguments.processor != "own":  # what a processor, or what pip chose, can change
        changed = ["tests/frameworks", "tests/tools/test_course.py", "tests/tools/test_processors.py", "notebooks"]
        selected = [*(selected or changed), "-m", "not form"]
    if arguments.device != "cpu":
        selected = on_a_device(arguments.device, arguments.chapter)
    environment.run(environment.python, "-m", "pytest", "-n", "2", *selected, **settings)


def as_tests_run(processor: str = "own", device: str = "cpu") -> dict[str, str]:
    """The variables of a test: claims raise, one thread, nothing is timed, PyTorch compiles anew, and whose kernels compute."""
    if note := processors.skipped(processor):
        print(note, flush=True)
    settings = {"EVIDENCE": "strict", "TIMINGS": "once", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    settings["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"  # a graph that another run has left in /tmp could be damaged
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
    """run every notebook with SHIFT=1 added to each seed, for what it claims and not for what it prints; CHAPTER=06"""
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
    """run the tests of the Keras modules on Keras' other backends; BACKEND=torch or jax for one of them"""
    environment.set_up("test")
    files = [path for path in sorted((ROOT / "tests").glob("*/test_*.py")) if "mark.keras" in path.read_text("utf-8")]
    settings = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    settings["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # JAX compiles for longer than it computes here
    for backend in (arguments.backend,) if arguments.backend else BACKENDS:
        print(f"Keras on {backend}", flush=True)
        command = [environment.python, "-m", "pytest", "-n", "2", "-p", "no:nbval", "-m", "keras and not tensorflow"]
        command += ["-o", "addopts=--dist=loadfile --import-mode=importlib", *files]
        environment.run(*command, **settings, KERAS_BACKEND=backend)


def tracks(environment: Environment, arguments: argparse.Namespace) -> None:
    """run the notebooks of each framework alone, in a copy of the last commit with an environment of its own"""
    for track in TRACKS:
        print(f"{track} alone", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            environment.run("git", "clone", "--quiet", ROOT, folder)
            environment.run(sys.executable, Path(folder) / "tools/course.py", "test", f"--track={track}")


def device_check(environment: Environment, arguments: argparse.Namespace) -> None:
    """compare each layer and model of PyTorch, and of Keras on TensorFlow, on your accelerator with the CPU; DEVICE=cuda names one"""
    environment.set_up()
    options = ("--device", arguments.device) if arguments.device else ()
    environment.run(environment.python, "-m", "shared.conformance.devices", *options)


def test_orders(environment: Environment, arguments: argparse.Namespace) -> None:
    """import the frameworks in every order, in processes of their own (not on Windows)"""
    environment.set_up()
    environment.run(environment.python, "tests/tools/import_orders.py")


def book(environment: Environment, arguments: argparse.Namespace) -> None:
    """build the course as a book, a site and an EPUB, to read without installing the rest; CHAPTER=06 for its pages as PDF, too"""
    folder = chapter_folder(arguments.chapter) if arguments.chapter else None
    chromium = found_chromium() if folder else ""
    environment.set_up("book", reader=False)
    build_book(environment)
    print("The book is in book/_build: open html/index.html in a browser, or epub/transformers-three-ways.epub.")
    if folder:
        for path in print_chapter(chromium, folder.name, ROOT / "book/_build/pdf"):
            print(path.relative_to(ROOT))


def print_chapter(chromium: str, folder: str, target: Path) -> list[Path]:
    """The pages of a chapter on paper, as Chromium prints them, each a PDF."""
    target.mkdir(parents=True, exist_ok=True)
    options = ["--headless", "--disable-gpu", "--no-pdf-header-footer"]
    if hasattr(os, "getuid") and os.getuid() == 0:
        options.append("--no-sandbox")  # which a user with all rights can't have
    found = []
    book = ROOT / "book/_build/html"
    for page in sorted([*(book / "notebooks" / folder).glob("*.html"), *book.glob(f"teachers/quiz_{folder[:2]}.html")]):
        path = target / f"{folder}_{page.stem}.pdf"
        command = [chromium, *options, f"--print-to-pdf={path}", page.as_uri()]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode or not path.is_file():
            sys.exit(f"{path.name} was not printed: {done.stderr.decode(errors='replace')[-500:]}")
        found.append(path)
    return found


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
    """make slides of Why and By hand, in the folder slides; CHAPTER=06"""
    environment.set_up("book", "slides", reader=False)
    chapter = ["--chapter", arguments.chapter] if arguments.chapter else []
    environment.run(environment.python, "book/make_slides.py", *chapter)


def students(environment: Environment, arguments: argparse.Namespace) -> None:
    """copy the course without worked solutions and without the pages for teachers; FOLDER=../course for another place"""
    target = Path(arguments.folder).absolute()
    edition.make(target)
    print(f"The students' edition is in {target}. To see that it passes, type make test in that folder.")


def browser(environment: Environment, arguments: argparse.Namespace) -> None:
    """open the course, the book and the slides in Chromium, and see that they ask nothing and change nothing"""
    environment.set_up("test", "browser", "book", "slides")
    chromium = found_chromium()
    build_book(environment)
    options = ("-p", "no:nbval", "-o", "addopts=--import-mode=importlib", "-q", "-ra")
    environment.run(environment.python, "-m", "pytest", *options, "tests/browser", CHROMIUM=chromium)


def found_chromium() -> str:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    chromium = os.environ.get("CHROMIUM", found)
    if not chromium:
        sys.exit("Chromium was not found: install it, or name the program with CHROMIUM=/path/to/it.")
    return chromium


def pictures(environment: Environment, arguments: argparse.Namespace) -> None:
    """draw the README's pictures again, from the book's first page in Chromium"""
    environment.set_up("browser", "book")
    build_book(environment)
    environment.run(environment.python, "tools/pictures.py", CHROMIUM=found_chromium())


def pins(environment: Environment, arguments: argparse.Namespace) -> None:
    """resolve pins.txt again from pyproject.toml"""
    environment.set_up()
    pinning.write_pins(environment)


def platforms(environment: Environment, arguments: argparse.Namespace) -> None:
    """see that the pins can be installed, as wheels, on Linux, macOS and Windows, with each Python"""
    environment.set_up()
    if pinning.unpinned(environment):
        sys.exit("pins.txt is not complete: run make pins")


def export(environment: Environment, arguments: argparse.Namespace) -> None:
    """write shared/<track>/<chapter>.py from the notebooks' export cells"""
    environment.set_up("test")
    environment.run(environment.python, "tools/notebooks.py", "export")


def run(environment: Environment, arguments: argparse.Namespace) -> None:
    """execute every notebook again, or those that are named, and store the outputs; CHAPTER=06"""
    environment.set_up("test")
    fresh = ["--fresh-timings"] if arguments.fresh_timings else []
    named = sorted(chapter_folder(arguments.chapter).glob("*.ipynb")) if arguments.chapter else arguments.notebooks
    environment.run(environment.python, "tools/notebooks.py", "run", *fresh, *named)


def tidy(environment: Environment, arguments: argparse.Namespace) -> None:
    """write what can be computed into notebooks, README and teachers' pages, and lay out the code; runs no notebook"""
    environment.set_up("test")
    environment.run(environment.python, "tools/tidy.py")
    environment.run(environment.python, "tools/notebooks.py", "export")  # a module says which cells it comes from
    environment.run(environment.python, "-m", "ruff", "format", "--quiet", ".")


def pretrain(environment: Environment, arguments: argparse.Namespace) -> None:
    """train the language model of chapter 15, an hour or so; FILE=my.txt for your own text, STEPS=500, FOLDER=models/my_gpt"""
    environment.set_up()
    options = [f"--{name}={value}" for name in ("folder", "steps", "file") if (value := getattr(arguments, name))]
    environment.run(environment.python, "tools/pretrain.py", *options)


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


def differences(environment: Environment, arguments: argparse.Namespace) -> None:
    """ask other versions of Keras and PyTorch what the course says of these; needs a network and some 15 GB"""
    environment.set_up("test")
    environment.run(environment.python, "tools/differences.py")


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
    functions = {
        function.__name__.replace("_", "-"): function
        for function in (
            setup, lab, test, test_backends, device_check, tracks, test_orders, test_processors, test_seeds, evidence, book, slides, students,
            browser, pictures, platforms, pins, export, run, tidy, pretrain, lint, bench, differences,
            clean,
        )
    }  # fmt: skip
    parser = argparse.ArgumentParser(
        prog="make",
        description=__doc__,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=140),
    )
    parser.add_argument("--here", action="store_true", help="use the environment that runs this file, such as conda's")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    parts = {
        name: commands.add_parser(name, help=each.__doc__, description=each.__doc__) for name, each in functions.items()
    }
    for name in ("setup", "lab", "test"):
        parts[name].add_argument(
            "--track", choices=TRACKS, help="what this one needs, and no more; all three if not given"
        )
    parts["book"].add_argument("--chapter", help="two digits, such as 06, to print its pages; none if not given")
    for name in ("test", "test-seeds", "slides", "run"):
        parts[name].add_argument("--chapter", help="two digits, such as 06; all chapters if not given")
    parts["lab"].add_argument("--port", type=int, default=8888, help="the port of the local server; 8888 if not given")
    parts["lab"].add_argument("--no-browser", action="store_true", help="print the address instead of opening it")
    parts["test"].add_argument("--processor", default="own", choices=processors.KINDS, help="whose kernels are used")
    parts["test"].add_argument("--device", default="cpu", help="an accelerator that PyTorch finds, such as cuda or mps")
    parts["device-check"].add_argument("--device", help="cuda or mps; what each framework finds, if not given")
    parts["test-backends"].add_argument("--backend", choices=BACKENDS, help="one of the two; both if not given")
    parts["test-seeds"].add_argument("--shift", type=int, default=1, help="what is added to each seed; 1 if not given")
    for name in ("evidence", "run"):
        parts[name].add_argument("notebooks", nargs="*", help="paths; all of them when none is given")
    parts["students"].add_argument(
        "--folder", default=ROOT / "students", help="where the copy is made; students if not given"
    )
    parts["run"].add_argument("--fresh-timings", action="store_true", help="draw the timing pictures anew")
    parts["pretrain"].add_argument("--folder", help="where the model is written; models/my_gpt if not given")
    parts["pretrain"].add_argument("--steps", type=int, help="how many; 4000 if not given")
    parts["pretrain"].add_argument(
        "--file", help="a text of your own in UTF-8, with empty lines between its paragraphs"
    )
    arguments = parser.parse_args(as_options(sys.argv[1:]))
    environment = Environment(arguments.here, getattr(arguments, "track", None))
    functions[arguments.command](environment, arguments)


def as_options(words: list[str]) -> list[str]:
    """What make was told, CHAPTER=06, as the option --chapter=06; which Python runs this is settled by now."""
    options = []
    for word in words:
        option = re.fullmatch(r"([A-Z][A-Z_]*)=(.*)", word, re.DOTALL)
        if option is None:
            options.append(word)
        elif option[1] != "PYTHON":
            options.append(f"--{option[1].lower().replace('_', '-')}={option[2]}")
    return options


if __name__ == "__main__":
    main()
