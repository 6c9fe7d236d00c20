"""What chapter 07 draws: the feed-forward network and the residual connection."""

from shared.drawing import diagrams


def feed_forward_diagram() -> diagrams.Diagram:
    """Draw the feed-forward network that every position passes through by itself."""
    return diagrams.draw(
        "The feed-forward network: a learned layer widens each position from d_model to d_ff features, an activation follows, "
        "and a second learned layer narrows it to d_model again.",
        {
            "x": ("data", "x\n(batch, length, d_model)"),
            "widen": ("parameters", "linear, d_model to d_ff\nkernel and bias"),
            "activation": ("operation", "activation\n(batch, length, d_ff)"),
            "narrow": ("parameters", "linear, d_ff to d_model\nkernel and bias"),
            "y": ("output", "y\n(batch, length, d_model)"),
        },
        ["x -> widen -> activation -> narrow -> y"],
    )


def residual_diagram(norm_first: bool) -> diagrams.Diagram:
    """Draw a residual connection around a sub-layer.

    Args:
        norm_first: True normalizes the sub-layer's input, False the sum, as the 2017 paper does.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 5.4 (post-norm); Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture" (pre-norm).
    """
    order = diagrams.norm_order(norm_first)
    nodes, edges, last = diagrams.residual_connection("x", "sublayer", ("parameters", "sub-layer"), norm_first)
    path = (
        "LayerNorm, the sub-layer and dropout, then x is added: the skip path is never normalized."
        if norm_first
        else "the sub-layer and dropout, then x is added, and LayerNorm normalizes the sum."
    )
    return diagrams.draw(
        f"A residual connection in {order} order: x passes {path}",
        {"x": ("data", "x")} | nodes | {"y": ("output", "y")},
        [*edges, f"{last} -> y"],
        rankdir="LR",
    )
