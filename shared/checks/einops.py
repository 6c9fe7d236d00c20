"""Checks of arguments that chapter 03 needs alike in its three tracks."""

from typing import Any

from shared.checks import check_positive


def check_lenet(height: int, width: int, channels: int, num_classes: int, features: Any) -> None:
    """Raise unless the arguments make a `LeNet`: positive whole numbers, two halvings of height and width, four widths.

    Raises:
        TypeError: if a number is no whole number, or features is no tuple or list.
        ValueError: if a number is below 1, 4 does not divide height and width, or features has other than four numbers.
    """
    check_positive(height=height, width=width, channels=channels, num_classes=num_classes)
    for name, size in (("height", height), ("width", width)):
        if size % 4:
            raise ValueError(f"{name}={size}: expected a multiple of 4, because it is halved twice")
    if not isinstance(features, tuple | list):
        raise TypeError(f"features={features!r}: expected a tuple of 4 whole numbers, got {type(features).__name__}")
    if len(features) != 4:
        raise ValueError(f"features={features!r}: expected 4 whole numbers, of two convolutions and two linear layers")
    check_positive(**{f"features[{index}]": size for index, size in enumerate(features)})
