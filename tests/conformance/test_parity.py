"""The proofs themselves: a difference out of tolerance raises, and a broken gradient is found."""

import re
from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn

import shared.keras.attention as keras_attention
import shared.keras.embeddings as keras_embeddings
import shared.keras.feed_forward as keras_feed_forward
import shared.keras.models as keras_models
import shared.numpy.models as numpy_models
import shared.pytorch.models as pytorch_models
from shared import lesson_code, parity, side_by_side, timing

pytestmark = pytest.mark.chapter("02", "05", "06", "07")

SIZES = {"in_features": 3, "hidden_features": 4, "out_features": 2}


def test_equal_is_equal_and_a_difference_raises(rng):
    a = rng.normal(size=(2, 3))
    report = parity.compare({"one": {"a": a}, "two": {"a": torch.from_numpy(a)}, "three": {"a": a + 1e-12}})
    assert [row.exact for row in report.rows] == [True, False]
    assert all(row.close for row in report.rows) and 0 < report.rows[1].max_difference < 1e-11
    with pytest.raises(AssertionError, match=r"\ba\b.* 1\.0e-06"):
        parity.compare({"one": {"a": a}, "two": {"a": a + 1e-6}})


def test_shapes_and_names_must_be_the_same(rng):
    a = rng.normal(size=(2, 3))
    with pytest.raises(AssertionError, match=r"\ba\b.*\(3, 2\).*\(2, 3\)"):
        parity.compare({"one": {"a": a}, "two": {"a": a.T}})
    with pytest.raises(AssertionError, match="names"):
        parity.compare({"one": {"a": a}, "two": {"b": a}})


def test_what_is_shown_is_a_bound(rng):
    a = rng.normal(size=(2, 3))
    report = parity.compare({"one": {"a": a}, "two": {"a": a + 1e-12}}, tolerance=1e-8)
    assert "below 1e-8" in repr(report) and "below 1e-8" in report._repr_html_()
    assert "e-12" not in repr(report) and "e-13" not in repr(report)
    assert set(report.to_frame()) == {"name", "against", "shape", "exact", "close", "max_difference"}


def test_nan_is_never_close():
    with pytest.raises(AssertionError, match=r"\ba\b"):
        parity.compare({"one": {"a": np.zeros(2)}, "two": {"a": np.array([0, np.nan])}})


def test_numerical_gradient(rng):
    x = rng.normal(size=(3, 2))
    before = x.copy()
    assert np.allclose(parity.numerical_gradient(lambda: float((x**3).sum()), x), 3 * x**2, atol=1e-8)
    assert np.array_equal(x, before)


class Broken(numpy_models.MLP):
    """Forgets that the ReLU was at zero somewhere."""

    def backward(self, grad_output):
        return self.hidden.backward(self.readout.backward(grad_output))


class Forgetful(numpy_models.Linear):
    """Leaves the bias without a gradient."""

    def backward(self, grad_output):
        kept = self.bias.grad.copy()
        result = super().backward(grad_output)
        self.bias.grad[...] = kept
        return result


def test_a_broken_backward_is_found(rng):
    x = rng.normal(size=(5, 3))
    with pytest.raises(AssertionError, match=r"hidden\.kernel.*finite differences"):
        parity.check_backward(Broken(**SIZES, rng=0), {"x": x}, pytorch_models.MLP(**SIZES))
    with pytest.raises(AssertionError, match=r"\bbias\b"):
        parity.check_backward(Forgetful(3, 2, 0), {"x": x}, nn.Linear(3, 2))


def test_closed_forms_are_checked(rng):
    x = rng.normal(size=(5, 3))
    with pytest.raises(AssertionError, match=r"\bbias\b.*closed form"):
        parity.check_backward(
            numpy_models.Linear(3, 2, 0), {"x": x}, nn.Linear(3, 2), {"bias": lambda grad: grad.mean(axis=0)}
        )


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_twins_that_differ_are_found(float64, rng):
    x = rng.normal(size=(5, 3))

    class Tanh(keras_models.MLP):
        def call(self, x):
            import keras

            return self.readout(keras.ops.tanh(self.hidden(x)))

    with pytest.raises(AssertionError, match="output.*Keras"):
        parity.compare_modules(numpy_models.MLP(**SIZES, rng=0), pytorch_models.MLP(**SIZES), Tanh(**SIZES), {"x": x})
    with pytest.raises(AssertionError, match=r"hidden\.kernel.*PyTorch"):
        parity.compare_modules(Broken(**SIZES, rng=0), pytorch_models.MLP(**SIZES), keras_models.MLP(**SIZES), {"x": x})


def test_source_is_without_docstrings():
    code = side_by_side.source("numpy", "models", "Linear")
    assert '"""' not in code and "self.kernel.grad +=" in code and "Glorot" not in code


def test_cost_counts_parameters_and_lines():
    keras_mlp = keras_models.MLP(**SIZES)
    keras_mlp.build((None, 3))
    models = {"numpy": numpy_models.MLP(**SIZES, rng=0), "pytorch": pytorch_models.MLP(**SIZES), "keras": keras_mlp}
    row = side_by_side.cost("models", {"MLP": models}).loc["MLP"]
    assert row["parameters"] == 3 * 4 + 4 + 4 * 2 + 2
    assert row["lines, PyTorch"] < row["lines, NumPy"]
    models["pytorch"] = pytorch_models.MLP(3, 5, 2)
    with pytest.raises(AssertionError, match="MLP"):
        side_by_side.cost("models", {"MLP": models})


def test_a_comment_is_no_line_wherever_it_is():
    code = "def f(\n    x: int,\n    y: int,\n):\n    z = x\n    return z + y"
    assert lesson_code.count_lines(code) == 3  # the signature is one
    assert (
        lesson_code.count_lines(
            code.replace("    z", "    # 1 a\n    z").replace("    return", "    # 2 b\n    return")
        )
        == 3
    )


def test_times_are_taken_in_turn(monkeypatch):
    monkeypatch.delenv("TIMINGS", raising=False)
    calls = []
    times = timing.medians({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=3)
    assert "".join(calls) == "abababab" and set(times) == {"a", "b"}
    assert all(len(each) == 3 and min(each) > 0 for each in times.values())


def test_where_no_times_are_compared_each_function_runs_once(monkeypatch):
    monkeypatch.setenv("TIMINGS", "once")
    calls = []
    times = timing.medians({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeats=3)
    assert "".join(calls) == "ab" and all(len(each) == 1 and each[0] > 0 for each in times.values())


def check_linear(closed_forms):
    parity.check_backward(numpy_models.Linear(3, 2, 0), {"x": np.ones((5, 3))}, nn.Linear(3, 2), closed_forms)


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: parity.numerical_gradient(lambda: 0.0, np.ones(2, np.float32)), TypeError, "array"),
        (lambda: check_linear({"biass": lambda grad: grad}), ValueError, "closed_forms"),
        (lambda: side_by_side.source("numpy", "models", "Linaer"), ValueError, "name"),
        (lambda: timing.medians({}, repeats=0), ValueError, "repeats"),
    ],
)
def test_what_is_refused_is_named(call, error, name):
    with pytest.raises(error, match=rf"\b{name}\b"):
        call()


def needed_operations(function) -> Counter:
    """How many operations of each type TensorFlow runs for what a compiled function returns."""
    graph = function.get_concrete_function().graph
    waiting, seen = [output.op for output in graph.outputs], {}
    while waiting:
        operation = waiting.pop()
        if operation.name not in seen:
            seen[operation.name] = operation.type
            waiting += [each.op for each in operation.inputs] + list(operation.control_inputs)
    return Counter(seen.values())


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", ["embeddings", "FeedForward", "attention"])
def test_forward_and_backward_in_keras_runs_all_of_the_forward_pass(name):
    import tensorflow as tf

    x = [tf.random.normal((2, 5, 8))]
    if name == "embeddings":
        layer, x = keras_embeddings.TokenAndPositionEmbedding(8, 11, 8), [tf.constant([[1, 2, 3]])]
    elif name == "FeedForward":
        layer = keras_feed_forward.FeedForward(8, 16, dtype="float32")
    else:
        layer, x = keras_attention.MultiHeadAttention(8, 2, dtype="float32"), 3 * x
    output = layer(*x)
    forward, both = timing.keras_passes(layer, x, np.ones(output.shape, output.numpy().dtype))
    forward, both = needed_operations(forward), needed_operations(both)
    work = {type: number for type, number in forward.items() if re.search("MatMul|Einsum|Gather|Softmax|Erf", type)}
    assert work and all(both[type] >= number for type, number in work.items()), (forward, both)
    assert sum(both.values()) > sum(forward.values())
    np.testing.assert_allclose(
        timing.keras_passes(layer, x, np.ones(output.shape, output.numpy().dtype))[1]()[0], output, rtol=1e-6
    )
