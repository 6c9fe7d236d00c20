"""The table of steps: what is folded, what is marked, and where a line is broken."""

import subprocess
import sys

import pytest
from bs4 import BeautifulSoup

from shared.drawing import side_by_side
from shared.lesson_code import split_steps

SAME = "# 1 project\nq = f(x)\n# 2 split\nreturn split(q)"


def table(monkeypatch, elsewhere: dict[str, str] | None = None, **tracks: str) -> BeautifulSoup:
    """The table of functions that are given as text, one for each track."""
    monkeypatch.setattr(side_by_side, "read_steps", lambda track, *_: split_steps(track, tracks[track].splitlines()))
    return BeautifulSoup(side_by_side.steps("chapter", "f", elsewhere).data, "html.parser")


def cells(page: BeautifulSoup) -> list[list[str]]:
    return [
        [" ".join(row.th.stripped_strings), *(cell.text for cell in row.select("td"))]
        for row in page.select("tbody tr")
    ]


def test_three_equal_functions_are_a_sentence(monkeypatch):
    page = table(monkeypatch, numpy=SAME, pytorch=SAME, keras=SAME)
    assert not page.select("table") and "the same" in page.p.text
    assert page.pre.text == SAME


def test_equal_rows_are_folded_and_a_missing_step_is_a_dash(monkeypatch):
    numpy = "# 0 set up\nn = 2\n" + SAME.replace("return", "y =") + "\n# 3 merge\ny = np.stack(y)"
    keras = SAME.replace("return", "y =") + "\n# 3 merge\ny = ops.stack(y)"
    page = table(monkeypatch, numpy=numpy, pytorch=keras.replace("ops", "torch"), keras=keras)
    first, same, last = cells(page)
    assert first == ["0 set up", "n = 2", "—", "—"]
    assert same[0].startswith("1 to 2 ") and same[1] == SAME.replace("return", "y =")
    assert last == ["3 merge", "y = np.stack(y)", "y = torch.stack(y)", "y = ops.stack(y)"]
    assert page.select("tbody tr")[1].td["colspan"] == "3"
    assert [mark.text for mark in page.select("td mark")] == ["np", "torch", "ops"]
    assert page.caption.text.startswith("marked")


def test_one_row_that_is_the_same_keeps_its_words(monkeypatch):
    page = table(monkeypatch, numpy=SAME, pytorch=SAME, keras=SAME.replace("f(x)", "g(x)"))
    words, code = cells(page)[1]
    assert words.startswith("2 split ") and code == "return split(q)"


def test_a_call_that_does_several_steps_is_a_tall_cell_without_marks(monkeypatch):
    page = table(monkeypatch, numpy=SAME, pytorch=SAME, keras="# 1 to 2 project, split\nreturn layer(x)")
    assert [len(row) for row in cells(page)] == [4, 3] and page.select("td")[2]["rowspan"] == "2"
    assert not page.select("mark") and not page.caption
    page = table(monkeypatch, {"keras": "layer(x)"}, numpy=SAME, pytorch=SAME)
    assert page.select("td")[2]["rowspan"] == "2"
    with pytest.raises(ValueError, match="elsewhere"):
        table(monkeypatch, {"jax": "layer(x)"}, numpy=SAME, pytorch=SAME, keras=SAME)


def test_two_tracks_can_be_asked_for():
    page = BeautifulSoup(
        side_by_side.steps("attention", "scaled_dot_product_attention", tracks=("pytorch", "keras")).data, "html.parser"
    )
    assert [head.text for head in page.select("thead th")] == ["step", "PyTorch", "Keras"]
    assert all(len(row) == 3 for row in cells(page)) and "ops.matmul" in page.text and "np." not in page.text
    for tracks in (("keras",), ("keras", "keras"), ("keras", "jax")):
        with pytest.raises(ValueError, match="tracks="):
            side_by_side.steps("attention", "scaled_dot_product_attention", tracks=tracks)


def test_a_table_needs_no_framework():
    code = "from shared import side_by_side; side_by_side.steps('attention', 'MultiHeadAttention'); import sys"
    code += "; print(*{'torch', 'keras', 'tensorflow'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


@pytest.mark.parametrize(
    ("line", "chunks"),
    [
        ("    y = f(a, b=[1, 2])", ["    y = f(", "a, ", "b=[", "1, ", "2])"]),
        ("total = first + -second / np.sqrt(x)", ["total = first ", "+ ", "-second ", "/ np.sqrt(", "x)"]),
        ("kept = w if drop is None else drop()", ["kept = w ", "if drop is None ", "else drop()"]),
        ('x = "a, b + (c)"  # d, e', ['x = "a, b + (c)"  # d, e']),
        ("x = x[:, None]", ["x = x[", ":, ", "None]"]),
        ("y = x[-1]", ["y = x[", "-1]"]),
    ],
)
def test_a_line_is_broken_after_a_comma_or_a_bracket_and_before_an_operator(line, chunks):
    page = BeautifulSoup(side_by_side._pre(line), "html.parser")
    assert page.text == line == "".join(chunks)  # to be copied, with plain spaces
    assert [each.text for each in page.select("[style*=inline-block]")] == [each.rstrip() for each in chunks[1:]]


def test_lines_end_where_a_page_drops_the_styles():
    page = BeautifulSoup(side_by_side._pre("if a:\n    b = 1\n"), "html.parser")
    assert page.text == "if a:\n    b = 1"
