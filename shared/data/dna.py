"""DNA that mutates by a known process, so that the best any model can do is computed exactly.

Inside the simulator a nucleotide is a code, A 0, C 1, G 2, T 3, R 4 (R is the IUPAC letter for "A or G"): a transition, A <-> G or C <-> T, is an XOR with 2.
A model reads tokens: its vocabulary has padding at 0, the nucleotides from 1 (token = code + 1) and the special tokens behind them.
"""

import abc
import contextlib
import csv
import dataclasses
import math
import numbers
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from shared.checks import check_positive, check_range, check_seed, check_texts, check_tokens, check_width

NUCLEOTIDES = "ACGTR"
A, C, G, T, R = range(5)
PAD_CODE = 255  # what PAD_ID - 1 is in uint8, so that token = code + 1 holds for padding too
VOCABULARY = ("<pad>", *NUCLEOTIDES, "<start>", "<end>", "<mask>")
PAD_ID = 0

_CHUNK = 1 << 16  # sites drawn at a time: their uniforms and comparisons stay in the processor's cache
_LETTERS = np.frombuffer(
    b"\0" + NUCLEOTIDES.encode() + b"\0\0\0", np.uint8
)  # token -> letter, 0 for the special tokens
_TOKENS = np.zeros(256, np.uint8)  # letter, of either case -> token, 0 for everything that is no nucleotide
_TOKENS[list(NUCLEOTIDES.encode())] = _TOKENS[list(NUCLEOTIDES.lower().encode())] = range(1, 6)


# Processes


def _check_range(low: float, high: float, **values: float) -> None:
    """Raise unless every value is a finite number from low to high."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"{name}={value!r}: expected a number, got {type(value).__name__}")
        if not (low <= value <= high and math.isfinite(value)):  # false for NaN too
            raise ValueError(f"{name}={value}: expected a finite number from {low} to {high}")


def _check_codes(ancestors: np.ndarray) -> np.ndarray:
    """The codes as uint8, after a check that each is a nucleotide or padding."""
    codes = np.asarray(ancestors)
    if not np.issubdtype(codes.dtype, np.integer):
        raise TypeError(f"ancestors have dtype {codes.dtype}: expected whole numbers")
    if not codes.ndim:
        raise ValueError(f"ancestors={codes}: expected an array of shape (..., length)")
    if codes.min(initial=0) < 0 or codes.max(initial=0) > R:  # without padding, these two passes are the whole check
        wrong = codes[((codes < 0) | (codes > R)) & (codes != PAD_CODE)]
        if wrong.size:
            raise ValueError(
                f"ancestors hold the code {wrong[0]}: expected 0 to {R} ({NUCLEOTIDES}) or PAD_CODE={PAD_CODE}"
            )
    return codes.astype(np.uint8, copy=False)


class Process(abc.ABC):
    """A way for DNA to mutate, known exactly: it draws descendants, and tells how probable each one was.

    Every process leaves an ancestor's R, and padding, as it is.
    """

    @abc.abstractmethod
    def matrix(self) -> np.ndarray:
        """P(descendant | ancestor) of a site whose neighbours play no part: (5, 5) float64, from the row's nucleotide to the column's."""

    @abc.abstractmethod
    def _changes(self, ancestors: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """What to XOR each nucleotide's code with, given one uniform number per site: (n, length) uint8. R and padding do not matter."""

    def probabilities(self, ancestors: np.ndarray) -> np.ndarray:
        """The exact distribution of each descendant nucleotide, given the whole ancestor.

        Args:
            ancestors: (..., length) codes, whole numbers: 0 to 4 for A, C, G, T, R, and PAD_CODE behind a sequence's end.

        Returns:
            (..., length, 5) float64 over A, C, G, T, R: sums to 1 at a nucleotide, 0 at padding.

        Raises:
            TypeError: if the codes are not whole numbers.
            ValueError: if there is another code, or ancestors is a single number.
        """
        rows = np.vstack([self.matrix(), np.zeros(5)])
        return rows.take(_check_codes(ancestors), axis=0, mode="clip")  # clip: padding reads the last row

    def sample(self, ancestors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a descendant of each ancestor.

        One float32 uniform a site: probabilities are met to within 2**-24.

        Args:
            ancestors: (..., length) codes, as in `probabilities`.
            rng: where the random numbers come from.

        Returns:
            (..., length) uint8 codes, with R and padding where the ancestors have them.

        Raises:
            TypeError: if the codes are not whole numbers, or rng is not a numpy.random.Generator.
            ValueError: if there is another code, or ancestors is a single number.
        """
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng={rng!r}: expected a numpy.random.Generator")
        codes = _check_codes(ancestors)
        length = max(1, codes.shape[-1])
        rows = codes.reshape(-1, length)
        descendants = np.empty_like(rows)
        step = max(1, _CHUNK // length)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            changes = self._changes(part, rng.random(part.shape, dtype=np.float32))
            changes *= (part < R).view(np.uint8)
            np.bitwise_xor(part, changes, out=descendants[start : start + step])
        return descendants.reshape(codes.shape)


@dataclasses.dataclass(frozen=True)
class AToG(Process):
    """Some A become G, some become R, and every other nucleotide stays.

    Args:
        p: probability that an A becomes G.
        polymorphism: probability that an A becomes R: G in part of the population.

    Raises:
        TypeError: if p or polymorphism is not a number.
        ValueError: if one is outside [0, 1], or their sum is over 1.
    """

    p: float = 0.2
    polymorphism: float = 0.1

    def __post_init__(self):
        _check_range(0, 1, p=self.p, polymorphism=self.polymorphism)
        if self.p + self.polymorphism > 1:
            raise ValueError(f"p={self.p} and polymorphism={self.polymorphism}: expected a sum of at most 1")

    def matrix(self) -> np.ndarray:
        rows = np.eye(5)
        rows[A, [A, G, R]] = 1 - self.p - self.polymorphism, self.p, self.polymorphism
        return rows

    def _changes(self, ancestors: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        # Below p + polymorphism A becomes R (XOR 4); below p, XOR 6 on top of it makes that a G (4 ^ 6 = 2).
        changes = (uniforms < float(self.p + self.polymorphism)).view(np.uint8) * 4
        changes ^= (uniforms < float(self.p)).view(np.uint8) * 6
        changes *= (ancestors == A).view(np.uint8)
        return changes


@dataclasses.dataclass(frozen=True)
class Kimura80(Process):
    """Kimura's two-parameter model: transitions have one rate, transversions another, and every site is on its own.

    Args:
        kappa: rate of the transition over the rate of one of the two transversions, alpha / beta; at least 0.
        t: distance from ancestor to descendant in expected substitutions per site, (alpha + 2 beta) x time; at least 0.

    Raises:
        TypeError: if kappa or t is not a number.
        ValueError: if one is negative or not finite.

    Source: Kimura 1980, "A simple method for estimating evolutionary rates of base substitutions through comparative studies of nucleotide sequences".
    """

    kappa: float = 4.0
    t: float = 0.05

    def __post_init__(self):
        _check_range(0, math.inf, kappa=self.kappa, t=self.t)

    def substitutions(self) -> tuple[float, float]:
        """P(the transition) and P(one of the two transversions), in closed form."""
        # expm1(x) = exp(x) - 1 keeps its digits for a small distance.
        slow = math.expm1(-4 * self.t / (self.kappa + 2))
        fast = math.expm1(-2 * self.t * (self.kappa + 1) / (self.kappa + 2))
        return slow / 4 - fast / 2, -slow / 4

    def matrix(self) -> np.ndarray:
        transition, transversion = self.substitutions()
        rows = np.eye(5)
        rows[:R, :R] = transversion
        for nucleotide in (A, C, G, T):
            rows[nucleotide, nucleotide ^ 2] = transition
            rows[nucleotide, nucleotide] = 1 - transition - 2 * transversion
        return rows

    def _changes(self, ancestors: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        # Three thresholds cut off a piece for each change: XOR 1 (2 ^ 1 ^ 2) below the first, 3 (2 ^ 1) below the second, 2 below the third.
        transition, transversion = self.substitutions()
        changes = (uniforms < transversion).view(np.uint8) ^ (uniforms < transition + 2 * transversion).view(np.uint8)
        changes *= 2
        changes ^= (uniforms < 2 * transversion).view(np.uint8)
        return changes


@dataclasses.dataclass(frozen=True)
class CpGDeamination(Process):
    """A C directly before a G becomes T with probability c; every other site mutates by Kimura80(kappa, d).

    The C of a CpG is often methylated, and a methylated C loses its amino group and is then read as T: neighbours matter.

    Args:
        kappa: as in `Kimura80`.
        d: distance of the other sites, in expected substitutions per site; at least 0.
        c: probability that the C of a CpG becomes T.

    Raises:
        TypeError: if an argument is not a number.
        ValueError: if kappa or d is negative or not finite, or c is outside [0, 1].
    """

    kappa: float = 4.0
    d: float = 0.05
    c: float = 0.8

    def __post_init__(self):
        _check_range(0, math.inf, kappa=self.kappa, d=self.d)
        _check_range(0, 1, c=self.c)

    def matrix(self) -> np.ndarray:
        return Kimura80(self.kappa, self.d).matrix()

    def probabilities(self, ancestors: np.ndarray) -> np.ndarray:
        result = super().probabilities(ancestors)
        result[self._cpg(np.asarray(ancestors))] = 0, 1 - self.c, 0, self.c, 0
        return result

    def _changes(self, ancestors: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        changes = Kimura80(self.kappa, self.d)._changes(ancestors, uniforms)
        deaminated = (uniforms < float(self.c)).view(np.uint8) * 2  # C ^ 2 is T
        return changes ^ (changes ^ deaminated) * self._cpg(ancestors).view(
            np.uint8
        )  # the second XOR takes the first change back

    @staticmethod
    def _cpg(codes: np.ndarray) -> np.ndarray:
        """True at a C whose next site is a G: (..., length)."""
        found = np.equal(codes, C, order="C")
        flat = found.reshape(-1)  # a view: one long row is faster than many short ones
        flat[:-1] &= codes.reshape(-1)[1:] == G
        found[..., -1:] = False  # nothing follows the last site, and certainly not the next sequence
        return found


# Simulation


def _check_process(process: Process) -> None:
    if not isinstance(process, Process):
        raise TypeError(
            f"process={process!r}: expected a process such as CpGDeamination(), got {type(process).__name__}"
        )


def _sample_pairs(
    process: Process, num_pairs: int, length: int | tuple[int, int], seed: int | Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Ancestors and descendants as (num_pairs, longest) uint8 codes with PAD_CODE behind each end."""
    _check_process(process)
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


# Tokens


def _to_tokens(sequences: list[str], where: Callable[[int], str]) -> np.ndarray:
    """Tokens of all the sequences, one behind the other; an unknown letter's error begins with `where` its sequence stands."""
    text = "".join(sequences)
    tokens = _TOKENS[
        np.frombuffer(text.encode("ascii", "replace"), np.uint8)
    ]  # one byte a letter: a letter outside ASCII becomes "?"
    if not tokens.all():
        site = int(np.argmin(tokens))
        index = int(np.searchsorted(np.cumsum([len(sequence) for sequence in sequences]), site, side="right"))
        raise ValueError(f"{where(index)}: {text[site]!r} is not a nucleotide; known: {NUCLEOTIDES}")
    return tokens


def tokenize_and_pad(sequences: Iterable[str], max_length: int | None = None) -> np.ndarray:
    """Turn sequences of nucleotides into token ids, padded at the end.

    Args:
        sequences: strings of the letters A, C, G, T, R, of either case.
        max_length: width of the result; None for the longest sequence's length.

    Returns:
        (n, max_length or longest) int64: 1 to 5 for A, C, G, T, R, and PAD_ID behind the end.

    Raises:
        TypeError: if sequences is one string or holds something else than strings, or max_length is not a whole number.
        ValueError: if there is no sequence, a letter is not a nucleotide, or a sequence is longer than max_length.
    """
    sequences = check_texts(sequences=sequences)
    lengths = [len(sequence) for sequence in sequences]
    width = check_width(lengths, max_length)
    result = np.full((len(sequences), width), PAD_ID, np.int64)
    result[np.arange(width) < np.array(lengths)[:, None]] = _to_tokens(sequences, lambda index: f"sequences[{index}]")
    return result


def detokenize(tokens: np.ndarray) -> list[str]:
    """Turn token ids back into strings; padding and the other special tokens are dropped.

    Args:
        tokens: (n, length) ids of VOCABULARY.

    Returns:
        n strings of the letters A, C, G, T, R.

    Raises:
        TypeError: if the ids are not whole numbers.
        ValueError: if tokens has not two axes, or an id is outside the vocabulary.
    """
    tokens = np.asarray(tokens)
    if tokens.ndim != 2:
        raise ValueError(f"tokens has shape {tokens.shape}: expected (n, length)")
    check_tokens(tokens, len(VOCABULARY))
    letters = np.full((len(tokens), tokens.shape[1] + 1), ord("\n"), np.uint8)  # the last column ends each line
    letters[:, :-1] = _LETTERS[tokens]
    return letters[letters != 0].tobytes().decode("ascii").splitlines()


def _as_tokens(ancestors: np.ndarray | Iterable[str]) -> np.ndarray:
    """Token ids of ancestors given as strings or as token ids: (n, length)."""
    tokens = np.asarray(ancestors)
    if tokens.dtype.kind in "OUT":
        return tokenize_and_pad(ancestors)
    if tokens.ndim != 2:
        raise ValueError(f"ancestors has shape {tokens.shape}: expected token ids (n, length), or a list of strings")
    check_tokens(tokens, len(VOCABULARY))
    if tokens.max(initial=0) > len(NUCLEOTIDES):
        raise ValueError(f"ancestors hold {VOCABULARY[tokens.max()]}: expected nucleotides and padding")
    return tokens


# The best that a model can do


class Score(NamedTuple):
    """What a prediction is worth: `cross_entropy` in nats per site, and `accuracy`, the probability that its most probable token is right."""

    cross_entropy: float
    accuracy: float


def probabilities(process: Process, ancestors: np.ndarray | Iterable[str]) -> np.ndarray:
    """The exact distribution of each descendant token, given the whole ancestor.

    Args:
        process: how the ancestors mutate.
        ancestors: (n, length) padded token ids, or a list or column of strings.

    Returns:
        (n, length, vocabulary) float64: sums to 1 at a nucleotide, 0 at padding.

    Raises:
        TypeError: if process is not a `Process`, or ancestors are neither whole numbers nor strings.
        ValueError: if ancestors hold something else than nucleotides and padding.
    """
    _check_process(process)
    tokens = _as_tokens(ancestors)
    result = np.zeros((*tokens.shape, len(VOCABULARY)))
    result[..., 1 : 1 + len(NUCLEOTIDES)] = process.probabilities(tokens.astype(np.uint8) - np.uint8(1))
    return result


def score(process: Process, ancestors: np.ndarray | Iterable[str], predicted: np.ndarray) -> Score:
    """Score predicted distributions against the exact one: no descendant is drawn, so there is no sampling noise, and nothing beats `optimum`.

    Args:
        process: how the ancestors mutate.
        ancestors: (n, length) padded token ids, or a list or column of strings.
        predicted: (n, length, vocabulary) probabilities, not logits. What they say at padding does not matter.

    Returns:
        The expected cross-entropy and accuracy, averaged over the sites that are not padding.

    Raises:
        TypeError: as in `probabilities`, or if predicted does not hold numbers.
        ValueError: as in `probabilities`, or if predicted has another shape, is negative or does not sum to 1, or there is no site.
    """
    tokens = _as_tokens(ancestors)
    exact = probabilities(process, tokens)
    predicted = np.asarray(predicted)
    if predicted.dtype.kind not in "fiu":
        raise TypeError(f"predicted has dtype {predicted.dtype}: expected real numbers")
    if predicted.shape != exact.shape:
        raise ValueError(
            f"predicted has shape {predicted.shape}: expected {exact.shape}, a probability for each token at each site"
        )
    real = tokens != PAD_ID
    if not real.any():
        raise ValueError("ancestors hold no nucleotide: expected at least one site that is not padding")
    exact, predicted = exact[real], predicted[real].astype(np.float64)  # (sites, vocabulary)
    total = predicted.sum(-1, keepdims=True)
    if not (predicted.min() >= 0 and np.abs(total - 1).max() <= 1e-3):  # false for NaN too
        raise ValueError(
            f"predicted goes from {predicted.min():.4g} to {predicted.max():.4g} and sums to {total.min():.4g} to {total.max():.4g} over the tokens of a site:"
            " expected probabilities that sum to 1 (softmax of the logits)"
        )
    predicted /= total  # float32 sums to 1 only nearly
    possible = exact > 0
    with np.errstate(divide="ignore"):  # what happens, though predicted to be impossible, costs infinitely much
        cross_entropy = -(exact[possible] * np.log(predicted[possible])).sum() / len(exact)
    accuracy = np.take_along_axis(exact, predicted.argmax(-1, keepdims=True), -1).mean()
    return Score(float(cross_entropy), float(accuracy))


def optimum(process: Process, ancestors: np.ndarray | Iterable[str]) -> Score:
    """The score of the exact distribution itself, which no predictor can beat.

    Args:
        process, ancestors: as in `probabilities`.

    Returns:
        Its cross-entropy (here the conditional entropy) and accuracy, averaged over the sites that are not padding.

    Raises:
        TypeError, ValueError: as in `score`.
    """
    tokens = _as_tokens(ancestors)
    return score(process, tokens, probabilities(process, tokens))


def per_site_optimum(process: Process, ancestors: np.ndarray | Iterable[str]) -> Score:
    """The score of the best predictor that sees a site's own nucleotide, and whether it is the last one, but none of its neighbours.

    That is where a model without attention ends: its positions tell it where a sequence stops, and nothing tells it what follows. The predictor answers with
    the average of the exact distributions of all the sites, in these ancestors, that look the same to it.

    Args:
        process, ancestors: as in `probabilities`.

    Returns:
        Its cross-entropy and accuracy, averaged over the sites that are not padding.

    Raises:
        TypeError, ValueError: as in `score`.
    """
    tokens = _as_tokens(ancestors)
    predicted = probabilities(process, tokens)
    is_last = np.pad(tokens[:, 1:] == PAD_ID, ((0, 0), (0, 1)), constant_values=True)
    seen = 2 * tokens + is_last
    for kind in np.unique(seen):
        predicted[seen == kind] = predicted[seen == kind].mean(0)
    return score(process, tokens, predicted)


# Files


def _check_pairs(ancestors: list[str], descendants: list[str], where: Callable[[int], str]) -> pd.DataFrame:
    """The table of the pairs, in upper case, after a check of each; an error begins with `where` its pair stands."""
    for index, (ancestor, descendant) in enumerate(zip(ancestors, descendants, strict=True)):
        for name, sequence in (("ancestor", ancestor), ("descendant", descendant)):
            if not isinstance(sequence, str):
                raise TypeError(
                    f"{where(index)}: {name}={sequence!r}: expected a string, got {type(sequence).__name__}"
                )
            if not sequence:
                raise ValueError(f"{where(index)}: the {name} is empty")
    _to_tokens(
        [sequence for pair in zip(ancestors, descendants, strict=True) for sequence in pair],
        lambda index: where(index // 2),
    )
    for index, (ancestor, descendant) in enumerate(zip(ancestors, descendants, strict=True)):
        if len(ancestor) != len(descendant):
            raise ValueError(
                f"{where(index)}: the ancestor has {len(ancestor)} sites, the descendant {len(descendant)}; expected as many"
            )
    return pd.DataFrame(
        {"ancestor": [a.upper() for a in ancestors], "descendant": [d.upper() for d in descendants]}, dtype="str"
    )


def _check_columns(columns: Iterable[str], name: str) -> None:
    missing = [column for column in ("ancestor", "descendant") if column not in columns]
    if missing:
        raise ValueError(
            f"{name} has no column {' and no column '.join(missing)}; found: {', '.join(map(str, columns)) or 'none'}"
        )


def write_csv(table: pd.DataFrame, path: str | os.PathLike) -> None:
    """Write pairs as a CSV file with the columns ancestor and descendant, whole or not at all.

    Args:
        table: the two columns, of strings; others are not written.
        path: the file; an older one is replaced once the new one is complete.

    Raises:
        TypeError: if table is not a pandas.DataFrame, or a sequence is not a string.
        ValueError: if a column is missing, or a pair would be refused by `read_csv`; the message counts the table's rows from 0.
        OSError: if the file cannot be written.
    """
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table is a {type(table).__name__}: expected a pandas.DataFrame")
    _check_columns(table.columns, "table")
    if table.empty:
        raise ValueError("table has no rows: expected at least one pair")
    pairs = _check_pairs(list(table["ancestor"]), list(table["descendant"]), lambda index: f"row {index} of table")
    path = pathlib.Path(path)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "w", encoding="ascii", newline="") as file:
            pairs.to_csv(file, index=False, lineterminator="\n")
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    """Let csv read fields of any length; its limit, 131 072 letters at first, is global and is set back afterwards."""
    limit = csv.field_size_limit(2**31 - 1)  # the most that a C long holds on every machine
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def read_csv(path: str | os.PathLike) -> pd.DataFrame:
    """Read pairs from a CSV file with the columns ancestor and descendant, in any order and among any others.

    Args:
        path: the file. Lower case is turned into upper case, blank lines are skipped, and so is space around a sequence.

    Returns:
        A table with the string columns ancestor and descendant.

    Raises:
        ValueError: if a column is missing, there is no pair, a sequence is empty or holds something else than A, C, G, T, R, or the two sequences of a pair
            differ in length; the message counts lines as a text editor does, with the header in row 1.
        OSError: if the file cannot be read.
    """
    name = pathlib.Path(path).name
    columns, rows = {"ancestor": [], "descendant": []}, []
    with _long_fields(), open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            header = [column.strip() for column in next(reader, [])]
            if not header:
                raise ValueError(f"{name} is empty: expected a first row with the columns ancestor and descendant")
            _check_columns(header, name)
            places = {column: header.index(column) for column in columns}
            for fields in reader:
                if not any(field.strip() for field in fields):
                    continue
                if len(fields) != len(header):
                    raise ValueError(
                        f"row {reader.line_num} of {name}: {len(fields)} fields; expected {len(header)}, as in the header"
                    )
                rows.append(reader.line_num)
                for column, place in places.items():
                    columns[column].append(fields[place].strip())
        except csv.Error as error:
            raise ValueError(f"row {reader.line_num} of {name}: not valid CSV: {error}") from error
    if not rows:
        raise ValueError(f"{name} has no pairs: expected rows below the header")
    return _check_pairs(columns["ancestor"], columns["descendant"], lambda index: f"row {rows[index]} of {name}")


def read_fasta(path: str | os.PathLike) -> pd.DataFrame:
    """Read pairs from a FASTA file whose records alternate: an ancestor, its descendant, the next ancestor, and so on.

    Args:
        path: the file. A sequence may take several lines; lower case is turned into upper case; what stands behind ">" is not used.

    Returns:
        A table with the string columns ancestor and descendant.

    Raises:
        ValueError: if text comes before the first ">", there is no record or an odd number of them, a record is empty or holds something else than A, C, G,
            T, R, or the two sequences of a pair differ in length; the message counts lines from 1, and a pair stands at its ancestor's line.
        OSError: if the file cannot be read.
    """
    name = pathlib.Path(path).name
    starts, records, lines, line_numbers = [], [], [], []
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(map(str.strip, file), start=1):
            if line.startswith(">"):
                starts.append(number)
                records.append([])
            elif line and not records:
                raise ValueError(
                    f"line {number} of {name}: {line[:20]!r} comes before the first record; expected a line that begins with '>'"
                )
            elif line:
                records[-1].append(line)
                lines.append(line)
                line_numbers.append(number)
    if not records:
        raise ValueError(f"{name} is empty: expected records that begin with '>'")
    for start, record in zip(starts, records, strict=True):
        if not record:
            raise ValueError(f"line {start} of {name}: the record is empty")
    _to_tokens(lines, lambda index: f"line {line_numbers[index]} of {name}")
    if len(records) % 2:
        raise ValueError(f"{name} has {len(records)} records: expected pairs, an ancestor and then its descendant")
    sequences = ["".join(record) for record in records]
    return _check_pairs(sequences[::2], sequences[1::2], lambda index: f"line {starts[2 * index]} of {name}")
