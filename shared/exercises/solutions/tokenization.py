"""Chapter 04: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def best_pair(ids):
    from collections import Counter

    pairs = Counter(zip(ids[:-1].tolist(), ids[1:].tolist()))
    return np.array(min(pairs, key=lambda pair: (-pairs[pair], pair)))


def spell(ids, merges):
    for left, right, made in merges[::-1]:
        ids = [part for i in ids for part in ((left, right) if i == made else (i,))]
    return np.array(ids)


def encode_word(ids, merges):
    from shared.numpy.tokenization import join_pair

    ids = ids.tolist()
    for left, right, made in merges.tolist():
        ids = join_pair(ids, (left, right), made)
    return np.array(ids)


def padding_share(lengths, batch_size):
    batches = lengths.sort().values.split(batch_size)
    total = sum(len(batch) * batch.max() for batch in batches)
    return 1 - lengths.sum() / total


def move_padding(tokens):
    from keras import ops

    order = ops.argsort(ops.cast(tokens == 0, "int32"), axis=1)
    return ops.take_along_axis(tokens, order, axis=1)


SOLUTIONS = {
    "04.1": 6,
    "04.2": best_pair,
    "04.3": spell,
    "04.4": encode_word,
    "04.6": padding_share,
    "04.7": move_padding,
    "04.8": 4,
}
