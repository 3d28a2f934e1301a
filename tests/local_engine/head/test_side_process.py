"""Helper processes that say nonsense: each ends itself, and a new one is told everything."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from nbaccel.local_engine.head.poll import Notes
from nbaccel.local_engine.head.side_process import SideProcesses


class Helpers:
    """A head with one kind of helper; who starts them is us."""

    def __init__(self, on_report: Callable[[Any], None]) -> None:
        self.notes: list[str] = []
        self.ends: list[socket.socket] = []
        self.reader: Callable[[], None] | None = None
        self.timers: list[Callable[[], None]] = []
        decode = msgspec.msgpack.Decoder(int).decode
        makes = SideProcesses(self, self.order, self.notes.append, lambda: False)  # type: ignore[arg-type]
        self.role = makes.make("test", "", decode=decode, on_report=on_report)
        self.notified: list[str] = []
        self.role.on_restart = lambda: self.notified.append("everything")

    def order(self, order: Any, fds: list[int]) -> None:
        self.ends.append(socket.socket(fileno=os.dup(fds[0])))

    def register(self, source: Any, on_readable: Callable[[], None]) -> None:
        self.reader = on_readable

    def unregister(self, source: Any) -> None:
        self.reader = None

    def now(self) -> float:
        return 100.0  # no time passes

    def at(self, when: float, call: Callable[[], None]) -> None:
        self.timers.append(call)

    def send(self, body: bytes) -> None:
        self.ends[-1].send(body)
        assert self.reader is not None
        self.reader()


@pytest.fixture
def came() -> list[int]:
    return []


@pytest.fixture
def helpers(came: list[int]) -> Iterator[Helpers]:
    def report(number: int) -> None:
        came.append(100 // number)

    made = Helpers(report)
    made.role.start()
    yield made
    made.role.close()
    for sock in made.ends:
        sock.close()


@pytest.mark.parametrize("body", [b"\xc1", b"\xa2\xc6\xc6", b"\x91" * 5000, msgspec.msgpack.encode(0)])
def test_a_helper_whose_report_fails_is_replaced(helpers: Helpers, came: list[int], body: bytes) -> None:
    helpers.send(msgspec.msgpack.encode(5))
    helpers.send(body)
    assert "a report of the test process failed" in helpers.notes[0]
    assert helpers.ends[0].recv(10) == b""  # it sees the end, and leaves
    for timer in helpers.timers:  # it had hardly lived: its successor waits a moment
        timer()
    assert helpers.notified == ["everything"] and len(helpers.ends) == 2
    helpers.send(msgspec.msgpack.encode(50))
    assert came == [20, 2]


def test_a_note_for_which_the_disk_has_no_room_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, text: str) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    note = Notes()
    note("something happened")
    assert note.lines[0].endswith("something happened")
