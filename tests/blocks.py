"""The parts of a Transformer block, where each track has them: NumPy's norms and dropouts are in residual connections."""

from typing import Any


def norm_of(block: Any, name: str) -> Any:
    """The norm that belongs to a sub-layer, such as "attention"."""
    residual = getattr(block, f"{name}_residual", None)
    return getattr(block, f"{name}_norm") if residual is None else residual.norm


def dropout_of(block: Any, place: str) -> Any:
    """The dropout inside of a sub-layer, such as "attention"; or, of "attention_residual", that of what it adds."""
    if place.endswith("_residual"):
        return getattr(block, place, block).dropout
    return getattr(block, place).dropout
