"""Chapter 10: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def mean_cost(exact, predicted):
    logarithms = np.log(np.where(exact > 0, predicted, 1))
    return -(exact * logarithms).sum(axis=-1).mean()


def find_cpg(tokens):
    found = np.zeros(tokens.shape, dtype=bool)
    found[:, :-1] = (tokens[:, :-1] == 2) & (tokens[:, 1:] == 3)
    return found


def without_neighbors(tokens, exact):
    predicted = np.zeros_like(exact)
    for token in (1, 2, 3, 4):
        sites = tokens == token  # (batch, length)
        if sites.any():
            predicted[sites] = exact[sites].mean(axis=0)
    return predicted


def real_loss(logits, targets):
    from torch.nn import functional as F

    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=0)


def real_accuracy(targets, logits):
    from keras import ops

    targets = ops.cast(targets, "int32")
    real = ops.cast(ops.not_equal(targets, 0), "float32")
    right = ops.cast(ops.equal(ops.cast(ops.argmax(logits, axis=-1), "int32"), targets), "float32")
    return ops.sum(right * real) / ops.sum(real)


SOLUTIONS = {
    "10.1": 0.325,
    "10.2": mean_cost,
    "10.3": find_cpg,
    "10.4": without_neighbors,
    "10.6": real_loss,
    "10.7": real_accuracy,
    "10.8": 2.197,
}
