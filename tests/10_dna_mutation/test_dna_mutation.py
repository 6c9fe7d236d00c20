"""Chapter 10: the first whole model, in each track and across the three, against a process that is known exactly."""

from functools import partial

import keras
import numpy as np
import pandas
import pytest
import torch
from scipy.special import softmax

import shared.keras.dna_mutation as keras_track
import shared.numpy.dna_mutation as numpy_track
import shared.pytorch.dna_mutation as pytorch_track
from shared import dna, laws, parity
from shared.arrays import as_numpy
from shared.frameworks.weights import get_weights, load_weights, save_weights, set_weights
from shared.keras.embeddings import TokenAndPositionEmbedding
from shared.keras.encoder import TransformerBlock
from shared.numpy.training import AdamW, train, warmup_schedule

TRACKS = {"numpy": numpy_track, "pytorch": pytorch_track, "keras": keras_track}
SMALL = {"max_length": 10, "vocab_size": 9, "d_model": 8, "num_heads": 2, "d_ff": 12, "num_layers": 2}
IN_KERAS = {
    "max_length": "maxlen",
    "d_model": "embed_dim",
    "d_ff": "ff_dim",
    "num_layers": "num_transformer_blocks",
    "dropout": "dropout_rate",
}
TEXTS = ["ACGTTCGA", "CGA", "TTACGRACGT"]


def call(model, tokens: np.ndarray) -> np.ndarray:
    if isinstance(model, pytorch_track.MutationModel):
        with torch.no_grad():
            return as_numpy(model(torch.from_numpy(tokens)))
    return as_numpy(model(tokens))


def make(track: str, rng: int | None = None, **changed):
    """A model of a track, by the course's names of the arguments: a class in two of them, a function in Keras."""
    arguments = SMALL | changed
    if track == "keras":
        return keras_track.build_model(**{IN_KERAS.get(name, name): value for name, value in arguments.items()})
    if track == "pytorch":
        return pytorch_track.MutationModel(**arguments)
    return numpy_track.MutationModel(**arguments, rng=rng)


def twins() -> dict:
    """The three with the same weights, in float32 where they train."""
    models = {
        "numpy": make("numpy", rng=0).astype(np.float32).eval(),
        "pytorch": make("pytorch").eval(),
        "keras": make("keras"),
    }
    for model in models.values():
        set_weights(model, get_weights(models["numpy"]))
    return models


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_numpy_and_pytorch_are_one_model(float64):
    models = (make(track, dropout=0.0) for track in TRACKS)
    parity.compare_modules(*models, inputs={"tokens": dna.tokenize_and_pad(TEXTS)})


@pytest.mark.keras
def test_keras_and_its_twins_agree_in_float32():
    tokens = dna.tokenize_and_pad(TEXTS)
    logits = {name: call(model, tokens) for name, model in twins().items()}
    parity.compare({name: {"logits": value} for name, value in logits.items()}, tolerance=1e-5)


@pytest.mark.keras
def test_keras_ignores_padding():
    """A batch of both lengths gives the logits of NumPy's batch of one. (Keras' model takes sequences of maxlen alone.)"""
    models, texts = twins(), ["TTACATAC", "ACGTACGTAC"]
    alone = call(models["numpy"], dna.tokenize_and_pad(texts[:1]))
    padded = dna.tokenize_and_pad(texts)
    np.testing.assert_allclose(call(models["keras"], padded)[:1, :8], alone, atol=1e-5)
    with_g = np.where(padded == dna.PAD_ID, dna.VOCABULARY.index("G"), padded)
    assert np.abs(call(models["keras"], with_g)[:1, :8] - alone).max() > 1e-3


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
def test_a_mask_takes_the_place_of_the_models_own(track):
    """With an identity mask a site sees itself alone: changing its neighbor changes nothing."""
    model, tokens = twins()[track], dna.tokenize_and_pad(["ACGTTCGA"])
    changed = tokens.copy()
    changed[0, 3] = 1
    itself = np.eye(8, dtype=bool)[None, None]
    tensor = torch.from_numpy if track == "pytorch" else np.asarray
    with torch.no_grad():
        before, after = (as_numpy(model(tensor(each), tensor(itself))) for each in (tokens, changed))
    moved = np.abs(before - after).max(axis=-1)[0] > 1e-6
    assert moved.tolist() == [site == 3 for site in range(8)]
    assert (np.abs(call(model, tokens) - call(model, changed)).max(axis=-1)[0] > 1e-6).all()


@pytest.mark.keras
def test_keras_loss_is_the_mean_over_letters_because_the_mask_reaches_it():
    model, tokens = make("keras"), dna.tokenize_and_pad(TEXTS, 10)
    targets = np.where(tokens > 0, np.random.default_rng(0).integers(1, 6, tokens.shape), 0)
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    loss, accuracy = model.evaluate(tokens, targets, verbose=0)
    logits, real = call(model, tokens).astype(float), tokens > 0
    cost = -np.log(softmax(logits, axis=-1))[np.arange(3)[:, None], np.arange(10), targets]
    assert loss == pytest.approx(cost[real].mean(), abs=1e-5)
    assert accuracy == pytest.approx((logits.argmax(axis=-1) == targets)[real].mean(), abs=1e-6)


@pytest.mark.parametrize("source", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_load_what_another_saved(source, tmp_path):
    model, tokens = make(source, rng=1), dna.tokenize_and_pad(TEXTS)
    model = model if source == "keras" else model.eval()
    save_weights(model, tmp_path / "weights.safetensors")
    expected, sequences = call(model, tokens), TRACKS[source].predict_sequence(model, TEXTS)
    for target, fresh in twins().items():
        load_weights(fresh, tmp_path / "weights.safetensors")
        np.testing.assert_allclose(call(fresh, tokens), expected, atol=1e-5)
        assert TRACKS[target].predict_sequence(fresh, TEXTS) == sequences


@pytest.mark.keras
def test_keras_model_is_saved_and_loaded_without_custom_objects(tmp_path):
    model, tokens = make("keras"), dna.tokenize_and_pad(TEXTS)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert np.array_equal(as_numpy(loaded(tokens)), as_numpy(model(tokens)))
    assert loaded.input_shape == (None, 10)


@pytest.mark.keras
def test_keras_drops_only_in_training():
    model, tokens = make("keras", dropout=0.5), dna.tokenize_and_pad(TEXTS)
    assert not np.array_equal(*(as_numpy(model(tokens, training=True)) for _ in range(2)))
    assert np.array_equal(call(model, tokens), call(model, tokens))


class Oracle:
    """Logits of the exact process, in the place of a trained model."""

    def __init__(self, process):
        self.process = process

    def __call__(self, tokens, *_, **__):
        return np.log(dna.probabilities(self.process, np.asarray(tokens)) + 1e-30)


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_predict_the_most_likely_nucleotide(track, monkeypatch):
    model, oracle = make(track), Oracle(dna.CpGDeamination())
    tensor = torch.as_tensor if track == "pytorch" else np.asarray
    where, name = (model, "predict") if track == "keras" else (type(model), "forward")

    def answer(*given, **_):
        return tensor(oracle(as_numpy(given[-1])).astype(np.float32))

    monkeypatch.setattr(where, name, answer)
    predict = TRACKS[track].predict_sequence
    assert predict(model, "acgt") == "ATGT"
    assert predict(model, ["ACGT", "C", "CCGG", "GCGCGR"]) == ["ATGT", "C", "CTGG", "GTGTGR"]


@pytest.mark.parametrize("track", TRACKS)
@pytest.mark.keras
def test_keras_and_the_others_never_predict_padding_or_a_special_token(track):
    model = make(track)
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
    model = make(track, dropout=0.5)
    assert TRACKS[track].predict_sequence(model.train(), TEXTS) == TRACKS[track].predict_sequence(model, TEXTS)
    assert model.training and model.encoder.training
    model.encoder.eval()
    TRACKS[track].predict_sequence(model, TEXTS)
    assert model.training and not model.encoder.training
    TRACKS[track].predict_sequence(model.eval(), TEXTS)
    assert not model.training


@pytest.mark.keras
@pytest.mark.tensorflow
def test_keras_runs_the_pipeline_of_the_document_that_the_chapter_grew_from(tmp_path):
    """Its own functions and calls, as it writes them (softmax, one-hot targets), on the course's two layers."""
    vocab_map = {token: number for number, token in enumerate(dna.VOCABULARY)}
    inv_vocab_map = {number: token for token, number in vocab_map.items()}

    def tokenize_and_pad(sequences, vocab_map, maxlen):
        tokenized = [[vocab_map[token] for token in sequence] for sequence in sequences]
        return keras.utils.pad_sequences(tokenized, maxlen=maxlen, padding="post", truncating="post")

    def build_model(maxlen, vocab_size, embed_dim, num_heads, ff_dim, num_transformer_blocks, dropout_rate=0.1):
        inputs = keras.layers.Input(shape=(maxlen,))
        x = TokenAndPositionEmbedding(maxlen, vocab_size, embed_dim)(inputs)
        for _ in range(num_transformer_blocks):
            x = TransformerBlock(embed_dim, num_heads, ff_dim, rate=dropout_rate)(x)
        outputs = keras.layers.Dense(vocab_size, activation="softmax")(x)
        return keras.Model(inputs=inputs, outputs=outputs)

    def predict_sequence(input_text, model, vocab_map, inv_vocab_map, maxlen):
        padded = tokenize_and_pad([input_text], vocab_map, maxlen)
        predicted = np.argmax(model.predict(padded, verbose=0), axis=-1)
        return "".join(inv_vocab_map[index] for index in predicted[0])

    pairs = dna.simulate(dna.AToG(p=0.6), 200, (5, 10), seed=0)
    pairs.to_csv(tmp_path / "simulated_data.csv", index=False)
    df = pandas.read_csv(tmp_path / "simulated_data.csv")
    x = tokenize_and_pad(df["ancestor"].tolist(), vocab_map, 10)
    y = keras.utils.to_categorical(tokenize_and_pad(df["descendant"].tolist(), vocab_map, 10), len(vocab_map))
    model = build_model(10, len(vocab_map), 16, 2, 32, num_transformer_blocks=1)
    metrics = ["accuracy", keras.metrics.Precision(), keras.metrics.Recall()]
    model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=metrics)
    validation = (x[160:], y[160:])
    history = model.fit(x[:160], y[:160], batch_size=64, epochs=2, validation_data=validation, verbose=0)
    assert history.history["val_loss"][1] < history.history["val_loss"][0]
    model.save(tmp_path / "transformer_model.keras")
    layers = {"TokenAndPositionEmbedding": TokenAndPositionEmbedding, "TransformerBlock": TransformerBlock}
    with keras.utils.custom_object_scope(layers):
        loaded = keras.models.load_model(tmp_path / "transformer_model.keras")
    assert predict_sequence("ATGCG", loaded, vocab_map, inv_vocab_map, 10).strip()
    assert len(keras_track.predict_sequence(loaded, "ATGCG")) == 5


def test_training_leaves_the_plateau_and_approaches_the_optimum():
    """A shorter run than the chapter's, of another seed: below the bound that a model without attention cannot pass."""
    process = dna.CpGDeamination()
    model = make("numpy", rng=3, max_length=64, d_model=32, d_ff=64, num_layers=1, dropout=0.0)
    model.embedding.positions.value *= np.sqrt(32)
    model = model.astype(np.float32)
    optimizer = AdamW(model, warmup_schedule(1e-2, 100, 800))
    train(model, optimizer, lambda step: dna.sample_tokens(process, 32, (1, 64), (5, step)), 800, ignore_index=0)
    held_out, _ = dna.sample_tokens(process, 128, (1, 64), (6, 0))
    reached = dna.score(process, held_out, softmax(model(held_out).astype(float), axis=-1)).cross_entropy
    assert reached < 1.02 * dna.optimum(process, held_out).cross_entropy
    assert reached < 0.85 * dna.per_site_optimum(process, held_out).cross_entropy


# Bad input


@pytest.mark.keras
def test_keras_builds_no_model_of_wrong_sizes():
    """As the signature says them; the block calls dropout_rate its rate."""
    arguments = {IN_KERAS.get(name, name): value for name, value in SMALL.items()}
    wrong = [("num_heads", 3, ValueError), ("dropout_rate", "0.1", TypeError)]
    for name, value, error in (*wrong, *laws.wrong_sizes(keras_track.build_model)):
        names = (name,) if error is TypeError else (name, name.removeprefix("dropout_"))
        finding = laws.refuses(partial(keras_track.build_model, **arguments | {name: value}), error, names)
        assert finding, finding


@pytest.mark.parametrize("track", ["numpy", "pytorch", pytest.param("keras", marks=pytest.mark.keras)])
def test_predictions_need_a_model_and_letters(track):
    predict, model = TRACKS[track].predict_sequence, make(track)
    for given, error, name in (
        ((model, ["ACGT", ""]), ValueError, "sequence"),
        ((model, "A" * 11), ValueError, "max_length"),
        ((model, 7), TypeError, "sequence"),
        ((None, "ACGT"), TypeError, "model"),
        ((make(track, vocab_size=6), "ACGT"), ValueError, "model"),
    ):
        with pytest.raises(error, match=rf"^([^;\n]*\b)?{name}\b"):  # other arrays stand behind a semicolon
            predict(*given)


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
def test_a_mask_is_boolean(track):
    tensor = torch.from_numpy if track == "pytorch" else np.asarray
    with pytest.raises(TypeError, match=r"\bmask\b"):
        make(track)(tensor(dna.tokenize_and_pad(TEXTS)), tensor(np.ones((1, 1, 1, 10))))
