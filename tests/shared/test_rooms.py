"""No import climbs: what lies lower knows nothing of what lies higher, and two rooms of one floor nothing of each other."""

import ast
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared"
# From the ground up. What has no floor here is on the ground floor, which is a floor of modules.
FLOORS = (
    ("data", "quizzes"),
    ("frameworks",),
    ("conformance", "drawing"),
    ("numpy",),
    ("keras", "pytorch"),
    ("exercises",),
)
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS, 1) for room in rooms}


def room_of(module: str) -> str:
    """The room of shared.drawing.plots, drawing; a module on the ground floor is its own."""
    return module.split(".")[1]


def imported(path: Path) -> set[str]:
    """The modules of shared that a file imports, wherever in it."""
    package = ("shared", *path.relative_to(SHARED).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {f"{module}.{each.name}" for each in node.names}
    return {each for each in found if each.startswith("shared.")}


def climbs(room: str, other: str) -> bool:
    """Whether an import from one room to another goes up, or across."""
    return room != other and FLOOR_OF.get(other, 0) >= max(FLOOR_OF.get(room, 0), 1)


def test_no_import_climbs():
    lazy = {"diagrams": "drawing"}  # what `from shared import diagrams` finds
    found = []
    for path in sorted(SHARED.rglob("*.py")):
        name = ".".join(("shared", *path.relative_to(SHARED).with_suffix("").parts))
        for module in imported(path):
            other = lazy.get(room_of(module), room_of(module))
            if climbs(room_of(name), other):
                found.append(f"{name} imports {module}")
    assert not found


def test_a_climb_is_found():
    assert climbs("data", "frameworks") and climbs("contracts", "data") and climbs("keras", "pytorch")
    assert not climbs("pytorch", "numpy") and not climbs("data", "checks") and not climbs("private", "checks")


def test_no_room_is_missing():
    rooms = {path.name for path in SHARED.iterdir() if path.is_dir() and not path.name.startswith((".", "_"))}
    assert rooms == {*FLOOR_OF, "checks"}
