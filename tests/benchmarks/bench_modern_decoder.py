"""How fast the modern decoder writes beside chapter 14's GPT of equal size, and trains beside `transformers`' own Llama.

Ratios of one run, by medians of interleaved repetitions on two threads, in float32, in PyTorch.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "2")
import shared.notebook  # noqa: F401  # isort: skip - limits the threads

import torch
from bench_gpt import medians, report
from torch.nn import functional as F
from transformers import LlamaConfig, LlamaForCausalLM

from shared.numpy.modern_decoder import ModernConfig
from shared.pytorch.gpt import GPTModel, generate
from shared.pytorch.modern_decoder import ModernDecoder

VOCAB, LAYERS = 512, 4


def modern(d_model: int, max_length: int) -> ModernDecoder:
    """As many numbers as GPT's block has, about: what grouped queries save goes into the feed-forward network."""
    heads, d_ff = d_model // 32, 3 * d_model
    sizes = {"vocab_size": VOCAB, "d_model": d_model, "num_heads": heads, "num_kv_heads": heads // 4}
    sizes |= {"head_dim": 32, "d_ff": d_ff, "max_length": max_length}
    return ModernDecoder(ModernConfig(**sizes, windows=(None,) * LAYERS, thetas=(10_000.0,) * LAYERS))


def llama(d_model: int, max_length: int) -> LlamaForCausalLM:
    """`transformers`' class with the sizes of `modern`."""
    heads = d_model // 32
    config = LlamaConfig(
        vocab_size=VOCAB, hidden_size=d_model, intermediate_size=3 * d_model, num_hidden_layers=LAYERS,
        num_attention_heads=heads, num_key_value_heads=heads // 4, head_dim=32, max_position_embeddings=max_length,
        tie_word_embeddings=True, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def write(d_model: int, repeats: int, new: int = 128) -> None:
    """With the cache, one prompt of 16 tokens."""
    models = {
        "ours": modern(d_model, 16 + new).eval(),
        "chapter 14's GPT": GPTModel(
            d_model, d_model // 32, 4 * d_model, vocab_size=VOCAB, max_length=16 + new, num_layers=LAYERS
        ).eval(),
    }
    prompt = list(range(1, 17))
    runs = {name: lambda model=model: generate(model, prompt, new, temperature=0) for name, model in models.items()}
    report(f"Writing, d_model {d_model}", medians(runs, repeats, time.perf_counter), "ours", "tokens", new)


def train(d_model: int, repeats: int, batch: int = 16, length: int = 128) -> None:
    """A step of AdamW."""
    tokens = torch.randint(VOCAB, (batch, length + 1))

    def step(model, optimizer):
        found = model(tokens[:, :-1])
        logits = found if torch.is_tensor(found) else found.logits
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    runs = {}
    for name, model in {"ours": modern(d_model, length), "transformers' Llama": llama(d_model, length)}.items():
        optimizer = torch.optim.AdamW(model.parameters())
        runs[name] = lambda model=model, optimizer=optimizer: step(model, optimizer)
    report(f"Training, d_model {d_model}", medians(runs, repeats, time.perf_counter), "ours", "tokens", batch * length)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    for d_model in (128, 512):
        write(d_model, repeats)
        train(d_model, repeats)


if __name__ == "__main__":
    main()
