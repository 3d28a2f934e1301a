"""The head hears of each range that ends here, also where the nudge for the writer is interrupted."""

from __future__ import annotations

import socket
import sys

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.values import RangeEnds
from nbaccel.local_engine.memory import Range


class Interrupted(Link):
    """Each nudge, and each message that may wait, is interrupted before it does anything."""

    def nudge(self) -> None:
        raise KeyboardInterrupt

    def send_later(self, message: object) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("kind", [Link, Interrupted])
def test_the_next_write_tells_of_ranges_that_have_ended(kind: type[Link], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda seen: None)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        link = kind(ours, on_lost=lambda why: None)
        ends = RangeEnds(link)
        ranges = [Range(-1, b"object %d" % number, 0, 1) for number in range(3)]
        for each in ranges:
            ends.watch(each)
        del ranges[:2], each
        link.flush()
        frames = wire.framing.FrameReader(wire.decode_to_head)
        (said,) = frames.feed(theirs.recv(1 << 16))
        assert sorted(said.object_ids) == [b"object 0", b"object 1"]
        assert len(ends._marks) == 1
