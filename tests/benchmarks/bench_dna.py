"""How fast pairs are drawn, beside rng.random on as many sites: ratios of one run, by medians of interleaved repetitions."""

import statistics
import time
from collections.abc import Callable

import numpy as np

from shared.data.dna import AToG, CpGDeamination, Kimura80, _sample_pairs, sample_tokens, simulate

NUM_PAIRS, LENGTH, REPETITIONS = 32768, 64, 15
SITES = NUM_PAIRS * LENGTH


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    rng = np.random.default_rng(0)
    ancestors = rng.integers(0, 4, (NUM_PAIRS, LENGTH), dtype=np.uint8)
    measured = {
        "rng.random": lambda: rng.random(SITES),
        "rng.random, float32": lambda: rng.random(SITES, dtype=np.float32),
        **{
            f"{type(process).__name__}.sample": lambda process=process: process.sample(ancestors, rng)
            for process in (AToG(), Kimura80(), CpGDeamination())
        },
        "simulate's sampling: ancestors and descendants": lambda: _sample_pairs(CpGDeamination(), NUM_PAIRS, LENGTH, 0),
        "sample_tokens: the same as int64 tokens": lambda: sample_tokens(CpGDeamination(), NUM_PAIRS, LENGTH, 0),
        "simulate: the same as a table of strings": lambda: simulate(CpGDeamination(), NUM_PAIRS, LENGTH, 0),
    }
    times = {name: [] for name in measured}
    for repetition in range(REPETITIONS + 1):
        for name, function in measured.items():
            elapsed = seconds(function)
            if repetition:  # the first is a warm-up
                times[name].append(elapsed)
    median = {name: statistics.median(values) for name, values in times.items()}
    print(f"{SITES:,} sites; speed over that of rng.random (float64 | float32)")
    for name, value in median.items():
        print(
            f"{name:<50} {SITES / value / 1e6:7.0f} M sites/s   {median['rng.random'] / value:5.2f} | {median['rng.random, float32'] / value:5.2f}"
        )

    batches = [
        seconds(lambda step=step: sample_tokens(CpGDeamination(), 32, (32, 64), (0, step))) for step in range(200)
    ]
    print(f"a batch of 32 x 64 for training: {statistics.median(batches) * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
