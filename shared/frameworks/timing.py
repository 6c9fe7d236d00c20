"""Times that can be compared: several codes run in turn in one process, so that a slow moment of the machine meets them all."""

import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from shared import keep_memory
from shared.checks import check_positive


def medians(functions: dict[str, Callable[[], Any]], repeats: int = 15) -> dict[str, float]:
    """Median seconds of each function, run in turn: A B C A B C ..., after one run of each that is not counted.

    Where TIMINGS=once, as in `make test`, which compares no times, each function runs once in all.

    Args:
        functions: name -> a function that takes nothing.
        repeats: how often each is timed.

    Raises:
        TypeError, ValueError: if repeats is not a positive whole number.
    """
    check_positive(repeats=repeats)
    keep_memory()  # TensorFlow undoes it, for all libraries of the process, when `fit` is given a generator
    once = os.environ.get("TIMINGS") == "once"
    for function in () if once else functions.values():
        function()
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(1 if once else repeats):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    return {name: median(times) for name, times in seconds.items()}


def forward_and_backward(
    numpy: Any, pytorch: Any, keras: Any, inputs: dict[str, np.ndarray], repeats: int = 15, **arguments: Any
) -> dict[str, dict[str, float]]:
    """Median milliseconds of three twins on the CPU: the forward pass alone, and forward and backward together.

    Args:
        numpy, pytorch, keras: the twins; the Keras one runs compiled, as `fit` would run it, on the TensorFlow backend.
        inputs: name -> array, in the order of the call.
        repeats: how often each is timed.
        arguments: further arguments of the call, such as mask; arrays become each framework's own.

    Returns:
        {"forward": {"NumPy": ms, ...}, "forward and backward": {...}}, as `plots.bars` takes it.
    """
    import tensorflow as tf
    import torch

    pytorch_inputs = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs.values()]
    pytorch_arguments = {
        name: torch.tensor(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()
    }
    keras_inputs = [tf.constant(x) for x in inputs.values()]
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

    def pytorch_forward() -> None:
        with torch.no_grad():
            pytorch(*pytorch_inputs, **pytorch_arguments)

    def pytorch_both() -> None:
        pytorch(*pytorch_inputs, **pytorch_arguments).backward(pytorch_grad)

    @tf.function(autograph=False)
    def keras_forward() -> tf.Tensor:
        return keras(*keras_inputs, **keras_arguments)

    @tf.function(autograph=False)
    def keras_both() -> list:
        floats = [x for x in keras_inputs if x.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            output = keras(*keras_inputs, **keras_arguments)
        return tape.gradient(
            output,
            [variable.value for variable in keras.trainable_variables] + floats,
            output_gradients=tf.constant(grad_output),
        )

    forward = medians(
        {"NumPy": lambda: numpy(*inputs.values(), **arguments), "PyTorch": pytorch_forward, "Keras": keras_forward},
        repeats,
    )
    both = medians({"NumPy": numpy_both, "PyTorch": pytorch_both, "Keras": keras_both}, repeats)
    return {
        "forward": {name: 1000 * seconds for name, seconds in forward.items()},
        "forward and backward": {name: 1000 * seconds for name, seconds in both.items()},
    }
