"""What is claimed is printed beside its bound, and raises when it is out of bounds."""

import numpy as np
import pytest

from shared.evidence import show, table


def test_show(capsys):
    show("difference", np.float64(4.4e-16), below=1e-12)
    show("ratio", 1.00071, below=1.01)
    show("change", 0, equal=0)
    assert capsys.readouterr().out.splitlines() == [
        "difference: measured 4.4e-16, must be below 1e-12",
        "ratio: measured 1.0007, must be below 1.01",
        "change: measured 0, must be 0",
    ]
    with pytest.raises(AssertionError, match="ratio: measured 2, must be below 1.01"):
        show("ratio", 2.0, below=1.01)
    with pytest.raises(AssertionError):
        show("nothing", float("nan"), above=0)
    with pytest.raises(TypeError, match="one of below, above and equal"):
        show("ratio", 2.0)


def test_a_table_has_two_digits():
    assert table(np.eye(2), ["a", "b"], ["c", "d"]).loc["a", "c"] == "1.00"
