"""The course's plots: one look, alt text for each, and one color per framework everywhere.

Every function returns a picture that a notebook shows and stores with its alt text. The plots are in the folder `plotting`:
`attention.py`, `curves.py`, `measured.py` and `images.py`, and what they share in `style.py`. What one chapter alone draws is
in the chapter's module of this folder, in the same style: `@styled`, and `show` at its end.
"""

from shared.drawing.plotting.attention import attention_explorer, attention_map
from shared.drawing.plotting.curves import line_panels, loss_curves, number_lines, sizes
from shared.drawing.plotting.images import pictures, text_lines
from shared.drawing.plotting.measured import bars, lines
from shared.drawing.plotting.style import (
    COLORS,
    INK,
    OTHER_COLORS,
    Picture,
    check_not_empty,
    real_numbers,
    show,
    styled,
)

__all__ = [
    "COLORS",
    "INK",
    "OTHER_COLORS",
    "Picture",
    "attention_explorer",
    "attention_map",
    "bars",
    "check_not_empty",
    "line_panels",
    "lines",
    "loss_curves",
    "number_lines",
    "pictures",
    "real_numbers",
    "show",
    "sizes",
    "styled",
    "text_lines",
]
