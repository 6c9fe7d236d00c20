"""What chapter 12 draws."""

from itertools import pairwise

import numpy as np
import pytest

from shared import genetic_code
from shared.drawing import seq2seq

pytestmark = [pytest.mark.form, pytest.mark.chapter("12")]

TREE = {"": {"a": 0.6, "b": 0.4}, "a": {"a": 0.25, "$": 0.75}}


def test_a_codon_table_is_described_and_not_clipped(check_picture):
    lists = []
    for acid in (*genetic_code.AMINO_ACIDS, "*"):
        codons = [codon for codon, meaning in genetic_code.CODE.items() if meaning == acid]
        lists.append(f"{'stop' if acid == '*' else acid}: {' '.join(codons)}")
    check_picture(
        lambda: seq2seq.codon_table(genetic_code.CODE), f"The 64 codons, and what each means. {'; '.join(lists)}."
    )


def test_a_beam_tree_is_described_and_not_clipped(check_picture):
    check_picture(
        lambda: seq2seq.beam_tree(TREE, width=1),
        "A tree of texts, searched with a beam of 1. Step 1: kept a (0.6); cut b (0.4). "
        "Step 2: kept a$ (0.45); cut aa (0.15). Found: a$, probability 0.45. Greedy decoding finds a$.",
    )


def test_a_beam_tree_keeps_the_best_of_all_beams_and_lets_a_text_end():
    two, three = seq2seq.beam_tree(TREE, 2).alt, seq2seq.beam_tree(TREE, 3).alt
    assert "Step 1: kept a (0.6), b (0.4); cut nothing. Step 2: kept a$ (0.45), b (0.4); cut aa (0.15)" in two
    assert "cut nothing. Found: a$" in three


def test_a_beam_tree_of_words_joins_them():
    tree = {"": {"le": 0.4, "la": 0.6}, "le": {"hibou": 1.0}, "la": {"hulotte": 0.5, "effraie": 0.5}}
    alt = seq2seq.beam_tree(tree, 2, between=" ").alt
    assert "Step 2: kept le hibou (0.4), la hulotte (0.3); cut la effraie (0.3)" in alt
    assert alt.endswith("Found: le hibou, probability 0.4. Greedy decoding finds la hulotte.")


def test_a_beam_tree_draws_what_is_cut_with_dots(figures):
    axes = seq2seq.beam_tree(TREE, 1).axes[0]
    styles = {}
    for box in axes.patches:
        [label] = (each.get_text() for each in axes.texts if np.allclose(each.get_position(), box.get_center()))
        styles[label] = box.get_linestyle()
    assert styles == {"start": "-", "a   0.6": "-", "b   0.4": ":", "aa   0.15": ":", "a end   0.45": "-"}


def test_codon_attention_is_described_and_not_clipped(check_picture):
    check_picture(
        lambda: seq2seq.codon_attention(np.full((2, 3, 6), 1 / 6), "ATGGCC", ["M", "A", "<end>"]),
        "Cross-attention of a trained model with 2 heads: a row for each of the 3 tokens to be written, "
        "a column for each of the 6 letters of DNA. A frame marks the codon of each amino acid.",
    )


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda: seq2seq.beam_tree({"a": {"b": 1.0}}, 2), ValueError, "following"),
        (lambda: seq2seq.beam_tree(TREE, 0), ValueError, "width"),
        (lambda: seq2seq.codon_attention(np.ones((2, 3, 5)), "ATGGC", "MA*"), TypeError, "weights"),
    ],
)
def test_what_is_refused_is_named(call, error, name):
    with pytest.raises(error, match=rf"\b{name}\b"):
        call()


def test_the_diagram_writes_one_token_after_another(check_diagram, edges_of):
    check_diagram(seq2seq.seq2seq_diagram)
    source = pairwise(("source", "source_embedding", "encoder", "memory", "decoder"))
    target = pairwise(("target", "target_embedding", "decoder", "projection", "logits", "target"))
    assert edges_of(seq2seq.seq2seq_diagram()) == sorted([*source, *target])
