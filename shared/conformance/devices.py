"""Each layer, model and function of the PyTorch track on an accelerator, held against the CPU: `make device-check`."""

import argparse
import copy
import importlib
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

import shared
from shared.conformance.laws import relative_difference
from shared.conformance.subjects import SUBJECTS, Subject

# Both compute in float32, and add up in another order.
BELOW = 1e-4


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


def beside_the_cpu(
    subject: Subject, device: torch.device, move: Callable[[Any, torch.device], Any] | None = None
) -> Row:
    """A subject with the same weights, inputs and upstream gradients on a device and on the CPU.

    Args:
        move: puts a layer or a tensor there; its own `to` if not given.
    """
    move = move or (lambda thing, where: thing.to(where))
    here = subject.made(_of, "pytorch")
    given = subject.named if subject.is_layer else subject.arguments
    arrays = {name: torch.tensor(array) for name, array in subject.draw(0, "float32").items()}
    results = []
    try:
        for where in (torch.device("cpu"), device):
            layer = move(copy.deepcopy(here).eval(), where) if subject.is_layer else here
            tensors = {name: move(tensor, where).detach() for name, tensor in arrays.items()}
            for tensor in tensors.values():
                tensor.requires_grad_(tensor.is_floating_point())
            output = layer(**tensors, **given)
            output = output[0] if isinstance(output, tuple | list) else output
            results.append((output.detach().cpu(), _gradients(layer, tensors, output, where)))
    except (RuntimeError, TypeError) as error:  # what an accelerator can't do is a row of the table
        return Row(subject.path, 0.0, 0.0, f"{type(error).__name__}: {str(error).splitlines()[0][:120]}")
    (expected, theirs), (found, ours) = results
    if ours.keys() != theirs.keys():
        return Row(subject.path, 0.0, 0.0, f"other gradients: {', '.join(sorted(ours.keys() ^ theirs.keys()))}")
    gradients = max((relative_difference(ours[name], theirs[name]) for name in theirs), default=0.0)
    return Row(subject.path, relative_difference(found, expected), gradients, "")


def _of(path: str) -> Any:
    module, _, name = path.partition(".")
    return getattr(importlib.import_module(f"shared.pytorch.{module}"), name)


def _gradients(
    layer: Any, tensors: dict[str, torch.Tensor], output: torch.Tensor, where: torch.device
) -> dict[str, torch.Tensor]:
    """Those of the inputs and of the weights, for an upstream gradient that is the same everywhere."""
    if not output.requires_grad:
        return {}
    upstream = torch.randn(output.shape, generator=torch.Generator().manual_seed(1)).to(where)
    output.backward(upstream.to(output.dtype))
    weights = dict(layer.named_parameters()) if isinstance(layer, torch.nn.Module) else {}
    return {name: each.grad.cpu() for name, each in {**tensors, **weights}.items() if each.grad is not None}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m shared.conformance.devices", description=__doc__)
    parser.add_argument("--device", help="such as cuda or mps; the accelerator that PyTorch finds, if not given")
    named = parser.parse_args().device
    device = torch.device(named) if named else shared.best_device()
    if device.type == "cpu" and not named:
        sys.exit("PyTorch finds no accelerator here. To see the check itself, compare the CPU with itself: DEVICE=cpu")
    torch.backends.cudnn.allow_tf32 = False  # which has ten bits of a float32's 23
    start = time.perf_counter()
    rows = [beside_the_cpu(subject, device) for subject in SUBJECTS if "pytorch" in subject.tracks]
    print(
        f"{device} beside the CPU, PyTorch {torch.__version__}, largest relative differences in float32, below {BELOW:g}:"
    )
    print(*rows, sep="\n")
    wrong = sum(not row.ok for row in rows)
    print(f"{len(rows) - wrong} of {len(rows)} agree, in {time.perf_counter() - start:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
