"""The steps of a slow start: those to come wait, the one that runs has its age, and a quick start shows nothing."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from nbaccel.views.sinks import Sinks, StartSteps


class Start:
    """Holds the clock and the timer, and collects what is drawn."""

    def __init__(self) -> None:
        self.now = 0.0
        self.lines: list[str] = []
        self._calls: list[Callable[[], None]] = []
        self.steps = StartSteps(
            "Ray",
            ["Import Ray", "Start its processes"],
            lambda shown: self.lines.append(shown.line()),
            clock=lambda: self.now,
            later=self.later,
        )

    def later(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        self._calls.append(call)
        return self._calls.clear

    def tick(self, seconds: float) -> None:
        """Lets time pass, and the timer ring once."""
        self.now += seconds
        calls, self._calls = self._calls, []
        for call in calls:
            call()


def test_each_step_has_its_age_while_it_runs_and_its_time_after_it() -> None:
    start = Start()
    with start.steps as steps:
        steps.next()
        start.tick(1.0)
        start.tick(1.0)
        steps.next()
        start.tick(3.0)
        steps.found("2 GPU, 2 CPU")
    assert start.lines == [
        "Ray starts · Import Ray 1 s",
        "Ray starts · Import Ray 2 s",
        "Ray starts · Start its processes 0 s",
        "Ray starts · Start its processes 3 s",
        "Ray started in 5.0 s · Import Ray 2.0 s · Start its processes 3.0 s (2 GPU, 2 CPU)",
    ]


def test_a_start_that_is_over_before_the_timer_rings_is_not_shown() -> None:
    start = Start()
    with start.steps as steps:
        steps.next()
        steps.next()
    start.tick(5.0)
    assert start.lines == []


def test_a_step_that_raises_has_failed_and_a_stopped_one_is_cancelled() -> None:
    for raised, state in ((ConnectionError("no"), "failed"), (KeyboardInterrupt(), "cancelled")):
        start = Start()
        with pytest.raises(type(raised)), start.steps as steps:
            steps.next()
            start.tick(1.0)
            raise raised
        assert [step.state for step in start.steps.steps] == [state, "waiting"]
        assert start.lines[-1] == "Ray did not start: 1.0 s · Import Ray 1.0 s"


def test_the_end_says_where_the_lines_are_that_were_not_shown() -> None:
    start = Start()
    with start.steps as steps:
        steps.next()
        start.tick(1.0)
        steps.hint = "2 lines of Ray's log: %accel_logs"
    assert start.lines[-1].endswith(" · 2 lines of Ray's log: %accel_logs")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_a_terminal_has_one_line_that_goes_and_a_file_has_nothing(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    start = Start()
    with Sinks().starting("Ray", ["Import Ray"], start.later) as steps:
        steps.next()
        start.tick(1.0)
    line = "\r\x1b[Knbaccel: Ray starts · Import Ray 0 s\r\x1b[K"
    assert stream.getvalue() == (line if stream.isatty() else "")
