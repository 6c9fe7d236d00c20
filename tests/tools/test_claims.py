"""The code that claims about learning rest on: which cells are run, and what makes a table of runs stale."""

import claims
import nbformat
import pytest

CELLS = {
    "setup": "import shared.notebook\nimport numpy as np\nfrom shared import plots\nfrom shared.data import toys",
    "imports": "from shared.evidence import learned, show\nfrom shared.numpy.toy import Model, fit",
    "hand": "row = np.arange(3)\nprint(row)",
    "function": 'def runs(seed):\n    """One run."""\n    return fit(Model(RATE), toys.noise(seed))',
    "late": "RATE = 0.5",
    "unused": "other = Model(9)\nother.describe()",
    "values": "values = [runs(seed) for seed in range(5)]",
    "changed": "values.append(runs(5))",
    "drawn": 'plots.line(values, "a title")',
    "claim": 'learned("the loss", values, below=1)',
    "after": 'show("a sum", row.sum(), equal=3)',
    "exercise": 'check("01.1", values)',
}
TOY = '''
"""A toy."""
from shared.data.toys import noise

SCALE = 3
UNUSED = 4


class Model:
    """It predicts."""

    start = 0

    def __init__(self, rate: float):
        self.rate = rate

    def forward(self, x: float) -> float:
        return self.start + self.rate * x * SCALE

    def describe(self):
        return "a model"


def fit(model: Model, data: list) -> float:
    """Fit it."""
    # a comment
    return model.forward(noise(data))


def evaluate(model):
    return 3
'''
TOYS = 'def noise(seed):\n    return seed + bias()\n\n\ndef bias():\n    return 0.1\n\n\ndef write(path):\n    """Write a file."""\n    return path\n'


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of one notebook; returns a function that writes it with pieces of text replaced, and its digest."""
    monkeypatch.setattr(claims, "ROOT", tmp_path)

    def write(*replaced):
        texts = {"shared/numpy/toy.py": TOY, "shared/data/toys.py": TOYS} | {
            f"cell/{name}": source for name, source in CELLS.items()
        }
        for old, new in replaced:
            assert sum(text.count(old) for text in texts.values()) == 1, old
            texts = {name: text.replace(old, new) for name, text in texts.items()}
        cells = [
            nbformat.v4.new_code_cell(text, id=name.removeprefix("cell/"))
            for name, text in texts.items()
            if name.startswith("cell/")
        ]
        for name, text in texts.items():
            if name.startswith("shared/"):
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name).write_text(text)
        path = tmp_path / "notebooks/01_toy/numpy.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        return path

    return write


def test_only_the_cells_that_a_claim_needs_are_run(course):
    notebook = nbformat.read(course(), as_version=4)
    kept = [cell.id for cell in claims.cells(notebook)]
    assert kept == ["setup", "imports", "function", "late", "values", "changed", "claim"]


def test_a_notebook_without_a_claim_needs_no_cell():
    cells = [nbformat.v4.new_code_cell("import numpy as np\nprint(np.ones(3))")]
    assert claims.cells(nbformat.v4.new_notebook(cells=cells)) == []


def test_a_library_that_is_set_up_stays_so(course):
    path = course(("row = np.arange(3)", "np.random.seed(3)\nrow = np.arange(3)"))
    assert "hand" in [cell.id for cell in claims.cells(nbformat.read(path, as_version=4))]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A toy."""', '"""A toy, of two parts."""'),
        ('    """Fit it."""\n', ""),
        ("    # a comment\n", "    # another comment\n\n"),
        ("(model: Model, data: list) -> float:", "(\n    model,\n    data,\n):"),
        ("UNUSED = 4", "UNUSED = 5"),
        ('return "a model"', 'return "another model"'),
        ("def evaluate(model):\n    return 3", "def evaluate(model):\n    return 4"),
        ('    """Write a file."""\n    return path', "    return None"),
        ("row = np.arange(3)\nprint(row)", "row = np.arange(4)\nprint(row)"),
        ('"a title"', '"another title"'),
        ("other = Model(9)", "other = Model(8)"),
        ("row.sum(), equal=3", "row.sum(), equal=4"),
        ('"""One run."""\n    ', ""),
    ],
)
def test_what_the_runs_do_not_execute_leaves_them_fresh(course, old, new):
    before = claims.digest(course())
    assert claims.digest(course((old, new))) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SCALE = 3", "SCALE = 4"),
        ("    start = 0", "    start = 1"),
        ("self.rate = rate", "self.rate = 2 * rate"),
        ("self.rate * x", "self.rate - x"),
        ("model.forward(noise(data))", "model.forward(data)"),
        ("return seed + bias()", "return seed - bias()"),
        ("return 0.1", "return 0.2"),
        ("RATE = 0.5", "RATE = 0.6"),
        ("range(5)", "range(6)"),
        ("values.append(runs(5))", "values.append(runs(6))"),
        ("below=1", "below=2"),
        ("toys.noise(seed)", "seed"),
    ],
)
def test_what_the_runs_execute_makes_them_stale(course, old, new):
    before = claims.digest(course())
    assert claims.digest(course((old, new))) != before


def test_a_method_that_a_counted_function_calls_counts(course):
    calls = ("return model.forward(noise(data))", "return model.describe(), model.forward(noise(data))")
    before = claims.digest(course(calls))
    assert claims.digest(course(calls, ('return "a model"', 'return "another model"'))) != before


def test_the_digest_sees_the_modules_that_a_module_imports():
    told = "\n".join(claims.code(claims.ROOT / "notebooks/08_encoder/numpy.ipynb"))
    for name in ("MultiHeadAttention", "FeedForward", "ParameterTree", "EncoderBlock"):
        assert f"ClassDef(name='{name}'" in told
    assert "from_pretrained" not in told
