"""Five questions on the pitfalls of each chapter: `quiz("06")` in a notebook, and a page for teachers to print.

The questions of chapter 06 are in 06.toml:

    [[question]]
    ask = "What does ...?"
    options = [["0.06", "Why it's right, or wrong."], ["1.01", "..."]]
    right = "a"
    computed = "06_attention/numpy#pitfalls-width"
    shows = "divided by sqrt(d_model) variance of the scores 0.06"

`computed` is the cell that computes the right answer, and `shows` the piece of its stored output that says so, each run of
spaces and ends of lines as one space. Where the answer has numbers, `shows` ends with them, and with no other option's, which
the tests make sure of. `x` is code, *x* is stressed.
"""

import html
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shared.lesson_code import TRACKS

FOLDER = Path(__file__).parent
LETTERS = "abcd"
_KEYS = {"ask", "options", "right", "computed", "shows"}


@dataclass(frozen=True)
class Question:
    """One question.

    Args:
        ask: the question.
        options: letter -> what it says, and why that is right or wrong.
        right: the letter of the right option.
        computed: the cell that computes the right answer, such as "06_attention/numpy#pitfalls-width".
        shows: the piece of its output that says so.
    """

    ask: str
    options: dict[str, tuple[str, str]]
    right: str
    computed: str
    shows: str

    @property
    def asked(self) -> str:
        """The question and, if it isn't NumPy's, the notebook that it comes from: a reader may not have read that yet."""
        track = self.computed.partition("#")[0].rpartition("/")[2]
        return self.ask if track == "numpy" else f"{self.ask} (From the {TRACKS.get(track, track)} notebook.)"


@dataclass(frozen=True)
class Quiz:
    """The questions of a chapter; a notebook shows each option as a line that opens."""

    chapter: str
    questions: tuple[Question, ...]

    def __repr__(self) -> str:
        return f"{len(self.questions)} questions on chapter {self.chapter}"

    def _repr_html_(self) -> str:
        return f'<div class="quiz">{"".join(self._lines())}</div>'

    def _lines(self) -> Iterator[str]:
        for number, question in enumerate(self.questions, start=1):
            yield f"<p><strong>{number}.</strong> {_as_html(question.asked)}</p>"
            for letter, (says, because) in question.options.items():
                verdict = "Right." if letter == question.right else "Wrong."
                yield f"<details><summary>{letter}) {_as_html(says)}</summary>"
                yield f"<p><strong>{verdict}</strong> {_as_html(because)}</p></details>"

    def sheet(self) -> str:
        """The questions in Markdown, to print, and the answers with their reasons under a heading of their own."""
        parts = []
        for number, question in enumerate(self.questions, start=1):
            options = "\n".join(f"- {letter}) {says}" for letter, (says, _) in question.options.items())
            parts.append(f"**{number}.** {question.asked}\n\n{options}")
        parts.append("## Answers")
        for number, question in enumerate(self.questions, start=1):
            marks = {letter: f"{letter})" for letter in question.options} | {question.right: f"**{question.right})**"}
            reasons = "\n".join(f"- {marks[letter]} {because}" for letter, (_, because) in question.options.items())
            parts.append(f"**{number}.** The right answer is {question.right}).\n\n{reasons}")
        return "\n\n".join(parts) + "\n"


def quiz(chapter: str) -> Quiz:
    """The five questions of a chapter, such as "06"; open an option to see whether it's right, and why."""
    known = chapters()
    if chapter not in known:
        raise ValueError(f"there is no quiz {chapter!r}: expected one of {', '.join(known)}")
    path = FOLDER / f"{chapter}.toml"
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("question", [])
    return Quiz(chapter, tuple(_question(row, f"{path.name}, question {n}") for n, row in enumerate(rows, start=1)))


def chapters() -> list[str]:
    """The numbers of the chapters that have a quiz."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _question(row: dict, where: str) -> Question:
    if set(row) != _KEYS:
        raise ValueError(f"{where}: expected the keys {', '.join(sorted(_KEYS))}, got {', '.join(sorted(row))}")
    if not 2 <= len(row["options"]) <= len(LETTERS) or any(len(pair) != 2 for pair in row["options"]):
        raise ValueError(f"{where}: expected two to four options, each with what it says and why it's right or wrong")
    options = {letter: (says, because) for letter, (says, because) in zip(LETTERS, row["options"])}
    if row["right"] not in options:
        raise ValueError(f"{where}: right is {row['right']!r}, expected one of {', '.join(options)}")
    return Question(row["ask"], options, row["right"], row["computed"], row["shows"])


def _as_html(text: str) -> str:
    parts = html.escape(text, quote=False).split("`")  # every second one is code
    for number, part in enumerate(parts):
        parts[number] = f"<code>{part}</code>" if number % 2 else re.sub(r"\*([^*]+)\*", r"<em>\1</em>", part)
    return "".join(parts)
