"""Add SEED_SHIFT to every seed that the course's own code gives a generator: `make test-seeds SHIFT=1`, `make evidence`.

Python imports this file first, in each process that has its folder on PYTHONPATH: kernels, and the workers that they start.
A claim that holds for one seed alone fails then. Seeds that name a stored thing stay as they are (`STORED`).
"""

import functools
import importlib.machinery
import os
import random
import sys

SHIFT = int(os.environ.get("SEED_SHIFT", "0"))
# The split of the digits, the inputs on which an answer to an exercise is tried, and what is timed.
STORED = ("shared.data.digits.load", "shared.exercises", "shared.frameworks.timing")


def shifted(seed):
    """The seed, moved if the code two calls above is the course's: a number, or a sequence that begins with one."""
    frame = sys._getframe(2)
    caller = f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}"
    course = caller.partition(".")[0] in ("__main__", "__mp_main__", "shared")
    if not course or caller.startswith(STORED):
        return seed
    if isinstance(seed, tuple | list) and seed:
        return (seed[0] + SHIFT, *seed[1:])
    return seed + SHIFT if isinstance(seed, int) else seed


def moved(function):
    """The function, whose first argument is a seed, with the seed shifted."""

    @functools.wraps(function)
    def call(seed=None, *args, **kwargs):
        return function(shifted(seed), *args, **kwargs)

    return call


def in_numpy(numpy):
    numpy.random.default_rng = moved(numpy.random.default_rng)
    numpy.random.seed = moved(numpy.random.seed)


def in_torch(torch):
    class Generator(torch.Generator):
        def manual_seed(self, seed):
            return super().manual_seed(shifted(seed))

    torch.manual_seed = moved(torch.manual_seed)
    torch.Generator = Generator


def in_keras(keras):
    first = keras.random.SeedGenerator.__init__

    @functools.wraps(first)
    def start(self, seed=None, **kwargs):
        first(self, seed=shifted(seed), **kwargs)

    keras.random.SeedGenerator.__init__ = start
    keras.utils.set_random_seed = moved(keras.utils.set_random_seed)


PATCHES = {"numpy": in_numpy, "torch": in_torch, "keras": in_keras}


class AfterImport:
    """Patches a library as soon as it is imported; none is imported for it."""

    def find_spec(self, name, path=None, target=None):
        if name not in PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                PATCHES[name](module)

            spec.loader.exec_module = exec_module
        return spec


if SHIFT:
    random.seed = moved(random.seed)
    sys.meta_path.insert(0, AfterImport())
