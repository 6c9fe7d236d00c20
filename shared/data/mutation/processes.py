"""The ways in which DNA mutates: each draws descendants, and tells exactly how probable each descendant was."""

import abc
import dataclasses
import math
import numbers

import numpy as np

from shared.data.mutation.tokens import NUCLEOTIDES, PAD_CODE, A, C, G, R, T

_CHUNK = 1 << 16  # sites drawn at a time: their uniforms and comparisons stay in the processor's cache


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
        raise TypeError(f"ancestors={codes}: expected an array of shape (..., length)")
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


def check_process(process: Process) -> None:
    if not isinstance(process, Process):
        raise TypeError(
            f"process={process!r}: expected a process such as CpGDeamination(), got {type(process).__name__}"
        )
