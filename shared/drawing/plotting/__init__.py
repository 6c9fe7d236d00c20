"""The parts of `shared.drawing.plots`: the style of all, and the plots by what they draw."""
