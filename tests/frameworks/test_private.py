"""What `private` leans on is still so in the installed versions: each test fails when a library changes it, or no longer needs it."""

import keras
import pytest
import tensorflow as tf

from shared.frameworks import private


class Refuses(keras.layers.Layer):
    def __init__(self, mark):
        super().__init__()
        self.mark = mark

    def call(self, x):
        raise self.mark(TypeError("x is wrong"))


@pytest.mark.keras
def test_keras_adds_values_to_an_error_unless_it_is_marked():
    x = keras.ops.ones((2, 3))
    with pytest.raises(TypeError) as plain:
        Refuses(lambda error: error)(x)
    with pytest.raises(TypeError) as marked:
        Refuses(private.without_values)(x)
    assert "Arguments received" in str(plain.value) and str(marked.value) == "x is wrong"


@pytest.mark.tensorflow
def test_tensorflow_converts_a_function_unless_it_is_marked():
    def sign(x):
        return 1 if x > 0 else -1  # for a traced x, Python's `if` works only where TensorFlow has converted it

    assert int(tf.function(sign)(tf.constant(2.0))) == 1
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(private.not_converted(sign))(tf.constant(2.0))
