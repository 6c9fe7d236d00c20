"""`make evidence`: runs with shifted seeds are stored, and a table says of which code they are."""

import json
import re

import evidence as repeat
import nbformat
import numpy as np
import pytest


@pytest.fixture
def lesson(monkeypatch, tmp_path):
    """A course of one notebook, which claims the mean of ten random numbers."""
    code = [
        "import numpy as np\n\nfrom shared.evidence import learned",
        'learned("mean of ten", np.random.default_rng(0).normal(1, 0.1, 10).mean(), above=0.5)',
        'learned("each of ten", np.random.default_rng(1).normal(1, 0.1, 10), above=0.5)',
    ]
    path = tmp_path / "notebooks/01_lesson/numpy.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in code]), path)
    monkeypatch.setattr(repeat, "ROOT", tmp_path)
    monkeypatch.setattr(repeat.claims, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    shifted = tmp_path / "tools/shifted_seeds/sitecustomize.py"
    shifted.parent.mkdir(parents=True)
    shifted.write_bytes((repeat.notebooks.ROOT / "tools/shifted_seeds/sitecustomize.py").read_bytes())
    return path


def test_repeating_stores_runs_that_differ(lesson):
    for number in (1, 2, 3):
        repeat.run_once(lesson, number)
    repeat.collect(lesson, [1, 2, 3])
    stored = repeat.stored(lesson)
    assert repeat.is_fresh(lesson) and len(stored["runs"]) == 3
    means, draws = (np.array(stored["claims"][label]["values"]) for label in ("mean of ten", "each of ten"))
    assert means.shape == (3, 1) and draws.shape == (3, 10) and len(np.unique(means)) == 3
    # Seeds shifted by 1000, 2000 and 3000, and nothing else.
    assert means[:, 0] == pytest.approx(
        [np.random.default_rng(seed).normal(1, 0.1, 10).mean() for seed in (1000, 2000, 3000)], rel=1e-5
    )
    text = (lesson.parent / "evidence.json").read_text()
    assert len(re.findall(r'^  +"(?:mean|each) of ten": \{ "bound": .* \}', text, re.MULTILINE)) == 2  # a line each


def test_a_bound_that_follows_the_seed_is_refused(lesson):
    folder = repeat.folder_of_runs(lesson)
    folder.mkdir(parents=True)
    for number in (1, 2):
        claim = {"label": "loss", "values": [1.0], "bound": {"below": number}}
        (folder / f"{number}.jsonl").write_text(json.dumps(claim) + '\n{"seconds": 1}\n')
    with pytest.raises(SystemExit, match="bound of 'loss'"):
        repeat.collect(lesson, [1, 2])


def test_too_little_room_is_reported(lesson, capsys):
    claim = {"bound": {"below": 2.0}, "values": [[1.0], [3.0], [1.0], [3.0], [1.5]]}
    (lesson.parent / "evidence.json").write_text(json.dumps({"numpy": {"claims": {"loss": claim}}}))
    repeat.report(lesson)
    assert re.search(r"\b0\.2 standard deviations\b.*\bloss\b", capsys.readouterr().out)
