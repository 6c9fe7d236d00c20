import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from shared.pretrained import read_pretrained, require, setting
from shared.weights import load_arrays


@pytest.fixture
def directory(tmp_path):
    """A model directory with one weight, of 16 bits."""
    path = tmp_path / "model"
    path.mkdir()
    (path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 8}))
    save_file({"a.weight": torch.tensor([[1.5, -2.0]]).half()}, path / "model.safetensors")
    return path


def test_one_file(directory):
    for path in (directory, str(directory)):
        config, arrays = read_pretrained(path, "bert")
        assert config["hidden_size"] == 8 and arrays["a.weight"].dtype == np.float32
        np.testing.assert_array_equal(arrays["a.weight"], [[1.5, -2.0]])


def test_several_files(directory):
    (directory / "model.safetensors").rename(directory / "model-1.safetensors")
    save_file({"b": torch.arange(3), "c": torch.tensor([0.1, -3e38])}, directory / "model-2.safetensors")
    index = {"a.weight": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-2.safetensors"}
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    arrays = read_pretrained(directory, "bert")[1]
    assert sorted(arrays) == ["a.weight", "b", "c"] and arrays["b"].dtype == np.int64
    (directory / "model-2.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="model-2.safetensors"):
        read_pretrained(directory, "bert")


@pytest.mark.parametrize("weight_map", [{"a": "../model.safetensors"}, {"a": "/etc/passwd"}, {"a": ".."}])
def test_an_index_names_no_file_elsewhere(directory, weight_map):
    (directory / "model.safetensors").rename(directory.parent / "model.safetensors")
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises((ValueError, FileNotFoundError), match="expected a file of the same directory|no such file"):
        read_pretrained(directory, "bert")


def test_bfloat16_becomes_float32(tmp_path):
    """Bit for bit what PyTorch makes of it."""
    tensors = {"a": torch.randn(3, 4).bfloat16(), "b": torch.randn(2), "c": torch.tensor([torch.inf, -0.0]).bfloat16()}
    save_file(tensors, tmp_path / "x.safetensors")
    arrays = load_arrays(tmp_path / "x.safetensors")[0]
    assert set(arrays) == set(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(arrays[name], tensor.float().numpy())
        assert arrays[name].dtype == np.float32


def test_a_pickle_is_refused(directory):
    (directory / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="model has no model.safetensors"):
        read_pretrained(directory, "bert")
    torch.save({"a": torch.ones(2)}, directory / "pytorch_model.bin")
    with pytest.raises(ValueError, match="pytorch_model.bin, a pickle, which can run code: expected model.safetensors"):
        read_pretrained(directory, "bert")


def test_what_is_missing_or_foreign(directory):
    with pytest.raises(FileNotFoundError, match="path='none': no such directory"):
        read_pretrained(directory / "none", "bert")
    with pytest.raises(ValueError, match="config.json: model_type='bert': expected 'gpt2'"):
        read_pretrained(directory, "gpt2")
    whole = (directory / "model.safetensors").read_bytes()
    (directory / "model.safetensors").write_bytes(whole[:-1])
    with pytest.raises(ValueError, match="model.safetensors is truncated"):
        read_pretrained(directory, "bert")
    for content, message in (("[1]", "holds a list: expected an object"), ("{", "is no JSON"), ("{}", "type=None")):
        (directory / "config.json").write_text(content)
        with pytest.raises(ValueError, match=message):
            read_pretrained(directory, "bert")
    (directory / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match="model has no config.json"):
        read_pretrained(directory, "bert")


def test_settings():
    config = {"size": 4, "act": "gelu"}
    assert setting(config, "size") == 4 and setting(config, "none", 3) == 3
    with pytest.raises(ValueError, match="config.json has no 'none'"):
        setting(config, "none")
    require(config, act="gelu", absent=True)
    with pytest.raises(ValueError, match="config.json: act='gelu': expected 'relu'"):
        require(config, act="relu")
