"""What the notebooks claim of learning has been measured with other seeds, and lies far enough from its bound to be a claim."""

import json
import re

import evidence as repeat
import nbformat
import numpy as np
import pytest

from shared.chapters import all_chapters
from shared.evidence import ROOM, keeps

CLAIMED = re.compile(
    r"^(.*): (?:measured \S+ (?:here; \d+ runs with other seeds|on average, with a standard deviation)|\d+ runs: mean )"
)
DRAFTS = {chapter.folder for chapter in all_chapters() if chapter.status == "draft"}
CLAIMANTS = [path for path in repeat.claimants() if path.parent.name not in DRAFTS]
every_claimant = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=f"{path.parent.name}/{path.stem}", marks=pytest.mark.chapter(path.parent.name[:2]))
        for path in CLAIMANTS
    ],
)


def claimed(path) -> list[str]:
    """The labels of what the stored outputs of a notebook claim to be learned."""
    cells = nbformat.read(path, as_version=4).cells
    lines = "\n".join(output.get("text", "") for cell in cells for output in cell.get("outputs", [])).splitlines()
    return [found[1] for line in lines if (found := CLAIMED.match(line))]


@every_claimant
def test_each_claim_has_its_stored_runs(path):
    labels = claimed(path)
    assert labels and len(labels) == len(set(labels))
    assert sorted(labels) == sorted(repeat.stored(path)["claims"])


@every_claimant
def test_the_mean_is_far_from_its_bound(path):
    for label, claim in repeat.stored(path)["claims"].items():
        [(name, bound)] = claim["bound"].items()
        assert keeps(np.mean(claim["values"]), name, bound) and repeat.room(claim) >= ROOM, label
        assert len(claim["values"]) == len(repeat.stored(path)["runs"]) >= repeat.FEWER


@every_claimant
def test_the_runs_are_those_of_this_code(path):
    assert repeat.is_fresh(path), "the runs are of older code: make evidence repeats them"


def test_a_claim_is_named_once_in_a_chapter():
    for folder in {path.parent for path in CLAIMANTS}:
        tables = json.loads((folder / repeat.evidence.TABLE).read_text(encoding="utf-8"))
        labels = [label for table in tables.values() for label in table["claims"]]
        assert len(labels) == len(set(labels)), folder.name
        assert set(tables) == {path.stem for path in CLAIMANTS if path.parent == folder}
