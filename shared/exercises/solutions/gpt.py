"""Chapter 14: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def my_sample(weights, uniforms):
    sums = weights.cumsum(axis=-1)
    sums = sums / sums[:, -1:]
    return (sums <= uniforms[:, None]).sum(axis=-1)


def nucleus(probs, p):
    order = np.argsort(-probs)
    sorted_probs = probs[order]
    before = sorted_probs.cumsum() - sorted_probs
    kept = np.zeros_like(probs)
    kept[order] = np.where(before < p, sorted_probs, 0)
    return kept / kept.sum()


def attend_next(query, key, value, keys, values):
    keys, values = np.vstack([keys, key]), np.vstack([values, value])
    scores = keys @ query / np.sqrt(len(query))
    weights = np.exp(scores - scores.max())
    return (weights / weights.sum()) @ values


def my_generate(model, prompt, num_new):
    text, cache, new = list(prompt), model.make_cache(), list(prompt)
    for _ in range(num_new):
        best = int(model(new, cache)[-1].argmax())
        text.append(best)
        new = [best]
    return np.array(text)


def perplexity(logits, tokens):
    from torch.nn import functional as F

    predicted, wanted = logits[:, :-1], tokens[:, 1:]
    return F.cross_entropy(predicted.flatten(0, 1), wanted.flatten()).exp()


def min_p(logits, p):
    from keras import ops

    probs = ops.softmax(logits, axis=-1)
    limit = p * ops.max(probs, axis=-1, keepdims=True)
    kept = ops.where(probs >= limit, probs, 0.0)
    return kept / ops.sum(kept, axis=-1, keepdims=True)


SOLUTIONS = {
    "14.1": 4 + 5 + 6 + 7 + 8 + 9,  # the sixth token is drawn, and never read
    "14.2": my_sample,
    "14.3": nucleus,
    "14.4": attend_next,
    "14.6": perplexity,
    "14.7": min_p,
    "14.9": my_generate,
    "14.8": 2 * 24 * 1024 * 1024 * 2 / 1024**2,  # keys and values, blocks, positions, features, bytes
}
