"""Turns bytes of a connection into messages: frames, and lines of JSON. Both take time linear in the bytes.

`messages` describes a frame. Invalid bytes always raise `Unreadable`, whichever error the decoder raises: msgspec
raises UnicodeDecodeError for a name in bad UTF-8 and RecursionError for a deep surplus field.
"""

from __future__ import annotations

from struct import Struct
from typing import Any

import msgspec

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire.messages import Decode

MOST_FRAME_BYTES = 1 << 30
MOST_LINE_BYTES = 1 << 16
MOST_BYTES_BEFORE_TOKEN = 1 << 16
LENGTH_BYTES = 4
_LENGTH = Struct("<I")
_NOT_OURS = (ValueError, RecursionError, OverflowError, MemoryError)  # msgspec's own errors are ValueErrors


class Unreadable(Exception):
    """The bytes are no valid frame or line."""


def announced(start: bytes | bytearray) -> int:
    """The length of the frame that begins with these bytes."""
    return int(_LENGTH.unpack_from(start)[0])


def decode_to_head(body: bytes | bytearray | memoryview) -> list[Any]:
    """The messages of one frame to the head. Raises Unreadable."""
    try:
        return wire.decode_to_head(body)
    except _NOT_OURS as error:
        raise _unreadable(error) from error


def decode_line(line: bytes) -> dict[str, Any]:
    """A line of JSON. Raises Unreadable."""
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except _NOT_OURS as error:
        raise Unreadable(f"This is not a line of JSON: {_words(error)}") from error


def _unreadable(error: Exception) -> Unreadable:
    return Unreadable(f"a frame cannot be decoded: {_words(error)}")


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, msgspec.DecodeError) else f"{type(error).__name__}: {error}"


def whole_frame(data: bytes, decode: Decode) -> list[Any]:
    """The messages of what is exactly one frame; none if it is not. Raises Unreadable."""
    size = len(data) - LENGTH_BYTES
    if size < 0 or _LENGTH.unpack_from(data)[0] != size:
        return []
    try:
        return decode(memoryview(data)[LENGTH_BYTES:])
    except _NOT_OURS as error:
        raise _unreadable(error) from error


class FrameReader:
    """Turns a stream of bytes, in any pieces, into messages. `decode` decodes one frame."""

    __slots__ = ("_buffer", "_decode")

    def __init__(self, decode: Decode) -> None:
        self._buffer = bytearray()
        self._decode = decode

    @property
    def is_empty(self) -> bool:
        """Whether no part of a frame waits for the rest."""
        return not self._buffer

    def feed(self, data: bytes | bytearray) -> list[Any]:
        """Add bytes; return the messages that are complete now. Raises Unreadable."""
        buffer = self._buffer
        try:
            if not buffer:
                size = len(data) - LENGTH_BYTES
                if size >= 0 and _LENGTH.unpack_from(data)[0] == size:  # the common case: exactly one frame
                    return self._decode(memoryview(data)[LENGTH_BYTES:])
            buffer += data
            return self._whole_frames(buffer)
        except _NOT_OURS as error:
            raise _unreadable(error) from error

    def _whole_frames(self, buffer: bytearray) -> list[Any]:
        messages: list[Any] = []
        start = 0
        view = memoryview(buffer)
        try:
            while len(buffer) - start >= LENGTH_BYTES:
                size = _LENGTH.unpack_from(buffer, start)[0]
                if size > MOST_FRAME_BYTES:
                    raise Unreadable(f"A frame of {size} bytes is longer than the limit of {MOST_FRAME_BYTES} bytes.")
                if len(buffer) - start - LENGTH_BYTES < size:
                    break
                start += LENGTH_BYTES
                messages += self._decode(view[start : start + size])
                start += size
        finally:
            view.release()
        del buffer[:start]
        return messages


class LineReader:
    """Turns a stream of bytes into lines, none longer than `most_bytes`."""

    __slots__ = ("_buffer", "_searched", "most_bytes")

    def __init__(self, most_bytes: int = MOST_LINE_BYTES) -> None:
        self.most_bytes = most_bytes
        self._buffer = bytearray()
        self._searched = 0  # no line ends before this position

    def feed(self, data: bytes | bytearray) -> None:
        self._buffer += data

    def next_line(self) -> bytes | None:
        """The next line that is complete and not empty. Raises Unreadable for one that is too long."""
        buffer = self._buffer
        while True:
            end = buffer.find(b"\n", self._searched)
            if (len(buffer) if end < 0 else end) > self.most_bytes:
                raise Unreadable(f"This line has more than {self.most_bytes} bytes.")
            if end < 0:
                self._searched = len(buffer)
                return None
            line = bytes(buffer[:end])
            del buffer[: end + 1]  # cheap: a bytearray only moves its start
            self._searched = 0
            if line.strip():
                return line
