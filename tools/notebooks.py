"""Run the notebooks and store their outputs, or export their `#| export` cells: `make run`, `make export`."""

import argparse
import hashlib
import os
import re
import sys
from pathlib import Path

import folds
import nbformat
import processors

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from shared.files import write_whole

TRACKS = ("numpy", "pytorch", "keras")
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    # As JupyterLab writes it, which otherwise marks a notebook as changed when it is opened. The kernel's own "version" would
    # differ from reader to reader; `tools/installation.py` has the course's kernel say "3".
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": "3",
    },
}


def notebooks() -> list[Path]:
    """Every notebook of the course, in the order of the chapters."""
    return sorted(path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


def timed_sources(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """A digest of the source of every cell tagged `timing`, by the cell's id."""
    timed = (cell for cell in notebook.cells if "timing" in cell.metadata.get("tags", []))
    return {cell.id: hashlib.sha256(cell.source.encode()).hexdigest()[:16] for cell in timed}


def execute(notebook: nbformat.NotebookNode, folder: Path, **variables: str) -> None:
    """Run all cells in a kernel of their own, with these variables in its environment, and keep their outputs."""
    from nbclient import NotebookClient

    NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
        # What C code writes to file descriptors would be stored, and is never the lesson.
        extra_arguments=["--IPKernelApp.capture_fd_output=False", "--IPKernelApp.log_level=ERROR"],
    ).execute(env={**os.environ, **variables})


def run(path: Path, fresh_timings: bool = False) -> None:
    """Execute a notebook as a processor with AVX2 does, and store its outputs; the file stays as it was when a cell fails.

    A cell tagged `timing` draws seconds, which no two runs share: its stored picture stays as long as its source does. The
    cell's metadata says of which source that was. Where it must be drawn, that happens in a second run, with the kernels
    of this machine.
    """
    notebook = nbformat.read(path, as_version=4)
    sources = timed_sources(notebook)
    kept = {
        cell.id: cell.outputs
        for cell in notebook.cells
        if cell.get("outputs") and cell.metadata.get("timed_source") == sources.get(cell.id, "") and not fresh_timings
    }
    if kept.keys() < sources.keys():
        timed = nbformat.from_dict(notebook)
        execute(timed, path.parent, TIMINGS="")  # whatever the shell says: one run is no measurement
        kept |= {cell.id: cell.outputs for cell in timed.cells if cell.id in sources.keys() - kept.keys()}
    execute(notebook, path.parent, TIMINGS="once", **processors.variables("avx2"))
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)
            cell.outputs = kept.get(cell.id, cell.outputs)
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = cell.execution_count
        if cell.id in sources:
            cell.metadata["timed_source"] = sources[cell.id]
    folds.close(notebook.cells)
    write_whole(path, nbformat.writes(notebook) + "\n")


def export(folder: Path) -> None:
    """Export every notebook's `#| export` cells into folder/<track>/<chapter>.py, and remove modules that no notebook exports."""
    from nbdev.export import nb_export

    for track in TRACKS:
        (folder / track).mkdir(parents=True, exist_ok=True)
        for module in (folder / track).glob("*.py"):
            if module.name != "__init__.py":
                module.unlink()
    for path in notebooks():
        if path.stem in TRACKS:
            nb_export(path, lib_path=folder)


def imported_chapters(path: Path) -> set[str]:
    """The names of the chapters whose modules a notebook imports."""
    cells = nbformat.read(path, as_version=4).cells
    source = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    found = set(re.findall(r"\bshared\.(?:numpy|pytorch|keras)\.(\w+)", source))
    for names in re.findall(r"^from shared\.(?:numpy|pytorch|keras) import (.+)$", source, re.MULTILINE):
        found |= {name.split()[0] for name in names.split(",")}
    return found


def users(folder: str) -> list[str]:
    """The folders of the other chapters that use a chapter's modules, directly or by way of another chapter."""
    uses = {path.parent.name: set() for path in notebooks() if path.parent.name != "notebooks"}
    for path in notebooks():
        if path.parent.name in uses:
            uses[path.parent.name] |= imported_chapters(path)
    found = {folder}
    while True:
        names = {each.partition("_")[2] for each in found}
        more = {each for each in uses if uses[each] & names} - found
        if not more:
            return sorted(found - {folder})
        found |= more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "export"))
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks to run; all of them when none is given")
    parser.add_argument("--fresh-timings", action="store_true", help="draw the timing pictures anew")
    arguments = parser.parse_intermixed_args()
    if arguments.command == "export":
        export(ROOT / "shared")
        return
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")  # shapes print differently elsewhere
    if note := processors.skipped("avx2"):
        print(note, file=sys.stderr)
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # more threads add up in another order
    paths = [path.resolve() for path in arguments.paths] or notebooks()
    for path in paths:
        print(f"running {path.relative_to(ROOT)}", file=sys.stderr)
        run(path, arguments.fresh_timings)
    folders = {path.parent.name for path in paths}
    if len(folders) == 1 and folders != {"notebooks"} and (later := users(*folders)):
        print(f"These chapters use what it exports; if that has changed, run them, too: {', '.join(later)}")


if __name__ == "__main__":
    main()
