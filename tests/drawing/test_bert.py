"""What chapter 13 draws."""

from itertools import pairwise

import pytest

from shared.drawing import bert

pytestmark = [pytest.mark.form, pytest.mark.chapter("13")]


def test_a_hidden_word_is_described_and_not_clipped(check_picture):
    check_picture(
        lambda: bert.hidden_word(["the", "[MASK]", "sleeps"], 1, {"owl": 0.75, "king": 0.25}),
        "A sentence, the [MASK] sleeps, whose words point at [MASK]. It can have been: owl 75 %, king 25 %.",
    )


def test_bert_uses_its_token_embedding_twice(check_diagram, edges_of):
    check_diagram(bert.bert_diagram)
    read = ("tokens", "token_embedding", "add", "norm", "encoder", "features")
    predict = ("features", "transform", "head_norm", "product", "logits")
    expected = [
        *pairwise(read),
        *pairwise(predict),
        *pairwise(("positions", "position_embedding", "add")),
        *pairwise(("segments", "segment_embedding", "add")),
        ("token_embedding", "product"),
        *pairwise(("features", "pooler", "pooled")),
    ]
    assert edges_of(bert.bert_diagram()) == sorted(expected)
