"""Chapter 07: the feed-forward network, LayerNorm and the residual connection."""

import math

import numpy as np
from scipy.special import erf, expit

from shared.exercises import Exercise
from shared.numpy.feed_forward import LayerNorm


def _layer_norm(x, gamma, beta, eps, axis=-1, ddof=0):
    mean, variance = x.mean(axis=axis, keepdims=True), x.var(axis=axis, keepdims=True, ddof=ddof)
    return gamma * (x - mean) / np.sqrt(variance + eps) + beta


def _random_layer_norm(rng):
    """Features far from mean 0, and an eps that counts in every second draw; as many positions as features in the third."""
    batch, length, d_model = (int(size) for size in rng.permutation([2, 3, 5]))
    if rng.random() < 1 / 3:
        batch = length = d_model
    x = rng.normal(1.0, 2.0, size=(batch, length, d_model))
    return x, *rng.normal(size=(2, d_model)), float(rng.choice([0.3, 1.0]))


def _outside(x, gamma, beta, eps, ddof=0):
    std = x.std(axis=-1, keepdims=True, ddof=ddof)
    return gamma * (x - x.mean(axis=-1, keepdims=True)) / (std + eps) + beta


def _by_variance(x, gamma, beta, eps):
    return gamma * (x - x.mean(axis=-1, keepdims=True)) / (x.var(axis=-1, keepdims=True) + eps) + beta


def _rms_norm(x, gamma, beta, eps):
    return gamma * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) + beta


def _mean_kept(x, gamma, beta, eps):
    return gamma * x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) + beta


_GRADIENTS = ("gradient of x", "gradient of gamma", "gradient of beta")


def _run_layer_norm(make, x, gamma, beta, eps, grad_output):
    norm = make()
    output = norm.forward(x, gamma, beta, eps)
    grads = None if output is None else norm.backward(grad_output)
    if grads is None:
        return {} if output is None else {"forward": output}
    return {"forward": output} | dict(zip(_GRADIENTS, grads, strict=True))


def _both_ways(x, gamma, beta, eps, grad_output):
    norm = LayerNorm(x.shape[1], eps)
    norm.gamma.value, norm.beta.value = gamma, beta
    output = norm(x)
    grads = norm.backward(grad_output), norm.gamma.grad, norm.beta.grad
    return {"forward": output} | dict(zip(_GRADIENTS, grads, strict=True))


def _random_both_ways(rng):
    """Features far from mean 0, and an eps that counts; as many positions as features in every second trial."""
    length, d_model = (int(size) for size in rng.permutation([3, 5]))
    if rng.random() < 0.5:
        length = d_model
    x, grad_output = rng.normal(1.0, 2.0, size=(length, d_model)), rng.normal(0.5, 1.0, size=(length, d_model))
    return x, *rng.normal(size=(2, d_model)), float(rng.choice([0.3, 1.0])), grad_output


def _wrong_gradient(name, of):
    """LayerNorm with one wrong gradient: of gets the upstream gradient, that of n, n, the divisor and x."""

    def run(x, gamma, beta, eps, grad_output):
        std = np.sqrt(x.var(axis=1, keepdims=True) + eps)
        n = (x - x.mean(axis=1, keepdims=True)) / std
        wrong = of(grad_output, grad_output * gamma, n, std, x)
        return _both_ways(x, gamma, beta, eps, grad_output) | {name: wrong}

    return run


def _row_mean(array):
    return array.mean(axis=1, keepdims=True)


def _row_sum(array):
    return array.sum(axis=1, keepdims=True)


def _wrong_x(of):
    return _wrong_gradient("gradient of x", of)


def _wrong_gamma(of):
    return _wrong_gradient("gradient of gamma", of)


def _silu_backward(x, grad_output):
    gate = expit(x)
    return grad_output * gate * (1 + x * (1 - gate))


def _random_silu(rng):
    x = rng.normal(size=tuple(int(size) for size in rng.permutation([2, 3, 4])))
    x.flat[0], x.flat[1] = 1000.0, -1000.0  # e**1000 overflows
    return x, rng.normal(1.0, 1.0, size=x.shape)


def _overflowing_silu(x, grad_output):
    gate = np.exp(x) / (1 + np.exp(x))
    return grad_output * (gate + x * gate * (1 - gate))


def _rms(x, eps):
    return np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)


def _rms_norm_backward(x, grad_output, eps):
    r = _rms(x, eps)
    along = (grad_output * x).mean(axis=-1, keepdims=True)
    return grad_output / r - x * along / r**3


def _layer_norm_backward(x, grad_output, eps):
    std = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    n = (x - x.mean(axis=-1, keepdims=True)) / std
    mean, along = grad_output.mean(axis=-1, keepdims=True), (grad_output * n).mean(axis=-1, keepdims=True)
    return (grad_output - mean - n * along) / std


def _rms_with_mean(x, grad_output, eps):
    return _rms_norm_backward(x, grad_output, eps) - grad_output.mean(axis=-1, keepdims=True) / _rms(x, eps)


def _rms_summed(x, grad_output, eps):
    r = _rms(x, eps)
    n = x / r
    return (grad_output - n * (grad_output * n).sum(axis=-1, keepdims=True)) / r


def _rms_with_x(x, grad_output, eps):
    r = _rms(x, eps)
    return (grad_output - x * (grad_output * x).mean(axis=-1, keepdims=True)) / r


def _rms_one_x(x, grad_output, eps):
    """x in place of n, in either of the two places: the values are the same."""
    r = _rms(x, eps)
    return (grad_output - x * (grad_output * x / r).mean(axis=-1, keepdims=True)) / r


def _rms_plus(x, grad_output, eps):
    r = _rms(x, eps)
    n = x / r
    return (grad_output + n * (grad_output * n).mean(axis=-1, keepdims=True)) / r


def _rms_without_along(x, grad_output, eps):
    return (grad_output - grad_output.mean(axis=-1, keepdims=True)) / _rms(x, eps)


def _random_rms(rng):
    shape = tuple(int(size) for size in rng.permutation([2, 3, 4]))
    return rng.normal(0.5, 1.5, size=shape), rng.normal(0.5, 1.0, size=shape), float(rng.choice([0.2, 0.5]))


def _gated(x, gate_kernel, value_kernel, output_kernel, activate=None):
    gate = x @ gate_kernel
    gate = gate * expit(gate) if activate is None else activate(gate)
    return (gate * (x @ value_kernel)) @ output_kernel


def _random_gated(rng):
    """A square hidden layer in a third of the draws, so that a transposed kernel doesn't always fail."""
    length, d_model, d_ff = (int(size) for size in rng.permutation([3, 4, 6]))
    if rng.random() < 1 / 3:
        d_ff = d_model
    gate, value = rng.normal(size=(2, d_model, d_ff))
    return rng.normal(size=(2, length, d_model)), gate, value, rng.normal(size=(d_ff, d_model))


def _channel_norm(x, axes=(1,), ddof=0, eps=1e-5):
    return (x - x.mean(axis=axes, keepdims=True)) / np.sqrt(x.var(axis=axes, keepdims=True, ddof=ddof) + eps)


def _channel_norm_outside(x):
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True, ddof=1) + 1e-5)


def _channel_norm_reshaped(x):
    batch, channels, height, width = x.shape
    return _channel_norm(x.reshape(batch, height, width, channels), (3,)).reshape(x.shape)


def _random_images(rng):
    """(batch, channels, height, width) of sizes that are all different, or the last three equal; one image so dark that eps counts."""
    sizes = [int(size) for size in rng.permutation([2, 3, 4, 5])]
    if rng.random() < 1 / 3:
        sizes[1:] = [sizes[1]] * 3
    scale = rng.uniform(0.5, 2.0, size=(sizes[0], 1, 1, 1))
    scale[0] = 0.002
    return (rng.normal(1.0, 2.0, size=sizes) * scale,)


def _add_dropped(x, change, keep, rate):
    return x + change * keep / (1 - rate)


def _random_dropped(rng):
    shape = tuple(int(size) for size in rng.permutation([2, 3, 4]))
    keep = rng.random(shape) < 0.6
    keep.flat[0], keep.flat[1] = True, False
    return rng.normal(size=shape), rng.normal(size=shape), keep, float(rng.choice([0.2, 0.4, 0.7]))


EXERCISES = {
    "07.1": Exercise(
        right=math.sqrt(3),
        digits=2,
        praise="The root of D - 1, however large the feature is: LayerNorm keeps every number in range.",
        mistakes={
            # likely: scaling to a largest number of 1 is the other usual way to normalize.
            "LayerNorm divides by the standard deviation, not by the largest number.": 1.0,
            # likely: a pocket calculator, and PyTorch's std, divide by D - 1.
            "You divided the squares by D - 1 = 3; LayerNorm divides by D = 4.": 1.5,
            # likely: three of four features are 0 already, so no mean is looked for.
            "Subtract the mean, 250, before you divide: 1000 / 500 forgets it.": 2.0,
        },
        hints=[
            "The mean is 250. What are the four distances from it?",
            "Their squares have the mean (3 * 250**2 + 750**2) / 4 = 3 * 250**2.",
            "The standard deviation is the root of that. What is 750 divided by it?",
        ],
    ),
    "07.2": Exercise(
        right=_layer_norm,
        inputs=_random_layer_norm,
        shape="(batch, length, d_model)",
        praise="That is LayerNorm as in the paper.",
        trials=9,
        mistakes={
            # likely: ddof=1 is what statistics teaches, and the default of PyTorch and pandas.
            "You divide the squares by D - 1; LayerNorm divides by D (ddof=0, NumPy's default).": (
                lambda x, g, b, e: _layer_norm(x, g, b, e, ddof=1)
            ),
            # likely: x.std() is shorter, and leaves no other place for eps.
            "You add eps to the standard deviation; it belongs to the variance, inside the root.": _outside,
            # seen: Annotated Transformer, class LayerNorm.
            "Two mistakes, as in the Annotated Transformer: divide the squares by D, not D - 1, and add eps inside the root.": (
                lambda x, g, b, e: _outside(x, g, b, e, ddof=1)
            ),
            # likely: x.var() for x.std().
            "You divide by the variance; take its root.": _by_variance,
            # likely: By hand has none, and where it has a number it is tiny.
            "eps is not used.": (
                lambda x, g, b, e: _layer_norm(x, g, b, 0.0),
                lambda x, g, b, e: _layer_norm(x, g, b, 1e-5),
            ),
            # seen: pitfall 1 of the notebook; nn.LayerNorm(x.shape[1:]).
            "You normalize over the wrong axes; mean and variance are those of the last axis alone.": (
                lambda x, g, b, e: _layer_norm(x, g, b, e, axis=0),
                lambda x, g, b, e: _layer_norm(x, g, b, e, axis=1),
                lambda x, g, b, e: _layer_norm(x, g, b, e, axis=(0, 1)),
                lambda x, g, b, e: _layer_norm(x, g, b, e, axis=(1, 2)),
                lambda x, g, b, e: _layer_norm(x, g, b, e, axis=(0, 1, 2)),
            ),
            # seen: RMSNorm subtracts none.
            "Subtract the mean from x, before anything else.": (_mean_kept, _rms_norm),
            # likely: gamma and beta begin as 1 and 0, so leaving one out shows only here.
            "Multiply by gamma, then add beta: yours leaves one out, or does it in another order.": (
                lambda x, g, b, e: _layer_norm(x, 1.0, b, e),
                lambda x, g, b, e: _layer_norm(x, g, 0.0, e),
                lambda x, g, b, e: _layer_norm(x, 1.0, 0.0, e),
                lambda x, g, b, e: (_layer_norm(x, 1.0, 0.0, e) + b) * g,
                lambda x, g, b, e: _layer_norm(x, b, g, e),
            ),
        },
        hints=[
            "Three lines, as by hand: the mean, the variance, the division. Then gamma and beta.",
            "x.mean(axis=-1, keepdims=True): without keepdims the shapes don't fit, or fit by accident.",
            "The divisor is np.sqrt(variance + eps), not the root plus eps.",
        ],
    ),
    "07.3": Exercise(
        right=_silu_backward,
        inputs=_random_silu,
        shape="that of x",
        praise="The gate, plus x times how fast the gate opens: the same two terms as GELU's.",
        mistakes={
            # likely: a gate is taken for a constant, as ReLU's is.
            "That is the gate alone. The gate depends on x, too: add x times the slope of the gate.": (
                lambda x, g: g * expit(x)
            ),
            # likely: only the function with a name is differentiated.
            "That is x times the slope of the gate; the product rule has a second term, the gate itself.": (
                lambda x, g: g * x * expit(x) * (1 - expit(x))
            ),
            # likely: the product rule takes all attention, and the chain is forgotten.
            "The derivative is right; multiply it by the upstream gradient.": (
                lambda x, g: expit(x) + x * expit(x) * (1 - expit(x))
            ),
            # seen: the exercise itself names this formula.
            "Right for small inputs, but NaN for large ones: infinity / infinity. Use scipy.special.expit.": _overflowing_silu,
        },
        hints=[
            "SiLU is a product of two functions of x. What is the product rule?",
            "(x s)' = s + x s', and s' = s (1 - s).",
            "scipy.special.expit is the sigmoid, for inputs of any size. The upstream gradient multiplies the sum.",
        ],
    ),
    "07.4": Exercise(
        right=_rms_norm_backward,
        inputs=_random_rms,
        shape="that of x",
        praise="The second term is gone: without a mean in the forward pass, none is taken out in the backward pass.",
        mistakes={
            # seen: LayerNorm.backward of the notebook, taken over.
            "That is LayerNorm's backward pass: RMSNorm subtracts no mean, neither forward nor backward.": (
                _layer_norm_backward
            ),
            # likely: the forward pass is changed, and the three terms of the backward pass are kept.
            "You subtract the gradient's mean; that term came from the mean in LayerNorm's forward pass.": _rms_with_mean,
            # likely: the divisor is taken for a constant.
            "x moves its own divisor, too: the part of the gradient along the output is missing.": (
                lambda x, g, e: g / _rms(x, e)
            ),
            # likely: one term is to go, and it was the other.
            "You kept the mean and dropped the part along the output; in RMSNorm it is the mean that goes.": (
                _rms_without_along
            ),
            # likely: the 1/D of the mean square is lost on the way back.
            "You sum over the features; the term along the output is a mean, 1/D times the sum.": _rms_summed,
            # likely: n and x have one shape, and the code has x at hand.
            "The term along the output needs the normalized x in both places.": (_rms_with_x, _rms_one_x),
            # likely: the minus of the derivative of 1 / r is lost.
            "The sign of the second term is wrong: a larger x makes the divisor larger, and the output smaller.": _rms_plus,
        },
        hints=[
            "Differentiate r**2 = mean(x**2) + eps: 2 r dr/dx_j = 2 x_j / D, so dr/dx_j = n_j / D with n = x / r.",
            "The quotient rule: dn_i/dx_j = (delta_ij - n_i n_j / D) / r. Now sum over i.",
            "Two terms remain: g itself, and n times a mean over the features. Both are divided by r.",
        ],
    ),
    "07.10": Exercise(
        right=_both_ways,
        inputs=_random_both_ways,
        run=_run_layer_norm,
        praise="You have written the backward pass that most people look up.",
        trials=9,
        errors={"zip() argument": "backward must return three arrays: the gradients of x, gamma and beta."},
        mistakes={
            # likely: the divisor has taken all attention.
            "backward: the mean of the gradients is missing: raising a feature raises the mean, too, and the mean lowers all of them.": (
                _wrong_x(lambda grad, g, n, std, x: (g - n * _row_mean(g * n)) / std)
            ),
            # seen: pitfall 2 of the notebook.
            "backward: the term with n is missing: raising a feature also changes the standard deviation, which divides all of them.": (
                _wrong_x(lambda grad, g, n, std, x: (g - _row_mean(g)) / std)
            ),
            # likely: mean and standard deviation are taken for constants.
            "backward: you have the direct path alone; x also acts through the mean and through the standard deviation.": (
                _wrong_x(lambda grad, g, n, std, x: g / std)
            ),
            # likely: the three terms are remembered, and what all of them are divided by is not.
            "backward: divide the gradient of x by the standard deviation, as the forward pass did.": (
                _wrong_x(lambda grad, g, n, std, x: g - _row_mean(g) - n * _row_mean(g * n))
            ),
            # likely: gamma begins as ones, so nothing shows until it has been trained.
            "backward: gamma is missing: multiply the upstream gradient by it before you subtract anything.": (
                _wrong_x(lambda grad, g, n, std, x: (grad - _row_mean(grad) - n * _row_mean(grad * n)) / std)
            ),
            # likely: the chain rule ends in sums; seen: derivations that project on n, which forget eps.
            "backward: both terms are means over the D features, 1/D times a sum.": (
                _wrong_x(lambda grad, g, n, std, x: (g - _row_sum(g) - n * _row_sum(g * n)) / std),
                _wrong_x(lambda grad, g, n, std, x: (g - _row_mean(g) - n * _row_sum(g * n)) / std),
                _wrong_x(lambda grad, g, n, std, x: (g - _row_mean(g) - n * _row_sum(g * n) / _row_sum(n * n)) / std),
            ),
            # likely: gamma multiplies n, and x has the shape of n.
            "backward: gamma was multiplied by n, the normalized features, so its gradient is the upstream gradient times n, summed.": (
                _wrong_gamma(lambda grad, g, n, std, x: (grad * x).sum(axis=0)),
                _wrong_gamma(lambda grad, g, n, std, x: (g * n).sum(axis=0)),
            ),
            # likely: the loss is a mean, and so, it is thought, is every gradient.
            "backward: gamma and beta meet every position, so their gradients are sums over the positions, not means.": (
                _wrong_gamma(lambda grad, g, n, std, x: (grad * n).mean(axis=0)),
                _wrong_gradient("gradient of beta", lambda grad, g, n, std, x: grad.mean(axis=0)),
                lambda x, gamma, beta, eps, grad: (
                    _wrong_gamma(lambda grad, g, n, std, x: (grad * n).mean(axis=0))(x, gamma, beta, eps, grad)
                    | {"gradient of beta": grad.mean(axis=0)}
                ),
            ),
        },
        hints=[
            "Forward is four lines. Keep gamma, the normalized features n and the divisor for the backward pass.",
            "gamma and beta first: one is the upstream gradient times n, the other is the upstream gradient, each summed over positions.",
            "For x: g is the upstream gradient times gamma. From g, subtract its mean, and n times the mean of g * n. Then divide.",
        ],
    ),
    "07.6": Exercise(
        track="pytorch",
        right=_gated,
        inputs=_random_gated,
        shape="(batch, length, d_model)",
        praise="That is SwiGLU, the feed-forward network of Llama and many others.",
        trials=9,
        mistakes={
            # likely: which of the two branches is the gate is a matter of names.
            "SiLU is on the wrong branch: it belongs to x @ gate_kernel.": (lambda x, g, v, o: _gated(x, v, g, o)),
            # seen: the first gated linear unit (Dauphin et al. 2017), F.glu.
            "You use the sigmoid; SiLU is x times the sigmoid.": lambda x, g, v, o: _gated(x, g, v, o, expit),
            # seen: this chapter's FeedForward, and the GEGLU of T5 1.1 and Gemma.
            "You use GELU; use SiLU.": (
                lambda x, g, v, o: _gated(x, g, v, o, lambda h: h * (1 + erf(h / math.sqrt(2))) / 2)
            ),
        },
        hints=[
            "Two branches, x @ gate_kernel and x @ value_kernel. (F.linear expects a kernel of shape (out, in).)",
            "Both have the shape (batch, length, d_ff). Multiply them, number by number, before the last kernel.",
            "F.silu belongs to the gate's branch, before the product.",
        ],
    ),
    "07.7": Exercise(
        track="pytorch",
        right=_channel_norm,
        inputs=_random_images,
        shape="(batch, channels, height, width)",
        praise="ConvNeXt normalizes its images this way.",
        trials=9,
        mistakes={
            # likely: F.layer_norm(x, x.shape[-1:]), as for text.
            "You normalize over the width, the last axis; the channels are axis 1.": lambda x: _channel_norm(x, (3,)),
            # seen: PyTorch's page on nn.LayerNorm normalizes images so.
            "You normalize over the whole image; each pixel has a mean and a variance of its own.": (
                lambda x: _channel_norm(x, (1, 2, 3))
            ),
            # likely: PyTorch's default.
            "x.var divides by D - 1 unless you ask for correction=0.": lambda x: _channel_norm(x, ddof=1),
            # likely: x.std, and no eps where nothing is divided by 0.
            "x.std divides by D - 1, and eps is missing: it is added to the variance, before the root.": (
                lambda x: _channel_norm(x, ddof=1, eps=0)
            ),
            # seen: Annotated Transformer, class LayerNorm.
            "x.std divides by D - 1, and eps is added to the variance, before the root.": _channel_norm_outside,
            # seen: compare prints both defaults.
            "That is Keras' eps, 1e-3; PyTorch's default is 1e-5.": lambda x: _channel_norm(x, eps=1e-3),
            # likely: reshape brings the channels to the end in shape alone.
            "reshape moves no axis, it cuts the same numbers anew: bring the channels to the end with movedim.": (
                _channel_norm_reshaped
            ),
            # likely: reshape(x.shape) looks like the way back.
            "Move the channels back with movedim; reshape moves no axis.": (
                lambda x: np.moveaxis(_channel_norm(x), 1, -1).reshape(x.shape)
            ),
        },
        hints=[
            "F.layer_norm normalizes the last axes. Which axis are the channels?",
            "Move the channels to the end, normalize, move them back. movedim moves an axis.",
            "The second argument of F.layer_norm is a tuple, the sizes of the axes: here the number of channels.",
        ],
    ),
    "07.8": Exercise(
        track="keras",
        right=_add_dropped,
        inputs=_random_dropped,
        shape="that of x",
        praise="That is what ResidualConnection does in training.",
        trials=8,
        errors={
            "tf.bool": "keep holds booleans, which do not multiply numbers: see ops.where.",
            "is a bool tensor": "keep holds booleans, which do not multiply numbers: see ops.where.",
            "float tensor but": "The inputs are float64: cast to change.dtype.",
            "is a float tensor": "The inputs are float64: cast to change.dtype.",
        },
        mistakes={
            # seen: pitfall 6 of the NumPy notebook.
            "You drop the sum; dropout acts on the change, before the addition.": (
                lambda x, c, k, r: (x + c) * k / (1 - r),
                lambda x, c, k, r: (x + c) * k,
            ),
            # seen: pitfall 7 of the NumPy notebook.
            "The numbers that are kept must be divided by 1 - rate.": lambda x, c, k, r: x + c * k,
            # likely: with rate 1/2 it makes no difference.
            "You divide by the rate; divide by 1 - rate, the share that is kept.": lambda x, c, k, r: x + c * k / r,
            # likely: 1 - rate is remembered, and which way it goes isn't.
            "You multiply by 1 - rate; divide by it, so that the mean is kept.": lambda x, c, k, r: x + c * k * (1 - r),
        },
        hints=[
            "Three steps: drop, scale, add. In which order?",
            "keep holds booleans, which do not multiply numbers: ops.where(keep, a, b) takes a where keep is True, and b elsewhere.",
            "What survives is divided by 1 - rate; what is dropped is 0.0.",
        ],
    ),
    "07.9": Exercise(
        track="compare",
        right=math.sqrt(0.5),
        digits=2,
        praise="The variance is divided by twice itself: an eps as large as the variance takes half of it.",
        mistakes={
            # likely: whatever is normalized has a standard deviation of 1.
            "That is right if eps is negligible, as PyTorch's 1e-5 is here. Keras' default is 1e-3, as large as the variance.": 1.0,
            # likely: half of the variance is left, and the root is forgotten.
            "That is the variance of the output; the standard deviation is its root.": 0.5,
            # seen: Annotated Transformer, class LayerNorm.
            "You added eps to the standard deviation; it is added to the variance.": math.sqrt(0.001)
            / (math.sqrt(0.001) + 0.001),
        },
        hints=[
            "The output is x / sqrt(variance + eps), with variance 0.001.",
            "Keras' default eps is 0.001, as large as the variance.",
        ],
    ),
}
