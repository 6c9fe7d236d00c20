"""`make run`: what is stored, with whose kernels, and that nothing is when a cell fails."""

import os

import nbformat
import processors
import pytest

import notebooks


def test_run_keeps_times_until_their_source_changes(tmp_path):
    path, v4 = tmp_path / "timed.ipynb", nbformat.v4
    cells = [v4.new_code_cell("import time"), v4.new_code_cell("time.perf_counter_ns()", metadata={"tags": ["timing"]})]

    def stored() -> tuple[int, str]:
        notebooks.run(path)
        [output] = nbformat.read(path, as_version=4).cells[1].outputs
        return output.execution_count, output.data["text/plain"]

    nbformat.write(v4.new_notebook(cells=cells), path)
    first = stored()
    assert stored() == first  # to the nanosecond: it was not drawn anew
    changed = nbformat.read(path, as_version=4)
    changed.cells[1].source += "  # changed"
    nbformat.write(changed, path)
    assert stored() != first


@pytest.mark.skipif(not processors.variables("avx2", {}), reason="kernels can be chosen on x86-64 only")
def test_run_computes_with_avx2_and_times_with_the_kernels_of_the_machine(tmp_path):
    path, v4 = tmp_path / "kernels.ipynb", nbformat.v4
    asked = "import os; print(os.environ.get('ATEN_CPU_CAPABILITY'))"
    cells = [v4.new_code_cell(asked), v4.new_code_cell(asked, metadata={"tags": ["timing"]})]
    nbformat.write(v4.new_notebook(cells=cells), path)
    notebooks.run(path)
    computed, timed = (cell.outputs[0].text.strip() for cell in nbformat.read(path, as_version=4).cells)
    assert computed == "avx2" and timed == str(os.environ.get("ATEN_CPU_CAPABILITY"))


def test_run_times_in_full_whatever_the_shell_asks_for(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMINGS", "once")
    path, v4 = tmp_path / "timed.ipynb", nbformat.v4
    asked = "import os; print(os.environ.get('TIMINGS') == 'once')"
    cells = [v4.new_code_cell(asked), v4.new_code_cell(asked, metadata={"tags": ["timing"]})]
    nbformat.write(v4.new_notebook(cells=cells), path)
    notebooks.run(path)
    assert [cell.outputs[0].text.strip() for cell in nbformat.read(path, as_version=4).cells] == ["True", "False"]


def test_run_leaves_the_file_alone_when_a_cell_fails(tmp_path):
    path, v4 = tmp_path / "failing.ipynb", nbformat.v4
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell("1"), v4.new_code_cell("1 / 0")]), path)
    before = path.read_text()
    with pytest.raises(Exception, match="ZeroDivisionError"):
        notebooks.run(path)
    assert path.read_text() == before and [each.name for each in tmp_path.iterdir()] == ["failing.ipynb"]


def test_the_chapters_that_use_a_chapter_are_found_also_by_way_of_another():
    assert {"08_encoder", "14_gpt", "16_scaling_out"} <= set(notebooks.users("06_attention"))
    assert notebooks.users("16_scaling_out") == []
