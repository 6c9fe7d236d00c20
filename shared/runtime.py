"""Threads, memory, the order of imports, quiet libraries, the device and the seeds: functions, of which importing calls none.

`import shared.notebook`, the first line of every notebook, calls them.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import os
import random
import sys
import warnings
from typing import TYPE_CHECKING

from shared import private

if TYPE_CHECKING:
    import torch


THREADS = (  # of NumPy's libraries, PyTorch and TensorFlow
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)


def limit_threads() -> None:
    """Let NumPy and the frameworks, if they are imported after this, compute in two threads; a reader's own setting wins.

    More threads than free cores make small matrix products tens of times slower.
    """
    threads = os.environ.get("OMP_NUM_THREADS") or str(min(2, os.cpu_count() or 1))
    for name in THREADS:
        os.environ.setdefault(name, threads)


def keep_memory() -> None:
    """Let Linux' C library keep what is freed, for the next array; it would hand it back, and get it again page by page.

    Up to 512 MiB are kept; an array above 64 MiB is handed back at once. Nothing happens where the environment has
    THREE_WAYS_KEEP_MEMORY=0, on other systems, and with other C libraries than glibc.
    """
    if sys.platform == "linux" and os.environ.get("THREE_WAYS_KEEP_MEMORY") != "0":
        private.keep_freed_memory(kept=512 * 2**20, largest=64 * 2**20)


def quiet_libraries() -> None:
    """Silence TensorFlow's log and five warnings that say nothing of a reader's code."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # TensorFlow counts the first call of each model's `predict` as a retracing of one function, and warns at the fifth.
    logging.getLogger("tensorflow").addFilter(lambda record: "triggered tf.function retracing" not in str(record.msg))
    # Matplotlib says so when it builds its list of fonts, on its first day and after an environment was moved.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    # Keras says so of every softmax over one number; a decoder's first token has nobody but itself to attend to.
    warnings.filterwarnings("ignore", "You are using a softmax over axis -1 of a tensor of shape")
    # Libraries that draw their progress bars with Jupyter's widgets say so where there are none.
    warnings.filterwarnings("ignore", "IProgress not found")
    # PyTorch with CUDA says so at its first backward pass, where there is no GPU and TensorFlow has been loaded.
    warnings.filterwarnings("ignore", "CUDA initialization: Unexpected error from cudaGetDeviceCount")


def order_imports() -> None:
    """Let `import tensorflow` import triton first, if it is installed, and print nothing (`_SafeTensorFlow` says why)."""
    if "tensorflow" not in sys.modules:
        sys.meta_path.insert(0, _SafeTensorFlow())
    elif "triton" not in sys.modules:
        sys.modules["triton"] = None  # too late for triton: PyTorch now finds none, and does without


@contextlib.contextmanager
def _silent_stderr():
    """Send file descriptor 2, which C++ code writes to, nowhere for a while."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


class _SafeTensorFlow(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import TensorFlow after triton, and without the lines that its C++ code prints whatever TF_CPP_MIN_LOG_LEVEL says.

    PyTorch for Linux with CUDA comes with triton. TensorFlow and triton each bring a copy of LLVM under the same names: with
    TensorFlow loaded first, triton runs into the wrong copy, and the process ends with a segmentation fault. PyTorch imports
    triton late, with the first optimizer or `torch.compile`, so the crash would come in the middle of a notebook.
    """

    def find_spec(self, name, path=None, target=None):
        if name != "tensorflow":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        sys.meta_path.remove(self)  # needed once; not before, because PyTorch looks for TensorFlow without importing it
        with contextlib.suppress(ImportError):  # there is none on other systems, and in PyTorch's build for the CPU
            importlib.import_module("triton")
        with _silent_stderr():
            self.loader.exec_module(module)
        module.__spec__.loader = module.__loader__ = self.loader


# What a module belongs to, as a reader knows it.
_PACKAGES = {"torch": "PyTorch", "keras": "Keras", "tensorflow": "TensorFlow", "transformers": "transformers"}


def say_what_is_missing() -> None:
    """In a notebook, one sentence instead of a traceback where a cell needs a framework that isn't installed."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return

    def say(shell, kind, error, traceback, tb_offset=None):
        package = _PACKAGES.get((error.name or "").partition(".")[0])
        if package is None:
            shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
            return
        sentence = (
            f"this cell needs {package}, which isn't installed here; `make lab` installs all that the course needs"
        )
        shell.showtraceback((kind, kind(sentence), None), exception_only=True)

    shell.set_custom_exc((ModuleNotFoundError,), say)


def needs(module: str) -> None:
    """Raise ModuleNotFoundError if a module isn't installed, without importing it, for what another process will need."""
    if importlib.util.find_spec(module) is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def _accelerator() -> "torch.device | None":
    """The kind of accelerator that PyTorch finds, such as cuda; looking for it is all that happens."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a driver that is missing or too old is no accelerator, and that is the answer
        return torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None


def best_device() -> "torch.device":
    """The accelerator, if PyTorch can compute on it, and the CPU otherwise; or the kind that THREE_WAYS_DEVICE names.

    Raises:
        RuntimeError: if THREE_WAYS_DEVICE names one that PyTorch doesn't find.
    """
    import torch

    accelerator, chosen = _accelerator(), os.environ.get("THREE_WAYS_DEVICE")
    if chosen == "cpu":
        return torch.device("cpu")
    if chosen:
        if accelerator is None or accelerator.type != chosen:
            raise RuntimeError(
                f"THREE_WAYS_DEVICE={chosen}: PyTorch finds no such device here; it finds {accelerator or 'the CPU alone'}"
            )
        return accelerator
    if accelerator is not None:
        with contextlib.suppress(RuntimeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # A GPU that is older than this build of PyTorch is found, and fails at the first computation.
            torch.ones(1, device=accelerator).add(1).cpu()
            return accelerator
    return torch.device("cpu")


def set_seed(seed: int = 0) -> None:
    """Seed Python, NumPy and each framework that has been imported, and ask PyTorch for repeatable operations.

    What changes: the global generators of `random`, `numpy.random`, PyTorch and Keras; in PyTorch also
    `use_deterministic_algorithms` (with a GPU it only warns where there is no such algorithm), and new memory is not filled.

    Args:
        seed: a whole number from 0 to 2**32 - 1.

    Raises:
        ValueError: if seed is outside that range.
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ValueError(f"seed={seed!r}: expected a whole number from 0 to 2**32 - 1")
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.manual_seed(seed)
        # Indexing a parameter adds up its gradient in any order otherwise, and two runs differ in the last bits.
        torch.use_deterministic_algorithms(True, warn_only=_accelerator() is not None)
        # With it comes a search for reads of memory that nobody wrote: every new tensor is filled first, which takes time.
        torch.utils.deterministic.fill_uninitialized_memory = False
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(seed)
