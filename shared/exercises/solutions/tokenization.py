"""Chapter 04: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def wordpiece_pair(ids):
    from collections import Counter

    single = Counter(ids.tolist())
    pairs = Counter(zip(ids[:-1].tolist(), ids[1:].tolist()))
    return np.array(max(pairs, key=lambda pair: pairs[pair] / (single[pair[0]] * single[pair[1]])))


def learn(ids, num_merges):
    from collections import Counter
    from itertools import pairwise

    ids = ids.tolist()
    rows = []
    for new in range(256, 256 + num_merges):
        pairs = Counter(pairwise(ids))
        left, right = max(sorted(pairs), key=pairs.get)
        joined = []
        for each in ids:
            if joined and joined[-1] == left and each == right:
                joined[-1] = new
            else:
                joined.append(each)
        ids = joined
        rows.append([left, right, new])
    return np.array(rows)


def encode_word(ids, merges):
    from itertools import pairwise

    rank = {(left, right): new for left, right, new in merges.tolist()}  # later merges have larger ids
    ids = ids.tolist()
    while True:
        known = [rank[pair] for pair in pairwise(ids) if pair in rank]
        if not known:
            return np.array(ids)
        joined = []
        for each in ids:
            if joined and rank.get((joined[-1], each)) == min(known):
                joined[-1] = min(known)
            else:
                joined.append(each)
        ids = joined


def padding_share(lengths, batch_size):
    batches = lengths.sort().values.split(batch_size)
    total = sum(len(batch) * batch.max() for batch in batches)
    return 1 - lengths.sum() / total


def move_padding(tokens):
    from keras import ops

    order = ops.argsort(ops.cast(tokens == 0, "int32"), axis=1)
    return ops.take_along_axis(tokens, order, axis=1)


SOLUTIONS = {
    "04.1": 8,
    "04.2": wordpiece_pair,
    "04.3": learn,
    "04.4": encode_word,
    "04.6": padding_share,
    "04.7": move_padding,
    "04.8": 4,
}
