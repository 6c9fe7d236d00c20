"""`python -m shared.exercises grade FOLDER --out grades.csv`."""

import argparse
import secrets
import sys
from pathlib import Path

from shared.exercises.grading import grade


def main() -> None:
    """Grade a folder of submitted notebooks. It runs the students' code: use a machine that has nothing to lose."""
    parser = argparse.ArgumentParser(prog="python -m shared.exercises", description=main.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    grading = commands.add_parser("grade", help=main.__doc__, description=main.__doc__)
    grading.add_argument("folder", type=Path, help="with a notebook for each student")
    grading.add_argument("--out", type=Path, default=Path("grades.csv"), help="the table (grades.csv)")
    grading.add_argument("--seconds", type=float, default=60, help="for one exercise (60)")
    grading.add_argument("--memory", type=float, default=8, help="GB for one notebook (8)")
    grading.add_argument("--workers", type=int, default=2, help="notebooks at a time (2)")
    grading.add_argument("--seed", type=int, help="of the random inputs; another each time, unless you give one")
    options = parser.parse_args()
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    if not options.folder.is_dir():
        sys.exit(f"folder={str(options.folder)!r}: expected a folder")
    try:
        grades = grade(
            options.folder, options.out, options.seconds, options.memory, options.workers, seed, tell=_draw_bar
        )
    except (OSError, ValueError) as error:
        sys.exit(str(error))
    print(f"\n{len(grades)} rows in {options.out}; the same inputs again with --seed {seed}")


def _draw_bar(done: int, count: int, student: str) -> None:
    width = 30
    filled = width * done // count
    end = "" if sys.stdout.isatty() else "\n"
    print(f"\r[{'#' * filled}{'.' * (width - filled)}] {done} of {count}  {student:.30}\033[K", end=end, flush=True)


if __name__ == "__main__":
    main()
