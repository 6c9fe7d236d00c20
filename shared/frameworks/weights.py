"""One naming and one layout of weights for the three frameworks: copy, save and load.

A weight's name is its path through the model's attributes, such as `blocks.0.attention.query.kernel`; a kernel's layout is
(in, out), that of a convolution (height, width, in, out). `get_weights` and `set_weights` translate to and from what each
framework stores, so a model trained in one framework predicts in another. On disk the weights are a safetensors file, which
holds arrays and text and can run no code.
"""

import functools
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import safetensors
import safetensors.numpy

from shared.arrays import as_numpy
from shared.files import check_path, write_whole


class Slot(NamedTuple):
    """One weight of a model: where its framework keeps it, and how it looks in the course's layout."""

    parameter: Any  # a NumPy track Parameter, a torch.nn.Parameter or buffer, or a keras.Variable
    to_course: Callable[[np.ndarray], np.ndarray] = np.asarray
    from_course: Callable[[np.ndarray], np.ndarray] = np.asarray

    @property
    def trainable(self) -> bool:
        """Whether training moves it: not so where it is frozen, or a running mean."""
        keras_says = getattr(self.parameter, "trainable", True)
        return bool(keras_says and getattr(self.parameter, "requires_grad", True))


def slots(model: Any) -> dict[str, Slot]:
    """Every weight of a module of any track, by its name in the course; one that layers share, by its first name.

    A frozen weight is one too, and so is what a model keeps beside its weights to predict with, such as the running means of
    batch normalization: all that `model.weights` of Keras and `state_dict()` of PyTorch have.

    Args:
        model: a module of `shared.numpy`, a `torch.nn.Module`, or a built `keras.layers.Layer`.

    Raises:
        TypeError: if the model belongs to none of the three.
        ValueError: if a Keras layer has no weights yet because it was never called, if two weights have one name, or if
            PyTorch keeps something that is no tensor.
    """
    if "keras" in sys.modules and isinstance(model, sys.modules["keras"].layers.Layer):
        if not model.built:
            raise ValueError(
                f"model {model.name!r} has no weights yet: call it once, or its build, before its weights are read or set"
            )
        return _once(_renamed(_keras_slots(model, "", set()), _IN_KERAS))
    if "torch" in sys.modules and isinstance(
        model, sys.modules["torch"].nn.Module
    ):  # a Keras layer is one, too, on that backend
        return _once(_renamed(_pytorch_slots(model), _IN_NUMPY))
    # Behind Keras, which on its PyTorch backend makes every layer a torch.nn.Module too.
    if hasattr(model, "named_parameters"):
        named = ((name, Slot(parameter)) for name, parameter in model.named_parameters())
        return _once(_renamed(named, _IN_NUMPY))
    raise TypeError(
        f"model is a {type(model).__name__}: expected a module of shared.numpy, a torch.nn.Module or a keras Layer"
    )


def _once(slots: Iterable[tuple[str, Slot]]) -> dict[str, Slot]:
    """Each weight by the first of its names, because one that two layers share is still one; ValueError if two have the same name."""
    first: dict[int, tuple[str, Slot]] = {}
    for name, slot in slots:
        first.setdefault(id(slot.parameter), (name, slot))
    counts = Counter(name for name, _ in first.values())
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"model has several weights that are called {', '.join(twice)}: expected a name for each")
    return dict(first.values())


def _pytorch_slots(model: Any) -> Iterator[tuple[str, Slot]]:
    nn = sys.modules["torch"].nn
    norm = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
    names = {
        (nn.Linear, nn.Conv1d, nn.Conv2d): {"weight": "kernel"},
        (nn.LayerNorm, nn.RMSNorm, nn.BatchNorm1d, nn.BatchNorm2d): norm,
        (nn.Embedding,): {"weight": "embeddings"},
    }
    # torch keeps a Linear's weight as (out, in), and a convolution's as (out, in, height, width).
    layouts = {nn.Linear: ((1, 0), (1, 0)), nn.Conv1d: ((2, 1, 0), (2, 1, 0)), nn.Conv2d: ((2, 3, 1, 0), (3, 2, 0, 1))}
    kept = model.state_dict(keep_vars=True)
    found = set()
    for path, module in model.named_modules():
        renamed = next((new for kinds, new in names.items() if isinstance(module, kinds)), {})
        for name, tensor in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
            if ".".join(filter(None, (path, name))) not in kept:
                continue  # a buffer that is computed anew, and not saved
            found.add(id(tensor))
            course_name = ".".join(filter(None, (path, renamed.get(name, name))))
            axes = next((axes for kind, axes in layouts.items() if isinstance(module, kind) and name == "weight"), None)
            yield (course_name, Slot(tensor, *map(_transposing, axes)) if axes else Slot(tensor))
    if lost := [name for name, value in kept.items() if id(value) not in found]:
        raise ValueError(
            f"model keeps {', '.join(lost)} in its state_dict, which is neither a parameter nor a buffer: save it with torch.save"
        )


# A block of NumPy keeps each norm inside of a residual connection; the name says where the block has it.
_IN_NUMPY = ((r"_residual\.norm\.", "_norm."),)
# What Keras users call the parts of a Transformer, by the course's names. `output` is taken in a layer of Keras: its attention
# has query_dense, ..., output_dense, and so has the course's.
_IN_KERAS = (
    *_IN_NUMPY,
    (r"^block_(\d+)\.", r"encoder.blocks.\1."),
    (r"(^|\.)token_emb\.", r"\1tokens."),
    (r"(^|\.)pos_emb\.embeddings$", r"\1positions"),
    (r"(^|\.)att\.", r"\1attention."),
    (r"(^|\.)ffn\.", r"\1feed_forward."),
    (r"(^|\.)layernorm1\.", r"\1attention_norm."),
    (r"(^|\.)layernorm2\.", r"\1feed_forward_norm."),
    (r"(^|\.)(query|key|value|output)_dense\.", r"\1\2."),
)


def _renamed(slots: Iterable[tuple[str, Slot]], names: Iterable[tuple[str, str]]) -> list[tuple[str, Slot]]:
    """With the course's names; where a model has something else of that name, with its own."""
    slots, renamed = list(slots), []
    for name, _ in slots:
        for pattern, course in names:
            name = re.sub(pattern, course, name)
        renamed.append(name)
    counts = Counter(renamed)
    return [(new if counts[new] == 1 else name, slot) for new, (name, slot) in zip(renamed, slots)]


def _transposing(axes: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda value: np.transpose(value, axes)


def _keras_slots(layer: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Slot]]:
    """All of `layer.weights`: those of the layers in its attributes by the path to them, the others by their own names."""
    if id(layer) in seen:
        return
    seen.add(id(layer))
    keras = sys.modules["keras"]
    if isinstance(layer, keras.layers.MultiHeadAttention):
        yield from _keras_attention_slots(layer, path)
        return
    names, of_children = {}, set()
    for name, child in _keras_children(layer):
        if isinstance(child, keras.layers.Layer):
            of_children |= {id(weight) for weight in child.weights}
            yield from _keras_slots(child, f"{path}{name}.", seen)
        elif not name.startswith("_"):
            names[id(child)] = name
    for weight in layer.weights:
        if id(weight) not in of_children:
            yield path + names.get(id(weight), weight.name), Slot(weight)


@functools.cache
def _of_keras() -> frozenset[str]:
    """The attributes that a model of Keras has for Keras' own use."""
    return frozenset(vars(sys.modules["keras"].Model(name="bare")))


def _keras_children(layer: Any) -> Iterator[tuple[str, Any]]:
    """The layers and variables that a layer has, by attribute; those of a Sequential or functional model by their names."""
    keras = sys.modules["keras"]
    attributes = vars(layer)
    if hasattr(layer, "named_children"):  # on its PyTorch backend, where a layer is a torch.nn.Module
        attributes = attributes | dict(layer.named_children())
    if isinstance(layer, keras.Sequential) or hasattr(layer, "operations"):  # which a functional model has
        yield from ((child.name, child) for child in layer.layers)
        private = []
    else:  # what is private to the layer's author, and neither Keras' nor TensorFlow's
        private = [name for name in attributes if name.startswith("_") and name not in _of_keras()]
        private = [name for name in private if not name.startswith("_self_")]
    public = [name for name in attributes if not name.startswith("_")]
    for name in (*public, *private):
        yield from _inside(name, attributes[name])


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value by its name; the items of a list, a tuple or a dict by their own, however deep."""
    if isinstance(value, (list, tuple, dict)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _inside(f"{name}.{key}", item)
    else:
        yield name, value


def _keras_attention_slots(layer: Any, path: str) -> Iterator[tuple[str, Slot]]:
    """Keras keeps query, key and value kernels as (d_model, heads, head_dim), the output kernel as (heads, head_dim, d_model)."""
    for name in ("query", "key", "value", "output"):
        for weight in getattr(layer, f"{name}_dense").weights:
            shape = tuple(weight.shape)
            if weight.name == "bias":
                course_shape = (int(np.prod(shape)),)
            elif weight.name == "kernel":
                d_in = shape[0] * shape[1] if name == "output" else shape[0]
                course_shape = (d_in, int(np.prod(shape)) // d_in)
            else:  # an adapter's
                course_shape = shape

            def to_course(value: np.ndarray, course_shape=course_shape) -> np.ndarray:
                return value.reshape(course_shape)

            def from_course(value: np.ndarray, shape=shape) -> np.ndarray:
                return value.reshape(shape)

            yield f"{path}{name}.{weight.name}", Slot(weight, to_course, from_course)


def assign(parameter: Any, value: np.ndarray) -> None:
    """Write an array into a parameter of any framework, in place, in the parameter's own dtype and on its own device."""
    if "torch" in sys.modules and isinstance(parameter, sys.modules["torch"].Tensor):
        with sys.modules["torch"].no_grad():
            # PyTorch reads neither NumPy's bfloat16 nor a foreign byte order; float64 has room for both.
            readable = np.array(value, np.float64) if parameter.is_floating_point() else np.array(value)
            parameter.copy_(sys.modules["torch"].from_numpy(readable).to(parameter.dtype))
    elif "keras" in sys.modules and isinstance(parameter, sys.modules["keras"].Variable):
        parameter.assign(np.array(value, parameter.dtype))
    else:
        parameter.value[...] = value


def get_weights(model: Any) -> dict[str, np.ndarray]:
    """Copy every weight out of a module of any track.

    Args:
        model: as for `slots`.

    Returns:
        name -> array in the course's layout and the model's dtype.
    """
    return {
        name: np.asarray(slot.to_course(as_numpy(slot.parameter)), order="C") for name, slot in slots(model).items()
    }


def match(
    expected: dict[str, tuple[int, ...]],
    given: dict[str, np.ndarray],
    what: str = "weights",
    dtypes: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Raise one ValueError that lists every array that is missing, unexpected, mis-shaped or of a wrong dtype.

    Args:
        expected: name -> shape.
        given: name -> array.
        what: the arrays, for the error.
        dtypes: name -> dtype, of those that are no floating-point numbers; all others must be.
    """
    wrong = [f"missing: {name}" for name in expected if name not in given]
    wrong += [f"unexpected: {name}" for name in given if name not in expected]
    wrong += [
        f"{name} has shape {np.shape(given[name])}, expected {shape}"
        for name, shape in expected.items()
        if name in given and np.shape(given[name]) != shape
    ]
    for name in expected:
        if name in given:
            # By its name, because the kind of the bfloat16 that Keras hands out is not "f".
            dtype = np.asarray(given[name]).dtype.name
            if dtype != dtypes[name] if name in dtypes else "float" not in dtype:
                wrong.append(f"{name} has dtype {dtype}, expected {dtypes.get(name, 'floating-point numbers')}")
    if wrong:
        message = f"{what} do not fit the model: {'; '.join(wrong)}"
        if set(expected) != set(given) and _without_numbers(expected) == _without_numbers(given):
            message += (
                ". Keras has numbered the layers anew: give each a name, such as Dense(4, name='hidden'),"
                " or call keras.utils.clear_session() before the model is made"
            )
        raise ValueError(message)


def other_dtypes(weights: dict[str, np.ndarray]) -> dict[str, str]:
    """Name -> dtype of those that are no floating-point numbers, such as a count of batches or a mask."""
    dtypes = {name: array.dtype.name for name, array in weights.items()}
    return {name: dtype for name, dtype in dtypes.items() if "float" not in dtype}


def _without_numbers(names: Iterable[str]) -> list[str]:
    """The names without the numbers that Keras gives layers that have no name: dense, dense_1, ..."""
    return sorted(re.sub(r"_\d+\b", "", name) for name in names)


def set_weights(model: Any, weights: dict[str, np.ndarray]) -> None:
    """Copy weights, from a module of any track, into a module of any track.

    Args:
        model: as for `slots`; each weight keeps its dtype and device.
        weights: name -> array in the course's layout, as `get_weights` gives them.

    Raises:
        ValueError: if an entry is missing, unexpected, mis-shaped or of a wrong dtype; all of them are listed, and
            the model is unchanged.
    """
    by_name, own = slots(model), get_weights(model)
    match({name: array.shape for name, array in own.items()}, weights, dtypes=other_dtypes(own))
    for name, slot in by_name.items():
        assign(slot.parameter, slot.from_course(np.asarray(weights[name])))


def save_arrays(arrays: dict[str, np.ndarray], path: str | os.PathLike, metadata: dict[str, Any] | None = None) -> None:
    """Write named arrays, and metadata that JSON can say, to a safetensors file: whole or not at all."""
    contents = safetensors.numpy.save(
        {name: np.asarray(array, order="C") for name, array in arrays.items()},
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
