"""The report of the model that grows: a row for each stage so far, from the stored runs of its chapter."""

import numpy as np
import pytest

from shared import evidence, next_word, so_far


def zeros(tokens):
    return np.zeros((*tokens.shape, next_word.VOCABULARY))


def test_each_stage_has_its_stored_runs():
    for folder, name in so_far.STAGES:
        for what in (so_far.GAP, so_far.GRAMMATICAL):
            assert len(evidence.stored_values(so_far.claim(name, what), f"notebooks/{folder}")) >= 5, (name, what)


def test_a_report_shows_the_stages_before_and_what_is_possible(monkeypatch, tmp_path):
    shown = []
    monkeypatch.setattr(so_far, "display", shown.append)
    monkeypatch.setattr(
        so_far, "STAGES", (("02_models", "a table"), ("02_models", "another"), ("05_embeddings", "later"))
    )
    monkeypatch.chdir("notebooks/02_models")
    score = so_far.report("another", zeros, sees=[1, 2])
    assert score.grammatical < 5 and score.gap > 2
    picture, table = shown
    assert "5 lines" in picture.alt
    assert list(table.index) == [
        "a table, mean of 10 runs",
        "another, this run",
        "the best that sees 1 word",
        "the best that sees 2 words",
        "the best possible",
    ]
    assert table.iloc[1, 1] == f"{score.grammatical}" and table.iloc[3].tolist() == ["0.352", "110"]


def test_a_stage_that_is_none_is_named():
    with pytest.raises(ValueError, match="stage='BERT'"):
        so_far.report("BERT", zeros)


def test_what_was_trained_anew_is_beside_what_its_chapter_had(monkeypatch):
    monkeypatch.chdir("notebooks/09_training")
    score = next_word.Score(0.5, 30, [])
    table = so_far.retrained({"a table": score, "never trained before": score})
    before = evidence.stored_values(so_far.claim("a table", so_far.GAP), "../02_models").mean()
    assert table.loc["a table"].tolist()[::2] == [f"{before:.3f}", "0.500"]
    assert table.loc["never trained before"].tolist() == ["", "", "0.500", "30"]
