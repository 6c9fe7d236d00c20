"""Private and fragile interfaces of libraries, each in one function: why, for which version, and the public way that we wait for.

A test for each says so when a new version breaks it.
"""

from collections.abc import Callable


def without_values(error: TypeError) -> TypeError:
    """The error, to whose message Keras won't add the values of all arguments.

    Keras 3.15 marks an error to which it has added them. We wait for a way to switch that off for one error.
    """
    error._keras_call_info_injected = True
    return error


def not_converted(function: Callable) -> Callable:
    """The function, which TensorFlow calls as it is, without looking for its source to convert.

    TensorFlow 2.21 marks a function so in `tf.autograph.experimental.do_not_convert`, which would import TensorFlow here.
    """
    function.autograph_info__ = {}
    return function
