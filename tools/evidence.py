"""Repeat what the notebooks claim of learning, with other seeds, other draws and other kinds of processor: `make evidence`.

Of every notebook that calls `learned`, the cells that these claims need (`claims`) are run ten times (five, where a run takes
over a minute), each time with every seed shifted, and as another of the processors that this machine can play. The values are
stored in the chapter's evidence.json.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import re
import statistics
import sys
from pathlib import Path

import claims
import nbformat
import processors
from nbclient.exceptions import CellExecutionError
from tqdm import tqdm

import notebooks

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from shared import evidence
from shared.files import write_whole

RUNS, FEWER, LONG = 10, 5, 60  # runs; fewer of a notebook that takes more seconds of a processor
APART = 1000  # between the shifts of two runs, so that a run over several seeds shares none with the next
ROUNDED = 6  # digits that are stored


def claimants() -> list[Path]:
    """The notebooks that claim something about learning."""
    return [path for path in notebooks.notebooks() if claims.cells(nbformat.read(path, as_version=4))]


def stored(path: Path) -> dict:
    """What the chapter's table has of a notebook; empty if there is nothing."""
    table = path.parent / evidence.TABLE
    return json.loads(table.read_text(encoding="utf-8")).get(path.stem, {}) if table.is_file() else {}


def is_fresh(path: Path) -> bool:
    return stored(path).get("digest") == claims.digest(path)


def folder_of_runs(path: Path) -> Path:
    """Where the runs of this state of the notebook are kept until all are there, so that a stopped command goes on."""
    return ROOT / ".evidence" / f"{path.parent.name}-{path.stem}-{claims.digest(path)}"


def kind_of(number: int) -> str:
    return processors.KINDS[number % len(processors.KINDS)]


def run_once(path: Path, number: int) -> float:
    """Run what a notebook's claims need with its seeds shifted by a thousand times number; the processor's seconds that this took."""
    folder = folder_of_runs(path)
    done, aside = folder / f"{number}.jsonl", folder / f"{number}.part"
    if done.is_file():
        return float(json.loads(done.read_text(encoding="utf-8").splitlines()[-1])["seconds"])
    folder.mkdir(parents=True, exist_ok=True)
    aside.unlink(missing_ok=True)
    variables = {
        **processors.variables(kind_of(number)),
        "EVIDENCE": "strict",
        "EVIDENCE_FILE": str(aside),
        "SEED_SHIFT": str(APART * number),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tools/shifted_seeds"), str(ROOT)]),  # this copy of the course
        "TIMINGS": "once",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = claims.cells(notebook)
    before = os.times()
    try:
        notebooks.execute(notebook, path.parent, **variables)
    except CellExecutionError as error:
        sys.exit(f"{path}, seeds shifted by {APART * number}, as {kind_of(number)}:\n{str(error)[-3000:]}")
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    with open(aside, "a", encoding="utf-8") as file:
        file.write(json.dumps({"seconds": round(seconds)}) + "\n")
    os.replace(aside, done)
    return seconds


def collect(path: Path, numbers: list[int]) -> None:
    """Write the runs of a notebook into the chapter's table, a line for each claim."""
    found: dict[str, dict] = {}
    for number in numbers:
        lines = (folder_of_runs(path) / f"{number}.jsonl").read_text(encoding="utf-8").splitlines()
        for line in map(json.loads, lines[:-1]):
            claim = found.setdefault(line["label"], {"bound": line["bound"], "values": []})
            if claim["bound"] != line["bound"]:
                sys.exit(
                    f"{path}: the bound of {line['label']!r} depends on the seed: {claim['bound']}, {line['bound']}"
                )
            claim["values"].append([float(f"{value:.{ROUNDED}g}") for value in line["values"]])
    for label, claim in found.items():
        if len(claim["values"]) != len(numbers):
            sys.exit(f"{path}: {label!r} was claimed {len(claim['values'])} times in {len(numbers)} runs")
    table = path.parent / evidence.TABLE
    tables = json.loads(table.read_text(encoding="utf-8")) if table.is_file() else {}
    runs = [f"seeds shifted by {APART * number}, kernels: {kind_of(number)}" for number in numbers]
    tables[path.stem] = {"command": "make evidence", "digest": claims.digest(path), "runs": runs, "claims": found}
    write_whole(table, as_text({name: tables[name] for name in sorted(tables)}))
    print(f"{table.relative_to(ROOT)}: {len(found)} claims of {path.stem}, {len(numbers)} runs", flush=True)


def as_text(tables: dict) -> str:
    """JSON with a line for each claim, which a diff can show."""
    text = json.dumps(tables, indent=1, ensure_ascii=False)
    return (
        re.sub(
            r'\{\n\s*"bound": .*?\n\s*\](?=\n\s*\})\n\s*\}',
            lambda found: " ".join(found[0].split()),
            text,
            flags=re.DOTALL,
        )
        + "\n"
    )


def room(claim: dict) -> float:
    """Standard deviations of the mean between the mean of a stored claim and its bound; negative on the wrong side."""
    import numpy as np

    values, [(name, bound)] = np.array(claim["values"]), claim["bound"].items()
    runs = values.shape[1] if values.shape[1] > 1 else len(values)
    distance = (bound - values.mean()) * (1 if name == "below" else -1)
    deviation = values.std(ddof=1) / runs**0.5
    return distance / deviation if deviation else float("inf") * distance


def report(path: Path) -> None:
    """Print the claims of a notebook that have too little room to be one."""
    for label, claim in stored(path).get("claims", {}).items():
        if not room(claim) >= evidence.ROOM:
            print(f"  {room(claim):6.1f} standard deviations of the mean from its bound: {label}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; all that claim something when none is given")
    parser.add_argument("--jobs", type=int, default=2, help="notebooks that run at once; 2 if not given")
    parser.add_argument("--again", action="store_true", help="repeat the runs of tables that are fresh, too")
    arguments = parser.parse_args()
    wanted = [path.resolve() for path in arguments.paths] or claimants()
    stale = [path for path in wanted if arguments.again or not is_fresh(path)]
    if note := processors.skipped("old"):
        print(note)
    for path in tqdm(stale, "notebooks"):
        with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
            repeat = functools.partial(run_once, path)
            seconds = list(pool.map(repeat, range(1, FEWER + 1)))
            numbers = list(range(1, (FEWER if statistics.median(seconds) > LONG else RUNS) + 1))
            list(pool.map(repeat, numbers[FEWER:]))
        collect(path, numbers)
    for path in wanted:
        report(path)


if __name__ == "__main__":
    main()
