"""What chapter 16 draws."""

import numpy as np
import pytest

from shared.drawing import scaling_out

pytestmark = [pytest.mark.form, pytest.mark.chapter("16")]


def test_a_ring_is_described_and_not_clipped(check_picture):
    start, end = np.array([[1, 2], [10, 20]]), np.array([[11, 22], [11, 22]])
    stages = {"start": start, "add 1": np.array([[11, 2], [10, 22]]), "copy 1": end}
    check_picture(
        lambda: scaling_out.ring(stages),
        "What 2 workers hold in 2 parts; complete are, start 0 of 4, add 1 2 of 4, copy 1 4 of 4.",
    )
