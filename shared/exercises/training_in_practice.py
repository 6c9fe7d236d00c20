"""Chapter 17: training in practice."""

import numpy as np

from shared.exercises import Exercise


def _softmax(logits):
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _kept_measurement(losses, patience):
    best, waited = 0, 0
    for index, loss in enumerate(losses[1:], 1):
        if loss < losses[best]:
            best, waited = index, 0
        else:
            waited += 1
        if waited >= patience:
            break
    return np.array(best)


def _stopped_at(losses, patience):
    best, waited = 0, 0
    for index, loss in enumerate(losses[1:], 1):
        if loss < losses[best]:
            best, waited = index, 0
        else:
            waited += 1
        if waited >= patience:
            return np.array(index)
    return np.array(len(losses) - 1)


def _against_the_one_before(losses, patience):
    """Counts measurements that are no better than the one before."""
    best, waited = 0, 0
    for index in range(1, len(losses)):
        waited = 0 if losses[index] < losses[index - 1] else waited + 1
        if losses[index] < losses[best]:
            best = index
        if waited >= patience:
            break
    return np.array(best)


def _in_all(losses, patience):
    """Counts measurements without an improvement in all, and not in a row."""
    best, waited = 0, 0
    for index in range(1, len(losses)):
        if losses[index] < losses[best]:
            best = index
        else:
            waited += 1
        if waited >= patience:
            break
    return np.array(best)


def _random_losses(rng):
    """A fall, at least patience measurements without a better one, and lower values that the run never reaches."""
    patience = int(rng.integers(3, 5))
    start = 10 + rng.random()
    # down with a short interruption, in which each value but the first is below the one before it
    parts = [start, start - 3, start - 1, start - 1.5, start - 4, start - 3.2, start - 3.5, start - 5]
    best = parts[-1]
    waits = [
        [best + 1 + 0.2 * step for step in range(patience)],  # as many as patience: stopping later shows
        [best + 2, best + 1.5, best + 1.9, best + 1.2, best + 1.6][: patience + 1],  # up and down
        [best + 1, best, *(best + 1 + 0.2 * step for step in range(patience - 1))],  # with a tie
    ]
    wait = waits[rng.integers(3)]
    later = best - 2 - rng.random()
    rise = [later + 0.1 * step for step in range(patience + 2)]
    return np.array([*parts, *wait, *rise, later - 1, best]), patience


def run_with(fault=None, seed=0, num_steps=300):
    """The losses of a run on 1000 digits, and the share of them that is right at its end."""
    from shared.data import digits
    from shared.numpy.models import MLP
    from shared.numpy.training import AdamW, cross_entropy, cross_entropy_backward

    data, rng = digits.load(), np.random.default_rng(seed)
    x, y = data.x_train.reshape(-1, 64)[:1000], data.y_train[:1000]
    model = MLP(64, 64, 10, rng=seed).astype(np.float32)
    optimizer = AdamW(model, {"rate too high": 1.0, "rate too low": 1e-5}.get(fault, 3e-3))
    targets = rng.permutation(y) if fault == "labels of other images" else y
    in_order, losses = np.argsort(y, kind="stable"), []
    for step in range(num_steps):
        rows = rng.integers(0, 1000, 32)
        if fault == "sorted":
            rows = in_order[(32 * step + np.arange(32)) % 1000]
        outputs = model(x[rows])
        if fault == "softmax twice":
            p = _softmax(outputs)
            losses.append(cross_entropy(p, targets[rows]))
            gradient = cross_entropy_backward(p, targets[rows])
            gradient = p * (gradient - (p * gradient).sum(axis=-1, keepdims=True))
        else:
            losses.append(cross_entropy(outputs, targets[rows]))
            gradient = cross_entropy_backward(outputs, targets[rows])
        if fault != "no zero_grad":
            optimizer.zero_grad()
        model.backward(gradient)
        optimizer.step()
    return np.array(losses), float((model(x).argmax(axis=-1) == y).mean())


def broken_runs():
    """A healthy run and three with a fault each, from the same weights: name -> its losses, and the share that is right."""
    faults = {"healthy": None, "run A": "no zero_grad", "run B": "softmax twice", "run C": "sorted"}
    return {name: run_with(fault) for name, fault in faults.items()}


# What each fault of 17.6 to 17.8 would have looked like, by its number there.
LOOKS = {
    1: "With a rate far too high the loss would leap to tens or hundreds within the first steps.",
    2: "With a rate far too low the loss would stay where it began, near 2.3, for all 300 steps.",
    3: "Without zero_grad the loss would fall like the healthy one at first, and then swing up and down.",
    4: "With a second softmax the loss would fall smoothly and rest near 1.5, while nearly all answers are right.",
    5: "In sorted data the loss would leap up when the next digit comes, in the same rhythm in every pass of 31 steps.",
    6: "With the labels of other images there is little to learn: the loss would come to 2.3 and hardly fall below.",
}


def _named(right):
    return {sentence: number for number, sentence in LOOKS.items() if number != right}


EXERCISES = {
    "17.2": Exercise(
        right=_kept_measurement,
        inputs=_random_losses,
        shape="()",
        trials=15,
        praise="The lowest loss of all came later, in a part that the run never reached.",
        mistakes={
            "That is the lowest of all; the run stopped before it got there.": lambda losses, p: np.array(
                losses.argmin()
            ),
            "That is where the run stopped; the weights come from the best measurement before.": _stopped_at,
            "Compare with the best so far, and not with the measurement before.": _against_the_one_before,
            "Start counting anew after each improvement: patience means measurements in a row.": _in_all,
            "You stop one measurement too late: the run ends as soon as patience of them brought nothing better.": (
                lambda losses, p: _kept_measurement(losses, p + 1)
            ),
            "A loss equal to the best is not better: it counts as waiting.": (
                lambda losses, p: _kept_measurement(losses - 1e-9 * np.arange(len(losses)), p)
            ),
            "You stop one measurement too early.": lambda losses, p: _kept_measurement(losses, p - 1),
            "You stop at the first measurement that is no better.": lambda losses, p: _kept_measurement(losses, 1),
            "That is the loss; return its index.": lambda losses, p: losses[_kept_measurement(losses, p)],
            "You count from 1; Python counts from 0.": lambda losses, p: _kept_measurement(losses, p) + 1,
        },
        hints=[
            "You need two things while you go through the losses: which was best, and how long ago that was.",
            "An improvement sets the second of them back to 0.",
            "When the waiting reaches patience, stop, and return the first of them.",
        ],
    ),
    "17.6": Exercise(
        right=3,
        digits=0,
        praise="Each step goes along the sum of all gradients so far, most of them of weights long gone.",
        mistakes=_named(3),
        hints=[
            "Its first steps are those of the healthy run. Which fault needs time to show?",
            "It learns, and then overshoots again and again, as if it could not slow down.",
            "What does a step use that should have been thrown away?",
        ],
    ),
    "17.7": Exercise(
        right=4,
        digits=0,
        praise="A probability is at most 1, so as a logit it can't be far above nine others: the lowest loss is 1.46.",
        mistakes=_named(4),
        hints=[
            "Its answers are nearly as good as those of the healthy run. So what is wrong is the loss, or what it is given.",
            "It comes to rest far above 0. Which loss is the lowest that such a run can reach?",
            "If the outputs lie between 0 and 1, the best are a 1 and nine zeros. What is their cross-entropy?",
        ],
    ),
    "17.8": Exercise(
        right=5,
        digits=0,
        praise="A batch with one digit alone teaches the network to answer that digit, whatever it sees.",
        mistakes=_named(5),
        hints=[
            "Look at the rhythm: the highest leaps are some 31 steps apart.",
            "31 batches of 32 images are one pass through the data. So the same place in it is hard each time.",
            "Within a few steps the loss falls, because all images of a batch have the same answer.",
        ],
    ),
}
