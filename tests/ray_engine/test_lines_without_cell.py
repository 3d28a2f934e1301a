"""Lines of tasks that other tasks have submitted wait until it is known for which cell, and never for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.reports.output import PATIENCE_S, LinesWithoutCell

PID_7, PID_8 = ("", 7, 1), ("", 8, 1)


class Desk:
    """What is known of tasks, what was shown where, and the clock."""

    def __init__(self) -> None:
        self.cells = {"mine": b"[1]"}
        self.shown: list[tuple[bytes, str]] = []
        self.now = 0.0
        self.lines = LinesWithoutCell(self.cells.get, lambda: None, lambda: b"last", clock=lambda: self.now)
        self.lines._thread = object()  # type: ignore[assignment]  # the test looks itself

    def say(self, key: tuple[str, int, int], task_id: str, text: str) -> None:
        self.lines.show(key, task_id, self._showing(text))

    def _showing(self, text: str) -> Callable[[bytes], None]:
        return lambda parent: self.shown.append((parent, text))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_what_is_known_is_shown_at_once(desk: Desk) -> None:
    desk.say(PID_7, "mine", "one")
    desk.say(PID_7, "", "two")
    assert desk.shown == [(b"[1]", "one"), (b"last", "two")]


def test_what_is_not_known_yet_waits_and_its_stream_with_it(desk: Desk) -> None:
    desk.say(PID_7, "child", "one")
    desk.say(PID_7, "mine", "two")
    desk.say(PID_8, "mine", "beside")
    desk.lines.look()
    assert desk.shown == [(b"[1]", "beside")]
    desk.cells["child"] = b"[2]"
    desk.lines.look()
    assert desk.shown[1:] == [(b"[2]", "one"), (b"[1]", "two")]
    desk.say(PID_7, "mine", "three")
    assert desk.shown[3:] == [(b"[1]", "three")]


def test_what_nobody_tells_of_in_time_is_shown_and_does_not_wait_again(desk: Desk) -> None:
    desk.say(PID_7, "stranger", "one")
    desk.now = PATIENCE_S - 0.1
    desk.lines.look()
    assert desk.shown == []
    desk.now = PATIENCE_S
    desk.lines.look()
    desk.say(PID_7, "stranger", "two")
    assert desk.shown == [(b"last", "one"), (b"last", "two")]


def test_at_the_end_nothing_waits(desk: Desk) -> None:
    desk.say(PID_7, "stranger", "one")
    desk.lines._thread = None
    desk.lines.end()
    desk.lines.look(everything=True)
    desk.say(PID_8, "stranger of stranger", "two")
    assert desk.shown == [(b"last", "one"), (b"last", "two")]


def test_a_thread_looks_until_nothing_waits_and_asks_meanwhile() -> None:
    cells: dict[str, bytes] = {}
    shown: list[bytes] = []
    may_answer = threading.Event()

    def ask() -> None:
        may_answer.wait(90)
        cells["child"] = b"[2]"

    lines = LinesWithoutCell(cells.get, ask, lambda: b"last")
    lines.show(PID_7, "child", shown.append)
    thread = lines._thread
    assert thread is not None
    may_answer.set()
    thread.join(90)
    assert not thread.is_alive()
    assert shown == [b"[2]"]
    lines.end()
