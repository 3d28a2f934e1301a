"""What is written is there, by whichever way it went."""

import os
from collections.abc import Iterator

import pytest

from nbaccel.local_engine.client.arena_writer import KEEP_FROM_BYTES, ArenaWriter

MB = 1 << 20


@pytest.fixture
def fd() -> Iterator[int]:
    fd = os.memfd_create("arena")
    os.ftruncate(fd, 64 * MB)
    yield fd
    os.close(fd)


def filled(fd: int, writer: ArenaWriter, offset: int, byte: bytes, size: int) -> bool:
    """Write `size` bytes in three pieces; whether they are there and nothing behind them was touched."""
    behind = os.pread(fd, 4096, offset + size)
    body = byte * size
    pieces = [body[:7], memoryview(body)[7 : size // 2], b"", bytearray(body[size // 2 :])]
    writer.write(pieces, offset, size)
    return os.pread(fd, size, offset) == body and os.pread(fd, 4096, offset + size) == behind


@pytest.mark.parametrize("size", [100, 200_000, KEEP_FROM_BYTES, 40 * MB + 13])
def test_a_range_holds_what_was_written_last_however_often_it_is_filled(fd: int, size: int) -> None:
    writer = ArenaWriter(fd)
    assert all(filled(fd, writer, 4096, byte, size) for byte in (b"a", b"b", b"c", b"d"))


def test_a_range_may_be_filled_with_more_or_less_than_before(fd: int) -> None:
    writer = ArenaWriter(fd)
    sizes = [2 * MB, 2 * MB, 2 * MB - 5, 3 * MB, 3 * MB, 3 * MB, 1 * MB]
    assert all(filled(fd, writer, 0, b"%d" % number, size) for number, size in enumerate(sizes))


def test_only_so_many_bytes_stay_mapped(fd: int) -> None:
    writer = ArenaWriter(fd, kept_bytes=4 * MB)
    for _ in range(3):
        assert all(filled(fd, writer, place * 4 * MB, b"x", 2 * MB) for place in range(4))
    assert writer._kept_bytes == 4 * MB == sum(len(mapping) for mapping in writer._kept.values())
    assert filled(fd, writer, 0, b"y", 5 * MB)
    assert filled(fd, writer, 0, b"z", 5 * MB)


def test_many_small_pieces_are_written_in_order(fd: int) -> None:
    writer = ArenaWriter(fd)
    pieces = [b"%05d" % number for number in range(3_000)]
    writer.write(pieces, 8192, 15_000)
    assert os.pread(fd, 15_000, 8192) == b"".join(pieces)
