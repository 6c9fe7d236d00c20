"""Chapter 15: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import math

import numpy as np


def bits_per_byte(probs, text):
    return -np.log2(probs).sum() / len(text.encode())


def backed_off(counts, shorter, strength):
    total = counts.sum(axis=-1, keepdims=True)
    return (counts + strength * shorter) / (total + strength)


def merged(kernel, a, b, alpha):
    rank = a.shape[1]
    return kernel + alpha / rank * (a @ b)


def induction_score(weights, tokens):
    import torch

    tokens = torch.as_tensor(tokens)
    same = tokens[:, None] == tokens
    behind = torch.zeros_like(same)
    behind[:, 1:] = same.tril(-1)[:, :-1]
    found = (weights * behind).sum(dim=-1)  # (heads, length)
    return found[:, behind.any(dim=-1)].mean(dim=-1)


def merged_heads(kernel, a, b, alpha):
    from keras import ops

    rank = b.shape[0]
    return kernel + alpha / rank * ops.matmul(a, b)


SOLUTIONS = {
    "15.1": 3 / math.log(2) / 4,  # nats to bits, then shared among 4 bytes
    "15.2": bits_per_byte,
    "15.3": backed_off,
    "15.4": merged,
    "15.6": induction_score,
    "15.7": merged_heads,
    "15.8": 256 * 4 + 4 * 1024,
}
