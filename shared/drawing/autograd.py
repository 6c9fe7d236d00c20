"""What chapter 01 draws: a computation with its values and gradients, and the way of the gradient back."""

from collections.abc import Mapping

from shared.drawing import diagrams


def values_and_gradients(
    nodes: Mapping[str, tuple[float, float]], slopes: Mapping[tuple[str, str], float]
) -> diagrams.Diagram:
    """Draw a computation of numbers with the value and the gradient of each, and the slope of each step on its arrow.

    Args:
        nodes: "x" for an input or "a = x · x" for a step: (value, gradient); the last is the result.
        slopes: (name of an operand, name of what was made from it): how fast the second grows with the first.
    """
    made = {head for _, head in slopes}
    boxes, descriptions = {}, []
    for label, (value, gradient) in nodes.items():
        name = label.split(" = ")[0]
        kind = "output" if label == list(nodes)[-1] else "operation" if name in made else "data"
        boxes[name] = kind, f"{label}\nvalue {value:g}\ngradient {gradient:g}"
        descriptions.append(f"{label} has value {value:g} and gradient {gradient:g}")
    arrows = [f"{tail} to {head} with slope {slope:g}" for (tail, head), slope in slopes.items()]
    return diagrams.draw(
        f"A computation of {len(nodes)} nodes: {'; '.join(descriptions)}. Its arrows: {', '.join(arrows)}.",
        boxes,
        [f"{tail} -> {head}: × {slope:g}" for (tail, head), slope in slopes.items()],
        rankdir="LR",
        ranksep="0.7",
    )


def forward_backward_diagram() -> diagrams.Diagram:
    """Draw a computation of two steps and, beside it, the way of the gradient back through it."""
    return diagrams.draw(
        "Forward, x becomes h by j, and h becomes the loss L by k; each step keeps its input. Backward, the gradient starts as 1 at L, is multiplied by "
        "the derivative of k at the kept h, then by the derivative of j at the kept x, and arrives as the gradient of x.",
        {
            "x": ("data", "x"),
            "j": ("operation", "j"),
            "h": ("data", "h = j(x)"),
            "k": ("operation", "k"),
            "L": ("output", "L = k(h)"),
            "grad_x": ("output", "dL/dx"),
            "grad_j": ("operation", "times j′(x)"),
            "grad_h": ("data", "dL/dh"),
            "grad_k": ("operation", "times k′(h)"),
            "grad_L": ("data", "dL/dL = 1"),
        },
        [
            "x -> j -> h -> k -> L",
            "grad_x <- grad_j <- grad_h <- grad_k <- grad_L",
            "j ~> grad_j: keeps x",
            "k ~> grad_k: keeps h",
            "L ~> grad_L",
        ],
        {
            "forward: values": ["x", "j", "h", "k", "L"],
            "backward: gradients": ["grad_x", "grad_j", "grad_h", "grad_k", "grad_L"],
        },
        nodesep="0.9",
    )
