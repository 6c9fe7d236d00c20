"""Chapter 17: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def kept_measurement(losses, patience):
    best, waited = 0, 0
    for index in range(1, len(losses)):
        if losses[index] < losses[best]:
            best, waited = index, 0
        else:
            waited = waited + 1
            if waited == patience:
                break
    return best


def clipped(a, b, max_norm):
    both = np.concatenate([a, b])
    norm = np.sqrt((both**2).sum())
    return both * min(1.0, max_norm / norm)


def fit_and_stop(weights, x, y, x_val, y_val, rate, patience):
    best_weights, waited = weights.copy(), 0
    best = ((x_val @ weights - y_val) ** 2).mean()
    for step in range(50):
        row = step % len(y)
        weights = weights - rate * 2 * (x[row] @ weights - y[row]) * x[row]
        loss = ((x_val @ weights - y_val) ** 2).mean()
        if loss < best:
            best, best_weights, waited = loss, weights.copy(), 0
        else:
            waited = waited + 1
        if waited == patience:
            break
    return best_weights


def rest_of_epoch(data, state, batch_size, batches_done):
    import torch
    from torch.utils.data import DataLoader

    generator = torch.Generator()
    generator.set_state(state)
    loader = DataLoader(data, batch_size=batch_size, shuffle=True, generator=generator)
    rest = [batch for number, batch in enumerate(loader) if number >= batches_done]
    return torch.cat(rest)


def without_weights(logits, weights):
    from keras import ops

    return ops.softmax(logits - ops.log(weights), axis=-1)


SOLUTIONS = {
    "17.1": 1.25,
    "17.2": kept_measurement,
    "17.3": clipped,
    "17.4": fit_and_stop,
    "17.6": 3,
    "17.7": 4,
    "17.8": 5,
    "17.9": rest_of_epoch,
    "17.10": without_weights,
    "17.11": 5.0,
}
