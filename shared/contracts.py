"""Signatures that check themselves: array types from jaxtyping, and `checked`, which holds a call to them.

    @checked
    def attend(query: Float[ndarray, "*batch length_q head_dim"], key: Float[ndarray, "*batch length_k head_dim"]): ...

A call that does not fit raises a TypeError of one line, with the argument, what came and what was expected:

    attend: key has shape (2, 7, 4), float64; expected Float[ndarray, '*batch length_k head_dim'], beside query (2, 5, 8)

Arguments that share the name of an axis must agree on its size. `*batch` is any number of axes, `#length` an axis that may
also be 1, `*#batch` axes that may also be missing, and `{self.d_model}` the size that an attribute says. Where a framework
does not know the sizes yet (symbolic, traced or compiled calls), nothing is checked here: the framework does it later.
"""

import functools
import inspect
import numbers
import re
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import jaxtyping._decorator
from beartype import BeartypeConf, FrozenDict, beartype
from beartype.vale import Is
from jaxtyping import Bool, Float, Integer, Shaped, TypeCheckError, jaxtyped

__all__ = ["Any", "Bool", "Float", "Integer", "Shaped", "checked"]

# NumPy's numbers are numbers too; True is not.
_NO_BOOLEAN = Is[lambda value: not isinstance(value, bool)]
_NUMBERS = {int: Annotated[numbers.Integral, _NO_BOOLEAN], float: Annotated[numbers.Real, _NO_BOOLEAN]}
# jaxtyping would import all of JAX, half a second of each start, to shorten JAX's tracebacks
jaxtyping._decorator._tb_flag = False
_typechecker = beartype(conf=BeartypeConf(hint_overrides=FrozenDict(_NUMBERS)))


class _Calls(threading.local):
    """Whether a checked function is running in this thread."""

    inside = False


_calls = _Calls()


def checked(function: Callable) -> Callable:
    """Check the annotated arguments of a function or method where a reader calls it, if the sizes are known.

    A call from inside another checked function is not checked once more: its arguments come from the course's own code.
    """
    signature = inspect.signature(function)
    contract = jaxtyped(typechecker=_typechecker)(function)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if _calls.inside or _sizes_are_open((*args, *kwargs.values())):
            return function(*args, **kwargs)
        _calls.inside = True
        try:
            return contract(*args, **kwargs)
        except TypeCheckError as error:
            message = _in_a_line(function, signature, str(error), args, kwargs)
        finally:
            _calls.inside = False
        # A plain TypeError, which TensorFlow does not replace by one of its own; Keras would add all values to it.
        plain = TypeError(message)
        plain._keras_call_info_injected = True
        raise plain

    wrapper.__signature__ = signature  # Keras reads it, and does not look behind a wrapper
    wrapper.autograph_info__ = {}  # TensorFlow calls the wrapper as it is, and looks for no source code to convert
    return wrapper


def _sizes_are_open(values: Iterable) -> bool:
    """Whether PyTorch is compiling, or a value is symbolic or being traced."""
    if "torch" in sys.modules and sys.modules["torch"].compiler.is_compiling():
        return True
    return any(type(value).__name__.endswith(("KerasTensor", "SymbolicTensor", "Tracer")) for value in values)


def _in_a_line(function: Callable, signature: inspect.Signature, told: str, args: tuple, kwargs: dict) -> str:
    """The argument, what came, what was expected, and the shapes of the other arrays; none of their values."""
    given = signature.bind(*args, **kwargs).arguments
    found = re.search(r"parameter '(\w+)'", told)
    if not found:
        return f"{function.__qualname__}: the result is not {_written(signature.return_annotation)}"
    name = found[1]
    annotation, value = function.__annotations__[name], given[name]
    # Of *inputs and **named, which hold several values, the one that does not fit.
    kind = signature.parameters[name].kind
    if kind == inspect.Parameter.VAR_POSITIONAL:
        position, value = next((i, each) for i, each in enumerate(value) if not isinstance(each, annotation))
        name = f"{name}[{position}]"
    elif kind == inspect.Parameter.VAR_KEYWORD:
        name, value = next((key, each) for key, each in value.items() if not isinstance(each, annotation))
    others = [f"{key} {tuple(value.shape)}" for key, value in given.items() if key != name and _is_array(value)]
    expected = _written(annotation)
    expected = re.sub(r"\{self\.(\w+)\}", lambda attribute: str(getattr(given["self"], attribute[1])), expected)
    line = f"{function.__qualname__}: {name} {_came(value)}; expected {expected}"
    return line + (f", beside {', '.join(others)}" if others else "")


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _came(value: Any) -> str:
    """What came, in a few words."""
    if _is_array(value):
        kind = type(value).__module__.partition(".")[0]
        dtype = str(getattr(value.dtype, "name", value.dtype)).removeprefix("torch.")
        return f"has shape {tuple(value.shape)}, {dtype}" + (f" of {kind}" if kind != "numpy" else "")
    if isinstance(value, bool | numbers.Number | str | None) and len(repr(value)) < 40:
        return f"is {value!r}"
    return f"is a {type(value).__name__}"


def _written(annotation: Any) -> str:
    """A type as it is written in the signature."""
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return re.sub(r"\b(jaxtyping|typing|numpy|torch|collections\.abc)\.|<class '|'>", "", text)
