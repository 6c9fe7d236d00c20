"""One training run in the three frameworks, PyTorch and Keras with their own optimizers, and NumPy's run beside each.

The two libraries write a step of AdamW a little differently (chapter 09, compare, difference 3). So each is held against a run
in NumPy with that library's formula.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def train_pairs(
    training: dict[str, Any],
    models: dict[str, Any],
    batch_at: Callable,
    num_steps: int,
    peak: float,
    warmup_steps: int,
    total_steps: int,
    beta_2: float = 0.999,
    clip_norm: float | None = None,
    ignore_index: int = -100,
    keras_inputs: Sequence[str] = (),
) -> dict[str, np.ndarray]:
    """The losses of four runs: "NumPy as PyTorch" and "PyTorch", "NumPy as Keras" and "Keras".

    Args:
        training: "NumPy", "PyTorch" and "Keras" -> what chapter 09 of that track exports.
        models: "NumPy", "PyTorch" and "Keras" -> a model of that track, with equal weights; the three are trained, NumPy's as
            in "NumPy as PyTorch".
        batch_at: step -> (inputs, targets), NumPy arrays.
        num_steps: how many steps each run takes.
        peak: the highest rate; it rises to it in warmup_steps and falls along half a cosine until total_steps. The rise of
            Keras' own schedule begins at 0, a step later.
        warmup_steps: the length of the rise.
        total_steps: where the fall ends.
        beta_2: Adam's second beta.
        clip_norm: the longest gradient allowed.
        ignore_index: the target that doesn't count.
        keras_inputs: names of the inputs, in their order, where Keras' model takes a dict of several.
    """
    import keras
    import torch
    from torch.optim.lr_scheduler import LambdaLR

    numpy_training, pytorch_training = training["NumPy"], training["PyTorch"]
    second = copy.deepcopy(models["NumPy"])
    options, losses = {"ignore_index": ignore_index}, {}

    schedule = numpy_training.warmup_schedule(peak, warmup_steps, total_steps)
    adam = numpy_training.AdamW(models["NumPy"], schedule, beta_2=beta_2, clip_norm=clip_norm, formula="pytorch")
    losses["NumPy as PyTorch"] = numpy_training.train(models["NumPy"], adam, batch_at, num_steps, **options)

    parameters = models["PyTorch"].parameters()
    adam = torch.optim.AdamW(parameters, lr=peak, betas=(0.9, beta_2), weight_decay=0.0)
    scheduler = LambdaLR(adam, numpy_training.warmup_schedule(1.0, warmup_steps, total_steps))
    losses["PyTorch"] = pytorch_training.train(
        models["PyTorch"], adam, batch_at, num_steps, scheduler, clip_norm, **options
    )

    # Python's floats would pass through float32 on TensorFlow, those of NumPy don't
    zero, target = np.float64(0.0), np.float64(peak)
    decay = keras.optimizers.schedules.CosineDecay(
        zero, total_steps - warmup_steps, warmup_target=target, warmup_steps=warmup_steps
    )
    adam = numpy_training.AdamW(
        second,
        lambda step: float(decay(step)),
        beta_2=beta_2,
        epsilon=1e-7,
        clip_norm=clip_norm,
        formula="keras",
    )
    losses["NumPy as Keras"] = numpy_training.train(second, adam, batch_at, num_steps, **options)

    betas = {"beta_1": np.float64(0.9), "beta_2": np.float64(beta_2)}
    adam = keras.optimizers.AdamW(decay, weight_decay=0.0, epsilon=1e-7, global_clipnorm=clip_norm, **betas)
    loss = training["Keras"].SparseCrossEntropy()

    def keras_batch_at(step: int) -> tuple:
        inputs, targets = batch_at(step)
        return (dict(zip(keras_inputs, inputs)) if keras_inputs else inputs), targets

    losses["Keras"] = keras_steps(models["Keras"], adam, loss, keras_batch_at, num_steps, ignore_index)
    return losses


def keras_steps(
    model: Any, optimizer: Any, loss: Any, batch_at: Callable, num_steps: int, ignore_index: int = -100
) -> np.ndarray:
    """The loss of each step of a Keras model, from the step at which its optimizer is, up to num_steps.

    Args:
        loss: divides by the sum of the weights, which are 0 where a target is ignore_index.
        batch_at: step -> (inputs, targets), NumPy arrays; inputs is one, or a dict of all that the model takes.
    """
    import keras

    model.compile(optimizer, loss)
    losses = []
    for step in range(int(optimizer.iterations), num_steps):
        inputs, targets = batch_at(step)
        counts = (targets != ignore_index).astype(keras.config.floatx())
        model.reset_metrics()  # before Keras 3.15, or the loss is a mean over all steps so far
        logs = model.train_on_batch(inputs, targets, sample_weight=counts, return_dict=True)
        losses.append(float(logs["loss"]))
    return np.array(losses, dtype=float)
