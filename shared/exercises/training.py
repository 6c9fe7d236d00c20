"""Chapter 09: training."""

import numpy as np

from shared.exercises import Exercise


def _log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _of_right(logits, targets):
    return -_log_softmax(logits)[np.arange(len(targets)), targets]


def _cross_entropy(logits, targets):
    return _of_right(logits, targets).mean()


def _random_logits(rng):
    """Mostly moderate logits; in one row they are so large that exp overflows."""
    rows, classes = int(rng.integers(4, 7)), int(rng.integers(7, 10))
    logits = rng.normal(0, 2, size=(rows, classes))
    logits[0] = rng.normal(1500, 2, size=classes)
    return logits, rng.integers(0, classes, size=rows)


def _overflows(logits, targets):
    exponentials = np.exp(logits)
    probabilities = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return -np.log(probabilities[np.arange(len(targets)), targets]).mean()


def _softmax(logits):
    return np.exp(_log_softmax(logits))


def _gradient(logits, targets):
    """What the model said, minus what it should have said, over the number of targets that count."""
    kept = targets != -100
    grad_logits = np.zeros_like(logits)
    grad_logits[kept] = (_softmax(logits[kept]) - np.eye(logits.shape[-1])[targets[kept]]) / kept.sum()
    return grad_logits


def _random_ignored(rng):
    """Logits of which one row is so large that exp overflows, and targets of which two rows don't count."""
    logits, targets = _random_logits(rng)
    targets[1:3] = -100
    return logits, targets


def _ignored_take_part(logits, targets):
    """What NumPy does with -100 taken for a class: a one-hot row without a 1."""
    kept = (targets != -100)[:, None]
    return (_softmax(logits) - np.eye(logits.shape[-1])[np.where(targets < 0, 0, targets)] * kept) / (
        targets >= 0
    ).sum()


class _Classifier:
    """A model with one kernel, which can be built again as it was."""

    def __init__(self, kernel):
        self.start, self.kernel, self.grad = kernel, kernel.copy(), np.zeros_like(kernel)

    def __repr__(self):
        return "a model"

    def __call__(self, x):
        self.x = x
        return x @ self.kernel

    def zero_grad(self):
        self.grad = np.zeros_like(self.kernel)

    def backward(self, grad_output):
        self.grad = self.grad + self.x.T @ grad_output


class _Descent:
    """Moves the kernel of a model, and counts on being told the rate."""

    def __init__(self, model):
        self.model, self.learning_rate = model, 0.0

    def __repr__(self):
        return "an optimizer"

    def step(self):
        self.model.kernel = self.model.kernel - self.learning_rate * self.model.grad


def _loop(model, optimizer, schedule, inputs, targets, **changes):
    """The right loop, or one with a mistake; it begins with the model as it was before the reader's loop trained it."""
    model = _Classifier(model.start)
    optimizer = _Descent(model)
    losses = []
    for step, (x, t) in enumerate(zip(inputs, targets)):
        logits = model(x)
        losses.append(_cross_entropy(logits, t))
        if not changes.get("keeps_gradients"):
            model.zero_grad()
        model.backward(_gradient(logits, t))
        if changes.get("zeroes_late"):
            model.zero_grad()
        optimizer.learning_rate = schedule(step + changes.get("ahead", 0))
        if not changes.get("never_moves"):
            optimizer.step()
        if changes.get("measures_late"):
            losses[-1] = _cross_entropy(model(x), t)
    return np.array(losses)


def _looped(**changes):
    return lambda *arguments: _loop(*arguments, **changes)


def _random_loop(rng):
    steps, rows, features, classes = 5, 6, 4, 3
    model = _Classifier(rng.normal(size=(features, classes)))
    peak = float(rng.uniform(0.5, 1.5))
    inputs = rng.normal(size=(steps, rows, features))
    return (
        model,
        _Descent(model),
        lambda step: peak * (step + 1) / steps,
        inputs,
        rng.integers(0, classes, (steps, rows)),
    )


def _adam(weights, gradients, rate, weight_decay, **changes):
    """Adam with one thing changed at a time."""
    m = v = np.zeros_like(weights)
    weights = weights.copy()
    beta_1, beta_2, epsilon = 0.9, 0.999, 1e-8
    if changes.get("one_beta"):
        beta_2 = beta_1
    for step, gradient in enumerate(gradients, 1):
        if changes.get("coupled"):
            gradient = gradient + weight_decay * weights
        elif changes.get("decay_without_rate"):
            weights = weights * (1 - weight_decay)
        elif not changes.get("decay_after"):
            weights = weights * (1 - rate * weight_decay)
        if changes.get("exchanged"):
            m = (1 - beta_1) * m + beta_1 * gradient
            v = (1 - beta_2) * v + beta_2 * gradient**2
        else:
            m = beta_1 * m + (1 - beta_1) * gradient
            v = beta_2 * v + (1 - beta_2) * gradient**2
        m_hat, v_hat = m / (1 - beta_1**step), v / (1 - beta_2**step)
        if changes.get("no_correction"):
            m_hat, v_hat = m, v
        root = np.sqrt(v_hat)
        if changes.get("epsilon_inside"):
            root = np.sqrt(v_hat + epsilon)
        if changes.get("epsilon_before"):
            root = (np.sqrt(v) + epsilon) / np.sqrt(1 - beta_2**step)
        weights = weights - rate * m_hat / (root + epsilon)
        if changes.get("decay_after"):
            weights = weights * (1 - rate * weight_decay)
    return weights


def _random_adam(rng):
    gradients = rng.normal(1.0, 1.5, size=(int(rng.integers(3, 6)), 4)) * np.array([0.2, 1.0, 3.0, 1e-8])
    return rng.normal(2.0, 0.5, size=4), gradients, float(rng.uniform(0.05, 0.2)), float(rng.uniform(0.3, 0.6))


def _changed(**changes):
    return lambda weights, gradients, rate, weight_decay: _adam(weights, gradients, rate, weight_decay, **changes)


def _parts(kernel, inputs, targets):
    """Of each batch: the gradient of the summed loss, and how many targets count."""
    for x, t in zip(inputs, targets):
        kept = t != -100
        p = _softmax(x[kept] @ kernel)
        p[np.arange(kept.sum()), t[kept]] -= 1
        yield x[kept].T @ p, kept.sum(), len(t)


def _accumulated(kernel, inputs, targets):
    parts = list(_parts(kernel, inputs, targets))
    return sum(gradient for gradient, *_ in parts) / sum(count for _, count, _ in parts)


def _random_batches(rng):
    batches, rows, features, classes = 3, 8, 5, 4
    targets = rng.integers(0, classes, size=(batches, rows))
    for batch, count in enumerate(rng.permutation([2, 4, 7])):
        targets[batch, count:] = -100
    return rng.normal(size=(features, classes)), rng.normal(size=(batches, rows, features)), targets


def _masked_loss(logits, targets):
    kept = targets != 0
    return -np.take_along_axis(_log_softmax(logits), targets[..., None], axis=-1)[..., 0][kept].mean()


def _random_padded(rng):
    batch, length, classes = 3, 6, 5
    lengths = np.array([6, 3, 2])
    targets = rng.integers(1, classes, size=(batch, length))
    targets[np.arange(length) >= lengths[:, None]] = 0
    return rng.normal(0, 2, size=(batch, length, classes)).astype(np.float32), targets


def _each(logits, targets):
    return -np.take_along_axis(_log_softmax(logits), targets[..., None], axis=-1)[..., 0]


def _taken_for_probabilities(logits, targets):
    """What Keras, on TensorFlow, does with logits that it takes for probabilities: clip, and divide by the sum."""
    p = np.clip(logits, 1e-7, 1 - 1e-7)
    each = -np.log(np.take_along_axis(p, targets[..., None], axis=-1)[..., 0] / p.sum(axis=-1))
    return each[targets != 0].mean()


EXERCISES = {
    "09.1": Exercise(
        right=-0.9 * np.log(0.99) - 0.1 * np.log(0.01),
        digits=2,
        praise="The wrong answers, a tenth of all, cost fifty times as much as the rest together.",
        mistakes={
            # likely: one case in ten seems too rare to matter
            "You count the right answers alone. In one of ten cases the right class got 0.01.": -0.9 * np.log(0.99),
            # likely: "how probable was the right class on average" comes to mind before the logarithm does
            "You took the logarithm of the mean probability; take the mean of the logarithms.": -np.log(0.892),
            # seen: information theory, whose entropy has base 2
            "That is in bits; for nats take the natural logarithm.": (-0.9 * np.log2(0.99) - 0.1 * np.log2(0.01)),
        },
        hints=[
            "There are two cases. Which probability did the right class get in each?",
            "When the model is wrong, the class that it did not choose was right.",
            "The mean weighs the loss of each case by how often it happens.",
        ],
    ),
    "09.2": Exercise(
        right=_cross_entropy,
        inputs=_random_logits,
        shape="()",
        praise="Subtracting the largest logit of the row changed nothing in the loss, and kept exp in range.",
        mistakes={
            # likely: By hand writes np.exp(logits) / np.exp(logits).sum()
            "exp overflows in a row of large logits. Subtract the largest logit of each row first.": _overflows,
            # likely: the textbook's formula is a sum over y log p
            "You return the sum; divide by the number of rows.": lambda z, t: _of_right(z, t).sum(),
            # likely: log p is what the code computes, and the minus is forgotten
            "The sign is wrong: the logarithm of a probability is negative, and the loss is positive.": (
                lambda z, t: -_cross_entropy(z, t)
            ),
            # seen: pitfall 2 of the PyTorch notebook, probabilities where logits are expected
            "You took the softmax twice: the second one got probabilities.": (
                lambda z, t: _cross_entropy(_softmax(z), t)
            ),
            # likely: axis=0, from code that has one column for each example
            "Your softmax went down the columns; the classes are on the last axis.": (
                lambda z, t: -_log_softmax(z.T).T[np.arange(len(t)), t].mean()
            ),
            # likely: By hand has one position, and so no mean
            "You return one loss for each row; take their mean.": _of_right,
            # likely: (one_hot * log_p).mean() also counts the zeros
            "You divide by the number of all logits; there is one loss for each row.": (
                lambda z, t: _of_right(z, t).sum() / z.size
            ),
        },
        hints=[
            "The log-probability of a class is its logit minus the logarithm of a sum.",
            "Which number can you subtract from a whole row of logits without changing the loss?",
            "Two index arrays pick one entry of each row: the number of the row, and the target.",
        ],
    ),
    "09.3": Exercise(
        right=_gradient,
        inputs=_random_ignored,
        shape="(rows, classes)",
        praise="No derivative is left in it: it is what the model said, minus what it should have said.",
        mistakes={
            # likely: the formula is derived for one position, where there is no mean
            "Divide by the number of rows that count: the loss is a mean over them.": (
                lambda z, t: _gradient(z, t) * (t != -100).sum()
            ),
            # likely: len(logits) is the nearest number of rows
            "You divide by all rows; those that don't count are not in the mean.": (
                lambda z, t: _gradient(z, t) * (t != -100).mean()
            ),
            # likely: target minus prediction is how an error is often written
            "The sign is wrong: it is what the model said, minus what it should have said.": lambda z, t: (
                -_gradient(z, t)
            ),
            # likely: -100 is taken for one more class, and the row is forgotten
            "The rows that don't count must get zeros: their logits aren't in the loss.": _ignored_take_part,
            # likely: the log-probabilities of the loss are at hand
            "You take the logarithms of the probabilities; the gradient has the probabilities themselves.": (
                lambda z, t: (
                    np.where((t != -100)[:, None], _log_softmax(z) - np.eye(z.shape[-1])[np.maximum(t, 0)], 0)
                    / (t != -100).sum()
                )
            ),
        },
        hints=[
            "Begin with an array of zeros like the logits, and fill the rows that count.",
            "In these rows: the softmax, minus 1 at the right class.",
            "Divide by the number of rows that count.",
        ],
    ),
    "09.4": Exercise(
        right=_adam,
        inputs=_random_adam,
        shape="(4,)",
        praise="This is torch.optim.AdamW, without its options.",
        mistakes={
            # likely: it is easy to forget, and matters in the first steps alone
            "The bias correction is missing: the means start at 0, so they are too small at first.": _changed(
                no_correction=True
            ),
            # seen: an outside reader's trial answer; momentum has one beta, and Adam two
            "v has a beta of its own, 0.999; you take 0.9 for both means.": _changed(one_beta=True),
            # seen: an outside reader's trial answer; books differ in which of the two they call the rate
            "You exchanged beta and 1 - beta: most of a mean is what it was before.": _changed(exchanged=True),
            # seen: Keras' Adam adds epsilon before the correction, its RMSprop and every LayerNorm under the root
            "Epsilon is added to the root of the corrected v, not under the root and not before the correction.": (
                _changed(epsilon_inside=True),
                _changed(epsilon_before=True),
            ),
            # seen: torch.optim.Adam(weight_decay=...)
            "You add the decay to the gradient, so it passes through m and v. Decoupled, it acts on the weights directly.": (
                _changed(coupled=True)
            ),
            # seen: Loshchilov and Hutter's algorithm 2, whose decay is not multiplied by the rate
            "The decay takes weight_decay of each weight; it should be rate times weight_decay.": _changed(
                decay_without_rate=True
            ),
            # seen: an outside reader's trial answer; it is written where the weights are assigned
            "You shrink the weights after the move; the decay comes first.": _changed(decay_after=True),
            # likely: enumerate counts from 0
            "Your first step divides by 1 - beta**0 = 0: count the steps from 1.": (
                lambda w, g, rate, decay: np.full_like(w, np.nan)
            ),
        },
        hints=[
            "m and v start as zeros. For each row of gradients there are four things to do.",
            "enumerate(gradients, 1) counts the steps from 1, which the bias correction needs.",
            "Shrink, update both means, correct both, move. The formulas are in Build it.",
        ],
    ),
    "09.5": Exercise(
        right=_loop,
        inputs=_random_loop,
        shape="(steps,)",
        praise="This loop trains every model of the course.",
        errors={"learning_rate": "Give the optimizer its rate as optimizer.learning_rate = schedule(step)."},
        mistakes={
            # seen: the first bug of many loops; backward passes add to the gradients
            "The gradients of earlier steps are still in it: call model.zero_grad() before each backward pass.": _looped(
                keeps_gradients=True
            ),
            # likely: zero_grad is remembered, and put after the backward pass
            "Nothing moves: step() is missing, or comes before the backward pass, or zero_grad() comes between the two.": (
                _looped(zeroes_late=True),
                _looped(never_moves=True),
            ),
            # likely: the loss is measured at the end, as a report
            "You measure the loss after the move; it belongs to the logits that the gradient comes from.": _looped(
                measures_late=True
            ),
            # seen: the schedule counts the steps that have been taken, and the first is step 0
            "The rate is one step ahead: the schedule gets the number of steps that have been taken, 0 at first.": (
                _looped(ahead=1)
            ),
        },
        hints=[
            "A step: predict, measure the loss, find every gradient, move every weight.",
            "Finding the gradients takes two calls: model.zero_grad(), then model.backward(gradient of the logits).",
            "optimizer.learning_rate = schedule(step), then optimizer.step().",
        ],
    ),
    "09.6": Exercise(
        track="pytorch",
        right=_accumulated,
        inputs=_random_batches,
        shape="(features, classes)",
        praise="With this, a small GPU trains as if it held the whole batch.",
        mistakes={
            # seen: transformers until 2024 (chapter 16, pitfall 2)
            "That is the mean of three means: a part with much padding counts as much as one without.": (
                lambda k, x, t: sum(g / n for g, n, _ in _parts(k, x, t)) / len(x)
            ),
            # likely: F.cross_entropy takes means by default, and backward adds them up
            "That is the sum of three means; divide by the number of all targets that count.": (
                lambda k, x, t: sum(g / n for g, n, _ in _parts(k, x, t))
            ),
            # likely: reduction="sum", and nothing after it
            "That is the gradient of the sum; divide by the number of targets that count.": (
                lambda k, x, t: sum(g for g, *_ in _parts(k, x, t))
            ),
            # likely: targets.numel() is the nearest number of targets
            "You divide by all positions; padding doesn't count.": (
                lambda k, x, t: sum(g for g, *_ in _parts(k, x, t)) / sum(size for *_, size in _parts(k, x, t))
            ),
            # likely: every training loop calls zero_grad
            "That is the last part alone: something set the gradient of the others to zero.": (
                lambda k, x, t: [g for g, *_ in _parts(k, x, t)][-1] / sum(n for _, n, _ in _parts(k, x, t)),
                lambda k, x, t: [g / n for g, n, _ in _parts(k, x, t)][-1],
            ),
        },
        hints=[
            "backward adds to what is in kernel.grad. So call it once for each part, and never zero it in between.",
            "F.cross_entropy has reduction='sum', which doesn't divide at all.",
            "Count the targets that are not -100 in all parts before you begin.",
        ],
        errors={"does not require grad": "The kernel must record: use kernel.clone().requires_grad_()."},
    ),
    "09.7": Exercise(
        track="keras",
        right=_masked_loss,
        inputs=_random_padded,
        shape="()",
        praise="The loss class SparseCategoricalCrossentropy does the same with ignore_class=0.",
        mistakes={
            # seen: pitfall 3 of the Keras notebook
            "You divide by all positions, as sample_weight does; divide by those that count.": (
                lambda z, t: (_each(z, t) * (t != 0)).mean()
            ),
            # likely: the function knows of no mask, and its result looks right
            "The padding takes part.": lambda z, t: _each(z, t).mean(),
            # likely: PyTorch's padding masks are True at padding
            "The mask is inverted: that is the loss of the padding.": lambda z, t: _each(z, t)[t == 0].mean(),
            # likely: axis=-1, along which Keras' own losses take their means
            "You average each sequence first; a short one then counts as much as a long one.": (
                lambda z, t: ((_each(z, t) * (t != 0)).sum(axis=1) / (t != 0).sum(axis=1)).mean()
            ),
            # seen: compare, difference 1; from_logits is False by default
            "Keras took your logits for probabilities: from_logits=True is missing.": _taken_for_probabilities,
        },
        hints=[
            "keras.losses.sparse_categorical_crossentropy returns a loss for each position. What must it be told?",
            "Make the booleans into numbers of the losses' dtype with ops.cast.",
            "Two sums: of the losses that count, and of the ones in the mask.",
        ],
    ),
    "09.8": Exercise(
        track="compare",
        right=1e-6 * 0.001**0.5 / (0.001**0.5 * 1e-6 + 1e-7),
        digits=2,
        praise="PyTorch takes 0.99 of the rate here, and Keras a quarter of it.",
        mistakes={
            # likely: it is the paper's step, and the one of Build it
            "That is PyTorch's step: epsilon 1e-8, added after the correction.": 1e-6 / (1e-6 + 1e-8),
            # likely: the other epsilon is remembered, and its other place is not
            "That adds 1e-7 after the correction; Keras adds it before.": 1e-6 / (1e-6 + 1e-7),
            # likely: 1e-8 is the epsilon of the paper, of PyTorch and of this chapter
            "That takes epsilon as 1e-8; Keras' default is 1e-7.": 1e-6 * 0.001**0.5 / (0.001**0.5 * 1e-6 + 1e-8),
            # likely: By hand says that the first step is the rate
            "Without epsilon it would be 1; here epsilon is larger than the root of v.": 1.0,
        },
        hints=[
            "After one step m is a tenth of the gradient, and v a thousandth of its square.",
            "Before the correction, the root of v is 0.0316 times the gradient. Add epsilon to that.",
            "The corrections multiply the quotient by the root of 0.001, divided by 0.1.",
        ],
    ),
}
