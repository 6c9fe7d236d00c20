"""The history of a pretraining run, its resumption, and the model's card."""

import json

import pytest

from shared.frameworks.history import History, model_card, provenance, read_history, seconds_per_step

RUN = {"num_steps": 30, "sizes": {"d_model": 8}, "source": ("numpy",)}


def measured(steps: int, validation: float) -> dict:
    return {"steps": steps, "training": 1.0, "validation": validation, "seconds": 5.0, "threads": 2, "samples": []}


def test_a_run_goes_on_with_its_own_history(tmp_path):
    first = History(tmp_path, RUN)
    assert first.curve == [] and first.is_best(9.0)
    for steps, loss in ((10, 3.0), (20, 2.0), (30, 2.5)):
        first.add(**measured(steps, loss))
    assert not first.is_best(2.0) and first.is_best(1.9)
    again = History(tmp_path, RUN)
    assert again.curve == first.curve == read_history(tmp_path)["curve"]
    again.go_on_from(20)
    assert [each["steps"] for each in again.curve] == [10, 20]
    assert len(read_history(tmp_path)["curve"]) == 3, "the file changes with the next measurement"


@pytest.mark.parametrize(("other", "name"), [({"num_steps": 40}, "num_steps"), ({"extra": 1}, "extra")])
def test_another_run_in_the_same_folder_is_refused(tmp_path, other, name):
    History(tmp_path, RUN).write()
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        History(tmp_path, RUN | other)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("", "history.json"),
        ("[]", "history.json"),
        ('{"run"', "history.json"),
        ("{}", "run"),
        ('{"run": {}, "curve": 3}', "curve"),
    ],
)
def test_a_damaged_history_is_an_error(tmp_path, content, name):
    (tmp_path / "history.json").write_text(content)
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        read_history(tmp_path)


def test_a_history_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"history\.json"):
        read_history(tmp_path)


def test_the_time_of_a_step_is_a_median():
    curve = [measured(10, 1), measured(20, 1), measured(30, 1) | {"seconds": 500.0}]
    assert seconds_per_step(curve) == 0.5


def test_the_card_says_what_was_measured(tmp_path):
    run = {
        "sizes": {"d_model": 8}, "weights": 12345, "num_steps": 1200, "batch_size": 32, "precision": "bfloat16",
        "dropout": 0.1, "device": "cpu", "source": ["numpy", "sklearn"],
        "tokens": {"training": 1000000, "validation": 2000, "test": 3000},
    }  # fmt: skip
    packages = [
        {"package": "numpy", "version": "1.5", "license": "BSD", "paragraphs": 1234, "digest": "0a"},
        {"package": "sklearn", "version": "0.9", "license": "MIT", "paragraphs": 7, "digest": "1b"},
    ]
    history = History(tmp_path, run, packages)
    history.add(**measured(600, 3.5) | {"seconds": 300.0})
    history.add(**measured(1200, 3.6) | {"seconds": 300.0})
    for part, nats in (("validation", 3.5), ("test", 3.456)):
        history.result[part] = {"nats_per_token": nats, "bits_per_byte": nats / 2}
    history.write()
    card = model_card(
        History(tmp_path, run, [{"package": "numpy", "version": "2.4.6"}])
    )  # what is installed later is not what was read
    for expected in (
        "12,345 weights (d_model 8)", "1,200 steps of 32 windows in bfloat16 with dropout 0.1", "0.50 s a step on 2 cores: 10 minutes",
        "step 600, the lowest", "| test | 3.456 | 1.728 |", "| validation | 3.500 | 1.750 |", "1,000,000 tokens for training",
    ):  # fmt: skip
        assert expected in card
    assert "| numpy | 1.5 | BSD | 1,234 | 0a |" in card and "| sklearn | 0.9 | MIT | 7 | 1b |" in card
    own = History(tmp_path / "own", run | {"source": "my.txt"})
    own.curve, own.result = history.curve, history.result
    assert "The text file my.txt" in model_card(own) and "| package |" not in model_card(own)
    assert "in the style of my.txt" in model_card(own) and "documentation" not in model_card(own)
    assert json.loads((tmp_path / "history.json").read_text())["run"] == run


def test_provenance_is_what_is_installed_now():
    [found] = provenance(["sklearn"])
    assert found["package"] == "sklearn" and found["version"][0].isdigit() and "BSD" in found["license"]
    assert found["paragraphs"] > 1000 and len(found["digest"]) == 16


def test_the_history_of_an_older_run_goes_on_and_learns_where_its_text_came_from(tmp_path):
    History(tmp_path, {"digest": "0a"}).write()
    content = json.loads((tmp_path / "history.json").read_text())
    del content["packages"]
    (tmp_path / "history.json").write_text(json.dumps(content))
    assert History(tmp_path, {"digest": "0a"}, [{"package": "numpy"}]).packages == [{"package": "numpy"}]
