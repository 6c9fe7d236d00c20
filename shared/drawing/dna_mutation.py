"""What chapter 10 draws: what a prediction costs, and the way from simulated DNA to a measured prediction."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from shared.drawing import diagrams, plots


@plots.styled
def prediction_costs(prob: float, guesses: Mapping[str, float], outcome: str = "T") -> plots.Picture:
    """Draw what a prediction of one of two outcomes costs on average, against the probability that it gives to the first one.

    Args:
        prob: the exact probability of the first outcome, above 0 and below 1.
        guesses: name: a predicted probability, above 0 and below 1, to be marked on the curve.
        outcome: what the first outcome is called.

    Returns:
        The picture; its description names the lowest point and every guess.
    """

    def cost(guess):
        return -prob * np.log(guess) - (1 - prob) * np.log(1 - guess)

    figure = Figure(figsize=(6.4, 3.6))
    axes = figure.subplots()
    x = np.linspace(0.01, 0.995, 400)
    lowest = cost(prob)
    axes.plot(x, cost(x), color=plots.COLORS["NumPy"], linewidth=2)
    axes.axhline(lowest, color=plots.INK, linestyle="--", linewidth=1)
    axes.annotate(f"lowest possible: {lowest:.2f}", (0.01, lowest), (2, -13), textcoords="offset points")
    descriptions = []
    for name, guess in guesses.items():
        value = cost(guess)
        axes.plot(guess, value, "o", color=plots.COLORS["PyTorch"], zorder=3)
        if value > lowest + 0.01:
            axes.vlines(guess, lowest, value, color=plots.COLORS["PyTorch"], linestyle=":", linewidth=1.3)
        # Below the curve where it is lowest; to the left where there is no room to the right.
        place, side = (
            ((0, -14), "center") if value <= lowest + 0.01 else ((-8, 8), "right") if guess > 0.9 else ((6, 8), "left")
        )
        text = f"{name}: {value:.2f}"
        axes.annotate(text, (guess, value), place, textcoords="offset points", color=plots.COLORS["PyTorch"], ha=side)
        descriptions.append(f"{name} at {guess:.2f} costs {value:.2f}")
    axes.set(xlabel=f"predicted probability of {outcome}", ylabel="average cost (nats)", ylim=(0, 2.2), xlim=(0, 1))
    axes.grid(alpha=0.25)
    return plots.show(
        figure,
        f"Curve of the average cost (nats) against the predicted probability of {outcome}, whose exact probability is {prob:.2f}: "
        f"lowest there, {lowest:.2f}. Marked: {'; '.join(descriptions)}.",
    )


def dna_pipeline_diagram() -> diagrams.Diagram:
    """Draw the way from a simulated mutation to a prediction that is measured against the exact optimum."""
    return diagrams.draw(
        "The DNA pipeline: ancestors and descendants are simulated, written to CSV, tokenized and padded; a Transformer encoder is trained on them and predicts descendants. "
        "Its cross-entropy is compared with the exact optimum, which the known process gives.",
        {
            "process": ("data", "mutation process\nP(descendant | ancestor)"),
            "simulate": ("operation", "simulate"),
            "csv": ("data", "pairs.csv\nancestor,descendant"),
            "tokenize": ("operation", "tokenize and pad\n(batch, length)"),
            "model": ("parameters", "model: embeddings,\nencoder, linear"),
            "train": ("operation", "train\ncross-entropy, Adam"),
            "predict": ("operation", "predict\nP(site | ancestor)"),
            "optimum": ("output", "exact optimum\nnats per site"),
            "compare": ("output", "cross-entropy\nagainst the optimum"),
        },
        [
            "process -> simulate -> csv -> tokenize -> model -> train -> predict -> compare",
            "process -> optimum -> compare",
        ],
    )
