"""Training in practice in the three tracks: measuring on held-out data, and checkpoints that survive a kill."""

import inspect
import math
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import keras
import numpy as np
import pytest
import safetensors.numpy
import torch
from classifiers import (
    ARRAYS,
    CLASSES,
    CLASSIFIERS,
    FEATURES,
    HIDDEN,
    MODULES,
    KerasClassifier,
    NumpyClassifier,
    PytorchClassifier,
    assert_equal,
    batch_at,
    make,
    make_optimizer,
    state,
    taken,
    train,
)
from torch.optim.lr_scheduler import CosineAnnealingLR

from shared.arrays import as_numpy
from shared.data import dna
from shared.exercises import training_in_practice as exercises
from shared.frameworks.weights import get_weights, load_arrays, save_arrays, save_weights, set_weights
from shared.keras import training_in_practice as keras_practice
from shared.numpy import models as numpy_models
from shared.numpy import training as numpy_training
from shared.numpy import training_in_practice as numpy_practice
from shared.pytorch import training as pytorch_training
from shared.pytorch import training_in_practice as pytorch_practice

ROOT = Path(__file__).resolve().parents[2]
PRACTICE = {"numpy": numpy_practice, "pytorch": pytorch_practice, "keras": keras_practice}


def load(track, path, model, adam):
    """`load_checkpoint` of a track, with PyTorch's scheduler."""
    others = [adam.scheduler] if track == "pytorch" else []
    PRACTICE[track].load_checkpoint(path, model, adam, *others)


def train_and_save(track, model, adam, batches, num_steps, path, every):
    """Train, and write a checkpoint after every so many steps and at the end; the losses."""
    losses = []
    for stop in (*range(every, num_steps, every), num_steps):
        if stop > taken(track, adam):
            losses.append(train(track, model, adam, batches, stop))
            PRACTICE[track].save_checkpoint(path, model, adam)
    return np.concatenate(losses)


# The data


def test_the_middle_letters_are_those_of_the_process():
    process = dna.CpGDeamination()
    x, y, exact = numpy_practice.middle_letters(process, 20_000, seed=3)
    assert (x.shape, x.dtype, y.shape, exact.shape) == ((20_000, 44), np.float32, (20_000,), (20_000, 4))
    letters = x.reshape(-1, 11, 4)
    assert np.array_equal(letters.sum(axis=-1), np.ones((20_000, 11)))
    np.testing.assert_allclose(exact.sum(axis=1), 1)
    middle, right = letters[:, 5].argmax(axis=1), letters[:, 6].argmax(axis=1)
    before_g = (middle == 1) & (right == 2)
    assert (
        np.ptp(exact[before_g], axis=0).max() == 0
        and exact[before_g][0, 3] > 0.5 > exact[(middle == 1) & ~before_g][:, 3].max()
    )
    # drawn as often as the exact probabilities say, within five standard deviations
    for letter in range(4):
        p = exact[:, letter]
        assert abs((y == letter).sum() - p.sum()) < 5 * math.sqrt((p * (1 - p)).sum())
    again = numpy_practice.middle_letters(process, 20_000, seed=3)
    assert all(np.array_equal(a, b) for a, b in zip(again, (x, y, exact)))
    assert numpy_practice.middle_letters(process, 5, seed=3, length=3)[0].shape == (5, 12)


# Held-out data


@pytest.mark.parametrize("track", MODULES)
@pytest.mark.keras
def test_keras_and_the_others_evaluate_without_dropout_and_leave_the_mode_as_it_was(track):
    practice, (inputs, targets) = PRACTICE[track], batch_at(0)
    model, _ = make(track, dropout=0.5)
    plain, _ = make(track, dropout=0.0)
    set_weights(plain, get_weights(model))
    logits = as_numpy(plain(torch.tensor(inputs) if track == "pytorch" else inputs))
    expected = numpy_training.cross_entropy(logits, targets)
    for mode in (True, False):
        if track != "keras":
            model.train(mode)
        found = practice.evaluate(model, inputs, targets)
        assert isinstance(found, float) and found == pytest.approx(expected, abs=1e-6)
        if track != "keras":
            assert model.training == mode
    assert practice.evaluate(model, (inputs,), targets) == found
    ignored = practice.evaluate(model, inputs, np.where(targets == 2, 7, np.maximum(targets, 0)), ignore_index=7)
    kept = np.where(targets == 2, -100, np.maximum(targets, 0))
    assert ignored == pytest.approx(numpy_training.cross_entropy(logits, kept), abs=1e-6)


@pytest.mark.parametrize("track", ARRAYS)
def test_a_frozen_part_keeps_its_mode_also_after_an_error(track):
    model, _ = make(track)
    inputs, targets = batch_at(0)
    model.train()
    model.dropout.eval()
    PRACTICE[track].evaluate(model, inputs, targets)
    assert model.training and not model.dropout.training
    with pytest.raises(ValueError, match="target"):
        PRACTICE[track].evaluate(model, inputs, targets + 99)
    assert model.training and not model.dropout.training


# Checkpoints


class PowerCut(Exception):
    pass


def check_resume(track, path):
    """Stopped in step 7 with a checkpoint at step 4, a run goes on in a new model and ends at the same bits."""

    def failing(step):
        if step == 7:
            raise PowerCut
        return batch_at(step)

    model, adam = make(track)
    whole = train(track, model, adam, batch_at, 10)
    expected = state(track, model, adam)
    with pytest.raises(PowerCut):
        train_and_save(track, *make(track), failing, 10, path, every=4)
    model, adam = make(track, seed=5)
    load(track, path, model, adam)
    assert taken(track, adam) == 4
    rest = train_and_save(track, model, adam, batch_at, 10, path, every=4)
    assert np.array_equal(rest, whole[4:])
    assert_equal(state(track, model, adam), expected)
    model, adam = make(track, seed=6)
    load(track, path, model, adam)  # the last one was written at the end
    assert_equal(state(track, model, adam), expected)
    return whole, path


@pytest.mark.parametrize("track", ARRAYS)
def test_an_interrupted_run_ends_bit_for_bit_where_the_whole_run_ends(track, tmp_path):
    check_resume(track, tmp_path / "run")


@pytest.mark.parametrize("until", [0, 1, 2, 3, 9])
def test_a_scheduler_is_put_where_the_run_was(until, tmp_path):
    """Before, in and after its rise; from a file of another place, too; the rates that follow are those of the whole run."""
    model, adam = make("pytorch")
    rates = []

    def watched(step):
        rates.append(adam.param_groups[0]["lr"])
        return batch_at(step)

    train("pytorch", model, adam, watched, 12)
    whole, rates = rates, []
    model, adam = make("pytorch")
    if until:
        train("pytorch", model, adam, batch_at, until)
    pytorch_practice.save_checkpoint(tmp_path / "c", model, adam)
    for already in (0, 5):
        model, adam = make("pytorch", seed=already)
        if already:
            train("pytorch", model, adam, batch_at, already)
        load("pytorch", tmp_path / "c", model, adam)
        assert adam.scheduler.last_epoch == until
        assert adam.scheduler.get_last_lr() == [adam.param_groups[0]["lr"]] == [whole[until]]
        rates.clear()
        train("pytorch", model, adam, watched, 12)
        assert rates == whole[until:]


@pytest.mark.keras
def test_keras_interrupted_run_ends_bit_for_bit_where_the_whole_run_ends(tmp_path):
    check_resume("keras", tmp_path / "run")


class UnseededClassifier(KerasClassifier):
    """A dropout without a seed of its own: on the PyTorch backend, PyTorch's generator is behind it."""

    def make_dropout(self, dropout, seed):
        return keras.layers.Dropout(dropout)


@pytest.mark.keras
def test_keras_interrupted_run_ends_bit_for_bit_also_without_a_seed_of_the_dropout(tmp_path, monkeypatch):
    monkeypatch.setitem(CLASSIFIERS, "keras", UnseededClassifier)
    check_resume("keras", tmp_path / "run")


IMPORTS = {
    "numpy": "",
    "pytorch": """import torch
from torch.optim.lr_scheduler import LambdaLR
from shared.pytorch import training as pytorch_training""",
}
KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
import shared
import numpy as np
{imports}
from shared.{track} import models as {track}_models, training, training_in_practice
from shared.numpy import training as numpy_training
from shared.numpy.training import warmup_schedule
FEATURES, HIDDEN, CLASSES = {sizes}
{sources}
MODULES, PRACTICE = {{{track!r}: training}}, {{{track!r}: training_in_practice}}
CLASSIFIERS = {{{track!r}: {classifier}}}
saves, real = [], os.fsync
def fsync(file):
    saves.append(file)
    if len(saves) == 3:  # the third checkpoint is written, and not yet renamed
        os.kill(os.getpid(), signal.SIGKILL)
    real(file)
os.fsync = fsync
train_and_save({track!r}, *make({track!r}), batch_at, 10, {path!r}, every=2)
"""


@pytest.mark.parametrize("track", ARRAYS)
def test_killed_in_the_middle_of_a_save(track, tmp_path):
    """The child holds only what this track needs: it starts in a second, and nothing of it survives the kill."""
    path = tmp_path / "run"
    code = KILLED.format(
        root=str(ROOT),
        imports=IMPORTS[track],
        track=track,
        sizes=(FEATURES, HIDDEN, CLASSES),
        sources="\n\n".join(
            map(inspect.getsource, (CLASSIFIERS[track], batch_at, make, make_optimizer, train, taken, train_and_save))
        ),
        classifier=CLASSIFIERS[track].__name__,
        path=str(path),
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (tmp_path / "run.part").exists()
    model, adam = make(track)
    whole = train(track, model, adam, batch_at, 10)
    expected = state(track, model, adam)
    model, adam = make(track, seed=5)
    load(track, path, model, adam)
    assert taken(track, adam) == 4
    assert np.array_equal(train(track, model, adam, batch_at, 10), whole[4:])
    assert_equal(state(track, model, adam), expected)


def test_a_write_that_fails_leaves_the_old_checkpoint_as_it_was(tmp_path, monkeypatch):
    path, (model, adam) = tmp_path / "run", make("numpy")
    numpy_practice.save_checkpoint(path, model, adam)
    before = path.read_bytes()
    train("numpy", model, adam, batch_at, 2)

    def full(*files):
        raise OSError("no space left on device")

    for step in ("fsync", "replace"):  # while the new file is written, and when it is to take the old one's place
        with monkeypatch.context() as patch, pytest.raises(OSError, match="no space"):
            patch.setattr(os, step, full)
            numpy_practice.save_checkpoint(path, model, adam)
        assert path.read_bytes() == before


def damaged(path, folder):
    """Files that are nearly the checkpoint at path, and the part of each that the error has to name."""
    arrays, metadata = load_arrays(path)
    bias, moment = "model/mlp.hidden.bias", "second_moment/mlp.readout.kernel"
    changes = {
        "missing weight": ({n: a for n, a in arrays.items() if n != bias}, metadata, bias),
        "missing moment": ({n: a for n, a in arrays.items() if n != moment}, metadata, moment),
        "unexpected": (arrays | {"model/more": np.zeros(2)}, metadata, "model/more"),
        "foreign": (arrays | {"else": np.zeros(2)}, metadata, "else"),
        "shape": (arrays | {moment: np.zeros((2, 2))}, metadata, moment),
        "dtype": (arrays | {bias: np.zeros(HIDDEN, np.int64)}, metadata, bias),
        "no steps": (arrays, {"random_states": {}}, "steps"),
        "negative": (arrays, metadata | {"steps": -1}, "steps"),
        "no states": (arrays, {"steps": 1}, "random states"),
        "no mapping": (arrays, [1], "metadata"),
    }
    for track in MODULES:
        for number, broken in enumerate((7, "zz", [1], [[1]], {"cpu": "00"}, {"dropout.": {}}, [["a", "b"]])):
            states = metadata | {"random_states": {track: broken}}
            changes[f"{track} state {number}"] = (arrays, states, "random state")
    for name, (changed, its_metadata, part) in changes.items():
        save_arrays(changed, folder / name, its_metadata)
        yield folder / name, part
    whole = path.read_bytes()
    for size in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        (folder / f"{size} bytes").write_bytes(whole[:size])
        yield folder / f"{size} bytes", ""
    (folder / "text").write_text("not a checkpoint at all, but long enough to be read")
    yield folder / "text", ""


def check_damage(track, folder):
    practice = PRACTICE[track]
    model, adam = make(track)
    train(track, model, adam, batch_at, 2)
    practice.save_checkpoint(folder / "good", model, adam)
    save_weights(model, folder / "weights")
    model, adam = make(track, seed=5)
    train(track, model, adam, batch_at, 3)
    before = state(track, model, adam)
    looked_at = ("keras", "pytorch") if track == "keras" and keras.backend.backend() == "torch" else (track,)
    refused = 0
    for path, part in [*damaged(folder / "good", folder), (folder / "weights", "steps")]:
        if " state " in path.name and not path.name.startswith(looked_at):
            continue  # the random state of another track is not looked at
        with pytest.raises(ValueError, match=rf"^{path.name}\b.*{re.escape(part)}"):
            load(track, path, model, adam)
        assert_equal(state(track, model, adam), before)
        refused += 1
    assert refused > 20
    with pytest.raises(ValueError, match=r"model/hidden\.kernel\b.*\bmodel/mlp"):
        numpy_practice.load_checkpoint(folder / "good", numpy_models.MLP(FEATURES, HIDDEN, CLASSES))


@pytest.mark.parametrize("track", ARRAYS)
def test_a_bad_checkpoint_changes_nothing(track, tmp_path):
    check_damage(track, tmp_path)


@pytest.mark.keras
def test_keras_bad_checkpoint_changes_nothing(tmp_path):
    check_damage("keras", tmp_path)


def check_weights_only(track, path):
    """Without an optimizer only the weights are loaded; a run that goes on from them is another one."""
    practice = PRACTICE[track]
    model, adam = make(track)
    whole = train_and_save(track, model, adam, batch_at, 4, path, every=4)
    whole = np.concatenate([whole, train(track, model, adam, batch_at, 8)])
    model, adam = make(track, seed=5)
    before = state(track, model, adam)
    practice.load_checkpoint(path, model)
    after = state(track, model, adam)
    assert all(np.array_equal(after[name], before[name]) for name in after if not name.startswith("model/"))
    assert any(not np.array_equal(after[name], before[name]) for name in after if name.startswith("model/"))
    assert not np.allclose(train(track, model, adam, batch_at, 8)[4:], whole[4:])


@pytest.mark.parametrize("track", ARRAYS)
def test_weights_alone_do_not_resume_a_run(track, tmp_path):
    check_weights_only(track, tmp_path / "run")


@pytest.mark.keras
def test_keras_weights_alone_do_not_resume_a_run(tmp_path):
    check_weights_only("keras", tmp_path / "run")


def travel(tracks, path):
    """Four steps in each track, each going on from the checkpoint of the one before; and all of them in the first alone."""
    start = get_weights(NumpyClassifier())
    model, adam = make(tracks[0], dropout=0.0)
    set_weights(model, start)
    whole = train(tracks[0], model, adam, batch_at, 4 * len(tracks))
    expected = get_weights(model)
    found = []
    for number, track in enumerate(tracks):
        model, adam = make(track, dropout=0.0, seed=number)
        if number:
            load(track, path, model, adam)
        else:
            set_weights(model, start)
        assert taken(track, adam) == 4 * number
        found.append(train_and_save(track, model, adam, batch_at, 4 * (number + 1), path, every=4))
    np.testing.assert_allclose(np.concatenate(found), whole, atol=2e-5)
    for name, value in get_weights(model).items():
        np.testing.assert_allclose(value, expected[name], atol=2e-4, err_msg=name)


@pytest.mark.parametrize("tracks", [("numpy", "pytorch", "numpy"), ("pytorch", "numpy", "pytorch")])
def test_a_run_goes_on_in_another_framework(tracks, tmp_path):
    travel(tracks, tmp_path / "run")


@pytest.mark.keras
def test_keras_goes_on_with_the_runs_of_others(tmp_path):
    travel(("numpy", "keras", "pytorch"), tmp_path / "run")


def test_what_a_checkpoint_holds(tmp_path):
    model, adam = make("pytorch")
    pytorch_training.train(model, adam, batch_at, 3)
    pytorch_practice.save_checkpoint(tmp_path / "c", model, adam)
    arrays = safetensors.numpy.load_file(tmp_path / "c")
    names = [f"mlp.{layer}.{kind}" for layer in ("hidden", "readout") for kind in ("bias", "kernel")]
    groups = ("model", "first_moment", "second_moment")
    assert sorted(arrays) == sorted(f"{group}/{name}" for group in groups for name in names)
    assert arrays["first_moment/mlp.hidden.kernel"].shape == (FEATURES, HIDDEN)
    moment = adam.state[model.mlp.hidden.weight]["exp_avg"].numpy().T
    assert np.array_equal(arrays["first_moment/mlp.hidden.kernel"], moment)
    assert load_arrays(tmp_path / "c")[1]["steps"] == 3


def test_pytorch_leaves_frozen_weights_alone(tmp_path):
    """In training, in a checkpoint, and after it."""
    for seed in (0, 1):
        model = PytorchClassifier(seed=seed)
        model.mlp.hidden.bias.requires_grad_(False)
        before = model.mlp.hidden.bias.clone()
        adam = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], weight_decay=0.5)
        if seed == 1:
            pytorch_practice.load_checkpoint(tmp_path / "c", model, adam)
            before = model.mlp.hidden.bias.clone()
        pytorch_training.train(model, adam, batch_at, 2 + seed)
        assert torch.equal(model.mlp.hidden.bias, before)
        assert len(adam.state_dict()["state"]) == 3
        pytorch_practice.save_checkpoint(tmp_path / "c", model, adam)


def with_batch_norm(track):
    """A classifier with batch normalization, and its Adam."""
    keras.utils.clear_session()
    if track == "pytorch":
        parts = [torch.nn.Linear(FEATURES, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, CLASSES)]
        model = torch.nn.Sequential(*parts)
        return model, torch.optim.Adam(model.parameters(), 1e-2)
    layers = keras.layers
    parts = [layers.Dense(4), layers.BatchNormalization(momentum=0.9), layers.ReLU(), layers.Dense(CLASSES)]
    return keras.Sequential([keras.Input((FEATURES,)), *parts]), keras.optimizers.Adam(1e-2)


def rows_at(step):
    inputs, targets = batch_at(step)
    return 3 + 2 * inputs[:, 0], np.maximum(targets[:, 0], 0)


@pytest.mark.parametrize("track", ["pytorch", pytest.param("keras", marks=pytest.mark.keras)])
def test_the_running_means_of_batch_normalization_are_in_the_checkpoint(track, tmp_path):
    practice, (model, adam), (other, again) = PRACTICE[track], with_batch_norm(track), with_batch_norm(track)
    go_on = partial(train, "keras") if track == "keras" else pytorch_training.train
    go_on(model, adam, rows_at, 20)
    practice.save_checkpoint(tmp_path / "c", model, adam)
    practice.load_checkpoint(tmp_path / "c", other, again)
    assert practice.evaluate(other, *rows_at(99)) == practice.evaluate(model, *rows_at(99))
    went_on = go_on(model, adam, rows_at, 23)
    assert np.array_equal(go_on(other, again, rows_at, 23), went_on)
    assert practice.evaluate(other, *rows_at(99)) == practice.evaluate(model, *rows_at(99))


def test_pytorch_weights_that_were_frozen_for_some_steps_go_on_with_their_own_count(tmp_path):
    def make_frozen():
        model, _ = make("pytorch", dropout=0.0)
        return model, torch.optim.AdamW(model.parameters(), lr=0.05)

    def in_two_parts(model, adam, first, last):
        for freeze, stop in ((True, first), (False, last)):
            model.mlp.hidden.requires_grad_(not freeze)
            pytorch_training.train(model, adam, batch_at, stop)

    for first, saved in ((3, 3), (3, 5)):  # saved before, and after, the frozen weights have moved
        (model, adam), (other, again) = make_frozen(), make_frozen()
        in_two_parts(model, adam, first, saved)
        pytorch_practice.save_checkpoint(tmp_path / "c", model, adam)
        pytorch_practice.load_checkpoint(tmp_path / "c", other, again)
        for each, optimizer in ((model, adam), (other, again)):
            each.mlp.hidden.requires_grad_(True)
            pytorch_training.train(each, optimizer, batch_at, 8)
        assert_equal(get_weights(other), get_weights(model))
    numpy_model, numpy_adam = make("numpy")
    with pytest.raises(ValueError, match=r"c: mlp\.hidden.*2 steps of 5"):  # it has one count for all
        numpy_practice.load_checkpoint(tmp_path / "c", numpy_model, numpy_adam)


@pytest.mark.parametrize("track", PRACTICE)
@pytest.mark.keras
def test_keras_and_the_others_refuse_to_evaluate_on_nothing(track, monkeypatch):
    model, (inputs, targets) = CLASSIFIERS[track](), batch_at(0)
    monkeypatch.setattr(torch.Tensor, "__array__", lambda *_: 1 / 0)  # as of a tensor on a GPU
    with pytest.raises(ValueError, match="targets"):
        PRACTICE[track].evaluate(model, inputs, np.full_like(targets, -100))


def test_pytorch_adam_that_keeps_more_is_refused(tmp_path):
    model, adam = make("pytorch")
    maxima = torch.optim.Adam(model.parameters(), amsgrad=True)
    with pytest.raises(ValueError, match=r"optimizer.*max_exp_avg_sq"):
        pytorch_practice.save_checkpoint(tmp_path / "c", model, maxima)
    assert not (tmp_path / "c").exists()
    pytorch_practice.save_checkpoint(tmp_path / "c", model, adam)
    with pytest.raises(ValueError, match=r"optimizer.*max_exp_avg_sq"):
        pytorch_practice.load_checkpoint(tmp_path / "c", model, maxima)


@pytest.mark.keras
def test_keras_adam_that_takes_a_step_for_several_batches_is_refused_by_name(tmp_path):
    model, adam = make("keras")
    keras_practice.save_checkpoint(tmp_path / "c", model, adam)
    several = keras.optimizers.Adam(1e-3, gradient_accumulation_steps=2)
    for call in (keras_practice.save_checkpoint, keras_practice.load_checkpoint):
        with pytest.raises(ValueError, match=r"optimizer.*gradient_accumulation_steps=2"):
            call(tmp_path / "c", model, several)


@pytest.mark.parametrize("option", [{"amsgrad": True}, {"use_ema": True}])
@pytest.mark.keras
def test_keras_adam_that_keeps_more_is_refused(option, tmp_path):
    model, adam = make("keras")
    more = keras.optimizers.Adam(1e-3, **option)
    with pytest.raises(ValueError, match="optimizer"):
        keras_practice.save_checkpoint(tmp_path / "c", model, more)
    assert not (tmp_path / "c").exists()
    keras_practice.save_checkpoint(tmp_path / "c", model, adam)
    before = get_weights(model)
    with pytest.raises(ValueError, match="optimizer"):
        keras_practice.load_checkpoint(tmp_path / "c", model, keras.optimizers.Adam(1e-3, **option))
    assert_equal(get_weights(model), before)


@pytest.mark.keras
def test_keras_frozen_weights_are_in_the_checkpoint_and_have_no_means(tmp_path):
    def frozen():
        model, _ = make("keras")
        model.mlp.hidden.trainable = False
        return model, keras.optimizers.AdamW(0.05)

    (model, adam), (other, again) = frozen(), frozen()
    set_weights(other, {name: array + 1 for name, array in get_weights(other).items()})
    train("keras", model, adam, batch_at, 3)
    keras_practice.save_checkpoint(tmp_path / "c", model, adam)
    keras_practice.load_checkpoint(tmp_path / "c", other, again)
    assert_equal(get_weights(other), get_weights(model))
    arrays, _ = load_arrays(tmp_path / "c")
    assert "model/mlp.hidden.kernel" in arrays and "first_moment/mlp.hidden.kernel" not in arrays
    losses = [train("keras", *each, batch_at, 6) for each in ((model, adam), (other, again))]
    assert np.array_equal(*losses)


def test_numpy_layers_with_random_numbers_of_their_own_go_on(tmp_path):
    class Noise(numpy_models.Module):
        def __init__(self):
            self.rng = np.random.default_rng(3)
            self.inner = {"mlp": numpy_models.MLP(FEATURES, HIDDEN, CLASSES, 0)}

        def forward(self, x):
            return self.inner["mlp"](x + self.rng.normal(size=x.shape))

        def backward(self, grad_output):
            return self.inner["mlp"].backward(grad_output)

    model, other = Noise(), Noise()
    adam, again = numpy_training.AdamW(model), numpy_training.AdamW(other)
    numpy_training.train(model, adam, batch_at, 3)
    numpy_practice.save_checkpoint(tmp_path / "c", model, adam)
    numpy_practice.load_checkpoint(tmp_path / "c", other, again)
    losses = [numpy_training.train(*each, batch_at, 6) for each in ((model, adam), (other, again))]
    assert np.array_equal(*losses)


# Bad input


def refused(call, error, name):
    with pytest.raises(error, match=rf"^[^;\n]*\b{name}\b"):
        call()


@pytest.mark.parametrize("track", ["numpy", "pytorch", pytest.param("keras", marks=pytest.mark.keras)])
def test_every_track_names_what_it_refuses(track):
    practice, (model, _) = PRACTICE[track], make(track)
    sgd = {"numpy": "sgd", "pytorch": torch.optim.SGD(make("pytorch")[0].parameters()), "keras": keras.optimizers.SGD()}
    for function in (practice.save_checkpoint, practice.load_checkpoint):
        refused(lambda function=function: function("nowhere/c", model, sgd[track]), TypeError, "optimizer")
    refused(lambda: practice.evaluate(None, *batch_at(0)), TypeError, "model")


def save_with_another_optimizer_of_keras():
    (model, _), (another, optimizer) = make("keras"), make("keras")
    optimizer.build(another.trainable_variables)
    keras_practice.save_checkpoint("nowhere/c", model, optimizer)


def load_with_another_kind_of_scheduler():
    model, adam = make("pytorch")
    pytorch_practice.load_checkpoint("nowhere/c", model, adam, CosineAnnealingLR(adam, 5))


def load_with_a_scheduler_alone():
    model, adam = make("pytorch")
    pytorch_practice.load_checkpoint("nowhere/c", model, None, adam.scheduler)


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: numpy_practice.evaluate(NumpyClassifier, *batch_at(0)), TypeError, "model"),
        (load_with_another_kind_of_scheduler, TypeError, "scheduler"),
        (load_with_a_scheduler_alone, ValueError, "scheduler"),
        pytest.param(save_with_another_optimizer_of_keras, ValueError, "optimizer", marks=pytest.mark.keras),
    ],
)
def test_what_is_refused_is_named(call, error, name):
    refused(call, error, name)


@pytest.mark.keras
def test_keras_and_the_others_take_the_same_arguments():
    """But for PyTorch's scheduler, which belongs to the optimizer in the others."""
    for name in ("save_checkpoint", "load_checkpoint", "evaluate"):
        expected = list(inspect.signature(getattr(numpy_practice, name)).parameters.items())
        for track in ("pytorch", "keras"):
            found = inspect.signature(getattr(PRACTICE[track], name)).parameters.items()
            kept = [(key, value.default) for key, value in found if key != "scheduler"]
            assert kept == [(key, value.default) for key, value in expected], (name, track)


# The broken runs of exercises 17.6 to 17.8


def test_each_fault_looks_as_the_exercises_say():
    """On ten seeds: what tells a fault from the others."""
    for seed in range(10):
        runs = {fault: exercises.run_with(fault, seed) for fault in FAULTS}
        loss = {fault: losses for fault, (losses, _) in runs.items()}
        right = {fault: share for fault, (_, share) in runs.items()}
        last = {fault: losses[-50:].mean() for fault, losses in loss.items()}
        assert last[None] < 0.3 and right[None] > 0.93
        assert loss["rate too high"][:20].max() > 30
        assert all(loss[fault].max() < 10 for fault in FAULTS if fault != "rate too high")
        assert abs(last["rate too low"] - loss["rate too low"][:50].mean()) < 0.2 and last["rate too low"] > 2.1
        together = loss["no zero_grad"][:20] - loss[None][:20]
        assert np.abs(together).max() < 0.5 and last["no zero_grad"] > 2 * last[None]
        assert loss["no zero_grad"][50:].max() > 1.5 > loss["no zero_grad"][30:80].min()
        assert loss["softmax twice"].min() > math.log(math.e + 9) - 1 and last["softmax twice"] < 1.75
        assert right["softmax twice"] > 0.8 and right["no zero_grad"] < 0.9
        leaps = np.diff(loss["sorted"][100:])
        assert leaps.max() > 0.7 > 1.5 * np.diff(loss["softmax twice"][100:]).max()
        assert 2.0 < last["labels of other images"] < 2.3 and right["labels of other images"] < 0.3


FAULTS = (None, "rate too high", "rate too low", "no zero_grad", "softmax twice", "sorted", "labels of other images")
