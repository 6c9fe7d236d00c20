"""tools/course.py: what it says when something is missing, and that it goes on where it stopped."""

import ast
import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import course
import installation
import pinning
import pytest
import selection

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tools" / "course.py"
LOADED = ("course", "edition", "installation", "pinning", "processors", "selection")  # before anything is installed


@pytest.mark.parametrize("version", [(3, 8, 0), (3, 10, 9), (3, 14, 0)])
def test_another_python_is_told_which_one_is_needed(version, monkeypatch):
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(SystemExit) as error:
        course.main()
    assert str(error.value).startswith("Python 3.11, 3.12 or 3.13 is needed, and this is Python ")
    assert "make lab PYTHON=python3.11" in str(error.value)


@pytest.mark.parametrize("name", LOADED)
def test_an_old_python_can_read_the_file_that_refuses_it(name):
    tree = ast.parse(SOURCE.with_name(f"{name}.py").read_text(encoding="utf-8"), feature_version=(3, 8))
    libraries = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert libraries <= {*sys.stdlib_module_names, *LOADED}


def install_fails(capfd, *options: str, **variables: str) -> str:
    """What is said at the end of an installation that uv cannot do."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable, "--dry-run", *options]
    with pytest.raises(SystemExit) as error:
        installation.install(command, os.environ | variables)
    assert "Traceback" not in "".join(capfd.readouterr())
    return str(error.value)


def test_no_network_is_said(capfd, tmp_path):
    nowhere = {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_CACHE_DIR": str(tmp_path), "UV_HTTP_RETRIES": "0"}
    told = install_fails(capfd, "a-package-that-is-not-here", **nowhere)
    assert told.strip().startswith("The packages could not be fetched: is there a network?")
    assert len(told.strip().splitlines()) <= 2


def test_a_missing_wheel_is_said(capfd, tmp_path):
    with zipfile.ZipFile(tmp_path / "elsewhere-1.0-cp311-cp311-win_arm64.whl", "w") as wheel:
        wheel.writestr("elsewhere-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    options = ("--no-config", "--no-index", "--find-links", str(tmp_path), "elsewhere==1.0")
    told = install_fails(capfd, *options, UV_CACHE_DIR=str(tmp_path / "cache"))
    assert told.strip().startswith("There is no wheel of one of the packages above for this system")
    assert len(told.strip().splitlines()) <= 2


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("error: No space left on device (os error 28)", "The disk is full"),
        ("ERROR: Could not find a version\nERROR: No matching distribution found for uv", "could not be fetched"),
        ("something else", "for the reason above"),
    ],
)
def test_other_complaints_get_advice(said, told):
    assert told in installation.advice(said)
    assert len(installation.advice(said).splitlines()) <= 2


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
    monkeypatch.setattr(installation, "install", lambda command, variables: environment.calls.append(command))
    return environment


def test_a_set_up_that_failed_is_tried_again_and_one_that_succeeded_is_not(environment, monkeypatch):
    def fail(command: list, variables: dict) -> None:
        sys.exit("no network")

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(installation, "install", fail)
        environment.set_up("test")
    environment.set_up("test")
    assert environment.calls[-1][-2:] == ["--group", "test"]
    done = len(environment.calls)
    environment.set_up("test")
    environment.set_up()
    assert len(environment.calls) == done
    environment.set_up("bench")
    assert environment.calls[-1][-2:] == ["--group", "bench"]


def test_the_book_is_built_without_what_the_notebooks_need(environment):
    environment.set_up("book", reader=False)
    [command] = environment.calls
    assert command[-2:] == ["--group", "book"] and "--editable" not in command
    assert not (environment.folder / "share").exists()
    environment.set_up("book", reader=False)
    assert len(environment.calls) == 1
    environment.set_up("book")  # as `make browser`: what is missing is what the notebooks need
    assert "--editable" in environment.calls[-1] and "--group" not in environment.calls[-1]


def test_the_set_up_settles_what_jupyter_would_ask(environment):
    environment.set_up()
    assert "fetchNews" in (environment.folder / "share/jupyter/lab/settings/overrides.json").read_text()
    assert '"version": "3"' in (environment.folder / "etc/ipython/ipython_kernel_config.py").read_text()


def test_a_chapter_has_its_notebooks_its_tests_and_those_of_form():
    selected = selection.chapter_tests("06")
    assert selected == selection.chapter_tests("6") == selection.chapter_tests("06_attention")
    assert selected[:3] == ["notebooks/06_attention", "tests/06_attention", "tests/form"]
    marked = {"tests/frameworks/test_parity.py", "tests/frameworks/test_devices.py", "tests/shared/test_exercises.py"}
    assert marked <= set(selected) and "tests/drawing/test_gpt.py" not in selected
    assert "tests/data/test_dna.py" not in selected and selected[-2:] == ["--chapter", "06"]
    with pytest.raises(SystemExit, match="chapter=99"):
        selection.chapter_tests("99")


def test_on_an_accelerator_the_notebooks_that_use_it_are_run(capsys):
    options, arguments = selection.on_a_device("cuda", None)[:2], selection.on_a_device("cuda", "06")[2:]
    assert options[0] == "-o" and "--nbval-lax" in options[1]
    assert [Path(argument).name for argument in arguments] == ["test_devices.py", "pytorch.ipynb"]
    told = capsys.readouterr().out
    assert "notebooks/06_attention/pytorch.ipynb on cuda: " in told and "09_training/pytorch.ipynb" in told
    with pytest.raises(SystemExit, match="chapter 03"):
        selection.on_a_device("cuda", "03")


def test_platforms_fails_where_a_package_is_not_pinned(environment, monkeypatch, capsys):
    monkeypatch.setattr(pinning, "compile_pins", lambda *_: "numpy==2.4.6\n")
    course.platforms(environment, None)
    monkeypatch.setattr(pinning, "compile_pins", lambda *_: "numpy==2.4.6\nforgotten==1.0\n")
    with pytest.raises(SystemExit, match="make pins"):
        course.platforms(environment, None)
    assert "Windows" in capsys.readouterr().out


def test_every_make_target_calls_a_command_that_exists():
    targets = [line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if ":  ## " in line]
    listed = subprocess.run([sys.executable, SOURCE, "--help"], capture_output=True, text=True, check=True).stdout
    assert set(targets) - {"help"} <= set(listed.split())
