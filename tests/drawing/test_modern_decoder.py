"""What chapter 18 draws."""

import numpy as np
import pytest

from shared.drawing.modern_decoder import turned_arrows

pytestmark = [pytest.mark.form, pytest.mark.chapter("18")]


def turn(arrow: np.ndarray, position: int) -> np.ndarray:
    angle = np.radians(30 * position)
    x, y = arrow
    return np.array([x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)])


def test_arrows_are_described_with_the_angle_between_them(check_picture):
    check_picture(
        lambda: turned_arrows(turn, np.array([0.0, 2.0]), np.array([1.0, 0.0]), [(0, 0), (3, 0), (5, 4)]),
        "Arrows, and the angle from key to query. query at 0 and key at 0: 90 degrees; "
        "query at 3 and key at 0: 180 degrees; query at 5 and key at 4: 120 degrees.",
    )
