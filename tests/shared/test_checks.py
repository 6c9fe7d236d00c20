"""The checks that every public function shares: each error names the argument, what came and what was expected."""

import numpy as np
import pytest

from shared import checks


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: checks.check_positive(d_model=0), ValueError, "d_model=0: expected at least 1"),
        (lambda: checks.check_positive(d_model=2**70), ValueError, "d_model="),
        (lambda: checks.check_positive(d_model=2.0), TypeError, "d_model=2.0: expected a whole number, got float"),
        (lambda: checks.check_positive(d_model=True), TypeError, "d_model=True: expected a whole number, got bool"),
        (lambda: checks.check_rate(dropout=1), ValueError, r"dropout=1: expected a rate in \[0, 1\)"),
        (lambda: checks.check_rate(dropout=-0.1), ValueError, "dropout=-0.1"),
        (lambda: checks.check_rate(dropout=float("nan")), ValueError, "dropout=nan"),
        (lambda: checks.check_rate(dropout="0.1"), TypeError, "dropout='0.1': expected a number, got str"),
        (lambda: checks.check_choice(("a", "b"), kind="c"), ValueError, "kind='c': expected one of 'a', 'b'"),
        (lambda: checks.check_heads(64, 3), ValueError, "num_heads=3 does not divide d_model=64"),
        (lambda: checks.check_array(x=[1]), TypeError, "x is a list: expected an array"),
        (
            lambda: checks.check_shape((2, 3), x=np.zeros((3, 2))),
            ValueError,
            r"x has shape \(3, 2\): expected \(2, 3\)",
        ),
        (lambda: checks.check_entries(("a", "b"), params={"a": 1}), ValueError, "params lacks b: expected a, b"),
        (
            lambda: checks.check_features(4, x=np.zeros((2, 3))),
            ValueError,
            r"x has shape \(2, 3\): expected 4 features",
        ),
        (lambda: checks.check_features(4, x=np.zeros(())), ValueError, "expected 4 features"),
        (lambda: checks.check_tokens(np.array([[9]]), 6), ValueError, "token id 9 is outside the vocabulary of 6"),
        (lambda: checks.check_tokens(np.array([[-1]]), 6), ValueError, "token id -1 is outside the vocabulary of 6"),
        (lambda: checks.check_tokens(np.zeros((1, 80), int), 6, 64), ValueError, "length 80 is over max_length=64"),
        (lambda: checks.check_tokens(np.zeros((1, 2)), 6), TypeError, "tokens have dtype float64"),
        (lambda: checks.check_tokens([[1]], 6), TypeError, "tokens is a list: expected an array"),
        (lambda: checks.check_mask(np.ones((2, 2)), 2, 2), TypeError, "mask has dtype float64: expected booleans"),
        (lambda: checks.check_mask(np.ones((3, 2), bool), 2, 2), ValueError, r"mask has shape \(3, 2\)"),
        (lambda: checks.check_mask(np.ones((1, 2, 2), bool), 2, 2), ValueError, r"mask has shape \(1, 2, 2\)"),
        (lambda: checks.check_range(codons=(5, 3)), ValueError, r"codons=\(5, 3\): expected \(shortest, longest\)"),
        (lambda: checks.check_range(codons=(0, 3)), ValueError, "codons=0: expected at least 1"),
        (lambda: checks.check_range(codons=(1, 2, 3)), TypeError, r"codons=\(1, 2, 3\): expected a whole number"),
        (lambda: checks.check_seed([]), TypeError, r"seed=\[\]: expected a whole number or a sequence"),
        (lambda: checks.check_seed((1, True)), TypeError, r"seed=\(1, True\): expected a whole number"),
        (lambda: checks.check_seed((1, -1)), ValueError, r"seed=\(1, -1\): expected no number below 0"),
        (lambda: checks.check_width([3, 5], 4), ValueError, "length 5 is over max_length=4"),
        (lambda: checks.check_width([3, 5], 5.0), TypeError, "max_length=5.0: expected a whole number"),
    ],
)
def test_what_is_wrong_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_is_right_passes():
    checks.check_positive(d_model=1, num_heads=np.int64(2))
    checks.check_rate(dropout=0, other=0.999)
    checks.check_heads(64, 16)
    checks.check_tokens(np.array([[0, 5]]), 6, 2)
    checks.check_tokens(np.zeros((2, 0), int), 6)
    assert checks.check_range(codons=[2, 5]) == (2, 5) and checks.check_range(codons=4) == (4, 4)
    checks.check_seed(0), checks.check_seed(np.array([1, 2]))
    assert (checks.check_width([3, 5], None), checks.check_width([3, 5], 5), checks.check_width([3], 7)) == (5, 5, 7)
    checks.check_mask(None, 1)
    checks.check_mask(np.ones((1, 1, 3), bool), 4, 2, 3)
    checks.check_mask(np.ones((2, 3), bool), None, 2, 3)


def test_the_values_of_a_traced_tensor_are_not_asked_for():
    import keras

    assert checks.known_values(keras.KerasTensor((2, 3))) is None
    assert checks.known_values(np.arange(3)) is not None
    checks.check_tokens(keras.KerasTensor((None, 3), dtype="int32"), 6)
    with pytest.raises(ValueError, match="length 3 is over max_length=2"):
        checks.check_tokens(keras.KerasTensor((None, 3), dtype="int32"), 6, 2)
