"""The set-up: one place decides each version."""

import ast
import itertools
import json
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import nbformat
import pinning

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
READER = [*PYPROJECT["project"]["dependencies"], *itertools.chain(*EXTRAS.values())]
DIRECT = dict(line.split("==") for line in [*READER, *itertools.chain(*PYPROJECT["dependency-groups"].values())])
PINS = [line.split(" ; ") for line in (ROOT / "pins.txt").read_text(encoding="utf-8").splitlines()]


def test_every_pin_is_exact_and_the_same_in_both_files():
    pinned = {line[0] for line in PINS}
    beta = {"sphinx-basic-ng==1.0.0b2"}  # the theme of the book is built on it, and there is no other
    assert all(re.fullmatch(r"[a-z0-9-]+==\d+(\.\d+)*(\.post\d+)?", pin) for pin in pinned - beta)
    assert {f"{name.split('[')[0]}=={version}" for name, version in DIRECT.items()} <= pinned


def test_the_pins_are_those_of_every_system():
    where = {line[0].split("==")[0]: line[1] for line in PINS if len(line) == 2}
    assert "win32" in where["colorama"] and "darwin" in where["appnope"] and "nt" in where["pywinpty"]
    assert "linux" in where["triton"] and "linux" in where["nvidia-cublas"]
    assert "sys_platform != 'win32'" in where["tensorflow-text"]


def test_a_reader_installs_neither_tests_nor_benchmarks():
    names = {re.match(r"[\w-]+", line).group() for line in READER}
    assert names.isdisjoint({"pytest", "nbval", "hypothesis", "keras-hub", "tensorflow-text", "playwright"})


def test_numpys_notebooks_need_no_framework():
    names = {line.partition("==")[0] for line in PYPROJECT["project"]["dependencies"]}
    assert names.isdisjoint({"torch", "tensorflow", "keras", "jax", "transformers"})


def test_pip_and_conda_install_every_framework_at_its_pin():
    constraint, editable = (ROOT / "requirements.txt").read_text().splitlines()[1:]
    assert constraint == "--constraint pins.txt" and editable == f"--editable .[{','.join(EXTRAS)}]"
    conda = (ROOT / "environment.yml").read_text().split()
    assert f"python={pinning.PYTHONS[0]}" in conda and conda[-2:] == ["-r", "requirements.txt"]


def test_every_group_is_pinned_for_every_python():
    assert set(pinning.GROUPS) == PYPROJECT["dependency-groups"].keys()
    assert PYPROJECT["project"]["requires-python"] == ">=3.11,<3.14" and pinning.PYTHONS == ("3.11", "3.12", "3.13")


def test_the_build_uses_the_pinned_setuptools():
    assert PYPROJECT["build-system"]["requires"][0] in [line[0] for line in PINS]


def imported_modules() -> set[str]:
    """The top-level name of everything that the project imports."""
    sources = [
        path.read_text()
        for folder in ("shared", "tests", "tools", "book")
        for path in (ROOT / folder).rglob("*.py")
        if "_build" not in path.parts
    ]
    for path in (ROOT / "notebooks").rglob("*.ipynb"):
        sources += [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    names = set()
    for source in sources:
        for node in ast.walk(ast.parse(re.sub(r"(?m)^\s*[%!].*$", "", source))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module.split(".")[0])
    return names


def test_everything_imported_is_a_direct_dependency():
    # Some come with direct ones by design: IPython and nbformat with Jupyter, Pygments with IPython, Pillow with matplotlib, docutils with Sphinx.
    known = {re.sub(r"\[.*\]", "", name).lower() for name in DIRECT} | {
        "ipython",
        "nbformat",
        "pygments",
        "pillow",
        "docutils",
    }
    distributions = packages_distributions() | {
        "keras_hub": ["keras-hub"],
        "playwright": ["playwright"],
        "axe_playwright_python": ["axe-playwright-python"],
        "latex2mathml": ["latex2mathml"],
        "sphinx": ["sphinx"],
        "ziamath": ["ziamath"],
        "docutils": ["docutils"],
    }  # of other targets than `make test`
    own = {path.stem for folder in ("tools", "book", "tests") for path in (ROOT / folder).rglob("*.py")}
    local = {"shared", *own, *sys.stdlib_module_names}
    for name in imported_modules() - local:
        assert {each.lower() for each in distributions[name]} & known, (
            f"{name} is imported and pyproject.toml does not name it"
        )


def test_the_container_and_the_page_for_assistants_name_commands_that_there_are():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    named = re.findall(r"make ([a-z-]+)", container["postCreateCommand"] + (ROOT / "AGENTS.md").read_text("utf-8"))
    commands = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ").partition("COMMANDS :=")[2]
    assert set(named) <= set(commands.splitlines()[0].split()) and {"setup", "export", "run", "tidy", "test"} <= set(
        named
    )
    assert container["image"].endswith(":3.11") and "3.11" in PYPROJECT["project"]["requires-python"]
