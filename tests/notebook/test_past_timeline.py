"""The static timeline has a lane for each device of the cluster and every run: short ones merged, none left out."""

from __future__ import annotations

import pytest

from nbaccel.notebook import timeline
from nbaccel.notebook.past_timeline import MOST_MERGED, picture
from nbaccel.notebook.timeline import RUN
from nbaccel.views.history.book import HistoryBook
from nbaccel.views.history.runs import PastRun
from nbaccel.views.snapshot import DeviceRow, NodeRow, Runtime, Snapshot
from tests.notebook.levels import Reading


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


def test_ten_thousand_runs_are_drawn_in_few_bars_that_count_them_all() -> None:
    book = HistoryBook(0.0)
    for number in range(10_000):
        book.ended(run(number * 0.02, 0.015, f"f{number % 3}", f"n/GPU/{number % 8}"))
    shown = picture(book.runs(200.0, (0.0, 200.0)))
    assert len(shown.bars) <= MOST_MERGED and sum(bar.number for bar in shown.bars) == 10_000
    html = timeline.view(shown).html
    assert html.count(f'class="{RUN}"') == len(shown.bars) and "10000 task runs" in html
    assert sum(int(row[3]) for row in Reading(html).rows if row[0].startswith("GPU")) == 10_000
    assert len(html) < 300_000


def test_a_run_of_its_own_keeps_its_name_cell_and_state() -> None:
    book = HistoryBook(0.0)
    book.ended(run(1.0, 4.0, "train", "n/GPU/0", "FAILED"))
    book.ended(run(2.0, 1.0, "helper", ""))
    gpu, cpu = picture(book.runs(10.0, (0.0, 10.0))).lanes
    (bar,) = gpu.bars
    assert (gpu.label, bar.name, bar.cell, bar.state, bar.start_s, bar.duration_s, bar.number) == (
        "GPU 0", "train", "[3] line 1", "FAILED", 1.0, 4.0, 1,
    )  # fmt: skip
    assert (cpu.label, [bar.name for bar in cpu.bars]) == ("CPU", ["helper"])


def test_lanes_are_the_clusters_devices_in_their_order_idle_ones_too() -> None:
    book = HistoryBook(0.0)
    for id in ("10", "2", "1"):
        book.ended(run(1.0, 1.0, "train", f"n/GPU/{id}"))
    shown = picture(book.runs(10.0, (0.0, 10.0)), cluster(*(("n", str(number)) for number in range(12))))
    assert [lane.label for lane in shown.lanes] == [f"GPU {number}" for number in range(12)]
    assert [lane.label for lane in shown.lanes if lane.bars] == ["GPU 1", "GPU 2", "GPU 10"]


def test_the_same_device_of_two_nodes_has_two_lanes() -> None:
    book = HistoryBook(0.0)
    book.ended(run(1.0, 1.0, "train", "m/GPU/0"))
    book.ended(run(1.0, 1.0, "infer", "n/GPU/0"))
    shown = picture(book.runs(10.0, (0.0, 10.0)), cluster(("n", "0"), ("m", "0")))
    names = [(lane.node, lane.label, [bar.name for bar in lane.bars]) for lane in shown.lanes]
    assert names == [("box-n", "GPU 0", ["infer"]), ("box-m", "GPU 0", ["train"])]


def test_an_actor_that_holds_a_device_has_a_bar() -> None:
    book = HistoryBook(0.0)
    keeper = PastRun("Keeper", "[3]", 1, "ALIVE", (("n/GPU/0", 1.0),), "ab", None, 2.0)
    (lane,) = picture(book.runs(10.0, (0.0, 10.0), running=[keeper]), cluster(("n", "0"))).lanes
    assert [(bar.name, bar.start_s, bar.end_s) for bar in lane.bars] == [("Keeper", 2.0, 10.0)]


@pytest.mark.parametrize("asked", ["7", "[7]"])
def test_a_cell_is_one_of_this_notebook(asked: str) -> None:
    book = HistoryBook(0.0)
    for name, cell, job in (("mine", "[7] line 2", 1), ("theirs", "[7] line 2", 2), ("other", "[70]", 1)):
        book.ended(run(1.0, 1.0, name, "n/GPU/0", cell=cell, job=job))
    shown = picture(book.runs(10.0, (0.0, 10.0)), cluster(("n", "0")), asked)
    assert [bar.name for bar in shown.bars] == ["mine"]


def test_how_many_waited_is_told_in_steps() -> None:
    book = HistoryBook(0.0)
    book.ended(PastRun("f", "[3]", 1, "FINISHED", (("n/GPU/0", 1.0),), "ab", 1.0, 5.0, 9.0))
    waiting = picture(book.runs(10.0, (0.0, 10.0))).waiting
    assert max(number for _, number in waiting) == 1.0 and waiting[0][0] == pytest.approx(1.0, abs=1.0)
