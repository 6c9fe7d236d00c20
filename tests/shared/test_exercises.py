"""Every solution passes, every listed mistake is named as itself, a stub is not done, and right answers raise no false alarm."""

import importlib
import importlib.util
import re

import nbformat
import numpy as np
import pytest

import notebooks
from shared import exercises

pytestmark = pytest.mark.form

CHAPTERS = [name for name in exercises.MODULES.values() if importlib.util.find_spec(f"shared.exercises.{name}")]
EXERCISES, SOLUTIONS = {}, {}
for chapter in CHAPTERS:
    EXERCISES |= importlib.import_module(f"shared.exercises.{chapter}").EXERCISES
    SOLUTIONS |= importlib.import_module(f"shared.exercises.solutions.{chapter}").SOLUTIONS


def of_its_chapter(name: str, *more: object):
    """A case for `parametrize`, which `make test CHAPTER=06` takes if it is one of that chapter."""
    return pytest.param(name, *more, marks=pytest.mark.chapter(name[:2]))


EACH = [of_its_chapter(name) for name in EXERCISES]
CODE = [of_its_chapter(name) for name, exercise in EXERCISES.items() if exercise.inputs]
PREDICTIONS = [of_its_chapter(name) for name, exercise in EXERCISES.items() if not exercise.inputs]


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("THREE_WAYS_FOLDER", str(tmp_path))
    exercises._shown().clear()


@pytest.mark.parametrize("name", EACH)
def test_the_solution_passes_and_is_shown(name, capsys):
    assert name in SOLUTIONS, f"shared/exercises/solutions has none for {name}"
    exercises.check(name, SOLUTIONS[name])
    assert capsys.readouterr().out.startswith(f"{name}: right")
    exercises.solution(name)
    assert capsys.readouterr().out.strip()
    exercises.progress()
    out = capsys.readouterr().out
    assert "1 of " in out and name not in out.split()


@pytest.mark.parametrize("name", EACH)
def test_an_exercise_knows_at_most_eight_mistakes(name):
    """Those that learners make: a reader of its code wants to see each of them."""
    assert len(EXERCISES[name].mistakes) <= 8


def each_its_own_exponent(factor):
    """A position of which every feature has an exponent of its own; the Transformer's has one for each pair."""

    def position(p, d_model):
        index = np.arange(d_model)
        angle = p / 10000 ** (factor * index / d_model)
        return np.where(index % 2, np.cos(angle), np.sin(angle))

    return position


def annotated_layer_norm(x, gamma, beta, eps):
    """As the Annotated Transformer writes it, with PyTorch's std."""
    mean, std = x.mean(-1, keepdims=True), x.std(-1, keepdims=True, ddof=1)
    return gamma * (x - mean) / (std + eps) + beta


def without_the_word_that_crosses(fits):
    def nucleus(probs, p):
        order = np.argsort(-probs)
        kept = order[fits(np.cumsum(probs[order]), p)]
        found = np.zeros_like(probs)
        found[kept] = probs[kept] / probs[kept].sum()
        return found

    return nucleus


@pytest.mark.parametrize(
    ("name", "wrong", "named"),
    [
        of_its_chapter("05.3", each_its_own_exponent(1), "share one"),
        of_its_chapter("05.3", each_its_own_exponent(2), "share one"),
        of_its_chapter("07.2", annotated_layer_norm, "Annotated Transformer"),
        of_its_chapter("14.3", without_the_word_that_crosses(np.less), "word that passes p is missing"),
        of_its_chapter("14.3", without_the_word_that_crosses(np.less_equal), "word that passes p is missing"),
    ],
)
def test_a_mistake_is_named_as_a_reader_writes_it(name, wrong, named):
    assert named in exercises.judge(name, wrong)[1]


@pytest.mark.parametrize("name", EACH)
def test_a_stub_is_not_done(name):
    def stub(*arguments): ...

    for answer in (..., None, *([stub] if EXERCISES[name].inputs else [])):
        verdict, message = exercises.judge(name, answer)
        assert verdict == "not done" and f'hint("{name}")' in message


@pytest.mark.chapter("06")
def test_what_is_no_listed_mistake_is_told_by_shape_dtype_or_difference():
    judge = exercises.judge
    assert "raised IndexError" in judge("06.2", lambda q, k, v: q[100])[1]
    assert "has shape" in judge("06.2", lambda q, k, v: v[:1, :1])[1]
    assert "largest difference" in judge("06.2", lambda q, k, v: 2 * SOLUTIONS["06.2"](q, k, v))[1]
    assert "a tuple of 2" in judge("06.2", lambda q, k, v: (q, k))[1]
    assert "expected a function" in judge("06.2", 3.0)[1]
    assert "returned a function: call it" in judge("06.2", lambda q, k, v: np.exp)[1]
    assert "not quite" in judge("06.1", 17)[1]
    assert judge("06.1", "a half")[1] == "expected a number, got 'a half'."
    assert judge("06.1", [0.25])[1] == "expected a number, got [0.25]."


@pytest.mark.chapter("06")
@pytest.mark.parametrize(("name", "track", "message"), [("06.11", "numpy", "'06.11'"), ("06.2", "jax", "track")])
def test_what_is_refused_is_named(name, track, message):
    with pytest.raises(ValueError, match=message):
        exercises.judge(name, lambda q, k, v: q, track)


@pytest.mark.chapter("07")
def test_a_prediction_is_right_if_it_rounds_to_the_digits_that_are_asked_for():
    judge = exercises.judge
    for answer in (0.71, 0.707, 0.7071068):
        assert judge("07.9", answer)[0] == "right"
    assert judge("07.9", 0.7)[0] == "wrong" and "1 of the 2 digits" in judge("07.9", 0.7)[1]
    assert judge("07.1", 1.73)[0] == "right" and "Rounded to 1" in judge("07.1", 1.7)[1]
    for wrong in (0.72, 0.69):
        assert judge("07.9", wrong)[1].startswith("not quite")


@pytest.mark.parametrize("name", PREDICTIONS)
def test_a_prediction_is_exact(name):
    right, digits = EXERCISES[name].right, EXERCISES[name].digits
    assert digits is not None or right == round(right, 2), "a number that is not exact is asked for with its digits"
    step = 1 if right == int(right) else 10.0 ** -(digits or 2)
    rounded = round(float(right), digits if digits is not None else 2)
    assert exercises.judge(name, rounded)[0] == "right"
    for wrong in (rounded - step, rounded + step):
        assert exercises.judge(name, wrong)[0] == "wrong"
    for sentence, wrong in EXERCISES[name].mistakes.items():
        assert exercises.judge(name, wrong) == ("wrong", f"close. {sentence}")


@pytest.mark.chapter("06")
def test_other_frameworks_and_hints(capsys):
    def torch_attention(query, key, value):
        return (query @ key.T / query.shape[1] ** 0.5).softmax(dim=1) @ value

    exercises.check("06.2", torch_attention, track="pytorch")
    assert "right" in capsys.readouterr().out
    counts = []
    for _ in range(4):
        exercises.hint("06.2")
        counts.append(capsys.readouterr().out.count("hint "))
    assert counts == [1, 2, 3, 3]


@pytest.mark.parametrize("name", CODE)
def test_right_answers_on_other_inputs_raise_no_false_alarm(name):
    """A right answer stays right, and no listed mistake is taken for it, whatever the random inputs are."""
    for seed in range(5):
        assert exercises.judge(name, EXERCISES[name].right, "numpy", seed)[0] == "right"
        for sentence, mistake in EXERCISES[name].mistakes.items():
            for wrong in exercises.forms(mistake):
                assert exercises.judge(name, wrong, "numpy", seed) == ("wrong", f"close. {sentence}")


def test_a_function_in_place_of_a_class_is_said_to_be_one():
    name = next(name for name, exercise in EXERCISES.items() if exercise.run is not None)
    assert exercises.judge(name, lambda *arguments: np.zeros(3)) == ("wrong", "expected a class, got function.")


@pytest.mark.chapter("06")
def test_a_thousand_right_answers_raise_no_false_alarm():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        order, dtype = rng.permutation(7), rng.choice([np.float32, np.float64])

        def shuffled(query, key, value, order=order, dtype=dtype):
            query, key, value = (x.astype(dtype) for x in (query, key, value))
            keys = order[order < len(key)]
            return SOLUTIONS["06.2"](query, key[keys], value[keys])

        assert exercises.judge("06.2", shuffled)[0] == "right"


@pytest.mark.chapter("06")
def test_a_class_is_judged_by_what_is_written_so_far():
    judge, right = exercises.judge, SOLUTIONS["06.3"]

    class Stub:
        def forward(self, query, key, value): ...

        def backward(self, grad_output): ...

    class Forward(Stub):
        def forward(self, query, key, value):
            return right().forward(query, key, value)

    class Doubled(right):
        def backward(self, grad_output):
            grad_query, grad_key, grad_value = super().backward(grad_output)
            return grad_query, 2 * grad_key, grad_value

    class Two(right):
        def backward(self, grad_output):
            return super().backward(grad_output)[:2]

    class NoMean(Forward):
        def forward(self, query, key, value):
            self.inner = right()
            return self.inner.forward(query, key, value)

        def backward(self, grad_output):
            weights, key, query, value = (getattr(self.inner, each) for each in ("weights", "key", "query", "value"))
            grad_scores = weights * (grad_output @ value.T) / np.sqrt(query.shape[1])
            return grad_scores @ key, grad_scores.T @ query, weights.T @ grad_output

    assert judge("06.3", Stub)[0] == judge("06.3", Forward)[0] == "not done"
    assert judge("06.3", Forward)[1].startswith("right so far: forward. Not done yet: gradient")
    assert judge("06.3", Doubled)[1].startswith("gradient of key: not yet")
    assert "three arrays" in judge("06.3", Two)[1]
    assert "weighted mean" in judge("06.3", NoMean)[1]
    assert judge("06.3", right())[1] == "expected a class, got MyAttention."
    assert judge("06.3", right)[0] == "right"


@pytest.mark.chapter("06")
def test_joined_halves_are_attention_over_all_keys():
    """06.4 gives what is kept of each half; its right answer is what one softmax over all scores would give."""
    from shared.exercises.attention import _summary

    rng = np.random.default_rng(0)
    for shift in (0.0, 800.0):
        scores, values = rng.normal(size=8), rng.normal(size=(8, 2))
        scores[:5] += shift
        weights = np.exp(scores - scores.max())
        joined = EXERCISES["06.4"].right(*_summary(scores[:5], values[:5]), *_summary(scores[5:], values[5:]))
        np.testing.assert_allclose(joined, weights @ values / weights.sum(), rtol=1e-12)


@pytest.mark.chapter("01")
def test_an_error_that_is_expected_gets_advice():
    import torch

    def constant(x, w):
        x = x.detach().requires_grad_()
        (first,) = torch.autograd.grad((w * x**3).sum(), x)
        return torch.autograd.grad((first**2).sum(), x)[0]

    verdict, message = exercises.judge("01.6", constant)
    assert verdict == "wrong" and "create_graph=True" in message


@pytest.mark.chapter("01")
@pytest.mark.tensorflow
def test_a_tape_that_does_not_watch_gets_advice():
    import tensorflow as tf

    def unwatched(kernel, x, y, rate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ kernel - y) ** 2)
        return kernel - rate * tape.gradient(loss, kernel)

    verdict, message = exercises.judge("01.8", unwatched)
    assert verdict == "wrong" and "tape" in message


def test_an_exercise_that_has_moved_stays_done(capsys):
    assert set(exercises.MOVED.values()) <= set(EXERCISES) and not set(exercises.MOVED) & set(EXERCISES)
    exercises._progress_file().write_text('["09.9", "09.1"]')
    assert exercises._done() == ["17.6", "09.1"]
    exercises.progress("pytorch")
    out = capsys.readouterr().out.split()
    assert "17.2" in out and "17.6" not in out and "09.1" not in out
    with pytest.raises(ValueError, match=r"exercise 09\.9 is now 17\.6"):
        exercises.check("09.9", 1)


@pytest.mark.parametrize("content", ["", "{", '[["09.3"]]', "[{}]", "7"])
def test_a_progress_file_that_is_damaged_counts_for_nothing(content):
    exercises._progress_file().write_text(content)
    assert exercises._done() == []


def test_an_exercise_knows_its_notebook():
    asked = {}
    for path in notebooks.notebooks():
        for cell in nbformat.read(path, 4).cells:
            if cell.cell_type == "code":
                asked |= dict.fromkeys(re.findall(r'\bcheck\("(\d\d\.\d+)"', cell.source), path.stem)
    asked.pop("06.2")  # the map asks it, too
    assert asked == {name: exercises._find(name).track for name in EXERCISES if name != "06.2"}


def test_progress_is_counted_by_notebook_and_by_route(capsys):
    exercises._progress_file().write_text('["06.1", "06.6", "06.8", "06.10"]')
    exercises.progress()
    line = next(each for each in capsys.readouterr().out.splitlines() if each.startswith("06"))
    assert line.split(None, 2)[2] == "NumPy 1 of 4, PyTorch 1 of 2, Keras 1 of 2, compare 1 of 1"
    for track, expected in (
        ("numpy", "1 of 4 done, open: 06.2 06.3 06.4"),
        ("pytorch", "3 of 7 done, open: 06.2 06.3 06.4 06.7"),
    ):
        exercises.progress(track)
        line = next(each for each in capsys.readouterr().out.splitlines() if each.startswith("06"))
        assert line.split(None, 2)[2] == expected
    with pytest.raises(ValueError, match="track"):
        exercises.progress("compare")
