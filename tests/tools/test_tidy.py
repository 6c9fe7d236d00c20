"""`make tidy`: minutes, tables, routes, ids and the glossary are written, and a draft is left alone."""

import nbformat
import pytest
import tidy

v4 = nbformat.v4
TABLE = """[[chapter]]
number = "01"
name = "first"
title = "First: a chapter"
status = "ready"
express = true
builds_on = []
box = {{ kind = "operation", name = "first", says = "begins" }}

[[chapter]]
number = "17"
name = "second"
title = "Second"
status = "{status}"
builds_on = ["first"]
box = {{ kind = "operation", name = "second", says = "ends" }}
"""


GLOSSARY = "notebooks/00_glossary.ipynb"


def write(path, *cells) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=list(cells)), path)


def text(source: str, name: str):
    return v4.new_markdown_cell(source, id=name)


@pytest.fixture
def course(tmp_path):
    """A small course that nobody has tidied: a chapter and a draft."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/course.toml").write_text(TABLE.format(status="draft"))
    for page in tidy.PAGES:
        write(tmp_path / f"notebooks/01_first/{page}.ipynb", text("# A title\n\nAfter this you can read.", "title-1"))
    write(tmp_path / "notebooks/17_second/numpy.ipynb", text("# A draft", "42467ebe"))
    rows = "| b | a letter | [01](01_first/numpy.ipynb) |\n| A | a letter | [01](01_first/numpy.ipynb) |"
    glossary = f"## Glossary\n\n| Term | Meaning | |\n|--|--|--|\n{rows}"
    tables = f"# Map\n\nText.\n\n{tidy.EXPRESS}\nMore.\n\n{tidy.HEADER}| old |"
    write(tmp_path / tidy.MAP, text(tables, "map-1"))
    write(tmp_path / GLOSSARY, text(glossary, "glossary-1"))
    (tmp_path / "pins.txt").write_text("keras==3.1\ntensorflow==2.9 ; sys_platform != 'win32'\ntorch==2.0\n")
    (tmp_path / "README.md").write_text(f"# Course\n\n{tidy.HEADER}| 09 | old |\n\nMore.\n")
    (tmp_path / "teachers").mkdir()
    (tmp_path / "teachers/index.md").write_text("# Teachers\n\n- [Old](09_old.md)\n")
    minutes = "[NumPy](../notebooks/01_first/numpy.ipynb) 99."
    (tmp_path / "teachers/01_first.md").write_text(f"# Teaching 01\n\n{minutes}\n")
    return tmp_path


def apply(root) -> None:
    for path, changed in tidy.changes(root).items():
        path.write_text(changed)


def test_all_is_written_once_and_then_nothing_is_left(course):
    apply(course)
    assert tidy.changes(course) == {}
    opening = nbformat.read(course / "notebooks/01_first/keras.ipynb", 4).cells[0].source
    assert opening == (
        "# A title\n\nAfter this you can read. First reading: about 5 minutes; with everything and the exercises, about 5.\n\n"
        + tidy.ROUTES["keras"]
    )
    row = "| 01 | First: a chapter | [numpy](notebooks/01_first/numpy.ipynb) | "
    readme = (course / "README.md").read_text()
    assert row in readme and "old" not in readme and readme.endswith("\n\nMore.\n")
    [the_map], [glossary] = (nbformat.read(course / page, 4).cells for page in (tidy.MAP, GLOSSARY))
    the_map, glossary = the_map.source, glossary.source
    assert "| [5 min](01_first/compare.ipynb) |" in the_map and "together" in the_map and "old" not in the_map
    assert "| 01 | [First: a chapter](01_first/numpy.ipynb) | 5 |  |\n| | together | 0 hours | |\n\nMore." in the_map
    assert glossary.index("| A |") < glossary.index("| b |")
    assert (course / "teachers/index.md").read_text() == "# Teachers\n\n- [First](01_first.md)\n"
    assert "numpy.ipynb) 5." in (course / "teachers/01_first.md").read_text()


def test_the_opening_names_the_next_chapter_of_the_express_route(course):
    second = TABLE.format(status="ready").replace('builds_on = ["first"]', 'express = true\nbuilds_on = ["first"]')
    (course / "shared/course.toml").write_text(second)
    for page in tidy.PAGES:
        write(course / f"notebooks/17_second/{page}.ipynb", text("# Second\n\nText.", "title-1"))
    apply(course)
    openings = {
        (folder, page): nbformat.read(course / f"notebooks/{folder}/{page}.ipynb", 4).cells[0].source
        for folder in ("01_first", "17_second")
        for page in tidy.PAGES
    }
    naming = [where for where, opening in openings.items() if "express route" in opening]
    assert naming == [("01_first", "numpy")]
    assert "17, [Second](../17_second/numpy.ipynb), is next." in openings["01_first", "numpy"]
    (course / "shared/course.toml").write_text(TABLE.format(status="draft"))
    apply(course)
    assert "express" not in nbformat.read(course / "notebooks/01_first/numpy.ipynb", 4).cells[0].source


def test_what_the_express_route_leaves_for_afterwards_takes_none_of_its_minutes(course):
    table = TABLE.format(status="draft").replace("express = true", 'express = true\ncan_wait = ["Long"]')
    (course / "shared/course.toml").write_text(table)
    long = text("## Long\n\n" + "word " * 4000, "long-1")
    inside = text("### Later: inside\n\nMore.", "long-2")
    after = text("## After\n\n" + "word " * 2000, "after-1")
    write(course / "notebooks/01_first/numpy.ipynb", text("# A title\n\nAfter this.", "title-1"), long, inside, after)
    apply(course)
    opening = nbformat.read(course / "notebooks/01_first/numpy.ipynb", 4).cells[0].source
    assert "First reading: about 30 minutes" in opening
    assert opening.endswith("run the cells of *Long*; their text can wait until the route's end.")
    [the_map] = nbformat.read(course / tidy.MAP, 4).cells
    assert "(01_first/numpy.ipynb) | 10 | *Long* |\n" in the_map.source
    (course / "shared/course.toml").write_text(table.replace("Long", "Gone"))
    with pytest.raises(ValueError, match="can_wait=.*'Gone'.*no such heading"):
        apply(course)


def test_key_differences_say_what_they_are_measured_with(course):
    differences = text("## Key differences\n\nTwo.\n\n| a | b |", "differences-1")
    write(course / "notebooks/01_first/compare.ipynb", text("# A title\n\nAfter this.", "title-1"), differences)
    apply(course)
    (course / "pins.txt").write_text("keras==3.2\ntensorflow==2.9\ntorch==2.0\n")
    apply(course)
    written = nbformat.read(course / "notebooks/01_first/compare.ipynb", 4).cells[1].source
    assert written.startswith("## Key differences\n\nTwo. (Measured with PyTorch 2.0, Keras 3.2 and TensorFlow 2.9. ")
    assert written.endswith("Since-when).)\n\n| a | b |") and written.count("Measured") == 1
    assert tidy.changes(course) == {}


def test_a_draft_is_on_no_list_and_keeps_its_opening(course):
    apply(course)
    [cell] = nbformat.read(course / "notebooks/17_second/numpy.ipynb", 4).cells
    assert cell.source == "# A draft" and cell.id == "42467ebe"
    assert "17" not in (course / "README.md").read_text() + (course / tidy.MAP).read_text()
    for page in tidy.PAGES:
        write(course / f"notebooks/17_second/{page}.ipynb", text("# Second\n\nText.", "title-1"))
    (course / "shared/course.toml").write_text(TABLE.format(status="ready"))
    apply(course)
    assert "17_second/numpy.ipynb" in (course / "README.md").read_text()


def test_minutes_are_those_of_the_rule():
    picture = v4.new_output("display_data", data={"text/html": "<img alt='a' src='x'>"})
    cells = [
        text("# T\n\n" + "word " * 1998, "a"),
        v4.new_code_cell("x = 1\n" * 100, id="b", outputs=[picture] * 4),
        text("## Use it\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n![c](d.png)", "c"),
        text("### Later: more\n\n" + "word " * 1000, "d"),
        v4.new_code_cell("y = 2\n" * 100, id="e"),
        text("## Check it\n\nText.", "f"),
    ]
    notebook = v4.new_notebook(cells=cells)
    assert [round(tidy.minutes_of(cell), 1) for cell in cells] == [10, 12, 1.0, 5.0, 10, 0.0]
    assert tidy.times(notebook) == (25, 75)


def test_an_id_that_a_program_made_becomes_one_that_says_where_the_cell_is():
    cells = [
        text("# T", "title-1"),
        text("## By hand", "4f9a01cc"),
        text("More.", "by-hand-1"),
        text("Again.", "by-hand-1"),
    ]
    tidy.with_ids(cells)
    assert [cell.id for cell in cells] == ["title-1", "by-hand-2", "by-hand-1", "by-hand-3"]


def test_a_file_without_its_table_is_named(course):
    (course / "README.md").write_text("# Course\n")
    with pytest.raises(ValueError, match=r"README\.md"):
        tidy.tidied(course)
