"""What every notebook must be, beside running: run in order, without warnings, absolute paths, or pictures that say nothing."""

import base64
import io
import json
import re
from pathlib import Path, PurePosixPath

import nbformat
import numpy as np
import pytest
from PIL import Image

import notebooks
from shared.chapters import all_chapters

ROOT = Path(__file__).resolve().parents[2]

DRAFTS = {chapter.folder for chapter in all_chapters() if chapter.status == "draft"}
PATHS = [path for path in notebooks.notebooks() if path.parent.name not in DRAFTS]
for_each_notebook = pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=str(path.relative_to(ROOT / "notebooks")),
            marks=[pytest.mark.chapter(path.parent.name[:2])] if path.parent.name != "notebooks" else [],
        )
        for path in PATHS
    ],
)
ABSOLUTE = re.compile(r"(?<![\w.:/])/(?:home|root|Users|work|tmp|opt|mnt|private|var)/\w|[A-Z]:\\\\\w")
LARGEST = 64 * 1024  # bytes of a stored picture: every redraw of it stays in the history
PNG = re.compile(r"data:image/png;base64,([^\"]+)")
IMAGE = re.compile(r"!\[(?P<markdown>[^\]]*)\]\(|<img(?P<html>[^>]*)>")


def faults(notebook: nbformat.NotebookNode) -> list[str]:
    """A sentence for everything that a reader should not meet in this notebook."""
    messages = []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    timed = {cell.id: cell.metadata["timed_source"] for cell in code if "timed_source" in cell.metadata}
    if timed != notebooks.timed_sources(notebook):
        messages.append("a cell that draws times was changed since: make run draws it anew")
    counts = [cell.execution_count for cell in code]
    if counts != list(range(1, len(code) + 1)):
        messages.append(f"cells were not run in order: {counts}")
    for cell in notebook.cells:
        where = f"cell {cell.id}"
        if not cell.source.strip():
            messages.append(f"{where} is empty")
        messages += [
            f"{where} has a picture without alt text"
            for match in IMAGE.finditer(cell.source)
            if cell.cell_type == "markdown" and not alt_of(match)
        ]
    for cell in code:
        where = f"cell {cell.id}"
        if cell.source.lstrip().startswith(("!", "%")):
            messages.append(f"{where} starts with a shell or magic line")
        for output in cell.outputs:
            if output.get("name") == "stderr" and "%|" not in output.text:
                messages.append(f"{where} stores a warning: {output.text[:80]!r}")
            messages += [f"{where} shows a picture without alt text" for _ in range(pictures_without_alt(output))]
            messages += [f"{where} stores {fault}" for fault in heavy_pictures(output)]
    found = ABSOLUTE.search(re.sub(r"data:image[^\"'\\]*", "", json.dumps(notebook)))
    if found:
        messages.append(f"an absolute path: {found.group()!r}")
    return messages


def alt_of(match: re.Match) -> str:
    if match["markdown"] is not None:
        return match["markdown"].strip()
    alt = re.search(r'alt="([^"]*)"', match["html"])
    return alt.group(1).strip() if alt else ""


def pictures_without_alt(output: nbformat.NotebookNode) -> int:
    data, metadata = output.get("data", {}), output.get("metadata", {})
    missing = sum(not metadata.get(kind, {}).get("alt", "").strip() for kind in data if kind.startswith("image/"))
    return missing + sum(
        not alt_of(match) for match in IMAGE.finditer(data.get("text/html", "")) if match["html"] is not None
    )


def heavy_pictures(output: nbformat.NotebookNode) -> list[str]:
    """Pictures of a plot that are larger than need be: of more than 256 colors, or of too many bytes."""
    found = []
    for encoded in PNG.findall(output.get("data", {}).get("text/html", "")):
        data = base64.b64decode(encoded)
        if Image.open(io.BytesIO(data)).mode != "P":
            found.append("a picture without a palette of colors")
        if len(data) > LARGEST:
            found.append(f"a picture of {len(data)} bytes, over {LARGEST}")
    return found


@for_each_notebook
def test_a_notebook_is_fit_to_read(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert faults(notebook) == []


@for_each_notebook
def test_the_first_code_cell_imports_shared(path):
    code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert not code or "import shared.notebook" in code[0].source


def test_every_chapter_has_its_four_notebooks_and_nothing_that_shadows_a_library():
    folders = [path for path in (ROOT / "notebooks").iterdir() if path.is_dir() and path.name[0] != "."]
    assert {folder.name for folder in folders} == {chapter.folder for chapter in all_chapters()}
    for folder in folders:
        if folder.name in DRAFTS:
            continue
        assert {path.name for path in folder.glob("*.ipynb")} == {
            "numpy.ipynb",
            "pytorch.ipynb",
            "keras.ipynb",
            "compare.ipynb",
        }
    assert list((ROOT / "notebooks").rglob("*.py")) == []


def sound() -> nbformat.NotebookNode:
    v4 = nbformat.v4
    cell = v4.new_code_cell("import shared.notebook", id="a", execution_count=1)
    return v4.new_notebook(cells=[v4.new_markdown_cell("# Title", id="b"), cell])


def break_order(notebook):
    notebook.cells[1].execution_count = None


def break_path(notebook):
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text=f"saved in {PurePosixPath('/', 'home', 'ada')}")]


def break_alt(notebook):
    notebook.cells[1].outputs = [nbformat.v4.new_output("display_data", data={"image/png": "AAAA"})]


def break_timing(notebook):
    notebook.cells[1].metadata |= {"tags": ["timing"], "timed_source": "of another source"}


def picture_of(mode: str, size: int) -> str:
    noise = np.random.default_rng(0).integers(0, 256, (size, size, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).convert(mode).save(file, format="PNG")
    return f'<img alt="noise" src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">'


def break_palette(notebook):
    notebook.cells[1].outputs = [nbformat.v4.new_output("display_data", data={"text/html": picture_of("RGB", 8)})]


def break_size(notebook):
    notebook.cells[1].outputs = [nbformat.v4.new_output("display_data", data={"text/html": picture_of("P", 300)})]


def break_html_alt(notebook):
    notebook.cells[1].outputs = [nbformat.v4.new_output("display_data", data={"text/html": '<img src="x">'})]


def break_markdown_alt(notebook):
    notebook.cells[0].source = "![](picture.png)"


def break_warning(notebook):
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", name="stderr", text="UserWarning: old")]


@pytest.mark.parametrize("damage", [value for name, value in list(globals().items()) if name.startswith("break_")])
def test_each_fault_is_found(damage):
    notebook = sound()
    assert faults(notebook) == []
    damage(notebook)
    assert faults(notebook) != []
