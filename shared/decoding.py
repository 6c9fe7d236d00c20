"""Where chapter 14 looks for `evaluation_mode`; it is in `shared.frameworks.modes`."""

from shared.frameworks.modes import evaluation_mode

__all__ = ["evaluation_mode"]
