"""Chapter 10: the first whole model, in each track and across the three, against a process that is known exactly."""

import keras
import numpy as np
import pytest
import torch
from scipy.special import softmax

import shared
import shared.keras.dna_mutation as keras_track
import shared.numpy.dna_mutation as numpy_track
import shared.pytorch.dna_mutation as pytorch_track
from shared import dna, parity
from shared.frameworks.weights import as_numpy, get_weights, load_weights, save_weights, set_weights
from shared.numpy.training import AdamW, train, warmup_schedule

TRACKS = {"numpy": numpy_track, "pytorch": pytorch_track, "keras": keras_track}
SMALL = {"d_model": 8, "num_heads": 2, "d_ff": 12, "max_length": 10, "num_layers": 2}
TEXTS = ["ACGTTCGA", "CGA", "TTACGRACGT"]


def call(model, tokens: np.ndarray) -> np.ndarray:
    if isinstance(model, pytorch_track.MutationModel):
        with torch.no_grad():
            return as_numpy(model(torch.from_numpy(tokens)))
    return as_numpy(model(tokens))


def twins() -> dict:
    """The three with the same weights, in float32 where they train."""
    models = {
        "numpy": numpy_track.build_model(**SMALL, rng=0).astype(np.float32),
        "pytorch": pytorch_track.build_model(**SMALL).eval(),
        "keras": keras_track.build_model(**SMALL),
    }
    for model in models.values():
        set_weights(model, get_weights(models["numpy"]))
    return models


@pytest.mark.tensorflow
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.keras
def test_keras_numpy_and_pytorch_are_one_model(float64, norm_first):
    models = (module.MutationModel(**SMALL, norm_first=norm_first) for module in TRACKS.values())
    parity.compare_modules(*models, inputs={"tokens": dna.tokenize_and_pad(TEXTS)})


@pytest.mark.parametrize("seed", range(2))
def test_backward_three_ways(seed):
    small = {"d_model": 4, "num_heads": 2, "d_ff": 5, "vocab_size": 6, "max_length": 7}
    tokens = np.random.default_rng(seed).integers(1, 6, size=(3, 6))
    tokens[1, 2:] = 0
    model = numpy_track.MutationModel(**small, rng=seed)
    parity.check_backward(model, {"tokens": tokens}, pytorch_track.MutationModel(**small), seed=seed)


def test_backward_goes_through_the_dropout_of_the_embeddings(rng):
    """The same features dropped at every call: the gradient of the positions is that of finite differences."""
    model = numpy_track.MutationModel(d_model=4, num_heads=2, d_ff=5, vocab_size=6, max_length=7, rng=0)
    model.dropout.rate = 0.5
    tokens, grad_output = dna.tokenize_and_pad(["ACGTCG", "CGA"]), rng.normal(size=(2, 6, 6))

    def objective() -> float:
        model.dropout.rng = np.random.default_rng(1)
        return float((model(tokens) * grad_output).sum())

    objective()
    model.backward(grad_output)
    positions = model.embedding.positions
    np.testing.assert_allclose(positions.grad, parity.numerical_gradient(objective, positions.value), atol=1e-7)


@pytest.mark.keras
def test_keras_and_its_twins_agree_in_float32():
    tokens = dna.tokenize_and_pad(TEXTS)
    logits = {name: call(model, tokens) for name, model in twins().items()}
    parity.compare({name: {"logits": value} for name, value in logits.items()}, tolerance=1e-5)


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_ignore_padding(track):
    model, alone, padded = twins()[track], dna.tokenize_and_pad(["TTACATAC"]), dna.tokenize_and_pad(["TTACATAC"], 10)
    np.testing.assert_allclose(call(model, padded)[:, :8], call(model, alone), atol=1e-5)
    with_g = np.where(padded == dna.PAD_ID, dna.VOCABULARY.index("G"), padded)
    assert np.abs(call(model, with_g)[:, :8] - call(model, alone)).max() > 1e-3


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_take_a_mask_instead(track):
    """With an identity mask a site sees itself alone: changing its neighbour changes nothing."""
    model, tokens = twins()[track], dna.tokenize_and_pad(["ACGTTCGA"])
    changed = tokens.copy()
    changed[0, 3] = 1
    itself = np.eye(8, dtype=bool)[None, None]
    if track == "pytorch":
        with torch.no_grad():
            before, after = (as_numpy(model(torch.from_numpy(t), torch.from_numpy(itself))) for t in (tokens, changed))
    else:
        before, after = (as_numpy(model(t, mask=itself)) for t in (tokens, changed))
    moved = np.abs(before - after).max(axis=-1)[0] > 1e-6
    assert moved.tolist() == [site == 3 for site in range(8)]
    assert (np.abs(call(model, tokens) - call(model, changed)).max(axis=-1)[0] > 1e-6).all()


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_start_as_the_text_says(track):
    shared.set_seed(0)
    rng = {"rng": 0} if track == "numpy" else {}
    model = TRACKS[track].build_model(d_model=64, d_ff=128, **rng)
    weights = get_weights(model)
    for name, array in weights.items():
        if name.endswith("kernel"):
            limit = (6 / sum(array.shape)) ** 0.5
            assert 0.95 * limit < np.abs(array).max() <= limit * (1 + 1e-6), name
        elif name.endswith("bias"):
            assert not array.any()
    assert abs((weights["embedding.positions"] ** 2).mean() - 0.5) < 1e-3
    assert len({array.tobytes() for name, array in weights.items() if name.endswith("kernel")}) == 7


@pytest.mark.parametrize("source", TRACKS)
@pytest.mark.parametrize("target", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_load_what_another_saved(source, target, tmp_path):
    models = {
        "numpy": numpy_track.build_model(**SMALL, rng=1).astype(np.float32),
        "pytorch": pytorch_track.build_model(**SMALL).eval(),
        "keras": keras_track.build_model(**SMALL),
    }
    tokens = dna.tokenize_and_pad(TEXTS)
    save_weights(models[source], tmp_path / "weights.safetensors")
    expected, sequences = call(models[source], tokens), TRACKS[source].predict_sequence(models[source], TEXTS)
    fresh = models[target]
    load_weights(fresh, tmp_path / "weights.safetensors")
    np.testing.assert_allclose(call(fresh, tokens), expected, atol=1e-5)
    assert TRACKS[target].predict_sequence(fresh, TEXTS) == sequences


@pytest.mark.keras
def test_keras_model_is_saved_and_loaded_without_custom_objects(tmp_path):
    model, tokens = keras_track.build_model(**SMALL), dna.tokenize_and_pad(TEXTS)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert np.array_equal(as_numpy(loaded(tokens)), as_numpy(model(tokens)))
    assert loaded.get_config() == model.get_config() and loaded.get_config()["max_length"] == 10


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_drop_only_in_training(track):
    shared.set_seed(0)
    model = TRACKS[track].build_model(**SMALL, dropout=0.5)
    tokens = dna.tokenize_and_pad(TEXTS)
    tensor = torch.from_numpy if track == "pytorch" else np.asarray
    if track == "keras":
        still, dropping = model, lambda tokens: as_numpy(model(tokens, training=True))
    else:
        still, dropping = model.eval(), lambda tokens: as_numpy(model.train()(tensor(tokens)))
    before = call(still, tokens)
    assert not np.array_equal(dropping(tokens), dropping(tokens))
    if track != "keras":
        model.eval()
    assert np.array_equal(call(still, tokens), before)


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_drop_features_of_the_embeddings(track, monkeypatch):
    model, seen = TRACKS[track].build_model(**SMALL, dropout=0.5), []

    def spy(self, x, *_, **__):
        seen.append(as_numpy(x))
        return x

    monkeypatch.setattr(type(model.encoder), "call" if track == "keras" else "forward", spy)
    tokens = dna.tokenize_and_pad(TEXTS)
    if track == "keras":
        model(tokens, training=True)
    else:
        model.train()(torch.from_numpy(tokens) if track == "pytorch" else tokens)
    assert 0.3 < (seen[0] == 0).mean() < 0.7


class Oracle:
    """Logits of the exact process, in the place of a trained model."""

    def __init__(self, process):
        self.process = process

    def __call__(self, tokens, *_, **__):
        return np.log(dna.probabilities(self.process, np.asarray(tokens)) + 1e-30)


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_predict_the_most_likely_nucleotide(track, monkeypatch):
    model, oracle = TRACKS[track].build_model(max_length=10), Oracle(dna.CpGDeamination())
    tensor = {"numpy": np.asarray, "pytorch": torch.as_tensor, "keras": keras.ops.convert_to_tensor}[track]
    name = "call" if track == "keras" else "forward"
    monkeypatch.setattr(
        type(model), name, lambda self, tokens, *_, **__: tensor(oracle(as_numpy(tokens)).astype(np.float32))
    )
    predict = TRACKS[track].predict_sequence
    assert predict(model, "acgt") == "ATGT"
    assert predict(model, ["ACGT", "C", "CCGG", "GCGCGR"]) == ["ATGT", "C", "CTGG", "GTGTGR"]


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_never_predict_padding_or_a_special_token(track):
    model = TRACKS[track].build_model(**SMALL)
    weights = get_weights(model)
    weights["projection.bias"] = np.where(np.isin(np.arange(len(dna.VOCABULARY)), [0, 6, 7, 8]), 100, 0).astype(
        "float32"
    )
    set_weights(model, weights)
    predicted = TRACKS[track].predict_sequence(model, TEXTS)
    assert [len(text) for text in predicted] == [len(text) for text in TEXTS]
    assert set("".join(predicted)) <= set(dna.NUCLEOTIDES)


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
def test_prediction_keeps_the_mode_of_the_model(track):
    model = TRACKS[track].build_model(**SMALL, dropout=0.5)
    assert TRACKS[track].predict_sequence(model.train(), TEXTS) == TRACKS[track].predict_sequence(model, TEXTS)
    assert model.training and model.encoder.training
    TRACKS[track].predict_sequence(model.eval(), TEXTS)
    assert not model.training


def test_training_leaves_the_plateau_and_approaches_the_optimum():
    """A shorter run than the chapter's, of another seed: below the bound that a model without attention cannot pass."""
    process = dna.CpGDeamination()
    model = numpy_track.build_model(rng=3).astype(np.float32)
    optimizer = AdamW(model, warmup_schedule(7e-3, 50, 500), beta_2=0.95)
    train(model, optimizer, lambda step: dna.sample_tokens(process, 32, (1, 64), (5, step)), 500, ignore_index=0)
    held_out, _ = dna.sample_tokens(process, 128, (1, 64), (6, 0))
    reached = dna.score(process, held_out, softmax(model(held_out).astype(float), axis=-1)).cross_entropy
    assert reached < 1.02 * dna.optimum(process, held_out).cross_entropy
    assert reached < 0.85 * dna.per_site_optimum(process, held_out).cross_entropy


# Bad input


def refused_by_every_track(track: str) -> list:
    module, tensor = TRACKS[track], torch.from_numpy if track == "pytorch" else np.asarray

    def model(**arguments):
        return module.build_model(**SMALL | arguments)

    def forward(tokens, mask):
        model()(tensor(tokens), tensor(mask))

    def predict(sequence):
        module.predict_sequence(model(), sequence)

    tokens, mask = dna.tokenize_and_pad(TEXTS), np.ones((1, 10), bool)
    rows = [
        (lambda: model(num_heads=3), ValueError, "num_heads"),
        (lambda: model(d_model=0), ValueError, "d_model"),
        (lambda: model(d_ff=1.5), TypeError, "d_ff"),
        (lambda: model(dropout=1.0), ValueError, "dropout"),
        (lambda: model(dropout=-0.1), ValueError, "dropout"),
        (lambda: model(dropout="a"), TypeError, "dropout"),
        (lambda: model(norm_first="yes"), TypeError, "norm_first"),
        (lambda: model(vocab_size=-1), ValueError, "vocab_size"),
        (lambda: model(max_length=0), ValueError, "max_length"),
        (lambda: model(num_layers=0), ValueError, "num_layers"),
        (lambda: model(pad_id=9), ValueError, "pad_id"),
        (lambda: forward(tokens * 1.0, mask), TypeError, "tokens"),
        (lambda: forward(tokens, mask[0]), TypeError, "mask"),
        (lambda: forward(tokens, mask * 1.0), TypeError, "mask"),
        (lambda: predict("ACXT"), ValueError, "sequences"),
        (lambda: predict(""), ValueError, "sequence"),
        (lambda: predict(["ACGT", ""]), ValueError, "sequence"),
        (lambda: predict("A" * 11), ValueError, "max_length"),
        (lambda: predict(7), TypeError, "sequence"),
        (lambda: module.predict_sequence(None, "ACGT"), TypeError, "model"),
        (lambda: module.predict_sequence(model(vocab_size=6), "ACGT"), ValueError, "model"),
    ]
    return [pytest.param(*row, marks=[pytest.mark.keras] * (track == "keras")) for row in rows]


@pytest.mark.parametrize(("call", "error", "name"), [row for track in TRACKS for row in refused_by_every_track(track)])
def test_what_is_refused_is_named(call, error, name):
    # Other arrays stand behind a semicolon; Keras puts a line and [1m in front of what is raised inside of a call.
    with pytest.raises(error, match=rf"(^|\[1m)([^;\n]*\b)?{name}\b"):
        call()
