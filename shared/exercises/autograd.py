"""Chapter 01: automatic differentiation."""

import numpy as np

from shared.exercises import Exercise


def _nudged(function, x, step, up=1.0, down=1.0, divisor=2.0):
    gradient = np.zeros_like(x)
    for i in range(len(x)):
        nudge = np.zeros_like(x)
        nudge[i] = step
        gradient[i] = (function(x + up * nudge) - function(x - down * nudge)) / (divisor * step)
    return gradient


def _nudged_together(function, x, step):
    return np.full_like(x, (function(x + step) - function(x - step)) / (2 * step))


def _never_put_back(function, x, step):
    x, gradient = x.copy(), np.zeros_like(x)
    for i in range(len(x)):
        x[i] += step
        above = function(x)
        x[i] -= 2 * step
        gradient[i] = (above - function(x)) / (2 * step)
    return gradient


def _cubes(x):
    """A function whose slopes change quickly, so that a nudge to one side is far off."""
    return float((x**3).sum() + x[0] * x[-1] ** 2)


def _sigmoid(x):
    exponential = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + exponential), exponential / (1 + exponential))


def _sigmoid_rule(x, g):
    y = _sigmoid(x)
    return g * y * (1 - y)


def _random_sigmoid(rng):
    shape = tuple(int(size) for size in rng.permutation([2, 3, 4])[:2])
    x = rng.normal(size=shape)
    x[0, 0], x[1, 1] = 1000.0, -1000.0
    return x, 10 * rng.normal(size=shape)


def _walk(operands, slopes, seed=1.0, add=True, forward=False):
    gradients = np.zeros(len(operands))
    gradients[-1] = seed
    order = range(len(operands)) if forward else reversed(range(len(operands)))
    for node in order:
        for operand, slope in zip(operands[node], slopes[node]):
            part = slope * gradients[node]
            gradients[operand] = gradients[operand] + part if add else part
    return gradients


def _slopes_alone(operands, slopes):
    gradients = np.zeros(len(operands))
    gradients[-1] = 1.0
    for node in range(len(operands)):
        for operand, slope in zip(operands[node], slopes[node]):
            gradients[operand] += slope
    return gradients


def _each_operand_once(operands, slopes):
    gradients = np.zeros(len(operands))
    gradients[-1] = 1.0
    for node in reversed(range(len(operands))):
        for operand, slope in dict(zip(operands[node], slopes[node])).items():
            gradients[operand] += slope * gradients[node]
    return gradients


def _random_graph(rng):
    """Two leaves; then every node is made from the one before it and an earlier one, and one of them from the same node twice."""
    operands, slopes = [[], []], [[], []]
    for node in range(2, 8):
        earlier = node - 1 if node == 4 else int(rng.integers(0, node - 1))
        operands.append([node - 1, earlier])
        slopes.append([float(slope) for slope in rng.uniform(0.5, 2.0, size=2)])
    return operands, slopes


def _penalty(x, w):
    return 36 * w**2 * x**3


def _softmax(x):
    exponentials = np.exp(x - x.max())
    return exponentials / exponentials.sum()


def _jacobian(x):
    p = _softmax(x)
    return np.diag(p) - np.outer(p, p)


def _step(kernel, x, y, rate, factor=2.0, mean=True, sign=-1.0):
    error = x @ kernel - y
    return kernel + sign * rate * factor * x.T @ error / (error.size if mean else 1)


def _random_step(rng):
    rows, features, outputs = (int(size) for size in rng.permutation([4, 3, 2]))
    shapes = ((features, outputs), (rows, features), (rows, outputs))
    kernel, x, y = (rng.normal(size=shape) for shape in shapes)
    return kernel, x, y, float(rng.uniform(0.3, 0.6))


EXERCISES = {
    "01.1": Exercise(
        right=6.0,
        praise="Two arrows leave a: one into the product, with slope b = 5, one into the sum, with slope 1.",
        mistakes={
            # likely: the product is read first, and the a behind it is overlooked.
            "That's the way through the product alone; a is used in the sum, too.": 5.0,
            # likely: the slope of a product is the other factor, and the two are mixed up.
            "That's the gradient of b. How fast does y grow with a?": 2.0,
            # likely: a forward pass is done where a backward pass is asked for.
            "That's the value of y, a * b + a. How fast does it grow with a?": 12.0,
            # named by an outside reading; likely: 5 from the product, and a as it is from the sum.
            "You add the value of a for the way through the sum; the slope of a sum is 1.": 7.0,
        },
        hints=["How many arrows leave a?", "The slope of a * b is b; the slope of the sum is 1. Add the two ways."],
    ),
    "01.2": Exercise(
        right=_nudged,
        inputs=lambda rng: (_cubes, rng.uniform(1.0, 2.0, size=int(rng.integers(3, 6))), 0.01),
        shape="(n,)",
        praise="This is how the course tests every gradient that is written by hand.",
        mistakes={
            # likely: the divisor of a nudge to one side.
            "You divide by the step; between up and down lie two steps.": lambda f, x, h: _nudged(f, x, h, divisor=1.0),
            # seen: the notebook's Why and By hand nudge so.
            "You nudge to one side only, and its error shrinks with the step, not with its square: go both ways.": (
                lambda f, x, h: _nudged(f, x, h, down=0.0, divisor=1.0),
                lambda f, x, h: _nudged(f, x, h, up=0.0, divisor=1.0),
            ),
            # likely: x + step is what one writes for a number.
            "You nudge all elements at once, which gives the sum of the gradients: nudge one at a time.": (
                _nudged_together
            ),
            # likely: one copy is made before the loop.
            "The elements that you nudged are not put back before the next.": _never_put_back,
        },
        hints=[
            "One element at a time: two runs of the function each.",
            "Make a copy of x, add step to one element of the copy; make another, subtract it.",
            "The distance between the two runs is 2 * step.",
        ],
    ),
    "01.3": Exercise(
        right=_sigmoid_rule,
        inputs=_random_sigmoid,
        shape="that of x",
        praise="Like tanh and exp, its slope is shortest in terms of y.",
        mistakes={
            # likely: a derivative is at hand, and its place in a chain is forgotten.
            "The slope is right; a rule multiplies it by the upstream gradient.": (
                lambda x, g: _sigmoid_rule(x, np.ones_like(g))
            ),
            # likely: the notebook's rule of tanh, taken over.
            "1 - y ** 2 is the slope of tanh; that of the sigmoid is y * (1 - y).": (
                lambda x, g: g * (1 - _sigmoid(x) ** 2)
            ),
            # seen: iamtrask's network in 11 lines, where x is the output already.
            "You put x where y belongs: the slope is y * (1 - y), with y the sigmoid of x.": lambda x, g: (
                g * x * (1 - x)
            ),
            # likely: one of the two minus signs, of the power -1 and of -x, is lost.
            "The sign is turned: the sigmoid grows everywhere, so its slope is positive.": lambda x, g: (
                -_sigmoid_rule(x, g)
            ),
            # likely: the quotient rule, typed as it comes.
            "Right, but NaN at -1000, where exp(1000) is infinite: infinity over infinity. Compute y first, and use "
            "y * (1 - y).": lambda x, g: g * np.exp(-x) / (1 + np.exp(-x)) ** 2,
            # likely: the same after multiplying both parts of the fraction by exp(2x).
            "Right, but NaN at 1000, where exp(1000) is infinite: infinity over infinity. Compute y first, as "
            "1 / (1 + exp(-x)).": lambda x, g: g * np.exp(x) / (1 + np.exp(x)) ** 2,
        },
        hints=[
            "What is the derivative of 1 / (1 + exp(-x))? Write it with y instead of exp.",
            "It is y * (1 - y). Where does the upstream gradient go?",
            "y = 1 / (1 + np.exp(-x)) is 0 at -1000, which is right. Use y, and no other exponential.",
        ],
    ),
    "01.4": Exercise(
        right=_walk,
        inputs=_random_graph,
        shape="(nodes,)",
        praise="That is `send_back`, for numbers.",
        mistakes={
            # likely: = for +=; the lines of By hand assign.
            "A node that is used several times gets the sum: add to its gradient, don't replace it.": (
                lambda o, s: _walk(o, s, add=False)
            ),
            # likely: range(len(operands)) counts up.
            "You walk forward; a node's gradient is complete only after everything that was made from it.": (
                lambda o, s: _walk(o, s, forward=True)
            ),
            # likely: np.zeros, and no line for the last node.
            "The gradient of the result itself is 1; yours begins with 0, so all others stay 0.": (
                lambda o, s: _walk(o, s, seed=0.0)
            ),
            # likely: the upstream gradient is forgotten, as in 01.3.
            "You add the slopes alone; each is multiplied by the gradient of the node that it leads to.": _slopes_alone,
            # seen: pitfall 10 of the notebook, gradients[operands[node]] += ...
            "A node may be made from the same operand twice, as a = x * x is: both slopes count.": _each_operand_once,
        },
        hints=[
            "Start with zeros, and 1 for the last node. In which order do you visit the nodes?",
            "From the last to the first. At each, loop over zip(operands[node], slopes[node]).",
            "Each operand gets the slope times the gradient of the node: added, because it may be used again.",
        ],
    ),
    "01.6": Exercise(
        track="pytorch",
        right=_penalty,
        inputs=lambda rng: (rng.uniform(0.5, 1.5, size=4), rng.uniform(0.5, 1.5, size=4)),
        shape="(n,)",
        errors={"does not require grad": "Without create_graph=True the first gradient is a constant."},
        praise="WGAN-GP and physics-informed networks train with such gradients of gradients.",
        mistakes={
            # likely: one call of torch.autograd.grad is what the notebook usually needs.
            "That's the gradient of the loss itself; square and sum it, then differentiate again.": (
                lambda x, w: 3 * w * x**2
            ),
            # likely: torch.autograd.grad wants one number, and sum() makes one.
            "You differentiated the sum of the first gradient; it is to be squared before.": lambda x, w: 6 * w * x,
            # seen: pitfall 1 of the notebook, here with two calls of backward.
            "The gradient of the loss is still in it: `.grad` adds up. Use torch.autograd.grad, which returns.": (
                lambda x, w: _penalty(x, w) + 3 * w * x**2
            ),
        },
        hints=[
            "torch.autograd.grad(loss, x) returns a tuple. What must it record, so that you can differentiate it?",
            "x = x.detach().requires_grad_(), and create_graph=True in the first call.",
            "Then square and sum the first gradient, and call torch.autograd.grad once more, again for x.",
        ],
    ),
    "01.7": Exercise(
        track="pytorch",
        right=_jacobian,
        inputs=lambda rng: (rng.normal(size=int(rng.integers(3, 6))),),
        shape="(n, n)",
        praise="Its rows sum to zero: adding one number to all inputs changes no output.",
        mistakes={
            # likely: the softmax is taken for a function of each number by itself, as tanh is.
            "That's the diagonal alone: raising one input lowers all other outputs.": (
                lambda x: np.diag(np.diag(_jacobian(x)))
            ),
            # seen: pitfall 9 of the NumPy notebook; torch.func.grad wants one number, and sum() makes one.
            "The derivative of the sum of the outputs is zero; you want one row for each output.": (
                lambda x: np.zeros(len(x))
            ),
        },
        hints=[
            "torch.func has a function for each kind of derivative: grad for one number, and for a vector ...",
            "torch.func.jacrev(function) returns the function that computes the whole matrix.",
            "The function to pass is the softmax along axis 0.",
        ],
    ),
    "01.8": Exercise(
        track="keras",
        right=_step,
        inputs=_random_step,
        shape="(features, outputs)",
        errors={
            "NoneType": "A tape answers None for a tensor that it doesn't watch, and for a result computed outside `with`."
        },
        praise="That is what `fit` does with the optimizer SGD.",
        mistakes={
            # likely: + for -, as in "take a step".
            "You went uphill: subtract the gradient.": lambda k, x, y, r: _step(k, x, y, r, sign=1.0),
            # likely: the exercises before this one return gradients.
            "You return the gradient; take the step, kernel - rate * gradient.": (
                lambda k, x, y, r: _step(np.zeros_like(k), x, x @ -k + y, 1.0)
            ),
            # likely: the pitfalls of the notebook use ops.sum.
            "You took the sum of the squares; the loss is their mean, over all entries.": (
                lambda k, x, y, r: _step(k, x, y, r, mean=False)
            ),
            # likely: a loss is often called a mean over examples.
            "You divide by the number of examples alone; the mean is over all entries of the error.": (
                lambda k, x, y, r: _step(k, x, y, r * y.shape[1])
            ),
        },
        hints=[
            "A tape records inside `with`, and what it watches. The kernel comes as a tensor, not as a variable.",
            "tape.watch(kernel), then loss = ops.mean((ops.matmul(x, kernel) - y) ** 2), all inside `with`.",
            "Outside `with`, tape.gradient(loss, kernel) is the gradient; step against it.",
        ],
    ),
    "01.9": Exercise(
        track="compare",
        right=33.0,
        praise="PyTorch added 6 and 27; the second tape returns 27 alone.",
        mistakes={
            # likely: the page says it of the second tape.
            "27 is what the second tape returns. PyTorch adds to `.grad`.": 27.0,
            # likely: a forward pass is done where a backward pass is asked for.
            "These are the values, 9 and 27, added. What are the slopes at 3?": 36.0,
        },
        hints=[
            "What are the derivatives of x ** 2 and of x ** 3 at 3?",
            "Nothing clears `.grad` between the two walks.",
        ],
    ),
}
