"""Training in the three tracks: the loss, Adam, the schedule, and the loop."""

import inspect
import math
import warnings
from functools import partial
from pathlib import Path

import keras
import numpy as np
import pytest
import torch
from classifiers import (
    ARRAYS,
    CLASSES,
    FEATURES,
    HIDDEN,
    MODULES,
    NumpyClassifier,
    batch_at,
    make,
    make_optimizer,
    taken,
    train,
)
from dictionaries import rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops
from torch.nn import functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR

from shared import laws, parity
from shared.arrays import as_numpy
from shared.frameworks.weights import get_weights, set_weights
from shared.keras import autograd as keras_autograd
from shared.keras import models as keras_models
from shared.keras import training as keras_training
from shared.numpy import embeddings as numpy_embeddings
from shared.numpy import encoder as numpy_encoder
from shared.numpy import models as numpy_models
from shared.numpy import training as numpy_training
from shared.numpy.training import warmup_schedule
from shared.pytorch import training as pytorch_training

ROOT = Path(__file__).resolve().parents[2]
# The loss


def losses(track, logits, targets, smoothing, ignore_index):
    """The loss, and its gradient where the track gives one without a tape."""
    if track == "numpy":
        arguments = logits, targets, smoothing, ignore_index
        return numpy_training.cross_entropy(*arguments), numpy_training.cross_entropy_backward(*arguments)
    tensor = torch.tensor(logits, requires_grad=True)
    loss = pytorch_training.cross_entropy(tensor, torch.tensor(targets), smoothing, ignore_index)
    return loss.item(), torch.autograd.grad(loss, tensor)[0].numpy()


@pytest.mark.parametrize("track", ARRAYS)
@settings(deadline=None, max_examples=25)
@given(
    shape=st.lists(st.integers(1, 4), min_size=0, max_size=3),
    classes=st.integers(2, 7),
    smoothing=st.sampled_from([0.0, 0.1, 0.5]),
    ignore_index=st.sampled_from([-100, 0, 1]),
    seed=st.integers(0, 1000),
)
def test_the_loss_and_its_gradient_are_pytorchs(track, shape, classes, smoothing, ignore_index, seed):
    rng = np.random.default_rng(seed)
    logits, targets = 5 * rng.normal(size=(*shape, classes)), rng.integers(0, classes, shape)
    targets = np.where(rng.random(shape) < 0.3, ignore_index, targets)
    targets.flat[0] = classes - 1 if ignore_index != classes - 1 else 0
    tensor = torch.tensor(logits, requires_grad=True)
    expected = F.cross_entropy(
        tensor.reshape(-1, classes),
        torch.tensor(targets).reshape(-1),
        label_smoothing=smoothing,
        ignore_index=ignore_index,
    )
    loss, gradient = losses(track, logits, targets, smoothing, ignore_index)
    assert abs(loss - expected.item()) < 1e-12
    np.testing.assert_allclose(gradient, torch.autograd.grad(expected, tensor)[0], atol=1e-12)


def test_the_gradient_by_finite_differences(rng):
    logits, targets = rng.normal(size=(3, 4, 5)), rng.integers(0, 5, (3, 4))
    targets[1, 2:] = -100
    numerical = parity.numerical_gradient(lambda: numpy_training.cross_entropy(logits, targets, 0.2), logits)
    np.testing.assert_allclose(numpy_training.cross_entropy_backward(logits, targets, 0.2), numerical, atol=1e-8)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("ignore_index", [-100, 2])
@pytest.mark.keras
def test_keras_loss_equals_numpys(rng, smoothing, ignore_index):
    logits, targets = rng.normal(size=(3, 4, 5)).astype(np.float32), rng.integers(0, 5, (3, 4))
    targets[:, 2] = ignore_index
    found = keras_training.cross_entropy(ops.convert_to_tensor(logits), targets, smoothing, ignore_index)
    assert abs(float(found) - numpy_training.cross_entropy(logits, targets, smoothing, ignore_index)) < 1e-5


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_loss_and_gradient_in_float64(rng):
    import tensorflow as tf

    logits, targets = rng.normal(size=(3, 4, 5)), rng.integers(0, 5, (3, 4))
    targets[:, 2] = -100
    constant = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(constant)
        loss = keras_training.cross_entropy(constant, tf.constant(targets), 0.1)
    np.testing.assert_allclose(loss, numpy_training.cross_entropy(logits, targets, 0.1), atol=1e-12)
    expected = numpy_training.cross_entropy_backward(logits, targets, 0.1)
    np.testing.assert_allclose(tape.gradient(loss, constant), expected, atol=1e-12)


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_loss_equals_keras_losses(rng):
    logits, targets = rng.normal(size=(3, 4, 5)).astype(np.float32), rng.integers(0, 4, (3, 4))
    ignored = np.where(np.arange(4) < 3, targets, 4)
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=4)(ignored, logits)
    smooth = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.2)(np.eye(5)[targets], logits)
    assert abs(float(sparse) - float(keras_training.cross_entropy(logits, ignored, ignore_index=4))) < 1e-6
    assert abs(float(smooth) - float(keras_training.cross_entropy(logits, targets, 0.2))) < 1e-6


@pytest.mark.tensorflow
@pytest.mark.keras
def test_keras_loss_without_any_target_is_zero_where_values_are_unknown():
    import tensorflow as tf

    loss = tf.function(keras_training.cross_entropy, jit_compile=False)
    assert float(loss(tf.ones((2, 3)), tf.constant([-100, -100]))) == 0


def three_losses(logits, targets, **options):
    return (
        numpy_training.cross_entropy(logits, targets, **options),
        float(pytorch_training.cross_entropy(torch.tensor(logits), torch.tensor(targets), **options)),
        float(keras_training.cross_entropy(logits, targets, **options)),
    )


@pytest.mark.keras
def test_keras_and_the_others_survive_huge_logits():
    logits = np.array([[1e4, -1e4, 0], [-1e4, 1e4, 0]], np.float32)
    for loss in three_losses(logits, np.array([0, 0])):
        assert loss == pytest.approx(1e4)
    assert np.isfinite(numpy_training.cross_entropy_backward(logits, np.array([0, 0]))).all()


INF, NAN = np.inf, np.nan
INFINITE_LOGITS = {
    "another class is impossible": ([[1, -INF, 2]], [0], 0.0),
    "the right class is impossible": ([[1, -INF, 2]], [1], 0.0),
    "smoothing over an impossible class": ([[1, -INF, 2]], [0], 0.1),
    "minus infinity in an ignored row": ([[1, -INF, 2], [0, 1, 2]], [-100, 1], 0.0),
    "minus infinity in an ignored row, smoothed": ([[1, -INF, 2], [0, 1, 2]], [-100, 1], 0.1),
    "infinity in an ignored row": ([[1, INF, 2], [0, 1, 2]], [-100, 1], 0.0),
    "infinity in an ignored row, smoothed": ([[1, INF, 2], [0, 1, 2]], [-100, 1], 0.1),
    "NaN in an ignored row": ([[1, NAN, 2], [0, 1, 2]], [-100, 1], 0.0),
    "NaN in a row that counts": ([[1, NAN, 2], [0, 1, 2]], [0, 1], 0.0),
    "infinity in a row that counts": ([[1, INF, 2], [0, 1, 2]], [0, 1], 0.0),
}


@pytest.mark.parametrize("case", INFINITE_LOGITS)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.keras
def test_keras_and_the_others_agree_on_logits_that_are_not_finite(case):
    logits, targets, smoothing = INFINITE_LOGITS[case]
    logits, targets = np.array(logits, np.float32), np.array(targets)
    expected = numpy_training.cross_entropy(logits, targets, smoothing)
    np.testing.assert_allclose(three_losses(logits, targets, label_smoothing=smoothing), expected, rtol=1e-6)
    gradient = keras_autograd.gradient(lambda x: keras_training.cross_entropy(x, targets, smoothing), logits)
    expected = numpy_training.cross_entropy_backward(logits, targets, smoothing)
    np.testing.assert_allclose(as_numpy(gradient), expected, atol=1e-6)


@pytest.mark.keras
def test_keras_and_the_others_divide_by_the_tokens_that_count():
    logits, targets = np.zeros((2, 4, 5), np.float32), np.array([[1, 2, 3, 4], [0, 0, 0, 0]])
    for loss in three_losses(logits, targets, ignore_index=0):
        assert loss == pytest.approx(math.log(5), abs=1e-6)
    for extra in range(1, 4):  # more padding changes nothing
        padded = np.concatenate([logits, np.ones((extra, 4, 5), np.float32)])
        for loss in three_losses(padded, np.pad(targets, ((0, extra), (0, 0))), ignore_index=0):
            assert loss == pytest.approx(math.log(5), abs=1e-6)


@pytest.mark.keras
def test_keras_and_the_others_smooth_over_all_classes(rng):
    logits, target = rng.normal(size=(1, 5)).astype(np.float32), np.array([2])
    log_probabilities = torch.tensor(logits).log_softmax(-1).numpy()[0]
    expected = -0.9 * log_probabilities[2] - 0.1 / 5 * log_probabilities.sum()
    other = -0.9 * log_probabilities[2] - 0.1 / 3 * log_probabilities[[1, 3, 4]].sum()
    assert abs(expected - other) > 1e-3
    for loss in three_losses(logits, target, label_smoothing=0.1):
        assert loss == pytest.approx(expected, abs=1e-6)


@pytest.mark.keras
def test_keras_and_the_others_take_logits(rng):
    """Log-probabilities are logits, too; probabilities are not."""
    logits, targets = rng.normal(size=(6, 5)).astype(np.float32), rng.integers(0, 5, 6)
    log_probabilities = torch.tensor(logits).log_softmax(-1).numpy()
    for right, same, wrong in zip(
        three_losses(logits, targets),
        three_losses(log_probabilities, targets),
        three_losses(np.exp(log_probabilities), targets),
    ):
        assert same == pytest.approx(right, abs=1e-6)
        assert abs(wrong - right) > 0.05


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("ignore_index", [-100, 2])
@pytest.mark.keras
def test_keras_loss_object_is_its_function(rng, smoothing, ignore_index):
    """By the mean of the weights, which are 0 where a target is ignored; and a weight is a weight."""
    logits, targets = rng.normal(size=(3, 4, 5)).astype(np.float32), rng.integers(0, 5, (3, 4))
    targets[:, 2] = ignore_index
    loss = keras_training.SparseCrossEntropy(smoothing)
    counts = (targets != ignore_index).astype(np.float32)
    expected = float(keras_training.cross_entropy(logits, targets, smoothing, ignore_index))
    assert float(loss(targets, logits, sample_weight=counts)) == pytest.approx(expected, abs=1e-6)
    assert float(loss(targets, logits, sample_weight=2 * counts)) == pytest.approx(expected, abs=1e-6)
    assert float(loss(targets, logits, sample_weight=0 * counts)) == 0
    classes = rng.integers(0, 5, (3, 4))
    expected = numpy_training.cross_entropy(logits, classes, smoothing)
    assert float(loss(classes, logits)) == pytest.approx(expected, abs=1e-6)


WEIGHED = [(4, 5), (4, 1), (1, 5), (1, 1), ()]


def weighed(rng, shape):
    """Logits, targets, weights of a shape, and the mean that these weigh."""
    logits, targets = rng.normal(size=(4, 5, 7)).astype(np.float32), rng.integers(0, 7, (4, 5))
    weights = rng.uniform(0.1, 2, shape).astype(np.float32)
    each = [
        [numpy_training.cross_entropy(*pair) for pair in zip(*rows)]
        for rows in zip(logits[..., None, :], targets[..., None])
    ]
    return logits, targets, weights, np.average(each, weights=np.broadcast_to(weights, (4, 5)))


@pytest.mark.parametrize("shape", WEIGHED)
@pytest.mark.keras
def test_keras_loss_object_divides_by_the_weight_of_every_target(rng, shape):
    logits, targets, weights, expected = weighed(rng, shape)
    before = weights.copy()
    loss = keras_training.SparseCrossEntropy()
    assert float(loss(targets, logits, sample_weight=weights)) == pytest.approx(expected, abs=1e-6)
    logits = ops.convert_to_tensor(logits)
    assert float(loss(targets, logits, sample_weight=ops.convert_to_tensor(weights))) == pytest.approx(
        expected, abs=1e-6
    )
    np.testing.assert_array_equal(weights, before)
    own = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for reduction in ("sum", "sum_over_batch_size", None):
        own.reduction, loss = reduction, keras_training.SparseCrossEntropy(reduction=reduction)
        found, wanted = (as_numpy(each(targets, logits, sample_weight=weights)) for each in (loss, own))
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


class Looked(keras.Model):
    """A table of logits; with mask_zero its output has a mask, as padding gets one."""

    def __init__(self, table, mask_zero):
        super().__init__()
        self.embedding = keras.layers.Embedding(*table.shape, mask_zero=mask_zero, weights=[table])

    def call(self, x):
        return self.embedding(x)


@pytest.mark.parametrize("shape", [(4, 5), (4, 1)])
@pytest.mark.parametrize("mask_zero", [False, True])
@pytest.mark.keras
def test_keras_fit_and_evaluate_divide_by_the_weight_of_every_target_that_the_mask_leaves(rng, mask_zero, shape):
    table, x = rng.normal(size=(7, 7)).astype(np.float32), rng.integers(0, 7, (4, 5))
    x[0, 3:] = 0
    weights = rng.uniform(0.1, 2, shape).astype(np.float32)
    each = np.array([[numpy_training.cross_entropy(table[[n]], np.array([n])) for n in row] for row in x])
    counted = np.broadcast_to(weights, x.shape) * ((x > 0) | (not mask_zero))
    expected = (each * counted).sum() / counted.sum()
    model = Looked(table, mask_zero)
    model.compile(keras.optimizers.SGD(0.0), keras_training.SparseCrossEntropy())
    assert model.evaluate(x, x, sample_weight=weights, verbose=0) == pytest.approx(expected, abs=1e-6)
    history = model.fit(x, x, sample_weight=weights, verbose=0).history
    assert history["loss"] == pytest.approx([expected], abs=1e-6)


@pytest.mark.parametrize("shape", [(4,), (4, 2), (4, 5, 1)])
@pytest.mark.keras
def test_keras_loss_object_refuses_weights_of_another_shape(rng, shape):
    """(4,) could be a weight for each sequence, or, if there were four positions, for each of them."""
    logits, targets, _, _ = weighed(rng, ())
    with pytest.raises(TypeError, match=r"sample_weight.*\(4, 5\)"):
        keras_training.SparseCrossEntropy()(targets, logits, sample_weight=np.ones(shape))


@pytest.mark.keras
def test_keras_fit_refuses_weights_of_another_shape(rng):
    """Class weights, too, which `fit` turns into one weight for each sequence."""
    for weights in ({"sample_weight": np.ones(4)}, {"class_weight": dict.fromkeys(range(7), 1.0)}):
        model = Looked(rng.normal(size=(7, 7)), False)
        model.compile(keras.optimizers.SGD(0.0), keras_training.SparseCrossEntropy())
        x = rng.integers(0, 7, (4, 5))
        with pytest.raises(TypeError, match="sample_weight"):
            model.fit(x, x, **weights, verbose=0)


@pytest.mark.parametrize("shape", [(4,), (1, 5)])
@pytest.mark.keras
def test_keras_loss_object_refuses_targets_of_another_shape(rng, shape):
    logits, _, _, _ = weighed(rng, ())
    with pytest.raises(TypeError, match=r"y_true.*\(4, 5\)"):
        keras_training.SparseCrossEntropy()(np.zeros(shape), logits)


@pytest.mark.keras
def test_keras_fit_refuses_a_column_of_targets(rng):
    """Keras' own loss takes it for a row; here each would have been compared with all rows of logits."""
    model = keras_models.MLP(3, 4, 2)
    model.compile(keras.optimizers.SGD(0.0), keras_training.SparseCrossEntropy())
    with pytest.raises(TypeError, match="y_true"):
        model.fit(rng.normal(size=(8, 3)).astype(np.float32), rng.integers(0, 2, (8, 1)), verbose=0)


@pytest.mark.keras
@pytest.mark.parametrize("wrong", [7, -1, 2**32 + 1, 1.5, np.nan])
def test_keras_loss_object_refuses_targets_that_count_and_are_no_class(rng, wrong):
    """What has no weight may be any number."""
    logits, targets, _, _ = weighed(rng, ())
    targets = targets.astype(type(wrong))
    loss, right = keras_training.SparseCrossEntropy(), targets.copy()
    targets[1, 2] = wrong
    for weights in (None, np.ones((4, 5)), np.ones((4, 1)), np.array([[0], [1], [0], [0]])):
        with pytest.raises(ValueError, match=r"target .* is none of the 7 classes"):
            loss(targets, logits, sample_weight=weights)
    each, row = np.ones((4, 5)), np.ones((4, 1))
    each[1, 2] = row[1] = 0
    for weights in (each, row):
        found, expected = (float(loss(numbers, logits, sample_weight=weights)) for numbers in (targets, right))
        assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.keras
@pytest.mark.parametrize("wrong", [7, -100])
def test_keras_fit_does_not_take_targets_that_count_and_are_no_class_for_right(rng, wrong):
    """NaN, where the step is compiled and nothing can be raised; what has no weight, or is padding, may be any number."""
    x = rng.integers(1, 7, (4, 5))
    x[0, 3:] = 0
    targets = x.copy()
    targets[0, 4], targets[1, 2] = wrong, wrong
    counts = np.ones(x.shape)
    counts[1, 2] = 0
    for weights, mask_zero in ((None, True), (counts, False)):  # each leaves one of the two
        model = Looked(rng.normal(size=(7, 7)).astype(np.float32), mask_zero)
        model.compile(keras.optimizers.SGD(0.0), keras_training.SparseCrossEntropy())
        if keras.backend.backend() == "torch":  # isn't compiled
            with pytest.raises(ValueError, match=f"target {wrong}"):
                model.fit(x, targets, sample_weight=weights, verbose=0)
        else:
            assert np.isnan(model.fit(x, targets, sample_weight=weights, verbose=0).history["loss"])
    model = Looked(rng.normal(size=(7, 7)).astype(np.float32), True)
    model.compile(keras.optimizers.SGD(0.0), keras_training.SparseCrossEntropy())
    assert np.isfinite(model.fit(x, targets, sample_weight=counts, verbose=0).history["loss"])


@pytest.mark.keras
@pytest.mark.parametrize("ignore_index", [-(2**32) + 1, 2**31])
def test_keras_loss_ignores_no_other_target_than_ignore_index(rng, ignore_index):
    logits, targets = rng.normal(size=(2, 5)).astype(np.float32), np.array([1, 2])
    with pytest.raises(ValueError, match="ignore_index"):
        keras_training.cross_entropy(logits, targets, ignore_index=ignore_index)
    with pytest.raises(ValueError, match="target"):
        keras_training.cross_entropy(logits, targets + 2**32)


@pytest.mark.keras
def test_keras_loss_object_in_compile_and_from_a_file(rng, tmp_path):
    model = keras_models.MLP(FEATURES, HIDDEN, CLASSES)
    model.compile(keras.optimizers.SGD(0.1), keras_training.SparseCrossEntropy(label_smoothing=0.1))
    inputs, targets = batch_at(0)
    counts = (targets >= 0).astype(np.float32)
    before = float(keras_training.cross_entropy(model(inputs), targets, 0.1))
    assert model.evaluate(inputs, targets, sample_weight=counts, verbose=0) == pytest.approx(before, abs=1e-6)
    model.fit(inputs, targets, sample_weight=counts, epochs=3, verbose=0)
    assert model.evaluate(inputs, targets, sample_weight=counts, verbose=0) < before
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert type(again.loss) is keras_training.SparseCrossEntropy
    assert again.loss.get_config() == model.loss.get_config()
    assert again.loss.get_config()["label_smoothing"] == 0.1


# The schedule


@pytest.mark.parametrize(("peak", "warmup", "total"), [(1e-2, 5, 40), (3.0, 1, 2), (0.5, 9, 10)])
def test_the_schedule_follows_the_formula(peak, warmup, total):
    schedule = warmup_schedule(peak, warmup, total)
    for step in range(total + 3):
        rising = peak * (step + 1) / warmup
        decaying = peak * math.cos(math.pi / 2 * min(1, (step - warmup) / (total - warmup))) ** 2
        assert schedule(step) == pytest.approx(rising if step < warmup else decaying, abs=1e-12 * peak)
    assert schedule(0) > 0
    assert schedule(total) == 0


@pytest.mark.keras
def test_keras_own_schedule_rises_a_step_later_and_falls_alike():
    ours = warmup_schedule(0.1, 3, 10, floor=0.02)
    theirs = keras.optimizers.schedules.CosineDecay(0.0, 7, alpha=0.2, warmup_target=0.1, warmup_steps=3)
    assert float(theirs(0)) == 0
    for step in range(1, 14):
        assert float(theirs(step)) == pytest.approx(ours(step - 1 if step < 3 else step), abs=1e-7)


def test_the_schedule_drives_a_scheduler_of_pytorch():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = LambdaLR(optimizer, numpy_training.warmup_schedule(1.0, 3, 10))
    for step in range(10):
        assert optimizer.param_groups[0]["lr"] == pytest.approx(numpy_training.warmup_schedule(0.1, 3, 10)(step))
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize("floor", [0.0, 0.02, 0.1])
def test_the_schedule_falls_to_its_floor_and_stays_there(floor):
    schedule, to_zero = warmup_schedule(0.1, 3, 10, floor), warmup_schedule(0.1, 3, 10)
    for step in range(13):
        expected = to_zero(step)
        expected = expected if step < 3 else floor + (0.1 - floor) * expected / 0.1
        assert schedule(step) == pytest.approx(expected, abs=1e-12)
    assert schedule(10) == schedule(25) == pytest.approx(floor, abs=1e-12)


# Adam


def hundred_steps(rng, adam, weights, reference, twins, move):
    """Give two optimizers the same random gradients, some of them tiny."""
    for step in range(100):
        gradients = [rng.normal(size=weight.shape) * 10.0 ** rng.integers(-9, 2) for weight in weights]
        reference(step, gradients)
        move(gradients)
    for weight, twin in zip(weights, twins):
        np.testing.assert_allclose(as_numpy(weight), twin.detach().numpy(), rtol=1e-10, atol=1e-12)


def pytorch_reference(kind, twins, schedule, clip_norm, **options):
    optimizer = kind(twins, lr=1.0, **options)

    def step(number, gradients):
        norm = math.sqrt(sum((gradient**2).sum() for gradient in gradients))
        for twin, gradient in zip(twins, gradients):
            twin.grad = torch.tensor(gradient * min(1, (clip_norm or math.inf) / norm))
        optimizer.param_groups[0]["lr"] = schedule(number)
        optimizer.step()

    return step


OPTIMIZERS = [
    (torch.optim.Adam, {}, None),
    (torch.optim.Adam, {"betas": (0.5, 0.9), "eps": 1e-3}, 0.7),
    (torch.optim.AdamW, {"weight_decay": 0.3}, None),
    (torch.optim.AdamW, {"weight_decay": 0.1, "betas": (0.0, 0.99)}, 1.5),
]


def ours_of(options, clip_norm):
    beta_1, beta_2 = options.get("betas", (0.9, 0.999))
    named = {"beta_1": beta_1, "beta_2": beta_2, "epsilon": options.get("eps", 1e-8)}
    return named | {"weight_decay": options.get("weight_decay", 0.0), "clip_norm": clip_norm}


@pytest.mark.parametrize(("kind", "options", "clip_norm"), OPTIMIZERS)
def test_numpys_adam_is_pytorchs(rng, kind, options, clip_norm):
    model = numpy_models.MLP(5, 4, 3, rng=1)
    weights = list(model.parameters().values())
    twins = [torch.nn.Parameter(torch.tensor(weight)) for weight in weights]
    schedule = numpy_training.warmup_schedule(0.1, 10, 120)
    adam = numpy_training.AdamW(model, schedule, **ours_of(options, clip_norm))

    def move(gradients):
        for grad, gradient in zip(model.gradients().values(), gradients):
            grad[...] = gradient
        adam.step()

    hundred_steps(rng, adam, weights, pytorch_reference(kind, twins, schedule, clip_norm, **options), twins, move)
    assert adam.steps == 100


@pytest.mark.parametrize("clip_norm", [None, 0.5])
def test_numpys_formula_of_pytorch_is_the_librarys(rng, clip_norm):
    """With `clip_grad_norm_`, whose norm has 1e-6 more."""
    model = numpy_models.MLP(5, 4, 3, rng=1)
    weights = list(model.parameters().values())
    twins = [torch.nn.Parameter(torch.tensor(weight)) for weight in weights]
    theirs = torch.optim.AdamW(twins, lr=0.01, weight_decay=0.1)
    ours = numpy_training.AdamW(model, 0.01, weight_decay=0.1, clip_norm=clip_norm, formula="pytorch")

    def reference(_, gradients):
        for twin, gradient in zip(twins, gradients):
            twin.grad = torch.tensor(gradient)
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(twins, clip_norm)
        theirs.step()

    def move(gradients):
        for grad, gradient in zip(model.gradients().values(), gradients):
            grad[...] = gradient
        ours.step()

    hundred_steps(rng, ours, weights, reference, twins, move)


@pytest.mark.tensorflow
@pytest.mark.keras
@pytest.mark.parametrize("clip_norm", [None, 0.5])
def test_numpys_formula_of_keras_is_the_librarys(rng, float64, clip_norm):
    """Its numbers are given in float64: on TensorFlow, Python's own would pass through float32."""
    model = numpy_models.MLP(5, 4, 3, rng=1)
    weights = list(model.parameters().values())
    twins = [keras.Variable(weight) for weight in weights]
    rate, beta_1, beta_2, decay = map(np.float64, (0.01, 0.9, 0.999, 0.1))
    theirs = keras.optimizers.AdamW(
        rate, weight_decay=decay, beta_1=beta_1, beta_2=beta_2, epsilon=1e-7, global_clipnorm=clip_norm
    )
    ours = numpy_training.AdamW(model, 0.01, epsilon=1e-7, weight_decay=0.1, clip_norm=clip_norm, formula="keras")
    for _ in range(100):
        gradients = [rng.normal(size=weight.shape) * 10.0 ** rng.integers(-9, 2) for weight in weights]
        theirs.apply([ops.convert_to_tensor(gradient) for gradient in gradients], twins)
        for grad, gradient in zip(model.gradients().values(), gradients):
            grad[...] = gradient
        ours.step()
    for weight, twin in zip(weights, twins):
        np.testing.assert_allclose(as_numpy(twin), weight, rtol=1e-10, atol=1e-12)


def test_an_unknown_formula_is_refused():
    with pytest.raises(TypeError, match="formula"):
        numpy_training.AdamW(numpy_models.Linear(2, 2), formula="jax")


def first_step(gradients, **options):
    """What NumPy's first step takes from weights of 0."""
    model = numpy_models.ParameterTree()
    for name, gradient in gradients.items():
        setattr(model, name, numpy_models.Parameter(np.zeros_like(gradient)))
        getattr(model, name).grad[...] = gradient
    numpy_training.AdamW(model, **options).step()
    return [-value for value in model.parameters().values()]


def test_epsilon_comes_after_the_bias_correction():
    (step,) = first_step({"w": np.array([1e-8])}, learning_rate=1.0)
    assert step.item() == pytest.approx(0.5, rel=1e-4)


def test_clipping_is_by_the_global_norm():
    """With a large epsilon the first step is nearly the gradient over epsilon, so its length can be read off."""
    gradients = {"a": np.array([3.0, 0.0]), "b": np.array([0.0, 4.0])}
    large = {"learning_rate": 1e6, "epsilon": 1e6}
    np.testing.assert_allclose(
        np.concatenate(first_step(gradients, **large, clip_norm=1.0)), [0.6, 0, 0, 0.8], atol=1e-4
    )
    np.testing.assert_allclose(np.concatenate(first_step(gradients, **large, clip_norm=5.1)), [3, 0, 0, 4], atol=1e-4)


def test_clipping_is_pytorchs(rng):
    model = numpy_models.MLP(5, 4, 3, rng=1)
    for gradient in model.gradients().values():
        gradient[...] = rng.normal(size=gradient.shape)
    parameters = [torch.nn.Parameter(torch.zeros(gradient.shape)) for gradient in model.gradients().values()]
    for parameter, gradient in zip(parameters, model.gradients().values()):
        parameter.grad = torch.tensor(gradient).float()
    factor = numpy_training._clip_factor(model.gradients(), 0.7)
    torch.nn.utils.clip_grad_norm_(parameters, 0.7)
    for parameter, gradient in zip(parameters, model.gradients().values()):
        np.testing.assert_allclose(factor * gradient, parameter.grad, rtol=1e-5)


def test_decay_has_no_part_in_the_moments():
    """No gradient: a weight of 1 shrinks by learning_rate * weight_decay, and takes no step of its sign."""
    model = numpy_models.Linear(1, 1, rng=0)
    model.kernel.value[...] = 1
    numpy_training.AdamW(model, 0.1, weight_decay=0.2).step()
    assert model.kernel.value.item() == pytest.approx(0.98, abs=1e-12)


class EncoderInNumpy(numpy_models.Module):
    """Kernels, biases, norms and a table, as they are in a Transformer."""

    def __init__(self):
        self.embedding = numpy_embeddings.TokenEmbedding(4, 7, rng=0)
        self.block = numpy_encoder.EncoderBlock(4, 2, 8, rng=0)


@pytest.mark.parametrize("decay_all", [True, False])
def test_biases_and_norms_are_left_out_of_the_decay_when_asked(decay_all):
    """With gradients of 0 a step changes what decays, and nothing else."""
    model = EncoderInNumpy()
    set_weights(model, {name: np.ones_like(value) for name, value in get_weights(model).items()})
    numpy_training.AdamW(model, learning_rate=0.1, weight_decay=0.2, decay_all=decay_all).step()
    shrunk = {name: value.flat[0] for name, value in get_weights(model).items()}
    assert len(shrunk) == 17
    for name, value in shrunk.items():
        spared = not decay_all and name.split(".")[-1] in ("bias", "gamma", "beta")
        assert value == pytest.approx(1.0 if spared else 0.98, abs=1e-6), name


def test_the_norm_of_the_gradient():
    gradients = {"a": np.array([[3.0, 0.0]]), "b": np.array([0.0, -4.0])}
    assert numpy_training.gradient_norm(gradients) == 5


def test_zero_grad():
    model, adam = make("numpy")
    for gradient in model.gradients().values():
        gradient += 1
    adam.zero_grad()
    assert not any(gradient.any() for gradient in model.gradients().values())


def test_pytorchs_steps_are_counted():
    model, adam = make("pytorch")
    assert pytorch_training.steps_taken(adam) == 0
    train("pytorch", model, adam, batch_at, 3)
    assert pytorch_training.steps_taken(adam) == 3
    assert pytorch_training.steps_taken(torch.optim.SGD(model.parameters(), lr=0.1)) == 0


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_pytorch_clips_all_gradients_together(kind):
    """One step with a rate of 1 of plain descent is the gradient; AdamW is asked for its gradients."""
    model, _ = make("pytorch", dropout=0.0)
    before = get_weights(model)
    pytorch_training.train(model, kind(model.parameters(), lr=1.0), batch_at, 1, clip_norm=0.01)
    norm = torch.nn.utils.get_total_norm([each.grad for each in model.parameters()]).item()
    assert norm == pytest.approx(0.01, rel=1e-3)
    if kind is torch.optim.SGD:
        moved = [value - before[name] for name, value in get_weights(model).items()]
        assert math.sqrt(sum((each**2).sum() for each in moved)) == pytest.approx(0.01, rel=1e-3)


def test_pytorch_trains_with_any_scheduler():
    model, adam = make("pytorch")
    scheduler = CosineAnnealingLR(adam, T_max=4)
    rates = []

    def watched(step):
        rates.append(adam.param_groups[0]["lr"])
        return batch_at(step)

    before = adam.param_groups[0]["lr"]
    pytorch_training.train(model, adam, watched, 4, scheduler)
    expected = [before * (1 + math.cos(math.pi * step / 4)) / 2 for step in range(4)]
    np.testing.assert_allclose(rates, expected, rtol=1e-12)


# The loop


def check_training(track):
    """The loop starts at the optimizer's step, ends at num_steps, and leaves the model in evaluation mode."""
    model, adam = make(track, dropout=0.0)
    first = train(track, model, adam, batch_at, 3)
    assert (first.shape, first.dtype, taken(track, adam)) == ((3,), np.float64, 3)
    seen = []

    def watched(step):
        seen.append(step)
        return batch_at(step)

    second = train(track, model, adam, watched, 5)
    assert (second.shape, taken(track, adam), set(seen)) == ((2,), 5, {3, 4})
    assert train(track, model, adam, watched, 5).shape == (0,)
    return np.concatenate([first, second]), get_weights(model)


@pytest.mark.parametrize("track", ARRAYS)
def test_the_loop(track):
    check_training(track)
    model, adam = make(track)
    train(track, model, adam, batch_at, 1)
    assert not model.training


@pytest.mark.keras
def test_keras_loop_takes_the_steps_of_numpys():
    """Same weights, same batches: each loss is that of its own step, with smoothing, decay, clipping and schedule."""
    start = get_weights(NumpyClassifier())
    runs = {}
    in_keras, adam = make("keras", dropout=0.0)
    set_weights(in_keras, start)
    runs["keras"] = train("keras", in_keras, adam, batch_at, 8, label_smoothing=0.1)
    in_numpy = NumpyClassifier(dropout=0.0)
    set_weights(in_numpy, start)
    options = {"learning_rate": lambda step: float(adam_schedule(step)), "epsilon": 1e-7, "formula": "keras"}
    adam_schedule = keras.optimizers.schedules.CosineDecay(0.0, 37, warmup_target=0.05, warmup_steps=3)
    adam = make_optimizer("numpy", in_numpy, **options)
    runs["numpy"] = numpy_training.train(in_numpy, adam, batch_at, 8, label_smoothing=0.1)
    np.testing.assert_allclose(runs["keras"], runs["numpy"], atol=2e-5)
    for name, value in get_weights(in_numpy).items():
        np.testing.assert_allclose(get_weights(in_keras)[name], value, atol=1e-4)


@pytest.mark.keras
def test_keras_loop():
    check_training("keras")


def test_pytorch_and_numpy_take_the_same_steps():
    start, runs = get_weights(NumpyClassifier()), {}
    for track in ARRAYS:
        model, adam = make(track, dropout=0.0)
        set_weights(model, start)
        runs[track] = train(track, model, adam, batch_at, 8, label_smoothing=0.1)
    np.testing.assert_allclose(runs["pytorch"], runs["numpy"], atol=2e-5)


# Windows of a text


def test_windows_of_a_text_are_pieces_of_it_and_the_targets_come_one_later():
    tokens = np.random.default_rng(0).integers(0, 1000, 40)
    batches, starts = numpy_training.text_batches(tokens, length=6, batch_size=5, seed=3), set()
    for step in range(200):
        inputs, targets = batches(step)
        assert inputs.shape == targets.shape == (5, 6)
        assert np.array_equal(inputs[:, 1:], targets[:, :-1])
        for row, target in zip(inputs, targets):
            (start,) = (i for i in range(34) if np.array_equal(tokens[i : i + 6], row))
            assert target[-1] == tokens[start + 6]
            starts.add(start)
    assert starts == set(range(34))  # the last one's last target is the last token
    again = numpy_training.text_batches(tokens, 6, 5, seed=3)
    assert all(np.array_equal(a, b) for a, b in zip(again(7), batches(7)))
    assert not np.array_equal(batches(7)[0], batches(8)[0])
    assert not np.array_equal(numpy_training.text_batches(tokens, 6, 5, seed=4)(7)[0], batches(7)[0])


def two_inputs(step):
    """The batches above in two parts, for a model that is called with both."""
    x, targets = batch_at(step)
    return (x[..., :2], x[..., 2:]), targets


def joined(track, model):
    """The classifier, called with the two parts of its features."""

    class Joined(type(model)):
        def forward(self, left, right):
            return super().forward({"numpy": np.concatenate, "pytorch": torch.cat}[track]([left, right], -1))

    model.__class__ = Joined
    return model


@pytest.mark.parametrize("track", ARRAYS)
def test_a_model_of_two_inputs_is_trained(track):
    """The same model, given its features in two parts, takes the steps that it takes with one array."""
    whole, adam = make(track, dropout=0.0)
    start = get_weights(whole)
    expected = train(track, whole, adam, batch_at, 4)
    parts, _ = make(track, dropout=0.0)
    set_weights(parts, start)
    model = joined(track, parts)
    adam = make_optimizer(track, model)
    np.testing.assert_allclose(train(track, model, adam, two_inputs, 4), expected, atol=1e-6)


@pytest.mark.parametrize("track", ARRAYS)
def test_modes(track):
    """Training drops, evaluation does not, and an error in the middle leaves the model in evaluation mode."""
    model, adam = make(track, dropout=0.5)
    modes = []

    def failing(step):
        modes.append(model.training)
        return batch_at(step) if step < 2 else 1 / 0

    model.eval()
    with pytest.raises(ZeroDivisionError):
        train(track, model, adam, failing, 5)
    assert modes == [True] * 3
    assert taken(track, adam) == 2
    x = batch_at(0)[0] if track == "numpy" else torch.tensor(batch_at(0)[0])
    assert np.array_equal(as_numpy(model(x)), as_numpy(model(x)))
    model.train()
    assert not np.array_equal(as_numpy(model(x)), as_numpy(model(x)))


def test_pytorch_train_finds_a_batch_without_targets_that_count_before_it_is_on_a_device(monkeypatch):
    model, adam = make("pytorch")
    before = get_weights(model)
    monkeypatch.setattr(torch.Tensor, "__array__", lambda *_: 1 / 0)  # as of a tensor on a GPU
    with pytest.raises(ValueError, match=r"batch_at\(0\).*targets"):
        pytorch_training.train(model, adam, lambda step: (batch_at(step)[0], np.full((4, 9), -100)), 2)
    monkeypatch.undo()
    for name, value in get_weights(model).items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.parametrize("track", ARRAYS)
def test_a_bar_shows_the_progress(track, capfd):
    train(track, *make(track), batch_at, 2)
    assert "it/s" not in capfd.readouterr().err
    train(track, *make(track), batch_at, 2, progress=True)
    assert "2/2" in capfd.readouterr().err


@pytest.mark.keras
def test_keras_saves_a_trained_model_whole(tmp_path):
    model = keras_models.MLP(FEATURES, HIDDEN, CLASSES)
    adam = make_optimizer("keras", model)
    train("keras", model, adam, batch_at, 2, label_smoothing=0.1)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    x = batch_at(0)[0]
    np.testing.assert_array_equal(as_numpy(again(x)), as_numpy(model(x)))
    assert int(again.optimizer.iterations) == 2
    assert again.loss.get_config() == model.loss.get_config()


# Bad input


def refused(call, error, name):
    # Other arrays stand behind a semicolon, and what Keras adds to an error on further lines.
    with pytest.raises(error, match=rf"^[^;\n]*\b{name}\b"):
        call()


LOGITS, TARGETS = np.zeros((2, 3, 5), np.float32), np.array([[0, 1, 2], [3, 4, -100]])


@pytest.mark.parametrize(
    ("loss", "tensor"),
    [
        (numpy_training.cross_entropy, np.asarray),
        (numpy_training.cross_entropy_backward, np.asarray),
        (pytorch_training.cross_entropy, torch.tensor),
        pytest.param(keras_training.cross_entropy, ops.convert_to_tensor, marks=pytest.mark.keras),
    ],
)
def test_each_loss_refuses_what_is_no_class_and_what_does_not_count(loss, tensor):
    refused(lambda: loss(tensor(LOGITS), tensor(TARGETS + 1)), ValueError, "target")
    refused(lambda: loss(tensor(LOGITS), tensor(TARGETS - 1)), ValueError, "target")
    refused(lambda: loss(tensor(LOGITS), tensor(0 * TARGETS - 100)), ValueError, "targets")


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (numpy_training.AdamW, {"model": numpy_models.Linear(2, 2)}),
        (warmup_schedule, {"peak": 1.0, "warmup_steps": 1, "total_steps": 5}),
    ],
)
def test_numbers_are_looked_at(function, arguments):
    """As the signature says them."""
    wrong = list(laws.wrong_sizes(function.__init__ if isinstance(function, type) else function))
    findings = [
        laws.refuses(lambda given=arguments | {name: value}: function(**given), error, (name,))
        for name, value, error in wrong
    ]
    assert findings and all(findings), findings


def train_with(track, **wrong):
    model, optimizer = make(track)
    arguments = {"model": model, "optimizer": optimizer, "batch_at": batch_at, "num_steps": 5}
    MODULES[track].train(**arguments | wrong)


@pytest.mark.parametrize("track", ARRAYS)
def test_the_loop_looks_at_its_optimizer_its_steps_and_its_batches(track):
    wrong = {"numpy": make("pytorch")[1], "pytorch": make("numpy")[1]}[track]
    refused(lambda: train_with(track, optimizer=wrong), TypeError, "optimizer")
    another = make(track)[1]
    refused(lambda: train_with(track, optimizer=another), ValueError, "optimizer")
    refused(lambda: train_with(track, batch_at=lambda step: batch_at(step)[0]), TypeError, "batch_at")
    model, optimizer = make(track)
    MODULES[track].train(model, optimizer, batch_at, 3)
    refused(lambda: MODULES[track].train(model, optimizer, batch_at, 2), ValueError, "num_steps")


def batches(inputs, targets):
    return {"batch_at": lambda step: (inputs, targets)}


X, Y = batch_at(0)
REFUSED = [
    (partial(train_with, "numpy", optimizer=None), TypeError, "optimizer"),
    (partial(train_with, "numpy", batch_at=[]), TypeError, "batch_at"),
    (partial(train_with, "numpy", **batches((), Y)), TypeError, "batch_at"),
    (partial(train_with, "numpy", **batches((X,), [1])), TypeError, "batch_at"),
    (partial(train_with, "numpy", **batches(X, 0 * Y - 100)), ValueError, "targets"),
    (partial(train_with, "numpy", num_steps=0), ValueError, "num_steps"),
    (partial(train_with, "numpy", label_smoothing=1), ValueError, "label_smoothing"),
    (partial(train_with, "numpy", ignore_index=None), TypeError, "ignore_index"),
    (partial(train_with, "numpy", ignore_index=True), TypeError, "ignore_index"),
    (partial(train_with, "numpy", progress=1), TypeError, "progress"),
    (partial(train_with, "pytorch", clip_norm=0), ValueError, "clip_norm"),
    (partial(train_with, "pytorch", scheduler=lambda step: 0.1), TypeError, "scheduler"),
    (partial(train_with, "pytorch", scheduler=make("pytorch")[1].scheduler), ValueError, "scheduler"),
    (lambda: numpy_training.AdamW({}), TypeError, "model"),
    (lambda: make("numpy", epsilon=0), ValueError, "epsilon"),
    (lambda: make("numpy", clip_norm=0), ValueError, "clip_norm"),
    (lambda: train("numpy", *make("numpy", learning_rate=lambda step: -1.0), batch_at, 1), ValueError, "learning_rate"),
    (lambda: warmup_schedule(1, 5, 5), ValueError, "warmup_steps"),
    (lambda: warmup_schedule(1, 1, 5, 2), ValueError, "floor"),
    (lambda: numpy_training.text_batches(np.arange(5), 5, 1), ValueError, "length"),
    (lambda: numpy_training.text_batches(np.arange(5), 0, 1), ValueError, "length"),
    (lambda: numpy_training.text_batches(np.arange(5), 2, 0), ValueError, "batch_size"),
    (lambda: numpy_training.text_batches(np.arange(5.0), 2, 1), TypeError, "tokens"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    refused(call, error, name)


# The three together


@pytest.mark.keras
def test_keras_and_the_others_take_the_same_arguments():
    """But for PyTorch's scheduler, and its clipping, which belongs to the optimizer in the others."""
    for name, tracks in {"cross_entropy": ("pytorch", "keras"), "train": ("pytorch",)}.items():
        expected = list(inspect.signature(getattr(numpy_training, name)).parameters.items())
        for track in tracks:
            found = inspect.signature(getattr(MODULES[track], name)).parameters.items()
            own = {"scheduler", "clip_norm"} if track == "pytorch" else set()
            kept = [(key, value.default) for key, value in found if key not in own]
            assert kept == [(key, value.default) for key, value in expected], (name, track)


@pytest.mark.parametrize("beta", [0.0, 0.3])
def test_running_means_lose_no_digits_where_they_forget_fast(beta):
    """A gradient of 1, then one of 1e-6: float32 has no room for 1e-12 beside 1."""
    gradients = (1.0, 1e-6)
    layer = numpy_models.Linear(1, 1, 0).astype(np.float32)
    optimizer = numpy_training.AdamW(layer, beta_1=beta, beta_2=beta)
    for gradient in gradients:
        layer.kernel.grad[...] = gradient
        optimizer.step()
    for mean, power in zip((optimizer.first_moment["kernel"], optimizer.second_moment["kernel"]), (1, 2)):
        expected = beta * (1 - beta) * gradients[0] ** power + (1 - beta) * gradients[1] ** power
        assert mean.item() == pytest.approx(expected, rel=2e-7)


@pytest.mark.keras
def test_keras_never_misreads_a_foreign_byte_order():
    logits, targets = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32), np.array([0, 2])
    right = float(keras_training.cross_entropy(logits, targets))
    try:
        found = float(keras_training.cross_entropy(logits.astype(logits.dtype.newbyteorder()), targets))
    except (TypeError, ValueError):  # JAX and PyTorch take none
        assert keras.backend.backend() != "tensorflow"
    else:
        assert found == pytest.approx(right)


# The dictionary of compare


def test_every_pytorch_call_of_the_dictionary_runs_as_typed(rng):
    """From the first row to the last; the loss of evaluation is that of all positions that aren't padding."""
    x, y = torch.tensor(rng.normal(size=(40, 6, 8))).float(), torch.tensor(rng.integers(0, 9, (40, 6)))
    model = torch.nn.Linear(8, 9)
    names = {"torch": torch, "model": model, "x": x, "y": y, "logits": model(x), "targets": y}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in rows_of("09_training"):
            exec(compile(row[2], row[0], "exec"), names)  # noqa: S102 - what the page shows
    with torch.no_grad():
        probabilities = model(x).log_softmax(dim=-1)
    expected = -probabilities.gather(-1, y[..., None])[..., 0][y != 0].mean()
    assert torch.allclose(names["loss"], expected) and names["scheduler"].last_epoch == 1


@pytest.mark.keras
@pytest.mark.tensorflow
def test_every_keras_call_of_the_dictionary_runs_as_typed(rng):
    """From the first row to the last: the model is trained by the optimizer and the loss of the rows."""
    x, y = rng.normal(size=(40, 6, 8)).astype("float32"), rng.integers(0, 9, (40, 6))
    model = keras.Sequential([keras.Input((6, 8)), keras.layers.Dense(9)])
    names = {"keras": keras, "model": model, "x": x, "y": y, "x_val": x, "y_val": y, "logits": model(x), "targets": y}
    for row in rows_of("09_training"):
        exec(compile(row[3], row[0], "exec"), names)  # noqa: S102 - what the page shows
    assert model.optimizer is names["optimizer"] and int(model.optimizer.iterations) == 1 + 5 * 2
    assert np.isclose(names["loss"], float(names["loss_fn"](y, model(x))), rtol=1e-3)

    # the pattern of "other rates for some weights" fits: Adam's first step is the rate
    two = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, name="dense"), keras.layers.Dense(1, name="last")])
    two.compile(keras.optimizers.MultiOptimizer(names["slower"]), "mse")
    before = get_weights(two)
    two.train_on_batch(x[:, 0], y[:, :1])
    moved = {name: np.abs(value - before[name]).max() for name, value in get_weights(two).items()}
    assert moved["dense.kernel"] < 2e-4 and moved["last.kernel"] > 5e-4
