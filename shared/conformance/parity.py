"""Proof by numbers that two codes are the same function: outputs and gradients side by side, in float64.

Every comparison uses random inputs and a random upstream gradient: with an upstream gradient of ones, softmax and LayerNorm have
a gradient of zero, and a broken backward passes. What a report shows is a bound, because the digits below it differ from one
processor to another; its rows hold the exact figures.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shared.arrays import as_numpy
from shared.conformance.laws import relative_difference
from shared.evidence import short
from shared.frameworks.masks import IN_KERAS, in_keras, takes_a_dict
from shared.frameworks.weights import get_weights, set_weights, slots


class Row(NamedTuple):
    """One comparison: equal to the last bit, equal within the tolerance, and the largest difference relative to the largest value."""

    name: str
    against: str
    shape: tuple[int, ...]
    exact: bool
    close: bool
    max_difference: float


class Report:
    """A table of comparisons that shows itself in a notebook; making one with a difference out of tolerance raises.

    Args:
        rows: the comparisons.
        tolerances: what each thing compared against must keep: name -> largest difference allowed.

    Raises:
        AssertionError: if a row is not close; all such rows are listed with their differences.
    """

    def __init__(self, rows: list[Row], tolerances: dict[str, float]):
        self.rows, self.tolerances = rows, tolerances
        far = [f"{row.name} differs from {row.against} by {row.max_difference:.1e}" for row in rows if not row.close]
        if far:
            raise AssertionError("out of tolerance: " + "; ".join(far))

    def to_frame(self) -> pd.DataFrame:
        """The rows with their exact figures, which differ from one processor to another."""
        return pd.DataFrame(self.rows)

    @property
    def table(self) -> pd.DataFrame:
        """One line a name, one column for each thing compared against, holding the bound that every row keeps."""
        shapes = {row.name: row.shape for row in self.rows}
        frame = pd.DataFrame({"shape": {name: str(shape) for name, shape in shapes.items()}})
        for against, tolerance in self.tolerances.items():
            kept = {
                row.name: f"below {tolerance:.0e}".replace("e-0", "e-") for row in self.rows if row.against == against
            }
            frame[against] = pd.Series(kept).reindex(frame.index).fillna("")
        return frame.rename_axis("difference of")

    def folded(self) -> "Folded":
        """One line with the largest difference from each thing compared against; the table itself is folded below it."""
        return Folded(self)

    def _repr_html_(self) -> str:
        return self.table.to_html()

    def __repr__(self) -> str:
        return self.table.to_string()


class Folded:
    """A report as one line: how many arrays were compared, what was measured, and what is allowed."""

    def __init__(self, report: Report):
        self.report = report
        names = {row.name for row in report.rows}
        parts = []
        for against, tolerance in report.tolerances.items():
            worst = max((row.max_difference for row in report.rows if row.against == against), default=0.0)
            parts.append(f"{against}: measured {short(worst)}, must be below {short(tolerance)}")
        self.line = (
            f"{len(names)} array{'s' * (len(names) != 1)} compared; largest relative difference from "
            + "; from ".join(parts)
        )

    @property
    def table(self) -> pd.DataFrame:
        """A row for each array, its largest difference from each thing compared against."""
        frame = pd.DataFrame({"shape": {row.name: str(row.shape) for row in self.report.rows}})
        for against in self.report.tolerances:
            found = {
                row.name: f"measured {short(row.max_difference)}" for row in self.report.rows if row.against == against
            }
            frame[against] = pd.Series(found).reindex(frame.index).fillna("")
        return frame.rename_axis("difference of")

    def _repr_html_(self) -> str:
        return f"<details><summary>{self.line}</summary>{self.table.to_html()}</details>"

    def __repr__(self) -> str:
        return self.line


def difference(name: str, against: str, value: Any, reference: Any, tolerance: float) -> Row:
    """Compare two arrays of any framework, relative to the largest value of the reference (at least 1)."""
    value, reference = as_numpy(value), as_numpy(reference)
    if value.shape != reference.shape:
        raise AssertionError(f"{name} has shape {value.shape}, and {against} has {reference.shape}")
    largest = relative_difference(value, reference)
    return Row(name, against, value.shape, bool(np.array_equal(value, reference)), largest <= tolerance, largest)


def compare(values: dict[str, dict[str, Any]], tolerance: float = 1e-10) -> Report:
    """Compare what several codes computed with what the first of them computed.

    Args:
        values: code -> {name: array}, every code with the same names; the first code is the reference.
        tolerance: the largest difference allowed, relative to the largest value of the reference (at least 1).

    Raises:
        AssertionError: if a difference is out of tolerance, or a name is missing.
    """
    reference_name, *others = values
    reference = values[reference_name]
    for other in others:
        if set(values[other]) != set(reference):
            raise AssertionError(
                f"{other} and {reference_name} compare different names: {sorted(set(values[other]) ^ set(reference))}"
            )
    rows = [
        difference(name, other, values[other][name], reference[name], tolerance)
        for name in reference
        for other in others
    ]
    return Report(rows, dict.fromkeys(others, tolerance))


def numerical_gradient(function: Callable[[], float], array: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The gradient of a function by central differences, an element at a time.

    Args:
        function: takes nothing, reads the array, and returns a number.
        array: float64, any shape; changed in place and put back.
        step: the distance to either side.

    Returns:
        the gradient, in the array's shape; its error is about step squared.

    Raises:
        TypeError: if the array is not float64: rounding in float32 drowns the difference.
    """
    if array.dtype != np.float64:
        raise TypeError(f"array has dtype {array.dtype}: expected float64")
    gradient = np.zeros_like(array)
    for index in np.ndindex(array.shape):
        kept = array[index]
        array[index] = kept + step
        above = function()
        array[index] = kept - step
        gradient[index] = (above - function()) / (2 * step)
        array[index] = kept
    return gradient


def _run_numpy(
    module: Any, inputs: dict[str, np.ndarray], upstream: Callable, arguments: dict
) -> dict[str, np.ndarray]:
    module.zero_grad()
    output = module(*inputs.values(), **arguments)
    input_gradients = module.backward(upstream(output))
    if not isinstance(input_gradients, tuple):
        input_gradients = (input_gradients,)
    values = {"output": output}
    values |= {
        f"gradient of {name}": gradient
        for (name, x), gradient in zip(inputs.items(), input_gradients)
        if x.dtype.kind == "f"
    }
    return values | {f"gradient of {name}": slot.parameter.grad for name, slot in slots(module).items()}


def _run_pytorch(
    module: Any, inputs: dict[str, np.ndarray], upstream: Callable, arguments: dict
) -> dict[str, np.ndarray]:
    import torch

    tensors = {name: torch.tensor(x, requires_grad=x.dtype.kind == "f") for name, x in inputs.items()}
    module.zero_grad()
    arguments = {
        name: torch.tensor(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()
    }
    output = module(*tensors.values(), **arguments)
    output.backward(torch.tensor(upstream(as_numpy(output))))
    values = {"output": as_numpy(output)}
    values |= {f"gradient of {name}": as_numpy(x.grad) for name, x in tensors.items() if x.requires_grad}
    trained = {name: slot for name, slot in slots(module).items() if slot.trainable}
    return values | {
        f"gradient of {name}": slot.to_course(as_numpy(slot.parameter.grad)) for name, slot in trained.items()
    }


def _run_keras(
    module: Any, inputs: dict[str, np.ndarray], upstream: Callable, arguments: dict
) -> dict[str, np.ndarray]:
    import keras

    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"KERAS_BACKEND={keras.backend.backend()}: parity in float64 is shown with tensorflow; the others compute partly in float32"
        )
    import tensorflow as tf

    tensors = {name: tf.convert_to_tensor(x) for name, x in inputs.items()}
    floats = {name: x for name, x in tensors.items() if x.dtype.is_floating}
    by_name = {name: slot for name, slot in slots(module).items() if slot.trainable}
    with tf.GradientTape() as tape:
        tape.watch(list(floats.values()))
        output = _call_keras(module, tensors, arguments)
    sources = {f"gradient of {name}": x for name, x in floats.items()}
    sources |= {f"gradient of {name}": slot.parameter.value for name, slot in by_name.items()}
    gradients = tape.gradient(output, sources, output_gradients=tf.convert_to_tensor(upstream(as_numpy(output))))
    gradients = {name: np.array(tf.convert_to_tensor(gradient)) for name, gradient in gradients.items()}
    for name, slot in by_name.items():
        gradients[f"gradient of {name}"] = slot.to_course(gradients[f"gradient of {name}"])
    return {"output": as_numpy(output), **gradients}


def _call_keras(module: Any, inputs: dict[str, Any], arguments: dict) -> Any:
    """The output; masks are given by the names that Keras has for them, and several inputs as it wants them."""
    if takes_a_dict(module.call):
        return module(**in_keras(module.call, inputs | arguments))
    masks = {name: value for name, value in inputs.items() if name in IN_KERAS}
    others = [value for name, value in inputs.items() if name not in IN_KERAS]
    return module(*others, **in_keras(module.call, masks | arguments))


def _random_upstream(seed: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda output: np.random.default_rng(seed).normal(size=output.shape).astype(output.dtype)


def compare_modules(
    numpy: Any,
    pytorch: Any,
    keras: Any,
    inputs: dict[str, np.ndarray],
    tolerance: float = 1e-10,
    seed: int = 0,
    **arguments: Any,
) -> Report:
    """Give three twins the NumPy module's weights, the same inputs and the same upstream gradient; compare outputs and all gradients.

    Args:
        numpy, pytorch, keras: the twins, in float64; the Keras one must compute in float64 too (`keras.config.set_floatx("float64")`).
        inputs: name -> array, in the order of the call; float64 arrays get a gradient, whole numbers (tokens) do not.
        tolerance: the largest difference allowed, relative to the largest value of NumPy's (at least 1).
        seed: of the random upstream gradient.
        arguments: further arguments of the call, such as mask; arrays become each framework's own.

    Raises:
        AssertionError: if anything is out of tolerance.
        ValueError: if the weights of the three do not have the same names and shapes.
    """
    pytorch.double()
    if not keras.built:
        _call_keras(keras, inputs, arguments)
    weights = get_weights(numpy)
    set_weights(pytorch, weights)
    set_weights(keras, weights)
    upstream = _random_upstream(seed)
    return compare(
        {
            "NumPy": _run_numpy(numpy, inputs, upstream, arguments),
            "PyTorch": _run_pytorch(pytorch, inputs, upstream, arguments),
            "Keras": _run_keras(keras, inputs, upstream, arguments),
        },
        tolerance,
    )


def check_backward(
    module: Any,
    inputs: dict[str, np.ndarray],
    pytorch: Any = None,
    closed_forms: dict | None = None,
    seed: int = 0,
    **arguments: Any,
) -> Report:
    """Check a hand-written backward by finite differences and, where there are any, PyTorch's autograd and closed forms.

    Args:
        module: a module of `shared.numpy` in float64.
        inputs: name -> array, in the order of the call.
        pytorch: its PyTorch twin, or anything of PyTorch's with the same weights; gets the module's weights. None without PyTorch.
        closed_forms: name of an input or a parameter -> function of the upstream gradient that returns its gradient.
        seed: of the random upstream gradient.
        arguments: further arguments of the call, such as mask.

    Raises:
        AssertionError: if one of the answers differs.
        ValueError: if closed_forms names what the module does not have.
    """
    upstream = _random_upstream(seed)
    ours = _run_numpy(module, inputs, upstream, arguments)
    theirs = {}
    if pytorch is not None:
        pytorch.double()
        set_weights(pytorch, get_weights(module))
        theirs = _run_pytorch(pytorch, inputs, upstream, arguments)
    grad_output = upstream(ours["output"])

    def objective() -> float:
        return float((module(*inputs.values(), **arguments) * grad_output).sum())

    arrays = {name: x for name, x in inputs.items() if x.dtype.kind == "f"}
    arrays |= {name: slot.parameter.value for name, slot in slots(module).items()}
    if unknown := set(closed_forms or {}) - set(arrays):
        raise ValueError(f"closed_forms has {', '.join(sorted(unknown))}: expected names among {', '.join(arrays)}")
    tolerances = {"finite differences": 1e-7}
    tolerances |= {"PyTorch's autograd": 1e-10} if theirs else {}
    tolerances |= {"closed form": 1e-10} if closed_forms else {}
    rows = []
    for name, array in arrays.items():
        gradient = ours[f"gradient of {name}"]
        answers = {"finite differences": numerical_gradient(objective, array)}
        if theirs:
            answers["PyTorch's autograd"] = theirs[f"gradient of {name}"]
        if closed_forms and name in closed_forms:
            answers["closed form"] = closed_forms[name](grad_output)
        rows += [
            difference(f"gradient of {name}", against, gradient, answer, tolerances[against])
            for against, answer in answers.items()
        ]
    return Report(rows, tolerances)
