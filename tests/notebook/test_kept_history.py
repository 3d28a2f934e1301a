"""A saved notebook keeps what views have asked of the past, whole, though later answers tell only what has changed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from nbaccel.exceptions import RaySystemError
from nbaccel.notebook import card
from nbaccel.notebook.accounting import sections
from nbaccel.notebook.kept_history import KeptHistory
from nbaccel.views.history.book import HistoryBook, PastRun
from nbaccel.views.history.readings import DeviceLoad
from nbaccel.views.observer_lines import ReadAccounting, ReadReadings, ReadRuns
from nbaccel.views.snapshot import NodeRow, Snapshot
from tests.notebook.levels import LEVELS, Reading

NODE = "5180ff6a4af162560e00b10be17dded949af4736cb6fddc56df75c76"
GPU = f"{NODE[:12]}/GPU/0"


class Head:
    """A book, and the engine that asks it; `now` is the head's clock."""

    def __init__(self) -> None:
        self.now, self.lost = 0.0, False
        self.book = HistoryBook(0.0)
        self.book.has_device(GPU, 0.0)

    def ran(self, function: str, began: float, ended: float, state: str = "FINISHED") -> None:
        self.book.ended(PastRun(function, "[3] line 1", 1, state, ((GPU, 1.0),), function, began, began, ended))
        self.now = ended

    def history(self, asked: Any) -> Any:
        if self.lost:
            raise RaySystemError("the head has gone")
        if isinstance(asked, ReadRuns):
            return self.book.runs(self.now, (asked.start or 0.0, asked.end or self.now), asked.since)
        if isinstance(asked, ReadAccounting):
            return self.book.accounting(self.now, asked.since)
        return self.book.readings(self.now, asked.since)

    def ask(self, kept: KeptHistory, asked: Any) -> int:
        """As a page asks; returns the number to ask with the next time."""
        answer = self.history(asked)
        kept.keep(asked, answer)
        return int(answer.seq)


def kept_history(snapshot: Snapshot) -> KeptHistory:
    """What is kept after a view has asked everything, of the first device of a cluster."""
    head, kept = Head(), KeptHistory()
    snapshot.devices[0].node_id, snapshot.nodes = NODE, [NodeRow(NODE, "box")]
    head.ran("train", 1.0, 5.0)
    head.ran("infer", 5.0, 7.0, "FAILED")
    for step in range(20):
        head.now = 2.0 * step
        head.book.measured(head.now, [DeviceLoad(GPU, 5.0 * step, 0.5, 300.0)])
    for asked in (ReadRuns(), ReadAccounting(), ReadReadings()):
        head.ask(kept, asked)
    return kept


@pytest.fixture
def head() -> Head:
    return Head()


def words(kept: KeptHistory, snapshot: Snapshot) -> str:
    return "\n".join(kept.sections(snapshot))


def test_nothing_is_kept_that_no_view_has_asked(head: Head, busy_snapshot: Snapshot) -> None:
    head.ran("train", 1.0, 5.0)
    kept = KeptHistory()
    kept.renew(head)  # type: ignore[arg-type]
    assert kept.sections(busy_snapshot) == [] and kept.line() == ""


def test_accounts_that_have_changed_take_the_place_of_theirs(head: Head, busy_snapshot: Snapshot) -> None:
    kept = KeptHistory()
    head.ran("train", 1.0, 5.0)
    seq = head.ask(kept, ReadAccounting())
    head.ran("infer", 5.0, 7.0, "FAILED")
    seq = head.ask(kept, ReadAccounting(since=seq))
    head.ran("train", 7.0, 17.0)
    head.ask(kept, ReadAccounting(since=seq))
    whole = head.history(ReadAccounting())
    assert "".join(kept.sections(busy_snapshot)) == "".join(sections(whole, busy_snapshot))
    assert kept.line() == "16 device-seconds in all, devices idle 6 % of the time"


def test_the_timeline_has_the_runs_of_the_whole_and_of_the_last_later_answer(
    head: Head, busy_snapshot: Snapshot
) -> None:
    kept = KeptHistory()
    head.ran("train", 1.0, 5.0)
    seq = head.ask(kept, ReadRuns())
    head.ran("infer", 5.0, 7.0, "FAILED")
    head.ask(kept, ReadRuns(since=seq))
    head.ran("evaluate", 7.0, 9.0)
    head.ask(kept, ReadRuns(since=seq))
    rows = Reading(words(kept, busy_snapshot)).rows
    assert [row[:4] for row in rows[1:]] == [
        ["GPU 0", "evaluate", "✓ finished", "1"],
        ["GPU 0", "infer", "✕ failed", "1"],
        ["GPU 0", "train", "✓ finished", "1"],
    ]


def test_an_answer_about_another_pages_window_is_not_mixed_in(head: Head, busy_snapshot: Snapshot) -> None:
    kept = KeptHistory()
    head.ran("train", 1.0, 5.0)
    seq = head.ask(kept, ReadRuns())
    head.ran("infer", 5.0, 7.0)
    head.ask(kept, ReadRuns(start=0.5))
    head.ran("evaluate", 7.0, 9.0)
    head.ask(kept, ReadRuns(since=seq))
    assert [row[1] for row in Reading(words(kept, busy_snapshot)).rows[1:]] == ["infer", "train"]


def test_two_minutes_are_a_line_and_words_for_each_device(head: Head, busy_snapshot: Snapshot) -> None:
    kept, seq = KeptHistory(), 0
    for step in range(100):
        head.now = 2.0 * step
        load = None if step == 90 else 63.0 if step == 95 else 21.0
        head.book.measured(head.now, [DeviceLoad(GPU, load, 0.5, 50.0 if step < 50 else 400.0)])
        if step % 7 == 0 or step == 99:
            seq = head.ask(kept, ReadReadings(since=seq))
    busy_snapshot.nodes = [NodeRow(NODE, "box")]
    busy_snapshot.devices[0].node_id = NODE
    for level in LEVELS.values():
        (heads, row) = Reading(level(words(kept, busy_snapshot))).rows
        assert heads == ["Device", "Load", "Memory", "Power"]
        assert row[:2] == ["GPU 0", "21 %, between 21 % and 63 %"]
        assert row[2] == "51 %"
        assert row[3].startswith("4") and "W and 4" in row[3]
    drawn = words(kept, busy_snapshot)
    lines = re.findall(r'<path d="([^"]*)"', drawn)
    assert len(lines) == 3 and "".join(lines).count("M") == 4, "a gap where nothing was known"
    assert drawn.count("nbaccel-under") == 2, "load and memory are areas"


def test_the_end_asks_once_more_and_a_lost_head_leaves_what_was_known(head: Head, busy_snapshot: Snapshot) -> None:
    kept = KeptHistory()
    head.ran("train", 1.0, 5.0)
    head.ask(kept, ReadRuns())
    head.ask(kept, ReadAccounting())
    head.ran("infer", 5.0, 7.0)
    kept.renew(head)  # type: ignore[arg-type]
    assert "infer" in words(kept, busy_snapshot) and kept.line().startswith("6 device-seconds")
    head.lost = True
    kept.renew(head)  # type: ignore[arg-type]
    last = card.last_mimebundle(busy_snapshot, past=kept.sections(busy_snapshot), used=kept.line())
    assert "6 device-seconds in all" in last["text/plain"]
    full, *others = (Reading(level(last["text/html"])) for level in LEVELS.values())
    assert ["infer", "1", "2", "2", "33 %"] in full.rows and [
        "GPU 0",
        "infer",
        "✓ finished",
        "1",
        "2.00 s",
        "4.00 s",
        "6.00 s",
    ] in full.rows
    assert all((other.words, other.rows) == (full.words, full.rows) for other in others)
