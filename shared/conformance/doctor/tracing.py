"""What a model computes on the way: every call of a layer, with what it read and what it returned, and any of it replaced.

PyTorch's layers are seen by hooks. Keras' are seen because `Layer.__call__` is another function for the time of one call.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shared.arrays import as_numpy, framework_of, from_numpy

Place = tuple[int, str, int]  # the number of a call, "in" or "out", and which of its arrays


@dataclass(eq=False)
class Call:
    """One call of a layer.

    Args:
        number: in the order in which calls begin.
        path: of the layer in the model; empty for the model itself.
        inside: the number of the call that made this one; None for the model's.
        narrow: which of float16, bfloat16 and float32 it read or returned.
        ins, outs: the arrays that it read and returned; bfloat16 as float32, because NumPy has none.
        begins, ends: when, on a clock that every call moves twice.
    """

    number: int
    path: str
    layer: Any
    inside: int | None
    narrow: set[str] = field(default_factory=set)
    ins: list[np.ndarray] = field(default_factory=list)
    outs: list[np.ndarray] = field(default_factory=list)
    begins: int = 0
    ends: int = 0

    @property
    def name(self) -> str:
        """Its path and its class, for a sentence."""
        return f"{self.path or 'the model'} ({type(self.layer).__name__})"


@dataclass
class Trace:
    """The calls of a model's layers in their order, the model's first, and its outputs."""

    calls: list[Call]
    outputs: list[np.ndarray]

    def places(self) -> Iterator[tuple[int, Place, np.ndarray]]:
        """Every array that was read or returned, in the order of time: when, where, and the array."""
        found = []
        for call in self.calls:
            found += [(call.begins, (call.number, "in", index), each) for index, each in enumerate(call.ins)]
            found += [(call.ends, (call.number, "out", index), each) for index, each in enumerate(call.outs)]
        return iter(sorted(found, key=lambda each: each[0]))

    def __repr__(self) -> str:
        lines = []
        for call in self.calls:
            shapes = (", ".join(str(each.shape) for each in arrays) for arrays in (call.ins, call.outs))
            lines.append("{:44} {} -> {}".format(call.name, *shapes))
        return "\n".join(lines)


def trace(
    model: Any, *inputs: Any, call: Callable[[Any], Any] | None = None, replace: dict[Place, np.ndarray] | None = None
) -> Trace:
    """Call a model once, as it is, and keep what its layers read and returned.

    Args:
        model: of PyTorch or Keras; it must not be compiled, because a compiled call has no layers.
        inputs: its inputs, arrays of NumPy by position; None for those that `call` makes.
        call: how the model is called, if not by these inputs.
        replace: arrays to put in place of what a layer reads or returns; the model goes on with them.

    Raises:
        TypeError: if it is neither PyTorch's nor Keras'.
        ValueError: if no layer was seen.
    """
    framework = framework_of(model)
    if framework == "numpy":
        raise TypeError(f"model is a {type(model).__name__}: expected a model of PyTorch or Keras")
    seen = _Seen(replace or {})
    kept = _state_of(model, framework)
    with (_hooks if framework == "pytorch" else _keras_calls)(model, seen):
        try:
            given = [from_numpy(each, framework) for each in inputs]
            output = call(model) if call is not None else model(*given)
        finally:
            _put_back(model, framework, kept)
    if not seen.calls:
        raise ValueError("no layer was seen: a compiled model has none; hand over the model that was compiled")
    return Trace(seen.calls, [_kept(each, seen.calls[0]) for each in leaves(output)])


class _Seen:
    """What is kept while a model is called."""

    def __init__(self, replace: dict[Place, np.ndarray]):
        self.replace, self.calls, self.open, self.clock = replace, [], [], 0

    def enter(self, layer: Any, path: str, given: Any) -> Any:
        self.clock += 1
        call = Call(len(self.calls), path, layer, self.open[-1].number if self.open else None, begins=self.clock)
        self.calls.append(call)
        self.open.append(call)
        given = self._replaced(given, call, "in")
        call.ins = [_kept(each, call) for each in leaves(given)]
        return given

    def leave(self, output: Any) -> Any:
        call = self.open.pop()
        self.clock += 1
        call.ends = self.clock
        output = self._replaced(output, call, "out")
        call.outs = [_kept(each, call) for each in leaves(output)]
        return output

    def _replaced(self, value: Any, call: Call, side: str) -> Any:
        new = {
            index: array
            for (number, where, index), array in self.replace.items()
            if (number, where) == (call.number, side)
        }
        return _with(value, new, iter(range(10**6))) if new else value


def _kept(tensor: Any, call: Call) -> np.ndarray:
    """The tensor as an array, and in the call's record if it is of few digits."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    dtype = dtype.split("'")[1] if "'" in dtype else dtype  # as TensorFlow writes it
    if dtype in ("float16", "bfloat16", "float32"):
        call.narrow.add(dtype)
    return array_of(tensor)


def array_of(tensor: Any) -> np.ndarray:
    """A tensor or weight as an array, bfloat16 as float32."""
    if "bfloat16" not in str(tensor.dtype):
        return as_numpy(tensor)
    torch = sys.modules.get("torch")
    is_torch = torch is not None and isinstance(tensor, torch.Tensor)
    return as_numpy(tensor.float() if is_torch else sys.modules["keras"].ops.cast(tensor, "float32"))


def leaves(value: Any) -> list[Any]:
    """The tensors of a structure of lists, tuples and dicts, in their order; a Keras model may be given arrays."""
    if isinstance(value, dict):
        return [each for part in value.values() for each in leaves(part)]
    if isinstance(value, list | tuple):
        return [each for part in value for each in leaves(part)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return leaves({part.name: getattr(value, part.name) for part in dataclasses.fields(value)})
    return [value] if _is_tensor(value) else []


def _is_tensor(value: Any) -> bool:
    torch, keras = sys.modules.get("torch"), sys.modules.get("keras")
    if isinstance(value, np.ndarray) or (torch is not None and isinstance(value, torch.Tensor)):
        return True
    return keras is not None and keras.ops.is_tensor(value) and not isinstance(value, keras.KerasTensor)


def _with(value: Any, new: dict[int, np.ndarray], count: Iterator[int]) -> Any:
    """The structure with its n-th tensor replaced, where there is a new one."""
    if isinstance(value, dict):
        changed = {name: _with(part, new, count) for name, part in value.items()}
        return changed if type(value) is dict else type(value)(**changed)
    if isinstance(value, list | tuple):
        parts = [_with(part, new, count) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
        return dataclasses.replace(value, **_with(parts, new, count))
    if not _is_tensor(value):
        return value
    array = new.get(next(count))
    if array is None:
        return value
    old = array_of(value)
    array = np.asarray(array).astype(old.dtype).reshape(old.shape)
    if isinstance(value, np.ndarray):
        return array
    if "torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor):
        return sys.modules["torch"].as_tensor(array).to(value)
    return sys.modules["keras"].ops.convert_to_tensor(array, dtype=value.dtype)


@contextlib.contextmanager
def _hooks(model: Any, seen: _Seen) -> Iterator[None]:
    """PyTorch: a hook before and after each module. (They also switch the fused path of its encoder layers off.)"""
    torch = sys.modules["torch"]
    fast = torch.backends.mha.get_fastpath_enabled()
    handles = []

    def before(path: str) -> Callable:
        return lambda layer, args, named: seen.enter(layer, path, (args, named))

    for path, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(before(path), with_kwargs=True))
        handles.append(module.register_forward_hook(lambda layer, args, output: seen.leave(output)))
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad(), torch.compiler.set_stance("force_eager"):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for each in handles:
            each.remove()


@contextlib.contextmanager
def _keras_calls(model: Any, seen: _Seen) -> Iterator[None]:
    """Keras: every layer's call goes through the `__call__` of its base class."""
    del model
    layer_class = sys.modules["keras"].layers.Layer
    own = layer_class.__call__

    def called(layer: Any, *args: Any, **named: Any) -> Any:
        above = seen.open[-1].path if seen.open else None
        path = "" if above is None else f"{above}/{layer.name}".lstrip("/")
        args, named = seen.enter(layer, path, (args, named))
        return seen.leave(own(layer, *args, **named))

    layer_class.__call__ = called
    try:
        yield
    finally:
        layer_class.__call__ = own


def _state_of(model: Any, framework: str) -> list[Any]:
    """What a call in training mode changes: moving statistics, and the seeds of dropout."""
    if framework == "keras":
        return [(each, np.array(array_of(each))) for each in model.non_trainable_variables]
    return [(each, each.clone()) for each in model.buffers()]


def _put_back(model: Any, framework: str, kept: list[Any]) -> None:
    if framework == "keras":
        for variable, old in kept:
            if not np.array_equal(array_of(variable), old):
                variable.assign(old)
        return
    for buffer, old in kept:
        if not buffer.equal(old):
            buffer.copy_(old)


def randomize(model: Any, seed: int = 0, scale: float = 0.5) -> Any:
    """Put random numbers into every weight, because zeros and ones hide mistakes; the model itself is changed, and returned.

    Args:
        model: of PyTorch or Keras, not a trained one: its weights are gone afterwards. Variances stay above 0.
        scale: the standard deviation of vectors; that of a kernel is divided by the root of its number of rows.
    """
    rng, framework = np.random.default_rng(seed), framework_of(model)
    if framework == "numpy":
        raise TypeError(f"model is a {type(model).__name__}: expected a model of PyTorch or Keras")
    if framework == "keras":
        named = [(each.path, each) for each in model.weights if "seed" not in each.path]
    else:
        statistics = (
            (name, each) for name, each in model.named_buffers() if name.endswith(("running_mean", "running_var"))
        )
        named = [*model.named_parameters(), *statistics]  # another buffer is a table or a mask
    for name, weight in named:
        old = array_of(weight)
        if old.dtype.kind != "f":
            continue
        new = rng.normal(size=old.shape) * (scale if old.ndim < 2 else (np.prod(old.shape[:-1]) or 1) ** -0.5)
        new = old + new if old.ndim < 2 else new
        if "var" in name.rpartition("/")[2].rpartition(".")[2]:
            new = np.abs(new) + 0.5
        if framework == "keras":
            weight.assign(new.astype(old.dtype))
        else:
            with sys.modules["torch"].no_grad():
                weight.copy_(sys.modules["torch"].as_tensor(new.astype(old.dtype)))
    return model
