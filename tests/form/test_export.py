"""The exported modules are what the notebooks say: none is stale, edited or orphaned."""

import filecmp
from pathlib import Path

import notebooks
from shared.chapters import ready

ROOT = Path(__file__).resolve().parents[2]


def modules(folder: Path) -> set[str]:
    return {
        f"{track}/{path.name}"
        for track in notebooks.TRACKS
        for path in (folder / track).glob("*.py")
        if path.name != "__init__.py"
    }


def differences(committed: Path, fresh: Path) -> list[str]:
    """A sentence for each module that is not what the notebooks export."""
    messages = [
        f"shared/{name} is exported by no notebook: delete it" for name in sorted(modules(committed) - modules(fresh))
    ]
    messages += [f"shared/{name} is missing: run make export" for name in sorted(modules(fresh) - modules(committed))]
    both = sorted(modules(fresh) & modules(committed))
    _, changed, _ = filecmp.cmpfiles(committed, fresh, both, shallow=False)
    return messages + [
        f"shared/{name} differs from its notebook: run make export; a change belongs into the notebook"
        for name in changed
    ]


def exported(folder: Path) -> Path:
    notebooks.export(folder / "shared")
    # nbdev writes the notebook's path relative to the module's folder.
    for path in (folder / "shared").rglob("*.py"):
        text = path.read_text()
        start = text.index("File to edit: ") + len("File to edit: ")
        written = text[start : text.index("notebooks/", start)]
        path.write_text(text.replace(written, "../../"))
    return folder / "shared"


def test_modules_are_what_the_notebooks_export(tmp_path):
    message = differences(ROOT / "shared", exported(tmp_path))
    assert not message, "\n".join(message)


def test_a_stale_an_edited_and_an_orphaned_module_are_found(tmp_path):
    fresh = exported(tmp_path)
    copy = tmp_path / "copy"
    for name in modules(fresh):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text((fresh / name).read_text())
    assert differences(copy, fresh) == []

    first, second, *_ = sorted(modules(fresh))
    (copy / first).write_text((fresh / first).read_text() + "\nedited = True\n")
    (copy / second).unlink()
    (copy / "numpy" / "orphan.py").write_text("")
    message = " ".join(differences(copy, fresh))
    assert f"shared/{first} differs" in message
    assert f"shared/{second} is missing" in message
    assert "shared/numpy/orphan.py is exported by no notebook" in message


def test_every_twin_exports_a_module():
    twins = {f"{track}/{chapter.name}.py" for chapter in ready() for track in notebooks.TRACKS}
    assert twins <= modules(ROOT / "shared")
