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


def _layer(kernel, bias, x, grad, /, **wrong):
    """Both ways through a layer; a gradient that is given replaces the right one."""
    right = {"kernel": x.T @ grad, "bias": grad.sum(axis=0), "input": grad @ kernel.T}
    return {"forward": x @ kernel + bias} | {f"gradient of the {name}": (right | wrong)[name] for name in right}


def _run_layer(make, kernel, bias, x, grad):
    layer = make(kernel, bias)
    output = layer.forward(x)
    grads = None if output is None else layer.backward(grad)
    names = [f"gradient of the {name}" for name in ("kernel", "bias", "input")]
    return (
        {} if output is None else {"forward": output} | ({} if grads is None else dict(zip(names, grads, strict=True)))
    )


def _random_layer(rng):
    """As many inputs as neurons, so that what is transposed wrongly fits, and is named."""
    examples, width = rng.permutation([3, 5])
    x, grad = rng.normal(size=(2, examples, width))
    return rng.normal(size=(width, width)), rng.normal(size=width), x, grad


def _random_step(rng):
    houses = int(rng.integers(4, 9))
    return (*rng.uniform(0.5, 2, size=2), rng.uniform(1, 3, houses), rng.uniform(4, 9, houses), rng.uniform(0.05, 0.3))


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
            # likely: the plain mean of 2 × error comes first to mind.
            "That is the gradient of the bias. For the weight, each error counts times the size of its house.": 2,
            # likely: the contributions are added, and the mean is forgotten.
            "That is the sum of the three contributions; the loss is a mean, so its gradient is one too.": 18,
            # likely: many texts put 1/2 before the square, and the 2 is gone.
            "The derivative of a square brings a factor of 2.": 3,
            # likely: in By hand the predictions are too low, and the gradients negative.
            "The predictions are too high, so a larger weight makes the loss larger: the gradient is positive.": -6,
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
            # likely: the error is written as target minus prediction.
            "You went up: subtract the gradient, or take the error as prediction minus target.": (
                lambda w, b, x, y, r: _step(w, b, x, y, -r)
            ),
            # likely: sum() or a dot product for mean().
            "You add up the houses' contributions; the loss is a mean, so take their mean.": (
                lambda w, b, x, y, r: _step(w, b, x, y, r * len(x))
            ),
            # likely: many texts put 1/2 before the square, and the 2 is gone.
            "The factor 2 from the derivative of the square is missing.": (
                lambda w, b, x, y, r: _step(w, b, x, y, r, factor=1.0)
            ),
            # likely: the order of lines in which a step is told.
            "The bias is moved by the error of the new weight; compute both gradients before you change anything.": (
                _one_after_the_other
            ),
            # likely: the line of the bias, copied.
            "The weight's gradient is the mean of 2 × error × x; yours lacks the x.": _without_size,
        },
        hints=[
            "error = weight * x + bias - y",
            "The gradient of the weight is (2 * error * x).mean(). Which one is that of the bias?",
            "Subtract rate times its gradient from each of the two, and put both into one np.array.",
        ],
    ),
    "02.3": Exercise(
        right=_layer,
        inputs=_random_layer,
        run=_run_layer,
        praise="Every model of this course is made of such layers.",
        errors={"zip() argument": "backward must return three arrays: the gradients of kernel, bias and input."},
        mistakes={
            # likely: the bias is the small term of the formula.
            "forward: the bias is missing.": lambda k, b, x, g: {"forward": x @ k},
            # likely: the kernel of PyTorch is (out, in), and square ones don't complain.
            "forward: multiply by the kernel as it is; yours is transposed.": lambda k, b, x, g: {
                "forward": x @ k.T + b
            },
            # likely: By hand took a mean over the houses.
            "backward: you take a mean over the examples; the upstream gradient has that already, so sum.": (
                lambda k, b, x, g: _layer(k, b, x, g, kernel=x.T @ g / len(x), bias=g.mean(axis=0))
            ),
            # likely: which of the two is transposed is easily mixed up, and square kernels don't complain.
            "backward: the kernel's gradient is transposed; its rows belong to the inputs: x.T @ grad.": (
                lambda k, b, x, g: _layer(k, b, x, g, kernel=g.T @ x)
            ),
            # likely: a gradient goes back through "the same kernel".
            "backward: the input's gradient takes the kernel transposed.": (
                lambda k, b, x, g: _layer(k, b, x, g, input=g @ k)
            ),
            # likely: the bias has a number for each neuron, and the gradient one for each example, too.
            "backward: the bias takes part in every example: sum the upstream gradient over the examples.": (
                lambda k, b, x, g: _layer(k, b, x, g, bias=g)
            ),
            # likely: going backward, the input's gradient is what the layer before waits for.
            "backward: return the gradients in the order kernel, bias, input.": (
                lambda k, b, x, g: _layer(k, b, x, g, kernel=g @ k.T, bias=x.T @ g, input=g.sum(axis=0))
            ),
        },
        hints=[
            "Forward is x @ kernel + bias. Keep x for the backward pass.",
            "Each gradient has the shape of what it belongs to. Which products of x, kernel and grad have those shapes?",
            "x.T @ grad for the kernel, the sum of grad over the examples for the bias, grad @ kernel.T for the input.",
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
            # likely: the backward pass of MLP is taken over, where the readout has its own kernel.
            "Only the first use counts in yours; the kernel is used a second time, to compute y.": (
                lambda k, x, g: _tied(k, x, g, back=0.0)
            ),
            # likely: the gradient of y = h @ kernel.T is found first, and seems to be all.
            "Only the second use counts in yours; the kernel also computes the hidden features.": (
                lambda k, x, g: _tied(k, x, g, into=0.0)
            ),
            # likely: ReLU is a step without parameters, and is forgotten on the way back.
            "ReLU passes a gradient only where its input was above 0.": lambda k, x, g: _tied(k, x, g, relu=False),
            # likely: 02.2 took a mean over the houses.
            "You divide by the number of examples; the upstream gradient has that already.": (
                lambda k, x, g: _tied(k, x, g) / len(x)
            ),
            # likely: x @ kernel is kept for the mask of ReLU, and used again.
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
            # seen: pitfall 1 of the notebook.
            "F.linear wants (out, in): transpose the kernel. With a square one nothing complains.": (
                lambda k, b, x: x @ k.T + b
            ),
            # likely: the bias of F.linear is optional.
            "The bias is missing.": lambda k, b, x: x @ k,
            # likely: textbooks write Wx + b.
            "You multiply kernel and input in the wrong order: x comes first.": (
                lambda k, b, x: k @ x + b,
                lambda k, b, x: k @ x.T + b,
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
            # likely: a formula by hand, with the factor forgotten; torch.func.grad wouldn't.
            "The factor 2 from the derivative of the square is missing.": lambda k, x, y: _each(k, x, y) / 2,
            # likely: torch.func.grad takes the first argument, and x comes first in many losses.
            "That is the gradient with respect to x; the question is that of the kernel.": (
                lambda k, x, y: 2 * (x @ k - y)[:, None] * k
            ),
            # likely: in_dims=(None, 0, None), one longer than the example in the exercise.
            "Each example is compared with every target: the loss of one example needs one y.": (
                lambda k, x, y: 2 * ((x @ k)[:, None] - y).sum(axis=1)[:, None] * x,
                lambda k, x, y: 2 * ((x @ k)[:, None] - y).mean(axis=1)[:, None] * x,
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
            # likely: dropping is the visible half of dropout.
            "The scale is missing: divide what is kept by 1 - rate.": lambda x, u, r, t: (
                np.where(u >= r, x, 0) if t else x
            ),
            # likely: 1 - rate is remembered, and which way it goes isn't.
            "You multiply what is kept by 1 - rate; divide by it, so that the mean stays.": (
                lambda x, u, r, t: np.where(u >= r, x, 0) * (1 - r) if t else x
            ),
            # likely: with rate 1/2 it makes no difference.
            "You divide by rate; the share that is kept is 1 - rate.": (
                lambda x, u, r, t: np.where(u >= r, x, 0) / r if t else x
            ),
            # likely: uniform < rate is a mask of what is dropped, and goes into ops.where as it is.
            "You keep the elements that should be dropped: keep where the number is at least rate.": (
                lambda x, u, r, t: np.where(u < r, x, 0) / (1 - r) if t else x
            ),
            # seen: CS231n, whose p is the probability of keeping.
            "You keep with probability rate; rate is the probability of a zero.": (
                lambda x, u, r, t: np.where(u < r, x, 0) / r if t else x
            ),
            # seen: pitfall 4 of the NumPy notebook.
            "Yours drops in evaluation too.": lambda x, u, r, t: _dropout(x, u, r, True),
            # seen: Srivastava et al. 2014.
            "You scale at evaluation, as the first paper on dropout did; here training scales, and evaluation returns x.": (
                lambda x, u, r, t: np.where(u >= r, x, 0) if t else x * (1 - r)
            ),
        },
        hints=[
            "Two cases: if not training, return x.",
            "ops.where(condition, a, b) takes a where the condition holds, and b elsewhere.",
            "The condition compares uniform with rate. What is kept is divided by the share that is kept.",
        ],
    ),
    "02.9": Exercise(
        track="compare",
        right=35,
        praise="15 in NumPy, whose bias starts at 0; 15 + 5 in PyTorch; none yet in Keras.",
        mistakes={
            # likely: Dense(5) is read as if it were built.
            "Keras' layer has no parameters yet: it learns its number of inputs from its first input.": 50,
            # likely: PyTorch's habit is taken for all.
            "In NumPy (Glorot) the bias starts at 0; only PyTorch draws it at random.": 40,
            # likely: biases start at 0 in the other two.
            "PyTorch draws its bias at random, too.": 30,
            # likely: 3 × (3 × 5 + 5), by the formula.
            "That counts every kernel and bias; two biases start at 0, and Keras' layer has no parameters yet.": 60,
            # likely: the formula, with all biases taken for 0.
            "Keras' layer has no parameters yet, and PyTorch draws its bias at random.": 45,
        },
        hints=[
            "Which layers have parameters before their first input? Key difference 3 prints it.",
            "A kernel has 3 × 5 random numbers. Which biases start at 0? Key difference 2 prints it.",
        ],
    ),
}
