"""The set-up: one place decides each version, and `import shared` does what every notebook relies on."""

import ast
import importlib
import importlib.util
import itertools
import os
import platform
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import nbformat
import pytest

import shared

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
READER = PYPROJECT["project"]["dependencies"]
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


def test_pip_and_conda_install_the_same_pins():
    lines = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines == ["--constraint pins.txt", "--editable ."]
    text = (ROOT / "environment.yml").read_text()
    assert re.findall(r"^ {6}- (.*)$", text, re.MULTILINE) == ["-r requirements.txt"]
    assert (
        re.search(r"- python=3\.11$", text, re.MULTILINE) and PYPROJECT["project"]["requires-python"] == ">=3.11,<3.14"
    )
    assert "==" not in text  # no version of its own


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
    own = {path.stem for folder in ("tools", "book") for path in (ROOT / folder).glob("*.py")}
    local = {"shared", "conftest", *own, *sys.stdlib_module_names}
    for name in imported_modules() - local:
        assert {each.lower() for each in distributions[name]} & known, (
            f"{name} is imported and pyproject.toml does not name it"
        )


def run(code: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )


def test_import_shared_loads_no_framework_and_caps_threads():
    code = (
        "import os, sys; [os.environ.pop(k, None) for k in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS')]\n"
        "import shared; print(*sorted({'torch', 'tensorflow', 'keras', 'jax', 'numpy'} & set(sys.modules)))\n"
        "print(os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])"
    )
    loaded, threads = run(code).stdout.split("\n")[:2]
    assert loaded == ""
    assert all(1 <= int(count) <= 2 for count in threads.split())


def test_numpy_modules_load_no_framework():
    """Not even JAX, which jaxtyping imports unless it is told not to: half a second of every start."""
    code = "import sys, shared.numpy.gpt; print(*sorted({'torch', 'tensorflow', 'keras', 'jax'} & set(sys.modules)))"
    assert run(code).stdout.strip() == ""


MODULES = [(room, name) for room, names in shared.ROOMS.items() for name in names]


@pytest.mark.parametrize(("room", "name"), MODULES)
def test_a_module_is_found_by_its_name_alone(room, name):
    found = getattr(__import__("shared", fromlist=[name]), name)  # as `from shared import name` finds it
    assert found is importlib.import_module(f"shared.{room}.{name}")


def test_import_shared_lists_the_modules_and_loads_none():
    code = (
        "import shared, sys; print(*dir(shared)); print(*(name for name in sys.modules if name.startswith('shared.')))"
    )
    listed, loaded = run(code).stdout.split("\n")[:2]
    assert {name for _, name in MODULES} <= set(listed.split())
    assert loaded == ""


def test_every_module_of_a_room_is_found_and_none_hides_another():
    files = [(room, path.stem) for room in shared.ROOMS for path in (ROOT / "shared" / room).glob("*.py")]
    assert sorted(each for each in files if each[1] != "__init__") == sorted(MODULES)
    names = [name for _, name in MODULES] + [path.stem for path in (ROOT / "shared").iterdir()]
    assert len(names) == len(set(names))


def test_a_name_that_shared_does_not_have_is_refused():
    with pytest.raises(AttributeError, match="module 'shared' has no attribute 'wieghts'"):
        _ = shared.wieghts
    with pytest.raises(ImportError, match="cannot import name 'wieghts' from 'shared'"):
        from shared import wieghts  # noqa: F401


def test_a_readers_own_thread_count_wins():
    code = "import os; os.environ.pop('OPENBLAS_NUM_THREADS', 0); import shared; print(*map(os.environ.get, ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS')))"
    assert run(code, OMP_NUM_THREADS="7").stdout == "7 7\n"


def test_tensorflow_is_imported_without_a_word_and_errors_after_that_are_seen():
    result = run("import shared, tensorflow, os; print(tensorflow.__spec__.loader is not None); os.write(2, b'seen')")
    assert (result.stdout, result.stderr) == ("True\n", "seen")


TRITON = importlib.util.find_spec("triton") is not None
# The backward pass looks for a GPU; the optimizer imports torch._dynamo, and that triton.
ADAM = "weight = torch.ones(1, requires_grad=True); weight.sum().backward(); torch.optim.Adam([weight]).step()"


@pytest.mark.parametrize(
    "first",
    ["import shared", "import shared, torch._dynamo", "import shared, importlib.util as u; u.find_spec('tensorflow')"],
)
def test_triton_is_imported_before_tensorflow(first):
    result = run(f"{first}; import tensorflow, sys, torch; {ADAM}; print('triton' in sys.modules)")
    assert (result.stdout, result.stderr) == (f"{TRITON}\n", "")


def test_without_tensorflow_nobody_waits_for_triton():
    assert run("import shared, sys; print('triton' in sys.modules)").stdout == "False\n"


def test_pytorch_does_without_triton_when_tensorflow_came_before_the_course():
    result = run(f"import tensorflow, sys, shared, torch; {ADAM}; print(sys.modules['triton'])")
    assert result.stdout == "None\n"


@pytest.mark.parametrize("first", ["torch", "tensorflow"])
def test_the_search_for_an_accelerator_says_nothing(first):
    code = f"import shared, {first}; device = shared.best_device(); import torch; shared.set_seed(0)\n"
    code += "print(device == torch.device('cpu'), torch.ones(2, device=device).sum().item())"
    result = run(code, THREE_WAYS_DEVICE="")
    assert result.stdout.split()[1] == "2.0" and result.stderr == ""
    if "True" in result.stdout:
        assert not __import__("torch").accelerator.is_available()


def test_an_accelerator_that_cannot_compute_is_not_chosen(monkeypatch):
    import torch

    monkeypatch.delenv("THREE_WAYS_DEVICE", raising=False)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("meta"))  # cannot give a result
    assert shared.best_device() == torch.device("cpu")


def test_matplotlib_says_nothing_of_its_fonts():
    code = "import shared, matplotlib.font_manager as fonts; fonts._log.warning('building'); fonts.findfont('no such font')"
    assert run(code).stderr == ""


def test_seeds_make_every_framework_repeat_itself():
    import keras
    import numpy as np
    import torch

    def draw() -> list[float]:
        return [
            np.random.rand(),
            torch.rand(()).item(),
            float(keras.random.uniform(())),
            float(keras.initializers.RandomNormal()((1,))[0]),
        ]

    shared.set_seed(3)
    first = draw()
    second = draw()
    shared.set_seed(3)
    assert draw() == first != second
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.utils.deterministic.fill_uninitialized_memory


@pytest.mark.parametrize("seed", [-1, 2**32, 1.0, "0", None])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(ValueError, match=r"seed=.*expected a whole number"):
        shared.set_seed(seed)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
@pytest.mark.parametrize(
    ("megabytes", "kept", "undo"),
    [
        (40, True, ""),
        (100, False, ""),
        (40, False, "ctypes.CDLL(None).mallopt(-3, 131072)"),  # what TensorFlow does
        (40, True, "ctypes.CDLL(None).mallopt(-3, 131072); timing.medians({'nothing': int})"),
    ],
)
def test_freed_memory_is_kept_for_the_next_array(megabytes, kept, undo):
    """An array in new memory takes a page fault for every page that is written; huge arrays are handed back.

    A page has 4 kB, or 2 MB where the kernel has huge ones free: 40 MB are then 20 pages.
    """
    code = f"""if True:
        import ctypes, resource
        from shared import timing
        import numpy as np

        def faults():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            np.ones({megabytes} * 2**20, dtype=np.uint8)
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

        {undo}
        faults()
        print(max(faults() for _ in range(3)))
    """
    faults = int(run(code).stdout)
    assert (faults < 10) if kept else (faults >= 10)
    if not undo and kept:
        assert int(run(code, THREE_WAYS_KEEP_MEMORY="0").stdout) >= 10
