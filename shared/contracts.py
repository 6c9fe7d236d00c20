"""Signatures that check themselves: array types from jaxtyping, and `checked`, which holds a call to them.

    @checked
    def attend(query: Float[ndarray, "*batch length_q head_dim"], key: Float[ndarray, "*batch length_k head_dim"]): ...

A call that does not fit raises a TypeError of one line, with the argument, what came and what was expected:

    attend: key has shape (2, 7, 4), float64; expected Float[ndarray, '*batch length_k head_dim'], beside query (2, 5, 8)

Arguments that share the name of an axis must agree on its size. `*batch` is any number of axes, `#length` an axis that may
also be 1, `*#batch` axes that may also be missing, and `{length}` or `{self.d_model}` the size that an argument or attribute says. Where a framework
does not know all sizes yet (symbolic and traced calls), dtype, number of axes and the sizes that both sides know are checked, and
the framework does the rest later; a call that PyTorch compiles is not checked.
"""

import functools
import inspect
import numbers
import operator
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

from beartype import BeartypeConf, FrozenDict
from beartype.door import is_bearable
from beartype.vale import Is
from jaxtyping import AbstractArray, Bool, Float, Integer, Shaped, jaxtyped

from shared import private
from shared.checks import is_compiling

__all__ = ["Any", "Bool", "Float", "Integer", "Shaped", "checked"]

# NumPy's numbers are numbers too; True is not.
_NO_BOOLEAN = Is[lambda value: not isinstance(value, bool)]
_NUMBERS = {int: Annotated[numbers.Integral, _NO_BOOLEAN], float: Annotated[numbers.Real, _NO_BOOLEAN]}
_CONF = BeartypeConf(hint_overrides=FrozenDict(_NUMBERS))
_NAMED_SIZE = re.compile(r"\{(\w+)((?:\.\w+)*)\}")  # {length}, an argument, or {self.norm.d_model}, what one has


def checked(function: Callable) -> Callable:
    """Check the annotated arguments of every call of a function or method, and its result where the sizes are known."""
    signature = inspect.signature(function)
    form_of, known = _forms(signature), set()  # the forms of arguments, and of results, that fit
    has_result = signature.return_annotation is not inspect.Signature.empty
    result_by_type = _told_by_type(signature.return_annotation)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if is_compiling():
            return function(*args, **kwargs)
        form = form_of(args, kwargs)
        if form not in known:
            if _has_symbols((*args, *kwargs.values())):
                _check(function, signature, args, kwargs, _fits_where_known)
                return function(*args, **kwargs)
            _check(function, signature, args, kwargs, _fits)
            if form is not None:
                _add(form, known)
        result = function(*args, **kwargs)
        if has_result:
            form = (form, _form(result)) if form is not None and result_by_type else None
            if form not in known:
                _check(function, signature, args, kwargs, _fits, (result,))
                if form is not None:
                    _add(form, known)
        return result

    # Code of its own: PyTorch counts compilations by code, and gives up at the ninth of a shared one.
    wrapper.__code__ = wrapper.__code__.replace(co_name=function.__name__, co_qualname=function.__qualname__)
    wrapper.__signature__ = signature  # Keras reads it, and does not look behind a wrapper
    return private.not_converted(wrapper)


def _add(form: tuple, known: set) -> None:
    """Remember a form; forget all when there are many, as of texts that grow."""
    if len(known) >= 4096:
        known.clear()
    known.add(form)


def _check(
    function: Callable, signature: inspect.Signature, args: tuple, kwargs: dict, fits: Callable, results: tuple = ()
) -> None:
    """Raise TypeError unless the arguments, and a result, fit the signature."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    with jaxtyped("context"):  # in which an axis has one size, wherever its name comes
        for name, value, annotation in _annotated(given, signature):
            expected = _with_sizes(annotation, given)
            if not fits(value, expected):
                raise private.without_values(TypeError(_in_a_line(function, name, value, expected, given)))
        for result in results:
            expected = _with_sizes(signature.return_annotation, given)
            if not _fits(result, expected):
                raise private.without_values(
                    TypeError(f"{function.__qualname__}: the result is not {_written(expected)}")
                )


def _forms(signature: inspect.Signature) -> Callable[[tuple, dict], tuple | None]:
    """What gives the form of a call, on which alone it depends whether its arguments fit; None if it depends on more.

    A model calls its layers with the same shapes again and again: a look into a set is enough then.
    """
    parameters = list(signature.parameters.values())
    if not all(_told_by_type(each.annotation) for each in parameters) or any(
        each.kind is not each.POSITIONAL_OR_KEYWORD for each in parameters
    ):
        return lambda args, kwargs: None
    written = [str(getattr(each.annotation, "dim_str", each.annotation)) for each in parameters]
    sizes = []  # the place of an argument, its name, and what is asked of it
    for name, attributes in sorted(
        set(_NAMED_SIZE.findall(" ".join([*written, _written(signature.return_annotation)])))
    ):
        size = operator.attrgetter(attributes[1:]) if attributes else _itself
        sizes.append((list(signature.parameters).index(name), name, size))

    def form_of(args: tuple, kwargs: dict) -> tuple | None:
        try:
            form = [*map(_form, args)]
            for name, value in kwargs.items():
                form += (name, _form(value))
            for place, name, size in sizes:
                form.append(size(args[place] if place < len(args) else kwargs[name]))
            form = tuple(form)
            hash(form)
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
        return form

    return form_of


def _itself(value: Any) -> Any:
    return value


def _form(value: Any) -> Any:
    """Type, shape and dtype of an array, the value of what is short, and the type of the rest."""
    kind = type(value)
    if kind in _BY_VALUE:
        return kind, value
    if kind is tuple:
        return tuple(map(_form, value))
    return (kind, value.shape, value.dtype) if _has_shape(kind) else kind


_BY_VALUE = frozenset({bool, int, str})


@functools.cache
def _has_shape(kind: type) -> bool:
    return hasattr(kind, "shape") and hasattr(kind, "dtype")


def _told_by_type(annotation: Any) -> bool:
    """Whether `_form` of a value says whether it fits: not so where a list's elements count."""
    if isinstance(annotation, types.UnionType) or get_origin(annotation) is tuple:
        return all(each is Ellipsis or _told_by_type(each) for each in get_args(annotation))
    if get_origin(annotation) is Literal:
        return True
    return annotation in (Any, None, Callable) or (isinstance(annotation, type) and get_origin(annotation) is None)


def _has_symbols(values: Iterable) -> bool:
    """Whether a value is symbolic, or being traced: Keras', TensorFlow's or JAX'."""
    tensorflow = sys.modules.get("tensorflow")
    kinds = [getattr(sys.modules.get("keras"), "KerasTensor", None)]
    kinds.append(getattr(getattr(sys.modules.get("jax"), "core", None), "Tracer", None))
    symbolic = tuple(kind for kind in kinds if kind is not None)
    is_symbolic = getattr(tensorflow, "is_symbolic_tensor", lambda value: False)
    return any(isinstance(value, symbolic) or is_symbolic(value) for value in values)


def _annotated(given: dict[str, Any], signature: inspect.Signature) -> Iterator[tuple[str, Any, Any]]:
    """Name, value and annotation of each argument that has one; of *inputs and **named, of each of their values."""
    for name, value in given.items():
        parameter = signature.parameters[name]
        if parameter.annotation is parameter.empty:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield from ((f"{name}[{index}]", each, parameter.annotation) for index, each in enumerate(value))
        elif parameter.kind is parameter.VAR_KEYWORD:
            yield from ((key, each, parameter.annotation) for key, each in value.items())
        else:
            yield name, value, parameter.annotation


def _fits(value: Any, annotation: Any) -> bool:
    """Whether a value is of a type; axes that were seen before in this call must have their size again."""
    return isinstance(value, annotation) if _is_array_type(annotation) else is_bearable(value, annotation, conf=_CONF)


def _fits_where_known(value: Any, annotation: Any) -> bool:
    """Whether an array has the dtype, the number of axes and, where it is known, the size that a type says in numbers."""
    kinds = get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    arrays = [kind for kind in kinds if _is_array_type(kind)]
    if not arrays or not _is_array(value):
        return True
    fitting = [kind for kind in arrays if kind.dtype is Shaped or _dtype(value) in kind.dtypes]
    shape = _shape(value)
    return bool(fitting) and (shape is None or any(_axes_fit(shape, kind.dim_str.split()) for kind in fitting))


def _axes_fit(shape: tuple[int | None, ...], names: list[str]) -> bool:
    """Whether sizes, None where one is open, fit axes such as ["*batch", "#length", "8"]."""
    any_number = [index for index, name in enumerate(names) if name.startswith("*") or name == "..."]
    if any_number:
        first, last = names[: any_number[0]], names[any_number[0] + 1 :]
        if len(shape) < len(first) + len(last):
            return False
        shape = shape[: len(first)] + shape[len(shape) - len(last) :]
        names = first + last
    if len(shape) != len(names):
        return False
    return all(
        size is None
        or not name.lstrip("#").isdigit()
        or size == int(name.lstrip("#"))
        or (name[0] == "#" and size == 1)
        for size, name in zip(shape, names)
    )


def _is_array_type(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, AbstractArray)


def _with_sizes(annotation: Any, given: dict[str, Any]) -> Any:
    """The annotation with the sizes that attributes say in place of their names in braces."""
    if _is_array_type(annotation):
        if "{" not in annotation.dim_str:
            return annotation
        return annotation.dtype[
            annotation.array_type, _NAMED_SIZE.sub(functools.partial(_size, given), annotation.dim_str)
        ]
    if isinstance(annotation, types.UnionType) and any(map(_is_array_type, get_args(annotation))):
        return functools.reduce(operator.or_, (_with_sizes(each, given) for each in get_args(annotation)))
    return annotation


def _size(given: dict[str, Any], found: re.Match) -> str:
    """The number that a name in braces stands for."""
    name, attributes = found.groups()
    return str(functools.reduce(getattr, attributes.split(".")[1:], given[name]))


def _in_a_line(function: Callable, name: str, value: Any, expected: Any, given: dict[str, Any]) -> str:
    """The argument, what came, what was expected, and the shapes of the other arrays; none of their values."""
    others = [f"{key} {_shape(each)}" for key, each in given.items() if key != name and _is_array(each)]
    line = f"{function.__qualname__}: {name} {_came(value)}; expected {_written(expected)}"
    return line + (f", beside {', '.join(others)}" if others else "")


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _shape(array: Any) -> tuple[int | None, ...] | None:
    """The sizes of the axes, None for one that is open; None if it is open how many there are, as TensorFlow allows."""
    return None if getattr(array.shape, "rank", 0) is None else tuple(array.shape)


def _dtype(array: Any) -> str:
    """The name of an array's dtype, the same in every framework."""
    return str(getattr(array.dtype, "name", array.dtype)).removeprefix("torch.")


def _came(value: Any) -> str:
    """What came, in a few words."""
    if _is_array(value):
        kind = type(value).__module__.partition(".")[0]
        return f"has shape {_shape(value)}, {_dtype(value)}" + (f" of {kind}" if kind != "numpy" else "")
    if isinstance(value, bool | numbers.Number | str | None) and len(repr(value)) < 40:
        return f"is {value!r}"
    return f"is a {type(value).__name__}"


def _written(annotation: Any) -> str:
    """A type as it is written in the signature."""
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return re.sub(r"\b(jaxtyping|typing|numpy|torch|collections\.abc)\.|<class '|'>", "", text)
