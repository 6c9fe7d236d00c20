import collections
import math
import re

import numpy as np
import pytest
from Bio.Data import CodonTable
from Bio.Seq import Seq
from Bio.SeqUtils import IUPACData
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.data.genetic_code import (
    AMINO_ACIDS,
    CODE,
    END_ID,
    NUCLEOTIDES,
    PAD_ID,
    SENSE_CODONS,
    SOURCE_VOCABULARY,
    START_ID,
    TARGET_VOCABULARY,
    decode_target,
    encode_source,
    encode_target,
    sample,
    translate,
)

standard = CodonTable.unambiguous_dna_by_name["Standard"]
some_codons = st.lists(st.sampled_from(sorted(standard.forward_table)), max_size=15)
some_proteins = st.lists(st.text(AMINO_ACIDS, max_size=12), min_size=1, max_size=6)
modest = settings(deadline=None, max_examples=60)


def test_the_table_is_biopythons():
    assert {codon: amino_acid for codon, amino_acid in CODE.items() if amino_acid != "*"} == standard.forward_table
    assert {codon for codon, amino_acid in CODE.items() if amino_acid == "*"} == set(standard.stop_codons)
    assert sorted(SENSE_CODONS) == sorted(standard.forward_table) and len(SENSE_CODONS) == 61


def test_vocabularies():
    assert SOURCE_VOCABULARY == ("<pad>", "A", "C", "G", "T") and "".join(SOURCE_VOCABULARY[1:]) == NUCLEOTIDES
    assert TARGET_VOCABULARY == ("<pad>", "<start>", "<end>", *sorted(IUPACData.protein_letters))
    assert [TARGET_VOCABULARY[i] for i in (PAD_ID, START_ID, END_ID)] == ["<pad>", "<start>", "<end>"]


@modest
@given(some_codons, st.booleans())
def test_translate_as_biopython_does(codons, lower):
    dna = "".join(codons)
    assert translate(dna.lower() if lower else dna) == str(Seq(dna).translate())


def test_a_stop_codon_across_two_codons_stops_nothing():
    assert translate("ATAACG") == "IT"


@pytest.mark.parametrize("codons", [1, 7, (4, 12), [2, 2]], ids=str)
@pytest.mark.parametrize("seed", [0, (3, 8), np.int64(5)], ids=str)
def test_the_target_translates_the_source(codons, seed):
    shortest, longest = np.min(codons), np.max(codons)
    source, target = sample(200, codons, seed)
    assert source.shape == (200, 3 * longest) and target.shape == (200, longest + 2)
    assert source.dtype == target.dtype == np.int64
    sequences = ["".join(SOURCE_VOCABULARY[token] for token in row if token != PAD_ID) for row in source]
    proteins = [str(Seq(dna).translate()) for dna in sequences]
    np.testing.assert_array_equal(encode_source(sequences, 3 * longest), source)
    np.testing.assert_array_equal(encode_target(proteins, longest + 2), target)
    assert decode_target(target) == proteins == [translate(dna) for dna in sequences]
    assert {len(protein) for protein in proteins} == set(range(shortest, longest + 1))
    assert len(set(sequences)) > 100 if longest > 1 else len(set(sequences)) > 50


def test_equal_arguments_give_equal_arrays():
    first = sample(50, (2, 9), (1, 2))
    for ours, again, other in zip(first, sample(50, (2, 9), [1, 2]), sample(50, (2, 9), (1, 3))):
        np.testing.assert_array_equal(ours, again)
        assert not np.array_equal(ours, other)


@pytest.mark.parametrize("seed", range(4))
def test_frequencies(seed):
    """Amino acids come as often as they have codons, codons are uniform at each place, and lengths uniform: within 5 standard errors."""
    source, target = sample(20_000, (3, 8), seed)
    lengths = (target > END_ID).sum(1)
    counts = np.bincount(lengths, minlength=9)[3:]
    assert np.all(np.abs(counts - 20_000 / 6) < 5 * math.sqrt(20_000 * 5 / 36))
    for part in (target, target[:, 1:2], target[:, 3:4]):  # all of them, and single places that are never padding
        number = (part > END_ID).sum()
        for token, amino_acid in enumerate(TARGET_VOCABULARY[3:], start=3):
            share = list(standard.forward_table.values()).count(amino_acid) / 61
            assert abs((part == token).sum() - number * share) < 5 * math.sqrt(number * share * (1 - share)), amino_acid
    first, second = (
        collections.Counter("".join(SOURCE_VOCABULARY[t] for t in row) for row in source[:, i : i + 3].tolist())
        for i in (0, 3)
    )
    for found in (first, second):
        assert set(found) == set(standard.forward_table)
        spread = math.sqrt(20_000 * 60) / 61
        assert max(abs(count - 20_000 / 61) for count in found.values()) < 5 * spread


@modest
@given(some_proteins, st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_target_round_trip(proteins, extra, seed):
    longest = max(map(len, proteins)) + 2
    tokens = encode_target([protein.lower() for protein in proteins], longest + extra)
    assert tokens.shape == (len(proteins), longest + extra) and tokens.dtype == np.int64
    np.testing.assert_array_equal(encode_target(iter(proteins)), tokens[:, :longest])
    np.testing.assert_array_equal((tokens == START_ID).nonzero()[1], np.zeros(len(proteins)))
    np.testing.assert_array_equal((tokens == END_ID).argmax(1), [len(protein) + 1 for protein in proteins])
    assert decode_target(tokens) == decode_target(tokens[:, 1:]) == proteins
    # A model that has written <end> may go on; what it then writes is no part of the protein.
    noise = np.random.default_rng(seed).integers(0, len(TARGET_VOCABULARY), tokens.shape)
    assert decode_target(np.where(tokens == PAD_ID, noise, tokens)) == proteins


def test_decode_a_row_without_end_or_with_padding_inside():
    a, c = TARGET_VOCABULARY.index("A"), TARGET_VOCABULARY.index("C")
    assert decode_target(np.array([[START_ID, a, c, a], [a, PAD_ID, START_ID, c], [END_ID, a, a, a]])) == [
        "ACA",
        "AC",
        "",
    ]
    assert decode_target(np.zeros((2, 0), int)) == ["", ""] and decode_target(np.zeros((0, 4), int)) == []


def test_source_tokens_by_hand():
    np.testing.assert_array_equal(encode_source(["acgt", "", "TG"]), [[1, 2, 3, 4], [0, 0, 0, 0], [4, 3, 0, 0]])


# Bad input


def refused_by_an_encoder(encode, name: str) -> list:
    width = encode(["ACGT"]).shape[1]
    return [
        (lambda: encode(["ACG", "CUA"]), ValueError, f"{name}[1]"),
        (lambda: encode(["ß"]), ValueError, f"{name}[0]"),
        (lambda: encode("ACG"), TypeError, name),
        (lambda: encode(["A", "ACGT"], width - 1), ValueError, "max_length"),
    ]


REFUSED = [
    *(
        (lambda dna=dna: translate(dna), ValueError, "codon 3 of dna")
        for stop in standard.stop_codons
        for dna in (f"GCTATG{stop}AAATAA", f"GCTATG{stop}".lower())
    ),
    (lambda: translate("ACGT"), ValueError, "dna"),
    (lambda: translate("ACGAUG"), ValueError, "letter 5 of dna"),
    (lambda: translate("Aß"), ValueError, "letter 2 of dna"),
    (lambda: translate("ACG ACG"), ValueError, "letter 4 of dna"),
    *((lambda wrong=wrong: translate(wrong), TypeError, "dna") for wrong in (b"ACG", ["ACG"])),
    (lambda: sample(0, 3, 0), ValueError, "num_pairs"),
    (lambda: sample(3, (5, 4), 0), ValueError, "codons"),
    (lambda: sample(3, 3, None), TypeError, "seed"),
    *refused_by_an_encoder(encode_source, "sequences"),
    *refused_by_an_encoder(encode_target, "proteins"),
    (lambda: decode_target([1, 3, 2]), TypeError, "tokens"),
    (lambda: decode_target([[1, 23]]), ValueError, "vocabulary"),
]


@pytest.mark.parametrize(("call", "error", "name"), REFUSED)
def test_what_is_refused_is_named(call, error, name):
    with pytest.raises(error, match=rf"\b{re.escape(name)}(?!\w)"):
        call()
