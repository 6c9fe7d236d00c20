"""Each layer, model and function of the PyTorch and Keras tracks on an accelerator, held against the CPU: `make device-check`."""

import argparse
import contextlib
import copy
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import shared
from shared.arrays import as_numpy
from shared.conformance.laws import relative_difference
from shared.conformance.subjects import SUBJECTS, Subject
from shared.frameworks.masks import in_keras

# What rounding explains: both compute in float32, and add up in another order. Relative to the largest number, or to 1.
BELOW = 1e-4
# What TensorFlow calls the devices of PyTorch.
ON_TENSORFLOW = {"cpu": "cpu:0", "cuda": "gpu:0", "mps": "gpu:0"}
Values = dict[str, np.ndarray]


class Row(NamedTuple):
    """One subject: the largest relative differences of its output and of all gradients, or why it didn't run."""

    path: str
    output: float
    gradients: float
    problem: str

    @property
    def ok(self) -> bool:
        return not self.problem and max(self.output, self.gradients) < BELOW

    def __str__(self) -> str:
        found = self.problem or f"output {self.output:.1e}   gradients {self.gradients:.1e}"
        return f"{self.path:44} {found}{'' if self.ok else '   DIFFERS'}"


def beside_the_cpu(subject: Subject, run: Callable[[Subject, str, Any], tuple[Values, Any]], device: str) -> Row:
    """A subject with the same weights, inputs and upstream gradients on a device and on the CPU.

    Args:
        run: `run_pytorch` or `run_keras`: the output and the gradients on a device, and what the next device is given to have
            the same weights.
        device: as PyTorch calls it, such as cuda or mps.
    """
    try:
        expected, same = run(subject, "cpu", None)
        found, _ = run(subject, device, same)
    except Exception as error:  # noqa: BLE001 - what an accelerator can't do is a row of the table
        return Row(subject.path, 0.0, 0.0, f"{type(error).__name__}: {str(error).partition(chr(10))[0][:120]}")
    if found.keys() != expected.keys():
        return Row(subject.path, 0.0, 0.0, f"other gradients: {', '.join(sorted(found.keys() ^ expected.keys()))}")
    differences = {name: relative_difference(found[name], expected[name]) for name in expected}
    return Row(subject.path, differences.pop("output"), max(differences.values(), default=0.0), "")


def run_pytorch(subject: Subject, device: str, layer: Any) -> tuple[Values, Any]:
    """The output and the gradients of a subject on a device of PyTorch, of a copy of the layer if one is given."""
    import torch

    layer = subject.made(_of("pytorch"), "pytorch") if layer is None else layer
    here = copy.deepcopy(layer).eval().to(device) if subject.is_layer else layer
    tensors = {name: torch.tensor(array, device=device) for name, array in subject.draw(0, "float32").items()}
    for tensor in tensors.values():
        tensor.requires_grad_(tensor.is_floating_point())
    output = _first(here(**tensors, **(subject.named if subject.is_layer else subject.arguments)))
    values = {"output": as_numpy(output)}
    if output.requires_grad:
        output.backward(torch.tensor(_upstream(output.shape), device=device, dtype=output.dtype))
        weights = dict(here.named_parameters()) if subject.is_layer else {}
        gradients = {name: each.grad for name, each in {**tensors, **weights}.items() if each.grad is not None}
        values |= {f"gradient of {name}": as_numpy(each) for name, each in gradients.items()}
    return values, layer


def run_keras(subject: Subject, device: str, weights: list[np.ndarray] | None) -> tuple[Values, list[np.ndarray]]:
    """The output and the gradients of a subject on a device of TensorFlow, with weights if they are given."""
    import keras
    import tensorflow as tf

    there = ON_TENSORFLOW[device]
    with keras.device(there):
        layer = subject.made(_of("keras"), "keras")
        arrays = {each: tf.convert_to_tensor(array) for each, array in subject.draw(0, "float32").items()}
        own = subject.named if subject.is_layer else subject.arguments
        given = in_keras(getattr(layer, "call", layer), arrays | dict(own))
        sources = {name: each for name, each in arrays.items() if each.dtype.is_floating}
        if subject.is_layer:
            layer(**given)  # which makes the weights
            if weights is not None:
                layer.set_weights(weights)
            sources |= {f"weight {place}": each.value for place, each in enumerate(layer.trainable_variables)}
        names, sources = list(sources), list(sources.values())
        with tf.GradientTape() as tape:
            tape.watch(sources)
            output = _first(layer(**given))
        if not output.device.lower().endswith(there):
            raise RuntimeError(f"computed on {output.device}")
        values = {"output": as_numpy(output)}
        if output.dtype.is_floating:
            upstream = tf.convert_to_tensor(_upstream(output.shape), output.dtype)
            gradients = tape.gradient(output, sources, output_gradients=upstream)
            found = {name: each for name, each in zip(names, gradients) if each is not None}
            values |= {f"gradient of {name}": as_numpy(tf.convert_to_tensor(each)) for name, each in found.items()}
    return values, layer.get_weights() if subject.is_layer else []


def _of(track: str) -> Callable[[str], Any]:
    """What gives a class or function of a track by its path."""

    def of(path: str) -> Any:
        module, _, name = path.partition(".")
        return getattr(importlib.import_module(f"shared.{track}.{module}"), name)

    return of


def _first(output: Any) -> Any:
    return output[0] if isinstance(output, tuple | list) else output


def _upstream(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(1).normal(size=tuple(shape)).astype("float32")


def accelerators(named: str | None) -> dict[str, str]:
    """Track -> the device to compare, as PyTorch calls it: the one that is named, or what each framework finds."""
    found = {}
    with contextlib.suppress(ModuleNotFoundError):
        import torch  # noqa: F401

        device = named or shared.best_device().type
        if named or device != "cpu":
            found["pytorch"] = device
    with contextlib.suppress(ModuleNotFoundError):
        import keras  # noqa: F401
        import tensorflow as tf

        if named or tf.config.list_physical_devices("GPU"):
            found["keras"] = named or "cuda"
    return found


def main() -> None:
    import shared.notebook  # noqa: F401 - a safe order of imports, quiet libraries

    parser = argparse.ArgumentParser(prog="python -m shared.conformance.devices", description=__doc__)
    parser.add_argument(
        "--device", choices=ON_TENSORFLOW, help="if not given, the accelerator that each framework finds"
    )
    named = parser.parse_args().device
    found = accelerators(named)
    if not found:
        sys.exit(
            "no framework finds an accelerator here. To see the check itself, compare the CPU with itself: DEVICE=cpu"
        )
    start = time.perf_counter()
    print(f"Beside the CPU, largest differences in float32, relative to the largest number or to 1, below {BELOW:g}:")
    rows = []
    for track, device in found.items():
        if track == "pytorch":
            import torch

            torch.backends.cudnn.allow_tf32 = False  # TF32 keeps ten of float32's 23 bits
            run, title = run_pytorch, f"PyTorch {torch.__version__} on {device}"
        else:
            import tensorflow as tf

            tf.config.experimental.enable_tensor_float_32_execution(False)
            run, title = run_keras, f"Keras on TensorFlow {tf.__version__}, {ON_TENSORFLOW[device]}"
        print(f"\n{title}")
        for subject in SUBJECTS:
            if track in subject.tracks:
                rows.append(beside_the_cpu(subject, run, device))
                print(rows[-1], flush=True)
    wrong = sum(not row.ok for row in rows)
    print(f"\n{len(rows) - wrong} of {len(rows)} agree, in {time.perf_counter() - start:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
