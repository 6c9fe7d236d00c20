"""DNA that mutates by a known process, so that the best any model can do is computed exactly.

Pairs are drawn here. In the folder `mutation`: the processes in `processes.py`, letters and tokens in `tokens.py`, what a
prediction is worth and the best one in `scores.py`, CSV and FASTA in `files.py`.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from shared.checks import check_positive, check_seed
from shared.checks.text import check_range
from shared.data.mutation.files import read_csv, read_fasta, write_csv
from shared.data.mutation.processes import AToG, CpGDeamination, Kimura80, Process, check_process
from shared.data.mutation.scores import Score, optimum, per_site_optimum, probabilities, score
from shared.data.mutation.tokens import NUCLEOTIDES, PAD_CODE, PAD_ID, VOCABULARY, detokenize, tokenize_and_pad

__all__ = [
    "NUCLEOTIDES",
    "PAD_CODE",
    "PAD_ID",
    "VOCABULARY",
    "AToG",
    "CpGDeamination",
    "Kimura80",
    "Process",
    "Score",
    "detokenize",
    "optimum",
    "per_site_optimum",
    "probabilities",
    "read_csv",
    "read_fasta",
    "sample_tokens",
    "score",
    "simulate",
    "tokenize_and_pad",
    "write_csv",
]


def _sample_pairs(
    process: Process, num_pairs: int, length: int | tuple[int, int], seed: int | Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Ancestors and descendants as (num_pairs, longest) uint8 codes with PAD_CODE behind each end."""
    check_process(process)
    check_positive(num_pairs=num_pairs)
    shortest, longest = check_range(length=length)
    check_seed(seed)

    rng = np.random.default_rng(seed)
    # Two bits of a random byte are a uniform nucleotide, at a third of the price of rng.integers.
    ancestors = (np.frombuffer(rng.bytes(num_pairs * longest), np.uint8) & 3).reshape(num_pairs, longest)
    if shortest < longest:
        lengths = rng.integers(shortest, longest, num_pairs, endpoint=True)
        ancestors[np.arange(longest) >= lengths[:, None]] = PAD_CODE
    return ancestors, process.sample(ancestors, rng)


def simulate(
    process: Process, num_pairs: int, length: int | tuple[int, int], seed: int | Sequence[int]
) -> pd.DataFrame:
    """Draw uniform ancestors of A, C, G, T, and a descendant of each.

    Args:
        process: how they mutate.
        num_pairs: number of pairs.
        length: sites in each sequence, or (shortest, longest): then each pair's length is uniform from shortest to longest, both included.
        seed: a whole number from 0, or a sequence of them such as (seed, step). Equal arguments give an equal table.

    Returns:
        A table of num_pairs rows with the string columns ancestor and descendant.

    Raises:
        TypeError: if process is not a `Process`, or a number or the seed is not whole.
        ValueError: if a number is below 1, the shortest length is over the longest, or the seed is negative.
    """
    ancestors, descendants = _sample_pairs(process, num_pairs, length, seed)
    return pd.DataFrame(
        {"ancestor": detokenize(ancestors + np.uint8(1)), "descendant": detokenize(descendants + np.uint8(1))},
        dtype="str",
    )


def sample_tokens(
    process: Process, num_pairs: int, length: int | tuple[int, int], seed: int | Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the pairs that `simulate` draws with the same arguments, as token ids: training takes a fresh batch of them each step.

    Args:
        process, num_pairs, length, seed: as in `simulate`.

    Returns:
        Ancestors and descendants, (num_pairs, longest) int64 each, padded at the end with PAD_ID.

    Raises:
        TypeError, ValueError: as in `simulate`.
    """
    ancestors, descendants = _sample_pairs(process, num_pairs, length, seed)
    # uint8 first: PAD_CODE + 1 wraps around to PAD_ID there.
    return (ancestors + np.uint8(1)).astype(np.int64), (descendants + np.uint8(1)).astype(np.int64)
