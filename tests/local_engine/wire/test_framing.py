"""Bytes, in whatever pieces, become messages and lines; what is not our language is one error, in linear time."""

from __future__ import annotations

import random

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.wire.framing import FrameReader, LineReader, Unreadable

NOT_OURS = {
    "a name in bad UTF-8": b"\x91\x91\xa2\xc6\xc6",
    "text in bad UTF-8": b"\x91\x92\xa8KillActor"[:2] + b"\xa9KillActor\xc4\x01x\xc3\xa2\xc6\xc6",
    "a deep surplus field": b"\x91\x93\xa3Bye\xc2" + b"\x91" * 60_000 + b"\xc0",
    "a number": b"\x07",
    "half a message": b"\x91",
}


@pytest.mark.parametrize("body", NOT_OURS.values(), ids=NOT_OURS.keys())
def test_whatever_msgspec_raises_is_unreadable(body: bytes) -> None:
    frame = len(body).to_bytes(4, "little") + body
    for pieces in ([frame], [frame[:3], frame[3:]], [bytes(wire.frame([wire.Bye()])) + frame]):
        reader = FrameReader(wire.decode_to_head)
        with pytest.raises(Unreadable, match="cannot be decoded"):
            for piece in pieces:
                reader.feed(piece)


@pytest.mark.parametrize("line", [b"[1]", b'{"a": "\xc6\xc6"}', b'{"a":' + b"[" * 60_000, b"{", b'{"a": 1e400}'])
def test_a_line_that_is_no_json_object_is_unreadable(line: bytes) -> None:
    with pytest.raises(Unreadable, match="not a line of JSON"):
        framing.decode_line(line)


def test_frames_in_random_pieces_give_their_messages_in_order() -> None:
    rng = random.Random(7)
    messages = [wire.DropRef([rng.randbytes(rng.randrange(40))]) for _ in range(200)]
    data = b"".join(bytes(wire.frame([message])) for message in messages)
    reader, came, position = FrameReader(wire.decode_to_head), [], 0
    while position < len(data):
        size = rng.randrange(1, 90)
        came += reader.feed(data[position : position + size])
        position += size
    assert came == messages


def test_lines_in_random_pieces_come_in_order_and_empty_ones_not_at_all() -> None:
    rng = random.Random(8)
    lines = [bytes(rng.choices(b"abc{} \t", k=rng.randrange(50))) for _ in range(300)]
    data = b"\n".join(lines) + b"\n"
    reader, came, position = LineReader(), [], 0
    while position < len(data):
        size = rng.randrange(1, 90)
        reader.feed(data[position : position + size])
        position += size
        while (line := reader.next_line()) is not None:
            came.append(line)
    assert came == [line for line in lines if line.strip()]


def test_a_byte_of_a_line_is_looked_at_once() -> None:
    """A line in many pieces: the reader searches only what is new."""
    reader = LineReader()
    for size in range(1, 1000):
        reader.feed(b"x")
        assert reader.next_line() is None
        assert reader._searched == size


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_that_is_too_long_is_unreadable_whether_it_has_ended_or_not(end: bytes) -> None:
    reader = LineReader()
    reader.feed(b"x" * framing.MOST_LINE_BYTES)
    assert reader.next_line() is None
    reader.feed(b"x" + end)
    with pytest.raises(Unreadable, match="more than 65536 bytes"):
        reader.next_line()
