"""The head's wait: who is paused is not called, but for the other side's end."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from nbaccel.local_engine.head.poll import Poll


class Turned:
    """A loop with one connection; what came is counted."""

    def __init__(self) -> None:
        self.poll = Poll()
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.called = 0
        self.poll.register(self.ours, self._readable)

    def _readable(self) -> None:
        self.called += 1

    def turn(self) -> int:
        """How often the reader is called in one pass."""
        self.called = 0
        self.poll.at(0.0, lambda: None)  # a timer that is due: the pass does not wait
        self.poll.once()
        return self.called


@pytest.fixture
def turned() -> Iterator[Turned]:
    made = Turned()
    yield made
    made.poll.close()
    made.ours.close()
    made.theirs.close()


def test_a_paused_reader_is_not_called_until_it_goes_on(turned: Turned) -> None:
    turned.theirs.sendall(b"x")
    assert turned.turn() == 1
    turned.poll.pause_reading(turned.ours, True)
    assert turned.turn() == 0
    turned.poll.pause_reading(turned.ours, False)
    assert turned.turn() == 1


def test_a_paused_reader_that_writes_stays_paused(turned: Turned) -> None:
    written = []
    turned.theirs.sendall(b"x")
    turned.poll.pause_reading(turned.ours, True)
    turned.poll.want_write(turned.ours, lambda: written.append(1))
    assert turned.turn() == 0 and written == [1]
    assert turned.turn() == 0 and written == [1]


def test_a_paused_reader_hears_of_the_other_sides_end(turned: Turned) -> None:
    turned.poll.pause_reading(turned.ours, True)
    turned.theirs.close()
    assert turned.turn() == 1


def test_a_reader_that_was_taken_off_is_forgotten_with_its_pause(turned: Turned) -> None:
    turned.poll.pause_reading(turned.ours, True)
    turned.poll.unregister(turned.ours)
    turned.poll.register(turned.ours, turned._readable)
    turned.theirs.sendall(b"x")
    assert turned.turn() == 1
