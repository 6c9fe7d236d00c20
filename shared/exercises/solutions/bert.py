"""Chapter 13: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def exact_probs(prior, seen):
    if seen == -1:
        return prior
    likelihood = np.full(len(prior), 0.1 / len(prior))
    likelihood[seen] += 0.1
    joint = prior * likelihood
    return joint / joint.sum()


def whole_words(chosen, starts):
    positions = np.where(starts, np.arange(starts.shape[1]), 0)
    first = np.maximum.accumulate(positions, axis=1)
    return np.take_along_axis(chosen, first, axis=1)


def tied_gradient(table, tokens, grad_logits):
    gradient = grad_logits.T @ table[tokens]
    np.add.at(gradient, tokens, grad_logits @ table)
    return gradient


def loss_at_chosen(z, table, targets):
    from torch.nn import functional as F

    chosen = targets != -100
    logits = z[chosen] @ table.T
    return F.cross_entropy(logits, targets[chosen])


def masked_accuracy(logits, targets):
    from keras import ops

    guesses = ops.cast(ops.argmax(logits, axis=-1), targets.dtype)
    right = ops.cast(guesses == targets, "float32")
    counted = ops.cast(targets != -100, "float32")
    return ops.sum(right) / ops.sum(counted)


SOLUTIONS = {
    "13.1": (0.1 + 0.1 / 10) / (0.1 + 3 * 0.1 / 10),
    "13.2": exact_probs,
    "13.3": whole_words,
    "13.4": tied_gradient,
    "13.6": loss_at_chosen,
    "13.7": masked_accuracy,
    "13.8": 64 * 64 + 64 + 2 * 64 + 1000,
}
