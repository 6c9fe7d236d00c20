"""What chapter 14 draws."""

from itertools import pairwise

import numpy as np
import pytest

from shared.drawing import gpt

pytestmark = [pytest.mark.form, pytest.mark.chapter("14")]

WORDS, BEFORE = ["owl", "girl", "boy"], [0.5, 0.3, 0.2]
STORY, KEYS = ["a", "b", "c", "d"], np.arange(8.0).reshape(4, 2)


def test_kept_words_are_described_and_not_clipped(check_picture):
    panels = {"top-k 2": [0.625, 0.375, 0], "temperature 0": [1, 0, 0]}
    check_picture(
        lambda: gpt.kept_words(WORDS, BEFORE, panels),
        "Bars of the probability of 3 words, owl, girl, boy, before and after: "
        "top-k 2: owl 62 %, girl 38 %, boy cut. temperature 0: owl 100 %, girl cut, boy cut.",
    )


def test_kept_words_of_a_trained_model_tell_no_numbers_and_many_words_fit(check_picture):
    trained = gpt.kept_words(WORDS, BEFORE, {"top-k 2": [0.625, 0.375, 0]}, trained=True).alt
    assert "%" not in trained and "owl, girl, boy" in trained
    many = [str(number) for number in range(9)]
    described = "Bars of the probability of 9 words, 0, 1, 2, 3, 4, 5, 6, 7, 8, before and after: "
    described += "temperature 1; some words are cut."
    check_picture(lambda: gpt.kept_words(many, [1 / 9] * 9, {"temperature 1": [1 / 9] * 9}, trained=True), described)


def test_kept_words_draw_the_probabilities_that_they_are_given(figures):
    axes = gpt.kept_words(WORDS, BEFORE, {"top-k 2": [0.625, 0.375, 0]}).axes[0]
    after, before = axes.containers
    assert [bar.get_height() for bar in after] == [0.625, 0.375]
    assert [bar.get_height() for bar in before] == BEFORE
    assert "cut" in [text.get_text() for text in axes.texts]


def test_a_cache_is_described_and_not_clipped(check_picture):
    check_picture(
        lambda: gpt.cache_filling(STORY, {"prefill": KEYS[:3], "decode": KEYS}, capacity=5),
        "A cache of 5 positions after each call. prefill fills a, b, c, 2 of 5 are empty; "
        "decode fills d, 1 of 5 are empty.",
    )


def test_a_cache_shows_its_numbers_and_frames_what_is_new(figures):
    figure = gpt.cache_filling(STORY, {"prefill": KEYS[:3], "decode": -KEYS}, capacity=5)
    numbers = [[t.get_text() for t in axes.texts if "." in t.get_text()] for axes in figure.axes]
    assert numbers[0] == [f"{value:.1f}" for value in KEYS[:3].ravel()]
    assert numbers[1] == [f"{value:.1f}" for value in -KEYS.ravel()]
    frames = [[p.get_bbox().intervalx.tolist() for p in axes.patches if not p.get_fill()] for axes in figure.axes]
    assert frames == [[[0, 3]], [[3, 4]]]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: gpt.kept_words(WORDS, BEFORE, {"wrong": [0.5, 0.5]}), "panels"),
        (lambda: gpt.kept_words(WORDS, BEFORE, {"wrong": [1.5, -0.5, 0]}), "panels"),
        (lambda: gpt.kept_words(WORDS, BEFORE, {}), "panels"),
        (lambda: gpt.cache_filling(STORY, {"one": KEYS, "two": KEYS[:2]}, 5), "stages"),
        (lambda: gpt.cache_filling(STORY, {"one": KEYS}, 3), "stages"),
    ],
)
def test_what_is_refused_is_named(call, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        call()


def test_gpt_uses_its_table_twice(check_diagram, edges_of):
    check_diagram(gpt.gpt_diagram)
    path = pairwise(("tokens", "add", "block_first", "block_more", "block_last", "norm", "product", "logits"))
    tables = [("table", "add"), ("table", "product"), ("positions", "add")]
    assert edges_of(gpt.gpt_diagram()) == sorted([*path, *tables])
