"""What leaves a process, in which order, and who writes it."""

import socket
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link, Request
from nbaccel.local_engine.client.values import ReferenceCounts
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.wire.driver_questions import Synchronise
from tests.rig import DEADLINE_S


class Other:
    """The head's end of a connection."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._reader = framing.FrameReader(wire.decode_to_head)
        self.messages: list[Any] = []

    def read(self, count: int) -> list[Any]:
        """The next messages, so many at least."""
        while len(self.messages) < count:
            data = self._sock.recv(1 << 20)
            assert data, "the connection was closed"
            self.messages += self._reader.feed(data)
        taken, self.messages = self.messages, []
        return taken


@pytest.fixture
def ends() -> Iterator[tuple[Link, Other]]:
    ours, theirs = socket.socketpair()
    theirs.settimeout(DEADLINE_S)
    link = Link(ours, on_lost=lambda why: None)
    yield link, Other(theirs)
    link.close()
    theirs.close()


def recall(number: int) -> wire.GiveUp:
    return wire.GiveUp(number, 0)


def offsets(messages: list[Any]) -> list[int]:
    return [message.offset for message in messages]


def test_a_lone_message_is_written_by_its_sender(ends: tuple[Link, Other]) -> None:
    link, other = ends  # no thread of the link runs
    link.send_at_once(recall(1))
    assert offsets(other.read(1)) == [1]


def test_nothing_overtakes_what_waits(ends: tuple[Link, Other]) -> None:
    link, other = ends
    link.send(recall(1))
    link.send_at_once(recall(2))
    link.start("test", read=False)
    link.send_at_once(recall(3))
    assert offsets(other.read(3)) == [1, 2, 3]


def test_a_message_for_a_full_socket_or_too_large_to_be_taken_whole_waits_for_the_writer(
    ends: tuple[Link, Other],
) -> None:
    link, other = ends
    count = 0
    while link._request is not Request.NOW and count < 1_000_000:  # until one was refused
        count += 1
        link.send_at_once(recall(count))
    large = wire.Put(b"i" * 28, wire.Value(wire.OK, b"x" * 10_000))
    link.send_at_once(large)
    link.start("test", read=False)
    messages = other.read(count + 1)
    assert offsets(messages[:-1]) == list(range(1, count + 1)) and messages[-1] == large


def test_the_end_of_a_small_ref_is_told_though_nobody_says_anything_else(ends: tuple[Link, Other]) -> None:
    link, other = ends
    references = ReferenceCounts(link)
    link.start("test", read=False)
    for id in (b"a", b"b"):
        references.created(id)
        references.gone(id)
    notified: list[bytes] = []
    while notified != [b"a", b"b"]:
        notified += other.read(1)[0].ids


@pytest.mark.parametrize("body", [b"\x91\x91\xa2\xc6\xc6", b"\x91\x91\xa4Exit"[:-1] + b"x", b"\xc1"])
def test_whoever_waits_hears_of_it_when_the_head_cannot_be_understood(body: bytes) -> None:
    ours, theirs = socket.socketpair()
    lost: SimpleQueue[str] = SimpleQueue()
    link = Link(ours, on_lost=lost.put)
    link.start("test")
    theirs.sendall(len(body).to_bytes(4, "little") + body)
    assert "sent what this version of nbaccel cannot read" in lost.get(timeout=DEADLINE_S)
    link.close()
    theirs.close()


def test_whoever_waits_hears_why_the_head_ends_the_connection() -> None:
    ours, theirs = socket.socketpair()
    link = Link(ours, on_lost=lambda why: None)
    link.start("test")
    theirs.sendall(wire.frame([wire.Refused("you said nonsense")]))
    with pytest.raises(exceptions.HeadDiedError, match="the head ended the connection: you said nonsense"):
        link.ask(Synchronise(), timeout_s=DEADLINE_S)
    link.close()
    theirs.close()


def test_whoever_waits_hears_of_it_when_words_cannot_be_put_into_bytes() -> None:
    ours, theirs = socket.socketpair()
    lost: SimpleQueue[str] = SimpleQueue()
    link = Link(ours, on_lost=lost.put)
    link.start("test")
    link.send(wire.KillActor(b"a", why="half a character: \ud800"))
    assert "could not be said to the head: UnicodeEncodeError" in lost.get(timeout=DEADLINE_S)
    link.close()
    theirs.close()
