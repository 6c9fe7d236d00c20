"""Chapter 13: BERT in each track, across the three, and against the BERT of transformers, written and read."""

import inspect
import json
import re
from pathlib import Path

import keras
import nbformat
import numpy as np
import pytest
import torch
from blocks import norm_of
from dictionaries import assert_same, drawn, values_of
from safetensors.numpy import load_file, save_file
from scipy.special import softmax

import shared
import shared.keras.bert as keras_track
import shared.numpy.bert as numpy_track
import shared.pytorch.bert as pytorch_track
from shared import grammar, masked_words, parity, text
from shared.arrays import as_numpy
from shared.frameworks.masks import IN_KERAS, in_keras
from shared.frameworks.pretrained import read_bert, write_bert
from shared.frameworks.weights import get_weights, set_weights
from shared.numpy.attention import causal_mask, padding_mask
from shared.numpy.encoder import EncoderBlock
from shared.numpy.feed_forward import ACTIVATIONS
from shared.numpy.training import AdamW, cross_entropy, train, warmup_schedule

ROOT = Path(__file__).resolve().parents[2]
TRACKS = {"numpy": numpy_track, "pytorch": pytorch_track, "keras": keras_track}
SMALL = {
    "d_model": 8,
    "num_heads": 2,
    "d_ff": 12,
    "vocab_size": 20,
    "max_length": 10,
    "num_layers": 2,
    "num_segments": 3,
}
LENGTHS = np.array([7, 4, 2])


def cell(track: str, name: str) -> str:
    """The source of a cell of a notebook."""
    notebook = nbformat.read(ROOT / f"notebooks/13_bert/{track}.ipynb", as_version=4)
    return next(each.source for each in notebook.cells if each.id == name)


every_track = pytest.mark.parametrize("track", TRACKS)


def scrambled(model):
    """Every weight random, biases and betas too, so that no mistake hides behind zeros."""
    rng = np.random.default_rng(7)
    weights = {name: rng.normal(scale=0.4, size=value.shape) for name, value in sorted(get_weights(model).items())}
    set_weights(model, {name: value + name.endswith("gamma") for name, value in weights.items()})
    return model


def make(track: str, **changes):
    arguments = SMALL | changes
    if track == "numpy":
        return scrambled(numpy_track.BERTModel(**arguments, rng=0).eval())
    if track == "pytorch":
        return scrambled(pytorch_track.BERTModel(**arguments).double().eval())
    model = keras_track.BERTModel(**arguments)
    model.build((None, None))
    return scrambled(model)


def tensor(track: str, array):
    return torch.tensor(array) if track == "pytorch" else array


def run(model, *arrays, method: str = "__call__", **arguments) -> np.ndarray:
    if isinstance(model, torch.nn.Module) and not isinstance(model, keras.Model):
        arrays = [torch.tensor(array) for array in arrays]
        arguments = {name: torch.tensor(value) for name, value in arguments.items()}
        with torch.no_grad():
            return as_numpy(getattr(model, method)(*arrays, **arguments))
    if isinstance(model, keras.Model):
        arguments = in_keras(model.call, arguments)
    return as_numpy(getattr(model, method)(*arrays, **arguments))


@pytest.fixture
def tokens(rng) -> np.ndarray:
    """(3, 7) ids with padding."""
    ids = rng.integers(5, 20, (3, 7))
    return np.where(np.arange(7) < LENGTHS[:, None], ids, 0)


@pytest.fixture
def segments(rng) -> np.ndarray:
    return rng.integers(0, 3, (3, 7))


# The model: gradients, and the three as one


def test_backward_through_the_pooler(rng, tokens):
    """encode, pool and back again: against autograd, and the gradient reaches embeddings through the first position alone."""
    ours, theirs = make("numpy", pooler=True), make("pytorch", pooler=True)
    set_weights(theirs, get_weights(ours))
    grad_output = rng.normal(size=(3, 8))
    pooled = ours.pool(ours.encode(tokens))
    grad_features = ours.pooler.backward(grad_output)
    assert not grad_features[:, 1:].any() and grad_features[:, 0].all()
    ours.encode_backward(grad_features)
    expected = theirs.pool(theirs.encode(torch.tensor(tokens)))
    np.testing.assert_allclose(pooled, as_numpy(expected), atol=1e-12)
    expected.backward(torch.tensor(grad_output))
    for name, parameter in theirs.named_parameters():
        if name.startswith(("embedding", "pooler")):
            course = name.replace("norm.weight", "norm.gamma").replace("norm.bias", "norm.beta")
            course = course.replace("dense.weight", "dense.kernel").replace("s.weight", "s.embeddings")
            gradient = as_numpy(parameter.grad)
            gradient = gradient.T if course.endswith("kernel") else gradient
            np.testing.assert_allclose(ours.gradients()[course], gradient, atol=1e-11, err_msg=name)


def test_backward_goes_through_the_dropout_of_the_embeddings(rng, tokens, segments):
    model = make("numpy", d_model=4, num_layers=1)
    model.train()
    model.embedding.dropout.rate = 0.5
    grad_output = rng.normal(size=(3, 7, 20))

    def objective() -> float:
        model.embedding.dropout.rng = np.random.default_rng(1)
        return float((model(tokens, segments) * grad_output).sum())

    objective()
    model.zero_grad()
    model.backward(grad_output)
    table = model.embedding.segments.embeddings
    np.testing.assert_allclose(table.grad, parity.numerical_gradient(objective, table.value), rtol=1e-5, atol=1e-5)


def test_the_tied_table_gets_both_gradients_and_is_there_once(rng):
    """A token that is input and target: finite differences of the whole, and neither part alone."""
    model, tokens = make("numpy", num_layers=1), np.array([[5, 6, 5]])
    assert sum(array.shape == (20, 8) for array in model.parameters().values()) == 1
    grad_output = rng.normal(size=(1, 3, 20))
    model(tokens)
    model.backward(grad_output)
    table = model.embedding.tokens.embeddings
    numerical = parity.numerical_gradient(lambda: float((model(tokens) * grad_output).sum()), table.value)
    np.testing.assert_allclose(table.grad, numerical, atol=1e-6)
    both = table.grad.copy()
    table.grad[:] = 0
    model.head.backward(grad_output)
    assert np.abs(both - table.grad)[[5, 6]].max() > 1e-2  # what came by the input
    assert np.array_equal(np.delete(both, [5, 6], 0), np.delete(table.grad, [5, 6], 0))


@every_track
@pytest.mark.keras
def test_keras_and_the_others_have_the_same_weights(track):
    names = list(get_weights(make("numpy")))
    assert sorted(get_weights(make(track))) == sorted(names)
    assert {"embedding.tokens.embeddings", "embedding.positions", "embedding.segments.embeddings"} <= set(names)
    assert {"head.transform.kernel", "head.norm.gamma", "head.bias"} <= set(names)


# What a BERT is: both sides, padding, segments, norms, modes


@every_track
@pytest.mark.keras
def test_keras_and_the_others_see_both_sides(track, tokens):
    """Every real token moves every real position; a causal mask, given, stops that."""
    model, changed = make(track), tokens.copy()
    changed[0, 5] = 5 + (tokens[0, 5] - 4) % 15
    moved = np.abs(run(model, changed) - run(model, tokens)).max(axis=-1)
    assert (moved[0] > 1e-4).all() and not moved[1:].any()
    mask = causal_mask(7)[None, None]
    moved = np.abs(run(model, changed, mask=mask) - run(model, tokens, mask=mask)).max(axis=-1)
    assert (moved[0, :5] < 1e-6).all() and (moved[0, 5:] > 1e-4).all()


@every_track
@pytest.mark.keras
def test_keras_and_the_others_hide_the_padding_that_they_are_told_of(track, tokens):
    """With another pad_id, that token is hidden, and 0 is a token like others."""
    model, changed = make(track, pad_id=3), np.where(tokens == 0, 3, tokens)
    np.testing.assert_allclose(run(model, changed)[1, :4], run(model, changed[1:2, :4])[0], atol=1e-5)
    assert np.abs(run(model, tokens)[1, :4] - run(model, tokens[1:2, :4])[0]).max() > 1e-3


@every_track
@pytest.mark.keras
def test_keras_and_the_others_have_segments(track, tokens, segments):
    model = make(track)
    np.testing.assert_array_equal(run(model, tokens), run(model, tokens, np.zeros_like(tokens)))
    assert np.abs(run(model, tokens, segments) - run(model, tokens)).max() > 1e-2


@every_track
@pytest.mark.keras
def test_keras_and_the_others_do_not_scale_and_normalize_the_sum(track, tokens, segments):
    """The embedding by hand, from its weights: a plain sum of three rows, normalized with an eps of 1e-12."""
    model = make(track)
    w = {name.removeprefix("embedding."): array for name, array in get_weights(model).items()}
    x = w["tokens.embeddings"][tokens] + w["positions"][:7] + w["segments.embeddings"][segments]
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    x = x * w["norm.gamma"] + w["norm.beta"]
    given = [torch.tensor(each) if track == "pytorch" else each for each in (tokens, segments)]
    np.testing.assert_allclose(as_numpy(model.embedding(*given)), x, atol=1e-5)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_give_every_norm_its_eps(track):
    for arguments, expected in (({}, 1e-12), ({"eps": 1e-3}, 1e-3)):
        model = make(track, **arguments)
        norms = [model.embedding.norm, model.head.norm]
        for block in model.encoder.blocks:
            norms += [norm_of(block, "attention"), norm_of(block, "feed_forward")]
        assert [getattr(norm, "epsilon" if track == "keras" else "eps") for norm in norms] == [expected] * 6


@every_track
@pytest.mark.keras
def test_keras_and_the_others_have_an_exact_gelu_in_blocks_and_head(track, rng):
    """The head by hand, and the block's activation at a point where the two GELUs differ by 4e-4."""
    model, x = make(track), rng.normal(scale=2, size=(1, 2, 8))
    w = {name.removeprefix("head."): array.astype(float) for name, array in get_weights(model).items()}
    h = ACTIVATIONS["gelu"][0](x @ w["transform.kernel"] + w["transform.bias"])
    h = (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + 1e-12) * w["norm.gamma"] + w["norm.beta"]
    table = w["embedding.tokens.embeddings"]
    if track == "numpy":
        logits = model.head(x, model.embedding.tokens.embeddings)
    elif track == "pytorch":
        logits = model.head(torch.tensor(x), model.embedding.tokens.weight)
    else:
        logits = model.head(x.astype("float32"), model.embedding.token_emb.embeddings)
    np.testing.assert_allclose(as_numpy(logits), h @ table.T + w["bias"], atol=2e-5)
    network = model.encoder.blocks[0].feed_forward
    if track == "keras":
        assert network.activation == "gelu"
    else:
        point = np.array([[2.2]])
        given = torch.tensor(point) if track == "pytorch" else point
        assert abs(as_numpy(network.activate(given)) - ACTIVATIONS["gelu"][0](point)) < 1e-7


@every_track
@pytest.mark.keras
def test_keras_and_the_others_are_post_norm(track, tokens):
    model = make(track)
    assert model.encoder.norm is None
    weights = get_weights(model)
    ones = {
        name: np.ones_like(a) if name.endswith("gamma") else 0 * a if name.endswith("beta") else a
        for name, a in weights.items()
    }
    set_weights(model, ones)
    features = run(model, tokens, method="encode")
    np.testing.assert_allclose(features.std(axis=-1), 1, atol=1e-4)


@pytest.mark.keras
def test_keras_model_is_saved_and_loaded_without_custom_objects(tmp_path, tokens, segments):
    model = make("keras", pooler=True, dropout=0.1, eps=1e-6)
    model.save(tmp_path / "bert.keras")
    loaded = keras.saving.load_model(tmp_path / "bert.keras")
    assert np.array_equal(run(loaded, tokens, segments), run(model, tokens, segments))
    features = run(model, tokens, method="encode")
    assert np.array_equal(run(loaded, features, method="pool"), run(model, features, method="pool"))
    assert loaded.get_config() == model.get_config()


@pytest.mark.keras
def test_keras_functional_model_and_no_implicit_mask(tokens):
    model, inputs = make("keras"), keras.Input((None,), dtype="int32")
    functional = keras.Model(inputs, model(inputs))
    np.testing.assert_allclose(as_numpy(functional(tokens)), run(model, tokens), atol=1e-6)
    assert functional.output_shape == (None, None, 20)
    assert getattr(model(tokens, attention_mask=padding_mask(tokens)), "_keras_mask", None) is None


def test_methods_have_the_same_parameters_in_the_three():
    def parameters(track, name):
        found = inspect.signature(getattr(TRACKS[track].BERTModel, name)).parameters
        found = [each for each in found if each not in ("self", "training")]
        return [IN_KERAS.get(each, each) for each in found]

    for name in ("encode", "pool", "from_pretrained"):
        assert parameters("numpy", name) == parameters("pytorch", name) == parameters("keras", name)


# mask_tokens


def mask(track: str, tokens: np.ndarray, **changes) -> tuple[np.ndarray, np.ndarray]:
    arguments = {"mask_id": 4, "vocab_size": 20, "special_ids": range(5), "seed": 0} | changes
    given = torch.tensor(tokens) if track == "pytorch" else tokens
    if track == "pytorch":
        arguments["generator"] = torch.Generator().manual_seed(arguments.pop("seed"))
    return tuple(as_numpy(each) for each in TRACKS[track].mask_tokens(given, **arguments))


@every_track
@pytest.mark.parametrize("rate", [0.15, 0.4])
@pytest.mark.keras
def test_keras_and_the_others_hide_eighty_ten_ten(track, rate):
    tokens = np.random.default_rng(0).integers(0, 20, (3000, 20))
    inputs, targets = mask(track, tokens, rate=rate)
    chosen, ordinary = targets != -100, tokens >= 5
    assert not (chosen & ~ordinary).any()  # no special token
    np.testing.assert_array_equal(inputs[~chosen], tokens[~chosen])
    np.testing.assert_array_equal(targets[chosen], tokens[chosen])
    n = chosen.sum()
    assert abs(chosen[ordinary].mean() - rate) < 5 * (rate * (1 - rate) / ordinary.sum()) ** 0.5
    for fraction, expected in (
        ((inputs == 4)[chosen].mean(), 0.8),
        ((inputs == tokens)[chosen].mean(), 0.1 + 0.1 / 15),
        (((inputs != 4) & (inputs != tokens))[chosen].mean(), 0.1 * 14 / 15),
    ):
        assert abs(fraction - expected) < 5 * (0.2 / n) ** 0.5
    random_tokens = inputs[chosen & (inputs != 4) & (inputs != tokens)]
    counts = np.bincount(random_tokens, minlength=20)
    assert not counts[:5].any() and counts[5:].min() > 0.3 * counts[5:].max()  # every ordinary token, none special
    # Which tokens are chosen has nothing to do with what they are, nor with their neighbours.
    pairs = chosen[:, 1:] & chosen[:, :-1] & ordinary[:, 1:] & ordinary[:, :-1]
    both = (ordinary[:, 1:] & ordinary[:, :-1]).sum()
    assert abs(pairs.sum() / both - rate**2) < 5 * (rate**2 / both) ** 0.5


@every_track
@pytest.mark.keras
def test_keras_and_the_others_hide_the_same_for_the_same_seed(track, rng):
    tokens = rng.integers(0, 20, (50, 12))
    kept = tokens.copy()
    first, again, other = mask(track, tokens, seed=3), mask(track, tokens, seed=3), mask(track, tokens, seed=4)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[1], other[1])
    np.testing.assert_array_equal(tokens, kept)
    assert first[0].dtype == first[1].dtype == tokens.dtype or keras.backend.backend() == "jax"
    np.testing.assert_array_equal(mask(track, tokens, rate=0.0)[0], tokens)
    shared.set_seed(1)
    np.testing.assert_array_equal(mask(track, tokens, seed=3), first)  # whatever else was drawn before


@every_track
@pytest.mark.keras
def test_keras_and_the_others_hide_ids_of_any_whole_dtype(track):
    """-100, mask_id and the random ids are no numbers of a small dtype: uint8 would make 156 and 43 of -100 and 299."""
    tokens = np.arange(100).reshape(5, 20)
    wanted = mask(track, tokens, rate=0.5, mask_id=299, vocab_size=300, special_ids=[0, 299])
    assert (wanted[0] == 299).any() and (wanted[1] == -100).any()
    for dtype in ("uint8", "int8", "uint16", "int32"):
        found = mask(track, tokens.astype(dtype), rate=0.5, mask_id=299, vocab_size=300, special_ids=[0, 299])
        np.testing.assert_array_equal(found, wanted)


def test_a_generator_that_goes_on_hides_other_words_each_time(rng):
    """In a collate_fn of PyTorch, or a PyDataset of Keras, the next batch, and the same one in the next epoch."""
    tokens = rng.integers(5, 20, (50, 12))
    generator, seeds = torch.Generator().manual_seed(0), keras.random.SeedGenerator(0)
    for hide in (
        lambda: pytorch_track.mask_tokens(torch.tensor(tokens), 4, 20, range(5), generator=generator),
        lambda: keras_track.mask_tokens(tokens, 4, 20, range(5), seed=seeds),
        lambda: pytorch_track.mask_tokens(torch.tensor(tokens), 4, 20, range(5)),
    ):
        first, second = (as_numpy(hide()[1]) for _ in range(2))
        assert 0 < (first != -100).mean() < 0.4 and not np.array_equal(first, second)
    shared.set_seed(1)
    first = pytorch_track.mask_tokens(torch.tensor(tokens), 4, 20, range(5))[1]
    shared.set_seed(1)
    assert torch.equal(pytorch_track.mask_tokens(torch.tensor(tokens), 4, 20, range(5))[1], first)


# The exact predictions


@pytest.fixture(scope="module")
def tokenizer():
    return text.train_tokenizer(grammar.sample(3000, seed=0), "wordpiece", vocab_size=300)


def test_exact_predictions_without_chance_are_those_of_the_grammar(tokenizer):
    """With a tiny rate, what is seen is what stands there, and a gap has the grammar's own distribution."""
    sentence = "the robots near the old tower [MASK] ."
    tokens = text.encode_batch(tokenizer, [sentence])
    targets = np.where(tokens == masked_words.MASK, 1, masked_words.IGNORED)
    exact = masked_words.exact_predictions(tokenizer, tokens, targets, rate=1e-9)[0]
    expected = grammar.masked_word_probabilities(sentence, 6)
    assert abs(exact.sum() - 1) < 1e-12
    for word, probability in expected.items():
        assert abs(exact[tokenizer.token_to_id(word)] - probability) < 1e-6
    assert exact.nonzero()[0].tolist() == sorted(set(exact.nonzero()[0]) & set(masked_words.word_ids(tokenizer)))


def test_exact_predictions_are_the_frequencies_of_a_simulation(tokenizer, monkeypatch):
    """Bayes by counting: many corruptions of short sentences, grouped by what is seen; the words there have the exact frequencies."""
    sentences = ["the owl slept .", "the king slept .", "the owl sleeps .", "the girl slept ."]
    counts = {s: np.exp(grammar.log_probability(s)) for s in sentences}

    def posterior(likelihoods):  # of a language of these four sentences, in place of the grammar's
        index = {word: i for i, word in enumerate(grammar.WORDS)}
        result = np.zeros_like(likelihoods)
        for sentence, prior in counts.items():
            indices = [index[word] for word in sentence.split()]
            weight = prior * np.prod([likelihoods[i, j] for i, j in enumerate(indices)])
            result[range(len(indices)), indices] += weight
        return result / result.sum(axis=1, keepdims=True)

    monkeypatch.setattr(grammar, "posterior", posterior)
    ids = text.encode_batch(tokenizer, sentences)
    rng, size = np.random.default_rng(0), tokenizer.get_vocab_size()
    prior = np.array(list(counts.values()))
    sampled = ids[rng.choice(4, 400_000, p=prior / prior.sum())]
    inputs, targets = numpy_track.mask_tokens(sampled, 4, size, range(5), rate=0.5, seed=1)
    owl, king = (tokenizer.token_to_id(word) for word in ("owl", "king"))
    # The noun is seen as it is or replaced, and chosen; everything else is seen and not chosen.
    for noun in (masked_words.MASK, owl, king):
        seen = (inputs[:, 2] == noun) & (targets[:, 2] != -100) & (targets[:, [1, 3, 4]] == -100).all(axis=1)
        seen &= inputs[:, 3] == tokenizer.token_to_id("slept")
        exact = masked_words.exact_predictions(tokenizer, inputs[seen][:1], targets[seen][:1], rate=0.5)[0]
        # Given the choices too, the others are certain, while the model sees only the inputs: so weigh the simulation by inputs alone.
        same = (inputs == inputs[seen][0]).all(axis=1) & (targets[:, 2] != -100)
        frequency = np.bincount(targets[same, 2], minlength=size) / same.sum()
        assert same.sum() > 150
        assert np.abs(frequency - exact).max() < 5 * (0.25 / same.sum()) ** 0.5
        assert exact[owl] > 0 and exact[king] > 0

        # And by Bayes' rule, sentence by sentence: every token but the noun may have been chosen, the noun was.
        def likelihood(seen: int, word: int, chosen: bool) -> float:
            replaced = 0.8 if seen == masked_words.MASK else 0.1 / (size - 5) + 0.1 * (seen == word)
            return replaced if chosen else 0.5 * replaced + 0.5 * (seen == word)

        expected = np.zeros(size)
        for sentence, words in zip(sentences, ids[:, 1:5]):
            factors = [
                likelihood(seen, word, i == 1) for i, (seen, word) in enumerate(zip(inputs[same][0, 1:5], words))
            ]
            expected[words[1]] += counts[sentence] * np.prod(factors)
        np.testing.assert_allclose(exact, expected / expected.sum(), atol=1e-12)


def test_the_optimum_is_what_sampled_words_cost_the_exact_predictions(tokenizer):
    tokens = text.encode_batch(tokenizer, grammar.sample(300, seed=4))
    inputs, targets = numpy_track.mask_tokens(tokens, 4, tokenizer.get_vocab_size(), range(5), rate=0.3, seed=2)
    exact = masked_words.exact_predictions(tokenizer, inputs, targets, 0.3)
    words = targets[targets != -100]
    np.testing.assert_allclose(exact.sum(axis=1), 1, atol=1e-12)
    nats = -np.log(exact[np.arange(len(words)), words])
    optimum = masked_words.score(exact, exact)
    assert abs(nats.mean() - optimum.cross_entropy) < 4 * nats.std() / len(nats) ** 0.5
    assert abs((exact.argmax(axis=1) == words).mean() - optimum.accuracy) < 4 * (0.25 / len(words)) ** 0.5
    counts = np.bincount(tokens.ravel(), minlength=tokenizer.get_vocab_size())[masked_words.word_ids(tokenizer)]
    alone = masked_words.predictions_without_context(tokenizer, inputs, targets, 0.3, counts)
    np.testing.assert_allclose(alone.sum(axis=1), 1, atol=1e-12)
    assert masked_words.score(exact, alone).cross_entropy > 2 * optimum.cross_entropy
    uniform = np.full_like(exact, 1 / exact.shape[1])
    assert abs(masked_words.score(exact, uniform).cross_entropy - np.log(exact.shape[1])) < 1e-9


def test_short_sentences(tokenizer):
    sentences = masked_words.short_sentences(200, 6, seed=0)
    assert len(sentences) == 200 and max(len(s.split()) for s in sentences) == 6
    assert sentences == masked_words.short_sentences(200, 6, seed=0) != masked_words.short_sentences(200, 6, seed=1)


PREDICTIONS = [  # of "the owl slept .", where owl is to be predicted
    (lambda *arrays: masked_words.exact_predictions(small_tokenizer(), *arrays[1:]), ValueError, "vocabulary"),
    (lambda t, inputs, targets: masked_words.exact_predictions(t, inputs, targets[:, :3]), TypeError, "targets"),
    (lambda t, inputs, targets: masked_words.exact_predictions(t, inputs[:, 1:], targets[:, 1:]), ValueError, "inputs"),
    (
        lambda t, inputs, targets: masked_words.exact_predictions(t, inputs[:, :-1], targets[:, :-1]),
        ValueError,
        "inputs",
    ),
    (lambda t, inputs, targets: masked_words.exact_predictions(t, inputs, 0 * targets - 100), ValueError, "targets"),
    (lambda *arrays: masked_words.exact_predictions(*arrays, 1.0), ValueError, "rate"),
    (lambda *_: masked_words.score(UNIFORM, UNIFORM[:, 1:]), TypeError, "predicted"),
    (lambda *_: masked_words.score(None, UNIFORM), TypeError, "exact"),
    (lambda *_: masked_words.score(UNIFORM, 2 * UNIFORM), ValueError, "predicted"),
    (lambda *_: masked_words.score(UNIFORM[:0], UNIFORM[:0]), ValueError, "exact"),
    (lambda *_: masked_words.short_sentences(5, 3, seed=0), ValueError, "max_words"),
    (lambda *_: masked_words.short_sentences(0, 8, seed=0), ValueError, "num_sentences"),
]
UNIFORM = np.full((2, 4), 0.25)


def small_tokenizer():
    return text.train_tokenizer(grammar.sample(50, seed=0), "wordpiece", vocab_size=80)


@pytest.mark.parametrize(("call", "error", "name"), PREDICTIONS)
def test_what_exact_predictions_refuse_is_named(call, error, name, tokenizer):
    tokens = text.encode_batch(tokenizer, ["the owl slept ."])
    targets = np.where(tokens == tokenizer.token_to_id("owl"), 1, masked_words.IGNORED)
    with pytest.raises(error, match=rf"^[^;]*\b{name}\b"):  # other arrays stand behind a semicolon
        call(tokenizer, tokens, targets)


# Training


def test_training_learns_to_look_at_both_sides(tokenizer):
    """A short run: below the bound of predictions without context, which a model that does not look cannot pass."""
    size = tokenizer.get_vocab_size()
    corpus = text.encode_batch(tokenizer, masked_words.short_sentences(150 * 64, 7, seed=5))
    inputs, targets = numpy_track.mask_tokens(corpus, 4, size, range(5), rate=0.3, seed=5)
    model = numpy_track.BERTModel(48, 4, 96, vocab_size=size, max_length=12, num_layers=1, rng=1).astype(np.float32)
    optimizer = AdamW(model, warmup_schedule(6e-3, 40, 150), beta_2=0.98)
    train(model, optimizer, lambda step: (inputs[step * 64 :][:64], targets[step * 64 :][:64]), 150)
    held_out = text.encode_batch(tokenizer, masked_words.short_sentences(200, 7, seed=6))
    seen, wanted = numpy_track.mask_tokens(held_out, 4, size, range(5), rate=0.3, seed=6)
    exact = masked_words.exact_predictions(tokenizer, seen, wanted, 0.3)
    counts = np.bincount(corpus.ravel(), minlength=size)[masked_words.word_ids(tokenizer)]
    alone = masked_words.score(exact, masked_words.predictions_without_context(tokenizer, seen, wanted, 0.3, counts))

    def score(**arguments) -> float:
        probabilities = softmax(model(seen, **arguments).astype(float), axis=-1)[wanted != -100]
        return masked_words.score(exact, probabilities).cross_entropy

    assert score() < 0.85 * alone.cross_entropy
    assert score(mask=padding_mask(seen) & causal_mask(seen.shape[1])) > 1.1 * score()  # trained to see both sides


# Directories of Hugging Face's


@pytest.fixture(scope="module")
def transformers():
    module = pytest.importorskip("transformers")
    module.utils.logging.disable_progress_bar()
    return module


@pytest.fixture(scope="module")
def settings(transformers):
    return transformers.BertConfig(
        vocab_size=50, hidden_size=24, num_hidden_layers=3, num_attention_heads=4, intermediate_size=40, max_position_embeddings=20,
        type_vocab_size=3, initializer_range=0.3,
    )  # fmt: skip


@pytest.fixture(scope="module")
def reference(transformers, settings, tmp_path_factory):
    """Hugging Face's own model with random weights, biases included, and the directory that it wrote."""
    torch.manual_seed(0)
    model = transformers.BertForPreTraining(settings).eval()
    for parameter in model.parameters():
        if parameter.ndim == 1:
            parameter.data += 0.3 * torch.randn_like(parameter)
    path = tmp_path_factory.mktemp("huggingface") / "bert"
    model.save_pretrained(path)
    return model, path


@pytest.fixture
def texts(rng):
    tokens = rng.integers(1, 50, (3, 12))
    tokens[1, 7:] = tokens[2, 4:] = 0
    return tokens, rng.integers(0, 3, (3, 12))


def expected_of(model, tokens, segments, dtype=torch.float64):
    given = {
        "input_ids": torch.tensor(tokens),
        "attention_mask": torch.tensor(tokens != 0).long(),
        "token_type_ids": torch.tensor(segments),
    }
    with torch.no_grad():
        logits = model.to(dtype)(**given).prediction_logits
        features = model.bert(**given)
    return as_numpy(logits), as_numpy(features.last_hidden_state), as_numpy(features.pooler_output)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_load_a_directory(track, reference, texts):
    model, path = reference
    ours, real = TRACKS[track].BERTModel.from_pretrained(path, pooler=True), texts[0] != 0
    logits, features, pooled = expected_of(model, *texts, torch.float32)
    if track == "numpy":
        ours.astype(np.float32)
    assert np.abs(run(ours, *texts)[real] - logits[real]).max() < 1e-4 * max(1, np.abs(logits).max())
    if track == "keras":
        return
    ours.astype(np.float64) if track == "numpy" else ours.double()
    logits, features, pooled = expected_of(model, *texts)
    assert np.abs(run(ours, *texts)[real] - logits[real]).max() < 1e-9
    mine = run(ours, *texts, method="encode")
    assert np.abs(mine[real] - features[real]).max() < 1e-9
    assert np.abs(run(ours, mine, method="pool") - pooled).max() < 1e-9


@pytest.mark.parametrize("mistake", ["eps", "gelu", "bias", "scale", "causal"])
def test_the_comparison_finds_each_mistake(mistake, reference, texts):
    model, path = reference
    ours, real, arguments = numpy_track.BERTModel.from_pretrained(path), texts[0] != 0, {}
    if mistake == "eps":
        for block in ours.encoder.blocks:
            block.attention_residual.norm.eps = block.feed_forward_residual.norm.eps = 1e-5
    elif mistake == "gelu":
        for block in ours.encoder.blocks:
            block.feed_forward.activate = ACTIVATIONS["gelu_tanh"][0]
    elif mistake == "bias":
        ours.head.bias.value[:] = 0
    elif mistake == "scale":
        ours.embedding.tokens.factor = 24**0.5
    else:
        arguments = {"mask": padding_mask(texts[0]) & causal_mask(12)}
    logits, *_ = expected_of(model, *texts)
    assert np.abs(run(ours, *texts, **arguments)[real] - logits[real]).max() > 1e-6


@every_track
@pytest.mark.keras
def test_keras_and_the_others_load_for_evaluation(track, reference, texts):
    model = TRACKS[track].BERTModel.from_pretrained(reference[1], dropout=0.3)
    assert np.array_equal(run(model, *texts), run(model, *texts))
    if track != "keras":
        assert not model.training and not model.encoder.training
        assert not np.array_equal(run(model.train(), *texts), run(model, *texts))
    assert model.pooler is None


def test_old_names_other_prefixes_and_float16(transformers, settings, reference, texts, tmp_path):
    """gamma and beta, no prefix, position_ids, a copy of the tied table, a bias under its other name: as files on the hub have them."""
    path = reference[1]
    arrays = load_file(path / "model.safetensors")
    assert "cls.predictions.decoder.weight" not in arrays  # tied
    expected = read_bert(path)[1]
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): a
        for name, a in arrays.items()
    }
    old["bert.embeddings.position_ids"] = np.arange(20)[None]
    old["cls.predictions.decoder.weight"] = old["bert.embeddings.word_embeddings.weight"].copy()
    bare = {name.removeprefix("bert."): a for name, a in arrays.items() if name != "cls.predictions.bias"}
    bare["cls.predictions.decoder.bias"] = arrays["cls.predictions.bias"]
    for i, changed in enumerate((old, bare)):
        folder = tmp_path / str(i)
        folder.mkdir()
        (folder / "config.json").write_text((path / "config.json").read_text())
        save_file(changed, folder / "model.safetensors")
        found = read_bert(folder)[1]
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[name], expected[name]) for name in expected)
    half = transformers.BertForMaskedLM(settings).half()
    half.save_pretrained(tmp_path / "half")
    loaded = pytorch_track.BERTModel.from_pretrained(tmp_path / "half")
    assert loaded.head.bias.dtype == torch.float32
    given = {"attention_mask": torch.tensor(texts[0] != 0).long(), "token_type_ids": torch.tensor(texts[1])}
    with torch.no_grad():
        logits = half.float().eval()(torch.tensor(texts[0]), **given).logits
    real = texts[0] != 0
    assert np.abs(run(loaded, *texts) - as_numpy(logits))[real].max() < 1e-4 * logits.abs().max().item()


def test_what_is_written_is_read_here_and_there(transformers, tmp_path, texts):
    model = make("numpy", vocab_size=50, max_length=12, pooler=True)
    arguments = SMALL | {"vocab_size": 50, "max_length": 12, "pad_id": 0, "eps": 1e-7}
    write_bert(tmp_path / "new" / "bert", arguments, get_weights(model))
    found, weights = read_bert(tmp_path / "new" / "bert")
    assert found == arguments
    assert all(np.array_equal(value, get_weights(model)[name]) for name, value in weights.items())
    assert sorted(path.name for path in (tmp_path / "new" / "bert").iterdir()) == ["config.json", "model.safetensors"]
    theirs = transformers.BertForMaskedLM.from_pretrained(tmp_path / "new" / "bert", dtype=torch.float64).eval()
    ours = numpy_track.BERTModel.from_pretrained(tmp_path / "new" / "bert")
    given = {"attention_mask": torch.tensor(texts[0] != 0).long(), "token_type_ids": torch.tensor(texts[1])}
    with torch.no_grad():
        logits = theirs(torch.tensor(texts[0]), **given).logits
    real = texts[0] != 0
    assert np.abs(run(ours, *texts)[real] - as_numpy(logits)[real]).max() < 1e-9
    with pytest.raises(ValueError, match="eps"):
        write_bert(tmp_path / "x", SMALL | {"pad_id": 0}, get_weights(model))
    with pytest.raises(ValueError, match=r"encoder\.blocks\.2"):
        write_bert(tmp_path / "x", arguments | {"num_layers": 3}, get_weights(model))
    assert not (tmp_path / "x").exists()


@pytest.fixture
def copy(reference, tmp_path):
    """A copy of the directory: a function that changes its settings and its weights."""
    path = tmp_path / "copy"
    path.mkdir()

    def change(arrays=lambda arrays: arrays, **settings):
        config = json.loads((reference[1] / "config.json").read_text()) | settings
        (path / "config.json").write_text(
            json.dumps({name: value for name, value in config.items() if value != "absent"})
        )
        save_file(arrays(load_file(reference[1] / "model.safetensors")), path / "model.safetensors")
        return path

    return change


def without(pattern):
    return lambda arrays: {name: array for name, array in arrays.items() if not re.search(pattern, name)}


BAD_SETTINGS = [
    ("hidden_act", "gelu_new"),
    ("position_embedding_type", "relative_key"),
    ("is_decoder", True),
    ("add_cross_attention", True),
    ("tie_word_embeddings", False),
    ("num_attention_heads", 5),
    ("layer_norm_eps", float("nan")),
    ("pad_token_id", 50),
    ("pad_token_id", -1),
    ("pad_token_id", False),
]
BAD_WEIGHTS = [  # what is made of the weights, and the name of the one that is wrong
    (without("^cls.predictions"), "cls.predictions.bias"),
    (without("pooler"), "pooler.dense.weight"),
    (without("layer.1.attention.self.key.bias"), "encoder.layer.1.attention.self.key.bias"),
    (lambda arrays: arrays | {"bert.adapter.weight": np.ones(2, "f4")}, "adapter.weight"),
    (lambda arrays: arrays | {"cls.predictions.decoder.weight": np.ones((50, 24), "f4")}, "decoder.weight"),
    (lambda arrays: arrays | {"cls.predictions.decoder.bias": np.ones(50, "f4")}, "decoder.bias"),
]


@pytest.mark.parametrize(("name", "value"), BAD_SETTINGS)
def test_settings_of_no_bert_of_this_kind_are_refused(name, value, copy):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        read_bert(copy(**{name: value}))


@pytest.mark.parametrize(("change", "name"), BAD_WEIGHTS)
def test_weights_of_no_bert_of_this_kind_are_refused(change, name, copy):
    with pytest.raises(ValueError, match=rf"\b{re.escape(name)}\b"):
        read_bert(copy(change), pooler=True)


def test_a_pooler_is_wanted_or_not(reference):
    with pytest.raises(ValueError, match=r"\bpooler\b"):
        read_bert(reference[1], pooler="yes")


def test_settings_that_an_old_file_lacks_have_their_values_of_then(copy):
    arguments, _ = read_bert(copy(layer_norm_eps="absent", pad_token_id="absent", position_embedding_type="absent"))
    assert arguments["eps"] == 1e-12 and arguments["pad_id"] == 0 and arguments["num_segments"] == 3


# Bad input

TOKENS = np.arange(20).reshape(2, 10)


def refused(call, error, name):
    # Behind a semicolon stand the other arrays, behind a bullet all that Keras was given; [1m is how it prints bold.
    with pytest.raises(error, match=rf"^[^;•]*(\b|\[1m){name}(?!\w)"):
        call()


@pytest.mark.parametrize("track", ["numpy", "pytorch", pytest.param("keras", marks=pytest.mark.keras)])
def test_every_track_names_what_it_refuses(track):
    model, tokens = make(track), np.ones((2, 3), int)
    features = tensor(track, np.ones((2, 3, 8), "float64" if track == "numpy" else "float32"))
    name = "attention_mask" if track == "keras" else "mask"
    refused(lambda: run(model, tokens, mask=np.ones((2, 3), bool)), TypeError, name)
    refused(lambda: model.pool(features), ValueError, "pooler")
    refused(lambda: mask(track, np.ones((2, 3))), TypeError, "tokens")
    refused(lambda: mask(track, TOKENS, mask_id=20), ValueError, "mask_id")
    refused(lambda: mask(track, TOKENS, mask_id=4.0), TypeError, "mask_id")
    refused(lambda: mask(track, TOKENS, special_ids=4), TypeError, "special_ids")
    refused(lambda: mask(track, TOKENS, vocab_size=10), ValueError, "token")
    if track == "pytorch":
        ids = torch.tensor(TOKENS)
        refused(lambda: pytorch_track.mask_tokens(ids, 4, 20, range(5), generator=0), TypeError, "generator")
    else:
        refused(lambda: mask(track, TOKENS, seed=0.5), TypeError, "seed")


@pytest.mark.parametrize(
    ("wrong", "error", "name"),
    [
        ({"special_ids": [0, 1]}, ValueError, "mask_id"),
        ({"special_ids": [4, 30]}, ValueError, "special_ids"),
        ({"special_ids": "04"}, TypeError, "special_ids"),
        ({"special_ids": [0, 4, True]}, TypeError, "special_ids"),
        ({"special_ids": range(20)}, ValueError, "special_ids"),
        ({"rate": 1.0}, ValueError, "rate"),
        ({"seed": -1}, ValueError, "seed"),
        ({"vocab_size": 2**70}, ValueError, "vocab_size"),
    ],
)
def test_masking_names_what_it_refuses(wrong, error, name):
    refused(lambda: mask("numpy", TOKENS, **wrong), error, name)


@pytest.mark.keras
def test_keras_parts_may_be_called_before_the_model(tmp_path):
    model = keras_track.BERTModel(**SMALL, pooler=True)
    tokens = np.random.default_rng(0).integers(1, 20, size=(2, 6))
    pooled = as_numpy(model.pool(model.encode(tokens)))
    logits = as_numpy(model(tokens))
    lines = []
    model.summary(print_fn=lambda line, **_: lines.append(line))
    assert "bert_embedding" in "".join(lines)
    model.save(tmp_path / "bert.keras")
    loaded = keras.saving.load_model(tmp_path / "bert.keras")
    np.testing.assert_array_equal(as_numpy(loaded.pool(loaded.encode(tokens))), pooled)
    np.testing.assert_array_equal(as_numpy(loaded(tokens)), logits)


@pytest.mark.keras
def test_keras_batches_depend_on_seed_epoch_and_number_alone():
    names = {"keras": keras, "np": np, "mask_tokens": keras_track.mask_tokens}
    source = cell("keras", "try-it-2").partition("for _ in range(2)")[0]
    exec(source, names)  # noqa: S102 - the notebook's own
    first, second = (names["HiddenWords"](names["corpus"][:128], 64, seed=3) for _ in range(2))
    for batches in (first, second):
        batches.on_epoch_end()
    for index in (1, 0):  # in any order, as workers ask
        np.testing.assert_array_equal(first[index], second[index])
    before = first[0]
    first.on_epoch_end()
    assert (first[0][1] != before[1]).mean() > 0.1 and (first[0][1] != first[1][1]).mean() > 0.1


# The dictionary of compare

SAME = {  # what has one value in the three columns
    "which are special tokens",
    "hide the chosen words",
    "ask for them, and for nothing else",
    "GELU as BERT has it",
    "a norm with BERT's epsilon",
    "logits, from the input's table",
    "the loss of what was chosen",
}


def run_column(column: int, transformers) -> dict[str, np.ndarray]:
    """Run a column from its first row to its last, and return the values of the rows in SAME."""
    rng = np.random.default_rng(0)
    arrays = drawn(rng, column, x=(2, 8, 16), z=(2, 8, 16), table=(20, 16), bias=(20,), logits=(2, 8, 20))
    arrays["tokens"] = tokens = np.array([[1, 7, 8, 9, 3, 0, 0, 0], [1, 7, 12, 8, 13, 9, 3, 0]])
    arrays |= {
        "segments": np.zeros_like(tokens),
        "chosen": tokens % 4 == 0,
        "targets": np.where(tokens > 8, tokens, -100),
    }
    arrays = {name: torch.tensor(array) if column == 2 else array for name, array in arrays.items()}
    names = {"np": np, "rng": rng, "torch": torch, "transformers": transformers, "keras": keras} | arrays
    names |= {**vars(numpy_track), "cross_entropy": cross_entropy, "EncoderBlock": EncoderBlock} if column == 1 else {}
    return values_of("13_bert", column, names, SAME.__contains__)


@pytest.mark.keras
def test_every_call_of_the_dictionary_runs_as_typed_and_gives_the_same(transformers):
    assert_same([run_column(column, transformers) for column in (1, 2, 3)], SAME)
