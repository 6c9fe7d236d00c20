"""The history of a pretraining run: a JSON file beside the model that says what was read, what was measured when, and the card of it.

A card is made of the history alone: packages that are installed later change nothing in it.
"""

import importlib.metadata
import json
import os
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from shared.data.text import INSTALLED_AS, record
from shared.files import check_path, write_whole
from shared.frameworks.hugging_face.files import read_json

NAME = "history.json"


class History:
    """What a run is, and what was measured on its way; `add` writes it to the folder's history.json.

    A folder that has the history of the same run goes on with it; for the history of another run, or a file that is no
    history, a ValueError names what differs.

    Args:
        folder: that of the model.
        run: what must be the same when the run goes on.
        packages: what the text came from, as `provenance` tells it; what the folder has noted already stays.
    """

    def __init__(self, folder: str | os.PathLike, run: dict[str, Any], packages: Iterable[dict[str, Any]] = ()):
        check_path(folder=folder)
        self.path, self.run = Path(folder) / NAME, json.loads(json.dumps(run))
        self.curve: list[dict[str, Any]] = []
        self.result: dict[str, Any] = {}
        self.packages = list(packages)
        if self.path.is_file():
            found = read_history(folder)
            for key in {**self.run, **found["run"]}:
                if self.run.get(key) != found["run"].get(key):
                    raise ValueError(
                        f"{self.path.parent.name} has a run with {key}={found['run'].get(key)!r}: expected "
                        f"{self.run.get(key)!r}, or an empty folder"
                    )
            self.curve, self.result = found["curve"], found["result"]
            self.packages = found.get("packages") or self.packages

    def go_on_from(self, steps: int) -> None:
        """Forget what was measured after so many steps, because the run goes on from there."""
        self.curve = [each for each in self.curve if each["steps"] <= steps]

    def is_best(self, validation: float) -> bool:
        """Whether no loss on validation so far is as low."""
        return all(validation < each["validation"] for each in self.curve)

    def add(self, **measured: Any) -> None:
        """Note what was measured at one moment of the run."""
        self.curve.append(measured)
        self.write()

    def write(self) -> None:
        """Write the file: whole or not at all."""
        content = {"run": self.run, "packages": self.packages, "curve": self.curve, "result": self.result}
        write_whole(self.path, json.dumps(content, indent=1))


def read_history(folder: str | os.PathLike) -> dict[str, Any]:
    """run, curve and result of a folder's history.json, and packages, where the text came from some.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: if the file is truncated or foreign.
    """
    check_path(folder=folder)
    found = read_json(Path(folder) / NAME)
    kinds = {"run": dict, "curve": list, "result": dict}
    for key, kind in kinds.items():
        if not isinstance(found.get(key), kind):
            raise ValueError(f"{NAME} has no {key}: expected the history of a pretraining run")  # noqa: TRY004 - of a file
    return found


def recorded(folder: str | os.PathLike, key: str) -> Any:
    """What the run of a folder says of itself; None where there is no history.

    Raises:
        ValueError: if history.json is truncated or foreign.
    """
    check_path(folder=folder)
    return read_history(folder)["run"].get(key) if (Path(folder) / NAME).is_file() else None


def seconds_per_step(curve: list[dict[str, Any]]) -> float:
    """The median over the stretches between two measurements, which a busy machine or a pause changes little."""
    ends = [0, *(each["steps"] for each in curve)]
    return median(each["seconds"] / (end - start) for start, end, each in zip(ends, ends[1:], curve))


def _license(package: str) -> str:
    found = importlib.metadata.metadata(INSTALLED_AS.get(package, package))
    classifiers = [each.split(" :: ")[-1] for each in found.get_all("Classifier") or [] if "License" in each]
    license_text = found.get("License-Expression") or "; ".join(classifiers) or (found.get("License") or "").strip()
    return license_text.splitlines()[0] if license_text else "see the package"


def provenance(packages: Iterable[str]) -> list[dict[str, Any]]:
    """What is read of each package now: its version and license, how many paragraphs it has, and their digest."""
    return [{"package": each, "license": _license(each), **record(each)._asdict()} for each in packages]


def model_card(history: History) -> str:
    """What the model was trained on, for how long, and what it reached: the README.md of its folder."""
    run, curve, result = history.run, history.curve, history.result
    best = min(curve, key=lambda each: each["validation"])
    per_step = seconds_per_step(curve)
    where = f"{best['threads']} cores" if run["device"] == "cpu" else run["device"]
    rows = [f"| {name} | {one['nats_per_token']:.3f} | {one['bits_per_byte']:.3f} |" for name, one in result.items()]
    came_from = [f"The text file {run['source']}, which is not in this folder."]
    style = f"text in the style of {run['source']}"
    if history.packages:
        style = "English text in the style of the documentation of Python packages"
        notice = "The prose of the docstrings of these packages, in the versions that were installed then; their text is not in this folder."
        columns = ("package", "version", "license", "paragraphs", "digest")
        table = [[each[name] for name in columns] for each in history.packages]
        lines = [f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in row)} |" for row in table]
        came_from = [notice, "", f"| {' | '.join(columns)} |", "|" + "--|" * len(columns), *lines]
    sizes = ", ".join(f"{key} {value}" for key, value in run["sizes"].items())
    title = "# A small language model" + (" of real English" if history.packages else f" of {run['source']}")
    return f"""{title}

A GPT-2 of {run["weights"]:,} weights ({sizes}), float16, trained by `make pretrain` of *Transformers Three Ways*, chapter 15. \
It continues {style}. It knows no facts.

## Data

{chr(10).join(came_from)}

Split by module: {run["tokens"]["training"]:,} tokens for training, {run["tokens"]["validation"]:,} for validation, \
{run["tokens"]["test"]:,} for test. Paragraphs of validation and test that share 8 words in a row with training are left out.

## Training

{run["num_steps"]:,} steps of {run["batch_size"]} windows in {run["precision"]} with dropout {run["dropout"]}, at {per_step:.2f} s \
a step on {where}: {per_step * run["num_steps"] / 60:.0f} minutes. The weights are those of step {best["steps"]:,}, the lowest loss \
on validation. What was measured on the way is in {NAME}.

## Result

Measured once, with the weights of this folder, on the whole of each part. No test text was used for training or for choosing anything.

| text | nats per token | bits per byte |
|--|--|--|
{chr(10).join(rows)}
"""
