"""Where chapters 07 and 12 to 14 look for `check_number`; it is in `shared.checks`."""

from shared.checks import check_number

__all__ = ["check_number"]
