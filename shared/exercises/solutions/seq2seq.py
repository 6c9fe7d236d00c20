"""Chapter 12: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def exact(written, wanted):
    fine = (written == wanted) | (wanted == 0)
    return fine.all(axis=1).mean()


def greedy_text(next_probabilities, start_id, end_id, max_length):
    tokens = [start_id]
    while len(tokens) < max_length:
        best = next_probabilities(np.array(tokens)).argmax()
        tokens.append(int(best))
        if best == end_id:
            break
    return np.array(tokens)


def beam_step(totals, log_p):
    beams, vocab_size = log_p.shape
    scores = (totals[:, None] + log_p).reshape(-1)
    order = np.argsort(-scores)[:beams]
    beam, token = np.divmod(order, vocab_size)
    return np.stack([beam, token], axis=1)


def grow(target, beam, token):
    import torch

    index = beam[:, :, None].expand(target.shape)
    reordered = target.gather(1, index)
    return torch.cat([reordered, token[:, :, None]], dim=2)


def let_go_on(log_p, ended, pad_id):
    from keras import ops

    padding = ops.arange(log_p.shape[2]) == pad_id
    free = ops.where(padding, ops.zeros_like(log_p), -float("inf"))
    return ops.where(ended[:, :, None], free, log_p)


SOLUTIONS = {
    "12.1": 0.8,
    "12.2": exact,
    "12.3": greedy_text,
    "12.4": beam_step,
    "12.6": grow,
    "12.7": let_go_on,
    "12.8": 1472,
}
