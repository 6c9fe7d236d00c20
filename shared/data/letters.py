"""Small colored pictures of letters, drawn by the course itself, so that they are the same on every machine."""

import numpy as np

# Seven rows of five pixels for each letter, from the top down.
GLYPHS = {
    "A": ".###. #...# #...# ##### #...# #...# #...#",
    "B": "####. #...# #...# ####. #...# #...# ####.",
    "C": ".#### #.... #.... #.... #.... #.... .####",
    "D": "####. #...# #...# #...# #...# #...# ####.",
    "E": "##### #.... #.... ####. #.... #.... #####",
    "F": "##### #.... #.... ####. #.... #.... #....",
    "G": ".#### #.... #.... #..## #...# #...# .####",
    "H": "#...# #...# #...# ##### #...# #...# #...#",
    "I": "##### ..#.. ..#.. ..#.. ..#.. ..#.. #####",
    "J": "..### ...#. ...#. ...#. ...#. #..#. .##..",
    "K": "#...# #..#. #.#.. ##... #.#.. #..#. #...#",
    "L": "#.... #.... #.... #.... #.... #.... #####",
    "M": "#...# ##.## #.#.# #.#.# #...# #...# #...#",
    "N": "#...# ##..# #.#.# #.#.# #..## #...# #...#",
    "O": ".###. #...# #...# #...# #...# #...# .###.",
    "P": "####. #...# #...# ####. #.... #.... #....",
    "Q": ".###. #...# #...# #...# #.#.# #..#. .##.#",
    "R": "####. #...# #...# ####. #.#.. #..#. #...#",
    "S": ".#### #.... #.... .###. ....# ....# ####.",
    "T": "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..",
    "U": "#...# #...# #...# #...# #...# #...# .###.",
    "V": "#...# #...# #...# #...# #...# .#.#. ..#..",
    "W": "#...# #...# #...# #.#.# #.#.# ##.## #...#",
    "X": "#...# #...# .#.#. ..#.. .#.#. #...# #...#",
    "Y": "#...# #...# .#.#. ..#.. ..#.. ..#.. ..#..",
    "Z": "##### ....# ...#. ..#.. .#... #.... #####",
}
# (paper, ink) in red, green and blue, from 0 to 255; taken in turn.
COLORS = (
    ((252, 228, 196), (176, 58, 10)),
    ((209, 229, 245), (16, 78, 139)),
    ((212, 238, 214), (12, 102, 60)),
    ((242, 214, 230), (134, 32, 92)),
    ((255, 244, 176), (92, 74, 0)),
    ((222, 220, 242), (62, 48, 150)),
)


def letters(text: str = "TENSOR") -> np.ndarray:
    """Draw a picture of 16 by 12 pixels for each letter of a text, each in colors of its own.

    Args:
        text: one letter or more, from A to Z; small letters are drawn as capitals.

    Returns:
        (len(text), 16, 12, 3) float32, from 0 to 1: batch, height, width, channels (red, green, blue).

    Raises:
        TypeError: if text is not text.
        ValueError: if text is empty, or holds anything but letters from A to Z.
    """
    if not isinstance(text, str):
        raise TypeError(f"text={text!r}: expected text, got {type(text).__name__}")
    unknown = [letter for letter in text.upper() if letter not in GLYPHS]
    if unknown or not text:
        raise ValueError(f"text={text!r}: expected one or more letters from A to Z")
    pictures = np.zeros((len(text), 16, 12, 3), np.float32)
    for number, letter in enumerate(text.upper()):
        dots = np.array([[dot == "#" for dot in row] for row in GLYPHS[letter].split()])  # (7, 5)
        inked = np.pad(dots.repeat(2, axis=0).repeat(2, axis=1), 1)  # (16, 12): each dot is 2 by 2 pixels
        paper, ink = np.array(COLORS[number % len(COLORS)], np.float32) / 255
        pictures[number] = np.where(inked[..., None], ink, paper)
    return pictures
