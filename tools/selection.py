"""Which notebooks and tests are run: those of a chapter, or those that compute on a device."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from installation import ROOT

COMPARE = {
    "compare.ipynb",
    "00_jax.ipynb",
    "00_test_your_own.ipynb",
    "00_which_framework.ipynb",
}  # they need all frameworks


NEEDS_ALL = {"15_real_text"}


def chapter_folder(chapter: str) -> Path:
    """The folder of a chapter, named by its number or its name."""
    folders = [path for path in sorted((ROOT / "notebooks").glob("[0-9]*_*")) if path.is_dir()]
    found = [path for path in folders if path.name.split("_")[0] == chapter.zfill(2) or path.name == chapter]
    if not found:
        names = ", ".join(path.name.split("_")[0] for path in folders)
        sys.exit(f"chapter={chapter}: expected one of {names}")
    return found[0]


def chapter_tests(chapter: str) -> list[str]:
    """The notebooks and tests of a chapter, the tests of form, and those elsewhere that are marked as this chapter's."""
    folder = chapter_folder(chapter).name
    number = folder.split("_")[0]
    elsewhere = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").glob("[a-z]*/test_*.py"))
        if path.parent.name != "form" and has_mark(path, number)
    ]
    paths = [f"notebooks/{folder}", f"tests/{folder}", "tests/form", *elsewhere]
    return [*(path for path in paths if (ROOT / path).exists()), "--chapter", number]


def track_notebooks(track: str, chapter: str | None) -> list[str]:
    """The map and the notebooks of one track: what can be run where nothing but this track is installed."""
    names = [f"{chapter_folder(chapter).name}/{track}.ipynb"] if chapter else ["00_*.ipynb", f"*/{track}.ipynb"]
    found = [path for name in names for path in (ROOT / "notebooks").glob(name) if path.name not in COMPARE]
    if left_out := [path for path in found if path.parent.name in NEEDS_ALL]:
        names = ", ".join(path.relative_to(ROOT).as_posix() for path in left_out)
        print(
            f"Left out: {names}. Its text is the documentation of ten packages, and all of them must be installed.",
            flush=True,
        )
    kept = sorted(path.relative_to(ROOT).as_posix() for path in found if path not in left_out)
    others = [name for path in kept for name in cells_that_need_another(path)]
    if others:
        print(f"Left out, because they need another framework, too: {', '.join(others)}", flush=True)
    return [*kept, *(part for name in others for part in ("--deselect", name))]


def cells_that_need_another(path: str) -> list[str]:
    """The cells of a notebook that are tagged needs-pytorch, as nbval names them."""
    cells = [cell for cell in json.loads((ROOT / path).read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    tagged = (number for number, cell in enumerate(cells) if "needs-pytorch" in cell["metadata"].get("tags", ()))
    return [f"{path}::Cell {number}" for number in tagged]


def has_mark(path: Path, number: str) -> bool:
    """Whether a file may hold tests that are marked as those of a chapter: with its number, or one that is computed."""
    marks = re.findall(r"mark\.chapter\(([^)]*)\)", path.read_text(encoding="utf-8"))
    return any(f'"{number}"' in mark or not re.search(r'"\d\d"', mark) for mark in marks)


def on_a_device(device: str, chapter: str | None) -> list[str]:
    """What pytest runs on an accelerator: the notebooks that use it, for their claims; their text is that of the CPU."""
    folder = chapter_folder(chapter) if chapter else ROOT / "notebooks"
    found = (path for path in folder.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
    paths = sorted(path for path in found if "best_device()" in path.read_text("utf-8"))
    if not paths:
        sys.exit(f"no notebook of chapter {chapter} computes on {device}")
    for path in paths:
        cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        claims = {
            kind: sum(bool(re.search(rf"\b{kind}\(", "".join(cell["source"]))) for cell in cells)
            for kind in ("show", "learned", "observed")
        }
        print(
            f"{path.relative_to(ROOT)} on {device}: {len(cells)} cells are run; those that prove ({claims['show']}) or claim what "
            f"is learned ({claims['learned']}) are held to it; those that observe ({claims['observed']}), and all text, are not",
            flush=True,
        )
    options = (
        "addopts=--nbval-lax --nbval-current-env --nbval-cell-timeout=600 --dist=loadfile --import-mode=importlib -ra"
    )
    return ["-o", options, "tests/frameworks/test_devices.py", *map(str, paths)]
