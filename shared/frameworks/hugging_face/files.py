"""The files of a model directory as Hugging Face's `save_pretrained` writes it, read and written. Nothing that is read can run code."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from tokenizers import Tokenizer, models

from shared.files import check_path, write_whole
from shared.frameworks.hugging_face.settings import refusal
from shared.frameworks.weights import load_arrays


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent.name} has no {path.name}: expected a directory of save_pretrained")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # the latter from lists in lists in lists
        raise ValueError(f"{path.name} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - the type of what is in the file, not of an argument
            f"{path.name} holds a {type(value).__name__}: expected an object"
        )
    return value


def _files(directory: Path) -> dict[str, list[str]]:
    """The safetensors files of a model, one or those of an index, each with the tensors that the index places there."""
    if (directory / "model.safetensors").is_file():
        return {"model.safetensors": []}
    if (directory / "model.safetensors.index.json").is_file():
        parts = read_json(directory / "model.safetensors.index.json").get("weight_map")
        if not isinstance(parts, dict) or not all(isinstance(name, str) for name in parts.values()):
            raise ValueError("model.safetensors.index.json has no weight_map: expected tensor names and their files")
        for name in sorted(set(parts.values())):
            if Path(name).name != name:
                raise ValueError(f"model.safetensors.index.json names {name!r}: expected a file of the same directory")
        placed = {file: [] for file in sorted(set(parts.values()))}
        for name, file in parts.items():
            placed[file].append(name)
        return placed
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
        ValueError: if a file is truncated or foreign, the weights are a pickle, the model is of another type, two files
            hold one tensor, or a file does not hold a tensor that the index places in it.
    """
    check_path(path=path)
    directory = Path(path)
    if not directory.is_dir():
        raise FileNotFoundError(f"path={directory.name!r}: no such directory")
    config = read_json(directory / "config.json")
    if config.get("model_type") != model_type:
        raise refusal(config, "model_type", repr(model_type))
    arrays, origin = {}, {}
    for file, placed in _files(directory).items():
        found = load_arrays(directory / file)[0]
        for name in placed:
            if name not in found:
                raise ValueError(f"model.safetensors.index.json places {name} in {file}: expected it in that file")
        for name in found:
            if name in arrays:
                raise ValueError(f"{origin[name]} and {file} both have {name}: expected it in one file")
        arrays |= found
        origin |= dict.fromkeys(found, file)
    return config, {
        name: array.astype(np.float32) if array.dtype == np.float16 else array for name, array in arrays.items()
    }


def write_model(
    path: str | os.PathLike, config: dict[str, Any], arrays: dict[str, np.ndarray], files: dict[str, str] | None = None
) -> None:
    """Write a directory that `read_pretrained` reads, and files of text beside it; each file whole or not at all."""
    check_path(path=path)
    directory = Path(path)
    directory.mkdir(parents=True, exist_ok=True)
    contents = {name: text.encode() for name, text in (files or {}).items()}
    contents["config.json"] = json.dumps(config, indent=2).encode()
    contents["model.safetensors"] = safetensors.numpy.save(
        {name: np.ascontiguousarray(array) for name, array in arrays.items()}, metadata={"format": "pt"}
    )
    for name, data in contents.items():
        write_whole(directory / name, data)


def read_tokenizer(path: str | os.PathLike) -> Tokenizer:
    """The tokenizer of a Hugging Face model directory, from its tokenizer.json.

    The name of a special token in a text is text, as "<end>" is: `token_to_id` gives its id. BERT's tokenizer keeps its own way, in which "[MASK]" is a gap.

    Raises:
        FileNotFoundError: if there is no such directory, or it has no tokenizer.json.
        ValueError: if the file is truncated or foreign.
    """
    check_path(path=path)
    file = Path(path) / "tokenizer.json"
    read_json(file)
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing narrower
        raise ValueError(f"tokenizer.json is no tokenizer: {error}") from error
    tokenizer.encode_special_tokens = not isinstance(tokenizer.model, models.WordPiece)
    return tokenizer
