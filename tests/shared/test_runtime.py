"""Importing does nothing; `import shared.notebook` does what every notebook relies on."""

import importlib
import importlib.util
import os
import pkgutil
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import shared

ROOT = Path(__file__).resolve().parents[2]


def run(code: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | environment
    )


# What a reader's program has set, after the libraries have been imported, which change some of it themselves. Dynamo brings
# triton, where it is installed, and comes before TensorFlow, as triton must (`shared.runtime.order_imports`).
BEFORE = """
import pickle, random, sys, warnings
import torch, torch._dynamo, torch.distributed.checkpoint, torch.distributed.tensor, torch.distributed.fsdp
import numpy as np, tensorflow, keras, jax, einops, matplotlib.pyplot, pandas, sklearn, scipy, tokenizers, transformers
import ctypes

def state():
    return {
        "random": random.getstate(),
        "numpy": pickle.dumps(np.random.get_state()),
        "torch": torch.random.get_rng_state().tolist(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "filled": torch.utils.deterministic.fill_uninitialized_memory,
        "keras": keras.config.floatx(),
        "warnings": list(warnings.filters),
        "finders": list(sys.meta_path),
        "triton": sys.modules.get("triton", "not there"),
        "memory": calls,
    }

calls = []
first = ctypes.CDLL
class CDLL(first):
    def __getattr__(self, name):
        calls.append(name)
        return first.__getattr__(self, name)
ctypes.CDLL = CDLL
random.seed(1); np.random.seed(2); torch.manual_seed(3)
before = pickle.loads(pickle.dumps({k: v for k, v in state().items() if k not in ("finders", "triton", "warnings")}))
kept = {k: state()[k] for k in ("finders", "triton", "warnings")}
"""
AFTER = """
after = state()
print(*(name for name in after if after[name] != {**before, **kept}[name]))
"""


def modules() -> list[str]:
    found = pkgutil.walk_packages(shared.__path__, "shared.")
    return sorted(module.name for module in found if module.name != "shared.notebook")


def test_importing_any_module_changes_nothing():
    code = f"{BEFORE}\nimport importlib\nfor name in {modules()}: importlib.import_module(name)\n{AFTER}"
    assert len(modules()) > 80
    assert run(code).stdout == "\n"


def test_the_first_line_of_a_notebook_is_what_changes_things():
    """The same look at what is changed finds it: the test above can fail."""
    code = f"{BEFORE}\nimport shared.notebook\n{AFTER}"
    changed = {"random", "numpy", "torch", "deterministic", "filled", "warnings", "memory"}
    found = set(run(code, THREE_WAYS_KEEP_MEMORY="1").stdout.split())
    assert changed - ({"memory"} if platform.libc_ver()[0] != "glibc" else set()) <= found


def test_what_shared_hands_on_is_found_when_it_is_named():
    assert shared.set_seed is importlib.import_module("shared.runtime").set_seed
    assert shared.best_device is importlib.import_module("shared.runtime").best_device


def test_the_first_line_of_a_notebook_loads_no_framework_and_limits_threads():
    code = (
        "import os, sys; [os.environ.pop(k, None) for k in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS')]\n"
        "import shared.notebook; print(*sorted({'torch', 'tensorflow', 'keras', 'jax', 'numpy'} & set(sys.modules)))\n"
        "print(os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])"
    )
    loaded, threads = run(code).stdout.split("\n")[:2]
    assert loaded == ""
    assert all(1 <= int(count) <= 2 for count in threads.split())


@pytest.mark.chapter("14")
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
    """A room may have modules for chapters besides, imported as `shared.<room>.<chapter>`; `private` is for no reader."""
    chapters = {path.name[3:] for path in (ROOT / "notebooks").glob("[0-9][0-9]_*")}
    files = [(room, path.stem) for room in shared.ROOMS for path in (ROOT / "shared" / room).glob("*.py")]
    assert sorted(each for each in files if each[1] not in {"__init__", "private", *chapters}) == sorted(MODULES)
    names = [name for _, name in MODULES] + [path.stem for path in (ROOT / "shared").iterdir()]
    assert len(names) == len(set(names))


def test_a_name_that_shared_does_not_have_is_refused():
    with pytest.raises(AttributeError, match="wieghts"):
        _ = shared.wieghts
    with pytest.raises(ImportError, match="wieghts"):
        from shared import wieghts  # noqa: F401


def test_a_readers_own_thread_count_wins():
    code = (
        "import os; [os.environ.pop(k, None) for k in ('OPENBLAS_NUM_THREADS', 'TF_NUM_INTRAOP_THREADS')]\n"
        "import shared.notebook; print(*(os.environ[k] for k in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'TF_NUM_INTRAOP_THREADS')))"
    )
    assert run(code, OMP_NUM_THREADS="7").stdout == "7 7 7\n"


def test_tensorflow_is_imported_without_a_word_and_errors_after_that_are_seen():
    result = run(
        "import shared.notebook, tensorflow, os; print(tensorflow.__spec__.loader is not None); os.write(2, b'seen')"
    )
    assert (result.stdout, result.stderr) == ("True\n", "seen")


TRITON = importlib.util.find_spec("triton") is not None
# The backward pass looks for a GPU; the optimizer imports torch._dynamo, and that triton.
ADAM = "weight = torch.ones(1, requires_grad=True); weight.sum().backward(); torch.optim.Adam([weight]).step()"


@pytest.mark.parametrize(
    "first",
    ["", ", torch._dynamo", ", importlib.util as u; u.find_spec('tensorflow')"],
)
def test_triton_is_imported_before_tensorflow(first):
    result = run(
        f"import shared.notebook{first}; import tensorflow, sys, torch; {ADAM}; print('triton' in sys.modules)"
    )
    assert (result.stdout, result.stderr) == (f"{TRITON}\n", "")


def test_without_tensorflow_nobody_waits_for_triton():
    assert run("import shared.notebook, sys; print('triton' in sys.modules)").stdout == "False\n"


def test_pytorch_does_without_triton_when_tensorflow_came_before_the_course():
    result = run(f"import tensorflow, sys, shared.notebook, torch; {ADAM}; print(sys.modules['triton'])")
    assert result.stdout == "None\n"


@pytest.mark.parametrize("first", ["torch", "tensorflow"])
def test_the_search_for_an_accelerator_says_nothing(first):
    code = f"import shared.notebook, {first}; device = shared.best_device(); import torch; shared.set_seed(0)\n"
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


@pytest.mark.parametrize(
    ("module", "says"),
    [("torch.nn", "this cell needs PyTorch, which isn't installed here"), ("nowhere", "No module named 'nowhere'")],
)
def test_a_cell_says_which_framework_is_missing(module, says):
    code = f"""
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import shared.notebook")
sys.modules["torch"] = None
result = shell.run_cell("import {module}")
assert not result.success
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert says in done.stdout and ("Traceback" in done.stdout) == (module == "nowhere")


def test_matplotlib_says_nothing_of_its_fonts():
    code = "import shared.notebook, matplotlib.font_manager as fonts; fonts._log.warning('building'); fonts.findfont('no such font')"
    assert run(code).stderr == ""


def test_tensorflow_says_nothing_of_the_first_predict_of_several_models_and_speaks_otherwise():
    text = "5 out of the last 24 calls to %s triggered tf.function retracing."
    code = f"import shared.notebook, tensorflow as tf; log = tf.get_logger(); log.warning({text!r}, 'f'); log.warning('heard')"
    answer = run(code)
    assert "retracing" not in answer.stderr and "heard" in answer.stderr


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
    with pytest.raises(ValueError, match="seed="):
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
        import shared.notebook
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
