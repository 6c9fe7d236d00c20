"""Chapter 12: encoder and decoder as one model, in each track and across the three, and how targets are written with it."""

import copy
import functools
import importlib
import itertools
import math

import keras
import numpy as np
import pytest
import torch
from dictionaries import assert_same, values_of
from torch import nn

import shared
import shared.keras.seq2seq as keras_track
import shared.keras.training as keras_training
import shared.numpy.seq2seq as numpy_track
import shared.numpy.training as numpy_training
import shared.pytorch.seq2seq as pytorch_track
import shared.pytorch.training as pytorch_training
from shared import french, genetic_code, parity
from shared.arrays import as_numpy
from shared.conformance.same_run import keras_steps
from shared.data.genetic_code import END_ID, PAD_ID, START_ID
from shared.frameworks.weights import get_weights, load_weights, save_weights, set_weights
from shared.numpy.attention import MultiHeadAttention
from shared.numpy.decoder import Decoder
from shared.numpy.encoder import Encoder

TRACKS = {"numpy": numpy_track, "pytorch": pytorch_track, "keras": keras_track}
TRAININGS = {"numpy": numpy_training, "pytorch": pytorch_training}
SMALL = {"d_model": 8, "num_heads": 2, "d_ff": 12, "max_length": 14}
SAVINGS = {
    "none": {},
    "tied": {"tie_weights": True},
    "shared": {"source_vocab_size": 23, "shared_embeddings": True},
    "both": {"source_vocab_size": 23, "shared_embeddings": True, "tie_weights": True},
}
SOURCE, TARGET = genetic_code.sample(4, (1, 4), seed=0)
TOKENIZERS = genetic_code.SOURCE_TOKENIZER, genetic_code.TARGET_TOKENIZER
every_track = pytest.mark.parametrize("track", TRACKS)


def tensor(track, array):
    return torch.from_numpy(np.ascontiguousarray(array)) if track == "pytorch" else array


def make(track, seed=0, **arguments):
    """A model of a track in evaluation mode, float32, its weights made."""
    shared.set_seed(seed)
    arguments = SMALL | arguments
    if track == "numpy":
        return numpy_track.Seq2SeqTransformer(**arguments, rng=seed).astype(np.float32).eval()
    if track == "pytorch":
        return pytorch_track.Seq2SeqTransformer(**arguments).eval()
    return keras_track.Seq2SeqTransformer(**arguments)


def twins(seed=0, **arguments):
    """The three with the same weights, which are larger than at the start, so that what they write varies."""
    models = {track: make(track, seed, **arguments) for track in TRACKS}
    rng = np.random.default_rng(seed)
    start = get_weights(models["numpy"])
    start = {name: (w + rng.normal(scale=0.5, size=w.shape)).astype(np.float32) for name, w in start.items()}
    for model in models.values():
        set_weights(model, start)
    return models


def call(track, model, source, target):
    if track == "keras":
        return as_numpy(model({"source": source, "target": target}))
    with torch.no_grad():
        return as_numpy(model(tensor(track, source), tensor(track, target)))


def greedy(track, model, source, max_length=14, start_id=START_ID, end_id=END_ID):
    return as_numpy(TRACKS[track].greedy_decode(model, tensor(track, source), max_length, start_id, end_id))


def beam(track, model, source, max_length=14, start_id=START_ID, end_id=END_ID, **options):
    found = TRACKS[track].beam_search(model, tensor(track, source), max_length, start_id, end_id, **options)
    return tuple(map(as_numpy, found))


# The model


def test_backward_goes_through_both_dropouts(rng):
    """The same features dropped at every call: gradients of both tables are those of finite differences."""
    small = {"d_model": 4, "num_heads": 2, "d_ff": 3, "source_vocab_size": 6, "target_vocab_size": 6, "max_length": 5}
    model = numpy_track.Seq2SeqTransformer(**small, rng=0)
    positions = [model.source_positions.dropout, model.target_positions.dropout]
    for dropout in positions:
        dropout.rate = 0.4
    source, target = rng.integers(1, 6, (2, 5)), rng.integers(1, 6, (2, 3))
    grad_output = rng.normal(size=(2, 3, 6))

    def objective():
        for seed, dropout in enumerate(positions):
            dropout.rng = np.random.default_rng(seed)
        return float((model(source, target) * grad_output).sum())

    objective()
    model.backward(grad_output)
    for table in (model.source_embedding.embeddings, model.target_embedding.embeddings):
        np.testing.assert_allclose(table.grad, parity.numerical_gradient(objective, table.value), atol=1e-7)


def library_twin(model, norm_first):
    """torch.nn.Transformer with the stacks' weights; its last norms are taken away for post-norm."""
    heads, d_ff = model.encoder.blocks[0].attention.num_heads, model.encoder.blocks[0].feed_forward.expand.out_features
    layers, d_model = len(model.encoder.blocks), model.projection.in_features
    twin = nn.Transformer(d_model, heads, layers, layers, d_ff, 0.0, batch_first=True, norm_first=norm_first).double()
    pairs = [(twin.encoder, model.encoder, ["attention"]), (twin.decoder, model.decoder, ["self_attention"])]
    pairs[1][2].append("cross_attention")
    for theirs, ours, attentions in pairs:
        for layer, block in zip(theirs.layers, ours.blocks):
            state = {}
            for name, each in zip(("self_attn", "multihead_attn"), (getattr(block, a) for a in attentions)):
                for part in ("weight", "bias"):
                    packed = torch.cat([getattr(linear, part) for linear in (each.query, each.key, each.value)])
                    state |= {f"{name}.in_proj_{part}": packed, f"{name}.out_proj.{part}": getattr(each.output, part)}
            for name, each in (("linear1", block.feed_forward.expand), ("linear2", block.feed_forward.contract)):
                state |= {f"{name}.{part}": value for part, value in each.state_dict().items()}
            for number, name in enumerate((*attentions, "feed_forward"), start=1):
                norm = getattr(block, f"{name}_norm")
                state |= {f"norm{number}.{part}": value for part, value in norm.state_dict().items()}
            layer.load_state_dict(state)
        theirs.norm = theirs.norm if norm_first else None
        if norm_first:
            theirs.norm.load_state_dict(ours.norm.state_dict())
    return twin


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm_first", [True, False])
def test_pytorch_is_the_librarys_transformer(norm_first):
    torch.manual_seed(0)
    model = pytorch_track.Seq2SeqTransformer(**SMALL, norm_first=norm_first, num_layers=2).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    source, target = torch.from_numpy(SOURCE), torch.from_numpy(TARGET)
    features = library_twin(model, norm_first)(
        model.source_positions(model.source_embedding(source)),
        model.target_positions(model.target_embedding(target)),
        tgt_mask=~torch.ones(6, 6, dtype=torch.bool).tril(),
        src_key_padding_mask=source == PAD_ID,
        tgt_key_padding_mask=target == PAD_ID,
        memory_key_padding_mask=source == PAD_ID,
    )
    difference = (model.projection(features) - model(source, target))[target != PAD_ID]
    assert difference.abs().max() < 1e-10


@every_track
@pytest.mark.keras
def test_keras_and_the_others_have_masks_of_their_own_for_source_and_target(track, monkeypatch):
    """The encoder gets the source's mask, the decoder the target's for itself and the source's for the memory."""
    model, seen = make(track), {}
    name = "call" if track == "keras" else "forward"
    for part in ("encoder", "decoder"):
        kind = type(getattr(model, part))
        original = getattr(kind, name)

        def spy(self, *args, original=original, part=part, **kwargs):
            arrays = [a for a in (*args, *kwargs.values()) if hasattr(a, "dtype") and "bool" in str(a.dtype)]
            seen[part] = [as_numpy(a)[:, 0, 0] for a in arrays]
            return original(self, *args, **kwargs)

        monkeypatch.setattr(kind, name, spy)
    call(track, model, SOURCE, TARGET)
    assert [mask.tolist() for mask in seen["encoder"]] == [(SOURCE != 0).tolist()]
    assert [mask.tolist() for mask in seen["decoder"]] == [(TARGET != 0).tolist(), (SOURCE != 0).tolist()]


@every_track
@pytest.mark.keras
def test_keras_and_the_others_compute_in_three_steps(track):
    """`encode`, `decode` and `project` are the model, and the weights that `decode` gives are its cross-attention's."""
    model = twins(num_layers=2)[track]
    with torch.no_grad():
        memory = model.encode(tensor(track, SOURCE))
        mask = TRACKS[track].padding_mask(tensor(track, SOURCE))
        features, weights = model.decode(tensor(track, TARGET), memory, mask, return_weights=True)
        logits = as_numpy(model.project(features))
    np.testing.assert_allclose(logits, call(track, model, SOURCE, TARGET), atol=1e-5)
    assert len(weights) == 2 and tuple(weights[0].shape) == (4, 2, 6, 12)
    weights = as_numpy(weights[1])
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    assert not weights[np.broadcast_to((SOURCE == 0)[:, None, None], weights.shape)].any()


@every_track
@pytest.mark.keras
def test_keras_and_the_others_have_the_sizes_of_the_task(track):
    model = TRACKS[track].Seq2SeqTransformer(8, 2, 12)
    assert (model.source_vocab_size, model.target_vocab_size, model.max_length, model.pad_id) == (5, 23, 36, 0)


# Shared weights


@every_track
@pytest.mark.parametrize("savings", SAVINGS)
@pytest.mark.keras
def test_keras_and_the_others_name_a_shared_weight_once(track, savings, tmp_path):
    model = make(track, **SAVINGS[savings])
    outside = [name for name in get_weights(model) if not name.startswith(("encoder.", "decoder."))]
    expected = {
        "none": ["source_embedding.embeddings", "target_embedding.embeddings", "projection.kernel", "projection.bias"],
        "tied": ["source_embedding.embeddings", "target_embedding.embeddings", "projection.bias"],
        "shared": ["source_embedding.embeddings", "projection.kernel", "projection.bias"],
        "both": ["source_embedding.embeddings", "projection.bias"],
    }
    assert sorted(outside) == sorted(expected[savings])
    save_weights(model, tmp_path / "weights.safetensors")
    other = make(track, seed=1, **SAVINGS[savings])
    load_weights(other, tmp_path / "weights.safetensors")
    np.testing.assert_array_equal(call(track, other, SOURCE, TARGET), call(track, model, SOURCE, TARGET))
    count = {
        "numpy": lambda: len(model.parameters()),
        "pytorch": lambda: len(list(model.parameters())),
        "keras": lambda: len(model.trainable_variables),
    }
    assert count[track]() == len(get_weights(model))


@every_track
@pytest.mark.keras
def test_keras_and_the_others_read_and_write_with_one_table(track):
    """A change of the table changes what the source reads, what the target reads and the logits."""
    model = make(track, **SAVINGS["both"])
    with torch.no_grad():
        memory, features = as_numpy(model.encode(tensor(track, SOURCE))), np.ones((1, 1, 8), np.float32)
        before = as_numpy(model.project(tensor(track, features)))
        weights = get_weights(model)
        table = weights["source_embedding.embeddings"]
        bias = weights["projection.bias"]
        np.testing.assert_allclose(before[0, 0] - bias, table.sum(axis=1), atol=1e-5)  # unscaled
        set_weights(model, weights | {"source_embedding.embeddings": 2 * table})
        assert np.abs(as_numpy(model.encode(tensor(track, SOURCE))) - memory).max() > 1e-3
        after = as_numpy(model.project(tensor(track, features)))
        np.testing.assert_allclose(after - bias, 2 * (before - bias), atol=1e-5)


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
def test_a_shared_weight_is_stepped_once(track):
    """Adam's first step is as long as the learning rate, for a table with three uses, too; for Keras see the test of three steps."""
    model, training = make(track, **SAVINGS["both"]), TRAININGS[track]
    before = get_weights(model)
    if track == "pytorch":
        adam = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    else:
        adam = training.AdamW(model, learning_rate=1e-2)
    losses = training.train(model, adam, lambda step: ((SOURCE, TARGET[:, :-1]), TARGET[:, 1:]), 1, ignore_index=0)
    moved = np.abs(get_weights(model)["source_embedding.embeddings"] - before["source_embedding.embeddings"])
    assert losses.shape == (1,) and abs(moved.max() - 1e-2) < 1e-4


def test_sharing_survives_a_change_of_dtype():
    model = numpy_track.Seq2SeqTransformer(**SMALL | SAVINGS["both"], rng=0).astype(np.float32)
    assert model.projection.embeddings is model.source_embedding.embeddings is model.target_embedding.embeddings
    assert model.projection.embeddings.value.dtype == model(SOURCE, TARGET).dtype == np.float32


# Training


@pytest.mark.keras
def test_keras_and_its_twins_take_the_same_steps():
    """Keras beside NumPy's run with Keras' formula: its epsilon is elsewhere."""
    models = twins(norm_first=True, **SAVINGS["both"])
    as_keras = copy.deepcopy(models["numpy"])
    parameters = models["pytorch"].parameters()

    def batch_at(step):
        source, target = genetic_code.sample(8, (1, 4), seed=(0, step))
        return (source, target[:, :-1]), target[:, 1:]

    def as_dict(step):
        (source, target), asked = batch_at(step)
        return {"source": source, "target": target}, asked

    runs = {
        "numpy": (models["numpy"], TRAININGS["numpy"].AdamW(models["numpy"], 1e-3, clip_norm=1.0), {}),
        "pytorch": (models["pytorch"], torch.optim.AdamW(parameters, 1e-3, weight_decay=0.0), {"clip_norm": 1.0}),
        "as keras": (
            as_keras,
            TRAININGS["numpy"].AdamW(as_keras, 1e-3, epsilon=1e-7, clip_norm=1.0, formula="keras"),
            {},
        ),
        "keras": (models["keras"], keras.optimizers.AdamW(1e-3, weight_decay=0.0, global_clipnorm=1.0), {}),
    }
    losses, tables = {}, {}
    for name, (model, adam, options) in runs.items():
        if name == "keras":
            losses[name] = keras_steps(model, adam, keras_training.SparseCrossEntropy(), as_dict, 3, ignore_index=0)
        else:
            training = TRAININGS.get(name, TRAININGS["numpy"])
            losses[name] = training.train(model, adam, batch_at, 3, ignore_index=0, **options)
        tables[name] = get_weights(model)["source_embedding.embeddings"]
    for name, reference in (("pytorch", "numpy"), ("keras", "as keras")):
        np.testing.assert_allclose(losses[name], losses[reference], rtol=1e-4)
        np.testing.assert_allclose(tables[name], tables[reference], atol=1e-4)


# Decoding, of models whose probabilities are written down

VOCABULARY = "_^$abc"  # padding, start, end, three letters


def written(track, table):
    """A model of a track whose next-token probabilities are a function of the beginning, a string, and of the source's first token."""

    class Written(numpy_track.Module if track == "numpy" else nn.Module if track == "pytorch" else object):
        pad_id = 0

        def encode(self, source):
            return source[:, :, None] if track != "keras" else keras.ops.expand_dims(source, -1)

        def decode(self, target, memory, memory_mask):
            target, first = as_numpy(target), as_numpy(memory)[:, 0, 0].astype(int)
            probs = np.zeros((*target.shape, len(VOCABULARY)))
            for row, tokens in enumerate(target):
                for position in range(len(tokens)):
                    beginning = "".join(VOCABULARY[token] for token in tokens[1 : position + 1])
                    found = table(beginning, first[row])
                    probs[row, position] = [found.get(letter, 0.0) for letter in VOCABULARY]
            with np.errstate(divide="ignore"):
                logits = np.log(probs)
            return {"numpy": np.asarray, "pytorch": torch.from_numpy, "keras": keras.ops.convert_to_tensor}[track](
                logits
            )

        def project(self, features):
            return features

    return Written()


def listed(table):
    return lambda beginning, _: table.get(beginning, {"$": 1.0})


def random_table(beginning, source):
    """Random, the same each time, and different for each source; the end becomes more probable as the target grows."""
    rng = np.random.default_rng([source, *map(ord, beginning)])
    probabilities = rng.dirichlet([0.3 + 0.1 * len(beginning), 1, 1, 1])
    return dict(zip("$abc", probabilities))


def score_of(text, source, penalty):
    log_probability = sum(math.log(random_table(text[:i], source)[letter]) for i, letter in enumerate(text))
    return log_probability / ((5 + len(text)) / 6) ** penalty


def assert_score(found, expected):
    """Scores are float64; JAX alone has no float64 unless it is told, and gives float32."""
    if found.dtype == np.float32 and keras.backend.backend() == "jax":
        assert abs(found - expected) < 1e-6
    else:
        assert found.dtype == np.float64 and abs(found - expected) < 1e-9


def text_of(row):
    return "".join(VOCABULARY[token] for token in row[1:] if token)


@every_track
@pytest.mark.parametrize("penalty", [0.0, 0.6, 2.0])
@pytest.mark.keras
def test_keras_and_the_others_find_the_best_of_all_targets(track, penalty):
    """A beam that is wide enough for everything finds what comparing all targets finds, in every row of a batch."""
    source = np.array([[1, 4], [2, 4], [3, 0]])
    found, scores = beam(track, written(track, random_table), source, 5, 1, 2, beam_width=120, length_penalty=penalty)
    for row, score, first in zip(found, scores, source[:, 0]):
        ended = ["".join(t) + "$" for n in range(4) for t in itertools.product("abc", repeat=n)]
        everything = ended + ["".join(t) for t in itertools.product("abc", repeat=4)]
        best = max(everything, key=lambda text, first=first: score_of(text, first, penalty))
        assert text_of(row) == best
        assert_score(score, score_of(best, first, penalty))


@every_track
@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.keras
def test_keras_and_the_others_score_what_they_return(track, width):
    source = np.arange(1, 7)[:, None]
    found, scores = beam(track, written(track, random_table), source, 6, 1, 2, beam_width=width)
    for row, score, first in zip(found, scores, source[:, 0]):
        assert_score(score, score_of(text_of(row), first, 0.6))
    if width == 1:
        assert np.array_equal(found, greedy(track, written(track, random_table), source, 6, 1, 2))


@every_track
@pytest.mark.keras
def test_keras_and_the_others_write_greedily(track):
    """The most probable letter each time; padding behind the end, whatever the model would say there; max_length holds."""
    table = {
        "": {"a": 0.4, "b": 0.6},
        "b": {"a": 0.7, "$": 0.3},
        "ba": {"$": 0.4, "_": 0.6},  # padding is never a choice
        "ba$": {"c": 1.0},
    }

    def by_source(beginning, source):
        return table.get(beginning, {"c": 1.0}) if source == 3 else {"a": 1.0}

    model = written(track, by_source)
    assert greedy(track, model, np.array([[3], [4]]), 6, 1, 2).tolist() == [[1, 4, 3, 2, 0, 0], [1, 3, 3, 3, 3, 3]]
    assert greedy(track, model, np.array([[3]]), 6, 1, 2).tolist() == [[1, 4, 3, 2]]  # stops when all have ended
    assert greedy(track, model, np.array([[3]]), 1, 1, 2).tolist() == [[1]]
    found, _ = beam(track, model, np.array([[3]]), 6, 1, 2, beam_width=2, length_penalty=0.0)
    assert found.shape[1] <= 6 and found[0, 0] == 1


@every_track
@pytest.mark.keras
def test_keras_and_the_others_never_write_padding_however_unlikely_the_rest(track):
    """Padding stays out where no finite number would keep it out: all others have the logit -10 000 or less."""
    model = written(track, listed({}))
    logits = np.array([0.0, -3e4, -2e4, -1e4, -2e4, -2e4])  # of padding, start, end and letters: the best is "a"
    rows = {"numpy": np.asarray, "pytorch": torch.from_numpy, "keras": keras.ops.convert_to_tensor}
    model.project = lambda features: rows[track](np.tile(logits, (len(as_numpy(features)), 1, 1)))
    assert greedy(track, model, np.array([[3], [4]]), 5, 1, 2).tolist() == [[1, 3, 3, 3, 3]] * 2
    assert beam(track, model, np.array([[3], [4]]), 5, 1, 2, beam_width=1)[0].tolist() == [[1, 3, 3, 3, 3]] * 2


@every_track
@pytest.mark.parametrize("max_length", [1, 2, 6])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.keras
def test_keras_and_the_others_fill_the_room_with_a_beam_that_does_not_end(track, width, max_length):
    model = written(track, lambda beginning, source: {"a": 0.5, "b": 0.3, "c": 0.2})
    found, scores = beam(track, model, np.ones((2, 1), int), max_length, 1, 2, beam_width=width, length_penalty=0.0)
    assert found.tolist() == [[1] + [3] * (max_length - 1)] * 2  # the start, and the most probable letter throughout
    np.testing.assert_allclose(scores, (max_length - 1) * math.log(0.5), rtol=1e-6)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_can_lose_to_greedy_with_a_beam(track):
    many = dict.fromkeys("abc$", 0.25)
    table = {"": {"a": 0.5, "b": 0.45, "c": 0.05}, "a": {"a": 0.34, "b": 0.33, "c": 0.33}, "b": {"a": 0.5, "b": 0.5}}
    model = written(track, listed(table | {"ba": many, "bb": many}))
    scores = {
        w: beam(track, model, np.ones((1, 1), int), 5, 1, 2, beam_width=w, length_penalty=0)[1] for w in (1, 2, 3)
    }
    np.testing.assert_allclose([np.exp(scores[w][0]) for w in (1, 2, 3)], [0.17, 0.05625, 0.17])


@every_track
@pytest.mark.keras
def test_keras_and_the_others_prefer_short_targets_without_a_length_penalty(track):
    table = {"": {"a": 0.5, "b": 0.3, "c": 0.2}, "a": {"a": 0.8, "b": 0.2}, "aa": {"a": 0.8, "b": 0.2}}
    model = written(track, listed(table | {"aaa": {"a": 0.78, "b": 0.22}}))
    found = {
        penalty: text_of(beam(track, model, np.ones((1, 1), int), 7, 1, 2, length_penalty=penalty)[0][0])
        for penalty in (0, 0.6)
    }
    assert found == {0: "b$", 0.6: "aaaa$"}


# Decoding, of the model itself


@pytest.mark.keras
def test_keras_and_its_twins_write_the_same():
    models = twins(seed=2)
    source, _ = genetic_code.sample(12, (1, 4), seed=3)
    for decode in (greedy, lambda *args: beam(*args)[0], lambda *args: beam(*args, beam_width=1)[0]):
        found = [decode(track, model, source, 8) for track, model in models.items()]
        assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    scores = [beam(track, model, source, 8)[1] for track, model in models.items()]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-3)
    np.testing.assert_allclose(scores[2], scores[0], atol=1e-3)
    assert len({row.tobytes() for row in found[0]}) > 1  # they differ from source to source


@every_track
@pytest.mark.keras
def test_keras_and_the_others_beam_of_one_is_greedy(track):
    for seed in range(1 if track == "keras" else 2):
        model = twins(seed)[track]
        found, _ = beam(track, model, SOURCE, 8, beam_width=1)
        assert np.array_equal(found, greedy(track, model, SOURCE, 8))


@every_track
@pytest.mark.keras
def test_keras_and_the_others_translate_a_source_alone_as_in_a_batch(track):
    model = twins(seed=2)[track]
    source, _ = genetic_code.sample(2, (1, 4), seed=3)
    assert (source == PAD_ID).any()
    together, (beams, scores) = greedy(track, model, source, 6), beam(track, model, source, 6)
    for row, found, best, score in zip(source, together, beams, scores):
        alone = row[row != 0][None]
        found_alone, (beam_alone, score_alone) = greedy(track, model, alone, 6)[0], beam(track, model, alone, 6)
        assert found_alone.tolist() == found[: len(found_alone)].tolist()
        assert beam_alone[0].tolist() == best[: beam_alone.shape[1]].tolist()
        assert abs(score_alone[0] - score) < 1e-3


@pytest.mark.parametrize("track", ["numpy", "pytorch"])
def test_decoding_keeps_the_mode_of_the_model(track):
    model = make(track, dropout=0.5)
    for training in (True, False):
        model.train(training)
        model.encoder.train(not training)  # a part that is frozen, say
        greedy(track, model, SOURCE)
        beam(track, model, SOURCE)
        assert model.training is training and model.encoder.training is not training


def oracle(track, model, monkeypatch):
    """Let a model know the genetic code: its memory is the source, and what follows is read from the table."""
    convert = {"numpy": np.asarray, "pytorch": torch.as_tensor, "keras": keras.ops.convert_to_tensor}[track]

    def decode(self, target, memory, memory_mask=None):
        answers = []
        for row in as_numpy(memory):
            dna = "".join(genetic_code.SOURCE_VOCABULARY[int(token)] for token in row if token)
            answers.append(genetic_code.encode_target([genetic_code.translate(dna)], max_length=40)[0])
        following = np.array(answers)[:, 1 : target.shape[1] + 1]
        return convert(np.eye(23, dtype=np.float32)[following] * 50)

    monkeypatch.setattr(type(model), "encode", lambda self, source: source)
    monkeypatch.setattr(type(model), "decode", decode)
    monkeypatch.setattr(type(model), "project", lambda self, features: features)


@every_track
@pytest.mark.keras
def test_keras_and_the_others_translate_text(track, monkeypatch):
    """Text to text, against Biopython's table, whatever the case, for one and for many, with every sense codon."""
    from Bio.Seq import Seq

    model, translate = make(track, max_length=36), TRACKS[track].translate
    oracle(track, model, monkeypatch)
    source, _ = genetic_code.sample(40, (1, 12), seed=5)
    texts = ["".join(genetic_code.SOURCE_VOCABULARY[token] for token in row if token) for row in source]
    texts += list(genetic_code.SENSE_CODONS)
    assert translate(model, texts, *TOKENIZERS) == [str(Seq(text).translate()) for text in texts]
    assert translate(model, "atgGCC", *TOKENIZERS) == "MA"
    assert translate(model, ["ATG"], *TOKENIZERS) == ["M"]


@every_track
@pytest.mark.keras
def test_keras_and_the_others_translate_with_tokenizers_of_their_own(track):
    """Words in, words out, without start, end and padding, and as the model writes them."""
    tokenization = importlib.import_module(f"shared.{track}.tokenization")
    english, translated = french.sample(40, seed=0)
    ends = [f"<start> {text} <end>" for text in translated]
    tokenizers = tokenization.SimpleTokenizer(english), tokenization.SimpleTokenizer(ends)
    sizes = [len(each.vocabulary) for each in tokenizers]
    model = make(track, source_vocab_size=sizes[0], target_vocab_size=sizes[1])
    start_id, end_id = tokenizers[1].encode("<start> <end>")
    source = np.array([tokenizers[0].encode(english[0])])
    expected = greedy(track, model, source, start_id=start_id, end_id=end_id)[0]
    words = [tokenizers[1].vocabulary[token] for token in expected if token not in (PAD_ID, start_id, end_id)]
    found = TRACKS[track].translate(model, english[:3], *tokenizers)
    assert found[0] == TRACKS[track].translate(model, english[0], *tokenizers) == " ".join(words)


@pytest.mark.keras
def test_keras_model_is_saved_and_loaded_without_custom_objects(tmp_path):
    for savings in (SAVINGS["none"], SAVINGS["both"]):
        model = make("keras", norm_first=True, num_layers=2, **savings)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert np.array_equal(call("keras", loaded, SOURCE, TARGET), call("keras", model, SOURCE, TARGET))
        assert loaded.get_config() == model.get_config()
        assert list(get_weights(loaded)) == list(get_weights(model))
        assert loaded.max_length == 14


@pytest.mark.keras
def test_keras_model_is_a_layer_of_a_functional_model():
    model = twins()["keras"]
    inputs = {
        name: keras.Input((length,), dtype="int32", name=name) for name, length in (("source", 12), ("target", 6))
    }
    functional = keras.Model(inputs, model(inputs))
    assert functional.output_shape == (None, 6, 23)
    found = functional({"source": SOURCE, "target": TARGET})
    np.testing.assert_allclose(as_numpy(found), call("keras", model, SOURCE, TARGET), atol=1e-4)


@pytest.mark.keras
def test_keras_model_is_a_layer_of_a_functional_model_of_open_length():
    model = make("keras")
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in ("source", "target")}
    functional = keras.Model(inputs, model(inputs))
    assert functional.output_shape == (None, None, 23)
    found = functional.predict({"source": SOURCE, "target": TARGET}, verbose=0)
    np.testing.assert_allclose(found, call("keras", model, SOURCE, TARGET), atol=1e-5)


@pytest.mark.keras
def test_keras_model_is_fitted_and_predicts_as_any_other(tmp_path):
    """`fit`, `evaluate`, `predict` and a file, with a dict of inputs and nothing around the model; dropout acts in `fit` alone."""
    model = make("keras", dropout=0.4)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    model.compile(keras.optimizers.Adam(1e-2), loss)
    pairs, asked = {"source": SOURCE, "target": TARGET[:, :-1]}, TARGET[:, 1:]
    before = model.evaluate(pairs, asked, verbose=0)
    assert model.evaluate(pairs, asked, verbose=0) == before
    assert model.train_on_batch(pairs, asked) != pytest.approx(before, abs=1e-6)
    model.fit(pairs, asked, epochs=20, verbose=0)
    assert model.evaluate(pairs, asked, verbose=0) < before - 0.3
    predicted = model.predict(pairs, verbose=0)
    np.testing.assert_allclose(predicted, call("keras", model, SOURCE, TARGET[:, :-1]), atol=1e-5)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(pairs, verbose=0), predicted, atol=1e-6)


@pytest.mark.keras
def test_keras_names_what_is_missing_of_a_pair():
    model = make("keras")
    for wrong in ({"source": SOURCE}, {"source": SOURCE, "target": TARGET, "mask": TARGET}, {}):
        with pytest.raises(ValueError, match="expected 'source' and 'target'"):
            model(wrong)
    for wrong in (SOURCE, [SOURCE, TARGET]):
        with pytest.raises(TypeError, match="inputs"):
            model(wrong)


# The dictionary of compare

SAME = {  # what has one value in the three columns
    "a batch of texts of different lengths",
    "what the decoder reads",
    "what it is asked for",
    "how often the tied table is listed",
    "the loss, without padding",
    "log-probabilities",
    "the two best of all beams",
    "fetch what belongs to a choice",
}


def run_column(column):
    """Run a column from its first row to its last, and return the values of the rows in SAME."""
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=shape) for name, shape in {"x": (3, 6, 16), "memory": (3, 7, 16)}.items()}
    arrays |= {"scores": rng.normal(size=(3, 2, 9)), "logits": rng.normal(size=(3, 6, 9))}
    if column > 1:
        arrays = {name: array.astype("float32") for name, array in arrays.items()}
    arrays |= {"source": np.array([[1, 4, 2, 3, 1, 2, 2], [3, 1, 2, 4, 0, 0, 0], [2, 2, 1, 0, 0, 0, 0]])}
    arrays |= {"target": np.array([[1, 5, 6, 8, 2, 0], [1, 7, 2, 0, 0, 0], [1, 0, 4, 3, 3, 2]])}
    arrays["order"] = np.array([[2, 0], [1, 1], [5, 3]])
    names = {"np": np, "torch": torch, "keras": keras, "rows": [row[row > 0].tolist() for row in arrays["source"]]}
    names |= vars(list(TRACKS.values())[column - 1])
    names |= (
        {"cross_entropy": numpy_training.cross_entropy, "Encoder": Encoder, "Decoder": Decoder} if column == 1 else {}
    )
    names |= {"MultiHeadAttention": MultiHeadAttention} if column == 1 else {}
    names |= {name: torch.tensor(array) if column == 2 else array for name, array in arrays.items()}
    return values_of("12_seq2seq", column, names, SAME.__contains__)


@pytest.mark.keras
def test_every_call_of_the_dictionary_runs_as_typed_and_gives_the_same():
    assert_same([run_column(column) for column in (1, 2, 3)], SAME)


def test_pytorch_searches_where_there_is_no_float64(monkeypatch):
    """As on Apple's GPUs: the same targets, scores in float32."""
    assert pytorch_track._widest(torch.device("mps")) == torch.float32
    model = twins(seed=2)["pytorch"]
    expected, scores = beam("pytorch", model, SOURCE)
    monkeypatch.setattr(pytorch_track, "_widest", lambda device: torch.float32)
    monkeypatch.setattr(torch.Tensor, "double", None)
    found, single = beam("pytorch", model, SOURCE)
    assert np.array_equal(found, expected) and single.dtype == np.float32
    np.testing.assert_allclose(single, scores, atol=1e-5)
    assert np.array_equal(greedy("pytorch", model, SOURCE), beam("pytorch", model, SOURCE, beam_width=1)[0])


# Misuse

made = functools.cache(make)  # a call that is refused leaves a model as it was


def refused(call, error, name):
    # Behind a semicolon stand the other arrays, behind a bullet all that Keras was given; [1m is how it prints bold.
    with pytest.raises(error, match=rf"^[^;•]*(\b|\[1m){name}(?!\w)"):
        call()


def decode(track, function, **wrong):
    given = {"model": made(track), "source": tensor(track, SOURCE), "max_length": 14, "start_id": 1, "end_id": 2}
    getattr(TRACKS[track], function)(**given | wrong)


@pytest.mark.parametrize("track", ["numpy", "pytorch", pytest.param("keras", marks=pytest.mark.keras)])
def test_every_track_names_what_it_refuses(track):
    module, source = TRACKS[track], tensor(track, SOURCE)
    for function in ("greedy_decode", "beam_search"):
        refused(lambda name=function: decode(track, name, source=source[0]), TypeError, "source")
        refused(lambda name=function: decode(track, name, max_length=15), ValueError, "max_length")
        refused(lambda name=function: decode(track, name, start_id="<start>"), TypeError, "start_id")
    refused(lambda: decode(track, "beam_search", beam_width=0), ValueError, "beam_width")
    refused(lambda: decode(track, "beam_search", length_penalty=-0.1), ValueError, "length_penalty")
    refused(lambda: module.translate(made(track), "", *TOKENIZERS), ValueError, "text")
    refused(lambda: module.translate(made(track), 7, *TOKENIZERS), TypeError, "text")
    refused(lambda: module.translate(None, "ATG", *TOKENIZERS), TypeError, "model")
    if track != "pytorch":
        refused(lambda: module.TiedProjection(np.zeros((5, 8))), TypeError, "embedding")


def translate(text, tokenizers=TOKENIZERS, **arguments):
    numpy_track.translate(made("numpy", **arguments), text, *tokenizers)


REFUSED = [
    (lambda: make("numpy", pad_id=5), ValueError, "pad_id"),
    (lambda: make("numpy", shared_embeddings=True), ValueError, "source_vocab_size"),
    *(
        (functools.partial(decode, "numpy", "greedy_decode", **wrong), error, name)
        for wrong, error, name in [
            ({"model": None}, TypeError, "model"),
            ({"source": SOURCE[:0]}, ValueError, "source"),
            ({"max_length": 0}, ValueError, "max_length"),
            ({"start_id": 23}, ValueError, "start_id"),
            ({"start_id": 0}, ValueError, "start_id"),
            ({"end_id": -1}, ValueError, "end_id"),
        ]
    ),
    (lambda: translate(["ATG", "AUG"]), ValueError, "U' is not a nucleotide"),
    (lambda: translate(["ATG", ""]), ValueError, r"text\[1\]"),
    (lambda: translate(["ATG", 7]), TypeError, r"text\[1\]"),
    (lambda: translate([]), ValueError, "text"),
    (lambda: translate("ATG" * 5), ValueError, "max_length"),
    (lambda: translate("ATG", target_vocab_size=9), ValueError, "target_tokenizer"),
    (lambda: translate("ATG", source_vocab_size=6), ValueError, "source_tokenizer"),
    (lambda: translate("ATG", (len, TOKENIZERS[1])), TypeError, "source_tokenizer"),
    (lambda: translate("ATG", (TOKENIZERS[0], TOKENIZERS[0]), target_vocab_size=5), ValueError, "target_tokenizer"),
    (lambda: translate("ATG", pad_id=1), ValueError, "pad_id"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    refused(call, error, name)
