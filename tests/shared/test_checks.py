"""The checks that every public function shares: each error names the argument that is wrong."""

import types

import numpy as np
import pytest

from shared import checks, dna, grammar, vocabularies
from shared.checks import text
from shared.data import text as data_text
from shared.files import check_path
from shared.frameworks import checkpoints, history, pretrained, weights

REFUSED = [
    (lambda: checks.check_positive(d_model=0), ValueError, "d_model"),
    (lambda: checks.check_positive(d_model=2**70), ValueError, "d_model"),
    (lambda: checks.check_positive(d_model=2.0), TypeError, "d_model"),
    (lambda: checks.check_positive(d_model=True), TypeError, "d_model"),
    (lambda: checks.check_rate(dropout=1), ValueError, "dropout"),
    (lambda: checks.check_rate(dropout=-0.1), ValueError, "dropout"),
    (lambda: checks.check_rate(dropout=float("nan")), ValueError, "dropout"),
    (lambda: checks.check_rate(dropout="0.1"), TypeError, "dropout"),
    (lambda: checks.check_number(0, epsilon=-1), ValueError, "epsilon"),
    (lambda: checks.check_number(0, above=True, epsilon=0), ValueError, "epsilon"),
    (lambda: checks.check_number(0, epsilon=float("inf")), ValueError, "epsilon"),
    (lambda: checks.check_number(0, epsilon="1"), TypeError, "epsilon"),
    (lambda: checks.check_choice(("a", "b"), kind="c"), ValueError, "kind"),
    (lambda: checks.check_divides({"num_heads": 3}, d_model=64), ValueError, "num_heads"),
    (lambda: checks.check_divides({"num_heads": 0}, d_model=64), ValueError, "num_heads"),
    (lambda: checks.check_shape((1,), x=[1]), TypeError, "x"),
    (lambda: checks.check_shape((2, 3), x=np.zeros((2, 3)), y=np.zeros((3, 2))), TypeError, "y"),
    (lambda: checks.check_features(1, x=[1]), TypeError, "x"),
    (lambda: checks.check_features(4, x=np.zeros((2, 4)), y=np.zeros((2, 3))), TypeError, "y"),
    (lambda: checks.check_features(4, x=np.zeros(())), TypeError, "x"),
    (lambda: checks.check_entries(("a", "b"), params={"a": 1}), ValueError, "params lacks b"),
    (lambda: checks.check_tokens(np.array([[9]]), 6), ValueError, "vocabulary"),
    (lambda: checks.check_tokens(np.array([[-1]]), 6), ValueError, "vocabulary"),
    (lambda: checks.check_tokens(np.zeros((1, 80), int), 6, 64), ValueError, "max_length"),
    (lambda: checks.check_tokens(np.zeros((1, 2)), 6), TypeError, "tokens"),
    (lambda: checks.check_tokens([[1]], 6), TypeError, "tokens"),
    (lambda: checks.check_seed([]), TypeError, "seed"),
    (lambda: checks.check_seed((1, True)), TypeError, "seed"),
    (lambda: checks.check_seed((1, -1)), ValueError, "seed"),
    *((lambda seed=seed: checks.check_seed(seed), TypeError, "seed") for seed in (None, True, 0.5, "1", (0, "1"))),
    *((lambda path=path: check_path(path=path), TypeError, "path") for path in (3, None, ["a"], b"a")),
    (lambda: text.check_unicode(alt=1), TypeError, "alt"),
    *((lambda names=names: text.check_texts(names=names), TypeError, "names") for names in ("a", b"a", 3, ["a", 3])),
    *((lambda names=names: text.check_texts(names=names), ValueError, "names") for names in ([], ["\ud800"])),
    (lambda: text.check_range(codons=(5, 3)), ValueError, "codons"),
    (lambda: text.check_range(codons=(0, 3)), ValueError, "codons"),
    (lambda: text.check_range(codons=(1, 2, 3)), TypeError, "codons"),
    (lambda: text.check_range(codons=(1, 2.5)), TypeError, "codons"),
    (lambda: text.check_width([3, 5], 4), ValueError, "max_length"),
    (lambda: text.check_width([3, 5], 5.0), TypeError, "max_length"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    with pytest.raises(error, match=rf"\b{name}\b") as caught:
        call()
    assert "\n" not in str(caught.value)


def test_what_is_right_passes():
    checks.check_positive(d_model=1, num_heads=np.int64(2))
    checks.check_rate(dropout=0, other=0.999)
    checks.check_number(0, weight_decay=0, epsilon=1e-9)
    checks.check_divides({"num_heads": 16}, d_model=64, unknown=None)
    checks.check_shape((2, 3), x=np.zeros((2, 3)))
    checks.check_features(3, x=np.zeros((2, 3)), y=np.zeros(3))
    checks.check_tokens(np.array([[0, 5]]), 6, 2)
    checks.check_tokens(np.zeros((2, 0), int), 6)
    checks.check_seed(0), checks.check_seed(np.array([1, 2]))
    assert text.check_range(codons=[2, 5]) == (2, 5) and text.check_range(codons=4) == (4, 4)
    assert (text.check_width([3, 5], None), text.check_width([3, 5], 5), text.check_width([3], 7)) == (5, 5, 7)


def test_the_values_of_a_traced_tensor_are_not_asked_for():
    import keras

    assert checks.known_values(keras.KerasTensor((2, 3))) is None
    assert checks.known_values(np.arange(3)) is not None
    checks.check_tokens(keras.KerasTensor((None, 3), dtype="int32"), 6)
    with pytest.raises(ValueError, match=r"\bmax_length\b"):
        checks.check_tokens(keras.KerasTensor((None, 3), dtype="int32"), 6, 2)


MODEL = types.SimpleNamespace(named_parameters=lambda: ())  # as one of NumPy's track, without parameters
# What takes a path, by the name of the argument.
TAKES_A_PATH = {
    "write_csv": ("path", lambda path: dna.write_csv(dna.simulate(dna.CpGDeamination(), 2, 3, 0), path)),
    "read_csv": ("path", dna.read_csv),
    "read_fasta": ("path", dna.read_fasta),
    "read_corpus": ("path", grammar.read_corpus),
    "docstrings": ("file", lambda path: data_text.docstrings(file=path)),
    "write_words": ("path", lambda path: vocabularies.write_words(path, ["[PAD]", "[UNK]", "a"], "word")),
    "read_words": ("path", vocabularies.read_words),
    "write_merges": ("path", lambda path: vocabularies.write_merges(path, [])),
    "read_merges": ("path", vocabularies.read_merges),
    "save_arrays": ("path", lambda path: weights.save_arrays({}, path)),
    "load_arrays": ("path", weights.load_arrays),
    "save_weights": ("path", lambda path: weights.save_weights(MODEL, path)),
    "load_weights": ("path", lambda path: weights.load_weights(MODEL, path)),
    "read_checkpoint": ("path", lambda path: checkpoints.read_checkpoint(path, MODEL)),
    "read_pretrained": ("path", lambda path: pretrained.read_pretrained(path, "gpt2")),
    "read_bert": ("path", pretrained.read_bert),
    "read_tokenizer": ("path", pretrained.read_tokenizer),
    "History": ("folder", lambda path: history.History(path, {})),
    "read_history": ("folder", history.read_history),
    "recorded": ("folder", lambda path: history.recorded(path, "seed")),
}


@pytest.mark.parametrize("name", TAKES_A_PATH)
def test_what_is_no_path_is_refused_by_name(name):
    argument, call = TAKES_A_PATH[name]
    with pytest.raises(TypeError, match=f"^{argument}="):
        call(["a"])


def test_a_path_is_a_string_or_made_by_pathlib(tmp_path):
    check_path(path="a", folder=tmp_path)
    with pytest.raises(TypeError, match="^path=3: expected a path, got int$"):
        check_path(path=3)
    checks.check_floats(x=np.zeros(2, ">f4"), y=np.zeros(2, np.float16))
    for wrong in (np.zeros(2, int), np.zeros(2, complex), [1.0], 1.0):
        with pytest.raises(TypeError, match=r"^x (has dtype|is a)\b"):
            checks.check_floats(x=wrong)
