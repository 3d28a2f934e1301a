"""Every notebook of the course runs from its first cell to its last, twice in one kernel, and shows what is saved."""

from __future__ import annotations

import copy
import re
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

TUTORIALS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
# Ray takes its time to start on a busy machine.
ON_RAY = [pytest.mark.ray, pytest.mark.extra("ray"), pytest.mark.timeout(600)]
# The kernel and the zygote import it at the same time. A cell that takes too long is to be told, and not this process
# to be ended: two runs of the notebook take more than a minute on a machine that is busy already.
WITH_TORCH = [pytest.mark.extra("torch"), pytest.mark.timeout(900)]
MANY_TRIALS = [pytest.mark.extra("torch"), pytest.mark.timeout(600)]  # a process for each trial that holds a device
WITH_NUMBA = [pytest.mark.extra("numba")]
MARKS = {
    "02_devices.ipynb": [pytest.mark.slow],
    "03_gpu_if_there_is_one.ipynb": WITH_NUMBA,
    "04_numba_and_pytorch.ipynb": WITH_NUMBA + WITH_TORCH,
    "05_cells_as_tasks.ipynb": [pytest.mark.slow],
    "06_training.ipynb": WITH_TORCH,
    "07_tuning.ipynb": MANY_TRIALS,
    "09_many_machines.ipynb": ON_RAY,
    "10_sharing_a_machine.ipynb": [pytest.mark.slow],
    "11_when_things_go_wrong.ipynb": [pytest.mark.slow],
}
WIDGET = "application/vnd.jupyter.widget-view+json"  # only while a kernel runs
MOST_LINES = 12  # of a cell, without empty ones
RUN = [pytest.param(path, marks=MARKS.get(path.name, [])) for path in TUTORIALS]


# What cells show of work that waits: a line under the cell goes when the work does, and this stays.
STAYS = {
    "fallback-20": "but this machine has 2 GPUs (A100), not 16",
    "grow-04": "waits for 1 CPU, 1 GPU and an accelerator of type A100",
    "grow-07": "2 of at most 2 gpu nodes are here",
    "when-04": "asks for 1 CPU and 8 GPUs, but this machine has 1 GPU",
}


REPORTED = """
while not any(device.holders for device in ray.snapshot().devices):
    pass
"""


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.name)
def test_a_tutorial_and_its_answers_run_and_it_runs_once_more_in_the_same_kernel(path: Path, tmp_path: Path) -> None:
    notebook = read(path)
    once, again = notebook.cells, copy.deepcopy(notebook.cells)  # as if somebody had pressed Run All again
    notebook.cells = once + with_answers(once) + again
    execute(notebook, path, tmp_path, timeout_s=300 if "machines" in path.name else 200)
    assert kinds(once) == kinds(read(path).cells)
    for cells in (once, again):
        shown = [output.data for cell in cells for output in cell.get("outputs", []) if "data" in output]
        assert any("text/html" in data and "text/plain" in data for data in shown)
        printed = {cell.id: "".join(each.get("text", "") for each in cell.get("outputs", [])) for cell in cells}
        assert [(id, printed[id]) for id, words in STAYS.items() if id in printed and words not in printed[id]] == []


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_quickstart_gives_the_same_on_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    (path,) = [path for path in TUTORIALS if "quickstart" in path.name]
    notebook = read(path)
    (starts,) = [cell for cell in notebook.cells if "%accel_init" in cell.source and cell.cell_type == "code"]
    starts.source = starts.source.replace("%accel_init", "%accel_init engine=ray")
    shows = next(cell for cell in notebook.cells if cell.source == "%accel_devices")
    shows.source = f"{REPORTED}\n{shows.source}"  # Ray's processes report within seconds
    execute(notebook, path, tmp_path, timeout_s=300)  # what it must give is asserted in its cells
    assert "GPUActor" in "".join(output.data["text/plain"] for output in shows.outputs if "data" in output)


@pytest.mark.real
@pytest.mark.ray
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_the_rehearsal_of_a_cluster_runs_if_it_is_switched_on(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    pytest.importorskip("yaml")
    (path,) = [path for path in TUTORIALS if "many_machines" in path.name]
    notebook = read(path)
    (switch,) = [cell for cell in notebook.cells if cell.source == "REHEARSE = False"]
    switch.source = "REHEARSE = True"
    execute(notebook, path, tmp_path, timeout_s=300)  # what it must give is asserted in its cells
    told = "".join(output.text for cell in notebook.cells for output in cell.get("outputs", []) if "text" in output)
    assert "PATCH gpu: replicas 0 -> " in told and "is here: 1 CPU, 1 GPU, 1 GiB, A100" in told


def with_answers(cells: list[Any]) -> list[Any]:
    """The cells that start a cluster again, and the code of the answers to the exercises."""
    import nbformat

    code = [cell.source for cell in cells if cell.cell_type == "code"]
    starts = next(place for place, source in enumerate(code, 1) if "%accel_init" in source)
    answers = re.findall(r"^   ```python\n(.*?)^   ```$", cells[-1].source, re.M | re.S)
    return [nbformat.v4.new_code_cell(source) for source in [*code[:starts], *map(textwrap.dedent, answers)]]


def read(path: Path) -> Any:
    import nbformat  # seconds, which the processes that run other tests need not spend

    return nbformat.read(path, as_version=4)


def execute(notebook: Any, path: Path, folder: Path, *, timeout_s: int) -> None:
    """Run it in a kernel of its own, which speaks through files of the folder."""
    from nbclient import NotebookClient

    unix = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
    here = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, config=unix, timeout=timeout_s, startup_timeout=180, resources=here)
    try:
        client.execute()
    except Exception as error:  # of a cell: what stands under it says what it waits for
        error.add_note("The last cells showed:\n" + "\n".join(shown_texts(notebook)[-30:]))
        raise


def shown_texts(notebook: Any) -> list[str]:
    """What stands under the cells so far, as text."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.get("text") or output.get("data", {}).get("text/plain") or "" for output in outputs]


def kinds(cells: list[Any]) -> dict[str, set[str]]:
    """What each cell shows: streams, forms of data, errors. A line that has gone shows nothing.

    Of cells in STAYS only what they print counts: whether the line below one has gone when the cell ends is chance.
    """
    shown = {}
    for cell in cells:
        outputs = cell.get("outputs", [])
        streams = {output.name for output in outputs if output.output_type == "stream"}
        data = {kind for output in outputs for kind, text in output.get("data", {}).items() if text and kind != WIDGET}
        shown[cell.id] = streams | (data if cell.id not in STAYS else set())
        shown[cell.id] |= {output.ename for output in outputs if output.output_type == "error"}
    return shown


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name)
def test_a_tutorial_is_saved_with_its_outputs_and_nothing_of_one_machine(path: Path) -> None:
    text = path.read_text("utf-8")
    outputs = [output for cell in read(path).cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in outputs)
    assert not any(WIDGET in output.get("data", {}) for output in outputs)
    here = "|".join(re.escape(str(each)) for each in (Path.home(), Path(__file__).parent.parent))
    assert not re.findall(rf"/home/|{here}|/tmp/(?!folder)\S+|192\.0\.2\.|pid[ =](?!4711)\d+", text)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name)
def test_a_tutorial_is_short_says_what_it_teaches_and_ends_with_three_exercises(path: Path) -> None:
    cells = read(path).cells
    first, last = cells[0].source, cells[-1].source
    assert len(re.findall("^- ", first, re.M)) == 3 and re.search(r"^\*.*\*$", first, re.M)
    assert "## Next" in last and last.count("<details>") == last.count("</details>") == 3
    assert "```python" in last
    for cell in [*cells, *with_answers(cells)]:
        assert cell.cell_type != "code" or len(re.findall(r"^.*\S", cell.source, re.M)) <= MOST_LINES, cell.source
