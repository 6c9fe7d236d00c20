"""The chapters of the course, from `course.toml`: the one table that README, map, book, exercises, tests and tools share."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).with_name("course.toml")
STATUSES = ("draft", "ready")
IN_A_BOX = {"kind", "name", "says"}


@dataclass(frozen=True)
class Chapter:
    """One row of the table.

    Args:
        number: two digits.
        name: that of its modules, such as "attention".
        title: as it is on the map.
        status: "ready", or "draft" for one that is held to no rule of form and is not on the map.
        builds_on: the names of the chapters that it needs.
        box: what the map draws: kind, name and what it says below; a draft, which isn't drawn, needs none.
        looks_ahead_to: later chapters that its notebooks may import from.
        express: whether its NumPy notebook is on the express route.
        can_wait: the sections of that notebook that the express route leaves for afterwards, by their headings.
    """

    number: str
    name: str
    title: str
    status: str
    builds_on: tuple[str, ...]
    box: dict[str, str]
    looks_ahead_to: tuple[str, ...] = ()
    express: bool = False
    can_wait: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        return f"{self.number}_{self.name}"


def read(path: Path) -> list[Chapter]:
    """The chapters of a table, in its order.

    Raises:
        ValueError: if a row is not what `Chapter` says, or builds on a chapter that is not there.
    """
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("chapter", [])
    needed = ("number", "name", "title", "status", "builds_on")
    names = [row.get("name") for row in rows]
    for row in rows:
        where = f"{path.name}: the chapter {row.get('name')!r}"
        if missing := [key for key in needed if key not in row]:
            raise ValueError(f"{where} lacks {', '.join(missing)}")
        if row["status"] not in STATUSES:
            raise ValueError(f"{where} has status={row['status']!r}: expected one of {', '.join(STATUSES)}")
        if row["status"] == "ready" and row.get("box", {}).keys() != IN_A_BOX:
            raise ValueError(f"{where} has box={row.get('box')!r}: the map draws {', '.join(sorted(IN_A_BOX))}")
        for other in [*row["builds_on"], *row.get("looks_ahead_to", [])]:
            if other not in names:
                raise ValueError(f"{where} names {other!r}, which is no chapter")
    return [
        Chapter(
            number=row["number"],
            name=row["name"],
            title=row["title"],
            status=row["status"],
            builds_on=tuple(row["builds_on"]),
            box=row.get("box", {}),
            looks_ahead_to=tuple(row.get("looks_ahead_to", ())),
            express=row.get("express", False),
            can_wait=tuple(row.get("can_wait", ())),
        )
        for row in rows
    ]


@functools.cache
def all_chapters() -> list[Chapter]:
    """Every chapter, drafts too, in the order of the route."""
    return read(TABLE)


def ready() -> list[Chapter]:
    """The chapters that are on the map."""
    return [chapter for chapter in all_chapters() if chapter.status == "ready"]
