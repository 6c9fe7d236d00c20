"""Times that can be compared: several codes run in turn in one process, so that a slow moment of the machine meets them all."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shared.checks import check_positive
from shared.frameworks.masks import in_keras, takes_a_dict
from shared.runtime import keep_memory

ROUNDS = 3  # between which other work of the machine comes and goes; an order that is told must hold in all of them


def medians(functions: dict[Any, Callable[[], Any]], repeats: int = 15) -> dict[Any, np.ndarray]:
    """Seconds of each function, the median of each of three rounds; functions are run in turn, A B C A B C ...

    One run of each comes before and is not counted. Where TIMINGS=once, as in `make test`, which compares no times, each
    function runs once in all.

    Args:
        functions: name -> a function that takes nothing.
        repeats: how often each is timed, in all rounds together.

    Raises:
        TypeError, ValueError: if repeats is not a positive whole number.
    """
    check_positive(repeats=repeats)
    keep_memory()  # TensorFlow undoes it, for all libraries of the process, when `fit` is given a generator
    once = os.environ.get("TIMINGS") == "once"
    for function in () if once else functions.values():
        function()
    rounds, in_each = (1, 1) if once else (ROUNDS, -(-repeats // ROUNDS))
    seconds = {name: np.zeros((rounds, in_each)) for name in functions}
    for index in np.ndindex(rounds, in_each):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name][index] = time.perf_counter() - start
    return {name: np.median(times, axis=1) for name, times in seconds.items()}


def keras_passes(
    layer: Any, inputs: Sequence[Any], grad_output: np.ndarray, **arguments: Any
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A Keras layer on TensorFlow, compiled: a function of its forward pass, and one of forward and backward together.

    The second returns the output as well as the gradients. TensorFlow runs only what the returned values need: without it,
    a lookup or the last product of the forward pass would be left out.
    """
    import tensorflow as tf

    floats = [x for x in tf.nest.flatten(inputs) if x.dtype.is_floating]

    @tf.function(autograph=False)
    def forward() -> tf.Tensor:
        return layer(*inputs, **arguments)

    @tf.function(autograph=False)
    def both() -> tuple[tf.Tensor, list]:
        with tf.GradientTape() as tape:
            tape.watch(floats)
            output = layer(*inputs, **arguments)
        sources = [variable.value for variable in layer.trainable_variables] + floats
        return output, tape.gradient(output, sources, output_gradients=tf.constant(grad_output))

    return forward, both


def pytorch_passes(
    module: Any, inputs: Sequence[Any], grad_output: Any, **arguments: Any
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A PyTorch module: a function of its forward pass, and one of forward and backward together."""
    import torch

    def forward() -> None:
        with torch.no_grad():
            module(*inputs, **arguments)

    def both() -> None:
        module(*inputs, **arguments).backward(grad_output)

    return forward, both


def forward_and_backward(
    numpy: Any,
    pytorch: Any,
    keras: Any,
    inputs: dict[str, np.ndarray],
    repeats: int = 15,
    others: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] | None = None,
    **arguments: Any,
) -> dict[str, dict[str, np.ndarray]]:
    """Milliseconds of three twins on the CPU: the forward pass alone, and forward and backward together, by rounds.

    Args:
        numpy, pytorch, keras: the twins; the Keras one runs compiled, as `fit` would run it, on the TensorFlow backend.
        inputs: name -> array, in the order of the call.
        repeats: how often each is timed, in all rounds together.
        others: name -> what else is timed beside them, a function of its forward pass and one of both.
        arguments: further arguments of the call, such as mask; arrays become each framework's own.

    Returns:
        {"forward": {"NumPy": ms, ...}, "forward and backward": {...}}, each with the medians of three rounds, as `plots.bars`
        takes it.
    """
    import tensorflow as tf
    import torch

    pytorch_inputs = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs.values()]
    pytorch_arguments = {
        name: torch.tensor(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()
    }
    keras_inputs = {name: tf.constant(x) for name, x in inputs.items()}
    keras_arguments = {
        name: tf.constant(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()
    }
    grad_output = (
        np.random.default_rng(0)
        .normal(size=numpy(*inputs.values(), **arguments).shape)
        .astype(next(iter(numpy.parameters().values())).dtype)
    )
    pytorch_grad = torch.tensor(grad_output)

    def numpy_both() -> None:
        numpy(*inputs.values(), **arguments)
        numpy.backward(grad_output)

    pytorch_forward, pytorch_both = pytorch_passes(pytorch, pytorch_inputs, pytorch_grad, **pytorch_arguments)
    keras_given = [keras_inputs] if takes_a_dict(keras.call) else list(keras_inputs.values())
    keras_forward, keras_both = keras_passes(keras, keras_given, grad_output, **in_keras(keras.call, keras_arguments))
    passes = {
        ("forward", "NumPy"): lambda: numpy(*inputs.values(), **arguments),
        ("forward", "PyTorch"): pytorch_forward,
        ("forward", "Keras, compiled"): keras_forward,
        ("forward and backward", "NumPy"): numpy_both,
        ("forward and backward", "PyTorch"): pytorch_both,
        ("forward and backward", "Keras, compiled"): keras_both,
    }
    for name, (forward, both) in (others or {}).items():
        passes |= {("forward", name): forward, ("forward and backward", name): both}
    milliseconds: dict[str, dict[str, np.ndarray]] = {"forward": {}, "forward and backward": {}}
    for (group, name), seconds in medians(passes, repeats).items():
        milliseconds[group][name] = 1000 * seconds
    return milliseconds
