"""What every function, layer and model of the course keeps, whatever it computes: each law once, for all of them and for a reader's own.

A law takes functions of NumPy's arrays, which `called` makes of a model of any framework, and two draws of their inputs. It
returns a `Finding`, which is true or false and prints as one sentence with its number. Equal outputs and gradients, which are
told array by array, are in `parity`.
"""

import inspect
import math
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np

from shared.arrays import as_numpy, framework_of, from_numpy
from shared.evidence import short
from shared.frameworks.masks import in_keras
from shared.frameworks.weights import get_weights, load_weights, save_weights

Arrays = dict[str, np.ndarray]


class Finding(NamedTuple):
    """Whether a law holds, and the sentence that says so with its number."""

    holds: bool
    sentence: str

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return self.sentence if self.holds else f"{self.sentence}: BROKEN"

    __str__ = __repr__


def called(model: Any, training: bool = False, framework: str | None = None, **named: Any) -> Callable[..., np.ndarray]:
    """A model, layer or function as a function of NumPy's arrays, given by name, that returns its first output as one.

    Args:
        model: of any framework. PyTorch computes in the dtype that the arrays have, so make it `.double()` for float64.
        training: the mode in which it is called; a function has none.
        framework: numpy, pytorch or keras; needed for a function, whose type doesn't say.
        named: further arguments of every call.
    """
    framework = framework or framework_of(model)

    def call(**inputs: Any) -> np.ndarray:
        given = {name: from_numpy(value, framework) for name, value in {**named, **inputs}.items()}
        if framework == "keras":
            given = in_keras(getattr(model, "call", model), given)
        if framework == "keras" and hasattr(model, "trainable_variables"):
            given["training"] = training
        elif hasattr(model, "eval"):
            model.train(training)
        output = model(**given)
        return as_numpy(output[0] if isinstance(output, tuple | list) else output)

    return call


def relative_difference(first: Any, second: Any) -> float:
    """The largest difference, relative to the largest value of the second (at least 1); infinite if shapes differ or one isn't finite."""
    first, second = as_numpy(first), as_numpy(second)
    if first.shape != second.shape:
        return math.inf
    scale = max(1.0, float(np.abs(second).max(initial=0.0)))
    largest = float(np.abs(first.astype(np.float64) - second).max(initial=0.0)) / scale
    return largest if math.isfinite(largest) else math.inf


def one_function(first: Callable, second: Callable, inputs: Arrays, below: float = 1e-10) -> Finding:
    """Two functions give the same output."""
    difference = relative_difference(first(**inputs), second(**inputs))
    return _small("the two differ by", difference, below)


def same_each_time(call: Callable, inputs: Arrays) -> Finding:
    """A function gives the same twice, and leaves its inputs as they were."""
    before = {name: np.copy(array) for name, array in inputs.items()}
    difference = relative_difference(call(**inputs), call(**inputs))
    changed = [name for name, array in inputs.items() if not np.array_equal(array, before[name])]
    if changed:
        return Finding(False, f"the call changes its input {', '.join(changed)}")
    return Finding(difference == 0, f"two calls with the same inputs differ by {short(difference)}, must be 0")


def drops_in_training_only(training: Callable, evaluation: Callable, inputs: Arrays) -> Finding:
    """Dropout acts when a model is trained, anew in each call, and not when it is evaluated."""
    drawn = relative_difference(training(**inputs), training(**inputs))
    still = relative_difference(evaluation(**inputs), evaluation(**inputs))
    apart = relative_difference(training(**inputs), evaluation(**inputs))
    return Finding(
        still == 0 < min(drawn, apart),
        f"two calls differ by {short(still)} in evaluation, which must be 0, and by {short(drawn)} in training, which must be more",
    )


def hides_padding(
    call: Callable, inputs: Arrays, padded: Arrays, below: float = 1e-10, shows: Arrays | None = None
) -> Finding:
    """What is hidden changes nothing: padded are the inputs with something more behind them, hidden by a mask or as padding.

    Args:
        shows: the same as padded, but not hidden, which must change the output; None where nothing can say so.
    """
    output = call(**inputs)
    difference = relative_difference(call(**padded)[: len(output), : output.shape[1]], output)
    finding = _small("padding changes the outputs before it by", difference, below)
    if shows is None or not finding:
        return finding
    shown = relative_difference(call(**shows)[: len(output), : output.shape[1]], output)
    return Finding(shown > below, f"{finding.sentence}, and without the mask by {short(shown)}, must be more")


def hides_the_future(call: Callable, inputs: Arrays, others: Arrays, name: str, below: float = 1e-10) -> Finding:
    """No output depends on a later position of the input of this name, each does on its own: others has other values there."""
    output, earlier, own = call(**inputs), 0.0, math.inf
    for position in range(1, output.shape[1]):
        changed = np.copy(inputs[name])
        changed[:, position:] = others[name][:, position:]
        moved = call(**inputs | {name: changed})
        earlier = max(earlier, relative_difference(moved[:, :position], output[:, :position]))
        own = min(own, relative_difference(moved[:, position], output[:, position]))
    return Finding(
        earlier <= below < own,
        f"another future changes an output by {short(earlier)}, must be below {short(below)}; another token its own by {short(own)}",
    )


def cache_changes_nothing(
    call: Callable, make_cache: Callable, inputs: Arrays, name: str, pieces: tuple[int, ...], below: float = 1e-10
) -> Finding:
    """Read piece after piece, with a cache of what came before, positions get the outputs that they get at once."""
    cache, outputs = make_cache(), []
    for piece in np.split(inputs[name], np.cumsum(pieces)[:-1], axis=1):
        outputs.append(call(**{name: piece}, cache=cache))
    difference = relative_difference(np.concatenate(outputs, axis=1), call(**inputs))
    return _small("outputs with a cache differ from those without by", difference, below)


def saving_changes_nothing(model: Any, other: Any, inputs: Arrays, path: Path) -> Finding:
    """Weights that one model has saved make of another, which had others, the same function, to the last bit."""
    before = relative_difference(called(other)(**inputs), called(model)(**inputs))
    save_weights(model, path)
    load_weights(other, path)
    after = relative_difference(called(other)(**inputs), called(model)(**inputs))
    names = list(get_weights(model)) == list(get_weights(other))
    return Finding(
        names and after == 0 < before,
        f"another model differs by {short(before)}, and with the saved weights by {short(after)}, must be 0",
    )


def keeps_modes(model: Any, use: Callable[[Any], Any]) -> Finding:
    """Each module of a model has its own mode again after a function has used the model."""
    parts = list(model.modules()) if hasattr(model, "modules") else [part for _, part in model.trees()]
    for index, part in enumerate(parts):
        part.training = bool(index % 2)
    use(model)
    changed = sum(part.training != bool(index % 2) for index, part in enumerate(parts))
    return Finding(not changed, f"{changed} of {len(parts)} modules have another mode afterwards, must be 0")


def stays_on_its_device(call: Callable, tensors: Mapping[str, Any]) -> Finding:
    """PyTorch: the output, and the gradients of the inputs, are on the device of the inputs.

    On the device `meta`, which has shapes and no numbers, a tensor that a function makes on the CPU can't be combined with
    its inputs, as on a GPU.
    """
    device = next(iter(tensors.values())).device
    try:
        output = call(**tensors)
        first = output[0] if isinstance(output, tuple | list) else output
        if first.requires_grad:
            first.sum().backward()
    except RuntimeError as error:
        return Finding(False, f"a tensor is elsewhere: {error}")
    elsewhere = {str(first.device)} | {str(each.grad.device) for each in tensors.values() if each.grad is not None}
    found = ", ".join(sorted(elsewhere))
    return Finding(
        elsewhere == {str(device)}, f"the output and the gradients are on {found}, and the inputs on {device}"
    )


def compiles_to_one_graph(model: Any, tensors: Mapping[str, Any]) -> Finding:
    """PyTorch: `torch.compile(model, fullgraph=True)` takes the model whole, and changes nothing."""
    import torch

    torch.compiler.reset()
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    with torch.no_grad():
        output, expected = compiled(**tensors), model(**tensors)
    first, second = (as_numpy(each[0] if isinstance(each, tuple | list) else each) for each in (output, expected))
    difference = relative_difference(first, second)
    return Finding(difference == 0, f"compiled to one graph, the output differs by {short(difference)}, must be 0")


def adds_up_gradients(module: Any, inputs: Arrays, grad_output: np.ndarray) -> Finding:
    """NumPy: a second backward pass adds the same gradients again, in the dtype of the inputs."""
    module.zero_grad()
    module(**inputs)
    module.backward(grad_output)
    once = {name: np.copy(gradient) for name, gradient in module.gradients().items()}
    module.backward(grad_output)
    twice = module.gradients()
    # in float32 the second pass may sum in another order than the first plus itself
    rounding = 8 * float(np.finfo(grad_output.dtype).eps)
    difference = max((relative_difference(twice[name], 2 * gradient) for name, gradient in once.items()), default=0.0)
    kept = all(gradient.dtype == grad_output.dtype for gradient in twice.values())
    return Finding(
        kept and difference <= rounding,
        f"two backward passes differ from twice one by {short(difference)}, must be below {short(rounding)}, and gradients "
        + ("have the dtype of the inputs" if kept else "have another dtype than the inputs"),
    )


def config_makes_it_again(layer: Any) -> Finding:
    """Keras: `get_config` has every argument of the constructor, and makes the same layer, also by its registered name."""
    import keras

    config = layer.get_config()
    names = set(inspect.signature(type(layer).__init__).parameters) - {"self", "kwargs"}
    missing = sorted(names - set(config))
    again = type(layer).from_config({**config})  # which takes a layer inside out of what it is given
    through = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    same = again.get_config() == config == through.get_config() and type(through) is type(layer)
    lacks = f"lacks {', '.join(missing)}" if missing else "has every argument"
    return Finding(not missing and same, f"the config {lacks}, and makes {'the same' if same else 'another'} layer")


def refuses(call: Callable, error: type[Exception], names: tuple[str, ...] = ()) -> Finding:
    """A call raises this error, and a line of it names the argument, or one of those that don't fit together."""
    try:
        call()
    except error as raised:
        # Keras adds lines of its own to what is raised inside of a call, the last of which list all arguments
        lines = str(raised).replace("\x1b[1m", "").partition("Arguments received by")[0].splitlines()
        told = [line.partition(";")[0] for line in lines]  # behind it are other arrays
        named = not names or any(_is_named(name, line) for name in names for line in told)
        return Finding(
            named, f"{type(raised).__name__}: {' '.join(lines)}" + ("" if named else f", which doesn't name {names}")
        )
    except Exception as other:  # noqa: BLE001 - that it is another is the finding
        return Finding(False, f"{type(other).__name__} in place of {error.__name__}: {other}")
    return Finding(False, f"nothing is raised, in place of a {error.__name__} that names {names}")


def wrong_sizes(function: Callable) -> Iterator[tuple[str, Any, type[Exception]]]:
    """(argument, a wrong value of it, error): what the signature says that sizes, rates, switches and names of choices are not."""
    parameters = inspect.signature(function).parameters
    if {"d_model", "num_heads"} <= set(parameters):
        yield "num_heads", 5, ValueError  # the course's widths are powers of two
    for name, parameter in parameters.items():
        kinds = _kinds(parameter.annotation)
        if name == "rng":
            continue  # NumPy says itself what is no seed
        if int in kinds:
            yield from ((name, wrong, TypeError) for wrong in ("8", 8.5, True))
            if name != "pad_id":
                yield name, 0, ValueError
            yield from ((name, wrong, ValueError) for wrong in (-1, 2**70))
        elif bool in kinds:
            yield from ((name, wrong, TypeError) for wrong in ("yes", 2))
        elif float in kinds:
            yield from (
                (name, wrong, TypeError) for wrong in ("0.1", None) if not (wrong is None and type(None) in kinds)
            )
            yield from ((name, wrong, ValueError) for wrong in (-1.0, math.nan, math.inf))
            if name in ("dropout", "rate", "label_smoothing"):
                yield name, 1.0, ValueError
        elif str in kinds:
            yield name, "no such", ValueError


def takes_arrays(function: Callable) -> bool:
    """Whether a signature says of an argument that it's an array."""
    return any(_array_forms(each.annotation) for each in inspect.signature(function).parameters.values())


def wrong_arrays(function: Callable, inputs: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Arrays]]:
    """(arguments that an error may name, inputs of which one is wrong): rank, the size of each axis that is fixed, dtype, no array.

    The signature says which axes are fixed: those whose size is written there, or that another argument has, too.
    """
    annotations = {name: each.annotation for name, each in inspect.signature(function).parameters.items()}
    forms = {name: _array_forms(annotations.get(name)) for name in inputs}
    for name, array in inputs.items():
        if not forms[name] or array is None:
            continue
        # 1 another dtype
        wrong = {"Float": {np.int64}, "Integer": {np.float64, np.bool_}, "Bool": {np.float64, np.int64}}
        for dtype in set.intersection(*(wrong.get(form.dtype.__name__, set()) for form in forms[name])):
            yield (name,), {**inputs, name: array.astype(dtype)}
        # 2 a number of axes that no form has
        ranks = [_rank(form.dim_str) for form in forms[name]]
        for count in range(max(fewest for fewest, _ in ranks) + 2):
            if not any(count == fewest or (has_more and count > fewest) for fewest, has_more in ranks):
                first = np.asarray(array[(0,) * (array.ndim - count)])
                yield (name,), {**inputs, name: first.reshape((1,) * (count - array.ndim) + first.shape)}
        # 3 another size of an axis
        for axis, size in enumerate(array.shape):
            tokens = {_axis(form.dim_str, axis - array.ndim, array.ndim) for form in forms[name]}
            sharing = tuple(
                other
                for other in inputs
                if other != name and any(token in _sized(inputs[other], forms[other]) for token in tokens)
            )
            is_fixed = all("{" in token or token.isdigit() for token in tokens)
            if "" in tokens or not (is_fixed or sharing):
                continue
            may_be_one = any(f"#{token}" in form.dim_str for token in tokens for form in forms[name])
            other_size = 2 if may_be_one and size == 1 and is_fixed else size + 1
            if may_be_one and size == 1 and not sharing:
                other_size = 2 * size + 1
            yield (name, *sharing), {**inputs, name: np.take(array, np.arange(other_size) % size, axis=axis)}


def _array_forms(annotation: Any) -> list[Any]:
    """The array types of an annotation, the parts of a union apart."""
    parts = get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    return [part for part in parts if hasattr(part, "dim_str")]


def _kinds(annotation: Any) -> tuple:
    return get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)


def _rank(axes: str) -> tuple[int, bool]:
    """How many axes there are at least, and whether there may be more."""
    tokens = axes.split()
    some = [token for token in tokens if token.startswith("*") or token == "..."]
    return len(tokens) - len(some), bool(some)


def _axis(axes: str, position: int, ndim: int) -> str:
    """The name of an axis, counted from the last, without marks; "" if it is one of `*batch`, or there is no such axis."""
    tokens = axes.split()
    single = [token for token in tokens if not token.startswith("*") and token != "..."]
    if -position > len(single) or (len(single) == len(tokens) != ndim):
        return ""
    return single[position].lstrip("#")


def _sized(array: np.ndarray, forms: list[Any]) -> set[str]:
    """The names of the axes whose size an array decides: those that may be 1, and are, decide nothing."""
    found = set()
    for form in forms:
        for position in range(-array.ndim, 0):
            token = _axis(form.dim_str, position, array.ndim)
            if token and not (f"#{token}" in form.dim_str and array.shape[position] == 1):
                found.add(token)
    return found


def _is_named(name: str, line: str) -> bool:
    words = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in line).split()
    return name in words


def _small(what: str, difference: float, below: float) -> Finding:
    return Finding(difference <= below, f"{what} {short(difference)}, must be below {short(below)}")
