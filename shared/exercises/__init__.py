"""Exercises that answer: `check("06.2", my_function)`, `hint("06.2")`, `solution("06.2")`, `progress()`.

A chapter's module holds its exercises. Each has a right answer, some plausible wrong ones, and hints. The answer of a reader is
compared with the right one on random inputs; if it is wrong in the way of one of the wrong ones, the message says which.
"""

import functools
import importlib
import importlib.util
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shared.arrays import as_numpy, from_numpy
from shared.chapters import all_chapters
from shared.checks import check_choice
from shared.conformance.laws import relative_difference
from shared.files import write_whole
from shared.folders import course_folder

# The number of each chapter and the name of its module here; a chapter without exercises to check has none.
MODULES = {chapter.number: chapter.name for chapter in all_chapters()}
_WIDTH = max(map(len, MODULES.values()))
PAGES = {"numpy": "NumPy", "pytorch": "PyTorch", "keras": "Keras", "compare": "compare"}
# The notebooks that a reader of each track reads.
ROUTES = {"numpy": ("numpy",), "pytorch": ("numpy", "pytorch", "compare"), "keras": ("numpy", "keras", "compare")}
# Exercises that have moved to another chapter: what was done under the old number stays done.
MOVED = {"09.9": "17.6", "09.10": "17.7", "09.11": "17.8"}
# Of an answer, relative to the largest value; the inputs keep the mistakes farther apart.
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Args:
        right: the right answer, a function (for code) or a value (for predictions).
        inputs: draws the arguments of one trial from a generator; code only.
        mistakes: sentence -> the wrong answer that it names, a function or a value; a tuple of functions where a mistake has several forms.
        hints: up to three.
        shape: what the result is, such as "(length_q, value_dim)", for the message about a wrong shape.
        praise: what to say when it is right.
        trials: how many random inputs are tried.
        errors: part of an error message -> what to tell to a reader whose function raises it.
        track: the notebook that it is in, "numpy", "pytorch" or "keras", whose arrays the reader's function is given (the rest here
            computes in NumPy), or "compare", which asks for predictions alone.
        digits: how many digits after the point a prediction is asked for with; without them it is right only if it is equal.
        run: where the reader writes a class, what it computes: from the class and the arguments to name -> array, in the order in
            which a reader writes them; those that are not written yet are left out. What is right, and the mistakes, give such dicts.
    """

    right: Any
    hints: Sequence[str]
    mistakes: Mapping[str, Any] = field(default_factory=dict)
    inputs: Callable[[np.random.Generator], tuple] | None = None
    shape: str = ""
    praise: str = ""
    trials: int = 6
    errors: Mapping[str, str] = field(default_factory=dict)
    track: str = "numpy"
    digits: int | None = None
    run: Callable[..., dict[str, Any]] | None = None


def _of_chapter(chapter: str) -> dict[str, Exercise]:
    """The exercises of a chapter, by their names; none if it has no module."""
    module = f"shared.exercises.{MODULES.get(chapter, '-')}"
    return importlib.import_module(module).EXERCISES if importlib.util.find_spec(module) else {}


def names() -> list[str]:
    """Every exercise that has a check."""
    return [name for chapter in MODULES for name in _of_chapter(chapter)]


def _find(name: str) -> Exercise:
    exercises = _of_chapter(name.partition(".")[0])
    if name in MOVED:
        raise ValueError(f"exercise {name} is now {MOVED[name]}")
    if name not in exercises:
        raise ValueError(f"there is no exercise {name!r} to check; there are {', '.join(exercises or names())}")
    return exercises[name]


def check(name: str, answer: Any, track: str | None = None) -> None:
    """Say whether an answer is right; if it is not, say what is wrong with it.

    Args:
        name: the number of the exercise, such as "06.2".
        answer: your function, or your prediction.
        track: whose arrays your function takes, "numpy", "pytorch" or "keras"; those of the exercise's own notebook by default.
    """
    verdict, message = judge(name, answer, track)
    if verdict == "right":
        _remember(name)
    print(f"{name}: {message}")


def judge(name: str, answer: Any, track: str | None = None, seed: int = 6) -> tuple[str, str]:
    """The verdict ("right", "wrong" or "not done") and what to tell; the seed is that of the random inputs."""
    exercise = _find(name)
    track = track or exercise.track
    check_choice(ROUTES if exercise.inputs else PAGES, track=track)
    todo = ("not done", f'not done yet. hint("{name}") gives a hint.')
    if answer is None or answer is ...:
        return todo
    right = ("right", f"right. {exercise.praise}".strip())
    if exercise.inputs is None:
        if np.ndim(answer) or np.asarray(answer).dtype.kind not in "iuf":
            return "wrong", f"expected a number, got {answer!r:.60}."
        if _same_prediction(answer, exercise.right, exercise.digits):
            return right
        return "wrong", _name_wrong_prediction(exercise, answer)
    if not callable(answer):
        expected = "function" if exercise.run is None else "class"
        return "wrong", f"expected a {expected}, got {type(answer).__name__}."
    if isinstance(answer, type) and exercise.run is not None:
        answer = functools.partial(exercise.run, answer)
    changed = False
    rng = np.random.default_rng(seed)
    trials = [exercise.inputs(rng) for _ in range(exercise.trials)]
    results = []
    for arguments in trials:
        given = [from_numpy(np.copy(each), track) if isinstance(each, np.ndarray) else each for each in arguments]
        try:
            with np.errstate(all="ignore"):
                result = answer(*given)
        except Exception as error:  # noqa: BLE001 - whatever the function of a reader raises
            shapes = ", ".join(str(each.shape if isinstance(each, np.ndarray) else each) for each in arguments)
            advice = " ".join(text for part, text in exercise.errors.items() if part in str(error))
            message = f"your function raised {type(error).__name__}: {error}. {advice or f'The inputs were {shapes}.'}"
            return "wrong", message
        if result is None or result is ... or (isinstance(result, dict) and not result):
            return todo
        if callable(result):
            return "wrong", "your function returned a function: call it with the input."
        if exercise.run is not None and not isinstance(result, dict):
            return "wrong", f"expected a class, got {type(answer).__name__}."
        if track == "keras" and isinstance(result, np.ndarray | np.generic):
            return "wrong", "your function returned a NumPy value, which `fit` can't compile: use keras.ops."
        if isinstance(result, tuple | list):
            return "wrong", f"expected one array, got a {type(result).__name__} of {len(result)}."
        named = {name: as_numpy(value) for name, value in result.items()} if isinstance(result, dict) else None
        results.append(as_numpy(result) if named is None else named)
        kept = [(a, g) for a, g in zip(arguments, given) if isinstance(a, np.ndarray)]
        changed = changed or any(not np.array_equal(a, as_numpy(g), equal_nan=a.dtype.kind == "f") for a, g in kept)
    if all(_close(result, exercise.right(*arguments)) for result, arguments in zip(results, trials)):
        if changed:
            return "wrong", "the result is right, but your function changes an array that it was given: work on a copy."
        left = [name for name in exercise.right(*trials[0]) if name not in results[0]] if exercise.run else []
        if left:
            return "not done", f"right so far: {' and '.join(results[0])}. Not done yet: {', '.join(left)}."
        return right
    return "wrong", _name_mistake(exercise, results, trials)


def _same_prediction(answer: float, expected: float, digits: int | None) -> bool:
    """Equal, or equal when both are rounded to so many digits after the point."""
    answer, expected = float(answer), float(expected)
    if digits is not None:
        answer, expected = round(answer, digits), round(expected, digits)
    return math.isclose(answer, expected, rel_tol=0, abs_tol=1e-9)


def _name_wrong_prediction(exercise: Exercise, answer: float) -> str:
    for sentence, wrong in exercise.mistakes.items():
        # A third is written as 0.333: two digits are enough to see which mistake it was, unless it is a whole number.
        if _same_prediction(answer, wrong, 2 if wrong != int(wrong) and not exercise.digits else exercise.digits):
            return f"close. {sentence}"
    for digits in range(1, exercise.digits or 0):
        if _same_prediction(answer, round(exercise.right, digits), None):
            return f"close. Rounded to {digits} of the {exercise.digits} digits after the point; give all of them."
    return "not quite. Read the question again, or ask for a hint."


def forms(wrong: Any) -> tuple:
    """The forms of a mistake, which are several or one."""
    return wrong if isinstance(wrong, tuple) else (wrong,)


def _name_mistake(exercise: Exercise, results: list, trials: list[tuple]) -> str:
    for sentence, mistake in exercise.mistakes.items():
        for wrong in forms(mistake):
            with np.errstate(all="ignore"):
                if all(_close(result, wrong(*arguments)) for result, arguments in zip(results, trials)):
                    return f"close. {sentence}"
    pairs = [(result, exercise.right(*arguments)) for result, arguments in zip(results, trials)]
    if exercise.run is None:
        return _describe(exercise.shape, pairs)
    # of those that are written, the first that is wrong
    name = next(name for name in results[0] if not all(_close(found[name], right[name]) for found, right in pairs))
    return f"{name}: {_describe('', [(found[name], right[name]) for found, right in pairs])}"


def _describe(shape: str, pairs: list[tuple[np.ndarray, np.ndarray]]) -> str:
    """How results differ from what is right, where no listed mistake explains it."""
    for result, expected in pairs:
        if result.shape != expected.shape:
            here = "" if shape in ("", str(expected.shape)) else f", here {expected.shape}"
            return f"the result has shape {result.shape}; expected {shape or expected.shape}{here}."
        if result.dtype.kind != expected.dtype.kind:
            return f"the result has dtype {result.dtype}; expected {expected.dtype}."
        if result.dtype == bool and (result != expected).any():
            return f"not yet. The shape is right; {(result != expected).sum()} of {result.size} entries differ."
        if not np.isfinite(result).all():
            return (
                "some results are NaN or infinite. Does something overflow, or is a whole row hidden, or divided by 0?"
            )
    worst = max(np.abs(result.astype(float) - expected.astype(float)).max() for result, expected in pairs)
    if not np.isfinite(worst):
        return "not yet. The shape is right; in some places one is infinite, the right answer or yours, and the other is not."
    return f"not yet. The shape is right; the largest difference from the right answer is {worst:.2g}."


def _close(result: Any, expected: Any) -> bool:
    """Equal but for rounding: of shape, kind of numbers, NaN, and value within what the dtype can hold; of dicts, the names of both."""
    if isinstance(result, dict):
        return all(_close(result[name], value) for name, value in expected.items() if name in result)
    result, expected = as_numpy(result), as_numpy(expected)
    if result.shape != expected.shape or (result.dtype.kind == "b") != (expected.dtype.kind == "b"):
        return False
    if not {result.dtype.kind, expected.dtype.kind} <= set("biuf"):
        return False
    finite = np.isfinite(expected)
    if not np.array_equal(result[~finite], expected[~finite], equal_nan=expected.dtype.kind == "f"):
        return False
    # A reader may compute in float32 and return float64 (np.sqrt of an int promotes), so the dtype says nothing.
    return relative_difference(result[finite], expected[finite]) <= TOLERANCE


@functools.cache
def _shown() -> dict[str, int]:
    return {}


def hint(name: str) -> None:
    """Print one more hint at each call, until there are no more."""
    hints, shown = _find(name).hints, _shown()
    shown[name] = min(shown.get(name, 0) + 1, len(hints))
    for number, text in enumerate(hints[: shown[name]], 1):
        print(f"hint {number} of {len(hints)}: {text}")


def solution(name: str) -> None:
    """Print code that passes."""
    _find(name)
    if importlib.util.find_spec("shared.exercises.solutions") is None:
        print("The solutions are not part of this edition.")
        return
    chapter = MODULES[name.partition(".")[0]]
    found = importlib.import_module(f"shared.exercises.solutions.{chapter}").SOLUTIONS[name]
    print(inspect.getsource(found) if callable(found) else found)


def progress(track: str | None = None) -> None:
    """Print how many exercises have been done on this machine: in each notebook, or on the route of a track, with those that are open.

    Args:
        track: "numpy" for NumPy's notebooks alone, "pytorch" or "keras" for NumPy's, those of the framework, and compare.
    """
    if track is not None:
        check_choice(ROUTES, track=track)
    done = _done()
    for chapter, title in MODULES.items():
        found = _of_chapter(chapter)
        pages = {page: [name for name, each in found.items() if each.track == page] for page in PAGES}
        if track is None:
            counts = [f"{PAGES[page]} {_count(names, done)}" for page, names in pages.items() if names]
            said = ", ".join(counts)
        else:
            names = [name for page in ROUTES[track] for name in pages[page]]
            left = [name for name in names if name not in done]
            said = f"{_count(names, done)} done" + (f", open: {' '.join(left)}" if left else "")
        if found:
            print(f"{chapter} {title:{_WIDTH}} {said}")


def _count(names: list[str], done: list[str]) -> str:
    return f"{len(set(names) & set(done))} of {len(names)}"


def _progress_file() -> Path:
    return course_folder() / ".progress.json"


def _done() -> list[str]:
    try:
        return [MOVED.get(name, name) for name in json.loads(_progress_file().read_text())]
    except (OSError, ValueError, TypeError):
        return []


def _remember(name: str) -> None:
    try:
        write_whole(_progress_file(), json.dumps(sorted({*_done(), name})))
    except OSError:  # a read-only copy of the course keeps no progress
        pass
