"""Chapter 07: code that passes. Each imports its own framework, so that a reader of one waits for no other."""

import numpy as np


def my_layer_norm(x, gamma, beta, eps):
    centered = x - x.mean(axis=-1, keepdims=True)
    variance = (centered**2).mean(axis=-1, keepdims=True)
    return gamma * centered / np.sqrt(variance + eps) + beta


class MyLayerNorm:
    def forward(self, x, gamma, beta, eps):
        centered = x - x.mean(axis=1, keepdims=True)
        self.divisor = np.sqrt((centered**2).mean(axis=1, keepdims=True) + eps)
        self.n, self.gamma = centered / self.divisor, gamma
        return self.n * gamma + beta

    def backward(self, grad_output):
        grad_n = grad_output * self.gamma
        along = (grad_n * self.n).mean(axis=1, keepdims=True)
        grad_x = grad_n - grad_n.mean(axis=1, keepdims=True) - self.n * along
        return grad_x / self.divisor, (grad_output * self.n).sum(axis=0), grad_output.sum(axis=0)


def silu_backward(x, grad_output):
    from scipy.special import expit

    gate = expit(x)
    return grad_output * (gate + x * gate * (1 - gate))


def rms_norm_backward(x, grad_output, eps):
    r = np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)
    n = x / r
    return (grad_output - n * (grad_output * n).mean(axis=-1, keepdims=True)) / r


def gated(x, gate_kernel, value_kernel, output_kernel):
    from torch.nn import functional as F

    return (F.silu(x @ gate_kernel) * (x @ value_kernel)) @ output_kernel


def channel_norm(x):
    from torch.nn import functional as F

    return F.layer_norm(x.movedim(1, -1), (x.shape[1],)).movedim(-1, 1)


def add_dropped(x, change, keep, rate):
    from keras import ops

    return x + ops.where(keep, change / (1 - rate), 0.0)


SOLUTIONS = {
    "07.1": 3**0.5,
    "07.2": my_layer_norm,
    "07.3": silu_backward,
    "07.4": rms_norm_backward,
    "07.10": MyLayerNorm,
    "07.6": gated,
    "07.7": channel_norm,
    "07.8": add_dropped,
    "07.9": 0.5**0.5,
}
