"""Everything that the notebooks use. Nothing happens when it is imported: modules and functions come when they are first named.

`from shared import dna, weights` finds a module of conformance, data, drawing or frameworks; `shared.set_seed` and `shared.best_device` are
those of `shared.runtime`. What a notebook switches on is in `shared.notebook`.
"""

import importlib
from typing import Any

# Folder -> the modules in it that `from shared import ...` finds.
ROOMS = {
    "conformance": ("devices", "instruments", "laws", "parity", "same_run", "subjects"),
    "data": (
        "characters",
        "corpus",
        "digits",
        "dna",
        "french",
        "genetic_code",
        "grammar",
        "housing",
        "letters",
        "masked_words",
        "next_word",
        "prompts",
        "subwords",
        "text",
        "vocabularies",
    ),
    "drawing": ("diagrams", "explorer", "plots", "side_by_side", "so_far"),
    "frameworks": (
        "checkpoints",
        "history",
        "masks",
        "modes",
        "pretrained",
        "processes",
        "random_states",
        "timing",
        "weights",
    ),
}
_FUNCTIONS = ("best_device", "set_seed")


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(importlib.import_module("shared.runtime"), name)
    for room, modules in ROOMS.items():
        if name in modules:
            return importlib.import_module(f"shared.{room}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FUNCTIONS, *(name for modules in ROOMS.values() for name in modules)})
