"""One naming and one layout of weights for the three frameworks: copy, save and load.

A weight's name is its path through the model's attributes, such as `blocks.0.attention.query.kernel`; a kernel's layout is
(in, out), that of a convolution (height, width, in, out). `get_weights` and `set_weights` translate to and from what each
framework stores, so a model trained in one framework predicts in another. On disk the weights are a safetensors file, which
holds arrays and text and can run no code.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
import safetensors.numpy

from shared.files import check_path, write_whole


class Slot(NamedTuple):
    """One weight of a model: where its framework keeps it, and how it looks in the course's layout."""

    parameter: Any  # a NumPy track Parameter, a torch.nn.Parameter or a keras.Variable
    to_course: Callable[[np.ndarray], np.ndarray] = np.asarray
    from_course: Callable[[np.ndarray], np.ndarray] = np.asarray


def slots(model: Any) -> dict[str, Slot]:
    """Every trainable weight of a module of any track, by its name in the course; one that layers share, by its first name.

    Args:
        model: a module of `shared.numpy`, a `torch.nn.Module`, or a built `keras.layers.Layer`.

    Raises:
        TypeError: if the model belongs to none of the three.
        ValueError: if a Keras layer has no weights yet because it was never called.
    """
    if "keras" in sys.modules and isinstance(model, sys.modules["keras"].layers.Layer):
        if not model.built:
            raise ValueError(
                f"model {model.name!r} has no weights yet: call it once, or its build, before its weights are read or set"
            )
        return _once((_renamed(name), slot) for name, slot in _keras_slots(model, ""))
    if "torch" in sys.modules and isinstance(
        model, sys.modules["torch"].nn.Module
    ):  # a Keras layer is one, too, on that backend
        return _once(_pytorch_slots(model))
    # Behind Keras, which on its PyTorch backend makes every layer a torch.nn.Module too.
    if hasattr(model, "named_parameters"):
        return {name: Slot(parameter) for name, parameter in model.named_parameters()}
    raise TypeError(
        f"model is a {type(model).__name__}: expected a module of shared.numpy, a torch.nn.Module or a keras Layer"
    )


def _once(slots: Iterator[tuple[str, Slot]]) -> dict[str, Slot]:
    """Each weight by the first of its names: a weight that two layers share is still one weight."""
    found: dict[int, tuple[str, Slot]] = {}
    for name, slot in slots:
        found.setdefault(id(slot.parameter), (name, slot))
    return dict(found.values())


def _pytorch_slots(model: Any) -> Iterator[tuple[str, Slot]]:
    nn = sys.modules["torch"].nn
    names = {
        nn.Linear: {"weight": "kernel"},
        nn.LayerNorm: {"weight": "gamma", "bias": "beta"},
        nn.Embedding: {"weight": "embeddings"},
        nn.Conv2d: {"weight": "kernel"},
    }
    # torch keeps a Linear's weight as (out, in), and a Conv2d's as (out, in, height, width).
    layouts = {nn.Linear: ((1, 0), (1, 0)), nn.Conv2d: ((2, 3, 1, 0), (3, 2, 0, 1))}
    for path, module in model.named_modules():
        renamed = next((new for kind, new in names.items() if isinstance(module, kind)), {})
        for name, parameter in module.named_parameters(recurse=False):
            course_name = ".".join(filter(None, (path, renamed.get(name, name))))
            axes = next((axes for kind, axes in layouts.items() if isinstance(module, kind) and name == "weight"), None)
            yield (course_name, Slot(parameter, *map(_transposing, axes)) if axes else Slot(parameter))


# What Keras users call the parts of a Transformer, by the course's names.
_IN_KERAS = (
    (r"^block_(\d+)\.", r"encoder.blocks.\1."),
    (r"(^|\.)att\.", r"\1attention."),
    (r"(^|\.)ffn\.", r"\1feed_forward."),
    (r"(^|\.)layernorm1\.", r"\1attention_residual.norm."),
    (r"(^|\.)layernorm2\.", r"\1feed_forward_residual.norm."),
)


def _renamed(name: str) -> str:
    for pattern, course in _IN_KERAS:
        name = re.sub(pattern, course, name)
    return name


def _transposing(axes: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda value: np.transpose(value, axes)


def _keras_slots(layer: Any, path: str) -> Iterator[tuple[str, Slot]]:
    keras = sys.modules["keras"]
    own = {
        keras.layers.Dense: ("kernel", "bias"),
        keras.layers.Conv2D: ("kernel", "bias"),
        keras.layers.LayerNormalization: ("gamma", "beta"),
        keras.layers.Embedding: ("embeddings",),
    }
    if isinstance(layer, keras.layers.MultiHeadAttention):
        yield from _keras_attention_slots(layer, path)
        return
    for kind, names in own.items():
        if isinstance(layer, kind):
            yield from ((path + name, Slot(getattr(layer, name))) for name in names if getattr(layer, name) is not None)
            return
    if isinstance(layer, (keras.Sequential, keras.Model)) and type(layer).__module__.startswith("keras."):
        children = {
            child.name: child for child in layer.layers
        }  # built by Sequential or the functional API: no attributes to name them by
    else:
        attributes = vars(layer)
        if hasattr(layer, "named_children"):  # on its PyTorch backend, where a layer is a torch.nn.Module
            attributes = attributes | dict(layer.named_children())
        children = {name: value for name, value in attributes.items() if not name.startswith("_")}
    for name, child in children.items():
        for key, item in (
            {f"{name}.{i}": each for i, each in enumerate(child)}.items()
            if isinstance(child, (list, tuple))
            else ((name, child),)
        ):
            if isinstance(item, keras.Variable) and item.trainable:
                yield path + key, Slot(item)
            elif isinstance(item, keras.layers.Layer):
                # `output` is taken in a layer of Keras: its attention has query_dense, ..., output_dense, and so has the course's
                yield from _keras_slots(item, f"{path}{key.removesuffix('_dense')}.")


def _keras_attention_slots(layer: Any, path: str) -> Iterator[tuple[str, Slot]]:
    """Keras keeps query, key and value kernels as (d_model, heads, head_dim), the output kernel as (heads, head_dim, d_model)."""
    for name in ("query", "key", "value", "output"):
        dense = getattr(layer, f"{name}_dense")
        for kind, parameter in (("kernel", dense.kernel), ("bias", dense.bias)):
            shape = tuple(parameter.shape)
            if kind == "bias":
                course_shape = (int(np.prod(shape)),)
            else:
                course_shape = (shape[0] * shape[1], shape[2]) if name == "output" else (shape[0], shape[1] * shape[2])

            def to_course(value: np.ndarray, course_shape=course_shape) -> np.ndarray:
                return value.reshape(course_shape)

            def from_course(value: np.ndarray, shape=shape) -> np.ndarray:
                return value.reshape(shape)

            yield f"{path}{name}.{kind}", Slot(parameter, to_course, from_course)


def as_numpy(tensor: Any) -> np.ndarray:
    """A NumPy copy of a tensor, variable or parameter of any track, wherever it lives."""
    keras = sys.modules.get("keras")
    if keras is not None and isinstance(tensor, keras.Variable):
        tensor = tensor.value
    if "torch" in sys.modules and isinstance(tensor, sys.modules["torch"].Tensor):
        return tensor.detach().cpu().numpy().copy()
    if keras is not None and keras.ops.is_tensor(tensor):
        # TensorFlow's own way comes without the warning about `copy` that NumPy 2 gives, and that takes time.
        return np.array(tensor.numpy() if hasattr(tensor, "numpy") else keras.ops.convert_to_numpy(tensor))
    return np.array(getattr(tensor, "value", tensor))  # a Parameter of the NumPy track keeps its array in `value`


def assign(parameter: Any, value: np.ndarray) -> None:
    """Write an array into a parameter of any framework, in place, in the parameter's own dtype and on its own device."""
    if "torch" in sys.modules and isinstance(parameter, sys.modules["torch"].Tensor):
        with sys.modules["torch"].no_grad():
            # PyTorch reads neither NumPy's bfloat16 nor a foreign byte order; float64 has room for both.
            parameter.copy_(sys.modules["torch"].from_numpy(np.array(value, np.float64)).to(parameter.dtype))
    elif "keras" in sys.modules and isinstance(parameter, sys.modules["keras"].Variable):
        parameter.assign(np.array(value, parameter.dtype))
    else:
        parameter.value[...] = value


def get_weights(model: Any) -> dict[str, np.ndarray]:
    """Copy every trainable weight out of a module of any track.

    Args:
        model: as for `slots`.

    Returns:
        name -> array in the course's layout and the model's dtype.
    """
    return {name: np.ascontiguousarray(slot.to_course(as_numpy(slot.parameter))) for name, slot in slots(model).items()}


def match(expected: dict[str, tuple[int, ...]], given: dict[str, np.ndarray], what: str = "weights") -> None:
    """Raise one ValueError that lists every array that is missing, unexpected, mis-shaped or not floating-point."""
    wrong = [f"missing: {name}" for name in expected if name not in given]
    wrong += [f"unexpected: {name}" for name in given if name not in expected]
    wrong += [
        f"{name} has shape {np.shape(given[name])}, expected {shape}"
        for name, shape in expected.items()
        if name in given and np.shape(given[name]) != shape
    ]
    # By its name, because the kind of the bfloat16 that Keras hands out is not "f".
    dtypes = {name: np.asarray(given[name]).dtype.name for name in expected if name in given}
    wrong += [
        f"{name} has dtype {dtype}, expected floating-point numbers"
        for name, dtype in dtypes.items()
        if "float" not in dtype
    ]
    if wrong:
        raise ValueError(f"{what} do not fit the model: {'; '.join(wrong)}")


def set_weights(model: Any, weights: dict[str, np.ndarray]) -> None:
    """Copy weights, from a module of any track, into a module of any track.

    Args:
        model: as for `slots`; each weight keeps its dtype and device.
        weights: name -> array in the course's layout, as `get_weights` gives them.

    Raises:
        ValueError: if an entry is missing, unexpected, mis-shaped or not floating-point; all of them are listed, and
            the model is unchanged.
    """
    by_name = slots(model)
    match({name: array.shape for name, array in get_weights(model).items()}, weights)
    for name, slot in by_name.items():
        assign(slot.parameter, slot.from_course(np.asarray(weights[name])))


def save_arrays(arrays: dict[str, np.ndarray], path: str | os.PathLike, metadata: dict[str, Any] | None = None) -> None:
    """Write named arrays, and metadata that JSON can say, to a safetensors file: whole or not at all."""
    contents = safetensors.numpy.save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()},
        metadata={"course": json.dumps(metadata or {})},
    )
    write_whole(path, contents)


# Floating-point numbers of fewer than 16 bits (F8_E4M3, F6_E2M3, F4, ...): NumPy has none of them.
_SMALL_FLOATS = ("F4", "F6_", "F8_")


def _bfloat16(path: Path) -> dict[str, np.ndarray]:
    """The bfloat16 arrays of a safetensors file, as float32: the same numbers, whose 16 lower bits are zero."""
    return {
        name: (np.frombuffer(tensor["data"], "<u2").astype(np.uint32) << 16).view(np.float32).reshape(tensor["shape"])
        for name, tensor in safetensors.deserialize(path.read_bytes())
        if tensor["dtype"] == "BF16"
    }


def load_arrays(path: str | os.PathLike) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read what `save_arrays` wrote, or any safetensors file.

    Returns:
        the arrays by name, bfloat16 as float32 because NumPy has none; and the metadata of `save_arrays`, empty for another's file.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is truncated or no safetensors file, or holds a float8 or other dtype that NumPy lacks.
    """
    check_path(path=path)
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path={path.name!r}: no such file")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = json.loads((file.metadata() or {}).get("course", "{}"))
            dtypes = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118 - no mapping
            small = [f"{name} has dtype {dtype}" for name, dtype in dtypes.items() if dtype.startswith(_SMALL_FLOATS)]
            wanted = [] if small else [name for name, dtype in dtypes.items() if dtype != "BF16"]
            arrays = {name: file.get_tensor(name) for name in wanted}
        arrays |= _bfloat16(path) if "BF16" in dtypes.values() else {}
    except (safetensors.SafetensorError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is truncated or no safetensors file: {error}") from error
    if small:
        raise ValueError(f"{path.name}: {'; '.join(small)}: expected a dtype of NumPy, or bfloat16")
    return arrays, metadata


def save_weights(model: Any, path: str | os.PathLike) -> None:
    """Save a model's weights as a safetensors file that every track can load: whole or not at all.

    Args:
        model: as for `slots`.
        path: the file to write; one that exists is replaced when the new one is complete.
    """
    save_arrays(get_weights(model), path)


def load_weights(model: Any, path: str | os.PathLike) -> None:
    """Load weights that `save_weights` wrote, from whichever track, into a model.

    Args:
        model: as for `slots`.
        path: the file to read.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is truncated or foreign, or does not fit the model, which is left unchanged.
    """
    set_weights(model, load_arrays(path)[0])
