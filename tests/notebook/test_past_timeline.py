"""After ten thousand runs, the static timeline draws them all: short ones merged, none left out."""

from __future__ import annotations

from nbaccel.notebook import timeline
from nbaccel.notebook.past_timeline import MOST_MERGED, bars_of
from nbaccel.views.history.book import HistoryBook
from nbaccel.views.history.run import PastRun
from tests.notebook.levels import Reading


def run(started: float, took: float, function: str, lane: str, state: str = "FINISHED") -> PastRun:
    devices = ((lane, 1.0),) if lane else ()
    return PastRun(function, "[3] line 1", 1, state, devices, "ab", started, started, started + took)


def test_ten_thousand_runs_are_drawn_in_few_bars_that_count_them_all() -> None:
    book = HistoryBook(0.0)
    for number in range(10_000):
        book.ended(run(number * 0.02, 0.015, f"f{number % 3}", f"n/GPU/{number % 8}"))
    bars = bars_of(book.runs(200.0, (0.0, 200.0)))
    assert len(bars) <= MOST_MERGED and sum(bar.number for bar in bars) == 10_000
    shown = timeline.view(bars, MOST_MERGED)
    assert shown.html.count("<rect") == len(bars) and "10,000 tasks" in shown.html.replace("10000", "10,000")
    assert sum(int(row[3]) for row in Reading(shown.html).rows if row[0].startswith("GPU")) == 10_000
    assert "not drawn" not in shown.html


def test_a_run_of_its_own_keeps_its_name_cell_and_state() -> None:
    book = HistoryBook(0.0)
    book.ended(run(1.0, 4.0, "train", "n/GPU/0", "FAILED"))
    book.ended(run(2.0, 1.0, "helper", ""))
    (bar,) = bars_of(book.runs(10.0, (0.0, 10.0)))
    assert (bar.lane, bar.name, bar.cell, bar.state, bar.start_s, bar.duration_s, bar.number) == (
        "GPU 0", "train", "[3] line 1", "FAILED", 1.0, 4.0, 1,
    )  # fmt: skip


def test_where_nothing_ran_on_a_device_there_is_one_lane() -> None:
    book = HistoryBook(0.0)
    book.ended(run(2.0, 1.0, "helper", ""))
    assert [bar.lane for bar in bars_of(book.runs(10.0, (0.0, 10.0)))] == ["CPU"]
