import collections
import math

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


def assert_refused(error: type[Exception], message: str, function, *arguments, **named) -> None:
    """The call raises that error, with a text that names what came and what was expected."""
    with pytest.raises(error) as caught:
        function(*arguments, **named)
    assert message in str(caught.value)


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


def test_translate_refuses_what_is_no_coding_sequence():
    for stop in standard.stop_codons:
        for given_dna in ("GCTATG" + stop + "AAATAA", ("GCTATG" + stop).lower()):
            assert_refused(ValueError, f"codon 3 of dna is the stop codon {stop}: expected sense", translate, given_dna)
    assert translate("ATAACG") == "IT"  # TAA across two codons stops nothing
    assert_refused(ValueError, "dna has 4 letters: expected a multiple of 3", translate, "ACGT")
    assert_refused(ValueError, "letter 5 of dna, 'U', is not a nucleotide; known: ACGT", translate, "ACGAUG")
    assert_refused(ValueError, "letter 2 of dna, 'ß', is not a nucleotide", translate, "Aß")
    assert_refused(ValueError, "letter 4 of dna, ' ', is not a nucleotide", translate, "ACG ACG")
    for wrong in (None, 3, b"ACG", ["ACG"]):
        assert_refused(TypeError, f"dna={wrong!r}: expected a string, got {type(wrong).__name__}", translate, wrong)


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


def test_sample_refuses_bad_arguments():
    for wrong in (0, -3):
        assert_refused(ValueError, f"num_pairs={wrong}: expected at least 1", sample, wrong, 3, 0)
        for codons in (wrong, (wrong, 4)):
            assert_refused(ValueError, f"codons={wrong}: expected at least 1", sample, 3, codons, 0)
    assert_refused(ValueError, "codons=(5, 4): expected (shortest, longest)", sample, 3, (5, 4), 0)
    for wrong in (2.0, "3", None, True):
        assert_refused(TypeError, f"num_pairs={wrong!r}: expected a whole number", sample, wrong, 3, 0)
        assert_refused(TypeError, f"codons={wrong!r}: expected a whole number", sample, 3, wrong, 0)
        assert_refused(TypeError, f"codons={wrong!r}: expected a whole number", sample, 3, (1, wrong), 0)
        assert_refused(TypeError, f"seed={wrong!r}: expected a whole number", sample, 3, 3, wrong)
        assert_refused(TypeError, "expected a whole number or a sequence of them", sample, 3, 3, (1, wrong))
    assert_refused(TypeError, "codons=(1, 2, 3): expected a whole number, got tuple", sample, 3, (1, 2, 3), 0)
    assert_refused(TypeError, "seed=(): expected a whole number", sample, 3, 3, ())
    assert_refused(ValueError, "seed=-1: expected no number below 0", sample, 3, 3, -1)


@pytest.mark.parametrize(
    "encode, name, unknown",
    [
        (encode_source, "sequences", "'U' is not a nucleotide; known: ACGT"),
        (encode_target, "proteins", "'U' is not an amino acid; known: ACDEFGHIKLMNPQRSTVWY"),
    ],
)
def test_encoders_refuse_bad_arguments(encode, name, unknown):
    assert_refused(ValueError, f"{name}[1]: {unknown}", encode, ["ACG", "CUA"])
    assert_refused(ValueError, f"{name}[0]: 'ß' is not", encode, ["ß"])
    assert_refused(ValueError, f"{name} is empty", encode, [])
    assert_refused(TypeError, f"{name}='ACG': expected a list of strings, got str", encode, "ACG")
    assert_refused(TypeError, f"{name}=3: expected a list of strings, got int", encode, 3)
    assert_refused(TypeError, f"{name}[1]=None: expected a string, got NoneType", encode, ["A", None])
    width = encode(["ACGT"]).shape[1]
    assert_refused(ValueError, f"length {width} is over max_length={width - 1}", encode, ["A", "ACGT"], width - 1)
    assert_refused(ValueError, "max_length=0: expected at least 1", encode, ["A"], 0)
    assert_refused(TypeError, "max_length=4.0: expected a whole number", encode, ["A"], 4.0)


def test_decode_refuses_bad_tokens():
    assert_refused(ValueError, "tokens has shape (3,): expected (n, length)", decode_target, [1, 3, 2])
    assert_refused(ValueError, "token id 23 is outside the vocabulary of 23", decode_target, [[1, 23]])
    assert_refused(ValueError, "token id -1 is outside the vocabulary", decode_target, [[1, -1]])
    assert_refused(TypeError, "tokens have dtype float64: expected whole numbers", decode_target, [[1.0]])
