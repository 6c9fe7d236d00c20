"""Letters, numbers, spaces and the rest, as Unicode 16.0 has them: the version that the library `tokenizers` cuts texts by.

Python's own table, `unicodedata`, is of an older Unicode, and of another one in each Python: 14.0 in Python 3.11, 15.0 in 3.12, 15.1
in 3.13. No character that they have has changed its class since, but Unicode 16.0 has 9,392 letters and numbers that 14.0 has not.
"""

import unicodedata

# The first and the last code point of each run of letters and of numbers that Unicode 15.0, 15.1 or 16.0 has added; 8,809 of the
# 9,392 are hieroglyphs and Chinese characters, three runs. Source: Unicode Character Database 16.0.0, DerivedGeneralCategory.txt.
# fmt: off
ADDED = {
    "L": [
        (0x1C89, 0x1C8A), (0xA7CB, 0xA7CD), (0xA7DA, 0xA7DC), (0x105C0, 0x105F3), (0x10D4A, 0x10D65),
        (0x10D6F, 0x10D85), (0x10EC2, 0x10EC4), (0x1123F, 0x11240), (0x11380, 0x11389), (0x1138B, 0x1138B),
        (0x1138E, 0x1138E), (0x11390, 0x113B5), (0x113B7, 0x113B7), (0x113D1, 0x113D1), (0x113D3, 0x113D3),
        (0x11BC0, 0x11BE0), (0x11F02, 0x11F02), (0x11F04, 0x11F10), (0x11F12, 0x11F33), (0x1342F, 0x1342F),
        (0x13441, 0x13446), (0x13460, 0x143FA), (0x16100, 0x1611D), (0x16D40, 0x16D6C), (0x18CFF, 0x18CFF),
        (0x1B132, 0x1B132), (0x1B155, 0x1B155), (0x1DF25, 0x1DF2A), (0x1E030, 0x1E06D), (0x1E4D0, 0x1E4EB),
        (0x1E5D0, 0x1E5ED), (0x1E5F0, 0x1E5F0), (0x2B739, 0x2B739), (0x2EBF0, 0x2EE5D), (0x31350, 0x323AF),
    ],
    "N": [
        (0x10D40, 0x10D49), (0x116D0, 0x116E3), (0x11BF0, 0x11BF9), (0x11F50, 0x11F59), (0x16130, 0x16139),
        (0x16D70, 0x16D79), (0x1CCF0, 0x1CCF9), (0x1D2C0, 0x1D2D3), (0x1E4F0, 0x1E4F9), (0x1E5F1, 0x1E5FA),
    ],
}
# fmt: on


def unicode_class(character: str) -> str:
    """The class of a character in Unicode 16.0: "L" letter, "N" number, "Z" space, or another capital letter."""
    for name, runs in ADDED.items():
        if any(first <= ord(character) <= last for first, last in runs):
            return name
    return unicodedata.category(character)[0]
