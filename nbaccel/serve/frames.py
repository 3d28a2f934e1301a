"""Frames: the messages on a link between two processes of one session.

```
  body length (4) · meta length (4) · id (4) · kind (1) · meta · body
```
Whoever opens a call gives it an id; every frame of that call, in both directions, has the same id. Frames with the id 0
are about the link itself. `meta` is msgpack, `body` is bytes that only the last reader looks into.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

HEADER = Struct("<IIIB")
LONGEST_META = 1 << 20
LONGEST_BODY = 1 << 18  # a longer one is sent in chunks
PART = b"+"  # the meta of a chunk that has not all of an item


class FrameKind(IntEnum):
    """What a frame is."""

    CALL = 1  # a request; its body follows in chunks if meta announces it
    DONE = 2  # the whole answer
    CHUNK = 3  # a part of a body; the first one of a streamed answer has the answer's head as its meta
    END = 4  # no chunk follows
    ERROR = 5  # user code raised; meta has words, the body the pickled exception
    CANCEL = 6  # the caller no longer wants the answer
    FULL = 7  # refused: the replica is at its limit
    GOING = 8  # refused, and everything from now on: the replica is about to end
    CREDIT = 9  # the reader has consumed so much of a stream; with the id 0: the replica has room again
    LOST = 10  # never sent: the link has ended


class Frame(NamedTuple):
    kind: FrameKind
    id: int
    meta: bytes
    body: bytes


class BadFrame(ValueError):
    """Bytes that are no frame: the link cannot go on."""


def pack(kind: FrameKind, id: int, meta: bytes = b"", body: bytes = b"") -> bytes:
    return HEADER.pack(len(body), len(meta), id, kind) + meta + body


_KINDS = {int(kind): kind for kind in FrameKind if kind is not FrameKind.LOST}


class FrameParser:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now. Raises BadFrame."""
        if self._rest:
            data = self._rest + data
        frames: list[Frame] = []
        at, end, head = 0, len(data), HEADER.size
        while end - at >= head:
            body_length, meta_length, id, number = HEADER.unpack_from(data, at)
            kind = _KINDS.get(number)
            if kind is None or meta_length > LONGEST_META or body_length > LONGEST_BODY:
                raise BadFrame(f"kind {number}, {meta_length} bytes of meta, {body_length} of body")
            start = at + head
            middle = start + meta_length
            stop = middle + body_length
            if stop > end:
                break
            frames.append(Frame(kind, id, data[start:middle], data[middle:stop]))
            at = stop
        self._rest = data[at:] if at else data
        return frames
