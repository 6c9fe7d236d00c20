"""Chapter 13: BERT in each track, across the three, and against the BERT of transformers, written and read."""

import inspect
import json
import re

import keras
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from scipy.special import softmax

import shared
import shared.keras.bert as keras_track
import shared.numpy.bert as numpy_track
import shared.pytorch.bert as pytorch_track
from shared import grammar, masked_words, parity, text
from shared.frameworks.pretrained import read_bert, write_bert
from shared.frameworks.weights import as_numpy, get_weights, load_weights, save_weights, set_weights
from shared.numpy.attention import causal_mask, padding_mask
from shared.numpy.feed_forward import ACTIVATIONS
from shared.numpy.training import Adam, train, warmup_schedule

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


def run(model, *arrays, method: str = "__call__", **arguments) -> np.ndarray:
    if isinstance(model, torch.nn.Module) and not isinstance(model, keras.Model):
        arrays = [torch.tensor(array) for array in arrays]
        arguments = {name: torch.tensor(value) for name, value in arguments.items()}
        with torch.no_grad():
            return as_numpy(getattr(model, method)(*arrays, **arguments))
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


@pytest.mark.parametrize("seed", range(2))
def test_backward_three_ways(seed):
    rng = np.random.default_rng(seed)
    small = {"d_model": 4, "num_heads": 2, "d_ff": 5, "vocab_size": 9, "max_length": 6, "num_segments": 3}
    tokens = rng.integers(1, 9, size=(2, 5))
    tokens[1, 2:] = 0
    parity.check_backward(
        scrambled(numpy_track.BERTModel(**small, rng=seed)),
        pytorch_track.BERTModel(**small),
        {"tokens": tokens, "segments": rng.integers(0, 3, (2, 5))},
        closed_forms={"head.bias": lambda grad_output: grad_output.sum(axis=(0, 1))},
        seed=seed,
    )


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


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_numpy_and_pytorch_are_one_model(float64, tokens, segments):
    twins = [module.BERTModel(**SMALL) for module in TRACKS.values()]
    scrambled(twins[0])
    report = parity.compare_modules(*twins, inputs={"tokens": tokens, "segments": segments}, tolerance=1e-7)
    assert all(row.max_difference < 1e-10 for row in report.rows if row.against == "PyTorch")


@pytest.mark.keras
def test_keras_and_its_twins_agree_in_float32(tokens, segments):
    twins = {track: make(track, pooler=True) for track in TRACKS}
    logits = {track: {"logits": run(model, tokens, segments)} for track, model in twins.items()}
    parity.compare(logits, tolerance=1e-5)
    features = {track: run(model, tokens, segments, method="encode") for track, model in twins.items()}
    pooled = {track: {"pooled": run(twins[track], features[track], method="pool")} for track in TRACKS}
    parity.compare(pooled, tolerance=1e-5)


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


def test_gradients_add_up_and_keep_the_dtype(rng, tokens, segments):
    model = make("numpy").astype(np.float32)
    grad_output = rng.normal(size=(3, 7, 20)).astype(np.float32)
    assert model(tokens, segments).dtype == np.float32
    model.backward(grad_output)
    once = {name: gradient.copy() for name, gradient in model.gradients().items()}
    model.backward(grad_output)
    for name, gradient in model.gradients().items():
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(gradient, 2 * once[name], rtol=1e-3, atol=1e-3, err_msg=name)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_have_the_same_weights(track, tmp_path, tokens):
    model = make(track)
    names = list(get_weights(make("numpy")))
    assert sorted(get_weights(model)) == sorted(names)
    assert {"embedding.tokens.embeddings", "embedding.positions", "embedding.segments.embeddings"} <= set(names)
    assert {"head.transform.kernel", "head.norm.gamma", "head.bias"} <= set(names)
    save_weights(model, tmp_path / "bert.safetensors")
    for other in TRACKS:
        fresh = make(other)
        set_weights(fresh, {name: 0 * array for name, array in get_weights(fresh).items()})
        load_weights(fresh, tmp_path / "bert.safetensors")
        np.testing.assert_allclose(run(fresh, tokens), run(model, tokens), atol=1e-4)


# What a BERT is: both sides, padding, segments, norms, modes


@every_track
@pytest.mark.keras
def test_keras_and_the_others_see_both_sides(track, tokens):
    """Every real token moves every real position; a causal mask, given, stops that."""
    model, changed = make(track), tokens.copy()
    changed[0, 5] = 5 + (tokens[0, 5] - 4) % 15
    moved = np.abs(run(model, changed) - run(model, tokens)).max(axis=-1)
    assert (moved[0] > 1e-4).all() and not moved[1:].any()
    mask = causal_mask(7)
    moved = np.abs(run(model, changed, mask=mask) - run(model, tokens, mask=mask)).max(axis=-1)
    assert (moved[0, :5] < 1e-6).all() and (moved[0, 5:] > 1e-4).all()


@every_track
@pytest.mark.keras
def test_keras_and_the_others_ignore_padding(track, tokens, segments):
    model, wider = make(track), np.pad(tokens, ((0, 0), (0, 3)))
    base = run(model, tokens, segments)
    np.testing.assert_allclose(run(model, wider, np.pad(segments, ((0, 0), (0, 3))))[:, :7], base, atol=1e-5)
    np.testing.assert_allclose(run(model, tokens[1:2, :4], segments[1:2, :4])[0], base[1, :4], atol=1e-5)
    np.testing.assert_allclose(run(model, tokens, segments, mask=padding_mask(tokens)), base, atol=1e-6)


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
            norms += [block.attention_residual.norm, block.feed_forward_residual.norm]
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
        logits = model.head(x.astype("float32"), model.embedding.tokens.embeddings)
    np.testing.assert_allclose(as_numpy(logits), h @ table.T + w["bias"], atol=2e-5)
    network = model.encoder.blocks[0].feed_forward
    if track == "keras":
        assert network.config["activation"] == "gelu"
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


@every_track
@pytest.mark.keras
def test_keras_and_the_others_drop_only_in_training(track, tokens):
    shared.set_seed(0)
    model, plain = make(track, dropout=0.5), make(track)
    given = torch.tensor(tokens) if track == "pytorch" else tokens
    np.testing.assert_array_equal(run(model, tokens), run(plain, tokens))
    embedded = {True: [], False: []}
    for mode in (True, False):
        for _ in range(2):
            if track == "keras":
                embedded[mode].append(as_numpy(model.embedding(given, training=mode)))
            else:
                embedded[mode].append(as_numpy(model.train(mode).embedding(given)))
    assert not np.array_equal(*embedded[True]) and np.array_equal(*embedded[False])
    assert 0.3 < (embedded[True][0] == 0).mean() < 0.7  # behind the norm


@pytest.mark.keras
def test_keras_model_is_saved_and_loaded_without_custom_objects(tmp_path, tokens, segments):
    model = make("keras", pooler=True, dropout=0.1, eps=1e-6)
    model.save(tmp_path / "bert.keras")
    loaded = keras.saving.load_model(tmp_path / "bert.keras")
    assert np.array_equal(run(loaded, tokens, segments), run(model, tokens, segments))
    features = run(model, tokens, method="encode")
    assert np.array_equal(run(loaded, features, method="pool"), run(model, features, method="pool"))
    assert loaded.get_config() == model.get_config()
    names = set(inspect.signature(keras_track.BERTModel.__init__).parameters) - {"self", "kwargs"}
    assert names <= set(model.get_config())
    for layer in (model.embedding, model.head, model.pooler):
        again = type(layer).from_config(layer.get_config())
        assert again.get_config() == layer.get_config()
        assert keras.saving.get_registered_name(type(layer)) == f"three_ways>{type(layer).__name__}"


@pytest.mark.keras
def test_keras_functional_model_and_no_implicit_mask(tokens):
    model, inputs = make("keras"), keras.Input((None,), dtype="int32")
    functional = keras.Model(inputs, model(inputs))
    np.testing.assert_allclose(as_numpy(functional(tokens)), run(model, tokens), atol=1e-6)
    assert functional.output_shape == (None, None, 20)
    assert getattr(model(tokens, mask=padding_mask(tokens)), "_keras_mask", None) is None


def test_methods_have_the_same_parameters_in_the_three():
    def parameters(track, name):
        found = inspect.signature(getattr(TRACKS[track].BERTModel, name)).parameters
        return [each for each in found if each not in ("self", "training")]

    for name in ("encode", "pool", "from_pretrained"):
        assert parameters("numpy", name) == parameters("pytorch", name) == parameters("keras", name)


# mask_tokens


def mask(track: str, tokens: np.ndarray, **changes) -> tuple[np.ndarray, np.ndarray]:
    arguments = {"mask_id": 4, "vocab_size": 20, "special_ids": range(5), "seed": 0} | changes
    given = torch.tensor(tokens) if track == "pytorch" else tokens
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
    for share, expected in (
        ((inputs == 4)[chosen].mean(), 0.8),
        ((inputs == tokens)[chosen].mean(), 0.1 + 0.1 / 15),
        (((inputs != 4) & (inputs != tokens))[chosen].mean(), 0.1 * 14 / 15),
    ):
        assert abs(share - expected) < 5 * (0.2 / n) ** 0.5
    drawn = inputs[chosen & (inputs != 4) & (inputs != tokens)]
    counts = np.bincount(drawn, minlength=20)
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


MISUSE = [
    ({"mask_id": 20}, ValueError, "mask_id=20: expected an id of the vocabulary of 20"),
    ({"mask_id": 4.0}, TypeError, "mask_id is 4.0; expected int"),
    ({"special_ids": [0, 1]}, ValueError, r"mask_id=4 must be among special_ids=\[0, 1\]"),
    ({"special_ids": [4, 30]}, ValueError, "special_ids=30: expected an id"),
    ({"special_ids": 4}, TypeError, "special_ids is 4; expected Collection"),
    ({"special_ids": "04"}, TypeError, "special_ids='04': expected whole numbers"),
    ({"special_ids": [0, 4, True]}, TypeError, "expected whole numbers"),
    ({"special_ids": range(20)}, ValueError, "expected at least one ordinary token"),
    ({"vocab_size": 10}, ValueError, "is outside the vocabulary of 10"),
    ({"rate": 1.0}, ValueError, r"rate=1.0: expected a rate in \[0, 1\)"),
    ({"rate": "0.15"}, TypeError, "rate is '0.15'; expected float"),
    ({"seed": -1}, ValueError, "seed=-1: expected a whole number from 0"),
    ({"seed": 0.5}, TypeError, "seed is 0.5; expected int"),
    ({"seed": None}, TypeError, "seed is None; expected int"),
]


@every_track
@pytest.mark.parametrize(("wrong", "error", "message"), MISUSE, ids=[str(row[0]) for row in MISUSE])
@pytest.mark.keras
def test_keras_and_the_others_say_what_is_wrong_with_masking(track, wrong, error, message):
    with pytest.raises(error, match=message):
        mask(track, np.arange(20).reshape(2, 10), **wrong)
    with pytest.raises(TypeError, match="whole numbers|Integer"):
        mask(track, np.ones((2, 3)))


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
            places = [index[word] for word in sentence.split()]
            weight = prior * np.prod([likelihoods[i, j] for i, j in enumerate(places)])
            result[range(len(places)), places] += weight
        return result / result.sum(axis=1, keepdims=True)

    monkeypatch.setattr(grammar, "posterior", posterior)
    ids = text.encode_batch(tokenizer, sentences)
    rng, size = np.random.default_rng(0), tokenizer.get_vocab_size()
    prior = np.array(list(counts.values()))
    drawn = ids[rng.choice(4, 400_000, p=prior / prior.sum())]
    inputs, targets = numpy_track.mask_tokens(drawn, 4, size, range(5), rate=0.5, seed=1)
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


def test_what_is_wrong_with_exact_predictions(tokenizer):
    tokens = text.encode_batch(tokenizer, ["the owl slept ."])
    targets = np.where(tokens == tokenizer.token_to_id("owl"), 1, masked_words.IGNORED)
    small = text.train_tokenizer(grammar.sample(50, seed=0), "wordpiece", vocab_size=80)
    for arguments, message in [
        ((small, tokens, targets), "has no token for"),
        ((tokenizer, tokens, targets[:, :3]), "expected .batch, length. for both"),
        ((tokenizer, tokens[:, 1:], targets[:, 1:]), r"expected \[CLS\], words, \[SEP\], padding"),
        ((tokenizer, tokens[:, :-1], targets[:, :-1]), r"expected \[CLS\], words, \[SEP\], padding"),
        ((tokenizer, tokens, np.full_like(targets, -100)), "expected at least one word to predict"),
        ((tokenizer, tokens, targets, 1.0), "rate=1.0: expected a rate"),
    ]:
        with pytest.raises(ValueError, match=message):
            masked_words.exact_predictions(*arguments)
    exact = masked_words.exact_predictions(tokenizer, tokens, targets)
    for wrong, name in (((exact, exact[:, 1:]), "predicted"), ((None, exact), "exact")):
        with pytest.raises(TypeError, match=name):
            masked_words.score(*wrong)
    with pytest.raises(ValueError, match="no probabilities"):
        masked_words.score(exact, 2 * exact)
    with pytest.raises(ValueError, match="max_words=3: expected at least 4"):
        masked_words.short_sentences(5, 3, seed=0)
    with pytest.raises(ValueError, match="num_sentences=0: expected at least 1"):
        masked_words.short_sentences(0, 8, seed=0)


# Training


def test_training_learns_to_look_at_both_sides(tokenizer):
    """A short run: below the bound of predictions without context, which a model that does not look cannot pass."""
    size = tokenizer.get_vocab_size()
    corpus = text.encode_batch(tokenizer, masked_words.short_sentences(150 * 64, 7, seed=5))
    inputs, targets = numpy_track.mask_tokens(corpus, 4, size, range(5), rate=0.3, seed=5)
    model = numpy_track.BERTModel(48, 4, 96, vocab_size=size, max_length=12, num_layers=1, rng=1).astype(np.float32)
    optimizer = Adam(model, warmup_schedule(6e-3, 40, 150), beta_2=0.98)
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
    with pytest.raises(ValueError, match="the model has pooler=False: expected pooler=True"):
        model.pool(model.encode(torch.tensor(texts[0]) if track == "pytorch" else texts[0]))


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
    with pytest.raises(ValueError, match="arguments lacks eps"):
        write_bert(tmp_path / "x", SMALL | {"pad_id": 0}, get_weights(model))
    with pytest.raises(ValueError, match="weights lacks encoder.blocks.2"):
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
    ({"hidden_act": "gelu_new"}, "hidden_act='gelu_new': expected 'gelu'"),
    ({"hidden_act": "relu"}, "hidden_act='relu': expected 'gelu'"),
    ({"position_embedding_type": "relative_key"}, "position_embedding_type='relative_key': expected 'absolute'"),
    ({"is_decoder": True}, "is_decoder=True: expected False"),
    ({"add_cross_attention": True}, "add_cross_attention=True: expected False"),
    ({"tie_word_embeddings": False}, "tie_word_embeddings=False: expected True"),
    ({"model_type": "roberta"}, "model_type='roberta': expected 'bert'"),
    ({"hidden_size": "absent"}, "config.json has no 'hidden_size'"),
    ({"num_hidden_layers": 2}, "num_hidden_layers=2: expected 3, the number of layers in the weights"),
    ({"num_hidden_layers": 4}, "num_hidden_layers=4: expected 3, the number of layers in the weights"),
    ({"num_hidden_layers": 2**31}, "num_hidden_layers=2147483648: expected 3"),
    ({"num_hidden_layers": "3"}, "num_hidden_layers='3': expected a positive whole number"),
    ({"vocab_size": 49}, "vocab_size=49: expected 50, because embeddings.word_embeddings.weight has shape .50, 24."),
    ({"vocab_size": 2**31}, "vocab_size=2147483648: expected 50"),
    ({"max_position_embeddings": 2**31}, "max_position_embeddings=2147483648: expected 20"),
    ({"max_position_embeddings": 20.0}, "max_position_embeddings=20.0: expected a positive whole number"),
    ({"type_vocab_size": 2}, "type_vocab_size=2: expected 3"),
    ({"intermediate_size": True}, "intermediate_size=True: expected a positive whole number"),
    ({"intermediate_size": 41}, "intermediate_size=41: expected 40"),
    ({"hidden_size": 28}, "hidden_size=28: expected 24"),
    ({"num_attention_heads": 5}, "num_attention_heads=5: expected a divisor of hidden_size=24"),
    ({"num_attention_heads": 0}, "num_attention_heads=0: expected a positive whole number"),
    ({"layer_norm_eps": "1e-12"}, "layer_norm_eps='1e-12': expected a number above 0 and below 1"),
    ({"layer_norm_eps": float("nan")}, "layer_norm_eps=nan: expected a number above 0 and below 1"),
    ({"pad_token_id": 50}, "pad_token_id=50: expected an id below vocab_size=50"),
    ({"pad_token_id": -1}, "pad_token_id=-1: expected an id below vocab_size=50"),
    ({"pad_token_id": False}, "pad_token_id=False: expected an id below vocab_size=50"),
]


@every_track
@pytest.mark.parametrize(("wrong", "message"), BAD_SETTINGS, ids=[str(row[0]) for row in BAD_SETTINGS])
@pytest.mark.keras
def test_keras_and_the_others_refuse_settings_that_they_do_not_know(track, wrong, message, copy):
    with pytest.raises(ValueError, match=message):
        TRACKS[track].BERTModel.from_pretrained(copy(**wrong))


def test_settings_that_an_old_file_lacks_have_their_values_of_then(copy):
    arguments, _ = read_bert(copy(layer_norm_eps="absent", pad_token_id="absent", position_embedding_type="absent"))
    assert arguments["eps"] == 1e-12 and arguments["pad_id"] == 0 and arguments["num_segments"] == 3


@pytest.mark.parametrize(
    ("change", "pooler", "message"),
    [
        (without("^cls.predictions"), False, r"have no cls.predictions.bias.*expected a BERT with the head"),
        (without("transform"), False, "have no cls.predictions.transform.dense.weight"),
        (without("pooler"), True, "missing: pooler.dense.weight; missing: pooler.dense.bias"),
        (without("layer.1.attention.self.key.bias"), False, "missing: encoder.layer.1.attention.self.key.bias"),
        (lambda arrays: arrays | {"bert.adapter.weight": np.ones(2, "f4")}, False, "unexpected: adapter.weight"),
        (
            lambda arrays: arrays | {"cls.predictions.decoder.weight": np.ones((50, 24), "f4")},
            False,
            "decoder.weight differs from embeddings.word_embeddings.weight: expected a tied output",
        ),
        (
            lambda arrays: arrays | {"cls.predictions.decoder.bias": np.ones(50, "f4")},
            False,
            "decoder.bias differs from cls.predictions.bias: expected a tied output",
        ),
    ],
)
def test_weights_that_do_not_make_a_bert(change, pooler, message, copy):
    with pytest.raises(ValueError, match=message):
        numpy_track.BERTModel.from_pretrained(copy(change), pooler=pooler)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_refuse_directories_that_are_none(track, copy, tmp_path):
    load, path = TRACKS[track].BERTModel.from_pretrained, copy()
    with pytest.raises(FileNotFoundError, match="path='nowhere': no such directory"):
        load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="pooler='yes': expected one of"):
        load(path, pooler="yes")
    with pytest.raises(ValueError, match="dropout=1.5"):
        load(path, dropout=1.5)
    whole = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(whole[:-8])
    with pytest.raises(ValueError, match="model.safetensors is truncated"):
        load(path)
    (path / "model.safetensors").unlink()
    (path / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(ValueError, match="a pickle, which can run code"):
        load(path)


# Bad input


CONSTRUCTORS = [
    ({"num_heads": 3}, ValueError, "num_heads=3 (does not|must) divide d_model=8"),
    ({"d_model": 0}, ValueError, "=0"),
    ({"d_ff": 1.5}, TypeError, "d_ff is 1.5; expected int"),
    ({"dropout": 1.0}, ValueError, "dropout=1.0: expected a rate"),
    ({"vocab_size": -1}, ValueError, "vocab_size=-1: expected at least 1"),
    ({"max_length": 0}, ValueError, "=0: expected at least 1"),
    ({"num_layers": 0}, ValueError, "num_layers=0: expected at least 1"),
    ({"num_segments": 0}, ValueError, "num_segments=0: expected at least 1"),
    ({"num_segments": None}, TypeError, "num_segments is None; expected int"),
    ({"eps": -1e-12}, ValueError, "eps=-1e-12: expected"),
    ({"pad_id": 20}, ValueError, "pad_id=20: expected one of"),
    ({"pooler": 1.5}, TypeError, "pooler is 1.5; expected bool"),
]


@every_track
@pytest.mark.parametrize(("wrong", "error", "message"), CONSTRUCTORS, ids=[str(row[0]) for row in CONSTRUCTORS])
@pytest.mark.keras
def test_keras_and_the_others_say_what_is_wrong_with_arguments(track, wrong, error, message):
    with pytest.raises(error, match=message):
        TRACKS[track].BERTModel(**SMALL | wrong)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_say_what_is_wrong_with_parts(track):
    module = TRACKS[track]
    for make_part, error, message in [
        (lambda: module.BERTEmbedding(8, 0.0, 0, 10), ValueError, "vocab_size=0: expected at least 1"),
        (lambda: module.BERTEmbedding(8, -1, 20, 10), ValueError, "dropout=-1: expected a rate"),
        (lambda: module.BERTEmbedding(8, 0.0, 20, 10, 0), ValueError, "num_segments=0: expected at least 1"),
        (lambda: module.MaskedLanguageHead(8, 0), ValueError, "vocab_size=0: expected at least 1"),
        (lambda: module.MaskedLanguageHead(8, 20, -2.0), ValueError, "eps=-2.0: expected"),
        (lambda: module.Pooler(0), ValueError, "=0: expected at least 1"),
    ]:
        with pytest.raises(error, match=message):
            make_part()


CALLS = [
    ((np.full((2, 3), 20),), ValueError, "token id 20 is outside the vocabulary of 20"),
    ((np.full((2, 3), -1),), ValueError, "token id -1 is outside the vocabulary of 20"),
    ((np.ones((2, 3)),), TypeError, "whole numbers|Integer"),
    ((np.ones(3, int),), (TypeError, ValueError), r"tokens .*\(3,\).*expected .*batch,? length"),
    ((np.ones((2, 11), int),), ValueError, "length 11 is over max_length=10"),
    ((np.ones((2, 3), int), np.full((2, 3), 3)), ValueError, "segment 3 is outside the 3 segments"),
    ((np.ones((2, 3), int), np.full((2, 3), -1)), ValueError, "segment -1 is outside the 3 segments"),
    ((np.ones((2, 3), int), np.ones((2, 3))), TypeError, "segments has shape .*float.*; expected Integer"),
    (
        (np.ones((2, 3), int), np.ones((2, 1), int)),
        TypeError,
        r"segments has shape \(2, 1\).*expected .*batch length.*beside tokens \(2, 3\)",
    ),
    (
        (np.ones((2, 3), int), None, np.ones((2, 3), bool)),
        (TypeError, ValueError),
        r"mask has shape \(2, 3\).* expected",
    ),
    ((np.ones((2, 3), int), None, np.ones((3, 3))), TypeError, "mask has .*float.* expected (booleans|.*Bool)"),
]


@every_track
@pytest.mark.parametrize(("given", "error", "message"), CALLS, ids=[row[2][:40] for row in CALLS])
@pytest.mark.keras
def test_keras_and_the_others_say_what_is_wrong_with_a_call(track, given, error, message):
    model = make(track)
    if track == "pytorch":
        given = [None if each is None else torch.tensor(each) for each in given]
    with pytest.raises(error, match=message):
        model(*given)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_say_what_is_wrong_with_features(track, rng):
    model, wrong = make(track, pooler=True), rng.normal(size=(2, 3, 7))
    table = {"numpy": lambda: model.embedding.tokens.embeddings, "pytorch": lambda: model.embedding.tokens.weight}
    table = table.get(track, lambda: model.embedding.tokens.embeddings)()
    given = torch.tensor(wrong) if track == "pytorch" else wrong.astype("float32")
    for part in (lambda: model.head(given, table), lambda: model.pool(given)):
        with pytest.raises(TypeError, match=r"features has shape \(2, 3, 7\).* expected .*batch length 8"):
            part()


def test_numpy_backward_says_what_is_wrong(rng):
    model = numpy_track.BERTModel(**SMALL, pooler=True)
    with pytest.raises(AttributeError, match="call the module first"):
        model.backward(rng.normal(size=(2, 3, 20)))
    model(np.ones((2, 3), int))
    with pytest.raises(ValueError, match=r"grad_output has shape \(2, 3, 19\): expected \(2, 3, 20\)"):
        model.backward(rng.normal(size=(2, 3, 19)))
    model.pool(model.encode(np.ones((2, 3), int)))
    with pytest.raises(ValueError, match=r"grad_output has shape \(2, 7\): expected \(2, 8\)"):
        model.pooler.backward(rng.normal(size=(2, 7)))
