"""Which notebooks `make lab` trusts: those that are, byte for byte, what the main branch or the students' edition holds.

JupyterLab runs the scripts that a trusted notebook has stored, as soon as it is opened. So a notebook that came with somebody's
proposal is not trusted, though it lies in the same folder. The digests are git's own: of the main branch, git has them; the
students' edition, which has no git, brings a list.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from installation import ROOT

LIST = "notebooks/digests.json"  # of the students' edition
BRANCHES = ("origin/HEAD", "origin/main", "main")


def digest(path: Path) -> str:
    """What git calls the content of a file."""
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def notebooks(root: Path = ROOT) -> dict[str, str]:
    """The digest of each notebook as it lies there, by its path."""
    paths = [path for path in (root / "notebooks").rglob("*.ipynb") if path.parent.name != ".ipynb_checkpoints"]
    return {path.relative_to(root).as_posix(): digest(path) for path in sorted(paths)}


def published(root: Path = ROOT) -> tuple[str, dict[str, str]] | None:
    """Where the digests come from, and the digest of each notebook there; None if there are none."""
    for branch in BRANCHES if (root / ".git").exists() else ():
        command = ["git", "ls-tree", "-r", branch, "notebooks/"]
        try:
            found = subprocess.run(command, cwd=root, capture_output=True, text=True, encoding="utf-8", check=False)
        except OSError:  # no git
            break
        if found.returncode == 0 and found.stdout:
            rows = [line.partition("\t") for line in found.stdout.splitlines()]
            return f"the branch {branch}", {path: entry.split()[2] for entry, _, path in rows}
    if (root / LIST).is_file():
        return "the students' edition", json.loads((root / LIST).read_text(encoding="utf-8"))
    return None


def trusted(root: Path = ROOT) -> list[str]:
    """The notebooks to trust; it says which are not, and asks where nothing tells."""
    here, there = notebooks(root), published(root)
    if there is None:
        print(
            "Nothing here tells whether the notebooks are as they were published: there is neither git's main branch nor a list."
        )
        print("JupyterLab runs what trusted notebooks have stored as soon as they are opened.")
        if sys.stdin.isatty() and input("Trust these? [y/N] ").strip().lower() in ("y", "yes"):
            return list(here)
        print("They are not trusted: some figures show after you have run their cells.", flush=True)
        return []
    source, digests = there
    changed = [path for path, found in here.items() if digests.get(path) != found]
    if changed:
        names = ", ".join(path.removeprefix("notebooks/") for path in changed[:5])
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        print(f"Not as in {source}, and so not trusted unless you ran them yourself: {names}{more}.", flush=True)
    return [path for path in here if path not in changed]
