"""Chapter 02: models."""

import numpy as np

from shared.exercises import Exercise


def _step(weight, bias, x, y, rate, factor=2.0):
    error = weight * x + bias - y
    return np.array([weight - rate * factor * (error * x).mean(), bias - rate * factor * error.mean()])


def _one_after_the_other(weight, bias, x, y, rate):
    """The weight moves first, and the bias is moved by the error of the new weight."""
    weight = _step(weight, bias, x, y, rate)[0]
    return np.array([weight, _step(weight, bias, x, y, rate)[1]])


def _without_size(weight, bias, x, y, rate):
    moved = rate * 2 * (weight * x + bias - y).mean()
    return np.array([weight - moved, bias - moved])


def _with_sign(weight, bias, x, y, rate):
    """A fixed step against the sign of the gradient."""
    start = np.array([weight, bias])
    return start - rate * np.sign(start - _step(weight, bias, x, y, 1.0))


def _random_step(rng):
    houses = int(rng.integers(4, 9))
    return (*rng.uniform(0.5, 2, size=2), rng.uniform(1, 3, houses), rng.uniform(4, 9, houses), rng.uniform(0.05, 0.3))


def _start_minus_step(weight, bias, *given):
    return np.array([weight, bias]) - _step(weight, bias, *given)


def _tied(kernel, x, grad_output, *, relu=True, into=1.0, back=1.0):
    """The gradient of relu(x W) Wᵀ: the part from the way into the hidden features, and that from the way back."""
    before = x @ kernel
    h = np.maximum(before, 0)
    grad_h = grad_output @ kernel
    if relu:
        grad_h = grad_h * (before > 0)
    return into * x.T @ grad_h + back * grad_output.T @ h


def _random_tied(rng):
    examples, wide, narrow = rng.permutation([4, 5, 3])
    return rng.normal(size=(wide, narrow)), rng.normal(size=(examples, wide)), rng.normal(size=(examples, wide))


def _tied_without_relu(kernel, x, grad_output):
    return x.T @ (grad_output @ kernel) + grad_output.T @ (x @ kernel)


def _each(kernel, x, y):
    return 2 * (x @ kernel - y)[:, None] * x


def _dropout(x, uniform, rate, training):
    return np.where(uniform >= rate, x / (1 - rate), 0.0) if training else x


def _random_dropout(rng):
    shape = rng.permutation([4, 5, 6])
    uniform = rng.permutation(np.linspace(0.01, 0.99, shape.prod())).reshape(shape)
    return rng.normal(size=shape), uniform, float(rng.choice([0.2, 0.3, 0.7])), bool(rng.random() < 0.5)


def _random_each(rng):
    examples, features = (int(size) for size in rng.permutation([4, 6]))
    return rng.normal(size=features), rng.normal(size=(examples, features)), 3 * rng.normal(size=examples)


EXERCISES = {
    "02.1": Exercise(
        right=6,
        praise="2 × 1 × size is 2, 4 and 12, and their mean is 6.",
        mistakes={
            "That is the gradient of the bias. For the weight, each error counts times the size of its house.": 2,
            "That is the sum of the three contributions; the loss is a mean, so its gradient is one too.": 18,
            "The derivative of a square brings a factor of 2.": 3,
            "The derivative of a square brings a factor of 2, and the loss is a mean, not a sum.": 9,
            "The predictions are too high, so a larger weight makes the loss larger: the gradient is positive.": -6,
            "One is the loss itself: the mean of three squared errors of 1.": 1,
        },
        hints=[
            "Each house contributes 2 × error × size.",
            "The error is 1 for each. The contributions are 2, 4 and 12.",
            "The loss is the mean over the houses, so the gradient is the mean of the contributions.",
        ],
    ),
    "02.2": Exercise(
        right=_step,
        inputs=_random_step,
        shape="(2,)",
        praise="In a loop it is a whole training.",
        mistakes={
            "You went up: subtract the gradient, or take the error as prediction minus target.": (
                lambda w, b, x, y, r: _step(w, b, x, y, -r)
            ),
            "You add up the houses' contributions; the loss is a mean, so take their mean.": (
                lambda w, b, x, y, r: _step(w, b, x, y, r * len(x))
            ),
            "The factor 2 from the derivative of the square is missing.": (
                lambda w, b, x, y, r: _step(w, b, x, y, r, factor=1.0)
            ),
            "You add up the houses' contributions, and the factor 2 is missing.": (
                lambda w, b, x, y, r: _step(w, b, x, y, r * len(x), factor=1.0)
            ),
            "The bias is moved by the error of the new weight; compute both gradients before you change anything.": (
                _one_after_the_other
            ),
            "The weight's gradient is the mean of 2 × error × x; yours lacks the x.": _without_size,
            "The learning rate is not used.": lambda w, b, x, y, r: _step(w, b, x, y, 1.0),
            "You return the gradient times the rate; subtract it from weight and bias.": _start_minus_step,
            "You return the gradients; take a step against them.": lambda w, b, x, y, r: _start_minus_step(
                w, b, x, y, 1.0
            ),
            "You return the bias first; the weight comes first.": lambda *given: _step(*given)[::-1],
            "You step by the sign of the gradient; its size matters too.": _with_sign,
        },
        hints=[
            "error = weight * x + bias - y",
            "The gradient of the weight is (2 * error * x).mean(). Which one is that of the bias?",
            "Subtract rate times its gradient from each of the two, and put both into one np.array.",
        ],
    ),
    "02.3": Exercise(
        right=lambda x, g: g / np.cosh(x) ** 2,
        inputs=lambda rng: 2 * (rng.normal(size=(2, *rng.permutation([3, 4])))),
        shape="that of x",
        praise="Far from zero it is almost 0, so tanh hardly passes a gradient there. ReLU passes it whole wherever x is above 0.",
        mistakes={
            "That is the derivative; multiply it by the upstream gradient.": lambda x, g: 1 - np.tanh(x) ** 2,
            "You square x; the derivative is 1 minus the square of tanh(x).": lambda x, g: g * (1 - x**2),
            "The square is missing: 1 - tanh(x) ** 2.": lambda x, g: g * (1 - np.tanh(x)),
            "You apply tanh to the square; square the result of tanh.": lambda x, g: g * (1 - np.tanh(x**2)),
            "Swapped: it is 1 - tanh², not tanh² - 1.": lambda x, g: g * (np.tanh(x) ** 2 - 1),
            "That is ReLU's backward pass.": lambda x, g: g * (x > 0),
            "You multiply by tanh itself; its derivative belongs there.": lambda x, g: g * np.tanh(x),
            "The upstream gradient is multiplied, not added.": lambda x, g: g + 1 - np.tanh(x) ** 2,
            "tanh is applied to the upstream gradient; it belongs to x.": lambda x, g: x * (1 - np.tanh(g) ** 2),
            "This is the derivative of the sigmoid, y (1 - y).": lambda x, g: g * np.tanh(x) * (1 - np.tanh(x)),
        },
        hints=[
            "Each element stands for itself: its upstream gradient times the derivative at x.",
            "y = np.tanh(x); the derivative is 1 - y**2.",
        ],
    ),
    "02.4": Exercise(
        right=_tied,
        inputs=_random_tied,
        shape="(in, hidden)",
        errors={
            "broadcast": "Each of the two gradients must have the kernel's shape, (in, hidden): transpose the other."
        },
        praise="Chapter 13 ties the embedding of a model to its output in this way.",
        mistakes={
            "Only the first use counts in yours; the kernel is used a second time, to compute y.": (
                lambda k, x, g: _tied(k, x, g, back=0.0)
            ),
            "Only the second use counts in yours; the kernel also computes the hidden features.": (
                lambda k, x, g: _tied(k, x, g, into=0.0)
            ),
            "You take the mean of the two gradients; the chain rule adds them.": lambda k, x, g: _tied(k, x, g) / 2,
            "You subtract one of the two gradients from the other; the chain rule adds them.": (
                lambda k, x, g: _tied(k, x, g, back=-1.0)
            ),
            "ReLU passes a gradient only where its input was above 0.": lambda k, x, g: _tied(k, x, g, relu=False),
            "There is no ReLU in yours, neither forward nor backward.": _tied_without_relu,
            "You divide by the number of examples; the upstream gradient has that already.": (
                lambda k, x, g: _tied(k, x, g) / len(x)
            ),
            "In the second use the hidden features come after ReLU; yours are the ones before it.": (
                lambda k, x, g: _tied(k, x, g, back=0.0) + g.T @ (x @ k)
            ),
        },
        hints=[
            "Treat the two uses as two kernels, find the gradient of each, and add them.",
            "First use: x.T @ grad_h, with grad_h = grad_output @ kernel where x @ kernel is above 0, and 0 elsewhere.",
            "Second use: y = h @ kernel.T, so h.T @ grad_output is the gradient of kernel.T, (hidden, in). Transpose the second.",
        ],
    ),
    "02.6": Exercise(
        track="pytorch",
        right=lambda kernel, bias, x: x @ kernel + bias,
        inputs=lambda rng: (rng.normal(size=(5, 5)), rng.normal(size=5), rng.normal(size=(5, 5))),
        shape="(examples, out)",
        praise="F.linear computes x Wᵀ + b, so it wants the kernel transposed.",
        mistakes={
            "F.linear wants (out, in): transpose the kernel. With a square one nothing complains.": (
                lambda k, b, x: x @ k.T + b
            ),
            "The bias is missing.": lambda k, b, x: x @ k,
            "The bias is missing, and F.linear wants the kernel as (out, in): transpose it.": lambda k, b, x: x @ k.T,
            "You multiply kernel and input in the wrong order: x comes first.": lambda k, b, x: k @ x + b,
            "You exchange kernel and input: x is the first argument of F.linear.": lambda k, b, x: k @ x.T + b,
            "You transpose the input; transpose the kernel instead.": lambda k, b, x: x.T @ k.T + b,
            "There is a ReLU in yours; a layer alone has none.": lambda k, b, x: np.maximum(x @ k + b, 0),
            "The bias belongs to the columns (the neurons), and yours is added to the rows.": (
                lambda k, b, x: x @ k + b[:, None]
            ),
        },
        hints=[
            "F.linear(input, weight, bias): which shape does its weight have?",
            "Its weight is (out, in), and the kernel is (in, out).",
        ],
    ),
    "02.7": Exercise(
        track="pytorch",
        right=_each,
        inputs=_random_each,
        shape="(examples, in)",
        praise="Their mean is the gradient of the mean loss, and their spread says how noisy a small batch is.",
        mistakes={
            "That is the gradient of the mean loss, repeated; each example must have its own.": (
                lambda k, x, y: np.broadcast_to(_each(k, x, y).mean(axis=0), x.shape)
            ),
            "That is the gradient of the summed loss, repeated; each example must have its own.": (
                lambda k, x, y: np.broadcast_to(_each(k, x, y).sum(axis=0), x.shape)
            ),
            "You divide by the number of examples; each loss stands for itself here.": (
                lambda k, x, y: _each(k, x, y) / len(x)
            ),
            "The factor 2 from the derivative of the square is missing.": lambda k, x, y: _each(k, x, y) / 2,
            "The sign is the other way round: the error is prediction minus target.": lambda k, x, y: -_each(k, x, y),
            "That is 2 × error for each feature; the gradient has a factor x, too.": (
                lambda k, x, y: np.repeat(2 * (x @ k - y)[:, None], x.shape[1], axis=1)
            ),
            "That is the gradient with respect to x; the question is that of the kernel.": (
                lambda k, x, y: 2 * (x @ k - y)[:, None] * k
            ),
            "Each error is added to the others before it is squared: the loss of one example needs one y.": (
                lambda k, x, y: 2 * ((x @ k)[:, None] - y).sum(axis=1)[:, None] * x
            ),
            "Each example is compared with every target: the loss of one example needs one y, the mean of all is another.": (
                lambda k, x, y: 2 * ((x @ k)[:, None] - y).mean(axis=1)[:, None] * x
            ),
        },
        hints=[
            "def loss(kernel, x, y): return (x @ kernel - y) ** 2, for one example: x is (in,), y a number.",
            "torch.func.grad(loss) is the gradient for one example, with respect to the first argument.",
            "vmap that gradient over three arguments: one kernel for all examples, one row of x and one y for each.",
        ],
    ),
    "02.8": Exercise(
        track="keras",
        right=_dropout,
        inputs=_random_dropout,
        shape="that of x",
        errors={"dtype": "Use ops.where, which takes a condition and two values, or ops.cast to change the dtype."},
        praise="A real layer draws the table anew at every call.",
        trials=8,
        mistakes={
            "The scale is missing: divide what is kept by 1 - rate.": lambda x, u, r, t: (
                np.where(u >= r, x, 0) if t else x
            ),
            "You multiply what is kept by 1 - rate; divide by it, so that the mean stays.": (
                lambda x, u, r, t: np.where(u >= r, x, 0) * (1 - r) if t else x
            ),
            "You divide by rate; the share that is kept is 1 - rate.": (
                lambda x, u, r, t: np.where(u >= r, x, 0) / r if t else x
            ),
            "You keep the elements that should be dropped: keep where the number is at least rate.": (
                lambda x, u, r, t: np.where(u < r, x, 0) / (1 - r) if t else x
            ),
            "You keep with probability rate; rate is the probability of a zero.": (
                lambda x, u, r, t: np.where(u < r, x, 0) / r if t else x
            ),
            "Yours drops in evaluation too.": lambda x, u, r, t: _dropout(x, u, r, True),
            "Yours never drops.": lambda x, u, r, t: x,
            "Yours drops in evaluation, and not in training.": lambda x, u, r, t: _dropout(x, u, r, not t),
            "You scale at evaluation, as the first paper on dropout did; here training scales, and evaluation returns x.": (
                lambda x, u, r, t: np.where(u >= r, x, 0) if t else x * (1 - r)
            ),
            "You scale in evaluation too; it returns x as it is.": (
                lambda x, u, r, t: _dropout(x, u, r, True) if t else x / (1 - r)
            ),
            "You scale all elements, and drop none.": lambda x, u, r, t: x / (1 - r) if t else x,
            "You compare x with rate; the random numbers decide.": (
                lambda x, u, r, t: np.where(x >= r, x, 0) / (1 - r) if t else x
            ),
        },
        hints=[
            "Two cases: if not training, return x.",
            "ops.where(condition, a, b) takes a where the condition holds, and b elsewhere.",
            "The condition compares uniform with rate. What is kept is divided by the share that is kept.",
        ],
    ),
    "02.9": Exercise(
        right=35,
        praise="15 in NumPy, whose bias starts at 0; 15 + 5 in PyTorch; none yet in Keras.",
        mistakes={
            "Keras' layer has no parameters yet: it learns its number of inputs from its first input.": 50,
            "In NumPy (Glorot) the bias starts at 0; only PyTorch draws it at random.": 40,
            "PyTorch draws its bias at random, too.": 30,
            "That counts every kernel and bias; two biases start at 0, and Keras' layer has no parameters yet.": 60,
            "Keras' layer has no parameters yet, and PyTorch draws its bias at random.": 45,
            "That is one of the three layers; add the three.": 20,
            "You add the biases alone. Which kernels exist already?": 5,
            "Count the numbers in the arrays, not the arrays.": 3,
            "That is one kernel. PyTorch has one too, and a bias that doesn't start at 0.": 15,
            "Keras' layer has no parameters yet, and one of the biases that you count starts at 0.": 55,
        },
        hints=[
            "Which layers have parameters before their first input? Key difference 3 prints it.",
            "A kernel has 3 × 5 random numbers. Which biases start at 0? Key difference 2 prints it.",
        ],
    ),
}
