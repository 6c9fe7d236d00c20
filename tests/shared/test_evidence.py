"""What is claimed is printed beside its bound; out of bounds it is said to differ, and raises in tests."""

import json

import numpy as np
import pytest

from shared.evidence import learned, observed, show, stored_values, table

pytestmark = pytest.mark.form

FIVE = [1.0, 1.1, 0.9, 1.05, 0.95]


@pytest.fixture
def in_session(monkeypatch):
    """A reader's session, where nothing raises."""
    monkeypatch.delenv("EVIDENCE", raising=False)


@pytest.fixture
def in_tests(monkeypatch):
    monkeypatch.setenv("EVIDENCE", "strict")


@pytest.fixture
def chapter(monkeypatch, tmp_path):
    """A chapter's folder with a stored table: mean 1, standard deviation 0.1."""
    values = 1 + 0.1 * np.array([-1.5, -0.5, 0.5, 1.5, 0]) / np.sqrt(1.25)
    claim = {"bound": {"below": 2.0}, "values": [[value] for value in values]}
    (tmp_path / "evidence.json").write_text(json.dumps({"numpy": {"claims": {"loss": claim}}}))
    monkeypatch.chdir(tmp_path)


def test_a_proof_is_printed_beside_its_bound(capsys):
    show("difference", np.float64(4.4e-16), below=1e-12)
    show("ratio", 1.00071, below=1.01)
    show("change", 0, equal=0)
    assert capsys.readouterr().out.splitlines() == [
        "difference: measured 4.4e-16, must be below 1e-12",
        "ratio: measured 1.0007, must be below 1.01",
        "change: measured 0, must be 0",
    ]


def test_a_proof_that_fails_raises_in_tests(in_tests):
    with pytest.raises(AssertionError, match="ratio: measured 2"):
        show("ratio", 2.0, below=1.01)
    with pytest.raises(AssertionError):
        show("nothing", float("nan"), above=0)


def test_a_proof_that_fails_is_said_to_a_reader_who_goes_on(in_session, capsys):
    show("ratio", 2.0, below=1.01)
    assert capsys.readouterr().out.endswith("IT DIFFERS HERE.\n")


@pytest.mark.parametrize("bounds", [{}, {"below": 1, "above": 0}])
@pytest.mark.parametrize("function", [show, learned])
def test_a_claim_has_one_bound(function, bounds):
    with pytest.raises(TypeError, match=function.__name__):
        function("ratio", 2.0, **bounds)


def test_the_mean_of_the_runs_on_a_page_is_bounded(in_tests, capsys):
    learned("loss on test", FIVE, below=1.2)
    assert capsys.readouterr().out == (
        "loss on test: measured 1 on average, with a standard deviation of 0.079057 over 5 runs; the mean must be below 1.2\n"
    )
    learned("loss on test", FIVE, below=1.01)  # single runs may be out of the bound
    with pytest.raises(AssertionError, match="below 0.99"):
        learned("loss on test", FIVE, below=0.99)


@pytest.mark.parametrize("values", [[], [1.0, 2.0], [1.0] * 4])
def test_too_few_runs_are_refused(values):
    with pytest.raises(ValueError, match="five runs"):
        learned("loss", values, below=3)


def test_one_run_on_the_page_is_held_against_the_stored_ones(chapter, in_tests, capsys):
    learned("loss", 1.3, below=2)
    assert capsys.readouterr().out == (
        "loss: measured 1.3 here; 5 runs with other seeds: mean 1, standard deviation 0.1; the mean must be below 2\n"
    )
    learned("loss", 1.59, below=1.2)  # out of the bound, and within six standard deviations
    with pytest.raises(AssertionError):
        learned("loss", 1.61, below=1.2)
    with pytest.raises(AssertionError):
        learned("loss", 0.9, below=0.95)  # the page's own run keeps a bound that the mean does not


def test_a_claim_without_stored_runs_fails_in_tests(chapter, in_tests):
    with pytest.raises(AssertionError, match="make evidence"):
        learned("accuracy", 1.0, above=0.9)


def test_make_evidence_records_and_asserts_nothing(chapter, in_tests, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("EVIDENCE_FILE", str(tmp_path / "recorded.jsonl"))
    learned("loss", 7, below=2)
    learned("gain", FIVE, above=5)
    recorded = [json.loads(line) for line in (tmp_path / "recorded.jsonl").read_text().splitlines()]
    assert recorded == [
        {"label": "loss", "values": [7.0], "bound": {"below": 2.0}},
        {"label": "gain", "values": FIVE, "bound": {"above": 5.0}},
    ]


def test_an_observation_is_printed_and_bounds_nothing(in_tests, capsys):
    observed("rounding gap after 60 steps", 1.6e-4)
    assert capsys.readouterr().out == "rounding gap after 60 steps: measured 1.6e-4 here\n"


def test_stored_values_of_a_chapter_without_a_table(tmp_path):
    assert stored_values("loss", tmp_path).tolist() == []


def test_a_table_has_two_digits():
    assert table(np.eye(2), ["a", "b"], ["c", "d"]).loc["a", "c"] == "1.00"


def test_a_table_of_what_was_observed_says_so():
    frame = table(np.eye(2), ["a", "b"], ["c", "d"], observed=True)
    assert "<th>measured here</th>" in frame.to_html()
    assert str(frame).startswith("measured here ")
