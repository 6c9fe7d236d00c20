import csv
import itertools
import math
import os
import re

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from Bio import SeqIO
from Bio.SeqIO.FastaIO import SimpleFastaParser
from hypothesis import given, settings
from hypothesis import strategies as st

from shared import dna
from shared.data.dna import (
    NUCLEOTIDES,
    PAD_CODE,
    PAD_ID,
    VOCABULARY,
    AToG,
    CpGDeamination,
    Kimura80,
    Process,
    detokenize,
    optimum,
    per_site_optimum,
    probabilities,
    read_csv,
    read_fasta,
    sample_tokens,
    score,
    simulate,
    tokenize_and_pad,
    write_csv,
)

# The second of each kind is asymmetric enough to show an exchanged rate or threshold.
PROCESSES = [AToG(), AToG(0.05, 0.6), Kimura80(), Kimura80(0.5, 0.9), CpGDeamination(), CpGDeamination(2.5, 0.6, 0.35)]
some_process = st.sampled_from(PROCESSES)
some_sequence = st.text(NUCLEOTIDES, min_size=1, max_size=12)
some_sequences = st.lists(some_sequence, min_size=1, max_size=6)
modest = settings(deadline=None, max_examples=60)


def kimura_by_rates(kappa: float, distance: float) -> np.ndarray:
    """The Kimura model as the exponential of its rate matrix: one expected substitution a site in a unit of time."""
    rates = np.array([[kappa if {x, y} in ({"A", "G"}, {"C", "T"}) else 1.0 for y in "ACGT"] for x in "ACGT"])
    np.fill_diagonal(rates, 0)
    rates /= rates.sum(1, keepdims=True)
    np.fill_diagonal(rates, -1)
    return scipy.linalg.expm(rates * distance)


def reference(process: Process, sequence: str) -> np.ndarray:
    """P(descendant letter | ancestor) over ACGTR, one site after another: (length, 5)."""
    rows = []
    for site, letter in enumerate(sequence):
        row = dict.fromkeys(NUCLEOTIDES, 0.0)
        if isinstance(process, AToG) and letter == "A":
            row |= {"A": 1 - process.p - process.polymorphism, "G": process.p, "R": process.polymorphism}
        elif isinstance(process, AToG) or letter == "R":
            row[letter] = 1.0
        elif isinstance(process, CpGDeamination) and sequence[site : site + 2] == "CG":
            row |= {"C": 1 - process.c, "T": process.c}
        else:
            distance = process.t if isinstance(process, Kimura80) else process.d
            row |= dict(zip("ACGT", kimura_by_rates(process.kappa, distance)["ACGT".index(letter)]))
        rows.append([row[letter] for letter in NUCLEOTIDES])
    return np.array(rows)


# Processes


@pytest.mark.parametrize("kappa, t", [(4, 0.05), (0, 0.3), (1, 2.0), (0.5, 0.01), (30, 1.5), (2, 0), (2, 1e-9)])
def test_kimura_is_the_exponential_of_its_rates(kappa, t):
    np.testing.assert_allclose(Kimura80(kappa, t).matrix()[:4, :4], kimura_by_rates(kappa, t), rtol=1e-9, atol=1e-15)


def test_kimura_has_the_distance_it_is_asked_for():
    """Kimura's own estimate of the distance, from the shares of transitions and transversions, gives t back."""
    for kappa, t in [(4, 0.05), (0.5, 0.7), (9, 1.2)]:
        transition, transversion = Kimura80(kappa, t).substitutions()
        p, q = transition, 2 * transversion
        assert math.isclose(-math.log((1 - 2 * p - q) * math.sqrt(1 - 2 * q)) / 2, t, rel_tol=1e-10)


@modest
@given(some_process, some_sequences)
def test_probabilities_of_each_site(process, sequences):
    longest = max(map(len, sequences))
    exact = probabilities(process, sequences)
    assert exact.shape == (len(sequences), longest, len(VOCABULARY)) and exact.dtype == np.float64
    for row, sequence in zip(exact, sequences):
        np.testing.assert_allclose(row[: len(sequence), 1:6], reference(process, sequence), atol=1e-12)
        np.testing.assert_allclose(row[: len(sequence)].sum(-1), 1, atol=1e-12)
        assert not row[len(sequence) :].any() and not row[:, [0, 6, 7, 8]].any()


@pytest.mark.parametrize("process", PROCESSES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_sampled_frequencies(process, seed):
    """In each context (own letter, next letter), each descendant letter comes within 5 standard errors of its probability."""
    rng = np.random.default_rng(seed)
    # A whole number of chunks would hide a mistake at the last one; R among the ancestors stays.
    ancestors = rng.integers(0, 5, (4001, 37))
    descendants = process.sample(ancestors, rng)
    assert descendants.dtype == np.uint8 and descendants.shape == ancestors.shape
    following = np.full_like(ancestors, 5)
    following[:, :-1] = ancestors[:, 1:]
    for own, after in itertools.product(range(5), range(6)):
        seen = descendants[(ancestors == own) & (following == after)]
        expected = reference(process, NUCLEOTIDES[own] + NUCLEOTIDES[after : after + 1])[0]
        counts = np.bincount(seen, minlength=5)
        assert len(seen) > 500
        assert np.all(
            np.abs(counts - len(seen) * expected) <= 5 * np.sqrt(len(seen) * expected * (1 - expected)) + 1e-6
        ), (own, after)


@pytest.mark.parametrize("process", PROCESSES, ids=str)
def test_sites_mutate_independently(process):
    """Two runs from one ancestor agree at as many sites as independent draws do, and so do neighbours within a run."""
    sequence = "ACGTACCGGTATTCGA"
    exact = reference(process, sequence)
    codes = np.tile([NUCLEOTIDES.index(letter) for letter in sequence], (60_000, 1))
    changed = process.sample(codes, np.random.default_rng(5)) != codes
    rate = 1 - exact[np.arange(16), codes[0]]
    for shift in (1, 2):
        together = (changed[:, shift:] & changed[:, :-shift]).sum(0)
        product = rate[shift:] * rate[:-shift]
        assert np.all(np.abs(together - 60_000 * product) <= 5 * np.sqrt(60_000 * product * (1 - product)) + 1e-6)


@pytest.mark.parametrize(
    "process", [AToG(1, 0), AToG(0, 1), CpGDeamination(4, 0, 1), CpGDeamination(4, 0, 0), Kimura80(4, 0)], ids=str
)
def test_certain_processes(process):
    codes = np.random.default_rng(0).integers(0, 4, (300, 50))
    exact = process.probabilities(codes)
    assert set(np.unique(exact)) <= {0.0, 1.0}
    np.testing.assert_array_equal(process.sample(codes, np.random.default_rng(1)), exact.argmax(-1))


def test_codes_of_any_layout():
    """The same answer for one sequence, more axes, another dtype, and memory in another order; a sequence's end has no neighbour."""
    process = CpGDeamination(4, 0.1, 1.0)
    codes = np.random.default_rng(3).integers(0, 4, (6, 5, 7))
    exact, sampled = process.probabilities(codes), process.sample(codes, np.random.default_rng(1))
    for other in (codes.astype(np.uint8), np.asfortranarray(codes)):
        np.testing.assert_array_equal(process.probabilities(other), exact)
        np.testing.assert_array_equal(process.sample(other, np.random.default_rng(1)), sampled)
    np.testing.assert_array_equal(process.probabilities(codes[2, 3]), exact[2, 3])
    assert process.sample(codes[2, 3], np.random.default_rng(1)).shape == (7,)
    last_c = np.array([[0, 1], [2, 2]])  # in memory a G follows the C
    np.testing.assert_allclose(process.probabilities(last_c)[0, 1], Kimura80(4, 0.1).matrix()[1])
    assert (process.sample(np.tile(last_c, (200, 1)), np.random.default_rng(0))[::2, 1] == 1).mean() > 0.7
    assert process.sample(np.zeros((3, 0), int), np.random.default_rng(0)).shape == (3, 0)


@pytest.mark.parametrize("process", PROCESSES, ids=str)
def test_padding_stays_padding(process):
    codes = np.array([[0, 1, 2, PAD_CODE, PAD_CODE], [1, PAD_CODE, PAD_CODE, PAD_CODE, PAD_CODE]])
    sampled = process.sample(np.tile(codes, (500, 1)), np.random.default_rng(0))
    np.testing.assert_array_equal(sampled == PAD_CODE, np.tile(codes == PAD_CODE, (500, 1)))
    assert not process.probabilities(codes)[codes == PAD_CODE].any()


def test_a_process_cannot_be_changed():
    with pytest.raises(AttributeError):
        AToG().p = 0.5


# Simulation


@pytest.mark.parametrize("process", PROCESSES, ids=str)
@pytest.mark.parametrize("length", [9, (3, 12)], ids=str)
def test_table_and_tokens_are_the_same_pairs(process, length):
    for seed in (0, (7, 3), [1, 2, 3], np.int64(4)):
        table = simulate(process, 50, length, seed)
        assert list(table.columns) == ["ancestor", "descendant"] and (table.dtypes == "str").all() and len(table) == 50
        for column, tokens in zip(table.columns, sample_tokens(process, 50, length, seed)):
            assert tokens.dtype == np.int64 and tokens.shape == (50, np.max(length))
            np.testing.assert_array_equal(tokenize_and_pad(table[column], np.max(length)), tokens)
        pd.testing.assert_frame_equal(table, simulate(process, 50, length, seed))
        assert not table.equals(simulate(process, 50, length, 99))


def test_ancestors_and_lengths_are_uniform():
    for seed in range(3):
        table = simulate(AToG(), 12_000, (5, 9), seed)
        assert (table["ancestor"].str.len() == table["descendant"].str.len()).all()
        lengths = table["ancestor"].str.len().value_counts()
        assert sorted(lengths.index) == [5, 6, 7, 8, 9] and np.all(
            np.abs(lengths - 2400) < 5 * math.sqrt(12_000 * 0.2 * 0.8)
        )
        text = "".join(table["ancestor"])
        for word in map("".join, itertools.product("ACGT", repeat=2)):
            # Pairs that do not overlap are independent.
            count = sum(text[site : site + 2] == word for site in range(0, len(text), 2))
            n = len(text) // 2
            assert abs(count - n / 16) < 5 * math.sqrt(n * 15 / 256), word


def test_steps_of_a_seed_differ():
    batches = [sample_tokens(Kimura80(), 8, 32, (0, step))[0] for step in range(20)]
    assert len({batch.tobytes() for batch in batches}) == 20
    # Far apart in time, what a site becomes does not depend on what it was, so that only the draw is left.
    far = [
        np.bitwise_xor(*(tokens - 1 for tokens in sample_tokens(Kimura80(1, 50), 8, 32, (0, step))))
        for step in range(20)
    ]
    assert len({changes.tobytes() for changes in far}) == 20


# Tokens


@modest
@given(some_sequences, st.integers(0, 3))
def test_tokens_round_trip(sequences, padding):
    longest = max(map(len, sequences))
    tokens = tokenize_and_pad(sequences, longest + padding)
    assert tokens.dtype == np.int64 and tokens.shape == (len(sequences), longest + padding)
    for row, sequence in zip(tokens, sequences):
        assert row.tolist() == [VOCABULARY.index(letter) for letter in sequence] + [PAD_ID] * (
            longest + padding - len(sequence)
        )
    assert detokenize(tokens) == sequences
    np.testing.assert_array_equal(tokenize_and_pad(pd.Series(map(str.lower, sequences))), tokens[:, :longest])


def test_special_tokens_are_dropped():
    start, end, mask = map(VOCABULARY.index, ("<start>", "<end>", "<mask>"))
    assert detokenize([[start, 1, mask, 2, end, 0], [0, 0, 5, 4, 3, 0], [0] * 6]) == ["AC", "RTG", ""]
    assert tokenize_and_pad(["", "CG"]).tolist() == [[0, 0], [2, 3]]


# Scores


def entropy(*probabilities: float) -> float:
    return -sum(p * math.log(p) for p in probabilities if p)


def kimura_entropy(kappa: float, t: float) -> float:
    return entropy(*kimura_by_rates(kappa, t)[0])


def test_closed_forms_of_the_optimum():
    """Uniform ancestors of one length: every sequence of length 6 once is their exact expectation."""
    every = np.array(list(itertools.product(range(1, 5), repeat=6)))
    for process in (AToG(), AToG(0.5, 0.3)):
        p, q = process.p, process.polymorphism
        expected = entropy(p, q, 1 - p - q) / 4, (3 + max(p, q, 1 - p - q)) / 4
        np.testing.assert_allclose(optimum(process, every), expected, rtol=1e-12)
        np.testing.assert_allclose(per_site_optimum(process, every), expected, rtol=1e-12)
    for process in (Kimura80(), Kimura80(0.5, 0.7)):
        expected = kimura_entropy(process.kappa, process.t), kimura_by_rates(process.kappa, process.t)[0].max()
        np.testing.assert_allclose(optimum(process, every), expected, rtol=1e-12)
        np.testing.assert_allclose(per_site_optimum(process, every), expected, rtol=1e-12)
    for process in (CpGDeamination(), CpGDeamination(2.5, 0.6, 0.35)):
        np.testing.assert_allclose(optimum(process, every), cpg_optimum(process, 6), rtol=1e-12)
        np.testing.assert_allclose(per_site_optimum(process, every), cpg_per_site_optimum(process, 6), rtol=1e-12)


def cpg_optimum(process: CpGDeamination, length: int) -> tuple[float, float]:
    share = (length - 1) / (16 * length)  # of CpG sites
    kept = kimura_by_rates(process.kappa, process.d)[0].max()
    return (
        (1 - share) * kimura_entropy(process.kappa, process.d) + share * entropy(process.c, 1 - process.c),
        (1 - share) * kept + share * max(process.c, 1 - process.c),
    )


def cpg_per_site_optimum(process: CpGDeamination, length: int) -> tuple[float, float]:
    kimura = kimura_by_rates(process.kappa, process.d)
    kimura = kimura_by_rates(process.kappa, process.d)
    same, kept = kimura_entropy(process.kappa, process.d), kimura[0].max()
    c_row = 3 / 4 * kimura[1] + 1 / 4 * np.array([0, 1 - process.c, 0, process.c])  # of every C but the last site's
    share = (length - 1) / (4 * length)
    return (1 - share) * same + share * entropy(*c_row), (1 - share) * kept + share * c_row.max()


def test_known_values_of_the_optimum():
    """At the course's settings, from the closed forms; and for drawn ancestors within 5 standard errors, as measured on 60 seeds."""
    np.testing.assert_allclose(cpg_optimum(CpGDeamination(), 64), (0.25166, 0.94249), atol=6e-6)
    np.testing.assert_allclose(cpg_per_site_optimum(CpGDeamination(), 64), (0.32593, 0.90557), atol=6e-6)
    for seed in range(3):
        ancestors, _ = sample_tokens(CpGDeamination(), 4000, 64, seed)
        np.testing.assert_allclose(optimum(CpGDeamination(), ancestors), (0.25166, 0.94249), rtol=0.0022)
        np.testing.assert_allclose(per_site_optimum(CpGDeamination(), ancestors), (0.32593, 0.90557), rtol=0.0065)
        np.testing.assert_allclose(optimum(AToG(), ancestors), (0.20045, 0.9250), rtol=0.0165)


@modest
@given(some_process, some_sequences)
def test_scores_by_brute_force(process, sequences):
    rows = [reference(process, sequence) for sequence in sequences]
    exact = np.concatenate(rows)
    looks = [(letter, site == len(sequence) - 1) for sequence in sequences for site, letter in enumerate(sequence)]
    by_look = np.array(
        [np.mean([exact[j] for j, other in enumerate(looks) if other == look], axis=0) for look in looks]
    )
    for function, predicted in ((optimum, exact), (per_site_optimum, by_look)):
        result = function(process, sequences)
        losses = [-sum(e * math.log(p) for e, p in zip(site, guess) if e > 0) for site, guess in zip(exact, predicted)]
        assert math.isclose(result.cross_entropy, np.mean(losses), abs_tol=1e-12)
        np.testing.assert_allclose(result, function(process, tokenize_and_pad(sequences, 15)))
        # Of two letters that are equally probable rounding decides which is taken; over the sites that share a prediction both are right equally often.
        assert math.isclose(
            result.accuracy, np.mean([site[guess.argmax()] for site, guess in zip(exact, predicted)]), abs_tol=1e-12
        )


@modest
@given(
    some_process,
    some_sequences,
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.1, 1.0, 10.0]),
    st.sampled_from([np.float32, np.float64]),
)
def test_nothing_beats_the_optimum(process, sequences, seed, sharpness, dtype):
    tokens = tokenize_and_pad(sequences, 14)
    best, blind = optimum(process, tokens), per_site_optimum(process, tokens)
    assert blind.cross_entropy >= best.cross_entropy - 1e-12 and blind.accuracy <= best.accuracy + 1e-12
    logits = sharpness * np.random.default_rng(seed).standard_normal((*tokens.shape, len(VOCABULARY)))
    random = np.exp(logits - logits.max(-1, keepdims=True))
    random = (random / random.sum(-1, keepdims=True)).astype(dtype)
    mixed = (0.99 * np.where(tokens[..., None] > 0, probabilities(process, tokens), random) + 0.01 * random).astype(
        dtype
    )
    for predicted in (random, mixed):
        kept = predicted.copy()
        result = score(process, tokens, predicted)
        np.testing.assert_array_equal(predicted, kept)
        assert result.cross_entropy >= best.cross_entropy - 1e-12 and result.accuracy <= best.accuracy + 1e-12
        predicted[tokens == PAD_ID] = np.nan  # what is said at padding does not matter
        assert score(process, tokens, predicted) == result
    own_letter_only = (np.random.default_rng(seed).dirichlet(np.full(9, sharpness), 9) + 1e-9).astype(dtype)[tokens]
    result = score(process, tokens, own_letter_only)
    assert result.cross_entropy >= blind.cross_entropy - 1e-12 and result.accuracy <= blind.accuracy + 1e-12


def test_score_is_the_expectation_of_what_is_drawn():
    process = CpGDeamination(2.5, 0.3, 0.7)
    ancestors, descendants = sample_tokens(process, 3000, (20, 40), 11)
    logits = np.random.default_rng(0).standard_normal((*ancestors.shape, len(VOCABULARY)))
    predicted = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    real = ancestors != PAD_ID
    losses = -np.log(np.take_along_axis(predicted, descendants[..., None], -1))[real]
    hits = (predicted.argmax(-1) == descendants)[real]
    expected = score(process, ancestors, predicted)
    assert abs(losses.mean() - expected.cross_entropy) < 5 * losses.std() / math.sqrt(losses.size)
    assert abs(hits.mean() - expected.accuracy) < 5 * hits.std() / math.sqrt(hits.size)


def test_the_impossible_costs_infinitely_much():
    certain = np.eye(len(VOCABULARY))[tokenize_and_pad(["AAC"])]
    assert score(AToG(), ["AAC"], certain) == (math.inf, pytest.approx((0.7 + 0.7 + 1) / 3))
    assert score(AToG(), ["CGT"], np.eye(len(VOCABULARY), dtype=int)[tokenize_and_pad(["CGT"])]) == (0.0, 1.0)


@pytest.mark.parametrize("process", PROCESSES, ids=str)
def test_rounding_does_not_beat_the_optimum(process):
    ancestors, _ = sample_tokens(process, 20, (5, 30), 1)
    exact, best = probabilities(process, ancestors), optimum(process, ancestors)
    np.testing.assert_allclose(score(process, ancestors, exact * 1.0005), best, rtol=1e-12)
    rounded = score(process, ancestors, exact.astype(np.float32)).cross_entropy
    assert best.cross_entropy - 1e-15 <= rounded < best.cross_entropy + 1e-12


# Files

some_pairs = st.lists(
    st.integers(1, 9).flatmap(lambda n: st.tuples(*[st.text(NUCLEOTIDES, min_size=n, max_size=n)] * 2)),
    min_size=1,
    max_size=6,
)


def as_table(pairs) -> pd.DataFrame:
    return pd.DataFrame(list(pairs), columns=["ancestor", "descendant"], dtype="str")


@modest
@given(some_pairs)
def test_csv_round_trip(tmp_path_factory, pairs):
    path = tmp_path_factory.getbasetemp() / "round_trip.csv"
    write_csv(as_table(pairs), path)
    assert path.read_bytes() == "".join(f"{a},{d}\n" for a, d in [("ancestor", "descendant"), *pairs]).encode()
    pd.testing.assert_frame_equal(read_csv(path), as_table(pairs))
    write_csv(as_table(pairs).map(str.lower).assign(species="x"), str(path))
    pd.testing.assert_frame_equal(read_csv(str(path)), as_table(pairs))


def test_simulated_pairs_survive_the_csv(tmp_path):
    table = simulate(CpGDeamination(), 200, (4, 30), 2)
    write_csv(table, tmp_path / "pairs.csv")
    pd.testing.assert_frame_equal(read_csv(tmp_path / "pairs.csv"), table)
    assert os.listdir(tmp_path) == ["pairs.csv"]


@pytest.mark.parametrize("kind", ["csv", "fasta"])
def test_long_sequences_are_read_and_csv_keeps_its_limit(tmp_path, kind, rng):
    ancestor, descendant = ("".join(rng.choice(list(NUCLEOTIDES), 200_000)) for _ in range(2))
    path, before = tmp_path / f"pairs.{kind}", csv.field_size_limit()
    if kind == "csv":
        write_csv(as_table([(ancestor, descendant)]), path)
        assert read_csv(path).values.tolist() == [[ancestor, descendant]]
    else:
        path.write_text(f">1\n{ancestor}\n>2\n{descendant}\n")
        assert read_fasta(path).values.tolist() == [[ancestor, descendant]]
    assert csv.field_size_limit() == before
    path.write_text("ancestor,descendant\nA,X\n")
    with pytest.raises(ValueError):
        (read_csv if kind == "csv" else read_fasta)(path)
    assert csv.field_size_limit() == before


def test_csv_as_spreadsheets_write_it(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_bytes('\ufeffancestor,Note, descendant,id\r\nacg,"a, b", ggr,7\r\n\r\n"T",,T,8\r\n ,,,\r\n'.encode())
    pd.testing.assert_frame_equal(read_csv(path), as_table([("ACG", "GGR"), ("T", "T")]))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old mac"])
def test_a_file_of_any_system_is_read(end, tmp_path):
    path = tmp_path / "pairs"
    path.write_bytes(end.join(["", "note,ancestor,descendant,note", "x,ACG,GGR,y", "", "x,T,T,y", ""]).encode())
    pd.testing.assert_frame_equal(read_csv(path), as_table([("ACG", "GGR"), ("T", "T")]))
    path.write_bytes(end.join([">1", "AC", "G", ">2", "GG", "R", "", ">3", "T", ">4", "T", ""]).encode())
    pd.testing.assert_frame_equal(read_fasta(path), as_table([("ACG", "GGR"), ("T", "T")]))


def test_write_csv_refuses_bad_tables_and_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "pairs.csv"
    write_csv(as_table([("AC", "AC")]), path)
    kept = path.read_bytes()
    for table, error, place in [
        ([("A", "A")], TypeError, "table"),
        (pd.DataFrame({"ancestor": ["A"]}), ValueError, "table has no column descendant"),
        (
            pd.DataFrame([["A", "A", "C"]], columns=["ancestor", "descendant", "ancestor"]),
            ValueError,
            "columns ancestor",
        ),
        (as_table([]), ValueError, "table"),
        (as_table([("A", "A"), ("A", "X")]), ValueError, "row 1 of table"),
        (as_table([("A", "AC")]), ValueError, "row 0 of table"),
        (as_table([("A", None)]), TypeError, "row 0 of table: descendant"),
    ]:
        with pytest.raises(error, match=rf"\b{place}\b"):
            write_csv(table, path)

    def half(self, file, **options):
        file.write("ancestor,desc")
        raise OSError("the disk is full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    with pytest.raises(OSError, match="the disk is full"):
        write_csv(as_table([("GG", "GG")]), path)
    assert path.read_bytes() == kept and os.listdir(tmp_path) == ["pairs.csv"]


@modest
@given(some_pairs, st.integers(1, 5), st.booleans())
def test_fasta_as_biopython_reads_it(tmp_path_factory, pairs, width, lower):
    path = tmp_path_factory.getbasetemp() / "pairs.fasta"
    sequences = [sequence.lower() if lower else sequence for pair in pairs for sequence in pair]
    wrapped = [
        "\n".join(sequence[start : start + width] for start in range(0, len(sequence), width)) for sequence in sequences
    ]
    path.write_text(
        "".join(f">record {index} > of many\n{text}\n" + "\n" * (index % 2) for index, text in enumerate(wrapped))
    )
    with open(path) as file:
        theirs = [sequence.upper() for _, sequence in SimpleFastaParser(file)]
    assert theirs == [str(record.seq).upper() for record in SeqIO.parse(path, "fasta")]
    pd.testing.assert_frame_equal(read_fasta(path), as_table(zip(theirs[::2], theirs[1::2])))


BAD_FILES = [
    (read_csv, "", "is empty"),
    (read_csv, "ancestor,child\nA,A\n", "no column descendant"),
    (read_csv, "ACG;ACG\n", "ancestor .*descendant"),
    (read_csv, "ancestor,descendant\n\n", "no pairs"),
    (read_csv, " \n,\n\n", "is empty"),
    (read_csv, "ancestor,descendant,ancestor\nA,A,C\n", r"\bcolumns ancestor\b"),
    (read_csv, "a,descendant,ancestor, descendant\nA,A,A,A\n", r"\bcolumns descendant\b"),
    (read_csv, "\n\nancestor,descendant\nA,A\nA,N\n", "row 5 .*'N'"),
    (read_csv, "ancestor,descendant\rA,A\rA,N\r", "row 3 .*'N'"),
    (read_csv, "ancestor,descendant\n" + "A,A\n" * 15 + "AC,AX\nZ,Z\n", "row 17 .*'X'"),
    (read_csv, "ancestor,descendant\nA,A\n\n\nA,N\n", "row 5 .*'N'"),
    (read_csv, "ancestor,descendant\nß,A\n", "row 2 .*'ß'"),
    (read_csv, "ancestor,descendant\nA,A\nAC,ACG\n", "row 3 .* 2 .* 3"),
    (read_csv, "ancestor,descendant\nA,A\nA,\n", "row 3 .*descendant"),
    (read_csv, "ancestor,descendant\nA,A\n,A\n", "row 3 .*ancestor"),
    (read_csv, "ancestor,descendant\nA,A\nA\n", "row 3 .* 1 fields"),
    (read_csv, "ancestor,descendant\nA,A,A\n", "row 2 .* 3 fields"),
    (read_csv, 'ancestor,descendant\nA,A\n"A,A\n', "row 3 .*CSV"),
    (read_csv, b"ancestor,descendant\n\xff\xfe,A\n", "row 2 .*'\ufffd'"),
    (read_fasta, "\ufeff>a\nA\n>b\nG\n>c\nT\n", "3 records"),
    (read_fasta, "", "is empty"),
    (read_fasta, "\nACGT\n>a\nAC\n", "line 2 .*'ACGT'"),
    (read_fasta, ">a\nAC\n>b\nAC\n>c\nAC\n", "3 records"),
    (read_fasta, ">a\nAC\n>b\n\n", "line 3 "),
    (read_fasta, ">a\nAC\nGT\n\nAN\n>b\nACGTAC\n", "line 5 .*'N'"),
    (read_fasta, ">a\nA\n>b\nA\n>c\nAC\n>d\nACG\n", "line 5 .* 2 .* 3"),
]


@pytest.mark.parametrize(("read", "content", "place"), BAD_FILES)
def test_a_bad_file_is_refused_with_the_place(read, content, place, tmp_path):
    path = tmp_path / "pairs"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=place) as caught:
        read(path)
    assert "pairs" in str(caught.value) and str(tmp_path) not in str(caught.value)


def test_missing_files(tmp_path):
    for function in (read_csv, read_fasta):
        with pytest.raises(FileNotFoundError):
            function(tmp_path / "none")


# Bad input


def refused_by_a_process(kind, name: str) -> list:
    rows = [("0.1", TypeError), (-0.1, ValueError)]
    rows += [(1.01, ValueError)] if name in ("p", "polymorphism", "c") else []
    return [(lambda value=value: kind(**{name: value}), error, name) for value, error in rows]


def refused_as_codes() -> list:
    def sample(codes):
        return AToG().sample(codes, np.random.default_rng(0))

    rows = [(lambda: AToG().sample([[0, 1]], 0), TypeError, "rng")]
    for function in (AToG().probabilities, sample):
        rows += [
            (lambda function=function: function([[0, 5]]), ValueError, "ancestors hold the code 5"),
            (lambda function=function: function([[0, -1]]), ValueError, "ancestors hold the code -1"),
            (lambda function=function: function([[0.0]]), TypeError, "ancestors"),
            (lambda function=function: function(3), TypeError, "ancestors"),
        ]
    return rows


UNIFORM = np.full((1, 3, 9), 1 / 9)
LETTERS = [
    (["ACG", "", "AXT"], "sequences[2]: 'X'"),
    (["é"], "sequences[0]: 'é'"),
    (["A", "C-"], "sequences[1]: '-'"),
    (["A", "", "-C"], "sequences[2]: '-'"),
    (["A\n"], r"sequences[0]: '\n'"),
    (["AC", "G\U0001d538", "T"], "sequences[1]: '\U0001d538'"),
]
REFUSED = [
    *(
        row
        for kind, names in (
            (AToG, ("p", "polymorphism")),
            (Kimura80, ("kappa", "t")),
            (CpGDeamination, ("kappa", "d", "c")),
        )
        for name in names
        for row in refused_by_a_process(kind, name)
    ),
    *((lambda t=t: Kimura80(t=t), TypeError, "t") for t in (True, None, 1j)),
    *((lambda t=t: Kimura80(t=t), ValueError, "t") for t in (math.nan, math.inf)),
    (lambda: AToG(0.7, 0.4), ValueError, "polymorphism"),
    *refused_as_codes(),
    (lambda: simulate(AToG, 3, 4, 0), TypeError, "process"),
    (lambda: simulate(AToG(), 0, 4, 0), ValueError, "num_pairs"),
    (lambda: simulate(AToG(), 3, (9, 3), 0), ValueError, "length"),
    (lambda: sample_tokens(AToG(), 3, 4, 0.5), TypeError, "seed"),
    *((lambda sequences=sequences: tokenize_and_pad(sequences), ValueError, name) for sequences, name in LETTERS),
    (lambda: tokenize_and_pad(["ACG", "A" * 80], 64), ValueError, "max_length"),
    (lambda: tokenize_and_pad("ACGT"), TypeError, "sequences"),
    (lambda: detokenize([[1, 9]]), ValueError, "vocabulary"),
    (lambda: detokenize([1, 2]), TypeError, "tokens"),
    (lambda: probabilities(None, ["ACG"]), TypeError, "process"),
    (lambda: probabilities(AToG(), [[1, 2, 9]]), ValueError, "vocabulary"),
    (lambda: probabilities(AToG(), [[1, 8, 6]]), ValueError, "ancestors hold <mask>"),
    (lambda: probabilities(AToG(), [1, 2, 3]), TypeError, "ancestors"),
    (lambda: optimum(AToG(), "ACG"), TypeError, "sequences"),
    (lambda: per_site_optimum(AToG(), ["XCG"]), ValueError, "sequences[0]"),
    (lambda: optimum(AToG(), [[0, 0, 0]]), ValueError, "ancestors"),
    (lambda: score(AToG(), ["ACGT"], UNIFORM), TypeError, "predicted"),
    (lambda: score(AToG(), ["ACG"], UNIFORM[..., :5]), TypeError, "predicted"),
    (lambda: score(AToG(), ["ACG"], 2 * UNIFORM), ValueError, "predicted"),
    (lambda: score(AToG(), ["ACG"], UNIFORM * math.nan), ValueError, "predicted"),
    (lambda: score(AToG(), ["ACG"], UNIFORM - np.eye(9)[:3]), ValueError, "predicted"),
    (lambda: score(AToG(), ["ACG"], np.full((1, 3, 9), "x")), TypeError, "predicted"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    with pytest.raises(error, match=rf"\b{re.escape(name)}(?!\w)"):
        call()


def test_public_names_are_documented():
    for name in (
        "simulate",
        "sample_tokens",
        "tokenize_and_pad",
        "detokenize",
        "probabilities",
        "score",
        "optimum",
        "per_site_optimum",
        "write_csv",
        "read_csv",
        "read_fasta",
    ):
        documentation = getattr(dna, name).__doc__
        assert all(f"{part}:" in documentation for part in ("Args", "Raises")), name
