"""Chapter 01: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def nudged_gradient(function, x, step):
    gradient = np.zeros_like(x)
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (function(up) - function(down)) / (2 * step)
    return gradient


def sigmoid_rule(x, g):
    y = 1 / (1 + np.exp(-x))
    return g * y * (1 - y)


def walk_back(operands, slopes):
    gradients = np.zeros(len(operands))
    gradients[-1] = 1.0
    for node in reversed(range(len(operands))):
        for operand, slope in zip(operands[node], slopes[node]):
            gradients[operand] += slope * gradients[node]
    return gradients


def penalty_gradient(x, w):
    import torch

    x = x.detach().requires_grad_()
    (first,) = torch.autograd.grad((w * x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first**2).sum(), x)
    return second


def softmax_jacobian(x):
    import torch

    return torch.func.jacrev(lambda x: x.softmax(dim=0))(x)


def training_step(kernel, x, y, rate):
    import tensorflow as tf
    from keras import ops

    with tf.GradientTape() as tape:
        tape.watch(kernel)
        loss = ops.mean((ops.matmul(x, kernel) - y) ** 2)
    return kernel - rate * tape.gradient(loss, kernel)


SOLUTIONS = {
    "01.1": 6,
    "01.2": nudged_gradient,
    "01.3": sigmoid_rule,
    "01.4": walk_back,
    "01.6": penalty_gradient,
    "01.7": softmax_jacobian,
    "01.8": training_step,
    "01.9": 33,
}
