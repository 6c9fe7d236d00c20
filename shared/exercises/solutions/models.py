"""Chapter 02: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def neuron_step(weight, bias, x, y, rate):
    error = weight * x + bias - y
    grad_weight = (2 * error * x).mean()
    grad_bias = (2 * error).mean()
    return np.array([weight - rate * grad_weight, bias - rate * grad_bias])


class MyLayer:
    def __init__(self, kernel, bias):
        self.kernel, self.bias = kernel, bias

    def forward(self, x):
        self.x = x
        return x @ self.kernel + self.bias

    def backward(self, grad):
        return self.x.T @ grad, grad.sum(axis=0), grad @ self.kernel.T


def tied_backward(kernel, x, grad_output):
    before = x @ kernel
    h = np.maximum(before, 0)
    grad_h = (grad_output @ kernel) * (before > 0)
    first_use = x.T @ grad_h
    second_use = (h.T @ grad_output).T
    return first_use + second_use


def apply_kernel(kernel, bias, x):
    from torch.nn import functional as F

    return F.linear(x, kernel.T, bias)


def gradient_of_each(kernel, x, y):
    from torch.func import grad, vmap

    def loss(kernel, x, y):
        return (x @ kernel - y) ** 2

    return vmap(grad(loss), in_dims=(None, 0, 0))(kernel, x, y)


def my_dropout(x, uniform, rate, training):
    from keras import ops

    if not training:
        return x
    return ops.where(uniform >= rate, x / (1 - rate), 0.0)


SOLUTIONS = {
    "02.1": 6,
    "02.2": neuron_step,
    "02.3": MyLayer,
    "02.4": tied_backward,
    "02.6": apply_kernel,
    "02.7": gradient_of_each,
    "02.8": my_dropout,
    "02.9": 35,
}
