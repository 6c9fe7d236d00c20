"""How fast GPT trains and writes beside its peers: ratios of one run, by medians of interleaved repetitions on two threads.

Peers, each as it comes, with the same sizes, tanh GELU, no dropout and a tied output layer: `transformers` GPT2, `torch.nn.TransformerEncoder`, and
KerasHub's GPT2 backbone. The course's settings are what the chapter names: in PyTorch, autocast to bfloat16 and AdamW(fused=True); in Keras, the policy
"mixed_bfloat16" without jit_compile. They pay where the processor multiplies bfloat16 (AVX512_BF16, AMX); float32 is measured beside them.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "2")
import shared.notebook  # isort: skip - limits the threads and quiets TensorFlow

import keras
import keras_hub
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.utils import logging

import shared.keras.gpt as keras_gpt
import shared.numpy.gpt as numpy_gpt
import shared.pytorch.gpt as pytorch_gpt
from shared.frameworks.weights import get_weights, set_weights

VOCAB, POSITIONS = 512, 1024


def medians(functions: dict[str, Callable], repeats: int, clock: Callable) -> dict[str, float]:
    """Seconds of each function, run in turn, after one run of each that is not counted."""
    times = {name: [] for name in functions}
    for repetition in range(repeats + 1):
        for name, function in functions.items():
            start = clock()
            function()
            if repetition:
                times[name].append(clock() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def report(title: str, seconds: dict[str, float], ours: str, unit: str, count: int) -> None:
    """Print a line for each: how many a second, and how many times as fast ours is."""
    print(f"\n{title}")
    for name, value in seconds.items():
        print(f"  {name:<58} {count / value:9.0f} {unit}/s   ours is {value / seconds[ours]:5.2f} times as fast")
    sys.stdout.flush()


def hugging_face(d_model: int, num_layers: int) -> GPT2LMHeadModel:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCAB, n_positions=POSITIONS, n_embd=d_model, n_layer=num_layers, n_head=d_model // 32,
            resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip


class TorchEncoder(nn.Module):
    """`torch.nn.TransformerEncoder` as a language model."""

    def __init__(self, d_model: int, num_layers: int, length: int):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCAB, d_model), nn.Embedding(POSITIONS, d_model)
        layer = nn.TransformerEncoderLayer(
            d_model, d_model // 32, 4 * d_model, 0.0, partial(F.gelu, approximate="tanh"), batch_first=True, norm_first=True
        )  # fmt: skip
        self.encoder = nn.TransformerEncoder(layer, num_layers, nn.LayerNorm(d_model), enable_nested_tensor=False)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return F.linear(self.encoder(x, mask=self.mask, is_causal=True), self.tokens.weight)


def ours(module, d_model: int, num_layers: int, **arguments):
    sizes = {"vocab_size": VOCAB, "max_length": POSITIONS, "num_layers": num_layers}
    return module.GPTModel(d_model, d_model // 32, 4 * d_model, **sizes, **arguments)


def torch_step(model: nn.Module, rows: torch.Tensor, our_settings: bool) -> Callable[[], None]:
    """A training step: forward, cross-entropy in float32, backward, AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), fused=our_settings)

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=our_settings):
            logits = model(rows[:, :-1])
        logits = getattr(logits, "logits", logits).float()
        loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def train_torch(d_model: int, num_layers: int, length: int, batch: int, repeats: int, clock: Callable) -> None:
    torch.compiler.reset()  # PyTorch compiles a function for eight models at most
    rows = torch.randint(VOCAB, (batch, length + 1))
    peers = {
        "transformers GPT2": hugging_face(d_model, num_layers),
        "nn.TransformerEncoder": TorchEncoder(d_model, num_layers, length),
    }
    steps = {"ours": torch_step(ours(pytorch_gpt, d_model, num_layers), rows, True)}
    for name, peer in peers.items():
        steps[f"{name}, as it comes"] = torch_step(peer, rows, False)
        steps[f"{name}, with our settings"] = torch_step(peer, rows, True)
    compiled = torch.compile(ours(pytorch_gpt, d_model, num_layers), fullgraph=True)
    steps["ours, compiled"] = torch_step(compiled, rows, True)
    steps["ours, with PyTorch's own settings"] = torch_step(ours(pytorch_gpt, d_model, num_layers), rows, False)
    title = f"PyTorch, training step: d_model {d_model}, {num_layers} layers, {batch} x {length} tokens"
    report(title, medians(steps, repeats, clock), "ours", "tokens", batch * length)


class HubModel(keras.Model):
    """KerasHub's GPT2 backbone with its tied output layer."""

    def __init__(self, d_model: int, num_layers: int):
        super().__init__()
        self.backbone = keras_hub.models.GPT2Backbone(
            VOCAB, num_layers, d_model // 32, d_model, 4 * d_model, dropout=0.0, max_sequence_length=POSITIONS
        )

    def call(self, tokens):
        x = self.backbone({"token_ids": tokens, "padding_mask": keras.ops.ones_like(tokens)})
        return self.backbone.token_embedding(x, reverse=True)


def train_keras(d_model: int, num_layers: int, length: int, batch: int, repeats: int, clock: Callable) -> None:
    rows = np.random.default_rng(0).integers(0, VOCAB, (batch, length + 1))
    makers = {"ours": partial(ours, keras_gpt), "keras_hub GPT2": HubModel}
    settings = {"bfloat16": ("mixed_bfloat16", False), "as it comes": ("float32", "auto"), "jit": ("float32", True)}
    steps = {}
    for setting, (policy, jit_compile) in settings.items():
        for name, make in makers.items():
            keras.mixed_precision.set_global_policy(policy)
            model = make(d_model, num_layers)
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            model.compile(keras.optimizers.AdamW(1e-3), loss, jit_compile=jit_compile)
            steps[f"{name}, {setting}"] = partial(model.train_on_batch, rows[:, :-1], rows[:, 1:])
    title = f"Keras, train_on_batch: d_model {d_model}, {num_layers} layers, {batch} x {length} tokens"
    report(title, medians(steps, repeats, clock), "ours, bfloat16", "tokens", batch * length)


def write(d_model: int, num_layers: int, repeats: int, clock: Callable) -> None:
    torch.compiler.reset()
    torch.set_float32_matmul_precision("highest")
    model, peer = ours(pytorch_gpt, d_model, num_layers).eval(), hugging_face(d_model, num_layers).eval()
    numpy = ours(numpy_gpt, d_model, num_layers).astype(np.float32)
    set_weights(numpy, get_weights(model))
    keras_model = ours(keras_gpt, d_model, num_layers)
    set_weights(keras_model, get_weights(model))
    prompt, new = torch.randint(VOCAB, (1, 16)), 240
    compiled = torch.compile(model, fullgraph=True)
    by_columns = ours(pytorch_gpt, d_model, num_layers).eval()
    set_weights(by_columns, get_weights(model))
    for layer in by_columns.blocks.modules():
        if isinstance(layer, nn.Linear):  # the same numbers, stored as (in, out)
            layer.weight.data = layer.weight.data.T.contiguous().T
    compiled_by_columns = torch.compile(by_columns, fullgraph=True)
    runs = {
        "PyTorch": lambda: pytorch_gpt.generate(model, prompt, new, temperature=0),
        "PyTorch, compiled": lambda: pytorch_gpt.generate(compiled, prompt, new, temperature=0),
        "PyTorch, kernels (in, out)": lambda: pytorch_gpt.generate(by_columns, prompt, new, temperature=0),
        "PyTorch, kernels (in, out), compiled": lambda: pytorch_gpt.generate(
            compiled_by_columns, prompt, new, temperature=0
        ),
        "NumPy": lambda: numpy_gpt.generate(numpy, prompt, new, temperature=0),
        "Keras": lambda: keras_gpt.generate(keras_model, prompt, new, temperature=0),
        "transformers generate": lambda: peer.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=new, do_sample=False, pad_token_id=0
        ),
    }
    seconds = medians(runs, repeats, clock)
    title = f"Writing {new} tokens with a cache: d_model {d_model}, {num_layers} layers, batch 1"
    report(title, seconds, "PyTorch", "tokens", new)
    theirs = seconds.pop("transformers generate")
    for name, value in seconds.items():
        print(f"  {name} is {theirs / value:.2f} times as fast as transformers")


def different_lengths(d_model: int, num_layers: int, repeats: int, clock: Callable) -> None:
    """The time for a prompt of 500 tokens beside one of 1, over that for the longer one alone, and for two as long."""
    long, short = np.random.default_rng(0).integers(1, VOCAB, 500).tolist(), [3]
    for name, module in (("PyTorch", pytorch_gpt), ("NumPy", numpy_gpt), ("Keras", keras_gpt)):
        model = ours(module, d_model, num_layers)
        model = model.eval() if name != "Keras" else model
        model = model.astype(np.float32) if name == "NumPy" else model
        prompts = {"500 and 1": [long, short], "500 alone": [long], "500 and 500": [long, long]}
        runs = {each: partial(module.generate, model, rows, 60, temperature=0) for each, rows in prompts.items()}
        seconds = medians(runs, repeats, clock)
        ratios = [f"{seconds['500 and 1'] / seconds[each]:.2f} times {each}" for each in ("500 alone", "500 and 500")]
        print(f"{name}, prompts of 500 and 1, d_model {d_model}: {', '.join(ratios)}")


def positions(d_model: int, num_layers: int, repeats: int, clock: Callable) -> None:
    """The time of a cached token at position 950 beside that at 16."""
    row = np.random.default_rng(0).integers(0, VOCAB, (1, POSITIONS))
    for name, module in (("PyTorch", pytorch_gpt), ("NumPy", numpy_gpt)):
        model = ours(module, d_model, num_layers).eval()
        model = model.astype(np.float32) if name == "NumPy" else model
        runs = {}
        with torch.inference_mode():
            for position in (16, 950):
                cache = model.make_cache(1)
                prefix = row[:, :position] if name == "NumPy" else torch.from_numpy(row[:, :position])
                model(prefix, cache=cache)
                new = (
                    row[:, position : position + 1]
                    if name == "NumPy"
                    else torch.from_numpy(row[:, position : position + 1])
                )

                def run(model=model, cache=cache, position=position, new=new) -> None:
                    for _ in range(20):
                        for layer in cache.layers:
                            layer.length = position
                        model(new, cache=cache)

                runs[position] = run
            seconds = medians(runs, repeats, clock)
        times = " | ".join(f"{1e6 * value / 20:.0f} us at {position}" for position, value in seconds.items())
        print(f"{name}, a cached token, d_model {d_model}: {times}: ratio {seconds[950] / seconds[16]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=("torch", "keras", "write"), help="one part")
    parser.add_argument("--cpu-time", action="store_true", help="of this process: for a busy machine, with --threads 1")
    arguments = parser.parse_args()
    logging.set_verbosity_error()
    shared.set_seed(0)
    torch.use_deterministic_algorithms(False)  # as the peers come
    torch.set_num_threads(arguments.threads)
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    if arguments.only in (None, "write"):
        for d_model, num_layers in ((128, 4), (256, 6)):
            write(d_model, num_layers, max(3, arguments.repeats // 2), clock)
        positions(128, 4, arguments.repeats, clock)
        different_lengths(128, 4, arguments.repeats, clock)
    for d_model, num_layers, length, batch in (
        (128, 4, 128, 16),
        (256, 6, 128, 16),
        (128, 4, 1024, 2),
        (256, 6, 1024, 2),
    ):
        if arguments.only in (None, "torch"):
            train_torch(d_model, num_layers, length, batch, arguments.repeats, clock)
        if arguments.only in (None, "keras") and length == 128:
            train_keras(d_model, num_layers, length, batch, arguments.repeats, clock)


if __name__ == "__main__":
    main()
