"""What the README shows is what the map's cells printed."""

import re

import pictures
import pytest
from PIL import Image
from reading import MAP, ROOT, read

README = (ROOT / "README.md").read_text(encoding="utf-8")
CELLS = {cell.id: cell for cell in read(MAP).cells}


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_text_and_the_exercise_are_those_of_the_map():
    assert fenced("text")[0] == CELLS["a-model-writes-1"].outputs[0].text
    another = re.search(r'it also writes "(.+?)"', README)[1]
    assert another in CELLS["a-model-writes-3"].outputs[0].text.splitlines()
    assert fenced("python")[0].strip() in CELLS["exercises-2"].source
    assert f"\n> {CELLS['exercises-2'].outputs[0].text}" in README


@pytest.mark.parametrize("theme", pictures.THEMES)
@pytest.mark.parametrize("name", pictures.SHOWN)
def test_a_picture_is_of_what_the_map_shows_and_small(name, theme):
    path = pictures.path_of(name, theme)
    assert path.relative_to(ROOT).as_posix() in README
    picture = Image.open(path)
    assert picture.mode == "P" and path.stat().st_size < 64 * 1024
    cell_id, _ = pictures.SHOWN[name]
    assert picture.text["digest"] == pictures.digest(cell_id), "make pictures draws it again"
