"""Connections of a head: what is heard, what is written, and whose end is brought about by what."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Connections, MessageReceiver, Peer
from nbaccel.local_engine.wire.framing import FrameReader
from tests.local_engine.head.seams import Clock


class Loop(Clock):
    """The loop, turned by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: dict[Any, Callable[[], None]] = {}

    def register(self, source: Any, on_readable: Callable[[], None]) -> None:
        self.readers[source] = on_readable

    def unregister(self, source: Any) -> None:
        self.readers.pop(source, None)

    def want_write(self, source: Any, on_writable: Callable[[], None]) -> None:
        raise AssertionError("the socket takes everything")

    def pause_reading(self, source: Any, paused: bool) -> None:
        raise AssertionError("nobody is paused")


class House:
    """One driver, whose words raise, are answered, or are not for it to say."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.notes: list[str] = []
        self.received: list[Any] = []
        self.failed: list[Any] = []
        self.ended: list[Peer] = []
        self.connections = Connections(self.loop, self.notes.append)
        receiver = MessageReceiver(
            {"driver": {wire.Want: self._receive, wire.QuestionMessage: self._raise, wire.Cancel: self._raise}},
            together={"driver": dict.fromkeys((wire.Want, wire.QuestionMessage), (self._alike, self._hear_all))},
            failed={wire.QuestionMessage: self._notify}, expel=self.connections.expel, note=self.notes.append,
        )  # fmt: skip
        self.connections.receive = receiver.receive
        self.connections.on_end = self.ended.append
        self.sock, theirs = socket.socketpair()
        self.sock.setblocking(False)
        self.peer = Peer(theirs, "driver", self.connections.next_client_id())
        self.connections.add(self.peer)
        self.reader = FrameReader(wire.decode_to_client)

    def _receive(self, peer: Peer, message: Any) -> None:
        self.received.append(message)

    def _raise(self, peer: Peer, message: Any) -> None:
        raise RuntimeError("unforeseen")

    def _alike(self, peer: Peer, messages: list[Any], start: int) -> int:
        """Those that are like the first in all."""
        return next((n for n, m in enumerate(messages[start:]) if m != messages[start]), len(messages) - start)

    def _hear_all(self, peer: Peer, messages: list[Any]) -> None:
        if type(messages[0]) is wire.QuestionMessage:
            raise RuntimeError("unforeseen")
        self.received.append(messages)

    def _notify(self, peer: Peer, message: Any, error: Exception) -> None:
        self.failed.append((message, str(error)))

    def send(self, *messages: Any) -> None:
        self.sock.send(wire.frame(list(messages)))
        self.loop.readers[self.peer.sock]()

    def notified(self) -> list[Any]:
        """What the driver reads; None at the end where the connection was closed."""
        messages: list[Any] = []
        while True:
            try:
                data = self.sock.recv(1 << 16)
            except BlockingIOError:
                return messages
            if not data:
                return [*messages, None]
            messages += self.reader.feed(data)


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    made.peer.close()
    made.sock.close()


def test_what_is_sent_leaves_together_with_the_next_flush(house: House) -> None:
    for number in range(3):
        house.connections.send(house.peer, wire.Allocated(number, 0))
    assert house.notified() == []
    house.connections.flush()
    assert house.notified() == [wire.Allocated(number, 0) for number in range(3)]


def test_a_failure_is_answered_where_an_answer_is_awaited(house: House) -> None:
    ask, want = wire.QuestionMessage(7, "anything"), wire.Want([b"x"])
    house.send(ask, want)
    assert house.failed == [(ask, "unforeseen")] and house.received == [[want]] and house.ended == []


def test_a_failure_that_nobody_awaits_ends_the_peer(house: House) -> None:
    house.send(wire.Cancel(b"t"), wire.Want([b"x"]))
    refused, end = house.notified()
    assert "fails at: RuntimeError: unforeseen" in refused.message and end is None
    assert house.received == [] and house.ended == [house.peer] and not house.connections.peers


def test_messages_that_are_alike_are_heard_together_and_in_their_order(house: House) -> None:
    one, other = wire.Want([b"x"]), wire.Want([b"y"])
    house.send(one, one, other, one, other, other, other)
    assert house.received == [[one, one], [other], [one], [other, other, other]]


def test_when_several_fail_together_each_of_them_is_answered(house: House) -> None:
    ask, want = wire.QuestionMessage(7, "anything"), wire.Want([b"x"])
    house.send(ask, ask, want)
    assert house.failed == [(ask, "unforeseen")] * 2 and house.received == [[want]] and house.ended == []


def test_who_says_what_is_not_for_it_to_say_is_told_and_ended(house: House) -> None:
    house.send(wire.Done(b"t", []))
    refused, end = house.notified()
    assert "said Done, which is not for it to say" in refused.message and end is None


def test_what_cannot_be_put_into_bytes_ends_only_its_reader(house: House) -> None:
    house.connections.send(house.peer, wire.Refused("half a character: \ud800"))
    house.connections.flush()
    assert house.ended == [house.peer] and "cannot be encoded" in house.notes[0]


def test_the_end_of_a_peer_is_told_once(house: House) -> None:
    house.sock.shutdown(socket.SHUT_WR)
    house.loop.readers[house.peer.sock]()
    assert house.ended == [house.peer] and house.loop.readers == {}
