"""Where the course's files are that are not part of the package: the shipped model, a reader's progress, caches."""

import os
from pathlib import Path

_MAP = "notebooks/00_start_here.ipynb"


def course_folder() -> Path:
    """The folder that THREE_WAYS_FOLDER names; otherwise the checkout around the working directory or this package.

    Where there is no checkout, as for a package that was installed elsewhere, it is the working directory.
    """
    if chosen := os.environ.get("THREE_WAYS_FOLDER"):
        return Path(chosen)
    here = Path.cwd()
    candidates = (here, *here.parents, Path(__file__).resolve().parents[1])
    return next((folder for folder in candidates if (folder / _MAP).is_file()), here)
