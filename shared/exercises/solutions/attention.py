"""Chapter 06: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def my_attention(query, key, value):
    scores = query @ key.T / np.sqrt(query.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return weights @ value


class MyAttention:
    def forward(self, query, key, value):
        scores = query @ key.T / np.sqrt(query.shape[1])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = weights / weights.sum(axis=1, keepdims=True)
        self.query, self.key, self.value, self.weights = query, key, value, weights
        return weights @ value

    def backward(self, grad_output):
        grad_value = self.weights.T @ grad_output
        grad_weights = grad_output @ self.value.T
        mean = (self.weights * grad_weights).sum(axis=1, keepdims=True)
        grad_scores = self.weights * (grad_weights - mean) / np.sqrt(self.query.shape[1])
        return grad_scores @ self.key, grad_scores.T @ self.query, grad_value


def join_halves(highest_a, total_a, weighted_a, highest_b, total_b, weighted_b):
    highest = max(highest_a, highest_b)
    a, b = np.exp(highest_a - highest), np.exp(highest_b - highest)
    return (a * weighted_a + b * weighted_b) / (a * total_a + b * total_b)


def unpack(packed, num_heads):
    from einops import rearrange

    return rearrange(packed, "b n (three h d) -> three b h n d", three=3, h=num_heads)


def with_temperature(query, key, value, temperature):
    from torch.nn import functional as F

    query = query / temperature[:, None, None]
    return F.scaled_dot_product_attention(query, key, value, scale=1.0)


def attention_in_heads(query, key, value, mask, num_heads):
    import math

    from keras import ops

    def split(x):
        batch, length, d_model = x.shape
        heads = ops.reshape(x, (batch, length, num_heads, d_model // num_heads))
        return ops.transpose(heads, (0, 2, 1, 3))

    q, k, v = split(query), split(key), split(value)
    scores = ops.matmul(q, ops.swapaxes(k, -1, -2)) / math.sqrt(q.shape[-1])
    weights = ops.softmax(ops.where(mask, scores, -math.inf), axis=-1)
    weights = ops.where(mask, weights, 0.0)
    merged = ops.transpose(ops.matmul(weights, v), (0, 2, 1, 3))
    return ops.reshape(merged, query.shape)


def window_mask(length, width):
    from keras import ops

    distance = ops.arange(length)[:, None] - ops.arange(length)
    return ops.logical_and(distance >= 0, distance < width)


SOLUTIONS = {
    "06.1": 0.25,
    "06.2": my_attention,
    "06.3": MyAttention,
    "06.4": join_halves,
    "06.6": unpack,
    "06.7": with_temperature,
    "06.8": attention_in_heads,
    "06.9": window_mask,
    "06.10": 3,
}
