"""tools/course.py: what it says when something is missing, and that it goes on where it stopped."""

import ast
import itertools
import re
import socket
import subprocess
import sys
from pathlib import Path

import course
import installation
import pinning
import pytest
import selection

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tools" / "course.py"


def test_another_python_is_told_which_one_is_needed():
    older = "import sys; sys.version_info = (3, 10, 9); sys.argv = ['course.py', 'lab']; "
    code = f"{older}import runpy; runpy.run_path({str(SOURCE)!r}, run_name='__main__')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 2
    assert "3.11, 3.12 or 3.13" in result.stderr and "make lab PYTHON=python3.11" in result.stderr


def test_an_old_python_can_read_the_file_that_refuses_it():
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 8))
    before = itertools.takewhile(lambda node: not isinstance(node, ast.If), tree.body)
    imported = [ast.unparse(node) for node in before if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imported == ["from __future__ import annotations", "import sys"]


def test_a_taken_port_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, SOURCE, "--here", "lab", "--no-browser", "--port", str(port)]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 1 and result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first.startswith(f"Port {port} cannot be used") and f"make lab PORT={port % 65535 + 1}" in second


@pytest.fixture
def environment(tmp_path, monkeypatch) -> installation.Environment:
    """An environment in which nothing is installed, and what would be run is only noted."""
    environment = installation.Environment(here=True)
    environment.folder = tmp_path
    environment.calls = []
    monkeypatch.setattr(environment, "get_uv", lambda: None)
    monkeypatch.setattr(environment, "has_course", lambda: True)
    monkeypatch.setattr(environment, "has_torch", lambda: True)
    monkeypatch.setattr(environment, "status_of", lambda *command: environment.calls.append(command[7:]))
    return environment


def test_all_three_tracks_are_installed_or_the_one_that_is_asked_for(environment):
    environment.set_up("test")
    environment.frameworks = installation.TRACKS["numpy"]
    environment.set_up()
    all_three, numpy_alone = (" ".join(call) for call in environment.calls)
    pinned = "--compile-bytecode --constraint pins.txt"
    assert all_three == f"{pinned} --group test --requirements pyproject.toml --extra keras --extra pytorch"
    assert numpy_alone == f"{pinned} --requirements pyproject.toml"


def test_the_book_is_built_without_what_the_notebooks_need(environment):
    environment.set_up("book", reader=False)
    [command] = environment.calls
    assert command[-2:] == ("--group", "book") and "pyproject.toml" not in command
    assert not (environment.folder / "share").exists()


def test_the_course_is_installed_where_notebooks_find_it(environment, monkeypatch):
    assert installation.Environment(here=True).has_course()
    monkeypatch.setattr(installation, "ROOT", environment.folder)
    assert not installation.Environment.has_course(environment)
    monkeypatch.setattr(environment, "has_course", lambda: False)
    environment.set_up()
    assert environment.calls[-1][-2:] == ("--editable", ".")


@pytest.mark.parametrize("python", ["3 10", ""])
def test_an_environment_of_another_python_is_made_again_with_a_uv_of_its_own(monkeypatch, python):
    """Though the old one, which is cleared, had the right one; `make lab PYTHON=python3.12` after another Python's."""
    pin = next(line for line in (ROOT / "pins.txt").read_text().splitlines() if line.startswith("uv=="))
    environment = installation.Environment(here=False)
    done = []
    monkeypatch.setattr(environment, "answer", lambda code: f"{python}\n{pin.removeprefix('uv==')}\n")
    monkeypatch.setattr(environment, "status_of", lambda *command: done.append(command[-1]))
    monkeypatch.setattr(installation, "make_venv", lambda folder: done.append(folder.name))
    environment.get_uv()
    assert done == [".venv", pin]


def test_what_is_installed_needs_no_network(tmp_path):
    """uv asks nothing, and nobody, where all is there: a second `make lab` without a network."""
    environment = installation.Environment(here=True)
    nowhere = {"UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_LINK_MODE": "copy"}
    environment.variables |= nowhere
    environment.set_up("test")


@pytest.mark.parametrize(
    ("extra", "chosen", "installed", "fails", "asked"),
    [
        ("pytorch", None, False, False, ["auto"]),
        ("pytorch", None, False, True, ["auto", None]),
        ("pytorch", None, True, False, [None]),  # or a second `make lab` would need a network
        ("pytorch", "cu130", False, False, [None]),  # uv reads the variable itself
        ("keras", None, False, False, [None]),
    ],
)
def test_pytorch_comes_from_its_own_index_and_from_the_public_one_where_that_fails(
    monkeypatch, capsys, extra, chosen, installed, fails, asked
):
    environment = installation.Environment(here=True)
    environment.variables.pop("UV_TORCH_BACKEND", None)
    if chosen:
        environment.variables["UV_TORCH_BACKEND"] = chosen
    backends = []

    def status_of(*command, **variables):
        backends.append(variables.get("UV_TORCH_BACKEND"))
        return int(fails and backends[-1] == "auto")

    monkeypatch.setattr(environment, "status_of", status_of)
    monkeypatch.setattr(environment, "has_torch", lambda: installed)
    environment.install("--extra", extra)
    assert backends == asked
    assert ("the public one is asked" in capsys.readouterr().out) == fails


def test_what_is_installed_is_found():
    assert installation.Environment(here=True).has_torch()


def test_an_installation_that_fails_says_that_it_goes_on(tmp_path, capfd):
    environment = installation.Environment(here=True)
    environment.variables |= {"UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path)}
    with pytest.raises(SystemExit, match="same command"):
        environment.install("a-package-that-is-not-here")
    assert "a-package-that-is-not-here" in capfd.readouterr().err  # uv's own words


def test_the_set_up_settles_what_jupyter_would_ask(environment):
    environment.set_up()
    assert "fetchNews" in (environment.folder / "share/jupyter/lab/settings/overrides.json").read_text()
    assert '"version": "3"' in (environment.folder / "etc/ipython/ipython_kernel_config.py").read_text()


def test_what_make_is_told_becomes_an_option():
    words = ["pretrain", "FILE=my text=1.txt", "PYTHON=python3.12", "STEPS=5", "a", "a", "--no-browser"]
    assert course.as_options(words) == ["pretrain", "--file=my text=1.txt", "--steps=5", "a", "a", "--no-browser"]


@pytest.mark.parametrize("words", [("lint", "CHAPTER=06"), ("lab", "TRACK=jax"), ("test", "COLOR=red")])
def test_what_a_command_does_not_take_is_said(words):
    result = subprocess.run([sys.executable, SOURCE, *words], capture_output=True, text=True, check=False)
    assert result.returncode == 2 and words[1].split("=")[1] in result.stderr


def test_a_chapter_has_its_notebooks_its_tests_and_those_of_form():
    selected = selection.chapter_tests("06")
    assert selected == selection.chapter_tests("6") == selection.chapter_tests("06_attention")
    assert selected[:3] == ["notebooks/06_attention", "tests/06_attention", "tests/form"]
    marked = {"tests/conformance/test_laws.py", "tests/frameworks/test_devices.py"}
    assert marked <= set(selected) and "tests/drawing/test_gpt.py" not in selected
    assert "tests/data/test_dna.py" not in selected and selected[-2:] == ["--chapter", "06"]
    with pytest.raises(SystemExit, match="chapter=99"):
        selection.chapter_tests("99")


def test_one_track_is_tested_by_its_notebooks(capsys):
    assert selection.track_notebooks("keras", "06") == ["notebooks/06_attention/keras.ipynb"]
    assert selection.track_notebooks("keras", "14")[1] == "--deselect"
    [*_, last] = selection.track_notebooks("keras", "18")
    assert last.startswith("notebooks/18_modern_decoder/keras.ipynb::Cell ") and last in capsys.readouterr().out
    all_of_numpy = selection.track_notebooks("numpy", None)
    assert len(all_of_numpy) >= 16 and "notebooks/00_start_here.ipynb" in all_of_numpy
    assert "notebooks/00_jax.ipynb" not in all_of_numpy  # it needs all frameworks
    assert "notebooks/15_real_text/numpy.ipynb" not in all_of_numpy
    assert "Left out: notebooks/15_real_text/numpy.ipynb" in capsys.readouterr().out


def test_on_an_accelerator_the_notebooks_that_use_it_are_run(capsys):
    options, arguments = selection.on_a_device("cuda", None)[:2], selection.on_a_device("cuda", "06")[2:]
    assert options[0] == "-o" and "--nbval-lax" in options[1]
    assert [Path(argument).name for argument in arguments] == ["test_devices.py", "pytorch.ipynb"]
    output = capsys.readouterr().out
    assert "notebooks/06_attention/pytorch.ipynb on cuda: " in output and "09_training/pytorch.ipynb" in output
    with pytest.raises(SystemExit, match="chapter 03"):
        selection.on_a_device("cuda", "03")


def test_platforms_fails_where_a_package_is_not_pinned(environment, monkeypatch, capsys):
    monkeypatch.setattr(pinning, "compile_pins", lambda *_: "numpy==2.4.6\n")
    course.platforms(environment, None)
    monkeypatch.setattr(pinning, "compile_pins", lambda *_: "numpy==2.4.6\nforgotten==1.0\n")
    with pytest.raises(SystemExit, match="make pins"):
        course.platforms(environment, None)
    assert "Windows" in capsys.readouterr().out


def test_make_has_the_commands_of_this_file_and_no_others():
    commands = (ROOT / "Makefile").read_text().partition("COMMANDS := ")[2].partition("\n\n")[0]
    listed = subprocess.run([sys.executable, SOURCE, "--help"], capture_output=True, text=True, check=True).stdout
    assert (
        re.findall(r"^    ([a-z-]+)(?:  |$)", listed.partition("positional")[2], re.MULTILINE)
        == commands.replace("\\", "").split()
    )
