"""The table of the timeline has a row for the runs of each function on each device, and leaves none out."""

from __future__ import annotations

import pytest

from nbaccel.notebook import timeline
from nbaccel.notebook.blocks import Html
from nbaccel.views.history.answers import RunsAnswer
from nbaccel.views.history.book import HistoryBook, PastRun
from nbaccel.views.snapshot import DeviceRow, NodeRow, Runtime, Snapshot
from tests.notebook.levels import LEVELS, Reading


def run(
    started: float,
    took: float,
    function: str,
    lane: str,
    state: str = "FINISHED",
    cell: str = "[3] line 1",
    job: int = 1,
) -> PastRun:
    devices = ((lane, 1.0),) if lane else ()
    return PastRun(function, cell, job, state, devices, "ab", started, started, started + took)


def cluster(*devices: tuple[str, str]) -> Snapshot:
    """A cluster with devices of (node, id)."""
    made = Snapshot(Runtime("local", "0.1.0", "3.12.1", pid=1, job=1), seq=1, time=0.0)
    made.nodes = [NodeRow(node, f"box-{node}") for node in dict.fromkeys(node for node, _ in devices)]
    made.devices = [DeviceRow(node, "GPU", at, id, "nvidia", "GPU", "real") for at, (node, id) in enumerate(devices)]
    return made


def a_failed_run() -> RunsAnswer:
    book = HistoryBook(0.0)
    book.ended(run(1.0, 4.0, "train", "n/GPU/0"))
    book.ended(run(2.0, 1.0, "evaluate", "n/GPU/1", "FAILED"))
    return book.runs(10.0, (0.0, 10.0))


def test_ten_thousand_runs_are_all_counted() -> None:
    book = HistoryBook(0.0)
    for number in range(10_000):
        book.ended(run(number * 0.02, 0.015, f"f{number % 3}", f"n/GPU/{number % 8}"))
    shown = timeline.table(book.runs(200.0, (0.0, 200.0)))
    assert sum(int(row[3]) for row in shown.rows) == 10_000
    assert all(row[4].startswith("within ") for row in shown.rows), "the time between merged runs is included"


def test_each_way_to_end_has_its_row_with_its_times() -> None:
    book = HistoryBook(0.0)
    book.ended(run(1.0, 4.0, "train", "n/GPU/0", "FAILED"))
    book.ended(run(6.0, 1.5, "train", "n/GPU/0"))
    book.ended(run(8.0, 0.5, "train", "n/GPU/0"))
    book.ended(run(2.0, 1.0, "helper", ""))
    assert timeline.table(book.runs(10.0, (0.0, 10.0))).rows == [
        ("GPU 0", "train", "✕ failed", "1", "4.00 s", "0.00 s", "4.00 s"),
        ("GPU 0", "train", "✓ finished", "2", "2.00 s", "5.00 s", "7.50 s"),
        ("CPU", "helper", "✓ finished", "1", "1.00 s", "1.00 s", "2.00 s"),
    ]


def test_devices_stand_in_the_order_of_the_cluster() -> None:
    book = HistoryBook(0.0)
    for id in ("10", "2", "1"):
        book.ended(run(1.0, 1.0, "train", f"n/GPU/{id}"))
    shown = timeline.table(book.runs(10.0, (0.0, 10.0)), cluster(*(("n", str(number)) for number in range(12))))
    assert [row[0] for row in shown.rows] == ["GPU 1", "GPU 2", "GPU 10"]


def test_the_same_device_of_two_nodes_has_two_rows() -> None:
    book = HistoryBook(0.0)
    book.ended(run(1.0, 1.0, "train", "m/GPU/0"))
    book.ended(run(1.0, 1.0, "infer", "n/GPU/0"))
    shown = timeline.table(book.runs(10.0, (0.0, 10.0)), cluster(("n", "0"), ("m", "0")))
    assert [row[:2] for row in shown.rows] == [("box-n GPU 0", "infer"), ("box-m GPU 0", "train")]


def test_an_actor_that_holds_a_device_has_a_row() -> None:
    book = HistoryBook(0.0)
    keeper = PastRun("Keeper", "[3]", 1, "ALIVE", (("n/GPU/0", 1.0),), "ab", None, 2.0)
    (row,) = timeline.table(book.runs(10.0, (0.0, 10.0), running=[keeper]), cluster(("n", "0"))).rows
    assert row[:2] == ("GPU 0", "Keeper") and row[4] == "8.00 s"


@pytest.mark.parametrize("asked", ["7", "[7]"])
def test_a_cell_is_one_of_this_notebook(asked: str) -> None:
    book = HistoryBook(0.0)
    for name, cell, job in (("mine", "[7] line 2", 1), ("theirs", "[7] line 2", 2), ("other", "[70]", 1)):
        book.ended(run(1.0, 1.0, name, "n/GPU/0", cell=cell, job=job))
    shown = timeline.table(book.runs(10.0, (0.0, 10.0)), cluster(("n", "0")), asked)
    assert [row[1] for row in shown.rows] == ["mine"]


def test_a_picture_has_its_colours_named_and_its_table_for_who_does_not_see_it() -> None:
    book = HistoryBook(0.0)
    book.ended(run(1.0, 1.0, "train", "n/GPU/0"))
    book.ended(run(3.0, 1.0, "train", "n/GPU/0"))
    answer, shown = book.runs(10.0, (0.0, 10.0)), cluster(("n", "0"))
    html = "".join(timeline.sections(answer, shown, Html("<svg></svg>")))
    assert html.index("<svg>") < html.index("train × 2") < html.index("nbaccel-unseen") < html.index("<table")
    for level in LEVELS.values():
        assert ["GPU 0", "train", "✓ finished", "2"] in [row[:4] for row in Reading(level(html)).rows]
    alone = "".join(timeline.sections(answer, shown))
    assert "nbaccel-unseen" not in alone and "<table" in alone
