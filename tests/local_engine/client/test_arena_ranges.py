"""Ranges of the arena that are asked for, however the asking ends."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.arena_writer import ArenaRanges
from nbaccel.local_engine.client.link import Link


class SentThenInterrupted(Link):
    """An interrupt comes when the request is on its way, and before anybody waits for the answer."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock, on_lost=lambda why: None)
        self.said: list[Any] = []

    def send_at_once(self, message: Any) -> None:
        self.said.append(message)
        raise KeyboardInterrupt


def test_a_range_that_comes_for_an_interrupted_request_is_given_up() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        link = SentThenInterrupted(ours)
        ranges = ArenaRanges(link)
        with pytest.raises(KeyboardInterrupt):
            ranges.take(100)
        (asked,) = link.said
        ranges._allocated(wire.Allocated(asked.request, 4096))
        link.take_ended()
        assert list(link._outbox) == [wire.GiveUp(4096, asked.request)]
