"""What chapter 09 draws: the loss of one answer, and the training loop."""

import itertools
from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from shared.drawing import diagrams, plots


@plots.styled
def surprise(probabilities: Mapping[str, float]) -> plots.Picture:
    """Draw the loss -log p against the probability p of the right answer, and a point on it for each answer.

    Args:
        probabilities: an answer: the probability, above 0, that a model gave to it.
    """
    figure = Figure(figsize=(5.6, 3.4))
    axes = figure.subplots()
    p = np.linspace(0.02, 1, 200)
    axes.plot(p, -np.log(p), color="#afb8c1", linewidth=2)
    for (name, each), color in zip(
        probabilities.items(), itertools.cycle((*plots.COLORS.values(), *plots.OTHER_COLORS))
    ):
        axes.plot([each, each, 0], [0, -np.log(each), -np.log(each)], color=color, linestyle=":", linewidth=1.3)
        axes.plot(each, -np.log(each), "o", color=color)
        label = f"{name}: p = {each:.2f}, loss {-np.log(each):.2f}"
        axes.annotate(label, (each, -np.log(each)), (8, 6), textcoords="offset points")
    axes.set(xlim=(0, 1.02), ylim=(0, 4), xlabel="p, the probability of the right answer", ylabel="loss, −log p (nats)")
    points = "; ".join(f"{name} at p = {each:.2f}, loss {-np.log(each):.2f}" for name, each in probabilities.items())
    return plots.show(figure, f"The loss −log p falls from infinity at p = 0 to 0 at p = 1. Points: {points}.")


def training_loop_diagram() -> diagrams.Diagram:
    """Draw one step of training, round and round."""
    return diagrams.draw(
        "A training step: a batch passes the model, cross-entropy compares the logits with the targets, the backward pass gives gradients, "
        "and AdamW changes the parameters at the rate that the schedule gives.",
        {
            "parameters": ("parameters", "parameters"),
            "batch": ("data", "batch of tokens\n(batch, length)"),
            "targets": ("data", "targets\n(batch, length)"),
            "model": ("parameters", "model"),
            "logits": ("output", "logits\n(batch, length, vocab_size)"),
            "loss": ("operation", "cross-entropy\npadding ignored"),
            "backward": ("operation", "backward"),
            "schedule": ("operation", "schedule\nwarm-up and cosine"),
            "adam": ("operation", "AdamW"),
        },
        [
            "batch -> model",
            "parameters -> model",
            "model -> logits -> loss -> backward -> adam",
            "targets -> loss",
            "schedule -> adam: learning rate",
            "adam -> parameters: new values",
        ],
    )
