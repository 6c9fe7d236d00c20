"""Chapter 17: training in practice."""

import numpy as np

from shared.exercises import Exercise
from shared.numpy.attention import softmax


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


def _clipped(a, b, max_norm, factor_of=None):
    both = np.concatenate([a, b])
    norm = np.sqrt((both**2).sum()) if factor_of is None else factor_of(both)
    return both * min(1.0, max_norm / norm)


def _random_gradients(rng):
    """In half of the trials the norm of both is above the bound, though that of neither is."""
    a, b = rng.normal(size=3), rng.normal(size=int(rng.integers(2, 5)))
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return 0.9 * a, 0.8 * b, float(rng.choice([1.0, 1.0, 2.0, 0.5]))


def _each_alone(a, b, max_norm):
    return np.concatenate([each * min(1.0, max_norm / np.linalg.norm(each)) for each in (a, b)])


def _fit(weights, x, y, x_val, y_val, rate, patience, **changes):
    """Gradient descent on one example a step, with early stopping, and with one thing changed at a time."""
    weights = weights.copy()

    def loss(x, y):
        return ((x @ weights - y) ** 2).mean()

    data = (x, y) if changes.get("by_training") else (x_val, y_val)
    best, kept, waited, before = loss(*data), weights.copy(), 0, np.inf
    for step in range(50):
        row = step % len(y)
        scale = 1 if changes.get("half_gradient") else 2
        weights = weights - rate * scale * (x[row] @ weights - y[row]) * x[row]
        found = loss(*data)
        if found < best:
            best, kept, waited = found, weights.copy(), 0
        elif changes.get("against_the_one_before") and found < before:
            waited = 0
        elif not changes.get("never"):
            waited += 1
        before = found
        if waited >= patience + changes.get("later", 0):
            break
    return weights if changes.get("last") else kept


def _random_run(rng):
    """A run in which each way to stop wrongly ends at other weights, one draw in twelve or so."""
    ways = ("last", "by_training", "against_the_one_before", "never", "half_gradient")
    while True:
        x, x_val, truth = rng.normal(size=(10, 4)), rng.normal(size=(12, 4)), rng.normal(size=4)
        y, y_val = x @ truth + rng.normal(size=10), x_val @ truth + 0.3 * rng.normal(size=12)
        arguments = 2 * rng.normal(size=4), x, y, x_val, y_val, 0.05, int(rng.integers(2, 5))
        right = _fit(*arguments)
        wrong = [_fit(*arguments, **{way: True}) for way in ways] + [_fit(*arguments, later=each) for each in (-1, 1)]
        if all(np.abs(right - each).max() > 0.02 for each in wrong):
            return arguments


def _run_with(**changes):
    return lambda *arguments: _fit(*arguments, **changes)


def _batches_from(data, state, batch_size, passes=1):
    """The batches of a loader whose own generator has this state: of the last of so many passes."""
    import torch

    generator = torch.Generator()
    generator.set_state(torch.from_numpy(np.array(state)))
    loader = torch.utils.data.DataLoader(
        torch.from_numpy(np.array(data)), batch_size, shuffle=True, generator=generator
    )
    for _ in range(passes):
        found = [batch.numpy() for batch in loader]
    return found


def _rest_of_epoch(data, state, batch_size, batches_done):
    return np.concatenate(_batches_from(data, state, batch_size)[batches_done:])


def _reshuffled(data, state, batch_size, batches_done):
    """Skips with next(iter(loader)), which begins an epoch each time, and then goes through a whole one."""
    import torch

    generator = torch.Generator()
    generator.set_state(torch.from_numpy(np.array(state)))
    loader = torch.utils.data.DataLoader(
        torch.from_numpy(np.array(data)), batch_size, shuffle=True, generator=generator
    )
    for _ in range(batches_done):
        next(iter(loader))
    return np.concatenate([batch.numpy() for batch in loader])


def _from_the_global_generator(data, state, batch_size, batches_done):
    """Gives the state to the global generator, from which a loader without one of its own draws."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(torch.from_numpy(np.array(state)))
        loader = torch.utils.data.DataLoader(torch.from_numpy(np.array(data)), batch_size, shuffle=True)
        return np.concatenate([batch.numpy() for batch in loader][batches_done:])


def _permuted(data, state, batch_size, batches_done):
    """Draws a permutation at once, without the number that a loader draws before it."""
    import torch

    generator = torch.Generator()
    generator.set_state(torch.from_numpy(np.array(state)))
    order = torch.randperm(len(data), generator=generator).numpy()
    return np.array(data)[order[batches_done * batch_size :]]


def _random_epoch(rng):
    """Rows that all differ, a generator's state, and a stop in the middle; the last batch is smaller than the others."""
    import torch

    batch_size, batches, left_over = int(rng.integers(3, 5)), int(rng.integers(5, 8)), int(rng.integers(1, 3))
    state = torch.Generator().manual_seed(int(rng.integers(1, 10_000))).get_state().numpy()
    data = rng.normal(0, 10, size=(batches * batch_size + left_over, 2))
    return data, state, batch_size, int(rng.integers(2, 4))


def _without_weights(logits, weights):
    return softmax(logits - np.log(weights))


def _random_weighted(rng):
    """As many rows as classes in every second trial, so that what runs along the wrong axis still fits."""
    rows, classes = (int(n) for n in rng.permutation([3, 4, 6])[:2])
    if rng.random() < 0.5:
        rows = classes
    weights = rng.permutation([1.0, 1.5, *rng.uniform(3, 6, size=classes - 2)])
    return rng.normal(0, 1.5, size=(rows, classes)), weights


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
            p = softmax(outputs)
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


# What each fault of 17.6 to 17.8 would have looked like, by its number there; a wrong number is answered with this.
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
    "17.1": Exercise(
        right=(30 * 1.0 + 10 * 2.0) / 40,
        digits=2,
        praise="Each target counts once, whichever batch it was in.",
        mistakes={
            # seen: evaluation loops that append loss.item() and take np.mean
            "That is the mean of two means: the ten targets of the second batch count three times as much as the others.": 1.5,
            # likely: total_loss += loss, divided by nothing
            "That is the sum of the two means.": 3.0,
        },
        hints=[
            "What is the sum of the losses in the first batch?",
            "Add the sums of both, and count the targets of both.",
            "The loss of the set is the sum over all targets, divided by their number.",
        ],
    ),
    "17.2": Exercise(
        right=_kept_measurement,
        inputs=_random_losses,
        shape="()",
        trials=15,
        praise="The lowest loss of all came later, in a part that the run never reached.",
        mistakes={
            # likely: argmin, with the whole curve in view
            "That is the lowest of all; the run stopped before it got there.": lambda losses, p: np.array(
                losses.argmin()
            ),
            # likely: it is where the loop ends; Keras' restore_best_weights is False by default
            "That is where the run stopped; the weights come from the best measurement before.": _stopped_at,
            # likely: "no better" is read as "no better than before"
            "Compare with the best so far, and not with the measurement before.": _against_the_one_before,
            # likely: the counter isn't set back to 0
            "Start counting anew after each improvement: patience means measurements in a row.": _in_all,
            # likely: > in place of >=, or a counter that starts at 1
            "You stop one measurement too late or too early: the run ends as soon as patience of them brought nothing better.": (
                lambda losses, p: _kept_measurement(losses, p + 1),
                lambda losses, p: _kept_measurement(losses, p - 1),
            ),
            # likely: <= in place of <
            "A loss equal to the best is not better: it counts as waiting.": (
                lambda losses, p: _kept_measurement(losses - 1e-9 * np.arange(len(losses)), p)
            ),
        },
        hints=[
            "You need two things while you go through the losses: which was best, and how long ago that was.",
            "An improvement sets the second of them back to 0.",
            "When the waiting reaches patience, stop, and return the first of them.",
        ],
    ),
    "17.3": Exercise(
        right=_clipped,
        inputs=_random_gradients,
        shape="(len(a) + len(b),)",
        trials=12,
        praise="The direction of the whole gradient stays, and only its length changes.",
        mistakes={
            # seen: chapter 09, pitfall 2; Keras' clipnorm
            "You clip each array alone. That turns the direction, and the whole may still be too long.": _each_alone,
            # likely: the factor without min or if
            "You always scale to max_norm; a gradient that is short enough stays as it is.": (
                lambda a, b, m: np.concatenate([a, b]) * m / np.linalg.norm(np.concatenate([a, b]))
            ),
            # seen: torch's clip_grad_value_ and Keras' clipvalue
            "You clip each number; the bound is for the norm.": lambda a, b, m: np.clip(np.concatenate([a, b]), -m, m),
            # likely: a norm for each array, and then sum()
            "You add the two norms; the norm of both is the root of the sum of all squares.": (
                lambda a, b, m: _clipped(a, b, m, lambda both: np.linalg.norm(a) + np.linalg.norm(b))
            ),
        },
        hints=[
            "Put both into one array first, and take its norm.",
            "If the norm is above max_norm, which factor makes it max_norm?",
            "min(1.0, ...) leaves a short gradient as it is.",
        ],
    ),
    "17.4": Exercise(
        right=_fit,
        inputs=_random_run,
        shape="(4,)",
        trials=12,
        praise="This is the loop of Build it, with the bookkeeping in it.",
        mistakes={
            # seen: pitfall 3
            "Those are the last weights. Were the best ones copied, or do they go on changing with the run?": _run_with(
                last=True
            ),
            # likely: the training loss is at hand in the loop
            "You stop by the training loss; measure on x_val and y_val.": _run_with(by_training=True),
            # likely: the best weights are kept, and the break forgotten
            "You never stop: those are the best weights of all 50 steps, some of which the run never reaches.": _run_with(
                never=True
            ),
            # likely: > in place of >=, or a counter that starts at 1
            "You stop one measurement too late or too early: the run ends as soon as patience of them brought nothing better.": (
                _run_with(later=1),
                _run_with(later=-1),
            ),
            # likely: "no better" is read as "no better than before"
            "Compare with the best so far, and not with the measurement before.": _run_with(
                against_the_one_before=True
            ),
            # likely: many books put a half in front of the squared error
            "The gradient of a squared error has a factor of 2.": _run_with(half_gradient=True),
        },
        hints=[
            "Before the loop: measure, and keep a copy of the weights. What do you have to remember besides?",
            "The gradient of one example is 2 * (x[row] @ weights - y[row]) * x[row].",
            "In the loop: step, measure, and either keep a copy and set the waiting to 0, or wait one more and see whether to end.",
        ],
    ),
    "17.6": Exercise(
        right=3,
        digits=0,
        praise="Each step goes along the sum of all gradients so far, most of them of weights long gone.",
        # seen: the notebook's list, from which a reader chooses
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
        # seen: the notebook's list, from which a reader chooses
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
        # seen: the notebook's list, from which a reader chooses
        mistakes=_named(5),
        hints=[
            "Look at the rhythm: the highest leaps are some 31 steps apart.",
            "31 batches of 32 images are one pass through the data. So the same place in it is hard each time.",
            "Within a few steps the loss falls, because all images of a batch have the same answer.",
        ],
    ),
    "17.9": Exercise(
        track="pytorch",
        right=_rest_of_epoch,
        inputs=_random_epoch,
        shape="(rows still to come, features)",
        praise="With the state from the epoch's start and the number of batches done, no example is seen twice or left out.",
        mistakes={
            # likely: the state is set, and skipping is forgotten
            "That is the whole epoch; leave out the batches that are done.": (
                lambda data, state, size, done: np.concatenate(_batches_from(data, state, size))
            ),
            # likely: rows are sliced by a number of batches
            "You left out as many rows as there are batches done; a batch has batch_size rows.": (
                lambda data, state, size, done: np.concatenate(_batches_from(data, state, size))[done:]
            ),
            # likely: off by one, from enumerate's 0
            "You left out one batch too many or too few: batches_done of them are done.": (
                lambda data, state, size, done: _rest_of_epoch(data, state, size, done + 1),
                lambda data, state, size, done: _rest_of_epoch(data, state, size, done - 1),
            ),
            # likely: next(iter(loader)) is how one looks at a batch; a second loop begins anew, too
            "Each next(iter(loader)), and each loop, begins a new epoch in a new order. Make one iterator, and skip with it.": (
                _reshuffled,
                lambda data, state, size, done: np.concatenate(_batches_from(data, state, size, passes=2)[done:]),
            ),
            # likely: torch.set_rng_state is the better known
            "You gave the state to the global generator; the loader had one of its own.": _from_the_global_generator,
            # likely: torch.randperm seems to be all that shuffle does
            "A loader draws another number before the permutation, for its workers: let a DataLoader draw the order.": _permuted,
        },
        hints=[
            "A torch.Generator takes a state with set_state, and a DataLoader takes a generator.",
            "Make one pass through the loader, and leave out its first batches: enumerate or itertools.islice.",
            "torch.cat makes one tensor of a list of batches.",
        ],
        errors={
            "RNG state must be a torch.ByteTensor": "Give set_state the state as it is, of dtype torch.uint8.",
            "shuffle": "A DataLoader takes either shuffle=True or a sampler.",
        },
    ),
    "17.10": Exercise(
        track="keras",
        right=_without_weights,
        inputs=_random_weighted,
        shape="(rows, classes)",
        trials=8,
        praise="The probabilities are back, without a step of training; try it on weighted_model.",
        mistakes={
            # likely: the weights are undone, and the normalization forgotten
            "Your rows don't sum to 1: after the division by the weights, divide by the row's sum.": (
                lambda z, w: softmax(z) / w
            ),
            # likely: the formula of the question is applied once more
            "You multiply by the weights once more; divide by them.": lambda z, w: softmax(z + np.log(w)),
            # likely: logits are what the function gets
            "You divide the logits by the weights; divide the probabilities, or subtract the logarithms.": (
                lambda z, w: softmax(z / w)
            ),
            # likely: a factor becomes a summand, and its logarithm is forgotten
            "You subtract the weights from the logits; a logit is a logarithm, so subtract the logarithm of the weight.": (
                lambda z, w: softmax(z - w)
            ),
            # likely: ops.sum without an axis
            "You divide by the sum of the whole array; each row has a sum of its own.": (
                lambda z, w: softmax(z) / w / (softmax(z) / w).sum()
            ),
            # likely: a softmax makes rows that sum to 1
            "You took a softmax of probabilities at the end; divide by the row's sum instead.": (
                lambda z, w: softmax(softmax(z) / w)
            ),
        },
        hints=[
            "A weight multiplies the probability of its class. What undoes that?",
            "What you get then doesn't sum to 1. The sum in the formula is the same for all classes of a row.",
            "Or in logits: a factor of a probability is a summand of its logarithm. One ops.log and one ops.softmax do it.",
        ],
    ),
    "17.11": Exercise(
        track="compare",
        right=(1.0 * 1.0 + 3.0 * 3.0) / 2,
        digits=2,
        praise="Keras divides by the number of examples, so larger weights make a larger loss.",
        mistakes={
            # seen: the question itself, and torch.nn.CrossEntropyLoss
            "That is PyTorch's mean, which divides by the sum of the weights.": 2.5,
            # likely: the products are added up, and the mean forgotten
            "That is the sum; Keras divides by the number of examples.": 10.0,
        },
        hints=[
            "Each loss is multiplied by its weight. What is the sum?",
            "By what does each library divide that sum?",
            "PyTorch divides by 1 + 3. Keras divides by the number of examples.",
        ],
    ),
}
