"""Chapter 16: scaling out."""

import numpy as np

from shared.exercises import Exercise


def _gradient_of_all(means, counts):
    return (counts[:, None] * means).sum(axis=0) / counts.sum()


def _random_means(rng):
    workers, n = int(rng.integers(2, 5)), int(rng.integers(3, 7))
    counts = rng.permutation(np.arange(1, workers + 1) ** 2) + rng.integers(0, 2)
    return rng.normal(size=(workers, n)) + 1, counts.astype(float)


def _ring_step(parts, step, left=1, first=2, add=True):
    held = parts.copy()
    workers = len(parts)
    for rank in range(workers):
        part = (rank - first * left - step * left) % workers
        neighbor = parts[(rank - left) % workers, part]
        held[rank, part] = (held[rank, part] if add else 0) + neighbor
    return held


def _random_parts(rng):
    # step 0 is drawn too: there, two of the mistakes would look alike with too few workers
    workers = int(rng.integers(4, 6))
    return rng.normal(size=(workers, workers, 3)) + 1, int(rng.integers(1, workers - 1))


def _relu(x):
    return np.maximum(x, 0)


def _shares(x, expand, contract, workers):
    pairs = zip(np.split(expand, workers, axis=1), np.split(contract, workers, axis=0))
    return np.stack([_relu(x @ columns) @ rows for columns, rows in pairs])


def _rows_first(x, expand, contract, workers):
    pairs = zip(np.split(x, workers, axis=1), np.split(expand, workers, axis=0))
    return np.stack([_relu(part @ rows) @ contract for part, rows in pairs])


def _no_activation(x, expand, contract, workers):
    pairs = zip(np.split(expand, workers, axis=1), np.split(contract, workers, axis=0))
    return np.stack([x @ columns @ rows for columns, rows in pairs])


def _activated_late(x, expand, contract, workers):
    return _relu(_no_activation(x, expand, contract, workers))


def _summed(x, expand, contract, workers):
    return np.stack([_shares(x, expand, contract, workers).sum(axis=0)] * workers)


def _random_layer(rng):
    workers = int(rng.integers(2, 4))
    d_model, d_ff = workers * int(rng.integers(2, 4)), workers * int(rng.integers(2, 5))
    sizes = ((int(rng.integers(3, 6)), d_model), (d_model, d_ff), (d_ff, d_model))
    return (*(rng.normal(size=size) for size in sizes), workers)


def _scaled_loss(losses, counts):
    return losses.sum() * len(counts) / counts.sum()


def _random_losses(rng):
    counts = rng.permutation([3.0, 5.0, 8.0, 13.0])[: int(rng.integers(2, 5))]
    return rng.uniform(1, 5, size=int(counts[0])), counts


def _clip(vector, norm):
    return vector * min(1.0, norm / np.sqrt((vector**2).sum()))


def _random_shares(rng):
    workers, n = int(rng.integers(2, 5)), int(rng.integers(4, 8))
    shares = rng.normal(size=(workers, n)) * rng.permutation(np.linspace(0.5, 2, workers))[:, None] + 1
    total = np.sqrt((shares.sum(axis=0) ** 2).sum())
    return shares, float(total * rng.choice([0.2, 0.25, 0.3]))


EXERCISES = {
    "16.1": Exercise(
        right=1800,
        praise="However many workers there are, it stays below 2400.",
        mistakes={
            # likely: an all-reduce has two halves, and the name suggests one
            "That is the reduce-scatter alone; an all-gather follows.": 900,
            # likely: as many steps as workers
            "Each step moves a quarter of the vector, and there are three steps, not four, in each half.": 2400,
            # seen: an outside reader's trial answer, the number of By hand
            "That is By hand's number, for three workers; with four, a part has 300 bytes, and each half three steps.": 1600,
        },
        hints=[
            "How long is a part, and how many steps are there before each worker has one complete part?",
            "With 4 workers a part has 300 bytes, and the reduce-scatter takes 3 steps.",
            "The all-gather takes as many steps with parts of the same length.",
        ],
    ),
    "16.2": Exercise(
        right=_gradient_of_all,
        inputs=_random_means,
        shape="(n,)",
        praise="Two numbers for each worker are enough: what it adds up, and how much it adds up.",
        mistakes={
            # seen: transformers, for several workers until 2025 (pitfall 1)
            "That is the mean of the means; a worker with more tokens must count more.": (
                lambda means, counts: means.mean(axis=0)
            ),
            # seen: an outside reader's trial answer, the sum over the sum of the counts
            "You add the means up; weight each by its count, and divide by all counts.": (
                lambda means, counts: means.sum(axis=0),
                lambda means, counts: means.sum(axis=0) / counts.sum(),
            ),
            # likely: an all-reduce adds up, and the division is forgotten
            "That is the sum over all tokens; divide it by their number.": (
                lambda means, counts: (counts[:, None] * means).sum(axis=0)
            ),
            # likely: .mean(axis=0) of the weighted means, as DDP does
            "You divide by the number of workers; divide by the number of all tokens.": (
                lambda means, counts: (counts[:, None] * means).mean(axis=0)
            ),
        },
        hints=[
            "What is a worker's sum over its own tokens, if you know its mean and its count?",
            "counts[:, None] * means is that sum, for every worker.",
            "Add up the sums, add up the counts, and divide.",
        ],
    ),
    "16.3": Exercise(
        right=_ring_step,
        inputs=_random_parts,
        shape="(workers, workers, n)",
        praise="Call it for the steps 0 to W - 2, and worker r holds the complete part r.",
        trials=8,
        mistakes={
            # likely: np.roll(-1), or + 1 in place of - 1
            "Worker r - 1 is the left neighbor; you read from the right one.": (
                lambda parts, step: _ring_step(parts, step, left=-1)
            ),
            # likely: steps counted from 1
            "That is the part of the next step: it's r - 2 - step.": (
                lambda parts, step: _ring_step(parts, step, first=3)
            ),
            # seen: the all-gather of Build it, a few lines further down
            "That is the part of the all-gather; in the reduce-scatter it's r - 2 - step.": (
                lambda parts, step: _ring_step(parts, step, first=1)
            ),
            # likely: the all-gather does so
            "You replace the part; add the neighbor's to it.": (lambda parts, step: _ring_step(parts, step, add=False)),
        },
        hints=[
            "Make a copy first, write to it, and read from `parts`.",
            "workers = np.arange(len(parts)); the parts are (workers - 2 - step) % len(parts).",
            "held[workers, part] += parts[workers - 1, part] does it for all workers at once.",
        ],
    ),
    "16.4": Exercise(
        right=_shares,
        inputs=_random_layer,
        shape="(workers, rows, d_model)",
        praise="One all-reduce adds these up, and the hidden features never travel.",
        trials=8,
        mistakes={
            # seen: pitfall 5
            "You cut the first kernel into rows: ReLU is then applied to a part of a sum.": _rows_first,
            # likely: the activation is applied to what the worker returns
            "ReLU comes between the two kernels, not behind the second.": _activated_late,
            # likely: the all-reduce is done at once, as in Build it
            "That is the sum on every worker; return the shares.": _summed,
        },
        hints=[
            "Worker 0 has the first d_ff / workers columns of expand. Which rows of contract belong to these features?",
            "np.split(expand, workers, axis=1) and np.split(contract, workers, axis=0).",
            "np.maximum(x @ columns, 0) @ rows for each pair, and np.stack.",
        ],
    ),
    "16.6": Exercise(
        track="pytorch",
        right=_scaled_loss,
        inputs=_random_losses,
        shape="()",
        praise="Workers with different numbers of tokens then train as one process would.",
        mistakes={
            # likely: .mean(), the loss of one process
            "That is the mean over this worker's tokens; the count must be that of all workers.": (
                lambda losses, counts: losses.mean()
            ),
            # likely: each worker's share of the mean, by the formula
            "DDP divides by the number of workers afterwards: multiply by it.": (
                lambda losses, counts: losses.sum() / counts.sum()
            ),
            # likely: the worker is thought to do DDP's division
            "DDP divides by the number of workers by itself; here it has been done twice.": (
                lambda losses, counts: losses.sum() / counts.sum() / len(counts)
            ),
        },
        hints=[
            "What would one process compute with all tokens: a sum over what?",
            "Each worker's share is losses.sum() / counts.sum(); their sum is the mean over all.",
            "DDP takes the mean of the workers' gradients, not their sum. How many workers are there?",
        ],
    ),
    "16.7": Exercise(
        track="keras",
        right=lambda shares, norm: _clip(shares.sum(axis=0), norm),
        inputs=_random_shares,
        shape="(n,)",
        praise="Clip what the optimizer sees, and not what it's made of.",
        trials=8,
        mistakes={
            # seen: pitfall 2
            "You clip each share and add up then; the length of the whole gradient decides.": (
                lambda shares, norm: np.stack([_clip(share, norm) for share in shares]).sum(axis=0)
            ),
            # seen: pitfall 3 of the NumPy notebook, where each worker gets its part of the limit
            "You clip each share to its part of the norm; add up first.": (
                lambda shares, norm: np.stack([_clip(share, norm / len(shares)) for share in shares]).sum(axis=0)
            ),
            # likely: DDP takes the mean
            "The shares must be added up, not averaged.": (
                lambda shares, norm: _clip(shares.sum(axis=0), norm) / len(shares)
            ),
            # seen: Keras' clipvalue
            "Each number is clipped by itself; clipping by the norm keeps the direction.": (
                lambda shares, norm: np.clip(shares.sum(axis=0), -norm, norm)
            ),
        },
        hints=[
            "What comes first, the sum over the workers or the clipping?",
            "ops.sum(shares, axis=0) is the gradient; ops.norm gives its length.",
            "Multiply by ops.minimum(1.0, norm / length).",
        ],
    ),
    "16.8": Exercise(
        track="compare",
        right=2 * 63 / 64 * 1 / 10 + 126 * 1e-4,
        digits=2,
        praise="The bytes take as long as with 1024 workers; the latency would take 0.20 seconds there.",
        mistakes={
            # likely: 0.1 milliseconds look like nothing
            "The latency is missing: 126 messages, one after the other.": round(2 * 63 / 64 / 10, 2),
            # likely: an all-reduce has two halves, and the name suggests one
            "That is one half: a reduce-scatter and an all-gather take 63 messages each.": round(
                63 / 64 / 10 + 63 * 1e-4, 2
            ),
            # likely: the messages are counted, and their length is not
            "Each message has a 64th of the gradients, not all of them.": round(126 * (1 / 10 + 1e-4), 2),
        },
        hints=[
            "How many messages follow one another, and how long is each?",
            "2 x 63 messages of 1/64 GB.",
            "126 x (0.0001 + 1/64/10) seconds.",
        ],
    ),
}
