"""What chapter 04 draws."""

from itertools import pairwise

import pytest

from shared.drawing import tokenization

pytestmark = [pytest.mark.form, pytest.mark.chapter("04")]


def test_merged_words_are_described_and_not_clipped(check_picture):
    stages = {"letters": ["low", "lower"], "l + o": [["lo", "w"], ["lo", "w", "e", "r"]]}
    check_picture(
        lambda: tokenization.merged_words(stages, [2, 1]),
        "Words as tokens. letters: 2 times l|o|w, 1 times l|o|w|e|r; l + o: 2 times lo|w, 1 times lo|w|e|r.",
    )


def test_the_diagram_leads_from_texts_to_a_batch(check_diagram, edges_of):
    check_diagram(tokenization.tokenization_diagram)
    steps = pairwise(("text", "normalise", "pre_tokenise", "merge", "ids", "batch"))
    assert edges_of(tokenization.tokenization_diagram()) == sorted(steps)
