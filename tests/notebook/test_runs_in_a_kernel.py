"""Training runs in a real kernel: the card under its cell, Stop while the cell runs, and where a function failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.kernels import Cell, Kernel, gone

SETUP = """
import time
import nbaccel
from nbaccel import engine, train, tune
from nbaccel.train import RunConfig, ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
nbaccel.init(num_cpus=2)

def goes_on():
    for number in range(1_000_000):
        train.report({"loss": 1 / (number + 1)})
        time.sleep(0.02)

def breaks():
    train.report({"loss": 1.0})
    raise ValueError("the batch is empty")

def loss_of(config):
    tune.report({"loss": config["x"]})

def experiment(name):
    return tune.Tuner(
        loss_of, param_space={"x": tune.grid_search([3, 1, 2])},
        tune_config=tune.TuneConfig(metric="loss", mode="min"),
        run_config=RunConfig(name=name, storage_path="STORAGE"),
    )

def trainer(function, name):
    return DataParallelTrainer(
        function, scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig(name=name, storage_path="STORAGE")
    )
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    kernel = Kernel()
    storage: Path = tmp_path_factory.mktemp("results")
    ready = kernel.run(SETUP.replace("STORAGE", str(storage)))
    assert ready.error is None, ready.error
    yield kernel
    kernel.close()
    assert gone(kernel.token) == {}


def _card(cell: Cell) -> str:
    """The last text of the run's card under this cell."""
    cards = [data["text/plain"] for data in cell.shown if "report" in data.get("text/plain", "")]
    return str(cards[-1]) if cards else ""


def test_stop_returns_the_result_of_a_run_and_its_card_says_so(kernel: Kernel) -> None:
    cell = kernel.submit("result = trainer(goes_on, 'interrupted').fit()\nprint('stopped:', result.stopped)")
    kernel.until(lambda: "● interrupted running" in _card(cell) and "loss" in _card(cell))
    kernel.interrupt()
    kernel.finish(cell)
    assert cell.error is None and "stopped: True" in cell.stdout
    assert "⊘ interrupted stopped" in _card(cell)
    shown = [content for kind, content in cell.outputs if kind in ("display_data", "update_display_data")]
    notes = [each["data"]["text/plain"] for each in shown if "waits" in each["transient"].get("display_id", "")]
    assert any("stops after its next report" in note for note in notes) and not notes[-1], "it has stopped"


def test_the_result_of_fit_is_a_line_under_its_card_and_drawn_in_a_later_cell(kernel: Kernel) -> None:
    cell = kernel.run(
        "def twice():\n    for loss in (1.0, 0.5):\n        train.report({'loss': loss})\n\n"
        "result = trainer(twice, 'short').fit()\nresult"
    )
    pages = [_result(each) for each in (cell, kernel.run("result"))]
    assert ["<svg" in page for page in pages] == [False, True]
    assert "in the card of this cell" in pages[0] and "<svg" in cell.shown[-2]["text/html"]


def test_a_cell_that_ends_with_the_results_of_its_experiment_has_its_tables_once(kernel: Kernel) -> None:
    cell = kernel.run("results = experiment('one').fit()\nresults")
    assert ["loss by parameter" in data.get("text/html", "") for data in cell.shown[-2:]] == [True, False]
    assert "Best: loss 1 with x 1 (trial 00001). All trials are in the card of this cell." in _result(cell)
    assert "loss by parameter" in _result(kernel.run("results"))
    both = kernel.run("first = experiment('two').fit()\nexperiment('three').fit()\nfirst")
    assert "loss by parameter" not in _result(both) and "All trials are in the card of this cell." in _result(both)


def _result(cell: Cell) -> str:
    """The HTML of the cell's last value."""
    (found,) = [body["data"]["text/html"] for kind, body in cell.outputs if kind == "execute_result"]
    return str(found)


def test_a_view_s_stop_reaches_a_run_whose_cell_waits_for_it(kernel: Kernel) -> None:
    press = """
import threading
def press():
    while not (rows := [row for row in nbaccel.snapshot().published if row.record.get("state") == "running"]):
        time.sleep(0.02)
    engine.current().ask(rows[0].id, "stop")
threading.Thread(target=press).start()
"""
    cell = kernel.run(f"{press}result = trainer(goes_on, 'asked').fit()\nprint('stopped:', result.stopped)")
    assert cell.error is None and "stopped: True" in cell.stdout
    assert "⊘ asked stopped" in _card(cell)


def test_a_failed_run_names_the_cell_and_the_line_in_its_error_and_on_its_card(kernel: Kernel) -> None:
    cell = kernel.run("def wrong():\n    breaks()\n\ntrainer(wrong, 'broken').fit()")
    assert cell.error is not None and cell.error["ename"] == "WorkerGroupError"
    said = "\n".join(cell.error["traceback"])
    place = re.search(r"rank \d failed, before its report 1, in (cell \[\d+\] line \d+)", said)
    assert place is not None, said
    assert re.search(r"Cell In\[\d+\], line 2, in wrong", said), said
    assert "✕ broken failed" in _card(cell)
    assert place[1] in _card(cell) and "ValueError: the batch is empty" in _card(cell)
    line = SETUP.strip().splitlines().index('    raise ValueError("the batch is empty")') + 1
    assert place[1].endswith(f" line {line}")


def test_a_started_run_draws_itself_in_a_later_cell_until_it_ends(kernel: Kernel) -> None:
    kernel.run("run = trainer(goes_on, 'background').start()")
    later = kernel.run("run")
    (shown,) = [data for data in later.shown if "background" in data.get("text/plain", "")]
    assert "<p" in shown["text/html"]
    kernel.run("run.stop()\nprint(run.result().stopped)")
    kernel.until(lambda: "⊘ background stopped" in _card(later) or "⊘ background stopped" in _first_card(kernel))


def test_a_cell_that_starts_a_run_and_ends_in_it_has_its_card_once(kernel: Kernel) -> None:
    cell = kernel.run("run = trainer(goes_on, 'once').start()\nrun")
    kernel.run("run.stop()\nrun.result()")
    assert sum(kind == "display_data" and "once" in str(body["data"]) for kind, body in cell.outputs) == 1


def _first_card(kernel: Kernel) -> str:
    """A front end changes every display of an id; the message belongs to the cell that began the run."""
    return "\n".join(_card(cell) for cell in kernel._cells.values())
