"""Chapter 03: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def images_from_patches(sequence, size, height):
    from einops import rearrange

    pattern = "b (h w) (p q c) -> b (h p) (w q) c"
    return rearrange(sequence, pattern, h=height // size, p=size, q=size)


def scores_of_heads(query, key, num_heads):
    from einops import einsum, rearrange

    query = rearrange(query, "b q (h d) -> b h q d", h=num_heads)
    key = rearrange(key, "b k (h d) -> b h k d", h=num_heads)
    return einsum(query, key, "b h q d, b h k d -> b h q k")


def repeat_backward(copies, grad_output):
    batch, length, features = grad_output.shape
    split = grad_output.reshape(batch, length // copies, copies, features)
    return np.sum(split, axis=2)


def pixel_shuffle(x):
    from einops import rearrange

    return rearrange(x, "b (c p q) h w -> b c (h p) (w q)", p=2, q=2)


def mean_of_real(x, mask):
    from keras import ops

    real = ops.expand_dims(ops.cast(mask, x.dtype), -1)  # (batch, positions, 1)
    return ops.sum(x * real, axis=1) / ops.sum(real, axis=1)


SOLUTIONS = {
    "03.1": 9,
    "03.2": images_from_patches,
    "03.3": scores_of_heads,
    "03.4": repeat_backward,
    "03.6": pixel_shuffle,
    "03.7": mean_of_real,
    "03.8": 9,
}
