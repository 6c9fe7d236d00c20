"""Pretrain a GPT on real text, in a run that can be stopped and goes on: `make pretrain`.

The model, the loop and the measures are the lessons' own; what is here is what a run of an hour needs besides.
"""

import shared.notebook  # noqa: F401  # isort: skip - limits the threads, and imports the frameworks in a safe order

import argparse
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import torch
from torch.optim.lr_scheduler import LambdaLR

from shared import best_device, set_seed
from shared.checks import check_positive
from shared.data import text
from shared.data.corpus import END_ID, Corpus, bits_per_byte, check_parts, prepare, random_windows
from shared.frameworks.history import History, model_card, provenance, recorded
from shared.frameworks.pretrained import write_gpt2, write_whole
from shared.frameworks.weights import get_weights
from shared.numpy.training import warmup_schedule
from shared.pytorch.gpt import GPTModel, generate
from shared.pytorch.real_text import nats_per_token
from shared.pytorch.training import steps_taken, train
from shared.pytorch.training_in_practice import evaluate, load_checkpoint, save_checkpoint

PROMPTS = ("The", "If", "Returns the", "This function")
BATCH_SIZE = 32


def bfloat16_is_faster(device: torch.device) -> bool:
    """Whether products of matrices take less than 0.7 of the time of float32 here."""

    def seconds(dtype: torch.dtype) -> float:
        x = torch.ones(512, 512, dtype=dtype, device=device)
        start = time.perf_counter()
        (x @ x @ x)[0, 0].item()  # waits until a GPU is done
        return time.perf_counter() - start

    # the fastest of ten, in turn: a busy machine only makes a run slower
    pairs = [(seconds(torch.bfloat16), seconds(torch.float32)) for _ in range(10)]
    low, full = map(min, zip(*pairs))
    return low < 0.7 * full


def write_sample(model: GPTModel, tokenizer: Any, prompt: str) -> str:
    """A text that begins with the prompt, at temperature 0.7 and top-p 0.9."""
    ids = tokenizer.encode(prompt).ids[:-1]  # without the <end> behind it
    generator = torch.Generator(model.tokens.weight.device).manual_seed(0)
    options = {"temperature": 0.7, "top_p": 0.9, "end_id": END_ID, "generator": generator}
    room = min(60, model.max_length - len(ids))
    return tokenizer.decode(generate(model, ids, room, **options)).strip()


class Recorder:
    """Called now and then in a run: it measures, writes samples, keeps the best."""

    def __init__(self, folder: Path, model: GPTModel, corpus: Corpus, history: History):
        self.folder, self.model = folder, model
        self.corpus, self.history = corpus, history
        batch_at = random_windows(corpus.training, model.max_length, 100, seed=1)
        self.training_sample = batch_at(0)
        self.device = next(model.parameters()).device.type
        self.since = time.perf_counter()

    def __call__(self, steps: int) -> None:
        """Measure after so many steps."""
        model, corpus, history = self.model, self.corpus, self.history
        seconds = time.perf_counter() - self.since

        with torch.autocast(self.device, enabled=False):  # in float32
            # 1 measure the loss on text seen and unseen
            training = evaluate(model, *self.training_sample)
            validation = nats_per_token(model, corpus.validation)
            # 2 write samples
            samples = [write_sample(model, corpus.tokenizer, each) for each in PROMPTS]
        # 3 keep the weights if they are the best so far
        if history.is_best(validation):
            sizes, weights = history.run["sizes"], get_weights(model)
            write_gpt2(self.folder, sizes, weights, corpus.tokenizer)
        # 4 note it
        losses = {"training": training, "validation": validation}
        pace = {"seconds": seconds, "threads": torch.get_num_threads()}
        history.add(steps=steps, **losses, **pace, samples=samples)

        self.since = time.perf_counter()


def describe(model: GPTModel, corpus: Corpus) -> dict:
    """What history.json says of a model and its text; digest changes with any token."""
    counts = {part: len(getattr(corpus, part)) for part in corpus.bytes}
    weights = sum(each.numel() for each in model.parameters())
    description = {"weights": weights, "batch_size": BATCH_SIZE, "tokens": counts}
    return description | {"digest": corpus.digest, "device": next(model.parameters()).device.type}


def pretrain(
    folder: str | os.PathLike,
    num_steps: int = 4000,
    packages: Iterable[str] = text.PACKAGES,
    file: str | os.PathLike | None = None,
    d_model: int = 256,
    num_heads: int = 4,
    d_ff: int = 1024,
    dropout: float = 0.1,
    vocab_size: int = 4096,
    max_length: int = 128,
    num_layers: int = 4,
    every: int = 200,
    precision: Literal["float32", "bfloat16"] | None = None,
    progress: bool = False,
) -> History:
    """Train a GPT on real text, and write it to a folder as Hugging Face does.

    file: a text of your own in UTF-8, with empty lines between its paragraphs, instead
        of the docstrings of packages.
    every: the number of steps between two measurements. A run that was stopped goes on
        from the last one when it is started again with the same arguments.
    precision: None takes what is faster here, or what the run began with.
    """
    check_positive(num_steps=num_steps, vocab_size=vocab_size, every=every)
    folder = Path(folder)

    # 1 read the text, split it, learn its subwords
    corpus = prepare(text.docstrings(packages, file), vocab_size)
    check_parts(corpus, max_length)
    # 2 make the model
    device = best_device()
    set_seed(0)
    sizes = {"d_model": d_model, "num_heads": num_heads, "d_ff": d_ff}
    sizes |= {"vocab_size": corpus.tokenizer.get_vocab_size()}
    sizes |= {"max_length": max_length, "num_layers": num_layers, "eps": 1e-5}
    model = GPTModel(**sizes, dropout=dropout).to(device)
    # 3 make the optimizer and its scheduler
    matrices = [each for each in model.parameters() if each.ndim > 1]
    others = [each for each in model.parameters() if each.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices}, {"params": others, "weight_decay": 0.0}],
        lr=2e-3,
        betas=(0.9, 0.95),
        weight_decay=0.1,
    )
    warmup_steps = max(1, num_steps // 20)
    factor = warmup_schedule(1.0, warmup_steps, num_steps, floor=0.05)
    scheduler = LambdaLR(optimizer, factor)
    # 4 go on where a run was stopped
    precision = precision or recorded(folder, "precision")
    if precision is None:
        precision = "bfloat16" if bfloat16_is_faster(device) else "float32"
    run = {"sizes": sizes, "dropout": dropout, "num_steps": num_steps, "every": every}
    run |= {"precision": precision, "source": Path(file).name if file else list(packages)}
    run |= describe(model, corpus)
    folder.mkdir(parents=True, exist_ok=True)
    history = History(folder, run, () if file else provenance(packages))
    saved = folder / "checkpoint.safetensors"
    if saved.is_file():
        load_checkpoint(saved, model, optimizer, scheduler)
    history.go_on_from(steps_taken(optimizer))
    # 5 train, in bfloat16 where that is faster; measure and save now and then
    batch_at = random_windows(corpus.training, max_length, BATCH_SIZE)
    record = Recorder(folder, model, corpus, history)
    low = torch.bfloat16
    with torch.autocast(device.type, low, precision == "bfloat16", cache_enabled=False):
        for stop in (*range(every, num_steps, every), num_steps):
            if stop > steps_taken(optimizer):
                train(model, optimizer, batch_at, stop, scheduler, clip_norm=1.0, progress=progress)
                record(stop)
                save_checkpoint(saved, model, optimizer)
    # 6 judge the best weights by text that no step has used
    best = GPTModel.from_pretrained(folder).to(device)
    for part in ("validation", "test"):
        tokens = getattr(corpus, part)
        nats = nats_per_token(best, tokens)
        bits = bits_per_byte(nats, tokens, corpus.bytes[part])
        history.result[part] = {"nats_per_token": nats, "bits_per_byte": bits}
    history.write()
    write_whole(folder / "README.md", model_card(history))
    return history


def main() -> None:
    """What `make pretrain` runs."""
    parser = argparse.ArgumentParser(description="Train a GPT on real text.")
    parser.add_argument("--folder", default="models/my_gpt")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--file")
    given = parser.parse_args()
    try:
        history = pretrain(given.folder, given.steps, file=given.file, progress=True)
    except KeyboardInterrupt:
        sys.exit("\nStopped. The same command goes on from the last measurement.")
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    for part, result in history.result.items():
        print(f"{part}: {result['bits_per_byte']:.3f} bits per byte")


if __name__ == "__main__":
    main()
