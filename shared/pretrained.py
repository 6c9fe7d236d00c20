"""Read a model directory as Hugging Face's `save_pretrained` writes it: config.json and safetensors. Nothing that is read can run code."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from shared.weights import load_arrays


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent.name} has no {path.name}: expected a directory of save_pretrained")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - the type of what is in the file, not of an argument
            f"{path.name} holds a {type(value).__name__}: expected an object"
        )
    return value


def _files(directory: Path) -> list[Path]:
    """The safetensors files of a model: one, or those that an index names."""
    if (directory / "model.safetensors").is_file():
        return [directory / "model.safetensors"]
    if (directory / "model.safetensors.index.json").is_file():
        parts = read_json(directory / "model.safetensors.index.json").get("weight_map")
        if not isinstance(parts, dict) or not all(isinstance(name, str) for name in parts.values()):
            raise ValueError("model.safetensors.index.json has no weight_map: expected tensor names and their files")
        for name in sorted(set(parts.values())):
            if Path(name).name != name:
                raise ValueError(f"model.safetensors.index.json names {name!r}: expected a file of the same directory")
        return [directory / name for name in sorted(set(parts.values()))]
    pickles = [path.name for path in sorted(directory.glob("*.bin"))]
    if pickles:
        raise ValueError(
            f"{directory.name} has {pickles[0]}, a pickle, which can run code: expected model.safetensors"
            " (save_pretrained of a current transformers writes it)"
        )
    raise FileNotFoundError(f"{directory.name} has no model.safetensors")


def read_pretrained(path: str | os.PathLike, model_type: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the settings and the weights of a Hugging Face model directory.

    Args:
        path: the directory, with config.json and model.safetensors (or model.safetensors.index.json and the files that it names).
        model_type: what config.json must say of itself, such as "bert".

    Returns:
        config.json as a dict, and the arrays by Hugging Face's names; floating-point numbers of 16 bits become float32.

    Raises:
        FileNotFoundError: if the directory or one of its files does not exist.
        ValueError: if a file is truncated or foreign, the weights are a pickle, or the model is of another type.
    """
    directory = Path(path)
    if not directory.is_dir():
        raise FileNotFoundError(f"path={directory.name!r}: no such directory")
    config = read_json(directory / "config.json")
    if config.get("model_type") != model_type:
        raise ValueError(f"config.json: model_type={config.get('model_type')!r}: expected {model_type!r}")
    arrays = {}
    for file in _files(directory):
        arrays |= load_arrays(file)[0]
    return config, {
        name: array.astype(np.float32) if array.dtype == np.float16 else array for name, array in arrays.items()
    }


def setting(config: dict[str, Any], key: str, default: Any = None) -> Any:
    """A setting of config.json; KeyError's place is taken by a ValueError that names the key."""
    value = config.get(key, default)
    if value is None:
        raise ValueError(f"config.json has no {key!r}")
    return value


def require(config: dict[str, Any], **expected: Any) -> None:
    """Raise ValueError unless each setting is absent or has the only value that the course's model knows."""
    for key, value in expected.items():
        if config.get(key, value) != value:
            raise ValueError(f"config.json: {key}={config[key]!r}: expected {value!r}")
