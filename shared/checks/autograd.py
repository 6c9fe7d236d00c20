"""Checks of arguments that chapter 01 needs alike in its three tracks."""

from typing import Any


def check_objective(result: Any, is_tensor: bool) -> None:
    """Raise unless what a function returned can be differentiated: a tensor that holds one floating-point number.

    Raises:
        TypeError: if it is no tensor, as when the function left the framework, holds no floating-point numbers, or more than one.
    """
    if not is_tensor:
        raise TypeError(
            f"function returned a {type(result).__name__}: expected a tensor that operations on its inputs made"
        )
    if tuple(result.shape) != ():
        raise TypeError(
            f"function returned shape {tuple(result.shape)}: expected (), one number, such as a sum or a mean"
        )
    if "float" not in str(result.dtype):
        raise TypeError(f"function returned dtype {result.dtype}: expected floating-point numbers")
