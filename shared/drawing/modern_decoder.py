"""What chapter 18 draws: arrows that are turned by their positions."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from shared.drawing import plots


@plots.styled
def turned_arrows(
    turn: Callable[[np.ndarray, int], np.ndarray],
    query: np.ndarray,
    key: np.ndarray,
    places: Sequence[tuple[int, int]],
) -> plots.Picture:
    """Draw a query and a key of two features as arrows, turned to several pairs of positions, with the angle between them.

    Args:
        turn: an arrow and a position -> the arrow, turned.
        query, key: (2,) each, as they are at position 0.
        places: the positions of query and key, for each panel.
    """
    figure = Figure(figsize=(2.5 * len(places), 3.1))
    reach = 1.15 * max(np.hypot(*query), np.hypot(*key))
    between = []
    for panel, (m, n) in zip(figure.subplots(1, len(places), squeeze=False).flat, places):
        arrows = {f"query at {m}": turn(query, m), f"key at {n}": turn(key, n)}
        colors = (plots.COLORS["NumPy"], plots.COLORS["Keras"])
        for color, (name, (x, y)) in zip(colors, arrows.items()):
            panel.annotate(
                "",
                (x, y),
                (0, 0),
                arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0},
            )
            panel.plot([], [], color=color, lw=2, label=name)
        of_query, of_key = (np.arctan2(y, x) for x, y in arrows.values())
        angle = (of_query - of_key) % (2 * np.pi)
        arc = of_key + np.linspace(0, angle, 50)
        panel.plot(0.45 * np.cos(arc), 0.45 * np.sin(arc), color=plots.INK, lw=1)
        between.append(f"query at {m} and key at {n}: {np.degrees(angle):.0f} degrees")
        panel.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
        panel.spines[:].set_visible(False)
        panel.set_title(f"{np.degrees(angle):.0f}° between them")
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, 0), frameon=False)
    return plots.show(figure, f"Arrows, and the angle from key to query. {'; '.join(between)}.")
