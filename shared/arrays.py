"""Arrays of any framework as NumPy's, and NumPy's as those of a framework."""

import importlib
import sys
from typing import Any

import numpy as np

from shared.checks import check_choice


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


def framework_of(model: Any) -> str:
    """Whose layer or model this is: keras, pytorch, or numpy for everything else."""
    # Keras first: on its PyTorch backend a layer of Keras is a torch.nn.Module, too.
    if "keras" in sys.modules and isinstance(model, sys.modules["keras"].layers.Layer):
        return "keras"
    if "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
        return "pytorch"
    return "numpy"


def from_numpy(array: Any, framework: str) -> Any:
    """An array of NumPy as a tensor of a framework: numpy, pytorch or keras; anything else as it is."""
    check_choice(("numpy", "pytorch", "keras"), framework=framework)
    if not isinstance(array, np.ndarray) or framework == "numpy":
        return array
    if framework == "pytorch":
        return importlib.import_module("torch").tensor(array)
    return importlib.import_module("keras").ops.convert_to_tensor(array)
