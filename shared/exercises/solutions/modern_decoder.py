"""Chapter 18: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def rms_norm_backward(x, gamma, grad_output):
    rms = np.sqrt((x * x).mean(axis=1, keepdims=True))
    normalized = x / rms
    grad = grad_output * gamma
    along = (grad * normalized).mean(axis=1, keepdims=True)
    return (grad - normalized * along) / rms


def my_rope(x, positions, theta):
    d = x.shape[-1]
    frequencies = theta ** (-np.arange(0, d, 2) / d)
    angles = positions[:, None] * frequencies  # (length, d / 2)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def grouped_attention(query, key, value):
    _, heads, length, d = query.shape
    group = heads // key.shape[1]
    key, value = key.repeat(group, axis=1), value.repeat(group, axis=1)
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(d)
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def windowed_attention(query, key, value, window):
    import torch
    from torch.nn import functional as F

    places = torch.arange(query.shape[2], device=query.device)
    before = places[:, None] - places  # how far each key is before each query
    return F.scaled_dot_product_attention(query, key, value, attn_mask=(before >= 0) & (before < window))


def rotate_keras(x, positions, theta):
    from keras import ops

    d = x.shape[-1]
    frequencies = ops.array(theta ** (-np.arange(0, d, 2) / d), "float32")  # half precision would round positions
    angles = ops.cast(positions, "float32")[:, None, None] * frequencies  # (length, 1, d / 2)
    cos, sin = ops.cast(ops.cos(angles), x.dtype), ops.cast(ops.sin(angles), x.dtype)
    first, second = ops.split(x, 2, axis=-1)
    return ops.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


SOLUTIONS = {
    "18.1": -6,
    "18.2": rms_norm_backward,
    "18.3": my_rope,
    "18.4": grouped_attention,
    "18.6": windowed_attention,
    "18.7": rotate_keras,
    "18.8": 2 * 28 * 8 * 128 * 2,  # keys and values, blocks, heads of keys, features, bytes
}
