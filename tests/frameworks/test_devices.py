"""Nothing in the PyTorch modules stays behind on the CPU: they run on the device `meta`, which has shapes and no numbers.

A tensor that a module makes on the CPU cannot be combined with one on `meta`, as it cannot with one on a GPU, so what passes
here makes its tensors where its inputs are. It needs no GPU. Functions that must read numbers can't run there; they are listed.
"""

import importlib
import inspect

import pytest
import torch

import shared
from shared.chapters import all_chapters, ready

META = torch.device("meta")
NUMBERS_OF = {chapter.name: chapter.number for chapter in all_chapters()}
SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 16}
MODEL = SIZES | {"vocab_size": 11, "max_length": 6, "num_layers": 2}


def of(name: str):
    module, _, attribute = name.partition(".")
    return getattr(importlib.import_module(f"shared.pytorch.{module}"), attribute)


def floats(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device=META, requires_grad=True)


def ids(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device=META, dtype=torch.long)


def mask(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device=META, dtype=torch.bool)


# module -> (its arguments, its inputs, the shape of its output)
LAYERS = {
    "models.MLP": ((3, 4, 2), (floats(5, 3),), (5, 2)),
    "einops.LeNet": ((16, 16, 3, 10), (floats(2, 16, 16, 3),), (2, 10)),
    "embeddings.TokenEmbedding": ((8, 11), (ids(2, 5),), (2, 5, 8)),
    "embeddings.PositionalEncoding": ((8, 0.1), (floats(2, 5, 8),), (2, 5, 8)),
    "embeddings.TokenAndPositionEmbedding": ((6, 11, 8), (ids(2, 5),), (2, 5, 8)),
    "attention.MultiHeadAttention": (
        (8, 2, 0.1),
        (floats(2, 5, 8), floats(2, 4, 8), floats(2, 4, 8), mask(2, 1, 5, 4)),
        (2, 5, 8),
    ),
    "feed_forward.FeedForward": ((8, 16, 0.1), (floats(2, 5, 8),), (2, 5, 8)),
    "feed_forward.LayerNorm": ((8,), (floats(2, 5, 8),), (2, 5, 8)),
    "feed_forward.ResidualConnection": ((8, 0.1), (floats(2, 5, 8), torch.sin), (2, 5, 8)),
    "encoder.EncoderBlock": (SIZES, (floats(2, 5, 8), mask(2, 1, 1, 5)), (2, 5, 8)),
    "encoder.Encoder": (SIZES | {"num_layers": 2}, (floats(2, 5, 8), mask(2, 1, 1, 5)), (2, 5, 8)),
    "dna_mutation.MutationModel": ((6, 11, 8, 2, 16, 2, 0.1), (ids(2, 5),), (2, 5, 11)),
    "decoder.CausalSelfAttention": ((8, 2, 0.1), (floats(2, 5, 8), mask(2, 1, 1, 5)), (2, 5, 8)),
    "decoder.DecoderOnlyBlock": (SIZES, (floats(2, 5, 8), mask(2, 1, 1, 5)), (2, 5, 8)),
    "decoder.DecoderBlock": (SIZES, (floats(2, 5, 8), floats(2, 4, 8), None, mask(2, 1, 1, 4)), (2, 5, 8)),
    "decoder.Decoder": (SIZES | {"num_layers": 2}, (floats(2, 5, 8), floats(2, 4, 8)), (2, 5, 8)),
    "seq2seq.Seq2SeqTransformer": (SIZES, (ids(2, 6), ids(2, 4)), (2, 4, 23)),
    "bert.BERTEmbedding": ((8, 0.1, 11, 6), (ids(2, 5),), (2, 5, 8)),
    "bert.MaskedLanguageHead": ((8, 11), (floats(2, 5, 8), floats(11, 8)), (2, 5, 11)),
    "bert.Pooler": ((8,), (floats(2, 5, 8),), (2, 8)),
    "bert.BERTModel": (MODEL, (ids(2, 5), ids(2, 5), mask(2, 1, 1, 5)), (2, 5, 11)),
    "real_text.LoRA": ((8, 6, 2, 1.0), (floats(6, 8),), (6, 8)),
}

# function -> (what calls it, the shape of its result)
FUNCTIONS = {
    "attention.padding_mask": (lambda f: f(ids(2, 5)), (2, 1, 1, 5)),
    "attention.scaled_dot_product_attention": (
        lambda f: f(floats(2, 5, 4), floats(2, 3, 4), floats(2, 3, 6), mask(2, 5, 3))[0],
        (2, 5, 6),
    ),
    "autograd.gradient": (lambda f: f(lambda x: x.sin().sum(), floats(3)), (3,)),
    "einops.split_heads": (lambda f: f(floats(2, 5, 8), 2), (2, 2, 5, 4)),
    "einops.merge_heads": (lambda f: f(floats(2, 2, 5, 4)), (2, 5, 8)),
    "einops.patches": (lambda f: f(floats(2, 4, 6, 3), 2), (2, 6, 12)),
    "einops.max_pool": (lambda f: f(floats(2, 4, 6, 3), 2), (2, 2, 3, 3)),
    "einops.mean_pool": (lambda f: f(floats(2, 4, 6, 3), 2), (2, 2, 3, 3)),
    "einops.space_to_depth": (lambda f: f(floats(2, 4, 6, 3), 2), (2, 2, 3, 12)),
    "einops.depth_to_space": (lambda f: f(floats(2, 2, 3, 12), 2), (2, 4, 6, 3)),
    "models.mlp": (
        lambda f: f(
            {
                "hidden.kernel": floats(3, 4),
                "hidden.bias": floats(4),
                "readout.kernel": floats(4, 2),
                "readout.bias": floats(2),
            },
            floats(5, 3),
        ),
        (5, 2),
    ),
    "training.cross_entropy": (lambda f: f(floats(2, 5, 7), ids(2, 5), 0.1, 0), ()),
    "gpt.token_probabilities": (lambda f: f(floats(2, 11), 0.7, 3, 0.9), (2, 11)),
    "gpt.GPTModel": (lambda f: f(8, 2, 12, vocab_size=11).to(META)(ids(2, 5)), (2, 5, 11)),
    "gpt.LayerCache": (
        lambda f: f((2, 2, 6, 4), torch.float32, META).append(floats(2, 2, 3, 4).detach(), floats(2, 2, 3, 4).detach())[
            0
        ],
        (2, 2, 3, 4),
    ),
    "seq2seq.TiedProjection": (
        lambda f: f(of("embeddings.TokenEmbedding")(8, 11)).to(META)(floats(2, 5, 8)),
        (2, 5, 11),
    ),
    "scaling_out.shard_batch": (lambda f: f(ids(6, 5), 1, 3), (2, 5)),
}

# Made where PyTorch makes tensors, for the reader to move.
MADE = {
    "attention.causal_mask": (lambda f: f(4, 5), (4, 5)),
    "embeddings.sinusoidal_position_encoding": (lambda f: f(5, 8), (5, 8)),
}

# name -> why it needs numbers, or has no tensors to compute with
NUMBERS = {
    "autograd.graph": "draws the numbers of a graph",
    "bert.mask_tokens": "draws by NumPy which tokens to hide",
    "dna_mutation.predict_sequence": "returns text",
    "gpt.KVCache": "is a list of LayerCache",
    "gpt.generate": "returns tokens, and may stop at one",
    "real_text.Recorder": "writes a file",
    "real_text.add_lora": "changes a GPTModel",
    "real_text.attention_weights": "calls a GPTModel",
    "real_text.bfloat16_is_faster": "takes times",
    "real_text.describe": "writes what a run was",
    "real_text.main": "is a command",
    "real_text.nats_per_token": "returns a number",
    "real_text.pretrain": "trains",
    "real_text.write_sample": "returns text",
    "seq2seq.beam_search": "stops when all beams have ended",
    "seq2seq.greedy_decode": "stops when all rows have ended",
    "seq2seq.translate": "returns text",
    "tokenization.BytePairTokenizer": "reads text",
    "tokenization.SimpleTokenizer": "reads text",
    "tokenization.TextDataset": "reads text",
    "tokenization.pad_batch": "is for a DataLoader, on the CPU",
    "tokenization.tokenize_and_pad": "reads text",
    "tokenization.train_bpe": "reads text",
    "training.steps_taken": "returns a number",
    "training.train": "returns losses",
    "training_in_practice.evaluate": "returns a number",
    "training_in_practice.load_checkpoint": "reads a file",
    "training_in_practice.save_checkpoint": "writes a file",
}
PROCESSES = "scaling_out"  # its models are those of the other chapters, and its functions need a group of processes


def each(names):
    """The names as cases of their chapters, for `make test CHAPTER=06`."""
    return [pytest.param(name, marks=pytest.mark.chapter(NUMBERS_OF[name.partition(".")[0]])) for name in names]


@pytest.mark.parametrize("name", each(LAYERS))
def test_a_layer_stays_on_its_device(name):
    arguments, inputs, shape = LAYERS[name]
    layer = of(name)(**arguments) if isinstance(arguments, dict) else of(name)(*arguments)
    output = layer.to(META)(*inputs)
    assert output.device == META and output.shape == shape
    output.sum().backward()
    gradients = [parameter.grad for parameter in layer.parameters() if parameter.grad is not None]
    assert gradients or not list(layer.parameters())
    assert all(gradient.device == META for gradient in gradients)


@pytest.mark.parametrize("name", each(FUNCTIONS))
def test_a_function_stays_on_the_device_of_its_inputs(name):
    call, shape = FUNCTIONS[name]
    result = call(of(name))
    assert result.device == META and result.shape == shape


@pytest.mark.parametrize("name", each(MADE))
def test_what_has_no_input_is_made_on_the_default_device(name):
    call, shape = MADE[name]
    with META:
        result = call(of(name))
    assert result.device == META and result.shape == shape


@pytest.mark.parametrize("chapter", each(chapter.name for chapter in ready()))
def test_every_public_name_is_run_or_listed(chapter):
    module = importlib.import_module(f"shared.pytorch.{chapter}")
    public = {
        f"{chapter}.{name}"
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    }
    listed = {name for name in (*LAYERS, *FUNCTIONS, *MADE, *NUMBERS) if name.startswith(f"{chapter}.")}
    assert public == listed if chapter != PROCESSES else listed <= public


def test_a_tensor_that_stays_behind_is_noticed():
    class Forgetful(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) + torch.arange(2.0)

    with pytest.raises(RuntimeError, match="meta"):
        Forgetful(3, 2).to(META)(floats(4, 3))


def test_the_device_can_be_chosen(monkeypatch):
    monkeypatch.setenv("THREE_WAYS_DEVICE", "cpu")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    assert shared.best_device() == torch.device("cpu")
    monkeypatch.setenv("THREE_WAYS_DEVICE", "cuda")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="THREE_WAYS_DEVICE"):
        shared.best_device()
